//! `diff` from end to end: operands, renderers that say the same, reports of builds.

mod crds;
mod pull_request;

use crate::support::command::Case;
use crate::support::json_schema::JsonSchema;
use bundle2chart::diag::Diagnostics;
use bundle2chart::diff::render::{html, json, markdown, text};
use bundle2chart::diff::summary::Summary;
use bundle2chart::diff::{self, ChangeSet, ChartFacts, Class, Options, Side, group};
use bundle2chart::pipeline::operand::{NAMESPACE, Operands};
use bundle2chart::source::{Access, Limits, SourceResolver};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value as Json, json};
use sha2::{Digest as _, Sha256};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::Path;
use std::process::Command;

const FIXTURES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/fixtures/bundles");

/// The side of a bundle or chart at a path.
fn load(path: &str) -> Side {
    let access = Access { offline: true, ..Access::default() };
    let sources = SourceResolver::new(Path::new(""), &[], &Limits::default(), access);
    let operands = Operands {
        sources: &sources,
        config: None,
        lock: None,
        out: Path::new("nowhere"),
        namespace: NAMESPACE,
        values: json!({}),
        helm: false,
    };
    let mut found = Diagnostics::new();
    let side = operands.load(path, None, &mut found);
    side.unwrap_or_else(|| panic!("{path}: {found:?}"))
}

/// Runs git in the folder of a case, with a user name and an address.
fn git(case: &Case, arguments: &[&str]) {
    let done = Command::new("git")
        .arg("-C")
        .arg(case.path("."))
        .args(["-c", "user.name=t", "-c", "user.email=t@example.com"])
        .args(arguments)
        .output()
        .expect("git runs");
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
}

fn compare(old: &str, new: &str) -> ChangeSet {
    diff::compare(load(old), load(new), &Options::default())
}

fn sealing_wax() -> ChangeSet {
    let folder = format!("{FIXTURES}/sealing-wax-operator");
    compare(&format!("{folder}/1.0.0"), &format!("{folder}/1.1.0"))
}

/// Text that no renderer may print as it is.
const HOSTILE: &str = "</script><script>alert(1)</script><img src=x onerror=alert(1)>\u{1b}[31m`\"'&|**\u{202e}\r\n- x";

fn hostile() -> ChangeSet {
    let map = |value: &str| {
        json!({"apiVersion": "v1", "kind": HOSTILE, "metadata": {"name": HOSTILE},
            "data": {HOSTILE: value, "other": format!("{HOSTILE}{value}")}})
    };
    let chart = |version: &str| {
        Some(ChartFacts {
            version: version.to_owned(),
            values: json!({HOSTILE: version}),
            ..ChartFacts::default()
        })
    };
    let old = Side::new(HOSTILE, [map("a")], "ns", chart("1"));
    let new = Side::new(HOSTILE, [map("b")], "ns", chart("2"));
    diff::compare(old, new, &Options::default())
}

fn everything() -> Vec<(&'static str, ChangeSet)> {
    let other = compare(
        &format!("{FIXTURES}/pod-group-operator/1.0.0"),
        &format!("{FIXTURES}/sealing-wax-operator/1.0.0"),
    );
    let same = format!("{FIXTURES}/pod-group-operator/1.0.0");
    vec![
        ("sealing wax", sealing_wax()),
        ("hostile", hostile()),
        ("nothing in common", other),
        ("the same", compare(&same, &same)),
    ]
}

fn decoded(html: &str) -> String {
    // Punctuation of code with a pipe, which would end a cell of a table.
    let numeric = |html: &str| -> String {
        let mut pieces = html.split("&#");
        let mut text = pieces.next().unwrap_or_default().to_owned();
        for piece in pieces {
            let number = piece
                .split_once(';')
                .and_then(|(number, rest)| Some((char::from_u32(number.parse().ok()?)?, rest)));
            match number {
                Some((character, rest)) => {
                    text.push(character);
                    text.push_str(rest);
                }
                None => text.extend(["&#", piece]),
            }
        }
        text
    };
    numeric(html)
        .replace("&lt;", "<")
        .replace("&gt;", ">")
        .replace("&quot;", "\"")
        .replace("&#39;", "'")
        .replace("\\", "")
        .replace("&amp;", "&")
}

#[test]
fn all_renderers_say_the_same() {
    for (name, set) in everything() {
        let style = text::Style { colour: false, width: 100_000, full: true };
        let (text, brief) =
            (text::render(&set, style), text::render(&set, text::Style { full: false, ..style }));
        let markdown = markdown::render(&set, usize::MAX);
        let page = html::render(&set);
        let document: Json = serde_json::from_str(&json::render(&set)).expect("JSON");
        let groups = group::groups(&set);
        let summary = Summary::of(&set);
        for class in Class::ALL {
            let word = class.as_str();
            let count = set.changes().filter(|(_, change)| change.class() == class).count();
            let in_json = document["objects"]
                .as_array()
                .expect("objects")
                .iter()
                .flat_map(|object| object["changes"].as_array().expect("changes"))
                .filter(|change| change["class"] == word)
                .count();
            assert_eq!(in_json, count, "{name}");
            let distinct = groups.iter().filter(|group| group.class() == class).count();
            assert_eq!(summary.count(class), distinct, "{name}");
            assert_eq!(document["counts"][word], distinct, "{name}");
            let findings = document["findings"].as_array().expect("findings").iter();
            assert_eq!(findings.filter(|found| found["class"] == word).count(), distinct, "{name}");
            let in_page = page.matches(&format!("<details class=\"finding {word}\"")).count();
            assert_eq!(in_page, distinct, "{name}");
            let folds =
                [format!("<details><summary><b>{word}</b>"), format!("<details><summary>{word} ")];
            let folds: usize =
                folds.iter().map(|fold| markdown.matches(fold.as_str()).count()).sum();
            assert_eq!(folds, distinct, "{name}");
            if set.is_empty() {
                continue;
            }
            for said in [&text, &brief, &markdown, &page] {
                let counted = format!("{} {word}", summary.count(class));
                assert!(said.contains(&counted), "{name}: {said}");
            }
            // Headings of the text.
            let heading = format!("\n{word} ({}", summary.count(class));
            assert_eq!(text.contains(&heading), distinct > 0, "{name}: {word}");
        }
        // Every finding is in every format, with every place but in the brief text.
        let said = |report: &str, what: &str| {
            let plain = |text: &str| {
                let text = decoded(text).replace("<code>", "").replace("</code>", "");
                // Sentences are wrapped.
                let words: Vec<&str> = text.split_whitespace().collect();
                words.join(" ").replace('`', "")
            };
            report.contains(what) || plain(report).contains(&plain(what))
        };
        let places: usize = groups.iter().map(|group| group.places.len()).sum();
        let findings: usize = set.changes().map(|(_, change)| change.findings.len()).sum();
        assert_eq!(places, findings, "{name}");
        for group in &groups {
            let reason = visible(group.reason);
            for report in [&text, &markdown, &page] {
                assert!(said(report, &reason), "{name}: {reason}: {report}");
                assert!(report.contains(group.rule.code), "{name}: {}", group.rule.code);
            }
            assert!(brief.contains(group.rule.code), "{name}: {}", group.rule.code);
            // The default text names each change outside of metadata and schemas, where several
            // findings may share a line.
            if !group.rule.counted && !group.is_schema() {
                for part in reason.split([' ', ':', '[', ']']) {
                    assert!(brief.contains(part), "{name}: {part} of {reason}: {brief}");
                }
                for place in group.places.iter().take(3) {
                    let object = visible(&group::label(&place.object.id));
                    assert!(said(&brief, &object), "{name}: {object}: {brief}");
                }
            }
            for place in &group.places {
                let object = visible(&group::label(&place.object.id));
                let path = match &place.schema {
                    Some(schema) => visible(&schema.field),
                    None => visible(&place.change.path.to_string()),
                };
                for report in [&text, &markdown, &page] {
                    assert!(said(report, &object), "{name}: {object}: {report}");
                    assert!(said(report, &path), "{name}: {path}: {report}");
                }
            }
        }
        // The first screen is the same, and comes before the plan and the details.
        for report in [&text, &brief, &markdown, &page] {
            let mut last = 0;
            let verdict = summary.verdict.rsplit(": ").next().expect("a sentence");
            let top = summary
                .top()
                .into_iter()
                .map(|(_, group)| group.reason.split('`').next_back().expect("text"));
            for part in std::iter::once(verdict).chain(top) {
                let part = visible(part.get(..40).unwrap_or(part));
                let found =
                    decoded(report).get(last..).and_then(|rest| rest.find(decoded(&part).as_str()));
                last += found.unwrap_or_else(|| panic!("{name}: {part} not in order: {report}"));
            }
        }
        for step in &set.plan {
            for report in [&text, &brief, &markdown, &page] {
                assert!(said(report, step.kind.title()), "{name}: {}", step.kind.title());
            }
        }
        assert_eq!(document["plan"].as_array().expect("a plan").len(), set.plan.len());
    }
}

