//! Reads `[deploy]`: what installs the charts.

use super::reader::{Fields, Located, Reader};
use super::values::{self, plain};
use crate::diag::{Code, Diagnostic, Place, suggest};
use crate::keys::{APPLICATION, ARGOCD, DEPLOY, FLUX, IGNORE_DIFFERENCES};
use crate::{
    ArgoCd, ArgoStyle, BundleConfig, CRDS_SUFFIX, CertificateProvider, Deploy, Discovery, Flux,
    IgnoreDifference, Layout, OPERANDS_SUFFIX, Output, OwnApplication, ServingConfig, Values,
};
use std::path::{Component, Path};

/// Reads `[deploy]`; without it, no deployment files are generated.
pub(super) fn read(
    reader: &mut Reader<'_>,
    root: &Fields<'_>,
    output: &Output,
    bundles: &[BundleConfig],
    servings: &[ServingConfig],
) -> Deploy {
    let Some((table, header)) = root.table("deploy") else { return Deploy::default() };
    let fields = reader.fields(&DEPLOY, header, table);
    let helmfile = match (fields.text("helmfile"), fields.boolean("helmfile")) {
        (Some(at), _) => helmfile_name(reader, at),
        (None, Some(true)) => Some("helmfile.yaml".to_owned()),
        (None, _) => None,
    };
    let repository = match fields.text("repository-path") {
        Some(at) => folder_inside(reader, "repository-path", at).unwrap_or_default(),
        None => String::new(),
    };
    let argocd = argocd(reader, &fields, output, bundles, servings);
    let flux = flux(reader, &fields);
    let charts = below(&repository, &output.dir);
    if charts.is_none() && (argocd.is_some() || flux.is_some()) {
        let message = "the output directory is outside the repository";
        let hint = "set `repository-path` to the directory of this file in the repository";
        reader.error(Code::InvalidValue, &fields.header, message, hint);
    }

    let mut values = fields.text("values").and_then(|at| values(reader, at, &repository, output));
    let profile = fields.text("profile").and_then(|at| values::label(reader, "profile", at));
    if let Some(values) = &mut values {
        values.profile = profile;
    }
    for (dir, key) in [
        (argocd.as_ref().map(|argocd| &argocd.dir), "argocd"),
        (flux.as_ref().map(|flux| &flux.dir), "flux"),
    ] {
        let first = dir.and_then(|dir| dir.split('/').next());
        let Some(bundle) = bundles.iter().find(|b| Some(b.name.as_str()) == first) else {
            continue;
        };
        let name = &bundle.name;
        let message = format!(
            "`[deploy.{key}]` would write into the directory of chart \
            `{name}`"
        );
        let diagnostic = Diagnostic::error(Code::OverlappingOutput, message)
            .at(reader.place(fields.header.clone()))
            .related(Place::span(bundle.span.clone()), "the table of the chart")
            .hint(format!("set another directory with `dir` in `[deploy.{key}]`"));
        reader.found.push(diagnostic);
    }

    if let Some(argocd) = &argocd {
        generated_certificates(reader, &fields, bundles);
        name_of_its_own(reader, argocd, &fields, bundles);
    }

    Deploy {
        helmfile,
        server_side: fields.boolean("server-side").unwrap_or_default(),
        charts: charts.unwrap_or_default(),
        values,
        argocd,
        flux,
    }
}

/// Argo CD renders charts without a cluster, where Helm's `lookup` finds nothing.
fn generated_certificates(reader: &mut Reader<'_>, fields: &Fields<'_>, bundles: &[BundleConfig]) {
    for bundle in bundles.iter().filter(|b| b.certificates == CertificateProvider::Helm) {
        let message =
            format!("Argo CD would replace the certificates of `{}` on every sync", bundle.name);
        let diagnostic = Diagnostic::warning(Code::CertificatesRenewed, message)
            .at(Place::span(bundle.span.clone()))
            .related(reader.place(fields.header.clone()), "Argo CD is enabled here")
            .hint("use cert-manager: `certificates = \"cert-manager\"`");
        reader.found.push(diagnostic);
    }
}

