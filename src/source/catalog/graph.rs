//! The upgrade graph of a channel: its head, its entries, and the selection of a bundle.

use super::contents::Contents;
use super::objects::{Bundle, ChannelEntry};
use super::upgrades::Installed;
use super::{OTHER_VERSION, unusable};
use crate::config::{CatalogSource, VersionRequest};
use crate::diag::{Code, Diagnostic, Fatal, Span, suggest};
use crate::failure;
use crate::ir::{UpgradeEdges, VersionRange};
use semver::Version;
use std::collections::{BTreeMap, BTreeSet};

/// Entries of a channel; the largest known have some hundred. All are compared with all.
const MOST_ENTRIES: usize = 2_000;
/// Versions and names that a hint lists.
const MOST_LISTED: usize = 12;

/// The bundle to compile.
#[derive(Debug)]
pub(super) struct Choice<'c> {
    pub(super) channel: &'c str,
    pub(super) bundle: &'c Bundle,
    pub(super) version: Version,
    pub(super) edges: UpgradeEdges,
}

/// Selects the bundle that the configuration requests.
pub(super) fn choose<'c>(
    contents: &'c Contents,
    source: &CatalogSource,
) -> Result<Choice<'c>, Fatal> {
    let (name, entries) = channel(contents, source)?;
    let channel = Channel::new(name, entries, contents);
    // Without a version the head of the channel is meant, as in a Subscription.
    let bundle = match &source.version {
        None => channel.head(source)?,
        Some(wanted) => channel.find(&wanted.request, &wanted.span)?,
    };
    let version = version(bundle).map_err(|why| {
        unusable(bundle, format!("the bundle `{}` has no valid version: {why}", bundle.name))
    })?;
    Ok(Choice { channel: name, bundle, version, edges: edges(entries, &bundle.name) })
}

fn channel<'c>(
    contents: &'c Contents,
    source: &CatalogSource,
) -> Result<(&'c str, &'c [ChannelEntry]), Fatal> {
    let names: Vec<&str> = contents.channels.keys().map(String::as_str).collect();
    let (wanted, span) = match (&source.channel, &contents.default_channel) {
        (Some(channel), _) => (channel.text.as_str(), &channel.span),
        // The catalog chose the channel, so the package is what a user can change.
        (None, Some(channel)) => (channel.as_str(), &source.package.span),
        (None, None) => {
            let message = format!("the package `{}` has no default channel", contents.package);
            let hint = format!("set `channel`; the package has {}", listed(&names));
            let error = failure(Code::ChannelNotFound, message, hint);
            return Err(error.at(&source.package.span).into());
        }
    };

    match contents.channels.get_key_value(wanted) {
        Some((name, entries)) if entries.len() > MOST_ENTRIES => {
            let message = format!("the channel `{name}` has too many entries ({})", entries.len());
            let hint =
                format!("check that this is a catalog: real channels have at most {MOST_ENTRIES}");
            Err(failure(Code::SourceLimit, message, hint).at(span).into())
        }
        Some((name, entries)) => Ok((name, entries)),
        None => {
            let package = &contents.package;
            let what = if source.channel.is_some() { "channel" } else { "default channel" };
            let message =
                format!("the package `{package}` has no {what} `{}`", wanted.escape_debug());
            let mut hint = format!("it has {}", listed(&names));
            if let Some(near) = suggest::nearest(wanted, &names) {
                hint = format!("did you mean `{near}`? {hint}");
            }
            Err(Diagnostic::error(Code::ChannelNotFound, message).at(span).hint(hint).into())
        }
    }
}

/// Returns the edges that lead to a bundle in a channel. A bundle that is listed more than once has
/// all of them, as in OLM.
fn edges(entries: &[ChannelEntry], bundle: &str) -> UpgradeEdges {
    let mut edges = UpgradeEdges::default();
    for entry in entries.iter().filter(|entry| entry.name == bundle) {
        let text = |text: &Option<String>| text.clone().unwrap_or_default();
        // A channel may list an entry twice.
        if edges.replaces.is_empty() {
            edges.replaces = text(&entry.replaces);
        }
        if edges.skip_range.is_empty() {
            edges.skip_range = text(&entry.skip_range);
        }
        edges.skips.extend(entry.skips.iter().flatten().cloned());
    }
    edges
}

/// Returns the version that a bundle states.
fn version(bundle: &Bundle) -> Result<Version, String> {
    let text = bundle.version.as_deref().ok_or("it has no olm.package property with a version")?;
    Version::parse(text).map_err(|error| format!("`{}`: {error}", text.escape_debug()))
}

