//! `bundle2chart vendor`

use super::{Exit, Invocation};
use crate::config::{Config, MirrorTarget};
use crate::diag::counted;
use crate::escape::Lines;
use crate::lock::{self, Lock, Locked};
use crate::source::{Pin, Vendored};
use std::collections::BTreeSet;
use std::path::PathBuf;

/// Copy the locked images to a directory or a registry.
///
/// Prints the `[[mirror]]` tables to add to bundles.toml. With these, `build --offline` builds the
/// same charts without access to the original registries.
#[derive(Debug, clap::Args)]
pub(super) struct Vendor {
    /// OCI image layout directory, relative to the configuration; created if missing.
    #[arg(value_name = "DIR", required_unless_present = "to", conflicts_with = "to")]
    dir: Option<PathBuf>,
    /// Push to a registry instead: HOST/PATH, to which the repositories are appended.
    #[arg(long, value_name = "HOST/PATH")]
    to: Option<String>,
}

impl Vendor {
    pub(super) fn run(&self, invocation: &mut Invocation<'_>) -> Option<Exit> {
        let (config, lock) = invocation.configuration_and_lock()?;
        let sources = invocation.sources(&config);
        let Invocation { global, output, diagnostics } = invocation;
        // Else the copy would be incomplete, without a warning.
        lock.check_complete(&config, &[], &lock::path_of(&global.config), diagnostics)?;
        // Bundles embedded in a catalog need no image. Several bundles can have the same image.
        let mut images: Vec<Pin<'_>> = lock.bundles.iter().filter_map(Locked::pin).collect();
        images.sort_unstable_by_key(|pin| (pin.reference, pin.digest));
        images.dedup_by_key(|pin| (pin.reference, pin.digest));
        if images.is_empty() {
            output.note_line("no bundle is an image, so there is nothing to copy");
            return Some(Exit::Clean);
        }
        let (copied, target) = match (&self.dir, &self.to) {
            (Some(dir), _) => {
                let target = format!("oci-layout:{}", dir.display());
                (sources.vendor_to_layout(&images, dir, diagnostics), target)
            }
            (None, to) => {
                let to = to.as_deref().unwrap_or_default().trim_end_matches('/');
                (sources.vendor_to_registry(&images, to, diagnostics), to.to_owned())
            }
        };
        let Vendored { images, copied, bytes } = diagnostics.report(copied)?;
        output.diagnostics(diagnostics);
        output.note_line(format!(
            "{target}: {}, {copied} blobs copied ({} KiB)",
            counted(images, "image"),
            bytes.div_ceil(1024)
        ));
        output.note(&advice(&config, &lock, &target));
        Some(Exit::Clean)
    }
}

/// Returns the `[[mirror]]` tables that the configuration lacks.
fn advice(config: &Config, lock: &Lock, target: &str) -> Lines {
    // One table for each registry covers all of its repositories.
    let hosts: BTreeSet<&str> =
        lock.bundles.iter().filter_map(|entry| entry.pin()?.reference.split('/').next()).collect();
    let is_target = |to: &MirrorTarget| match to {
        MirrorTarget::Layout(dir) => target == format!("oci-layout:{}", dir.display()),
        MirrorTarget::Registry(start) => target == start,
    };
    let mut text = Lines::new();
    for host in hosts {
        if config.mirrors.iter().any(|mirror| mirror.from == host && is_target(&mirror.to)) {
            continue;
        }
        if text.is_empty() {
            text.push("To build from it, add this to the configuration:");
        }
        text.push("");
        let is_of_host = |from: &str| {
            from.strip_prefix(host).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        };
        if config.mirrors.iter().any(|mirror| is_of_host(&mirror.from)) {
            // Longer prefixes take precedence, and of equal prefixes the first one.
            text.push(format!("# replaces the existing mirrors of {host}"));
        }
        text.push("[[mirror]]");
        text.push(format!("from = \"{host}\""));
        text.push(format!("to = \"{target}\""));
    }
    text
}
