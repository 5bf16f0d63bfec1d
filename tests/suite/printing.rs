//! Text that is not ours, in everything that the program prints and writes: no terminal is steered, no
//! line is an order to a runner, and Markdown shows it instead of obeying it.

use crate::catalog::fixture::{self as catalog, embedded, lamp_json};
use crate::support::command::{Case, Seen};
use crate::support::lamp::{ANNOTATIONS_FILE, CRD_FILE, CSV, CSV_FILE};
use bundle2chart::diag::Code;
use pulldown_cmark::{Event, Options, Parser, Tag};
use regex::Regex;
use serde_json::{Value as Json, json};
use std::io::{Read as _, Write as _};
use std::net::TcpListener;
use std::sync::LazyLock;

/// Every way to be more than text: colours, titles, directions, invisible characters, line breaks,
/// orders to runners, Markdown and HTML.
const HOSTILE: &str = "EVIL\u{1b}[8m\u{1b}]0;t\u{7}\u{8}\u{9b}31m\u{7f}\u{85}\u{202e}\u{2066}\u{200b}\u{feff}\
    \u{e0041}\u{2028}\r\n::error file=a,line=1::EVIL\n \t::add-mask::EVIL\n##[error]EVIL ##vso[task.complete]EVIL \
    ##teamcity[EVIL]\n\u{1b}[0Ksection_start:0:x\r\u{1b}[0K [a](http://EVIL) ![b](https://EVIL/c.png) \
    <img src=EVIL> <script>EVIL()</script> @EVIL #1 `<b>EVIL</b> ``<i>EVIL</i> | EVIL {{ EVIL }}\n# EVIL\n";

const FORMATS: [&str; 4] = ["human", "json", "github", "sarif"];

/// Patterns, each compiled once: without optimization that takes milliseconds.
static HIDDEN: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"[[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]--\n]").expect("a class"));
static BRACKETS: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"##[A-Za-z]*\[").expect("an order"));
static OURS: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"^::(error|warning|notice) ([^:]*,)?title=([a-z-]+)::").expect("ours")
});
static COLOURS: LazyLock<Regex> =
    LazyLock::new(|| Regex::new("\u{1b}\\[[0-9;]*m").expect("colours"));

fn text_is_harmless(text: &str, what: &str) {
    if let Some(found) = HIDDEN.find(text) {
        let start = text[..found.start()].rfind('\n').map_or(0, |at| at + 1);
        let line = text[start..].lines().next().unwrap_or_default();
        panic!("{what}: {:?} in {line:?}", found.as_str());
    }
    for line in text.lines() {
        assert!(!BRACKETS.is_match(line), "{what}: {line}");
        if line.trim_start().starts_with("::") {
            let title = OURS.captures(line).map(|parts| parts[3].to_owned());
            let known = title.is_some_and(|t| Code::ALL.iter().any(|code| code.as_str() == t));
            assert!(known && what.contains("github"), "{what}: {line}");
        }
    }
}

/// Runs a command and looks at all that it prints.
fn run(case: &Case, arguments: &[&str]) -> Seen {
    let seen = case.run(arguments);
    let shown: Vec<&str> =
        arguments.iter().map(|a| a.split('\u{1b}').next().unwrap_or(a)).collect();
    let what = shown.join(" ");
    if arguments.contains(&"always") {
        for stream in [&seen.stdout, &seen.stderr] {
            assert!(!stream.contains("\u{1b}[8m"), "{what}: {stream:?}");
            text_is_harmless(&COLOURS.replace_all(stream, ""), &what);
        }
        return seen;
    }
    text_is_harmless(&seen.stdout, &format!("stdout of {what}"));
    text_is_harmless(&seen.stderr, &format!("stderr of {what}"));
    seen
}

/// Runs a command in all formats of diagnostics, and with colours.
fn run_all(case: &Case, arguments: &[&str]) {
    for format in FORMATS {
        run(case, &[arguments, &["--message-format", format]].concat());
    }
    run(case, &[arguments, &["--color", "always"]].concat());
}

