//! Argo CD: an ApplicationSet whose steps are the levels, or Applications with sync waves; and an
//! ApplicationSet that discovers models.

use super::{Planned, document, filled, join, value_files};
use crate::config::{ArgoCd, ArgoStyle, Deploy, Discovery, IgnoreDifference, OwnApplication};
use crate::field_ownership::ca_bundles;
use crate::ir::{Value, value};
use crate::kinds::cluster_group;
use crate::kubectl::Gate;
use std::collections::{BTreeMap, BTreeSet};

/// Label of an Application with its level.
const WAVE_LABEL: &str = "bundle2chart/wave";

/// Directory of the Applications of an Application of Applications.
const APPLICATIONS: &str = "applications";

/// File of the ApplicationSet that discovers models. Charts have no dots in their names.
const DISCOVERY: &str = "models.applicationset.yaml";

/// Name of Argo CD's settings, a ConfigMap.
const SETTINGS: &str = "argocd-cm";

/// Start of the keys of health checks in them.
const HEALTH: &str = "resource.customizations.health";

/// Health of an Application, for which sync waves of Applications wait.
const APPLICATION_HEALTH: &str = include_str!("application_health.lua");

/// Values of a chart with stub CRDs. Argo CD would delete the objects of a hook before creating
/// them again, so the chart makes it skip the hook.
const WITHOUT_HOOK: &str = "stubs:\n  hook: false\n";

/// Server-side: CRDs may be too large for the annotation of client-side apply. Ignored fields are
/// left alone, and kinds that only come with a chart do not stop the others of its objects.
const SYNC_OPTIONS: &[&str] = &[
    "CreateNamespace=true",
    "ServerSideApply=true",
    "RespectIgnoreDifferences=true",
    "SkipDryRunOnMissingResource=true",
];

pub(super) fn files(
    plan: &[Planned<'_>],
    deploy: &Deploy,
    argocd: &ArgoCd,
) -> BTreeMap<String, String> {
    let mut files = applications(plan, deploy, argocd);
    if let Some(settings) = health_checks(plan, argocd) {
        files.insert(format!("{}/{SETTINGS}.yaml", argocd.dir), settings);
    }
    files
}

/// Returns the part of Argo CD's settings with the health checks of gates, as data of its ConfigMap;
/// `None` without gates.
///
/// Argo CD knows the health of what an Application contains. It does not see objects that operators
/// create, so the comment lists those.
fn health_checks(plan: &[Planned<'_>], argocd: &ArgoCd) -> Option<String> {
    let gates: Vec<&Gate> =
        plan.iter().flat_map(|planned| &planned.release.install.gates).collect();
    if gates.is_empty() {
        return None;
    }
    let mut kinds: BTreeMap<String, Vec<&Gate>> = BTreeMap::new();
    for gate in gates.iter().filter(|gate| gate.in_chart && !gate.has_health_check()) {
        let kind = match gate.target.group.as_str() {
            "" => gate.target.kind.clone(),
            group => format!("{group}_{}", gate.target.kind),
        };
        kinds.entry(kind).or_default().push(gate);
    }
    let checks = kinds.into_iter().map(|(kind, gates)| (kind, health_check(&gates).into()));
    let checks = checks.map(|(kind, check)| (format!("{HEALTH}.{kind}"), check));
    let mut data: BTreeMap<String, Value> = checks.collect();
    // Argo CD has no health of Applications since 1.8, unless its settings have a check.
    if argocd.style == ArgoStyle::AppOfApps {
        data.insert(format!("{HEALTH}.argoproj.io_Application"), APPLICATION_HEALTH.into());
    }

    let mut head = format!(
        "Health checks for gates. They are added to the settings of Argo CD, once and after changes:\n\
         kubectl apply --server-side --filename {}/{SETTINGS}.yaml\n",
        argocd.dir
    );
    let unseen: Vec<&&Gate> = gates.iter().filter(|gate| !gate.in_chart).collect();
    if !unseen.is_empty() {
        head += "Argo CD does not wait for these gates, because operators create the objects:\n";
        head.extend(unseen.into_iter().map(|gate| format!("- {}\n", gate.describe())));
    }
    let body = value!({
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": SETTINGS, "namespace": &argocd.namespace},
        "data": Value::map(data),
    });
    Some(document(&head, &body))
}

/// Returns the health check of a kind, in Lua. Objects without a gate are healthy, as without it.
fn health_check(gates: &[&Gate]) -> String {
    let mut text = "local health = {status = \"Healthy\", message = \"\"}\n".to_owned();
    for gate in gates {
        text += &format!(
            "if obj.metadata.name == \"{}\" then\n  local open = false\n{}  if not open then\n    \
             health = {{status = \"Progressing\", message = \"waiting for {}\"}}\n  end\nend\n",
            gate.target.name,
            gate.lua().lines().fold(String::new(), |lines, line| lines + "  " + line + "\n"),
            gate.describe(),
        );
    }
    text + "return health\n"
}

fn applications(
    plan: &[Planned<'_>],
    deploy: &Deploy,
    argocd: &ArgoCd,
) -> BTreeMap<String, String> {
    let folder = format!("{}/{APPLICATIONS}", argocd.dir);
    let is_listed = |planned: &&Planned<'_>| match &argocd.discovery {
        Some(found) => !found.charts.contains(&planned.release.bundle),
        None => true,
    };
    let listed: Vec<&Planned<'_>> = plan.iter().filter(is_listed).collect();
    let (own, in_set): (Vec<&Planned<'_>>, Vec<&Planned<'_>>) =
        listed.iter().copied().partition(|planned| {
            let is_named = own_application(argocd, &planned.release.name).is_some();
            argocd.style == ArgoStyle::AppOfApps || is_named
        });
    let file = |planned: &Planned<'_>| {
        let path = format!("{folder}/{}.yaml", planned.release.name);
        (path, application(planned, deploy, argocd))
    };
    let mut files: BTreeMap<String, String> = own.into_iter().map(file).collect();

    // Models come after all charts that are listed.
    let wave = listed.last().map_or(0, |last| last.level + 1);
    match argocd.style {
        ArgoStyle::ApplicationSet => {
            let path = format!("{}/applicationset.yaml", argocd.dir);
            files.insert(path, application_set(&in_set, deploy, argocd));
        }
        ArgoStyle::AppOfApps => {
            files.insert(format!("{}/{}.yaml", argocd.dir, argocd.name), root(deploy, argocd));
        }
    }
    if let Some(found) = &argocd.discovery {
        let models = discovered_set(&listed, deploy, argocd, found, wave);
        files.insert(format!("{folder}/{DISCOVERY}"), models);
    }
    files
}

/// Returns the settings of a chart's own Application.
fn own_application<'a>(argocd: &'a ArgoCd, chart: &str) -> Option<&'a OwnApplication> {
    argocd.applications.iter().find(|application| application.chart == chart)
}

