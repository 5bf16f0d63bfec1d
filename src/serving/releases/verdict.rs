//! Judgements on names and values, with the release that they hold for.

use super::*;

/// The hint of judgements that depend on a release that is not known.
pub(super) const CHECK_VERSION: &str =
    "check the version in the image, or use an image tag with the version";

/// The kind of a judgement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// The program fails to start.
    Refused,
    /// It starts, but a setting has no effect or not the expected one.
    Ignored,
    /// A later release refuses it.
    Deprecated,
    /// It works, but is fragile.
    Fragile,
    /// It depends on the release, which is not known.
    Depends,
}

/// A judgement on a name or value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Verdict {
    /// Its kind.
    pub(crate) kind: Kind,
    /// False if it rests on an older release than the image names.
    pub(crate) is_certain: bool,
    /// A JSON path within the judged value; empty for flags.
    pub(crate) path: String,
    /// The problem.
    pub(crate) message: String,
    /// The remedy.
    pub(crate) hint: String,
}

impl Verdict {
    /// Returns true if the hint names what was probably meant.
    pub(super) fn is_near(&self) -> bool {
        self.hint.starts_with("did you mean")
    }
}

/// A program at a release, and the judgements on its settings.
#[derive(Debug)]
pub(crate) struct Judge<'t> {
    /// Name of the program in messages.
    pub(crate) program: &'static str,
    /// Its releases.
    pub(crate) releases: &'t Releases,
    /// The release of the image.
    pub(crate) release: Release,
    /// The judgements.
    pub(crate) verdicts: Vec<Verdict>,
    /// Names that some releases do not have, and for each release whether it has it.
    needs: Vec<(String, Vec<bool>)>,
}

impl<'t> Judge<'t> {
    /// Creates a judge without judgements.
    pub(crate) fn new(program: &'static str, releases: &'t Releases, release: Release) -> Self {
        Judge { program, releases, release, verdicts: Vec::new(), needs: Vec::new() }
    }

    /// Returns the index of the release whose facts apply; `None` if unknown.
    pub(crate) fn index(&self) -> Option<usize> {
        self.releases.index(self.release)
    }

    /// Returns the program with its version, as text.
    pub(crate) fn title(&self) -> String {
        let version = self.index().map(|index| format!(" {}", self.releases.name(index)));
        format!("{}{}", self.program, version.unwrap_or_default())
    }

