//! Names and the releases that have them.

use super::*;
use serde_json::json;

/// The release of a program that an image names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Release {
    /// The release with this index in the table.
    Listed(usize),
    /// A release after the last one of the table, whose facts are used with less certainty.
    Later,
    /// Not told by the tag `latest`, which is the newest one when it is pulled.
    Latest,
    /// Not told: a digest alone, a moving tag, a commit.
    Unknown,
}

impl Release {
    /// Returns true if the image does not tell it.
    pub(crate) fn is_unknown(self) -> bool {
        matches!(self, Release::Latest | Release::Unknown)
    }
}

/// The releases of a table, oldest first.
#[derive(Clone, Debug, Default, Deserialize)]
pub(crate) struct Releases(Vec<String>);

impl Releases {
    /// Returns the version at an index.
    pub(crate) fn name(&self, index: usize) -> &str {
        self.0.get(index).map_or("", String::as_str)
    }

    /// Returns the newest version.
    pub(crate) fn newest(&self) -> &str {
        self.0.last().map_or("", String::as_str)
    }

    /// Returns the number of releases.
    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    /// Returns the index whose facts apply to a release; `None` if unknown.
    pub(crate) fn index(&self, release: Release) -> Option<usize> {
        match release {
            Release::Listed(index) => Some(index),
            Release::Later => self.0.len().checked_sub(1),
            Release::Latest | Release::Unknown => None,
        }
    }

    /// Returns the release with this version, without a leading `v`.
    pub(crate) fn find(&self, version: &str) -> Release {
        // A tag may leave out the patch: `v0.19`.
        let short = format!("{version}.0");
        let listed = self.0.iter().position(|known| known == version || *known == short);
        match (listed, numbers(version), numbers(self.newest())) {
            (Some(index), ..) => Release::Listed(index),
            (None, Some(asked), Some(newest)) if asked > newest => Release::Later,
            // A release between those of the table, or before them: no facts are known to apply.
            _ => Release::Unknown,
        }
    }

    /// Returns the first and last index of a range, with the facts about it.
    fn span(&self, range: &str, facts: Json) -> Option<Json> {
        let (first, last) = range.split_once("..")?;
        let index = |version: &str, open: usize| match version {
            "" => Some(open),
            version => self.0.iter().position(|known| known == version),
        };
        let newest = self.0.len().checked_sub(1)?;
        Some(json!([index(first, 0)?, index(last, newest)?, facts]))
    }

    /// Returns text for a set of releases, such as `0.9.0 to 0.17.1` or `0.22.0 and later`.
    pub(crate) fn describe(&self, set: &[bool]) -> String {
        let ends = set.iter().position(|has| *has).zip(set.iter().rposition(|has| *has));
        let Some((first, last)) = ends else { return "no release".to_owned() };

        match (first == 0, last + 1 == self.0.len()) {
            // What the last release of the table has, later ones are expected to have.
            (_, true) => format!("{} and later", self.name(first)),
            (true, false) => format!("releases up to {}", self.name(last)),
            (false, false) if first == last => self.name(first).to_owned(),
            (false, false) => format!("{} to {}", self.name(first), self.name(last)),
        }
    }
}

/// Returns the numbers of a version, such as `0.8.5.post1`; `None` for other text, such as a
/// pre-release.
fn numbers(version: &str) -> Option<Vec<u32>> {
    // `.post1` is compared as a fourth number: after its release and before the next patch.
    let parts = version.split('.').map(|part| part.strip_prefix("post").unwrap_or(part));
    parts.map(|part| part.parse().ok()).collect()
}

/// The releases that have a name, with what is known about it in each.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct Spans<T>(Vec<(usize, usize, T)>);

impl<T> Spans<T> {
    /// Returns the facts of one release.
    pub(crate) fn at(&self, index: usize) -> Option<&T> {
        let span = self.0.iter().find(|(first, last, _)| (*first..=*last).contains(&index));
        span.map(|(.., spec)| spec)
    }

    /// Returns the facts that may apply: those of a known release, or of all releases.
    pub(crate) fn candidates(&self, index: Option<usize>) -> Vec<&T> {
        match index {
            Some(index) => self.at(index).into_iter().collect(),
            None => self.0.iter().map(|(.., spec)| spec).collect(),
        }
    }

    /// Returns the facts of all releases, oldest first.
    pub(crate) fn all(&self) -> impl DoubleEndedIterator<Item = &T> {
        self.0.iter().map(|(.., spec)| spec)
    }

