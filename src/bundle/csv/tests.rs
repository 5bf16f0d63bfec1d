use crate::diag::Diagnostics;
use crate::ir::{UpgradeEdges, Value};
use crate::{Bundle, load, sample};

/// Reads a bundle with this ClusterServiceVersion; returns the diagnostics as `LINE MESSAGE`.
fn bundle(csv: &str) -> (Option<Bundle>, Vec<String>) {
    let mut diagnostics = Diagnostics::new();
    let files = sample::files(&[("csv.yaml", csv)], &[sample::ANNOTATIONS]);
    let bundle = load(&files, &mut diagnostics);
    let line_of = |line: Option<usize>| line.unwrap_or_default();
    let found = diagnostics.iter().map(|d| format!("{} {}", line_of(d.place.line), d.message));
    (bundle, found.collect())
}

#[test]
fn upgrade_edges_are_those_of_the_csv() {
    let (bundle, found) = bundle(
        "apiVersion: operators.coreos.com/v1alpha1
kind: ClusterServiceVersion
metadata:
  name: widget-operator.v1.2.0
  annotations: {olm.skipRange: '>=1.0.0 <1.2.0'}
spec:
  version: 1.2.0
  replaces: widget-operator.v1.1.0
  skips: [widget-operator.v1.1.1, widget-operator.v1.1.2]
",
    );
    let edges = UpgradeEdges {
        replaces: "widget-operator.v1.1.0".to_owned(),
        skips: vec!["widget-operator.v1.1.1".to_owned(), "widget-operator.v1.1.2".to_owned()],
        skip_range: ">=1.0.0 <1.2.0".to_owned(),
    };
    assert_eq!(bundle.expect("a bundle").edges, edges, "{found:?}");
}

#[test]
fn annotations_are_strings_or_null() {
    let (bundle, found) = bundle(
        "apiVersion: operators.coreos.com/v1alpha1
kind: ClusterServiceVersion
metadata:
  name: widget-operator.v1.0.0
  annotations:
    capabilities: Basic Install
    support: null
    certified: true
    example.com/tested: 1.25
spec: {version: 1.0.0}
",
    );
    assert!(bundle.is_none());
    assert_eq!(
        found,
        [
            "8 `.metadata.annotations.certified` must be a string, but it is a boolean",
            "9 `.metadata.annotations[\"example.com/tested\"]` must be a string, but it is a number with a fraction",
        ]
    );
}

/// Returns the target port of a webhook on port 8443 with this field, or the errors.
fn target_port(field: &str) -> Result<Value, Vec<String>> {
    let (bundle, found) = bundle(&format!(
        "apiVersion: operators.coreos.com/v1alpha1
kind: ClusterServiceVersion
metadata: {{name: widget-operator.v1.0.0}}
spec:
  version: 1.0.0
  webhookdefinitions:
  - type: ValidatingAdmissionWebhook
    generateName: widgets.example.com
    containerPort: 8443
    {field}
"
    ));
    bundle.map(|bundle| bundle.csv.webhooks[0].target_port.clone()).ok_or(found)
}

#[test]
fn target_ports_default_to_the_port_of_the_service() {
    for field in ["", "targetPort: null", "targetPort: 0", "targetPort: ''"] {
        assert_eq!(target_port(field), Ok(Value::from(8443)), "{field}");
    }
    for port in [1, 9443, 65_535] {
        assert_eq!(target_port(&format!("targetPort: {port}")), Ok(Value::from(port)));
    }
    assert_eq!(target_port("targetPort: webhook"), Ok(Value::text("webhook")));

    let path = ".spec.webhookdefinitions[0].targetPort";
    for (field, message) in [
        ("targetPort: -1", "is -1, but ports are from 1 to 65535"),
        ("targetPort: 65536", "is 65536, but ports are from 1 to 65535"),
        ("targetPort: []", "must be an integer or a string, but it is a list"),
    ] {
        assert_eq!(target_port(field), Err(vec![format!("10 `{path}` {message}")]), "{field}");
    }
}