/// Two packages, and a version that is earlier: said first in every format, and enough for `--fail-on`.
#[test]
fn what_is_no_upgrade_is_said_first() {
    let folder = format!("{FIXTURES}/sealing-wax-operator");
    let other = format!("{FIXTURES}/pod-group-operator/1.0.0");
    let later = format!("{folder}/1.1.0");
    for (old, new, code, class) in [
        (&other, &later, "package-changed", Class::Breaking),
        (&later, &format!("{folder}/1.0.0"), "downgrade", Class::Risky),
    ] {
        let set = compare(old, new);
        let (summary, groups) = (Summary::of(&set), group::groups(&set));
        let first = summary.top().first().expect("a finding").1;
        assert_eq!((first.rule.code, first.class()), (code, class));
        assert!(set.class() <= Some(class));
        let style = text::Style { colour: false, width: 100_000, full: false };
        for said in
            [text::render(&set, style), markdown::render(&set, markdown::LIMIT), html::render(&set)]
        {
            let notice = said.find(code).expect("the notice");
            let others = groups.iter().map(|group| group.rule.code).filter(|other| *other != code);
            for other in others.filter(|other| said.contains(other)) {
                assert!(Some(notice) < said.find(other), "{code}, {other}: {said}");
            }
        }
    }
    let upgrade = compare(&format!("{folder}/1.0.0"), &later);
    assert!(!group::groups(&upgrade).iter().any(group::Group::is_of_upgrade));
}

/// As renderers show what is not for eyes.
fn visible(text: &str) -> String {
    bundle2chart::escape::visible(text).into_owned()
}

/// The schema of reports in JSON.
pub(crate) fn report_schema() -> Json {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("schema/diff.schema.json");
    serde_json::from_str(&std::fs::read_to_string(file).expect("a file")).expect("JSON")
}

#[test]
fn json_fits_its_schema() {
    let schema = JsonSchema::new(&report_schema());
    for (name, set) in everything() {
        let problems = schema.problems(&json::document(&set));
        assert!(problems.is_empty(), "{name}: {problems:?}");
    }
    assert!(!schema.problems(&json!({"format": 1})).is_empty());
}

/// The tags of a page, and the texts between them.
fn tags(page: &str) -> Vec<&str> {
    let mut tags = Vec::new();
    let mut rest = page;
    while let Some(start) = rest.find('<') {
        let end = rest[start..].find('>').expect("a tag ends") + start;
        let tag = &rest[start + 1..end];
        tags.push(tag);
        rest = &rest[end + 1..];
        for raw in ["style", "script"] {
            if tag == raw {
                let end = rest.find(&format!("</{raw}>")).expect("it ends");
                rest = &rest[end..];
            }
        }
    }
    tags
}

#[test]
fn html_is_whole_and_takes_nothing_from_elsewhere() {
    for (name, set) in everything() {
        let page = html::render(&set);
        let mut open: Vec<&str> = Vec::new();
        let mut ids = BTreeSet::new();
        let mut links = Vec::new();
        for tag in tags(&page) {
            let word = tag.split([' ', '\n']).next().expect("a name");
            if let Some(closed) = word.strip_prefix('/') {
                assert_eq!(open.pop(), Some(closed), "{name}");
            } else if !["!doctype", "meta", "input"].contains(&word) {
                open.push(word);
            }
            let attribute = |key: &str| {
                let start = tag.find(&format!(" {key}=\""))? + key.len() + 3;
                tag[start..].split('"').next()
            };
            if let Some(id) = attribute("id") {
                assert!(ids.insert(id), "{name}: {id} twice");
            }
            links.extend(attribute("href"));
            assert!(attribute("src").is_none(), "{name}: {tag}");
            // Outside of what is quoted.
            let bare: String = tag.split('"').step_by(2).collect();
            assert!(!bare.contains(" on"), "{name}: {tag}");
            let known = [
                "!doctype",
                "html",
                "head",
                "meta",
                "title",
                "style",
                "body",
                "header",
                "nav",
                "h1",
                "h2",
                "p",
                "b",
                "section",
                "table",
                "tr",
                "td",
                "code",
                "form",
                "label",
                "input",
                "select",
                "option",
                "button",
                "output",
                "main",
                "details",
                "summary",
                "span",
                "article",
                "a",
                "figure",
                "figcaption",
                "pre",
                "del",
                "ins",
                "div",
                "ol",
                "ul",
                "li",
                "script",
            ];
            assert!(known.contains(&word.trim_start_matches('/')), "{name}: {tag}");
        }
        assert!(open.is_empty(), "{name}: {open:?}");
        for link in links {
            assert!(link.strip_prefix('#').is_some_and(|id| ids.contains(id)), "{name}: {link}");
        }
        // The policy allows the style and the script that are there, and nothing else.
        for (tag, directive) in [("style", "style-src"), ("script", "script-src")] {
            let Some((_, content)) = page.split_once(&format!("<{tag}>")) else {
                assert!(set.is_empty() && tag == "script");
                continue;
            };
            let content = content.split(&format!("</{tag}>")).next().expect("its end");
            use base64::Engine as _;
            let digest = base64::engine::general_purpose::STANDARD.encode(Sha256::digest(content));
            assert!(page.contains(&format!("{directive} 'sha256-{digest}'")), "{name}");
            assert_eq!(page.matches(&format!("<{tag}>")).count(), 1, "{name}");
        }
        assert!(page.contains("default-src 'none'"));
        assert!(!page.contains("\u{1b}") && !page.contains('\u{202e}'), "{name}");
    }
}

