use super::*;
use crate::chart::{Install, RELEASE_LIMIT, RELEASE_WARN};
use crate::pipeline::samples::{LAMP, config};
use std::collections::BTreeMap;

fn chart(name: &str, release_bytes: usize) -> Chart {
    Chart {
        name: name.to_owned(),
        version: semver::Version::new(1, 0, 0),
        files: BTreeMap::new(),
        release_bytes,
        is_without_examples: false,
        install: Install::default(),
    }
}

fn bundle(settings: &str) -> BundleConfig {
    config(&format!("{LAMP}{settings}")).bundles.remove(0)
}

/// Sizes of the charts with a placement of CRDs, with or without descriptions.
type Sizes = fn(Option<CrdPlacement>, bool) -> Vec<(&'static str, usize)>;

#[test]
fn hints_list_the_settings_that_help() {
    use CrdPlacement::{Crds, Separate, Subchart};
    let filters = "exclude objects with filters, or move overlays into separate charts";
    let reduce = |settings: &str| format!("{filters}; these reduce the size: {settings}");
    let rows: &[(&str, Sizes, String)] = &[
        ("", |_, _| vec![("lamps", 1_363_000)], filters.to_owned()),
        ("", |_, _| Vec::new(), filters.to_owned()),
        // One setting is enough, so combinations are not listed.
        (
            "",
            |crds, strip| vec![("lamps", if strip || crds == Some(Crds) { 8 } else { 1_363_000 })],
            "write strip-descriptions = true or crds = \"crds\"".to_owned(),
        ),
        (
            "",
            |crds, strip| {
                let fits = strip && crds == Some(Separate);
                vec![("lamps", if fits { 8 } else { 1_363_000 })]
            },
            "write crds = \"separate\" and strip-descriptions = true".to_owned(),
        ),
        // What only just fits is listed with its size, and so are all charts but those of operands.
        (
            "",
            |crds, _| match crds {
                Some(Subchart) => {
                    vec![("lamps", RELEASE_WARN), ("lamps-crds", 9), ("lamps-operands", 9)]
                }
                _ => vec![("lamps", 1_363_000)],
            },
            reduce("crds = \"subchart\" (lamps ≤ 80 %, lamps-crds < 80 %)"),
        ),
        // The same percentage, rounded.
        ("", |_, strip| vec![("lamps", 1_363_000 - usize::from(strip))], filters.to_owned()),
        // Settings that the bundle has are not proposed.
        (
            "strip-descriptions = true\ncrds = \"crds\"",
            |crds, strip| vec![("lamps", if strip && crds.is_some() { 8 } else { 1_363_000 })],
            "write crds = \"separate\" or crds = \"subchart\"".to_owned(),
        ),
        (
            "crds = \"separate\"",
            |crds, strip| {
                vec![("lamps", if strip && crds == Some(Separate) { 8 } else { 1_363_000 })]
            },
            "write strip-descriptions = true".to_owned(),
        ),
    ];
    for (settings, sizes, expected) in rows {
        let compile = |changed: &BundleConfig| {
            let settings = &changed.settings;
            let strip = settings.strip_descriptions == Some(true);
            let sizes = sizes(settings.crds, strip).into_iter();
            sizes.map(|(name, bytes)| chart(name, bytes)).collect()
        };
        assert_eq!(hint(1_363_000, &bundle(settings), compile), *expected, "{settings}");
    }
}

#[test]
fn charts_are_reported_from_most_of_the_limit_on() {
    let config = bundle("");
    let found = |bytes: usize, is_without_examples: bool| {
        let charts = [Chart { is_without_examples, ..chart("lamps", bytes) }];
        let mut found = Diagnostics::new();
        check(&charts, &config, |_| Vec::new(), &mut found);
        assert!(found.iter().count() < 2);
        found.iter().next().cloned()
    };
    let of = |found: Diagnostic| Some(found.at(&config.span));
    let filters = "exclude objects with filters, or move overlays into separate charts";
    assert_eq!(RELEASE_LIMIT, 1_048_576);
    assert_eq!(found(RELEASE_WARN - 1, false), None);
    let note = "Chart.yaml of `lamps` is without `artifacthub.io/crdsExamples`, because the release \
        Secret would take 80 % or more of the 1048576 bytes that Kubernetes allows";
    let note = of(Diagnostic::note(Code::ReleaseSize, note));
    assert_eq!(found(RELEASE_WARN - 1, true), note);

    let takes = |bytes: usize, share: usize| {
        format!(
            "release Secret of `lamps` takes up to {bytes} bytes ({share} %) of the 1048576 that \
                Kubernetes allows"
        )
    };
    let warning =
        |message: String| of(Diagnostic::warning(Code::ReleaseSize, message).hint(filters));
    assert_eq!(found(RELEASE_WARN, false), warning(takes(RELEASE_WARN, 80)));
    let without =
        takes(RELEASE_LIMIT, 100) + ", without `artifacthub.io/crdsExamples` in Chart.yaml";
    assert_eq!(found(RELEASE_LIMIT, true), warning(without));
    let error = takes(RELEASE_LIMIT + 1, 101) + ": Helm cannot install it";
    let error = of(Diagnostic::error(Code::ReleaseSize, error).hint(filters));
    assert_eq!(found(RELEASE_LIMIT + 1, false), error);
}
