use super::*;
use crate::tests::all_told;
use crate::{Bundle, load, sample};

/// A bundle with these metadata files, and these lines in the spec of its CSV.
fn bundle(metadata: &[(&str, &str)], spec: &str) -> (Option<Bundle>, Diagnostics) {
    let csv = format!(
        "apiVersion: operators.coreos.com/v1alpha1
kind: ClusterServiceVersion
metadata: {{name: lamp.v1.0.0, annotations: {{{}}}}}
spec:
  version: 1.0.0
{}",
        if spec.starts_with("annotation:") { spec.trim_start_matches("annotation:") } else { "" },
        if spec.starts_with("annotation:") { "" } else { spec },
    );
    let metadata = [metadata, &[sample::ANNOTATIONS]].concat();
    let files = sample::files(&[("csv.yaml", &csv)], &metadata);
    let mut found = Diagnostics::new();
    (load(&files, &mut found), found)
}

/// The requirements in words with their lines, or the errors.
fn shown(metadata: &[(&str, &str)], spec: &str) -> String {
    let (bundle, found) = bundle(metadata, spec);
    let line = |place: &Place| {
        let file = place.file.clone().unwrap_or_default();
        format!("{file}:{}", place.line.unwrap_or_default())
    };
    let lines: Vec<String> = match bundle {
        Some(bundle) => bundle
            .requirements
            .dependencies
            .iter()
            .map(|d| format!("{} {} {}", line(&d.place), d.requirement, d.message))
            .map(|line| line.trim_end().to_owned())
            .collect(),
        None => found.iter().map(|d| format!("{} {}", line(&d.place), d.message)).collect(),
    };
    lines.join("\n")
}

#[test]
fn dependencies_of_every_kind() {
    let dependencies = "dependencies:
- type: olm.package
  value: {packageName: cert-manager, version: '>1.0.0 <2.0.0 || 3.x'}
- type: olm.gvk
  value: {group: cert-manager.io, kind: Issuer, version: v1}
- type: olm.label
  value: {label: shiny}
- type: olm.constraint
  value:
    failureMessage: needs a switch
    any:
      constraints:
      - package: {packageName: switch, versionRange: '>=1.0.0'}
      - all:
          constraints:
          - gvk: {group: wire.example.com, kind: Wire, version: v1}
          - not: {constraints: [{gvk: {group: wire.example.com, kind: Short, version: v1}}]}
- type: olm.constraint
  value: {failureMessage: odd, cel: {rule: 'properties.exists(p, p.type == \"x\")'}}
- type: olm.gvk
  value: {group: cert-manager.io, kind: Issuer, version: v1}
- type: example.other
  value: 7
";
    let spec = "  customresourcedefinitions:
    required:
    - {name: certificates.cert-manager.io, kind: Certificate, version: v1}
    - {name: issuers.cert-manager.io, kind: Issuer, version: v1}
  apiservicedefinitions:
    required:
    - {group: metrics.k8s.io, kind: PodMetrics, version: v1beta1, name: podmetrics}
";
    insta::assert_snapshot!(shown(&[("dependencies.yaml", dependencies)], spec));
}

#[test]
fn properties_say_what_a_bundle_is_and_sometimes_what_it_needs() {
    let properties = "properties:
- type: olm.package
  value: {packageName: lamp, version: 1.0.0}
- type: olm.gvk
  value: {group: light.example.com, kind: Lamp, version: v1}
- type: olm.maxOpenShiftVersion
  value: '4.18'
- type: olm.package.required
  value: {packageName: bulb, versionRange: 1.2.x}
- type: olm.gvk.required
  value: {kind: Node, version: v1}
";
    // Known by its content.
    let files = [
        ("other.yaml", properties),
        ("notes.md", "a: [\n"),
        ("build.yaml", "dependencies: {go: 1.26}\nproperties: [{name: x}]\n"),
        (
            "make.yaml",
            "dependencies: [{name: go, value: 1}]\nproperties: [{type: olm.package.required}]\n",
        ),
    ];
    assert_eq!(
        shown(&files, ""),
        "metadata/other.yaml:8 the package `bulb` in version `1.2.x`\n\
         metadata/other.yaml:10 the API `/v1/Node`"
    );
    let maximum = |files: &[(&str, &str)], spec: &str| {
        bundle(files, spec).0.unwrap().requirements.max_openshift
    };
    assert_eq!(maximum(&files, "").as_deref(), Some("4.18"));
    for (written, message) in [
        ("4.20", "`olm.maxOpenShiftVersion` must be a string, but it is a number"),
        ("''", "`olm.maxOpenShiftVersion` is empty"),
    ] {
        let properties = properties.replace("'4.18'", written);
        let (bundle, found) = bundle(&[("properties.yaml", &properties)], "");
        assert_eq!(bundle.unwrap().requirements.max_openshift, None);
        let found: Vec<_> = found.iter().map(|found| (found.code, &*found.message)).collect();
        assert_eq!(found, [(Code::DependencyInvalid, message)]);
    }
    let annotation = "annotation:olm.properties: '[{\"type\": \"olm.maxOpenShiftVersion\", \
                      \"value\": \"4.20\"}, {\"type\": \"olm.package\", \"value\": {}}]'";
    assert_eq!(maximum(&[], annotation).as_deref(), Some("4.20"));
}

