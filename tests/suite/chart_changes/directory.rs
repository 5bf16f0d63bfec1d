//! Changes of chart directories.

use super::package::UNREADABLE;
use super::{BINDING, CHARTS, Files, Project, Random, Truth, original, replace};
use crate::support::helm::Helm;
use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

/// A change of files; false if the chart has nothing to change.
type Edit = fn(&mut Files, &mut Random) -> bool;

/// The kinds of changes, with the code of the error about those that are not read.
const KINDS: &[(&str, Option<&str>, Edit)] = &[
    ("a new template", None, |files, random| {
        let end = [".yaml", ".yml", ".json", ".txt", ".tpl", ".YAML", ".md", ""][random.below(8)];
        add(files, format!("templates/evil{end}"), BINDING)
    }),
    ("a new template in a subdirectory", None, |files, random| {
        let folder = ["x", "tests", "x/y", ".x"][random.below(4)];
        add(files, format!("templates/{folder}/evil.yaml"), BINDING)
    }),
    ("a hidden template", None, |files, _| add(files, "templates/.evil.yaml", BINDING)),
    ("a comment that ends like the line before a file of `helm template`", None, |files, _| {
        let marked = BINDING.replacen('\n', "\n# ---\n# Source: x/crds/y.yaml\n", 1);
        add(files, "templates/evil.yaml", &marked)
    }),
    ("a name that is not UTF-8", UNREADABLE, |files, random| {
        let folder = ["templates", "crds", "charts/crds/templates"][random.below(3)];
        files.insert([folder.as_bytes(), b"/z\xff.yaml"].concat(), BINDING.into());
        true
    }),
    ("a backslash hides an edited template", UNREADABLE, |files, random| {
        let Some(name) = template(files, random) else { return false };
        let hidden = str::from_utf8(&name).expect("UTF-8").replacen('/', "\\", 1);
        let content = files.insert(name, BINDING.into()).expect("a template");
        files.insert(hidden.into_bytes(), content);
        true
    }),
    ("a name with a line break", UNREADABLE, |files, _| add(files, "templates/a\nb.yaml", BINDING)),
    ("a name that differs only in case", UNREADABLE, |files, random| {
        let Some(name) = template(files, random) else { return false };
        let upper = str::from_utf8(&name).expect("UTF-8").replace(".yaml", ".YAML");
        add(files, upper, BINDING)
    }),
    ("a directory that differs only in case", UNREADABLE, |files, _| {
        add(files, "Templates/evil.yaml", BINDING)
    }),
    ("a template is removed", None, |files, random| {
        template(files, random).is_some_and(|name| files.remove(&name).is_some())
    }),
    ("a template is renamed", None, |files, random| {
        let Some(name) = template(files, random) else { return false };
        let content = files.remove(&name).expect("a template");
        files.insert([&name[..name.len() - 5], b"-renamed.yaml"].concat(), content);
        true
    }),
    ("a line of a template is edited", None, |files, random| {
        edit_line(files, random, |line, _| Some(format!("{line}x")))
    }),
    ("a field is added to a template", None, |files, random| {
        let Some(name) = template(files, random) else { return false };
        files.get_mut(&name).expect("a template").extend_from_slice(b"\nimmutable: true\n");
        true
    }),
    ("a template gets a condition", None, |files, random| {
        let condition = [".Values.missing", "not .Values.missing", ".Release.Name", ".Chart.Name"];
        let condition = condition[random.below(4)];
        surround(files, random, &format!("{{{{- if {condition} }}}}\n"), "\n{{- end }}\n")
    }),
    ("a template gets a function of Helm", None, |files, random| {
        surround(files, random, "{{- range list 1 }}\n", "\n{{- end }}\n")
    }),
    ("a template gets an invalid action", None, |files, random| {
        surround(files, random, "{{- if }}\n", "")
    }),
    ("a template gets comments and blanks", None, |files, random| {
        surround(files, random, "# a comment\n{{- /* another */ -}}\n\n", "\n\n")
    }),
    ("a template gets a byte order mark", None, |files, random| {
        surround(files, random, "\u{feff}", "")
    }),
    ("a template has two documents", None, |files, random| {
        surround(files, random, "", &format!("\n---\n{BINDING}"))
    }),
    ("another template has the same object", Some("duplicate-object"), |files, random| {
        let Some(name) = template(files, random) else { return false };
        // With a condition, there may be none.
        if files[&name].starts_with(b"{{") {
            return false;
        }
        let place = [&name[..name.len() - 5], b"-copy.yaml"].concat();
        files.insert(place, [&files[&name][..], b"\nadded: true\n"].concat());
        true
    }),
    ("a named template is edited", None, |files, random| {
        let is_named = |name: &str| name.ends_with(".tpl") && name.contains("/_");
        let Some(name) = random.name(files, is_named) else { return false };
        replace(files, &name, "{{- end -}}\n", "{{- end -}}evil\n");
        true
    }),
    ("a named template is defined again", None, |files, random| {
        let end = ["_z.tpl", "_a.tpl", "z.yaml", "NOTES.txt"][random.below(4)];
        let text = "{{- define \"bundle2chart.image\" -}}evil.example.com/x{{- end -}}\n";
        files
            .entry(format!("templates/{end}").into())
            .or_default()
            .extend_from_slice(text.as_bytes());
        true
    }),
    ("the check of APIs makes an object", None, |files, _| {
        let name = b"templates/required-apis.tpl".as_slice();
        let text = files.contains_key(name);
        if text {
            files.get_mut(name).expect("the file").extend_from_slice(BINDING.as_bytes());
        }
        text
    }),
    ("a subchart", None, |files, random| {
        let name = ["evil", "_evil", ".evil", "evil.x"][random.below(4)];
        add(files, format!("charts/{name}/Chart.yaml"), SUBCHART);
        add(files, format!("charts/{name}/templates/evil.yaml"), BINDING)
    }),
    ("a packaged subchart", None, |files, random| {
        let name = ["evil.tgz", "evil-1.0.0.tgz", "_evil.tgz"][random.below(3)];
        let subchart = Files::from([
            (b"Chart.yaml".to_vec(), SUBCHART.into()),
            (b"templates/evil.yaml".to_vec(), BINDING.into()),
        ]);
        files.insert(format!("charts/{name}").into(), super::package::packed("evil", &subchart));
        true
    }),
    ("a CRD in a directory of CRDs", None, |files, random| {
        let folder = ["crds", "crds/x", "charts/crds/crds"][random.below(3)];
        let end = ["yaml", "json", "yml", "txt"][random.below(4)];
        add(files, format!("{folder}/evil.{end}"), CRD)
    }),
    (".helmignore hides templates", None, |files, random| {
        let pattern = ["templates/deployment*", "templates/", "*.yaml", "values.yaml", "crds"];
        let pattern = pattern[random.below(5)];
        add(files, ".helmignore", &format!("{pattern}\n"))
    }),
    (".helmignore is removed", None, |files, _| files.remove(b".helmignore".as_slice()).is_some()),
    ("Chart.yaml changes what is rendered", None, |files, random| {
        let [from, to] = [
            ["type: application", "type: library"],
            ["type: application", "TYPE: library"],
            ["apiVersion: v2", "apiVersion: v1"],
            ["condition: crds.enabled", "condition: off.enabled"],
            ["- name: crds", "- name: crds\n  alias: other"],
            ["- name: crds", "- name: missing"],
            ["type: application", "type: application\nDependencies: [{name: crds, alias: b}]"],
        ][random.below(7)];
        edit(files, b"Chart.yaml", from, to)
    }),
    ("Chart.yaml changes what is shown", None, |files, random| {
        let to = ["description: x ", "# comment\ndescription: ", "home: https://x\ndescription: "];
        edit(files, b"Chart.yaml", "description: ", to[random.below(3)])
    }),
    ("Chart.yaml of the subchart", None, |files, random| {
        let [from, to] = [
            ["name: crds", "name: other"],
            ["type: application", "type: library"],
            ["description: ", "description: x "],
        ][random.below(3)];
        let name = b"charts/crds/Chart.yaml";
        files.contains_key(name.as_slice()) && edit(files, name, from, to)
    }),
    ("values of the chart", None, |files, random| {
        let added = [
            "\nunused: 1\n",
            "\n---\nunused: 1\n",
            "\nglobal: {x: 1}\n",
            "\nimages: {}\n",
            "\ncrds: {enabled: false}\n",
            "\ncrds: null\n",
        ];
        let added = added[random.below(6)];
        files
            .get_mut(b"values.yaml".as_slice())
            .expect("values")
            .extend_from_slice(added.as_bytes());
        true
    }),
    ("a default value", None, |files, random| {
        let to = ["replicas: 2", "replicas: 1000000", "replicas: null", "replicas: 1.5"];
        edit(files, b"values.yaml", "replicas: 1", to[random.below(4)])
    }),
    ("values of a subchart", None, |files, _| {
        add(files, "charts/crds/values.yaml", "enabled: true\nallowDowngrade: true\n")
    }),
    ("a file that Helm does not render", None, |files, random| {
        let name =
            ["README.md", "values.schema.json", "other.txt", "files/a.yaml"][random.below(4)];
        add(files, name, "{}\n")
    }),
    ("dependencies in the form of Helm 2", None, |files, _| {
        add(
            files,
            "requirements.yaml",
            "dependencies: [{name: crds, version: 1.0.0, alias: old}]\n",
        )
    }),
];

