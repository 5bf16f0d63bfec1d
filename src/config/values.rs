//! Rules of single values: names, references, folders, versions.

use super::keys::{NAME_LIMIT, NAMESPACE_LIMIT, OCI_LAYOUT, SECRET_LIMIT};
use super::tree::{At, Fields, Reader};
use super::{MirrorTarget, Text, VersionRequest, WantedVersion, Watch};
use crate::diag::suggest;
use crate::diag::{Code, Diagnostic};
use crate::ir::label_fault;
use std::net::Ipv6Addr;
use std::path::{Component, Path, PathBuf};

fn label_rule(limit: usize) -> String {
    format!(
        "use lower-case letters, digits and dashes, not at the ends, at most {limit} characters"
    )
}

impl Reader<'_> {
    /// A value that must not be empty; reported when it is.
    fn filled<'t>(&mut self, key: &str, (text, range): At<&'t str>) -> Option<&'t str> {
        if text.trim().is_empty() {
            self.error(
                Code::InvalidValue,
                &range,
                format!("`{key}` is empty"),
                "give it a value, or remove the key",
            );
            return None;
        }
        Some(text)
    }

    /// The name of a bundle.
    pub(super) fn name(&mut self, (text, range): &At<&str>) {
        if let Some(fault) = label_fault(text, NAME_LIMIT) {
            let message = format!("the name of a bundle names its chart, and this one {fault}");
            self.error(Code::InvalidValue, range, message, label_rule(NAME_LIMIT));
        }
    }

    /// The name of a namespace.
    pub(super) fn namespace(&mut self, (text, range): At<&str>) -> Option<String> {
        if let Some(fault) = label_fault(text, NAMESPACE_LIMIT) {
            let message = format!("the name of this namespace {fault}");
            self.error(Code::InvalidValue, &range, message, label_rule(NAMESPACE_LIMIT));
            return None;
        }
        Some(text.to_owned())
    }

    /// The name of a pull secret.
    pub(super) fn secret(&mut self, (text, range): At<&str>) -> Option<String> {
        let fault = if text.len() > SECRET_LIMIT {
            Some(format!("has {} characters", text.len()))
        } else {
            text.split('.').find_map(|label| label_fault(label, SECRET_LIMIT))
        };
        if let Some(fault) = fault {
            let message = format!("the name of this pull secret {fault}");
            let hint = if text.is_empty() {
                "to use no pull secret, write `pull-secret = false`".to_owned()
            } else {
                format!(
                    "use the name of a Secret: lower-case letters, digits, dashes and dots, at \
                     most {SECRET_LIMIT} characters"
                )
            };
            self.error(Code::InvalidValue, &range, message, hint);
            return None;
        }
        Some(text.to_owned())
    }

    /// The name of an object, or an API group: a DNS-1123 subdomain.
    pub(super) fn object_name(&mut self, key: &str, (text, range): At<&str>) -> Option<String> {
        let fault = if text.len() > SECRET_LIMIT {
            Some(format!("has {} characters", text.len()))
        } else {
            text.split('.').find_map(|label| label_fault(label, SECRET_LIMIT))
        };
        if let Some(fault) = fault {
            let message = format!("`{key}` {fault}");
            let hint = format!(
                "use lower-case letters, digits, dashes and dots, at most {SECRET_LIMIT} characters"
            );
            self.error(Code::InvalidValue, &range, message, hint);
            return None;
        }
        Some(text.to_owned())
    }

    /// A kind of objects.
    pub(super) fn kind(&mut self, (text, range): At<&str>) -> Option<String> {
        let plain = text.chars().all(|c| c.is_ascii_alphanumeric());
        if plain && text.starts_with(|c: char| c.is_ascii_uppercase()) {
            return Some(text.to_owned());
        }
        self.error(
            Code::InvalidValue,
            &range,
            format!("{text:?} is not the kind of an object"),
            "a kind is letters and digits and begins with a capital letter, as in `ClusterIssuer`",
        );
        None
    }

    /// An image reference, or the start of one; only what no reference can be is refused here.
    pub(super) fn reference(&mut self, key: &str, at: At<&str>) -> Option<String> {
        let range = at.1.clone();
        let text = self.filled(key, at)?;
        let (fault, hint) = if let Some((scheme, rest)) = text.split_once("://") {
            (
                format!("`{key}` begins with `{scheme}://`, which references do not have"),
                format!("write `{rest}`"),
            )
        } else if text.contains(char::is_whitespace) {
            (format!("`{key}` contains white space"), "remove it".to_owned())
        } else if text.starts_with(['/', '.']) {
            (
                format!("`{key}` looks like a path, not like an image reference"),
                format!("for files on disk, write `path = \"{text}\"`"),
            )
        } else {
            return Some(text.to_owned());
        };
        self.error(Code::InvalidValue, &range, fault, hint);
        None
    }

    /// A name, reference or path without white space.
    pub(super) fn word(&mut self, key: &str, at: At<&str>) -> Option<Text> {
        let range = at.1.clone();
        let text = self.filled(key, at)?;
        if text.contains(char::is_whitespace) {
            let message = format!("`{key}` contains white space");
            self.error(Code::InvalidValue, &range, message, "remove it");
            return None;
        }
        Some(Text { text: text.to_owned(), span: self.span(range) })
    }

    /// What is provided by other means.
    pub(super) fn provided(&mut self, fields: &Fields<'_>) -> Vec<Text> {
        let (items, _) = fields.texts("provided").unwrap_or_default();
        let mut provided = Vec::new();
        for (text, range) in items {
            let parts: Vec<&str> = text.split('/').collect();
            let fits = match parts.as_slice() {
                [package] => !package.is_empty(),
                [_, version, kind] => !version.is_empty() && !kind.is_empty(),
                _ => false,
            };
            if fits && !text.contains(char::is_whitespace) {
                provided.push(Text { text: text.to_owned(), span: self.span(range) });
                continue;
            }
            self.error(
                Code::InvalidValue,
                &range,
                format!("{text:?} is neither a package nor an API"),
                "write the name of a package, or GROUP/VERSION/KIND, for example \
                 `cert-manager.io/v1/Certificate`",
            );
        }
        provided
    }

    /// The version of a package in a catalog.
    pub(super) fn wanted_version(&mut self, (text, range): At<&str>) -> Option<WantedVersion> {
        let request = match semver::Version::parse(text) {
            Ok(version) => VersionRequest::Exact(version),
            Err(_) => match version_range(text) {
                Ok(request) => VersionRequest::Range(request),
                Err(error) => {
                    let message = format!("`version` is neither a version nor a range: {error}");
                    let bare = text.trim_start_matches('v');
                    let with_commas = text.split_whitespace().collect::<Vec<_>>().join(", ");
                    let hint = if bare != text && version_range(bare).is_ok() {
                        format!("write `version = \"{bare}\"`")
                    } else if version_range(&with_commas).is_ok() {
                        format!("write `version = \"{with_commas}\"`")
                    } else {
                        "write one version, such as `1.2.3`, or comparisons with commas between \
                         them, such as `>=1.2, <2`"
                            .to_owned()
                    };
                    self.error(Code::InvalidValue, &range, message, hint);
                    return None;
                }
            },
        };
        Some(WantedVersion { request, span: self.span(range) })
    }

    /// A path; any that is not empty.
    pub(super) fn path(&mut self, key: &str, at: At<&str>) -> Option<String> {
        self.filled(key, at).map(str::to_owned)
    }

    /// The prefix of references that a mirror serves.
    pub(super) fn mirror_from(&mut self, at: At<&str>) -> Option<String> {
        let range = at.1.clone();
        let text = self.reference("from", at)?;
        if let Some(character) = text.chars().next_back().filter(|c| "/:@".contains(*c)) {
            self.error(
                Code::InvalidValue,
                &range,
                format!("`from` ends with `{character}`"),
                format!(
                    "write `{}`: a prefix fits up to a `/`, `:` or `@` or the end of a reference",
                    text.trim_end_matches(['/', ':', '@'])
                ),
            );
            return None;
        }
        Some(text)
    }

    /// Where a mirror's bytes are.
    pub(super) fn mirror_to(&mut self, at: At<&str>) -> Option<MirrorTarget> {
        let range = at.1.clone();
        if let Some(folder) = at.0.strip_prefix(OCI_LAYOUT) {
            if !folder.trim().is_empty() {
                return Some(MirrorTarget::Layout(PathBuf::from(folder)));
            }
            self.error(
                Code::InvalidValue,
                &range,
                "`to` does not name a folder",
                format!(
                    "write `{OCI_LAYOUT}DIR`, where DIR is an OCI image layout folder (it holds a \
                     file `oci-layout`), relative to this file"
                ),
            );
            return None;
        }
        let text = self.reference("to", at)?.trim_end_matches('/').to_owned();
        let (host, path) = text.split_once('/').unwrap_or((&text, ""));
        let names_host = host.contains('.') || host.contains(':') || host == "localhost";
        if !names_host || host.starts_with("oci:") || path.contains([':', '@']) {
            self.error(
                Code::InvalidValue,
                &range,
                "`to` is neither an image layout nor the start of names in a registry",
                format!(
                    "write `{OCI_LAYOUT}DIR` for a folder, or HOST/PATH, for example \
                     `registry.example.com/mirror`, without a tag"
                ),
            );
            return None;
        }
        Some(MirrorTarget::Registry(text))
    }

    /// The host of a registry, in lower case.
    pub(super) fn host(&mut self, key: &str, at: At<&str>) -> Option<String> {
        let range = at.1.clone();
        let text = self.filled(key, at)?;
        let (name, port) = text.split_once(':').unwrap_or((text, "0"));
        let fits = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '.';
        let is_name = !name.is_empty() && name.chars().all(fits) && port.parse::<u16>().is_ok();
        // An IPv6 address, of which the colons are not those before a port.
        let is_port = |text: &str| text.parse::<u16>().is_ok();
        let bracketed = text.strip_prefix('[').and_then(|rest| rest.split_once(']'));
        let is_address = bracketed.is_some_and(|(address, after)| {
            address.parse::<Ipv6Addr>().is_ok()
                && (after.is_empty() || after.strip_prefix(':').is_some_and(is_port))
        });
        if is_name || is_address {
            return Some(text.to_ascii_lowercase());
        }
        let bare = text.split_once("://").map_or(text, |(_, rest)| rest);
        let bare = bare.split('/').next().unwrap_or_default();
        self.error(
            Code::InvalidValue,
            &range,
            format!("`{key}` is not the name of a host"),
            if bare == text {
                "write HOST or HOST:PORT, as references have it".to_owned()
            } else {
                format!("write `{bare}`")
            },
        );
        None
    }

    /// `"all"` or `"own"`.
    pub(super) fn watch_word(&mut self, (text, range): At<&str>) -> Option<Watch> {
        match text {
            "all" => Some(Watch::All),
            "own" => Some(Watch::Own),
            _ => {
                let hint = match suggest::nearest(text, &["all", "own"]) {
                    Some(word) => format!("did you mean `watch = \"{word}\"`?"),
                    None => format!("for single namespaces, write `watch = [\"{text}\"]`"),
                };
                let message = format!("`watch` is \"all\", \"own\" or a list, not {text:?}");
                self.error(Code::InvalidValue, &range, message, hint);
                None
            }
        }
    }

    /// The namespaces to watch.
    pub(super) fn watch_list(&mut self, (items, range): At<Vec<At<&str>>>) -> Option<Watch> {
        if items.is_empty() {
            self.error(
                Code::InvalidValue,
                &range,
                "`watch` names no namespace",
                "write `watch = \"all\"`, `watch = \"own\"`, or name the namespaces",
            );
            return None;
        }
        let mut names: Vec<String> = Vec::new();
        for (index, (text, range)) in items.iter().enumerate() {
            if let Some((_, first)) = items.iter().take(index).find(|(earlier, _)| earlier == text)
            {
                let message = format!("`watch` names the namespace `{text}` twice");
                let diagnostic = Diagnostic::error(Code::InvalidValue, message)
                    .at(self.place(range.clone()))
                    .related(self.place(first.clone()), "first named here")
                    .hint("remove one of them");
                self.found.push(diagnostic);
            } else if let Some(name) = self.namespace((text, range.clone())) {
                names.push(name);
            }
        }
        Some(Watch::Namespaces(names))
    }

    /// The version of a chart.
    pub(super) fn version(&mut self, (text, range): At<&str>) -> Option<semver::Version> {
        match semver::Version::parse(text) {
            Ok(version) => Some(version),
            Err(error) => {
                let message = format!("`chart-version` is not a semantic version: {error}");
                let hint = match text.strip_prefix('v').map(semver::Version::parse) {
                    Some(Ok(version)) => format!("write `chart-version = \"{version}\"`"),
                    _ => "write three numbers, for example `1.2.3` or `1.2.3-rc.1`".to_owned(),
                };
                self.error(Code::InvalidValue, &range, message, hint);
                None
            }
        }
    }

    /// Whether this bundle2chart may build the file.
    pub(super) fn required_version(&mut self, (text, range): At<&str>) {
        let own = env!("CARGO_PKG_VERSION");
        match (semver::VersionReq::parse(text), semver::Version::parse(own)) {
            (Err(error), _) => self.error(
                Code::InvalidValue,
                &range,
                format!("`required-version` is not a version requirement: {error}"),
                format!("write for example `required-version = \">={own}\"`"),
            ),
            (Ok(requirement), Ok(version)) if !requirement.matches(&version) => self.error(
                Code::RequiredVersion,
                &range,
                format!("this is bundle2chart {own}, but the configuration requires {requirement}"),
                "install a version that fits, or change `required-version`; other problems \
                 reported for this file may come from the difference",
            ),
            _ => {}
        }
    }

    /// The output folder, relative to the configuration, without `.` and needless `..`.
    pub(super) fn output_dir(&mut self, at: At<&str>, base: &Path) -> Option<PathBuf> {
        let range = at.1.clone();
        let text = self.filled("dir", at)?;
        let path = Path::new(text);
        if path.is_absolute() || path.has_root() || text.starts_with('~') {
            self.error(
                Code::InvalidValue,
                &range,
                "`dir` is not relative to this file, so it means something else on every machine",
                "write a relative path such as `out`; the command line can name another folder",
            );
            return None;
        }
        let dir = plain(path);
        let upwards = dir.components().all(|component| component == Component::ParentDir);
        if upwards || plain(base).starts_with(plain(&base.join(&dir))) {
            self.error(
                Code::OverlappingOutput,
                &range,
                "the output folder holds this configuration",
                "charts are written, replaced and deleted in the output folder: give it a folder \
                 of its own, such as `out`",
            );
            return None;
        }
        Some(dir)
    }
}

/// `path` without `.`, and without `..` where the folder before it is known; never touches disk.
pub(super) fn plain(path: &Path) -> PathBuf {
    let mut result = PathBuf::new();
    for component in path.components() {
        match component {
            Component::CurDir => {}
            Component::ParentDir
                if matches!(result.components().next_back(), Some(Component::Normal(_))) =>
            {
                result.pop();
            }
            component => result.push(component),
        }
    }
    result
}

/// A range of versions. One of which the end is left out means all that begin so, as it does to OLM:
/// `1.2` is any 1.2, and not also 1.3 as it would be to Cargo, whose syntax this is otherwise.
fn version_range(text: &str) -> Result<semver::VersionReq, semver::Error> {
    let exact = |part: &str| {
        let is_bare = !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit() || b == b'.');
        if is_bare { format!("={part}") } else { part.to_owned() }
    };
    let parts: Vec<String> = text.split(',').map(|part| exact(part.trim())).collect();
    semver::VersionReq::parse(&parts.join(", "))
}
