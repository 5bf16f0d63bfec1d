use super::*;
use crate::pipeline::samples::config;
use semver::Version;

/// A situation: the key `version`, the path, the versions that its first step skips, and whether the
/// user wants to upgrade at once.
type Row = (&'static str, Option<&'static [&'static str]>, u64, bool);

/// A message and its hint.
type Told = (&'static str, Option<&'static str>);

#[test]
fn an_upgrade_stops_at_required_versions_or_names_them() {
    let release_notes = "install the required versions first, or read the operator's release notes";
    let widen = "widen `version` to a range with the required versions";
    let again = "install it, then run `bundle2chart lock --upgrade` again; or use `lock --upgrade \
        --latest`";
    let no_path = "read the operator's release notes before you install it: OLM would not upgrade";
    let many: &[&str] =
        &["1.1.0", "1.2.0", "1.3.0", "1.4.0", "1.5.0", "1.6.0", "1.7.0", "1.8.0", "1.9.0", "2.0.0"];
    let rows: &[(Row, Option<&str>, &[Told])] = &[
        // Installed, and one step.
        (("", Some(&[]), 0, false), None, &[]),
        (("", Some(&["2.0.0"]), 0, true), None, &[]),
        (
            ("", Some(&["2.0.0"]), 1, false),
            None,
            &[("the upgrade from 1.0.0 to 2.0.0 skips 0.0.1", None)],
        ),
        (
            ("", Some(&["1.5.0", "2.0.0"]), 0, false),
            Some("1.5.0"),
            &[("1.5.0 is required between 1.0.0 and 2.0.0: locked to it", Some(again))],
        ),
        (
            (">=1", Some(&["1.5.0", "2.0.0"]), 9, false),
            Some("1.5.0"),
            &[
                (
                    "the upgrade from 1.0.0 to 1.5.0 skips 0.0.1, 0.0.2, 0.0.3, 0.0.4, 0.0.5, 0.0.6, \
                        0.0.7, 0.0.8 and 1 more",
                    None,
                ),
                ("1.5.0 is required between 1.0.0 and 2.0.0: locked to it", Some(again)),
            ],
        ),
        (
            ("", Some(&["1.5.0", "2.0.0"]), 1, true),
            None,
            &[(
                "the upgrade from 1.0.0 to 2.0.0 leaves out the required 1.5.0",
                Some(release_notes),
            )],
        ),
        (
            (">=2", Some(&["1.5.0", "1.6.0", "2.0.0"]), 0, false),
            None,
            &[(
                "the upgrade from 1.0.0 to 2.0.0 leaves out the required 1.5.0 and 1.6.0",
                Some(widen),
            )],
        ),
        (
            ("2.0.0", Some(many), 0, false),
            None,
            &[(
                "the upgrade from 1.0.0 to 2.0.0 leaves out the required 1.1.0, 1.2.0, 1.3.0, 1.4.0, \
                    1.5.0, 1.6.0, 1.7.0, 1.8.0 and 1 more",
                Some(widen),
            )],
        ),
        (("2.0.0", Some(&["2.0.0"]), 0, false), None, &[]),
        (
            ("", None, 0, false),
            None,
            &[("no upgrade path from 1.0.0 to 2.0.0 in the channel `stable`", Some(no_path))],
        ),
    ];
    for ((version, path, skips, at_once), expected, messages) in rows {
        let mut text = "[[bundle]]\nname = \"a\"\ncatalog = \"./a\"\npackage = \"a\"\n".to_owned();
        if !version.is_empty() {
            text.push_str(&format!("version = \"{version}\"\n"));
        }
        let config = config(&text);
        let Source::Catalog(wanted) = &config.bundles[0].source else { panic!("no catalog") };
        let step = |version: &&str| Step {
            bundle: format!("a.v{version}"),
            version: version.parse().unwrap(),
            skips: (1..=*skips).map(|patch| Version::new(0, 0, patch)).collect(),
        };
        let upgrades = Upgrades {
            channel: "stable".to_owned(),
            selected: Version::new(2, 0, 0),
            head: None,
            newest: None,
            path: path.map(|path| path.iter().map(step).collect()),
            deprecations: Vec::new(),
        };
        let mut found = Diagnostics::new();
        let step = required_step(wanted, &upgrades, "1.0.0", *at_once, &mut found);
        let step = step.map(|step| step.version.to_string());
        let shown: Vec<(&str, Option<&str>)> =
            found.iter().map(|found| (found.message.as_str(), found.hint.as_deref())).collect();
        assert_eq!((step.as_deref(), shown.as_slice()), (*expected, *messages));
        assert!(found.iter().all(|found| found.place == catalog::place_of_version(wanted)));
    }
}
