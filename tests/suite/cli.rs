//! Every command as a person or a pipeline meets it: exit code, standard output, standard error.

use crate::support::command::{Case, Seen};
use crate::support::image::{Compression, Image, Layer, Layout};
use crate::support::lamp::{CONFIG, CSV, CSV_FILE, files};
use serde_json::Value;
use std::collections::BTreeMap;

/// A configuration in `case` that reads the fixtures of the project.
fn with_fixtures() -> Case {
    let case = Case::new();
    let root = env!("CARGO_MANIFEST_DIR");
    let config = std::fs::read_to_string(format!("{root}/bundles.toml")).expect("bundles.toml");
    let layout = "oci-layout:fixtures/registry";
    assert!(config.contains(layout));
    case.link_fixtures();
    case.write("bundles.toml", config);
    case
}

fn json(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|error| panic!("{error} in {text}"))
}

#[test]
fn no_arguments() {
    insta::assert_snapshot!(Case::new().run(&[]).text());
}

#[test]
fn help() {
    let case = Case::new();
    insta::assert_snapshot!("help", case.run(&["--help"]).text());
    insta::assert_snapshot!("help_build", case.run(&["build", "--help"]).text());
    insta::assert_snapshot!("help_inspect", case.run(&["inspect", "--help"]).text());
}

#[test]
fn wrong_usage() {
    let case = Case::new();
    insta::assert_snapshot!("unknown_command", case.run(&["biuld"]).text());
    insta::assert_snapshot!("unknown_option", case.run(&["build", "--chekc"]).text());
    insta::assert_snapshot!("wrong_watch", case.run(&["inspect", "x", "--watch", ""]).text());
    assert_eq!(case.run(&["build", "--check", "--replace"]).code, Some(2));
    insta::assert_snapshot!("end_of_an_option", case.run(&["build", "--format", "json"]).text());
    for command in ["build", "lock"] {
        let seen = case.run(&[command, "--jobs", "0"]);
        assert!(seen.stderr.contains("it must be at least 1"), "{}", seen.text());
    }
    assert_eq!(case.run(&["inspect"]).code, Some(2));
}

#[test]
fn explain() {
    let case = Case::new();
    let all = case.run(&["explain"]);
    assert_eq!(all.code, Some(0));
    for code in bundle2chart::diag::Code::ALL {
        assert!(all.stdout.contains(code.as_str()));
    }
    assert!(all.stdout.lines().all(|line| line.split_whitespace().count() > 3));
    insta::assert_snapshot!("explain_code", case.run(&["explain", "foreign-file"]).text());
    insta::assert_snapshot!("explain_wrong_code", case.run(&["explain", "foreing-file"]).text());
    insta::assert_snapshot!("explain_nothing_near", case.run(&["explain", "E0308"]).text());
}

#[test]
fn schema() {
    let seen = Case::new().run(&["schema"]);
    assert_eq!((seen.code, seen.stderr.as_str()), (Some(0), ""));
    let schema = json(&seen.stdout);
    assert_eq!(schema["$schema"], "http://json-schema.org/draft-07/schema#");
    assert_eq!(schema["additionalProperties"], false);
    assert!(schema["properties"]["bundle"].is_object());
}

#[test]
fn completions_and_manual() {
    let case = Case::new();
    let seen = case.run(&["completions", "bash"]);
    assert_eq!((seen.code, seen.stderr.as_str()), (Some(0), ""));
    case.write("completions", &seen.stdout);
    let loaded = case.shell("source completions && complete -p bundle2chart", &[], &[]);
    assert_eq!(loaded.code, Some(0), "{}", loaded.text());
    assert!(loaded.stdout.contains("bundle2chart"));
    let seen = case.run(&["man"]);
    assert_eq!((seen.code, seen.stderr.as_str()), (Some(0), ""));
    assert!(seen.stdout.contains(".TH bundle2chart 1"), "{}", seen.stdout);
    // One page for each command.
    let written = case.run(&["man", "--out", "share/man/man1"]);
    assert_eq!((written.code, written.text().as_str()), (Some(0), "exit code 0\n"));
    assert!(case.read("share/man/man1/bundle2chart.1").contains(".TH bundle2chart 1"));
    assert!(case.read("share/man/man1/bundle2chart-build.1").contains("Overwrite existing chart"));
    case.write("file", "");
    let refused = case.run(&["man", "--out", "file"]);
    assert_eq!(refused.code, Some(2), "{}", refused.text());
    assert!(
        refused.stderr.starts_with("error: cannot write man pages to file: "),
        "{}",
        refused.stderr
    );
    assert_eq!(case.run(&["completions", "cobol"]).code, Some(2));
}