#[test]
fn markdown_keeps_to_its_limit_and_says_what_is_left_out() {
    // Many CRDs that all change.
    let side = |name: &str, kind: &str| {
        let crds = (0..2000).map(|number| {
            json!({"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
            "metadata": {"name": format!("kinds{number}.example.com")}, "spec": {"versions": [{
                "name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": {
                    "type": "object", "properties": (0..5).map(|n| (format!("field{number}x{n}"), json!({"type": kind})))
                        .collect::<serde_json::Map<_, _>>()}}}]}})
        });
        Side::new(name, crds, "ns", None)
    };
    let set = diff::compare(side("a", "string"), side("b", "integer"), &Options::default());
    assert_eq!(Summary::of(&set).count(Class::Breaking), 10_000);
    let text = markdown::render(&set, markdown::LIMIT);
    assert!(text.len() <= markdown::LIMIT, "{}", text.len());
    assert!(text.contains("10000 breaking, 0 risky, 0 info: 10000 changes in 2000 objects"));
    let left = text.split("**Omitted for length:** ").nth(1).expect("it says so");
    let left: usize = left.split(' ').next().expect("a number").parse().expect("a number");
    let lines = text.lines().filter(|line| line.starts_with("- **breaking**")).count();
    assert_eq!(text.matches("<details>").count() + lines + left, 10_000);
    assert!(text.contains(&format!("{left} findings ({left} breaking, 0 risky, 0 info)")));
    assert!(text.contains("## Plan"));
}

#[test]
fn markdown_tells_something_of_everything_and_most_of_what_matters() {
    // One CRD with far too much for a comment, one whose descriptions alone would fill it, and a
    // Deployment that sorts last.
    let side = |name: &str, kind: &str, words: &str| {
        let crd = |name: &str, properties: serde_json::Map<String, Json>| {
            json!({"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
            "metadata": {"name": name}, "spec": {"versions": [{"name": "v1", "served": true,
                "storage": true, "schema": {"openAPIV3Schema": {"type": "object",
                "properties": properties}}}]}})
        };
        let typed = (0..5000).map(|n| (format!("field{n}"), json!({"type": kind}))).collect();
        let told = (0..300)
            .map(|n| {
                (format!("field{n}"), json!({"type": "string", "description": words.repeat(60)}))
            })
            .chain([("kind".to_owned(), json!({"type": kind}))])
            .collect();
        let deployment = json!({"apiVersion": "apps/v1", "kind": "Deployment",
            "metadata": {"name": "manager"}, "spec": {"template": {"spec": {"containers": [
                {"name": "c", "image": format!("r.io/a:{kind}")}]}}}});
        Side::new(name, [crd("big.g", typed), crd("told.g", told), deployment], "ns", None)
    };
    let options = Options::default();
    let set = diff::compare(side("a", "string", "old "), side("b", "integer", "new "), &options);
    let text = markdown::render(&set, markdown::LIMIT);
    assert!(text.len() <= markdown::LIMIT, "{}", text.len());
    // All that is left out is of the rule with thousands of findings.
    let left = text.split("**Omitted for length:** ").nth(1).expect("it says so");
    let left: usize = left.split(' ').next().expect("a number").parse().expect("a number");
    assert!(text.contains(&format!("{left} `crd-type-changed`. ")), "{text}");
    assert!(text.contains("field0: type `string` → `integer`"));
    // Each object is named, also one whose findings are like many others.
    assert!(text.contains("told.g"), "{text}");
    assert!(text.contains("+r.io/a:integer"), "{text}");
    // A long plan is cut too.
    let many = |verb: &str| {
        let roles = (0..300).flat_map(|n| {
            let name = format!("role-with-a-rather-long-name-{n}");
            let rules: Vec<Json> = (0..20)
                .map(|r| json!({"apiGroups": [format!("group{r}.example.com")],
                    "resources": ["a-resource-with-a-long-name"], "verbs": [verb]}))
                .collect();
            let api = "rbac.authorization.k8s.io/v1";
            [
                json!({"apiVersion": api, "kind": "Role", "metadata": {"name": name}, "rules": rules}),
                json!({"apiVersion": api, "kind": "RoleBinding", "metadata": {"name": name},
                    "roleRef": {"kind": "Role", "name": name},
                    "subjects": [{"kind": "ServiceAccount", "name": "sa"}]}),
            ]
        });
        Side::new("x", roles, "ns", None)
    };
    let set = diff::compare(many("get"), many("list"), &options);
    let text = markdown::render(&set, markdown::LIMIT);
    assert!(text.len() <= markdown::LIMIT && text.contains("## Plan"), "{}", text.len());
}

#[test]
fn text_cuts_no_values_and_no_names() {
    let name = "an-operator-with-a-name-that-is-longer-than-a-narrow-terminal";
    let side = |image: &str| {
        let object = json!({"apiVersion": "apps/v1", "kind": "Deployment",
            "metadata": {"name": name}, "spec": {"selector": {"matchLabels": {"a": image}},
                "template": {"spec": {"containers": [
                {"name": "c", "image": format!("r.io/{}:{image}", "a".repeat(200))}]}}}});
        Side::new("x", [object], "ns", None)
    };
    let set = diff::compare(side("1"), side("2"), &Options::default());
    let style = text::Style { colour: false, width: 40, full: true };
    let whole = text::render(&set, style);
    let value =
        |text: &str| text.lines().any(|l| l.trim().starts_with("+ r.io/") && l.ends_with(":2"));
    assert!(value(&whole) && !whole.contains('…'), "{whole}");
    // Without -v there are no values, and names are not cut either.
    let brief = text::render(&set, text::Style { full: false, ..style });
    assert!(!brief.contains("aaaa…") && !value(&brief), "{brief}");
    for text in [&whole, &brief] {
        assert!(text.contains(&format!("Deployment/{name}")), "{text}");
        assert!(text.contains("2 breaking, 0 risky, 1 info: 2 changes"), "{text}");
        let command = format!("$ kubectl --namespace NAMESPACE delete deployment {name}\n");
        assert!(text.contains(&command), "{text}");
    }
}

#[test]
fn secrets_are_in_no_report() {
    let side = |secret: &str| {
        let objects = [
            json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s"},
                "data": {"key": secret}, "stringData": {"plain": secret}}),
            json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "d"},
                "spec": {"template": {"spec": {"containers": [{"name": "c",
                    "args": [format!("--token={secret}")],
                    "env": [{"name": "DB_PASSWORD", "value": secret}]}]}}}}),
        ];
        let facts =
            ChartFacts { values: json!({"db": {"password": secret}}), ..ChartFacts::default() };
        Side::new("x", objects, "ns", Some(facts))
    };
    let set = diff::compare(side("hunter2-old"), side("hunter2-new"), &Options::default());
    assert_eq!(set.objects.len(), 3);
    let style = text::Style { colour: true, width: 200, full: true };
    for report in [
        text::render(&set, style),
        markdown::render(&set, usize::MAX),
        json::render(&set),
        html::render(&set),
    ] {
        assert!(!report.contains("hunter2"), "{report}");
        assert!(report.contains("(redacted, secret 1)") && report.contains("(redacted, secret 2)"));
    }
}

