//! A registry that misbehaves: each case is retried as it should be, or a clear error.

use super::project::{PASSWORD, Project, REPOSITORY, assert_built, assert_refused, lamp};
use super::server::{Answer, Asked, Body, Server};
use crate::support::image::digest;
use flate2::write::GzEncoder;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::io::Write as _;
use std::sync::Arc;
use std::time::{Duration, Instant};

const MANIFEST_TYPE: &str = "application/vnd.oci.image.manifest.v1+json";

/// An image as a registry has it.
#[derive(Clone)]
pub(crate) struct Stored {
    pub(crate) manifest: Vec<u8>,
    pub(crate) blobs: BTreeMap<String, Vec<u8>>,
}

impl Stored {
    pub(crate) fn lamp() -> Self {
        Stored::of(lamp())
    }

    /// The only image of a layout.
    pub(crate) fn of(layout: BTreeMap<String, Vec<u8>>) -> Self {
        let mut blobs = BTreeMap::new();
        let mut index = Value::Null;
        for (path, bytes) in layout {
            if path == "index.json" {
                index = serde_json::from_slice(&bytes).unwrap();
            } else if path.starts_with("blobs/") {
                blobs.insert(digest(&bytes), bytes);
            }
        }
        let named = index["manifests"][0]["digest"].as_str().unwrap();
        Stored { manifest: blobs[named].clone(), blobs }
    }

    fn json(&self) -> Value {
        serde_json::from_slice(&self.manifest).unwrap()
    }

    pub(crate) fn layer(&self) -> String {
        self.json()["layers"][0]["digest"].as_str().unwrap().to_owned()
    }

    fn edit(&mut self, edit: impl FnOnce(&mut Value)) {
        let mut json = self.json();
        edit(&mut json);
        self.manifest = json.to_string().into_bytes();
    }

    /// Answers of a correct registry.
    pub(crate) fn answer(&self, asked: &Asked) -> Answer {
        let path = asked.target.strip_prefix(&format!("/v2/{REPOSITORY}/"));
        match path.and_then(|path| path.split_once('/')) {
            None => Answer::new(200, "{}"),
            Some(("manifests", _)) => Answer::new(200, self.manifest.clone())
                .with("content-type", MANIFEST_TYPE)
                .with("docker-content-digest", digest(&self.manifest)),
            Some((_, wanted)) => match self.blobs.get(wanted) {
                None => Answer::new(404, "{\"errors\":[{\"code\":\"BLOB_UNKNOWN\"}]}"),
                Some(bytes) => match asked.header("range") {
                    None => Answer::new(200, bytes.clone()),
                    Some(range) => {
                        let from = range.trim_start_matches("bytes=").trim_end_matches('-');
                        let from: usize = from.parse().unwrap();
                        let (last, all) = (bytes.len() - 1, bytes.len());
                        Answer::new(206, &bytes[from..])
                            .with("content-range", format!("bytes {from}-{last}/{all}"))
                    }
                },
            },
        }
    }
}

fn is_manifest(asked: &Asked) -> bool {
    asked.target.contains("/manifests/")
}

fn is_blob(asked: &Asked, digest: &str) -> bool {
    asked.target.ends_with(digest)
}

/// A registry that is good but for what `other` says.
fn registry(
    other: impl Fn(&Stored, &Asked) -> Option<Answer> + Send + Sync + 'static,
) -> (Server, Project) {
    registry_of(Stored::lamp(), other)
}

fn registry_of(
    stored: Stored,
    other: impl Fn(&Stored, &Asked) -> Option<Answer> + Send + Sync + 'static,
) -> (Server, Project) {
    let server =
        Server::start(move |asked| other(&stored, asked).unwrap_or_else(|| stored.answer(asked)));
    let project = Project::new(&server.host());
    (server, project)
}

