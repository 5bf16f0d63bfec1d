//! Kubernetes objects with their provenance.

use super::{Condition, Expr, Identity, Map, Step, Value, group_of};
use crate::diag::{Code, Diagnostic, Place};
use std::fmt;

/// The reason in [`Origin::Added`] for Secrets that pods pull images with.
pub const PULL_SECRET: &str = "pull secret";

/// The reason in [`Origin::Added`] for the namespaces and ServiceAccounts of operands.
pub const OPERANDS: &str = "operands";

/// The labels that Helm recommends: name, instance, managed-by, and those of the version.
pub const RELEASE_LABELS: [&str; 5] = [
    "app.kubernetes.io/name",
    "app.kubernetes.io/instance",
    "app.kubernetes.io/managed-by",
    "app.kubernetes.io/version",
    "helm.sh/chart",
];

/// Labels and annotations whose values follow from the version of the chart.
pub const VERSION_METADATA: [&str; 4] =
    [RELEASE_LABELS[3], RELEASE_LABELS[4], CRD_VERSION, CRD_REPLACES];

/// The annotation of a CRD with the version that it is from, a semantic version.
pub const CRD_VERSION: &str = "bundle2chart/version";

/// The annotation of a CRD with the latest version that its own replaces in the vendor's upgrade graph,
/// if that is later as a semantic version.
pub const CRD_REPLACES: &str = "bundle2chart/replaces-version";

/// The origin of an object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Origin {
    /// A document of a bundle file.
    File {
        /// Path relative to the bundle root, for example `manifests/service.yaml`.
        file: String,
        /// 1-based number of the YAML document.
        document: usize,
        /// 1-based line on which the object begins.
        line: usize,
        /// JSON path inside the document: empty, or `.items[2]` for an item of a List.
        path: String,
    },
    /// Derived from the CSV, at this JSON path.
    Csv {
        /// The CSV's file.
        file: String,
        /// 1-based number of the YAML document.
        document: usize,
        /// The JSON path, for example `.spec.install.spec.deployments[0]`.
        path: String,
    },
    /// A document of the user: of an overlay, or of a `[[chart]]`.
    Overlay {
        /// The file, as places name it.
        file: String,
        /// 1-based number of the YAML document.
        document: usize,
        /// 1-based line on which the object begins.
        line: usize,
        /// JSON path inside the document: empty, or `.items[2]` for an item of a List.
        path: String,
    },
    /// A stub of a CRD of another project, for clusters that do not have it.
    Stub,
    /// Added by a pass or by the configuration, for this reason.
    Added(&'static str),
}

impl Origin {
    /// Returns the place in the input; none for objects that are not in it.
    pub fn place(&self) -> Place {
        match self {
            Origin::File { file, document, line, path }
            | Origin::Overlay { file, document, line, path } => {
                Place { document: Some(*document), line: Some(*line), ..Place::file(file) }
                    .path(path)
            }
            Origin::Csv { file, document, path } => {
                Place { document: Some(*document), ..Place::file(file) }.path(path)
            }
            Origin::Stub | Origin::Added(_) => Place::default(),
        }
    }
}

/// The installation phase of an object, in order.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Phase {
    /// Before the operator.
    Before,
    /// With the operator.
    #[default]
    With,
    /// After the operator is ready, in a separate chart.
    Operand,
}

/// The ServiceAccount that every namespace has.
pub const DEFAULT_ACCOUNT: &str = "default";

/// Built-in kinds that are pods or create pods.
pub const WORKLOADS: [&str; 7] =
    ["CronJob", "DaemonSet", "Deployment", "Job", "Pod", "ReplicaSet", "StatefulSet"];

/// Kinds whose pods run all the time, and that `kubectl rollout status` waits for.
pub const LASTING_WORKLOADS: [&str; 3] = ["DaemonSet", "Deployment", "StatefulSet"];

