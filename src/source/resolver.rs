//! [`SourceResolver`]: finds the bytes of a source in directories, layouts, mirrors, registries, in this order.

use super::access::Access;
use super::cache::Cache;
use super::catalog::{self, Selected};
use super::image::{self, Blobs};
use super::layout::{self, Layout, Wanted};
use super::limits::Limits;
use super::reference::Reference;
use super::registry::Client;
use super::{ARGUMENT, BundleFiles, failure, local, mirror};
use crate::config::{CatalogSource, Config, Mirror, MirrorTarget, Network, Registry, Source};
use crate::diag::{Code, Diagnostic, Diagnostics, Place, Span};
use oci_spec::image::{Descriptor, Digest};
use std::path::{Path, PathBuf};
use std::str::FromStr as _;
use std::sync::{Arc, OnceLock};

/// Reads sources as a configuration says. May be used from several threads.
pub struct SourceResolver {
    pub(super) base: PathBuf,
    mirrors: Vec<Mirror>,
    registries: Vec<Registry>,
    network: Network,
    pub(super) limits: Limits,
    pub(super) access: Access,
    client: OnceLock<Result<Client, Diagnostics>>,
}

/// The locked identity of an image.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pin<'p> {
    /// The reference of the image.
    pub reference: &'p str,
    /// The digest of its manifest.
    pub digest: &'p str,
    /// True for the image of a catalog that embeds the bundle, false for the bundle's own image.
    pub is_catalog: bool,
}

/// An image that was found, and its blobs.
pub(super) struct Located<'s> {
    pub(super) blobs: Box<dyn Blobs + 's>,
    /// The descriptor of its manifest or index.
    pub(super) root: Descriptor,
    /// Notes about the lookup, if any.
    pub(super) notes: Diagnostics,
}

