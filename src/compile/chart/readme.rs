//! README.md of a chart.

use super::notes::pull_namespaces;
use super::{
    Description, DocumentedChart, Part, crd_docs, first_resource, gates, steps, uninstall,
};
use crate::config::{CertificateProvider, Layout, Source, Watch};
use crate::diag::join;
use crate::escape::markdown::{self, code, sentence};
use crate::ir::{Expr, Identity, Unit, Value, ValuesPath};
use crate::permissions;
use std::collections::{BTreeMap, BTreeSet};

/// Returns README.md: install commands, values, CRDs, images and provenance.
pub(super) fn readme(chart: &DocumentedChart<'_>) -> String {
    let DocumentedChart { unit, description, companions, once, .. } = chart;
    let name = &description.config.name;
    let mut text = format!("# {name}\n\n");
    let title =
        description.bundle.map(|bundle| markdown::text(bundle.csv.spec_text("displayName")));
    let title = title.filter(|title| !title.is_empty()).unwrap_or_else(|| name.clone());
    text += &format!(
        "{title} {}, {} by bundle2chart. Do not edit: change bundles.toml and build again.\n\n\
         ## Install\n\n",
        markdown::text(&description.app_version()),
        description.made_from()
    );

    if !description.config.depends_on.is_empty() {
        let names = description.config.depends_on.iter().map(|name| code(name));
        text += &format!("Install first: {}.\n\n", join(names, ", "));
    }
    install(&mut text, chart);
    text.push_str(once);
    pull_secret(&mut text, unit, description);
    text.push_str(&description.additions.readme);
    let requirements = description.bundle.map(|bundle| &bundle.requirements);
    if let Some(maximum) = requirements.and_then(|required| required.max_openshift.as_ref()) {
        text += &format!(
            "\nSupports OpenShift up to {}; upgrade the operator before you upgrade OpenShift further.\n",
            markdown::text(maximum)
        );
    }
    if let Some(watch) = description.watch {
        text += &format!("\nThe operator watches {}.\n", watched(watch));
    }

    if let Some(first) = companions.first {
        first_resource::section(&mut text, first, description.namespace);
    }
    warnings(&mut text, description);
    certificate_section(&mut text, unit, description);
    steps::section(&mut text, chart);
    gates::section(&mut text, chart);
    contents(&mut text, unit);
    permission_section(&mut text, description);
    values(&mut text, unit);
    crd_docs::section(&mut text, chart);
    uninstall::section(&mut text, chart);

    if !description.images.is_empty() {
        text.push_str("\n## Images\n\n");
        if unit.values.iter().any(|value| value.path.segments() == ["imageRegistries"]) {
            text.push_str("To pull them from a mirror, set `imageRegistries`.\n\n");
        }
        for image in description.images {
            text += &format!("- {}\n", code(image));
        }
    }
    provenance(&mut text, description);
    text
}

/// Appends the permissions of the operator, as `inspect` prints them.
fn permission_section(text: &mut String, description: &Description<'_>) {
    let Some(bundle) = description.bundle else { return };
    let lines = permissions::of_csv(&bundle.csv);
    let fence = markdown::fence(lines.as_str().lines());
    *text += &format!(
        "\n## Permissions\n\nSensitive ones are marked with `!`.\n\n{fence}text\n{lines}{fence}\n"
    );
}

/// Appends the warnings of the build.
fn warnings(text: &mut String, description: &Description<'_>) {
    if description.warnings.is_empty() {
        return;
    }
    text.push_str("\n## Warnings\n\n`bundle2chart build` reports:\n\n");
    for warning in description.warnings {
        *text += &format!("- {}\n", markdown::text(warning));
    }
}

/// Returns the watched namespaces as the object of a sentence.
pub(super) fn watched(watch: &Watch) -> String {
    match watch {
        Watch::All => "all namespaces".to_owned(),
        Watch::Own => "the release namespace only".to_owned(),
        Watch::Namespaces(names) => {
            format!("these namespaces, which must exist: {}", names.join(", "))
        }
    }
}