/// A folder with the fixtures' bundles, built charts of sealing-wax 1.0.0 and 1.1.0, and Git.
fn built() -> Case {
    let case = Case::new();
    std::os::unix::fs::symlink(FIXTURES, case.path("bundles")).expect("a link");
    for version in ["1.0.0", "1.1.0"] {
        case.write("bundles.toml", config(version, ""));
        let seen = case.run(&["build"]);
        assert_eq!(seen.code, Some(0), "{}", seen.stderr);
    }
    case
}

fn config(version: &str, more: &str) -> String {
    format!(
        "[[bundle]]\nname = \"sealing-wax-operator\"\npath = \"bundles/sealing-wax-operator/{version}\"\n{more}"
    )
}

const NAME: &str = "sealing-wax-operator";

#[test]
fn the_command_line() {
    let case = built();
    let (old, new) = (format!("{NAME}@1.0.0"), format!("{NAME}@1.1.0"));
    insta::assert_snapshot!("text", case.run(&["diff", &old, &new]).text());
    insta::assert_snapshot!(
        "text_full",
        case.run(&["diff", &old, &new, "-v", "--only", "Deployment"]).text()
    );
    insta::assert_snapshot!(
        "markdown",
        case.run(&["diff", &old, &new, "--format", "markdown"]).text()
    );
    insta::assert_snapshot!("same", case.run(&["diff", &old, &old, "--exit-code"]).text());
    insta::assert_snapshot!(
        "only",
        case.run(&["diff", &old, &new, "--only", "CustomResourceDefinition:.**.enum"]).text()
    );
    for (arguments, code) in [
        (vec![], 0),
        (vec!["--exit-code"], 1),
        (vec!["--fail-on", "breaking"], 1),
        (vec!["--fail-on", "risky", "--only", "Deployment"], 1),
        (vec!["--fail-on", "breaking", "--only", "Deployment"], 0),
        (vec!["--exit-code", "--only", "ServiceAccount"], 0),
        (vec!["--exit-code", "--only", "NoSuchKind"], 2),
        (vec!["--exit-code", "--ignore", "*"], 0),
    ] {
        let mut all = vec!["diff", &old, &new];
        all.extend(&arguments);
        assert_eq!(case.run(&all).code, Some(code), "{arguments:?}");
    }
    let colour = case.run(&["diff", &old, &new, "--color", "always"]);
    assert!(colour.stdout.contains("\u{1b}[31m"));
    assert!(!case.run(&["diff", &old, &new]).stdout.contains('\u{1b}'));
    // Nothing is wider than the terminal, but for words that cannot be broken.
    let narrow = case.run_with(&["diff", &old, &new], &[("COLUMNS", "60")]).stdout;
    let wide = |line: &&str| line.chars().count() > 60 && line.trim().contains(": ");
    assert_eq!(narrow.lines().find(wide), None);
    let seen = case.run(&["diff", &old, &new, "--format", "html", "-o", "report.html"]);
    assert_eq!((seen.code, seen.stdout.as_str(), seen.stderr.as_str()), (Some(0), "", ""));
    assert!(case.read("report.html").starts_with("<!doctype html>"));
}

#[test]
fn operands_of_all_kinds_are_the_same_thing() {
    let case = built();
    let folder = |version| format!("out/{NAME}/{version}");
    for version in ["1.0.0", "1.1.0"] {
        let done = Command::new("tar")
            .args(["-C", case.path("out").to_str().unwrap(), "-czf"])
            .arg(case.path(&format!("{version}.tgz")))
            .args([
                &format!("--transform=s,^{NAME}/{version},{NAME},"),
                &format!("{NAME}/{version}"),
            ])
            .status()
            .expect("tar runs");
        assert!(done.success());
    }
    let report = |old: &str, new: &str| {
        let seen = case.run(&["diff", old, new, "--format", "json"]);
        assert_eq!(seen.code, Some(0), "{old} {new}: {}", seen.stderr);
        let report: Json = serde_json::from_str(&seen.stdout).expect("JSON");
        report
    };
    let expected = report(&folder("1.0.0"), &folder("1.1.0"));
    for (old, new) in [
        (format!("{NAME}@1.0.0"), format!("{NAME}@1.1.0")),
        (format!("{NAME}@1.0.0"), NAME.to_owned()),
        ("1.0.0.tgz".to_owned(), "1.1.0.tgz".to_owned()),
    ] {
        assert_eq!(report(&old, &new), expected, "{old} {new}");
    }
    // A bundle has the same objects; only the facts of the chart or the bundle differ.
    let bundles = |version| format!("bundles/{NAME}/{version}");
    let changes = |report: &Json| -> Vec<String> {
        let objects = report["objects"].as_array().expect("objects");
        let objects = objects.iter().filter(|object| object["id"]["group"] != "bundle2chart");
        let lines = |object: &Json| -> Vec<String> {
            let changes = object["changes"].as_array().expect("changes").iter();
            changes
                .map(|c| {
                    format!("{} {} {} {}", object["id"]["name"], c["path"], c["old"], c["findings"])
                })
                .collect()
        };
        let mut all: Vec<String> = objects.flat_map(lines).collect();
        all.sort();
        all
    };
    similar_asserts(&changes(&report(&bundles("1.0.0"), &bundles("1.1.0"))), &changes(&expected));
    similar_asserts(&changes(&report(&folder("1.0.0"), &bundles("1.0.0"))), &[]);
}

/// Equal lists, or the first line that is in one only.
fn similar_asserts(found: &[String], expected: &[String]) {
    let odd =
        |one: &[String], other: &[String]| one.iter().find(|line| !other.contains(line)).cloned();
    assert_eq!((odd(found, expected), odd(expected, found)), (None, None));
}

