//! All passes together: each object and value of a chart, and each finding with its place and remedy.

use super::*;
use crate::chart::{manifest, values};
use crate::diag::Place;
use crate::ir::{OPERANDS, Object, Origin, Phase};
use crate::passes::sample::{bundle, generated, overlay};

/// Deployments as they come from a CSV, with and without what values replace.
const GENERATED: &str = "
apiVersion: v1
kind: ServiceAccount
metadata: {name: widget-operator}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: widget-operator}
spec:
  replicas: 2
  selector: {matchLabels: {app: widget-operator}}
  template:
    metadata: {labels: {app: widget-operator}, annotations: {example.com/team: widgets}}
    spec:
      serviceAccountName: widget-operator
      priorityClassName: system-cluster-critical
      securityContext: {runAsNonRoot: true}
      nodeSelector: {disk: ssd}
      tolerations: [{operator: Exists}]
      topologySpreadConstraints: [{maxSkew: 1}]
      volumes: [{name: data, emptyDir: {}}]
      initContainers:
      - name: setup
        image: example.com/setup:1.0.0
        args: ['--host=widgets.vendor-system.svc:443 widgets.vendor-system.svc']
      containers:
      - name: manager
        image: example.com/widget-operator:1.0.0
        imagePullPolicy: Always
        command: [/manager, 'http://widgets.vendor-system.svc']
        args: [--leader-election-id, vendor-system, --zone, vendor-system, --namespace, vendor-system]
        securityContext: {}
        resources: {limits: {cpu: '1'}}
        env:
        - {name: HTTP_PROXY, value: 'http://proxy.example.com'}
        - {name: SERVICE, value: widgets.vendor-system.svc.cluster.local}
        - {name: OPERATOR_NAME, value: vendor-system}
        - {name: OPERATOR_NAMESPACE_NAME, value: vendor-system}
        - {name: RELATED_IMAGE_WIDGET, value: example.com/widget@sha256:0000}
        envFrom: [{configMapRef: {name: settings}}]
        volumeMounts: [{name: data, mountPath: /data}]
      - {name: proxy, image: example.com/proxy, imagePullPolicy: Sometimes, securityContext: {runAsUser: 1}}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: widget-agent-v1-0-0}
spec:
  selector: {matchLabels: {app: widget-agent}}
  template:
    metadata: {labels: {app: widget-agent}}
    spec:
      imagePullSecrets: [{name: vendor}]
      priorityClassName: 7
      containers: [{name: agent, image: example.com/agent:1.0.0}]
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: widget-none}
spec: {replicas: -1, template: {spec: {serviceAccountName: other, serviceAccount: other}}}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: widget-operator-auth-reader, namespace: kube-system}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: extension-apiserver-authentication-reader}
subjects: [{kind: ServiceAccount, name: widget-operator, namespace: elsewhere}]
---
apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata: {name: widget-agent}
spec: {scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: widget-agent-v1-0-0}}
";

/// Objects that a bundle ships: what the vendor's namespace is written into, and what is not right.
const SHIPPED: &str = "
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: widgets.example.com}
spec:
  group: example.com
  names: {kind: Widget, plural: widgets}
  scope: Namespaced
  conversion:
    strategy: Webhook
    webhook: {clientConfig: {service: {name: widgets, namespace: vendor-system}}}
  versions:
  - name: v1
    served: true
    storage: true
    schema: {openAPIV3Schema: {type: object, description: In vendor-system., default: {selector: vendor-system}}}
---
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: gadgets.example.com}
spec:
  group: example.com
  names: {kind: Gadget, plural: gadgets}
  scope: Namespaced
  versions: [{name: v1, served: true, storage: true}]
---
apiVersion: v1
kind: Service
metadata: {name: widgets, namespace: vendor-system}
spec: {selector: {app: widget-operator}, ports: [{port: 443}]}
---
apiVersion: monitoring.coreos.com/v1
kind: ServiceMonitor
metadata: {name: widgets}
spec:
  namespaceSelector: {matchNames: [vendor-system], matchLabels: {kubernetes.io/metadata.name: vendor-system}}
  selector: {matchLabels: {app.kubernetes.io/name: widget-operator, kubernetes.io/metadata.name: vendor-system}}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: widget-sum, namespace: vendor-system}
