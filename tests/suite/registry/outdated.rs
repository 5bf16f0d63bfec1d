//! Reports of `outdated` about images: newer tags, and tags that moved.

use super::distribution::Distribution;
use super::hostile::Stored;
use super::project::{PASSWORD, Project, REPOSITORY, USER};
use super::server::{Answer, Server};
use crate::support::command::{Case, Seen};
use crate::support::image::{Compression, Image, Layer, Layout};
use crate::support::lamp::{ANNOTATIONS, CRD, CSV};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

fn image(version: &str, more: &str) -> Image {
    let mut layer = Layer::new();
    layer
        .file("manifests/csv.yaml", CSV.replace("1.2.3", version).as_bytes())
        .file("manifests/crd.yaml", CRD.as_bytes())
        .file("metadata/annotations.yaml", ANNOTATIONS.as_bytes())
        .file("notes", more.as_bytes());
    Image {
        architecture: "amd64",
        labels: BTreeMap::new(),
        layers: vec![(Compression::Gzip, layer.into_tar())],
    }
}

fn bundle(seen: &Seen) -> Value {
    let report: Value = serde_json::from_str(&seen.stdout).expect("JSON");
    report["bundles"][0].clone()
}

#[test]
fn newer_tags_and_moved_tags_are_found() {
    let registry = Distribution::start();
    let host = &registry.host;
    let case = Case::new();
    let push = |tag: &str, image: &Image| {
        let layouts = Case::new();
        let mut layout = Layout::default();
        layout.image("lamp", image);
        for (path, content) in layout.into_files() {
            layouts.write(&path, content);
        }
        registry.push(&layouts.path(""), "lamp", &format!("lamps/bundle:{tag}"), &[]);
    };
    push("1.2", &image("1.2.3", ""));
    case.write("ca.pem", &registry.authority);
    case.write(
        "bundles.toml",
        format!(
            "[[registry]]\nhost = \"{host}\"\nca = \"ca.pem\"\n\n[[bundle]]\n\
             name = \"lamp-operator\"\nimage = \"{host}/lamps/bundle:1.2\"\n"
        ),
    );
    let project = Project { case };
    project.log_in(host, PASSWORD);
    let run = |arguments: &[&str]| project.run(&[&["outdated", "--exit-code"], arguments].concat());
    let seen = run(&[]);
    assert!(seen.stdout.contains("not locked"), "{}", seen.text());
    assert_eq!(project.run(&["lock"]).code, Some(0));
    let seen = run(&["--format", "json"]);
    assert_eq!(seen.code, Some(0), "{}", seen.text());
    assert_eq!(bundle(&seen)["tag"]["moved"], false);
    assert_eq!(bundle(&seen)["newest"], json!({ "version": "1.2.0", "tag": "1.2" }));

    // Another image for the same tag.
    push("1.2", &image("1.2.3", "built again"));
    let seen = run(&["--format", "json"]);
    assert_eq!(seen.code, Some(1), "{}", seen.text());
    assert_eq!(bundle(&seen)["tag"]["moved"], true);
    assert!(run(&[]).stdout.contains("lamp-operator: tag 1.2 moved from sha256:"));
    assert_eq!(project.run(&["lock", "--upgrade"]).code, Some(0));
    assert_eq!(run(&[]).code, Some(0));

    // A newer version under another tag; pre-releases and builds are none.
    for tag in ["v1.10.0", "1.9.0", "2.0.0-rc.1", "latest"] {
        push(tag, &image("1.10.0", ""));
    }
    let seen = run(&["--format", "json"]);
    assert_eq!(seen.code, Some(1), "{}", seen.text());
    assert_eq!(bundle(&seen)["newest"], json!({ "version": "1.10.0", "tag": "v1.10.0" }));
    assert_eq!(bundle(&seen)["outdated"], true);
    assert!(
        run(&[]).stdout.contains("run `bundle2chart lock --upgrade lamp-operator --to v1.10.0`")
    );
    project.assert_no_secret(&[&seen], &[USER.repeat(9).as_str()]);
    let seen = run(&["--offline"]);
    assert_eq!(seen.code, Some(2));
    assert!(seen.stderr.contains("error[offline]: cannot list the tags"), "{}", seen.stderr);

    // `--to` edits the tag; without it, `lock --upgrade` resolves the one that is there.
    let seen = project.run(&["lock", "--upgrade"]);
    assert!(seen.stderr.contains("set another one with `bundle2chart lock --upgrade lamp"));
    let set_tag = |names: &[&str], tag: &str| {
        project.run(&[&["lock", "--upgrade"], names, &["--to", tag]].concat())
    };
    for (names, tag) in [(&["lamp-operator"][..], "not a tag"), (&["lamp"], "1"), (&[], "1")] {
        assert_eq!(set_tag(names, tag).code, Some(2), "{names:?} {tag}");
    }
    let before = project.case.read("bundles.toml");
    assert_eq!(set_tag(&["lamp-operator"], "1.9.0").code, Some(0));
    assert_eq!(project.case.read("bundles.toml"), before.replace(":1.2\"", ":1.9.0\""));
    assert!(project.case.read("bundles.lock").contains("/lamps/bundle:1.9.0"));
    project.case.write("bundles.toml", &before);
    assert_eq!(project.run(&["lock"]).code, Some(0));

    // A missing tag: those that are there, the newest versions first. A missing digest has no tags.
    let missing = |suffix: &str| {
        project.case.replace("bundles.toml", ":1.2\"", &format!("{suffix}\""));
        let seen = project.run(&["build"]);
        assert_eq!(seen.code, Some(2), "{}", seen.text());
        project.case.replace("bundles.toml", &format!("{suffix}\""), ":1.2\"");
        seen.stderr
    };
    let tags = "`2.0.0-rc.1`, `v1.10.0`, `1.9.0`, `1.2` and `latest`";
    let text = missing(":9.9");
    assert!(text.contains("/lamps/bundle:9.9` not found in the registry"), "{text}");
    assert!(text.contains(&format!("use one of the tags {tags}")), "{text}");
    let text = missing(":1.9.1");
    assert!(text.contains(&format!("did you mean `1.9.0`? The tags are {tags}")), "{text}");
    let text = missing(&format!("@sha256:{}", "0".repeat(64)));
    assert!(text.contains("check whether the digest was deleted"), "{text}");
}