/// Appends the install commands, in order.
fn install(text: &mut String, chart: &DocumentedChart<'_>) {
    let DocumentedChart { description, crds, companions, .. } = chart;
    let name = &description.config.name;
    let namespace = description.namespace;
    text.push_str("```sh\n");
    if companions.has_crds_chart() {
        let crds = Part::Crds.name(description.config);
        *text += &format!(
            "helm install {crds} {} --namespace {namespace} --create-namespace\n",
            sibling_path(description, &crds)
        );
    }
    let skip = match crds.folder() {
        Some(folder) => {
            *text += &format!("kubectl create -f {folder}\n");
            " --skip-crds"
        }
        None => "",
    };
    *text += &format!("helm install {name} . --namespace {namespace} --create-namespace{skip}\n");
    if companions.operands {
        let operands = Part::Operands.name(description.config);
        // `helm install --wait` of the operator shows that it is ready.
        *text += &format!(
            "helm install {operands} {} --namespace {namespace}   # when the operator is ready\n",
            sibling_path(description, &operands)
        );
    }
    text.push_str("```\n");
    if companions.operands {
        *text += &format!(
            "\nThe order matters: the API server accepts custom resources only after their CRDs, and only the running \
             operator reconciles them. Install {name} with `--wait`.\n"
        );
    }
}

/// Appends the paragraph on the pull secret: its name, its namespaces, and how the chart creates it.
fn pull_secret(text: &mut String, unit: &Unit, description: &Description<'_>) {
    let default = |path: &ValuesPath| {
        unit.values.iter().find(|spec| spec.path == *path).and_then(|spec| spec.default.as_str())
    };
    let namespaces: Vec<String> = pull_namespaces(unit)
        .into_iter()
        .filter_map(|namespace| match namespace {
            Value::Text(namespace) => Some(namespace.as_str()),
            Value::Expr(Expr::ReleaseNamespace) => Some(description.namespace),
            Value::Expr(Expr::Text(path)) => default(path),
            _ => None,
        })
        .map(code)
        .collect();
    if namespaces.is_empty() {
        return;
    }

    let namespaces = namespaces.join(" and ");
    *text += &match default(&ValuesPath::new(["pullSecret", "name"])).unwrap_or_default() {
        "" => format!(
            "\nIf the images need a pull secret, set its name with `--set pullSecret.name=NAME`; it must exist in {namespaces}. "
        ),
        name => format!(
            "\nImages are pulled with the secret {}, which must exist in {namespaces}. ",
            code(name)
        ),
    };

    text.push_str(
        "To create it with the chart, add `--set-file pullSecret.dockerConfigJson=FILE` with the credentials file of \
         `podman login` or `docker login`.\n",
    );
}

/// Returns the relative path of another chart of the same bundle.
fn sibling_path(description: &Description<'_>, name: &str) -> String {
    match description.layout {
        Layout::Versioned => format!("../../{name}/{}", description.version),
        Layout::Flat => format!("../{name}"),
    }
}

/// Appends the provenance table: bundle, digest, package and CSV; or the manifests.
pub(super) fn provenance(text: &mut String, description: &Description<'_>) {
    text.push_str("\n## Provenance\n\n| | |\n|---|---|\n");
    if let Source::Manifests(manifests) = &description.config.source {
        for path in &manifests.paths {
            *text += &format!("| manifests | {} |\n", code(&path.text));
        }
        for file in &manifests.vendored {
            let url = file.url.as_ref().map(|url| format!(" from {}", code(url)));
            let (path, digest) = (code(&file.path.text), code(&file.digest.text));
            *text += &format!("| vendored | {path} {digest}{} |\n", url.unwrap_or_default());
        }
    }

    let Some(bundle) = description.bundle else { return };
    let csv = &bundle.csv;
    *text += &format!("| bundle | {} |\n", code(description.origin));
    if let Some(image) = &bundle.image {
        *text += &format!("| digest | {} |\n", code(&image.digest));
    }
    *text += &format!(
        "| package | {} |\n| ClusterServiceVersion | {} |\n",
        code(&bundle.package),
        code(csv.name())
    );
}

