use super::*;
use crate::pipeline::samples::{LAMP, config};

#[test]
fn the_version_that_was_built_is_compared_if_it_is_there() {
    let other = LAMP.replace("lamp", "other");
    let config = config(&format!("{LAMP}chart-version = \"1.0.0\"\n{other}"));
    let built = built_versions(Some(&config), &Lock::default());
    let expected = BTreeMap::from([("lamp".to_owned(), "1.0.0".to_owned())]);
    assert_eq!(built, expected);
    assert!(built_versions(None, &Lock::default()).is_empty());

    let versions = |versions: &[&str]| -> Vec<(String, String)> {
        versions.iter().map(|version| (String::new(), (*version).to_owned())).collect()
    };
    for (name, found, expected) in [
        ("lamp", &["1.0.0", "2.0.0"] as &[&str], "lamp@1.0.0"),
        ("lamp-crds", &["1.0.0", "2.0.0"], "lamp-crds@1.0.0"),
        ("lamp-operands", &["1.0.0"], "lamp-operands@1.0.0"),
        ("lamp", &["2.0.0"], "lamp"),
        ("lamp", &[], "lamp"),
        ("other", &["1.0.0"], "other"),
    ] {
        assert_eq!(operand(name, &versions(found), &built), expected);
    }
}