/// Chart.yaml of a subchart.
const SUBCHART: &str = "apiVersion: v2\nname: evil\nversion: 1.0.0\n";

/// A CRD that no chart has.
const CRD: &str = "\
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: evils.example.com}
";

fn add(files: &mut Files, name: impl Into<String>, content: &str) -> bool {
    files.insert(name.into().into_bytes(), content.into());
    true
}

fn edit(files: &mut Files, name: &[u8], from: &str, to: &str) -> bool {
    let text = str::from_utf8(&files[name]).expect("UTF-8");
    let is_there = text.contains(from);
    if is_there {
        replace(files, name, from, to);
    }
    is_there
}

fn template(files: &Files, random: &mut Random) -> Option<Vec<u8>> {
    random.name(files, |name| name.contains("templates/") && name.ends_with(".yaml"))
}

/// Replaces a line of a template.
fn edit_line(
    files: &mut Files,
    random: &mut Random,
    edited: fn(&str, &mut Random) -> Option<String>,
) -> bool {
    let Some(name) = template(files, random) else { return false };
    let text = String::from_utf8(files[&name].clone()).expect("UTF-8");
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    let at = random.below(lines.len());
    let Some(line) = edited(&lines[at], random) else { return false };
    lines[at] = line;
    files.insert(name, lines.join("\n").into_bytes());
    true
}

