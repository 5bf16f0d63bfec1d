//! A lock with each kind of entry, and the descriptions of its changes.

use super::change::changes;
use super::{Decisions, Lock, Locked, LockedImage, format};
use crate::bundle::Bundle;
use crate::bundle::sample::{self, ANNOTATIONS};
use crate::config::{Config, Watch};
use crate::diag::{Diagnostics, SourceText, human};
use crate::source::{BundleFiles, ImageIdentity, Signature, Signer};
use std::path::Path;
use std::sync::Arc;

pub(super) fn digest(digit: &str) -> String {
    format!("sha256:{}", digit.repeat(64))
}

pub(super) fn lock() -> Lock {
    let image = |name: &str, index: Option<&str>| LockedImage {
        reference: format!("registry.example.com/{name}:\"1\""),
        identity: ImageIdentity {
            digest: digest("1"),
            size: 1,
            index: index.map(digest),
            platform: index.map(|_| "linux/amd64".to_owned()),
            config: (digest("3"), 3),
            layers: vec![(digest("4"), 4), (digest("5"), 5)],
            signature: None,
        },
    };
    let locked = |name: &str, index: Option<&str>| Locked {
        name: name.to_owned(),
        config_hash: digest("0"),
        image: Some(image(name, index)),
        embedded: None,
        csv: format!("{name}.v1"),
        csv_version: "1.0.0".to_owned(),
        edges: None,
        decisions: Decisions {
            package: name.to_owned(),
            watch: Some(match name {
                "a" => Watch::All,
                "b" => Watch::Own,
                _ => Watch::Namespaces(vec!["one".to_owned(), "two".to_owned()]),
            }),
        },
    };
    let embedded = |name: &str, catalog: Option<LockedImage>| Locked {
        image: catalog,
        embedded: Some(digest("6")),
        ..locked(name, None)
    };
    let of_catalog = embedded("d", Some(image("catalog", None)));
    let [a, b] = [locked("a", None), locked("b", Some("2"))];
    Lock { bundles: vec![a, b, embedded("c", None), of_catalog] }
}

/// Returns the description of the changes of an edit of a lock with an image `a`, two of catalogs and `b`.
fn described(edit: impl Fn(&str) -> String) -> String {
    let old = lock();
    let edited = format::parse(&edit(&format::text(&old)));
    let new = edited.unwrap_or_else(|fault| panic!("{}", fault.message));
    let lines = changes(&old, &new).into_iter();
    lines.map(|change| change.as_str().to_owned()).collect()
}

#[test]
fn changes_name_what_moved() {
    for (from, to, wanted) in [
        (
            "name = \"a\"",
            "name = \"new\"",
            "a: removed\n  registry.example.com/a:\"1\"\nnew: added\n  \
             registry.example.com/a:\"1\"\n  sha256:111111111111  a.v1 1.0.0\n",
        ),
        ("csv-version = \"1.0.0\"", "csv-version = \"1.1.0\"", "a: 1.0.0 → 1.1.0\n"),
        (
            "package = \"a\"",
            "package = \"other\"",
            "a: 1.0.0 unchanged: package and install mode recorded\n",
        ),
        ("package = \"a\"", "package = \"other\"", "\n  package: a → other\n"),
        ("watch = \"all\"", "watch = \"own\"", "\n  watch: \"all\" → \"own\"\n"),
        (
            "watch = \"all\"\n",
            "watch = \"all\"\nreplaces = \"\"\nskips = []\nskip-range = \"\"\n",
            "a: 1.0.0 unchanged: upgrade path of the catalog recorded\n",
        ),
        (
            "registry.example.com/a",
            "mirror.example.com/a",
            "a: 1.0.0 unchanged: same content from another source\n  \
             registry.example.com/a:\"1\" → mirror.example.com/a:\"1\"\n  sha256:111111111111\n",
        ),
        (&digest("0"), &digest("9"), "a: 1.0.0 unchanged: same content, different configuration\n"),
        (&digest("2"), &digest("9"), "b: 1.0.0 unchanged: same content, different index\n"),
        (
            &digest("1"),
            &digest("9"),
            "a: 1.0.0 unchanged: digest changed for the same tag and CSV version\n  \
             registry.example.com/a:\"1\"\n  sha256:111111111111 → sha256:999999999999\n",
        ),
        (
            &digest("6"),
            &digest("9"),
            "c: 1.0.0 unchanged: digest changed: the catalog has different content for the same \
             CSV version\n  embedded in the catalog\n",
        ),
    ] {
        let text = described(|text| text.replacen(from, to, 1));
        assert!(text.contains(wanted), "{from} → {to}: {text}");
    }
    let other = described(|text| {
        let text = text.replacen(&digest("1"), &digest("9"), 1);
        text.replacen("registry.example.com/a", "mirror.example.com/a", 1)
    });
    assert!(other.contains("1.0.0 unchanged: different image for the same CSV version"), "{other}");
}

