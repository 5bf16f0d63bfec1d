//! CRDs in the hands of every Helm: stubs and older charts change nothing that is newer, a new version
//! removes what it removed, and every command that charts print works as printed.

mod stored_versions;

use crate::command::Case;
use crate::control_plane::ControlPlane;
use crate::helm::{Helm, Run};
use crate::lamp::{CONFIG, CRD_FILE, CSV_FILE};
use crate::lifecycle::{for_release, shell};
use serde_json::Value as Json;
use std::path::Path;

const CRD: &str = "lamps.light.example.com";
const STUB: &str = "infrastructures.config.openshift.io";
const NAMESPACE: &str = "lamps";

/// A real CRD of the name of a stub.
const REAL: &str = "\
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata:
  name: infrastructures.config.openshift.io
spec:
  group: config.openshift.io
  names: {kind: Infrastructure, listKind: InfrastructureList, plural: infrastructures, singular: infrastructure}
  scope: Cluster
  versions:
  - name: v1
    served: true
    storage: true
    schema:
      openAPIV3Schema:
        type: object
        description: the real one
        properties:
          spec: {type: object, properties: {cloudConfig: {type: object}}}
";

/// Fields that the new version of the CRD no longer has.
const REMOVED: &str = "    shortNames: [lmp]
  conversion:
    strategy: Webhook
    webhook:
      conversionReviewVersions: [v1]
      clientConfig:
        service: {name: elsewhere, namespace: elsewhere, path: /convert}
";

/// Fields that the server drops, which are then a difference for the next field manager.
const DROPPED: &str = "        properties:\n          spec: {type: object, properties: {}}\n";

/// The CRD of a version of the lamp operator.
fn lamps(version: &str) -> String {
    let crd = crate::lamp::CRD
        .replace("        type: object\n", &format!("        type: object\n{DROPPED}"));
    match version {
        "1.2.3" => crd.replace("    plural: lamps\n", &format!("    plural: lamps\n{REMOVED}")),
        // Said, where the server would add it: kubectl and Helm then merge it.
        "1.3.0" => crd.replace("  versions:\n", "  conversion: {strategy: None}\n  versions:\n"),
        _ => crd.replace("properties: {}", "properties: {color: {type: string}}"),
    }
}

/// Charts of versions of the lamp operator.
struct Charts(Case);

impl Charts {
    /// Charts of versions 1.2.3 and 1.3.0, built with these settings.
    fn of(settings: &str) -> Self {
        let charts = Charts(Case::with_lamps());
        charts.build(settings, "1.2.3");
        charts.build(settings, "1.3.0");
        charts
    }

    fn build(&self, settings: &str, version: &str) {
        self.build_with(settings, version, &lamps(version));
    }

    fn build_with(&self, settings: &str, version: &str, crd: &str) {
        let Charts(case) = self;
        case.write("bundles.toml", format!("{CONFIG}namespace = \"{NAMESPACE}\"\n{settings}"));
        case.write(CRD_FILE, crd);
        let csv = crate::lamp::CSV.replace("1.2.3", version);
        let line = format!("  version: {version}\n");
        let replaces = match version.split_once('-') {
            Some((first, _)) => format!("{line}  replaces: lamp-operator.v{first}\n"),
            None => line.clone(),
        };
        case.write(CSV_FILE, csv.replace(&line, &replaces));
        let seen = case.run(&["build"]);
        assert_eq!(seen.code, Some(0), "{}", seen.text());
    }

    fn folder(&self, name: &str, version: &str) -> String {
        self.0.path(&format!("out/{name}/{version}")).to_str().expect("UTF-8").to_owned()
    }
}

/// A cluster, and one Helm.
struct Site<'a> {
    cluster: &'a ControlPlane,
    helm: &'a Helm,
}

/// Output of a command.
struct Said {
    success: bool,
    text: String,
}

impl Said {
    #[track_caller]
    fn expect_success(self) -> Self {
        assert!(self.success, "{}", self.text);
        self
    }
}

