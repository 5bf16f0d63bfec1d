use super::*;
use crate::config::{Text, WantedVersion};
use crate::diag::SourceText;
use std::sync::Arc;

/// Entries as `NAME: replaces R, skips S S, range R`; names are `v` and the version.
fn contents(channel: &str) -> Contents {
    let mut contents = Contents {
        package: "lamp".to_owned(),
        default_channel: Some("stable".to_owned()),
        ..Contents::default()
    };
    let mut entries = Vec::new();
    for line in channel.lines().map(str::trim).filter(|line| !line.is_empty()) {
        let (name, rest) = line.split_once(':').unwrap_or((line, ""));
        let mut entry = ChannelEntry { name: name.to_owned(), ..ChannelEntry::default() };
        for part in rest.split(',').map(str::trim).filter(|part| !part.is_empty()) {
            let (word, value) = part.split_once(' ').unwrap();
            match word {
                "replaces" => entry.replaces = Some(value.to_owned()),
                "skips" => entry.skips = Some(value.split(' ').map(str::to_owned).collect()),
                "range" => entry.skip_range = Some(value.to_owned()),
                other => panic!("{other}"),
            }
        }
        if !name.starts_with("missing") {
            let version = name.trim_start_matches(|c: char| !c.is_ascii_digit());
            contents.bundles.insert(name.to_owned(), bundle(name, Some(version)));
        }
        entries.push(entry);
    }
    contents.channels.insert("stable".to_owned(), entries);
    contents
}

fn bundle(name: &str, version: Option<&str>) -> Bundle {
    Bundle {
        name: name.to_owned(),
        image: None,
        version: version.map(str::to_owned),
        objects: 0,
        file: "catalog.json".to_owned(),
    }
}

fn source(channel: Option<&str>, version: Option<&str>) -> CatalogSource {
    let text = Arc::new(SourceText { name: "bundles.toml".into(), text: "catalog".into() });
    let span = Span::new(&text, 0..7);
    let of = |text: &str| Text { text: text.to_owned(), span: span.clone() };
    let request = |text: &str| match Version::parse(text) {
        Ok(version) => VersionRequest::Exact(version),
        Err(_) => VersionRequest::Range(semver::VersionReq::parse(text).unwrap()),
    };
    CatalogSource {
        catalog: of("catalog"),
        package: of("lamp"),
        channel: channel.map(of),
        version: version
            .map(|version| WantedVersion { request: request(version), span: span.clone() }),
    }
}

/// The name of the chosen bundle, or the error with its hint.
fn chosen(contents: &Contents, version: Option<&str>) -> String {
    match choose(contents, &source(None, version)) {
        Ok(choice) => choice.bundle.name.clone(),
        Err(found) => {
            let hint = found.hint.as_deref().unwrap();
            format!("{}: {} | {hint}", found.code.as_str(), found.message)
        }
    }
}

#[test]
fn of_many_versions_the_near_ones_are_listed() {
    let all: Vec<Version> = (0..40).rev().map(|minor| Version::new(1, minor, 0)).collect();
    let all: Vec<&Version> = all.iter().collect();
    let ends = |wanted: &str| {
        let near = around(&all, &Version::parse(wanted).unwrap());
        assert_eq!(near.len(), MOST_LISTED);
        (near[0].minor, near[MOST_LISTED - 1].minor)
    };
    assert_eq!(ends("1.20.1"), (26, 15));
    assert_eq!(ends("9.0.0"), (39, 28));
    assert_eq!(ends("0.1.0"), (11, 0));
    assert_eq!(around(&all[..3], &Version::new(1, 0, 0)), all[..3]);
}

#[test]
fn the_head_of_a_line_is_its_end_whatever_the_order() {
    let line = contents("v1.1.0: replaces v1.0.0\nv1.2.0: replaces v1.1.0\nv1.0.0");
    assert_eq!(chosen(&line, None), "v1.2.0");
    assert_eq!(chosen(&contents("v1.0.0: replaces v0.9.0"), None), "v1.0.0");
}

#[test]
fn what_is_skipped_is_no_head() {
    let skips = contents(
        "v1.0.0\nv1.1.0: replaces v1.0.0\nv1.1.1: replaces v1.0.0\nv1.1.2: replaces v1.0.0, skips v1.1.0 v1.1.1",
    );
    assert_eq!(chosen(&skips, None), "v1.1.2");
    // Two lines of which one is in the range of the other.
    let range = contents("v1.0.0\nv1.1.0: range >=1.0.0 <1.1.0");
    assert_eq!(chosen(&range, None), "v1.1.0");
    let itself = contents("v1.0.0: range >=0.1.0 <=1.0.0");
    assert_eq!(chosen(&itself, None), "v1.0.0");
    let backwards = contents("v1.0.0: range >=1.0.0 <2.0.0\nv1.1.0");
    assert!(chosen(&backwards, None).contains("2 heads"), "{}", chosen(&backwards, None));
}

