//! The JSON schemas of the Kubernetes API, where they are on this machine.
//!
//! They come with the package `kubernetes-validate` of the Python package index; its folder
//! `kubernetes-json-schema` is looked for in `~/.cache/bundle2chart-tools/schemas`, or where
//! `BUNDLE2CHART_SCHEMAS` says.

#![allow(clippy::print_stderr, reason = "says what was not checked")]

use jsonschema::{Retrieve, Uri, Validator};
use serde_json::Value as Json;
use std::collections::BTreeMap;
use std::error::Error;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

/// The version of the API that charts are judged by.
const VERSION: &str = "v1.33.0-local";

/// Schemas by kind, read when they are first asked for.
pub(crate) struct ApiSchemas {
    folder: PathBuf,
    validators: Mutex<BTreeMap<String, Option<Arc<Validator>>>>,
}

/// Finds the file that schemas refer to.
struct Folder(PathBuf);

impl Retrieve for Folder {
    fn retrieve(&self, uri: &Uri<String>) -> Result<Json, Box<dyn Error + Send + Sync>> {
        let path = uri.path().as_str();
        let name = Path::new(path).file_name().ok_or("no file name")?;
        Ok(serde_json::from_str(&std::fs::read_to_string(self.0.join(name))?)?)
    }
}

impl ApiSchemas {
    /// The schemas, or nothing where there are none, which is said.
    pub(crate) fn find() -> Option<ApiSchemas> {
        let root = match std::env::var_os("BUNDLE2CHART_SCHEMAS") {
            Some(folder) => PathBuf::from(folder),
            None => {
                PathBuf::from(std::env::var_os("HOME")?).join(".cache/bundle2chart-tools/schemas")
            }
        };
        let folder = root.join(VERSION);
        if !folder.exists() {
            eprintln!("not checked: there are no schemas in {}", folder.display());
            return None;
        }
        Some(ApiSchemas { folder, validators: Mutex::new(BTreeMap::new()) })
    }

    fn validator(&self, object: &Json) -> Option<Arc<Validator>> {
        let text = |key: &str| object[key].as_str().unwrap_or_default().to_lowercase();
        let (kind, version) = (text("kind"), text("apiVersion"));
        // As the files are called: `deployment-apps-v1.json`, `role-rbac-v1.json`.
        let name = match version.split_once('/') {
            Some((group, version)) => {
                let group = group.split('.').next().unwrap_or_default();
                format!("{kind}-{group}-{version}.json")
            }
            None => format!("{kind}-{version}.json"),
        };
        let mut validators = self.validators.lock().expect("no panic while locked");
        let read = || -> Option<Arc<Validator>> {
            let text = std::fs::read_to_string(self.folder.join(&name)).ok()?;
            let schema: Json = serde_json::from_str(&text).expect("JSON");
            let validator = jsonschema::options()
                .with_base_uri("https://kubernetes.invalid/")
                .with_retriever(Folder(self.folder.clone()))
                .build(&schema)
                .unwrap_or_else(|e| panic!("{name}: {e}"));
            Some(Arc::new(validator))
        };
        validators.entry(name.clone()).or_insert_with(read).clone()
    }

    /// Returns the faults that the API server would report for this object; none for unknown kinds.
    pub(crate) fn problems(&self, object: &Json) -> Vec<String> {
        let Some(validator) = self.validator(object) else { return Vec::new() };
        let label = format!("{}/{}", object["kind"], object["metadata"]["name"]).replace('"', "");
        validator
            .iter_errors(object)
            .map(|error| {
                let what: String = error.to_string().chars().take(120).collect();
                format!("{label} {}: {what}", error.instance_path())
            })
            .collect()
    }
}
