//! Kubernetes objects with their provenance.

use super::{Condition, Expr, Map, Value, ValuesPath};
use crate::diag::Place;

/// Where an object came from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Origin {
    /// A document of a bundle file.
    File {
        /// Path relative to the bundle root, for example `manifests/service.yaml`.
        file: String,
        /// 1-based number of the YAML document.
        document: usize,
        /// 1-based line on which the object begins.
        line: usize,
        /// JSON path inside the document: empty, or `.items[2]` for an item of a List.
        path: String,
    },
    /// Derived from the CSV, at this JSON path.
    Csv {
        /// The CSV's file.
        file: String,
        /// 1-based number of the YAML document.
        document: usize,
        /// For example `.spec.install.spec.deployments[0]`.
        path: String,
    },
    /// Added by a pass or by the configuration, for this reason.
    Added(&'static str),
}

/// Who an object is in a cluster.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ObjectId {
    /// `kind`
    pub kind: String,
    /// Literal `metadata.namespace`; empty for the release namespace and for cluster scope.
    pub namespace: String,
    /// `metadata.name`
    pub name: String,
    /// API group; empty for the core group.
    pub group: String,
}

/// A Kubernetes object on its way into a chart.
#[derive(Clone, Debug, PartialEq)]
pub struct Object {
    /// The whole object, from `apiVersion` on.
    pub root: Map,
    /// Where it came from.
    pub origin: Origin,
    /// Present only while this holds; always present when there is none.
    pub when: Option<Condition>,
}

impl Object {
    /// An object that is always present.
    pub fn new(root: Map, origin: Origin) -> Self {
        Object { root, origin, when: None }
    }

    /// `apiVersion`, or nothing readable.
    pub fn api_version(&self) -> &str {
        self.root.get("apiVersion").and_then(Value::as_str).unwrap_or_default()
    }

    /// API group; empty for the core group.
    pub fn group(&self) -> &str {
        self.api_version().split_once('/').map_or("", |(group, _)| group)
    }

    /// `kind`
    pub fn kind(&self) -> &str {
        self.root.get("kind").and_then(Value::as_str).unwrap_or_default()
    }

    /// `metadata.name`
    pub fn name(&self) -> &str {
        self.metadata("name").and_then(Value::as_str).unwrap_or_default()
    }

    /// An entry of `metadata`.
    pub fn metadata(&self, key: &str) -> Option<&Value> {
        self.root.get("metadata")?.get(key)
    }

    /// `metadata`, made when it is missing or not a map.
    pub fn metadata_mut(&mut self) -> &mut Map {
        let metadata = self.root.entry("metadata".to_owned()).or_insert(Value::Null);
        if metadata.as_map().is_none() {
            *metadata = Value::from(Map::new());
        }
        match metadata {
            Value::Map(map) => map,
            _ => unreachable!("made a map above"),
        }
    }

    /// The value at the end of these map keys.
    pub fn at(&self, keys: &[&str]) -> Option<&Value> {
        let (first, rest) = keys.split_first()?;
        self.root.get(*first)?.at(rest)
    }

    /// Whether this can only be written as a template.
    pub fn has_expression(&self) -> bool {
        self.when.is_some() || self.root.values().any(Value::has_expression)
    }

    /// The init containers and containers of a workload.
    pub fn containers(&self) -> impl Iterator<Item = &Value> {
        ["initContainers", "containers"].into_iter().flat_map(|key| {
            self.at(&["spec", "template", "spec", key]).and_then(Value::as_seq).unwrap_or_default()
        })
    }

    /// Every expression in it, in order.
    pub fn expressions(&self) -> Vec<&Expr> {
        let mut found = Vec::new();
        self.root.values().for_each(|value| value.expressions(&mut found));
        found
    }

    /// Whether an expression in it reads this path of the values.
    pub fn reads(&self, path: &ValuesPath) -> bool {
        self.expressions().into_iter().any(|expr| match expr {
            Expr::Values(read)
            | Expr::Entries(read)
            | Expr::Integer(read)
            | Expr::Text(read)
            | Expr::Base64(read) => read == path,
            _ => false,
        })
    }

    /// Who it is.
    pub fn id(&self) -> ObjectId {
        ObjectId {
            kind: self.kind().to_owned(),
            namespace: self
                .metadata("namespace")
                .and_then(Value::as_str)
                .unwrap_or_default()
                .to_owned(),
            name: self.name().to_owned(),
            group: self.group().to_owned(),
        }
    }

    /// `Kind/name`, for messages.
    pub fn label(&self) -> String {
        format!("{}/{}", self.kind(), self.name())
    }

    /// Where a diagnostic about this object points.
    pub fn place(&self) -> Place {
        let place = match &self.origin {
            Origin::File { file, document, line, path } => {
                Place { document: Some(*document), line: Some(*line), ..Place::file(file) }
                    .path(path)
            }
            Origin::Csv { file, document, path } => {
                Place { document: Some(*document), ..Place::file(file) }.path(path)
            }
            Origin::Added(_) => Place::default(),
        };
        place.object(self.label())
    }
}
