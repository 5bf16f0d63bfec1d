//! Attacks between the review of a lock and a build: the registry, a mirror, the lock, the cache or a
//! vendored copy has another image, whose operator may do everything.

use super::hostile::Stored;
use super::project::{CSV, Project, lamp_of};
use super::server::{Answer, Server};
use crate::support::command::Seen;
use crate::support::image::digest;
use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// The attacker's image: the same name and version, and a ClusterRole for everything.
fn forged() -> Stored {
    let permissions = "    spec:
      clusterPermissions:
      - serviceAccountName: lamp-operator
        rules:
        - {apiGroups: ['*'], resources: ['*'], verbs: ['*']}
";
    let csv = CSV.replacen("    spec:\n", permissions, 1);
    assert_ne!(csv, CSV);
    Stored::of(lamp_of(&csv))
}

/// A registry that serves the forged image for everything once it is compromised.
struct Registry {
    server: Server,
    is_compromised: Arc<AtomicBool>,
}

impl Registry {
    fn start() -> Self {
        let is_compromised = Arc::new(AtomicBool::new(false));
        let (original, forged, flag) = (Stored::lamp(), forged(), Arc::clone(&is_compromised));
        let server = Server::start(move |asked| {
            let forges = flag.load(Ordering::Relaxed);
            // The blobs of the original stay: an attacker adds to them.
            let has =
                |stored: &Stored| stored.blobs.keys().any(|blob| asked.target.ends_with(blob));
            if forges && (asked.target.contains("/manifests/") || !has(&original)) {
                return forged.answer(asked);
            }
            original.answer(asked)
        });
        Registry { server, is_compromised }
    }

    fn compromise(&self) {
        self.is_compromised.store(true, Ordering::Relaxed);
    }

    /// A project with a lock and a chart of the original image.
    fn project(&self) -> Project {
        let project = Project::new(&self.server.host());
        assert_succeeds(&project.run(&["build"]));
        project
    }
}

#[track_caller]
fn assert_succeeds(seen: &Seen) {
    assert_eq!(seen.code, Some(0), "{}\n{}", seen.stdout, seen.stderr);
}

fn lock_and_charts(project: &Project) -> (String, BTreeMap<PathBuf, Vec<u8>>) {
    (project.case.read("bundles.lock"), project.files("out"))
}

/// Runs the command, which fails with this code and words and changes neither the lock nor charts.
#[track_caller]
fn assert_refused(project: &Project, arguments: &[&str], code: &str, words: &str) {
    let before = lock_and_charts(project);
    let seen = project.run(arguments);
    assert_eq!(seen.code, Some(2), "{}\n{}", seen.stdout, seen.stderr);
    assert!(seen.stderr.contains(&format!("error[{code}]")), "{code}: {}", seen.stderr);
    assert!(seen.stderr.contains(words), "{words}: {}", seen.stderr);
    assert!(lock_and_charts(project) == before, "the lock or a chart changed");
}

fn remove_cache(project: &Project) {
    fs::remove_dir_all(project.case.path("cache")).expect("a cache");
}

#[test]
fn a_compromised_registry_cannot_replace_a_locked_image() {
    let registry = Registry::start();
    let project = registry.project();
    registry.compromise();
    remove_cache(&project);
    for arguments in [&["build"] as &[&str], &["build", "--locked"], &["build", "--check"]] {
        assert_refused(&project, arguments, "blob-mismatch", &digest(&forged().manifest));
    }
}

#[test]
fn a_mirror_cannot_replace_a_locked_image_and_is_not_passed_over() {
    let registry = Registry::start();
    let project = registry.project();
    let mirror = Registry::start();
    mirror.compromise();
    remove_cache(&project);
    let (from, to) = (registry.server.host(), mirror.server.host());
    project.add(&format!("[[mirror]]\nfrom = \"{from}\"\nto = \"{to}\"\nfallback = true\n"));
    let asked = registry.server.asked().len();
    assert_refused(&project, &["build", "--locked"], "blob-mismatch", &to);
    assert_eq!(registry.server.asked().len(), asked);
}

/// A change of bundles.lock alone, in a pull request, does not replace the committed chart.
#[test]
fn a_lock_with_another_digest_does_not_match_the_committed_chart() {
    let registry = Registry::start();
    let project = registry.project();
    let (_, charts) = lock_and_charts(&project);
    registry.compromise();
    let seen = project.run(&["lock", "--upgrade"]);
    assert_succeeds(&seen);
    let edited = project.case.read("bundles.lock");
    assert!(edited.contains(&digest(&forged().manifest)), "{edited}");

    let seen = project.run(&["build", "--locked", "--check"]);
    assert_eq!(seen.code, Some(1), "{}", seen.stderr);
    assert!(seen.stdout.contains("lamp-operator/1.0.0"), "{}", seen.stdout);
    assert_refused(&project, &["build", "--locked"], "chart-version-exists", "lamp-operator");
    assert!(project.files("out") == charts);

    // `diff` shows what the new image asks for.
    let seen = project.run(&["build", "--locked", "--out", "new"]);
    assert_succeeds(&seen);
    let (old, new) = ("out/lamp-operator/1.0.0", "new/lamp-operator/1.0.0");
    let seen = project.run(&["diff", old, new]);
    let finding = "risky[rbac-escalation]: ServiceAccount/lamp-operator can now do anything with \
                   everything";
    assert!(seen.stdout.contains(finding), "{}\n{}", seen.stdout, seen.stderr);
}

