#![expect(clippy::disallowed_methods, reason = "tests write manifests")]

use super::*;
use crate::deploy::Release;
use crate::diag::Code;
use crate::lock::Lock;
use crate::pipeline::samples::{config, write_bundle};
use crate::source::{Access, SourceResolver};

/// Returns a configuration with filters, a patch and two bundles that are the same one.
fn tables(folder: &str) -> String {
    format!(
        "[defaults]
exclude = ['.kind == \"Nothing\"', '.kind == \"ConfigMap\"']
[[bundle]]
name = \"lamp\"
path = \"{folder}\"
[[bundle.patch]]
match = '.kind == \"Deployment\"'
patch = '.spec.replicas = 3'
[[bundle]]
name = \"other\"
path = \"{folder}\"
depends-on = [\"lamp\"]
namespace = \"rooms\"
"
    )
}

/// Builds some bundles of a configuration.
fn built(text: &str, names: &[&str]) -> (Build, Vec<Code>) {
    let config = config(text);
    let sources = SourceResolver::of(&config, Access::default());
    let lock = Lock::default();
    let inputs = Inputs { config: &config, sources: &sources, lock: &lock, jobs: 2 };
    let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
    let mut found = Diagnostics::new();
    let build = build(&inputs, &names, &mut found);
    let codes = found.iter().map(|found| found.code).collect();

    // Again: only errors, which there are if nothing was built.
    let mut again = Diagnostics::new();
    let charts = rebuild(&inputs, &names, |chart| chart, &mut again);
    assert_eq!(charts.unwrap_or_default(), build.charts);
    assert_eq!(again.is_empty(), !build.charts.is_empty(), "{again:?}");
    (build, codes)
}

#[test]
fn a_build_has_the_charts_of_all_bundles_in_their_order() {
    let home = tempfile::tempdir().unwrap();
    write_bundle(home.path());
    let text = tables(&home.path().display().to_string());
    let (build, codes) = built(&text, &[]);
    let dirs: Vec<&str> =
        build.charts.iter().map(|chart| chart.files.dir.to_str().unwrap()).collect();
    assert_eq!(dirs, ["lamp/1.2.3", "other/1.2.3"]);
    assert!(build.charts.iter().all(|chart| chart.release_bytes > 0));
    let release = |at: usize| {
        let Release { name, bundle, namespace, dir, depends_on, .. } = &build.charts[at].release;
        let texts = [name, bundle, namespace, dir].map(String::as_str);
        (texts, depends_on.concat())
    };
    assert_eq!(release(0), (["lamp", "lamp", "lamp", "lamp/1.2.3"], String::new()));
    assert_eq!(release(1), (["other", "other", "rooms", "other/1.2.3"], "lamp".to_owned()));
    assert_eq!(
        build.counts,
        [
            "lamp: the filter `.kind == \"Nothing\"` matches 0 objects",
            "lamp: the filter `.kind == \"ConfigMap\"` matches 1 object",
            "lamp: the patch for `.kind == \"Deployment\"` matches 1 object",
            "other: the filter `.kind == \"Nothing\"` matches 0 objects",
            "other: the filter `.kind == \"ConfigMap\"` matches 1 object",
        ]
    );
    let image = Code::ImageNotPinned;
    assert_eq!(codes, [image, image, Code::SharedObject, Code::UnusedSetting]);

    // Other bundles may use the filter, or have no CRD of the same name.
    let (some, codes) = built(&text, &["other"]);
    assert_eq!(some.charts, build.charts[1..]);
    assert_eq!(codes, [image]);
}

#[test]
fn a_build_with_an_error_has_no_charts() {
    let home = tempfile::tempdir().unwrap();
    write_bundle(&home.path().join("bundle"));
    let good = home.path().join("bundle").display().to_string();
    let text = tables(&good).replacen(&good, &home.path().display().to_string(), 1);
    let (build, codes) = built(&text, &[]);
    assert!(build.charts.is_empty() && build.locked.is_empty());
    assert!(!codes.contains(&Code::UnusedSetting), "{codes:?}");
    let (some, _) = built(&text, &["other"]);
    assert_eq!(some.charts.len(), 1);
    let (none, codes) = built(&text, &["other", "nothing"]);
    assert_eq!((none.charts.len(), codes), (0, vec![Code::UnknownBundle]));
}

/// A bundle's own objects are its operator's affair, and Kubernetes has the others.
#[test]
fn apis_of_overlays_are_used_by_the_bundle() {
    let yaml = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n---\n\
                apiVersion: example.com/v1\nkind: Gadget\nmetadata: {name: first}\n---\n\
                apiVersion: example.com/v1\nkind: Gadget\nmetadata: {name: second}\n---\n\
                apiVersion: example.com/v2\nkind: Gadget\nmetadata: {name: third}\n";
    let objects = bundle::manifests("a.yaml", yaml.as_bytes(), &mut Diagnostics::new());
    let mut unit = Unit { objects, ..Unit::default() };
    let used = apis_used(&unit);
    let used: Vec<_> =
        used.iter().map(|(api, place)| (api.to_string(), place.object.as_deref())).collect();
    assert_eq!(
        used,
        [
            ("example.com/v1/Gadget".to_owned(), Some("Gadget/first")),
            ("example.com/v2/Gadget".to_owned(), Some("Gadget/third")),
        ]
    );

    unit.objects.iter_mut().for_each(|object| object.origin = Origin::Stub);
    assert!(apis_used(&unit).is_empty());
}

#[test]
fn the_order_of_charts_is_noted_at_the_object_that_needs_it() {
    let home = tempfile::tempdir().unwrap();
    write_bundle(&home.path().join("bundle"));
    let [lamps, folder] = ["lamps.yaml", "bundle"].map(|path| home.path().join(path));
    let lamp = "apiVersion: v1\nkind: List\nitems:\n- apiVersion: light.example.com/v1\n  kind: Lamp\n  \
                metadata: {name: lamp}\n";
    std::fs::write(&lamps, lamp).unwrap();
    let config = config(&format!(
        "[[bundle]]\nname = \"lamp\"\npath = \"{}\"\n[[chart]]\nname = \"rooms\"\n\
         chart-version = \"1.0.0\"\nmanifests = [\"{}\"]\n",
        folder.display(),
        lamps.display()
    ));
    let sources = SourceResolver::of(&config, Access::default());
    let lock = Lock::default();
    let inputs = Inputs { config: &config, sources: &sources, lock: &lock, jobs: 1 };
    let mut found = Diagnostics::new();
    build(&inputs, &[], &mut found);
    let order = found.iter().find(|found| found.code == Code::DependencyOrder).unwrap();
    let (Place { file, line, column, .. }, _) = &order.related[0];
    assert_eq!(file.as_deref(), lamps.to_str());
    assert_eq!((*line, *column), (Some(4), Some(3)));
}
