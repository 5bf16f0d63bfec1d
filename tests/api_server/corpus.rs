//! Real bundles with the newest Helm 4 and Helm 3: installed, upgraded to their next version by the
//! commands of the plan where there is one, rolled back, and uninstalled. Plans of `diff` are held against
//! what the server saw and what became of objects of the operators' kinds, and what is left against what
//! READMEs say.

use crate::charts::{compiled, crds_of, examples, folders, label};
use crate::control_plane::{Client, ControlPlane};
use crate::custom_objects::{CustomObjects, delete_webhooks};
use crate::helm::Helm;
use crate::install::{OTHERS, prepare};
use crate::leftovers;
use crate::lifecycle::{
    Release, delete_commands, effects, expect, kinds, named, observed, planned, settled_rules,
    shell, uninstall, upgrade,
};
use crate::shared::shared;
use crate::table::{self, Row};
use serde_json::Value as Json;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use tempfile::TempDir;
use walkdir::WalkDir;

/// Real bundles that are refused for what is in them, and what the server says.
const REFUSED: &[(&str, &str)] = &[
    // It ships an example of its own resource, without what its own CRD requires.
    ("ack-secretsmanager-controller", "spec.name: Required value"),
];

const NAMESPACE: &str = "operator-system";

/// Packages whose upgrades are run again to the same version, forward after a rollback, and after
/// another installation, with Helm 4; `BUNDLE2CHART_LIVES=all` does so with all of them and every Helm.
const LIVES: [&str; 4] = [
    "keycloak-operator",
    "konflux",
    // It has an aggregated ClusterRole.
    "service-binding-operator",
    // Its new version has another strategy.
    "vfunction-server-operator",
];

/// True if the whole life of a package is run with this Helm.
fn lives(helm: &Helm, package: &str) -> bool {
    let all = std::env::var("BUNDLE2CHART_LIVES").is_ok_and(|wanted| wanted == "all");
    all || helm.version.starts_with("4.") && LIVES.contains(&package)
}

/// The versions of one package, the oldest first.
struct Package {
    name: String,
    versions: Vec<Version>,
}

/// A bundle that was compiled.
struct Version {
    label: String,
    chart: PathBuf,
    /// Objects of the operator's kinds that the bundle shows.
    examples: Vec<Json>,
}

#[test]
#[ignore = "needs Go 1.26: cargo test --test api_server -- --ignored"]
fn real_bundles() {
    let Some(corpus) = shared("corpus") else { return };
    let temporary = TempDir::new().expect("a folder");
    let packages: Vec<Package> = folders(&corpus)
        .iter()
        .map(|folder| package(folder, temporary.path()))
        .filter(|package| !package.versions.is_empty())
        .collect();
    // Helm 3.17 has the fixtures and the examples.
    let all: Vec<Helm> =
        Helm::all().into_iter().filter(|helm| !helm.version.starts_with("3.17")).collect();
    let found: Vec<Outcome> = std::thread::scope(|scope| {
        let threads: Vec<_> =
            all.iter().map(|helm| scope.spawn(|| judge(helm, &packages))).collect();
        threads.into_iter().map(|thread| thread.join().expect("a thread")).collect()
    });
    let wrong: Vec<&String> = found.iter().flat_map(|outcome| &outcome.wrong).collect();
    assert!(wrong.is_empty(), "{wrong:#?}");
    let versions: Vec<&str> = all.iter().map(|helm| helm.version).collect();
    let rows: Vec<Vec<Row>> = found.into_iter().map(|outcome| outcome.rows).collect();
    table::check("Real bundles", &versions, &rows);
}

fn package(folder: &Path, temporary: &Path) -> Package {
    let name = label(folder);
    let chart = |bundle: &PathBuf| {
        let version = label(bundle);
        let chart = compiled(bundle, "", &temporary.join(format!("{name}-{version}")))?;
        Some(Version { label: version, chart, examples: examples(bundle) })
    };
    let mut bundles = folders(folder);
    bundles.sort_by_cached_key(|bundle| {
        semver::Version::parse(label(bundle).trim_start_matches('v')).ok()
    });
    let versions = bundles.iter().filter_map(chart).collect();
    Package { name, versions }
}

/// Outcomes of all packages with one Helm.
#[derive(Default)]
struct Outcome {
    rows: Vec<Row>,
    /// Outcomes that were not expected.
    wrong: Vec<String>,
}

