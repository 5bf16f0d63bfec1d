//! `ready` of `[[bundle]]` and `[[chart]]`: gates, for which dependent charts and steps wait.

use super::*;
use crate::ir::{LASTING_WORKLOADS, Object};

table! {
    /// Gates: conditions that must hold before dependent charts are installed. Deployment files wait
    /// for them, and NOTES and README have the kubectl commands.
    pub struct ChartGate at "[[bundle.ready]]" or "[[chart.ready]]",
        one of ["condition", "rollout", "crd", "jsonpath"],
        checked by chart_gate as Gate
    {
        /// The awaited state.
        awaited: Flat<StepGate>;
        /// The chart after which the gate is awaited. `with` (default): the chart itself. `operand`:
        /// the chart NAME-operands.
        phase: ChartPhase;
    }
}

table! {
    // A step is in a phase, and its gates with it.
    /// Gates: conditions that must hold before the change.
    pub struct StepGate at "[[bundle.after.ready]]",
        one of ["condition", "rollout", "crd", "jsonpath"],
        checked by awaited as Gate
    {
        /// Type of a status condition of `object` that must be `True`, for example `Ready`.
        condition: Option<ConditionType>, needs ["object"];
        /// A workload that must be rolled out, as `deployment/NAME`, `statefulset/NAME` or
        /// `daemonset/NAME`.
        rollout: Option<Workload>;
        /// Name of a CustomResourceDefinition that must be established, as `PLURAL.GROUP`.
        crd: Option<Placed<CrdName>>;
        /// Path of a field of `object` that must have the value `value`, for example
        /// `.status.state`: names and list indices, starting with `.status`, `.spec`, `.data` or
        /// `.metadata`.
        jsonpath: Option<FieldPath>, needs ["object", "value"];
        /// Expected value of the field at `jsonpath`, as text.
        value: Option<FieldValue>, needs ["jsonpath"];
        /// The object, as `GROUP/VERSION/KIND/NAME`, or `VERSION/KIND/NAME` for Kubernetes' core.
        object: Option<Target>;
        /// Namespace of the object. Default: that of the object in the chart, or else the release
        /// namespace; ignored for cluster-scoped objects.
        namespace: Option<Namespace>;
        /// Time limit, for example `90s`, `15m` or `1h`. Default: `10m`.
        timeout: TimeLimit;
    }
}

/// An entry of `ready`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Gate {
    /// The awaited object.
    pub target: Target,
    /// The state that it must have.
    pub test: GateTest,
    /// Time limit in seconds.
    pub timeout: u32,
    /// The chart after which it is awaited: `Operand` for NAME-operands, else `With`.
    pub phase: Phase,
    /// The object in the file.
    pub span: Span,
}

/// The object that a gate awaits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Target {
    /// API group; empty for Kubernetes' core.
    pub group: String,
    /// Version of the API.
    pub version: String,
    /// Kind, as in manifests.
    pub kind: String,
    /// Name of the object.
    pub name: String,
    /// Its namespace; `None` for the release namespace, and for CRDs, which have none.
    pub namespace: Option<String>,
}

impl Target {
    fn new(group: &str, version: &str, kind: &str, name: &str) -> Self {
        let [group, version, kind, name] = [group, version, kind, name].map(str::to_owned);
        Target { group, version, kind, name, namespace: None }
    }

    /// Returns `apiVersion` as in manifests.
    pub fn api_version(&self) -> String {
        match self.group.as_str() {
            "" => self.version.clone(),
            group => format!("{group}/{}", self.version),
        }
    }

    /// Returns true if an object is of its API group and kind.
    pub fn is_kind_of(&self, object: &Object) -> bool {
        object.kind() == self.kind && object.group() == self.group
    }

    /// Returns true for a CustomResourceDefinition.
    pub fn is_crd(&self) -> bool {
        self.kind == "CustomResourceDefinition"
    }
}

/// The state that a gate awaits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum GateTest {
    /// A condition of the status is `True`.
    Condition(String),
    /// A Deployment, StatefulSet or DaemonSet is rolled out.
    Rollout,
    /// A field has a value.
    Field {
        /// The path with a leading dot: `.status.state`, `.status.items[0].phase`.
        path: String,
        /// The value as text.
        value: String,
    },
}

fn chart_gate(table: ChartGate, _: &mut Reader<'_>, _: &Fields<'_>) -> Option<Gate> {
    Some(Gate { phase: table.phase, ..table.awaited })
}

