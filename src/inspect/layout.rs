//! Lists and sentences that fit a terminal.

use std::fmt::Write as _;

/// Columns of a report.
pub(super) const WIDTH: usize = 100;

/// A line that begins with `lead`; what does not fit goes on the next lines, `indent` columns in.
pub(super) fn wrapped<'w>(
    lead: &str,
    indent: usize,
    words: impl Iterator<Item = &'w str>,
) -> String {
    let mut text = lead.to_owned();
    let mut column = lead.chars().count();
    let mut first = true;
    for word in words {
        let length = word.chars().count();
        if !first && column + 1 + length > WIDTH {
            let _ = write!(text, "\n{:indent$}", "");
            column = indent;
        } else if !first {
            text.push(' ');
            column += 1;
        }
        text.push_str(word);
        column += length;
        first = false;
    }
    text.push('\n');
    text
}

/// A sentence, or any text with spaces.
pub(super) fn paragraph(lead: &str, indent: usize, text: &str) -> String {
    wrapped(lead, indent, text.split_whitespace())
}

/// All of a list, with commas; an item never breaks.
pub(super) fn list(lead: &str, indent: usize, items: &[String]) -> String {
    let last = items.len().saturating_sub(1);
    let words: Vec<String> = items
        .iter()
        .enumerate()
        .map(|(index, item)| format!("{item}{}", if index < last { "," } else { "" }))
        .collect();
    wrapped(lead, indent, words.iter().map(String::as_str))
}

/// The items that fit on one line after `lead`, at least one, and how many more there are.
pub(super) fn cut(lead: &str, items: &[&str]) -> String {
    let more = |count: usize| match items.len() - count {
        0 => String::new(),
        rest => format!(" and {rest} more"),
    };
    let line = |count: usize| format!("{lead}{}{}", items[..count].join(", "), more(count));
    let fits = |count: &usize| line(*count).chars().count() <= WIDTH;
    let count = (1..=items.len()).rev().find(fits).unwrap_or(1.min(items.len()));
    line(count) + "\n"
}

/// A few items of a list inside a sentence.
pub(super) fn few(items: &[&str]) -> String {
    const FEW: usize = 3;
    match items {
        [] => String::new(),
        [one] => (*one).to_owned(),
        [first @ .., last] if items.len() <= FEW => format!("{} and {last}", first.join(", ")),
        _ => format!("{} and {} more", items[..FEW - 1].join(", "), items.len() - (FEW - 1)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_break_between_words_only() {
        let word = "x".repeat(60);
        let text = paragraph("- ", 2, &format!("{word} {word} end"));
        assert_eq!(text, format!("- {word}\n  {word} end\n"));
        let long = "y".repeat(150);
        assert_eq!(paragraph("", 0, &long), format!("{long}\n"), "nothing can be done");
    }

    #[test]
    fn a_list_is_cut_where_the_line_ends() {
        let name = "n".repeat(30);
        let names = [name.as_str(); 5];
        assert_eq!(cut("a ", &names), format!("a {name}, {name} and 3 more\n"));
        assert_eq!(cut("a ", &names[..3]), format!("a {name}, {name}, {name}\n"));
        let long = "y".repeat(150);
        assert_eq!(cut("", &[&long, "b"]), format!("{long} and 1 more\n"));
        assert_eq!(cut("a", &[]), "a\n");
    }

    #[test]
    fn a_few_of_many() {
        assert_eq!(few(&["a"]), "a");
        assert_eq!(few(&["a", "b", "c"]), "a, b and c");
        assert_eq!(few(&["a", "b", "c", "d"]), "a, b and 2 more");
    }
}
