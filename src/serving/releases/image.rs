//! The program and release in an image, from its reference.

use super::*;
use crate::ir::ImageParts;

/// Known images.
#[derive(Debug, Default, Deserialize)]
struct Images {
    /// Names whose tag is the version of the program, by program. A name is the last part of a
    /// repository, or its last parts.
    named: BTreeMap<String, Vec<String>>,
    /// Images of vendors: names with tags, and the version in each, by program.
    vendors: BTreeMap<String, BTreeMap<String, BTreeMap<String, String>>>,
}

static IMAGES: LazyLock<Images> =
    LazyLock::new(|| embedded::json(include_str!("data/images.json")));

/// Returns the repository and the tag of a reference; the tag is empty if it has none.
pub(crate) fn parts(image: &str) -> (&str, &str) {
    let parts = ImageParts::of(image);
    (parts.repository, parts.tag.unwrap_or_default())
}

fn is_named(repository: &str, name: &str) -> bool {
    repository.strip_suffix(name).is_some_and(|before| before.is_empty() || before.ends_with('/'))
}

/// Returns true if the image is in a repository with this name, of any registry.
pub(crate) fn is_in(image: &str, repository: &str) -> bool {
    is_named(parts(image).0, repository)
}

/// Returns true if the image is one of the program (a key of data/images.json), at any release.
pub(crate) fn is_of(image: &str, program: &str) -> bool {
    let (repository, _) = parts(image);
    let named = IMAGES.named.get(program).into_iter().flatten();
    let vendors = IMAGES.vendors.get(program).into_iter().flat_map(BTreeMap::keys);
    named.chain(vendors).any(|name| is_named(repository, name))
}

/// Returns true if facts about the releases of a program hold for the image: it is one of the program's,
/// or a bare name that another tool replaces. Forks and images of others may have other flags, ports and
/// files under the same command; their tags name what they add: `v0.10.0-cu128-nixl-v0.4.1`.
pub(crate) fn is_judged(image: &str, program: &str) -> bool {
    let (repository, tag) = parts(image);
    let is_name = !image.contains(['/', ':', '@']);
    let organization = repository.rsplit('/').nth(1).unwrap_or_default();
    let is_own = ["", program, "vllm-project", "ascend"].contains(&organization);
    let platforms =
        ["cu", "x86", "aarch64", "arm64", "amd64", "ubuntu", "rocm", "cpu", "xpu", "py"];
    let mut parts = tag.split('-');
    let version = parts.next().unwrap_or_default().trim_start_matches('v');
    let is_version = version.split('.').all(|part| part.bytes().all(|b| b.is_ascii_digit()));
    let is_plain = (is_version || matches!(tag, "latest" | "nightly"))
        && parts.all(|part| platforms.iter().any(|name| part.starts_with(name)));
    // Names with their organization, and those of vendors, are theirs at any tag.
    let named = IMAGES.named.get(program).into_iter().flatten();
    let is_bare = named.filter(|name| !name.contains('/')).any(|name| is_named(repository, name));
    is_name || is_placeholder(image) || is_of(image, program) && (!is_bare || is_own || is_plain)
}

/// Returns the release of a program that the image names.
pub(crate) fn release(image: &str, program: &str, releases: &Releases) -> Release {
    let (repository, tag) = parts(image);

    let mut vendors = IMAGES.vendors.get(program).into_iter().flatten();
    if let Some((_, tags)) = vendors.find(|(name, _)| is_named(repository, name)) {
        // `3.2.1-1755…` is a build of `3.2.1`.
        let known = tags.iter().find(|(known, _)| {
            tag.strip_prefix(known.as_str())
                .is_some_and(|rest| rest.is_empty() || rest.starts_with('-'))
        });
        if let Some((_, version)) = known {
            return releases.find(version);
        }
    } else if is_of(image, program) {
        return if tag == "latest" { Release::Latest } else { releases.find(version_of(tag)) };
    }
    // Vendors write the program's version into tags: `rocm6.4.1_vllm_0.9.1_20250702`.
    let mut marks = ['_', '-'].into_iter().map(|end| format!("{program}{end}"));
    let text = marks.find_map(|mark| tag.split_once(&mark).map(|(_, text)| text));
    releases.find(version_of(text.unwrap_or_default()))
}

/// Returns the version at the start of a text. Empty if there is none, or a pre-release.
fn version_of(text: &str) -> &str {
    let text = text.strip_prefix('v').unwrap_or(text);

    let end = text.find(['-', '_', '+']).unwrap_or(text.len());
    let (version, rest) = text.split_at(end);
    let rest = rest.trim_start_matches(['-', '_', '+']);
    let is_before = ["rc", "alpha", "beta", "dev", "pre", "nightly", "main"];
    if is_before.iter().any(|mark| rest.starts_with(mark)) {
        // The tables list `0.3.1-rc.1` where no release followed.
        return if rest.starts_with("rc") { text } else { "" };
    }
    version
}

#[cfg(test)]
mod tests {
    use super::super::{SGLANG, VLLM};
    use super::*;

    fn vllm(image: &str) -> String {
        match release(image, "vllm", &VLLM.releases) {
            Release::Listed(index) => VLLM.releases.name(index).to_owned(),
            Release::Later => "later".to_owned(),
            Release::Latest => "latest".to_owned(),
            Release::Unknown => "unknown".to_owned(),
        }
    }

    #[test]
    fn tags_name_releases() {
        for (image, version) in [
            ("vllm/vllm-openai:v0.21.0", "0.21.0"),
            ("registry.example.com:5000/mirror/vllm/vllm-openai:v0.21.0@sha256:00", "0.21.0"),
            ("vllm/vllm-openai:v0.21.0-cu129-ubuntu2404", "0.21.0"),
            ("docker.io/vllm/vllm-tpu:v0.22.0", "0.22.0"),
            ("rocm/vllm:rocm6.4.1_vllm_0.9.1_20250702", "0.9.1"),
            ("example.com/team/serve:cuda-vllm-0.9.2", "0.9.2"),
            ("vllm/vllm-openai:v99.0.0", "later"),
            ("vllm/vllm-openai:latest", "latest"),
            ("vllm/vllm-openai:nightly-61e53561a", "unknown"),
            ("vllm/vllm-openai:v0.11.0rc2", "unknown"),
            ("vllm/vllm-openai@sha256:00", "unknown"),
            ("example.com/vllm:v1", "unknown"),
            ("vllm/vllm-omni:v0.21.0", "unknown"),
            ("ghcr.io/llm-d/llm-d-cuda:v0.8.0", "0.23.0"),
            ("ghcr.io/llm-d/llm-d-cuda:v0.1.0", "unknown"),
        ] {
            assert_eq!(vllm(image), version, "{image}");
        }
    }

    #[test]
    fn other_programs_have_their_own_images() {
        let release =
            release("docker.io/lmsysorg/sglang:v0.5.13.post1-cu130", "sglang", &SGLANG.releases);
        assert_eq!(
            SGLANG.releases.index(release).map(|at| SGLANG.releases.name(at)),
            Some("0.5.13.post1")
        );
        assert!(is_of("registry.k8s.io/gateway-api-inference-extension/epp:v1.3.0", "picker-gie"));
        assert!(!is_of("example.com/epp:v1.3.0", "picker-gie"));
    }
}
