//! Lists and sentences that fit a terminal.

use crate::escape::{self, Lines};

/// Columns of a report.
pub const WIDTH: usize = 100;

/// Wraps `text` after `lead`; continuation lines are indented by `indent` columns.
pub fn paragraph(lead: &str, indent: usize, text: &str) -> Lines {
    let first = WIDTH.saturating_sub(lead.chars().count());
    let wrapped = wrap(&escape::visible(text), first, WIDTH.saturating_sub(indent));
    let margins = std::iter::once(lead.to_owned()).chain(std::iter::repeat(" ".repeat(indent)));
    let mut lines = Lines::new();
    margins.zip(wrapped).for_each(|(margin, line)| lines.push(margin + &line));
    lines
}

/// Breaks text at spaces into lines of at most `width` characters, of which the first one has at most
/// `first`. Longer words have a line of their own.
pub(crate) fn wrap(text: &str, first: usize, width: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in text.split_whitespace() {
        let most = if lines.len() == 1 { first } else { width };
        match lines.last_mut() {
            Some(line) if line.is_empty() => line.push_str(word),
            Some(line) if line.chars().count() + 1 + word.chars().count() <= most => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_owned()),
        }
    }
    lines
}

/// Returns a line with the items that fit after `lead`, at least one, and `…` for the others.
pub fn cut(lead: &str, items: &[&str]) -> String {
    let line = |count: usize| {
        let more = if count < items.len() { ", …" } else { "" };
        format!("{lead}{}{more}", items[..count].join(", "))
    };
    let fits = |count: &usize| line(*count).chars().count() <= WIDTH;
    let count = (1..=items.len()).rev().find(fits).unwrap_or(1.min(items.len()));
    line(count)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_break_between_words_only() {
        let word = "x".repeat(60);
        let text = paragraph("- ", 2, &format!("{word} {word} end"));
        assert_eq!(text.as_str(), format!("- {word}\n  {word} end\n"));
        let long = "y".repeat(150);
        let text = paragraph("", 0, &long);
        assert_eq!(text.as_str(), format!("{long}\n"), "nothing can be done");
    }

    #[test]
    fn a_list_is_cut_where_the_line_ends() {
        let name = "n".repeat(30);
        let names = [name.as_str(); 5];
        assert_eq!(cut("a ", &names), format!("a {name}, {name}, {name}, …"));
        assert_eq!(cut("a ", &names[..3]), format!("a {name}, {name}, {name}"));
        let long = "y".repeat(150);
        assert_eq!(cut("", &[&long, "b"]), format!("{long}, …"));
        assert_eq!(cut("a", &[]), "a");
    }
}
