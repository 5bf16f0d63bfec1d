//! The life of each operator: installed, upgraded by the commands of the plan, rolled back and
//! uninstalled; and installed in each install mode, with values, and with certificates.

use crate::charts::crds_of;
use crate::checks::{self, Broken};
use crate::cluster::Cluster;
use crate::helm::Helm;
use crate::installation::{Chart, Installation, NAMESPACE, Watch};
use crate::lifecycle::{effects, uninstall, upgrade};
use crate::operators::{self, Operator, Version};
use crate::shared::shared;
use crate::table::{self, Row};
use crate::{certificates, leftovers, namespaces, objects, values};
use serde_json::Value as Json;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::time::Duration;
use tempfile::TempDir;

/// Limit for an operator to do something: on a busy machine it may lose its Lease and start again.
pub(crate) const PATIENCE: Duration = Duration::from_secs(240);

#[test]
#[ignore = "needs Go 1.26: cargo test --test operators_at_work -- --ignored"]
fn rabbitmq() {
    run(&operators::RABBITMQ, "life::rabbitmq");
}

#[test]
#[ignore = "needs Go 1.26: cargo test --test operators_at_work -- --ignored"]
fn grafana() {
    run(&operators::GRAFANA, "life::grafana");
}

#[test]
#[ignore = "needs Go 1.26: cargo test --test operators_at_work -- --ignored"]
fn prometheus() {
    run(&operators::PROMETHEUS, "life::prometheus");
}

#[test]
#[ignore = "needs Go 1.26: cargo test --test operators_at_work -- --ignored"]
fn cloudnative_pg() {
    run(&operators::CLOUDNATIVE_PG, "life::cloudnative_pg");
}

fn run(operator: &Operator, test: &str) {
    let Some(corpus) = shared("corpus") else { return };
    operator.build_programs();
    namespaces::run(test, || {
        let folder = TempDir::new().expect("a folder");
        let cluster = Cluster::start(operator, &corpus);
        let mut life = Life {
            cluster: &cluster,
            operator,
            corpus: &corpus,
            folder: folder.path().to_owned(),
            rows: Vec::new(),
            failures: Vec::new(),
        };
        let all = Helm::all();
        life.upgraded(&all[0]);
        life.installed_in_each_mode(&all);
        life.with_values(&all[0]);
        life.with_certificates(&all[0]);
        assert!(life.failures.is_empty(), "{}", life.failures.join("\n"));
        table::check(operator, &life.rows);
    });
}

/// The steps of an operator, and what was seen.
pub(crate) struct Life<'a> {
    pub(crate) cluster: &'a Cluster,
    pub(crate) operator: &'a Operator,
    corpus: &'a Path,
    folder: PathBuf,
    rows: Vec<Row>,
    failures: Vec<String>,
}