/// The Application of Applications is none of the Applications.
fn name_of_its_own(
    reader: &mut Reader<'_>,
    argocd: &ArgoCd,
    fields: &Fields<'_>,
    bundles: &[BundleConfig],
) {
    if argocd.style != ArgoStyle::AppOfApps {
        return;
    }
    for bundle in bundles.iter().filter(|bundle| bundle.name == argocd.name) {
        let message = format!("two Applications would have the name `{}`", argocd.name);
        let diagnostic = Diagnostic::error(Code::DuplicateName, message)
            .at(reader.place(fields.header.clone()))
            .related(Place::span(bundle.span.clone()), "the bundle of this name")
            .hint("set another `name` in `[deploy.argocd]`");
        reader.found.push(diagnostic);
    }
}

fn argocd(
    reader: &mut Reader<'_>,
    deploy: &Fields<'_>,
    output: &Output,
    bundles: &[BundleConfig],
    servings: &[ServingConfig],
) -> Option<ArgoCd> {
    let (table, header) = deploy.table("argocd")?;
    let fields = reader.fields(&ARGOCD, header, table);
    let text = |reader: &mut Reader<'_>, key: &str, usual: &str| match fields.text(key) {
        Some(at) => values::word(reader, key, at).map(|word| word.text),
        None => Some(usual.to_owned()),
    };
    let repo = text(reader, "repo", "").filter(|repo| !repo.is_empty());
    let revision = text(reader, "revision", "HEAD");
    let destination = text(reader, "destination", "https://kubernetes.default.svc");
    let name = label(reader, "name", &fields, "platform");
    let namespace = label(reader, "namespace", &fields, "argocd");
    let project = match fields.text("project") {
        Some(at) => values::object_name(reader, "project", at),
        None => Some("default".to_owned()),
    };
    let dir = dir(reader, &fields, "argocd");
    let mut ignore = Vec::new();
    for (table, header) in fields.tables("ignore-differences") {
        let fields = reader.fields(&IGNORE_DIFFERENCES, header, table);
        ignore.extend(ignore_difference(reader, &fields));
    }

    let mut applications: Vec<OwnApplication> = Vec::new();
    for (table, header) in fields.tables("application") {
        let fields = reader.fields(&APPLICATION, header.clone(), table);
        let Some(application) = own_application(reader, &fields) else { continue };
        if applications.iter().any(|other| other.chart == application.chart) {
            let message = format!("two Applications are for the chart `{}`", application.chart);
            reader.error(Code::DuplicateName, &header, message, "remove one of them");
        }
        applications.push(application);
    }
    known_charts(reader, &fields, bundles, servings);
    let discovery = discovery(reader, &fields, &applications, output, servings);

    Some(ArgoCd {
        repo: repo?,
        revision: revision?,
        style: match fields.text("style") {
            Some(("app-of-apps", _)) => ArgoStyle::AppOfApps,
            _ => ArgoStyle::ApplicationSet,
        },
        name: name?,
        project: project?,
        destination: destination?,
        namespace: namespace?,
        prune: fields.boolean("prune").unwrap_or_default(),
        dir: dir?,
        ignore,
        discovery,
        applications,
    })
}

/// Reports Applications of charts that the configuration does not have.
fn known_charts(
    reader: &mut Reader<'_>,
    argocd: &Fields<'_>,
    bundles: &[BundleConfig],
    servings: &[ServingConfig],
) {
    let models = servings.iter().map(|serving| serving.name.as_str());
    let names: Vec<&str> =
        bundles.iter().map(|bundle| bundle.name.as_str()).chain(models).collect();
    for (table, _) in argocd.tables("application") {
        let Some(chart) = table.get("chart") else { continue };
        let Some(text) = chart.get_ref().as_str() else { continue };
        // Companion charts may follow from objects that are not known yet.
        let base = [CRDS_SUFFIX, OPERANDS_SUFFIX].iter().find_map(|end| text.strip_suffix(end));
        if names.contains(&text) || base.is_some_and(|base| names.contains(&base)) {
            continue;
        }
        let message = format!("the configuration has no chart `{text}`");
        let hint = suggest::hint(text, &names, "charts");
        reader.error(Code::InvalidValue, &chart.span(), message, hint);
    }
}