/// The bundle with a hostile text in more places, as the CSV, the CRD and annotations have it.
fn with_hostile(pointers: &str) -> Case {
    let case = Case::with_lamps();
    let mut csv = serde_yaml::from_str::<Json>(CSV).expect("a CSV");
    csv["spec"]["provider"] = json!({"name": "Lamps", "url": "https://example.com"});
    csv["spec"]["maturity"] = json!("stable");
    csv["spec"]["minKubeVersion"] = json!("1.20.0");
    csv["spec"]["keywords"] = json!(["lamp"]);
    csv["spec"]["maintainers"] = json!([{"name": "a", "email": "a@example.com"}]);
    csv["spec"]["replaces"] = json!("lamp-operator.v1.2.2");
    csv["spec"]["relatedImages"] = json!([{"name": "a", "image": "registry.example.com/a:1"}]);
    csv["metadata"]["annotations"] =
        json!({"operatorframework.io/suggested-namespace": "lamps", "description": "a"});
    let template = "/spec/install/spec/deployments/0/spec/template";
    let container = csv.pointer_mut(&format!("{template}/spec/containers/0")).expect("a container");
    container["env"] = json!([{"name": "RELATED_IMAGE_A", "value": "registry.example.com/b:1"}]);
    container["args"] = json!(["--namespace=lamps"]);
    for pointer in pointers.split_whitespace() {
        *csv.pointer_mut(pointer).expect("a place") = json!(HOSTILE);
    }
    case.write(CSV_FILE, format!("{csv:#}"));
    case
}

const PLACES: &[&str] = &[
    "",
    "/metadata/name /metadata/annotations/description /spec/displayName /spec/provider/name \
     /spec/maturity /spec/minKubeVersion /spec/keywords/0 /spec/maintainers/0/name /spec/replaces",
    "/spec/relatedImages/0/name /spec/relatedImages/0/image \
     /spec/install/spec/deployments/0/spec/template/spec/containers/0/image",
    "/spec/customresourcedefinitions/owned/0/kind \
     /spec/install/spec/clusterPermissions/0/rules/0/apiGroups/0 \
     /spec/install/spec/clusterPermissions/0/rules/0/resources/0 \
     /spec/install/spec/clusterPermissions/0/rules/0/verbs/0",
    "/spec/install/spec/deployments/0/spec/template/spec/containers/0/name \
     /spec/install/spec/deployments/0/spec/template/spec/containers/0/args/0 \
     /spec/install/spec/deployments/0/spec/template/spec/containers/0/env/0/name \
     /spec/install/spec/deployments/0/spec/template/spec/containers/0/env/0/value",
    "/metadata/annotations/operatorframework.io~1suggested-namespace",
    "/spec/version",
    "/spec/customresourcedefinitions/owned/0/name",
    "/spec/install/spec/clusterPermissions/0/serviceAccountName",
    "/spec/install/spec/deployments/0/name",
];

/// Checks text for readers: nothing hidden, and Markdown shows its input.
fn written_files_are_harmless(case: &Case, place: &str) {
    for path in case.listing("out").lines() {
        let name = path.rsplit('/').next().unwrap_or(path);
        if matches!(name, "NOTES.txt" | "values.yaml") || path.ends_with(".md") {
            let mut text = case.read(&format!("out/{path}"));
            // Keys and defaults are data, which YAML spells; the comments are ours.
            if name == "values.yaml" {
                let is_comment = |line: &&str| line.trim_start().starts_with('#');
                text = text.lines().filter(is_comment).collect::<Vec<_>>().join("\n");
            }
            text_is_harmless(&text, &format!("{place}: {path}"));
            if name == "NOTES.txt" {
                assert!(!text.contains("EVIL"), "{place}: {text}");
            }
            if path.ends_with(".md") {
                markdown_is_harmless(&text, &format!("{place}: {path}"));
            }
        }
    }
}

