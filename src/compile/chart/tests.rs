//! Charts of a bundle and of manifests, file by file.

use super::*;
use crate::bundle::{load, overlays, sample};
use crate::config::{Config, Overlay, OverlaySource};
use crate::diag::{Diagnostics, SourceText, human};
use crate::olm;
use crate::passes::{self, Context};
use crate::source::{ImageIdentity, OverlayFile};
use std::fmt::Write as _;
use std::path::Path;
use std::sync::Arc;

const CSV: &str = r#"
apiVersion: operators.coreos.com/v1alpha1
kind: ClusterServiceVersion
metadata:
  name: widget-operator.v1.2.3
  annotations:
    capabilities: Deep Insights
    license: Apache-2.0
    olm.skipRange: '>=1.0.0 <1.2.3'
    olm.properties: '[{"type": "olm.maxOpenShiftVersion", "value": "4.18"}]'
    repository: https://git.example.com/widgets
    operatorframework.io/suggested-namespace: widget-system
    operators.operatorframework.io/internal-objects: '["inners.example.com"]'
    alm-examples: |
      [{"apiVersion": "example.com/v1", "kind": "Inner", "metadata": {"name": "inner"}},
       {"apiVersion": "example.com/v1", "kind": "Other", "metadata": {"name": "other"}},
       {"apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"name": "example"}, "spec": {"size": 1}, "status": {}},
       {"apiVersion": "operator.example.com/v1", "kind": "Installation", "metadata": {"name": "cluster", "namespace": "widget-system"}}]
spec:
  displayName: Widget Operator
  version: 1.2.3
  minKubeVersion: v1.30.1
  maturity: deprecated
  replaces: widget-operator.v1.2.2
  keywords: [widgets, gadgets]
  provider: {name: Widgets, url: 'https://widgets.example.com'}
  icon: [{base64data: "PHN2\nZz4=", mediatype: image/svg+xml}]
  links:
  - {name: Documentation, url: 'https://docs.example.com'}
  - {name: Nothing}
  - {name: '', url: 'https://empty.example.com'}
  installModes: [{type: AllNamespaces, supported: true}, {type: OwnNamespace, supported: true}]
  customresourcedefinitions:
    owned:
    - {name: widgets.example.com, kind: Widget, version: v1, displayName: Widget, description: A widget}
    - {name: inners.example.com, kind: Inner, version: v1}
    - {name: installations.operator.example.com, kind: Installation, version: v1}
    - {name: incomplete.example.com, kind: Incomplete}
  webhookdefinitions:
  - type: ValidatingAdmissionWebhook
    generateName: check.example.com
    deploymentName: widget-operator
    admissionReviewVersions: [v1]
    sideEffects: None
  install:
    strategy: deployment
    spec:
      clusterPermissions:
      - serviceAccountName: widget-operator
        rules: [{apiGroups: [''], resources: [secrets], verbs: [get]}]
      deployments:
      - name: widget-operator
        spec:
          selector: {matchLabels: {app: widget-operator}}
          template:
            metadata: {labels: {app: widget-operator}}
            spec:
              serviceAccountName: widget-operator
              containers: [{name: manager, image: 'example.com/widget-operator:1.2.3'}]
"#;

const METADATA: [(&str, &str); 2] = [
    (
        "annotations.yaml",
        "annotations:
  operators.operatorframework.io.bundle.package.v1: widgets
  operators.operatorframework.io.bundle.channels.v1: stable,candidate
",
    ),
    (
        "dependencies.yaml",
        "dependencies:
- {type: olm.package, value: {packageName: gadgets, version: '>=1.0.0'}}
- {type: olm.gvk, value: {group: example.org, kind: Gadget, version: v1}}
",
    ),
];

/// Returns the ClusterServiceVersion with a conversion webhook, whose CRD needs the release.
fn with_conversion() -> String {
    let webhook = "  - type: ConversionWebhook
    generateName: convert.example.com
    deploymentName: widget-operator
    admissionReviewVersions: [v1]
    sideEffects: None
    conversionCRDs: [inners.example.com]
  install:";
    let csv = CSV.replacen(", {type: OwnNamespace, supported: true}", "", 1);
    csv.replacen("  install:", webhook, 1)
}

/// The definition of a kind of the bundle.
fn definition(plural: &str, group: &str, kind: &str) -> String {
    format!(
        "apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {{name: {plural}.{group}}}
spec:
  group: {group}
  names: {{kind: {kind}, plural: {plural}}}
  scope: Namespaced
  preserveUnknownFields: false
  versions:
  - {{name: v1, served: true, storage: true, schema: {{openAPIV3Schema: {{type: object, x-kubernetes-preserve-unknown-fields: true}}}}}}
"
    )
}

const MORE: &str = "
{apiVersion: v1, kind: ConfigMap, metadata: {name: kept, annotations: {helm.sh/resource-policy: keep}}}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: widget-edit}
aggregationRule: {clusterRoleSelectors: [{matchLabels: {a: b}}]}
rules: []
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: widget-admin}
aggregationRule: {clusterRoleSelectors: [{matchLabels: {a: b}}]}
rules: []
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: widget-viewer}
rules: []
---
{apiVersion: v1, kind: ConfigMap, metadata: {name: widgets.example.com}}
---
apiVersion: monitoring.coreos.com/v1
kind: ServiceMonitor
metadata: {name: widgets}
";