/// bundles.lock has digests of manifests, so `outdated` has them as well where a tag leads to an index.
/// A new index of the same manifest is no new bundle.
#[test]
fn digests_are_those_of_manifests() {
    let project = Project { case: Case::new() };
    let case = &project.case;
    let push = |images: &[Image]| {
        let mut layout = Layout::default();
        layout.index("registry.example.com/lamps/bundle:1.2", images);
        for (path, content) in layout.into_files() {
            case.write(&format!("copies/{path}"), content);
        }
    };
    let on_arm = |version: &str| Image { architecture: "arm64", ..image(version, "arm64") };
    push(&[image("1.2.3", "")]);
    case.write(
        "bundles.toml",
        "[[mirror]]\nfrom = \"registry.example.com\"\nto = \"oci-layout:copies\"\n\n[[bundle]]\n\
         name = \"lamp-operator\"\nimage = \"registry.example.com/lamps/bundle:1.2\"\n",
    );
    let seen = project.run(&["lock"]);
    assert_eq!(seen.code, Some(0), "{}", seen.text());
    let digest = || {
        let lock = case.read("bundles.lock");
        let line = lock.lines().find(|line| line.starts_with("manifest")).expect("a digest");
        line.split('"').nth(1).expect("a digest").to_owned()
    };
    let locked = digest();

    push(&[image("1.2.3", ""), on_arm("1.2.3")]);
    let seen = project.run(&["outdated", "--format", "json"]);
    let tag = json!({ "name": "1.2", "digest": locked, "moved": false });
    assert_eq!(bundle(&seen)["tag"], tag, "{}", seen.text());

    push(&[image("1.2.4", ""), on_arm("1.2.4")]);
    let seen = project.run(&["outdated", "--format", "json"]);
    assert_eq!(bundle(&seen)["tag"]["moved"], true, "{}", seen.text());
    let text = project.run(&["outdated"]).stdout;
    let upgraded = project.run(&["lock", "--upgrade"]);
    assert_eq!(upgraded.code, Some(0), "{}", upgraded.text());
    assert_eq!(bundle(&seen)["tag"]["digest"], json!(digest()));
    assert!(text.contains(&format!("moved from {locked} to {}", digest())), "{text}");
}

