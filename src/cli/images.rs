//! `bundle2chart images`

use super::{Exit, Invocation, cpus};
use crate::pipeline::{Inputs, VerifiedImages};
use crate::source::Reference;
use crate::{images, pipeline};
use clap::ValueEnum;

/// List the images that the charts use.
#[derive(Debug, clap::Args)]
pub(super) struct Images {
    /// Names of bundles [default: all].
    #[arg(value_name = "NAME")]
    names: Vec<String>,
    /// Output format.
    #[arg(long, value_enum, default_value_t = Format::List)]
    format: Format,
    /// Mirror registry for `--format idms`.
    #[arg(long, value_name = "HOST/PREFIX", required_if_eq("format", "idms"), value_parser = mirror)]
    mirror: Option<String>,
    /// Verify the signatures of the images, as `[[verify]]` in bundles.toml requires them.
    #[arg(long)]
    verify: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Format {
    /// Human-readable: each image, its problems, and its users.
    List,
    /// The same as a JSON array.
    Json,
    /// Input for `skopeo sync --src yaml`.
    Skopeo,
    /// ImageSetConfiguration for `oc mirror --v2`.
    Imageset,
    /// ImageDigestMirrorSet for OpenShift.
    Idms,
}

fn mirror(text: &str) -> Result<String, String> {
    let text = text.trim_end_matches('/');
    // The prefix plus a repository must be a valid reference without tag and digest.
    match Reference::parse(&format!("{text}/image")) {
        Ok(reference) if reference.name == format!("{text}/image") => Ok(text.to_owned()),
        _ => Err("write a registry host with an optional prefix, for example \
            `registry.example.com/mirror`"
            .to_owned()),
    }
}

impl Images {
    pub(super) fn run(&self, invocation: &mut Invocation<'_>) -> Option<Exit> {
        // clap can require an option for a value of another one, but not forbid it for the rest.
        if self.mirror.is_some() && self.format != Format::Idms {
            let error = "error: `--mirror` can only be used with `--format idms`";
            return Some(invocation.output.error([error]));
        }

        let (config, lock) = (invocation.configuration(), invocation.lock());
        let (config, lock) = (config?, lock?);
        let sources = invocation.sources(&config);
        let Invocation { output, diagnostics, .. } = invocation;
        let inputs = Inputs { config: &config, sources: &sources, lock: &lock, jobs: cpus() };
        let bundles = pipeline::images(&inputs, &self.names, diagnostics);
        let verified = (self.verify && !diagnostics.has_errors())
            .then(|| pipeline::verify_images(&sources, &bundles, cpus(), diagnostics));
        diagnostics.no_errors()?;

        // The list is for people and may have diagnostics next to it; all other formats are for
        // programs.
        let mirror = self.mirror.as_deref().unwrap_or_default();
        let document = match self.format {
            Format::List => None,
            Format::Json => Some(images::json(&bundles)),
            Format::Skopeo => Some(images::skopeo(&bundles, diagnostics)),
            Format::Imageset => Some(images::image_set(&bundles, diagnostics)),
            Format::Idms => Some(images::mirror_set(&bundles, mirror, diagnostics)),
        };
        match document {
            None => output.list(&images::list(&bundles)),
            Some(document) => {
                output.keep_stdout_for_result();
                output.document(&document);
            }
        }
        output.diagnostics(diagnostics);
        if let Some(VerifiedImages { signed, not_required }) = verified {
            output.note_line(format!("signatures: {signed} valid, {not_required} not required"));
        }

        Some(Exit::Clean)
    }
}