/// Overlays with everything that comes after the operator.
const OPERANDS: &str = r#"
depends-on = ["other"]
certificates = "existing-secret"
maintainers = [{ name = "team" }]
stub-crds = ["servicemonitors.monitoring.coreos.com", "infrastructures.config.openshift.io"]
namespaces = { widgets = "widget-jobs", gadgets = "gadget-jobs" }
ready = [
  { rollout = "deployment/widget-operator" },
  { condition = "Ready", object = "example.com/v1/Widget/first", phase = "operand" },
  { condition = "Big", object = "example.com/v1/Widget/first", phase = "operand" },
  { jsonpath = ".status.state", value = "on", object = "example.com/v1/Widget/elsewhere", namespace = "far", phase = "operand" },
]
[[bundle.overlay]]
phase = "before"
inline = '{apiVersion: batch/v1, kind: Job, metadata: {name: setup}, spec: {template: {spec: {restartPolicy: Never, containers: [{name: a, image: "example.com/setup:1"}]}}}}'
[[bundle.overlay]]
inline = '''
{apiVersion: v1, kind: Namespace, metadata: {name: widget-extras}}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: gadgets, namespace: gadget-jobs}
spec:
  selector: {matchLabels: {app: gadgets}}
  template:
    metadata: {labels: {app: gadgets}}
    spec: {containers: [{name: gadgets, image: 'example.com/gadgets:1'}]}
'''
[[bundle.overlay]]
phase = "operand"
inline = '''
{apiVersion: example.com/v1, kind: Widget, metadata: {name: first, namespace: widget-jobs}, spec: {size: 1}}
---
{apiVersion: example.com/v1, kind: Widget, metadata: {name: elsewhere}}
---
{apiVersion: v1, kind: ConfigMap, metadata: {name: settings}}
---
{apiVersion: snapshot.storage.k8s.io/v1, kind: VolumeSnapshot, metadata: {name: a}}
'''
[[bundle.overlay]]
phase = "operand"
switch = "large"
inline = '{apiVersion: example.com/v1, kind: Widget, metadata: {name: first, namespace: widget-jobs}, spec: {size: 2}}'
[[bundle.overlay]]
phase = "operand"
switch = "watched"
inline = '{apiVersion: monitoring.coreos.com/v1, kind: PrometheusRule, metadata: {name: widgets}}'
[[bundle.switch]]
name = "watched"
[[bundle.switch]]
name = "large"
ready = [{ condition = "Ready", object = "example.com/v1/Widget/first" }]
[[bundle.after]]
object = "example.com/v1/Widget/last"
labels = { a = "b" }
phase = "operand"
[[bundle.after]]
object = "v1/ConfigMap/created"
annotations = { a = "b" }
reset = "once"
"#;

/// A chart `other`, which bundles may depend on.
const OTHER: &str =
    "[[chart]]\nname = \"other\"\nchart-version = \"2.0.0+a.1\"\nmanifests = [\"other\"]\n";

fn config(text: &str) -> Vec<BundleConfig> {
    let text = format!("{text}\n{OTHER}");
    let source = Arc::new(SourceText { name: "bundles.toml".to_owned(), text });
    let mut found = Diagnostics::new();
    let config = Config::parse(&source, Path::new("."), &mut found);
    config.unwrap_or_else(|| panic!("{}", human::render(&found, false))).bundles
}

