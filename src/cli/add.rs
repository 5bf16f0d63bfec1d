//! `bundle2chart add`

use super::access::access;
use super::{Exit, Invocation};
use crate::add::{self, Added, Request};

/// Add a bundle to bundles.toml.
///
/// Reads the bundle, and appends a [[bundle]] table with its name, namespace and watched namespaces,
/// and with what it needs outside of OpenShift and without OLM, each with a comment why: stub CRDs,
/// access to the authentication settings, certificates, dependencies, a pull secret. The rest of the
/// file is not changed.
#[derive(Debug, clap::Args)]
pub(super) struct Add {
    #[command(flatten)]
    request: Request,
    /// Only print the table.
    #[arg(long)]
    dry_run: bool,
}

impl Add {
    pub(super) fn run(&self, invocation: &mut Invocation<'_>) -> Option<Exit> {
        let lock = invocation.lock()?;
        let Invocation { global, output, diagnostics } = invocation;
        output.repository.add_argument(&self.request.source);
        let added = add::add(&self.request, &global.config, &lock, access(global), diagnostics)?;
        write(&added, self.dry_run, invocation)
    }
}

/// Prints the tables of new bundles, and writes the configuration with them.
pub(super) fn write(added: &Added, dry_run: bool, invocation: &mut Invocation<'_>) -> Option<Exit> {
    let Invocation { global, output, diagnostics } = invocation;
    // Printed before they are written, so that --dry-run prints the same.
    output.list(&added.tables.lines().collect());
    if dry_run {
        return Some(Exit::Clean);
    }
    add::write(&global.config, &added.text, diagnostics)?;
    let (path, names) = (global.config.display(), added.names.join("`, `"));
    output.note_line(format!("{path}: `{names}` added; run `bundle2chart build`"));
    Some(Exit::Clean)
}