/// Returns the ApplicationSet that finds the charts of models by their directories: all in the
/// output directory except those that are listed elsewhere, so that it does not name any model.
fn discovered_set(
    listed: &[&Planned<'_>],
    deploy: &Deploy,
    argocd: &ArgoCd,
    found: &Discovery,
    wave: usize,
) -> String {
    let flux = deploy.flux.iter().map(|flux| flux.dir.as_str());
    let charts = listed.iter().map(|planned| planned.release.dir.as_str());
    // The generator's `*` matches one level of directories.
    let others = charts.chain([argocd.dir.as_str()]).chain(flux);
    let others: BTreeSet<&str> = others.filter_map(|dir| dir.split('/').next()).collect();
    let everything = value!({"path": join(&deploy.charts, "*")});
    let excluded =
        others.into_iter().map(|dir| value!({"path": join(&deploy.charts, dir), "exclude": true}));
    let directories: Vec<Value> = std::iter::once(everything).chain(excluded).collect();
    let generator = value!({"git": {
        "repoURL": &argocd.repo,
        "revision": &argocd.revision,
        "directories": directories,
    }});

    let chart = Chart {
        name: "{{.path.basename}}",
        namespace: &found.namespace,
        path: "{{.path.path}}",
        values: None,
        stubs: BTreeSet::new(),
        own: None,
    };
    let waves = (argocd.style == ArgoStyle::AppOfApps).then_some(wave);
    let metadata = metadata_of(&format!("{}-models", argocd.name), argocd, waves);
    let template = value!({
        "metadata": {"name": "{{.path.basename}}"},
        "spec": chart.spec(deploy, argocd, true),
    });
    let head = "Discovers the charts of models: a new directory is a new Application. Charts that are not\n\
         models are excluded. Models are synced at once, and again until the platform is there.";
    document(head, &set_object(metadata, generator, None, template))
}

/// Returns an ApplicationSet, whose generator finds or lists charts; `template` is that of each
/// Application.
fn set_object(
    metadata: Value,
    generator: Value,
    strategy: Option<Value>,
    template: Value,
) -> Value {
    let spec = value!({
        "goTemplate": true,
        // Go's templates print `<no value>` for a missing parameter by default.
        "goTemplateOptions": ["missingkey=error"],
        "generators": [generator],
        "strategy": ?strategy,
        // As for Applications of an Application of Applications: the objects of a chart are kept when
        // its entry or directory is removed, because the operator must be running while its objects
        // are deleted.
        "syncPolicy": {"preserveResourcesOnDeletion": true},
        "template": template,
    });
    object("ApplicationSet", metadata, spec)
}

fn application_set(releases: &[&Planned<'_>], deploy: &Deploy, argocd: &ArgoCd) -> String {
    let some_have_stubs = releases.iter().any(|planned| !planned.release.install.stubs.is_empty());
    let elements = releases.iter().map(|planned| {
        let release = planned.release;
        let values = if release.install.stubs.is_empty() { "" } else { WITHOUT_HOOK };
        value!({
            "name": &release.name,
            "namespace": &release.namespace,
            "path": join(&deploy.charts, &release.dir),
            "values": ?some_have_stubs.then_some(values),
            "wave": planned.level.to_string(),
        })
    });
    let generator = value!({"list": {"elements": elements.collect::<Vec<_>>()}});
    let levels: BTreeSet<usize> = releases.iter().map(|planned| planned.level).collect();
    let steps = levels.into_iter().map(|level| {
        value!({"matchExpressions": [
            {"key": WAVE_LABEL, "operator": "In", "values": [level.to_string()]},
        ]})
    });
    // The template is one for all Applications, so that each ignores the stubs of all charts.
    let stubs = releases.iter().flat_map(|planned| &planned.release.install.stubs);
    let chart = Chart {
        name: "{{.name}}",
        namespace: "{{.namespace}}",
        path: "{{.path}}",
        values: some_have_stubs.then_some("{{.values}}"),
        stubs: stubs.map(String::as_str).collect(),
        own: None,
    };
    let steps: Vec<Value> = steps.collect();
    let strategy = value!({"type": "RollingSync", "rollingSync": {"steps": steps}});
    let without = if argocd.prune {
        "without it, all charts are synced at once."
    } else {
        "without it, nothing is synced automatically."
    };
    let template = value!({
        // The controller of ApplicationSets reads these as Go templates.
        "metadata": {"name": "{{.name}}", "labels": {WAVE_LABEL: "{{.wave}}"}},
        // Steps sync by themselves, and take from an automated policy only whether to prune.
        "spec": chart.spec(deploy, argocd, argocd.prune),
    });
    let head = format!(
        "The steps follow `depends-on`. They require progressive syncs, which the controller of\n\
         ApplicationSets support with --enable-progressive-syncs; {without}"
    );
    let metadata = metadata_of(&argocd.name, argocd, None);
    document(&head, &set_object(metadata, generator, Some(strategy), template))
}

fn application(planned: &Planned<'_>, deploy: &Deploy, argocd: &ArgoCd) -> String {
    let release = planned.release;
    let path = join(&deploy.charts, &release.dir);
    // Waves are those of the Application of Applications.
    let wave = (argocd.style == ArgoStyle::AppOfApps).then_some(planned.level);
    let chart = Chart {
        name: &release.name,
        namespace: &release.namespace,
        path: &path,
        values: (!release.install.stubs.is_empty()).then_some(WITHOUT_HOOK),
        stubs: release.install.stubs.iter().map(String::as_str).collect(),
        own: own_application(argocd, &release.name),
    };
    let metadata = metadata_of(&release.name, argocd, wave);
    document("", &object("Application", metadata, chart.spec(deploy, argocd, true)))
}

/// Returns the Application of Applications.
fn root(deploy: &Deploy, argocd: &ArgoCd) -> String {
    let path = join(&deploy.charts, &format!("{}/{APPLICATIONS}", argocd.dir));
    let spec = value!({
        "project": &argocd.project,
        "source": source(argocd, &path, None),
        // Applications are objects of the cluster that Argo CD itself runs in.
        "destination": {
            "server": "https://kubernetes.default.svc",
            "namespace": &argocd.namespace,
        },
        "syncPolicy": {"automated": automated(argocd.prune)},
    });
    let head = "Sync waves follow `depends-on`. Argo CD only waits for Applications if its settings\n\
                have the health check resource.customizations.health.argoproj.io_Application.";
    document(head, &object("Application", metadata_of(&argocd.name, argocd, None), spec))
}

fn object(kind: &str, metadata: Value, spec: Value) -> Value {
    value!({
        "apiVersion": "argoproj.io/v1alpha1",
        "kind": kind,
        "metadata": metadata,
        "spec": spec,
    })
}

fn metadata_of(name: &str, argocd: &ArgoCd, wave: Option<usize>) -> Value {
    let waves = wave.map(|wave| value!({"argocd.argoproj.io/sync-wave": wave.to_string()}));
    value!({"name": name, "namespace": &argocd.namespace, "annotations": ?waves})
}

/// A chart as its Application names it.
struct Chart<'a> {
    name: &'a str,
    namespace: &'a str,
    path: &'a str,
    /// Values over those of the chart, in YAML.
    values: Option<&'a str>,
    stubs: BTreeSet<&'a str>,
    /// The settings of the chart's own Application, if it has one.
    own: Option<&'a OwnApplication>,
}

impl Chart<'_> {
    fn spec(&self, deploy: &Deploy, argocd: &ArgoCd, automatic: bool) -> Value {
        let values = value_files(deploy, self.name, |values| &values.in_repository);
        // From the root of the repository.
        let values = values.map(|files| Value::texts(files.iter().map(|file| format!("/{file}"))));
        let helm = value!({
            "releaseName": self.name,
            // Charts without values in the configuration have no file of values.
            "ignoreMissingValueFiles": ?values.as_ref().map(|_| true),
            "valueFiles": ?values,
            "values": ?self.values,
        });
        let prune = self.own.map_or(argocd.prune, |own| own.prune);
        // Argo CD knows a cluster by its URL or by its name.
        let place = if argocd.destination.contains("://") { "server" } else { "name" };
        value!({
            "project": &argocd.project,
            "source": source(argocd, self.path, Some(helm)),
            "destination": {place: &argocd.destination, "namespace": self.namespace},
            "syncPolicy": {
                "automated": ?automatic.then(|| automated(prune)),
                "syncOptions": Value::texts(SYNC_OPTIONS.iter().copied()),
                // Webhooks take a moment to answer after their Deployment is ready.
                "retry": {
                    "limit": 10,
                    "backoff": {"duration": "10s", "factor": 2, "maxDuration": "3m"},
                },
            },
            "ignoreDifferences": self.ignored(argocd),
        })
    }

    fn ignored(&self, argocd: &ArgoCd) -> Value {
        let always = ca_bundles().map(|(kind, keys)| {
            let path = keys.iter().map(|key| match *key {
                "[]" => "[]?".to_owned(),
                key => format!(".{key}"),
            });
            let path: String = path.collect();
            value!({"group": cluster_group(kind), "kind": kind, "jqPathExpressions": [path]})
        });
        // Argo CD cannot look up whether a CRD exists. For ignored differences it keeps the live
        // state, so that a real CRD is not changed.
        let stubs = self.stubs.iter().map(|name| {
            value!({
                "group": "apiextensions.k8s.io",
                "kind": "CustomResourceDefinition",
                "name": *name,
                "jsonPointers": ["/spec"],
            })
        });
        let own = self.own.iter().flat_map(|own| &own.ignore);
        let configured = argocd.ignore.iter().chain(own).map(configured);
        Value::Seq(always.chain(stubs).chain(configured).collect())
    }
}

fn source(argocd: &ArgoCd, path: &str, helm: Option<Value>) -> Value {
    value!({
        "repoURL": &argocd.repo,
        "targetRevision": &argocd.revision,
        "path": path,
        "helm": ?helm,
    })
}

fn automated(prune: bool) -> Value {
    value!({"prune": prune, "selfHeal": true})
}

fn configured(ignore: &IgnoreDifference) -> Value {
    let texts = |list: &[String]| filled(list.iter().map(Value::text).collect());
    value!({
        "group": ?Some(&ignore.group).filter(|group| !group.is_empty()),
        "kind": &ignore.kind,
        "name": ?&ignore.name,
        "namespace": ?&ignore.namespace,
        "jsonPointers": ?texts(&ignore.json_pointers),
        "jqPathExpressions": ?texts(&ignore.jq_paths),
    })
}
