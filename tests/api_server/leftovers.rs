//! Objects that stay in a cluster after `helm uninstall`, and those that READMEs name.

use crate::control_plane::ControlPlane;
use crate::lifecycle::Touched;
use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

const CRDS: &str = "customresourcedefinitions.apiextensions.k8s.io";

/// Objects that are left and not in the README of the chart, or the other way around. CRDs of a chart
/// `NAME-crds` (`companion`) are in the README of the operator's, too.
pub(crate) fn unsaid(left: &BTreeSet<Touched>, chart: &Path, companion: bool) -> Vec<String> {
    let readme = fs::read_to_string(chart.join("README.md")).expect("a README");
    let says = |line: &&str| line.contains("stay") || line.contains("`helm uninstall` keeps them");
    let said: String = readme.lines().filter(says).collect();
    let (crds, others): (Vec<&Touched>, Vec<&Touched>) =
        left.iter().partition(|object| object.resource == CRDS);
    let mut wrong: Vec<String> = others
        .iter()
        .filter(|object| !said.contains(&object.name))
        .map(|object| format!("{object:?} is left, and README.md says {said:?}"))
        .collect();
    let says_crds = said.contains("CustomResourceDefinition") || said.contains("CRD");
    if !companion && crds.is_empty() == says_crds {
        wrong.push(format!("these CRDs are left: {crds:?}, and README.md says {said:?}"));
    }
    wrong
}

/// Deletes the CRDs among these. A server that has not listed the objects of a new CRD yet deletes it
/// only minutes later, so they are listed first.
pub(crate) fn delete_crds(cluster: &ControlPlane, left: &BTreeSet<Touched>) {
    let crds = left.iter().filter(|object| object.resource == CRDS);
    let crds: Vec<&str> = crds.map(|object| object.name.as_str()).collect();
    if !crds.is_empty() {
        let all = crds.join(",");
        let list = ["get", &all, "--all-namespaces"];
        cluster.wait_for(&all, || cluster.kubectl(&list).success.then_some(()));
        cluster.kubectl(&[&["delete", "crd"], &crds[..]].concat()).expect_success();
    }
}
