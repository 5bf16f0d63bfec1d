#![expect(clippy::disallowed_methods, reason = "tests write a bundle")]

use crate::add::{Request, add};
use crate::diag::Diagnostics;
use crate::lock::Lock;
use crate::source::Access;

const CSV: &str = "
apiVersion: operators.coreos.com/v1alpha1
kind: ClusterServiceVersion
metadata: {name: widget-operator.v1.2.3}
spec:
  version: 1.2.3
  installModes:
  - {type: OwnNamespace, supported: true}
  - {type: SingleNamespace, supported: true}
  - {type: AllNamespaces, supported: true}
  install:
    strategy: deployment
    spec:
      clusterPermissions:
      - serviceAccountName: widget-operator
        rules:
        - {apiGroups: [''], resources: [secrets], verbs: [get]}
      deployments:
      - name: widget-operator
        spec:
          selector: {matchLabels: {app: widget-operator}}
          template:
            metadata: {labels: {app: widget-operator}}
            spec:
              serviceAccountName: widget-operator
              containers: [{name: manager, image: 'example.com/widget-operator:1.2.3'}]
";

const ANNOTATIONS: &str =
    "annotations:\n  operators.operatorframework.io.bundle.package.v1: widget-operator\n";

/// A bundle, the configuration that gets it, and what is asked for.
struct Case<'c> {
    csv: String,
    objects: &'c str,
    dependencies: &'c str,
    config: &'c str,
    request: Request,
}

fn case() -> Case<'static> {
    let request = Request {
        source: String::new(),
        package: None,
        channel: None,
        version: None,
        name: None,
        namespace: None,
        watch: None,
    };
    Case { csv: CSV.to_owned(), objects: "", dependencies: "", config: "", request }
}

impl Case<'_> {
    /// Returns the new table after its source, or each error with its hint.
    fn table(mut self) -> String {
        let home = tempfile::tempdir().expect("a folder");
        let write = |path: &str, content: &str| {
            let path = home.path().join(path);
            std::fs::create_dir_all(path.parent().expect("a folder")).expect("folders");
            std::fs::write(path, content).expect("a file");
        };
        write("bundle/manifests/csv.yaml", &self.csv);
        if !self.objects.is_empty() {
            write("bundle/manifests/objects.yaml", self.objects);
        }
        write("bundle/metadata/annotations.yaml", ANNOTATIONS);
        if !self.dependencies.is_empty() {
            write("bundle/metadata/dependencies.yaml", self.dependencies);
        }
        write("bundles.toml", self.config);
        let path = home.path().join("bundles.toml");
        self.request.source = home.path().join("bundle").display().to_string();

        let mut diagnostics = Diagnostics::new();
        let added =
            add(&self.request, &path, &Lock::default(), Access::default(), &mut diagnostics);
        let shown = match added {
            Some(added) => added.tables,
            None => {
                let error = |found: &crate::diag::Diagnostic| {
                    format!(
                        "{}: {} | {}\n",
                        found.code.as_str(),
                        found.message,
                        found.hint.as_deref().unwrap_or("-")
                    )
                };
                diagnostics.iter().map(error).collect()
            }
        };
        shown.replace(&home.path().display().to_string(), "")
    }
}

