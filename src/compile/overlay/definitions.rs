//! CRDs, by the kinds that they define.

use crate::ir::{Object, Scope, Scopes, Value};

/// A kind that a CRD defines.
pub(crate) struct Definition<'o> {
    pub(super) crd: &'o Object,
    pub(super) scope: Scope,
    group: &'o str,
    kind: &'o str,
}

/// A version of it.
pub(super) struct Version<'o> {
    pub(super) name: &'o str,
    pub(super) served: bool,
    /// The schema, if the version has one.
    pub(super) schema: Option<&'o Value>,
    /// True if the version has a status subresource.
    pub(super) status: bool,
}

impl<'o> Definition<'o> {
    pub(super) fn versions(&self) -> impl Iterator<Item = Version<'o>> {
        let versions = self.crd.at(&["spec", "versions"]).and_then(Value::as_seq);
        versions.unwrap_or_default().iter().filter_map(|version| {
            Some(Version {
                name: version.get("name")?.as_str()?,
                served: version.get("served") == Some(&Value::Bool(true)),
                schema: version.at(&["schema", "openAPIV3Schema"]),
                // An empty map turns the subresource on, null does not.
                status: version.at(&["subresources", "status"]).is_some_and(|v| *v != Value::Null),
            })
        })
    }
}

/// The CRDs of a chart.
pub(crate) struct Definitions<'o>(Vec<Definition<'o>>);

impl<'o> Definitions<'o> {
    /// Collects the CRDs among the objects.
    pub(crate) fn of(objects: impl Iterator<Item = &'o Object>) -> Self {
        let crds = objects.filter(|object| object.kind() == "CustomResourceDefinition");
        let text = |crd: &'o Object, path: &[&str]| crd.at(path).and_then(Value::as_str);
        Definitions(
            crds.filter_map(|crd| {
                let cluster = text(crd, &["spec", "scope"]) == Some("Cluster");
                Some(Definition {
                    crd,
                    scope: if cluster { Scope::Cluster } else { Scope::Namespaced },
                    group: text(crd, &["spec", "group"])?,
                    kind: text(crd, &["spec", "names", "kind"])?,
                })
            })
            .collect(),
        )
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

    /// Kinds of a group.
    pub(super) fn kinds_of(&self, group: &str) -> Vec<&'o str> {
        self.kinds().filter(|(g, _)| *g == group).map(|(_, kind)| kind).collect()
    }

    /// Returns the group and the kind of each definition.
    pub(crate) fn kinds(&self) -> impl Iterator<Item = (&'o str, &'o str)> {
        self.0.iter().map(|definition| (definition.group, definition.kind))
    }
}
