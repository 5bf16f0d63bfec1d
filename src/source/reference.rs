//! References to images in registries.

use super::failure;
use crate::diag::{Code, Fatal};
use crate::ir::{ImageParts, ImageReference};
use oci_spec::image::Digest;
use std::net::Ipv6Addr;
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
    pub fn parse(text: &str) -> Result<Self, Fatal> {
        let invalid = |why: &str, hint: &str| {
            let message = format!("invalid image reference `{}`: {why}", text.escape_debug());
            Err(failure(Code::InvalidReference, message, hint))
        };
        if let Some((scheme, rest)) = ImageReference::scheme(text) {
            return invalid(
                &format!("it starts with `{}://`", scheme.escape_debug()),
                &format!("write `{}`", rest.escape_debug()),
            );
        }

        if text.contains('$') {
            return invalid("it has a `$`", "write the value: variables are not expanded");
        }

        if !text.split_once('/').is_some_and(|(host, _)| ImageReference::is_registry(host)) {
            return invalid(
                "it has no registry host",
                &format!(
                    "write the full reference, for example \
                    `registry.redhat.io/team/operator-bundle:1.0`, or `./{}` for a path",
                    text.escape_debug()
                ),
            );
        }

        let whole = "write HOST/REPOSITORY:TAG or HOST/REPOSITORY@sha256:… with 64 lower-case \
            hexadecimal digits";
        let ImageParts { repository: name, tag, digest } = ImageParts::of(text);
        let digest = match digest.map(Digest::from_str).transpose() {
            Ok(digest) => digest,
            Err(error) => return invalid(&error.to_string(), whole),
        };
        let tag = tag.or(digest.is_none().then_some("latest"));
        let (host, repository) = name.split_once('/').unwrap_or_default();
        if repository.len() > LONGEST_REPOSITORY {
            let why = format!("the repository has more than {LONGEST_REPOSITORY} characters");
            return invalid(&why, whole);
        }

        if !is_repository(repository) && is_repository(&repository.to_lowercase()) {
            return invalid(
                "the repository has upper-case letters",
                "write the name as it is in the registry",
            );
        }

        if !is_host(host) || !is_repository(repository) || !tag.is_none_or(is_tag) {
            return invalid("invalid reference format", whole);
        }
        let tag = tag.map(str::to_owned);

        Ok(Reference { name: name.to_owned(), tag, digest })
    }

    /// Returns true if a cluster accepts the reference: like [`Reference::parse`], but the host is
    /// optional (Docker Hub, or the cluster's default registries).
    pub fn is_valid(text: &str) -> bool {
        Self::parse(text).is_ok() || Self::parse(&format!("docker.io/{text}")).is_ok()
    }

    /// Returns the name in its usual spelling: other spellings of the host and of Docker Hub's own
    /// images are the same repository.
    pub fn usual_name(&self) -> String {
        usual_spelling(&self.name, true)
    }

    /// Returns true if the image is in a registry, a directory of repositories or a repository, in its
    /// [`usual_prefix`]. Each image is below the empty prefix.
    pub(super) fn is_below(&self, prefix: &str) -> bool {
        // Docker Hub's own images have two spellings, and a policy may use either.
        let names = [self.usual_name(), usual_spelling(&self.name, false)];
        prefix.is_empty() || names.iter().any(|name| below(name, prefix).is_some())
    }

    /// Returns the part of the name after `prefix`, which must end on a `/` boundary; empty when
    /// `prefix` is the whole name.
    pub fn after(&self, prefix: &str) -> Option<&str> {
        below(&self.name, prefix.trim_end_matches('/'))
    }
}

fn below<'n>(name: &'n str, prefix: &str) -> Option<&'n str> {
    let rest = name.strip_prefix(prefix)?;
    if rest.is_empty() { Some(rest) } else { rest.strip_prefix('/') }
}

/// Returns a prefix of names in its usual spelling.
pub(super) fn usual_prefix(prefix: &str) -> String {
    usual_spelling(prefix, false)
}

/// Returns the usual spelling of a repository, or of the beginning of its name.
fn usual_spelling(name: &str, is_whole: bool) -> String {
    let (host, path) = name.split_once('/').map_or((name, None), |(host, path)| (host, Some(path)));
    let host = host.to_ascii_lowercase();
    // The port of HTTPS says nothing.
    let host = one_docker_hub(host.strip_suffix(":443").unwrap_or(&host));
    match path {
        // Docker Hub's own images have a short name.
        Some(path) if is_whole && host == DOCKER_HUB && !path.contains('/') => {
            format!("{host}/library/{path}")
        }
        Some(path) => format!("{host}/{path}"),
        None => host.to_owned(),
    }
}

/// The usual name of Docker Hub.
const DOCKER_HUB: &str = "docker.io";

/// Returns the usual name of Docker Hub for its other names, and other hosts as they are.
pub(super) fn one_docker_hub(host: &str) -> &str {
    match host {
        "index.docker.io" | "registry-1.docker.io" => DOCKER_HUB,
        _ => host,
    }
}

/// Maximum length of a repository name (distribution, package `reference`).
const LONGEST_REPOSITORY: usize = 255;