/// Returns the charts of the bundle, with these keys in its table.
fn of_bundle(keys: &str, csv: &str) -> Vec<Chart> {
    let config = config(&format!("[[bundle]]\nname = \"widgets\"\npath = \"widgets\"\n{keys}"));
    let config = &config[0];
    let crds = [
        definition("widgets", "example.com", "Widget"),
        definition("inners", "example.com", "Inner"),
        definition("installations", "operator.example.com", "Installation"),
        definition("incomplete", "example.com", "Incomplete"),
    ];
    let crds = crds.join("---\n");
    let manifests = [("csv.yaml", csv), ("crds.yaml", &crds), ("more.yaml", MORE)];
    let mut files = sample::files(&manifests, &METADATA);
    let overlay_file = |(number, overlay): (usize, &Overlay)| {
        let OverlaySource::Text(text) = &overlay.source else { panic!("a text") };
        OverlayFile {
            name: format!("overlay {number}"),
            content: text.clone().into(),
            phase: overlay.phase,
            switch: overlay.switch.as_ref().map(|name| name.text.clone()),
            inline: None,
            span: overlay.span.clone(),
        }
    };
    files.overlays = config.overlays.iter().enumerate().map(overlay_file).collect();
    let mut found = Diagnostics::new();
    let mut bundle = load(&files, &mut found).unwrap_or_else(|| panic!("{found:?}"));
    bundle.image = Some(ImageIdentity {
        digest: "sha256:00".to_owned(),
        size: 1,
        index: None,
        platform: None,
        config: (String::new(), 1),
        layers: Vec::new(),
        signature: None,
    });
    let mut unit = olm::lower(&mut bundle, config, "widget-system", &mut found);
    unit.append(overlay::stubs(&config.stub_crds));
    unit.objects.extend(overlays(&files, &mut found));
    unit.values.extend(overlay::switches(&config.switches, &mut unit.objects));
    unit.append(overlay::operands(&config.operands));
    let namespaces = vec!["widget-system".to_owned()];
    unit.append(overlay::hook_jobs(config, &namespaces, &unit.objects, &mut found));
    let crds = config.settings.crds.unwrap_or_default();
    let context = Context {
        crd_version: "1.2.3".to_owned(),
        crds,
        ..Context::of(config, "1.2.3".to_owned(), namespaces)
    };
    passes::run(&mut unit, &context, &mut found);
    assert!(!found.has_errors(), "{}", human::render(&found, false));
    let description = Description {
        bundle: Some(&bundle),
        config,
        version: &"1.2.3".parse().unwrap(),
        namespace: "widget-system",
        watch: config.watch(),
        origin: "widgets",
        images: &["example.com/widget-operator:1.2.3".to_owned()],
        layout: Layout::Versioned,
        crds,
        warnings: &["a warning".to_owned()],
        additions: &Additions {
            readme: "\n\nMore to read.".to_owned(),
            notes: "\n\nMore to note.".to_owned(),
        },
    };
    charts(unit, &description)
}

fn text(chart: &Chart, path: &str) -> String {
    String::from_utf8(chart.files[path].clone()).unwrap()
}

/// Returns the facts and the files of charts.
fn shown(charts: &[Chart]) -> String {
    let mut shown = String::new();
    for chart in charts {
        writeln!(shown, "######## {} {}\n{:#?}", chart.name, chart.version, chart.install).unwrap();
        for path in chart.files.keys() {
            writeln!(shown, "==> {path}\n{}", text(chart, path)).unwrap();
        }
    }
    shown
}

#[test]
fn charts_of_a_bundle() {
    insta::assert_snapshot!(shown(&of_bundle(OPERANDS, &with_conversion())));
}

/// Objects that are those of cert-manager, or not, and name a Secret.
const CERTIFICATES: &str = "
{apiVersion: cert-manager.io/v1, kind: Certificate, metadata: {name: a}, spec: {secretName: a}}
---
{apiVersion: cert-manager.io/v1, kind: Other, metadata: {name: a}, spec: {secretName: b}}
---
{apiVersion: other.example.org/v1, kind: Certificate, metadata: {name: a}, spec: {secretName: c}}
";

/// The documents of each placement, and how those of others differ from the first.
#[test]
fn placements_of_crds() {
    let mut first: BTreeMap<(String, String), String> = BTreeMap::new();
    let mut seen = String::new();
    for keys in [
        &format!(
            "crds = \"templates\"\nwatch = \"own\"\n[[bundle.overlay]]\ninline = '''{CERTIFICATES}'''"
        ),
        "crds = \"templates\"\nwatch = [\"a\", \"b\"]",
        "crds = \"separate\"\nwatch = \"own\"\npull-secret = \"pull\"\nstrip-descriptions = true",
        "crds = \"subchart\"",
        "crds = \"crds\"",
        "crds = \"separate\"\nstub-crds = [\"infrastructures.config.openshift.io\"]",
        "crds = \"crds\"\nwatch = \"all\"",
    ] {
        writeln!(seen, "######## {keys}").unwrap();
        let csv = match keys.split_once("watch = ") {
            None => with_conversion(),
            Some((_, watch)) if watch.starts_with('[') => CSV.replace("OwnN", "MultiN"),
            Some(_) => CSV.to_owned(),
        };
        for chart in of_bundle(keys, &csv) {
            let Chart { name, install, .. } = &chart;
            writeln!(seen, "#### {name} {:?} {:?}", install.part, install.crds_folder).unwrap();
            for path in chart.files.keys() {
                writeln!(seen, "==> {path}").unwrap();
                let is_document = path.contains("README") || path.contains("NOTES");
                if is_document
                    || ["Chart.yaml", "Chart.lock", "values.yaml"].contains(&path.as_str())
                {
                    let text = text(&chart, path);
                    let known = first.entry((name.clone(), path.clone())).or_default();
                    seen += &changed_lines(known, &text);
                    if known.is_empty() {
                        known.push_str(&text);
                    }
                }
            }
        }
    }
    insta::assert_snapshot!(seen);
}

