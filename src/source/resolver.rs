//! [`SourceResolver`]: finds the bytes of a source in directories, layouts, mirrors, and
//! registries, in this order; and tags, and their digests, likewise.

use super::access::Access;
use super::catalog::{self, Selected};
use super::image::{self, Blobs};
use super::layout::{self, Layout, Wanted};
use super::limits::Limits;
use super::reference::Reference;
use super::registry::Client;
use super::signature::{Policy, Signature};
use super::{BundleFiles, ImageIdentity, failure, local, own_files};
use crate::config::{
    COMMAND_LINE, Config, Mirror, MirrorTarget, Network, Registry, Source, Verification,
};
use crate::diag::{Code, Diagnostic, Diagnostics, Fatal, Place, Span};
use crate::ir::UpgradeEdges;
use oci_spec::image::{Descriptor, Digest};
use std::path::{Path, PathBuf};
use std::str::FromStr as _;
use std::sync::OnceLock;

/// Reads sources as a configuration says. May be used from several threads.
pub struct SourceResolver {
    pub(super) base: PathBuf,
    pub(super) mirrors: Vec<Mirror>,
    pub(super) registries: Vec<Registry>,
    pub(super) network: Network,
    pub(super) limits: Limits,
    pub(super) access: Access,
    pub(super) client: OnceLock<Result<Client, Fatal>>,
    verifications: Vec<Verification>,
    policy: OnceLock<Result<Policy, Fatal>>,
}

/// The locked identity of an image.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pin<'p> {
    /// The reference of the image.
    pub reference: &'p str,
    /// The digest of its manifest.
    pub digest: &'p str,
    /// The digest of the index that the manifest was picked from.
    pub index: Option<&'p str>,
    /// The signature that was verified when the image was locked.
    pub signature: Option<&'p Signature>,
    /// True for the image of a catalog that embeds the bundle, false for the bundle's own image.
    pub is_catalog: bool,
    /// The edges that lead to the bundle in its catalog, which is not read for a pinned image.
    pub edges: Option<&'p UpgradeEdges>,
}

/// An image that was found, and its blobs.
pub(super) struct Located<'s> {
    pub(super) blobs: Box<dyn Blobs + 's>,
    /// The descriptor of its manifest or index.
    pub(super) root: Descriptor,
    /// The signature that was verified, if one is required.
    pub(super) signature: Option<Signature>,
}

impl SourceResolver {
    /// Creates a resolver. Relative paths start from `base`.
    pub fn new(base: &Path, mirrors: &[Mirror], limits: &Limits, access: Access) -> Self {
        SourceResolver {
            base: base.to_owned(),
            mirrors: mirrors.to_vec(),
            registries: Vec::new(),
            network: Network::default(),
            limits: limits.clone(),
            access,
            client: OnceLock::new(),
            verifications: Vec::new(),
            policy: OnceLock::new(),
        }
    }

    /// Creates a resolver for a configuration, with the default limits.
    pub fn of(config: &Config, access: Access) -> Self {
        SourceResolver {
            registries: config.registries.clone(),
            network: config.network.clone(),
            verifications: config.verifications.clone(),
            ..SourceResolver::new(&config.base, &config.mirrors, &Limits::default(), access)
        }
    }