#[test]
fn a_good_one_is_asked_for_each_thing_once() {
    let (server, project) = registry(|_, _| None);
    assert_built(&project, &project.run(&["build"]));
    let stored = Stored::lamp();
    assert_eq!(server.count("/manifests/1.0.0"), 1);
    assert_eq!(server.count(&stored.layer()), 1);
    // A second build has all it needs: the lock names the manifest, and the cache has the blobs.
    let before = server.asked().len();
    let again = project.run(&["build", "--locked", "--offline"]);
    assert_built(&project, &again);
    assert!(again.stderr.contains("1 unchanged"), "{}", again.stderr);
    assert_eq!(server.asked().len(), before);
}

#[test]
fn an_image_that_was_locked_and_is_gone_is_said_to_be() {
    let (server, project) = registry(|_, asked| {
        let by_digest = asked.target.contains("/manifests/sha256:");
        by_digest.then(|| Answer::new(404, ""))
    });
    assert_eq!(project.run(&["lock"]).code, Some(0));
    std::fs::remove_dir_all(project.case.path("cache")).expect("a folder");
    let seen = project.run(&["build"]);
    assert_eq!(seen.code, Some(2), "{}", seen.stderr);
    assert!(seen.stderr.contains("error[image-not-found]"), "{}", seen.stderr);
    assert!(seen.stderr.contains("bundle2chart lock --upgrade"), "{}", seen.stderr);
    assert_eq!(server.count("/manifests/1.0.0"), 1, "the tag is not asked for again");
}

#[test]
fn what_two_bundles_share_is_asked_for_once() {
    let (server, project) = registry(|stored, asked| {
        let bytes = stored.blobs[&stored.layer()].clone();
        // Slow enough for the other one to come while it is on its way.
        is_blob(asked, &stored.layer()).then(|| Answer {
            body: Body::Slow(bytes, Duration::from_micros(1)),
            ..Answer::new(200, "")
        })
    });
    let image = format!("{}/{REPOSITORY}:1.0.0", server.host());
    project.add(&format!("[[bundle]]\nname = \"other\"\nimage = \"{image}\"\n"));
    let seen = project.run(&["lock", "--jobs", "2"]);
    assert_eq!(seen.code, Some(0), "{}", seen.stderr);
    assert_eq!(server.count("/manifests/1.0.0"), 1, "a tag means one thing in a run");
    assert_eq!(server.count(&Stored::lamp().layer()), 1);
}

#[cfg(target_os = "linux")]
#[test]
fn progress_is_for_terminals_and_fits_them() {
    let (server, project) = registry(|stored, asked| {
        let bytes = stored.blobs[&stored.layer()].clone();
        is_blob(asked, &stored.layer()).then(|| Answer {
            body: Body::Slow(bytes, Duration::from_micros(1)),
            ..Answer::new(200, "")
        })
    });
    let program = env!("CARGO_BIN_EXE_bundle2chart");
    let inside = format!("stty cols 80; exec {program} lock");
    let environment = project.environment();
    let mut environment: Vec<(&str, &str)> =
        environment.iter().map(|(name, value)| (*name, value.as_str())).collect();
    environment.push(("TERM", "xterm"));
    let seen = project.case.shell("script -qec \"$1\" /dev/null", &[&inside], &environment);
    assert_eq!(seen.code, Some(0), "{}", seen.stdout);
    // Bars fill their lines, and those of several downloads follow each other without a break.
    let bars = seen.stdout.split(['\n', '\r', '\u{1b}']).map(|line| line.trim_start_matches("[2K"));
    let bars: Vec<Vec<char>> = bars
        .filter(|line| line.starts_with(['█', '░']))
        .map(|line| line.chars().collect())
        .collect();
    assert!(!bars.is_empty(), "{}", seen.stdout);
    for line in bars.iter().flat_map(|line| line.chunks(80)) {
        let text: String = line.iter().collect();
        assert!(text.starts_with(['█', '░']) && text.contains("bundle@"), "{text:?}");
    }
    let seen = Project::new(&server.host()).run(&["lock"]);
    assert!(
        !seen.stderr.contains(['\r', '\u{1b}']) && !seen.stderr.contains(" of "),
        "{}",
        seen.stderr
    );
}

