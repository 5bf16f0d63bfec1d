use super::*;
use crate::config::Config;
use crate::diag::{Diagnostics, SourceText, human};
use crate::ir::VersionRange;
use std::path::Path;
use std::sync::Arc;

fn api(text: &str) -> Api {
    let parts: Vec<&str> = text.split('/').collect();
    let own = |index: usize| parts[index].to_owned();
    Api { group: own(0), version: own(1), kind: own(2) }
}

/// `PACKAGE RANGE` or `GROUP/VERSION/KIND`.
fn requirement(text: &str) -> Requirement {
    match text.split_once(' ') {
        Some((name, range)) => Requirement::Package {
            name: name.to_owned(),
            range: VersionRange::parse(range).unwrap(),
            text: range.to_owned(),
        },
        None => Requirement::Api(api(text)),
    }
}

fn needs(requirement: Requirement) -> Dependency {
    let place = Place::file("metadata/dependencies.yaml").at(3, 5);
    Dependency { requirement, message: String::new(), place }
}

/// Three bundles: a lamp, which needs what is given, a socket and a plug.
fn found(config: &str, dependencies: Vec<Dependency>) -> Diagnostics {
    found_with(config, dependencies, false)
}

/// The same, where the lamp may need cert-manager.
fn found_with(config: &str, dependencies: Vec<Dependency>, cert_manager: bool) -> Diagnostics {
    let source = Arc::new(SourceText { name: "bundles.toml".to_owned(), text: config.to_owned() });
    let mut found = Diagnostics::new();
    let config = Config::parse(&source, Path::new("."), &mut found);
    let config = config.unwrap_or_else(|| panic!("{}", human::render(&found, false)));
    let mut members: Vec<Member<'_>> = Vec::new();
    for bundle in &config.bundles {
        let (version, provides): (&str, &[&str]) = match bundle.name.as_str() {
            "socket" => ("1.2.0", &["wire.example.com/v1/Socket", "wire.example.com/v1/Wire"]),
            "plug" => ("0.3.0", &["plug.example.com/v1beta1/Plug", "wire.example.com/v1/Wire"]),
            _ => ("1.0.0", &["light.example.com/v1/Lamp"]),
        };
        members.push(Member {
            config: bundle,
            package: format!("{}-operator", bundle.name),
            version: version.to_owned(),
            requirements: Requirements {
                provides: provides.iter().map(|text| api(text)).collect(),
                ..Requirements::default()
            },
            cert_manager: false,
            uses: Vec::new(),
            objects: Vec::new(),
        });
    }
    members[0].requirements.dependencies = dependencies;
    members[0].cert_manager = cert_manager;
    let mut found = Diagnostics::new();
    check(&members, &mut found);
    found
}

const ALL: &str = "[[bundle]]\nname = \"lamp\"\npath = \"a\"\n#lamp\n\n\
                   [[bundle]]\nname = \"socket\"\npath = \"b\"\n#socket\n\n\
                   [[bundle]]\nname = \"plug\"\npath = \"c\"\n";

fn shown(config: &str, requirements: &[&str]) -> String {
    let dependencies = requirements.iter().map(|text| needs(requirement(text))).collect();
    human::render(&found(config, dependencies), false)
}

/// Severities and codes only.
fn codes(config: &str, requirements: Vec<Requirement>) -> Vec<String> {
    let found = found(config, requirements.into_iter().map(needs).collect());
    found.iter().map(|d| format!("{} {}", d.severity.as_str(), d.code.as_str())).collect()
}

#[test]
fn what_is_met_and_ordered_is_fine() {
    let ordered = ALL.replace("#lamp", "depends-on = [\"socket\"]");
    let wanted = [
        "socket-operator >=1.0.0 <2.0.0",
        "wire.example.com/v1/Socket",
        "wire.example.com/v1/Wire",
        "light.example.com/v1/Lamp",
    ];
    assert_eq!(shown(&ordered, &wanted), "");
    // Also through another one.
    let through = ALL
        .replace("#lamp", "depends-on = [\"socket\"]")
        .replace("#socket", "depends-on = [\"plug\"]");
    assert_eq!(shown(&through, &["plug-operator 0.3.x"]), "");
    // Where the order is the other way round, nothing can be added.
    let round = ALL.replace("#socket", "depends-on = [\"lamp\"]");
    assert_eq!(shown(&round, &["wire.example.com/v1/Socket"]), "");
}

