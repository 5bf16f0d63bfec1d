//! Puts each shipped object where its scope says: in the release namespace, or in none.

use super::Context;
use crate::diag::{Code, Diagnostic, Diagnostics};
use crate::ir::{Expr, Object, Origin, Unit, Value};
use crate::olm::{Scope, supported_kinds, supported_scope};

/// Namespaced objects go to the release namespace, except those in `kube-system`, which mean that
/// namespace; cluster-scoped ones lose a bogus `metadata.namespace`. A kind that a bundle may not
/// ship is refused.
///
/// OLM: operator-controller, additional resources generator, and its object support validator.
pub(super) fn scope(unit: &mut Unit, _: &Context, diagnostics: &mut Diagnostics) {
    for object in &mut unit.objects {
        if !matches!(object.origin, Origin::File { .. }) {
            continue;
        }
        match supported_scope(object.kind()) {
            Some(Scope::Namespaced) => {
                if object.metadata("namespace").and_then(Value::as_str) != Some("kube-system") {
                    set_namespace(object);
                }
            }
            Some(Scope::Cluster) => {
                object.metadata_mut().shift_remove("namespace");
            }
            None => diagnostics.push(unsupported(object)),
        }
    }
}

/// Sets the release namespace right behind the name, where a reader expects it.
fn set_namespace(object: &mut Object) {
    let metadata = object.metadata_mut();
    let value = Value::Expr(Expr::ReleaseNamespace);
    if let Some(namespace) = metadata.get_mut("namespace") {
        *namespace = value;
        return;
    }
    let position = metadata.get_index_of("name").map_or(0, |index| index + 1);
    metadata.shift_insert(position, "namespace".to_owned(), value);
}

fn unsupported(object: &Object) -> Diagnostic {
    let kinds: Vec<&str> = supported_kinds().collect();
    Diagnostic::error(
        Code::UnsupportedKind,
        format!("unsupported resource `{}` with kind `{}`", object.name(), object.kind()),
    )
    .at(object.place())
    .hint(format!(
        "to build without this object, set exclude = ['.kind == \"{}\"']; a registry+v1 bundle may ship only {}",
        object.kind(),
        kinds.join(", ")
    ))
}