#[test]
fn revisions_of_git() {
    let case = Case::new();
    std::os::unix::fs::symlink(FIXTURES, case.path("bundles")).expect("a link");
    let git = |arguments: &[&str]| git(&case, arguments);
    git(&["init", "--quiet"]);
    for version in ["1.0.0", "1.1.0"] {
        case.write("bundles.toml", config(version, "[output]\nlayout = \"flat\"\n"));
        assert_eq!(case.run(&["build"]).code, Some(0));
        git(&["add", "out"]);
        git(&["commit", "--quiet", "-m", version]);
    }
    let seen = case.run(&["diff", "--rev", "HEAD~1", NAME]);
    assert_eq!(seen.code, Some(0), "{}", seen.stderr);
    assert!(
        seen.stdout.starts_with(&format!("{NAME} 1.0.0 at HEAD~1 → {NAME} 1.1.0\n")),
        "{}",
        seen.stdout
    );
    let same = case.run(&["diff", "--rev", "HEAD", NAME, "--exit-code"]);
    assert_eq!(same.code, Some(0), "{}", same.stdout);
    // Errors about a chart or a revision name both.
    let seen = case.run(&["diff", "--rev", "HEAD", "missing", NAME]);
    assert!(seen.stderr.contains("--> HEAD:missing\n"), "{}", seen.text());
    let values = format!("out/{NAME}/values.yaml");
    let good = case.read(&values);
    case.write(&values, "a: [\n");
    git(&["commit", "--quiet", "-m", "damaged", &values]);
    case.write(&values, good);
    let seen = case.run(&["diff", "--rev", "HEAD", NAME]);
    assert!(seen.stderr.contains(&format!("--> HEAD:{NAME}/values.yaml")), "{}", seen.text());
    // Without a committed output folder, what the lock says.
    git(&["rm", "-r", "--quiet", "--cached", "out"]);
    let registry = concat!(env!("CARGO_MANIFEST_DIR"), "/fixtures/registry");
    for version in ["1.0.0", "1.1.0"] {
        case.write("bundles.toml", format!(
            "[output]\nlayout = \"flat\"\n[[mirror]]\nfrom = \"registry.example.com\"\nto = \"oci-layout:{registry}\"\n\
             [[bundle]]\nname = \"{NAME}\"\n\
             image = \"registry.example.com/sealing-wax/sealing-wax-operator-bundle:{version}\"\n"
        ));
        let seen = case.run(&["build"]);
        assert_eq!(seen.code, Some(0), "{}", seen.stderr);
        git(&["add", "bundles.lock"]);
        git(&["commit", "--quiet", "-m", version]);
    }
    let seen = case.run(&["diff", "--rev", "HEAD~1", NAME]);
    assert_eq!(seen.code, Some(0), "{}", seen.stderr);
    assert!(
        seen.stdout.starts_with(&format!("{NAME} 1.0.0 at HEAD~1 → {NAME} 1.1.0\n")),
        "{}",
        seen.stdout
    );
    let same = case.run(&["diff", "--rev", "HEAD", NAME, "--exit-code"]);
    assert_eq!(same.code, Some(0), "{}", same.stdout);
    let lock = case.read("bundles.lock");
    case.write("bundles.lock", "version = [\n");
    git(&["commit", "--quiet", "-m", "damaged", "bundles.lock"]);
    case.write("bundles.lock", lock);
    let seen = case.run(&["diff", "--rev", "HEAD", NAME]);
    assert_eq!(seen.code, Some(2), "{}", seen.text());
    assert!(seen.stderr.contains("--> bundles.lock at HEAD:1"), "{}", seen.text());
    for revision in ["no-such-revision", "--output=x", ""] {
        let seen = case.run(&["diff", &format!("--rev={revision}"), NAME]);
        assert_eq!(seen.code, Some(2));
        assert!(seen.stderr.contains("error[git-failed]"), "{}", seen.stderr);
    }
}

#[test]
fn what_cannot_be_compared_is_said() {
    let case = built();
    let one = format!("{NAME}@1.0.0");
    case.write("other/Chart.yaml", "apiVersion: v2\nname: other\nversion: 1.0.0\n");
    case.write("other/templates/a.yaml", "a: {{ .Values.b | upper }}\n");
    case.write("damaged/Chart.yaml", "a: [\n");
    case.write("list.yaml", "- a\n");
    let mut all = String::new();
    for arguments in [
        vec!["diff", &one],
        vec!["diff", &one, "sealing-wax-operator@9.9.9"],
        vec!["diff", &one, "no-such-thing"],
        vec!["diff", &one, "./no-such-thing"],
        vec!["diff", &one, "damaged"],
        vec!["diff", &one, NAME, "--values", "list.yaml"],
        vec!["diff", &one, NAME, "--values", "nothing.yaml"],
        vec!["diff", &one, NAME, "--only", ".a..b", "--ignore", "a/b/c/d"],
        vec!["diff", &one, NAME, "-o", "no/such/folder"],
    ] {
        let seen = case.run(&arguments);
        assert_eq!(seen.code, Some(2), "{arguments:?}: {}", seen.stderr);
        let _ = write!(all, "$ {}\n{}\n", arguments.join(" "), seen.stderr);
    }
    // A third-party chart, without helm.
    let script = "PATH=/nowhere; exec \"$0\" \"$@\"";
    let seen = case.shell(script, &["diff", &one, "other"], &[]);
    let _ = write!(all, "$ PATH=/nowhere diff other\n{}\n", seen.stderr);
    insta::assert_snapshot!("refusals", all);
}

#[test]
fn values_change_what_is_compared() {
    let case = built();
    case.write(
        "values.yaml",
        "pullSecret:\n  dockerConfigJson: '{\"auths\": {\"hunter2\": {}}}'\n",
    );
    let one = format!("{NAME}@1.0.0");
    let bare = case.run(&["diff", &one, NAME, "--format", "json"]).stdout;
    let seen = case.run(&["diff", &one, NAME, "--format", "json", "-f", "values.yaml"]);
    assert_eq!(seen.code, Some(0), "{}", seen.stderr);
    let unchanged = |text: &str| {
        let report: Json = serde_json::from_str(text).expect("JSON");
        let relabelled = report["version_only"].as_array().expect("a list").len();
        report["unchanged"].as_u64().expect("a number") + relabelled as u64
    };
    // What Helm refuses is said, and is breaking.
    case.write("wrong.yaml", "deployments: {}\nreplica: 1\n");
    let wrong = case.run(&["diff", &one, NAME, "-f", "wrong.yaml", "--only", "ServiceAccount"]);
    assert_eq!(wrong.code, Some(0));
    for (said, told) in [
        (&wrong.stderr, "warning[values-refused]"),
        (&wrong.stdout, "breaking[given-value-refused]"),
    ] {
        assert_eq!(said.matches(told).count(), 1, "{said}");
        assert!(said.contains("unknown value `replica`"), "{said}");
    }
    let failing = [
        "diff",
        &one,
        NAME,
        "-f",
        "wrong.yaml",
        "--only",
        "ServiceAccount",
        "--fail-on",
        "breaking",
    ];
    assert_eq!(case.run(&failing).code, Some(1));
    // The pull secret is in both.
    assert_eq!(unchanged(&seen.stdout), unchanged(&bare) + 1);
    assert!(!seen.stdout.contains("hunter2"));
}

#[test]
fn ignored_changes_are_counted_with_their_reason() {
    let case = built();
    let ignore = "[[ignore]]\npath = \"CustomResourceDefinition\"\nreason = \"the CRDs' team reads them\"\n\
                  [[ignore]]\npath = \"NoSuchKind\"\nreason = \"not any more\"\n";
    case.write("bundles.toml", config("1.1.0", ignore));
    let seen = case.run(&["diff", &format!("{NAME}@1.0.0"), NAME]);
    insta::assert_snapshot!("ignored", seen.text());
    case.write(
        "bundles.toml",
        config("1.1.0", "[[ignore]]\npath = \".a..b\"\n[[ignore]]\npath = \"x\"\nreason = \" \"\n"),
    );
    insta::assert_snapshot!("ignore_wrong", case.run(&["diff", NAME, NAME]).stderr);
}