struct Channel<'c> {
    name: &'c str,
    entries: &'c [ChannelEntry],
    contents: &'c Contents,
    /// The versions of its bundles, by name; those that the catalog does not have or that state none are
    /// left out.
    versions: BTreeMap<&'c str, Version>,
}

impl<'c> Channel<'c> {
    fn new(name: &'c str, entries: &'c [ChannelEntry], contents: &'c Contents) -> Self {
        let bundles = entries.iter().filter_map(|entry| {
            let bundle = contents.bundles.get(entry.name.as_str())?;
            // A bundle without a valid version matters only as the head, and `choose` reports it
            // then.
            Some((entry.name.as_str(), version(bundle).ok()?))
        });
        Channel { name, entries, contents, versions: bundles.collect() }
    }

    /// Returns the only head.
    fn head(&self, source: &CatalogSource) -> Result<&'c Bundle, Fatal> {
        let heads = self.heads();
        let bundles = &self.contents.bundles;
        if let [head] = heads.as_slice()
            && let Some(bundle) = bundles.get(head.name.as_str())
        {
            return Ok(bundle);
        }

        let name = self.name;
        let (code, message, hint) = match heads.as_slice() {
            [head] => (
                Code::CatalogInvalid,
                format!(
                    "the channel `{name}` refers to the bundle `{}`, which is not in the catalog",
                    head.name
                ),
                OTHER_VERSION,
            ),
            [] => {
                let why = match self.entries {
                    [] => "it has no entries",
                    _ => "every bundle is replaced or skipped by another one",
                };
                let message = format!("the channel `{name}` has no head: {why}");
                let hint =
                    "set `channel` or `version` to select a bundle; OLM rejects this catalog";
                (Code::ChannelHead, message, hint)
            }
            several => {
                let names: Vec<&str> = several.iter().map(|head| head.name.as_str()).collect();
                (
                    Code::ChannelHead,
                    format!("the channel `{name}` has {} heads: {}", names.len(), listed(&names)),
                    "set `version` to select a bundle; OLM rejects this catalog",
                )
            }
        };
        let span = source.channel.as_ref().map_or(&source.package.span, |channel| &channel.span);
        Err(Diagnostic::error(code, message).at(span).hint(hint).into())
    }

    /// Returns the bundle of a requested version.
    fn find(&self, request: &VersionRequest, span: &Span) -> Result<&'c Bundle, Fatal> {
        let all = || self.versions.iter().map(|(name, version)| (*name, version));
        let mut fitting: Vec<(&str, &Version)> = match request {
            VersionRequest::Exact(wanted) => {
                // Versions with build metadata are different bundles of one version.
                let exact: Vec<_> = all().filter(|(_, version)| *version == wanted).collect();
                // Build metadata may be left out.
                if exact.is_empty() && wanted.build.is_empty() {
                    all().filter(|(_, version)| version.cmp_precedence(wanted).is_eq()).collect()
                } else {
                    exact
                }
            }
            VersionRequest::Range(range) => {
                // A bundle from which no upgrade leads to the head would be a dead end.
                let heads = self.heads().into_iter().map(|head| head.name.as_str());
                let reachable = self.leading_to(heads.collect());
                let inside = || {
                    all().filter(|(name, version)| {
                        reachable.contains(name) && range.matches(version)
                    })
                };
                // The order of `Version` includes build metadata, so that `1.0.0+2` is above
                // `1.0.0+1` and a range finds one bundle where an exact `1.0.0` is ambiguous.
                let highest = inside().map(|(_, version)| version).max();
                inside().filter(|(_, version)| Some(*version) == highest).collect()
            }
        };
        fitting.sort_unstable();
        // Only bundles that the catalog has state a version.
        if let [(bundle, _)] = fitting.as_slice()
            && let Some(bundle) = self.contents.bundles.get(*bundle)
        {
            return Ok(bundle);
        }

        let name = self.name;
        let (code, message, hint) = match fitting.as_slice() {
            [(_, version), ..] => {
                let names: Vec<&str> = fitting.iter().map(|(name, _)| *name).collect();
                let (count, names) = (names.len(), listed(&names));
                let hint = "write the version with its build metadata (`1.0.0+2`), or set `image` \
                    to the bundle you want";
                let message = format!(
                    "the channel `{name}` has {count} bundles with version {version}: {names}"
                );
                (Code::AmbiguousVersion, message, hint.to_owned())
            }
            [] => (
                Code::VersionNotFound,
                format!("the channel `{name}` has no version {request}"),
                self.others(request),
            ),
        };
        Err(Diagnostic::error(code, message).at(span).hint(hint).into())
    }

    /// Describes the available versions, for a hint.
    fn others(&self, request: &VersionRequest) -> String {
        let fits = |version: &Version| match request {
            VersionRequest::Exact(wanted) => version.cmp_precedence(wanted).is_eq(),
            VersionRequest::Range(range) => range.matches(version),
        };
        // The most frequent mistake: the right version in the wrong channel.
        let elsewhere = self.contents.channels.iter().find(|(name, entries)| {
            name.as_str() != self.name
                && entries.iter().any(|entry| {
                    let bundle = self.contents.bundles.get(&entry.name);
                    bundle.and_then(|bundle| version(bundle).ok()).is_some_and(|v| fits(&v))
                })
        });
        let mut all: Vec<&Version> = self.versions.values().collect();
        // Highest first: `around` bisects the list.
        all.sort_unstable_by(|a, b| b.cmp(a));
        let near = around(&all, &asked(request));
        let texts: Vec<String> = near.iter().map(ToString::to_string).collect();
        let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
        let mut hint = match all.len() - near.len() {
            _ if all.is_empty() => "the channel has no versions".to_owned(),
            0 => format!("it has {}", listed(&texts)),
            more => format!("of {} versions the closest are {}", near.len() + more, listed(&texts)),
        };
        if let Some((name, _)) = elsewhere {
            hint = format!("the channel `{name}` has it; {hint}");
        }
        if all.iter().any(|version| !version.pre.is_empty())
            && matches!(request, VersionRequest::Range(_))
        {
            hint.push_str(
                "; a range matches pre-releases (with `-`) only if it has a pre-release of the \
                    same version, as in `>=4.18.0-0`",
            );
        }

        hint
    }

    /// Returns the entries that no other one replaces or skips (operator-registry: the model's channel
    /// head). Where these are several, those that another of them skips by its range are none.
    fn heads(&self) -> Vec<&'c ChannelEntry> {
        let Channel { entries, versions, .. } = self;
        let covered: BTreeSet<&str> = entries.iter().flat_map(ChannelEntry::replaced).collect();
        let mut seen = BTreeSet::new();
        // A channel may list an entry twice, which is one head all the same.
        let heads: Vec<&ChannelEntry> = entries
            .iter()
            .filter(|entry| !covered.contains(entry.name.as_str()) && seen.insert(&entry.name))
            .collect();
        // Ranges are expensive to compare and matter only where there is a choice.
        if heads.len() < 2 {
            return heads;
        }
        let ranges: Vec<(&ChannelEntry, Option<VersionRange>)> =
            heads.iter().map(|entry| (*entry, range(entry))).collect();
        let skipped = |head: &ChannelEntry| {
            let Some(version) = versions.get(head.name.as_str()) else { return false };
            ranges.iter().any(|(other, range)| {
                other.name != head.name
                && range.as_ref().is_some_and(|range| range.contains(version))
                // A range that reaches above its own bundle skips nothing there.
                && versions.get(other.name.as_str()).is_some_and(|own| version < own)
            })
        };
        heads.iter().copied().filter(|head| !skipped(head)).collect()
    }

    /// Returns the entries from which upgrades lead to one of the bundles `waiting`, these included.
    fn leading_to(&self, mut waiting: Vec<&'c str>) -> BTreeSet<&'c str> {
        let Channel { entries, versions, .. } = self;
        let by_name: BTreeMap<&str, &ChannelEntry> =
            entries.iter().map(|entry| (entry.name.as_str(), entry)).collect();
        let mut reached = BTreeSet::new();
        while let Some(name) = waiting.pop() {
            let Some(entry) = by_name.get(name) else { continue };
            if !reached.insert(entry.name.as_str()) {
                continue;
            }
            waiting.extend(entry.replaced());

            // `skipRange` names versions, and OLM upgrades from lower ones only.
            if let (Some(range), Some(own)) = (range(entry), versions.get(name)) {
                let inside = versions
                    .iter()
                    .filter(|(other, version)| *version < own && !reached.contains(*other))
                    .filter(|(_, version)| range.contains(version));
                waiting.extend(inside.map(|(other, _)| *other));
            }
        }
        reached
    }
}