impl SourceResolver {
    /// Relative paths start from `base`.
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
        }
    }

    /// Creates a resolver for a configuration, with the default limits.
    pub fn of(config: &Config, access: Access) -> Self {
        SourceResolver::new(
            &config.base,
            &config.mirrors,
            &config.registries,
            &config.network,
            &Limits::default(),
            access,
        )
    }

    /// Reads the bundle of `source`; there are no files if there is an error. With a `pin`, an
    /// image is read by its digest, and the catalog is only read if it embeds the bundle.
    ///
    /// Findings have places in the configuration or in a file of the bundle.
    pub fn fetch(
        &self,
        source: &Source,
        pin: Option<Pin<'_>>,
    ) -> (Option<BundleFiles>, Diagnostics) {
        let (outcome, span) = match source {
            Source::Catalog(wanted) => return self.fetch_from_catalog(wanted, pin),
            Source::Image { reference, span } => {
                (self.read_image(reference, pin.map(|pin| pin.digest)), span)
            }
            Source::Path { path, span } => {
                let argument = span.source.name == ARGUMENT;
                let base = if argument { Path::new("") } else { self.base.as_path() };
                (local::read(path, base, &self.limits), span)
            }
        };
        placed(outcome, span)
    }

    fn fetch_from_catalog(
        &self,
        wanted: &CatalogSource,
        pin: Option<Pin<'_>>,
    ) -> (Option<BundleFiles>, Diagnostics) {
        let mut found = Diagnostics::new();
        let (reference, digest) = match pin {
            Some(pin) if !pin.is_catalog => (pin.reference.to_owned(), Some(pin.digest)),
            catalog => {
                let digest = catalog.map(|pin| pin.digest);
                let (selected, notes) = catalog::select(wanted, self, digest);
                found.append(notes);
                match selected {
                    None => return (None, found),
                    Some(Selected { image: None, objects, .. }) => return (objects, found),
                    Some(Selected { image: Some(reference), .. }) => (reference, None),
                }
            }
        };
        let (files, more) = placed(self.read_image(&reference, digest), &wanted.catalog.span);
        found.append(more);
        (files.map(|files| BundleFiles { reference: Some(reference), ..files }), found)
    }

    fn read_image(
        &self,
        reference: &str,
        pin: Option<&str>,
    ) -> Result<(BundleFiles, Diagnostics), Diagnostics> {
        let opened = self.open(reference, pin);
        let opened = opened.map_err(|found| if pin.is_some() { of_lock(found) } else { found })?;
        let (files, mut found) = image::read(opened.blobs.as_ref(), &opened.root, &self.limits)?;
        found.append(opened.notes);
        Ok((files, found))
    }

    /// Finds an image: in the mirrors that serve it, one after the other as far as they fall back,
    /// else in its registry.
    pub(super) fn open(
        &self,
        reference: &str,
        pin: Option<&str>,
    ) -> Result<Located<'_>, Diagnostics> {
        let mut reference = Reference::parse(reference)?;
        if let Some(pin) = pin {
            reference.digest = Some(Digest::from_str(pin).map_err(|error| {
                let message = format!("invalid digest `{}`: {error}", pin.escape_debug());
                failure(Code::InvalidReference, message, "write `sha256:` and 64 digits")
            })?);
        }
        let mut missed = Diagnostics::new();
        for (mirror, rest) in mirror::find(&self.mirrors, &reference) {
            let outcome = match &mirror.to {
                MirrorTarget::Layout(folder) => {
                    self.open_layout(folder, &mirror.span, &Wanted::mirrored(&reference, rest))
                }
                MirrorTarget::Registry(start) => {
                    let name =
                        if rest.is_empty() { start.clone() } else { format!("{start}/{rest}") };
                    self.open_registry(&Reference { name, ..reference.clone() })
                }
            };
            match outcome {
                Err(found) if mirror.fallback && found.iter().all(is_absence) => {
                    let why = found.iter().map(|found| found.message.as_str());
                    let why = why.collect::<Vec<_>>().join("; ");
                    self.access.tell(1, || format!("{why}: falling back"));
                    missed.append(found);
                }
                other => return other,
            }
        }
        self.open_registry(&reference).map_err(|mut found| {
            // The earlier attempts may include the place where the image was expected.
            found.append(missed);
            found
        })
    }

    fn open_layout(
        &self,
        folder: &Path,
        span: &Span,
        wanted: &Wanted,
    ) -> Result<Located<'_>, Diagnostics> {
        let shown = folder.display().to_string();
        let path = self.base.join(folder);
        if !path.join(layout::MARKER).is_file() {
            return Err(no_layout(&shown, &path, span));
        }
        let layout = Layout::folder(path, &shown);
        let (root, note) = layout.locate(wanted, &self.limits)?;
        self.access.tell(1, || format!("{}: from the layout {shown}", root.digest()));
        Ok(Located { blobs: Box::new(layout), root, notes: note.into_iter().collect() })
    }

    fn open_registry(&self, reference: &Reference) -> Result<Located<'_>, Diagnostics> {
        let repository = self.client()?.repository(&reference.name, &self.limits)?;
        let root = repository.manifest(reference)?;
        Ok(Located { blobs: Box::new(repository), root, notes: Diagnostics::new() })
    }

    pub(super) fn client(&self) -> Result<&Client, Diagnostics> {
        let made = self.client.get_or_init(|| {
            let cache = Cache::new(self.access.environment.cache().as_deref())?;
            Ok(Client::new(
                &self.registries,
                self.base.clone(),
                &self.network,
                self.access.clone(),
                Arc::new(cache),
            ))
        });
        made.as_ref().map_err(Clone::clone)
    }
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
fn of_lock(found: Diagnostics) -> Diagnostics {
    let say = |mut found: Diagnostic| {
        if found.code == Code::ImageNotFound {
            let hint = found.hint.take().unwrap_or_default();
            found = found.hint(format!(
                "{hint}; bundles.lock has this digest: push the image again, add a mirror that has \
                    it, or use the current image of the tag with `bundle2chart lock --upgrade`"
            ));
        }
        found
    };
    found.into_iter().map(say).collect()
}

/// Files and findings, placed.
fn placed(
    outcome: Result<(BundleFiles, Diagnostics), Diagnostics>,
    span: &Span,
) -> (Option<BundleFiles>, Diagnostics) {
    let (files, found) = match outcome {
        Ok((files, found)) => (Some(files), found),
        Err(found) => (None, found),
    };
    (files, found.into_iter().map(|found| place(found, span)).collect())
}

/// Sets the place of a finding without place to the source's value.
pub(super) fn place(mut found: Diagnostic, span: &Span) -> Diagnostic {
    if found.place == Place::default() {
        found.place = Place::span(span.clone());
    } else {
        found = found.related(Place::span(span.clone()), "the bundle is configured here");
    }
    found
}

fn no_layout(shown: &str, path: &Path, span: &Span) -> Diagnostics {
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
        .at(Place::span(span.clone()))
        .hint(hint)
        .into()
}
