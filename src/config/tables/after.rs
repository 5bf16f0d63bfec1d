//! `[[bundle.after]]` and `[[chart.after]]`: changes to objects that others create, after the
//! installation.

use super::ready::{ChartPhase, StepGate, TimeLimit, has_phase};
use super::*;
use crate::ir::{Release, is_label_key, is_label_value};
use serde_json::Map;

table! {
    /// Steps after the installation: changes to objects that an operator creates. helmfile carries
    /// them out by hooks; Helm, Argo CD and Flux by a Job in the chart.
    pub struct StepTable at "[[bundle.after]]" or "[[chart.after]]", checked by step as StepAfter {
        /// The object, as `GROUP/VERSION/KIND/NAME`, or `VERSION/KIND/NAME` for Kubernetes' core.
        object: Target;
        /// Namespace of the object, which must exist before the chart is installed. Default: the
        /// release namespace.
        namespace: Option<Namespace>;
        /// Annotations to set.
        annotations: Pairs = Default::default();
        /// Labels to set.
        labels: Pairs = Default::default();
        /// A JSON merge patch: a table, or a string of YAML or JSON, in which `null` removes a
        /// field.
        patch: MergePatch;
        /// Remove the annotations and labels before they are set, for controllers that wait for the
        /// change. `once`: once for each object. `always`: after each installation and upgrade.
        /// Default: they are only set.
        reset: Option<Resetting>;
        ready: Vec<StepGate>;
        /// Time limit for the creation of the object, for example `90s`, `15m` or `1h`. Default:
        /// `10m`.
        timeout: TimeLimit;
        /// Plural of the kind, for the permissions of the Job. Default: that of the bundle's CRD,
        /// else the English plural.
        resource: Option<Plural>;
        /// Image of the Job, with kubectl 1.31 or later and `sh`. Default:
        /// `docker.io/alpine/kubectl:1.35.1`.
        image: Option<Reference>;
        /// The chart after which the step is carried out. `with` (default): the chart itself.
        /// `operand`: the chart NAME-operands.
        phase: ChartPhase;
    }
}

/// The default image of the Job that carries steps out: kubectl and a shell.
pub const KUBECTL_IMAGE: &str = "docker.io/alpine/kubectl:1.35.1";

/// `[[bundle.after]]`
#[derive(Clone, Debug, PartialEq)]
pub struct StepAfter {
    /// The object that is changed.
    pub target: Target,
    /// Plural of its kind, if it is not derived from the kind.
    pub resource: Option<String>,
    /// The change as a JSON merge patch (RFC 7386): `patch`, with the annotations and labels.
    pub patch: Json,
    /// Annotations and labels that are removed before they are set again.
    pub reset: Option<Reset>,
    /// The gates to wait for before the change.
    pub gates: Vec<Gate>,
    /// Time limit in seconds for the creation of the object.
    pub timeout: u32,
    /// Image of the Job.
    pub image: Option<String>,
    /// The chart after which it is carried out: `Operand` for NAME-operands, else `With`.
    pub phase: Phase,
    /// The object in the file.
    pub span: Span,
}

/// Annotations and labels that are removed and set again.
#[derive(Clone, Debug, PartialEq)]
pub struct Reset {
    /// The merge patch that removes them.
    pub removal: Json,
    /// True after each installation and upgrade; false once for each object.
    pub always: bool,
}

/// Fields that a step cannot change: the identity of the object, and what its controller reports.
const FIXED: [&[&str]; 6] = [
    &["apiVersion"],
    &["kind"],
    // The API server drops `status` from a patch of an object whose kind has the subresource.
    &["status"],
    &["metadata", "name"],
    &["metadata", "namespace"],
    &["metadata", "uid"],
];

fn step(table: StepTable, reader: &mut Reader<'_>, fields: &Fields<'_>) -> Option<StepAfter> {
    let reset = match table.reset {
        Some(always) => Some(Reset { removal: removal(&table, reader, fields)?, always }),
        None => None,
    };
    let (target, span) = table.object;
    let mut patch = table.patch;
    for (key, pairs) in [("annotations", table.annotations), ("labels", table.labels)] {
        add(reader, &mut patch, key, pairs, fields.place(key))?;
    }
    if patch.as_object().is_some_and(Map::is_empty) {
        // One that is wrong or empty has been reported.
        if fields.has("patch") {
            return None;
        }
        let hint = "add `annotations`, `labels` or `patch`";
        reader.error(Code::MissingKey, &fields.header, "the step changes nothing", hint);
        return None;
    }

    Some(StepAfter {
        target: Target { namespace: table.namespace, ..target },
        resource: table.resource,
        patch,
        reset,
        gates: table.ready,
        timeout: table.timeout,
        image: table.image,
        phase: table.phase,
        span,
    })
}

/// Checks the steps of a bundle or chart with these overlays together.
pub(crate) fn check(reader: &mut Reader<'_>, steps: &[StepAfter], overlays: &[Overlay]) {
    for (index, step) in steps.iter().enumerate() {
        has_phase(reader, (step.phase, &step.span), overlays, "a step");
        // Steps are repeated with each upgrade, so two of one field would take turns.
        let earlier = steps.iter().take(index).filter(|other| other.target == step.target);
        let shared =
            earlier.filter_map(|other| Some((other, shared_field(&other.patch, &step.patch)?)));
        if let Some((other, field)) = shared.into_iter().next() {
            reader.twice(
                Code::InvalidValue,
                (&step.span, &other.span),
                format!("two steps change `{field}` of {}/{}", step.target.kind, step.target.name),
                "the other step",
                "remove the field from one of them",
            );
        }
    }
}

/// Annotations or labels with valid keys and values.
pub struct Pairs;