#[test]
fn a_signature_that_was_verified_is_no_other_image() {
    let (old, mut new) = (lock(), lock());
    let image = new.bundles[0].image.as_mut().expect("an image");
    let key = digest("8");
    image.identity.signature = Some(Signature {
        manifest: key.clone(),
        signed: image.identity.digest.clone(),
        signer: Signer::Key(key),
    });
    let changes = changes(&old, &new);
    let [change] = changes.as_slice() else { panic!("{}", changes.len()) };
    let text = change.as_str();
    assert!(text.contains("a: 1.0.0 unchanged: verified signature recorded"), "{text:?}");
}

/// A bundle of the package `widgets` with these install modes.
fn widgets(package: &str, modes: &[&str]) -> (BundleFiles, Bundle) {
    let modes: String =
        modes.iter().map(|mode| format!("  - {{type: {mode}, supported: true}}\n")).collect();
    let csv = format!(
        "apiVersion: operators.coreos.com/v1alpha1\nkind: ClusterServiceVersion\n\
         metadata: {{name: widgets.v1.0.0}}\nspec:\n  version: 1.0.0\n  installModes:\n{modes}\
         \x20 install:\n    strategy: deployment\n    spec:\n      deployments:\n      \
         - name: widgets\n        spec:\n          selector: {{matchLabels: {{app: widgets}}}}\n          \
         template:\n            metadata: {{labels: {{app: widgets}}}}\n            \
         spec: {{containers: [{{name: manager, image: \"example.com/widgets:1\"}}]}}\n      \
         permissions:\n      - serviceAccountName: widgets\n        rules:\n        \
         - {{apiGroups: [\"\"], resources: [pods], verbs: [list]}}\n        \
         - {{apiGroups: [\"\"], resources: [secrets], verbs: [watch, get]}}\n        \
         - {{apiGroups: [\"\"], resources: [\"*\"], verbs: [create]}}\n"
    );
    let (name, text) = ANNOTATIONS;
    let annotations = text.replace("widgets", package);
    let files = sample::files(&[("csv.yaml", &csv)], &[(name, &annotations)]);
    let mut diagnostics = Diagnostics::new();
    let bundle = crate::bundle::load(&files, &mut diagnostics);
    (files, bundle.unwrap_or_else(|| panic!("{}", human::render(&diagnostics, false))))
}

fn config(tables: &str) -> Config {
    let source = Arc::new(SourceText { name: "bundles.toml".to_owned(), text: tables.to_owned() });
    let mut diagnostics = Diagnostics::new();
    let config = Config::parse(&source, Path::new("."), &mut diagnostics);
    config.unwrap_or_else(|| panic!("{}", human::render(&diagnostics, false)))
}

/// The table of a bundle of the image `registry.example.com/NAME:1`.
fn table(name: &str, keys: &str) -> String {
    format!("[[bundle]]\nname = \"{name}\"\nimage = \"registry.example.com/{name}:1\"\n{keys}")
}

/// Returns the entry of a bundle that came in the image of [`lock`]'s entry `a`.
fn entry(config: &Config, files: &BundleFiles, bundle: &Bundle) -> Locked {
    let image = lock().bundles[0].image.clone().expect("an image");
    let files = BundleFiles { image: Some(image.identity), ..files.clone() };
    Locked::new(&config.bundles[0], &files, bundle).expect("an entry")
}