/// Returns the version that a request is about, or that it starts with.
fn asked(request: &VersionRequest) -> Version {
    match request {
        VersionRequest::Exact(version) => version.clone(),
        VersionRequest::Range(range) => {
            let first = range.comparators.first();
            first.map_or(Version::new(0, 0, 0), |first| {
                Version::new(first.major, first.minor.unwrap_or(0), first.patch.unwrap_or(0))
            })
        }
    }
}

/// Returns the versions around `wanted`, highest first, as many as a hint lists.
fn around<'v>(versions: &[&'v Version], wanted: &Version) -> Vec<&'v Version> {
    let above = versions.partition_point(|version| *version > wanted);
    // Half of them are above. Near the end of the list more are, so that the hint is never short.
    let start = above.saturating_sub(MOST_LISTED / 2);
    let start = start.min(versions.len().saturating_sub(MOST_LISTED));
    versions.iter().skip(start).take(MOST_LISTED).copied().collect()
}

/// A step of an upgrade path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Step {
    /// Name of the bundle.
    pub bundle: String,
    /// Version of the bundle.
    pub version: Version,
    /// The versions of the channel that the step leaves out, lowest first.
    pub skips: Vec<Version>,
}

/// Returns the steps from an installed bundle to the bundle `target` of a channel: in each step the
/// highest version that may replace the last one (operator-controller: successors) and from which
/// upgrades lead to the target. `None` if there is no such path.
pub(super) fn path(
    contents: &Contents,
    channel: &str,
    installed: &Installed,
    target: &str,
) -> Option<Vec<Step>> {
    let (name, entries) = contents.channels.get_key_value(channel)?;
    let channel = Channel::new(name, entries, contents);
    let versions = &channel.versions;
    let leading = channel.leading_to(vec![target]);
    let (mut at, mut version) = (installed.csv.as_str(), installed.version.as_ref());
    let mut visited = BTreeSet::new();
    let mut steps = Vec::new();

    while at != target {
        // Edges of a broken catalog may form a cycle.
        visited.insert(at);
        let next = entries
            .iter()
            .filter(|entry| leading.contains(entry.name.as_str()))
            .filter(|entry| !visited.contains(entry.name.as_str()))
            .filter_map(|entry| Some((versions.get(entry.name.as_str())?, entry)))
            .filter(|(own, entry)| replaces(entry, own, at, version))
            // The longest step first: OLM prefers the newest entry that replaces the installed one.
            .max_by_key(|(own, _)| *own);
        let (own, entry) = next?;
        let is_between =
            |other: &&Version| version.is_some_and(|from| *other > from && *other < own);
        let mut skips: Vec<Version> = versions.values().filter(is_between).cloned().collect();
        skips.sort_unstable();
        steps.push(Step { bundle: entry.name.clone(), version: own.clone(), skips });
        (at, version) = (entry.name.as_str(), Some(own));
    }

    Some(steps)
}