aggregationRule: {clusterRoleSelectors: [{matchLabels: {app.kubernetes.io/instance: a}}]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: widgets}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: widget-sum}
subjects:
- {kind: ServiceAccount, name: widget-operator, namespace: vendor-system}
- {kind: ServiceAccount, name: widget-operator, namespace: elsewhere}
- {kind: ServiceAccount, name: other, namespace: elsewhere}
- {kind: ServiceAccount, name: lost}
- {kind: Group, name: 'system:serviceaccounts:vendor-system'}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: widgets, namespace: kube-system}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: extension-apiserver-authentication-reader}
subjects: [{kind: ServiceAccount, name: widget-operator, namespace: elsewhere}]
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingWebhookConfiguration
metadata: {name: widgets}
webhooks: [{name: widgets.example.com, objectSelector: {matchExpressions: [{key: app.kubernetes.io/managed-by, operator: Exists}]}}]
---
{apiVersion: v1, kind: ConfigMap, metadata: {name: settings}, data: {zone: in vendor-system}}
---
{apiVersion: v1, kind: ConfigMap, metadata: {name: settings}, data: {zone: in vendor-system}}
---
{apiVersion: v1, kind: ConfigMap, metadata: {name: settings}, data: {zone: other}}
---
{apiVersion: v1, kind: Secret, metadata: {namespace: vendor-system, name: vendor}}
---
{apiVersion: v1, kind: ConfigMap, metadata: {name: far, namespace: kube-system}}
---
{apiVersion: rbac.authorization.k8s.io/v1, kind: Role, metadata: {name: widgets, namespace: vendor-system}}
---
{apiVersion: policy/v1beta1, kind: PodDisruptionBudget, metadata: {name: widgets}, spec: {minAvailable: one}}
---
{apiVersion: example.com/v1, kind: Gizmo, metadata: {name: gizmo}}
---
{apiVersion: v1, kind: Service, metadata: {name: widget.s}, spec: {selector: {app: none}, ports: [{port: 80, nodePort: 30080}]}}
";

/// Objects of a user: a Job that runs first, operands, and names that no API server takes.
const OVERLAY: &str = "
{apiVersion: v1, kind: ServiceAccount, metadata: {name: setup}}
---
apiVersion: batch/v1
kind: Job
metadata: {name: setup}
spec: {template: {spec: {serviceAccountName: setup, containers: [{name: setup, image: example.com/setup:1.0.0}]}}}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: users}
subjects: [{kind: ServiceAccount, name: widget-operator, namespace: elsewhere}, {kind: ServiceAccount, name: setup}]
---
{apiVersion: v1, kind: ConfigMap, metadata: {name: far, namespace: Far_Away}}
---
{apiVersion: v1, kind: ConfigMap, metadata: {name: settings}, data: {zone: in vendor-system}}
---
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: widgets, namespace: widget-jobs}
spec: {template: {spec: {containers: [{name: store, image: 'example.com/store:latest'}]}}}
---
{apiVersion: v1, kind: ConfigMap, metadata: {generateName: widgets-}}
---
{apiVersion: apps/v1, kind: Deployment, metadata: {name: ui}, spec: {template: {spec: {containers: [{name: ui}]}}}}
---
{apiVersion: example.com/v1, kind: Widget, metadata: {name: first, namespace: vendor-system}}
";

fn unit() -> Unit {
    let mut unit = generated(GENERATED);
    unit.objects.extend(bundle(SHIPPED).objects);
    for mut object in overlay(OVERLAY).objects {
        object.phase = match object.kind() {
            "Job" => Phase::Before,
            "Widget" => Phase::Operand,
            _ => Phase::With,
        };
        unit.objects.push(object);
    }
    for (origin, name) in [(Origin::Added(OPERANDS), "widget-jobs"), (Origin::Stub, "stub")] {
        let mut object: Object = bundle("{apiVersion: v1, kind: ServiceAccount}").objects.remove(0);
        object.metadata_mut().insert("name".to_owned(), crate::ir::Value::text(name));
        object.origin = origin;
        unit.objects.push(object);
    }
    unit
}

