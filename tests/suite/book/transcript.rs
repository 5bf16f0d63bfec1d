//! A console block: commands with their output, where `…` stands for text that is left out.

use regex::Regex;

/// A command and the output that a page shows.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Step {
    /// The command.
    pub(super) command: String,
    /// The output, one line each.
    pub(super) output: String,
}

/// Returns the steps of a block.
///
/// # Panics
/// If the block does not begin with a command.
pub(super) fn steps(block: &str) -> Vec<Step> {
    let mut steps: Vec<Step> = Vec::new();
    for line in block.lines() {
        if let Some(command) = line.strip_prefix("$ ") {
            steps.push(Step { command: command.to_owned(), output: String::new() });
            continue;
        }
        let last = steps.last_mut().unwrap_or_else(|| panic!("no command before:\n{block}"));
        // A command on several lines.
        if last.output.is_empty() && last.command.ends_with('\\') {
            last.command.push('\n');
            last.command.push_str(line);
        } else {
            last.output.push_str(line);
            last.output.push('\n');
        }
    }
    steps
}

/// Returns true if `shown` describes `printed`: `…` in a line is any text on that line, and a line
/// that is only `…` any lines.
pub(super) fn matches(shown: &str, printed: &str) -> bool {
    let lines: Vec<&str> = shown.lines().collect();
    let mut pattern = String::from("^");
    for line in lines {
        if line.trim() == "…" {
            pattern.push_str("(?s:.*)");
        } else {
            pattern.push_str(&line_pattern(line));
            pattern.push('\n');
        }
    }
    pattern.push('$');
    Regex::new(&pattern).expect("a pattern").is_match(printed)
}

fn line_pattern(line: &str) -> String {
    let parts: Vec<String> = line.split('…').map(regex::escape).collect();
    parts.join("[^\n]*")
}

/// Returns the printed lines, each as it was shown with `…` if it still matches: what a page shows
/// after an update. Lines that the page left out come back, and are for the author to remove.
pub(super) fn updated(shown: &str, printed: &str) -> String {
    let abbreviated: Vec<(&str, Regex)> = shown
        .lines()
        .filter(|line| line.contains('…') && line.trim() != "…")
        .map(|line| (line, Regex::new(&format!("^{}$", line_pattern(line))).expect("a pattern")))
        .collect();
    printed.lines().fold(String::new(), |text, line| {
        let kept = abbreviated.iter().find(|(_, pattern)| pattern.is_match(line));
        text + kept.map_or(line, |(kept, _)| kept) + "\n"
    })
}

#[test]
fn ellipses_match_any_text_and_nothing_else_does() {
    assert!(matches("a … c\n…\nd\n", "a b c\nx\ny\nd\n"));
    assert!(matches("…\n", ""));
    assert!(matches("", ""));
    assert!(!matches("", "a\n"));
    assert!(!matches("a … c\nd\n", "a b c\nx\nd\n"));
    assert!(!matches("a.c\n", "abc\n"));
    assert!(!matches("a\n", "a\nb\n"));
}

#[test]
fn commands_may_have_several_lines() {
    let step = |command: &str, output: &str| Step {
        command: command.to_owned(),
        output: output.to_owned(),
    };
    let expected = [step("a \\\n  b", "c \\\n"), step("d", "")];
    assert_eq!(steps("$ a \\\n  b\nc \\\n$ d\n"), expected);
}

#[test]
fn an_update_keeps_what_was_left_out_of_lines() {
    assert_eq!(updated("size … KiB\nold\n", "size 4 KiB\nnew\n"), "size … KiB\nnew\n");
}
