//! Hook Jobs that run kubectl: a container for each script, and a ServiceAccount with permissions for
//! exactly the objects in the scripts. Helm, Argo CD and Flux run them.

use super::{Definitions, after, operand_namespace, switch_gates};
use crate::config::{BundleConfig, Target};
use crate::diag::{Code, Diagnostic, Diagnostics, Span};
use crate::ir::{
    Condition, Expr, Map, Object, Origin, Phase, Scope, Scopes, Unit, Value, ValueSpec, ValuesPath,
    map, value,
};
use crate::kinds::scope_of;
use crate::olm;
use serde_json::json;
use std::collections::{BTreeMap, BTreeSet};

/// Seconds that the pod may take besides its waiting: to be scheduled, and to pull its image.
pub(super) const START: u64 = 300;

/// A user that is not root, for images without one.
const USER: u32 = 65532;

/// Returns the value with the user of the pods. OpenShift refuses one that is not in the range of the
/// namespace, and selects one if there is none.
fn user() -> ValueSpec {
    ValueSpec::new(
        ValuesPath::new(["kubectl", "runAsUser"]),
        json!(USER),
        json!({"type": ["integer", "null"], "minimum": 1}),
        "User ID in the pods of hook Jobs, which run kubectl. Set to null on \
                OpenShift, which selects one.",
    )
}

/// Returns the Jobs of steps after the installation and of gates of switches, with all that they
/// need, and values of which they may read some. `objects` are all others of the chart, and
/// `namespaces` those that mean the release namespace.
pub fn hook_jobs(
    config: &BundleConfig,
    namespaces: &[String],
    objects: &[Object],
    diagnostics: &mut Diagnostics,
) -> Unit {
    let definitions = Definitions::of(objects.iter());
    let scopes = definitions.scopes(&config.scopes);
    let context = Context { config, namespaces, definitions, scopes };
    let mut made = after::after(&context, objects, diagnostics);
    made.extend(switch_gates::switch_gates(&context, diagnostics));
    let values = vec![after::by_hook(), switch_gates::by_hook(), user()];
    Unit { objects: made, values, ..Unit::default() }
}

/// Weight of hooks that a Job before the installation needs.
const PERMISSIONS_WEIGHT: &str = "-1001";

/// A hook Job.
pub(super) struct HookJob<'a> {
    /// Name of the Job, and of the ServiceAccount and Roles that it needs.
    pub(super) name: String,
    pub(super) phase: Phase,
    /// True if it runs before the objects of the release are created or changed, false if after that. Then
    /// its other objects are no hooks, so that they exist before it and are removed with the release.
    pub(super) is_before: bool,
    /// Condition for rendering it.
    pub(super) when: Condition,
    /// Origin of the objects.
    pub(super) reason: &'static str,
    /// The image and the commands for a POSIX shell of its containers, which run one after the other.
    pub(super) containers: Vec<(&'a str, String)>,
    /// Environment variables with the namespaces that the scripts name.
    pub(super) variables: BTreeMap<String, String>,
    pub(super) rules: Rules,
    /// Time limit in seconds.
    pub(super) seconds: u64,
}

/// The inputs of the hook Jobs of a chart.
pub(super) struct Context<'a> {
    pub(super) config: &'a BundleConfig,
    /// Namespaces that mean the release namespace.
    pub(super) namespaces: &'a [String],
    definitions: Definitions<'a>,
    pub(super) scopes: Scopes,
}

/// The place of permissions, and of other objects of a Job.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum RolePlace {
    /// The release namespace.
    Release,
    /// The cluster, for objects without a namespace.
    Cluster,
    /// Another namespace.
    Namespace(String),
}

/// Permissions for objects of one kind in one namespace, or in none.
pub(super) type Rules =
    BTreeMap<(RolePlace, String, String, &'static [&'static str]), BTreeSet<String>>;

/// Verbs for an object that is changed: kubectl reads it first.
pub(super) const CHANGE: &[&str] = &["get", "patch"];

/// Verbs for an object that is awaited.
pub(super) const AWAIT: &[&str] = &["get", "list", "watch"];

