//! All passes together: each object and value of a chart, and each finding with its place and remedy.

use super::*;
use crate::chart::{manifest, values};
use crate::diag::Place;
use crate::ir::{OPERANDS, Object, Origin, Phase, Value, ValuesPath};
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
        - {name: RELATED_IMAGE_NONE, value: -none}
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
      containers: [{name: agent, image: quay.io/agent:1.0.0}]
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
    schema: {openAPIV3Schema: {type: object, description: in vendor-system, example: {objectSelector: {matchLabels: {app.kubernetes.io/version: a}}}, default: {selector: vendor-system}}}
---
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: gadgets.example.com}
spec:
  group: example.com
  names: {kind: Gadget, plural: gadgets}
  scope: Namespaced
  conversion:
    strategy: Webhook
    webhook: {clientConfig: {service: {name: widgets, namespace: widget-jobs}}}
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
webhooks: [{name: widgets.example.com, objectSelector: {matchExpressions: [{key: helm.sh/chart, operator: Exists}]}}]
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
{apiVersion: policy/v1beta1, kind: PodDisruptionBudget, metadata: {name: widgets}, spec: {selector: {matchLabels: {app.kubernetes.io/version: a}}}}
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
subjects: [{kind: ServiceAccount, name: widget-operator, namespace: elsewhere}, {kind: ServiceAccount, name: setup}, {kind: ServiceAccount, name: absent}]
---
{apiVersion: batch/v1, kind: Job, metadata: {name: later}, spec: {template: {spec: {containers: [{name: later}]}}}}
---
apiVersion: apps/v1
kind: DaemonSet
metadata: {name: first, namespace: elsewhere}
spec: {template: {spec: {containers: [{name: first}]}}}
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
        object.phase = match object.name() {
            "setup" | "far" => Phase::Before,
            "first" => Phase::Operand,
            _ => Phase::With,
        };
        unit.objects.push(object);
    }
    for (origin, kind, name) in [
        (Origin::Added(OPERANDS), "ServiceAccount", "widget-jobs"),
        (Origin::Added(OPERANDS), "ConfigMap", "widget-jobs"),
        (Origin::Stub, "ServiceAccount", "stub"),
    ] {
        let manifest = format!("{{apiVersion: v1, kind: {kind}, metadata: {{name: {name}}}}}");
        let object = bundle(&manifest).objects.remove(0);
        unit.objects.push(Object { origin, ..object });
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
    let mut templates: String = templates.map(|(path, text)| format!("# {path}\n{text}")).collect();
    for object in unit.objects.iter().filter(|object| object.phase != Phase::With) {
        templates += &format!("# {:?}: {object}\n", object.phase);
    }
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
        let crd = |name: &str, scope: Value| {
            let mut crd = bundle(SHIPPED).objects.remove(1);
            crd.metadata_mut().insert("name".to_owned(), Value::text(name));
            crd.root.map_at("spec").insert("scope".to_owned(), scope);
            crd
        };
        let text = || Value::text("Cluster");
        let value = Expr::Text(ValuesPath::new(["scope"]));
        let mut unit = Unit {
            objects: vec![
                crd("plain", text()),
                crd("rendered", Expr::ReleaseNamespace.into()),
                crd("with-values", value.into()),
                Object { phase: Phase::Operand, ..crd("operand", text()) },
                Object { origin: Origin::Stub, ..crd("stub", text()) },
                bundle("{apiVersion: v1, kind: ConfigMap, metadata: {name: other}}")
                    .objects
                    .remove(0),
            ],
            ..Unit::default()
        };
        let context = Context { crds: placement, ..context() };
        keep_crds::keep_crds(&mut unit, &context, &mut Diagnostics::new());
        shown += &format!("{placement:?}:\n");
        for crd in &unit.objects {
            let annotations = crd.metadata("annotations");
            shown += &format!("  {}: {annotations:?} {:?}\n", crd.name(), crd.when);
        }
        shown += &values::yaml(&unit.values);
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
    let delegates = |kind: &str, group: &str| {
        let rule = |group: &str, resource: &str| {
            format!("{{apiGroups: [{group}], resources: [{resource}], verbs: [create]}}")
        };
        let rules =
            [rule(group, "tokenreviews"), rule("authorization.k8s.io", "subjectaccessreviews")];
        let binding = "{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRoleBinding, metadata: \
                       {name: widgets}, roleRef: {name: widgets}, subjects: [{kind: ServiceAccount, \
                       name: default}]}\n---\n";
        let role = role(&rules.join(", ")).replace("kind: ClusterRole", &format!("kind: {kind}"));
        deployment("{resources: {limits: {cpu: 1}}}", &format!("{binding}{role}"))
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
        (
            "ports of TCP and UDP",
            with(&format!(
                "{limits}, ports: [{{containerPort: 1}}, {{containerPort: 1, protocol: UDP}}]"
            )),
        ),
        (
            "a variable twice",
            with(&format!("{limits}, env: [{{name: A}}, {{name: B}}, {{name: A}}]")),
        ),
        (
            "an image twice",
            deployment(
                "{resources: {limits: {cpu: 1}}, containers: [{name: a, image: a}, {name: b, image: a}]}",
                "",
            ),
        ),
        ("a digest with a tag", with(limits).replace("widgets@", "widgets:latest@")),
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
            "several APIs of OpenShift",
            role(
                "{verbs: [get], apiGroups: [route.openshift.io, config.openshift.io], resources: ['*']}, \
                  {verbs: [get], apiGroups: [config.openshift.io, operator.openshift.io], resources: ['*']}",
            ),
        ),
        ("delegated authentication", delegates("ClusterRole", "authentication.k8s.io")),
        ("reviews of another group", delegates("ClusterRole", "example.com")),
        ("reviews in a namespace", delegates("Role", "authentication.k8s.io")),
        (
            "monitors and their CRD",
            of_group("monitoring.coreos.com/v1", "ServiceMonitor")
                + "\n---\n"
                + &crd("{name: lost}")
                    .replace("widgets.example.com", "servicemonitors.monitoring.coreos.com")
                    .replace("group: example.com", "group: monitoring.coreos.com")
                    .replace("Widget, plural: widgets", "ServiceMonitor, plural: servicemonitors"),
        ),
        (
            "characters",
            "{apiVersion: v1, kind: ConfigMap, metadata: {name: a}, data: {a: \"\\x85\"}}\n---\n\
             {apiVersion: v1, kind: ConfigMap, metadata: {name: b}, data: {b: \"\\x7f\"}}"
                .to_owned(),
        ),
        (
            "more names than are shown",
            with(&format!(
                "{limits}, env: [{}]",
                ["A", "B", "C", "D", "E"]
                    .map(|name| { format!("{{name: {name}}}, {{name: {name}}}") })
                    .join(", ")
            )),
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
