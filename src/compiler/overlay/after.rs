//! Steps after the installation (`[[bundle.after]]`), as a hook Job with a ServiceAccount that has the
//! rights for exactly these objects.
//!
//! The Job is a hook after all other objects, which Helm, Argo CD and Flux carry out. The others are no
//! hooks, so that they exist before it and are removed with the release.

use super::{Definitions, namespace_value, scope_of};
use crate::config::{BundleConfig, KUBECTL_IMAGE, OPERANDS_SUFFIX, StepAfter, Target};
use crate::diag::{Code, Diagnostic, Diagnostics, Place, Span};
use crate::ir::{
    Condition, Expr, Object, Origin, Phase, Scope, Scopes, Value, ValueSpec, ValuesPath,
};
use crate::kubectl::{Namespaces, Step, container_security, pod_security};
use serde_json::{Value as Json, json};
use std::collections::{BTreeMap, BTreeSet};

/// Name suffix of the Job and of what it needs.
const SUFFIX: &str = "-after";

/// Weight of the hook: after those of overlays, which seldom have one above 10.
const WEIGHT: &str = "1000";

/// Seconds that the pod may take besides its waiting: to be scheduled, and to pull its image.
const START: u64 = 300;

/// Returns the value that says whether a Job carries out the steps.
fn by_hook() -> ValuesPath {
    ValuesPath::new(["after", "hook"])
}

/// Returns the name of the Job of a phase.
pub fn job_name(config: &BundleConfig, phase: Phase) -> String {
    let operands = if phase == Phase::Operand { OPERANDS_SUFFIX } else { "" };
    format!("{}{operands}{SUFFIX}", config.name)
}

/// Returns the most seconds that a Job with these steps may take.
pub fn job_seconds(steps: &[Step]) -> u64 {
    START + steps.iter().map(Step::seconds).sum::<u64>()
}

/// Returns the steps of a phase, in order. `scopes` has the scopes of kinds that are not built into
/// Kubernetes.
pub fn steps(config: &BundleConfig, phase: Phase, scopes: &Scopes) -> Vec<Step> {
    let own = |step: &&StepAfter| step.phase == phase;
    let is_cluster_scoped =
        |target: &Target| scope_of(&target.group, &target.kind, scopes) == Some(Scope::Cluster);
    let steps = config.after.iter().filter(own);
    steps.map(|step| Step::new(step, is_cluster_scoped(&step.target))).collect()
}

/// Returns the Jobs of a bundle's steps with all that they need, and the values that they read.
/// `objects` are all others of the chart, and `namespaces` those that mean the release namespace.
pub fn after(
    config: &BundleConfig,
    namespaces: &[String],
    objects: &[Object],
    diagnostics: &mut Diagnostics,
) -> (Vec<Object>, Vec<ValueSpec>) {
    if config.after.is_empty() {
        return (Vec::new(), Vec::new());
    }
    let definitions = Definitions::of(objects.iter());
    let mut scopes = config.scopes.clone();
    scopes.extend(definitions.scopes());
    let context = Context { config, namespaces, definitions: &definitions, scopes: &scopes };
    let start = diagnostics.mark();
    for step in &config.after {
        check(step, &context, objects, diagnostics);
    }
    if diagnostics.has_errors_since(start) {
        return (Vec::new(), Vec::new());
    }

    let mut made = Vec::new();
    for phase in [Phase::With, Phase::Operand] {
        let steps: Vec<&StepAfter> =
            config.after.iter().filter(|step| step.phase == phase).collect();
        if !steps.is_empty() {
            made.extend(context.objects(&steps, phase));
        }
    }
    let value = ValueSpec {
        path: by_hook(),
        default: json!(true),
        schema: json!({"type": "boolean"}),
        documented_default: None,
        description: "Carry out the steps after the installation with a hook Job. Set to false if \
            they are carried out otherwise, for example by helmfile."
            .to_owned(),
    };
    (made, vec![value])
}

