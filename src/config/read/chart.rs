//! Reads `[[chart]]`: a chart from the user's own manifests, as a bundle with another source.

use super::check::Draft;
use super::defaults::{self, Settings};
use super::reader::{Fields, Reader};
use super::{after, lints, operands, overlay, ready, switches, values};
use crate::diag::Code;
use crate::keys::{CHART, VENDORED};
use crate::serving::maas::{self, MaasPlatform};
use crate::{BundleConfig, Manifests, Source, Text, VendoredFile};

/// Returns the chart of a `[[chart]]` table; `None` if it lacks something essential.
pub(super) fn read(
    reader: &mut Reader<'_>,
    fields: &Fields<'_>,
    defaults: &Settings,
) -> (Draft, Option<BundleConfig>) {
    let draft = super::draft(reader, fields);
    if let Some(at) = fields.text("name") {
        values::name(reader, &at);
    }
    let namespace = fields.text("namespace").and_then(|at| values::namespace(reader, at));
    let suggested = namespace.as_deref().or(fields.text("name").map(|(name, _)| name));
    let platform = maas::platform(reader, fields, suggested.unwrap_or_default());
    let source = manifests(reader, fields, platform).map(Box::new).map(Source::Manifests);
    let own = defaults::settings(reader, fields, &CHART, defaults.toggles).over(defaults);
    let overlays = overlay::overlays(reader, fields);
    let gates = ready::gates(reader, fields, &overlays);
    let after = after::steps(reader, fields, &overlays);
    let switches = switches::switches(reader, fields, &overlays);
    let patches = overlay::patches(reader, fields);
    let operands = operands::read(reader, fields);
    let scopes = operands::scopes(reader, fields);
    let chart_version = fields.text("chart-version").and_then(|at| values::version(reader, at));

    let span = reader.span(fields.header.clone());
    let chart = draft.name.as_ref().zip(source).map(|((name, _), source)| BundleConfig {
        namespace,
        include: own.include,
        exclude: own.exclude,
        pull_secret: own.pull_secret.flatten(),
        crds: own.crds,
        toggles: own.toggles,
        maintainers: own.maintainers.unwrap_or_default(),
        overlays,
        switches,
        patches,
        scopes,
        operands,
        chart_version,
        provided: own.provided,
        depends_on: draft.depends_on.iter().map(|(name, _)| name.clone()).collect(),
        gates,
        after,
        lints: lints::read(reader, fields),
        span,
        ..BundleConfig::new(name, source)
    });
    (draft, chart)
}

/// Returns the files of a chart, of which there must be some.
fn manifests(
    reader: &mut Reader<'_>,
    fields: &Fields<'_>,
    maas: Option<MaasPlatform>,
) -> Option<Manifests> {
    let (listed, _) = fields.texts("manifests").unwrap_or_default();
    let mut paths = Vec::new();
    for at in listed {
        let span = reader.span(at.1.clone());
        if let Some(text) = values::path(reader, "manifests", at) {
            paths.push(Text { text, span });
        }
    }

    let tables = fields.tables("vendored");
    let mut vendored = Vec::new();
    for (table, header) in tables {
        let fields = reader.fields(&VENDORED, header, table);
        vendored.extend(vendored_file(reader, &fields));
    }

    if fields.texts("manifests").is_none_or(|(listed, _)| listed.is_empty())
        && fields.tables("vendored").is_empty()
        && fields.table("maas").is_none()
    {
        reader.error(
            Code::MissingKey,
            &fields.header,
            "the chart has no manifests",
            "add `manifests = [\"DIRECTORY\"]`, or a `[[chart.vendored]]` file with its digest",
        );
        return None;
    }

    let shown = paths.iter().map(|path| path.text.as_str());
    let shown = shown.chain(vendored.iter().map(|file| file.path.as_str()));
    let text = shown.chain(maas.as_ref().map(|_| "maas")).collect::<Vec<_>>().join(", ");
    let span = reader.span(fields.header.clone());
    Some(Manifests { paths, vendored, maas, text, span })
}

fn vendored_file(reader: &mut Reader<'_>, fields: &Fields<'_>) -> Option<VendoredFile> {
    let span = reader.span(fields.text("path")?.1);
    let path = fields.text("path").and_then(|at| values::path(reader, "path", at));
    let (digest, digest_range) = fields.text("digest")?;
    let hexadecimal = |c: char| c.is_ascii_digit() || ('a'..='f').contains(&c);
    let is_digest = digest
        .strip_prefix("sha256:")
        .is_some_and(|digits| digits.len() == 64 && digits.chars().all(hexadecimal));
    if !is_digest {
        let message = "`digest` is not `sha256:` and 64 lower-case hexadecimal digits";
        let hint = "run `sha256sum FILE`, and write `sha256:` in front of its first word";
        reader.error(Code::InvalidValue, &digest_range, message, hint);
    }

    let url = fields.text("url");
    // It is part of a command that people paste into a shell.
    let fits = |c: char| c.is_ascii_alphanumeric() || "-._~:/?#[]@!*+,;=%&".contains(c);
    if let Some((text, range)) = &url
        && !(text.starts_with("https://") && text.chars().all(fits))
    {
        let hint = "write an address that begins with `https://`, without spaces and quotes";
        reader.error(Code::InvalidValue, range, "`url` is not an HTTPS address", hint);
    }
    let digest_span = reader.span(digest_range);
    Some(VendoredFile {
        path: path?,
        digest: digest.to_owned(),
        url: url.map(|(text, _)| text.to_owned()),
        span,
        digest_span,
    })
}
