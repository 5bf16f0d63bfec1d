//! Dependencies of a bundle, and the APIs and packages that it provides:
//! metadata/dependencies.yaml, metadata/properties.yaml, and the ClusterServiceVersion's required
//! APIs.
//!
//! <https://olm.operatorframework.io/docs/concepts/olm-architecture/dependency-resolution/>

use super::ClusterServiceVersion;
use super::csv::text_of;
use super::load::documents;
use crate::diag::{Code, Diagnostic, Diagnostics, Place};
use crate::fields;
use crate::ir::{Object, Value, VersionRange};
use crate::source::BundleFiles;
use serde_json::Value as Json;
use std::collections::BTreeSet;
use std::fmt;

/// An API.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Api {
    /// API group; empty for the core group.
    pub group: String,
    /// API version, for example `v1`.
    pub version: String,
    /// The kind.
    pub kind: String,
}

impl fmt::Display for Api {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}/{}/{}", self.group, self.version, self.kind)
    }
}

/// Something that a bundle needs.
#[derive(Clone, Debug)]
pub struct Dependency {
    /// The requirement.
    pub requirement: Requirement,
    /// The bundle's own words for the case that it is missing; often empty.
    pub message: String,
    /// The place in the bundle.
    pub place: Place,
}

/// The kind of a requirement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Requirement {
    /// Another operator (`olm.package`).
    Package {
        /// Name of its package.
        name: String,
        /// The matching versions.
        range: VersionRange,
        /// The same, as written.
        text: String,
    },
    /// An API (`olm.gvk`, and what a ClusterServiceVersion requires).
    Api(Api),
    /// All of these.
    All(Vec<Requirement>),
    /// One of these.
    Any(Vec<Requirement>),
    /// None of these.
    Not(Vec<Requirement>),
    /// Something that only OLM can decide; says what.
    Unchecked(String),
}

impl fmt::Display for Requirement {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut joined = |lead: &str, list: &[Requirement]| {
            let list: Vec<String> = list.iter().map(ToString::to_string).collect();
            write!(formatter, "{lead} ({})", list.join(", "))
        };
        match self {
            Requirement::Package { name, text, .. } => {
                write!(formatter, "the package `{name}` in version `{text}`")
            }
            Requirement::Api(api) => write!(formatter, "the API `{api}`"),
            Requirement::All(list) => joined("all of", list),
            Requirement::Any(list) => joined("one of", list),
            Requirement::Not(list) => joined("none of", list),
            Requirement::Unchecked(what) => formatter.write_str(what),
        }
    }
}

/// The dependencies of a bundle and the APIs that it provides.
#[derive(Clone, Debug, Default)]
pub struct Requirements {
    /// The dependencies, in the order of the files, without duplicates.
    pub dependencies: Vec<Dependency>,
    /// The APIs that it brings.
    pub provides: BTreeSet<Api>,
    /// The last version of OpenShift that it is for, as written (`olm.maxOpenShiftVersion`).
    pub max_openshift: Option<String>,
}

impl Requirements {
    /// Returns the dependencies as `PACKAGE RANGE`, `GROUP/VERSION/KIND` or in words, sorted.
    pub fn texts(&self) -> Vec<String> {
        let text = |dependency: &Dependency| match &dependency.requirement {
            Requirement::Package { name, text, .. } => format!("{name} {text}"),
            Requirement::Api(api) => api.to_string(),
            other => other.to_string(),
        };
        let texts: BTreeSet<String> = self.dependencies.iter().map(text).collect();
        texts.into_iter().collect()
    }
}

/// Reads the requirements of a bundle.
pub(super) fn read(
    files: &BundleFiles,
    csv: &ClusterServiceVersion,
    crds: &[Object],
    diagnostics: &mut Diagnostics,
) -> Requirements {
    let mut reader =
        Reader { found: Requirements::default(), rest: MOST, diagnostics: Diagnostics::new() };
    for (name, bytes) in &files.metadata {
        let file = format!("{}/{name}", files.metadata_dir);
        // Files are recognized by their content, as in OLM; only these two must be readable.
        let known = ["dependencies.yaml", "properties.yaml"].contains(&name.as_str());
        let mut problems = Diagnostics::new();
        let documents = documents(&file, bytes, files, &mut problems);
        if known {
            reader.diagnostics.append(problems);
        }
        for document in documents.into_iter().flat_map(|read| read.documents) {
            for key in ["dependencies", "properties"] {
                if let Some(list) = document.value.get(key)
                    && (known || is_typed_list(list))
                {
                    let place = Place { document: Some(document.number), ..Place::file(&file) };
                    reader.list(list, &place.path(format!(".{key}")));
                }
            }
        }
    }
    reader.annotation(csv);
    reader.required(csv);
    reader.found.provides = served_apis(crds);
    let services = api_services(csv, "owned");
    reader.found.provides.extend(services.iter().filter_map(|service| api(service).ok()));
    diagnostics.append(reader.diagnostics);
    reader.found
}

