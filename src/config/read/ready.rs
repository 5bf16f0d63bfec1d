//! Reads `ready` of `[[bundle]]` and `[[chart]]`: gates.

use super::reader::{Fields, Located, Reader};
use super::values;
use crate::diag::Code;
use crate::gate::TIMEOUT;
use crate::ir::{LASTING_WORKLOADS, Phase};
use crate::{Gate, GateTest, Overlay, Target};

/// The fields at which a `jsonpath` may start: those that health checks can read.
const ROOTS: [&str; 4] = ["status", "spec", "data", "metadata"];

/// Returns the gates of a bundle or chart with these overlays, in the order of the file.
pub(super) fn gates(
    reader: &mut Reader<'_>,
    fields: &Fields<'_>,
    overlays: &[Overlay],
) -> Vec<Gate> {
    let tables = reader.inner_tables(fields, "ready");
    tables.iter().filter_map(|fields| gate(reader, fields, overlays)).collect()
}

fn gate(reader: &mut Reader<'_>, fields: &Fields<'_>, overlays: &[Overlay]) -> Option<Gate> {
    let namespace = match fields.text("namespace") {
        Some(at) => Some(values::namespace(reader, at)?),
        None => None,
    };
    let (target, test, range) = awaited(reader, fields)?;
    let timeout = seconds(reader, fields)?;

    let phase = phase(reader, fields, overlays, "a gate")?;

    let namespace = namespace.filter(|_| !target.is_crd());
    let target = Target { namespace, ..target };
    Some(Gate { target, test, timeout, phase, span: reader.span(range) })
}

/// Returns the phase of `subject`, a gate or step of a bundle or chart with these overlays.
pub(super) fn phase(
    reader: &mut Reader<'_>,
    fields: &Fields<'_>,
    overlays: &[Overlay],
    subject: &str,
) -> Option<Phase> {
    let Some(("operand", range)) = fields.text("phase") else { return Some(Phase::With) };
    if overlays.iter().any(|overlay| overlay.phase == Phase::Operand) {
        return Some(Phase::Operand);
    }
    reader.error(
        Code::InvalidValue,
        &range,
        format!("`phase = \"operand\"` of {subject}, but no overlay has this phase"),
        "remove it, or add an overlay with `phase = \"operand\"`",
    );
    None
}

/// Returns the object that is awaited, its state, and the place of the object.
fn awaited(
    reader: &mut Reader<'_>,
    fields: &Fields<'_>,
) -> Option<(Target, GateTest, std::ops::Range<usize>)> {
    let named = ["rollout", "crd"].into_iter().find(|key| fields.text(key).is_some());
    if let (Some(key), Some((_, range))) = (named, fields.text("object")) {
        let message = format!("`object` has no meaning with `{key}`, which names the object");
        reader.error(Code::InvalidValue, &range, message, "remove one of the two");
        return None;
    }
    if let Some(at) = fields.text("rollout") {
        let range = at.1.clone();
        return Some((workload(reader, at)?, GateTest::Rollout, range));
    }
    if let Some(at) = fields.text("crd") {
        let range = at.1.clone();
        let established = GateTest::Condition("Established".to_owned());
        return Some((crd(reader, at)?, established, range));
    }

    let object = fields.text("object").map(|at| (at.1.clone(), object(reader, at)));
    let condition = fields.text("condition").and_then(|at| condition(reader, at));
    let field = fields
        .text("jsonpath")
        .map(|at| json_path(reader, at))
        .zip(fields.text("value").map(|at| value(reader, at)));
    let (range, target) = object?;
    let test = match (condition, field) {
        (Some(condition), _) => condition,
        (None, Some((path, value))) => GateTest::Field { path: path?, value: value? },
        // Reported with the keys of the table.
        (None, None) => return None,
    };
    Some((target?, test, range))
}

/// Returns a workload that is written as for `kubectl rollout status`.
fn workload(reader: &mut Reader<'_>, (text, range): Located<&str>) -> Option<Target> {
    let (kind, name) = text.split_once('/').unwrap_or((text, ""));
    let known = LASTING_WORKLOADS.into_iter().find(|known| known.eq_ignore_ascii_case(kind));
    let Some(kind) = known.filter(|_| !name.is_empty()) else {
        reader.error(
            Code::InvalidValue,
            &range,
            format!("`rollout` is not a Deployment, StatefulSet or DaemonSet: {text:?}"),
            "write `deployment/NAME`, `statefulset/NAME` or `daemonset/NAME`; for other kinds use \
                `condition` or `jsonpath` with `object`",
        );
        return None;
    };
    let name = values::object_name(reader, "rollout", (name, range))?;
    Some(Target {
        group: "apps".to_owned(),
        version: "v1".to_owned(),
        kind: kind.to_owned(),
        name,
        namespace: None,
    })
}

fn crd(reader: &mut Reader<'_>, (text, range): Located<&str>) -> Option<Target> {
    if !text.contains('.') {
        let message = format!("`crd` is not the name of a CustomResourceDefinition: {text:?}");
        let hint = "write it as `PLURAL.GROUP`, as `kubectl get crds` prints it";
        reader.error(Code::InvalidValue, &range, message, hint);
        return None;
    }
    let name = values::object_name(reader, "crd", (text, range))?;
    Some(Target {
        group: "apiextensions.k8s.io".to_owned(),
        version: "v1".to_owned(),
        kind: "CustomResourceDefinition".to_owned(),
        name,
        namespace: None,
    })
}

