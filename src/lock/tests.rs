//! A lock with each kind of entry, and the descriptions of its changes.

use super::change::changes;
use super::{Decisions, Lock, Locked, LockedImage, format};
use crate::config::Watch;
use crate::source::{ImageIdentity, Signature, Signer};

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
    lines.map(|change| change.describe().as_str().to_owned()).collect()
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
    let text = change.describe();
    assert!(text.as_str().contains("a: 1.0.0 unchanged: verified signature recorded"), "{text:?}");
}
