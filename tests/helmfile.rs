//! The file for helmfile, read and carried out by the real helmfile.
//!
//! `cargo test --test helmfile -- --ignored` builds helmfile the first time, which needs Go and
//! about ten minutes of processor time.

#![allow(
    clippy::expect_used,
    clippy::unwrap_used,
    clippy::panic,
    clippy::print_stdout,
    clippy::disallowed_methods,
    reason = "a test"
)]

#[path = "support/go.rs"]
mod go;
#[path = "support/helm.rs"]
mod helm;
#[path = "support/helmfile.rs"]
mod helmfile;
#[path = "support/once.rs"]
mod once;
#[path = "support/rendered.rs"]
mod rendered;
#[cfg(test)]
mod support {
    pub(crate) mod command;
    pub(crate) mod lamp;
}

use helm::Helm;
use helmfile::Helmfile;
use rendered::{documents, object_differences};
use serde_json::Value as Json;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::time::SystemTime;
use support::command::Case;
use walkdir::WalkDir;

/// Content and time of all that is in a folder.
type Tree = BTreeMap<PathBuf, (Vec<u8>, SystemTime)>;

/// The charts of this repository, in a folder where helmfile may write what it likes.
fn fixtures() -> Case {
    let case = Case::new();
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("out");
    for entry in WalkDir::new(&root) {
        let path = entry.expect("an entry").into_path();
        if path.is_file() {
            let name = path.strip_prefix(&root).expect("a path below").to_str().expect("UTF-8");
            case.write(&format!("out/{name}"), fs::read(&path).expect("a file"));
        }
    }
    case
}

/// Lamps with everything that `[deploy]` can say to helmfile.
fn lamps() -> Case {
    let case = Case::with_lamps();
    case.write(
        "bundles.toml",
        "[[bundle]]\nname = \"lamp-operator\"\npath = \"bundle\"\nnamespace = \"lamps\"\n\
         stub-crds = [\"infrastructures.config.openshift.io\"]\n\
         ready = [{ rollout = \"deployment/lamp-operator\" }, { jsonpath = \".status.state\", \
         value = \"is on\", object = \"light.example.com/v1/Lamp/a\", phase = \"operand\" }]\n\
         [[bundle.after]]\nobject = \"v1/ConfigMap/bulbs\"\nphase = \"operand\"\n\
         annotations = { \"light.example.com/text\" = \"{{ 'no template' }}\" }\nreset = \"once\"\n\
         [[bundle.switch]]\nname = \"dimming\"\n\
         ready = [{ rollout = \"deployment/dimmer\", timeout = \"5m\" }]\n\
         [[bundle.overlay]]\nphase = \"operand\"\nswitch = \"dimming\"\n\
         inline = '{apiVersion: v1, kind: ConfigMap, metadata: {name: levels}}'\n\
         [[bundle.overlay]]\nphase = \"operand\"\n\
         inline = '{apiVersion: light.example.com/v1, kind: Lamp, metadata: {name: a, namespace: lamps}}'\n\
         [deploy]\nhelmfile = \"lamps.yaml\"\nserver-side = true\nvalues = \"values\"\n",
    );
    case.write("values/lamp-operator.yaml", "deployments: {lamp-operator: {replicas: 7}}\n");
    case.write("values/lamp-operator-operands.yaml", "switches: {dimming: true}\n");
    let seen = case.run(&["build"]);
    assert_eq!(seen.code, Some(0), "{}", seen.text());
    case
}

fn parsed(case: &Case, file: &str) -> Json {
    serde_yaml::from_str(&case.read(file)).expect("YAML")
}

/// Charts are no place for what helmfile leaves behind: the next build would refuse it.
#[track_caller]
fn untouched(case: &Case, before: &Tree) {
    let after = case.tree("out");
    let changed = |path: &&PathBuf| after.get(*path) != before.get(*path);
    let changed: Vec<_> = before.keys().chain(after.keys()).filter(changed).collect();
    assert!(changed.is_empty(), "{changed:#?}");
}

