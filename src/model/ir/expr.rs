//! Helm expressions, as data.

use crate::escape::login::logins;

/// A path into `.Values`, for example `pullSecret.name`. Segments are never empty.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ValuesPath(Vec<String>);

impl ValuesPath {
    /// Returns a path of these segments.
    pub fn new<S: Into<String>>(segments: impl IntoIterator<Item = S>) -> Self {
        ValuesPath(segments.into_iter().map(Into::into).collect())
    }

    /// Returns the segments from the root.
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
    /// A reference to an image.
    Image(ImageReference),
}

impl Part {
    /// Returns these texts with the namespace of the release between them; empty ones are left out.
    pub fn around_namespace<'t>(texts: impl IntoIterator<Item = &'t str>) -> Vec<Part> {
        let mut parts = Vec::new();
        for (index, text) in texts.into_iter().enumerate() {
            parts.extend((index > 0).then_some(Part::ReleaseNamespace));
            parts.extend((!text.is_empty()).then(|| Part::Text(text.to_owned())));
        }
        parts
    }
}

/// The map of values with an override for each image.
pub const IMAGES: &str = "images";
/// The map of values with a replacement for each registry.
pub const IMAGE_REGISTRIES: &str = "imageRegistries";
/// The registry of references that name none.
const DOCKER_HUB: &str = "docker.io";

/// The parts of an image reference.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ImageParts<'t> {
    /// The repository, with its registry if the reference names one.
    pub repository: &'t str,
    /// The tag.
    pub tag: Option<&'t str>,
    /// The digest.
    pub digest: Option<&'t str>,
}

impl<'t> ImageParts<'t> {
    /// Takes a reference apart, whether or not it is valid.
    pub fn of(reference: &'t str) -> Self {
        let (rest, digest) = match reference.split_once('@') {
            Some((rest, digest)) => (rest, Some(digest)),
            None => (reference, None),
        };
        let (repository, tag) = match rest.rsplit_once(':') {
            // A colon before a slash is that of the registry's port.
            Some((repository, tag)) if !tag.contains('/') => (repository, Some(tag)),
            _ => (rest, None),
        };
        ImageParts { repository, tag, digest }
    }

    /// Returns true if the reference is meant to move to other images: it has no digest, and no tag
    /// or `latest`.
    pub fn is_moving(&self) -> bool {
        self.digest.is_none() && matches!(self.tag, None | Some("latest"))
    }
}

/// A reference to an image that the values may change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ImageReference {
    /// Path of the value that overrides the reference.
    pub own: ValuesPath,
    /// Path of the value that overrides the registry of the reference.
    pub registry: ValuesPath,
    /// The default reference: ASCII without blanks, quotes and braces.
    pub reference: String,
    /// The reference in its registry: repository, tag and digest.
    pub path: String,
}

impl ImageReference {
    /// Returns the reference of the image that the values name `key`.
    pub fn new(key: &str, reference: &str) -> Self {
        let (registry, path) = Self::split(reference);
        ImageReference {
            own: ValuesPath::new([IMAGES, key]),
            registry: ValuesPath::new([IMAGE_REGISTRIES, registry]),
            reference: reference.to_owned(),
            path,
        }
    }

    /// Returns the registry of a reference, and the rest of it. Where it names none, Docker Hub is
    /// meant, whose repositories without a slash are in `library`.
    pub fn split(reference: &str) -> (&str, String) {
        match reference.split_once('/') {
            Some((host, path)) if Self::is_registry(host) => (host, path.to_owned()),
            Some(_) => (DOCKER_HUB, reference.to_owned()),
            None => (DOCKER_HUB, format!("library/{reference}")),
        }
    }

    /// Splits a reference with a scheme, which it should not have, into both, and drops a login.
    pub fn scheme(text: &str) -> Option<(&str, &str)> {
        let (scheme, rest) = text.split_once("://")?;
        let start = text.len() - rest.len();
        let login = logins(text).into_iter().find(|login| login.start == start);
        Some((scheme, login.map_or(rest, |login| &text[login.end + 1..])))
    }

    /// Returns true if the part of a reference before its first slash is a registry.
    pub fn is_registry(part: &str) -> bool {
        // The rule of distribution/reference (`splitDockerDomain`): any other first part is a
        // repository.
        part.contains(['.', ':']) || part == "localhost"
    }

    /// Returns the key of the value that overrides the reference.
    pub fn key(&self) -> &str {
        self.own.segments().last().map_or("", String::as_str)
    }
}

/// A piece of a certificate that Helm generates, by its key in a Secret.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CertificateField {
    /// The certificate of the authority that signed it.
    Authority,
    /// The certificate.
    Certificate,
    /// The private key.
    Key,
}