/// Returns true if a file has OLM dependencies or properties, and not another list with the same
/// name.
fn is_typed_list(list: &Value) -> bool {
    list.as_seq().is_some_and(|items| {
        items.iter().all(|item| item.get("type").is_some() && item.get("value").is_some())
    })
}

struct Reader {
    found: Requirements,
    /// The remaining number of requirements, including those in constraints.
    rest: usize,
    diagnostics: Diagnostics,
}

impl Reader {
    fn invalid(&mut self, place: &Place, message: String) {
        let hint = "fix the file, or use another version of the operator: OLM rejects this too";
        self.diagnostics.error(Code::DependencyInvalid, place.clone(), message, hint);
    }

    fn list(&mut self, list: &Value, place: &Place) {
        let Some(items) = list.as_seq() else {
            if !list.is_null() {
                let message = format!("this must be a list, but it is {}", list.type_name());
                self.invalid(place, message);
            }
            return;
        };
        for (index, item) in items.iter().enumerate() {
            let place = place.clone().path(format!("[{index}]"));
            let Some(kind) = item.get("type").and_then(Value::as_str) else {
                self.invalid(&place, "an entry has no `type`".to_owned());
                continue;
            };
            self.property(kind, item.get("value").unwrap_or(&Value::Null), &place);
        }
    }

    /// Adds the requirement of a dependency or a property; other types are for other programs.
    fn property(&mut self, kind: &str, value: &Value, place: &Place) {
        let requirement = match kind {
            // These properties describe the bundle itself.
            "olm.package" | "olm.gvk" if !place_is_dependency(place) => return,
            "olm.package" => package(value, "version"),
            "olm.package.required" => package(value, "versionRange"),
            "olm.gvk" | "olm.gvk.required" => api(value).map(Requirement::Api),
            "olm.constraint" => constraint(value, 0, &mut self.rest),
            "olm.label" => {
                let label = value.get("label").and_then(Value::as_str).unwrap_or_default();
                Ok(Requirement::Unchecked(format!("an operator with the label `{label}`")))
            }
            "olm.maxOpenShiftVersion" => {
                self.max_openshift(value, place);
                return;
            }
            _ => return,
        };
        match requirement {
            Ok(requirement) => {
                let message = value.get("failureMessage").and_then(Value::as_str);
                self.add(requirement, message.unwrap_or_default().to_owned(), place.clone());
            }
            Err(why) => self.invalid(place, format!("`{kind}`: {why}")),
        }
    }

    fn max_openshift(&mut self, value: &Value, place: &Place) {
        let message = match value {
            Value::Text(text) if !text.is_empty() => {
                self.found.max_openshift = Some(text.clone());
                return;
            }
            Value::Text(_) => "`olm.maxOpenShiftVersion` is empty".to_owned(),
            // As a number, 4.20 would be 4.2.
            other => format!(
                "`olm.maxOpenShiftVersion` must be a string, but it is {}",
                other.type_name()
            ),
        };
        self.diagnostics.push(
            Diagnostic::warning(Code::DependencyInvalid, message)
                .at(place.clone())
                .hint("write a string, for example \"4.20\": the value is ignored"),
        );
    }

    fn add(&mut self, requirement: Requirement, message: String, place: Place) {
        let known = self.found.dependencies.iter().any(|d| d.requirement == requirement);
        if !known && self.found.dependencies.len() == MOST {
            let message = format!("the bundle has more than {MOST} dependencies");
            // Once is enough.
            if self.diagnostics.iter().all(|found| found.message != message) {
                self.invalid(&place, message);
            }
        } else if !known {
            self.found.dependencies.push(Dependency { requirement, message, place });
        }
    }

    /// Reads the properties in an annotation of the ClusterServiceVersion, which is JSON.
    fn annotation(&mut self, csv: &ClusterServiceVersion) {
        let Some(text) = csv.annotation("olm.properties") else { return };
        let place = csv.place(".metadata.annotations[\"olm.properties\"]");
        match serde_json::from_str(text) {
            Ok(Json::Null) => {}
            Ok(Json::Array(items)) => {
                for item in items {
                    let kind = item["type"].as_str().unwrap_or_default();
                    // A path inside the text leads nowhere.
                    self.property(kind, &Value::from(&item["value"]), &place);
                }
            }
            Ok(_) => {
                self.invalid(&place, "the annotation `olm.properties` is not a list".to_owned());
            }
            Err(error) => {
                let message = format!("the annotation `olm.properties` is not valid JSON: {error}");
                self.invalid(&place, message);
            }
        }
    }

