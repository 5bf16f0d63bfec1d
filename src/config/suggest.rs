//! Which known word was meant.

use similar::get_close_matches;

/// How alike two words must be (0 to 1) for one to be suggested for the other.
const LIKENESS: f32 = 0.6;

/// The known word nearest to `word`, when any is near.
pub(crate) fn nearest<'a>(word: &str, known: &[&'a str]) -> Option<&'a str> {
    // The same letters in another case, or `_` for `-`, are nearer than any typing error.
    let plain = |text: &str| text.to_lowercase().replace('_', "-");
    known
        .iter()
        .copied()
        .find(|candidate| plain(candidate) == plain(word))
        .or_else(|| get_close_matches(word, known, 1, LIKENESS).first().copied())
}

/// "did you mean `x`?", or else the whole list: "known KIND: `a`, `b`".
pub(crate) fn hint(word: &str, known: &[&str], kind: &str) -> String {
    match nearest(word, known) {
        Some(candidate) => format!("did you mean `{candidate}`?"),
        None => format!("known {kind}: {}", list(known)),
    }
}

/// "`a`, `b`, `c`"
pub(super) fn list(words: &[&str]) -> String {
    words.iter().map(|word| format!("`{word}`")).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

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