#[test]
fn what_a_bundle_needs_is_proposed_with_the_reason() {
    let needs = |text: &str| CSV.replace("  install:\n", &format!("{text}  install:\n"));
    let webhook = "  webhookdefinitions:
  - type: ValidatingAdmissionWebhook
    generateName: check.example.com
    deploymentName: widget-operator
    admissionReviewVersions: [v1]
    sideEffects: None
";
    let delegates =
        "        - {apiGroups: [config.openshift.io], resources: [infrastructures], verbs: [get]}
        - {apiGroups: [authentication.k8s.io], resources: [tokenreviews], verbs: [create]}
        - {apiGroups: [authorization.k8s.io], resources: [subjectaccessreviews], verbs: [create]}
      deployments:
";
    let images = "  relatedImages:
  - {name: a, image: 'registry.redhat.io/a:1'}
  - {name: b, image: 'cp.icr.io/b:1'}
  - {name: c, image: 'quay.io/c:1'}
  - {name: d, image: 'registry.redhat.io/ not one'}
";
    let dependencies = "dependencies:
- {type: olm.package, value: {packageName: gadget-operator, version: '>=1.0.0'}}
- {type: olm.package, value: {packageName: fuse-operator, version: '>=1.0.0'}}
- {type: olm.gvk, value: {group: example.org, kind: Wire, version: v1}}
- {type: olm.constraint, value: {failureMessage: x, cel: {rule: 'true'}}}
";
    let objects = "apiVersion: console.openshift.io/v1
kind: ConsoleQuickStart
metadata: {name: widgets}
---
apiVersion: monitoring.coreos.com/v1
kind: PrometheusRule
metadata: {name: widgets}
";
    let others = "[[bundle]]\nname = \"gadgets\"\npackage = \"gadget-operator\"\npath = \"gadgets\"\n\n\
                  [[bundle]]\nname = \"cert-manager\"\npath = \"cert-manager\"\n";
    let provided = "[defaults]\npull-secret = \"pull\"\nexclude = ['.kind == \"ConsoleQuickStart\"']\n\
                    provided = [\"fuse-operator\", \"example.org/v1/Wire\", \"cert-manager.io/v1/Certificate\"]\n";
    let nonroot = CSV.replace("spec:\n              serviceAccountName", "spec:\n              securityContext: {runAsNonRoot: true}\n              serviceAccountName");
    let named = || Request {
        name: Some("widgets".to_owned()),
        namespace: Some("system".to_owned()),
        watch: "own".parse().ok(),
        ..case().request
    };
    let example = |spec: &str| {
        let annotations = format!(
            "metadata:\n  name: widget-operator.v1.2.3\n  annotations:\n    alm-examples: |\n      \
             [{{\"apiVersion\": \"example.com/v1\", \"kind\": \"Widget\", \"metadata\": {{\"name\": \"one\"}}, \
             \"spec\": {spec}}}]\n"
        );
        CSV.replace("metadata: {name: widget-operator.v1.2.3}\n", &annotations).replace(
            "  install:\n",
            "  customresourcedefinitions: {owned: [{name: widgets.example.com, kind: Widget, version: v1}]}\n  install:\n",
        )
    };
    let crd = "apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: widgets.example.com}
spec:
  group: example.com
  names: {kind: Widget, plural: widgets, singular: widget, listKind: WidgetList}
  scope: Namespaced
  versions:
  - name: v1
    served: true
    storage: true
    schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}
";
    let long = format!("{{\"a\": [{}1]}}", "1, ".repeat(900));
    let suggested = CSV.replace(
        "metadata: {name: widget-operator.v1.2.3}",
        "metadata:\n  name: widget-operator.v1.2.3\n  annotations: {operatorframework.io/suggested-namespace: widget-system}",
    );
    let all_needs = needs(webhook).replace("      deployments:\n", delegates);
    let with_images = needs(&format!("{webhook}{images}"));
    let unsupported = CSV.replace("supported: true", "supported: false");
    let same = "[[bundle]]\nname = \"widget-operator\"\npath = \"x\"\n";
    let cases = [
        ("nothing", case()),
        ("a suggested namespace", Case { csv: suggested, ..case() }),
        ("settings of the command line", Case { request: named(), ..case() }),
        (
            "everything, and bundles that provide a part",
            Case { csv: all_needs, objects, dependencies, config: others, ..case() },
        ),
        (
            "everything, and defaults with a part",
            Case { csv: with_images, objects, dependencies, config: provided, ..case() },
        ),
        ("images that need a login", Case { csv: needs(images), dependencies, ..case() }),
        ("images that need a user", Case { csv: nonroot, ..case() }),
        ("an example", Case { csv: example("{\"size\": 1}"), objects: crd, ..case() }),
        (
            "an example with quotes",
            Case { csv: example("{\"size\": \"'''\"}"), objects: crd, ..case() },
        ),
        ("a long example", Case { csv: example(&long), objects: crd, ..case() }),
        (
            "an API of its own",
            Case {
                csv: needs(webhook),
                objects: crd,
                config: "[defaults]\ncertificates = \"helm\"\n",
                ..case()
            },
        ),
        ("no install mode", Case { csv: unsupported, ..case() }),
        ("the same name", Case { config: same, ..case() }),
        ("a wrong configuration", Case { config: "[[bundle]\n", ..case() }),
    ];
    let shown = cases.map(|(title, case)| format!("## {title}\n{}", case.table()));
    insta::assert_snapshot!(shown.join("\n"));
}