#[test]
fn what_a_bundle_provides_are_its_served_crds_and_services() {
    let crd = "apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: lamps.light.example.com}
spec:
  group: light.example.com
  names: {kind: Lamp, plural: lamps}
  versions: [{name: v1, served: true}, {name: v1alpha1, served: false}, {name: v2}]
";
    let csv = "apiVersion: operators.coreos.com/v1alpha1
kind: ClusterServiceVersion
metadata: {name: lamp.v1.0.0}
spec:
  version: 1.0.0
  apiservicedefinitions: {owned: [{group: g, kind: K, version: v1}]}
";
    let files = sample::files(&[("a", crd), ("b", csv)], &[sample::ANNOTATIONS]);
    let bundle = load(&files, &mut Diagnostics::new()).unwrap();
    let apis: Vec<String> = bundle.requirements.provides.iter().map(ToString::to_string).collect();
    assert_eq!(apis, ["g/v1/K", "light.example.com/v1/Lamp", "light.example.com/v2/Lamp"]);
}

#[test]
fn limits() {
    let many = |count: usize| {
        (0..count).fold("dependencies:\n".to_owned(), |text, n| {
            text + &format!("- {{type: olm.gvk, value: {{group: g, version: v1, kind: K{n}}}}}\n")
        })
    };
    let (loaded, _) = bundle(&[("dependencies.yaml", &many(1_000))], "");
    assert_eq!(loaded.unwrap().requirements.dependencies.len(), 1_000);
    // One of them twice is none more.
    let twice = many(1_000) + "- {type: olm.gvk, value: {group: g, version: v1, kind: K0}}\n";
    assert!(bundle(&[("dependencies.yaml", &twice)], "").0.is_some());
    assert_eq!(
        shown(&[("dependencies.yaml", &many(1_500))], ""),
        "metadata/dependencies.yaml:1002 the bundle has more than 1000 dependencies"
    );
    let nested = |levels: usize| {
        let dependencies = format!(
            "dependencies: [{{type: olm.constraint, value: {}{{cel: {{}}}}{}}}]",
            "{all: {constraints: [".repeat(levels),
            "]}}".repeat(levels)
        );
        shown(&[("dependencies.yaml", &dependencies)], "")
    };
    assert_eq!(
        nested(32),
        format!(
            "metadata/dependencies.yaml:1 {}a CEL rule on operator properties{}",
            "all of (".repeat(32),
            ")".repeat(32)
        )
    );
    assert_eq!(
        nested(33),
        "metadata/dependencies.yaml:1 `olm.constraint`: constraints are nested deeper than 32"
    );
    // All constraints of a bundle share the number of parts.
    let wide = |parts: usize, others: usize| {
        let part = "{cel: {}}, ".repeat(parts);
        let constraint = |parts: &str| {
            format!("{{type: olm.constraint, value: {{any: {{constraints: [{parts}]}}}}}}, ")
        };
        let list = constraint(&part) + &constraint("").repeat(others);
        bundle(&[("dependencies.yaml", &format!("dependencies: [{list}]"))], "").1
    };
    assert!(wide(999, 0).is_empty() && wide(899, 100).is_empty());
    for found in [wide(1_000, 0), wide(899, 101)] {
        let messages: Vec<&str> = found.iter().map(|found| found.message.as_str()).collect();
        assert_eq!(messages, ["`olm.constraint`: constraints have more than 1000 parts"]);
    }
}