#[test]
fn charts_of_manifests() {
    let config = config(
        "[[chart]]\nname = \"widgets\"\nchart-version = \"1.2.3\"\nmanifests = [\"widgets\"]\n\
         [[chart.overlay]]\nphase = \"operand\"\ninline = 'kind: Widget'\n",
    );
    let objects = "
{apiVersion: v1, kind: Namespace, metadata: {name: b}}
---
{apiVersion: v1, kind: Namespace, metadata: {name: a}}
---
{apiVersion: v1, kind: ConfigMap, metadata: {name: settings}}
---
{apiVersion: batch/v1, kind: Job, metadata: {name: once}}
---
";
    let mut unit = passes::sample::overlay(&format!(
        "{objects}{}---\n{{apiVersion: example.com/v1, kind: Widget, metadata: {{name: a}}}}",
        definition("widgets", "example.com", "Widget")
    ));
    unit.objects.last_mut().unwrap().phase = Phase::Operand;
    let description = Description {
        bundle: None,
        config: &config[0],
        version: &"1.2.3".parse().unwrap(),
        namespace: "widget-system",
        watch: None,
        origin: "widgets",
        images: &[],
        layout: Layout::Flat,
        crds: CrdPlacement::Separate,
        warnings: &[],
        additions: &Additions::default(),
    };
    insta::assert_snapshot!(shown(&charts(unit, &description)));

    // There is always a chart of this name, and nothing is said about CRDs that it does not have.
    let widget = "{apiVersion: example.com/v1, kind: Widget, metadata: {name: a}}";
    let mut unit = passes::sample::overlay(widget);
    unit.objects[0].phase = Phase::Operand;
    let charts = charts(unit, &description);
    let names: Vec<&str> = charts.iter().map(|chart| chart.name.as_str()).collect();
    assert_eq!(names, ["widgets", "widgets-operands"]);
    assert!(!text(&charts[0], "README.md").contains("CustomResourceDefinition"));
}

#[test]
fn certificates_are_for_servers() {
    let (start, rest) = CSV.split_once("  webhookdefinitions:\n").unwrap();
    let (webhook, end) = rest.split_at(rest.find("  install:\n").unwrap());
    let second = "      - name: second
        spec:
          selector: {matchLabels: {app: second}}
          template:
            metadata: {labels: {app: second}}
            spec: {containers: [{name: a, image: 'example.com/second:1'}]}
";
    let service = "  apiservicedefinitions:
    owned:
    - {group: api.example.com, version: v1, kind: Gadget, name: gadgets, deploymentName: second}
";
    let servers = |definitions: &str| {
        let csv = format!("{start}{definitions}{end}{second}");
        let readme = text(&of_bundle("", &csv).remove(0), "README.md");
        let section = readme.split_once("The API server calls this operator (");
        section.map(|(_, rest)| rest.split_once(')').unwrap().0.to_owned())
    };
    let webhook = format!("  webhookdefinitions:\n{webhook}");
    assert_eq!(servers(""), None);
    assert_eq!(servers(&webhook).unwrap(), "`widget-operator`");
    assert_eq!(servers(service).unwrap(), "`second`");
    assert_eq!(servers(&format!("{webhook}{service}")).unwrap(), "`second`, `widget-operator`");
}

/// Returns the operator's Chart.yaml.
fn metadata_of(keys: &str, csv: &str) -> String {
    text(&of_bundle(keys, csv).pop().unwrap(), "Chart.yaml")
}

/// Returns the lines that are in one of the texts only.
fn changed_lines(before: &str, after: &str) -> String {
    let differ = |one: &str, other: &str, mark: &str| -> String {
        let lines = one.lines().filter(|line| !other.lines().any(|known| known == *line));
        lines.map(|line| format!("{mark}{line}\n")).collect()
    };
    differ(before, after, "-") + &differ(after, before, "+")
}

#[test]
fn metadata_has_what_is_valid() {
    let long = |length: usize| "A".repeat(length);
    let icon = "PHN2\\nZz4=";
    let plain = metadata_of("", CSV);
    let (fits, does_not) = (long(4096), long(4097));
    let mut seen = String::new();
    for (from, to) in [
        (icon, fits.as_str()),
        (icon, &does_not),
        (icon, "A_B"),
        (icon, ""),
        ("image/svg+xml", "text/html"),
        ("image/svg+xml", "image/svg xml"),
        ("image/svg+xml", "text/image/svg"),
        ("mediatype:", "type:"),
        ("base64data:", "data:"),
        ("icon: [", "icon: [{base64data: AAAA, mediatype: image/png}, "),
        ("https://widgets.example.com", "http://widgets.example.com"),
        ("https://git.example.com", "javascript:a"),
        ("https://git.example.com", "javascript:https://a"),
        ("  displayName: Widget Operator\n", ""),
        ("displayName: Widget Operator", "displayName: ' '"),
        ("v1.30.1", "'1.29'"),
        ("v1.30.1", "1.29.0-rc.1"),
        ("maturity: deprecated", "maturity: stable"),
        ("{name: Widgets,", "{name: '',"),
        ("keywords: [widgets, gadgets]", "keywords: []"),
        ("Deep Insights", "deep"),
        ("license: Apache-2.0", "a: b"),
        ("replaces: widget-operator.v1.2.2", "skips: [a, b]"),
        (", {type: OwnNamespace, supported: true}", ""),
    ] {
        assert!(CSV.contains(from), "{from}");
        let changed = changed_lines(&plain, &metadata_of("", &CSV.replacen(from, to, 1)));
        let short = |text: &str| text.replace(&fits[..4000], "…");
        writeln!(seen, "==> {}\n{}", short(to), short(&changed)).unwrap();
    }
    for keys in [
        "strip-descriptions = true",
        "maintainers = [{ name = \"team\", email = \"a@example.com\" }]",
        "watch = \"own\"",
    ] {
        writeln!(seen, "==> {keys}\n{}", changed_lines(&plain, &metadata_of(keys, CSV))).unwrap();
    }
    insta::assert_snapshot!(seen);
    let blank = CSV.replacen("displayName: Widget Operator", "displayName: ' '", 1);
    let readme = text(&of_bundle("", &blank).pop().unwrap(), "README.md");
    assert_eq!(readme.lines().find(|line| line.starts_with("# ")), Some("# widgets"));
    for level in ["Basic Install", "Seamless Upgrades", "Full Lifecycle", "Auto Pilot"] {
        assert!(metadata_of("", &CSV.replacen("Deep Insights", level, 1)).contains(level));
    }
}