/// Entries that contradict bundles.toml or the image, one value at a time.
#[test]
fn edits_of_a_lock_that_fit_nothing_are_refused() {
    let registry = Registry::start();
    let project = registry.project();
    let lock = project.case.read("bundles.lock");
    let layer = Stored::lamp().layer();
    let other_size = |line: &str| line.replacen("size = ", "size = 1", 1);
    let line = |start: &str| {
        let line = lock.lines().find(|line| line.trim_start().starts_with(start));
        line.unwrap_or_else(|| panic!("{start} in {lock}")).to_owned()
    };
    let (manifest, configuration) = (line("manifest = "), line("config = "));

    for (from, to, code, words) in [
        (layer, digest(b"x"), "lock-stale", "another list of layers"),
        (manifest.clone(), other_size(&manifest), "lock-stale", "another manifest"),
        (configuration.clone(), other_size(&configuration), "lock-stale", "image configuration"),
        (line("csv = "), "csv = \"lamp.v9\"".to_owned(), "lock-stale", "another name of the CSV"),
        (
            line("csv-version = "),
            "csv-version = \"9.0.0\"".to_owned(),
            "lock-stale",
            "another version of the CSV",
        ),
        (
            line("package = "),
            "package = \"candle\"".to_owned(),
            "package-mismatch",
            "records package `candle`",
        ),
        (line("config-hash = "), "config-hash = \"sha256:0\"".to_owned(), "lock-stale", "lamp"),
    ] {
        assert_eq!(lock.matches(&from).count(), 1, "{from} in {lock}");
        project.case.write("bundles.lock", lock.replacen(&from, &to, 1));
        assert_refused(&project, &["build", "--locked"], code, words);
    }
}

/// The reference of an image is in bundles.toml; the copy in bundles.lock is not used.
#[test]
fn a_host_that_only_the_lock_names_is_not_asked() {
    let registry = Registry::start();
    let project = registry.project();
    let (lock, charts) = lock_and_charts(&project);
    let elsewhere = Server::start(|_| Answer::new(404, ""));
    let edited = lock.replace(&registry.server.host(), &elsewhere.host());
    assert_ne!(edited, lock);
    project.case.write("bundles.lock", edited);
    remove_cache(&project);
    assert_succeeds(&project.run(&["build", "--locked", "--out", "new"]));
    assert!(elsewhere.asked().is_empty());
    assert!(project.files("new") == charts);
}

#[test]
fn a_poisoned_cache_is_not_used() {
    let registry = Registry::start();
    let project = registry.project();
    let (lock, charts) = lock_and_charts(&project);
    let original = project.files("cache");
    let forged = forged();
    let layer = Stored::lamp().layer();
    for (path, bytes) in &original {
        // The forged counterpart of the blob: of the manifest, the layer and the configuration.
        let path = format!("cache/{}", path.display());
        let poison = if *bytes == Stored::lamp().manifest {
            forged.manifest.clone()
        } else if path.ends_with(layer.trim_start_matches("sha256:")) {
            forged.blobs[&forged.layer()].clone()
        } else {
            let mut bytes = bytes.clone();
            bytes[0] ^= 1;
            bytes
        };
        project.case.write(&path, poison.clone());
        let seen = project.run(&["build", "--locked", "--offline", "--out", "new"]);
        assert_eq!(seen.code, Some(2), "{path}: {}", seen.stderr);
        assert!(seen.stderr.contains("error[offline]"), "{path}: {}", seen.stderr);
        assert!(!project.case.path("new").exists());

        // With a registry, the blob is fetched again.
        project.case.write(&path, poison);
        assert_succeeds(&project.run(&["build", "--locked"]));
        assert!(lock_and_charts(&project) == (lock.clone(), charts.clone()));
        assert!(project.files("cache") == original, "{path} is not replaced");
    }
}

#[test]
fn an_edited_vendored_copy_is_not_used() {
    let registry = Registry::start();
    let project = registry.project();
    assert_succeeds(&project.run(&["vendor", "vendored"]));
    let host = registry.server.host();
    project.add(&format!("[[mirror]]\nfrom = \"{host}\"\nto = \"oci-layout:vendored\"\n"));
    remove_cache(&project);
    let build = ["build", "--locked", "--offline"];
    assert_succeeds(&project.run(&build));

    let files = project.files("vendored");
    let blobs = files.iter().filter(|(path, _)| path.starts_with("blobs"));
    for (path, bytes) in blobs {
        let path = format!("vendored/{}", path.display());
        let mut changed = bytes.clone();
        changed[10] ^= 1;
        project.case.write(&path, changed);
        assert_refused(&project, &build, "blob-mismatch", "has digest sha256:");
        project.case.write(&path, bytes);
    }

    // All of it, with an index that fits.
    let forged = forged();
    for (digest, bytes) in &forged.blobs {
        project.case.write(&format!("vendored/blobs/{}", digest.replace(':', "/")), bytes);
    }
    let (original, size) = (Stored::lamp().manifest, forged.manifest.len());
    let index = project.case.read("vendored/index.json");
    assert_eq!(index.matches(&digest(&original)).count(), 1, "{index}");
    let index = index.replace(&digest(&original), &digest(&forged.manifest));
    let index = index.replace(&format!("\"size\":{}", original.len()), &format!("\"size\":{size}"));
    project.case.write("vendored/index.json", index);
    assert_refused(&project, &build, "image-not-found", &digest(&original));
}
