//! Helm expressions, as data.

/// A path into `.Values`, for example `pullSecret.name`. Segments are never empty.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ValuesPath(Vec<String>);

impl ValuesPath {
    /// A path of these segments.
    pub fn new<S: Into<String>>(segments: impl IntoIterator<Item = S>) -> Self {
        ValuesPath(segments.into_iter().map(Into::into).collect())
    }

    /// The segments from the root.
    pub fn segments(&self) -> &[String] {
        &self.0
    }
}

impl std::fmt::Display for ValuesPath {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0.join("."))
    }
}

/// A piece of a composed string.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Part {
    /// Literal text.
    Text(String),
    /// The namespace of the release.
    ReleaseNamespace,
}

/// A leaf whose value is known only when Helm renders the chart.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Expr {
    /// The namespace of the release, a string.
    ReleaseNamespace,
    /// A string composed of literal text and the namespace of the release.
    Concat(Vec<Part>),
    /// Whatever stands at this path of the values: a scalar, list or map. As an item of a list it
    /// must be a list, and its items join the list.
    Values(ValuesPath),
    /// The string at this path of the values, base64-encoded.
    Base64(ValuesPath),
}

/// True when any of these paths of the values holds something that Helm calls true (not empty,
/// not zero, not false, not null). Never empty.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Condition(pub Vec<ValuesPath>);

impl Condition {
    /// True when `path` holds something.
    pub fn set(path: ValuesPath) -> Self {
        Condition(vec![path])
    }

    /// True when this or `other` is.
    pub fn or(mut self, other: &Condition) -> Self {
        for path in &other.0 {
            if !self.0.contains(path) {
                self.0.push(path.clone());
            }
        }
        self
    }
}
