//! The list of mutants that change nothing that anyone can see.

use crate::list::Mutant;
use crate::tests::Outcome;
use std::collections::BTreeMap;

/// A line of the list.
pub struct Accepted {
    /// `FILE: CHANGE`: the name of a mutant without line and column, where `*` is any text.
    pattern: String,
    /// Reason why nobody sees a difference.
    pub reason: String,
}

impl Accepted {
    pub fn file(&self) -> &str {
        self.pattern.split_once(": ").map_or(&self.pattern, |(file, _)| file)
    }

    fn is_of(&self, mutant: &Mutant) -> bool {
        matches(&self.pattern, &format!("{}: {}", mutant.file, change(&mutant.name)))
    }
}

/// Returns the name of a mutant after file, line and column.
fn change(name: &str) -> &str {
    name.splitn(4, ':').nth(3).unwrap_or(name).trim_start()
}

fn matches(pattern: &str, text: &str) -> bool {
    let Some((start, rest)) = pattern.split_once('*') else { return pattern == text };
    let Some(text) = text.strip_prefix(start) else { return false };
    (0..=text.len()).any(|at| text.is_char_boundary(at) && matches(rest, &text[at..]))
}

/// Reads the list: paragraphs of a reason (`# …`) and the lines that it is for.
///
/// # Errors
/// A line has no reason.
pub fn parse(text: &str) -> Result<Vec<Accepted>, String> {
    let (mut accepted, mut reason) = (Vec::new(), String::new());
    for line in text.lines() {
        match line.strip_prefix('#') {
            Some(text) => reason = text.trim().to_owned(),
            None if line.is_empty() => reason.clear(),
            None if reason.is_empty() => return Err(format!("no reason for `{line}`")),
            None => accepted.push(Accepted { pattern: line.to_owned(), reason: reason.clone() }),
        }
    }
    Ok(accepted)
}

/// Returns the accepted mutants, each with its line.
pub fn of<'a>(accepted: &'a [Accepted], mutants: &[Mutant]) -> BTreeMap<usize, &'a Accepted> {
    let line = |mutant: &Mutant| accepted.iter().find(|line| line.is_of(mutant));
    mutants.iter().enumerate().filter_map(|(id, mutant)| Some((id, line(mutant)?))).collect()
}

/// Returns what is wrong with the list: mutants that a test catches, and, if the mutants are of all
/// kinds, lines for `files` without a mutant.
pub fn errors(
    accepted: &[Accepted],
    mutants: &[Mutant],
    files: &[String],
    are_all_kinds: bool,
    outcomes: &BTreeMap<usize, Outcome>,
) -> Vec<String> {
    let is_gone = |line: &&Accepted| {
        let is_listed = are_all_kinds && files.iter().any(|file| file == line.file());
        is_listed && !mutants.iter().any(|mutant| line.is_of(mutant))
    };
    let gone = accepted.iter().filter(is_gone).map(|line| format!("gone: {}", line.pattern));
    let caught = of(accepted, mutants).into_keys().filter_map(|id| {
        let is_caught = outcomes.get(&id).is_some_and(Outcome::is_caught);
        is_caught.then(|| format!("accepted, but caught: {}", mutants[id].name))
    });
    gone.chain(caught).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIST: &str = include_str!("../accepted.txt");

    fn sources() -> Vec<Mutant> {
        let text = "fn f() { a(7); b(); c(8); }";
        crate::kinds::mutants("src/a.rs", text).expect("a source")
    }

    #[test]
    fn each_line_has_a_reason_and_a_file() {
        for line in parse(LIST).expect("a list") {
            assert!(crate::root().join(line.file()).is_file(), "{}", line.file());
        }
        assert!(parse("# A reason.\n\nsrc/a.rs: a").is_err());
    }

    #[test]
    fn lines_that_are_gone_or_caught_are_errors() {
        let list = "# A reason.\nsrc/a.rs: delete statement * in f\nsrc/a.rs: replace 9 with *\n\
                    src/b.rs: another";
        let (accepted, mutants) = (parse(list).expect("a list"), sources());
        let statements: Vec<usize> = of(&accepted, &mutants).into_keys().collect();
        assert_eq!(statements.len(), 3);

        let files = ["src/a.rs".to_owned()];
        let caught = Outcome::Caught { test: "t".to_owned(), timeout: false };
        let outcomes =
            BTreeMap::from([(statements[0], Outcome::Unreached), (statements[1], caught)]);
        assert_eq!(
            errors(&accepted, &mutants, &files, true, &outcomes),
            [
                "gone: src/a.rs: replace 9 with *",
                "accepted, but caught: src/a.rs:1:16: delete statement b(); in f",
            ]
        );
    }
}
