//! The custom resource that makes an operator work, from the examples of its ClusterServiceVersion.

use crate::bundle::ClusterServiceVersion;
use crate::escape;
use crate::ir::{Object, Origin, Value};
use crate::{overlay, yaml};
use serde_json::Value as Json;

/// Maximum number of bytes of an example in NOTES.txt, which `helm install` prints, and in
/// bundles.toml: 97 % of the examples of real bundles have less.
const SHORT: usize = 5_000;

/// Maximum number of bytes of an example in README.md, which is part of the release.
const LONGEST: usize = 20_000;

/// An example of a custom resource.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FirstResource {
    /// Its kind.
    pub kind: String,
    /// The object as YAML.
    pub yaml: String,
    /// Why a build or the API server would refuse it.
    pub faults: Vec<String>,
    /// True if it names no namespace.
    without_namespace: bool,
}

impl FirstResource {
    /// Returns the resource that the ClusterServiceVersion names as the first one, or the first of its
    /// examples of a kind that it owns and that is for users. Kinds of a group such as
    /// `operator.example.com` configure the operator itself, and come before others. The CRDs among
    /// `objects` are the ones that it is checked against.
    pub fn of(csv: &ClusterServiceVersion, objects: &[Object]) -> Option<Self> {
        let internal = csv.json_annotation("operators.operatorframework.io/internal-objects");
        let internal = internal.as_ref().and_then(Json::as_array).map(Vec::as_slice);
        let is_internal = |name: &str| internal.unwrap_or_default().iter().any(|own| own == name);
        let is_own = |example: &Json| {
            let group = example["apiVersion"].as_str().and_then(|api| api.split('/').next());
            csv.owned_crds.iter().any(|crd| {
                let is_of_group =
                    crd.name.split_once('.').is_some_and(|(_, own)| Some(own) == group);
                is_of_group && example["kind"] == crd.kind.as_str() && !is_internal(&crd.name)
            })
        };
        let examples = csv.examples().into_iter().filter(is_own);
        // Of equal ones `min_by_key` returns the first, so that the vendor's order counts.
        let is_other = |example: &Json| {
            !example["apiVersion"].as_str().is_some_and(|version| version.starts_with("operator."))
        };
        let first = csv.json_annotation("operatorframework.io/initialization-resource");
        let mut first = first.filter(is_own).or_else(|| examples.min_by_key(is_other))?;
        // The operator's, and the API server ignores or refuses it.
        first.as_object_mut()?.remove("status");

        let Value::Map(root) = Value::from(&first) else { return None };
        let object = Object::new(*root, Origin::Added("example"));
        let faults = overlay::refused_resource(&object, objects);
        // A bundle may contain characters that terminals obey.
        let visible = |text: &str| escape::visible(text).into_owned();
        Some(FirstResource {
            kind: visible(object.kind()),
            yaml: escape::lines(&yaml::plain_value(&Value::from(&first)).ok()?).into_owned(),
            faults: faults.iter().map(|fault| visible(fault)).collect(),
            without_namespace: first["metadata"]["namespace"].is_null(),
        })
    }

    /// Returns true if it fits between other text.
    pub fn is_short(&self) -> bool {
        self.yaml.len() <= SHORT
    }

    /// Returns true if it is too long for README.md.
    pub(super) fn is_long(&self) -> bool {
        self.yaml.len() > LONGEST
    }

    /// Returns the article of the kind.
    pub fn article(&self) -> &'static str {
        if self.kind.starts_with(['A', 'E', 'I', 'O']) { "an" } else { "a" }
    }

    /// Returns the command that creates it from a file.
    pub(super) fn command(&self, namespace: &str, file: &str) -> String {
        let namespace = match self.without_namespace {
            true => format!(" --namespace {namespace}"),
            false => String::new(),
        };
        format!("kubectl create{namespace} -f {file}")
    }
}
