//! `bundle2chart push`

use super::output::Output;
use super::package::write_record;
use super::{Exit, Invocation};
use crate::attest::{self, KEY_VARIABLE, Signer};
use crate::diag::{Fatal, counted};
use crate::escape::Lines;
use crate::package;
use crate::package::push::{self, Remote, TagState};
use std::path::PathBuf;

/// Push charts to an OCI registry, and write charts.lock.
///
/// Charts are pushed as `helm push` does, from the output directory; `package` need not run before.
/// Prints the reference of each chart by digest, from which Helm installs it. Credentials and TLS
/// settings are those for pulling bundles. Provenance (in-toto, SLSA) and an SBOM of the images
/// (CycloneDX) are attached to each chart; with a key in BUNDLE2CHART_SIGNING_KEY or a command,
/// they and the chart are signed, for `cosign verify`.
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
    /// Do not attach provenance and SBOM, nor sign.
    #[arg(long, conflicts_with = "check")]
    no_attest: bool,
    /// Shell command that signs: gets the bytes on stdin and prints an ECDSA P-256 signature with
    /// SHA-256, in DER or base64. Replaces the key in BUNDLE2CHART_SIGNING_KEY.
    #[arg(long, value_name = "CMD", conflicts_with_all = ["check", "no_attest"])]
    sign_command: Option<String>,
    /// Output directory, overrides `dir` in the configuration.
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
}

impl Push {
    pub(super) fn run(&self, invocation: &mut Invocation<'_>) -> Option<Exit> {
        let registry = push::registry(&self.registry, &mut invocation.diagnostics)?;
        let config = invocation.configuration()?;
        let resolver = invocation.sources(&config);
        let Invocation { output, diagnostics, .. } = &mut *invocation;
        let out = self.out.clone().unwrap_or_else(|| config.out());
        let packages = package::packages(&out, &self.charts, diagnostics)?;

        let remotes = push::look_up(&registry, &packages.selected, &resolver, diagnostics);
        // Before the first push: with a registry that does not answer, some charts would be there
        // and others not.
        diagnostics.no_errors()?;
        if self.check {
            return Some(check(&remotes, output));
        }
        // Before anything is pushed: a key that is not usable leaves the registry as it is.
        let signer = diagnostics.report(self.signer())?;
        let attestations = if self.no_attest {
            Vec::new()
        } else {
            invocation.attestations(&packages.selected, &config, &resolver)?
        };
        let Invocation { output, diagnostics, .. } = invocation;
        push::push(&remotes, self.replace, &resolver, diagnostics)?;
        let mut attached = 0;
        for (remote, attestations) in remotes.iter().zip(&attestations) {
            let signer = signer.as_ref();
            attached += attest::attach(remote, attestations, signer, &resolver, diagnostics)?;
        }

        output.list(&remotes.iter().map(Remote::pinned).collect());
        let pushed = remotes.iter().filter(|remote| remote.is_pushed()).count();
        let unchanged = remotes.len() - pushed;
        let mut line = format!("{}: {pushed} pushed, {unchanged} unchanged", self.registry);
        if attached > 0 {
            line.push_str(&format!(", {}", counted(attached, "attestation")));
        }
        output.note_line(line);
        write_record(&packages, &out, output, diagnostics)?;
        Some(Exit::Clean)
    }

    /// Returns the signer, if the user wants signatures.
    #[expect(clippy::disallowed_methods, reason = "the key is the user's")]
    fn signer(&self) -> Result<Option<Signer>, Fatal> {
        let key = std::env::var(KEY_VARIABLE).ok().filter(|pem| !pem.is_empty());
        match &self.sign_command {
            _ if self.no_attest => Ok(None),
            Some(command) => Ok(Some(Signer::Command(command.clone()))),
            None => key.map(|pem| Signer::from_pem(&pem)).transpose(),
        }
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
