//! Kinds of the APIs, and the releases that serve them.

use super::*;
use crate::bundle;
use crate::diag::suggest::is_typo;
use crate::ir::{Value, group_of, steps, value_at};
use crate::overlay;
use std::cmp::Reverse;

/// The CRDs of a project.
#[derive(Debug, Deserialize)]
struct Project {
    name: String,
    #[serde(rename = "versions")]
    releases: Releases,
    kinds: Named<()>,
    /// True if objects that tell no release are of the newest one: every cluster has Kubernetes, and follows it.
    #[serde(default)]
    newest: bool,
}

/// The projects of data/kinds.json.
static PROJECTS: LazyLock<Vec<Project>> = LazyLock::new(|| {
    let all: Map<String, Json> = embedded::json(include_str!("data/kinds.json"));
    let tables = all.into_iter().map(|(_, table)| spans::resolved(table));
    tables.filter_map(|table| Project::deserialize(table).ok()).collect()
});

/// Returns true if a project has kinds of this group.
pub(crate) fn has_group(group: &str) -> bool {
    let mut kinds = PROJECTS.iter().flat_map(|project| project.kinds.iter());
    kinds.any(|(kind, _)| group_of(kind) == group)
}

/// The schemas of `spec` by `GROUP/KIND`, of all releases together: what any of them accepts.
static SCHEMAS: LazyLock<BTreeMap<String, Value>> = LazyLock::new(|| {
    let all: BTreeMap<String, Json> = embedded::json(include_str!("data/schemas.json"));
    all.into_iter().map(|(key, schema)| (key, Value::from(schema))).collect()
});

/// Returns the schema of `spec` of an object. Presets have that of their services.
fn schema_of(object: &Json) -> Option<&'static Value> {
    let (group, kind) = (group_of(text(object, "apiVersion")), text(object, "kind"));
    SCHEMAS.get(&format!("{group}/{}", kind.trim_end_matches("Config")))
}

/// Returns the groups, versions and kinds that are known; no version of those that only have a schema.
fn known() -> impl Iterator<Item = (&'static str, &'static str, &'static str)> {
    let schemas = SCHEMAS.keys().filter_map(|key| key.rsplit_once('/'));
    let kinds = PROJECTS.iter().flat_map(|project| project.kinds.iter());
    let served = kinds.filter_map(|(key, _)| key.split_once(' ')).chain(bundle::checked_kinds());
    let served = served.map(|(version, kind)| (group_of(version), version, kind));
    served.chain(schemas.map(|(group, kind)| (group, "", kind)))
}

/// Returns the group that has a kind, if a known group does not.
pub(crate) fn other_group(group: &str, kind: &str) -> Option<&'static str> {
    let groups: Vec<&str> =
        known().filter(|(.., one)| *one == kind).map(|(group, ..)| group).collect();
    let is_known = group.is_empty() || has_group(group);
    groups.first().copied().filter(|_| is_known && !groups.contains(&group))
}

/// Returns the known kind that a kind of its group, or its version, nearly is.
pub(crate) fn misspelt(api_version: &str, kind: &str) -> Option<String> {
    let group = group_of(api_version);
    // `v1`, `v1beta1`.
    let is_version = |name: &str| {
        let name = name.strip_prefix('v').unwrap_or_default();
        name.split(|c: char| c.is_ascii_digit()).all(|part| matches!(part, "" | "alpha" | "beta"))
            && name.starts_with(|c: char| c.is_ascii_digit())
            && name.ends_with(|c: char| c.is_ascii_digit())
    };
    let is_versioned = is_version(api_version.rsplit('/').next().unwrap_or_default());
    let is_known = |(of_group, version, one): (&str, &str, &str)| {
        let is_version = version == api_version || !group.is_empty() && is_versioned;
        of_group == group && one == kind && is_version
    };
    if known().any(is_known) {
        return None;
    }
    let mut near = known().filter(|(of_group, version, one)| {
        let is_version = *one == kind && (is_typo(version, api_version) || !is_versioned);
        *of_group == group && (is_version || is_typo(one, kind))
    });
    near.next().map(|(_, version, kind)| match version {
        "" => format!("`{kind}`"),
        version => format!("`{kind}` of `{version}`"),
    })
}

/// Returns the specs of pods in `spec` of an object, with their JSON paths.
pub(crate) fn pods(object: &Json) -> Vec<(String, &Json)> {
    let mut found = Vec::new();
    if let (Some(schema), Some(spec)) = (schema_of(object), object.get("spec")) {
        pods_in(schema, spec, ".spec".to_owned(), &mut found);
    }
    found
}

