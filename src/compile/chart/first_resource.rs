//! The custom resource that makes an operator work, from the examples of its ClusterServiceVersion.

use super::{Companions, Description};
use crate::bundle::ClusterServiceVersion;
use crate::escape::{self, markdown};
use crate::fields::list;
use crate::ir::Value;
use crate::yaml;
use serde_json::Value as Json;
use std::fmt::Write as _;

/// Maximum number of lines of an example in NOTES.txt and in bundles.toml.
const SHORT: usize = 30;

/// Maximum number of bytes of an example in README.md, which is part of the release.
const LONGEST: usize = 8_000;

/// An example of a custom resource.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FirstResource {
    /// Its kind.
    pub kind: String,
    /// The object as YAML.
    pub yaml: String,
    /// True if it names no namespace.
    without_namespace: bool,
}

impl FirstResource {
    /// Returns the resource that the ClusterServiceVersion names as the first one, or the first of its
    /// examples of a kind that it owns and that is for users. Kinds of a group such as
    /// `operator.example.com` configure the operator itself, and come before others.
    pub fn of(csv: &ClusterServiceVersion) -> Option<Self> {
        let internal = csv.json_annotation("operators.operatorframework.io/internal-objects");
        let internal = internal.as_ref().and_then(Json::as_array).map(Vec::as_slice);
        let is_internal = |name: &str| internal.unwrap_or_default().iter().any(|own| own == name);
        let owned = list(csv.object.at(&["spec", "customresourcedefinitions", "owned"]));
        let is_own = |example: &Json| {
            let group = example["apiVersion"].as_str().and_then(|api| api.split('/').next());
            owned.iter().any(|crd| {
                let text = |key: &str| crd.get(key).and_then(Value::as_str);
                let Some((name, (_, own))) =
                    text("name").and_then(|n| Some((n, n.split_once('.')?)))
                else {
                    return false;
                };
                text("kind") == example["kind"].as_str() && Some(own) == group && !is_internal(name)
            })
        };
        let examples = csv.examples().into_iter().filter(is_own);
        // Of equal ones `min_by_key` returns the first, so that the vendor's order counts.
        let is_other = |example: &Json| {
            !example["apiVersion"].as_str().is_some_and(|version| version.starts_with("operator."))
        };
        let first = csv.json_annotation("operatorframework.io/initialization-resource");
        let first = first.filter(is_own).or_else(|| examples.min_by_key(is_other))?;

        Some(FirstResource {
            // A bundle may contain characters that terminals obey.
            kind: escape::visible(first["kind"].as_str()?).into_owned(),
            yaml: escape::lines(&yaml::plain_value(&Value::from(&first)).ok()?).into_owned(),
            without_namespace: first["metadata"]["namespace"].is_null(),
        })
    }

    /// Returns true if it fits between other text.
    pub fn is_short(&self) -> bool {
        self.yaml.lines().count() <= SHORT
    }

    /// Returns the command that creates it from a file.
    fn command(&self, namespace: &str, file: &str) -> String {
        let namespace = match self.without_namespace {
            true => format!(" --namespace {namespace}"),
            false => String::new(),
        };
        format!("kubectl create{namespace} -f {file}")
    }
}

/// Returns the resource that the documents of a chart show: none if a chart of operands exists.
pub(super) fn of_chart(
    description: &Description<'_>,
    companions: Companions,
) -> Option<FirstResource> {
    let bundle = description.bundle.filter(|_| !companions.operands)?;
    FirstResource::of(&bundle.csv)
}

/// Appends the section of README.md.
pub(super) fn section(text: &mut String, first: &FirstResource, namespace: &str) {
    let kind = markdown::code(&first.kind);
    let _ = write!(
        text,
        "\n## First custom resource\n\nWhen the operator is ready, create a {kind}: `{}`. ",
        first.command(namespace, "FILE")
    );
    if first.yaml.len() > LONGEST {
        text.push_str(
            "The annotation `alm-examples` of the ClusterServiceVersion has an example.\n",
        );
        return;
    }
    let fence = markdown::fence(first.yaml.lines());
    let _ = write!(text, "The example of the bundle:\n\n{fence}yaml\n{}{fence}\n", first.yaml);
}

/// Appends the paragraph of NOTES.txt.
pub(super) fn notes(text: &mut String, first: &FirstResource) {
    let kind = yaml::escape(&first.kind);
    let _ = match first.is_short() {
        // No line of a map in YAML is a single word.
        true => write!(
            text,
            "\nWhen the operator is ready, create a {kind}. The example of the bundle:\n\
             {} <<'EOF'\n{}EOF\n",
            first.command("{{ .Release.Namespace }}", "-"),
            yaml::escape(&first.yaml)
        ),
        false => write!(
            text,
            "\nWhen the operator is ready, create a {kind}: README.md has the example of the bundle.\n"
        ),
    };
}