fn context() -> Context {
    Context {
        chart: "widget-operator".to_owned(),
        version: "1.0.0".to_owned(),
        crd_version: "1.0.0".to_owned(),
        replaces_later: Some("1.0.1".to_owned()),
        chart_version: "1.0.0+2".to_owned(),
        namespaces: vec!["vendor-system".to_owned()],
        operand_namespaces: [("jobs".to_owned(), "widget-jobs".to_owned())].into(),
        ..Context::default()
    }
}

/// Returns the findings, each with its places and remedy.
fn findings(diagnostics: &Diagnostics) -> String {
    let at = |place: &Place| {
        let object = place.object.as_deref().unwrap_or_default();
        format!("{object} {}", place.path.as_deref().unwrap_or_default())
    };
    let mut shown = String::new();
    for found in diagnostics.iter() {
        let (severity, code) = (found.severity.as_str(), found.code.as_str());
        shown += &format!("{severity}[{code}] {}: {}\n", at(&found.place), found.message);
        for (place, relation) in &found.related {
            shown += &format!("  {}: {relation}\n", at(place));
        }
        shown.extend(found.hint.iter().map(|hint| format!("  hint: {hint}\n")));
    }
    shown
}

#[test]
fn findings_of_all_passes() {
    let mut diagnostics = Diagnostics::new();
    run(&mut unit(), &context(), &mut diagnostics);
    insta::assert_snapshot!(findings(&diagnostics));
}

#[test]
fn templates_and_values_of_all_passes() {
    let mut unit = unit();
    let mut context = context();
    context.settings.pull_secret = Some(Some("registry".to_owned()));
    context.operator.auth_reader = Some(true);
    context.settings.strip_descriptions = Some(true);
    context.crds = CrdPlacement::Templates;
    run(&mut unit, &context, &mut Diagnostics::new());
    let templates = manifest::templates(unit.objects.iter()).into_iter();
    let templates: String = templates.map(|(path, text)| format!("# {path}\n{text}")).collect();
    insta::assert_snapshot!("templates_of_all_passes", templates);
    insta::assert_snapshot!("values_of_all_passes", values::yaml(&unit.values));
    insta::assert_snapshot!("schema_of_all_passes", values::schema(&unit, false));
}

/// CRDs that outlive a release have its version, if they are templates.
#[test]
fn crds_are_kept_where_helm_would_delete_them() {
    let mut shown = String::new();
    for placement in [
        CrdPlacement::Templates,
        CrdPlacement::Separate,
        CrdPlacement::Subchart,
        CrdPlacement::Crds,
    ] {
        let mut unit = unit();
        unit.objects.extend(bundle(SHIPPED).objects.drain(..2).map(|mut object| {
            object.phase = Phase::Operand;
            object
        }));
        let context = Context { crds: placement, ..context() };
        keep_crds::keep_crds(&mut unit, &context, &mut Diagnostics::new());
        shown += &format!("{placement:?}:\n");
        for crd in unit.objects.iter().filter(|of| of.kind() == "CustomResourceDefinition") {
            let annotations = crd.metadata("annotations");
            shown += &format!("  {} {:?}: {annotations:?}\n", crd.name(), crd.phase);
        }
    }
    insta::assert_snapshot!(shown);
}

/// Returns a Deployment with these containers and others.
fn deployment(pod: &str, others: &str) -> String {
    format!(
        "{{apiVersion: apps/v1, kind: Deployment, metadata: {{name: widgets}}, spec: {{selector: \
         {{matchLabels: {{app: widgets}}}}, template: {{metadata: {{labels: {{app: widgets}}}}, spec: \
         {pod}}}}}}}\n---\n{others}"
    )
}