#[test]
fn what_fails_for_one_bundle_is_not_waited_for_again_by_another() {
    let both = |(server, project): (Server, Project), end: &str| {
        let image = format!("{}/{REPOSITORY}:1.0.0", server.host());
        project.add(&format!("[[bundle]]\nname = \"other\"\nimage = \"{image}\"\n"));
        let seen = project.run(&["lock", "--jobs", "2"]);
        assert_eq!(seen.code, Some(2), "{}", seen.stderr);
        assert!(seen.stderr.contains("2 errors"), "{}", seen.stderr);
        assert_eq!(server.count(end), 3, "one try and two retries");
    };
    let layer = Stored::lamp().layer();
    both(
        registry(|stored, asked| is_blob(asked, &stored.layer()).then(|| Answer::new(503, ""))),
        &layer,
    );
    both(registry(|_, asked| is_manifest(asked).then(|| Answer::new(530, ""))), "/manifests/1.0.0");
}

#[test]
fn a_blob_that_breaks_off_is_resumed() {
    let (server, project) = registry(|stored, asked| {
        let bytes = &stored.blobs[&stored.layer()];
        let breaks = is_blob(asked, &stored.layer()) && asked.times == 0;
        breaks.then(|| Answer {
            body: Body::Announced(bytes[..bytes.len() / 2].to_vec(), bytes.len() as u64),
            ..Answer::new(200, "")
        })
    });
    assert_built(&project, &project.run(&["build"]));
    let layer = Stored::lamp().layer();
    let ranges: Vec<Option<String>> = server
        .asked()
        .iter()
        .filter(|asked| is_blob(asked, &layer))
        .map(|asked| asked.header("range").map(str::to_owned))
        .collect();
    let half = Stored::lamp().blobs[&layer].len() / 2;
    assert_eq!(ranges, [None, Some(format!("bytes={half}-"))]);
}

#[test]
fn a_registry_that_cannot_resume_is_asked_for_the_whole() {
    let (_server, project) = registry(|stored, asked| {
        let bytes = &stored.blobs[&stored.layer()];
        is_blob(asked, &stored.layer()).then(|| match asked.times {
            0 => Answer {
                body: Body::Announced(bytes[..1000].to_vec(), bytes.len() as u64),
                ..Answer::new(200, "")
            },
            _ => Answer::new(200, bytes.clone()),
        })
    });
    assert_built(&project, &project.run(&["build"]));
}

#[test]
fn a_blob_that_always_breaks_off_is_given_up() {
    let (server, project) = registry(|stored, asked| {
        let size = stored.blobs[&stored.layer()].len() as u64;
        is_blob(asked, &stored.layer())
            .then(|| Answer { body: Body::Announced(vec![0; 10], size), ..Answer::new(200, "") })
    });
    let seen = project.run(&["build"]);
    assert_refused(&project, &seen, "registry-unreachable", &["/blobs/sha256:"]);
    assert_eq!(server.count(&Stored::lamp().layer()), 3, "one try and two retries");
}

#[test]
fn wrong_bytes_are_refused() {
    let (server, project) = registry(|stored, asked| {
        let mut bytes = stored.blobs[&stored.layer()].clone();
        bytes[500] ^= 1;
        is_blob(asked, &stored.layer()).then(|| Answer::new(200, bytes))
    });
    let seen = project.run(&["build"]);
    assert_refused(&project, &seen, "blob-mismatch", &["has digest sha256:"]);
    assert_eq!(server.count(&Stored::lamp().layer()), 1);
}

