//! Maps the places of diagnostics to files of the Git repository, for annotations of code hosts.

use crate::config::{Config, OverlaySource, Source};
use crate::diag::{Diagnostic, Location, Place, Span};
use std::collections::BTreeMap;
use std::path::{Component, Path, PathBuf};

/// The Git repository, and the paths of its bundles.
#[derive(Clone, Debug, Default)]
pub(super) struct Repository {
    /// The working directory.
    working: PathBuf,
    /// The root directory of the repository.
    top: PathBuf,
    /// The configured bundles by name; the key of an inspected bundle is `None`.
    bundles: BTreeMap<Option<String>, Origin>,
}

/// The origin of a bundle's files.
#[derive(Clone, Debug, Default)]
struct Origin {
    /// The `[[bundle]]` line.
    span: Option<Span>,
    /// The bundle directory, if the bundle is a directory.
    folder: Option<PathBuf>,
    /// Paths of overlays as shown in places, relative to `base`.
    overlays: Vec<String>,
    base: PathBuf,
}

impl Repository {
    /// Finds the repository of the working directory: the GitHub workspace, else the Git repository,
    /// else the working directory itself.
    #[expect(clippy::disallowed_methods, reason = "annotations are relative to the repository")]
    pub(super) fn of_working_folder() -> Self {
        let working = std::env::current_dir().unwrap_or_default();
        let workspace = std::env::var_os("GITHUB_WORKSPACE").map(PathBuf::from);
        let workspace = workspace.and_then(|top| top.canonicalize().ok());
        let top = workspace
            .filter(|top| working.starts_with(top))
            .or_else(|| {
                // A `.git` may be a file: in worktrees and submodules it is one.
                let git = working.ancestors().find(|folder| folder.join(".git").exists());
                git.map(Path::to_owned)
            })
            .unwrap_or_else(|| working.clone());
        Repository { working, top, bundles: BTreeMap::new() }
    }

    /// Adds the bundles of a configuration.
    pub(super) fn add(&mut self, config: &Config) {
        for bundle in &config.bundles {
            let folder = match &bundle.source {
                Source::Path { path, .. } => Some(config.base.join(path)),
                // Places in manifests are relative to the configuration.
                Source::Manifests(_) => Some(config.base.clone()),
                Source::Image { .. } | Source::Catalog(_) => None,
            };
            let overlays = bundle.overlays.iter().filter_map(|overlay| match &overlay.source {
                OverlaySource::Path(path) => Some(path.trim_end_matches('/').to_owned()),
                OverlaySource::Text(_) | OverlaySource::Object(_) => None,
            });
            let origin = Origin {
                span: Some(bundle.span.clone()),
                folder,
                overlays: overlays.collect(),
                base: config.base.clone(),
            };
            self.bundles.insert(Some(bundle.name.clone()), origin);
        }
    }

    /// Adds a bundle from the command line.
    pub(super) fn add_argument(&mut self, bundle: &str) {
        let origin = Origin { folder: Some(PathBuf::from(bundle)), ..Origin::default() };
        self.bundles.insert(None, origin);
    }

    /// Returns the repository file of a place. Places in bundles that are not directories map to the
    /// `[[bundle]]` line.
    pub(super) fn locate(&self, place: &Place) -> Location {
        let mut location = Location::from(place);
        if let (None, Some(origin)) = (&place.span, self.origin(place)) {
            if let Some(file) = place.file.as_ref().and_then(|file| origin.file(file)) {
                location.file = Some(self.relative(&file));
                return location;
            }
            let inside = place.file.as_ref().map(|_| location.text());
            location = origin.span.as_ref().map(Location::from).unwrap_or_default();
            location.inside = inside.unwrap_or_default();
        }
        location.file = location.file.map(|file| self.relative(Path::new(&file)));
        location
    }

    /// Returns the same finding, with the places in a bundle's directory as paths from the working
    /// directory.
    pub(super) fn opened(&self, mut found: Diagnostic) -> Diagnostic {
        // Related places are in the same bundle, which is named once.
        let origin = self.origin(&found.place);
        for place in found.places_mut() {
            let file = place.file.as_ref().and_then(|file| origin?.file(file));
            if let Some(file) = file {
                let file: PathBuf = file.components().collect();
                let shown = file.strip_prefix(".").unwrap_or(&file);
                place.file = Some(shown.display().to_string());
            }
        }
        found
    }

    /// Returns the origin of the bundle of a place: one that is not configured is from the command line.
    fn origin(&self, place: &Place) -> Option<&Origin> {
        self.bundles.get(&place.bundle).or_else(|| self.bundles.get(&None))
    }

    /// Returns the path relative to the repository root, or the absolute path if it is outside.
    fn relative(&self, file: &Path) -> String {
        // By the text of the path: `canonicalize` would follow links, which Git shows as files.
        let mut absolute = PathBuf::new();
        for part in self.working.join(file).components() {
            match part {
                Component::CurDir => {}
                Component::ParentDir => {
                    absolute.pop();
                }
                part => absolute.push(part),
            }
        }
        absolute.strip_prefix(&self.top).unwrap_or(&absolute).to_string_lossy().into_owned()
    }
}

impl Origin {
    /// Returns the file on disk for a place in the bundle, if it exists.
    fn file(&self, name: &str) -> Option<PathBuf> {
        let is_overlay = |overlay: &String| {
            name.strip_prefix(overlay.as_str())
                .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        };
        if self.overlays.iter().any(is_overlay) || name.starts_with("./") {
            return Some(self.base.join(name));
        }
        let file = self.folder.as_ref()?.join(name);
        file.is_file().then_some(file)
    }
}