fn markdown_is_harmless(text: &str, what: &str) {
    let mut is_code = false;
    for event in Parser::new_ext(text, Options::ENABLE_TABLES | Options::ENABLE_GFM) {
        let shown = format!("{event:?}");
        match event {
            Event::Start(Tag::Link { .. } | Tag::Image { .. } | Tag::Heading { .. })
            | Event::Html(_)
            | Event::InlineHtml(_) => {
                is_code = shown.contains("<code>");
                // A name may be in the summary of a fold, as text.
                let is_markup = ["<img", "<script", "<b>EVIL", "<i>EVIL"];
                assert!(!is_markup.iter().any(|tag| shown.contains(tag)), "{what}: {shown}");
                let is_link = !shown.contains("summary") && shown.contains("EVIL");
                assert!(!is_link, "{what}: {shown}");
            }
            Event::Start(Tag::CodeBlock(_)) => is_code = true,
            Event::End(_) => is_code = false,
            Event::Text(text) if !is_code => {
                assert!(!text.contains("@EVIL"), "{what}: {text}");
                assert!(!text.contains("://"), "{what}: {text}");
            }
            _ => {}
        }
    }
}

#[test]
fn every_command_prints_hostile_bundles() {
    for place in PLACES {
        let case = with_hostile(place);
        run_all(&case, &["inspect", "bundle"]);
        run_all(&case, &["build", "-v"]);
        written_files_are_harmless(&case, place);
        run(&case, &["inspect", "bundle", "--objects"]);
        run(&case, &["images"]);
        run(&case, &["lock"]);
        for format in ["json", "skopeo", "imageset"] {
            run(&case, &["images", "--format", format]);
        }
        run(&case, &["images", "--format", "idms", "--mirror", "mirror.example.com"]);
        run_all(&case, &["outdated"]);
        run(&case, &["outdated", "--format", "json"]);
        run(&case, &["package", "-d", "packages"]);
    }
}

#[test]
fn differences_of_hostile_bundles() {
    for place in PLACES {
        let case = with_hostile(place);
        let old = with_hostile("");
        case.write("old/manifests/csv.yaml", old.read(CSV_FILE));
        case.write("old/manifests/crd.yaml", old.read(CRD_FILE));
        case.write("old/metadata/annotations.yaml", old.read(ANNOTATIONS_FILE));
        for format in ["text", "markdown", "json", "html"] {
            let seen = run(&case, &["diff", "old", "bundle", "--format", format, "-v"]);
            if format == "markdown" {
                markdown_is_harmless(&seen.stdout, place);
            }
            if format == "html" {
                for tag in ["<img", "<script>EVIL", "<b>EVIL", "<i>EVIL"] {
                    assert!(!seen.stdout.contains(tag), "{place}: {tag}");
                }
            }
        }
        run(&case, &["diff", "old", "bundle", "--color", "always"]);
    }
}

#[test]
fn annotations_and_crds_are_hostile() {
    let annotation = |key: &str, value: &str| {
        let case = with_hostile("");
        let mut annotations =
            serde_yaml::from_str::<Json>(&case.read(ANNOTATIONS_FILE)).expect("annotations");
        annotations["annotations"][key] = json!(value);
        case.write(ANNOTATIONS_FILE, annotations.to_string());
        case
    };
    for key in ["package", "channels", "manifests", "metadata", "mediatype"] {
        let case = annotation(&format!("operators.operatorframework.io.bundle.{key}.v1"), HOSTILE);
        run_all(&case, &["inspect", "bundle"]);
        run_all(&case, &["build"]);
        written_files_are_harmless(&case, key);
    }
    for pointer in ["/metadata/name", "/spec/group", "/spec/names/kind", "/spec/versions/0/name"] {
        let case = with_hostile("");
        let mut crd = serde_yaml::from_str::<Json>(&case.read(CRD_FILE)).expect("a CRD");
        *crd.pointer_mut(pointer).expect("a place") = json!(HOSTILE);
        case.write(CRD_FILE, crd.to_string());
        run_all(&case, &["inspect", "bundle"]);
        run_all(&case, &["build"]);
        written_files_are_harmless(&case, pointer);
    }
    // Roles may have any name; readers quote text of a manifest that they cannot read.
    for manifest in [
        json!({"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "Role",
            "metadata": {"name": HOSTILE}, "rules": []})
        .to_string(),
        json!({"apiVersion": HOSTILE, "kind": HOSTILE, "metadata": {"name": HOSTILE}}).to_string(),
        format!("a: {HOSTILE}\n"),
        format!("{{{HOSTILE}"),
    ] {
        let case = with_hostile("");
        case.write("bundle/manifests/more.yaml", manifest);
        run_all(&case, &["inspect", "bundle"]);
        run_all(&case, &["build"]);
        written_files_are_harmless(&case, "more.yaml");
    }
}