/// Returns the object of `GROUP/VERSION/KIND/NAME`.
pub(super) fn object(reader: &mut Reader<'_>, (text, range): Located<&str>) -> Option<Target> {
    let parts: Vec<&str> = text.split('/').collect();
    let (group, version, kind, name) = match parts.as_slice() {
        [group, version, kind, name] => (*group, *version, *kind, *name),
        [version, kind, name] => ("", *version, *kind, *name),
        _ => {
            let message = format!("`object` is not GROUP/VERSION/KIND/NAME: {text:?}");
            let hint = "write it as `apps/v1/Deployment/NAME`, or `v1/Service/NAME` for \
                Kubernetes' core";
            reader.error(Code::InvalidValue, &range, message, hint);
            return None;
        }
    };

    let is_version = version.starts_with('v')
        && version.chars().nth(1).is_some_and(|c| c.is_ascii_digit())
        && version.chars().all(|c| c.is_ascii_alphanumeric());
    if !is_version {
        let message = format!("`object` has the invalid API version {version:?}");
        let hint = "write it as `GROUP/VERSION/KIND/NAME`, with a version such as `v1`";
        reader.error(Code::InvalidValue, &range, message, hint);
        return None;
    }
    let kind = values::kind(reader, (kind, range.clone()))?;
    let group = match group {
        "" => String::new(),
        group => values::object_name(reader, "object", (group, range.clone()))?,
    };
    let name = values::object_name(reader, "object", (name, range))?;
    Some(Target { group, version: version.to_owned(), kind, name, namespace: None })
}

fn condition(reader: &mut Reader<'_>, (text, range): Located<&str>) -> Option<GateTest> {
    if is_plain(text, "._/-") {
        return Some(GateTest::Condition(text.to_owned()));
    }
    let message = format!("`condition` is not the type of a condition: {text:?}");
    let hint = "write a type from `status.conditions`, such as `Ready` or `Available`";
    reader.error(Code::InvalidValue, &range, message, hint);
    None
}

/// Returns the path of a field, without braces.
///
/// Only names and indices: the same path must mean the same to kubectl and to the expressions of
/// Flux and Argo CD.
fn json_path(reader: &mut Reader<'_>, (text, range): Located<&str>) -> Option<String> {
    let plain = match text.strip_prefix('{') {
        Some(rest) => rest.strip_suffix('}'),
        None => Some(text),
    };
    let fault = match plain {
        None => Some("the closing brace is missing".to_owned()),
        Some(path) => path_fault(path),
    };
    if let Some(fault) = fault {
        let message = format!("invalid `jsonpath` {text:?}: {fault}");
        let hint = "write names and list indices, such as `.status.state` or \
            `.status.items[0].phase`, and the expected value as `value`";
        reader.error(Code::InvalidValue, &range, message, hint);
        return None;
    }
    plain.map(str::to_owned)
}

/// Returns why a path cannot be used.
fn path_fault(path: &str) -> Option<String> {
    let Some(rest) = path.strip_prefix('.') else {
        return Some("it has no leading dot".to_owned());
    };

    for (number, step) in rest.split('.').enumerate() {
        let (name, indices) = match step.find('[') {
            Some(start) => step.split_at(start),
            None => (step, ""),
        };
        let is_name = name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
            && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
        if !is_name {
            return Some(format!("{name:?} is not a name"));
        }
        if number == 0 && !ROOTS.contains(&name) {
            return Some(format!("it starts with none of {}", ROOTS.join(", ")));
        }

        let are_indices = indices.is_empty()
            || indices.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')).is_some_and(
                |inner| {
                    inner.split("][").all(|index| {
                        (1..=5).contains(&index.len())
                            && index.bytes().all(|byte| byte.is_ascii_digit())
                    })
                },
            );
        if !are_indices {
            return Some(format!("{indices:?} is not a list index"));
        }
    }
    None
}

fn value(reader: &mut Reader<'_>, (text, range): Located<&str>) -> Option<String> {
    if is_plain(text, " ._:/-") {
        return Some(text.to_owned());
    }
    let message = format!("`value` of a gate cannot be {text:?}");
    let hint =
        "write letters, digits, spaces and `._:/-`, starting and ending with a letter or digit";
    reader.error(Code::InvalidValue, &range, message, hint);
    None
}

/// Returns true for a text of letters, digits and `others`, the latter not at its ends.
fn is_plain(text: &str, others: &str) -> bool {
    let ends = [text.chars().next(), text.chars().next_back()];
    ends.into_iter().all(|end| end.is_some_and(|c| c.is_ascii_alphanumeric()))
        && text.chars().all(|c| c.is_ascii_alphanumeric() || others.contains(c))
}

/// Returns the time limit in seconds.
pub(super) fn seconds(reader: &mut Reader<'_>, fields: &Fields<'_>) -> Option<u32> {
    let (text, range) = fields.text("timeout").unwrap_or((TIMEOUT, fields.header.clone()));
    let unit = [('s', 1), ('m', 60), ('h', 3600)]
        .into_iter()
        .find_map(|(unit, seconds)| Some((text.strip_suffix(unit)?, seconds)));
    let number = unit.and_then(|(digits, unit)| {
        let plain = digits.len() <= 5 && digits.bytes().all(|byte| byte.is_ascii_digit());
        let number: u32 = digits.parse::<u32>().ok().filter(|number| plain && *number > 0)?;
        (!digits.starts_with('0')).then(|| number * unit)
    });
    if number.is_none() {
        let message = format!("`timeout` is not a time limit: {text:?}");
        reader.error(Code::InvalidValue, &range, message, "write it as `90s`, `15m` or `1h`");
    }
    number
}