    /// Returns the facts of the release, or of the newest one if it is unknown: a moving tag is likely
    /// the newest.
    pub(crate) fn current<'n, T>(&self, spans: &'n Spans<T>) -> Option<&'n T> {
        spans.at(self.index().or(self.releases.len().checked_sub(1))?)
    }

    /// Returns the program with the version that [`Judge::current`] is about, as text.
    fn current_title(&self) -> String {
        let index = self.index().unwrap_or(self.releases.len().saturating_sub(1));
        format!("{} {}", self.program, self.releases.name(index))
    }

    /// Adds a judgement, and returns it for changes.
    pub(crate) fn push(
        &mut self,
        kind: Kind,
        path: &str,
        message: String,
        hint: impl Into<String>,
    ) -> &mut Verdict {
        let is_certain = self.release != Release::Later;
        let (path, hint) = (path.to_owned(), hint.into());
        self.verdicts.push(Verdict { kind, is_certain, path, message, hint });
        let last = self.verdicts.len() - 1;
        &mut self.verdicts[last]
    }

    /// Adds a judgement that the program fails to start.
    pub(crate) fn refuse(&mut self, path: &str, message: String, hint: impl Into<String>) {
        self.push(Kind::Refused, path, message, hint);
    }

    /// Judges a setting that a later release removes: `what` names it, `removal` says when.
    pub(crate) fn deprecated(
        &mut self,
        path: &str,
        what: &str,
        removal: &str,
        instead: Option<String>,
    ) {
        let message = format!("{what} is deprecated in {}{removal}", self.current_title());
        let hint = instead.unwrap_or_else(|| "remove it before the next upgrade".to_owned());
        self.push(Kind::Deprecated, path, message, hint);
    }

    /// Judges the existence of a name, and returns the judgement if the release does not have it. `noun`
    /// is the kind of the name in messages, `shown` the name as written.
    pub(crate) fn exists<T>(
        &mut self,
        names: &Named<T>,
        name: &str,
        shown: &str,
        noun: &str,
        path: &str,
    ) -> Option<&mut Verdict> {
        let Some(spans) = names.find(name) else {
            let newest = self.releases.newest();
            let (title, program) = (self.title(), self.program);
            let message = match self.release {
                Release::Listed(_) => format!("{title} has no {noun} `{shown}`"),
                _ => format!("no release of {program} up to {newest} has the {noun} `{shown}`"),
            };
            // The table has names without dashes, the suggestion as many as were written.
            let dashes = "-".repeat(shown.len() - shown.trim_start_matches('-').len());
            let hint = match suggest::nearest(name, &names.names(self.index())) {
                Some(near) => format!("did you mean `{dashes}{near}`?"),
                None => "remove it".to_owned(),
            };
            return Some(self.push(Kind::Refused, path, message, hint));
        };
        let Some(index) = self.index() else {
            self.depends(shown, |index| spans.at(index).is_some());
            return None;
        };
        if spans.at(index).is_some() {
            return None;
        }

        let message = format!("{} has no {noun} `{shown}`", self.title());
        let (when, hint) = if let Some(added) = spans.added_after(index) {
            let added = self.releases.name(added);
            let hint = format!("use {} {added} or later, or remove it", self.program);
            (format!("it was added in {added}"), hint)
        } else {
            let last = self.releases.name(spans.last_before(index)?);
            (format!("{last} was the last release with it"), "remove it, or replace it".to_owned())
        };
        Some(self.push(Kind::Refused, path, format!("{message}: {when}"), hint))
    }

    /// Records a name that only some releases have, for an unknown release.
    pub(crate) fn depends(&mut self, shown: &str, has: impl FnMut(usize) -> bool) {
        let has: Vec<bool> = (0..self.releases.len()).map(has).collect();
        if !has.contains(&false) || self.needs.iter().any(|(known, _)| known == shown) {
            return;
        }
        let last = has.iter().rposition(|has| *has).filter(|last| last + 1 < has.len());
        if let Some(last) = last.filter(|_| self.release == Release::Latest) {
            let (title, last) = (self.current_title(), self.releases.name(last));
            let message = format!("{title} has no `{shown}`: {last} was the last release with it");
            // The tag is older if the image was pulled before.
            self.push(Kind::Refused, "", message, "remove it, or replace it").is_certain = false;
        } else {
            self.needs.push((shown.to_owned(), has));
        }
    }

    /// Returns the judgements, with one on the releases that the names need if the release is unknown.
    pub(crate) fn verdicts(mut self) -> Vec<Verdict> {
        if self.needs.is_empty() {
            return self.verdicts;
        }
        let has_all = |index| self.needs.iter().all(|(_, has)| has[index]);
        let has_all: Vec<bool> = (0..self.releases.len()).map(has_all).collect();
        let first = has_all.iter().position(|has| *has);
        let range = first.zip(has_all.iter().rposition(|has| *has));
        // Only the names that the fewest releases have: a name matters if it excludes the release next
        // to the range that is left.
        let narrows = |has: &[bool]| {
            range.is_none_or(|(first, last)| {
                let next = [first.checked_sub(1), Some(last + 1)].into_iter().flatten();
                next.filter_map(|index| has.get(index)).any(|has| !has)
            })
        };
        let names = self.needs.iter().filter(|(_, has)| narrows(has));
        let names = suggest::list(&names.map(|(name, _)| name.as_str()).collect::<Vec<&str>>());

        let program = self.program;
        if range.is_some() {
            let which = self.releases.describe(&has_all);
            let have = if which.contains(' ') { "have" } else { "has" };
            let message = format!(
                "the image does not name its version of {program}; only {which} {have} {names}"
            );
            self.push(Kind::Depends, "", message, CHECK_VERSION);
        } else {
            let message = format!("no release of {program} has all of {names}");
            self.push(Kind::Ignored, "", message, "use the flags of one release");
        }
        self.verdicts
    }
}