/// Returns true if an entry of version `own` may replace the bundle `name`: it names it, or its range
/// has the bundle's version, which must be lower.
fn replaces(entry: &ChannelEntry, own: &Version, name: &str, version: Option<&Version>) -> bool {
    entry.replaced().any(|other| other == name)
        || version.is_some_and(|version| {
            version < own && range(entry).is_some_and(|range| range.contains(version))
        })
}

/// Returns the highest version in any channel that is not a pre-release, and the channel; of several
/// channels the default one, or the first.
pub(super) fn newest(contents: &Contents) -> Option<(Version, String)> {
    let default = contents.default_channel.as_deref();
    let all = contents.channels.iter().flat_map(|(name, entries)| {
        let versions = Channel::new(name, entries, contents).versions;
        versions.into_values().map(move |version| (version, name.as_str()))
    });
    // Pre-releases are an upgrade for those who ask for them only.
    let released = all.filter(|(version, _)| version.pre.is_empty());
    let best = released.reduce(|best, next| {
        let is_better = next.0 > best.0 || (next.0 == best.0 && Some(next.1) == default);
        if is_better { next } else { best }
    });
    best.map(|(version, channel)| (version, channel.to_owned()))
}

fn range(entry: &ChannelEntry) -> Option<VersionRange> {
    VersionRange::parse(entry.skip_range.as_deref().filter(|range| !range.is_empty())?).ok()
}

/// Returns quoted names for a sentence.
fn listed(names: &[&str]) -> String {
    match names {
        [] => "none".to_owned(),
        names => crate::diag::listed(crate::diag::quoted(names), MOST_LISTED),
    }
}

#[cfg(test)]
mod tests;
