//! Kinds of the APIs, and the releases that serve them.

use super::spans::{self, Named, Release, Releases};
use super::verdict::{Judge, Kind, Verdict};
use serde::Deserialize;
use serde_json::Value as Json;
use std::collections::BTreeMap;
use std::sync::LazyLock;

/// A kind in a range of releases.
#[derive(Debug, Deserialize)]
pub(super) struct Served {
    /// False if the CRD has the version without serving it.
    served: bool,
    /// Paths that must be present.
    always: Vec<String>,
    /// Fields of `spec`, with types.
    spec: BTreeMap<String, String>,
}

/// The CRDs of a project.
#[derive(Debug)]
pub(super) struct Project {
    name: &'static str,
    releases: Releases,
    kinds: Named<Served>,
}

/// The projects, by key in data/kinds.json.
static PROJECTS: LazyLock<Vec<Project>> = LazyLock::new(|| {
    let json = super::json(include_str!("data/kinds.json"));
    let names = [
        ("gie", "the Gateway API inference extension"),
        ("llm-d-router", "llm-d-router"),
        ("lws", "LeaderWorkerSet"),
        ("kserve", "KServe"),
        ("odh-kserve", "OpenDataHub's KServe"),
    ];
    let project = |(key, name): &(&str, &'static str)| {
        let table = json.get(key)?;
        let releases = spans::releases(table);
        let kinds = Named::read(table.get("kinds"), &releases);
        Some(Project { name, releases, kinds })
    };
    names.iter().filter_map(project).collect()
});

/// The fields in `spec` of kinds, of all releases together: a map, or null if they are not known.
static FIELDS: LazyLock<Json> = LazyLock::new(|| super::json(include_str!("data/fields.json")));

/// Returns the verdicts on `apiVersion`, kind and the fields of `spec` of an object. `version` is
/// the release of the project that has the kind, if the manifests tell it.
pub(crate) fn judge(object: &Json, version: &dyn Fn(&str) -> Option<String>) -> Vec<Verdict> {
    let text = |key: &str| object.get(key).and_then(Json::as_str).unwrap_or_default();
    let (api_version, kind) = (text("apiVersion"), text("kind"));
    let key = format!("{api_version} {kind}");
    let group = api_version.split('/').next().unwrap_or_default();

    // A group belongs to the project that has the kind, else to any with the group.
    let has_kind = |project: &&Project| project.kinds.find(&key).is_some();
    let has_group = |project: &&Project| {
        project.kinds.iter().any(|(known, _)| {
            known.split('/').next() == Some(group) && known.ends_with(&format!(" {kind}"))
        })
    };
    let projects = || PROJECTS.iter();
    let Some(project) = projects().find(has_kind).or_else(|| projects().find(has_group)) else {
        return Vec::new();
    };

    let release = version(project.name).map_or(Release::Unknown, |v| project.releases.find(&v));
    let mut judge = Judge::new(project.name, &project.releases, release);
    let found = judge.exists(&project.kinds, &key, &key, "kind", ".apiVersion", Kind::Refused);
    for verdict in &mut judge.verdicts {
        if let Some(other) = other_version(project, release, kind) {
            verdict.hint = format!("write `apiVersion: {other}`");
        }
    }

    if !found.is_empty() && found.iter().all(|served| !served.served) {
        let message = format!("`{key}` is not served by {}", judge.title());
        judge.push(Kind::Refused, ".apiVersion", message, "use a served version");
    }
    // A distribution may have fields of its own.
    let others = projects().filter(|other| other.name != project.name);
    let others = others.filter_map(|other| other.kinds.find(&key));
    let found: Vec<&Served> = found.into_iter().chain(others.flat_map(spans::Spans::all)).collect();
    // The rules for pools check theirs, with better hints.
    if kind != "InferencePool" {
        shape(&mut judge, object, &found, &key);
    }
    // A kind that only some releases have is nothing to note: clusters have theirs.
    judge.verdicts
}

/// Returns the newest apiVersion of a kind in a release.
fn other_version(project: &Project, release: Release, kind: &str) -> Option<String> {
    let index = project.releases.index(release);
    let keys = project.kinds.names(index);
    let of_kind = keys.iter().filter_map(|key| key.strip_suffix(kind)?.strip_suffix(' '));
    // `v1` is newer than `v1alpha2`.
    of_kind.min_by_key(|version| (version.len(), *version)).map(str::to_owned)
}

/// Judges required paths and the first level of `spec`, as all releases that may run have them, and the
/// fields below it, as any release has them.
fn shape(judge: &mut Judge<'_>, object: &Json, found: &[&Served], key: &str) {
    let is_missing = |path: &str| {
        let pointer = format!("/{}", path.replace('.', "/"));
        object.pointer(&pointer).is_none_or(Json::is_null)
    };
    let Some(last) = found.last() else { return };
    for path in &last.always {
        let is_required = found.iter().all(|served| served.always.contains(path));
        let parent = path.rsplit_once('.').map(|(parent, _)| parent);
        let is_reported = parent.is_some_and(&is_missing);
        if is_required && !path.contains("[]") && is_missing(path) && !is_reported {
            let message = format!("`{key}` has no `{path}`, which {} requires", judge.title());
            let parent = parent.map_or(String::new(), |parent| format!(".{parent}"));
            judge.push(Kind::Refused, &parent, message, "add it");
        }
    }

    let kind = key.rsplit(' ').next().unwrap_or_default();
    let spec = object.get("spec").and_then(Json::as_object);
    for (name, value) in spec.into_iter().flatten() {
        let is_known = |served: &&Served| served.spec.is_empty() || served.spec.contains_key(name);
        let below = &FIELDS[kind.trim_end_matches("Config")][name.as_str()];
        let path = format!(".spec.{name}");
        if found.iter().any(is_known) {
            unknown(judge, value, below, &path, key);
        } else {
            let known: Vec<&str> = last.spec.keys().map(String::as_str).collect();
            let message = format!("`spec` of `{key}` has no field `{name}` in {}", judge.title());
            let hint = crate::diag::suggest::hint(name, &known, "fields");
            judge.push(Kind::Ignored, &path, message, hint);
        }
    }
}

/// Judges the fields of a value by those that are known.
fn unknown(judge: &mut Judge<'_>, json: &Json, fields: &Json, path: &str, key: &str) {
    if let Some(items) = json.as_array() {
        for (index, item) in items.iter().enumerate() {
            unknown(judge, item, fields, &format!("{path}[{index}]"), key);
        }
        return;
    }
    let (Some(map), Some(fields)) = (json.as_object(), fields.as_object()) else { return };
    for (name, value) in map {
        let mut inner = path.to_owned();
        crate::ir::push_key(&mut inner, name);
        match fields.get(name) {
            Some(fields) => unknown(judge, value, fields, &inner, key),
            None => {
                let known: Vec<&str> = fields.keys().map(String::as_str).collect();
                let message = format!("`{path}` of `{key}` has no field `{name}`");
                let hint = crate::diag::suggest::hint(name, &known, "fields");
                judge.push(Kind::Ignored, &inner, message, hint);
            }
        }
    }
}
