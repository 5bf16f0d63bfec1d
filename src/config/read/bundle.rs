//! Reads `[[bundle]]`.

use super::check::Draft;
use super::defaults::{self, Settings};
use super::reader::{Fields, Located, Reader};
use super::{after, certificates, lints, operands, overlay, pods, ready, switches, values};
use crate::diag::Code;
use crate::keys::BUNDLE;
use crate::{BundleConfig, CatalogSource, Source, VersionRequest, WantedVersion};

pub(super) fn read(
    reader: &mut Reader<'_>,
    fields: &Fields<'_>,
    defaults: &Settings,
) -> (Draft, Option<BundleConfig>) {
    let name = fields.text("name");
    if let Some(at) = &name {
        values::name(reader, at);
    }
    let source = match (fields.text("image"), fields.text("path")) {
        _ if fields.text("catalog").is_some() => catalog(reader, fields),
        (Some(at), _) => {
            let span = reader.span(at.1.clone());
            values::reference(reader, "image", at)
                .map(|reference| Source::Image { reference, span })
        }
        (None, Some(at)) => {
            let span = reader.span(at.1.clone());
            values::path(reader, "path", at).map(|path| Source::Path { path, span })
        }
        (None, None) => None,
    };
    // The package of a catalog is checked with the catalog.
    let package = match &source {
        Some(Source::Catalog(wanted)) => Some(wanted.package.clone()),
        _ if fields.text("catalog").is_some() => None,
        _ => fields.text("package").and_then(|at| values::word(reader, "package", at)),
    };
    let own = defaults::settings(reader, fields, &BUNDLE, defaults.toggles).over(defaults);
    let certificates = own.certificates.unwrap_or_default();
    certificates::issuer_is_used(reader, fields, certificates);
    let pods = pods::read(reader, fields);
    let overlays = overlay::overlays(reader, fields);
    let gates = ready::gates(reader, fields, &overlays);
    let after = after::steps(reader, fields, &overlays);
    let switches = switches::switches(reader, fields, &overlays);
    let patches = overlay::patches(reader, fields);
    let operands = operands::read(reader, fields);
    let stub_crds = operands::stub_crds(reader, fields);
    let namespace = fields.text("namespace").and_then(|at| values::namespace(reader, at));
    let chart_version = fields.text("chart-version").and_then(|at| values::version(reader, at));
    let draft = super::draft(reader, fields);

    let bundle = name.zip(source).map(|((name, _), source)| BundleConfig {
        name: name.to_owned(),
        source,
        package,
        namespace,
        watch: own.watch,
        watch_span: own.watch_span,
        include: own.include,
        exclude: own.exclude,
        pull_secret: own.pull_secret.flatten(),
        crds: own.crds,
        toggles: own.toggles,
        maintainers: own.maintainers.unwrap_or_default(),
        certificates,
        pods,
        overlays,
        switches,
        patches,
        scopes: operands::scopes(reader, fields),
        operands,
        stub_crds,
        issuer: own.issuer,
        chart_version,
        provided: own.provided,
        depends_on: draft.depends_on.iter().map(|(name, _)| name.clone()).collect(),
        gates,
        after,
        lints: lints::read(reader, fields),
        span: reader.span(fields.header.clone()),
    });
    (draft, bundle)
}

fn catalog(reader: &mut Reader<'_>, fields: &Fields<'_>) -> Option<Source> {
    let [catalog, package, channel] =
        ["catalog", "package", "channel"].map(|key| match fields.text(key) {
            Some(at) => values::word(reader, key, at).map(Some),
            None => Some(None),
        });
    let version = match fields.text("version") {
        Some(at) => wanted_version(reader, at).map(Some),
        None => Some(None),
    };
    // Each of the values has been checked above and reported its own errors.
    Some(Source::Catalog(CatalogSource {
        catalog: catalog??,
        package: package??,
        channel: channel?,
        version: version?,
    }))
}

/// Returns the version of a package in a catalog.
fn wanted_version(reader: &mut Reader<'_>, (text, range): Located<&str>) -> Option<WantedVersion> {
    let request = match semver::Version::parse(text) {
        Ok(version) => VersionRequest::Exact(version),
        Err(_) => match version_range(text) {
            Ok(request) => VersionRequest::Range(request),
            Err(error) => {
                let message = format!(
                    "`version` is neither a version nor a version range: \
                    {error}"
                );
                let bare = text.trim_start_matches('v');
                let with_commas = text.split_whitespace().collect::<Vec<_>>().join(", ");
                let hint = if bare != text && version_range(bare).is_ok() {
                    format!("write `version = \"{bare}\"`")
                } else if version_range(&with_commas).is_ok() {
                    format!("write `version = \"{with_commas}\"`")
                } else {
                    "write one version, such as `1.2.3`, or comparisons separated by commas, \
                        such as `>=1.2, <2`"
                        .to_owned()
                };
                reader.error(Code::InvalidValue, &range, message, hint);
                return None;
            }
        },
    };

    Some(WantedVersion { request, span: reader.span(range) })
}

/// Returns a range of versions. One of which the end is left out means all that begin so, as it
/// does to OLM: `1.2` is any 1.2, and not also 1.3 as it would be to Cargo, whose syntax this is
/// otherwise.
fn version_range(text: &str) -> Result<semver::VersionReq, semver::Error> {
    let exact = |part: &str| {
        let is_bare = !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit() || b == b'.');
        if is_bare { format!("={part}") } else { part.to_owned() }
    };
    let parts: Vec<String> = text.split(',').map(|part| exact(part.trim())).collect();
    semver::VersionReq::parse(&parts.join(", "))
}