impl Context<'_> {
    /// Returns the scope of an object; one with a namespace is namespaced.
    pub(super) fn scope(&self, target: &Target) -> Option<Scope> {
        let known = scope_of(&target.group, &target.kind, &self.scopes);
        // A kind that neither Kubernetes nor a CRD here has: the user's `namespace` says it.
        known.or(target.namespace.as_ref().map(|_| Scope::Namespaced))
    }

    /// Reports an object whose scope is unknown or contradicts its namespace; `unknown` follows from
    /// the first.
    pub(super) fn check(
        &self,
        code: Code,
        unknown: &str,
        target: &Target,
        span: &Span,
        diagnostics: &mut Diagnostics,
    ) {
        let kind = match target.group.as_str() {
            "" => target.kind.clone(),
            group => format!("{group}/{}", target.kind),
        };

        let (message, hint) = match (self.scope(target), &target.namespace) {
            (None, _) => (
                format!("unknown scope of kind `{kind}`, so {unknown} unknown"),
                format!(
                    "write scopes = {{ {kind:?} = \"Namespaced\" }}, or \"Cluster\", in the table \
                        of the bundle or chart"
                ),
            ),
            (Some(Scope::Cluster), Some(_)) => (
                format!("`{kind}` is cluster-scoped, so {} has no namespace", target.name),
                "remove `namespace`".to_owned(),
            ),
            _ => return,
        };

        diagnostics.push(Diagnostic::error(code, message).at(span).hint(hint));
    }

    /// Returns the namespace if it is another than that of the release.
    fn other<'t>(&self, namespace: Option<&'t str>) -> Option<&'t str> {
        namespace.filter(|name| self.namespaces.iter().all(|own| own != name))
    }

    /// Returns true if an object is in the namespace of a target.
    pub(super) fn same_namespace(&self, object: &Object, target: &Target) -> bool {
        let namespace = object.metadata("namespace").and_then(Value::as_str);
        self.scope(target) == Some(Scope::Cluster)
            || self.other(namespace) == self.other(target.namespace.as_deref())
    }

    /// Returns the expression for a namespace that is not the release namespace.
    fn namespace(&self, name: &str) -> Value {
        let known = operand_namespace(&self.config.operands.namespaces, name);
        known.map_or_else(|| Value::text(name), Value::Expr)
    }

    /// Returns environment variables for the namespaces of these objects, by namespace: scripts name
    /// them by variables, because values may change them.
    pub(super) fn variables<'t>(
        &self,
        targets: impl Iterator<Item = &'t Target>,
    ) -> BTreeMap<String, String> {
        let others: BTreeSet<&str> =
            targets.filter_map(|target| self.other(target.namespace.as_deref())).collect();
        // Sorted, so that a namespace has the same number in every build.
        let numbered = others.into_iter().zip(1..);
        numbered.map(|(name, number)| (name.to_owned(), format!("NAMESPACE_{number}"))).collect()
    }

    /// Adds permissions for an object. `plural` is its resource, if known.
    pub(super) fn allow(
        &self,
        rules: &mut Rules,
        target: &Target,
        plural: Option<&str>,
        verbs: &'static [&'static str],
    ) {
        let place = match (self.scope(target), self.other(target.namespace.as_deref())) {
            (Some(Scope::Cluster), _) => RolePlace::Cluster,
            (_, None) => RolePlace::Release,
            (_, Some(name)) => RolePlace::Namespace(name.to_owned()),
        };
        let plural = plural.map_or_else(|| self.plural(target), str::to_owned);
        let key = (place, target.group.clone(), plural, verbs);
        rules.entry(key).or_default().insert(target.name.clone());
    }

    /// Returns the resource of a kind: of its CRD, or else the English plural.
    fn plural(&self, target: &Target) -> String {
        let defined = self.definitions.plural(&target.group, &target.kind);
        defined.map_or_else(|| english_plural(&target.kind), str::to_owned)
    }

    /// Returns a Job and what it needs.
    pub(super) fn objects(&self, job: &HookJob<'_>) -> Vec<Object> {
        let account = map! {
            "apiVersion": "v1",
            "kind": "ServiceAccount",
            "metadata": self.metadata(job, &RolePlace::Release),
        };
        let mut objects = vec![object(job, account), self.job(job)];
        let places: BTreeSet<&RolePlace> = job.rules.keys().map(|(place, ..)| place).collect();
        for place in places {
            objects.extend(self.permissions(job, place));
        }
        objects
    }

    /// Returns the Role of a Job in one place, and its binding.
    fn permissions(&self, job: &HookJob<'_>, place: &RolePlace) -> [Object; 2] {
        let here = job.rules.iter().filter(|((other, ..), _)| other == place);
        let rules = here.map(|((_, group, resource, verbs), names)| {
            value!({
                "apiGroups": [group],
                "resources": [resource],
                // Also for list and watch: kubectl asks with a field selector for the name.
                "resourceNames": Value::texts(names),
                "verbs": Value::texts(verbs.iter().copied()),
            })
        });
        let kind = if *place == RolePlace::Cluster { "ClusterRole" } else { "Role" };
        let metadata = self.metadata(job, place);
        let role = olm::role(kind, metadata.clone(), Value::Seq(rules.collect()));
        [role, olm::binding(metadata, [kind, &job.name], &job.name)].map(|root| object(job, root))
    }

    /// Returns the Job itself: all containers but the last are init containers, which run one after
    /// the other.
    fn job(&self, job: &HookJob<'_>) -> Object {
        let containers = job.containers.iter().zip(1..);
        let mut containers: Vec<Value> =
            containers.map(|(one, number)| self.container(job, one, number)).collect();
        let last: Vec<Value> = containers.pop().into_iter().collect();
        let user = user().path;
        let run_as = Value::Expr(Expr::Integer(user.clone()));

        let root = map! {
            "apiVersion": "batch/v1",
            "kind": "Job",
            "metadata": self.metadata(job, &RolePlace::Release),
            "spec": {
                "activeDeadlineSeconds": job.seconds,
                "backoffLimit": 2,
                "template": {"spec": {
                    // With `OnFailure` a failed pod is deleted at the limit, and its log with it.
                    "restartPolicy": "Never",
                    "serviceAccountName": &job.name,
                    // As restricted pod security requires it, here and for the containers.
                    "securityContext": {
                        "runAsNonRoot": true,
                        "runAsUser": Value::when(Condition::Set(user), run_as),
                        "seccompProfile": {"type": "RuntimeDefault"},
                    },
                    "initContainers": ?(!containers.is_empty()).then_some(containers),
                    "containers": last,
                }},
            },
        };
        object(job, root)
    }

    fn container(
        &self,
        job: &HookJob<'_>,
        (image, script): &(&str, String),
        number: usize,
    ) -> Value {
        let what = if job.is_before { "gate" } else { "step" };
        let env = job.variables.iter().map(
            |(namespace, variable)| value!({"name": variable, "value": self.namespace(namespace)}),
        );
        let env: Vec<Value> = env.collect();
        value!({
            "name": format!("{what}-{number}"),
            "image": *image,
            "command": ["/bin/sh", "-c", script],
            "env": ?(!env.is_empty()).then_some(env),
            "securityContext": {
                "allowPrivilegeEscalation": false,
                "capabilities": {"drop": ["ALL"]},
                "readOnlyRootFilesystem": true,
            },
            "resources": {
                "requests": {"cpu": "10m", "memory": "64Mi"},
                "limits": {"memory": "256Mi"},
            },
        })
    }

    /// Returns `metadata` of an object of a Job.
    fn metadata(&self, job: &HookJob<'_>, place: &RolePlace) -> Value {
        let namespace = match place {
            RolePlace::Release => Some(Value::Expr(Expr::ReleaseNamespace)),
            RolePlace::Cluster => None,
            RolePlace::Namespace(name) => Some(self.namespace(name)),
        };
        value!({"name": &job.name, "namespace": ?namespace})
    }
}

/// Returns an object of a Job.
fn object(job: &HookJob<'_>, root: Map) -> Object {
    let when = Some(job.when.clone());
    let mut object =
        Object { phase: job.phase, when, ..Object::new(root, Origin::Added(job.reason)) };
    let is_job = object.kind() == "Job";
    if is_job || job.is_before {
        // The weights are before or after hooks of overlays, which seldom have one below -10 or above 10.
        let (hook, weight) = match job.is_before {
            true => ("pre-install,pre-upgrade", "-1000"),
            false => ("post-install,post-upgrade", "1000"),
        };
        object.annotate("helm.sh/hook", hook);
        object.annotate("helm.sh/hook-weight", if is_job { weight } else { PERMISSIONS_WEIGHT });
        // A Job that failed stays until the next one, for its logs.
        object.annotate("helm.sh/hook-delete-policy", "before-hook-creation,hook-succeeded");
    }
    object
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