#[test]
fn builds_report_upgrades() {
    let case = built();
    let upgrade = format!("out/{NAME}/1.1.0/UPGRADE.md");
    assert!(case.read(&upgrade).starts_with(&format!("# {NAME} 1.0.0 → 1.1.0\n")));
    assert!(!case.path(&format!("out/{NAME}/1.0.0/UPGRADE.md")).exists());
    // Without the size of the chart, which every change of its texts changes.
    let report = case.read("out/REPORT.md");
    let (start, rest) = report.split_once(" KiB").expect("a size");
    let start = start.trim_end_matches(|c: char| c.is_ascii_digit());
    insta::assert_snapshot!("report", format!("{start}[size]{rest}"));
    // It is part of what is there: nothing to do, whatever was there before.
    let seen = case.run(&["build", "--check"]);
    assert_eq!((seen.code, seen.stdout.as_str()), (Some(0), ""), "{}", seen.stderr);
    let before = case.tree("out");
    assert_eq!(case.run(&["build"]).code, Some(0));
    assert_eq!(case.tree("out"), before);
    assert!(case.read(&format!("out/{NAME}/1.1.0/.helmignore")).contains("UPGRADE.md\n"));
    // Without the earlier version there is nothing to report, and the chart is the same one.
    std::fs::remove_dir_all(case.path(&format!("out/{NAME}/1.0.0"))).expect("it is deleted");
    let seen = case.run(&["build", "--check"]);
    assert_eq!(seen.code, Some(1));
    assert!(seen.stdout.contains(&format!("extra out/{NAME}/1.1.0/UPGRADE.md")), "{}", seen.stdout);
    assert!(seen.stdout.contains("stale out/REPORT.md"), "{}", seen.stdout);
    assert_eq!(case.run(&["build"]).code, Some(0));
    assert!(!case.path(&upgrade).exists());
    assert_eq!(case.run(&["build", "--check"]).code, Some(0));
    // A build of some bundles leaves the report on all alone.
    case.remove("out/REPORT.md");
    assert_eq!(case.run(&["build", NAME]).code, Some(0));
    assert!(!case.path("out/REPORT.md").exists());
    // A foreign chart in its place is not replaced.
    case.write("out/REPORT.md", "mine\n");
    let seen = case.run(&["build"]);
    assert_eq!(seen.code, Some(2));
    assert!(seen.stderr.contains("error[chart-edited]"), "{}", seen.stderr);
    assert_eq!(case.read("out/REPORT.md"), "mine\n");
    assert!(case.run(&["build", "--check"]).stdout.contains("stale out/REPORT.md"));
}

#[test]
fn an_edited_upgrade_report_is_not_lost() {
    let case = built();
    let upgrade = format!("out/{NAME}/1.1.0/UPGRADE.md");
    case.write(&upgrade, "mine\n");
    let seen = case.run(&["build"]);
    assert_eq!(seen.code, Some(2));
    assert!(seen.stderr.contains("error[chart-edited]"), "{}", seen.stderr);
    assert_eq!(case.run(&["build", "--replace"]).code, Some(0));
    assert!(case.read(&upgrade).starts_with("# "));
}

/// Upgrades of real operators.
const REAL: [(&str, &str, &str); 10] = [
    ("cert-manager-operator", "1.15.1", "1.15.2"),
    ("cert-manager-operator", "1.15.2", "1.16.0"),
    ("external-secrets-operator", "0.10.7", "0.11.0"),
    ("strimzi-kafka-operator", "1.0.1", "1.2.0"),
    ("rabbitmq-cluster-operator", "2.22.1", "2.22.3"),
    ("node-healthcheck-operator", "0.10.3", "0.12.0"),
    ("flux", "2.2.2", "2.3.0"),
    ("keycloak-operator", "26.6.4", "26.7.1"),
    ("jaeger", "1.62.0", "1.65.0"),
    ("percona-xtradb-cluster-operator", "1.19.1", "1.20.0"),
];

/// The most places of one object and code that a snapshot names.
const PLACES: usize = 5;

/// The differing objects, with changes and places: facts, and none of the operators' text.
fn facts(set: &ChangeSet) -> String {
    let summary = Summary::of(set);
    let count = |class| summary.count(class);
    let mut text = format!(
        "{} → {}\n{} breaking, {} risky, {} info; {} unchanged\n",
        set.old,
        set.new,
        count(Class::Breaking),
        count(Class::Risky),
        count(Class::Info),
        set.unchanged
    );
    for object in &set.objects {
        let _ = writeln!(text, "\n{} {}", object.action.as_str(), object.id);
        let mut by_code: BTreeMap<(Class, &str), Vec<String>> = BTreeMap::new();
        for change in &object.changes {
            for finding in &change.findings {
                let places = by_code.entry((finding.rule.class, finding.rule.code)).or_default();
                places.push(change.path.to_string());
            }
        }
        for ((class, code), places) in by_code {
            let _ = writeln!(text, "  {} {code} × {}", class.as_str(), places.len());
            if class != Class::Info {
                for place in places.iter().take(PLACES) {
                    let _ =
                        writeln!(text, "    {}", if place.is_empty() { "(all)" } else { place });
                }
            }
        }
    }
    text.push_str("\nplan\n");
    for step in &set.plan {
        let _ = writeln!(text, "  {} × {}", step.kind.id(), step.items.len());
    }
    text
}

/// Snapshots have only our own sentences and names: no descriptions.
#[test]
fn real_upgrades() {
    let Some(corpus) = crate::support::shared::shared("corpus") else { return };
    let mut missing = Vec::new();
    for (name, old, new) in REAL {
        let path = |version: &str| corpus.join(name).join(version).display().to_string();
        if !Path::new(&path(old)).exists() || !Path::new(&path(new)).exists() {
            missing.push(name);
            continue;
        }
        let set = compare(&path(old), &path(new));
        let (before, after) = (load(&path(old)), load(&path(new)));
        for (id, old) in &before.objects {
            let Some(new) = after.objects.get(id) else { continue };
            crate::fuzz::targets::diff::check_edits(old, new);
        }
        insta::assert_snapshot!(format!("real_{name}_{old}_{new}"), facts(&set));

        let style = text::Style { colour: false, width: 100, full: false };
        let report = text::render(&set, style);
        let screen = report.split("\nplan\n").next().expect("a first screen");
        insta::assert_snapshot!(format!("first_screen_{name}_{old}_{new}"), screen);
        let page = html::render(&set);
        assert!(page.len() < 500_000, "{name}: {} bytes of HTML", page.len());

        let back = compare(&path(new), &path(old));
        assert_eq!(set.acted("changed"), back.acted("changed"), "{name}");
        assert_eq!(set.acted("renamed"), back.acted("renamed"), "{name}");
        assert_eq!(set.acted("added"), back.acted("removed"), "{name}");
        assert_eq!(set.acted("removed"), back.acted("added"), "{name}");
        assert!(compare(&path(new), &path(new)).is_empty(), "{name}");
    }
    assert!(missing.is_empty(), "not in the corpus: {missing:?}");
}

