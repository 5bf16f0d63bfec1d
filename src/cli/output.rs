//! Where things are printed: data to standard output, words for people to standard error.

use super::{Colour, Exit, Global, MessageFormat};
use crate::diag::{self, Diagnostics};
use std::io::{ErrorKind, IsTerminal as _, Write as _};

/// The two streams and how to use them.
pub(super) struct Output {
    format: MessageFormat,
    colour: bool,
    /// What the user said about colour, and whether the environment allows it.
    wanted: Colour,
    colours: bool,
    quiet: bool,
    broken: bool,
}

impl Output {
    #[expect(
        clippy::disallowed_methods,
        reason = "NO_COLOR and TERM are the terminal's, not the build's"
    )]
    pub(super) fn new(global: &Global) -> Self {
        let no_colour = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
        let dumb = std::env::var_os("TERM").is_some_and(|term| term == "dumb");
        let colours = !no_colour && !dumb;
        let colour = match global.color {
            Colour::Always => true,
            Colour::Never => false,
            Colour::Auto => std::io::stderr().is_terminal() && colours,
        };
        Output {
            format: global.message_format,
            colour,
            wanted: global.color,
            colours,
            quiet: global.quiet,
            broken: false,
        }
    }

    /// Reports diagnostics in the chosen format.
    pub(super) fn diagnostics(&mut self, diagnostics: &Diagnostics) {
        let shown: Diagnostics = if self.quiet {
            let errors = |d: &&diag::Diagnostic| d.severity == diag::Severity::Error;
            diagnostics.iter().filter(errors).cloned().collect()
        } else {
            diagnostics.clone()
        };
        match self.format {
            MessageFormat::Human => {
                if !shown.is_empty() {
                    let text = diag::human::render(&shown, self.colour);
                    self.say(&text);
                }
            }
            MessageFormat::Json => self.data(&diag::json::render(&shown)),
            MessageFormat::Github => self.data(&diag::github::render(&shown)),
            MessageFormat::Sarif => self.data(&diag::sarif::render(&shown)),
        }
    }

    /// Whether a report to standard output may have colour, and how wide it is.
    #[expect(clippy::disallowed_methods, reason = "the width is the terminal's")]
    pub(super) fn report_style(&self, to_terminal: bool) -> (bool, usize, bool) {
        let stdout = std::io::stdout();
        let terminal = to_terminal && stdout.is_terminal();
        let size = terminal.then(|| rustix::termios::tcgetwinsize(&stdout).ok()).flatten();
        let columns = std::env::var("COLUMNS").ok().and_then(|text| text.parse().ok());
        let width = size.map(|size| usize::from(size.ws_col)).filter(|width| *width > 0);
        let colour = match self.wanted {
            Colour::Always => true,
            Colour::Never => false,
            Colour::Auto => terminal && self.colours,
        };
        (colour, width.or(columns).unwrap_or(100).clamp(40, 160), terminal)
    }

    /// Says something to a person, unless quiet.
    pub(super) fn note(&mut self, text: &str) {
        if !self.quiet {
            self.say(text);
        }
    }

    /// Says that the command failed, where a diagnostic has no place for it.
    pub(super) fn error(&mut self, text: &str) {
        self.say(text);
    }

    /// Prints a list: data, unless diagnostics for programs are on standard output.
    pub(super) fn list(&mut self, text: &str) {
        match self.format {
            MessageFormat::Human => self.data(text),
            _ => self.note(text),
        }
    }

    /// Prints data.
    pub(super) fn data(&mut self, text: &str) {
        if let Err(error) = std::io::stdout().lock().write_all(text.as_bytes()) {
            // A reader that has seen enough (such as `head`) is no error.
            self.broken |= error.kind() != ErrorKind::BrokenPipe;
        }
    }

    fn say(&mut self, text: &str) {
        // There is no better place to complain about standard error.
        let _ = std::io::stderr().lock().write_all(text.as_bytes());
    }

    /// The exit, which is an error when data could not be printed.
    pub(super) fn finish(mut self, exit: Exit) -> Exit {
        if let Err(error) = std::io::stdout().lock().flush() {
            self.broken |= error.kind() != ErrorKind::BrokenPipe;
        }
        if self.broken { Exit::Error } else { exit }
    }
}
