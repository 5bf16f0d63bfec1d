//! The sink: the one way in which findings leave a stage.

use super::{Code, Diagnostic, Place, Severity};

/// The error of an operation that cannot continue after it, such as reading a file or asking a
/// registry: `Result<T, Fatal>`. Boxed because a diagnostic is large and errors are rare.
pub type Fatal = Box<Diagnostic>;

/// The level of a diagnostic code in bundles.toml.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LintLevel {
    /// Warnings and notes are not reported.
    Allow,
    /// Warnings and notes are errors.
    Deny,
}

/// A position in [`Diagnostics`]: everything reported later is _since_ this mark.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mark(usize);

/// Findings in the order in which they were made.
///
/// Stages add to the list of their caller. A stage that depends on its own findings takes a
/// [`Mark`] first, because the list already has those of earlier stages.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Diagnostics {
    list: Vec<Diagnostic>,
}

impl Diagnostics {
    /// Creates an empty list.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds one.
    pub fn push(&mut self, diagnostic: Diagnostic) {
        self.list.push(diagnostic);
    }

    /// Adds an error with its place and what to do.
    pub fn error(
        &mut self,
        code: Code,
        place: impl Into<Place>,
        message: impl Into<String>,
        hint: impl Into<String>,
    ) {
        self.push(Diagnostic::error(code, message).at(place).hint(hint));
    }

    /// Adds all of `other`, which another thread collected.
    pub fn append(&mut self, other: Diagnostics) {
        self.list.extend(other.list);
    }

    /// Adds the error that ends an operation without a value.
    pub fn fail<T>(&mut self, error: Diagnostic) -> Option<T> {
        self.push(error);
        None
    }

    /// Returns the value of an operation, or adds the error that ended it.
    pub fn report<T>(&mut self, result: Result<T, Fatal>) -> Option<T> {
        result.map_or_else(|fatal| self.fail(*fatal), Some)
    }

    /// Returns the last of several problems as the error of an operation, after adding the others;
    /// `Ok` if there are none.
    pub fn fail_with(&mut self, mut problems: Vec<Diagnostic>) -> Result<(), Fatal> {
        let Some(last) = problems.pop() else { return Ok(()) };
        self.list.append(&mut problems);
        Err(last.into())
    }

    /// Returns the position after the last finding.
    pub fn mark(&self) -> Mark {
        Mark(self.list.len())
    }

    /// Returns the findings since `mark`, for stages that complete them, for example with lines.
    pub fn since(&mut self, mark: Mark) -> &mut [Diagnostic] {
        self.list.get_mut(mark.0..).unwrap_or_default()
    }

    /// Returns true if there is an error since `mark`.
    pub fn has_errors_since(&self, mark: Mark) -> bool {
        let later = self.list.get(mark.0..).unwrap_or_default();
        later.iter().any(|diagnostic| diagnostic.severity == Severity::Error)
    }

    /// Returns true if there is an error.
    pub fn has_errors(&self) -> bool {
        self.has_errors_since(Mark(0))
    }

    /// Returns `None` if there is an error since `mark`, for a stage that has no value after one.
    pub fn no_errors_since(&self, mark: Mark) -> Option<()> {
        (!self.has_errors_since(mark)).then_some(())
    }

    /// Returns `None` if there is an error, for a stage that has no value after one.
    pub fn no_errors(&self) -> Option<()> {
        self.no_errors_since(Mark(0))
    }

    /// Keeps only the errors since `mark`, for a stage whose other findings are known already.
    pub fn only_errors_since(&mut self, mark: Mark) {
        self.retain_since(mark, |found| found.severity == Severity::Error);
    }

    /// Keeps only the findings since `mark` that `keep` accepts.
    pub fn retain_since(&mut self, mark: Mark, keep: impl FnMut(&Diagnostic) -> bool) {
        let mut later = self.list.split_off(mark.0.min(self.list.len()));
        later.retain(keep);
        self.list.append(&mut later);
    }

    /// Applies the lint level that `level_of` returns for a warning or note: removes what is allowed,
    /// and makes errors of what is denied. Errors stay errors.
    pub fn set_levels(&mut self, level_of: impl Fn(&Diagnostic) -> Option<LintLevel>) {
        let is_error = |found: &Diagnostic| found.severity == Severity::Error;
        self.list.retain(|found| is_error(found) || level_of(found) != Some(LintLevel::Allow));
        for found in &mut self.list {
            if level_of(found) == Some(LintLevel::Deny) {
                found.severity = Severity::Error;
            }
        }
    }

    /// Names the bundle in every finding since `mark` that does not name one yet.
    pub fn name_bundle(&mut self, mark: Mark, name: &str) {
        for diagnostic in self.since(mark) {
            diagnostic.place.bundle.get_or_insert_with(|| name.to_owned());
        }
    }

