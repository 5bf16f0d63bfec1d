//! [`SourceResolver`]: finds the bytes of a source in directories, layouts, mirrors, and
//! registries, in this order.

use super::access::Access;
use super::catalog::{self, Selected};
use super::image::{self, Blobs};
use super::layout::{self, Layout, Wanted};
use super::limits::Limits;
use super::reference::Reference;
use super::registry::Client;
use super::signature::{Policy, Signature};
use super::{BundleFiles, failure, local, mirror, own_manifests};
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
    pub fn new(
        base: &Path,
        mirrors: &[Mirror],
        registries: &[Registry],
        network: &Network,
        limits: &Limits,
        access: Access,
    ) -> Self {
        SourceResolver {
            base: base.to_owned(),
            mirrors: mirrors.to_vec(),
            registries: registries.to_vec(),
            network: network.clone(),
            limits: limits.clone(),
            access,
            client: OnceLock::new(),
            verifications: Vec::new(),
            policy: OnceLock::new(),
        }
    }

    /// Creates a resolver for a configuration, with the default limits.
    pub fn of(config: &Config, access: Access) -> Self {
        let Config { base, mirrors, registries, network, .. } = config;
        let sources =
            SourceResolver::new(base, mirrors, registries, network, &Limits::default(), access);
        SourceResolver { verifications: config.verifications.clone(), ..sources }
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
                return own_manifests::read(manifests, base, &self.limits, diagnostics);
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
        for (mirror, rest) in mirror::find(&self.mirrors, reference) {
            let outcome = match &mirror.to {
                MirrorTarget::Layout(folder) => {
                    let wanted = Wanted::mirrored(reference, rest);
                    self.open_layout(folder, &mirror.span, &wanted, diagnostics)
                }
                MirrorTarget::Registry(start) => {
                    let name = mirror::name_below(start, rest);
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

    /// Returns the `[[verify]]` tables, with their keys read.
    pub(super) fn policy(&self) -> Result<&Policy, Fatal> {
        let read = self.policy.get_or_init(|| Policy::read(&self.verifications, &self.base));
        read.as_ref().map_err(Clone::clone)
    }
}

/// Returns true for a source of the command line, which is relative to the working directory. Those in a
/// table that comes from there are relative to the configuration.
fn is_argument(span: &Span) -> bool {
    span.source.name == COMMAND_LINE && span.range == (0..span.source.text.len())
}

/// Returns true if a finding means that the image is not available there, in contrast to an invalid
/// image. Registries deny access to missing images without credentials, and proxies answer for
/// registries that are down.
pub(super) fn is_absence(found: &Diagnostic) -> bool {
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