fn awaited(table: StepGate, reader: &mut Reader<'_>, fields: &Fields<'_>) -> Option<Gate> {
    let named = ["rollout", "crd"].into_iter().find(|key| fields.has(key));
    if let Some(key) = named.filter(|_| fields.has("object")) {
        let message = format!("`object` has no meaning with `{key}`, which names the object");
        let hint = "remove one of the two";
        reader.error(Code::InvalidValue, &fields.place("object"), message, hint);
        return None;
    }

    let established = || GateTest::Condition("Established".to_owned());
    let crd = |name: Text| {
        let kind = "CustomResourceDefinition";
        (Target::new("apiextensions.k8s.io", "v1", kind, &name.text), name.span)
    };
    let field = table.jsonpath.zip(table.value);
    let field = field.map(|(path, value)| GateTest::Field { path, value });
    let of_object = table.condition.map(GateTest::Condition).or(field);
    let (test, (target, span)) = match (table.rollout, table.crd) {
        (Some(workload), _) => (GateTest::Rollout, workload),
        (None, Some(name)) => (established(), crd(name)),
        // Without one of them, the keys of the table have been reported.
        (None, None) => (of_object?, table.object?),
    };
    let namespace = table.namespace.filter(|_| !target.is_crd());
    let target = Target { namespace, ..target };
    Some(Gate { target, test, timeout: table.timeout, phase: Phase::With, span })
}

/// Reports a gate or a step in the phase of operands if no overlay has this phase.
pub(crate) fn has_phase(
    reader: &mut Reader<'_>,
    (phase, span): (Phase, &Span),
    overlays: &[Overlay],
    subject: &str,
) {
    let has = |overlay: &Overlay| overlay.phase == Phase::Operand;
    if phase == Phase::Operand && !overlays.iter().any(has) {
        let message = format!("`phase = \"operand\"` of {subject}, but no overlay has this phase");
        let hint = "remove it, or add an overlay with `phase = \"operand\"`";
        reader.found.error(Code::InvalidValue, span, message, hint);
    }
}

words! {
    /// The chart after which a gate is awaited, or a step carried out.
    ChartPhase: Phase = "with" => Phase::With, "operand" => Phase::Operand;
}

/// A workload that is written as for `kubectl rollout status`.
pub struct Workload;

impl Form for Workload {
    type Value = (Target, Span);
    const KIND: Kind =
        Kind::String(Some("^(?:[Dd]eployment|[Ss]tateful[Ss]et|[Dd]aemon[Ss]et)/[a-z0-9.-]+$"));

    fn read(reader: &mut Reader<'_>, key: &Key, value: &Node<'_>) -> Option<Self::Value> {
        let text = value.get_ref().as_str()?;
        let (kind, name) = text.split_once('/').unwrap_or((text, ""));
        // As kubectl, which accepts kinds in any case.
        let known = LASTING_WORKLOADS.into_iter().find(|known| known.eq_ignore_ascii_case(kind));
        let kind = known.filter(|_| !name.is_empty()).ok_or_else(|| {
            let message =
                format!("`rollout` is not a Deployment, StatefulSet or DaemonSet: {text:?}");
            let hint = "write `deployment/NAME`, `statefulset/NAME` or `daemonset/NAME`; for other \
                kinds use `condition` or `jsonpath` with `object`";
            (message, hint)
        });
        let kind = reader.valid(value, kind)?;
        if let Some((message, hint)) = ObjectName::fault(key, name) {
            reader.error(Code::InvalidValue, &value.span(), message, hint);
        }
        let target = Target::new("apps", "v1", kind, name);
        Some((target, reader.span(value.span())))
    }
}

patterns! {
    /// The name of a CRD.
    CrdName = "^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)+$",
        "`crd` is not the name of a CustomResourceDefinition: \"{text}\"",
        "write it as `PLURAL.GROUP`, as `kubectl get crds` prints it";
}

/// An object as `GROUP/VERSION/KIND/NAME`.
impl Form for Target {
    type Value = (Target, Span);
    const KIND: Kind = Kind::String(Some("^[^/\\s]+(/[^/\\s]+){2,3}$"));

    fn read(reader: &mut Reader<'_>, key: &Key, value: &Node<'_>) -> Option<Self::Value> {
        let text = value.get_ref().as_str()?;
        let target = reader.valid(value, object(key, text))?;
        Some((target, reader.span(value.span())))
    }
}