#[test]
fn what_is_met_but_not_ordered_is_noted_once() {
    let text = shown(
        ALL,
        &["socket-operator >=1.0.0", "wire.example.com/v1/Socket", "wire.example.com/v1/Wire"],
    );
    insta::assert_snapshot!(text);
}

#[test]
fn cert_manager_is_noted_unless_something_provides_it() {
    let shown = |config: &str| human::render(&found_with(config, Vec::new(), true), false);
    insta::assert_snapshot!(shown(ALL));
    for provided in ["cert-manager", "cert-manager.io/v1/Certificate"] {
        let config = ALL.replace("#lamp", &format!("provided = [{provided:?}]"));
        assert_eq!(shown(&config), "");
    }
}

#[test]
fn what_is_missing_is_an_error_that_says_what_to_add() {
    let text = shown(
        &ALL.replace("#lamp", "depends-on = [\"plug\"]\nprovided = [\"plug-operator\"]"),
        &[
            "cert-manager >=1.0.0",
            "cert-manager.io/v1/Issuer",
            "cert-manager.io/v1/Certificate",
            "socket-operator >=2.0.0",
            "plug.example.com/v1/Plug",
            "plug-operator >=9.0.0",
        ],
    );
    insta::assert_snapshot!(text);
    let catalog = ALL.replace("path = \"a\"", "catalog = \"./index\"\npackage = \"lamp-operator\"");
    let text = shown(&catalog, &["cert-manager >=1.0.0"]);
    assert!(text.contains("catalog = \"./index\""), "{text}");
    assert!(text.contains("package = \"cert-manager\""), "{text}");
}

#[test]
fn what_is_provided_is_met_and_what_nobody_needs_is_reported() {
    let provided = "[defaults]\nprovided = [\"cert-manager\", \"typo\"]\n\n".to_owned()
        + &ALL.replace("#lamp", "provided = [\"cert-manager.io/v1/Issuer\", \"/v1/Node\"]");
    let text = shown(&provided, &["cert-manager >=1.0.0", "cert-manager.io/v1/Issuer", "/v1/Node"]);
    insta::assert_snapshot!(text);
}

#[test]
fn constraints_are_evaluated_as_far_as_they_can_be() {
    use Requirement::{All, Any, Not, Unchecked};
    let have = || requirement("wire.example.com/v1/Socket");
    let lack = || requirement("wire.example.com/v2/Socket");
    let odd = || Unchecked("a rule".to_owned());
    let ordered = &ALL.replace("#lamp", "depends-on = [\"socket\"]");
    let error = ["error dependency-missing"];
    let note = ["note dependency-not-checked"];
    for (constraint, expected) in [
        (All(vec![have(), have()]), &[][..]),
        (All(vec![have(), lack(), odd()]), &error),
        (All(vec![have(), odd()]), &note),
        (Any(vec![lack(), have(), odd()]), &[]),
        (Any(vec![lack(), odd()]), &note),
        (Any(vec![lack(), lack()]), &error),
        (Any(vec![]), &error),
        (Not(vec![lack()]), &[]),
        (Not(vec![lack(), have()]), &error),
        (Not(vec![lack(), odd()]), &note),
        (odd(), &note),
    ] {
        assert_eq!(codes(ordered, vec![constraint.clone()]), expected, "{constraint}");
    }
    // The alternative that is already installed before is taken.
    let either = Any(vec![requirement("plug-operator 0.3.x"), have()]);
    assert!(codes(ordered, vec![either.clone()]).is_empty());
    assert_eq!(codes(ALL, vec![either]), ["note dependency-order"]);
}

#[test]
fn the_words_of_the_bundle_are_shown() {
    let both = Requirement::All(vec![
        requirement("wire.example.com/v2/Socket"),
        Requirement::Any(vec![requirement("cert-manager >=1.0.0")]),
    ]);
    let mut dependency = needs(both);
    dependency.message = "needs a\nsocket".to_owned();
    let not = needs(Requirement::Not(vec![requirement("plug-operator 0.3.x")]));
    let mut odd = needs(Requirement::Unchecked("a CEL rule".to_owned()));
    odd.message = "be shiny".to_owned();
    insta::assert_snapshot!(human::render(&found(ALL, vec![dependency, not, odd]), false));
}