/// Returns the keys on the way to the specification of pods.
pub fn pod_spec_keys(kind: &str) -> &'static [&'static str] {
    match kind {
        "Pod" => &["spec"],
        "CronJob" => &["spec", "jobTemplate", "spec", "template", "spec"],
        _ => &["spec", "template", "spec"],
    }
}

/// Keys of a pod spec that name its ServiceAccount; the first that is not empty does.
// The second is the name of the field before Kubernetes 1.0, which the API server still copies.
pub const ACCOUNT_KEYS: [&str; 2] = ["serviceAccountName", "serviceAccount"];

/// Returns the ServiceAccount of a pod spec.
pub fn account(pod: &Map) -> &str {
    ACCOUNT_KEYS
        .into_iter()
        .filter_map(|key| pod.get(key)?.as_str())
        .find(|name| !name.is_empty())
        .unwrap_or(DEFAULT_ACCOUNT)
}

/// A Kubernetes object on its way into a chart.
#[derive(Clone, Debug, PartialEq)]
pub struct Object {
    /// The whole object, from `apiVersion` on.
    pub root: Map,
    /// The origin.
    pub origin: Origin,
    /// The condition for rendering the object; `None` renders it always.
    pub when: Option<Condition>,
    /// The installation phase.
    pub phase: Phase,
}

impl Object {
    /// Returns an object that is always present, and installed with the operator.
    pub fn new(root: Map, origin: Origin) -> Self {
        Object { root, origin, when: None, phase: Phase::default() }
    }

    /// Returns `apiVersion`, or an empty text if it is none.
    pub fn api_version(&self) -> &str {
        self.root.get("apiVersion").and_then(Value::as_str).unwrap_or_default()
    }

    /// API group; empty for the core group.
    pub fn group(&self) -> &str {
        group_of(self.api_version())
    }

    /// `kind`
    pub fn kind(&self) -> &str {
        self.root.get("kind").and_then(Value::as_str).unwrap_or_default()
    }

    /// `metadata.name`
    pub fn name(&self) -> &str {
        self.metadata("name").and_then(Value::as_str).unwrap_or_default()
    }

    /// Returns an entry of `metadata`.
    pub fn metadata(&self, key: &str) -> Option<&Value> {
        self.root.get("metadata")?.get(key)
    }

    /// Returns `metadata`, which is created if it is missing or not a map.
    pub fn metadata_mut(&mut self) -> &mut Map {
        self.root.map_at("metadata")
    }

    /// Returns `metadata.annotations`, which are created if they are missing or not a map.
    pub fn annotations_mut(&mut self) -> &mut Map {
        self.metadata_mut().map_at("annotations")
    }

    /// Sets an annotation.
    pub fn annotate(&mut self, key: &str, value: impl Into<Value>) {
        self.annotations_mut().insert(key.to_owned(), value.into());
    }

    /// Returns the value at the end of these map keys.
    pub fn at(&self, keys: &[&str]) -> Option<&Value> {
        let (first, rest) = keys.split_first()?;
        self.root.get(first)?.at(rest)
    }

    /// Removes the entry of a map at the end of these steps.
    pub fn remove(&mut self, steps: &[Step]) -> Option<Value> {
        let (Step::Key(last), above) = steps.split_last()? else { return None };
        let Some((Step::Key(first), above)) = above.split_first() else {
            return self.root.shift_remove(last);
        };
        let parent =
            above.iter().try_fold(self.root.get_mut(first)?, |value, step| match step {
                Step::Key(key) => value.as_map_mut()?.get_mut(key),
                Step::Index(index) => value.as_seq_mut()?.get_mut(*index),
                Step::Item(_) | Step::Order(_) => None,
            })?;
        parent.as_map_mut()?.shift_remove(last)
    }

    /// Returns true if the object can only be written as a template.
    pub fn has_expression(&self) -> bool {
        // A condition is template text as well.
        self.when.is_some() || self.root.has(|_| true)
    }