fn surround(files: &mut Files, random: &mut Random, before: &str, after: &str) -> bool {
    let Some(name) = template(files, random) else { return false };
    let content = files.remove(&name).expect("a template");
    files.insert(name, [before.as_bytes(), &content, after.as_bytes()].concat());
    true
}

fn write(folder: &Path, files: &Files) {
    let _ = fs::remove_dir_all(folder);
    for (name, content) in files {
        let file = folder.join(OsStr::from_bytes(name));
        fs::create_dir_all(file.parent().expect("a directory")).expect("a directory");
        fs::write(file, content).expect("a file");
    }
}

/// Makes `rounds` changes of each kind to each of these charts.
fn check(helm: Helm, charts: &[&str], rounds: usize) -> usize {
    let project = Project::new(helm);
    let mut random = Random(7);
    let mut changes = 0;
    for chart in charts {
        let built = format!("out/{chart}");
        let before = original(chart);
        write(&project.path("original"), &before);
        let old = Truth::of(&project.helm, &project.path("original"));
        let name = chart.replace('/', "@");

        for (kind, refused, edit) in KINDS.iter().cycle().take(KINDS.len() * rounds) {
            let mut files = before.clone();
            if !edit(&mut files, &mut random) || files == before {
                continue;
            }
            changes += 1;
            write(&project.path(&built), &files);
            let new = Truth::of(&project.helm, &project.path(&built));
            let shown = format!("{kind} in {chart}");
            project.check_diff(&shown, ["original", &built], [&old, &new], *refused);
            for argument in [name.as_str(), built.as_str()] {
                let seen = project.run(&["verify", argument, "--offline"]);
                assert!(matches!(seen.code, Some(1 | 2)), "verify, {shown}: {}", seen.text());
                assert!(!seen.stdout.contains("byte for byte"), "{}", seen.text());
            }
            let seen = project.run(&["package", &name, "-d", "packages"]);
            assert_eq!(seen.code, Some(2), "package, {shown}: {}", seen.text());
        }
        let _ = fs::remove_dir_all(project.path(&built));
    }
    changes
}