    /// Reads the bundle of `source`; `None` after an error. With a `pin`, an image is read by its
    /// digest, and the catalog is only read if it embeds the bundle.
    ///
    /// Findings have places in the configuration or in a file of the bundle.
    pub fn fetch(
        &self,
        source: &Source,
        pin: Option<Pin<'_>>,
        diagnostics: &mut Diagnostics,
    ) -> Option<BundleFiles> {
        let mut start = diagnostics.mark();
        // Paths of arguments are relative to the working directory, those of bundles.toml to its folder.
        let base = |span| if is_argument(span) { Path::new("") } else { self.base.as_path() };
        // The image of a bundle that a catalog named at an earlier revision.
        let mut edges = pin.and_then(|pin| pin.edges).cloned();
        let (outcome, span) = match source {
            Source::Catalog(wanted) => {
                let (reference, pin) = match pin {
                    Some(pin) if !pin.is_catalog => (pin.reference.to_owned(), Some(pin)),
                    catalog => match catalog::select(wanted, self, catalog, diagnostics)? {
                        Selected::Embedded(files) => return Some(*files),
                        Selected::Image(reference, own) => {
                            edges = Some(own);
                            (reference, None)
                        }
                    },
                };

                // Findings about the catalog have their places.
                start = diagnostics.mark();
                let read = self.read_image(&reference, pin, diagnostics);
                let files = read.map(|files| BundleFiles { reference: Some(reference), ..files });
                (files, &wanted.catalog.span)
            }
            Source::Manifests(manifests) => {
                let base = base(&manifests.span);
                return own_files::read(manifests, base, &self.limits, diagnostics);
            }
            Source::Image { reference, span } => {
                (self.read_image(reference, pin, diagnostics), span)
            }
            Source::Path { path, span } => {
                (local::read(path, base(span), &self.limits, diagnostics), span)
            }
        };
        let files = diagnostics.report(outcome);
        diagnostics.since(start).iter_mut().for_each(|found| place(found, span));
        files.map(|files| BundleFiles { edges, ..files })
    }

    fn read_image(
        &self,
        reference: &str,
        pin: Option<Pin<'_>>,
        diagnostics: &mut Diagnostics,
    ) -> Result<BundleFiles, Fatal> {
        let start = diagnostics.mark();
        let opened = self.open(reference, pin, diagnostics).map_err(|mut fatal| {
            if pin.is_some() {
                diagnostics.since(start).iter_mut().chain([&mut *fatal]).for_each(of_lock);
            }
            fatal
        })?;
        let mut files = image::read(opened.blobs.as_ref(), &opened.root, diagnostics)?;
        if let Some(identity) = &mut files.image {
            identity.signature = opened.signature;
        }
        Ok(files)
    }