#[test]
fn a_wrong_size_is_refused() {
    for (delta, words) in [(-10_i64, "is longer than"), (10, "ended after")] {
        let mut stored = Stored::lamp();
        stored.edit(|json| {
            let size = json["layers"][0]["size"].as_i64().unwrap();
            json["layers"][0]["size"] = json!(size + delta);
        });
        let (_server, project) = registry_of(stored, |_, _| None);
        let seen = project.run(&["build"]);
        assert_refused(&project, &seen, "blob-mismatch", &[words]);
    }
}

#[test]
fn a_manifest_with_another_digest_than_the_registry_says_is_refused() {
    let (_server, project) = registry(|stored, asked| {
        is_manifest(asked).then(|| {
            Answer::new(200, stored.manifest.clone())
                .with("content-type", MANIFEST_TYPE)
                .with("docker-content-digest", digest(b"other"))
        })
    });
    let seen = project.run(&["build"]);
    assert_refused(&project, &seen, "blob-mismatch", &["but the registry reports"]);
}

#[test]
fn a_body_without_end_is_cut_off() {
    let (_server, project) = registry(|stored, asked| {
        is_blob(asked, &stored.layer())
            .then(|| Answer { body: Body::Endless, ..Answer::new(200, "") })
    });
    let begun = Instant::now();
    let seen = project.run(&["build"]);
    assert_refused(&project, &seen, "blob-mismatch", &["is longer than the"]);
    assert!(begun.elapsed() < Duration::from_secs(10));
}

#[test]
fn a_huge_manifest_is_not_read() {
    let announced = Answer { body: Body::Announced(Vec::new(), 100 << 20), ..Answer::new(200, "") };
    let announced = Arc::new(announced);
    for endless in [false, true] {
        let announced = Arc::clone(&announced);
        let (server, project) = registry(move |_, asked| {
            let Body::Announced(_, size) = announced.body else { return None };
            let body = if endless { Body::Endless } else { Body::Announced(Vec::new(), size) };
            is_manifest(asked).then(|| {
                Answer { body, ..Answer::new(200, "") }.with("content-type", MANIFEST_TYPE)
            })
        });
        let seen = project.run(&["build"]);
        assert_refused(&project, &seen, "source-limit", &["larger than 4 MiB"]);
        assert_eq!(server.count("/manifests/1.0.0"), 1);
    }
}

#[test]
fn a_slow_body_is_given_up_in_time() {
    let (_server, project) = registry(|stored, asked| {
        let bytes = stored.blobs[&stored.layer()].clone();
        is_blob(asked, &stored.layer()).then(|| Answer {
            body: Body::Slow(bytes, Duration::from_millis(50)),
            ..Answer::new(200, "")
        })
    });
    project.set_short_timeout();
    let begun = Instant::now();
    let seen = project.run(&["build"]);
    assert_refused(&project, &seen, "registry-unreachable", &["too slow"]);
    assert!(begun.elapsed() < Duration::from_secs(20), "{:?}", begun.elapsed());
}

#[test]
fn silence_is_given_up_in_time() {
    let (_server, project) = registry(|_, asked| {
        is_manifest(asked).then(|| {
            std::thread::sleep(Duration::from_secs(30));
            Answer::new(200, "")
        })
    });
    project.set_short_timeout();
    let begun = Instant::now();
    let seen = project.run(&["build"]);
    assert_refused(&project, &seen, "registry-unreachable", &["/manifests/1.0.0"]);
    assert!(begun.elapsed() < Duration::from_secs(20), "{:?}", begun.elapsed());
}

#[test]
fn a_busy_registry_is_asked_again_when_it_says() {
    for (answer, least) in [
        (|| Answer::new(429, "").with("retry-after", "1"), Duration::from_secs(1)),
        (|| Answer::new(500, "oops"), Duration::from_millis(250)),
        (
            || Answer::new(503, "").with("retry-after", "Sun, 06 Nov 1994 08:49:37 GMT"),
            Duration::from_millis(250),
        ),
    ] as [(fn() -> Answer, Duration); 3]
    {
        let (server, project) =
            registry(move |_, asked| (is_manifest(asked) && asked.times == 0).then(answer));
        let begun = Instant::now();
        assert_built(&project, &project.run(&["build"]));
        assert!(begun.elapsed() >= least);
        assert_eq!(server.count("/manifests/1.0.0"), 2);
    }
}