/// Examples are left out of a release that may not fit, and stay in one that does.
#[test]
fn large_releases_have_no_examples() {
    let noise = |letters: usize| {
        let mut state = 1_u64;
        let mut letter = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            char::from(
                b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_"
                    [(state >> 58) as usize],
            )
        };
        (0..letters).map(|_| letter()).collect::<String>()
    };
    let large = |letters: usize| {
        let example = format!("\"size\": \"{}\"", noise(letters));
        of_bundle("", &CSV.replacen("\"size\": 1", &example, 1)).remove(0)
    };
    // One without any examples.
    let csv = CSV.replacen("description: A widget", &format!("description: {}", noise(900_000)), 1);
    let chart = of_bundle("", &csv.replacen("alm-examples", "example", 1)).remove(0);
    assert!(!chart.is_without_examples && chart.release_bytes >= RELEASE_WARN);
    for (letters, is_without) in [(1_000, false), (900_000, true)] {
        let chart = large(letters);
        assert_eq!(chart.is_without_examples, is_without);
        assert_eq!(text(&chart, "Chart.yaml").contains(CRDS_EXAMPLES), !is_without);
        assert!(chart.release_bytes < RELEASE_LIMIT);
    }
}

#[test]
fn the_first_resource_is_one_for_users() {
    let first = |csv: &str, crds: &[Object]| {
        let files = sample::files(&[("csv.yaml", csv)], &[sample::ANNOTATIONS]);
        let bundle = load(&files, &mut Diagnostics::new()).unwrap();
        FirstResource::of(&bundle.csv, crds)
    };
    let operator = first(CSV, &[]).unwrap();
    assert_eq!((operator.kind.as_str(), operator.article()), ("Installation", "an"));
    assert_eq!(operator.command("n", "f.yaml"), "kubectl create -f f.yaml");

    // Without one that configures the operator, the first that it owns and that is not internal.
    let csv = CSV.replace("\"operator.example.com/v1\"", "\"operator.example.org/v1\"");
    let widget = first(&csv, &[]).unwrap();
    assert_eq!((widget.kind.as_str(), widget.article()), ("Widget", "a"));
    assert_eq!(widget.command("n", "f.yaml"), "kubectl create --namespace n -f f.yaml");
    let expected =
        "apiVersion: example.com/v1\nkind: Widget\nmetadata:\n  name: example\nspec:\n  size: 1\n";
    assert_eq!((widget.yaml.as_str(), widget.faults.len()), (expected, 0));
    let external = csv.replace("[\"inners.example.com\"]", "[]");
    assert_eq!(first(&external, &[]).unwrap().kind, "Inner");
    assert_eq!(
        first(&external.replace("\"kind\": \"Inner\"", "\"kind\": \"Widget\""), &[]).unwrap().kind,
        "Widget"
    );
    let initial = |kind: &str| {
        let resource = format!(
            "operatorframework.io/initialization-resource: '{{\"apiVersion\": \"example.com/v1\", \"kind\": \"{kind}\", \"metadata\": {{\"name\": \"{kind}\"}}}}'"
        );
        first(&CSV.replace("license: Apache-2.0", &resource), &[]).unwrap().kind
    };
    assert_eq!((initial("Widget").as_str(), initial("Other").as_str()), ("Widget", "Installation"));

    // By the CRD: a fault is reported, and shown without control characters.
    let strict = definition("widgets", "example.com", "Widget").replace(
        "{type: object, x-kubernetes-preserve-unknown-fields: true}",
        "{type: object, properties: {spec: {type: object, properties: {size: {type: string}}}}}",
    );
    let strict = passes::sample::bundle(&strict).objects;
    assert_eq!(first(&csv, &strict).unwrap().faults.len(), 1);
    let hidden = csv.replace("\"size\": 1", "\"size\": \"\\u001b[1m\"");
    let hidden = first(&hidden, &[]).unwrap();
    assert!(!hidden.yaml.contains('\u{1b}') && !hidden.is_long(), "{}", hidden.yaml);

    let of_size = |bytes: usize| {
        let size = format!("\"size\": \"{}\"", "a".repeat(bytes - expected.len() + 1));
        first(&csv.replace("\"size\": 1", &size), &[]).unwrap()
    };
    assert_eq!(of_size(5_000).yaml.len(), 5_000);
    let facts = |bytes| (of_size(bytes).is_short(), of_size(bytes).is_long());
    assert_eq!((facts(5_000), facts(5_001)), ((true, false), (false, false)));
    assert_eq!((facts(20_000), facts(20_001)), ((false, false), (false, true)));
}