    /// Finds an image, and verifies its signature as the configuration requires it. Every image that
    /// is read by reference is opened here.
    pub(super) fn open(
        &self,
        reference: &str,
        pin: Option<Pin<'_>>,
        diagnostics: &mut Diagnostics,
    ) -> Result<Located<'_>, Fatal> {
        let mut reference = Reference::parse(reference)?;
        if let Some(Pin { digest, .. }) = pin {
            reference.digest = Some(Digest::from_str(digest).map_err(|error| {
                let message = format!("invalid digest `{}`: {error}", digest.escape_debug());
                failure(Code::InvalidReference, message, "write `sha256:` and 64 digits")
            })?);
        }
        let located = self.locate(&reference, diagnostics)?;
        let signature = self.verify(&reference, &located, pin)?;
        Ok(Located { signature, ..located })
    }

    /// Finds an image: in the mirrors that serve it, one after the other as far as they fall back,
    /// else in its registry.
    pub(super) fn locate(
        &self,
        reference: &Reference,
        diagnostics: &mut Diagnostics,
    ) -> Result<Located<'_>, Fatal> {
        let mut missed = Vec::new();
        for (mirror, rest) in mirrors_of(&self.mirrors, reference) {
            let outcome = match &mirror.to {
                MirrorTarget::Layout(folder) => {
                    let wanted = Wanted::mirrored(reference, rest);
                    self.open_layout(folder, &mirror.span, &wanted, diagnostics)
                }
                MirrorTarget::Registry(start) => {
                    let name = name_below(start, rest);
                    self.open_registry(&Reference { name, ..reference.clone() })
                }
            };
            match outcome {
                Err(found) if mirror.fallback && is_absence(&found) => {
                    self.access.tell(1, || format!("{}: falling back", found.message));
                    missed.push(*found);
                }
                // Also an invalid image: to read it from elsewhere would hide that the mirror is
                // wrong.
                other => return other,
            }
        }
        self.open_registry(reference).map_err(|found| {
            // After the registry's error those of the mirrors, where the image may be expected.
            let Some(last) = missed.pop() else { return found };
            diagnostics.push(*found);
            diagnostics.extend(missed);
            last.into()
        })
    }

    fn open_layout(
        &self,
        folder: &Path,
        span: &Span,
        wanted: &Wanted,
        diagnostics: &mut Diagnostics,
    ) -> Result<Located<'_>, Fatal> {
        let shown = folder.display().to_string();
        let path = self.base.join(folder);
        if !path.join(layout::MARKER).is_file() {
            return Err(no_layout(&shown, &path, span));
        }
        let layout = Layout::folder(path, &shown, &self.limits);
        let root = layout.locate(wanted, diagnostics)?;
        self.access.tell(1, || format!("{}: from the layout {shown}", root.digest()));
        Ok(Located { blobs: Box::new(layout), root, signature: None })
    }

    /// Returns the tags of the repository of `reference`, sorted: those of the first mirror that
    /// serves it, else of its registry.
    ///
    /// `None` if the registry does not list them.
    pub fn tags(&self, reference: &str, diagnostics: &mut Diagnostics) -> Option<Vec<String>> {
        let tags = Reference::parse(reference).and_then(|reference| self.tags_of(&reference));
        let mut tags = diagnostics.report(tags)?;
        tags.sort();
        // A layout has a tag once for each name and platform of an image.
        tags.dedup();
        Some(tags)
    }

    /// Returns the digest of the manifest that `reference` leads to now, through an index if there is
    /// one: the digest that bundles.lock has. The index of the `locked` image is not read again.
    ///
    /// `None` if it leads nowhere.
    pub fn current_digest(
        &self,
        reference: &str,
        locked: &ImageIdentity,
        diagnostics: &mut Diagnostics,
    ) -> Option<String> {
        // Only digests are read: the signature is verified when the image is locked.
        let located =
            Reference::parse(reference).and_then(|parsed| self.locate(&parsed, diagnostics));
        let Located { blobs, root, .. } = diagnostics.report(located)?;
        let digest = root.digest().to_string();
        if digest == locked.digest || locked.index.as_ref() == Some(&digest) {
            return Some(locked.digest.clone());
        }
        let (manifest, _) = diagnostics.report(image::resolve(blobs.as_ref(), &root))?;
        Some(manifest.digest().to_string())
    }

    fn tags_of(&self, reference: &Reference) -> Result<Vec<String>, Fatal> {
        for (mirror, rest) in mirrors_of(&self.mirrors, reference) {
            let tags = match &mirror.to {
                MirrorTarget::Layout(folder) => {
                    let path = self.base.join(folder);
                    // An image that is read reports the missing layout.
                    if !path.join(layout::MARKER).is_file() {
                        continue;
                    }
                    let layout = Layout::folder(path, &folder.display().to_string(), &self.limits);
                    layout.tags(&[&reference.name, rest])
                }
                MirrorTarget::Registry(start) => self.tags_in(&name_below(start, rest)),
            };
            match tags {
                Err(found) if mirror.fallback && is_absence(&found) => {}
                other => return other,
            }
        }
        self.tags_in(&reference.name)
    }
    /// Returns the `[[verify]]` tables, with their keys read.
    pub(super) fn policy(&self) -> Result<&Policy, Fatal> {
        let read = self.policy.get_or_init(|| Policy::read(&self.verifications, &self.base));
        read.as_ref().map_err(Clone::clone)
    }
}

/// Returns the name of a repository below `start`, the name of a registry or of a repository itself.
fn name_below(start: &str, rest: &str) -> String {
    if rest.is_empty() { start.to_owned() } else { format!("{start}/{rest}") }
}

/// Returns the mirrors that serve a reference, and the rest of the reference's name: longest prefix
/// first, then in the order of the configuration.
fn mirrors_of<'m, 'r>(
    mirrors: &'m [Mirror],
    reference: &'r Reference,
) -> Vec<(&'m Mirror, &'r str)> {
    let mut found: Vec<(&Mirror, &str)> =
        mirrors.iter().filter_map(|m| Some((m, reference.after(&m.from)?))).collect();
    // Stable, so that mirrors of one prefix stay in their order.
    found.sort_by_key(|(_, rest)| rest.len());
    found
}