    /// Adds the APIs that the ClusterServiceVersion requires.
    fn required(&mut self, csv: &ClusterServiceVersion) {
        for crd in &csv.required_crds {
            // A CSV names the CRD, `PLURAL.GROUP`, and not its group.
            let group = crd.name.split_once('.').map_or("", |(_, group)| group).to_owned();
            if group.is_empty() || crd.kind.is_empty() || crd.version.is_empty() {
                let message =
                    format!("the required CRD `{}` is missing name, kind or version", crd.name);
                self.invalid(&csv.place(&crd.path), message);
                continue;
            }
            let api = Api { group, version: crd.version.clone(), kind: crd.kind.clone() };
            self.add(Requirement::Api(api), String::new(), csv.place(&crd.path));
        }
        for (index, service) in api_services(csv, "required").iter().enumerate() {
            let place = csv.place(&format!(".spec.apiservicedefinitions.required[{index}]"));
            match api(service) {
                Ok(api) => self.add(Requirement::Api(api), String::new(), place),
                Err(why) => self.invalid(&place, format!("a required APIService: {why}")),
            }
        }
    }
}

/// Returns the APIServices that a CSV owns or requires.
fn api_services<'c>(csv: &'c ClusterServiceVersion, key: &str) -> &'c [Value] {
    fields::list(csv.object.at(&["spec", "apiservicedefinitions", key]))
}

/// Returns true for dependencies; a property of the same type describes the bundle itself.
fn place_is_dependency(place: &Place) -> bool {
    place.path.as_deref().is_some_and(|path| path.starts_with(".dependencies"))
}

fn text<'v>(value: &'v Value, key: &str) -> Result<&'v str, String> {
    match value.get(key) {
        Some(Value::Text(text)) if !text.is_empty() => Ok(text),
        None | Some(Value::Null | Value::Text(_)) => Err(format!("it has no `{key}`")),
        Some(other) => Err(format!("its `{key}` must be a string, but is {}", other.type_name())),
    }
}

/// Reads a package, whose range has this key: `version` in dependencies, as OLM reads them.
fn package(value: &Value, key: &str) -> Result<Requirement, String> {
    let name = text(value, "packageName")?;
    let range = text(value, key)?;
    let parsed = VersionRange::parse(range)
        .map_err(|why| format!("invalid version range `{}`: {why}", range.escape_debug()))?;
    Ok(Requirement::Package { name: name.to_owned(), range: parsed, text: range.to_owned() })
}

fn api(value: &Value) -> Result<Api, String> {
    Ok(Api {
        // The core group has no name.
        group: text(value, "group").unwrap_or_default().to_owned(),
        version: text(value, "version")?.to_owned(),
        kind: text(value, "kind")?.to_owned(),
    })
}

/// Dependencies of a bundle, and parts of its constraints; all are compared with all.
const MOST: usize = 1_000;
/// Constraints inside each other; people write one or two.
const DEEPEST: usize = 32;

/// Reads a constraint.
///
/// Source: operator-framework/api, `pkg/constraints`.
fn constraint(value: &Value, depth: usize, rest: &mut usize) -> Result<Requirement, String> {
    if depth > DEEPEST {
        return Err(format!("constraints are nested deeper than {DEEPEST}"));
    }
    // Shared by all constraints: nested lists could multiply, whatever each of them is limited to.
    *rest = rest.checked_sub(1).ok_or(format!("constraints have more than {MOST} parts"))?;
    let mut list = |key: &str| -> Result<Vec<Requirement>, String> {
        let list = value.get(key).and_then(|inner| inner.get("constraints"));
        let list = list.and_then(Value::as_seq).ok_or(format!("`{key}` has no `constraints`"))?;
        list.iter().map(|inner| constraint(inner, depth + 1, rest)).collect()
    };
    let has = |key: &str| value.get(key).is_some_and(|inner| !inner.is_null());
    let mut kinds =
        // `none` was the name of `not` in operator-framework/api before its pull request 221.
        ["package", "gvk", "all", "any", "not", "none", "cel"].into_iter().filter(|key| has(key));
    let (Some(kind), None) = (kinds.next(), kinds.next()) else {
        return Err("it must have exactly one of `all`, `any`, `not`, `package`, `gvk` and `cel`"
            .to_owned());
    };
    let inner = value.get(kind).unwrap_or(&Value::Null);

    Ok(match kind {
        "package" => package(inner, "versionRange")?,
        "gvk" => Requirement::Api(api(inner)?),
        "all" => Requirement::All(list(kind)?),
        "any" => Requirement::Any(list(kind)?),
        "cel" => Requirement::Unchecked("a CEL rule on operator properties".to_owned()),
        _ => Requirement::Not(list(kind)?),
    })
}

/// Returns the APIs that CRDs serve.
pub fn served_apis<'o>(crds: impl IntoIterator<Item = &'o Object>) -> BTreeSet<Api> {
    let mut apis = BTreeSet::new();
    for spec in crds.into_iter().filter_map(|crd| crd.root.get("spec")) {
        for version in fields::list(spec.get("versions")) {
            if version.get("served") != Some(&Value::Bool(false)) {
                apis.insert(Api {
                    group: text_of(spec, "group"),
                    version: text_of(version, "name"),
                    kind: spec.get("names").map(|names| text_of(names, "kind")).unwrap_or_default(),
                });
            }
        }
    }
    apis
}

#[cfg(test)]
mod tests;