/// Each lint, with an object that it is about and one that is just right.
#[test]
fn findings_of_each_lint() {
    let of_group = |api: &str, kind: &str| {
        format!("{{apiVersion: {api}, kind: {kind}, metadata: {{name: widgets}}}}")
    };
    let crd = |service: &str| {
        format!(
            "{{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {{name: \
             widgets.example.com}}, spec: {{group: example.com, names: {{kind: Widget, plural: widgets}}, \
             scope: Namespaced, conversion: {{strategy: Webhook, webhook: {{clientConfig: {{service: {service}\
             }}}}}}, versions: [{{name: v1, served: true, storage: true, schema: {{openAPIV3Schema: {{type: \
             object}}}}}}]}}}}\n---\n"
        )
    };
    let service = |port: &str| {
        format!(
            "{{apiVersion: v1, kind: Service, metadata: {{name: widgets}}, spec: {{selector: {{app: \
             widgets}}, ports: [{port}]}}}}"
        )
    };
    let role = |rules: &str| {
        format!(
            "{{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole, metadata: {{name: widgets}}, \
             rules: [{rules}]}}\n---\n"
        )
    };
    let limits = "resources: {limits: {memory: 1Gi}}";
    let image = "image: 'example.com/widgets@sha256:\
                 0000000000000000000000000000000000000000000000000000000000000000'";
    let with = |container: &str| {
        deployment(&format!("{{containers: [{{name: manager, {image}, {container}}}]}}"), "")
    };
    let listening = |port: &str| {
        let ports = "ports: [{name: web, containerPort: 8080}]";
        let pod = format!("{{containers: [{{name: manager, {image}, {limits}, {ports}}}]}}");
        deployment(&pod, &service(port))
    };
    let mut shown = String::new();
    for (what, manifests) in [
        ("no resources", with("resources: {}")),
        ("requests", with("resources: {requests: {cpu: 1}}")),
        ("limits of CPU", with("resources: {limits: {cpu: 1}}")),
        (
            "limits of the pod",
            deployment("{resources: {limits: {cpu: 1}}, containers: [{name: a}]}", ""),
        ),
        ("no user", with(&format!("{limits}, securityContext: {{runAsNonRoot: true}}"))),
        (
            "a user",
            with(&format!("{limits}, securityContext: {{runAsNonRoot: true, runAsUser: 1}}")),
        ),
        ("a tag", with(limits).replace("@sha256:0", ":0")),
        ("the tag latest", with(limits).replace(image, "image: 'example.com/widgets:latest'")),
        (
            "no images",
            deployment(
                "{containers: [{name: a, image: 'example.com/A'}, {name: b, image: 'B C'}]}",
                "",
            ),
        ),
        (
            "duplicate variables",
            with(&format!("{limits}, env: [{{name: A}}, {{name: B}}, {{name: A}}, {{name: A}}]")),
        ),
        (
            "duplicate ports",
            with(&format!(
                "{limits}, ports: [{{containerPort: 1}}, {{containerPort: 1, protocol: TCP}}, \
                 {{containerPort: 1, protocol: UDP}}, {{containerPort: one}}]"
            )),
        ),
        ("the name of a port", listening("{port: 80, targetPort: web}")),
        ("the name of no port", listening("{port: 80, targetPort: metrics}")),
        ("the number of a port", listening("{port: 80, targetPort: 8080}")),
        (
            "a conversion webhook without a Service",
            crd("{name: widgets, namespace: vendor-system}"),
        ),
        ("a conversion webhook", crd("{name: widgets}") + &service("{port: 443}")),
        ("monitors", of_group("monitoring.coreos.com/v1", "ServiceMonitor")),
        ("links", of_group("console.openshift.io/v1", "ConsoleLink")),
        ("autoscalers", of_group("autoscaling.k8s.io/v1", "VerticalPodAutoscaler")),
        ("a rule without resources", role("{verbs: [get]}")),
        ("a rule without groups", role("{verbs: [get], resources: [pods]}")),
        ("URLs of a group", role("{verbs: [get], nonResourceURLs: [/], apiGroups: ['']}")),
        ("URLs of a name", role("{verbs: [get], nonResourceURLs: [/], resourceNames: [a]}")),
        ("URLs", role("{verbs: [get], nonResourceURLs: [/]}")),
        (
            "URLs of a Role",
            role("{verbs: [get], nonResourceURLs: [/]}").replace("ClusterRole", "Role"),
        ),
        (
            "APIs of OpenShift",
            role("{verbs: [get], apiGroups: [config.openshift.io], resources: [infrastructures]}"),
        ),
        (
            "constraints of OpenShift",
            role(
                "{verbs: [use], apiGroups: [security.openshift.io], resources: [securitycontextconstraints]}",
            ),
        ),
    ] {
        let mut diagnostics = Diagnostics::new();
        lint::lint(&mut bundle(&manifests), &context(), &mut diagnostics);
        shown += &format!("{what}:\n{}\n", findings(&diagnostics));
    }
    insta::assert_snapshot!(shown);
}