/// Returns the models that Argo CD discovers: those in the namespace `discover`, except charts with
/// an Application of their own.
fn discovery(
    reader: &mut Reader<'_>,
    fields: &Fields<'_>,
    applications: &[OwnApplication],
    output: &Output,
    servings: &[ServingConfig],
) -> Option<Discovery> {
    let (text, range) = fields.text("discover")?;
    let namespace = values::namespace(reader, (text, range.clone()))?;
    // Directories of versions side by side would each become an Application.
    if output.layout != Layout::Flat {
        let message = "`discover` requires one directory per chart";
        let hint = "set `layout = \"flat\"` in `[output]`";
        reader.error(Code::InvalidValue, &range, message, hint);
    }
    let is_listed = |name: &str| applications.iter().any(|own| own.chart == name);
    let mut charts: Vec<String> = servings
        .iter()
        .filter(|serving| serving.namespace == namespace && !is_listed(&serving.name))
        .map(|serving| serving.name.clone())
        .collect();
    charts.sort_unstable();
    Some(Discovery { namespace, charts })
}

fn own_application(reader: &mut Reader<'_>, fields: &Fields<'_>) -> Option<OwnApplication> {
    let mut ignore = Vec::new();
    for table in reader.inner_tables(fields, "ignore-differences") {
        ignore.extend(ignore_difference(reader, &table));
    }
    let (chart, _) = fields.text("chart")?;
    let prune = fields.boolean("prune").unwrap_or_default();
    Some(OwnApplication { chart: chart.to_owned(), prune, ignore })
}

fn ignore_difference(reader: &mut Reader<'_>, fields: &Fields<'_>) -> Option<IgnoreDifference> {
    let optional = |reader: &mut Reader<'_>, key: &str| match fields.text(key) {
        Some(at) => values::object_name(reader, key, at).map(Some),
        None => Some(None),
    };
    let [group, name, namespace] = ["group", "name", "namespace"].map(|key| optional(reader, key));
    let kind = fields.text("kind").and_then(|at| values::kind(reader, at));
    let texts = |key: &str| -> Vec<String> {
        let (list, _) = fields.texts(key).unwrap_or_default();
        list.into_iter().map(|(text, _)| text.to_owned()).collect()
    };
    let (json_pointers, jq_paths) = (texts("json-pointers"), texts("jq-paths"));

    if json_pointers.is_empty() && jq_paths.is_empty() {
        reader.error(
            Code::MissingKey,
            &fields.header,
            "no fields to ignore",
            "add `json-pointers` or `jq-paths`",
        );
        return None;
    }

    Some(IgnoreDifference {
        group: group?.unwrap_or_default(),
        kind: kind?,
        name: name?,
        namespace: namespace?,
        json_pointers,
        jq_paths,
    })
}

fn flux(reader: &mut Reader<'_>, deploy: &Fields<'_>) -> Option<Flux> {
    let (table, header) = deploy.table("flux")?;
    let fields = reader.fields(&FLUX, header, table);
    let source_name =
        fields.text("source-name").and_then(|at| values::object_name(reader, "source-name", at));
    let namespace = label(reader, "namespace", &fields, "flux-system");
    let usual = namespace.clone().unwrap_or_default();
    let source_namespace = label(reader, "source-namespace", &fields, &usual);
    let [interval, timeout] =
        ["interval", "timeout"].map(|key| duration(reader, key, &fields, "10m"));
    let dir = dir(reader, &fields, "flux");
    Some(Flux {
        source_name: source_name?,
        source_namespace: source_namespace?,
        namespace: namespace?,
        interval: interval?,
        timeout: timeout?,
        dir: dir?,
    })
}

fn label(reader: &mut Reader<'_>, key: &str, fields: &Fields<'_>, usual: &str) -> Option<String> {
    match fields.text(key) {
        Some(at) => values::namespace(reader, at),
        None => Some(usual.to_owned()),
    }
}

