//! Renders equal objects once where their namespaces are the same one.

use super::Context;
use crate::diag::Diagnostics;
use crate::ir::{Condition, Expr, Identity, Object, Part, Step, Unit, Value};
use std::collections::BTreeMap;

/// Adds to each object the condition that its namespace is not that of an equal object before it: a
/// watched namespace may be that of the release, and so may one that values name. Helm would fail at
/// two objects of one identity.
pub(super) fn render_once(unit: &mut Unit, _: &Context, _: &mut Diagnostics) {
    let mut seen: BTreeMap<Identity, Vec<&Object>> = BTreeMap::new();
    let elsewhere = |object| {
        let id = Identity { namespace: String::new(), ..Object::id(object) };
        let before = seen.entry(id).or_default();
        let elsewhere = Condition::all(before.iter().filter_map(|other| differ(other, object)));
        before.push(object);
        elsewhere
    };
    let elsewhere: Vec<_> = unit.objects.iter().map(elsewhere).collect();
    for (object, elsewhere) in unit.objects.iter_mut().zip(elsewhere) {
        object.when = Condition::all(object.when.take().into_iter().chain(elsewhere));
    }
}

/// Returns the condition under which an object is not the same as one before it; `None` if it never is
/// or if they are not equal.
fn differ(before: &Object, object: &Object) -> Option<Condition> {
    let namespace = |object: &Object| match object.metadata("namespace")? {
        Value::Text(text) => Some(Expr::Concat(vec![Part::Text(text.clone())])),
        Value::Expr(expr) => Some(expr.clone()),
        _ => None,
    };
    let [one, other] = [namespace(before)?, namespace(object)?];
    let are_known = [&one, &other].iter().all(|expr| matches!(expr, Expr::Concat(_)));
    // The one before must be rendered whenever the other would be, and not later.
    let comes_first = before.when.as_ref().is_none_or(|when| Some(when) == object.when.as_ref())
        && before.phase <= object.phase;
    let rest = |object: &Object| {
        let mut object = object.clone();
        object.remove(&["metadata", "namespace"].map(|key| Step::Key(key.to_owned())));
        object.root
    };
    let may_be_same = one != other && !are_known && comes_first && rest(before) == rest(object);
    may_be_same.then(|| Condition::Differ(Box::new([one, other])))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ir::{Phase, Release, ValuesPath};
    use crate::passes::sample;
    use serde_json::json;

    #[test]
    fn objects_are_rendered_once_in_each_namespace() {
        let value = |key: &str| Value::from(Expr::Text(ValuesPath::new([key])));
        let (release, text) = (Value::from(Expr::ReleaseNamespace), Value::text);
        let set = |key: &str| Some(Condition::Set(ValuesPath::new([key])));
        let always = || (None, Phase::With);
        let object = |data: &str, namespace: &Value, (when, phase): (Option<Condition>, Phase)| {
            let mut unit = sample::overlay(&format!(
                "{{apiVersion: v1, kind: ConfigMap, metadata: {{name: a}}, data: {{{data}}}}}"
            ));
            let mut object = unit.objects.remove(0);
            object.metadata_mut().insert("namespace".to_owned(), namespace.clone());
            Object { when, phase, ..object }
        };
        let rendered = |objects: Vec<Object>| {
            let mut unit = Unit { objects, ..Unit::default() };
            render_once(&mut unit, &Context::default(), &mut Diagnostics::new());
            let values = json!({"own": "a", "other": "b", "same": "b", "off": false});
            let release = Release { namespace: "a", values: &values };
            // 2 for an object without a condition.
            let is_rendered = |object: &Object| {
                u8::from(release.object(object).is_some()) + u8::from(object.when.is_none())
            };
            unit.objects.iter().map(is_rendered).collect::<Vec<_>>()
        };
        for (namespaces, expected) in [
            (vec![release.clone(), text("a"), text("b")], [2, 0, 1].as_slice()),
            (vec![text("a"), release.clone(), text("b")], &[2, 0, 1]),
            (vec![release.clone(), value("own"), value("other")], &[2, 0, 1]),
            (vec![release.clone(), value("other"), value("same")], &[2, 1, 0]),
            (vec![text("b"), value("other"), value("own")], &[2, 0, 1]),
            (vec![text("a"), text("b")], &[2, 2]),
            // Real duplicates, which are errors.
            (vec![text("a"), text("a")], &[2, 2]),
            (vec![release.clone(), release.clone()], &[2, 2]),
            (vec![release.clone(), Value::Null], &[2, 2]),
        ] {
            let objects = namespaces.iter().map(|namespace| object("", namespace, always()));
            assert_eq!(rendered(objects.collect()), expected, "{namespaces:?}");
        }
        for (first, second, expected) in [
            (("b: c", always()), ("", always()), [2, 2]),
            (("", always()), ("", (set("own"), Phase::With)), [2, 0]),
            (("", (set("own"), Phase::With)), ("", (set("own"), Phase::With)), [1, 0]),
            (("", (set("off"), Phase::With)), ("", always()), [0, 2]),
            (("", (set("off"), Phase::With)), ("", (set("own"), Phase::With)), [0, 1]),
            // Another chart has it, which is installed later or before.
            (("", (None, Phase::Operand)), ("", always()), [2, 2]),
            (("", always()), ("", (None, Phase::Operand)), [2, 0]),
        ] {
            let what = format!("{first:?} {second:?}");
            let first = object(first.0, &release, first.1);
            let second = object(second.0, &text("a"), second.1);
            assert_eq!(rendered(vec![first, second]), expected, "{what}");
        }
    }
}