#[test]
#[ignore = "needs Go 1.26: cargo test --test helmfile -- --ignored"]
fn helmfile_reads_lints_and_renders_it() {
    let helmfile = Helmfile::ready();
    let helm = Helm::newest();
    for (case, file) in [(fixtures(), "out/helmfile.yaml"), (lamps(), "out/lamps.yaml")] {
        let path = case.path(file);
        let before = case.tree("out");
        let lint = helmfile.run(&path, &["lint"], None);
        assert!(!lint.stderr.contains("[WARNING]") && !lint.stderr.contains("unknown"));
        let rendered = helmfile.run(&path, &["template", "--include-crds"], None).stdout;
        let mut expected = Vec::new();
        for release in parsed(&case, file)["releases"].as_array().expect("releases") {
            let text = |key: &str| release[key].as_str().expect("a text");
            let chart = case.path("out").join(text("chart"));
            let values = case.path(&format!("values/{}.yaml", text("name")));
            let file = values.is_file().then(|| values.to_str().expect("UTF-8"));
            let mut more: Vec<&str> = file.iter().flat_map(|file| ["--values", file]).collect();
            if release["values"][0]["after"]["hook"] == false {
                more.extend(["--set", "after.hook=false"]);
            }
            let run = helm.template(text("name"), &chart, text("namespace"), &more);
            expected.extend(documents(&run.expect_success()));
        }
        let differences = object_differences(&expected, &documents(&rendered));
        assert!(differences.is_empty(), "{}", differences.join("\n"));
        untouched(&case, &before);
    }
}

#[test]
#[ignore = "needs Go 1.26: cargo test --test helmfile -- --ignored"]
fn helmfile_finds_the_order() {
    let helmfile = Helmfile::ready();
    let case = fixtures();
    let file = case.path("out/helmfile.yaml");
    let dag = helmfile.run(&file, &["show-dag"], None).stdout;
    let mut groups: BTreeMap<String, usize> = BTreeMap::new();
    for line in dag.lines().skip(1).filter(|line| !line.trim().is_empty()) {
        let mut words = line.split_whitespace();
        let group: usize = words.next().expect("a group").parse().expect("a number");
        let release = words.next().expect("a release").to_owned();
        for needed in words {
            assert!(groups[needed.trim_end_matches(',')] < group, "{line}");
        }
        groups.insert(release, group);
    }
    // The same levels as those of the ApplicationSet, counted from one.
    let set = parsed(&case, "out/argocd/applicationset.yaml");
    let elements = set["spec"]["generators"][0]["list"]["elements"].as_array().expect("elements");
    assert_eq!(groups.len(), elements.len(), "{dag}");
    for element in elements {
        let text = |key: &str| element[key].as_str().expect("a text");
        let wave: usize = text("wave").parse().expect("a number");
        assert_eq!(groups[&format!("{}/{}", text("namespace"), text("name"))], wave + 1, "{dag}");
    }
}

/// Programs that write down what they are asked, for helmfile to believe that there is a cluster.
fn stand_ins(case: &Case, helm: &Path) {
    let log = case.path("log").display().to_string();
    let helm = helm.display();
    case.write(
        "programs/helm",
        format!(
            "#!/bin/sh\ncase $1 in upgrade|list) echo \"helm $*\" >> '{log}';; *) exec '{helm}' \"$@\";; esac\n"
        ),
    );
    // Fails like kubectl does in a folder without manifests. No step was carried out before.
    case.write(
        "programs/kubectl",
        format!(
            "#!/bin/sh\nfor last; do :; done\ncase \"$*\" in *--filename*) ls $last*.yaml > /dev/null || exit 1;; esac\n\
             echo \"kubectl $*\" >> '{log}'\n"
        ),
    );
    for name in ["helm", "kubectl"] {
        let path = case.path(&format!("programs/{name}"));
        fs::set_permissions(path, Permissions::from_mode(0o755)).expect("a program");
    }
}

#[test]
#[ignore = "needs Go 1.26: cargo test --test helmfile -- --ignored"]
fn helmfile_installs_in_order_and_applies_crds_first() {
    let helmfile = Helmfile::ready();
    for (name, case, file) in
        [("fixtures", fixtures(), "out/helmfile.yaml"), ("lamps", lamps(), "out/lamps.yaml")]
    {
        stand_ins(&case, helmfile.helm());
        let before = case.tree("out");
        let programs = case.path("programs");
        helmfile.run(&case.path(file), &["sync", "--concurrency", "1"], Some(&programs));
        untouched(&case, &before);
        let mut commands = String::new();
        for line in case.read("log").lines().filter(|line| !line.starts_with("helm list")) {
            // Copies of values have names of the moment.
            let mut words: Vec<&str> = line.split(' ').collect();
            let mut is_file = false;
            for word in &mut words {
                if is_file {
                    *word = "VALUES";
                }
                is_file = *word == "--values";
            }
            let _ = writeln!(commands, "{}", words.join(" "));
        }
        insta::assert_snapshot!(name, commands);
    }
}
