//! Pushing packages to a registry, as `helm push` does.

use super::Package;
use crate::diag::{Code, Diagnostic, Diagnostics};
use crate::source::{Reference, SourceResolver};

/// The scheme that Helm requires for registries.
const SCHEME: &str = "oci://";

/// State of a chart's tag in a registry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum TagState {
    /// There is no such tag.
    Missing,
    /// The tag has this package.
    Same,
    /// The tag has the manifest with this digest.
    Other(String),
}

/// A chart in a registry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Remote<'p> {
    /// The package.
    pub package: &'p Package,
    /// `HOST/PATH/NAME:TAG`
    pub reference: String,
    /// The state of the tag before a push.
    pub state: TagState,
}

/// Returns the place for charts in a registry, below which each chart has a repository: `HOST/PATH` of
/// `oci://HOST/PATH`; the scheme may be left out.
///
/// `None` if it is something else.
pub(crate) fn registry(text: &str, diagnostics: &mut Diagnostics) -> Option<String> {
    let start = text.strip_prefix(SCHEME).unwrap_or(text).trim_end_matches('/');
    // A reference needs a repository; `/chart` takes the place of a chart's name.
    let parsed = Reference::parse(&format!("{start}/chart"));
    if parsed.is_ok_and(|parsed| parsed.name.strip_suffix("/chart") == Some(start)) {
        return Some(start.to_owned());
    }
    let message = format!("invalid registry `{}`", text.escape_debug());
    diagnostics.fail(Diagnostic::error(Code::InvalidReference, message).hint(
        "write oci://HOST/PATH, for example oci://registry.example.com/charts: the name \
                of each chart is appended",
    ))
}

/// Asks the registry for the tag of each package; charts whose tag cannot be looked up are reported and
/// left out.
pub(crate) fn look_up<'p>(
    registry: &str,
    packages: &'p [Package],
    resolver: &SourceResolver,
    diagnostics: &mut Diagnostics,
) -> Vec<Remote<'p>> {
    let mut remotes = Vec::new();
    for package in packages {
        let reference = format!("{registry}/{}:{}", package.name, package.tag());
        // One run reports all charts that cannot be looked up.
        let Some(found) = resolver.tag_digest(&reference, diagnostics) else { continue };
        let state = match found {
            None => TagState::Missing,
            Some(digest) if digest == package.artifact.digest => TagState::Same,
            Some(digest) => TagState::Other(digest),
        };
        remotes.push(Remote { package, reference, state });
    }
    remotes
}

impl Remote<'_> {
    /// Returns the reference by digest, as Helm installs from it.
    pub(crate) fn pinned(&self) -> String {
        format!("{SCHEME}{}@{}", self.reference, self.package.artifact.digest)
    }

    /// Returns true if a push uploads the package.
    pub(crate) fn is_pushed(&self) -> bool {
        self.state != TagState::Same
    }
}

/// Pushes the packages that the registry does not have. Nothing is pushed if any tag has another
/// manifest, unless `replace` is set: a released chart must not change.
///
/// `None` if a tag was refused, or the registry failed; packages before the failed one are pushed.
pub(crate) fn push(
    remotes: &[Remote<'_>],
    replace: bool,
    resolver: &SourceResolver,
    diagnostics: &mut Diagnostics,
) -> Option<()> {
    // All tags are checked before the first push, so that a refusal changes nothing.
    let start = diagnostics.mark();
    for Remote { package, reference, state } in remotes.iter().filter(|_| !replace) {
        let TagState::Other(digest) = state else { continue };
        let message = format!(
            "`{reference}` exists with digest {digest}, the chart in the output directory has {}",
            package.artifact.digest
        );
        let hint = "raise `chart-version`, or move the tag with `push --replace`";
        diagnostics.push(Diagnostic::error(Code::TagExists, message).hint(hint));
    }
    diagnostics.no_errors_since(start)?;

    for remote in remotes.iter().filter(|remote| remote.is_pushed()) {
        resolver.push_artifact(&remote.package.artifact, &remote.reference, diagnostics)?;
    }
    Some(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn registries_are_hosts_with_a_path() {
        let parse = |text: &str| {
            let mut diagnostics = Diagnostics::new();
            let parsed = registry(text, &mut diagnostics);
            let found: Vec<_> = diagnostics.iter().map(|found| found.message.clone()).collect();
            let invalid = format!("invalid registry `{text}`");
            assert_eq!(found, if parsed.is_none() { vec![invalid] } else { Vec::new() });
            let hints = diagnostics.iter().filter_map(|found| found.hint.as_deref());
            assert!(hints.into_iter().all(|hint| hint.starts_with("write oci://HOST/PATH, ")));
            parsed
        };
        let host = Some("registry.example.com/charts".to_owned());
        assert_eq!(parse("oci://registry.example.com/charts/"), host);
        assert_eq!(parse("registry.example.com/charts"), host);
        assert_eq!(parse("oci://localhost:5000"), Some("localhost:5000".to_owned()));
        for text in [
            "",
            "oci://",
            "charts",
            "https://registry.example.com/charts",
            "registry.example.com/Charts",
            "registry.example.com/charts:1.0",
            "oci://registry.example.com/charts@sha256:1",
        ] {
            assert_eq!(parse(text), None, "{text}");
        }
    }
}