/// Installs, upgrades and uninstalls all packages.
fn judge(helm: &Helm, packages: &[Package]) -> Outcome {
    let cluster = ControlPlane::start();
    prepare(&cluster);
    let client = cluster.administrator();
    let mut outcome = Outcome::default();
    for package in packages {
        let replaced = replace_others(&cluster, &package.versions[0].chart);
        let release = Release { cluster: &cluster, helm, name: "operator", namespace: NAMESPACE };
        let found = lifecycle(&release, &client, package, &mut outcome.rows);
        let context = |line| format!("Helm {}: {}: {line}", helm.version, package.name);
        outcome.wrong.extend(found.into_iter().map(context));
        if replaced {
            prepare(&cluster);
        }
    }
    outcome
}

fn lifecycle(
    release: &Release<'_>,
    client: &Client,
    package: &Package,
    rows: &mut Vec<Row>,
) -> Vec<String> {
    let mut wrong = Vec::new();
    let Version { label: version, chart: first, .. } = &package.versions[0];
    let begun = release.cluster.audit_mark();
    if let Some(crds) = crds_of(first) {
        wrong.extend(expect("install of CRDs", crds_release(release).run("install", &crds)));
    }
    let installed = release.cluster.audit_mark();
    let run = release.run("install", first);
    let (created, _) = effects(&release.cluster.requests_since(installed), NAMESPACE);
    let mut row = Row {
        bundle: format!("{} {version}", package.name),
        step: "install",
        objects: format!("{} created", created.len()),
        result: "yes".to_owned(),
    };
    if !run.success {
        let mut known = REFUSED.iter().filter(|(name, _)| *name == package.name);
        match known.find(|(_, why)| run.stderr.contains(why)) {
            Some((_, why)) => {
                row.objects = String::new();
                row.result = format!("no: {why}");
            }
            None => wrong.push(format!("install: {}", run.stderr)),
        }
    }
    rows.push(row);
    let upgraded = run.success && package.versions.len() > 1;
    if upgraded {
        wrong.extend(upgrades(release, client, package, rows));
    }
    wrong.extend(uninstall(release, first));
    let (left, _) = effects(&release.cluster.requests_since(installed), NAMESPACE);
    wrong.extend(leftovers::unsaid(&left, first, crds_of(first).is_some()));
    if upgraded && lives(release.helm, &package.name) {
        let last = &package.versions.last().expect("a version").chart;
        wrong.extend(expect("reinstall", release.run("install", last)));
        settled_rules(release.cluster);
        wrong.extend(expect("upgrade after it", release.run("upgrade", last)));
        wrong.extend(uninstall(release, last));
    }
    if crds_of(first).is_some() {
        release.helm(&["uninstall", "operator-crds"]).expect_success();
    }
    let (left, _) = effects(&release.cluster.requests_since(begun), NAMESPACE);
    leftovers::delete_crds(release.cluster, &left);
    wrong
}

/// The release of the chart of CRDs that comes before the operator's, where there is one.
fn crds_release<'r>(release: &Release<'r>) -> Release<'r> {
    Release { name: "operator-crds", ..*release }
}