    /// Names the bundle in every finding that does not name one yet.
    pub fn for_bundle(mut self, name: &str) -> Self {
        self.name_bundle(Mark(0), name);
        self
    }

    /// Counts the findings of this severity.
    pub fn count(&self, severity: Severity) -> usize {
        self.list.iter().filter(|d| d.severity == severity).count()
    }

    /// Returns the findings.
    pub fn iter(&self) -> std::slice::Iter<'_, Diagnostic> {
        self.list.iter()
    }

    /// Returns true if there are no findings.
    pub fn is_empty(&self) -> bool {
        self.list.is_empty()
    }
}

impl Extend<Diagnostic> for Diagnostics {
    fn extend<T: IntoIterator<Item = Diagnostic>>(&mut self, iter: T) {
        self.list.extend(iter);
    }
}

impl From<Diagnostic> for Diagnostics {
    fn from(diagnostic: Diagnostic) -> Self {
        Diagnostics { list: vec![diagnostic] }
    }
}

impl IntoIterator for Diagnostics {
    type Item = Diagnostic;
    type IntoIter = std::vec::IntoIter<Diagnostic>;

    fn into_iter(self) -> Self::IntoIter {
        self.list.into_iter()
    }
}

impl FromIterator<Diagnostic> for Diagnostics {
    fn from_iter<T: IntoIterator<Item = Diagnostic>>(iter: T) -> Self {
        Diagnostics { list: iter.into_iter().collect() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diag::Code;

    fn error(message: &str) -> Diagnostic {
        Diagnostic::error(Code::InvalidName, message)
    }

    fn note(message: &str) -> Diagnostic {
        Diagnostic::note(Code::InvalidName, message)
    }

    fn messages(diagnostics: &Diagnostics) -> Vec<&str> {
        diagnostics.iter().map(|diagnostic| diagnostic.message.as_str()).collect()
    }

    #[test]
    fn errors_before_a_mark_do_not_count() {
        let mut diagnostics = Diagnostics::from(error("of an earlier stage"));
        let mark = diagnostics.mark();
        diagnostics.push(note("of this stage"));
        assert!(!diagnostics.has_errors_since(mark));
        assert!(diagnostics.has_errors());

        diagnostics.push(error("of this stage"));
        assert!(diagnostics.has_errors_since(mark));
    }

    #[test]
    fn a_fatal_error_is_added_and_a_value_is_returned() {
        let mut diagnostics = Diagnostics::new();
        assert_eq!(diagnostics.report(Ok(1)), Some(1));
        assert!(diagnostics.is_empty());
        assert_eq!(diagnostics.report::<u8>(Err(error("unreadable").into())), None);
        assert_eq!(messages(&diagnostics), ["unreadable"]);
    }

    #[test]
    fn the_last_of_several_problems_is_fatal() {
        let mut diagnostics = Diagnostics::new();
        assert!(diagnostics.fail_with(Vec::new()).is_ok());
        let fatal = diagnostics.fail_with(vec![error("one"), error("two")]).unwrap_err();
        assert_eq!(fatal.message, "two");
        assert_eq!(messages(&diagnostics), ["one"]);
    }

    #[test]
    fn bundles_are_named_since_the_mark_only_and_once() {
        let mut diagnostics = Diagnostics::from(note("before"));
        let mark = diagnostics.mark();
        diagnostics.push(note("unnamed"));
        let mut named = note("named");
        named.place.bundle = Some("other".to_owned());
        diagnostics.push(named);
        diagnostics.name_bundle(mark, "own");

        let bundles: Vec<_> = diagnostics.iter().map(|d| d.place.bundle.as_deref()).collect();
        assert_eq!(bundles, [None, Some("own"), Some("other")]);
    }

    #[test]
    fn levels_change_warnings_and_notes_and_no_errors() {
        let all = || Diagnostics::from_iter([note("a"), error("b"), note("c")]);
        let mut allowed = all();
        allowed.set_levels(|found| (found.message != "c").then_some(LintLevel::Allow));
        assert_eq!(messages(&allowed), ["b", "c"]);

        let mut denied = all();
        denied.set_levels(|found| (found.message == "c").then_some(LintLevel::Deny));
        assert_eq!(denied.count(Severity::Error), 2);
        assert_eq!(denied.count(Severity::Note), 1);
    }

    #[test]
    fn findings_before_a_mark_are_retained() {
        let mut diagnostics = Diagnostics::from(note("before"));
        let mark = diagnostics.mark();
        diagnostics.extend([note("note"), error("error")]);
        diagnostics.only_errors_since(mark);
        assert_eq!(messages(&diagnostics), ["before", "error"]);
    }
}