impl CertificateField {
    /// All of them.
    pub const ALL: [CertificateField; 3] =
        [CertificateField::Authority, CertificateField::Certificate, CertificateField::Key];

    /// Returns the key in a Secret.
    pub fn as_str(self) -> &'static str {
        match self {
            CertificateField::Authority => "ca.crt",
            CertificateField::Certificate => "tls.crt",
            CertificateField::Key => "tls.key",
        }
    }
}

/// A leaf whose value is known only when Helm renders the chart.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Expr {
    /// The namespace of the release, a string.
    ReleaseNamespace,
    /// The name of the release, a string.
    ReleaseName,
    /// A string composed of these parts.
    Concat(Vec<Part>),
    /// The same, cut to this many bytes; the texts are ASCII.
    Truncated(Vec<Part>, usize),
    /// The value at this path: a scalar, list or map. As a list item, it must be a list, and its
    /// items are inserted into the list.
    Values(ValuesPath),
    /// As the value of a map entry, whose key is ignored: the entries of the map at this path are
    /// inserted into the map. The schema ensures that keys are unique.
    Entries(ValuesPath),
    /// The whole number at this path of the values, which the schema demands there.
    Integer(ValuesPath),
    /// The string at this path of the values.
    Text(ValuesPath),
    /// The string at this path of the values, base64-encoded.
    Base64(ValuesPath),
    /// Base64 of a part of the certificate that Helm generates once and keeps; not known before the
    /// installation.
    ///
    /// Boxed, because it would enlarge every value of every tree.
    Certificate(Box<CertificatePiece>),
}

/// A piece of a certificate that Helm generates.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CertificatePiece {
    /// The Service in the release namespace whose names are in the certificate.
    pub service: String,
    /// The Secret in the release namespace that keeps it.
    pub secret: String,
    /// The part.
    pub field: CertificateField,
}

impl Expr {
    /// Returns the path of the value, if the expression is one value.
    pub fn path(&self) -> Option<&ValuesPath> {
        match self {
            Expr::Values(path)
            | Expr::Entries(path)
            | Expr::Integer(path)
            | Expr::Text(path)
            | Expr::Base64(path) => Some(path),
            Expr::ReleaseNamespace
            | Expr::ReleaseName
            | Expr::Concat(_)
            | Expr::Truncated(..)
            | Expr::Certificate(_) => None,
        }
    }

    /// Returns true if the expression depends on more than name and namespace of the release.
    pub fn reads_values(&self) -> bool {
        match self {
            Expr::ReleaseNamespace | Expr::ReleaseName => false,
            Expr::Concat(parts) | Expr::Truncated(parts, _) => {
                parts.iter().any(|part| matches!(part, Part::Image(_)))
            }
            _ => true,
        }
    }
}

/// An object that a template looks up in the cluster.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClusterObject {
    /// Its API version.
    pub api_version: &'static str,
    /// Its kind.
    pub kind: &'static str,
    /// The release namespace or a text; `None` for objects of the cluster.
    pub namespace: Option<Expr>,
    /// Its name, an ASCII one.
    pub name: String,
}

/// A condition on values. Truth is Helm's: not empty, not zero, not false, not null.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Condition {
    /// The value at this path is true.
    Set(ValuesPath),
    /// The value at this path is not true.
    Unset(ValuesPath),
    /// The two strings differ.
    Differ(Box<[Expr; 2]>),
    /// The cluster has no such object. Without a cluster, it has none.
    Missing(ClusterObject),
    /// Any of these is true; never empty.
    Any(Vec<Condition>),
    /// All of these are true; never empty.
    All(Vec<Condition>),
}

impl Condition {
    /// Adds the paths of values that the condition reads to `found`.
    pub fn paths<'a>(&'a self, found: &mut impl Extend<&'a ValuesPath>) {
        match self {
            Condition::Set(path) | Condition::Unset(path) => found.extend([path]),
            Condition::Differ(strings) => found.extend(strings.iter().filter_map(Expr::path)),
            Condition::Missing(object) => {
                found.extend(object.namespace.as_ref().and_then(Expr::path));
            }
            Condition::Any(conditions) | Condition::All(conditions) => {
                conditions.iter().for_each(|condition| condition.paths(found));
            }
        }
    }

    /// Returns the condition that all of these are true; `None` if there are none.
    pub fn all(conditions: impl IntoIterator<Item = Condition>) -> Option<Self> {
        let parts = conditions.into_iter().flat_map(|condition| match condition {
            Condition::All(parts) => parts,
            condition => vec![condition],
        });
        let mut conditions: Vec<Condition> = parts.collect();
        match conditions.len() {
            0 | 1 => conditions.pop(),
            _ => Some(Condition::All(conditions)),
        }
    }
}
