//! CRDs, by the kinds that they define.

use crate::ir::{Object, Scope, Scopes, Value};

/// A kind that a CRD defines.
pub(crate) struct Definition<'o> {
    pub(super) crd: &'o Object,
    pub(super) scope: Scope,
    group: &'o str,
    kind: &'o str,
}

/// The CRDs of a chart.
pub(crate) struct Definitions<'o>(Vec<Definition<'o>>);

impl<'o> Definitions<'o> {
    /// Collects the CRDs among the objects.
    pub(crate) fn of(objects: impl Iterator<Item = &'o Object>) -> Self {
        let crds = objects.filter(|object| object.kind() == "CustomResourceDefinition");
        let text = |crd: &'o Object, path: &[&str]| crd.at(path).and_then(Value::as_str);
        let definition = |crd| {
            let cluster = text(crd, &["spec", "scope"]) == Some("Cluster");
            Some(Definition {
                crd,
                scope: if cluster { Scope::Cluster } else { Scope::Namespaced },
                group: text(crd, &["spec", "group"])?,
                kind: text(crd, &["spec", "names", "kind"])?,
            })
        };
        Definitions(crds.filter_map(definition).collect())
    }

    /// Returns the definition of the object's kind.
    pub(crate) fn of_object(&self, object: &Object) -> Option<&Definition<'o>> {
        let fits = |d: &&Definition<'o>| d.kind == object.kind() && d.group == object.group();
        self.0.iter().find(fits)
    }

    /// Returns the scopes of the configuration and of the kinds defined here, by `GROUP/KIND`.
    pub(crate) fn scopes(&self, configured: &Scopes) -> Scopes {
        let mut scopes = configured.clone();
        scopes.extend(self.0.iter().map(|d| (format!("{}/{}", d.group, d.kind), d.scope)));
        scopes
    }

    /// Returns the resource of a kind: its plural in lower case.
    pub(super) fn plural(&self, group: &str, kind: &str) -> Option<&'o str> {
        let definition = self.0.iter().find(|d| d.kind == kind && d.group == group)?;
        definition.crd.at(&["spec", "names", "plural"])?.as_str()
    }

    /// Returns the group and the kind of each definition.
    pub(crate) fn kinds(&self) -> impl Iterator<Item = (&'o str, &'o str)> {
        self.0.iter().map(|definition| (definition.group, definition.kind))
    }
}