/// Appends the section on the certificate provider of webhooks and APIServices.
fn certificate_section(text: &mut String, unit: &Unit, description: &Description<'_>) {
    let Some(csv) = description.bundle.map(|bundle| &bundle.csv) else { return };
    if csv.webhooks.is_empty() && csv.api_services.is_empty() {
        return;
    }
    let config = description.config;
    let issuer = match &config.operator.issuer {
        Some(issuer) => {
            format!(" The {} {} signs them and must exist first.", issuer.kind, code(&issuer.name))
        }
        None => String::new(),
    };

    let provider = match config.certificates() {
        CertificateProvider::CertManager => format!(
            "cert-manager issues the certificates and injects the CA bundle. Install it before this chart: without the \
             API `cert-manager.io/v1` the installation fails.{issuer}"
        ),
        CertificateProvider::ServiceCa => {
            "OpenShift's service CA issues the certificates. This chart works on OpenShift only.".to_owned()
        }
        CertificateProvider::Helm => "Helm generates the certificates at install, valid for ten years, and keeps them on \
             upgrades. To rotate them, delete the Secret and run `helm upgrade`. Do not use `helm template` or tools \
             that render without a cluster, such as Argo CD: every rendering generates new certificates."
            .to_owned(),
        CertificateProvider::ExistingSecret => {
            "The certificates are in existing Secrets, named by the values `certificates`; create them first.".to_owned()
        }
        CertificateProvider::None => {
            "This chart has no certificates and no CA bundle: the operator must provide both."
                .to_owned()
        }
    };

    text.push_str("\n## Certificates\n\nThe API server calls this operator");
    let deployments: BTreeSet<&str> = csv
        .webhooks
        .iter()
        .map(|webhook| webhook.deployment.as_str())
        .chain(csv.api_services.iter().map(|service| service.deployment.as_str()))
        // Filters may have excluded a Deployment of the CSV.
        .filter(|name| unit.names("Deployment").contains(*name))
        .collect();
    let deployments = join(deployments.into_iter().map(code), ", ");
    *text += &format!(" ({deployments}). {provider}\n");
}

/// Writes the table of the objects in the chart.
pub fn contents(text: &mut String, unit: &Unit) {
    // Switches have several objects of one name, of which one is rendered. Names of several parts are
    // not compared.
    let mut seen: BTreeSet<Identity> = BTreeSet::new();
    let mut is_new = |id: Identity| id.name.is_empty() || seen.insert(id);
    let mut kinds: BTreeMap<&str, usize> = BTreeMap::new();
    for object in unit.objects.iter().filter(|object| is_new(object.id())) {
        *kinds.entry(object.kind()).or_default() += 1;
    }
    text.push_str("\n## Contents\n\n| Kind | Objects |\n|---|---|\n");
    for (kind, count) in kinds {
        *text += &format!("| {} | {count} |\n", markdown::text(kind));
    }
}

/// Writes the table of values.
pub fn values(text: &mut String, unit: &Unit) {
    if unit.values.is_empty() {
        return;
    }
    text.push_str("\n## Values\n\n| Key | Type | Default | Description |\n|---|---|---|---|\n");
    for spec in &unit.values {
        let kind = spec.schema.get("type").and_then(|kind| kind.as_str()).unwrap_or("any");
        let default = spec.documented_default.clone();
        let default = default.unwrap_or_else(|| spec.default.to_string());
        let (path, default) = (code(&spec.path.to_string()), code(&default));
        let description = sentence(&spec.description);
        *text += &format!("| {path} | {kind} | {default} | {description} |\n");
    }
}