fn rendered(report: impl FnOnce(&mut Diagnostics)) -> String {
    let mut diagnostics = Diagnostics::new();
    report(&mut diagnostics);
    human::render(&diagnostics, false)
}

#[test]
fn incomplete_locks_are_errors() {
    let both = config(&(table("one", "") + &table("two", "")));
    let (files, bundle) = widgets("widgets", &["AllNamespaces"]);
    let [one, two] = ["one", "two"].map(|name| entry(&config(&table(name, "")), &files, &bundle));
    let moved = Locked { config_hash: digest("9"), ..two.clone() };
    let path_only = config("[[bundle]]\nname = \"local\"\npath = \"widgets\"\n");
    let mut shown = String::new();
    for (config, bundles, names, messages) in [
        (&both, vec![&one, &two], &[][..], 0),
        (&both, vec![&one], &[], 1),
        (&both, vec![&one], &["one"], 0),
        (&both, vec![], &["two"], 1),
        (&both, vec![], &[], 2),
        (&both, vec![&one, &moved], &[], 1),
        (&path_only, vec![], &[], 0),
        (&path_only, vec![&one], &[], 1),
        (&path_only, vec![&one], &["local"], 0),
    ] {
        let lock = Lock { bundles: bundles.into_iter().cloned().collect() };
        let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
        let mut diagnostics = Diagnostics::new();
        let complete =
            lock.check_complete(config, &names, Path::new("bundles.lock"), &mut diagnostics);
        assert_eq!((complete.is_none(), diagnostics.iter().count()), (messages > 0, messages));
        shown += &human::render(&diagnostics, false);
    }
    insta::assert_snapshot!(shown);
}

#[test]
fn entries_are_of_one_source() {
    let sources = [
        "image = \"registry.example.com/a:1\"",
        "image = \"registry.example.com/a:2\"",
        "catalog = \"registry.example.com/a:1\"\npackage = \"a\"",
        "catalog = \"registry.example.com/a:1\"\npackage = \"b\"",
        "catalog = \"registry.example.com/a:1\"\npackage = \"a\"\nchannel = \"1.0.0\"",
        "catalog = \"registry.example.com/a:1\"\npackage = \"a\"\nversion = \"1.0.0\"",
        "catalog = \"registry.example.com/a:1\"\npackage = \"a\"\nversion = \"1.0\"",
    ];
    let (files, bundle) = widgets("a", &["AllNamespaces"]);
    let configs = sources.map(|source| config(&format!("[[bundle]]\nname = \"a\"\n{source}\n")));
    let hashes = configs.each_ref().map(|config| entry(config, &files, &bundle).config_hash);
    // Recorded in lock files, so they must not change.
    insta::assert_snapshot!(hashes.join("\n"));
    for (at, config) in configs.iter().enumerate() {
        let lock = Lock { bundles: vec![entry(config, &files, &bundle)] };
        for (other, config) in configs.iter().enumerate() {
            assert_eq!(lock.entry(&config.bundles[0]).is_some(), at == other, "{at} {other}");
        }
    }
}

#[test]
fn locks_follow_the_configuration() {
    let config = config(&(table("two", "watch = \"own\"\n") + &table("one", "")));
    let (files, bundle) = widgets("widgets", &["AllNamespaces", "OwnNamespace"]);
    let of = |name: &str| entry(&self::config(&table(name, "")), &files, &bundle);
    let gone = Locked { name: "gone".to_owned(), ..of("one") };
    let new = Locked { csv_version: "2.0.0".to_owned(), ..of("one") };
    let old = Lock { bundles: vec![of("two"), of("one"), gone] };
    let updated = old.updated(&config, vec![new]);
    let shown = updated.bundles.iter().map(|entry| {
        (entry.name.as_str(), entry.csv_version.as_str(), entry.decisions.watch.clone())
    });
    assert_eq!(
        shown.collect::<Vec<_>>(),
        [("one", "2.0.0", Some(Watch::All)), ("two", "1.0.0", Some(Watch::Own))]
    );
    assert!(old.of_package("one", "widgets").is_some() && old.of_package("one", "a").is_none());
}