impl Form for Pairs {
    type Value = Map<String, Json>;
    // Matches every string: without a pattern the schema requires a character, and values may be
    // empty.
    const KIND: Kind = Kind::Map(&Kind::String(Some("^")));

    fn read(reader: &mut Reader<'_>, key: &Key, value: &Node<'_>) -> Option<Map<String, Json>> {
        let mut pairs = Map::new();
        for ((name, value), range) in entries(value) {
            let Some(text) = value.get_ref().as_str() else { continue };
            if !is_label_key(name) {
                let message = format!("invalid key {name:?} in `{}`", key.name);
                let hint = "write it as `NAME` or `DOMAIN/NAME`, with letters, digits, dashes, dots \
                    and underscores";
                reader.error(Code::InvalidValue, &range, message, hint);
            } else if key.name == "labels" && !is_label_value(text) {
                let message = format!("invalid value {text:?} of the label `{name}`");
                let hint = "use at most 63 letters, digits, dashes, dots and underscores";
                reader.error(Code::InvalidValue, &value.span(), message, hint);
            }
            pairs.insert(name.to_owned(), json!(text));
        }
        Some(pairs)
    }
}

/// A merge patch; an empty one if there is none.
pub struct MergePatch;

impl Form for MergePatch {
    type Value = Json;
    const KIND: Kind = Kind::TextOrObject;

    fn read(reader: &mut Reader<'_>, _: &Key, value: &Node<'_>) -> Option<Json> {
        let patch = match value.get_ref().as_str() {
            Some(text) => parsed(text),
            None => Ok(as_json(value.get_ref())),
        };
        reader.valid(value, patch.and_then(unfixed))
    }

    fn missing() -> Option<Json> {
        Some(json!({}))
    }
}

/// Returns a patch that changes fields, only such as a step can change.
fn unfixed(patch: Json) -> Result<Json, (String, &'static str)> {
    let fixed = |path: &&[&str]| patch.pointer(&format!("/{}", path.join("/"))).is_some();
    let message = match patch.as_object() {
        None => "`patch` of a step is not an object".to_owned(),
        Some(fields) if fields.is_empty() => "`patch` of a step is empty".to_owned(),
        Some(_) => match FIXED.into_iter().find(fixed) {
            Some(path) => format!("`patch` of a step cannot change `{}`", path.join(".")),
            None => return Ok(patch),
        },
    };
    Err((message, "write the fields to change, as in `patch = { spec = { replicas = 2 } }`"))
}

fn parsed(text: &str) -> Result<Json, (String, &'static str)> {
    match yaml::parse(text).as_deref() {
        Ok([value]) => Ok(Release::LITERAL.value(value)),
        Ok(documents) => {
            let count = documents.len();
            Err((format!("`patch` of a step has {count} YAML documents"), "write one object"))
        }
        Err(error) => Err((
            format!("`patch` of a step is not valid YAML: {error}"),
            "write one object, in YAML or JSON",
        )),
    }
}

words! {
    /// True for `always`.
    Resetting: bool = "once" => false, "always" => true;
}

patterns! {
    /// The plural of a kind.
    Plural = "^[a-z0-9]+$",
        "`resource` is not the plural of a kind: \"{text}\"",
        "write it as `kubectl api-resources` prints it, without the group";
}

/// Adds annotations or labels to the patch; reports those that the patch has, too.
fn add(
    reader: &mut Reader<'_>,
    patch: &mut Json,
    key: &str,
    pairs: Map<String, Json>,
    range: Range<usize>,
) -> Option<()> {
    if pairs.is_empty() {
        return Some(());
    }

    if patch.get("metadata").is_some_and(|metadata| !metadata.is_object())
        || patch.pointer(&format!("/metadata/{key}")).is_some_and(|value| !value.is_object())
    {
        let message = format!("`patch` of a step has a `metadata.{key}` that is no object");
        reader.error(Code::InvalidValue, &range, message, "remove it from `patch`");
        return None;
    }

    for (name, value) in pairs {
        let known = patch.pointer(&format!("/metadata/{key}")).and_then(|map| map.get(&name));
        if known.is_some() {
            let message = format!("`{name}` is in `{key}` and in `patch`");
            reader.error(Code::InvalidValue, &range, message, "remove one of them");
            return None;
        }
        patch["metadata"][key][&name] = value;
    }
    Some(())
}

/// Returns what is removed before annotations and labels are set.
fn removal(table: &StepTable, reader: &mut Reader<'_>, fields: &Fields<'_>) -> Option<Json> {
    if table.annotations.is_empty() && table.labels.is_empty() {
        let message = "`reset` requires `annotations` or `labels`, which it removes first";
        let hint = "add them, or remove `reset`";
        reader.error(Code::MissingKey, &fields.place("reset"), message, hint);
        return None;
    }
    // `null` removes a field in a merge patch, and is no error where the field is missing.
    let mut removal = json!({});
    for (key, pairs) in [("annotations", &table.annotations), ("labels", &table.labels)] {
        for name in pairs.keys() {
            removal["metadata"][key][name] = Json::Null;
        }
    }
    Some(removal)
}

/// Returns a field that two merge patches change; empty for the whole of both.
fn shared_field(one: &Json, other: &Json) -> Option<String> {
    // An empty object is a change, too: it replaces a value that is no object (RFC 7386).
    let [changed, others] =
        [one, other].map(|patch| patch.as_object().filter(|map| !map.is_empty()));
    let Some(changed) = changed else { return Some(String::new()) };
    changed.iter().find_map(|(key, value)| {
        let other = others.map_or(Some(other), |others| others.get(key))?;
        match shared_field(value, other)?.as_str() {
            "" => Some(key.clone()),
            below => Some(format!("{key}.{below}")),
        }
    })
}
