//! Access of sources to this process: its environment, and a reporter on stderr.

use super::Global;
use crate::escape;
use crate::source::{Access, Download, Environment, Reporter};
use indicatif::{MultiProgress, ProgressBar, ProgressDrawTarget, ProgressFinish, ProgressStyle};
use std::io::IsTerminal as _;
use std::sync::Arc;

#[expect(clippy::disallowed_methods, reason = "credentials and the cache are the user's")]
pub(super) fn access(global: &Global) -> Access {
    let variables = Environment::VARIABLES
        .iter()
        // Only these, so that nothing else of the environment can reach a build.
        .filter_map(|name| Some(((*name).to_owned(), std::env::var(name).ok()?)));
    let shows = std::io::stderr().is_terminal() && !global.quiet;
    // In a log, each update of a bar would be a line.
    let target = if shows { ProgressDrawTarget::stderr() } else { ProgressDrawTarget::hidden() };
    Access {
        offline: global.offline,
        environment: Environment::new(variables),
        reporter: Some(Arc::new(Terminal {
            detail: global.verbose,
            bars: MultiProgress::with_draw_target(target),
        })),
    }
}

/// Writes lines and progress bars to stderr; progress bars only on a terminal.
struct Terminal {
    detail: u8,
    bars: MultiProgress,
}

impl Reporter for Terminal {
    fn detail(&self) -> u8 {
        self.detail
    }

    #[expect(clippy::print_stderr, reason = "asked for with -v")]
    fn line(&self, line: &str) {
        let line = escape::line(line);
        // A bar that is drawn would overwrite the line.
        self.bars.suspend(|| eprintln!("{line}"));
    }

    fn download(&self, name: &str, size: u64) -> Box<dyn Download> {
        // `wide_msg` truncates the name if the terminal is too narrow.
        let template = "{bar:16} {bytes:>10} of {total_bytes:<10} {eta:>4}  {wide_msg}";
        let style =
            ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar());
        let bar = ProgressBar::new(size).with_style(style).with_finish(ProgressFinish::AndClear);
        let bar = self.bars.add(bar);
        bar.set_message(escape::line(name).into_owned());
        Box::new(Bar(bar))
    }
}

/// A progress bar, which is cleared when it is dropped.
struct Bar(ProgressBar);

impl Download for Bar {
    fn reached(&self, bytes: u64) {
        self.0.set_position(bytes);
    }
}