/// Returns true for a source of the command line, which is relative to the working directory. Those in a
/// table that comes from there are relative to the configuration.
fn is_argument(span: &Span) -> bool {
    span.source.name == COMMAND_LINE && span.range == (0..span.source.text.len())
}

/// Returns true if a finding means that the image is not available there, in contrast to an invalid
/// image. Registries deny access to missing images without credentials, and proxies answer for
/// registries that are down.
fn is_absence(found: &Diagnostic) -> bool {
    use Code::{ImageNotFound, Offline, RegistryDenied, RegistryFailed, RegistryUnreachable};
    matches!(
        found.code,
        ImageNotFound | Offline | RegistryDenied | RegistryFailed | RegistryUnreachable
    )
}

/// Adds to the hint of a missing image that its digest is from the lock file.
fn of_lock(found: &mut Diagnostic) {
    if found.code == Code::ImageNotFound {
        let hint = found.hint.take().unwrap_or_default();
        found.hint = Some(format!(
            "{hint}; bundles.lock has this digest: push the image again, add a mirror that has \
                it, or use the current image of the tag with `bundle2chart lock --upgrade`"
        ));
    }
}

/// Sets the place of a finding without place to the source's value.
pub(super) fn place(found: &mut Diagnostic, span: &Span) {
    let configured = Place::span(span.clone());
    if found.place == Place::default() {
        found.place = configured;
    } else {
        found.related.push((configured, "the bundle is configured here".to_owned()));
    }
}

fn no_layout(shown: &str, path: &Path, span: &Span) -> Fatal {
    let (what, hint) = if path.symlink_metadata().is_ok() {
        ("is not an OCI image layout: it has no file `oci-layout`", "use a directory that has it")
    } else {
        (
            "does not exist",
            "check the path: it is relative to the directory of the configuration \
            file",
        )
    };
    Diagnostic::error(Code::SourceNotFound, format!("the mirror directory `{shown}` {what}"))
        .at(span)
        .hint(hint)
        .into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diag::SourceText;
    use std::sync::Arc;

    fn found(prefixes: &[&str], reference: &str) -> Vec<(usize, String)> {
        let text = Arc::new(SourceText { name: String::new(), text: String::new() });
        let list: Vec<Mirror> = prefixes
            .iter()
            .map(|from| Mirror {
                from: (*from).to_owned(),
                to: MirrorTarget::Layout("layout".into()),
                fallback: true,
                span: Span::new(&text, 0..0),
            })
            .collect();
        let reference = Reference::parse(reference).unwrap();
        mirrors_of(&list, &reference)
            .into_iter()
            .map(|(mirror, rest)| {
                (list.iter().position(|m| std::ptr::eq(m, mirror)).unwrap(), rest.to_owned())
            })
            .collect()
    }

    fn named(found: &[(usize, &str)]) -> Vec<(usize, String)> {
        found.iter().map(|(index, rest)| (*index, (*rest).to_owned())).collect()
    }

    #[test]
    fn the_longest_prefix_comes_first_whatever_the_order() {
        let prefixes = ["quay.io", "quay.io/team/b", "quay.io/team", "quay.io/team"];
        assert_eq!(
            found(&prefixes, "quay.io/team/b:1"),
            named(&[(1, ""), (2, "b"), (3, "b"), (0, "team/b")])
        );
        assert_eq!(
            found(&prefixes, "quay.io/team/c:1"),
            named(&[(2, "c"), (3, "c"), (0, "team/c")])
        );
        assert_eq!(found(&prefixes, "quay.io/teams/c:1"), named(&[(0, "teams/c")]));
        assert_eq!(found(&prefixes, "docker.io/team/c:1"), []);
    }

    #[test]
    fn a_prefix_ends_on_a_slash() {
        let prefixes = ["registry.redhat.io"];
        assert_eq!(found(&prefixes, "registry.redhat.io.evil.com/a/b:1.0"), []);
        assert_eq!(found(&prefixes, "registry.redhat.io:5000/a/b:1.0"), []);
        assert_eq!(found(&prefixes, "registry.redhat.io/a/b:1.0"), named(&[(0, "a/b")]));
    }
}