#[test]
fn a_registry_that_stays_busy_is_given_up() {
    let (server, project) = registry(|_, asked| is_manifest(asked).then(|| Answer::new(502, "")));
    let seen = project.run(&["build"]);
    assert_refused(&project, &seen, "registry-failed", &["returned 502"]);
    assert_eq!(server.count("/manifests/1.0.0"), 3);

    let (server, project) = registry(|_, asked| {
        is_manifest(asked).then(|| Answer::new(429, "").with("retry-after", "86400"))
    });
    let seen = project.run(&["build"]);
    assert_refused(&project, &seen, "registry-failed", &["Retry-After 86400 s"]);
    assert_eq!(server.count("/manifests/1.0.0"), 1);
}

#[test]
fn a_mirror_that_cannot_give_an_image_is_passed_over_where_that_is_allowed() {
    for (answer, code) in [
        ((|| Answer::new(401, "")) as fn() -> Answer, "registry-denied"),
        (|| Answer::new(404, ""), "image-not-found"),
        (|| Answer::new(503, ""), "registry-failed"),
    ] {
        let mirror = Server::start(move |_| answer());
        let (server, project) = registry(|_, _| None);
        let from =
            format!("[[mirror]]\nfrom = \"{}\"\nto = \"{}\"\n", server.host(), mirror.host());
        project.add(&from);
        let seen = project.run(&["build"]);
        assert_refused(&project, &seen, code, &[]);
        assert_eq!(server.count("/manifests/1.0.0"), 0);
        project.add("fallback = true\n");
        let seen = project.run(&["build", "-v"]);
        assert_built(&project, &seen);
        assert!(seen.stderr.contains(": falling back"), "{}", seen.stderr);
    }
    // What is wrong there is not passed over.
    let mirror = registry(|stored, asked| {
        is_manifest(asked).then(|| {
            Answer::new(200, stored.manifest.clone())
                .with("docker-content-digest", digest(b"other"))
        })
    });
    let (server, project) = registry(|_, _| None);
    let [from, to] = [server.host(), mirror.0.host()];
    project.add(&format!("[[mirror]]\nfrom = \"{from}\"\nto = \"{to}\"\nfallback = true\n"));
    assert_refused(
        &project,
        &project.run(&["build"]),
        "blob-mismatch",
        &["but the registry reports"],
    );
}

#[test]
fn errors_that_will_not_pass_are_not_tried_again() {
    for (status, code) in
        [(403, "registry-denied"), (404, "image-not-found"), (418, "registry-failed")]
    {
        let (server, project) = registry(move |_, asked| {
            let body = "{\"errors\":[{\"code\":\"DENIED\",\"message\":\"echo canary\"}]}";
            is_manifest(asked).then(|| Answer::new(status, body))
        });
        let seen = project.run(&["build"]);
        assert_refused(&project, &seen, code, &["DENIED"]);
        assert!(!seen.stderr.contains("echo"), "what a registry says is not repeated");
        assert_eq!(server.count("/manifests/1.0.0"), 1);
    }
}

#[test]
fn a_bomb_in_a_layer_goes_off_harmlessly() {
    let mut stored = Stored::lamp();
    let mut encoder = GzEncoder::new(Vec::new(), flate2::Compression::best());
    let zeros = vec![0; 1 << 20];
    for _ in 0..300 {
        encoder.write_all(&zeros).unwrap();
    }
    let bomb = encoder.finish().unwrap();
    stored.edit(|json| {
        json["layers"][0]["digest"] = json!(digest(&bomb));
        json["layers"][0]["size"] = json!(bomb.len());
    });
    stored.blobs.insert(digest(&bomb), bomb);
    let (_server, project) = registry_of(stored, |_, _| None);
    let seen = project.run(&["build"]);
    assert_refused(&project, &seen, "source-limit", &["layer 1 of 1"]);
}