#[test]
fn other_content_than_the_locked_one_is_an_error() {
    let config = config(&table("widgets", ""));
    let (files, bundle) = widgets("widgets", &["AllNamespaces"]);
    let identity = lock().bundles[0].image.clone().expect("an image").identity;
    let in_image = |identity: ImageIdentity| BundleFiles { image: Some(identity), ..files.clone() };
    let of_image = entry(&config, &files, &bundle);
    let embedded = Locked::new(&config.bundles[0], &files, &bundle).expect("an entry");
    let mut changed = files.clone();
    changed.manifests.insert("more.yaml".to_owned(), Vec::new());
    let mut shown = String::new();
    for (entry, files, is_same) in [
        (of_image.clone(), in_image(identity.clone()), true),
        (
            of_image.clone(),
            in_image(ImageIdentity { digest: digest("9"), ..identity.clone() }),
            false,
        ),
        (of_image.clone(), in_image(ImageIdentity { size: 9, ..identity.clone() }), false),
        (
            of_image.clone(),
            in_image(ImageIdentity { config: (digest("9"), 3), ..identity.clone() }),
            false,
        ),
        (
            of_image.clone(),
            in_image(ImageIdentity { layers: Vec::new(), ..identity.clone() }),
            false,
        ),
        (Locked { csv: "other".to_owned(), ..of_image.clone() }, in_image(identity.clone()), false),
        (Locked { csv_version: "9.0.0".to_owned(), ..of_image }, in_image(identity.clone()), false),
        (embedded.clone(), files.clone(), true),
        (embedded.clone(), changed, false),
        (embedded, in_image(identity), false),
    ] {
        let text = rendered(|all| entry.check(&config.bundles[0], &files, &bundle, all));
        assert_eq!(text.is_empty(), is_same, "{text}");
        shown += &text;
    }
    insta::assert_snapshot!(shown);
}

#[test]
fn other_decisions_than_the_recorded_ones_are_errors() {
    let mut shown = String::new();
    let (all, own, single) =
        (&["AllNamespaces"][..], &["OwnNamespace"][..], &["SingleNamespace"][..]);
    for (keys, before, after, is_same) in [
        ("", ("widgets", all), ("widgets", all), true),
        ("", ("widgets", all), ("gadgets", all), false),
        ("package = \"gadgets\"\n", ("widgets", all), ("gadgets", all), true),
        ("", ("widgets", all), ("gadgets", own), false),
        ("", ("widgets", own), ("widgets", all), false),
        ("", ("widgets", all), ("widgets", own), false),
        ("", ("widgets", all), ("widgets", single), true),
        ("watch = \"own\"\n", ("widgets", all), ("widgets", own), true),
    ] {
        let config = config(&table("widgets", keys));
        let without = self::config(&table("widgets", ""));
        let [(files, old), (_, new)] =
            [before, after].map(|(package, modes)| widgets(package, modes));
        let lock = Lock { bundles: vec![entry(&without, &files, &old)] };
        let text = rendered(|all| lock.check_decisions(&config.bundles[0], &new, all));
        assert_eq!(text.is_empty(), is_same, "{keys} {before:?} {after:?}\n{text}");
        shown += &text;
    }
    insta::assert_snapshot!(shown);
}

#[test]
fn lock_files_that_cannot_be_used() {
    let mut shown = String::new();
    for text in ["version = 9\n", "version = 1\n<<<<<<< ours\n", "version = [\n", ""] {
        let fault = super::parse("bundles.lock".to_owned(), text.to_owned()).expect_err(text);
        let range = fault.place.span.as_ref().map(|span| span.range.clone());
        let hint = fault.hint.as_deref().unwrap_or_default();
        shown += &format!("{text:?} {range:?}\n{}\n{hint}\n\n", fault.message);
    }
    insta::assert_snapshot!(shown);
    assert_eq!(super::path_of(Path::new("a/bundles.toml")), Path::new("a/bundles.lock"));
}
