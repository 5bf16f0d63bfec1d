//! The fixtures from a real registry: the same charts as from the layout.

use super::distribution::Distribution;
use super::project::{PASSWORD, Project, assert_refused};
use crate::support::command::Case;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

const IMAGES: [(&str, &str); 3] = [
    ("sealing-wax-operator", "sealing-wax/sealing-wax-operator-bundle:1.1.0"),
    ("mesh-operator", "mesh/mesh-operator-bundle:2.3.1"),
    ("pod-group-operator", "pod-groups/pod-group-operator-bundle:1.0.0"),
];

fn layout() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/registry")
}

/// A configuration of the fixtures with the bytes of `registry.example.com` from `mirror`.
fn project(mirror: &str, more: &str) -> Project {
    let case = Case::new();
    let mut text =
        format!("[[mirror]]\nfrom = \"registry.example.com\"\nto = \"{mirror}\"\n\n{more}\n");
    for (name, image) in IMAGES {
        let image = format!("registry.example.com/{image}");
        text.push_str(&format!("[[bundle]]\nname = \"{name}\"\nimage = \"{image}\"\n\n"));
    }
    case.write("bundles.toml", text);
    Project { case }
}

fn from_layout() -> Project {
    project(&format!("oci-layout:{}", layout().display()), "")
}

fn from_registry(registry: &Distribution) -> Project {
    let host = &registry.host;
    let project = project(host, &format!("[[registry]]\nhost = \"{host}\"\nca = \"ca.pem\"\n"));
    project.case.write("ca.pem", &registry.authority);
    project.log_in(host, PASSWORD);
    project
}

#[track_caller]
fn run(project: &Project, arguments: &[&str]) -> crate::support::command::Seen {
    let seen = project.run(arguments);
    assert_eq!(seen.code, Some(0), "{arguments:?}: {}\n{}", seen.stdout, seen.stderr);
    seen
}

/// The same files with the same bytes; names those that differ.
#[track_caller]
fn assert_same(found: &BTreeMap<PathBuf, Vec<u8>>, expected: &BTreeMap<PathBuf, Vec<u8>>) {
    let mut paths: Vec<&PathBuf> = found.keys().chain(expected.keys()).collect();
    paths.retain(|path| found.get(*path) != expected.get(*path));
    if let Some(path) = paths.first() {
        let text = |files: &BTreeMap<PathBuf, Vec<u8>>| {
            files.get(*path).map(|bytes| String::from_utf8_lossy(bytes).into_owned())
        };
        assert_eq!(text(found), text(expected), "{paths:?}");
    }
}

#[test]
fn charts_from_a_registry_are_those_from_the_layout() {
    let registry = Distribution::start();
    for (_, image) in IMAGES {
        let name = format!("registry.example.com/{image}");
        registry.push(&layout(), &name, image, &["--all", "--preserve-digests"]);
    }
    let local = from_layout();
    run(&local, &["build"]);
    let expected = local.files("out");
    assert!(expected.len() > 30);

    let remote = from_registry(&registry);
    let seen = run(&remote, &["build", "-vvv"]);
    assert_same(&remote.files("out"), &expected);
    let lock = remote.case.read("bundles.lock");
    assert_eq!(lock, local.case.read("bundles.lock"));
    assert!(lock.contains("index = \"sha256:") && lock.contains("platform = \"linux/amd64\""));
    remote.assert_cache_is_sound();
    remote.assert_no_secret(&[&seen], &[]);

    // To a folder: everything that a build needs, without the registry and without the cache.
    let seen = run(&remote, &["vendor", "vendored"]);
    let advice = "\n# in place of the mirrors of registry.example.com that are there\n\
                  [[mirror]]\nfrom = \"registry.example.com\"\nto = \"oci-layout:vendored\"\n";
    assert!(seen.stderr.contains(advice), "{}", seen.stderr);
    let again = run(&remote, &["vendor", "vendored"]);
    assert!(again.stderr.contains(" 0 blobs copied"), "{}", again.stderr);
    remote.assert_no_secret(&[&seen, &again], &[]);

    // To another place in the registry.
    let host = registry.host.clone();
    let target = format!("{host}/team/mirror");
    let seen = run(&remote, &["vendor", "--to", &target, "-vvv"]);
    assert!(seen.stderr.contains(&format!("to = \"{target}\"")), "{}", seen.stderr);
    let again = run(&remote, &["vendor", "--to", &target]);
    assert!(again.stderr.contains(" 0 blobs copied"), "{}", again.stderr);
    remote.assert_no_secret(&[&seen, &again], &[]);
    let pushed = from_registry(&registry);
    pushed.case.replace("bundles.toml", &format!("to = \"{host}\""), &format!("to = \"{target}\""));
    pushed.case.write("bundles.lock", &lock);
    run(&pushed, &["build", "--locked"]);
    assert_same(&pushed.files("out"), &expected);

    registry.stop();
    run(&remote, &["build", "--locked", "--offline", "--out", "cached"]);
    assert_same(&remote.files("cached"), &expected);

    let vendored = project("oci-layout:vendored", "");
    vendored.case.write("bundles.lock", &lock);
    for (path, bytes) in remote.files("vendored") {
        vendored.case.write(&format!("vendored/{}", path.display()), bytes);
    }
    run(&vendored, &["build", "--locked", "--offline"]);
    assert_same(&vendored.files("out"), &expected);
    assert!(!vendored.case.path("cache").exists());
}

