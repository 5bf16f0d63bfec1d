//! Compiling one bundle, or the manifests of one `[[chart]]`: from the files to the objects and
//! values of a chart.

use super::gates;
use super::models;
use crate::bundle::{self, Bundle};
use crate::config::{BundleConfig, CRDS_SUFFIX, CrdPlacement, Filter, Manifests, Source, Watch};
use crate::diag::{Code, Diagnostic, Diagnostics, Severity};
use crate::ir::{Expr, Object, Origin, ReadPaths, Release, Unit, UpgradeEdges, label_fault};
use crate::jq::{Purpose, Session};
use crate::olm;
use crate::overlay;
use crate::passes::{self, Context, Filtered};
use crate::source::BundleFiles;

/// Number of matched objects per filter.
pub type Hits = Vec<(Filter, usize)>;

/// A bundle, or a `[[chart]]`, compiled to the objects and values of a chart.
#[derive(Clone, Debug)]
pub struct Compiled {
    /// The bundle, without the objects that are now in `unit`; `None` for a `[[chart]]`.
    pub bundle: Option<Bundle>,
    /// The compiled objects and values.
    pub unit: Unit,
    /// The namespace that it is meant for.
    pub namespace: String,
    /// Namespaces that the operator watches; `None` for a `[[chart]]`.
    pub watch: Option<Watch>,
    /// Placement of its CRDs.
    pub crds: CrdPlacement,
    /// Number of matched objects per filter.
    pub hits: Hits,
    /// Number of matched objects per patch, by its own filter.
    pub patched: Hits,
}

/// Compiles the files of one bundle, or of one `[[chart]]`; `None` after an error.
pub fn compile(
    files: &BundleFiles,
    config: &BundleConfig,
    diagnostics: &mut Diagnostics,
) -> Option<Compiled> {
    compile_loaded(None, files, config, diagnostics)
}

/// [`compile`] for a bundle that may be loaded already.
pub fn compile_loaded(
    bundle: Option<Bundle>,
    files: &BundleFiles,
    config: &BundleConfig,
    diagnostics: &mut Diagnostics,
) -> Option<Compiled> {
    let start = diagnostics.mark();
    let input = match &config.source {
        Source::Manifests(manifests) => of_manifests(files, manifests, config, diagnostics),
        _ => bundle
            .or_else(|| bundle::load(files, diagnostics))
            .and_then(|bundle| of_bundle(bundle, config, diagnostics)),
    };
    let compiled = input.and_then(|input| adapt(input, files, config, diagnostics));
    bundle::locate(diagnostics.since(start), files);
    compiled.filter(|_| !diagnostics.has_errors_since(start))
}

/// Converts a bundle to the objects that OLM would create.
fn of_bundle(
    mut bundle: Bundle,
    config: &BundleConfig,
    diagnostics: &mut Diagnostics,
) -> Option<Input> {
    check_package(config, &bundle, diagnostics);
    let suggested = bundle.suggested_namespace().map(str::to_owned);
    let namespace = config.namespace.clone().or_else(|| suggested.clone());
    let namespace = namespace.unwrap_or_else(|| config.name.clone());
    // README.md and NOTES.txt contain it in commands, so it must be a valid name.
    let is_suggested = suggested.as_ref() == Some(&namespace);
    if let Some(fault) = label_fault(&namespace, 63).filter(|_| is_suggested) {
        let message = format!("invalid suggested namespace `{namespace}`: the name {fault}");
        let annotation = ".metadata.annotations[\"operatorframework.io/suggested-namespace\"]";
        let found = Diagnostic::error(Code::InvalidName, message).at(bundle.csv.place(annotation));
        return diagnostics.fail(found.hint("set namespace = \"…\" for this bundle"));
    }

    let unit = olm::lower(&mut bundle, config, &namespace, diagnostics);
    let mut namespaces = vec![namespace];
    // Bundles hard-code the suggested namespace; with another `namespace`, passes still have to
    // find it.
    namespaces.extend(suggested.filter(|suggested| namespaces.iter().all(|own| own != suggested)));
    let own = semver::Version::parse(&bundle.csv.version).ok();
    let own = own.or_else(|| config.chart_version.clone());
    let context = Context {
        // The operator's, because it is more meaningful for CRDs than the chart's.
        crd_version: own.map_or_else(String::new, |version| version.to_string()),
        replaces_later: replaces_later(&bundle),
        ..Context::of(config, bundle.csv.version.clone(), namespaces)
    };
    // Without a watch no install mode fits, which `olm::lower` has reported.
    let watch = config.watch().cloned().or_else(|| olm::default_watch(&bundle.csv));
    Some(Input { unit, context, watch, bundle: Some(bundle) })
}