/// Returns the object of `GROUP/VERSION/KIND/NAME`, or the message and hint about the text.
fn object(key: &Key, text: &str) -> Result<Target, (String, String)> {
    let parts: Vec<&str> = text.split('/').collect();
    let (group, version, kind, name) = match parts.as_slice() {
        [group, version, kind, name] => (*group, *version, *kind, *name),
        [version, kind, name] => ("", *version, *kind, *name),
        _ => {
            let message = format!("`object` is not GROUP/VERSION/KIND/NAME: {text:?}");
            let hint = "write it as `apps/v1/Deployment/NAME`, or `v1/Service/NAME` for \
                Kubernetes' core";
            return Err((message, hint.to_owned()));
        }
    };

    if !matches("^v[0-9][A-Za-z0-9]*$", version) {
        let message = format!("`object` has the invalid API version {version:?}");
        let hint = "write it as `GROUP/VERSION/KIND/NAME`, with a version such as `v1`";
        return Err((message, hint.to_owned()));
    }
    let group_fault = if group.is_empty() { None } else { ObjectName::fault(key, group) };
    let fault = ApiKind::fault(key, kind).or(group_fault).or_else(|| ObjectName::fault(key, name));
    fault.map_or_else(|| Ok(Target::new(group, version, kind, name)), Err)
}

patterns! {
    // As in `metav1.Condition`, but for the form of a domain before the slash.
    /// The type of a condition.
    ConditionType = "^[A-Za-z0-9]([A-Za-z0-9._/-]*[A-Za-z0-9])?$",
        "`condition` is not the type of a condition: \"{text}\"",
        "write a type from `status.conditions`, such as `Ready` or `Available`";
}

/// The path of a field, without braces.
///
/// Only names and indices, from a field that health checks can read: the same path must mean the same
/// to kubectl and to the expressions of Flux and Argo CD.
pub struct FieldPath;

const PATH: &str =
    "^\\{?\\.(status|spec|data|metadata)(\\.[A-Za-z_][A-Za-z0-9_]*|\\[[0-9]{1,5}\\])*\\}?$";

impl Form for FieldPath {
    type Value = String;
    const KIND: Kind = Kind::String(Some(PATH));

    fn read(reader: &mut Reader<'_>, _: &Key, value: &Node<'_>) -> Option<String> {
        let text = value.get_ref().as_str()?;
        let has_path = matches(PATH, text) && text.starts_with('{') == text.ends_with('}');
        let message = || format!("invalid `jsonpath` {text:?}");
        let hint = "write names and list indices, such as `.status.state` or \
            `.status.items[0].phase`, and the expected value as `value`";
        let path = has_path.then(|| text.trim_matches(['{', '}']).to_owned());
        reader.valid(value, path.ok_or_else(|| (message(), hint)))
    }
}

patterns! {
    // It is written into CEL and Lua in quotes, so it has neither quotes nor backslashes.
    /// The value of a field, as text.
    FieldValue = "^[A-Za-z0-9]([A-Za-z0-9 ._:/-]*[A-Za-z0-9])?$",
        "`value` of a gate cannot be \"{text}\"",
        "write letters, digits, spaces and `._:/-`, starting and ending with a letter or digit";
}

/// A time limit in seconds; without it, that of helmfile and Flux for a release.
pub struct TimeLimit;

// Five digits of hours are less than 2^32 seconds.
const TIME: &str = "^[1-9][0-9]{0,4}[smh]$";

impl Form for TimeLimit {
    type Value = u32;
    const KIND: Kind = Kind::String(Some(TIME));

    fn read(reader: &mut Reader<'_>, _: &Key, value: &Node<'_>) -> Option<u32> {
        let text = value.get_ref().as_str()?;
        let units = [('s', 1), ('m', 60), ('h', 3600)].into_iter();
        let number = units.filter(|_| matches(TIME, text)).find_map(|(unit, seconds)| {
            let number: u32 = text.strip_suffix(unit)?.parse().ok()?;
            Some(number * seconds)
        });
        let message = || format!("`timeout` is not a time limit: {text:?}");
        let hint = "write it as `90s`, `15m` or `1h`";
        reader.valid(value, number.ok_or_else(|| (message(), hint)))
    }

    fn missing() -> Option<u32> {
        Some(600)
    }
}