#[test]
fn docker_images_are_read_too() {
    let registry = Distribution::start();
    let (name, image) = IMAGES[1];
    let from = format!("registry.example.com/{image}");
    registry.push(&layout(), &from, image, &["--format", "v2s2"]);
    let project = from_registry(&registry);
    run(&project, &["inspect", &from]);
    let local = from_layout();
    let objects = ["inspect", "--objects", &from];
    assert_eq!(run(&project, &objects).stdout, run(&local, &objects).stdout, "{name}");
}

#[test]
fn a_tag_that_moves_moves_nothing_until_it_is_upgraded() {
    let registry = Distribution::start();
    let bundle = "sealing-wax/sealing-wax-operator-bundle";
    let push = |version: &str| {
        let name = format!("registry.example.com/{bundle}:{version}");
        registry.push(&layout(), &name, &format!("{bundle}:stable"), &[]);
    };
    push("1.0.0");
    let host = &registry.host;
    let case = Case::new();
    case.write("ca.pem", &registry.authority);
    case.write(
        "bundles.toml",
        format!(
            "[[registry]]\nhost = \"{host}\"\nca = \"ca.pem\"\n\n[[bundle]]\nname = \"wax\"\n\
             image = \"{host}/{bundle}:stable\"\n"
        ),
    );
    let project = Project { case };
    project.log_in(host, PASSWORD);
    let seen = project.run(&["build", "--locked"]);
    assert_refused(&project, &seen, "lock-stale", &["`wax`", "bundle2chart lock"]);
    let seen = run(&project, &["lock"]);
    assert!(seen.stdout.contains("wax: added"), "{}", seen.stdout);
    run(&project, &["build", "--locked"]);
    let (lock, charts) = (project.case.read("bundles.lock"), project.files("out"));

    push("1.1.0");
    run(&project, &["build"]);
    assert_eq!(project.case.read("bundles.lock"), lock);
    assert!(project.files("out") == charts);
    let seen = run(&project, &["lock"]);
    assert!(seen.stderr.contains("nothing changed"), "{}", seen.stderr);

    // What comes later under the same tag is another image; a folder can hold both.
    let config = project.case.read("bundles.toml");
    project.add(&format!("[[bundle]]\nname = \"late\"\nimage = \"{host}/{bundle}:stable\"\n"));
    run(&project, &["build", "--out", "both"]);
    let both = project.files("both");
    run(&project, &["vendor", "vendored"]);
    run(&project, &["vendor", "vendored"]);
    project.add(&format!("[[mirror]]\nfrom = \"{host}\"\nto = \"oci-layout:vendored\"\n"));
    let [cache, kept] = ["cache", "kept"].map(|name| project.case.path(name));
    std::fs::rename(&cache, &kept).expect("a folder");
    run(&project, &["build", "--locked", "--offline", "--out", "again"]);
    assert!(project.files("again") == both);
    std::fs::rename(&kept, &cache).expect("a folder");
    project.case.write("bundles.toml", config);
    project.case.write("bundles.lock", &lock);

    let seen = project.run(&["lock", "--upgrade", "wax", "--check"]);
    assert_eq!(seen.code, Some(1));
    assert!(seen.stdout.contains("wax: 1.0.0 → 1.1.0"), "{}", seen.stdout);
    assert_eq!(project.case.read("bundles.lock"), lock);
    run(&project, &["lock", "--upgrade"]);
    assert_ne!(project.case.read("bundles.lock"), lock);
    run(&project, &["build", "--locked"]);
    assert!(project.case.path("out/wax/1.1.0/Chart.yaml").is_file());
}