/// Names of files from the names of objects.
#[test]
fn names_of_template_files() {
    let long = "l".repeat(87);
    let names = |objects: &str| {
        let unit = passes::sample::bundle(objects);
        manifest::templates(unit.objects.iter()).into_keys().collect::<Vec<_>>()
    };
    let map = |name: &str| format!("{{apiVersion: v1, kind: ConfigMap, metadata: {name}}}\n");
    for (metadata, file) in [
        ("{name: a}", "configmap-a"),
        ("{name: a, namespace: b}", "configmap-a.b"),
        ("{name: 'system:a_b.c-D'}", "configmap-system-a-b.c-D"),
        ("{name: a-}", "configmap-a"),
        (&format!("{{name: {long}}}"), &format!("configmap-{}", &long[..80])),
    ] {
        assert_eq!(names(&map(metadata)), [format!("templates/{file}.yaml")]);
    }
    // Files that differ in case only are one file for some systems; any order gives the same names.
    let two = [map("{name: 'a:b'}"), map("{name: A-b}"), map("{name: 'a:B'}")];
    let expected = [
        "templates/configmap-A-b.yaml",
        "templates/configmap-a-B-2.yaml",
        "templates/configmap-a-b-3.yaml",
    ];
    assert_eq!(names(&two.join("---\n")), expected);
    let [a, b, c] = two;
    assert_eq!(names(&[c, b, a].join("---\n")), expected);

    let added = |kind: &str, name: &str| {
        let manifest = format!("{{apiVersion: v1, kind: {kind}, metadata: {name}}}");
        let object = passes::sample::bundle(&manifest).objects.remove(0);
        let object = Object { origin: Origin::Added("a-reason"), ..object };
        manifest::templates([&object].into_iter()).into_keys().next().unwrap()
    };
    assert_eq!(added("Role", "{}"), "templates/role-a-reason.yaml");
    assert_eq!(added("Role", "{name: own}"), "templates/role-own.yaml");
    assert_eq!(added("Namespace", "{}"), "templates/namespace.yaml");
}

#[test]
fn locks_of_dependencies() {
    let version: semver::Version = "1.2.3".parse().unwrap();
    let [always, conditional] = [false, true].map(|conditional| chart_lock(&version, conditional));
    insta::assert_snapshot!(format!("{always}{conditional}"));
    for lock in [&always, &conditional] {
        assert!(is_written_by_helm(lock));
        assert!(is_written_by_helm(&lock.replace("1970", "2026")));
        for (from, to) in [
            ("1.2.3", "1.2.4"),
            ("1.2.3", "1.2"),
            ("sha256:", "sha256:0"),
            ("crds", "other"),
            ("digest", "more: 1\ndigest"),
            ("digest", "more: \"generated: 1\"\ndigest"),
        ] {
            assert!(!is_written_by_helm(&lock.replacen(from, to, 1)), "{from}");
        }
    }
}