/// README.md and NOTES.txt have commands to copy, and a namespace is in most of them.
#[test]
fn a_namespace_is_no_command() {
    let namespace = "lamps; touch evil &";
    let case = with_hostile("");
    case.replace(
        CSV_FILE,
        "suggested-namespace\": \"lamps\"",
        &format!("suggested-namespace\": {}", json!(namespace)),
    );
    let account = json!({"apiVersion": "v1", "kind": "ServiceAccount",
        "metadata": {"name": "a", "namespace": namespace}});
    let seen = run(&case, &["build"]);
    assert_eq!(seen.code, Some(2), "{}", seen.text());
    assert!(
        seen.stderr.contains("error[invalid-name]: invalid suggested namespace"),
        "{}",
        seen.text()
    );
    let case = with_hostile("");
    case.write(
        "bundles.toml",
        format!("{}[[bundle.overlay]]\ninline = '{account}'\n", crate::support::lamp::CONFIG),
    );
    let seen = run(&case, &["build"]);
    assert_eq!(seen.code, Some(2), "{}", seen.text());
}

#[test]
fn names_of_files_are_hostile() {
    let name = "EVIL\u{1b}[8m\u{9b}31m\u{202e}\r\n::error::EVIL ##[error]EVIL";
    let case = with_hostile("");
    assert_eq!(run(&case, &["build"]).code, Some(0));
    case.write(&format!("out/lamp-operator/1.2.3/{name}"), "");
    run_all(&case, &["build", "--check"]);
    run_all(&case, &["build"]);
    for command in [&["package"][..], &["verify", "out/lamp-operator/1.2.3"]] {
        let seen = run(&case, command);
        assert!(seen.stderr.contains("error[chart-unreadable]"), "{}", seen.text());
    }
    run_all(&case, &["package"]);
    run_all(&case, &["verify", "out/lamp-operator/1.2.3"]);

    // A name with one meaning for every program is that of a foreign file.
    let folder = case.path("out/lamp-operator/1.2.3");
    std::fs::remove_file(folder.join(name)).expect("removed");
    let plain = "EVIL\u{202e} ##[error]EVIL";
    case.write(&format!("out/lamp-operator/1.2.3/{plain}"), "");
    let seen = run(&case, &["package"]);
    assert!(seen.stderr.contains("error[foreign-file]"), "{}", seen.text());
    run_all(&case, &["package"]);
    assert_eq!(run(&case, &["verify", "out/lamp-operator/1.2.3"]).code, Some(1));
    run_all(&case, &["verify", "out/lamp-operator/1.2.3"]);
    run_all(&case, &["verify", "out/lamp-operator/1.2.3", "--format", "json"]);
    run_all(&case, &["push", "oci://registry.example.com/charts", "--offline"]);
    case.write(&format!("bundle/manifests/{name}.yaml"), "a: [");
    run_all(&case, &["build"]);
    case.write(&format!("{name}/pods.yaml"), "apiVersion: v1\nkind: [");
    run_all(&case, &["check-serving", name]);
    let overlay = format!("\n[[bundle.overlay]]\npath = {}\n", json!(name));
    case.write("bundles.toml", case.read("bundles.toml") + &overlay);
    run_all(&case, &["build"]);
}