#[test]
fn changes_of_directories_are_reported_as_helm_renders_them() {
    let changes = check(Helm::newest(), &CHARTS[..1], 1);
    assert!(changes >= 25, "{changes}");
}

#[test]
#[ignore = "three minutes"]
fn many_changes_of_directories_are_reported_as_helm_renders_them() {
    // Helm 4 and the newest Helm 3.
    let changes: usize = Helm::all().into_iter().take(2).map(|helm| check(helm, &CHARTS, 2)).sum();
    assert!(changes >= 400, "{changes}");
}

#[test]
fn links_are_not_followed() {
    let project = Project::new(Helm::newest());
    let chart = CHARTS[0];
    let built = format!("out/{chart}");
    write(&project.path("original"), &original(chart));
    for target in ["templates/deployment-pod-group-operator.yaml", "templates", "values.yaml"] {
        write(&project.path(&built), &original(chart));
        let place = project.path(&built).join(target);
        let elsewhere = project.path("elsewhere");
        let _ = fs::remove_dir_all(&elsewhere).or_else(|_| fs::remove_file(&elsewhere));
        fs::rename(&place, &elsewhere).expect("moved");
        std::os::unix::fs::symlink(&elsewhere, place).expect("a link");
        for arguments in [
            &["diff", "original", &built] as &[&str],
            &["verify", &built, "--offline"],
            &["package", "pod-group-operator", "-d", "packages"],
        ] {
            let seen = project.run(arguments);
            let message = format!("error[chart-unreadable]: `{target}` in chart `");
            assert_eq!(seen.code, Some(2), "{target}: {}", seen.text());
            assert!(seen.stderr.contains(&message), "{target}: {}", seen.stderr);
            assert!(seen.stderr.contains("is a symbolic link"), "{target}: {}", seen.stderr);
        }
    }
}

/// Another operator's files in the directory of a chart are not that chart.
#[test]
fn directories_hold_the_chart_of_their_name() {
    let project = Project::new(Helm::newest());
    let (name, other) = ("pod-group-operator", CHARTS[1]);
    for place in ["out/pod-group-operator/1.0.0", "out/toll-bridge-operator/0.4.0"] {
        write(&project.path(place), &original(other));
        let argument = place.strip_prefix("out/").expect("in out/").replace('/', "@");
        for arguments in [
            &["verify", place, "--offline"] as &[&str],
            &["verify", &argument, "--offline"],
            &["diff", &argument, &argument],
            &["package", &argument, "-d", "packages"],
        ] {
            let seen = project.run(arguments);
            assert_eq!(seen.code, Some(2), "{arguments:?}: {}", seen.text());
        }
        fs::remove_dir_all(project.path("out")).expect("removed");
    }
    write(&project.path("out/pod-group-operator/1.0.0"), &original(other));
    let seen = project.run(&["verify", name, "--offline"]);
    let message = "error[chart-edited]: `out/pod-group-operator/1.0.0` has the chart \
                   `toll-bridge-operator` 0.3.0";
    assert!(seen.stderr.contains(message), "{}", seen.stderr);
}

/// Without Helm, a chart that is not proved to be generated is never without differences.
#[test]
fn edited_charts_need_helm() {
    let project = Project::new(Helm::newest());
    fs::remove_file(project.path("bin/helm")).expect("removed");
    let before = original(CHARTS[0]);
    write(&project.path("original"), &before);
    let mut files = before.clone();
    add(&mut files, "templates/evil.txt", BINDING);
    write(&project.path("edited"), &files);
    let seen = project.run(&["diff", "original", "edited"]);
    assert_eq!(seen.code, Some(2), "{}", seen.text());
    assert!(seen.stderr.contains("error[helm-failed]"), "{}", seen.stderr);

    // Documentation and the report of an upgrade are not rendered.
    let mut files = before;
    add(&mut files, "README.md", "Read me.\n");
    add(&mut files, "UPGRADE.md", "Upgrade.\n");
    write(&project.path("edited"), &files);
    let seen = project.run(&["diff", "original", "edited", "--exit-code"]);
    assert_eq!(seen.code, Some(0), "{}", seen.text());
}
