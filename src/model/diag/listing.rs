//! Lists inside sentences.

/// Joins items: `a`, `a and b`, `a, b and 3 more`. At most `most` items are shown.
pub fn listed<S: AsRef<str>>(items: impl IntoIterator<Item = S>, most: usize) -> String {
    let mut items = items.into_iter();
    let shown: Vec<S> = items.by_ref().take(most).collect();
    let shown: Vec<&str> = shown.iter().map(AsRef::as_ref).collect();
    match (items.count(), shown.as_slice()) {
        (0, [rest @ .., last]) if !rest.is_empty() => format!("{} and {last}", rest.join(", ")),
        (0, _) => shown.join(", "),
        (more, _) => format!("{} and {more} more", shown.join(", ")),
    }
}

/// Joins the items of an iterator with a separator.
pub fn join<S: AsRef<str>>(items: impl IntoIterator<Item = S>, separator: &str) -> String {
    let items: Vec<S> = items.into_iter().collect();
    items.iter().map(AsRef::as_ref).collect::<Vec<&str>>().join(separator)
}

/// Quotes names with backticks, control characters escaped.
pub fn quoted<S: AsRef<str>>(names: &[S]) -> Vec<String> {
    names.iter().map(|name| format!("`{}`", name.as_ref().escape_debug())).collect()
}

/// Returns a number and its noun: `1 chart`, `2 charts`.
pub fn counted(count: usize, noun: &str) -> String {
    format!("{count} {noun}{}", if count == 1 { "" } else { "s" })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_lists_are_cut_and_counted() {
        assert_eq!(listed([""; 0], 3), "");
        assert_eq!(listed(["a"], 3), "a");
        assert_eq!(listed(["a", "b", "c"], 3), "a, b and c");
        assert_eq!(listed(["a", "b", "c", "d", "e"], 3), "a, b, c and 2 more");
        assert_eq!(quoted(&["a", "b\n"]), ["`a`", "`b\\n`"]);
    }
}
