//! Lists and sentences that fit a terminal.

use crate::escape::{self, Lines};

/// Columns of a report.
pub const WIDTH: usize = 100;

/// Wraps `text` after `lead`; continuation lines are indented by `indent` columns.
pub fn paragraph(lead: &str, indent: usize, text: &str) -> Lines {
    let text = escape::visible(text);
    let mut lines = Lines::new();
    let mut line = lead.to_owned();
    let mut column = lead.chars().count();
    for (index, word) in text.split_whitespace().enumerate() {
        let length = word.chars().count();
        if index > 0 && column + 1 + length > WIDTH {
            lines.push(&line);
            line = " ".repeat(indent);
            column = indent;
        } else if index > 0 {
            line.push(' ');
            column += 1;
        }
        line.push_str(word);
        column += length;
    }
    lines.push(line);
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
