//! Suggestions for misspelled words.

use similar::algorithms::{Capture, myers};
use similar::diff_ratio;
use std::collections::BTreeSet;

/// Minimum similarity (0 to 1) for a suggestion.
// The default cutoff of `get_close_matches` in Python's difflib.
const LIKENESS: f32 = 0.6;

/// Returns the known word nearest to `word`, when any is near.
pub fn nearest<'a>(word: &str, known: &[&'a str]) -> Option<&'a str> {
    // The same letters in another case, or `_` for `-`, are nearer than any typing error.
    let plain = |text: &str| text.to_lowercase().replace('_', "-");
    known
        .iter()
        .copied()
        .find(|candidate| plain(candidate) == plain(word))
        .or_else(|| nearest_of(word, known, 1).first().copied())
}

/// Returns the known words that are near to `word`, the nearest first, and of equally near ones the first.
pub fn nearest_of<'a>(word: &str, known: &[&'a str], most: usize) -> Vec<&'a str> {
    let rated = known.iter().map(|known| (likeness(word, known), *known));
    let mut near: Vec<(f32, &str)> = rated.filter(|(rate, _)| *rate >= LIKENESS).collect();
    near.sort_by(|(one, _), (other, _)| other.total_cmp(one));
    near.into_iter().map(|(_, known)| known).take(most).collect()
}

/// Returns the share of letters (0 to 1) that both words have in the same order.
fn likeness(one: &str, other: &str) -> f32 {
    let (one, other): (Vec<char>, Vec<char>) = (one.chars().collect(), other.chars().collect());
    let mut found = Capture::new();
    // One algorithm: `get_close_matches` is compiled with all of them.
    let Ok(()) = myers::diff(&mut found, &one, 0..one.len(), &other, 0..other.len());
    diff_ratio(found.ops(), one.len(), other.len())
}

/// Returns the known names that share words with `name`: those that contain all its words, as
/// `openshift-cert-manager-operator` contains those of `cert-manager`, and those whose words it
/// contains; else the nearest one.
pub fn alike<'a>(name: &str, known: &[&'a str]) -> Vec<&'a str> {
    const MOST: usize = 5;
    let words = |name: &str| -> BTreeSet<String> {
        let all = name.split(|c: char| !c.is_alphanumeric()).map(str::to_lowercase);
        // Words that nearly all names contain do not identify a name.
        all.filter(|word| word.len() > 2 && word != "operator").collect()
    };
    let wanted = words(name);
    let mut found: Vec<(bool, usize, &str)> = known
        .iter()
        .map(|candidate| (words(candidate), *candidate))
        .filter(|(have, _)| !have.is_empty() && !wanted.is_empty())
        .filter(|(have, _)| have.is_superset(&wanted) || have.is_subset(&wanted))
        .map(|(have, candidate)| (!have.is_superset(&wanted), candidate.len(), candidate))
        .collect();
    if found.is_empty() {
        return nearest(name, known).into_iter().collect();
    }
    // Names with all of the words first, then those with the fewest others.
    found.sort_unstable();
    found.into_iter().map(|(_, _, candidate)| candidate).take(MOST).collect()
}

/// Returns a hint with the known kind or name that a text in one of the jq `programs` nearly spells.
pub fn misspelt_text<'p>(
    known: &BTreeSet<&str>,
    programs: impl IntoIterator<Item = &'p str>,
) -> Option<String> {
    let words: Vec<&str> = known.iter().copied().collect();
    // Every second part is in quotes. Escaped quotes shift the parts, which costs only the
    // suggestion.
    let texts = programs.into_iter().flat_map(|program| program.split('"').skip(1).step_by(2));
    let mut misspelt = texts.filter(|text| !known.contains(text));
    misspelt.find_map(|text| did_you_mean(text, &words))
}

/// Returns true if two names differ in at most two characters in one place, which are no numbers.
pub fn is_typo(one: &str, other: &str) -> bool {
    let (one, other): (Vec<char>, Vec<char>) =
        (one.to_lowercase().chars().collect(), other.to_lowercase().chars().collect());
    let start = one.iter().zip(&other).take_while(|(a, b)| a == b).count();
    let (one, other) = (&one[start..], &other[start..]);
    let end = one.iter().rev().zip(other.iter().rev()).take_while(|(a, b)| a == b).count();
    let (one, other) = (&one[..one.len() - end], &other[..other.len() - end]);
    let is_number = |part: &[char]| part.iter().any(char::is_ascii_digit);
    // `model-1` and `model-2` differ on purpose.
    start + end > 1 && one.len() <= 2 && other.len() <= 2 && !is_number(one) && !is_number(other)
}

/// Returns the hint "did you mean `x`?", when a known word is near.
pub fn did_you_mean(word: &str, known: &[&str]) -> Option<String> {
    nearest(word, known).map(|near| format!("did you mean `{near}`?"))
}

/// Returns the hint "did you mean `x`?", or else the whole list: "known KIND: `a`, `b`".
pub fn hint(word: &str, known: &[&str], kind: &str) -> String {
    did_you_mean(word, known).unwrap_or_else(|| match known {
        [] => format!("there are no {kind}"),
        _ => format!("known {kind}: {}", list(known)),
    })
}

/// Returns words as a list: "`a`, `b`, `c`".
pub fn list(words: &[&str]) -> String {
    words.iter().map(|word| format!("`{word}`")).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_several_words_need_not_have_all() {
        let known =
            ["lws", "openshift-cert-manager-operator", "cert-utils-operator", "manager", "x"];
        assert_eq!(alike("cert-manager", &known), ["openshift-cert-manager-operator", "manager"]);
        assert_eq!(alike("lws-operator", &known), ["lws"]);
        assert_eq!(alike("cert-util-operator", &known), ["cert-utils-operator"]);
        assert!(alike("operator", &["a-operator", "b-operator", "operator-of-all"]).len() < 2);
        assert!(alike("", &known).is_empty());
    }

    #[test]
    fn near_words_are_suggested_and_far_ones_are_not() {
        let known = ["name", "image", "pull-secret", "depends-on"];
        assert_eq!(nearest("pull_secret", &known), Some("pull-secret"));
        assert_eq!(nearest("dependsOn", &known), Some("depends-on"));
        assert_eq!(nearest("imgae", &known), Some("image"));
        assert_eq!(nearest("channel", &known), None);
        assert_eq!(hint("zzz", &["a", "b"], "keys"), "known keys: `a`, `b`");
    }
}