/// Upgrades from version to version, and back to the first at once.
fn upgrades(
    release: &Release<'_>,
    client: &Client,
    package: &Package,
    rows: &mut Vec<Row>,
) -> Vec<String> {
    let mut wrong = Vec::new();
    let (mut stored, mut deletions) = (BTreeSet::new(), BTreeSet::new());
    let mut is_without_crds = false;
    settled_rules(release.cluster);
    let first = release.objects(&release.manifests());
    for pair in package.versions.windows(2) {
        let [Version { chart: old, .. }, Version { chart: new, .. }] = pair else { continue };
        let step = format!("{} to {}", pair[0].label, pair[1].label);
        settled_rules(release.cluster);
        let objects = custom_objects(release, client, &pair[0]);
        if !objects.missing.is_empty() {
            wrong.push(format!("{step}: not created: {:#?}", objects.missing));
        }
        let old_manifests = release.manifests();
        let before = release.objects(&old_manifests);
        let mut reports = Vec::new();
        if let Some((old, new)) = crds_of(old).zip(crds_of(new)) {
            let (report, run) = upgrade(&crds_release(release), &old, &new);
            wrong.extend(expect(&format!("{step}, CRDs"), run));
            reports.push(report);
        }
        let mark = release.cluster.audit_mark();
        let (report, run) = upgrade(release, old, new);
        is_without_crds |= report.to_string().contains(r#""code":"crd-removed""#);
        deletions.extend(delete_commands(&report, release).lines().map(str::to_owned));
        if let Some(failure) = expect(&step, run) {
            wrong.push(failure);
            return wrong;
        }
        let requests = release.cluster.requests_since(mark);
        let manifests = release.manifests();
        let after = release.objects(&format!("{manifests}\n---\n{old_manifests}"));
        let kinds = kinds(release.cluster);
        let (created, deleted) = effects(&requests, NAMESPACE);
        let known: BTreeSet<String> =
            before.keys().chain(after.keys()).map(crate::lifecycle::label).collect();
        let effect = observed((named(&created, &kinds), named(&deleted, &kinds)), &before, &after);
        let plan = planned(&report, release.namespace, &known);
        rows.push(Row {
            bundle: format!("{} {step}", package.name),
            step: "upgrade",
            objects: format!("{plan}; {} custom objects", objects.count()),
            result: "yes".to_owned(),
        });
        stored.extend(plan.stored.iter().cloned());
        if plan != effect {
            wrong.push(format!("{step}: planned {plan:#?}\n, was {effect:#?}"));
        }
        reports.push(report);
        let is_without = delete_webhooks(client);
        wrong.extend(objects.lost(client, &reports).iter().map(|why| format!("{step}: {why}")));
        if is_without || lives(release.helm, &package.name) {
            wrong.extend(expect(&format!("{step}, again"), release.run("upgrade", new)));
        }
    }
    for command in &deletions {
        let folder = &package.versions[0].chart;
        wrong.extend(expect(command, shell(release.cluster, release.helm, folder, command)));
    }
    // Helm 3 does not roll back to CRDs that it kept. The finding about their removal has the way back.
    let chart = package.versions[0].chart.to_str().expect("UTF-8");
    let run = match is_without_crds && release.helm.version.starts_with("3.") {
        true => {
            release.helm(&["upgrade", release.name, chart, "--set", "crds.allowDowngrade=true"])
        }
        false => release.helm(&["rollback", release.name, "1"]),
    };
    if !stored.is_empty() {
        // The server keeps versions that objects may be stored in.
        let named = |id: &String| run.stderr.contains(id.split('/').next_back().unwrap_or(id));
        if run.success || !stored.iter().all(named) {
            wrong.push(format!("rollback, {stored:?} are stored anew: {}", run.stderr));
        }
        if let Some(row) = rows.last_mut() {
            row.result = "yes, without rollback: CRDs store a new version".to_owned();
        }
        // Helm uninstalls what the last revision has, also if it failed.
        let last = &package.versions.last().expect("a version").chart;
        wrong.extend(expect("upgrade after a refused rollback", release.run("upgrade", last)));
        return wrong;
    }
    if !run.success {
        wrong.push(format!("rollback: {}", run.stderr));
        return wrong;
    }
    let back = release.objects(&release.manifests());
    for (id, object) in &first {
        let found = back.get(id);
        if found != Some(object) {
            wrong.push(format!("rollback: {id} was\n{object}\nand is\n{found:?}"));
        }
    }
    if lives(release.helm, &package.name) {
        let [first, .., last] = &package.versions[..] else { return wrong };
        let (version, last) = (&last.label, &last.chart);
        let (_, run) = upgrade(release, &first.chart, last);
        wrong.extend(expect(&format!("forward to {version}"), run));
        wrong.extend(expect(&format!("{version} again"), release.run("upgrade", last)));
    }
    wrong
}

/// Creates an object of each kind of a version that is installed.
fn custom_objects(release: &Release<'_>, client: &Client, version: &Version) -> CustomObjects {
    let is_without = delete_webhooks(client);
    let mut crds = release.objects(&release.manifests());
    if crds_of(&version.chart).is_some() {
        let companion = crds_release(release);
        crds.extend(companion.objects(&companion.manifests()));
    }
    let objects = CustomObjects::create(client, release.namespace, &crds, &version.examples);
    if is_without {
        release.run("upgrade", &version.chart).expect_success();
    }
    objects
}

/// Deletes the CRDs that [`prepare`] created in place of those that this chart has.
fn replace_others(cluster: &ControlPlane, chart: &Path) -> bool {
    let mut replaced = false;
    for (group, _, plural, _) in OTHERS {
        let file = format!("{plural}.{group}.yaml");
        if WalkDir::new(chart)
            .into_iter()
            .any(|entry| entry.expect("an entry").file_name().to_string_lossy().ends_with(&file))
        {
            let delete = ["delete", "crd", &format!("{plural}.{group}"), "--ignore-not-found"];
            cluster.kubectl(&delete).expect_success();
            replaced = true;
        }
    }
    replaced
}