    /// Returns true if the object depends on values of the chart, or on a certificate that it
    /// generates, which a subchart does not have.
    pub fn reads_values(&self) -> bool {
        self.when.is_some() || self.root.has(Expr::reads_values)
    }

    /// Returns the specification of a workload's pods.
    pub fn pod_spec(&self) -> Option<&Map> {
        self.at(pod_spec_keys(self.kind()))?.as_map()
    }

    /// Returns the specification of a workload's pods.
    pub fn pod_spec_mut(&mut self) -> Option<&mut Map> {
        let mut keys = pod_spec_keys(self.kind()).iter();
        // Not `map_at`: a look must not add a specification to an object without one.
        keys.try_fold(&mut self.root, |map, key| map.get_mut(key)?.as_map_mut())
    }

    /// Returns the ServiceAccount of a workload's pods.
    pub fn account(&self) -> &str {
        self.pod_spec().map_or(DEFAULT_ACCOUNT, account)
    }

    /// Returns the init containers and containers of a workload.
    pub fn containers(&self) -> impl Iterator<Item = &Value> {
        let pod = self.pod_spec();
        ["initContainers", "containers"]
            .into_iter()
            .flat_map(move |key| pod.and_then(|pod| pod.get(key)?.as_seq()).unwrap_or_default())
    }

    /// Returns every expression in it, in order.
    pub fn expressions(&self) -> Vec<&Expr> {
        let mut found = Vec::new();
        self.root.values().for_each(|value| value.expressions(&mut found));
        found
    }

    /// Returns the identity. Instead of a namespace or a name that a value has, it has the path of the
    /// value; the release namespace is empty.
    pub fn id(&self) -> Identity {
        let text = |key: &str| match self.metadata(key) {
            Some(Value::Text(text)) => text.clone(),
            // Two objects whose names come from one value have the same name in every release.
            Some(Value::Expr(expr)) => expr.path().map(ToString::to_string).unwrap_or_default(),
            _ => String::new(),
        };
        Identity {
            kind: self.kind().to_owned(),
            group: self.group().to_owned(),
            namespace: text("namespace"),
            name: text("name"),
        }
    }

    /// Returns `Kind/name`, for messages.
    pub fn label(&self) -> String {
        self.to_string()
    }

    /// Returns the place of the object, for diagnostics.
    pub fn place(&self) -> Place {
        self.origin.place().object(self.label())
    }

    /// Returns an error about the object.
    pub fn error(&self, code: Code, message: impl Into<String>) -> Diagnostic {
        Diagnostic::error(code, message).at(self.place())
    }

    /// Returns a warning about the object.
    pub fn warning(&self, code: Code, message: impl Into<String>) -> Diagnostic {
        Diagnostic::warning(code, message).at(self.place())
    }

    /// Returns a note about the object.
    pub fn note(&self, code: Code, message: impl Into<String>) -> Diagnostic {
        Diagnostic::note(code, message).at(self.place())
    }

    /// Returns the place of this JSON path of the object, for diagnostics. Objects generated from
    /// an entry of a CSV share only some paths with it.
    pub fn place_at(&self, path: &str) -> Place {
        let path = match (&self.origin, self.kind()) {
            // Only these parts are copied from the CSV unchanged; a path in the rest would lead
            // nowhere in its file.
            (Origin::Csv { .. }, "Deployment") if path.starts_with(".spec") => path,
            (Origin::Csv { .. }, "Role" | "ClusterRole") if path.starts_with(".rules") => path,
            (
                Origin::Csv { .. },
                "MutatingWebhookConfiguration" | "ValidatingWebhookConfiguration",
            ) => path.strip_prefix(".webhooks[0]").unwrap_or_default(),
            (Origin::Csv { .. }, _) => "",
            _ => path,
        };
        self.place().path(path)
    }
}

impl fmt::Display for Object {
    /// Writes `Kind/name`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.kind(), self.id().name)
    }
}