#[test]
fn arguments_are_hostile() {
    let case = with_hostile("");
    for arguments in [
        &[HOSTILE][..],
        &["build", HOSTILE],
        &["build", "--jobs", HOSTILE],
        &["build", "--out", HOSTILE, "--check"],
        &["explain", HOSTILE],
        &["inspect", HOSTILE],
        &["inspect", "bundle", "--watch", HOSTILE],
        &["inspect", "bundle", "--namespace", HOSTILE],
        &["images", HOSTILE],
        &["images", "--format", "idms", "--mirror", HOSTILE],
        &["lock", "--upgrade", HOSTILE],
        &["diff", HOSTILE, "bundle"],
        &["diff", "bundle", "bundle", "--only", HOSTILE],
        &["diff", "bundle", "bundle", "-o", "no/such\u{1b}/\n::error::x"],
        &["diff", "bundle", "--rev", HOSTILE],
        &["check-serving", HOSTILE],
        &["vendor", "EVIL\u{1b}[8m\n::error::EVIL"],
        &["vendor", "--to", HOSTILE],
        &["outdated", HOSTILE],
        &["add", HOSTILE],
        &["add", HOSTILE, HOSTILE],
        &["add", "bundle", "--name", HOSTILE],
        &["add", "bundle", "--namespace", HOSTILE],
        &["add", "bundle", "--watch", HOSTILE],
        &["remove", HOSTILE],
        &["migrate", HOSTILE],
        &["migrate", HOSTILE, HOSTILE],
        &["migrate", "bundle", "--catalog", HOSTILE],
        &["outdated", "--format", HOSTILE],
        &["package", HOSTILE],
        &["package", "--out", HOSTILE],
        &["push", HOSTILE],
        &["verify", HOSTILE],
        &["verify", &format!("oci://{HOSTILE}")],
        &["verify", "lamp-operator", "--out", HOSTILE],
        &["push", &format!("oci://{HOSTILE}")],
        &["push", "oci://registry.example.com/charts", HOSTILE],
        &["push", "oci://registry.example.com/charts", "--out", HOSTILE],
        &["init", "-c", "no/such\u{1b}/\n::error::x"],
        &["build", "-c", HOSTILE],
    ] {
        run_all(&case, arguments);
    }
    for arguments in [&["schema"][..], &["man"], &["--help"], &["completions", "bash"]] {
        let seen = case.run(arguments);
        assert!(!seen.stdout.contains('\u{1b}'));
    }
}

#[test]
fn configurations_locks_and_catalogs_are_hostile() {
    let case = with_hostile("");
    let config = case.read("bundles.toml");
    for text in [
        format!("a = {}\n{config}", json!(HOSTILE)),
        format!("# {HOSTILE}\n{config}"),
        config.replace("lamp-operator", "EVIL\u{9b}31m\u{202e}"),
        format!("{config}exclude = [{}]\n", json!("\u{202e}EVIL\u{9b}(")),
    ] {
        case.write("bundles.toml", text);
        run_all(&case, &["build"]);
    }
    case.write("bundles.toml", config);
    for text in [HOSTILE.to_owned(), format!("version = {}\n", json!(HOSTILE))] {
        case.write("bundles.lock", text);
        run_all(&case, &["build"]);
        run_all(&case, &["lock"]);
        run_all(&case, &["outdated"]);
    }

    let case = Case::new();
    let entry = |name: &str| json!({"name": name, "replaces": HOSTILE});
    for entries in [json!([entry("a.v1.0.0")]), json!([entry(HOSTILE)])] {
        let blobs = [
            json!({"schema": "olm.package", "name": "a", "defaultChannel": HOSTILE}),
            json!({"schema": "olm.channel", "package": "a", "name": HOSTILE, "entries": entries}),
            json!({"schema": "olm.bundle", "package": "a", "name": "a.v1.0.0", "image": HOSTILE,
                "properties": [{"type": "olm.package", "value": {"packageName": "a", "version": HOSTILE}}]}),
            json!({"schema": "olm.deprecations", "package": "a", "entries":
                [{"reference": {"schema": "olm.package"}, "message": HOSTILE}]}),
        ];
        case.write("catalog/a.json", blobs.map(|blob| blob.to_string()).join("\n"));
        for more in ["", "channel = \"b\"\n", "version = \"1.0.0\"\n"] {
            let config = "[[bundle]]\nname = \"a\"\ncatalog = \"catalog\"\npackage = \"a\"\n";
            case.write("bundles.toml", format!("{config}{more}"));
            run_all(&case, &["lock"]);
            run_all(&case, &["build"]);
        }
    }
}