impl Site<'_> {
    /// A shell with the helm and kubectl of this site, in a folder, as for a person.
    fn shell(&self, folder: &str, script: &str) -> Said {
        let run = shell(self.cluster, self.helm, Path::new(folder), script);
        let Run { success, stdout, stderr, .. } = &run;
        let text = format!("Helm {}: {script}\n{stdout}{stderr}", self.helm.version);
        Said { success: *success, text }
    }

    fn helm(&self, arguments: &str) -> Said {
        self.shell("/", &format!("helm {arguments} --namespace {NAMESPACE}"))
    }

    fn crd(&self, name: &str) -> Json {
        self.cluster.get(&["crd", name])
    }

    fn delete(&self, crd: &str) {
        self.cluster.kubectl(&["delete", "crd", crd, "--ignore-not-found"]).expect_success();
    }

    /// Fails unless the lamps' CRD in the cluster is that of this version, without parts of others.
    #[track_caller]
    fn expect_version(&self, version: &str) {
        let crd = self.crd(CRD);
        let short = crd["spec"]["names"].get("shortNames").is_some();
        let strategy = crd["spec"]["conversion"]["strategy"].as_str();
        let color = crd["spec"]["versions"].to_string().contains("color");
        let expected = match version {
            "1.2.3" => (true, Some("Webhook"), false),
            "1.3.0" => (false, Some("None"), false),
            _ => (false, Some("None"), true),
        };
        assert_eq!((short, strategy, color), expected, "Helm {}: {crd:#}", self.helm.version);
        let annotations = crd["metadata"].get("annotations").unwrap_or(&Json::Null);
        if let Some(said) = annotations.get("bundle2chart/version") {
            assert_eq!(said, version, "Helm {}", self.helm.version);
        }
    }
}