fn pods_in<'o>(schema: &Value, json: &'o Json, path: String, found: &mut Vec<(String, &'o Json)>) {
    match json {
        Json::Object(_) if schema.get("pod").is_some() => found.push((path, json)),
        Json::Object(map) => {
            for (name, value) in map {
                if let Some(schema) = schema.at(&["properties", name.as_str()]) {
                    pods_in(schema, value, format!("{path}.{name}"), found);
                }
            }
        }
        Json::Array(items) => {
            for (index, item) in items.iter().enumerate() {
                if let Some(schema) = schema.get("items") {
                    pods_in(schema, item, format!("{path}[{index}]"), found);
                }
            }
        }
        _ => {}
    }
}

/// Returns the verdicts on `spec` of an object by its schema.
fn by_schema(object: &Json) -> Vec<Verdict> {
    let Some((schema, spec)) = schema_of(object).zip(object.get("spec")) else { return Vec::new() };
    let is_preset = text(object, "kind").ends_with("Config");
    let mut faults = overlay::faults(schema, &Value::from(spec.clone()), ".spec");
    // Services complete their presets, other tools fill in what is open, and the API server drops null.
    faults.retain(|fault| {
        let value = value_at(object, &steps(&fault.path));
        let is_completed = match value {
            None => is_preset && fault.message == "is required",
            Some(value) => value.is_null() || value.as_str().is_some_and(is_placeholder),
        };
        !is_completed
    });
    let verdicts = faults.into_iter().map(|fault| Verdict {
        kind: if fault.dropped { Kind::Ignored } else { Kind::Refused },
        is_certain: true,
        message: format!("`{}` {}", fault.path, fault.message),
        hint: match replacement(text(object, "kind"), &fault.path) {
            Some(name) if fault.dropped => format!("rename it to `{name}`"),
            _ => fault.hint,
        },
        path: fault.path,
    });
    verdicts.collect()
}

/// Returns the verdicts on `apiVersion`, kind and the fields of `spec` of an object. `version` is
/// the release of the project that has the kind, if the manifests tell it.
pub(crate) fn judge(object: &Json, version: &dyn Fn(&str) -> Option<String>) -> Vec<Verdict> {
    [by_release(object, version), by_schema(object)].concat()
}

/// Returns the verdicts on `apiVersion` and kind.
fn by_release(object: &Json, version: &dyn Fn(&str) -> Option<String>) -> Vec<Verdict> {
    let (api_version, kind) = (text(object, "apiVersion"), text(object, "kind"));
    if is_placeholder(api_version) {
        return Vec::new();
    }
    let key = format!("{api_version} {kind}");
    let group = group_of(api_version);

    // A group belongs to the project that has the kind, else to any with the group.
    let has_kind = |project: &&Project| project.kinds.find(&key).is_some();
    let is_like = |known: &str| group_of(known) == group && known.ends_with(&format!(" {kind}"));
    let has_group = |project: &&Project| project.kinds.iter().any(|(known, _)| is_like(known));
    let project = PROJECTS.iter().find(has_kind).or_else(|| PROJECTS.iter().find(has_group));
    let Some(project) = project else { return Vec::new() };

    // Nothing in a manifest names the release of its CRD, so most objects are judged by all of
    // them.
    let untold = if project.newest { Release::Later } else { Release::Unknown };
    let release = version(&project.name).map_or(untold, |v| project.releases.find(&v));
    let mut judge = Judge::new(&project.name, &project.releases, release);
    let verdict = judge.exists(&project.kinds, &key, &key, "kind", ".apiVersion");
    if let (Some(verdict), Some(other)) = (verdict, other_version(project, release, kind)) {
        verdict.hint = format!("write `apiVersion: {other}`");
    }
    // A kind that only some releases have is nothing to note: clusters have theirs.
    judge.verdicts
}

/// Returns the newest apiVersion of a kind in a release.
fn other_version(project: &Project, release: Release, kind: &str) -> Option<String> {
    let keys = project.kinds.names(project.releases.index(release));
    let of_kind = keys.iter().filter_map(|key| key.strip_suffix(kind)?.strip_suffix(' '));
    // `v1` is newer than `v1alpha2`, and `v2` than `v1`.
    of_kind.min_by_key(|version| (version.len(), Reverse(*version))).map(str::to_owned)
}