/// The locked bundle is harmless, and all that its catalog says later is not.
#[test]
fn catalogs_of_locked_bundles_are_hostile() {
    let case = Case::new();
    let blobs = |objects: &[Json]| -> String {
        objects.iter().map(|object| format!("{object}\n")).collect()
    };
    let channel = |name: &str, entries: Json| json!({"schema": "olm.channel", "package": "lamp-operator", "name": name, "entries": entries});
    let installed = embedded(&lamp_json());
    let mut next = installed.clone();
    next["name"] = json!(HOSTILE);
    for property in next["properties"].as_array_mut().expect("a list") {
        if property["type"] == "olm.package" {
            property["value"]["version"] = json!("1.3.0");
        }
    }
    let entry = |name: &str, replaces: &str| json!({"name": name, "replaces": replaces});
    let name = "lamp-operator.v1.2.3";
    let deprecated = |schema: &str, name: &str| json!({"reference": {"schema": schema, "name": name}, "message": HOSTILE});
    let deprecations = json!({"schema": "olm.deprecations", "package": "lamp-operator", "entries": [
        deprecated("olm.package", HOSTILE), deprecated("olm.channel", HOSTILE),
        deprecated("olm.bundle", HOSTILE), deprecated("olm.bundle", name)]});
    let default_channel =
        json!({"schema": "olm.package", "name": "lamp-operator", "defaultChannel": HOSTILE});
    case.write("bundles.toml", catalog::CONFIG);

    let first = [
        default_channel.clone(),
        channel(HOSTILE, json!([entry(name, HOSTILE)])),
        installed.clone(),
    ];
    case.write("catalog/a.json", blobs(&first));
    let seen = run(&case, &["lock"]);
    assert_eq!(seen.code, Some(0), "{}", seen.text());
    let paths = [
        json!([entry(name, "older"), entry(HOSTILE, name)]),
        json!([entry(HOSTILE, "another")]),
        // Without a head, which is an error.
        json!([entry(name, HOSTILE), entry(HOSTILE, name)]),
    ];
    for entries in paths {
        let objects = [
            default_channel.clone(),
            channel(HOSTILE, entries),
            installed.clone(),
            next.clone(),
            deprecations.clone(),
        ];
        case.write("catalog/a.json", blobs(&objects));
        for format in ["text", "json"] {
            let seen = run(&case, &["outdated", "--format", format]);
            assert!(seen.text().contains("EVIL"), "{}", seen.text());
        }
        run_all(&case, &["outdated"]);
        run_all(&case, &["outdated", "--format", "json"]);
        run_all(&case, &["lock", "--upgrade", "--check"]);
        run_all(&case, &["lock", "--upgrade", "--latest", "--check"]);
    }
}

#[test]
fn manifests_of_models_are_hostile() {
    let case = Case::new();
    let pod = json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": HOSTILE},
        "spec": {"template": {"metadata": {"labels": {"app": HOSTILE}}, "spec": {"containers": [
            {"name": HOSTILE, "image": HOSTILE, "command": ["vllm", "serve", HOSTILE],
             "args": [HOSTILE, "--port", HOSTILE]}]}}}});
    let pool = json!({"apiVersion": "inference.networking.k8s.io/v1", "kind": "InferencePool",
        "metadata": {"name": HOSTILE}, "spec": {"selector": {"matchLabels": {"app": HOSTILE}},
        "targetPorts": [{"number": 1}], "endpointPickerRef": {"name": HOSTILE}}});
    case.write("all.yaml", format!("{pod}\n---\n{pool}\n"));
    run_all(&case, &["check-serving", "all.yaml"]);
}

