//! Results go to stdout, diagnostics and notes to stderr. What leaves the program is a document of
//! a renderer that escapes, or [`Lines`]; passwords in URLs are hidden in both.

use super::repository::Repository;
use super::{Colour, Exit, Format, Global, MessageFormat};
use crate::diag::{self, Code, Diagnostic, Diagnostics, Place};
use crate::escape::Lines;
use crate::escape::login::without_logins;
use std::io::{ErrorKind, IsTerminal as _, Write as _};

/// The two streams and how to use them.
pub(super) struct Output {
    format: MessageFormat,
    /// True if streams have colors; `None` for those that are terminals.
    colours: Option<bool>,
    quiet: bool,
    broken: bool,
    /// True if stdout is the command's result, so that diagnostics of any format go to stderr.
    has_result: bool,
    /// True if diagnostics, which may be none, or an error in their place were printed.
    pub(super) is_reported: bool,
    /// The files of bundles, to locate diagnostics.
    pub(super) repository: Repository,
}

impl Output {
    #[expect(
        clippy::disallowed_methods,
        reason = "NO_COLOR and TERM are the terminal's, not the build's"
    )]
    pub(super) fn new(global: &Global) -> Self {
        // no-color.org: set, and not empty.
        let no_colour = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
        let dumb = std::env::var_os("TERM").is_some_and(|term| term == "dumb");
        Output {
            format: global.message_format,
            colours: match global.color {
                Colour::Always => Some(true),
                Colour::Auto if !no_colour && !dumb => None,
                Colour::Auto | Colour::Never => Some(false),
            },
            quiet: global.quiet,
            broken: false,
            has_result: false,
            is_reported: false,
            repository: Repository::of_working_folder(),
        }
    }

    /// Keeps stdout for one result: diagnostics of any format go to stderr.
    pub(super) fn keep_stdout_for_result(&mut self) {
        self.has_result = true;
    }

    /// Keeps stdout for a result in JSON: diagnostics for programs would be between its lines.
    pub(super) fn keep_stdout_for(&mut self, format: Format) {
        self.has_result |= format == Format::Json;
    }

    /// Reports diagnostics in the chosen format.
    pub(super) fn diagnostics(&mut self, diagnostics: &Diagnostics) {
        self.diagnostics_within(diagnostics, usize::MAX);
    }

    /// Reports diagnostics in the chosen format; for people in at most this number of lines, if
    /// possible.
    pub(super) fn diagnostics_within(&mut self, diagnostics: &Diagnostics, most: usize) {
        self.is_reported = true;
        let is_shown = |d: &&Diagnostic| !self.quiet || d.severity == diag::Severity::Error;
        let shown: Diagnostics = diagnostics.iter().filter(is_shown).cloned().collect();
        let locate = |place: &diag::Place| self.repository.locate(place);
        let text = match self.format {
            // People open a place from where they are; programs know the bundle by its name.
            MessageFormat::Human => {
                let opened = shown.iter().cloned().map(|found| self.repository.opened(found));
                let is_terminal = std::io::stderr().is_terminal();
                let colour = self.colours.unwrap_or(is_terminal);
                diag::human::render_within(&opened.collect(), colour, most)
            }
            MessageFormat::Json => diag::json::render(&shown),
            MessageFormat::Github => diag::github::render(&shown, &locate),
            MessageFormat::Sarif => diag::sarif::render(&shown, &locate),
        };
        // A pipe reads either the diagnostics or the result.
        if self.format == MessageFormat::Human || self.has_result {
            self.write_stderr(&text);
        } else {
            self.document(&text);
        }
    }

    /// Returns the style of a report on stdout: colors and width.
    #[expect(clippy::disallowed_methods, reason = "the width is the terminal's")]
    pub(super) fn report_style(&self, to_terminal: bool) -> (bool, usize) {
        let stdout = std::io::stdout();
        let terminal = to_terminal && stdout.is_terminal();
        let size = terminal.then(|| rustix::termios::tcgetwinsize(&stdout).ok()).flatten();
        let columns = std::env::var("COLUMNS").ok().and_then(|text| text.parse().ok());
        let width = size.map(|size| usize::from(size.ws_col)).filter(|width| *width > 0);
        let colour = self.colours.unwrap_or(terminal);
        (colour, width.or(columns).unwrap_or(100).clamp(40, 160))
    }

    /// Prints a message to stderr, unless `--quiet` is set.
    pub(super) fn note(&mut self, lines: &Lines) {
        if !self.quiet {
            self.write_stderr(lines.as_str());
        }
    }

    /// Prints one such line.
    pub(super) fn note_line(&mut self, line: impl AsRef<str>) {
        self.note(&Lines::from_iter([line]));
    }

    /// Prints an error to stderr that is not a diagnostic, and takes the place of all of them.
    pub(super) fn error(&mut self, lines: impl IntoIterator<Item = impl AsRef<str>>) -> Exit {
        self.is_reported = true;
        self.write_stderr(Lines::from_iter(lines).as_str());
        Exit::Error
    }

    /// Prints a list: a result, unless diagnostics for programs are on stdout.
    pub(super) fn list(&mut self, lines: &Lines) {
        match self.format {
            MessageFormat::Human => self.document(lines.as_str()),
            _ => self.note(lines),
        }
    }

    /// Lists files that a check found to differ, each with a word, and what to do; programs get them as
    /// findings.
    pub(super) fn differences(
        &mut self,
        files: &[(&str, String)],
        remedy: &str,
        diagnostics: &mut Diagnostics,
    ) {
        if self.format == MessageFormat::Human {
            return self.list(&files.iter().map(|(word, file)| format!("{word} {file}")).collect());
        }
        diagnostics.extend(files.iter().map(|(word, file)| {
            Diagnostic::warning(Code::OutOfDate, format!("{file} is {word}"))
                .at(Place::file(file))
                .hint(remedy)
        }));
    }

    /// Prints lines as the result.
    pub(super) fn lines(&mut self, lines: &Lines) {
        self.document(lines.as_str());
    }

    /// Prints a document that its renderer has already escaped.
    pub(super) fn document(&mut self, text: &str) {
        let text = without_logins(text);
        if let Err(error) = std::io::stdout().lock().write_all(text.as_bytes()) {
            // A closed pipe (for example `| head`) is not an error.
            self.broken |= error.kind() != ErrorKind::BrokenPipe;
        }
    }

    fn write_stderr(&mut self, text: &str) {
        // Errors of stderr cannot be reported anywhere.
        let _ = std::io::stderr().lock().write_all(without_logins(text).as_bytes());
    }

    /// Flushes stdout and returns the exit, which is an error if writing failed.
    pub(super) fn finish(mut self, exit: Exit) -> Exit {
        if let Err(error) = std::io::stdout().lock().flush() {
            self.broken |= error.kind() != ErrorKind::BrokenPipe;
        }
        if self.broken { Exit::Error } else { exit }
    }
}