#[test]
fn all_pages_of_tags_are_read_and_foreign_ones_are_not() {
    let other = Server::start(|_| Answer::new(200, "{\"tags\": [\"9.9.9\"]}"));
    let foreign = other.host();
    let server = Server::start(move |asked| {
        let list = |tags: &str| Answer::new(200, format!("{{\"name\": \"a\", \"tags\": {tags}}}"));
        match asked.target.as_str() {
            "/v2/" => Answer::new(200, ""),
            "/v2/lamps/bundle/tags/list?n=1000" => list("[\"1.0.0\"]")
                .with("link", "</v2/lamps/bundle/tags/list?n=1000&last=1.0.0>; rel=\"next\""),
            "/v2/lamps/bundle/tags/list?n=1000&last=1.0.0" => list("[\"1.1.0\"]").with(
                "link",
                format!("<http://{foreign}/v2/lamps/bundle/tags/list>; rel=\"next\""),
            ),
            "/v2/lamps/endless/tags/list?n=1000" => {
                list("null").with("link", "<list?n=1000>; rel=\"next\"")
            }
            "/v2/lamps/other/tags/list?n=1000" => Answer::new(200, "<html>"),
            _ => Answer::new(404, "{\"errors\": [{\"code\": \"NAME_UNKNOWN\"}]}"),
        }
    });
    let run = |repository: &str| {
        let case = Case::new();
        let host = server.host();
        case.write(
            "bundles.toml",
            format!("[[bundle]]\nname = \"lamps\"\nimage = \"{host}/lamps/{repository}:1.0.0\"\n"),
        );
        Project { case }.run(&["outdated", "--format", "json"])
    };
    let seen = run("bundle");
    assert_eq!(seen.code, Some(0), "{}", seen.text());
    assert_eq!(bundle(&seen)["newest"]["version"], "1.1.0");
    assert!(other.asked().is_empty(), "another host was asked");
    for (repository, message) in [
        ("endless", "has more than 100000 tags"),
        ("other", "returned no list of tags"),
        ("missing", "no tags found for"),
    ] {
        let seen = run(repository);
        assert_eq!(seen.code, Some(2), "{}", seen.text());
        assert!(seen.stderr.contains(message), "{}", seen.stderr);
    }
}

#[test]
fn references_are_read_in_parallel_within_a_limit_per_registry() {
    const REFERENCES: usize = 100;
    const DOWNLOADS: usize = 4;

    // Requests in progress, and most at a time: of each registry, then of both.
    let counters: Arc<[[AtomicUsize; 2]; 3]> = Arc::default();
    let registry = |number: usize| {
        let (counters, stored) = (Arc::clone(&counters), Stored::lamp());
        Server::start(move |asked| {
            for [now, most] in [&counters[number], &counters[2]] {
                most.fetch_max(now.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
            }
            std::thread::sleep(Duration::from_millis(20));
            for [now, _] in [&counters[number], &counters[2]] {
                now.fetch_sub(1, Ordering::SeqCst);
            }
            if asked.target.contains("/tags/list") {
                return Answer::new(200, json!({"name": "a", "tags": ["1.0.0"]}).to_string());
            }
            stored.answer(asked)
        })
    };
    let servers = [registry(0), registry(1)];

    let case = Case::new();
    let mut text = format!("[network]\ndownloads = {DOWNLOADS}\n");
    for index in 0..2 * REFERENCES {
        let host = servers[index % 2].host();
        let _ = write!(
            text,
            "[[bundle]]\nname = \"lamp-{index}\"\nimage = \"{host}/{REPOSITORY}:1.0.{index}\"\n"
        );
    }
    case.write("bundles.toml", text);
    let project = Project { case };

    for (arguments, requests) in [(&["lock"], REFERENCES), (&["outdated"], 2 * REFERENCES)] {
        let before = servers.each_ref().map(|server| server.asked().len());
        let seen = project.run(arguments);
        assert_eq!(seen.code, Some(0), "{}", seen.text());
        for (server, before) in servers.iter().zip(before) {
            assert!(server.asked().len() - before >= requests, "{arguments:?}");
        }
        let [first, second, both] =
            counters.each_ref().map(|[_, most]| most.swap(0, Ordering::SeqCst));
        assert!(first <= DOWNLOADS && second <= DOWNLOADS, "{arguments:?}: {first}, {second}");
        assert!(both > DOWNLOADS, "{arguments:?}: {both}");
    }
}