#[test]
fn answers_of_registries_are_hostile() {
    let body = json!({"errors": [{"code": HOSTILE, "message": HOSTILE, "detail": HOSTILE}]});
    let head = "403 \u{9b}31m##[error]EVIL\r\nx-a: \u{9b}##[error]EVIL\r\nlocation: ##[a]";
    let host = answering(head, &body.to_string());
    let case = with_hostile("");
    assert_eq!(case.run(&["build"]).code, Some(0));
    case.write("bundles.toml", image_of(&host));
    run_all(&case, &["lock"]);
    run_all(&case, &["build", "-vvv"]);
    run_all(&case, &["outdated"]);
    let seen = run(&case, &["push", &format!("oci://{host}/a")]);
    assert!(seen.stderr.contains(&host), "{}", seen.text());
    run_all(&case, &["push", &format!("oci://{host}/a"), "--replace"]);
    run_all(&case, &["push", &format!("oci://{host}/a"), "--check"]);
    run_all(&case, &["inspect", &format!("{host}/a/b:1")]);

    // Tags, addresses of further pages, and digests.
    let tags = json!({"tags": [HOSTILE, "2.0.0", "2.1.0-EVIL\u{9b}", "2.1.0\u{202e}"]}).to_string();
    for (link, body) in [
        ("</a?EVIL\u{9b}##[error]EVIL>; rel=next", &*tags),
        ("<##[error]EVIL>; rel=next", HOSTILE),
        ("a", &*tags),
    ] {
        let head = format!(
            "200 EVIL\r\nlink: {link}\r\ndocker-content-digest: sha256:EVIL\u{9b}##[error]"
        );
        let host = answering(&head, body);
        case.write("bundles.toml", image_of(&host));
        run_all(&case, &["outdated"]);
        run_all(&case, &["outdated", "--format", "json"]);
        run_all(&case, &["push", &format!("oci://{host}/a")]);
    }
}

/// Starts a registry that has one answer: a status with headers, and a body.
fn answering(head: &str, body: &str) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = listener.local_addr().expect("an address").port();
    let answer = format!(
        "HTTP/1.1 {head}\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\
         connection: close\r\n\r\n{body}",
        body.len()
    );
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let Ok(mut stream) = stream else { continue };
            let _ = stream.read(&mut [0; 4096]);
            let _ = stream.write_all(answer.as_bytes());
        }
    });
    format!("127.0.0.1:{port}")
}

fn image_of(host: &str) -> String {
    format!(
        "[[registry]]\nhost = \"{host}\"\nplain-http = true\n\
         [[bundle]]\nname = \"a\"\nimage = \"{host}/a/b:1\"\n"
    )
}

/// The `file` of each command, and the whole lines.
fn annotated(seen: &Seen) -> Vec<(String, String)> {
    let file = Regex::new("file=([^,:]*)").expect("a property");
    let lines = seen.stdout.lines();
    lines
        .map(|line| {
            (file.captures(line).map_or(String::new(), |f| f[1].to_owned()), line.to_owned())
        })
        .collect()
}

fn uris(seen: &Seen) -> Vec<String> {
    let log: Json = serde_json::from_str(&seen.stdout).expect("one document");
    let results = log["runs"][0]["results"].as_array().expect("results").clone();
    let uri = |result: &Json| {
        result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"].clone()
    };
    results.iter().map(|result| uri(result).as_str().expect("a URI").to_owned()).collect()
}