#[test]
fn dependencies_of_every_document_have_their_line() {
    let text = "# generated\nversion: 1\n---\ndependencies:
- {type: olm.package, value: {packageName: switch, version: 1.x}}
- {type: olm.gvk, value: {group: wire.example.com, kind: '', version: v1}}
- {type: olm.gvk, value: {group: wire.example.com, kind: 7, version: v1}}
";
    assert_eq!(
        shown(&[("dependencies.yaml", text)], ""),
        "metadata/dependencies.yaml:6 `olm.gvk`: it has no `kind`\n\
         metadata/dependencies.yaml:7 `olm.gvk`: its `kind` must be a string, but is a number"
    );
    let (valid, _) = text.split_once("- {type: olm.gvk").unwrap();
    assert_eq!(
        shown(&[("dependencies.yaml", valid)], ""),
        "metadata/dependencies.yaml:5 the package `switch` in version `1.x`"
    );
}

#[test]
fn required_crds_have_a_name_a_kind_and_a_version() {
    let spec = "  customresourcedefinitions:
    required:
    - {name: wires.example.com, kind: Wire, version: v1}
    - {name: wires, kind: Wire, version: v1}
    - {name: wires.example.com, version: v1}
    - {name: wires.example.com, kind: Wire}
";
    assert_eq!(
        shown(&[], spec),
        "manifests/csv.yaml:9 the required CRD `wires` is missing name, kind or version\n\
         manifests/csv.yaml:10 the required CRD `wires.example.com` is missing name, kind or version\n\
         manifests/csv.yaml:11 the required CRD `wires.example.com` is missing name, kind or version"
    );
}

#[test]
fn texts_are_sorted() {
    let dependencies = "dependencies:
- {type: olm.package, value: {packageName: switch, version: '>=1.0.0'}}
- {type: olm.gvk, value: {group: example.com, kind: Wire, version: v1}}
- {type: olm.label, value: {label: shiny}}
";
    let (bundle, _) = bundle(&[("dependencies.yaml", dependencies)], "");
    assert_eq!(
        bundle.unwrap().requirements.texts(),
        ["an operator with the label `shiny`", "example.com/v1/Wire", "switch >=1.0.0"]
    );
}

/// Each entry of a bundle's dependencies that is wrong, with all that is said about it.
#[test]
fn faults_of_dependencies() {
    let mut shown = String::new();
    for entry in [
        "{value: {packageName: a, version: 1.0.0}}",
        "{type: 5}",
        "{type: olm.package}",
        "{type: olm.package, value: {version: 1.0.0}}",
        "{type: olm.package, value: {packageName: a}}",
        "{type: olm.package, value: {packageName: [a], version: 1.0.0}}",
        "{type: olm.package, value: {packageName: a, version: 1}}",
        r#"{type: olm.package, value: {packageName: a, version: "a\e"}}"#,
        "{type: olm.package.required, value: {packageName: a, versionRange: ''}}",
        "{type: olm.gvk, value: {group: g, kind: K}}",
        "{type: olm.gvk, value: {group: g, version: v1, kind: null}}",
        "{type: olm.gvk.required, value: {group: g, version: {}, kind: K}}",
        "{type: olm.constraint, value: {}}",
        "{type: olm.constraint, value: {gvk: {version: v1, kind: K}, cel: {}}}",
        "{type: olm.constraint, value: {package: {packageName: a}}}",
        "{type: olm.constraint, value: {gvk: {kind: K}}}",
        "{type: olm.constraint, value: {all: {}}}",
        "{type: olm.constraint, value: {any: {constraints: {}}}}",
        "{type: olm.constraint, value: {not: []}}",
        "{type: olm.constraint, value: {none: {constraints: [{not: {constraints: [{}]}}]}}}",
    ] {
        let (_, found) =
            bundle(&[("dependencies.yaml", &format!("dependencies:\n- {entry}\n"))], "");
        shown += &format!("{entry}:\n{}", all_told(&found));
    }
    insta::assert_snapshot!(shown);
}