/// Runs a test with every Helm on one cluster.
fn with_every_helm(test: impl Fn(&Site<'_>)) {
    let cluster = ControlPlane::start();
    let namespace = ["create", "namespace", NAMESPACE];
    cluster.kubectl(&namespace).expect_success();
    for helm in Helm::all() {
        test(&Site { cluster: &cluster, helm: &helm });
    }
}

/// The commands of the first block of a shell after `heading` in a README or plan.
fn commands(text: &str, heading: &str) -> Vec<String> {
    let after = text.split_once(heading).unwrap_or_else(|| panic!("{heading} in {text}")).1;
    let block =
        after.split_once("```sh\n").expect("a block").1.split_once("```").expect("its end").0;
    block.lines().map(|line| line.trim().to_owned()).filter(|line| !line.is_empty()).collect()
}

#[test]
#[ignore = "needs Go 1.26: cargo test --test api_server -- --ignored"]
fn a_stub_never_changes_a_real_crd() {
    let charts = Charts::of(&format!("stub-crds = [\"{STUB}\"]\n"));
    let chart = charts.folder("lamp-operator-crds", "1.2.3");
    let next = charts.folder("lamp-operator-crds", "1.3.0");
    with_every_helm(|site| {
        for manager in ["helm", "another"] {
            let apply = ["apply", "--server-side", "--field-manager", manager, "--filename", "-"];
            site.cluster.kubectl_as(&site.cluster.kubeconfig(), &apply, REAL).expect_success();
            // What the server itself adds comes a moment later.
            let wait = ["wait", "--for=condition=Established", "--timeout=300s", "crd", STUB];
            site.cluster.kubectl(&wait).expect_success();
            let before = site.crd(STUB);
            site.helm(&format!("install stubs {chart}")).expect_success();
            site.helm(&format!("upgrade stubs {next}")).expect_success();
            site.helm("rollback stubs 1").expect_success();
            site.helm("uninstall stubs").expect_success();
            let after = site.crd(STUB);
            assert_eq!(before["metadata"]["uid"], after["metadata"]["uid"]);
            assert_eq!(before["spec"], after["spec"], "Helm {}", site.helm.version);
            assert_eq!(before["metadata"]["annotations"], after["metadata"]["annotations"]);
            site.delete(STUB);
        }
    });
}

#[test]
#[ignore = "needs Go 1.26: cargo test --test api_server -- --ignored"]
fn a_stub_is_there_where_the_real_crd_is_not() {
    let overlay = "[[bundle.overlay]]\nphase = \"before\"\n\
        inline = '{apiVersion: config.openshift.io/v1, kind: Infrastructure, metadata: {name: cluster}}'\n";
    let charts = Charts::of(&format!("stub-crds = [\"{STUB}\"]\n{overlay}"));
    let chart = |name: &str| charts.folder(name, "1.2.3");
    with_every_helm(|site| {
        let refused = site.helm(&format!("install lamp-operator {}", chart("lamp-operator")));
        assert!(!refused.success, "{}", refused.text);
        let words = "install the chart lamp-operator-crds first";
        assert!(refused.text.contains(words), "{}", refused.text);

        let readme = charts.0.read("out/lamp-operator/1.2.3/README.md");
        for command in commands(&readme, "## Install") {
            site.shell(&chart("lamp-operator"), &command).expect_success();
        }
        let uid = site.crd(STUB)["metadata"]["uid"].clone();
        site.cluster.get(&["infrastructures.config.openshift.io", "cluster"]);
        for (command, release) in [
            ("upgrade", format!("lamp-operator-crds {}", chart("lamp-operator-crds"))),
            ("upgrade", format!("lamp-operator {}", chart("lamp-operator"))),
            ("rollback", "lamp-operator-crds 1".to_owned()),
            ("rollback", "lamp-operator 1".to_owned()),
        ] {
            site.helm(&format!("{command} {release}")).expect_success();
            site.cluster.get(&["infrastructures.config.openshift.io", "cluster"]);
        }
        for command in commands(&readme, "## Uninstall") {
            site.shell("/", &command).expect_success();
        }
        assert_eq!(site.crd(STUB)["metadata"]["uid"], uid, "others may use it");
        site.delete(STUB);
        site.delete(CRD);
    });
}

/// The release that has the CRDs, by `crds`.
const OWNERS: [(&str, &str); 2] =
    [("templates", "lamp-operator"), ("separate", "lamp-operator-crds")];

#[test]
#[ignore = "needs Go 1.26: cargo test --test api_server -- --ignored"]
fn an_older_chart_replaces_newer_crds_only_when_told() {
    for (placement, owner) in OWNERS {
        let charts = Charts::of(&format!("crds = \"{placement}\"\n"));
        let (old, new) = (charts.folder(owner, "1.2.3"), charts.folder(owner, "1.3.0"));
        charts.build(&format!("crds = \"{placement}\"\n"), "1.3.0-1");
        let again = charts.folder(owner, "1.3.0-1");
        with_every_helm(|site| {
            site.helm(&format!("install {owner} {new}")).expect_success();
            // An earlier version that replaces this one in the vendor's upgrade graph.
            site.helm(&format!("upgrade {owner} {again}")).expect_success();
            site.expect_version("1.3.0-1");
            site.helm(&format!("upgrade {owner} {new}")).expect_success();
            for command in ["install", "upgrade"] {
                if command == "install" {
                    site.helm(&format!("uninstall {owner}")).expect_success();
                }
                let refused = site.helm(&format!("{command} {owner} {old}"));
                let words = "is from version 1.3.0, newer than 1.2.3";
                assert!(!refused.success && refused.text.contains(words), "{}", refused.text);
                site.expect_version("1.3.0");
                // Where something else looks after the CRDs, there is nothing to downgrade.
                site.helm(&format!("{command} {owner} {old} --set crds.enabled=false"))
                    .expect_success();
                site.expect_version("1.3.0");
                let told = format!("upgrade {owner} {old} --set crds.allowDowngrade=true");
                site.helm(&told).expect_success();
                site.expect_version("1.2.3");
                // Helm would keep that value for later upgrades.
                site.helm(&format!("upgrade {owner} {new} --reset-values")).expect_success();
                site.expect_version("1.3.0");
            }
            site.helm(&format!("uninstall {owner}")).expect_success();
            site.delete(CRD);
        });
    }
}

#[test]
#[ignore = "needs Go 1.26: cargo test --test api_server -- --ignored"]
fn an_upgrade_removes_what_the_new_version_removed() {
    for (placement, owner) in OWNERS {
        let charts = Charts::of(&format!("crds = \"{placement}\"\n"));
        let (old, new) = (charts.folder(owner, "1.2.3"), charts.folder(owner, "1.3.0"));
        with_every_helm(|site| {
            site.helm(&format!("install {owner} {old}")).expect_success();
            site.expect_version("1.2.3");
            site.helm(&format!("upgrade {owner} {new}")).expect_success();
            site.expect_version("1.3.0");
            site.helm(&format!("upgrade {owner} {new}")).expect_success();
            site.helm(&format!("rollback {owner} 1")).expect_success();
            site.expect_version("1.2.3");
            site.helm(&format!("uninstall {owner}")).expect_success();
            site.expect_version("1.2.3");
            site.delete(CRD);
        });
    }
}

/// Releases of Helm 3 that Helm 4 upgrades, and back.
#[test]
#[ignore = "needs Go 1.26: cargo test --test api_server -- --ignored"]
fn helm_3_and_4_upgrade_each_others_releases() {
    let charts = Charts::of("");
    let owner = "lamp-operator";
    let (old, new) = (charts.folder(owner, "1.2.3"), charts.folder(owner, "1.3.0"));
    let cluster = ControlPlane::start();
    cluster.kubectl(&["create", "namespace", NAMESPACE]).expect_success();
    let helms = Helm::all();
    for (first, then) in [(0, 1), (1, 0), (2, 0)] {
        let [first, then] = [first, then].map(|i| Site { cluster: &cluster, helm: &helms[i] });
        first.helm(&format!("install {owner} {old}")).expect_success();
        then.helm(&format!("upgrade {owner} {new}")).expect_success();
        then.expect_version("1.3.0");
        then.helm(&format!("uninstall {owner}")).expect_success();
        then.delete(CRD);
    }
}

/// The installer of the old version's CRDs, and the place of the commands for the new one.
const ROUTES: [(&str, &str); 6] = [
    ("README", "README"),
    ("helm alone", "README"),
    ("helm alone", "UPGRADE.md"),
    ("kubectl alone", "UPGRADE.md"),
    ("helm alone", "helmfile"),
    ("kubectl alone", "helmfile"),
];

/// In Helm's own folders, CRDs are brought by the commands of README, of UPGRADE.md and of the
/// helmfile, independent of the tool that created them.
#[test]
#[ignore = "needs Go 1.26: cargo test --test api_server -- --ignored"]
fn printed_commands_replace_crds_of_folders() {
    for (placement, folder) in [("subchart", "charts/crds/crds/"), ("crds", "crds/")] {
        let deploy = "[deploy]\nhelmfile = true\n";
        let charts = Charts::of(&format!("crds = \"{placement}\"\n{deploy}"));
        let (old, new) =
            (charts.folder("lamp-operator", "1.2.3"), charts.folder("lamp-operator", "1.3.0"));
        let readme =
            |version: &str| charts.0.read(&format!("out/lamp-operator/{version}/README.md"));
        let upgrade = charts.0.read("out/lamp-operator/1.3.0/UPGRADE.md");
        let helmfile: Json =
            serde_yaml::from_str(&charts.0.read("out/helmfile.yaml")).expect("YAML");
        with_every_helm(|site| {
            for (installed, upgraded) in ROUTES {
                {
                    match installed {
                        "README" => {
                            for command in commands(&readme("1.2.3"), "## Install") {
                                site.shell(&old, &command).expect_success();
                            }
                        }
                        _ => {
                            if installed == "kubectl alone" {
                                let apply = format!("kubectl apply --server-side -f {folder}");
                                site.shell(&old, &apply).expect_success();
                            }
                            let skip =
                                if installed == "kubectl alone" { "--skip-crds" } else { "" };
                            site.helm(&format!("install lamp-operator {old} {skip}"))
                                .expect_success();
                        }
                    }
                    site.expect_version("1.2.3");
                    match upgraded {
                        "README" => {
                            for command in commands(&readme("1.3.0"), "Before `helm upgrade`") {
                                // It says that some exist.
                                let said = site.shell(&new, &command);
                                assert!(
                                    said.success || said.text.contains("AlreadyExists"),
                                    "{}",
                                    said.text
                                );
                            }
                        }
                        "UPGRADE.md" => {
                            for command in of_step(&upgrade, "Create and replace the CRDs") {
                                site.shell(&new, &command).expect_success();
                            }
                        }
                        _ => presync(site, &charts, &helmfile),
                    }
                    site.expect_version("1.3.0");
                    site.helm(&format!("upgrade --install lamp-operator {new} --skip-crds"))
                        .expect_success();
                    site.helm("uninstall lamp-operator").expect_success();
                    // What is left is no obstacle, and not downgraded.
                    for command in commands(&readme("1.2.3"), "## Install") {
                        let said = site.shell(&old, &command);
                        assert!(
                            said.success || said.text.contains("AlreadyExists"),
                            "{}",
                            said.text
                        );
                    }
                    site.expect_version("1.3.0");
                    site.helm("uninstall lamp-operator").expect_success();
                    site.delete(CRD);
                }
            }
        });
    }
}

/// Runs the hooks of a helmfile before its release, and sees that Helm is to skip CRDs.
fn presync(site: &Site<'_>, charts: &Charts, helmfile: &Json) {
    assert_eq!(helmfile["helmDefaults"]["skipCRDs"], true);
    let out = charts.0.path("out");
    let hooks = helmfile["releases"][0]["hooks"].as_array().expect("hooks");
    assert_eq!(hooks.len(), 2);
    for hook in hooks {
        let words =
            std::iter::once(&hook["command"]).chain(hook["args"].as_array().expect("words"));
        let words: Vec<String> =
            words.map(|word| format!("'{}'", word.as_str().expect("a text"))).collect();
        site.shell(out.to_str().expect("UTF-8"), &words.join(" ")).expect_success();
    }
}

/// The commands of a step of a plan, for the release of a test in the folder of the chart.
fn of_step(upgrade: &str, title: &str) -> Vec<String> {
    let step = upgrade.split_once(&format!("**{title}")).expect("a step").1;
    let step = step.split("\n## ").next().expect("a text");
    let step = step.split(". **").next().expect("a text");
    let blocks = step.split("```sh\n").skip(1).map(|rest| rest.split("```").next());
    let lines = blocks.flat_map(|block| block.expect("a block").lines());
    lines
        .map(|line| for_release(line.trim(), "lamp-operator", NAMESPACE))
        .filter(|line| !line.is_empty())
        .collect()
}

/// The field manager, command or chart that created the CRD before a release adopts it.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Former {
    /// `kubectl COMMAND` with the manifest.
    Kubectl(&'static str),
    /// A chart by this program, with its CRDs in a folder, as the release that later has them, or
    /// another one.
    Folder,
    /// A chart with the CRD as a template that is kept, as a release in another namespace.
    HandMade,
    /// The commands that charts printed before, which left `kubectl-create` and `kubectl-replace`.
    Conflicting,
}

const FORMERS: [Former; 9] = [
    Former::Kubectl("create --field-manager=olm"),
    Former::Kubectl("create"),
    Former::Kubectl("replace"),
    Former::Kubectl("apply"),
    Former::Kubectl("apply --server-side"),
    Former::Kubectl("apply --server-side --field-manager=argocd-controller"),
    Former::Folder,
    Former::HandMade,
    Former::Conflicting,
];

impl Former {
    /// Brings the CRD of version 1.2.3 to the cluster.
    fn create(self, site: &Site<'_>, charts: &Charts, owner: &str) {
        let case = &charts.0;
        let kubectl = |command: &str, version: &str| {
            case.write(&format!("before/{version}.yaml"), lamps(version));
            let file = case.path(&format!("before/{version}.yaml"));
            site.shell("/", &format!("kubectl {command} -f {}", file.display())).expect_success();
        };
        match self {
            Former::Kubectl("replace") => {
                kubectl("create", "1.4.0");
                kubectl("replace", "1.2.3");
            }
            Former::Kubectl(command) => kubectl(command, "1.2.3"),
            Former::Folder => {
                let old = charts.folder("lamp-operator", "1.2.3");
                site.helm(&format!("install lamp-operator {old}")).expect_success();
            }
            Former::HandMade => {
                case.write("hand/Chart.yaml", "{apiVersion: v2, name: lamps, version: 1.0.0}");
                let kept = "  annotations: {helm.sh/resource-policy: keep}\n  name: lamps";
                let crd = lamps("1.2.3").replacen("  name: lamps", kept, 1);
                case.write("hand/templates/crd.yaml", crd);
                let chart = case.path("hand");
                let install = format!("helm install lamps {} --namespace default", chart.display());
                site.shell("/", &install).expect_success();
            }
            Former::Conflicting => {
                kubectl("create", "1.3.0");
                let new = charts.folder(owner, "1.3.0");
                let replace = "helm template crds charts/crds | kubectl replace -f -";
                site.shell(&new, replace).expect_success();
                let helm_4 = site.helm.version.starts_with("4.");
                let force = if helm_4 { "--server-side=true --force-conflicts" } else { "" };
                site.helm(&format!("upgrade --install {owner} {new} --take-ownership {force}"))
                    .expect_success();
            }
        }
    }
}

/// After the printed commands, upgrades to other versions need no option, with any former owner.
#[test]
#[ignore = "needs Go 1.26: cargo test --test api_server -- --ignored"]
fn a_release_adopts_crds_of_any_owner() {
    let placements = OWNERS.map(|(placement, owner)| {
        let charts = Charts(Case::with_lamps());
        charts.build("crds = \"subchart\"\n", "1.2.3");
        for version in ["1.3.0", "1.4.0"] {
            charts.build(&format!("crds = \"{placement}\"\n"), version);
        }
        (charts, owner)
    });
    let helms = Helm::all().len();
    let cluster = ControlPlane::start();
    cluster.kubectl(&["create", "namespace", NAMESPACE]).expect_success();
    for (index, former) in FORMERS.into_iter().enumerate() {
        for (of_helm, helm) in Helm::all().iter().enumerate() {
            let site = Site { cluster: &cluster, helm };
            for (of_placement, (charts, owner)) in placements.iter().enumerate() {
                // Helm 3 knows no conflicts, so each way is taken with one of them.
                let turn = (index + of_placement) % helms == of_helm;
                if helm.version.starts_with("4.") || turn {
                    adopt(&site, charts, owner, former);
                }
            }
        }
    }
}

fn adopt(site: &Site<'_>, charts: &Charts, owner: &str, former: Former) {
    eprintln!("Helm {}: {owner}: {former:?}", site.helm.version);
    let [new, next] = ["1.3.0", "1.4.0"].map(|version| charts.folder(owner, version));
    let readme = charts.0.read(&format!("out/{owner}/1.3.0/README.md"));
    let mut texts = vec![commands(&readme, "To adopt them, once")];
    if former == Former::Folder && owner == "lamp-operator" {
        let upgrade = charts.0.read("out/lamp-operator/1.3.0/UPGRADE.md");
        let steps = ["Adopt existing CRDs into the release", "Upgrade**"];
        texts.push(steps.into_iter().flat_map(|step| of_step(&upgrade, step)).collect());
    }
    for commands in texts {
        former.create(site, charts, owner);
        if former != Former::Conflicting {
            let refused = site.helm(&format!("upgrade --install {owner} {new}"));
            assert!(!refused.success && refused.text.contains("ownership"), "{}", refused.text);
        } else if site.helm.version.starts_with("4.") {
            let refused = site.helm(&format!("upgrade {owner} {next}"));
            assert!(!refused.success && refused.text.contains("conflict"), "{}", refused.text);
        }

        for command in commands {
            site.shell(&new, &command).expect_success();
        }
        site.expect_version("1.3.0");
        for chart in [&next, &next, &new, &next] {
            let downgrade = "--set crds.allowDowngrade=true";
            site.helm(&format!("upgrade {owner} {chart} {downgrade}")).expect_success();
            site.expect_version(if chart == &next { "1.4.0" } else { "1.3.0" });
        }
        site.helm(&format!("rollback {owner} 0")).expect_success();
        site.expect_version("1.3.0");
        site.helm(&format!("upgrade {owner} {next}")).expect_success();

        site.helm(&format!("uninstall {owner}")).expect_success();
        site.helm("uninstall lamp-operator --ignore-not-found").expect_success();
        site.shell("/", "helm uninstall lamps --namespace default --ignore-not-found")
            .expect_success();
        site.expect_version("1.4.0");
        site.delete(CRD);
    }
}