/// Charts are rendered here if they are as they were written, and otherwise left to Helm.
#[test]
fn only_written_charts_are_rendered() {
    let values = serde_json::json!({});
    let of = |keys: &str, part: Part| {
        let charts = of_bundle(keys, &with_conversion()).into_iter();
        charts.clone().find(|chart| chart.install.part == part).unwrap().files
    };
    let operands = OPERANDS.replace("existing-secret", "helm");
    let chart = of(&operands, Part::Operator);
    let kinds = |files: &BTreeMap<String, Vec<u8>>, values: &serde_json::Value| {
        let rendered = render_generated(files, "n", values)?;
        let in_folder = rendered.iter().filter(|one| one.is_in_crds_folder).count();
        let in_subchart = rendered.iter().filter(|one| one.path.starts_with("charts/")).count();
        Some((rendered.len(), in_folder, in_subchart))
    };
    let defaults = |files: &BTreeMap<String, Vec<u8>>| -> serde_json::Value {
        serde_yaml::from_slice(&files["values.yaml"]).unwrap()
    };
    let own = defaults(&chart);
    let mut seen = String::new();
    for (name, files) in [
        ("templates", &chart),
        ("stubs", &of(OPERANDS, Part::Crds)),
        ("operands", &of(OPERANDS, Part::Operands)),
        ("separate", &of("crds = \"separate\"", Part::Operator)),
        ("subchart", &of("crds = \"subchart\"", Part::Operator)),
        ("crds", &of("crds = \"crds\"", Part::Operator)),
    ] {
        writeln!(seen, "{name}: {:?}", kinds(files, &defaults(files))).unwrap();
    }
    for (name, pointer, value) in [
        ("the subchart is off", "/crds/enabled", serde_json::json!(false)),
        ("global values", "/global", serde_json::json!({})),
        ("global values of the subchart", "/crds/global", serde_json::json!({})),
    ] {
        let mut values = own.clone();
        let (parent, key) = pointer.rsplit_once('/').unwrap();
        values.pointer_mut(parent).unwrap()[key] = value;
        writeln!(seen, "{name}: {:?}", kinds(&chart, &values)).unwrap();
    }

    // Files that Helm reads, and no writer wrote.
    let template = "templates/configmap-kept.yaml";
    let crd = "charts/crds/templates/widgets.example.com.yaml";
    for (path, from, to) in [
        ("README.md", "# widgets", "# gadgets"),
        ("UPGRADE.md", "", "new"),
        (".bundle2chart", "", "new"),
        ("values.schema.json", "{", "{"),
        ("values.yaml", "", "- a\n"),
        ("values.yaml", "crds:", "---\na: b\n---\ncrds:"),
        (".helmignore", "UPGRADE.md", "templates/"),
        (".helmignore", "", "more"),
        ("other.txt", "", "new"),
        ("templates/_helpers.tpl", "", "{{ define \"a\" }}{{ end }}"),
        ("templates/.hidden.yaml", "", "a: b"),
        ("templates/_partial.yaml", "", "a: b"),
        ("templates/a.yml", "", "a: b"),
        ("templates/more/a.yaml", "", "a: b"),
        ("crds/_crds.tpl", "", "a"),
        ("templates/NOTES.txt", "{{ .Chart.Name }}", "{{ .Chart.Home }}"),
        (template, "name: kept", "name: {{ .Values.other }}"),
        (template, "name: kept", "name: {{ lookup \"v1\" \"Secret\" \"a\" \"b\" }}"),
        (template, "name: kept", "name: other"),
        ("templates/_crds.tpl", "{{-", "{{- /* a */}}{{-"),
        ("templates/_image.tpl", "{{-", "{{- /* a */}}{{-"),
        ("templates/_certificate.tpl", "{{-", "{{- /* a */}}{{-"),
        ("templates/required-apis.tpl", "fail", "print"),
        (crd, "apiVersion", "{{ include \"a\" . }}apiVersion"),
        ("charts/crds/templates/_crds.tpl", "{{-", "{{- /* a */}}{{-"),
        ("charts/crds/values.yaml", "", "a: b"),
        ("charts/more/Chart.yaml", "", "a: b"),
        ("charts/crds/Chart.yaml", "name: crds", "name: other"),
        ("charts/crds/Chart.yaml", "1.2.3", "1.2.4"),
        ("charts/crds/Chart.yaml", "type: application", "type: library"),
        ("charts/crds/Chart.yaml", "apiVersion: v2", "apiVersion: v1"),
        ("charts/crds/Chart.yaml", "type:", "dependencies: []\ntype:"),
        ("charts/crds/Chart.yaml", "type:", "condition: a\ntype:"),
        ("Chart.yaml", "name: widgets", "name: gadgets"),
        ("Chart.yaml", "\nversion: \"1.2.3\"", "\nversion: 1.2.4"),
        ("Chart.yaml", "\nversion: \"1.2.3\"", "\nversion: \"1\""),
        ("Chart.yaml", "type: application", "type: library"),
        ("Chart.yaml", "apiVersion: v2", "apiVersion: v1"),
        ("Chart.yaml", "type:", "Version: 1.2.4\ntype:"),
        ("Chart.yaml", "crds.enabled", "crds.other"),
        ("Chart.yaml", "  condition: crds.enabled\n", ""),
        ("Chart.yaml", "  condition:", "  alias: a\n  condition:"),
        ("Chart.yaml", "  condition:", "  repository: a\n  condition:"),
        ("Chart.yaml", "- name: crds", "- name: other\n  version: \"1.2.3\"\n- name: crds"),
        ("Chart.yaml", "- name: crds", "- name: other"),
        ("Chart.yaml", "  version: \"1.2.3\"", "  version: \"1.2.4\""),
    ] {
        let mut files = chart.clone();
        let text = files.get(path).map_or("", |text| str::from_utf8(text).unwrap());
        assert!(text.contains(from), "{path}: {from}");
        let text = if from.is_empty() { to.to_owned() } else { text.replacen(from, to, 1) };
        files.insert(path.to_owned(), text.into_bytes());
        let is_rendered = render_generated(&files, "n", &own).is_some();
        writeln!(
            seen,
            "{}: {path}: {from:?} to {to:?}",
            if is_rendered { "rendered" } else { "Helm" }
        )
        .unwrap();
    }
    // Several changes at once, and charts without a subchart that values may disable.
    let changed = |files: &BTreeMap<String, Vec<u8>>, changes: &[(&str, &str, &str)]| {
        let mut files = files.clone();
        for (path, from, to) in changes {
            let text = files.remove(*path).map(|text| String::from_utf8(text).unwrap());
            let text = text.map_or((*to).to_owned(), |text| text.replace(from, to));
            files.insert((*path).to_owned(), text.into_bytes());
        }
        render_generated(&files, "n", &own).is_some()
    };
    let name = ("charts/crds/Chart.yaml", "name: crds", "name: other");
    assert!(!changed(&chart, &[name, ("Chart.yaml", "- name: crds", "- name: other")]));
    let check = str::from_utf8(&chart["charts/crds/templates/_crds.tpl"]).unwrap();
    assert!(changed(&chart, &[("templates/_crds.tpl", check, check)]));
    for path in ["charts/crds/crds/_crds.tpl", "_crds.tpl"] {
        assert!(!changed(&chart, &[(path, "", check)]), "{path}");
    }
    let mut operands = of(OPERANDS, Part::Operands);
    let values_of_operands = defaults(&operands);
    assert!(render_generated(&operands, "n", &values_of_operands).is_some());
    let metadata = str::from_utf8(&operands["Chart.yaml"]).unwrap().replace("1.2.3", "1");
    operands.insert("Chart.yaml".to_owned(), metadata.into_bytes());
    assert_eq!(render_generated(&operands, "n", &values_of_operands), None);
    let mut without_values = chart.clone();
    without_values.insert("values.yaml".to_owned(), b"\n".to_vec());
    assert!(render_generated(&without_values, "n", &own).is_some());
    let always = of("crds = \"subchart\"", Part::Operator);
    let mut values_of_always = defaults(&always);
    values_of_always["crds"] = serde_json::json!({"enabled": false});
    assert_eq!(kinds(&always, &values_of_always), kinds(&always, &defaults(&always)));
    // Helm gives a subchart without values of its own the global ones.
    let plain = of_bundle("crds = \"subchart\"", CSV).pop().unwrap();
    let schema: serde_json::Value =
        serde_json::from_slice(&plain.files["values.schema.json"]).unwrap();
    assert_eq!(schema["properties"]["crds"], serde_json::json!({"type": "object"}));
    let mut large = of("crds = \"crds\"", Part::Operator);
    let values_of_large = defaults(&large);
    for (path, is_rendered) in [("crds/a.yaml", true), ("crds/b.yaml", false)] {
        large.insert(path.to_owned(), vec![b'#'; crate::yaml::render::RENDERED_BYTES * 2 / 3]);
        assert_eq!(render_generated(&large, "n", &values_of_large).is_some(), is_rendered);
    }

    let mut binary = chart.clone();
    binary.insert(template.to_owned(), b"\xff".to_vec());
    assert_eq!(render_generated(&binary, "n", &own), None);
    for gone in ["Chart.yaml", "charts/crds/Chart.yaml"] {
        let mut files = chart.clone();
        files.remove(gone);
        assert_eq!(render_generated(&files, "n", &values), None, "{gone}");
    }
    let mut without = of("crds = \"separate\"", Part::Operator);
    without.insert("charts/crds/Chart.yaml".to_owned(), chart["charts/crds/Chart.yaml"].clone());
    assert_eq!(render_generated(&without, "n", &values), None);
    without.remove("charts/crds/Chart.yaml");
    without.insert(crd.to_owned(), chart[crd].clone());
    assert_eq!(render_generated(&without, "n", &values), None);
    insta::assert_snapshot!(seen);
}

