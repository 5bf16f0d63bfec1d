//! README.md of a chart.

use super::crds::Crds;
use super::notes::pull_namespaces;
use super::{Companions, Description, Part, crd_docs, uninstall};
use crate::config::{CertificateProvider, Layout, Watch};
use crate::escape::markdown::{self, code, sentence};
use crate::ir::{Expr, Unit, Value, ValuesPath};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

/// What the chart is, how to install it, its values, CRDs, images and provenance. `once` is a
/// paragraph about objects that a cluster can have once.
pub(super) fn readme(
    unit: &Unit,
    description: &Description<'_>,
    crds: &Crds,
    companions: Companions,
    once: &str,
) -> String {
    let name = &description.config.name;
    let csv = &description.bundle.csv;
    let mut text = format!("# {name}\n\n");
    let title = markdown::text(csv.spec_text("displayName"));
    let title = if title.is_empty() { name.clone() } else { title };
    let _ = write!(
        text,
        "{title} {}, compiled from its OLM bundle by bundle2chart. Do not edit: change bundles.toml and build again.\n\n\
         ## Install\n\n",
        markdown::text(&csv.version)
    );
    if !description.config.depends_on.is_empty() {
        let names: Vec<String> =
            description.config.depends_on.iter().map(|name| code(name)).collect();
        let _ = write!(text, "Install first: {}.\n\n", names.join(", "));
    }
    install(&mut text, description, crds, companions);
    text.push_str(once);
    pull_secret(&mut text, unit, description);
    if let Some(maximum) = &description.bundle.requirements.max_openshift {
        let _ = write!(
            text,
            "\nOn OpenShift it is for versions up to {}; before an upgrade beyond that, upgrade it.\n",
            markdown::text(maximum)
        );
    }
    let _ = write!(text, "\nThe operator watches {}.\n", watched(description.watch));
    certificate_section(&mut text, unit, description);
    contents(&mut text, unit);
    values(&mut text, unit);
    crd_docs::section(&mut text, unit, description, crds, companions);
    uninstall::section(&mut text, unit, description, companions);
    if !description.images.is_empty() {
        text.push_str("\n## Images\n\n");
        if unit.values.iter().any(|value| value.path.segments() == ["imageRegistries"]) {
            text.push_str(
                "Where the cluster gets them from a registry of its own, the values `imageRegistries` say so.\n\n",
            );
        }
        for image in description.images {
            let _ = writeln!(text, "- {}", code(image));
        }
    }
    provenance(&mut text, description);
    text
}

/// Returns what an operator watches, for a sentence.
pub(super) fn watched(watch: &Watch) -> String {
    match watch {
        Watch::All => "all namespaces".to_owned(),
        Watch::Own => "the namespace of the release and no other".to_owned(),
        Watch::Namespaces(names) => {
            format!("these namespaces, which must exist: {}", names.join(", "))
        }
    }
}

/// The commands, in order.
fn install(text: &mut String, description: &Description<'_>, crds: &Crds, companions: Companions) {
    let name = &description.config.name;
    let namespace = description.namespace;
    text.push_str("```sh\n");
    if companions.has_crds_chart() {
        let chart = Part::Crds.name(description.config);
        let _ = writeln!(
            text,
            "helm install {chart} {} --namespace {namespace} --create-namespace",
            beside(description, &chart)
        );
    }
    let skip = match crds.folder() {
        Some(folder) => {
            let _ = writeln!(text, "kubectl create -f {folder}");
            " --skip-crds"
        }
        None => "",
    };
    let _ =
        writeln!(text, "helm install {name} . --namespace {namespace} --create-namespace{skip}");
    if companions.operands {
        let operands = Part::Operands.name(description.config);
        // The chart knows no cluster; `helm install --wait` is how to know that it is up.
        let _ = writeln!(
            text,
            "helm install {operands} {} --namespace {namespace}   # when the operator is up",
            beside(description, &operands)
        );
    }
    text.push_str("```\n");
    if companions.operands {
        let _ = write!(
            text,
            "\nIn this order, because the cluster takes an object only when it knows its kind, and the operator \
             looks after it only when it runs: `--wait` for {name} is enough.\n"
        );
    }
}

