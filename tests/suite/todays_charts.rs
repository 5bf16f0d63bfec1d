//! The charts that people make by hand today, from one file of declarations and no script: the
//! same objects, rendered by the real Helm, but for named differences.

use crate::support::helm::Helm;
use crate::support::offline;
use crate::support::rendered::{documents, object_differences};
use crate::support::shared;
use bundle2chart::config::Config;
use bundle2chart::diag::{Diagnostics, Severity, SourceText};
use bundle2chart::ir::RELEASE_LABELS;
use bundle2chart::output::{self, Mode};
use serde_json::{Value as Json, json};
use std::fs;
use std::path::Path;
use std::sync::Arc;
use tempfile::TempDir;

const DECLARATIONS: &str = include_str!("../golden/todays-charts.toml");

/// A difference to the charts that were made by hand, and the reason for it.
struct Deviation {
    name: &'static str,
    why: &'static str,
    /// Makes our objects and those of the other chart the same where they differ in this way; says
    /// whether they did.
    level: fn(&mut Vec<Json>, &mut Vec<Json>) -> bool,
}

/// All of them; each must be needed.
const DEVIATIONS: [Deviation; 11] = [
    Deviation {
        name: "namespaces-are-objects",
        why: "The namespace of the operands was made by a hook of helmfile; here the chart makes it.",
        level: |ours, _| removed(ours, |object| object["kind"] == "Namespace"),
    },
    Deviation {
        name: "pod-annotations",
        why: "OLM gives pods the annotations of the ClusterServiceVersion, and operators may read them.",
        level: |ours, _| {
            change(ours, "Deployment", |deployment| {
                let metadata = &mut deployment["spec"]["template"]["metadata"];
                let kept =
                    metadata["annotations"].get("kubectl.kubernetes.io/default-container").cloned();
                let map = metadata.as_object_mut().expect("metadata");
                match kept {
                    Some(kept) => {
                        let kept = json!({"kubectl.kubernetes.io/default-container": kept});
                        map.insert("annotations".to_owned(), kept)
                    }
                    None => map.remove("annotations"),
                }
                .is_some()
            })
        },
    },
    Deviation {
        name: "revision-history",
        why: "OLM keeps one old ReplicaSet.",
        level: |ours, _| {
            change(ours, "Deployment", |deployment| {
                remove(&mut deployment["spec"], "revisionHistoryLimit")
            })
        },
    },
    Deviation {
        name: "namespace-of-a-template",
        why: "A pod template has no namespace of its own; the API server ignores it.",
        level: |_, theirs| {
            change(theirs, "Deployment", |deployment| {
                remove(&mut deployment["spec"]["template"]["metadata"], "namespace")
            })
        },
    },
    Deviation {
        name: "namespace-of-the-cluster",
        why: "Objects of the cluster have no namespace; the API server refuses or ignores it.",
        level: |_, theirs| {
            change(theirs, "ClusterRoleBinding", |binding| {
                remove(&mut binding["metadata"], "namespace")
            })
        },
    },
    Deviation {
        name: "permissions-where-it-watches",
        why: "An operator that watches all namespaces has its permissions in all of them, as OLM does it.",
        level: |ours, _| {
            let mut used = false;
            for object in ours.iter_mut() {
                let of_role =
                    object["roleRef"]["name"].as_str().unwrap_or_default().ends_with("-role");
                let kind = match object["kind"].as_str() {
                    Some("ClusterRole") if name(object).ends_with("manager-role") => "Role",
                    Some("ClusterRoleBinding") if of_role => "RoleBinding",
                    _ => continue,
                };
                object["kind"] = json!(kind);
                object["metadata"]["namespace"] = json!("cert-manager-operator");
                if of_role {
                    object["roleRef"]["kind"] = json!("Role");
                } else if let Some(rules) = object["rules"].as_array_mut() {
                    // It may list namespaces then.
                    rules.retain(|rule| rule["resources"] != json!(["namespaces"]));
                }
                used = true;
            }
            used
        },
    },
    Deviation {
        name: "lost-defaults",
        why: "The schemas of CRDs lost `default: \"\"` on their way into the chart that was made by hand.",
        level: |ours, _| change(ours, "CustomResourceDefinition", without_empty_defaults),
    },
    Deviation {
        name: "hooks-of-stubs",
        why: "Stub CRDs are hooks, which change no CRD of the cluster.",
        level: |ours, _| {
            change(ours, "CustomResourceDefinition", |crd| {
                let hook = crd["metadata"]["annotations"].get("helm.sh/hook").is_some();
                hook && remove(&mut crd["metadata"], "annotations")
            })
        },
    },
    Deviation {
        name: "a-small-stub",
        why: "The stub CRD of ServiceMonitors has none of the 62 KB of schema.",
        level: |ours, theirs| {
            let mut used = false;
            for objects in [ours, theirs] {
                used = change(objects, "CustomResourceDefinition", |crd| {
                    if name(crd) != "servicemonitors.monitoring.coreos.com" {
                        return false;
                    }
                    remove(&mut crd["metadata"], "annotations");
                    let version = &mut crd["spec"]["versions"][0];
                    remove(version, "subresources");
                    remove(version, "schema")
                });
            }
            used
        },
    },
    Deviation {
        name: "label-of-the-tool",
        why: "The ServiceAccount had a label with the name of the scripts that made it.",
        level: |_, theirs| {
            change(theirs, "ServiceAccount", |account| remove(&mut account["metadata"], "labels"))
        },
    },
    Deviation {
        name: "release-labels",
        why: "The charts that were made by hand lack labels that Helm recommends.",
        level: |ours, theirs| without_release_labels(ours, theirs),
    },
];