/// Each file and part of a ClusterServiceVersion that requirements are read from.
#[test]
fn faults_of_the_sources_of_requirements() {
    let annotation = |json: &str| format!("annotation:olm.properties: '{json}'");
    let mut shown = String::new();
    for (file, text, spec) in [
        ("dependencies.yaml", "dependencies: {}", ""),
        ("dependencies.yaml", "dependencies: null", ""),
        ("dependencies.yaml", "dependencies: ]", ""),
        ("properties.yaml", "properties: a", ""),
        ("properties.yaml", "properties: [a: ]", ""),
        (
            "properties.yaml",
            "properties: [{type: olm.gvk, value: 5}, {type: olm.package, value: 5}]",
            "",
        ),
        ("properties.yaml", "properties: [{type: olm.maxOpenShiftVersion}]", ""),
        ("other.yaml", "dependencies: ]", ""),
        ("other.yaml", "dependencies: a", ""),
        ("other.yaml", "dependencies: [{type: olm.gvk}]", ""),
        ("other.yaml", "dependencies: [{value: {}}]", ""),
        ("other.yaml", "dependencies: [{type: olm.gvk, value: {}}, {name: x}]", ""),
        ("dependencies.yaml", "dependencies: [{value: {}}, {value: {}}]", ""),
        ("other.yaml", "dependencies: [{type: olm.gvk, value: {}}]", ""),
        ("a.md", "", &annotation("{\"type\": \"olm.gvk.required\"}")),
        ("a.md", "", &annotation("[{")),
        ("a.md", "", &annotation("null")),
        ("a.md", "", &annotation("[5, {\"value\": 5}, {\"type\": \"olm.gvk.required\"}]")),
        ("a.md", "", "  apiservicedefinitions: {required: [{group: g, version: v1}]}\n"),
        ("a.md", "", "  apiservicedefinitions: {required: [{version: v1, kind: K}, {kind: K}]}\n"),
        ("a.md", "", "  apiservicedefinitions: {owned: [{version: v1}]}\n"),
    ] {
        let (loaded, found) = bundle(&[(file, text)], spec);
        let texts = loaded.map(|bundle| bundle.requirements.texts());
        shown += &format!("{file} {text}{spec}: {texts:?}\n{}", all_told(&found));
    }
    insta::assert_snapshot!(shown);
}

/// The same requirement in other words.
#[test]
fn requirements_are_those_of_olm() {
    let texts = |entries: &[&str]| {
        let dependencies = format!("dependencies: [{}]", entries.join(", "));
        let (bundle, found) = bundle(&[("dependencies.yaml", &dependencies)], "");
        let bundle = bundle.unwrap_or_else(|| panic!("{found:?}"));
        let found = bundle.requirements.dependencies.iter();
        found.map(|found| found.requirement.to_string()).collect::<Vec<_>>()
    };
    for (entry, expected) in [
        (
            "{type: olm.package, value: {packageName: a, version: 1.x, versionRange: 2.x}}",
            "the package `a` in version `1.x`",
        ),
        (
            "{type: olm.package.required, value: {packageName: a, version: 1.x, versionRange: 2.x}}",
            "the package `a` in version `2.x`",
        ),
        ("{type: olm.gvk, value: {group: 5, version: v1, kind: K}}", "the API `/v1/K`"),
        ("{type: olm.gvk.required, value: {group: g, version: v1, kind: K}}", "the API `g/v1/K`"),
        ("{type: olm.label, value: {label: 5}}", "an operator with the label ``"),
        (
            "{type: olm.constraint, value: {package: {packageName: a, versionRange: 1.x}, all: null}}",
            "the package `a` in version `1.x`",
        ),
        ("{type: olm.constraint, value: {gvk: {version: v1, kind: K}}}", "the API `/v1/K`"),
        (
            "{type: olm.constraint, value: {none: {constraints: [{cel: {}}, {cel: {}}]}}}",
            "none of (a CEL rule on operator properties, a CEL rule on operator properties)",
        ),
        ("{type: olm.constraint, value: {not: {constraints: []}}}", "none of ()"),
    ] {
        // A second time, it is the same.
        assert_eq!(texts(&[entry, entry]), [expected], "{entry}");
    }
}