#[test]
fn a_layer_that_is_listed_twice_is_fetched_once() {
    let mut stored = Stored::lamp();
    stored.edit(|json| {
        let layer = json["layers"][0].clone();
        json["layers"].as_array_mut().unwrap().push(layer);
    });
    let config: Value = {
        let named = stored.json()["config"]["digest"].as_str().unwrap().to_owned();
        serde_json::from_slice(&stored.blobs[&named]).unwrap()
    };
    let mut config = config;
    let diff_id = config["rootfs"]["diff_ids"][0].clone();
    config["rootfs"]["diff_ids"].as_array_mut().unwrap().push(diff_id);
    let config = config.to_string().into_bytes();
    stored.edit(|json| {
        json["config"]["digest"] = json!(digest(&config));
        json["config"]["size"] = json!(config.len());
    });
    stored.blobs.insert(digest(&config), config);
    let layer = stored.layer();
    let (server, project) = registry_of(stored, |_, _| None);
    assert_built(&project, &project.run(&["build"]));
    assert_eq!(server.count(&layer), 1);
}

#[test]
fn redirects_lose_the_credentials() {
    let stored = Stored::lamp();
    let store = Server::start(move |asked| {
        let digest = asked.target.rsplit('/').next().unwrap_or_default();
        let digest = digest.split('?').next().unwrap_or_default();
        Answer::new(200, stored.blobs[digest].clone())
    });
    let target = store.host();
    let (server, project) = registry(move |_, asked| {
        if asked.header("authorization").is_none() {
            return Some(Answer::new(401, "").with("www-authenticate", "Basic realm=\"a\""));
        }
        let path = asked.target.rsplit('/').next()?;
        asked.target.contains("/blobs/").then(|| {
            Answer::new(307, "")
                .with("location", format!("http://{target}/{path}?signature=canary-signature"))
        })
    });
    project.log_in(&server.host(), PASSWORD);
    let seen = project.run(&["build", "-vvv"]);
    assert_built(&project, &seen);
    assert!(server.saw_credentials() && !store.saw_credentials());
    assert!(!store.asked().is_empty());
    project.assert_no_secret(&[&seen], &["canary-signature"]);
}

#[test]
fn redirects_to_where_no_registry_is_are_not_followed() {
    for (location, words) in [
        ("http://169.254.169.254/latest/meta-data", "loopback, link-local or cloud metadata"),
        ("http://[fe80::1]/x", "loopback, link-local or cloud metadata"),
        ("http://100.100.100.200/latest/meta-data", "loopback, link-local or cloud metadata"),
        ("http://168.63.129.16/machine", "loopback, link-local or cloud metadata"),
        ("http://[fd00:ec2::254]/latest/meta-data", "loopback, link-local or cloud metadata"),
        ("http://[fd20:ce::254]/computeMetadata/v1", "loopback, link-local or cloud metadata"),
        ("http://[::ffff:168.63.129.16]/machine", "loopback, link-local or cloud metadata"),
        ("http://[64:ff9b::a9fe:a9fe]/latest", "loopback, link-local or cloud metadata"),
        // The same address as a number.
        ("http://2852039166/latest/meta-data", "loopback, link-local or cloud metadata"),
        ("file:///etc/passwd", "an invalid address"),
        ("http://", "an invalid address"),
        ("/v2/loop", "more than 5 times"),
    ] {
        let (_server, project) = registry(move |_, asked| {
            let moves = asked.target.contains("/blobs/") || asked.target == "/v2/loop";
            moves.then(|| Answer::new(302, "").with("location", location))
        });
        let seen = project.run(&["build"]);
        assert_refused(&project, &seen, "unsafe-redirect", &[words]);
    }
}

