use super::*;
use crate::pipeline::samples::{LAMP, config};

#[test]
fn unknown_names_are_errors_with_the_known_ones() {
    let config = config(&(LAMP.to_owned() + &LAMP.replace("lamp", "gadget")));
    let select = |name: &str| {
        let mut found = Diagnostics::new();
        let selected = select_bundles(&config, &[name.to_owned()], &mut found);
        let names: Option<Vec<&str>> =
            selected.map(|all| all.iter().map(|bundle| bundle.name.as_str()).collect());
        let found: Vec<Diagnostic> = found.iter().cloned().collect();
        (names, found)
    };
    assert_eq!(select("gadget"), (Some(vec!["gadget"]), Vec::new()));
    for (name, hint) in
        [("lamps", "did you mean `lamp`?"), ("other", "known bundles: `lamp`, `gadget`")]
    {
        let expected = Diagnostic::error(Code::UnknownBundle, format!("unknown bundle `{name}`"))
            .at(Place::file("bundles.toml"))
            .hint(hint);
        assert_eq!(select(name), (None, vec![expected]));
    }
}
