//! From the list of charts to the files that install them: helmfile, Argo CD and Flux.
//!
//! All of them are made from one [`Plan`], which says what each release needs and how early it may
//! come. Files hold no template text and no secrets, and comments only at their head.

mod argocd;
mod flux;
mod helmfile;
mod plan;
#[cfg(test)]
mod tests;

pub use plan::{Plan, Planned};

use crate::config::Deploy;
use crate::ir::Value;
use crate::yaml;
use std::collections::BTreeMap;

/// A chart that was built, and how it is installed. Its release has its name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Release {
    /// Name of the chart and of its release.
    pub name: String,
    /// The bundle that it was made of.
    pub bundle: String,
    /// What part of the bundle it holds.
    pub part: Part,
    /// Namespace of the release.
    pub namespace: String,
    /// Folder of the chart in the output folder, `/`-separated.
    pub dir: String,
    /// Folder in the chart with CRDs that Helm does not upgrade, with a slash at the end.
    pub crds: Option<&'static str>,
    /// Names of its stub CRDs.
    pub stubs: Vec<String>,
    /// Bundles that must be ready before this one.
    pub depends_on: Vec<String>,
}

/// What part of a bundle a chart holds. The parts of a bundle are installed in this order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Part {
    /// CustomResourceDefinitions and nothing else.
    Crds,
    /// The operator.
    Operator,
    /// Objects that the operator acts upon, which need it to be ready.
    Operands,
}

/// The files that `deploy` asks for, by `/`-separated path from the output folder.
pub fn files(releases: &[Release], deploy: &Deploy) -> BTreeMap<String, Vec<u8>> {
    let plan = Plan::new(releases);
    let mut files = BTreeMap::new();
    if let Some(name) = &deploy.helmfile {
        files.insert(name.clone(), helmfile::file(&plan, deploy, name));
    }
    if let Some(argocd) = &deploy.argocd {
        files.extend(argocd::files(&plan, deploy, argocd));
    }
    if let Some(flux) = &deploy.flux {
        files.extend(flux::files(&plan, deploy, flux));
    }
    files.into_iter().map(|(path, text)| (path, text.into_bytes())).collect()
}

/// A YAML file: what its reader must know, in lines of a comment, and one object.
fn document(head: &[&str], entries: Vec<(&str, Value)>) -> String {
    let mut text = "# Written by bundle2chart from bundles.toml; change that instead.\n".to_owned();
    for line in head {
        text.push_str("# ");
        text.push_str(line);
        text.push('\n');
    }
    // These maps hold no expressions, so they are always plain.
    let body = Value::map(entries);
    text + &body.as_map().and_then(|map| yaml::plain(map).ok()).unwrap_or_default()
}

/// A map of those entries that there are.
fn present<const N: usize>(entries: [(&str, Option<Value>); N]) -> Value {
    Value::map(entries.into_iter().filter_map(|(key, value)| Some((key, value?))))
}

/// `folder/path`, where `folder` may be empty.
fn join(folder: &str, path: &str) -> String {
    if folder.is_empty() { path.to_owned() } else { format!("{folder}/{path}") }
}