#[test]
fn charts_of_others_are_rendered_by_helm() {
    let case = Case::new();
    for (version, port) in [("1.0.0", 80), ("1.1.0", 81)] {
        let path = |file: &str| format!("{version}/{file}");
        case.write(
            &path("Chart.yaml"),
            format!("apiVersion: v2\nname: other\nversion: {version}\n"),
        );
        case.write(&path("values.yaml"), format!("port: {port}\nname: web\n"));
        case.write(
            &path("crds/things.yaml"),
            "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\n\
             metadata: {name: things.example.com}\n",
        );
        case.write(
            &path("templates/list.yaml"),
            "apiVersion: v1\nkind: List\nitems:\n{{- range list .Values.name \"other\" }}\n\
             - apiVersion: v1\n  kind: Service\n  metadata: {name: {{ . }}, namespace: {{ $.Release.Namespace }}}\n  \
             spec: {ports: [{port: {{ $.Values.port | int }}}]}\n{{- end }}\n",
        );
    }
    case.write("values.yaml", "name: mine\n");
    let helm = crate::support::helm::Helm::newest();
    std::fs::create_dir(case.path("bin")).expect("a folder");
    std::os::unix::fs::symlink(&helm.path, case.path("bin/helm")).expect("a link");
    let script = "PATH=$PWD/bin:$PATH; exec \"$0\" \"$@\"";
    let seen = case.shell(script, &["diff", "1.0.0", "1.1.0", "-f", "values.yaml"], &[]);
    assert_eq!(seen.code, Some(0), "{}", seen.stderr);
    insta::assert_snapshot!("helm", seen.text());
    case.write("1.1.0/templates/fail.yaml", "{{ required \"a key is needed\" .Values.key }}\n");
    let seen = case.shell(script, &["diff", "1.0.0", "1.1.0"], &[]);
    assert_eq!(seen.code, Some(2));
    assert!(seen.stderr.contains("error[helm-failed]"), "{}", seen.stderr);
    assert!(seen.stderr.contains("a key is needed"), "{}", seen.stderr);
}

/// Writes a chart that Helm must render, with these lines of Chart.yaml.
fn foreign_chart(case: &Case, folder: &str, lines: &str) {
    case.write(
        &format!("{folder}/Chart.yaml"),
        format!("apiVersion: v2\nversion: 1.0.0\n{lines}\n"),
    );
    case.write(
        &format!("{folder}/templates/map.yaml"),
        "# a line for a shell: touch ran\napiVersion: v1\nkind: ConfigMap\nmetadata:\n  \
         name: {{ .Release.Name }}\ndata:\n  a: |\n    x\n    touch ran\n",
    );
}

/// Runs with this program as `helm`.
fn with_helm(case: &Case, helm: &Path, arguments: &[&str]) -> crate::support::command::Seen {
    let link = case.path("bin/helm");
    std::fs::create_dir_all(case.path("bin")).expect("a folder");
    let _ = std::fs::remove_file(&link);
    std::os::unix::fs::symlink(helm, link).expect("a link");
    case.shell("PATH=$PWD/bin:$PATH; exec timeout 100 \"$0\" \"$@\"", arguments, &[])
}

#[test]
fn a_chart_cannot_put_options_on_the_command_line_of_helm() {
    for helm in crate::support::helm::Helm::oldest_too_in_ci() {
        let case = Case::new();
        foreign_chart(&case, "good", "name: good");
        for name in [
            "--post-renderer=sh",
            "--repo=http://127.0.0.1:9",
            "--values=/etc/passwd",
            "--dry-run=server",
            "--debug",
            "-h",
            "..",
            "a/b",
            "a b",
            "",
        ] {
            foreign_chart(&case, "bad", &format!("name: {name:?}"));
            for arguments in [["diff", "good", "bad"], ["diff", "bad", "good"]] {
                let seen = with_helm(&case, &helm.path, &arguments);
                let version = helm.version;
                assert_eq!(seen.code, Some(2), "{version}, {name}: {}", seen.text());
                assert!(seen.stderr.contains("error[chart-unreadable]"), "{}", seen.stderr);
                assert!(seen.stderr.contains("invalid chart name"), "{}", seen.stderr);
                assert!(!case.path("ran").exists(), "{version}: {name} ran a program");
            }
        }
        for namespace in ["--post-renderer=sh", "-n", "A", "a b", ""] {
            let namespace = format!("--namespace={namespace}");
            let seen = with_helm(&case, &helm.path, &["diff", "good", "good", &namespace]);
            assert_eq!(seen.code, Some(2), "{namespace}: {}", seen.text());
            assert!(!case.path("ran").exists(), "{namespace} ran a program");
        }
        // What derives from the name of the release is the same for a chart that was renamed.
        foreign_chart(&case, "renamed", "name: better");
        let seen = with_helm(&case, &helm.path, &["diff", "good", "renamed", "--format", "json"]);
        assert_eq!(seen.code, Some(0), "{}", seen.text());
        let report: Json = serde_json::from_str(&seen.stdout).expect("JSON");
        let kinds: Vec<&Json> = report["objects"]
            .as_array()
            .expect("objects")
            .iter()
            .map(|o| &o["id"]["kind"])
            .collect();
        assert_eq!(kinds, ["Upgrade"], "{}", seen.stdout);
    }
}

#[test]
fn a_chart_reaches_no_network_and_no_file() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    listener.set_nonblocking(true).expect("a listener");
    let address = listener.local_addr().expect("an address");
    for helm in crate::support::helm::Helm::oldest_too_in_ci() {
        let case = Case::new();
        case.write("secret.json", "{\"type\": \"object\", \"required\": [\"hunter2\"]}");
        let secret = case.path("secret.json");
        for reference in
            [format!("http://{address}/schema.json"), format!("file://{}", secret.display())]
        {
            foreign_chart(&case, "a", "name: a");
            case.write("a/values.schema.json", json!({"$ref": reference}).to_string());
            // A dependency that is there is rendered, and its repository is not asked.
            foreign_chart(
                &case,
                "b",
                "name: b\ndependencies:\n- {name: sub, version: 1.0.0, repository: 'REPO'}",
            );
            case.replace("b/Chart.yaml", "REPO", &format!("http://{address}"));
            foreign_chart(&case, "b/charts/sub", "name: sub");
            case.write("b/charts/sub/values.schema.json", json!({"$ref": reference}).to_string());
            let seen = with_helm(&case, &helm.path, &["diff", "a", "b"]);
            assert_eq!(seen.code, Some(0), "{}: {}", helm.version, seen.text());
            assert!(!seen.text().contains("hunter2"), "{}", seen.text());
            assert!(listener.accept().is_err(), "{} asked for {reference}", helm.version);
        }
        // What a link leads to is not read, and the chart is not compared without it.
        std::os::unix::fs::symlink(&secret, case.path("a/values.json")).expect("a link");
        let seen = with_helm(&case, &helm.path, &["diff", "a", "b"]);
        assert_eq!(seen.code, Some(2), "{}", seen.text());
        let message = "`values.json` in chart `a` is a symbolic link";
        assert!(seen.stderr.contains(message), "{}", seen.stderr);
        std::fs::remove_file(case.path("a/values.json")).expect("removed");
        // A dependency that is missing is an error, not a download.
        std::fs::remove_dir_all(case.path("b/charts")).expect("removed");
        let seen = with_helm(&case, &helm.path, &["diff", "a", "b"]);
        assert_eq!(seen.code, Some(2), "{}", seen.text());
        assert!(listener.accept().is_err(), "{} asked for a dependency", helm.version);
    }
}