fn name(object: &Json) -> &str {
    object["metadata"]["name"].as_str().unwrap_or_default()
}

fn remove(map: &mut Json, key: &str) -> bool {
    map.as_object_mut().is_some_and(|map| map.remove(key).is_some())
}

fn removed(objects: &mut Vec<Json>, which: impl Fn(&Json) -> bool) -> bool {
    let before = objects.len();
    objects.retain(|object| !which(object));
    objects.len() < before
}

fn change(objects: &mut [Json], kind: &str, how: impl Fn(&mut Json) -> bool) -> bool {
    let objects = objects.iter_mut().filter(|object| object["kind"] == kind);
    objects.fold(false, |used, object| how(object) | used)
}

fn without_empty_defaults(value: &mut Json) -> bool {
    match value {
        Json::Object(map) => {
            let own = map.get("default") == Some(&json!("")) && map.remove("default").is_some();
            map.values_mut().fold(own, |used, value| without_empty_defaults(value) | used)
        }
        Json::Array(items) => {
            items.iter_mut().fold(false, |used, value| without_empty_defaults(value) | used)
        }
        _ => false,
    }
}

/// Removes fields without a meaning to the API server: null creationTimestamps, empty statuses, and `{}` where
/// a Deployment has its defaults.
fn normal(mut object: Json) -> Json {
    if object["metadata"].get("creationTimestamp") == Some(&Json::Null) {
        remove(&mut object["metadata"], "creationTimestamp");
    }
    let hollow = |value: &Json| value.as_object().is_some_and(|map| map.is_empty());
    if object.get("status").is_some_and(hollow) {
        remove(&mut object, "status");
    }
    if object["kind"] == "Deployment" {
        if object["spec"].get("strategy").is_some_and(hollow) {
            remove(&mut object["spec"], "strategy");
        }
        let containers = object["spec"]["template"]["spec"]["containers"].as_array_mut();
        for container in containers.into_iter().flatten() {
            if container.get("resources").is_some_and(hollow) {
                remove(container, "resources");
            }
        }
    }
    object
}

/// Objects of the other chart: what Helm renders, what a hook of helmfile applies before, and
/// what another one pipes into kubectl afterwards.
fn by_hand(helm: &Helm, chart: &Path, namespace: &str, values: &[&str]) -> Vec<Json> {
    let mut text = helm.template("release", chart, namespace, values).expect_success();
    if let Ok(files) = fs::read_dir(chart.join("manifests-presync")) {
        for file in files {
            let file = fs::read_to_string(file.expect("an entry").path()).expect("a manifest");
            text.push_str(&format!("\n---\n{file}"));
        }
    }
    let helmfile = fs::read_to_string(chart.join("helmfile.yaml.gotmpl")).expect("a helmfile");
    let piped = helmfile.split("cat <<EOF | kubectl apply -f -\n").skip(1);
    for piped in piped {
        let lines = piped.lines().take_while(|line| line.trim() != "EOF");
        let indent = piped.len() - piped.trim_start().len();
        text.push_str("\n---\n");
        for line in lines {
            let line = line.get(indent..).unwrap_or_default();
            let default = line
                .split_once("{{")
                .and_then(|(start, rest)| Some(format!("{start}{}", rest.split('"').nth(1)?)));
            text.push_str(&default.unwrap_or_else(|| line.to_owned()));
            text.push('\n');
        }
    }
    documents(&text).into_iter().map(normal).collect()
}