/// Reports what makes a step impossible.
fn check(
    step: &StepAfter,
    context: &Context<'_>,
    objects: &[Object],
    diagnostics: &mut Diagnostics,
) {
    let mut report = |span: &Span, message: String, hint: String| {
        let place = Place::span(span.clone());
        diagnostics.push(Diagnostic::error(Code::StepAfter, message).at(place).hint(hint));
    };
    let gates = step.gates.iter().map(|gate| (&gate.target, &gate.span));
    for (target, span) in std::iter::once((&step.target, &step.span)).chain(gates) {
        let kind = match target.group.as_str() {
            "" => target.kind.clone(),
            group => format!("{group}/{}", target.kind),
        };
        match (context.scope(target), &target.namespace) {
            (None, _) => report(
                span,
                format!("unknown scope of kind `{kind}`, so the step's permissions are unknown"),
                format!(
                    "write scopes = {{ {kind:?} = \"Namespaced\" }}, or \"Cluster\", in the table \
                        of the bundle or chart"
                ),
            ),
            (Some(Scope::Cluster), Some(_)) => report(
                span,
                format!("`{kind}` is cluster-scoped, so {} has no namespace", target.name),
                "remove `namespace`".to_owned(),
            ),
            _ => {}
        }
    }

    let target = &step.target;
    let is_target = |object: &&Object| {
        target.is_kind_of(object)
            && object.name() == target.name
            && context.same_namespace(object, target)
    };
    if let Some(object) = objects.iter().find(is_target) {
        report(
            &step.span,
            format!("the chart contains {}, which steps would change back and forth", object.label()),
            "change it with `patch`, or in its overlay: steps are for objects that operators create"
                .to_owned(),
        );
    }
}

/// The settings that objects of steps depend on.
struct Context<'a> {
    config: &'a BundleConfig,
    /// Namespaces that mean the release namespace.
    namespaces: &'a [String],
    definitions: &'a Definitions<'a>,
    scopes: &'a Scopes,
}

/// The scope of a permission.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum RolePlace {
    /// The release namespace.
    Release,
    /// The cluster, for objects without a namespace.
    Cluster,
    /// Another namespace.
    Namespace(String),
}

/// Permissions for objects of one kind in one namespace, or in none.
type Rules = BTreeMap<(RolePlace, String, String, &'static [&'static str]), BTreeSet<String>>;

/// Verbs for an object that is changed: kubectl reads it first.
const CHANGE: &[&str] = &["get", "patch"];

/// Verbs for an object that is awaited.
const AWAIT: &[&str] = &["get", "list", "watch"];

