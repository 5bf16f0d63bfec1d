//! `bundle2chart push`

use super::access::access;
use super::output::Output;
use super::package::write_record;
use super::{Exit, Global};
use crate::diag::Diagnostics;
use crate::escape::Lines;
use crate::package;
use crate::package::push::{self, ChartRegistry, Remote, TagState};
use crate::source::SourceResolver;
use std::path::PathBuf;

/// Push charts to an OCI registry, and write charts.lock.
///
/// Charts are pushed as `helm push` does, from the output directory; `package` need not run before.
/// Prints the reference of each chart by digest, from which Helm installs it. Credentials and TLS
/// settings are those for pulling bundles.
#[derive(Debug, clap::Args)]
pub(super) struct Push {
    /// Place of the charts; the name of each chart is appended, its version is the tag (with `_`
    /// for `+`).
    #[arg(value_name = "oci://HOST/PATH")]
    registry: String,
    /// Charts in the output directory: NAME for the highest version, or NAME@VERSION [default: the
    /// highest version of every chart].
    #[arg(value_name = "CHART")]
    charts: Vec<String>,
    /// Move tags that exist with another digest.
    #[arg(long, conflicts_with = "check")]
    replace: bool,
    /// Do not push or write anything; list charts that are missing or different in the registry,
    /// and exit with 1 if there are any.
    #[arg(long)]
    check: bool,
    /// Output directory, overrides `dir` in the configuration.
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
}

impl Push {
    pub(super) fn run(&self, global: &Global, output: &mut Output) -> Exit {
        super::reporting(output, |output, diagnostics| self.push(global, output, diagnostics))
    }

    fn push(
        &self,
        global: &Global,
        output: &mut Output,
        diagnostics: &mut Diagnostics,
    ) -> Option<Exit> {
        let registry = ChartRegistry::parse(&self.registry, diagnostics)?;
        let config = super::configuration(global, output, diagnostics)?;
        let out = self.out.clone().unwrap_or_else(|| config.out());
        let packages = package::packages(&out, &self.charts, diagnostics)?;
        let resolver = SourceResolver::of(&config, access(global));

        let remotes = registry.look_up(&packages.selected, &resolver, diagnostics);
        if diagnostics.has_errors() {
            return None;
        }
        if self.check {
            return Some(check(&remotes, output));
        }
        push::push(&remotes, self.replace, &resolver, diagnostics)?;

        output.list(&remotes.iter().map(Remote::pinned).collect());
        let pushed = remotes.iter().filter(|remote| remote.is_pushed()).count();
        let unchanged = remotes.len() - pushed;
        let line = format!("{}: {pushed} pushed, {unchanged} unchanged", self.registry);
        output.note(&Lines::from_iter([line]));
        write_record(&packages, &out, output, diagnostics)?;
        Some(Exit::Clean)
    }
}

/// Lists the charts that a push would upload or refuse.
fn check(remotes: &[Remote<'_>], output: &mut Output) -> Exit {
    let mut lines = Lines::new();
    for remote in remotes {
        match &remote.state {
            TagState::Same => {}
            TagState::Missing => lines.push(format!("missing {}", remote.pinned())),
            TagState::Other(digest) => {
                lines.push(format!("different {}: the tag has {digest}", remote.pinned()));
            }
        }
    }
    let exit = if lines.is_empty() { Exit::Clean } else { Exit::Findings };
    output.list(&lines);
    exit
}