/// What pulls its images, and how to have the chart make it.
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
    let _ = match default(&ValuesPath::new(["pullSecret", "name"])).unwrap_or_default() {
        "" => write!(
            text,
            "\nWhere its images need a pull secret, `--set pullSecret.name=NAME` names one in {namespaces}. "
        ),
        name => write!(
            text,
            "\nIts images are pulled with the secret {}, which must exist in {namespaces}. ",
            code(name)
        ),
    };
    text.push_str(
        "With `--set-file pullSecret.dockerConfigJson=FILE` the chart makes it; FILE is what `podman login` or \
         `docker login` wrote.\n",
    );
}

/// The folder of another chart of the same bundle, for either layout of the output folder.
fn beside(description: &Description<'_>, name: &str) -> String {
    match description.layout {
        Layout::Versioned => format!("../../{name}/{}", description.version),
        Layout::Flat => format!("../{name}"),
    }
}

/// What it was made of.
pub(super) fn provenance(text: &mut String, description: &Description<'_>) {
    let csv = &description.bundle.csv;
    let _ = write!(
        text,
        "\n## Provenance\n\n| | |\n|---|---|\n| bundle | {} |\n",
        code(description.origin)
    );
    if let Some(image) = &description.bundle.image {
        let _ = writeln!(text, "| digest | {} |", code(&image.digest));
    }
    let _ = write!(
        text,
        "| package | {} |\n| ClusterServiceVersion | {} |\n",
        code(&description.bundle.package),
        code(csv.name())
    );
}

/// Who makes the certificates of what the operator serves.
fn certificate_section(text: &mut String, unit: &Unit, description: &Description<'_>) {
    let csv = &description.bundle.csv;
    if csv.webhooks.is_empty() && csv.api_services.is_empty() {
        return;
    }
    let config = description.config;
    let issuer = match &config.issuer {
        Some(issuer) => {
            format!(" The {} {} signs them; it must exist before.", issuer.kind, code(&issuer.name))
        }
        None => String::new(),
    };
    let words = match config.certificates {
        CertificateProvider::CertManager => format!(
            "cert-manager issues the certificates and injects the CA bundle. It must be in the cluster before this \
             chart is installed: without the API `cert-manager.io/v1` the installation stops.{issuer}"
        ),
        CertificateProvider::ServiceCa => {
            "OpenShift's service CA makes the certificates. This chart works on OpenShift only.".to_owned()
        }
        CertificateProvider::Helm => "Helm generates the certificates when it installs this chart, for ten years, and \
             keeps them on upgrades. To get new ones, delete the Secret and run `helm upgrade`. Do not install the \
             chart with `helm template` or a tool that renders it without a cluster, such as Argo CD: every \
             rendering would have other certificates."
            .to_owned(),
        CertificateProvider::ExistingSecret => {
            "The certificates are in Secrets that `certificates` in the values names; they must exist before.".to_owned()
        }
        CertificateProvider::None => {
            "Nothing in this chart makes certificates or tells the API server whom to trust: the operator must do both."
                .to_owned()
        }
    };
    text.push_str("\n## Certificates\n\nThe API server calls this operator");
    let deployments: BTreeSet<&str> = csv
        .webhooks
        .iter()
        .map(|webhook| webhook.deployment.as_str())
        .chain(csv.api_services.iter().map(|service| service.deployment.as_str()))
        .filter(|name| unit.names("Deployment").contains(*name))
        .collect();
    let deployments: Vec<String> = deployments.into_iter().map(code).collect();
    let _ = writeln!(text, " ({}). {words}", deployments.join(", "));
}

pub(super) fn contents(text: &mut String, unit: &Unit) {
    let mut kinds: BTreeMap<&str, usize> = BTreeMap::new();
    for object in &unit.objects {
        *kinds.entry(object.kind()).or_default() += 1;
    }
    text.push_str("\n## Contents\n\n| Kind | Objects |\n|---|---|\n");
    for (kind, count) in kinds {
        let _ = writeln!(text, "| {} | {count} |", markdown::text(kind));
    }
}

pub(super) fn values(text: &mut String, unit: &Unit) {
    if unit.values.is_empty() {
        return;
    }
    text.push_str("\n## Values\n\n| Key | Type | Default | Description |\n|---|---|---|---|\n");
    for spec in &unit.values {
        let kind = spec.schema.get("type").and_then(|kind| kind.as_str()).unwrap_or("any");
        let (path, default) = (code(&spec.path.to_string()), code(&spec.default.to_string()));
        let description = sentence(&spec.description);
        let _ = writeln!(text, "| {path} | {kind} | {default} | {description} |");
    }
}