    /// Returns the first release after `index` that has the name.
    pub(crate) fn added_after(&self, index: usize) -> Option<usize> {
        self.0.iter().map(|(first, ..)| *first).find(|first| *first > index)
    }

    /// Returns the last release before `index` that has the name.
    pub(crate) fn last_before(&self, index: usize) -> Option<usize> {
        self.0.iter().rev().map(|(_, last, _)| *last).find(|last| *last < index)
    }
}

/// Names with the releases that have them.
#[derive(Clone, Debug, Default, Deserialize)]
pub(crate) struct Named<T>(BTreeMap<String, Spans<T>>);

impl<T> Named<T> {
    /// Returns the releases of a name.
    pub(crate) fn find(&self, name: &str) -> Option<&Spans<T>> {
        self.0.get(name)
    }

    /// Returns all names with their releases, sorted by name.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (&str, &Spans<T>)> {
        self.0.iter().map(|(name, spans)| (name.as_str(), spans))
    }

    /// Returns the names of one release; of all releases if it is unknown.
    pub(crate) fn names(&self, index: Option<usize>) -> Vec<&str> {
        self.iter()
            .filter(|(_, spans)| index.is_none_or(|index| spans.at(index).is_some()))
            .map(|(name, _)| name)
            .collect()
    }

    /// Returns the facts that may apply to a name: those of a known release, or of all releases.
    pub(crate) fn candidates(&self, name: &str, index: Option<usize>) -> Vec<&T> {
        self.find(name).map(|spans| spans.candidates(index)).unwrap_or_default()
    }

    /// Returns true if this release has the name; for an unknown release, if any has it.
    pub(crate) fn has(&self, name: &str, index: Option<usize>) -> bool {
        !self.candidates(name, index).is_empty()
    }
}

/// Puts lists of [`Spans`] in place of the ranges of a table (`FIRST..LAST`, either may be empty): names have a
/// list of them, or a map from ranges to facts. Malformed ranges are left out; a test reads every table.
pub(super) fn resolved(mut table: Json) -> Json {
    let releases = Releases::deserialize(&table["versions"]).unwrap_or_default();
    let sections = table.as_object_mut().into_iter().flat_map(Map::values_mut);
    for ranges in sections.filter_map(Json::as_object_mut).flat_map(Map::values_mut) {
        let span = |range: &str, facts| releases.span(range, facts);
        *ranges = match ranges.take() {
            Json::Array(all) => {
                all.iter().filter_map(|range| span(range.as_str()?, Json::Null)).collect()
            }
            Json::Object(all) => {
                all.into_iter().filter_map(|(range, facts)| span(&range, facts)).collect()
            }
            other => other,
        };
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table() -> (Releases, Named<u32>) {
        let json = resolved(json!({
            "versions": ["0.8.0", "0.8.5.post1", "0.9.0", "0.10.0"],
            "flags": {"gone": {"..0.8.5.post1": 1}, "new": {"0.10.0..": 2}, "both": {"..": 3}},
        }));
        let releases = Releases::deserialize(&json["versions"]).unwrap();
        (releases, Named::deserialize(&json["flags"]).unwrap())
    }

    #[test]
    fn ranges_are_inclusive_and_may_be_open() {
        let (releases, flags) = table();
        assert_eq!(flags.names(Some(1)), ["both", "gone"]);
        assert_eq!(flags.names(Some(3)), ["both", "new"]);
        let gone = flags.find("gone").unwrap();
        assert_eq!(gone.last_before(2).map(|at| releases.name(at)), Some("0.8.5.post1"));
        assert_eq!(flags.find("new").unwrap().added_after(0), Some(3));
    }

    #[test]
    fn versions_are_found_or_later_or_unknown() {
        let (releases, _) = table();
        assert_eq!(releases.find("0.9.0"), Release::Listed(2));
        assert_eq!(releases.find("0.9"), Release::Listed(2));
        assert_eq!(releases.find("0.11.0"), Release::Later);
        assert_eq!(releases.find("0.10.0.post1"), Release::Later);
        for version in ["0.8.1", "0.9.0rc1", "latest", "", "main"] {
            assert_eq!(releases.find(version), Release::Unknown, "{version}");
        }
    }

    #[test]
    fn sets_of_releases_have_texts() {
        let (releases, _) = table();
        assert_eq!(releases.describe(&[false, false, true, true]), "0.9.0 and later");
        assert_eq!(releases.describe(&[true, true, false, false]), "releases up to 0.8.5.post1");
        assert_eq!(releases.describe(&[false, true, true, false]), "0.8.5.post1 to 0.9.0");
        assert_eq!(releases.describe(&[false; 4]), "no release");
    }
}