#[test]
fn init_writes_a_configuration_once() {
    let case = Case::new();
    insta::assert_snapshot!("init", case.run(&["init"]).text());
    let written = case.read("bundles.toml");
    insta::assert_snapshot!("init_again", case.run(&["init"]).text());
    assert_eq!(case.read("bundles.toml"), written);
    // It is valid except for the bundle's name, which cannot be known.
    insta::assert_snapshot!("init_and_build", case.run(&["build"]).text());
    let seen = case.run(&["init", "-c", "no/such/folder/x.toml"]);
    assert_eq!(seen.code, Some(2));
    assert!(seen.stderr.contains("hint: create the directory `no/such/folder`"), "{}", seen.text());
}

#[test]
fn build_fixtures() {
    let case = with_fixtures();
    let seen = case.run(&["build"]);
    assert_eq!((seen.code, seen.stdout.as_str()), (Some(0), ""), "{}", seen.text());
    insta::assert_snapshot!("build", seen.stderr_but_sizes());
    let built = case.tree("out");
    let seen = case.run(&["build", "--verbose"]);
    assert_eq!((seen.code, seen.stdout.as_str()), (Some(0), ""), "{}", seen.text());
    // With the notes that do not fit a screen; threads read the images in any order.
    let text = seen.stderr_but_sizes();
    let lines: Vec<&str> = text.lines().filter(|line| !line.starts_with("sha256:")).collect();
    insta::assert_snapshot!("build_verbose", lines.join("\n"));
    let summary: String = seen.stderr.lines().filter(|line| line.contains("unchanged")).collect();
    assert!(summary.ends_with("out: 0 created, 0 updated, 9 unchanged"), "{summary}");
    assert_eq!(case.tree("out"), built, "nothing was written");
    let seen = case.run(&["build", "--check"]);
    assert_eq!((seen.code, seen.stdout.as_str()), (Some(0), ""), "{}", seen.text());

    let crds = "out/mesh-operator/2.3.1/charts/crds/Chart.yaml";
    case.remove(crds);
    case.write("out/mesh-operator/2.3.1/values.yaml", "edited: true\n");
    case.write("out/pod-group-operator/1.0.0/templates/mine.yaml", "kind: Mine\n");
    case.write("out/gone-operator/1.0.0/.bundle2chart", "# chart version: 1.0.0\n");
    let dirty = case.tree("out");
    let seen = case.run(&["build", "--check", "--quiet"]);
    insta::assert_snapshot!("build_check_dirty", seen.text());
    assert_eq!(case.tree("out"), dirty, "nothing was written");
    let seen = case.run(&["build", "--check"]);
    assert!(seen.stderr.contains("warning[orphan-chart]"), "{}", seen.stderr);
    let fails = "fails: `out/pod-group-operator/1.0.0/templates/mine.yaml` was not written by";
    assert!(seen.stderr.contains(fails), "{}", seen.stderr);
    let seen = case.run(&["build", "--check", "--message-format", "json"]);
    assert_eq!(seen.code, Some(1));
    // What a program reads says why the check failed.
    let found: Vec<Value> = seen.stdout.lines().map(json).collect();
    let stale = found.iter().filter(|found| found["code"] == "out-of-date");
    let messages: Vec<&str> = stale.filter_map(|found| found["message"].as_str()).collect();
    let expected = [
        format!("{crds} is missing"),
        "out/mesh-operator/2.3.1/values.yaml is stale".to_owned(),
        "out/pod-group-operator/1.0.0/templates/mine.yaml is foreign".to_owned(),
    ];
    assert_eq!(messages, expected);
    case.remove("out/pod-group-operator/1.0.0/templates/mine.yaml");
    let seen = case.run(&["build", "--check"]);
    assert!(seen.stderr.contains("run `bundle2chart build --replace`"), "{}", seen.stderr);
}