/// Reads the user's own manifests, which need no operator and no install mode.
fn of_manifests(
    files: &BundleFiles,
    manifests: &Manifests,
    config: &BundleConfig,
    diagnostics: &mut Diagnostics,
) -> Option<Input> {
    let namespace = config.namespace.clone().unwrap_or_else(|| config.name.clone());
    let mut objects: Vec<Object> = Vec::new();
    if let Some(platform) = &manifests.maas {
        let expression = |name: &str| {
            let known = overlay::operand_namespace(&config.operands.namespaces, name);
            known.or((name == namespace).then_some(Expr::ReleaseNamespace))
        };
        let compiler = models::compiler("[chart.maas]", &platform.span, diagnostics)?;
        objects.extend((compiler.platform)(platform, &expression));
    }
    // Only a chart with a platform may have no files, and files without objects are an error.
    if !files.manifests.is_empty() {
        objects.extend(bundle::own_manifests(files, diagnostics)?);
    }
    let version = config.chart_version.as_ref().map(ToString::to_string).unwrap_or_default();
    let context =
        Context { crd_version: version.clone(), ..Context::of(config, version, vec![namespace]) };
    let unit = Unit { objects, ..Unit::default() };
    Some(Input { bundle: None, unit, context, watch: None })
}

/// The objects of a bundle or `[[chart]]`, before the configuration changes them.
struct Input {
    bundle: Option<Bundle>,
    unit: Unit,
    context: Context,
    watch: Option<Watch>,
}

/// Applies the configuration and the passes; `None` after an error that makes later findings
/// meaningless.
fn adapt(
    input: Input,
    files: &BundleFiles,
    config: &BundleConfig,
    diagnostics: &mut Diagnostics,
) -> Option<Compiled> {
    let Input { bundle, mut unit, mut context, watch } = input;
    let namespace = context.namespaces.first().cloned().unwrap_or_default();
    // Filters and patches are for objects of the bundle, so overlays and stubs come after them.
    let (objects, hits, patched) = filter_and_patch(unit.objects, config, &namespace, diagnostics)?;
    unit.objects = objects;
    unit.append(overlay::stubs(&config.stub_crds));
    unit.objects.extend(bundle::overlays(files, diagnostics));
    // Switches are conditions on overlays, so these must be there.
    unit.values.extend(overlay::switches(&config.switches, &mut unit.objects));
    context.crds = placement(&unit.objects, config, diagnostics);
    // Custom resources of a bundle are of its operator's kinds; a `[[chart]]` may have any kind.
    let unknown_kinds = if bundle.is_some() { Severity::Warning } else { Severity::Note };
    overlay::check(&unit.objects, context.crds, &config.scopes, unknown_kinds, diagnostics);
    // The check before this is of what users write; these objects are generated from checked keys.
    unit.append(overlay::operands(&config.operands));
    // Last, because a step must not change an object of the chart, wherever that comes from.
    let namespaces = &context.namespaces;
    unit.append(overlay::hook_jobs(config, namespaces, &unit.objects, diagnostics));

    // Values are declared for all Jobs, and a filter may have removed the objects that use a value.
    let read = ReadPaths::of(&unit.objects);
    unit.values.retain(|value| read.contains(&value.path));
    passes::run(&mut unit, &context, diagnostics);
    gates::check(config, &unit, diagnostics);
    Some(Compiled { bundle, unit, namespace, watch, crds: context.crds, hits, patched })
}

/// Reports an error if the bundle is not of the package that bundles.toml names. For a bundle of a
/// catalog, this is the package that lists it there.
pub(super) fn check_package(config: &BundleConfig, bundle: &Bundle, diagnostics: &mut Diagnostics) {
    let Some(wanted) = config.package.as_ref().filter(|wanted| wanted.text != bundle.package)
    else {
        return;
    };
    let (message, hint) = match &config.source {
        Source::Catalog(catalog) => (
            format!(
                "the catalog `{}` lists the bundle `{}` in package `{}`, but the bundle's \
                    annotations name the package `{}`",
                catalog.catalog.text,
                bundle.csv.name(),
                wanted.text,
                bundle.package
            ),
            "report it to the owner of the catalog; to build this bundle anyway, set `image` to \
                its image instead of `catalog`"
                .to_owned(),
        ),
        source => (
            format!(
                "`{}` is a bundle of package `{}`, not of `{}`",
                source.text(),
                bundle.package,
                wanted.text
            ),
            format!("use a bundle of `{}`, or write package = \"{}\"", wanted.text, bundle.package),
        ),
    };

    diagnostics.error(Code::PackageMismatch, &wanted.span, message, hint);
}

