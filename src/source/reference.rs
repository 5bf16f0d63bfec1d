//! References to images in registries.

use super::failure;
use crate::diag::{Code, Diagnostics};
use oci_spec::distribution::ParseError;
use oci_spec::image::Digest;
use std::str::FromStr as _;

/// `HOST[:PORT]/REPOSITORY[:TAG][@DIGEST]`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reference {
    /// Host with its port, and repository: `registry.redhat.io/a/b`.
    pub name: String,
    /// The tag; `latest` when neither a tag nor a digest is written, as everywhere.
    pub tag: Option<String>,
    /// The digest, which wins over the tag.
    pub digest: Option<Digest>,
}

impl Reference {
    /// Reads a reference. The registry's host must be written: which one `a/b` means depends on
    /// the machine.
    pub fn parse(text: &str) -> Result<Self, Diagnostics> {
        let invalid = |why: &str, hint: &str| {
            let message =
                format!("`{}` is not a reference to an image: {why}", text.escape_debug());
            Err(failure(Code::InvalidReference, message, hint))
        };
        if let Some((scheme, rest)) = text.split_once("://") {
            return invalid(
                &format!("it starts with `{}://`", scheme.escape_debug()),
                &format!("Write it without: `{}`.", rest.escape_debug()),
            );
        }
        let host = text
            .split_once('/')
            .map(|(host, _)| host)
            .filter(|host| host.contains('.') || host.contains(':') || *host == "localhost");
        if host.is_none() {
            return invalid(
                "it does not name the registry's host",
                "Write the host too, for example `registry.redhat.io/team/operator-bundle:1.0`.",
            );
        }
        let whole = "Write it as HOST/REPOSITORY:TAG or HOST/REPOSITORY@sha256:… with 64 \
                     lower-case hexadecimal digits.";
        let (rest, digest) = match text.split_once('@') {
            None => (text, None),
            Some((rest, digest)) => match Digest::from_str(digest) {
                Ok(digest) => (rest, Some(digest)),
                Err(error) => return invalid(&error.to_string(), whole),
            },
        };
        // The library judges only: it fills in defaults and renames hosts, and what is looked up
        // is what was written.
        match oci_spec::distribution::Reference::from_str(rest) {
            Ok(_) => {}
            Err(ParseError::ReferenceInvalidFormat)
                if rest.split_once('/').is_some_and(|(_, path)| {
                    path.split(':').next().is_some_and(|name| name != name.to_lowercase())
                }) =>
            {
                return invalid(
                    "a repository has lower-case letters only",
                    "Write the name as the registry has it.",
                );
            }
            Err(error) => return invalid(&error.to_string(), whole),
        }
        let colon = rest.rfind(':').filter(|colon| !rest[*colon..].contains('/'));
        let (name, tag) = match colon {
            Some(colon) => (&rest[..colon], Some(rest[colon + 1..].to_owned())),
            None if digest.is_none() => (rest, Some("latest".to_owned())),
            None => (rest, None),
        };
        Ok(Reference { name: name.to_owned(), tag, digest })
    }

    /// The part of the name after `prefix`, which must end on a `/` boundary; empty when `prefix`
    /// is the whole name.
    pub fn after(&self, prefix: &str) -> Option<&str> {
        let rest = self.name.strip_prefix(prefix.trim_end_matches('/'))?;
        if rest.is_empty() { Some(rest) } else { rest.strip_prefix('/') }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> (String, Option<String>, Option<String>) {
        let Reference { name, tag, digest } = Reference::parse(text).unwrap();
        (name, tag, digest.map(|d| d.to_string()))
    }

    #[test]
    fn references_are_taken_apart() {
        let digest = format!("sha256:{}", "ab".repeat(32));
        let tag = |t: &str| Some(t.to_owned());
        assert_eq!(parse("quay.io/a/b:1.0"), ("quay.io/a/b".into(), tag("1.0"), None));
        assert_eq!(parse("localhost/b"), ("localhost/b".into(), tag("latest"), None));
        assert_eq!(parse("host:5000/a:v1"), ("host:5000/a".into(), tag("v1"), None));
        assert_eq!(parse("host:5000/a"), ("host:5000/a".into(), tag("latest"), None));
        let pinned = format!("quay.io/a/b@{digest}");
        assert_eq!(parse(&pinned), ("quay.io/a/b".into(), None, Some(digest.clone())));
        let both = format!("host:5000/a/b:1.0@{digest}");
        assert_eq!(parse(&both), ("host:5000/a/b".into(), tag("1.0"), Some(digest)));
    }

    #[test]
    fn what_is_no_reference_is_explained() {
        for (text, why) in [
            ("", "host"),
            ("ubuntu", "host"),
            ("team/operator:1", "host"),
            ("docker://quay.io/a/b:1", "docker://"),
            ("quay.io/Team/b:1", "lower-case"),
            ("quay.io/a/b:", "format"),
            ("quay.io/a b:1", "format"),
            ("quay.io/a/../b:1", "format"),
            ("quay.io/a/b@sha256:abcd", "digest"),
            ("quay.io/a/b\n:1", "format"),
        ] {
            let errors = Reference::parse(text).unwrap_err();
            let error = errors.iter().next().unwrap();
            assert!(error.message.contains(why), "{text:?}: {}", error.message);
            assert!(!error.message.contains('\n'), "{text:?}");
        }
        let upper = format!("quay.io/a/b@sha256:{}", "AB".repeat(32));
        assert!(Reference::parse(&upper).is_err());
    }

    #[test]
    fn prefixes_end_on_a_slash() {
        let reference = Reference::parse("registry.redhat.io/a/b:1.0").unwrap();
        assert_eq!(reference.after("registry.redhat.io"), Some("a/b"));
        assert_eq!(reference.after("registry.redhat.io/"), Some("a/b"));
        assert_eq!(reference.after("registry.redhat.io/a"), Some("b"));
        assert_eq!(reference.after("registry.redhat.io/a/b"), Some(""));
        assert_eq!(reference.after("registry.redhat"), None);
        assert_eq!(reference.after("registry.redhat.io/a/"), Some("b"));
        let evil = Reference::parse("registry.redhat.io.evil.com/a/b:1.0").unwrap();
        assert_eq!(evil.after("registry.redhat.io"), None);
    }
}