#[test]
fn build_by_name() {
    let case = with_fixtures();
    insta::assert_snapshot!(
        "build_one",
        case.run(&["build", "pod-group-operator"]).stderr_but_sizes()
    );
    assert_eq!(
        case.listing("out").lines().filter(|line| !line.starts_with("pod-group-operator")).count(),
        0
    );
    insta::assert_snapshot!("build_unknown", case.run(&["build", "pod-gruop-operator"]).text());
    let seen = case.run(&["build", "-j", "1", "--out", "elsewhere", "--quiet"]);
    assert_eq!((seen.code, seen.text().lines().count()), (Some(0), 1), "{}", seen.text());
    assert!(case.path("elsewhere/mesh-operator").exists());
    assert!(!case.path("out/mesh-operator").exists());
}

/// A bundle with a warning (a filter that matches nothing), and one with an error.
#[test]
fn message_formats() {
    let case = Case::with_lamps();
    case.write("bundles.toml", format!("{CONFIG}exclude = ['.kind == \"Nothing\"']\n"));
    for format in ["human", "json", "github", "sarif"] {
        let seen = case.run(&["build", "--message-format", format]);
        assert_eq!(seen.code, Some(0), "{}", seen.text());
        insta::assert_snapshot!(format!("warning_{format}"), diagnostics(format, &seen));
    }
    insta::assert_snapshot!("warning_quiet", case.run(&["build", "--quiet"]).text());

    case.replace(CSV_FILE, "containerPort: 8080", "containerPort: http");
    for format in ["human", "json", "github", "sarif"] {
        let seen = case.run(&["build", "--message-format", format]);
        assert_eq!(seen.code, Some(2), "{}", seen.text());
        insta::assert_snapshot!(format!("error_{format}"), diagnostics(format, &seen));
    }
    insta::assert_snapshot!("error_quiet", case.run(&["build", "--quiet"]).text());
}

/// Returns the output of a format, without what is the same for all findings.
fn diagnostics(format: &str, seen: &Seen) -> String {
    match format {
        "human" => seen.stderr_but_sizes(),
        "sarif" => {
            let mut log = json(&seen.stdout);
            let rules = log["runs"][0]["tool"]["driver"]["rules"].take();
            let results = log["runs"][0]["results"].as_array_mut().unwrap();
            // A rule's place changes with every new code.
            for result in results.iter_mut() {
                let index = result["ruleIndex"].as_u64().unwrap() as usize;
                result["ruleIndex"] = rules[index]["id"].clone();
            }
            format!("{:#}\n", log["runs"][0]["results"])
        }
        _ => seen.stdout.clone(),
    }
}

#[test]
fn colour() {
    let case = Case::with_lamps();
    case.replace(CSV_FILE, "containerPort: 8080", "containerPort: http");
    let coloured = |arguments: &[&str], environment: &[(&str, &str)]| {
        case.run_with(arguments, environment).stderr.contains('\u{1b}')
    };
    assert!(coloured(&["build", "--color", "always"], &[]));
    assert!(coloured(&["build", "--color", "always"], &[("NO_COLOR", "1")]), "asked for by name");
    assert!(!coloured(&["build", "--color", "never"], &[]));
    assert!(!coloured(&["build"], &[]), "no terminal");
    assert!(!coloured(&["build"], &[("NO_COLOR", "1")]));
    let always = case.run(&["build", "--color", "always"]).stderr;
    let plain = case.run(&["build"]).stderr;
    assert_eq!(anstream::adapter::strip_str(&always).to_string(), plain);
}

