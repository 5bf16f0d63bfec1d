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
metadata: {name: widget-admin}
aggregationRule: {clusterRoleSelectors: [{matchLabels: {a: b}}]}
rules: []
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: widget-viewer}
rules: []
---
apiVersion: monitoring.coreos.com/v1
kind: ServiceMonitor
metadata: {name: widgets}
";

/// Overlays with everything that comes after the operator.
const OPERANDS: &str = r#"
depends-on = ["other"]
certificates = "existing-secret"
stub-crds = ["infrastructures.config.openshift.io"]
namespaces = { widgets = "widget-jobs" }
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
inline = '{apiVersion: v1, kind: Namespace, metadata: {name: widget-extras}}'
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
    let mut files = sample::files(&manifests, &[sample::ANNOTATIONS]);
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

/// The documents of each placement, and the files that are not in the first.
#[test]
fn placements_of_crds() {
    let mut seen = String::new();
    for keys in [
        "crds = \"templates\"\nwatch = \"own\"",
        "crds = \"separate\"\nwatch = \"own\"\npull-secret = \"pull\"\nstrip-descriptions = true",
        "crds = \"subchart\"",
        "crds = \"crds\"",
    ] {
        writeln!(seen, "######## {keys}").unwrap();
        let csv = if keys.contains("watch") { CSV.to_owned() } else { with_conversion() };
        for chart in of_bundle(keys, &csv) {
            let Chart { name, install, .. } = &chart;
            writeln!(seen, "#### {name} {:?} {:?}", install.part, install.crds_folder).unwrap();
            for (path, _) in &chart.files {
                match path.as_str() {
                    "README.md"
                    | "templates/NOTES.txt"
                    | "Chart.yaml"
                    | "charts/crds/Chart.yaml"
                    | "Chart.lock"
                    | "values.yaml" => {
                        writeln!(seen, "==> {path}\n{}", text(&chart, path)).unwrap();
                    }
                    _ => writeln!(seen, "==> {path}").unwrap(),
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
        ("https://widgets.example.com", "http://widgets.example.com"),
        ("https://git.example.com", "javascript:a"),
        ("  displayName: Widget Operator\n", ""),
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