#[test]
fn the_same_objects_from_declarations() {
    let Some(golden) = shared::shared("golden") else { return };
    let base = golden.parent().expect("the shared folder");
    let source =
        SourceText { name: "todays-charts.toml".to_owned(), text: DECLARATIONS.to_owned() };
    let mut diagnostics = Diagnostics::new();
    let config = Config::parse(&Arc::new(source), base, &mut diagnostics);
    let config = config.unwrap_or_else(|| panic!("{diagnostics:?}"));
    let (charts, diagnostics) = offline::build(&config, &[]);
    assert_eq!(diagnostics.count(Severity::Error), 0, "{diagnostics:?}");
    assert_eq!(diagnostics.count(Severity::Warning), 0, "{diagnostics:?}");
    let temporary = TempDir::new().expect("a folder");
    output::write(
        temporary.path(),
        &charts,
        None,
        Mode::Write { replace: false },
        &mut Diagnostics::new(),
    )
    .expect("an empty folder takes every chart");

    let values = ["--set", "pullSecret.dockerConfigJson=x"];
    let mut used = [false; DEVIATIONS.len()];
    let mut compared = 0;
    let helms = Helm::oldest_too_in_ci();
    for helm in &helms {
        for bundle in &config.bundles {
            let namespace = bundle.namespace.as_deref().expect("a namespace");
            let companions = ["crds", "operands"].map(|part| format!("{}-{part}", bundle.name));
            let mut ours = Vec::new();
            for chart in &charts {
                let own = chart.dir.iter().next().and_then(|name| name.to_str()).expect("a name");
                let is_companion = companions.iter().any(|companion| own == companion);
                if own == bundle.name || is_companion {
                    let folder = temporary.path().join(&chart.dir);
                    let with_values = if is_companion { &[][..] } else { &values };
                    let text = helm.template("release", &folder, namespace, with_values);
                    ours.extend(documents(&text.expect_success()).into_iter().map(normal));
                }
            }
            let mut theirs = by_hand(helm, &golden.join(&bundle.name), namespace, &values);
            compared += theirs.len();
            for (deviation, used) in DEVIATIONS.iter().zip(&mut used) {
                *used |= (deviation.level)(&mut ours, &mut theirs);
            }
            let differences = object_differences(&theirs, &ours);
            let (name, version) = (&bundle.name, helm.version);
            assert!(differences.is_empty(), "{name}, Helm {version}:\n{}", differences.join("\n"));
        }
    }
    for (deviation, used) in DEVIATIONS.iter().zip(used) {
        assert!(used, "no longer needed: {} ({})", deviation.name, deviation.why);
    }
    assert_eq!(compared, helms.len() * 36, "objects of the charts that were made by hand");
}

/// Removes the labels that Helm recommends where the other chart does not have them.
fn without_release_labels(ours: &mut [Json], theirs: &[Json]) -> bool {
    let id = |object: &Json| {
        let metadata = &object["metadata"];
        [&object["kind"], &metadata["namespace"], &metadata["name"]].map(Json::to_string)
    };
    let mut used = false;
    for object in ours {
        let other = theirs.iter().find(|other| id(other) == id(object));
        for metadata in ["/metadata", "/spec/template/metadata"] {
            let kept = other.and_then(|other| other.pointer(metadata)?["labels"].as_object());
            let Some(metadata) = object.pointer_mut(metadata).and_then(Json::as_object_mut) else {
                continue;
            };
            let Some(labels) = metadata.get_mut("labels").and_then(Json::as_object_mut) else {
                continue;
            };
            let before = labels.clone();
            labels.retain(|key, value| {
                let is_own = !RELEASE_LABELS.contains(&key.as_str());
                let kept = kept.and_then(|kept| kept.get(key)).filter(|_| !is_own);
                if let Some(kept) = kept {
                    value.clone_from(kept);
                }
                is_own || kept.is_some()
            });
            used |= *labels != before;
            if labels.is_empty() {
                metadata.shift_remove("labels");
            }
        }
    }
    used
}

/// A template is as long as the one that was made by hand, but for the values that it has beyond it.
#[test]
fn templates_are_no_longer_than_what_was_gained() {
    let Some(golden) = shared::shared("golden") else { return };
    let text = DECLARATIONS.to_owned();
    let source = SourceText { name: "todays-charts.toml".to_owned(), text };
    let mut diagnostics = Diagnostics::new();
    let base = golden.parent().expect("the shared folder");
    let config = Config::parse(&Arc::new(source), base, &mut diagnostics);
    let (charts, _) = offline::build(&config.unwrap_or_else(|| panic!("{diagnostics:?}")), &[]);
    for (chart, name) in [
        ("cert-manager-operator", "deployment-cert-manager-operator-controller-manager.yaml"),
        ("lws-operator", "deployment-openshift-lws-operator.yaml"),
    ] {
        let path = golden.join(chart).join("templates").join(name);
        let by_hand = fs::read_to_string(path).expect("a template").lines().count();
        let ours = charts.iter().find(|one| one.dir.starts_with(chart)).expect("a chart");
        let ours = &ours.files[&format!("templates/{name}")];
        let ours = std::str::from_utf8(ours).expect("UTF-8");
        // Lines of values: guards, `toYaml`, and a field between them.
        let mut guarded = 0;
        let (mut literal, mut gained) = (0, 0);
        for line in ours.lines() {
            let line = line.trim_start();
            guarded += usize::from(line.starts_with("{{- with") || line.starts_with("{{- if"));
            if guarded > 0 || line.starts_with("{{") {
                gained += 1;
            } else {
                literal += 1;
            }
            guarded -= usize::from(line.starts_with("{{- end"));
        }
        let values = ours.matches("{{- with").count();
        // OLM's own: two annotations of pods, `strategy: {}` and the history limit.
        assert!(literal <= by_hand + 4, "{chart}: {literal} lines, {by_hand} by hand\n{ours}");
        assert!(gained <= 4 * values + 1, "{chart}: {gained} lines for {values} values\n{ours}");
    }
}