/// The lamps as a layout and as a tar of the folder.
fn with_lamp_images() -> Case {
    let case = Case::with_lamps();
    let mut layer = Layer::new();
    let mut tar = Layer::with_prefix("./");
    for (path, content) in files() {
        layer.file(path, content.as_bytes());
        tar.file(path, content.as_bytes());
    }
    let image = Image {
        architecture: "amd64",
        labels: BTreeMap::new(),
        layers: vec![(Compression::None, layer.into_tar())],
    };
    let mut layout = Layout::default();
    layout.image("registry.example.com/lamps/bundle:1.2.3", &image);
    for (path, content) in layout.into_files() {
        case.write(&format!("images/{path}"), content);
    }
    case.write("lamps.tar", tar.into_tar());
    let mirror = "[[mirror]]\nfrom = \"registry.example.com\"\nto = \"oci-layout:images\"\n\n";
    case.write("bundles.toml", format!("{mirror}{CONFIG}"));
    case
}

#[test]
fn inspect_wherever_the_bundle_is() {
    let case = with_lamp_images();
    let folder = case.run(&["inspect", "bundle"]);
    insta::assert_snapshot!("inspect_folder", folder.text());
    assert_eq!(case.run(&["inspect", "lamps.tar"]).text(), folder.text());
    let image = case.run(&["inspect", "registry.example.com/lamps/bundle:1.2.3"]);
    insta::assert_snapshot!("inspect_image", image.text());
    assert_eq!(case.run(&["inspect", "images"]).text(), image.text());
    assert_eq!(
        case.run(&["inspect", "images:registry.example.com/lamps/bundle:1.2.3"]).text(),
        image.text()
    );
    insta::assert_snapshot!("inspect_nowhere", case.run(&["inspect", "./bundel"]).text());
    insta::assert_snapshot!("inspect_no_reference", case.run(&["inspect", "bundel"]).text());
    // No configuration is needed, but a broken one is not passed over.
    case.write("bundles.toml", "[mirrors]\n");
    assert_eq!(case.run(&["inspect", "bundle"]).code, Some(2));
    case.remove("bundles.toml");
    assert_eq!(case.run(&["inspect", "bundle"]).text(), folder.text());
}

#[test]
fn inspect_fixtures() {
    let case = with_fixtures();
    for (name, bundle) in [
        ("mesh", "registry.example.com/mesh/mesh-operator-bundle:2.3.1"),
        ("sealing_wax", "registry.example.com/sealing-wax/sealing-wax-operator-bundle:1.1.0"),
        ("pod_group", "fixtures/bundles/pod-group-operator/1.0.0"),
        ("awkward", "fixtures/bundles/awkward-operator/0.1.0"),
    ] {
        let seen = case.run(&["inspect", bundle]);
        assert_eq!(seen.code, Some(0), "{}", seen.text());
        let long = seen.stdout.lines().find(|line| line.chars().count() > 100);
        assert_eq!(long, None, "fits a terminal");
        insta::assert_snapshot!(format!("inspect_{name}"), seen.stdout);
    }
}

/// A bundle that cannot be compiled can still be looked at.
#[test]
fn inspect_what_cannot_be_built() {
    let case = Case::with_lamps();
    case.write(
        CSV_FILE,
        CSV.replace("- name: lamp-operator\n        spec", "- name: Lamp\n        spec"),
    );
    insta::assert_snapshot!(case.run(&["inspect", "bundle"]).text());
    case.write(CSV_FILE, "kind: [");
    let seen = case.run(&["inspect", "bundle"]);
    assert_eq!((seen.code, seen.stdout.as_str()), (Some(2), ""));
}

