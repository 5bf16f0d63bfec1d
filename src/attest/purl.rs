//! Package URLs of images: `pkg:oci/NAME@DIGEST?repository_url=…&tag=…`.
//!
//! <https://github.com/package-url/purl-spec/blob/main/types-doc/oci-definition.md>

use crate::escape::percent;
use crate::ir::ImageReference;
use crate::source::Reference;
use std::fmt::Write as _;

/// Returns the package URL of an image, whose digest is `digest` or the one in the reference; `None`
/// if it is no reference.
pub(super) fn of_image(reference: &str, digest: Option<&str>) -> Option<String> {
    let parsed = parse(reference)?;
    let encoded = |text: &str| percent(text, b"-._~/:");
    let last = parsed.name.rsplit('/').next().unwrap_or(&parsed.name);
    let mut purl = format!("pkg:oci/{}", encoded(last));
    let own = parsed.digest.as_ref().map(ToString::to_string);
    // Writing to a String cannot fail.
    if let Some(digest) = digest.map(str::to_owned).or(own) {
        // As the definition of the type writes it: `@sha256%3A…`.
        let _ = write!(purl, "@{}", percent(&digest, b"-._~/"));
    }
    let _ = write!(purl, "?repository_url={}", encoded(&parsed.name));
    if let Some(tag) = parsed.tag {
        let _ = write!(purl, "&tag={}", encoded(&tag));
    }
    Some(purl)
}

/// Parses a reference as a cluster does: without a host it is of Docker Hub.
pub(super) fn parse(text: &str) -> Option<Reference> {
    let (host, path) = ImageReference::split(text);
    Reference::parse(&format!("{host}/{path}")).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn images_have_package_urls() {
        let digest = format!("sha256:{}", "0".repeat(64));
        let of = |reference: &str| of_image(reference, None);
        let expected = format!(
            "pkg:oci/operator@sha256%3A{}?repository_url=registry.example.com:5000/lamps/operator&tag=1.2",
            "0".repeat(64)
        );
        let reference = format!("registry.example.com:5000/lamps/operator:1.2@{digest}");
        assert_eq!(of(&reference), Some(expected.clone()));
        let tagged = "registry.example.com:5000/lamps/operator:1.2";
        assert_eq!(of_image(tagged, Some(&digest)), Some(expected));
        assert_eq!(
            of("postgres:16").as_deref(),
            Some("pkg:oci/postgres?repository_url=docker.io/library/postgres&tag=16")
        );
        assert_eq!(
            of("team/tool").as_deref(),
            Some("pkg:oci/tool?repository_url=docker.io/team/tool&tag=latest")
        );
        assert_eq!(of("not an image"), None);
    }
}