#[test]
fn several_heads_or_none_are_errors_that_list_them() {
    let two = contents("v1.0.0\nv1.1.0: replaces v1.0.0\nv2.0.0: replaces v1.0.0");
    insta::assert_snapshot!(chosen(&two, None), @"channel-head: the channel `stable` has 2 heads: `v1.1.0` and `v2.0.0` | set `version` to select a bundle; OLM rejects this catalog");
    let circle = contents("v1.0.0: replaces v1.1.0\nv1.1.0: replaces v1.0.0");
    insta::assert_snapshot!(chosen(&circle, None), @"channel-head: the channel `stable` has no head: every bundle is replaced or skipped by another one | set `channel` or `version` to select a bundle; OLM rejects this catalog");
    let empty = contents("");
    assert!(chosen(&empty, None).contains("it has no entries"));
    // A version says which one.
    assert_eq!(chosen(&two, Some("1.1.0")), "v1.1.0");
    assert_eq!(chosen(&circle, Some("1.1.0")), "v1.1.0");
}

#[test]
fn a_bundle_that_is_not_in_the_catalog_is_not_chosen() {
    let missing = contents("v1.0.0\nmissing.v1.1.0: replaces v1.0.0");
    assert!(chosen(&missing, None).contains("which is not in the catalog"));
    assert_eq!(chosen(&missing, Some(">=1")), "v1.0.0");
    assert!(chosen(&missing, Some("1.1.0")).starts_with("version-not-found"));
}

#[test]
fn a_range_takes_the_highest_that_upgrades_lead_from() {
    let line = contents(
        "v1.9.0\nv1.10.0: replaces v1.9.0\nv2.0.0: replaces v1.10.0\nv2.1.0-rc.1: replaces v2.0.0",
    );
    assert_eq!(chosen(&line, Some(">=1.2, <2")), "v1.10.0");
    assert_eq!(chosen(&line, Some(">=1.2")), "v2.0.0");
    assert_eq!(chosen(&line, Some(">=2.1.0-0")), "v2.1.0-rc.1");
    insta::assert_snapshot!(chosen(&line, Some(">=2.1")), @"version-not-found: the channel `stable` has no version >=2.1 | it has `2.1.0-rc.1`, `2.0.0`, `1.10.0` and `1.9.0`; a range matches pre-releases (with `-`) only if it has a pre-release of the same version, as in `>=4.18.0-0`");
    // Through skips and ranges too, but not outside of the graph.
    let island = contents(
        "v1.0.0\nv1.1.0: skips v1.0.0, range >=0.5.0 <1.1.0\nv0.6.0\nv1.5.0: replaces v1.6.0\nv1.6.0: replaces v1.5.0",
    );
    assert_eq!(chosen(&island, Some("<1.1")), "v1.0.0");
    assert_eq!(chosen(&island, Some("<1")), "v0.6.0");
    assert_eq!(chosen(&island, Some(">=1")), "v1.1.0");
}

#[test]
fn versions_are_those_that_bundles_state() {
    let mut other = contents("v1.0.0\nv1.1.0: replaces v1.0.0");
    other.bundles.insert("v1.1.0".to_owned(), bundle("v1.1.0", Some("7.0.0")));
    assert_eq!(chosen(&other, Some("7.0.0")), "v1.1.0");
    assert!(chosen(&other, Some("1.1.0")).starts_with("version-not-found"));
    other.bundles.insert("v1.1.0".to_owned(), bundle("v1.1.0", None));
    assert!(chosen(&other, None).contains("has no valid version"));
}

#[test]
fn equal_versions_are_not_guessed_between() {
    let builds = contents("v1.0.0+1\nv1.0.0+2: replaces v1.0.0+1");
    assert!(chosen(&builds, Some("1.0.0")).starts_with("ambiguous-version"));
    assert_eq!(chosen(&builds, Some("1.0.0+1")), "v1.0.0+1");
    assert_eq!(chosen(&builds, Some(">=1")), "v1.0.0+2");
    let same = contents("v1.0.0\nw1.0.0: replaces v1.0.0");
    insta::assert_snapshot!(chosen(&same, Some(">=1")), @"ambiguous-version: the channel `stable` has 2 bundles with version 1.0.0: `v1.0.0` and `w1.0.0` | write the version with its build metadata (`1.0.0+2`), or set `image` to the bundle you want");
}