#[test]
fn a_download_that_is_killed_leaves_nothing_that_a_second_run_minds() {
    let (_server, project) = registry(|stored, asked| {
        let bytes = stored.blobs[&stored.layer()].clone();
        (is_blob(asked, &stored.layer()) && asked.times == 0).then(|| Answer {
            body: Body::Slow(bytes, Duration::from_millis(1)),
            ..Answer::new(200, "")
        })
    });
    let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_bundle2chart"));
    command.arg("build").current_dir(project.case.path("")).envs(project.environment());
    let mut child = command.spawn().expect("the program");
    let begun = Instant::now();
    let partial = || {
        let files = project.files("cache");
        files.iter().any(|(path, bytes)| path.starts_with("partial") && bytes.len() > 1000)
    };
    while !partial() {
        assert!(begun.elapsed() < Duration::from_secs(30), "no download began");
        std::thread::sleep(Duration::from_millis(2));
    }
    child.kill().expect("killed");
    child.wait().expect("dead");
    assert!(!project.case.path("out").exists());
    // What was left is swept, and the rest is there.
    assert_built(&project, &project.run(&["build"]));
}

#[test]
fn what_is_no_regular_file_is_not_waited_for() {
    let stored = Stored::lamp();
    let cached = format!("cache/blobs/{}", stored.layer().replace(':', "/"));
    let timed = |project: &Project, arguments: &[&str]| {
        let environment = project.environment();
        let environment: Vec<(&str, &str)> =
            environment.iter().map(|(name, value)| (*name, value.as_str())).collect();
        project.case.shell("exec timeout 60 \"$0\" \"$@\"", arguments, &environment)
    };
    let make = |project: &Project, path: &str, device: bool| {
        let path = project.case.path(path);
        let _ = std::fs::remove_file(&path);
        std::fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
        if device {
            std::os::unix::fs::symlink("/dev/zero", path).expect("a link");
        } else {
            let made = std::process::Command::new("mkfifo").arg(path).status().expect("mkfifo");
            assert!(made.success());
        }
    };
    for device in [false, true] {
        // A file of credentials.
        let (server, project) = registry(|_, _| {
            Some(Answer::new(401, "").with("www-authenticate", "Basic realm=\"x\""))
        });
        make(&project, "auth.json", device);
        let seen = timed(&project, &["build"]);
        assert_refused(&project, &seen, "invalid-credentials", &["not a regular file"]);
        // Certificates.
        let (_other, project) = registry(|_, _| None);
        make(&project, "ca.pem", device);
        project.add(&format!("[[registry]]\nhost = \"{}\"\nca = \"ca.pem\"\n", server.host()));
        project.case.replace("bundles.toml", &_other.host(), &server.host());
        let seen = timed(&project, &["build"]);
        assert_refused(&project, &seen, "invalid-value", &["not a regular file"]);
        // A blob in the cache, and what a download left.
        let (_server, project) = registry(|_, _| None);
        make(&project, &cached, device);
        let seen = timed(&project, &["build"]);
        assert_eq!(seen.code, Some(2), "{}", seen.stderr);
        assert!(seen.stderr.contains("error[cache-unusable]"), "{}", seen.stderr);
        assert!(seen.stderr.contains("not a regular file"), "{}", seen.stderr);
        std::fs::remove_file(project.case.path(&cached)).expect("removed");
        make(&project, "cache/partial/blob-left", device);
        let seen = timed(&project, &["build"]);
        assert_eq!(seen.code, Some(0), "{}", seen.stderr);
    }
    // A file with a hole of a TiB is not what the descriptor describes, and is not read.
    let (_server, project) = registry(|_, _| None);
    make(&project, &cached, true);
    std::fs::remove_file(project.case.path(&cached)).expect("removed");
    let sparse = std::fs::File::create(project.case.path(&cached)).expect("a file");
    sparse.set_len(1 << 40).expect("a hole");
    let seen = timed(&project, &["build"]);
    assert_eq!(seen.code, Some(0), "{}", seen.stderr);
}