/// Returns true for valid hosts: dot-separated labels of letters, digits and inner dashes, or an
/// IPv6 address in brackets, each with an optional port.
fn is_host(host: &str) -> bool {
    if let Some((address, after)) = host.strip_prefix('[').and_then(|host| host.split_once(']')) {
        let port = after.strip_prefix(':');
        return address.parse::<Ipv6Addr>().is_ok()
            && (after.is_empty() || port.is_some_and(is_port));
    }
    let (name, port) = host.split_once(':').unwrap_or((host, "0"));
    let is_label = |label: &str| {
        let fits = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-';
        !label.is_empty()
            && label.bytes().all(fits)
            && !label.starts_with('-')
            && !label.ends_with('-')
    };
    name.split('.').all(is_label) && is_port(port)
}

fn is_port(port: &str) -> bool {
    !port.is_empty() && port.bytes().all(|byte| byte.is_ascii_digit())
}

/// Returns true for valid repository names: components of lower-case letters and digits, with `.`,
/// `_`, `__` or dashes between them.
fn is_repository(path: &str) -> bool {
    let is_word = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit();
    let is_separator =
        |run: &str| matches!(run, "." | "_" | "__") || run.bytes().all(|byte| byte == b'-');
    path.split('/').all(|component| {
        component.starts_with(is_word)
            && component.ends_with(is_word)
            && component.split(is_word).all(is_separator)
    })
}

/// Returns true for valid tags: at most 128 letters, digits, `_`, `.` and `-`, not starting with
/// `.` or `-`.
fn is_tag(tag: &str) -> bool {
    let fits = |byte: u8| byte.is_ascii_alphanumeric() || b"_.-".contains(&byte);
    (1..=128).contains(&tag.len()) && tag.bytes().all(fits) && !tag.starts_with(['.', '-'])
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
        assert_eq!(
            parse("a-b.c/d--e/f__g_h.i:_1.-x"),
            ("a-b.c/d--e/f__g_h.i".into(), tag("_1.-x"), None)
        );
        assert_eq!(parse("[::1]:5000/a/b:1"), ("[::1]:5000/a/b".into(), tag("1"), None));
        assert_eq!(parse("[fd00::2]/a"), ("[fd00::2]/a".into(), tag("latest"), None));
        let pinned = format!("quay.io/a/b@{digest}");
        assert_eq!(parse(&pinned), ("quay.io/a/b".into(), None, Some(digest.clone())));
        let both = format!("host:5000/a/b:1.0@{digest}");
        assert_eq!(parse(&both), ("host:5000/a/b".into(), tag("1.0"), Some(digest)));
    }

    #[test]
    fn invalid_references_are_explained() {
        for (text, why) in [
            ("", "host"),
            ("ubuntu", "host"),
            ("team/operator:1", "host"),
            ("docker://quay.io/a/b:1", "docker://"),
            ("quay.io/Team/b:1", "upper-case"),
            ("quay.io/a/b:", "format"),
            ("quay.io/a b:1", "format"),
            ("quay.io/a/../b:1", "format"),
            ("quay.io/a/b@sha256:abcd", "digest"),
            ("quay.io/a/b\n:1", "format"),
            ("quay.io/a/b:\u{e4}", "format"),
            ("quay.io/a/b:-1", "format"),
            ("quay.io/a..b:1", "format"),
            ("quay.io/a-/b:1", "format"),
            ("quay.io//b:1", "format"),
            ("-quay.io/b:1", "format"),
            ("quay..io/b:1", "format"),
            ("quay.io:/b:1", "format"),
            ("quay.io:port/b:1", "format"),
            ("[::1/b:1", "format"),
            ("[::g]/b:1", "format"),
            ("[127.0.0.1]/b:1", "format"),
            ("[::1]:/b:1", "format"),
            ("[::1]5000/b:1", "format"),
        ] {
            let error = Reference::parse(text).unwrap_err();
            assert!(error.message.contains(why), "{text:?}: {}", error.message);
            assert!(!error.message.contains('\n'), "{text:?}");
        }
        let upper = format!("quay.io/a/b@sha256:{}", "AB".repeat(32));
        assert!(Reference::parse(&upper).is_err());
    }

    #[test]
    fn other_spellings_of_a_host_are_the_same_registry() {
        for (prefix, text, is_below) in [
            ("docker.io", "index.docker.io/team/a:1", true),
            ("docker.io", "registry-1.docker.io/team/a:1", true),
            ("registry-1.docker.io/team", "docker.io/team/a:1", true),
            ("docker.io/library/a", "docker.io/a:1", true),
            ("docker.io/a", "docker.io/a:1", true),
            ("docker.io/a", "registry-1.docker.io/library/a:1", false),
            ("docker.io/library", "index.docker.io/a:1", true),
            ("docker.io/a", "docker.io/a/b:1", true),
            ("registry.example.com", "REGISTRY.example.com/a:1", true),
            ("Registry.Example.com:443/a", "registry.example.com/a:1", true),
            ("registry.example.com", "registry.example.com:443/a:1", true),
            ("registry.example.com", "registry.example.com:5000/a:1", false),
            ("registry.example.com/a", "registry.example.com/ab:1", false),
            ("registry.example.com", "registry.example.com.evil.com/a:1", false),
            ("", "quay.io/a:1", true),
        ] {
            let reference = Reference::parse(text).unwrap();
            assert_eq!(reference.is_below(&usual_prefix(prefix)), is_below, "{prefix} {text}");
        }
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