/// A template that doubles a text ends Helm before it has filled the memory.
#[cfg(target_os = "linux")]
#[test]
fn a_chart_cannot_fill_the_memory() {
    for helm in crate::support::helm::Helm::oldest_too_in_ci() {
        let case = Case::new();
        foreign_chart(&case, "a", "name: a");
        foreign_chart(&case, "b", "name: b");
        let doubled = "{{- $x = printf \"%s%s\" $x $x }}\n".repeat(34);
        case.write(
            "b/templates/x.yaml",
            format!("{{{{- $x := \"x\" }}}}\n{doubled}x: {{{{ len $x }}}}\n"),
        );
        let link = case.path("bin/helm");
        std::fs::create_dir_all(case.path("bin")).expect("a folder");
        std::os::unix::fs::symlink(&helm.path, link).expect("a link");
        let seen = case.shell("PATH=$PWD/bin:$PATH; exec \"$0\" \"$@\"", &["diff", "a", "b"], &[]);
        assert_eq!(seen.code, Some(2), "{}: {}", helm.version, seen.text());
        let message = "it needs more than 600 MiB of memory";
        assert!(seen.stderr.contains(message), "{}: {}", helm.version, seen.stderr);
    }
}

#[test]
fn helm_sees_nothing_of_the_user() {
    let case = Case::new();
    foreign_chart(&case, "a", "name: a");
    case.write("helm", "#!/bin/sh\nenv | sort >&2\nexit 1\n");
    make_executable(&case.path("helm"));
    let variables = [
        ("HELM_PLUGINS", "/hunter2"),
        ("HELM_DRIVER", "hunter2"),
        ("KUBECONFIG", "/hunter2"),
        ("KUBERNETES_SERVICE_HOST", "hunter2"),
        ("AWS_SECRET_ACCESS_KEY", "hunter2"),
        ("HTTPS_PROXY", "http://hunter2"),
        ("GIT_SSH_COMMAND", "hunter2"),
    ];
    std::fs::create_dir_all(case.path("bin")).expect("a folder");
    std::fs::rename(case.path("helm"), case.path("bin/helm")).expect("moved");
    let script = "PATH=$PWD/bin:$PATH; exec \"$0\" \"$@\"";
    let seen = case.shell(script, &["diff", "a", "a"], &variables);
    assert!(seen.stderr.contains("KUBECONFIG="), "{}", seen.stderr);
    assert!(seen.stderr.contains("LC_ALL=C"), "{}", seen.stderr);
    assert!(!seen.stderr.contains("hunter2"), "{}", seen.stderr);
}

fn make_executable(file: &Path) {
    use std::os::unix::fs::PermissionsExt as _;
    std::fs::set_permissions(file, std::fs::Permissions::from_mode(0o755)).expect("permissions");
}

/// Returns true if a process runs and is no zombie.
fn is_alive(pid: &str) -> bool {
    let Ok(stat) = std::fs::read_to_string(format!("/proc/{pid}/stat")) else { return false };
    !stat.rsplit(") ").next().unwrap_or_default().starts_with('Z')
}

#[test]
fn a_grandchild_of_helm_that_holds_its_output_is_not_waited_for() {
    let case = Case::new();
    foreign_chart(&case, "a", "name: a");
    let pids = case.path("pids");
    case.write("bin/fake", format!("#!/bin/sh\nsleep 600 &\necho $! >> {}\n", pids.display()));
    make_executable(&case.path("bin/fake"));
    let fake = case.path("bin/fake");
    let seen = with_helm(&case, &fake, &["diff", "a", "a"]);
    assert_eq!(seen.code, Some(0), "{}", seen.text());
    for pid in case.read("pids").lines() {
        assert!(!is_alive(pid), "{pid} is alive");
    }
}

#[test]
fn helm_ends_with_the_program_that_started_it() {
    // Not INT, which programs that a shell starts in the background ignore.
    for signal in [Signal::KILL, Signal::TERM] {
        let case = Case::new();
        foreign_chart(&case, "a", "name: a");
        let pids = case.path("pids");
        case.write(
            "bin/helm",
            format!("#!/bin/sh\nsleep 600 &\necho $$ $! > {}\nwait\n", pids.display()),
        );
        make_executable(&case.path("bin/helm"));
        let path = format!("{}:/usr/bin:/bin", case.path("bin").display());
        let mut child = Command::new(env!("CARGO_BIN_EXE_bundle2chart"))
            .args(["diff", "a", "a"])
            .current_dir(case.path(""))
            .env("PATH", path)
            .spawn()
            .expect("the program");
        let wait = |done: &dyn Fn() -> bool, what: &str| {
            let begun = std::time::Instant::now();
            while !done() {
                assert!(begun.elapsed().as_secs() < 60, "{signal:?}: {what}");
                std::thread::sleep(std::time::Duration::from_millis(10));
            }
        };
        wait(&|| pids.is_file() && case.read("pids").ends_with('\n'), "helm does not start");
        kill_process(Pid::from_child(&child), signal).expect("it runs");
        child.wait().expect("the end");
        for pid in case.read("pids").split_whitespace() {
            wait(&|| !is_alive(pid), "helm lives on");
        }
    }
}

#[test]
fn a_repository_runs_nothing_when_a_revision_is_read() {
    let case = Case::new();
    let git = |arguments: &[&str]| git(&case, arguments);
    git(&["init", "--quiet"]);
    let map = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: x}\ndata: {a: '$Format:%H$'}\n";
    let chart = "apiVersion: v2\nname: mine\nversion: 1.0.0\ntype: application\n";
    case.write("out/mine/Chart.yaml", chart);
    case.write("out/mine/templates/map.yaml", map);
    case.write(".gitattributes", "*.yaml filter=evil export-subst\nCh* eol=crlf\n");
    git(&["add", "."]);
    git(&["commit", "--quiet", "-m", "one"]);
    let evil = format!("touch {}; cat", case.path("ran").display());
    for key in [
        "filter.evil.smudge",
        "filter.evil.clean",
        "filter.evil.process",
        "core.fsmonitor",
        "core.sshCommand",
        "core.pager",
        "pager.archive",
        "tar.tar.command",
        "alias.ls-tree",
    ] {
        git(&["config", key, &evil]);
    }
    git(&["config", "core.autocrlf", "true"]);
    let seen = case.run(&["diff", "--rev", "HEAD", "mine", "--out", "out", "--exit-code"]);
    assert_eq!(seen.code, Some(0), "{}", seen.text());
    assert!(!case.path("ran").exists(), "git ran a program");
}

#[test]
fn every_rule_is_explained() {
    let case = Case::new();
    insta::assert_snapshot!("explain", case.run(&["explain", "rbac-secrets"]).text());
    let all = case.run(&["explain"]).stdout;
    for rule in diff::rules::all() {
        assert!(all.lines().any(|line| line.split(' ').next() == Some(rule.code)), "{}", rule.code);
    }
    assert!(case.run(&["explain", "rbac-secret"]).stderr.contains("rbac-secrets"));
}