/// A gate on an object of the chart waits in its namespace; any other may be created by an operator.
#[test]
fn gates_find_their_objects() {
    let found = |keys: &str, object: &str| {
        let config = config(&format!(
            "[[bundle]]\nname = \"a\"\npath = \"a\"\nready = [{{ condition = \"Ready\", \
             object = \"apps/v1/Deployment/a\"{keys} }}]\n"
        ));
        let unit = passes::sample::bundle(object);
        let gate = gates::of_phase(&config[0], Phase::With, &unit).remove(0);
        assert!(gates::of_phase(&config[0], Phase::Operand, &unit).is_empty());
        (gate.in_chart, gate.target.namespace.unwrap_or_default())
    };
    let object = |api: &str, kind: &str, metadata: &str| {
        format!("{{apiVersion: {api}, kind: {kind}, metadata: {{{metadata}}}}}")
    };
    let in_n = ", namespace = \"far\"";
    for (keys, api, kind, metadata, expected) in [
        ("", "apps/v1", "Deployment", "name: a", (true, "")),
        ("", "apps/v1", "Deployment", "name: b", (false, "")),
        ("", "apps/v1", "StatefulSet", "name: a", (false, "")),
        ("", "apps/v1", "Deployment", "name: a, namespace: far", (true, "far")),
        (in_n, "apps/v1", "Deployment", "name: a", (true, "far")),
        (in_n, "apps/v1", "Deployment", "name: a, namespace: far", (true, "far")),
        (in_n, "apps/v1", "Deployment", "name: a, namespace: other", (false, "far")),
    ] {
        let (in_chart, namespace) = expected;
        let expected = (in_chart, namespace.to_owned());
        assert_eq!(found(keys, &object(api, kind, metadata)), expected, "{keys} {kind} {metadata}");
    }
    let two = ["far", "other"].map(|namespace| {
        object("apps/v1", "Deployment", &format!("name: a, namespace: {namespace}"))
    });
    assert_eq!(found("", &two.join("\n---\n")), (true, "far".to_owned()));
}
