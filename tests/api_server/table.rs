//! docs/real-clusters.md: what was installed with which Helm, and what came of it.

use crate::control_plane::ControlPlane;
use crate::sections;
use std::fmt::Write as _;

const FILE: &str = "docs/real-clusters.md";

/// A step that was taken with every Helm.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Row {
    /// The bundle and its version, or both versions of an upgrade.
    pub(crate) bundle: String,
    /// `install`, `upgrade`.
    pub(crate) step: &'static str,
    /// Its effects on objects.
    pub(crate) objects: String,
    /// `yes`, or why not.
    pub(crate) result: String,
}

/// Sections in their order, one for each test.
const SECTIONS: [&str; 3] = ["Fixtures", "Examples", "Real bundles"];

/// Compares the rows of each Helm with this section of the table, which `UPDATE=1` writes instead.
///
/// # Panics
/// When they differ.
pub(crate) fn check(section: &str, versions: &[&str], of_helms: &[Vec<Row>]) {
    let lines = lines(versions, of_helms);
    sections::check(FILE, &introduction(), &SECTIONS, section, &lines);
}

fn introduction() -> String {
    format!(
        "# Charts on a real control plane\n\n\
         Charts of these bundles were installed on Kubernetes {} (etcd, kube-apiserver and kube-controller-manager, without\n\
         nodes) with default flags of each Helm. An upgrade passes if it changes exactly the objects that `bundle2chart diff` lists and\n\
         `helm rollback` restores the objects from before; an installation passes if `helm uninstall` leaves what the chart's\n\
         README.md names and nothing else. The awkward operator is installed without what its\n\
         bundle holds to be refused.\n\n\
         Real bundles are upgraded by the commands of the plan, as `diff` prints them. Before each upgrade, one object of every\n\
         kind of the operator is created. After it, each object is there, unchanged and valid, or the report has a finding about\n\
         its CRD. Webhooks are removed meanwhile, because no operator answers them here.\n\n\
         Packages of several versions live on: each upgrade is repeated, and after the rollback come an upgrade forward, the same\n\
         again, `helm uninstall`, another installation and an upgrade to the same. Only commands that README.md and UPGRADE.md\n\
         print are run in between. CI does this for a sample with Helm 4, `BUNDLE2CHART_LIVES=all` for all with every Helm.\n\
         [Field ownership with Helm 4](field-ownership.md) has what is known of CRDs that came before a chart, and\n\
         [operators at work](operators-at-work.md) those whose programs ran from their charts.\n\n\
         Other bundles are judged the same way where `BUNDLE2CHART_SHARED` names a folder with corpus/PACKAGE/VERSION. On\n\
         2026-11-29 these were two versions each of 210 packages from the community and certified catalogs: with Helm 4 all were\n\
         installed, and all but one upgraded, whose webhook intercepts its own Deployment and has no pods here. Without a cluster,\n\
         the 12,987 bundles of these catalogs and of the marketplace were built: 12,125 have a chart, and the others are\n\
         refused by name, most for CRDs of v1beta1 or for dependencies that the configuration lacks.\n\n\
         This file is made by `tests/api_server`.\n",
        ControlPlane::version()
    )
}

fn lines(versions: &[&str], of_helms: &[Vec<Row>]) -> String {
    let mut text = "| bundle | step | objects |".to_owned();
    for version in versions {
        let _ = write!(text, " Helm {version} |");
    }
    let _ = write!(text, "\n|---|---|---|{}\n", "---|".repeat(versions.len()));
    for (index, Row { bundle, step, objects, .. }) in of_helms[0].iter().enumerate() {
        let _ = write!(text, "| {bundle} | {step} | {objects} |");
        for rows in of_helms {
            let of_helm = rows.get(index).expect("as many rows");
            assert_eq!((&of_helm.bundle, of_helm.step), (bundle, *step));
            assert_eq!(of_helm.objects, *objects, "{bundle}");
            let _ = write!(text, " {} |", of_helm.result);
        }
        text.push('\n');
    }
    text
}