#[test]
fn skopeo_copies_what_the_list_of_images_says() {
    let registry = Distribution::start();
    let (_, image) = IMAGES[0];
    let name = format!("registry.example.com/{image}");
    registry.push(&layout(), &name, image, &["--all", "--preserve-digests"]);
    let host = &registry.host;
    let local = from_layout();
    run(&local, &["lock"]);
    let lock = local.case.read("bundles.lock");
    let line = lock.lines().find(|line| line.starts_with("index = ")).expect("an index");
    let index = line.trim_start_matches("index = ").trim_matches('"');
    let repository = image.split(':').next().expect("a repository");

    // An operator whose image has several platforms, by the digest of their index.
    let case = crate::support::command::Case::new();
    let job = format!(
        "apiVersion: batch/v1\nkind: Job\nmetadata: {{name: a}}\nspec: {{template: {{spec: \
         {{restartPolicy: Never, containers: [{{name: a, image: \"{host}/{repository}@{index}\"}}]}}}}}}\n"
    );
    case.write("job.yaml", job);
    let path =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/bundles/pod-group-operator/1.0.0");
    case.write(
        "bundles.toml",
        format!(
            "[[bundle]]\nname = \"pods\"\npath = \"{}\"\n[[bundle.overlay]]\npath = \"job.yaml\"\n",
            path.display()
        ),
    );
    let project = Project { case };
    let list = run(&project, &["images", "--format", "skopeo"]).stdout;
    // Only the part that this registry has, with what a test's registry needs.
    let own = list.split("registry.example.com:").next().expect("a list");
    let own = own.replace("  images:", "  tls-verify: false\n  images:");
    project.case.write("list.yaml", &own);
    let command = own.lines().next().expect("a line").trim_start_matches("# skopeo ");
    assert!(command.contains(" --scoped "), "{command}");
    let words: Vec<String> = command
        .split(' ')
        // A host with a port cannot be a part of a path, so not here.
        .filter(|word| *word != "--scoped")
        .map(|word| match word {
            "FILE" => project.case.path("list.yaml").display().to_string(),
            "HOST/PREFIX" => format!("{host}/copies"),
            word => word.to_owned(),
        })
        .collect();
    registry.skopeo(&words);
    let copies = format!("docker://{host}/copies/sealing-wax-operator-bundle@{index}");
    registry.skopeo(&["inspect".to_owned(), "--raw".to_owned(), copies]);
}

#[test]
fn archives_that_skopeo_writes_are_read() {
    super::distribution::install();
    let (name, image) = IMAGES[1];
    let project = from_layout();
    let from = format!("registry.example.com/{image}");
    let expected = run(&project, &["inspect", "--objects", &from]).stdout;
    for kind in ["docker-archive", "oci-archive"] {
        let file = project.case.path(&format!("{kind}.tar"));
        let status = std::process::Command::new("skopeo")
            .args(["--insecure-policy", "copy", "--quiet"])
            .arg(format!("oci:{}:{from}", layout().display()))
            .arg(format!("{kind}:{}:{from}", file.display()))
            .status()
            .expect("skopeo runs");
        assert!(status.success(), "{kind}");
        let seen = run(&project, &["inspect", "--objects", &format!("./{kind}.tar")]);
        assert_eq!(seen.stdout, expected, "{name} from a {kind}");
    }
}
