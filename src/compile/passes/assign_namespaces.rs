//! Sets the namespace of shipped objects by their scope.

use super::Context;
use crate::diag::{Code, Diagnostic, Diagnostics};
use crate::ir::{Expr, Object, Origin, Scope, Unit, Value};
use crate::kinds::{scope_of, supported_kinds, supported_scope};
use crate::overlay::Definitions;

/// Moves namespaced objects to the release namespace, except Roles and RoleBindings in
/// `kube-system`, which are for objects there (such as the API server's authentication
/// configuration). Removes `metadata.namespace` from cluster-scoped objects. Rejects kinds that a
/// bundle may not ship.
///
/// Objects of overlays keep their namespace; namespaces of the configuration become expressions.
///
/// OLM: operator-controller, additional resources generator, and its object support validator.
pub(super) fn assign_namespaces(unit: &mut Unit, context: &Context, diagnostics: &mut Diagnostics) {
    // A kind of the bundle's own CRDs may be called like another.
    let scopes = Definitions::of(unit.objects.iter()).scopes(&context.scopes);
    for object in &mut unit.objects {
        let scope = scope_of(object.group(), object.kind(), &scopes);
        match object.origin {
            Origin::Overlay { .. } => of_overlay(object, scope, context),
            Origin::File { .. } => match supported_scope(object.kind()) {
                Some(supported) => of_bundle(object, scope.unwrap_or(supported)),
                None => diagnostics.push(unsupported(object)),
            },
            // Where these are made, their namespaces are known.
            Origin::Csv { .. } | Origin::Stub | Origin::Added(_) => {}
        }
    }
}

fn of_bundle(object: &mut Object, scope: Scope) {
    let rights = matches!(object.kind(), "Role" | "RoleBinding");
    let namespace = object.metadata("namespace").and_then(Value::as_str);
    if scope == Scope::Cluster {
        object.metadata_mut().shift_remove("namespace");
    } else if !(rights && namespace == Some("kube-system")) {
        set(object, Expr::ReleaseNamespace);
    }
}

fn of_overlay(object: &mut Object, scope: Option<Scope>, context: &Context) {
    if scope == Some(Scope::Cluster) {
        return;
    }
    let written = object.metadata("namespace").and_then(Value::as_str).unwrap_or_default();
    // Of an unknown kind without a namespace, Helm finds out whether it needs one.
    let namespace = match written {
        "" => scope.map(|_| Expr::ReleaseNamespace),
        name => context.namespace(name),
    };
    if let Some(namespace) = namespace {
        set(object, namespace);
    }
}

/// Sets the namespace, directly after the name, where people look for it.
fn set(object: &mut Object, namespace: Expr) {
    let metadata = object.metadata_mut();
    if let Some(known) = metadata.get_mut("namespace") {
        *known = Value::Expr(namespace);
        return;
    }
    let position = metadata.get_index_of("name").map_or(0, |index| index + 1);
    metadata.shift_insert(position, "namespace".to_owned(), Value::Expr(namespace));
}

fn unsupported(object: &Object) -> Diagnostic {
    let message = format!("unsupported resource `{}` with kind `{}`", object.name(), object.kind());
    object.error(Code::UnsupportedKind, message).hint(format!(
        "set exclude = ['.kind == \"{}\"'] to build without this object; a registry+v1 bundle can \
            only ship {}",
        object.kind(),
        supported_kinds().join(", ")
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ir::Scopes;
    use serde_json::json;

    #[test]
    fn what_is_said_of_a_kind_counts_where_nothing_else_knows_it() {
        let overlay = |kind: &str| {
            let json =
                json!({"apiVersion": "g.example.com/v1", "kind": kind, "metadata": {"name": "a"}});
            let Value::Map(root) = Value::from(&json) else { unreachable!("a map") };
            let (file, path) = ("a.yaml".to_owned(), String::new());
            Object::new(*root, Origin::Overlay { file, document: 1, line: 1, path })
        };
        let objects = ["Said", "Wide", "Unknown"].map(overlay).to_vec();
        let mut unit = Unit { objects, ..Unit::default() };
        let said = [("Said", Scope::Namespaced), ("Wide", Scope::Cluster)];
        let scopes: Scopes =
            said.map(|(kind, scope)| (format!("g.example.com/{kind}"), scope)).into();
        let context = Context { scopes, ..Context::default() };
        assign_namespaces(&mut unit, &context, &mut Diagnostics::new());
        let has = |index: usize| unit.objects[index].metadata("namespace").is_some();
        assert_eq!([has(0), has(1), has(2)], [true, false, false]);
    }
}