fn dir(reader: &mut Reader<'_>, fields: &Fields<'_>, usual: &str) -> Option<String> {
    match fields.text("dir") {
        Some(at) => {
            let range = at.1.clone();
            let dir = folder_inside(reader, "dir", at)?;
            if dir.is_empty() {
                let message = "the output directory itself contains the charts";
                reader.error(Code::InvalidValue, &range, message, "use a subdirectory of it");
                return None;
            }
            Some(dir)
        }
        None => Some(usual.to_owned()),
    }
}

fn duration(
    reader: &mut Reader<'_>,
    key: &str,
    fields: &Fields<'_>,
    usual: &str,
) -> Option<String> {
    let Some((text, range)) = fields.text(key) else { return Some(usual.to_owned()) };
    if is_duration(text) {
        return Some(text.to_owned());
    }
    let message = format!("`{key}` is not a duration: {text:?}");
    reader.error(Code::InvalidValue, &range, message, "write it as `10m`, `1h` or `1h30m`");
    None
}

fn helmfile_name(reader: &mut Reader<'_>, (text, range): Located<&str>) -> Option<String> {
    let fits = text.ends_with(".yaml") || text.ends_with(".yaml.gotmpl");
    let plain = text.chars().all(|c| c.is_ascii_alphanumeric() || "._-".contains(c));
    if fits && plain && !text.starts_with('.') {
        return Some(text.to_owned());
    }
    reader.error(
        Code::InvalidValue,
        &range,
        format!("invalid file name for helmfile: {text:?}"),
        "use a file in the output directory that ends in `.yaml`, or write `helmfile = true`",
    );
    None
}

/// Reads a relative subdirectory, without `.`; empty for the base directory itself.
fn folder_inside(
    reader: &mut Reader<'_>,
    key: &str,
    (text, range): Located<&str>,
) -> Option<String> {
    let fits = !text.is_empty() && !text.contains(char::is_whitespace) && !text.contains('\\');
    let inner = fits.then(|| below("", Path::new(text))).flatten();
    if inner.is_none() {
        let message = format!("`{key}` is not a relative subdirectory: {text:?}");
        let hint = "use names separated by `/`, without whitespace and without `..`";
        reader.error(Code::InvalidValue, &range, message, hint);
    }
    inner
}

fn values(
    reader: &mut Reader<'_>,
    at: Located<&str>,
    repository: &str,
    output: &Output,
) -> Option<Values> {
    let range = at.1.clone();
    let folder = folder_inside(reader, "values", at)?;
    // From the output directory back to the file's: one step up for each name.
    let Some(down) = below("", &plain(&output.dir)) else {
        let message = "`values` requires an output directory below the directory of this file";
        reader.error(Code::InvalidValue, &range, message, "change `dir` in `[output]`");
        return None;
    };
    let up = down.split('/').filter(|name| !name.is_empty()).map(|_| "..");
    Some(Values {
        from_output: up.chain([folder.as_str()]).collect::<Vec<_>>().join("/"),
        in_repository: below(repository, Path::new(&folder))?,
        profile: None,
    })
}

/// Returns true if the text is a duration as defined by [`DURATION`].
pub(crate) fn is_duration(text: &str) -> bool {
    let mut rest = text;
    while !rest.is_empty() {
        let digits = |text: &str| text.bytes().take_while(u8::is_ascii_digit).count();
        let whole = digits(rest);
        let (number, mut after) = rest.split_at(whole);
        if number.is_empty() {
            return false;
        }
        if let Some(fraction) = after.strip_prefix('.') {
            let length = digits(fraction);
            if length == 0 {
                return false;
            }
            after = fraction.split_at(length).1;
        }
        let unit = ["ms", "s", "m", "h"].into_iter().find_map(|unit| after.strip_prefix(unit));
        let Some(next) = unit else { return false };
        rest = next;
    }
    !text.is_empty()
}

/// Returns `path` relative to `start`, without `.` and `..`; `None` if it leads outside.
fn below(start: &str, path: &Path) -> Option<String> {
    let mut names: Vec<&str> = start.split('/').filter(|name| !name.is_empty()).collect();
    for component in path.components() {
        match component {
            Component::Normal(name) => names.push(name.to_str()?),
            Component::CurDir => {}
            Component::ParentDir => {
                names.pop()?;
            }
            Component::RootDir | Component::Prefix(_) => return None,
        }
    }
    Some(names.join("/"))
}
