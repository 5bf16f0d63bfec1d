//! Flux: a HelmRelease for each chart, and the list of them.

use super::{Plan, Planned, document, join, present};
use crate::config::{Deploy, Flux};
use crate::ir::Value;
use std::collections::BTreeMap;

/// Directory of the HelmReleases.
const RELEASES: &str = "releases";

/// Number of retries of a failed release before Flux waits for the next interval.
const RETRIES: i64 = 5;

pub(super) fn files(plan: &Plan<'_>, deploy: &Deploy, flux: &Flux) -> BTreeMap<String, String> {
    // In a directory of their own: a chart may have the name of the list.
    let file = |name: &str| format!("{}/{RELEASES}/{name}.yaml", flux.dir);
    let mut files: BTreeMap<String, String> = plan
        .releases
        .iter()
        .map(|planned| (file(&planned.release.name), helm_release(planned, deploy, flux)))
        .collect();
    let names =
        plan.releases.iter().map(|planned| format!("{RELEASES}/{}.yaml", planned.release.name));
    files.insert(
        format!("{}/kustomization.yaml", flux.dir),
        document(
            &[],
            vec![
                ("apiVersion", "kustomize.config.k8s.io/v1beta1".into()),
                ("kind", "Kustomization".into()),
                ("resources", Value::texts(names)),
            ],
        ),
    );
    files
}

fn helm_release(planned: &Planned<'_>, deploy: &Deploy, flux: &Flux) -> String {
    let release = planned.release;
    let chart_path = join(&deploy.charts, &release.dir);
    let values = deploy.values.as_ref().map(|values| {
        // The chart's own values come first, because Flux replaces the default with this list.
        let own = format!("{chart_path}/values.yaml");
        Value::texts([own, format!("{}/{}.yaml", values.in_repository, release.name)])
    });
    let strategy = if values.is_some() { "Revision" } else { "ChartVersion" };
    let chart = present([
        ("chart", Some(Value::text(format!("./{chart_path}")))),
        (
            "sourceRef",
            Some(Value::map([
                ("kind", Value::from("GitRepository")),
                ("name", Value::text(&flux.source_name)),
                ("namespace", Value::text(&flux.source_namespace)),
            ])),
        ),
        ("interval", Some(Value::text(&flux.interval))),
        // A chart changes only with its version, but files of values change without it.
        ("reconcileStrategy", Some(strategy.into())),
        ("ignoreMissingValuesFiles", values.as_ref().map(|_| true.into())),
        ("valuesFiles", values),
    ]);
    let needs = planned.needs.iter().map(|need| Value::map([("name", Value::text(&need.name))]));
    let remediation = Value::map([("retries", RETRIES.into())]);
    // Without a word Flux would leave CRDs of crds/ directories at the version that was installed
    // first.
    let crds = ("crds", release.crds.map(|_| Value::from("CreateReplace")));
    let spec = present([
        ("interval", Some(Value::text(&flux.interval))),
        ("timeout", Some(Value::text(&flux.timeout))),
        // As `helm install` would name and keep it.
        ("releaseName", Some(Value::text(&release.name))),
        ("targetNamespace", Some(Value::text(&release.namespace))),
        ("storageNamespace", Some(Value::text(&release.namespace))),
        ("dependsOn", (!planned.needs.is_empty()).then(|| Value::Seq(needs.collect()))),
        ("chart", Some(Value::map([("spec", chart)]))),
        (
            "install",
            Some(present([
                ("createNamespace", Some(true.into())),
                crds.clone(),
                ("remediation", Some(remediation.clone())),
            ])),
        ),
        ("upgrade", Some(present([crds, ("remediation", Some(remediation))]))),
    ]);
    document(
        &[],
        vec![
            ("apiVersion", "helm.toolkit.fluxcd.io/v2".into()),
            ("kind", "HelmRelease".into()),
            (
                "metadata",
                Value::map([
                    ("name", Value::text(&release.name)),
                    ("namespace", Value::text(&flux.namespace)),
                ]),
            ),
            ("spec", spec),
        ],
    )
}