/// Returns the objects that the filters of the configuration keep, as its patches change them, and the
/// matches of filters and of patches; `None` after errors that make later findings meaningless.
fn filter_and_patch(
    objects: Vec<Object>,
    config: &BundleConfig,
    namespace: &str,
    diagnostics: &mut Diagnostics,
) -> Option<(Vec<Object>, Hits, Hits)> {
    let filters = || config.settings.include.iter().chain(&config.settings.exclude);
    let patches = config
        .patches
        .iter()
        .flat_map(|patch| [(Purpose::Filter, &patch.matches), (Purpose::Patch, &patch.patch)]);
    // All programs are in one session, so that a bundle starts one worker process.
    let programs = filters().map(|filter| (Purpose::Filter, filter)).chain(patches);
    let programs = programs.map(|(purpose, filter)| (purpose, filter.text.clone())).collect();
    let mut session = diagnostics.report(Session::start(programs).map_err(|error| {
        let message = format!("cannot start a process for jq: {error}");
        Diagnostic::error(Code::FilterFailed, message).into()
    }))?;
    let values = serde_json::Value::Null;
    let release = Release { namespace, values: &values };

    let (include, exclude) = (&config.settings.include, &config.settings.exclude);
    let Filtered { objects, hits } =
        passes::filter(objects, include, exclude, &release, &mut session, diagnostics)?;
    let hits = filters().cloned().zip(hits).collect();
    // The session numbers programs in their order: the filters, then two for each patch.
    let first = filters().count();
    let patches = &config.patches;
    let patched = overlay::patch(objects, patches, &release, &mut session, first, diagnostics);
    let filters = config.patches.iter().map(|patch| patch.matches.clone());
    Some((patched.objects, hits, filters.zip(patched.hits).collect()))
}

/// Returns the latest version that the bundle replaces or skips, if it is later than the bundle's
/// own: `1.0.1-1` replaces `1.0.1` in catalogs, and is an earlier semantic version.
fn replaces_later(bundle: &Bundle) -> Option<String> {
    let own = semver::Version::parse(&bundle.csv.version).ok()?;
    // A ClusterServiceVersion is named `PACKAGE.vVERSION`.
    let version = |csv: &String| {
        // The package name may have dots itself, so the first end that is a version counts.
        let mut ends = csv.match_indices('.').filter_map(|(dot, _)| csv.get(dot + 1..));
        ends.find_map(|end| semver::Version::parse(end.trim_start_matches('v')).ok())
    };
    let UpgradeEdges { replaces, skips, .. } = &bundle.edges;
    let later = [replaces].into_iter().chain(skips).filter_map(version);
    // The order of the crate includes build metadata, which has no precedence in semantic versions.
    let later = later.filter(|version| version.cmp_precedence(&own).is_gt());
    later.max().map(|version| version.to_string())
}

/// Returns the placement of CRDs. Helm looks up all kinds of a release before it creates any
/// object, so CRDs cannot be templates of a release with custom resources of their kinds.
fn placement(
    objects: &[Object],
    config: &BundleConfig,
    diagnostics: &mut Diagnostics,
) -> CrdPlacement {
    if let Some(placement) = config.settings.crds {
        return placement;
    }
    let mut apart = overlay::kept_apart(objects);
    let Some(first) = apart.next() else { return CrdPlacement::Templates };

    let more = match apart.count() {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    let message = format!(
        "the CRDs are in a separate chart `{}{CRDS_SUFFIX}`, because `{}` has custom resources of \
            their kinds: {}{more}",
        config.name,
        config.name,
        first.label()
    );
    let hint = match first.origin {
        Origin::Overlay { .. } => {
            "write crds = \"separate\" to set this explicitly, or phase = \"operand\" for the \
                overlay"
        }
        _ => "write crds = \"separate\" to set this explicitly",
    };
    diagnostics.push(Diagnostic::note(Code::CrdsSeparate, message).at(first.place()).hint(hint));
    CrdPlacement::Separate
}

#[cfg(test)]
mod tests;