#[test]
fn near_channels_and_other_channels_are_named() {
    let mut contents = contents("v1.0.0");
    contents.channels.insert(
        "stable-2".to_owned(),
        vec![ChannelEntry { name: "v2.0.0".to_owned(), ..ChannelEntry::default() }],
    );
    contents.bundles.insert("v2.0.0".to_owned(), bundle("v2.0.0", Some("2.0.0")));
    let found = choose(&contents, &source(Some("stabel"), None)).unwrap_err();
    let hint = found.hint.clone().unwrap();
    assert_eq!(hint, "did you mean `stable`? it has `stable` and `stable-2`");
    let text = chosen(&contents, Some("2.0.0"));
    assert!(text.contains("the channel `stable-2` has it"), "{text}");
    contents.default_channel = None;
    assert!(chosen(&contents, None).contains("no default channel"));
}

/// The path from an installed bundle, as `VERSION (skips VERSION …)` for each step.
fn steps(contents: &Contents, from: &str, to: &str) -> Option<String> {
    let installed = Installed::of(from, from.trim_start_matches('v'));
    let steps = path(contents, "stable", &installed, to)?;
    let step = |step: &Step| {
        let skips: Vec<String> = step.skips.iter().map(ToString::to_string).collect();
        if skips.is_empty() {
            return step.version.to_string();
        }
        format!("{} (skips {})", step.version, skips.join(" "))
    };
    Some(steps.iter().map(step).collect::<Vec<_>>().join(" → "))
}

#[test]
fn paths_lead_through_required_steps() {
    let some = |text: &str| Some(text.to_owned());
    let line = contents("v1.0.0\nv1.1.0: replaces v1.0.0\nv1.2.0: replaces v1.1.0");
    assert_eq!(steps(&line, "v1.0.0", "v1.2.0"), some("1.1.0 → 1.2.0"));
    assert_eq!(steps(&line, "v1.2.0", "v1.2.0"), some(""));
    assert_eq!(steps(&line, "v1.1.0", "v1.0.0"), None);
    assert_eq!(steps(&line, "v0.9.0", "v1.2.0"), None);

    // The highest version that may replace the installed one, whatever the order of entries.
    let skips = contents(
        "v1.2.0: replaces v1.1.1\nv1.1.1: replaces v1.0.0, skips v1.1.0\nv1.1.0: replaces v1.0.0\nv1.0.0",
    );
    assert_eq!(steps(&skips, "v1.0.0", "v1.2.0"), some("1.1.1 (skips 1.1.0) → 1.2.0"));
    assert_eq!(steps(&skips, "v1.1.0", "v1.2.0"), some("1.1.1 → 1.2.0"));
    let range = contents(
        "v1.0.0\nv1.1.0: replaces v1.0.0\nv1.2.0: replaces v1.1.0, range >=1.0.0 <1.2.0\nv2.0.0: range >=1.2.0 <2.0.0",
    );
    assert_eq!(steps(&range, "v1.0.0", "v2.0.0"), some("1.2.0 (skips 1.1.0) → 2.0.0"));

    // A bundle that the catalog dropped can be named by an entry, or be in its range.
    assert_eq!(steps(&contents("v1.0.0: replaces v0.9.0"), "v0.9.0", "v1.0.0"), some("1.0.0"));
    assert_eq!(steps(&range, "v1.0.5", "v2.0.0"), some("1.2.0 (skips 1.1.0) → 2.0.0"));
}

#[test]
fn paths_avoid_dead_ends_and_circles() {
    // 1.5.0 may replace 1.0.0, but nothing leads from it to 2.0.0.
    let dead =
        contents("v1.0.0\nv1.1.0: replaces v1.0.0\nv1.5.0: skips v1.0.0\nv2.0.0: replaces v1.1.0");
    let found = steps(&dead, "v1.0.0", "v2.0.0");
    assert_eq!(found.as_deref(), Some("1.1.0 → 2.0.0 (skips 1.5.0)"));
    let circle = contents("v1.0.0: replaces v1.1.0\nv1.1.0: replaces v1.0.0\nv2.0.0");
    assert_eq!(steps(&circle, "v1.0.0", "v2.0.0"), None);
}

#[test]
fn the_newest_version_is_in_any_channel() {
    let mut contents = contents("v1.0.0\nv3.0.0-rc.1: replaces v1.0.0");
    assert_eq!(newest(&contents), Some((Version::new(1, 0, 0), "stable".to_owned())));
    let entry = |name: &str| ChannelEntry { name: name.to_owned(), ..ChannelEntry::default() };
    contents.channels.insert("fast".to_owned(), vec![entry("v1.0.0"), entry("v2.0.0")]);
    assert_eq!(newest(&contents), Some((Version::new(1, 0, 0), "stable".to_owned())));
    contents.bundles.insert("v2.0.0".to_owned(), bundle("v2.0.0", Some("2.0.0")));
    assert_eq!(newest(&contents), Some((Version::new(2, 0, 0), "fast".to_owned())));
}

#[test]
fn a_channel_has_a_limit() {
    let text: String = (0..3000).map(|n| format!("v{n}.0.0\n")).collect();
    assert!(chosen(&contents(&text), None).starts_with("source-limit"));
}
