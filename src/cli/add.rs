//! `bundle2chart add`

use super::access::access;
use super::inspect::watch;
use super::{Exit, Invocation};
use crate::add::{self, Added, Request};
use crate::config::Watch;
use crate::lock;

/// Add a bundle to bundles.toml.
///
/// Reads the bundle, and appends a [[bundle]] table with its name, namespace and watched namespaces,
/// and with what it needs outside of OpenShift and without OLM, each with a comment why: stub CRDs,
/// access to the authentication settings, certificates, dependencies, a pull secret. The rest of the
/// file is not changed.
#[derive(Debug, clap::Args)]
pub(super) struct Add {
    /// An image reference, a bundle directory, an OCI layout (with `:TAG` or `@DIGEST`), a tar of
    /// either, or with PACKAGE a catalog.
    #[arg(value_name = "REFERENCE|PATH|CATALOG")]
    source: String,
    /// Package of the catalog.
    #[arg(value_name = "PACKAGE")]
    package: Option<String>,
    /// Channel of the package [default: the package's default channel].
    #[arg(long, value_name = "CHANNEL", requires = "package")]
    channel: Option<String>,
    /// Version in the channel, or a range of versions [default: the head of the channel].
    #[arg(long, value_name = "VERSION", requires = "package")]
    version: Option<String>,
    /// Name of the bundle and of its chart [default: the package].
    #[arg(long, value_name = "NAME")]
    name: Option<String>,
    /// Namespace of the operator [default: the bundle's suggested namespace, or the name].
    #[arg(long, value_name = "NS")]
    namespace: Option<String>,
    /// Namespaces to watch: `all`, `own`, or a comma-separated list [default: the bundle's default
    /// install mode].
    #[arg(long, value_name = "WATCH", value_parser = watch)]
    watch: Option<Watch>,
    /// Only print the table.
    #[arg(long)]
    dry_run: bool,
}

impl Add {
    pub(super) fn run(&self, invocation: &mut Invocation<'_>) -> Option<Exit> {
        let Invocation { global, output, diagnostics } = invocation;
        let request = Request {
            source: self.source.clone(),
            package: self.package.clone(),
            channel: self.channel.clone(),
            version: self.version.clone(),
            name: self.name.clone(),
            namespace: self.namespace.clone(),
            watch: self.watch.clone(),
        };
        output.inspected(&self.source);
        let lock = diagnostics.report(lock::read(&lock::path_of(&global.config)))?;
        let added = add::add(&request, &global.config, &lock, access(global), diagnostics)?;
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
