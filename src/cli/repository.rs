//! Maps the places of diagnostics to files of the Git repository, for annotations of code hosts.

use crate::config::{BundleConfig, Config, Overlay, OverlaySource, Source};
use crate::diag::{Diagnostic, Location, Place};
use std::path::{Component, Path, PathBuf};

/// The Git repository, and the paths of its bundles.
#[derive(Clone, Debug, Default)]
pub(super) struct Repository {
    /// The working directory.
    working: PathBuf,
    /// The root directory of the repository.
    top: PathBuf,
    /// The base directory of the configuration.
    base: PathBuf,
    /// The configured bundles.
    bundles: Vec<BundleConfig>,
    /// The path of the bundle from the command line.
    argument: Option<PathBuf>,
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
        Repository { working, top, ..Repository::default() }
    }

    /// Adds the bundles of a configuration.
    pub(super) fn add(&mut self, config: &Config) {
        self.base.clone_from(&config.base);
        self.bundles.clone_from(&config.bundles);
    }

    /// Adds a bundle from the command line.
    pub(super) fn add_argument(&mut self, bundle: &str) {
        self.argument = Some(PathBuf::from(bundle));
    }

    /// Returns the repository file of a place. Places in bundles that are not directories map to the
    /// `[[bundle]]` line.
    pub(super) fn locate(&self, place: &Place) -> Location {
        let mut location = Location::from(place);
        let bundle = self.bundle(place);
        if place.span.is_none() && (bundle.is_some() || self.argument.is_some()) {
            if let Some(file) = self.file(bundle, place) {
                location.file = Some(self.relative(&file));
                return location;
            }
            let inside = place.file.as_ref().map(|_| location.text());
            location = bundle.map(|bundle| Location::from(&bundle.span)).unwrap_or_default();
            location.inside = inside.unwrap_or_default();
        }
        location.file = location.file.map(|file| self.relative(Path::new(&file)));
        location
    }

    /// Returns the same finding, with the places in a bundle's directory as paths from the working
    /// directory.
    pub(super) fn opened(&self, mut found: Diagnostic) -> Diagnostic {
        // Related places are in the same bundle, which is named once.
        let bundle = self.bundle(&found.place);
        for place in found.places_mut() {
            if let Some(file) = self.file(bundle, place) {
                let file: PathBuf = file.components().collect();
                let shown = file.strip_prefix(".").unwrap_or(&file);
                place.file = Some(shown.display().to_string());
            }
        }
        found
    }

    /// Returns the configured bundle of a place: one that is not configured is from the command line.
    fn bundle(&self, place: &Place) -> Option<&BundleConfig> {
        let name = place.bundle.as_ref()?;
        self.bundles.iter().find(|bundle| bundle.name == *name)
    }

    /// Returns the file on disk for a place in a bundle, if it exists.
    fn file(&self, bundle: Option<&BundleConfig>, place: &Place) -> Option<PathBuf> {
        let name = place.file.as_deref()?;
        let Some(bundle) = bundle else {
            let folder = self.argument.as_ref()?;
            // Such names of manifests are paths from the working directory.
            let is_path = name.starts_with("./");
            return if is_path { Some(PathBuf::from(name)) } else { file_in(folder, name) };
        };
        let is_overlay = |overlay: &Overlay| match &overlay.source {
            OverlaySource::Path(path) => name
                .strip_prefix(path.trim_end_matches('/'))
                .is_some_and(|rest| rest.is_empty() || rest.starts_with('/')),
            OverlaySource::Text(_) | OverlaySource::Object(_) => false,
        };
        if bundle.overlays.iter().any(is_overlay) || name.starts_with("./") {
            return Some(self.base.join(name));
        }
        match &bundle.source {
            Source::Path { path, .. } => file_in(&self.base.join(path), name),
            // Places in manifests are relative to the configuration.
            Source::Manifests(_) => file_in(&self.base, name),
            Source::Image { .. } | Source::Catalog(_) => None,
        }
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

fn file_in(folder: &Path, name: &str) -> Option<PathBuf> {
    let file = folder.join(name);
    file.exists().then_some(file)
}