impl Life<'_> {
    /// Compiles a version with these settings.
    pub(crate) fn chart(&self, version: &Version, watch: Watch, certificates: &str) -> Chart {
        let name = format!("{}-{watch:?}-{certificates}", version.bundle);
        let settings = format!("certificates = \"{certificates}\"\n{}", watch.setting());
        let folder = self.folder.join(name);
        Chart::compile(self.corpus, self.operator, version, &settings, &folder)
    }

    /// Adds a row, and the checks that failed.
    fn record(&mut self, version: &str, watch: Watch, helm: &Helm, step: &str, broken: &[Broken]) {
        for Broken { check, detail } in broken {
            let mode = watch.install_mode();
            eprintln!("{version}, {mode}, {step}: not {check}: {detail}");
            self.failures.push(format!("{version}, {mode}, {step}: not {check}"));
        }
        let missing: BTreeSet<&str> = broken.iter().map(|broken| broken.check).collect();
        eprintln!("{} {version} {watch:?} {step}: {missing:?}", self.operator.package);
        self.rows.push(Row {
            version: version.to_owned(),
            mode: watch.install_mode(),
            helm: helm.version,
            step: step.to_owned(),
            missing,
        });
    }

    /// Installs the old version, upgrades it to the new one, and goes back.
    fn upgraded(&mut self, helm: &Helm) {
        let [old, new] = self.operator.versions else { return };
        let watch = Watch::All;
        let (old_chart, new_chart) =
            (self.chart(old, watch, "helm"), self.chart(new, watch, "helm"));
        let begun = self.cluster.control_plane.audit_mark();
        let mut installation =
            Installation::install(self.cluster, self.operator, helm, watch, &old_chart, &[]);
        let broken = checks::check(&mut installation, "first", PATIENCE);
        self.record(old.bundle, watch, helm, "install", &broken);

        let before = existing(&installation, "first");
        let (report, run) = upgrade(&installation.release, &old_chart.path, &new_chart.path);
        run.expect_success();
        installation.bundle.clone_from(&new_chart.bundle);
        let mut broken = checks::check(&mut installation, "second", PATIENCE);
        broken.extend(changed(&before, &existing(&installation, "first")));
        let version = format!("{} to {}", old.bundle, new.bundle);
        self.record(&version, watch, helm, "upgrade", &broken);

        let run = installation.release.helm(&["rollback", "operator", "1"]);
        if run.success {
            installation.bundle.clone_from(&old_chart.bundle);
            let mut broken = checks::check(&mut installation, "third", PATIENCE);
            broken.extend(changed(&before, &existing(&installation, "first")));
            let version = format!("{} to {}", new.bundle, old.bundle);
            self.record(&version, watch, helm, "rollback", &broken);
        } else {
            let plan = report["plan"].to_string();
            assert!(plan.contains("\"final\""), "{}\n{plan}", run.stderr);
        }
        self.end(&installation, &old_chart, begun);
    }

    /// Installs the new version in each install mode that the bundle supports, and once with Helm 3.
    fn installed_in_each_mode(&mut self, all: &[Helm]) {
        let version = self.operator.newest();
        let supported = self.supported(version);
        let modes =
            Watch::EACH.into_iter().filter(|watch| supported.contains(watch.install_mode()));
        let steps: Vec<(Watch, &Helm)> =
            modes.map(|watch| (watch, &all[0])).chain([(Watch::All, &all[1])]).collect();
        for (watch, helm) in steps {
            let chart = self.chart(version, watch, "helm");
            let begun = self.cluster.control_plane.audit_mark();
            let mut installation =
                Installation::install(self.cluster, self.operator, helm, watch, &chart, &[]);
            let mut broken = checks::check(&mut installation, "first", PATIENCE);
            broken.extend(checks::deletes(&installation, PATIENCE));
            self.record(version.bundle, watch, helm, "install", &broken);
            self.end(&installation, &chart, begun);
        }
    }

    /// The install modes that a bundle supports.
    fn supported(&self, version: &Version) -> BTreeSet<String> {
        let bundle = self.corpus.join(self.operator.package).join(version.bundle);
        let modes = crate::charts::csv(&bundle)["spec"]["installModes"].clone();
        let modes = modes.as_array().expect("install modes").iter();
        let supported = modes.filter(|mode| mode["supported"] == true);
        supported.map(|mode| mode["type"].as_str().expect("a type").to_owned()).collect()
    }

    /// Installs the new version, and sets values by an upgrade.
    fn with_values(&mut self, helm: &Helm) {
        let version = self.operator.newest();
        let chart = self.chart(version, Watch::All, "helm");
        let begun = self.cluster.control_plane.audit_mark();
        let mut installation =
            Installation::install(self.cluster, self.operator, helm, Watch::All, &chart, &[]);
        let broken = values::check(&mut installation, &chart);
        self.record(version.bundle, Watch::All, helm, "values", &broken);
        self.end(&installation, &chart, begun);
    }

    /// Replaces the certificates of webhooks: those that Helm generated, and those in a Secret.
    fn with_certificates(&mut self, helm: &Helm) {
        let version = self.operator.newest();
        for source in ["helm", "existing-secret"] {
            let chart = self.chart(version, Watch::All, source);
            if !certificates::are_used(&chart) {
                return;
            }
            let begun = self.cluster.control_plane.audit_mark();
            let (installation, broken) = certificates::rotate(self, helm, &chart, source);
            let step = format!("other certificates, `{source}`");
            self.record(version.bundle, Watch::All, helm, &step, &broken);
            self.end(&installation, &chart, begun);
        }
    }

    /// Deletes the custom resources, uninstalls the release as its README says, and compares what is left
    /// of it with that README.
    fn end(&mut self, installation: &Installation<'_>, chart: &Chart, begun: usize) {
        let cluster = self.cluster;
        let mut failures: Vec<String> = checks::deletes(installation, PATIENCE)
            .into_iter()
            .map(|broken| format!("{}: {}", broken.check, broken.detail))
            .collect();
        failures.extend(uninstall(&installation.release, &chart.path));
        let (left, _) = effects(&cluster.control_plane.requests_since(begun), NAMESPACE);
        let companion = crds_of(&chart.path).is_some();
        failures.extend(leftovers::unsaid(&left, &chart.path, companion));

        let pods = format!("/api/v1/namespaces/{NAMESPACE}/pods");
        let ended = || cluster.list(&pods).is_empty().then_some(());
        if cluster.within(PATIENCE, ended).is_none() {
            failures.push(format!("pods are left: {:?}", cluster.list(&pods).len()));
        }
        leftovers::delete_crds(&cluster.control_plane, &left);
        self.failures.extend(failures);
    }
}

/// The spec of a custom resource, and the uids of its work.
type Existing = (Json, Vec<(String, Option<String>)>);

/// The custom resources of a name in each watched namespace.
fn existing(installation: &Installation<'_>, name: &str) -> Vec<Existing> {
    let mut found = Vec::new();
    for resource in installation.operator.resources {
        for namespace in installation.watch.namespaces() {
            let object = installation.resource(resource, namespace, name).unwrap_or_default();
            found.push((object["spec"].clone(), installation.work(resource, namespace, name)));
        }
    }
    found
}

/// Fields of custom resources that another version of the operator changed, and objects that it created
/// again.
fn changed(before: &[Existing], after: &[Existing]) -> Vec<Broken> {
    let mut broken = Vec::new();
    for ((old, work), (new, work_after)) in before.iter().zip(after) {
        if !objects::contains(new, old) || work != work_after {
            let detail = format!("was {old} {work:?}\nis {new} {work_after:?}");
            broken.push(Broken { check: checks::TAKEN_OVER, detail });
        }
    }
    broken
}