impl Context<'_> {
    fn scope(&self, target: &Target) -> Option<Scope> {
        scope_of(&target.group, &target.kind, self.scopes)
    }

    /// Returns the namespace if it is another than that of the release.
    fn other_namespace<'t>(&self, target: &'t Target) -> Option<&'t str> {
        let namespace = target.namespace.as_deref()?;
        self.namespaces.iter().all(|own| own != namespace).then_some(namespace)
    }

    fn same_namespace(&self, object: &Object, target: &Target) -> bool {
        let namespace = object.metadata("namespace").and_then(Value::as_str);
        let namespace = namespace.filter(|name| self.namespaces.iter().all(|own| own != name));
        self.scope(target) == Some(Scope::Cluster) || namespace == self.other_namespace(target)
    }

    /// Returns the expression for a namespace; `None` is the release namespace.
    fn namespace(&self, name: Option<&str>) -> Value {
        let Some(name) = name else { return Value::Expr(Expr::ReleaseNamespace) };
        let known = self.config.operands.namespaces.iter().find(|(_, known)| *known == name);
        match known {
            Some((key, _)) => Value::Expr(Expr::Text(namespace_value(key))),
            None => Value::text(name),
        }
    }

    /// Returns the Job of these steps, and what it needs.
    fn objects(&self, steps: &[&StepAfter], phase: Phase) -> Vec<Object> {
        let name = job_name(self.config, phase);
        let mut objects = vec![
            self.object(phase, "v1", "ServiceAccount", &name, Some(None), json!({})),
            self.job(steps, phase, &name),
        ];

        let rules = self.rules(steps);
        let places: BTreeSet<&RolePlace> = rules.keys().map(|(place, ..)| place).collect();
        for place in places {
            let list: Vec<Json> = rules
                .iter()
                .filter(|((other, ..), _)| other == place)
                .map(|((_, group, resource, verbs), names)| {
                    json!({
                        "apiGroups": [group],
                        "resources": [resource],
                        "resourceNames": names,
                        "verbs": verbs,
                    })
                })
                .collect();
            let (kind, namespace) = match place {
                RolePlace::Release => ("Role", Some(None)),
                RolePlace::Cluster => ("ClusterRole", None),
                RolePlace::Namespace(name) => ("Role", Some(Some(name.as_str()))),
            };
            let api = "rbac.authorization.k8s.io/v1";
            objects.push(self.object(phase, api, kind, &name, namespace, json!({"rules": list})));

            let role = json!({
                "apiGroup": "rbac.authorization.k8s.io",
                "kind": kind,
                "name": name,
            });
            let subject = json!({"kind": "ServiceAccount", "name": name});
            let binding = json!({"roleRef": role, "subjects": [subject]});
            let kind = format!("{kind}Binding");
            let mut binding = self.object(phase, api, &kind, &name, namespace, binding);
            let subjects = binding.root.get_mut("subjects").and_then(Value::as_seq_mut);
            for subject in subjects.into_iter().flatten().filter_map(Value::as_map_mut) {
                subject.insert("namespace".to_owned(), Value::Expr(Expr::ReleaseNamespace));
            }
            objects.push(binding);
        }
        objects
    }

    /// Returns the permissions that the steps need, and no more.
    fn rules(&self, steps: &[&StepAfter]) -> Rules {
        let mut rules = Rules::new();
        let mut allow = |target: &Target, plural: Option<&str>, verbs: &'static [&'static str]| {
            let place = match (self.scope(target), self.other_namespace(target)) {
                (Some(Scope::Cluster), _) => RolePlace::Cluster,
                (_, None) => RolePlace::Release,
                (_, Some(name)) => RolePlace::Namespace(name.to_owned()),
            };
            let plural = plural.map_or_else(|| self.plural(target), str::to_owned);
            let key = (place, target.group.clone(), plural, verbs);
            rules.entry(key).or_default().insert(target.name.clone());
        };
        for step in steps {
            allow(&step.target, step.resource.as_deref(), CHANGE);
            for gate in &step.gates {
                let is_target =
                    gate.target.kind == step.target.kind && gate.target.group == step.target.group;
                let plural = step.resource.as_deref().filter(|_| is_target);
                allow(&gate.target, plural, AWAIT);
            }
        }
        rules
    }

    /// Returns the resource of a kind: of its CRD, or else the English plural.
    fn plural(&self, target: &Target) -> String {
        let defined = self.definitions.plural(&target.group, &target.kind);
        defined.map_or_else(|| english_plural(&target.kind), str::to_owned)
    }

    /// Returns the Job, with a container for each step: all but the last are init containers, which
    /// run one after the other.
    fn job(&self, steps: &[&StepAfter], phase: Phase, name: &str) -> Object {
        // The scripts name namespaces by variables, because values may change them.
        let targets = steps.iter().flat_map(|step| {
            std::iter::once(&step.target).chain(step.gates.iter().map(|g| &g.target))
        });
        let others: BTreeSet<&str> =
            targets.filter_map(|target| self.other_namespace(target)).collect();
        let variables: BTreeMap<String, String> = others
            .iter()
            .zip(1..)
            .map(|(namespace, number)| ((*namespace).to_owned(), format!("NAMESPACE_{number}")))
            .collect();

        let is_cluster_scoped = |target: &Target| self.scope(target) == Some(Scope::Cluster);
        let commands: Vec<Step> =
            steps.iter().map(|step| Step::new(step, is_cluster_scoped(&step.target))).collect();
        let mut containers: Vec<Value> = Vec::new();
        for ((step, command), number) in steps.iter().zip(&commands).zip(1..) {
            let script = command.script(Namespaces::InPod(&variables));
            let image = step.image.as_deref().unwrap_or(KUBECTL_IMAGE);
            containers.push(self.container(number, image, &script, &variables));
        }
        let last: Vec<Value> = containers.pop().into_iter().collect();

        let spec = json!({
            "activeDeadlineSeconds": job_seconds(&commands),
            "backoffLimit": 2,
            "template": {"spec": {
                "restartPolicy": "Never",
                "serviceAccountName": name,
                "securityContext": pod_security(),
            }},
        });
        let mut job =
            self.object(phase, "batch/v1", "Job", name, Some(None), json!({"spec": spec}));
        if let Some(pod) = job.pod_spec_mut() {
            if !containers.is_empty() {
                pod.insert("initContainers".to_owned(), Value::Seq(containers));
            }
            pod.insert("containers".to_owned(), Value::Seq(last));
        }
        job.annotate("helm.sh/hook", "post-install,post-upgrade");
        job.annotate("helm.sh/hook-weight", WEIGHT);
        // A Job that failed stays until the next one, for its logs.
        job.annotate("helm.sh/hook-delete-policy", "before-hook-creation,hook-succeeded");
        job
    }

    fn container(
        &self,
        number: usize,
        image: &str,
        script: &str,
        variables: &BTreeMap<String, String>,
    ) -> Value {
        let env = variables.iter().map(|(namespace, variable)| {
            Value::map([
                ("name", Value::text(variable)),
                ("value", self.namespace(Some(namespace))),
            ])
        });
        let env = (!variables.is_empty()).then(|| Value::Seq(env.collect()));
        let resources = json!({
            "requests": {"cpu": "10m", "memory": "64Mi"},
            "limits": {"memory": "256Mi"},
        });
        let entries = [
            ("name", Some(Value::text(format!("step-{number}")))),
            ("image", Some(Value::text(image))),
            ("command", Some(Value::texts(["/bin/sh", "-c", script]))),
            ("env", env),
            ("securityContext", Some(Value::from(&container_security()))),
            ("resources", Some(Value::from(&resources))),
        ];
        Value::map(entries.into_iter().filter_map(|(key, value)| Some((key, value?))))
    }

    /// Returns an object of this content. `namespace` is `None` for cluster-scoped objects, and
    /// `Some(None)` for the release namespace.
    fn object(
        &self,
        phase: Phase,
        api_version: &str,
        kind: &str,
        name: &str,
        namespace: Option<Option<&str>>,
        content: Json,
    ) -> Object {
        let mut metadata = vec![("name", Value::text(name))];
        metadata.extend(namespace.map(|namespace| ("namespace", self.namespace(namespace))));
        let mut root = crate::ir::Map::from_iter([
            ("apiVersion".to_owned(), Value::text(api_version)),
            ("kind".to_owned(), Value::text(kind)),
            ("metadata".to_owned(), Value::map(metadata)),
        ]);
        for (key, value) in content.as_object().into_iter().flatten() {
            root.insert(key.clone(), Value::from(value));
        }
        let mut object = Object::new(root, Origin::Added("steps after"));
        object.phase = phase;
        object.when = Some(Condition::Set(by_hook()));
        object
    }
}

/// Returns the plural that nearly all APIs have for a kind.
fn english_plural(kind: &str) -> String {
    let kind = kind.to_lowercase();
    let before = |end: &str| kind.strip_suffix(end).and_then(|rest| rest.chars().next_back());
    match before("y") {
        _ if kind.ends_with("endpoints") => kind,
        Some(letter) if !"aeiou".contains(letter) => {
            format!("{}ies", kind.strip_suffix('y').unwrap_or(&kind))
        }
        _ if ["s", "x", "ch", "sh"].iter().any(|end| kind.ends_with(end)) => kind + "es",
        _ => kind + "s",
    }
}

#[cfg(test)]
mod tests {
    use super::english_plural;

    #[test]
    fn plurals_are_those_of_the_apis() {
        for (kind, plural) in [
            ("MutatingWebhookConfiguration", "mutatingwebhookconfigurations"),
            ("NetworkPolicy", "networkpolicies"),
            ("Gateway", "gateways"),
            ("Ingress", "ingresses"),
            ("Endpoints", "endpoints"),
            ("EndpointSlice", "endpointslices"),
            ("StorageClass", "storageclasses"),
        ] {
            assert_eq!(english_plural(kind), plural);
        }
    }
}