#[test]
fn inspect_objects() {
    let case = Case::with_lamps();
    let objects = |more: &[&str]| {
        let seen = case.run(&[&["inspect", "bundle", "--objects"], more].concat());
        assert_eq!((seen.code, seen.stderr.as_str()), (Some(0), ""), "{}", seen.text());
        match json(&seen.stdout) {
            Value::Array(objects) => objects,
            other => panic!("no array: {other}"),
        }
    };
    let text = |object: &Value, pointer: &str| {
        object.pointer(pointer).and_then(Value::as_str).unwrap_or_default().to_owned()
    };
    let key = |object: &Value| {
        ["/kind", "/metadata/namespace", "/metadata/name"].map(|pointer| text(object, pointer))
    };
    let keys: Vec<_> = objects(&[]).iter().map(key).collect();
    assert!(keys.is_sorted(), "{keys:?}");
    assert!(keys.len() >= 5 && keys.iter().all(|key| !key[2].is_empty()), "{keys:?}");

    let deployment = |more: &[&str]| {
        let objects = objects(more);
        let found = objects.into_iter().find(|object| object["kind"] == "Deployment");
        found.expect("a Deployment")
    };
    let namespace = "/metadata/namespace";
    let targets = "/spec/template/metadata/annotations/olm.targetNamespaces";
    assert_eq!(text(&deployment(&[]), namespace), "lamp-operator");
    assert_eq!(text(&deployment(&["--namespace", "night"]), namespace), "night");
    assert_eq!(text(&deployment(&["--watch", "all"]), targets), "");
    assert_eq!(text(&deployment(&["--namespace", "night", "--watch", "own"]), targets), "night");
    assert_eq!(text(&deployment(&["--watch", "street"]), targets), "street");

    let seen = case.run(&["inspect", "bundle", "--objects", "--watch", "a,b"]);
    assert_eq!((seen.code, seen.stdout.as_str()), (Some(2), ""));
    insta::assert_snapshot!("inspect_unsupported_watch", seen.text());
    case.write(CSV_FILE, CSV.replace("supported: false", "supported: true"));
    assert_eq!(text(&deployment(&["--watch", "a,b"]), targets), "a,b");
}

#[test]
fn inspect_with_each_provider_of_certificates() {
    let case = with_fixtures();
    let bundle = "registry.example.com/toll-bridge/toll-bridge-operator-bundle:0.3.0";
    let kinds = |provider: &[&str]| {
        let seen = case.run(&[&["inspect", bundle, "--objects"], provider].concat());
        assert_eq!(seen.code, Some(0), "{}", seen.text());
        let Value::Array(objects) = json(&seen.stdout) else { panic!("{}", seen.stdout) };
        let count = |kind: &str| objects.iter().filter(|object| object["kind"] == kind).count();
        (["Issuer", "Certificate", "Secret"].map(count), seen.stderr)
    };
    // What is said with each provider.
    let (default, always) = kinds(&[]);
    assert_eq!(default, [2, 2, 0]);
    assert!(!always.contains("warning"), "{always}");
    for (provider, expected) in [
        ("cert-manager", [2, 2, 0]),
        ("service-ca", [0, 0, 0]),
        ("helm", [0, 0, 2]),
        ("existing-secret", [0, 0, 0]),
    ] {
        assert_eq!(kinds(&["--certificates", provider]), (expected, always.clone()), "{provider}");
    }
    let (none, words) = kinds(&["--certificates", "none"]);
    assert_eq!(none, [0, 0, 0]);
    assert_eq!(words.matches("warning[no-certificate]").count(), 2, "{words}");
    let seen = case.run(&["inspect", bundle, "--certificates", "acme"]);
    assert_eq!(seen.code, Some(2), "{}", seen.text());
}

/// A reader that has seen enough is no error.
#[test]
fn standard_output_may_close_early() {
    let case = with_fixtures();
    let mesh = "registry.example.com/mesh/mesh-operator-bundle:2.3.1";
    for arguments in [&["inspect", mesh, "--objects"][..], &["schema"], &["explain"]] {
        let script = "set -o pipefail; \"$0\" \"$@\" | head -c 10";
        let seen = case.shell(script, arguments, &[]);
        assert_eq!(seen.code, Some(0), "{}", seen.text());
    }
    // But data that could not be written is.
    let seen = case.shell("\"$0\" schema > /dev/full", &[], &[]);
    assert_eq!(seen.code, Some(2), "{}", seen.text());
}
