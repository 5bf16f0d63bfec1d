//! The upgrades that a catalog offers from an installed bundle.

use super::contents::Contents;
use super::graph::{self, Step};
use super::objects::Deprecation;
use super::{read_package, with_catalog};
use crate::config::{CatalogSource, VersionRequest};
use crate::diag::{Diagnostics, Place};
use crate::resolver::SourceResolver;
use semver::Version;

/// A bundle as it is installed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Installed {
    /// Name of the ClusterServiceVersion, which is the bundle's name in a catalog.
    pub csv: String,
    /// Its version; `skipRange` needs one.
    pub version: Option<Version>,
}

impl Installed {
    /// Creates it from the name and the version of a ClusterServiceVersion.
    pub fn of(csv: &str, version: &str) -> Self {
        Installed { csv: csv.to_owned(), version: Version::parse(version).ok() }
    }
}

/// The state of an installed bundle in a catalog.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Upgrades {
    /// Name of the channel.
    pub channel: String,
    /// Version of the bundle that the configuration selects.
    pub selected: Version,
    /// Version of the channel's head, if it has one head.
    pub head: Option<Version>,
    /// The highest version in any channel that is not a pre-release, and the channel.
    pub newest: Option<(Version, String)>,
    /// The steps from the installed bundle to the selected one, each a bundle that the next one
    /// requires; empty if it is installed, `None` if no upgrades lead there.
    pub path: Option<Vec<Step>>,
    /// The deprecations of the package, the channel, the installed and the selected bundle.
    pub deprecations: Vec<Deprecated>,
}

/// A deprecation in a catalog.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Deprecated {
    /// `package`, `channel` or `bundle`.
    pub kind: &'static str,
    /// Name of the package, channel or bundle.
    pub name: String,
    /// The catalog's reason, in one line.
    pub message: String,
}

/// Returns the upgrades from `installed` to the bundle that `source` selects in its catalog.
///
/// `None` if the catalog cannot be read or has no such bundle. Findings have places in the
/// configuration, or in a file of the catalog.
pub fn upgrades(
    source: &CatalogSource,
    sources: &SourceResolver,
    installed: &Installed,
    diagnostics: &mut Diagnostics,
) -> Option<Upgrades> {
    with_catalog(source, sources, None, diagnostics, |catalog, diagnostics| {
        let (contents, _) = read_package(catalog, source, &sources.limits, diagnostics)?;
        let contents = &contents;
        let choice = graph::choose(contents, source)?;
        let head = CatalogSource { version: None, ..source.clone() };
        // A channel with several heads is an error only for those who want the head.
        let head = graph::choose(contents, &head).ok().map(|choice| choice.version);
        let path = graph::path(contents, choice.channel, installed, &choice.bundle.name);
        let bundles = [installed.csv.as_str(), choice.bundle.name.as_str()];

        Ok(Upgrades {
            channel: choice.channel.to_owned(),
            deprecations: deprecations(contents, choice.channel, &bundles),
            selected: choice.version,
            head,
            newest: graph::newest(contents),
            path,
        })
    })
}

/// Returns the deprecations of the package, of a channel and of some bundles.
pub(super) fn deprecations(
    contents: &Contents,
    channel: &str,
    bundles: &[&str],
) -> Vec<Deprecated> {
    let deprecated = |Deprecation { reference, message }: &Deprecation| {
        let name = reference.name.as_deref().unwrap_or_default();
        let (kind, name) = match reference.schema.as_str() {
            "olm.package" => ("package", contents.package.as_str()),
            "olm.channel" if name == channel => ("channel", name),
            "olm.bundle" if bundles.contains(&name) => ("bundle", name),
            _ => return None,
        };
        // Text of the catalog: on one line, without control characters, and not a book.
        let message = message.iter().flat_map(|text| text.split_whitespace());
        let message = message.collect::<Vec<_>>().join(" ");
        let message = message.chars().filter(|c| !c.is_control()).take(500).collect();
        Some(Deprecated { kind, name: name.to_owned(), message })
    };
    contents.deprecations.iter().filter_map(deprecated).collect()
}

/// Returns the source that selects exactly the bundle of a step, from the same channel.
pub fn select_step(source: &CatalogSource, channel: &str, step: &Step) -> CatalogSource {
    let text = |text: &str| crate::config::Text {
        text: text.to_owned(),
        span: source.channel.as_ref().map_or(&source.package.span, |channel| &channel.span).clone(),
    };
    let span = source.version.as_ref().map_or(&source.package.span, |version| &version.span);
    CatalogSource {
        channel: Some(text(channel)),
        version: Some(crate::config::WantedVersion {
            request: VersionRequest::Exact(step.version.clone()),
            span: span.clone(),
        }),
        ..source.clone()
    }
}

/// Returns the place of a finding about the version that `source` selects.
pub fn place_of_version(source: &CatalogSource) -> Place {
    let version = source.version.as_ref().map(|version| &version.span);
    let channel = source.channel.as_ref().map(|channel| &channel.span);
    Place::span(version.or(channel).unwrap_or(&source.package.span).clone())
}
