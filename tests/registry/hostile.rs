//! A registry that misbehaves: each case is retried as it should be, or a clear error.

use crate::image::digest;
use crate::project::{PASSWORD, Project, REPOSITORY, assert_built, assert_refused, lamp};
use crate::server::{Answer, Asked, Body, Server};
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
    blobs: BTreeMap<String, Vec<u8>>,
}

impl Stored {
    pub(crate) fn lamp() -> Self {
        let mut blobs = BTreeMap::new();
        let mut index = Value::Null;
        for (path, bytes) in lamp() {
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

    /// What a good registry answers.
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
    assert_refused(&project, &seen, "blob-mismatch", &["has the digest sha256:"]);
    assert_eq!(server.count(&Stored::lamp().layer()), 1);
}

#[test]
fn a_wrong_size_is_refused() {
    for (delta, words) in [(-10_i64, "has more than"), (10, "ends after")] {
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
    assert_refused(&project, &seen, "blob-mismatch", &["but the registry says"]);
}

#[test]
fn a_body_without_end_is_cut_off() {
    let (_server, project) = registry(|stored, asked| {
        is_blob(asked, &stored.layer())
            .then(|| Answer { body: Body::Endless, ..Answer::new(200, "") })
    });
    let begun = Instant::now();
    let seen = project.run(&["build"]);
    assert_refused(&project, &seen, "blob-mismatch", &["has more than the"]);
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
        assert_refused(&project, &seen, "source-limit", &["more than 4 MiB"]);
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
    assert_refused(&project, &seen, "registry-failed", &["answers 502"]);
    assert_eq!(server.count("/manifests/1.0.0"), 3);

    let (server, project) = registry(|_, asked| {
        is_manifest(asked).then(|| Answer::new(429, "").with("retry-after", "86400"))
    });
    let seen = project.run(&["build"]);
    assert_refused(&project, &seen, "registry-failed", &["come back in 86400 s"]);
    assert_eq!(server.count("/manifests/1.0.0"), 1);
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
        ("http://169.254.169.254/latest/meta-data", "no registry is looked for"),
        ("http://[fe80::1]/x", "no registry is looked for"),
        ("file:///etc/passwd", "cannot be read"),
        ("http://", "cannot be read"),
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
            body: Body::Slow(bytes, Duration::from_micros(200)),
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