#[test]
fn places_are_files_of_the_repository() {
    let case = Case::new();
    let broken = CSV.replace("verbs: ['*']", "verbs: 7");
    case.write("sub dir/bundle/manifests/csv.yaml", &broken);
    case.write("sub dir/bundle/metadata/annotations.yaml", crate::support::lamp::ANNOTATIONS);
    case.write("sub dir/bundles.toml", crate::support::lamp::CONFIG);
    case.write(".git/HEAD", "ref: refs/heads/main\n");
    let config = ["-c", "sub dir/bundles.toml", "build", "--message-format"];
    let file = "sub dir/bundle/manifests/csv.yaml";

    // From the top, from a folder, and where GitHub says what the top is.
    let seen = case.run(&[&config[..], &["github"]].concat());
    assert_eq!(seen.code, Some(2));
    assert!(!annotated(&seen).is_empty());
    assert!(annotated(&seen).iter().all(|(found, _)| found == file), "{}", seen.text());
    let from_folder = |environment: &[(&str, &str)]| {
        let script = "cd 'sub dir' && exec \"$0\" build --message-format github";
        case.shell(script, &[], environment)
    };
    assert!(annotated(&from_folder(&[])).iter().all(|(found, _)| found == file));
    let workspace = case.path("sub dir").display().to_string();
    let seen = from_folder(&[("GITHUB_WORKSPACE", &workspace)]);
    assert!(annotated(&seen).iter().all(|(found, _)| found == "bundle/manifests/csv.yaml"));
    let seen = case.run(&[&config[..], &["sarif"]].concat());
    assert!(
        uris(&seen).iter().all(|uri| uri == "sub%20dir/bundle/manifests/csv.yaml"),
        "{}",
        seen.text()
    );

    // An archive has no files in the repository: the line of the bundle has, and the text says where.
    let packed =
        case.shell("cd 'sub dir/bundle' && tar cf ../bundle.tar manifests metadata", &[], &[]);
    assert_eq!(packed.code, Some(0), "{}", packed.text());
    case.replace("sub dir/bundles.toml", "path = \"bundle\"", "path = \"bundle.tar\"");
    let seen = case.run(&[&config[..], &["github"]].concat());
    assert!(!annotated(&seen).is_empty());
    for (found, line) in annotated(&seen) {
        assert_eq!(found, "sub dir/bundles.toml", "{line}");
        assert!(line.contains(",line=1,") && line.contains("%0Ain: manifests/csv.yaml"), "{line}");
    }
    let seen = case.run(&[&config[..], &["sarif"]].concat());
    assert!(uris(&seen).iter().all(|uri| uri == "sub%20dir/bundles.toml"), "{}", seen.text());
    assert!(seen.stdout.contains("\\nin: manifests/csv.yaml:"), "{}", seen.stdout);
}

#[test]
fn a_report_is_one_document() {
    let case = with_hostile("");
    for format in ["json", "sarif", "github"] {
        let seen = case.run(&["inspect", "bundle", "--objects", "--message-format", format]);
        let objects: Json = serde_json::from_str(&seen.stdout).expect("one document");
        assert!(objects.is_array());
        let seen =
            case.run(&["diff", "bundle", "bundle", "--format", "json", "--message-format", format]);
        assert!(serde_json::from_str::<Json>(&seen.stdout).is_ok(), "{}", seen.text());
    }
    // The report of `inspect` is for people: programs read diagnostics.
    let seen = case.run(&["inspect", "bundle", "--message-format", "sarif"]);
    assert!(serde_json::from_str::<Json>(&seen.stdout).is_ok(), "{}", seen.text());
    assert!(seen.stderr.contains("lamp-operator"), "{}", seen.text());
}

/// The configuration is committed, and logs of CI are read by many.
#[test]
fn passwords_in_urls_are_refused_and_not_printed() {
    let case = Case::new();
    let bundle = "[[bundle]]\nname = \"a\"\nimage = ";
    let urls = [
        "https://user:hunter2@registry.example.com/x/y:1",
        "oci://user:hunter2@a.example/x:1",
        "user:hunter2@registry.example.com/x/y:1",
    ];
    for format in ["human", "json", "github", "sarif"] {
        for url in urls {
            case.write("bundles.toml", format!("# was {url}\n{bundle}\"{url}\"\n"));
            let commands: [&[&str]; 4] = [&["build"], &["lock"], &["inspect", url], &["add", url]];
            for command in commands {
                let seen = case.run(&[command, &["--message-format", format]].concat());
                assert_eq!(seen.code, Some(2), "{}", seen.text());
                assert!(seen.text().contains("a password"), "{}", seen.text());
                assert!(!seen.text().contains("hunter2"), "{}", seen.text());
            }
        }
    }
}
