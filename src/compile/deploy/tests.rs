use super::*;
use crate::config::{
    ArgoCd, ArgoStyle, Config, Discovery, Flux, IgnoreDifference, OwnApplication, Values,
};
use crate::diag::{Diagnostics, SourceText};
use crate::kubectl::{Gate, Step};
use proptest::prelude::*;
use serde_json::Value as Json;

fn release(name: &str, bundle: &str, part: Part, depends_on: &[&str]) -> Release {
    Release {
        name: name.to_owned(),
        bundle: bundle.to_owned(),
        namespace: format!("{bundle}-system"),
        dir: format!("{name}/1.0.0"),
        depends_on: depends_on.iter().map(|name| (*name).to_owned()).collect(),
        install: Install {
            part,
            crds_folder: (part == Part::Operator).then_some("charts/crds/crds/"),
            ..Install::default()
        },
    }
}

/// A platform in the order of a configuration that says the last first.
fn platform() -> Vec<Release> {
    let mut releases = vec![
        release("models", "models", Part::Operator, &["groups", "mesh"]),
        release("mesh", "mesh", Part::Operator, &["seals"]),
        release("mesh-operands", "mesh", Part::Operands, &["seals"]),
        release("seals", "seals", Part::Operator, &[]),
        release("seals-crds", "seals", Part::Crds, &[]),
        release("groups", "groups", Part::Operator, &["seals"]),
    ];
    releases[3].install.crds_folder = None;
    releases
}

fn deploy() -> Deploy {
    Deploy {
        helmfile: Some("helmfile.yaml".to_owned()),
        server_side: false,
        charts: "platform/out".to_owned(),
        values: None,
        argocd: Some(ArgoCd {
            repo: "https://git.example.com/platform.git".to_owned(),
            revision: "main".to_owned(),
            style: ArgoStyle::ApplicationSet,
            name: "platform".to_owned(),
            project: "default".to_owned(),
            destination: "https://kubernetes.default.svc".to_owned(),
            namespace: "argocd".to_owned(),
            prune: false,
            dir: "argocd".to_owned(),
            ignore: vec![IgnoreDifference {
                group: "apps".to_owned(),
                kind: "Deployment".to_owned(),
                name: Some("istiod".to_owned()),
                namespace: Some("mesh-system".to_owned()),
                json_pointers: vec!["/spec/replicas".to_owned()],
                jq_paths: vec![".spec.template.metadata.annotations".to_owned()],
            }],
            discovery: None,
            applications: Vec::new(),
        }),
        flux: Some(Flux {
            source_name: "platform".to_owned(),
            source_namespace: "flux-system".to_owned(),
            namespace: "flux-system".to_owned(),
            interval: "10m".to_owned(),
            timeout: "15m".to_owned(),
            dir: "flux".to_owned(),
        }),
    }
}

/// Everything that can be said, said.
fn deploy_in_full() -> Deploy {
    let mut deploy = deploy();
    deploy.server_side = true;
    deploy.values = Some(Values {
        from_output: "../values".to_owned(),
        in_repository: "platform/values".to_owned(),
        profile: Some("tier1-minimal".to_owned()),
    });
    let argocd = deploy.argocd.as_mut().unwrap();
    argocd.style = ArgoStyle::AppOfApps;
    argocd.destination = "production".to_owned();
    deploy
}

fn texts(files: BTreeMap<String, Vec<u8>>) -> BTreeMap<String, String> {
    files.into_iter().map(|(path, text)| (path, String::from_utf8(text).unwrap())).collect()
}

fn shown(files: BTreeMap<String, Vec<u8>>) -> String {
    texts(files)
        .iter()
        .fold(String::new(), |shown, (path, text)| format!("{shown}==> {path}\n{text}"))
}

fn parsed(files: BTreeMap<String, Vec<u8>>) -> BTreeMap<String, Json> {
    let parse = |text: &str| serde_yaml::from_str::<Json>(text).unwrap();
    texts(files).iter().map(|(path, text)| (path.clone(), parse(text))).collect()
}

#[test]
fn helmfile_argocd_and_flux() {
    insta::assert_snapshot!(shown(files(&platform(), &deploy())));
}

#[test]
fn with_values_and_applications() {
    insta::assert_snapshot!(shown(files(&platform(), &deploy_in_full())));
}

/// Models are found by their directories, and the mesh has settings of its own.
fn deploy_with_discovery(style: ArgoStyle) -> Deploy {
    let mut deploy = deploy_in_full();
    deploy.helmfile = None;
    let argocd = deploy.argocd.as_mut().unwrap();
    argocd.style = style;
    argocd.discovery = Some(Discovery {
        namespace: "models-system".to_owned(),
        charts: vec!["models".to_owned()],
    });
    let ignore = IgnoreDifference {
        group: "admissionregistration.k8s.io".to_owned(),
        kind: "ValidatingWebhookConfiguration".to_owned(),
        name: None,
        namespace: None,
        json_pointers: Vec::new(),
        jq_paths: vec![".webhooks[]?.failurePolicy".to_owned()],
    };
    argocd.prune = true;
    argocd.applications =
        vec![OwnApplication { chart: "mesh".to_owned(), prune: false, ignore: vec![ignore] }];
    deploy
}

#[test]
fn models_are_discovered_and_other_charts_listed() {
    for style in [ArgoStyle::ApplicationSet, ArgoStyle::AppOfApps] {
        let mut files = files(&platform(), &deploy_with_discovery(style));
        files.retain(|path, _| path.starts_with("argocd/"));
        insta::assert_snapshot!(format!("discovery_{style:?}"), shown(files));
    }
}

/// A new model changes no file of Argo CD with discovery, and one without.
#[test]
fn a_new_model_changes_no_list_that_does_not_name_it() {
    let mut more = platform();
    more.push(release("qwen", "qwen", Part::Operator, &["groups", "mesh"]));
    for style in [ArgoStyle::ApplicationSet, ArgoStyle::AppOfApps] {
        let mut deploy = deploy_with_discovery(style);
        deploy.flux = None;
        let before = files(&platform(), &deploy);
        let found = deploy.argocd.as_mut().unwrap().discovery.as_mut().unwrap();
        found.charts.push("qwen".to_owned());
        assert_eq!(files(&more, &deploy), before, "{style:?}");
    }
    let mut deploy = deploy();
    (deploy.flux, deploy.helmfile) = (None, None);
    let (before, after) = (files(&platform(), &deploy), files(&more, &deploy));
    let changed: Vec<&String> = after
        .iter()
        .filter(|(path, text)| before.get(*path) != Some(text))
        .map(|(p, _)| p)
        .collect();
    assert_eq!(changed, ["argocd/applicationset.yaml"]);
}

/// A platform with gates, steps, stubs and Jobs of switches.
fn platform_with_gates() -> Vec<Release> {
    const CONFIG: &str = r#"
[[chart]]
name = "a"
chart-version = "1.0.0"
manifests = ["a"]
ready = [
  { rollout = "deployment/a" },
  { crd = "lamps.example.com", timeout = "1m" },
  { condition = "Ready", object = "example.com/v1/Lamp/a" },
  { condition = "Bright", object = "example.com/v1/Lamp/a" },
  { condition = "Ready", object = "example.com/v1/Lamp/b", namespace = "n" },
  { jsonpath = ".status.items[0].phase", value = "on", object = "v1/ConfigMap/a" },
  { jsonpath = ".data.a", value = "b", object = "v1/Secret/a", timeout = "2h" },
]
[[chart.after]]
object = "v1/ConfigMap/a"
labels = { a = "b" }
"#;
    let source = SourceText { name: "bundles.toml".to_owned(), text: CONFIG.to_owned() };
    let config = Config::parse(&source.into(), ".".as_ref(), &mut Diagnostics::new()).unwrap();
    let chart = &config.bundles[0];
    let mut releases = platform();
    let gate = |gate| Gate::new(gate, gate.target.kind != "Secret");
    releases[3].install.gates = chart.gates.iter().map(gate).collect();
    releases[4].install.stubs =
        vec!["lamps.example.com".to_owned(), "rooms.example.com".to_owned()];
    releases[5].install.gates = chart.gates[..1].iter().map(gate).collect();
    releases[5].install.steps = vec![Step::new(&chart.after[0], false)];
    releases[2].install.gate_seconds = 1;
    // Named twice, and not in order.
    releases[0].depends_on = ["seals", "mesh", "seals"].map(str::to_owned).to_vec();
    releases
}

#[test]
fn gates_and_steps() {
    let mut releases = platform_with_gates();
    insta::assert_snapshot!("gates", shown(files(&releases, &deploy())));
    // Argo CD waits for Applications, also if it knows the health of all objects.
    releases[3].install.gates.truncate(2);
    let mut deploy = deploy_in_full();
    (deploy.flux, deploy.helmfile) = (None, None);
    insta::assert_snapshot!("gates_of_applications", shown(files(&releases, &deploy)));
}

#[test]
fn models_without_other_charts_are_the_first_wave() {
    let deploy = Deploy { flux: None, ..deploy_with_discovery(ArgoStyle::AppOfApps) };
    let models = [release("models", "models", Part::Operator, &[])];
    let file = &parsed(files(&models, &deploy))["argocd/applications/models.applicationset.yaml"];
    assert_eq!(file["metadata"]["annotations"]["argocd.argoproj.io/sync-wave"], "0");
}

#[test]
fn nothing_without_a_word() {
    assert!(files(&platform(), &Deploy::default()).is_empty());
}

/// The keys that the types of helmfile have (its state and event packages, as far as used here).
#[test]
fn helmfile_has_keys_that_helmfile_knows() {
    const DEFAULTS: &[&str] = &[
        "createNamespace",
        "wait",
        "timeout",
        "skipDeps",
        "skipCRDs",
        "disableValidation",
        "serverSide",
        "forceConflicts",
    ];
    const RELEASE: &[&str] = &[
        "name",
        "namespace",
        "chart",
        "createNamespace",
        "missingFileHandler",
        "values",
        "needs",
        "hooks",
    ];
    const HOOK: &[&str] = &["events", "showlogs", "command", "args"];
    let keys = |value: &Json, known: &[&str]| {
        for key in value.as_object().unwrap().keys() {
            assert!(known.contains(&key.as_str()), "{key}");
        }
    };
    for deploy in [deploy(), deploy_in_full()] {
        let file = &parsed(files(&platform(), &deploy))["helmfile.yaml"];
        keys(file, &["helmDefaults", "releases"]);
        keys(&file["helmDefaults"], DEFAULTS);
        let releases = file["releases"].as_array().unwrap();
        assert_eq!(releases.len(), platform().len());
        let ids: Vec<String> = releases
            .iter()
            .map(|r| {
                format!("{}/{}", r["namespace"].as_str().unwrap(), r["name"].as_str().unwrap())
            })
            .collect();
        for release in releases {
            keys(release, RELEASE);
            // Helmfile takes what begins with a dot for a folder, and all else for a repository.
            assert!(release["chart"].as_str().unwrap().starts_with("./"));
            for need in release["needs"].as_array().into_iter().flatten() {
                assert!(ids.iter().any(|id| id == need.as_str().unwrap()), "{need}");
            }
            for hook in release["hooks"].as_array().into_iter().flatten() {
                keys(hook, HOOK);
            }
        }
    }
}

/// Checks the requirements of Argo CD's CustomResourceDefinitions, and the rules of its controllers.
#[test]
fn argocd_objects_are_complete() {
    let application = |spec: &Json| {
        for path in ["/project", "/source/repoURL", "/source/path", "/destination/namespace"] {
            assert!(spec.pointer(path).is_some_and(Json::is_string), "{path} of {spec}");
        }
        // Exactly one of them names the cluster.
        let destination = &spec["destination"];
        assert!(destination.get("server").is_some() != destination.get("name").is_some());
        let options: Vec<&str> = spec["syncPolicy"]["syncOptions"]
            .as_array()
            .into_iter()
            .flatten()
            .map(|o| o.as_str().unwrap())
            .collect();
        for ignored in spec["ignoreDifferences"].as_array().into_iter().flatten() {
            assert!(ignored["kind"].is_string());
            assert!(ignored.get("jqPathExpressions").is_some());
        }
        options.contains(&"ServerSideApply=true") && options.contains(&"CreateNamespace=true")
    };
    let files_of_set = parsed(files(&platform(), &deploy()));
    let set = &files_of_set["argocd/applicationset.yaml"];
    assert_eq!(set["kind"], "ApplicationSet");
    let elements = set["spec"]["generators"][0]["list"]["elements"].as_array().unwrap();
    let steps = set["spec"]["strategy"]["rollingSync"]["steps"].as_array().unwrap();
    // An Application that is in no step is never synced.
    for element in elements {
        let in_step = |step: &&Json| step["matchExpressions"][0]["values"][0] == element["wave"];
        assert_eq!(steps.iter().filter(in_step).count(), 1, "{element}");
    }
    assert!(application(&set["spec"]["template"]["spec"]));
    assert!(set["spec"]["template"]["spec"]["syncPolicy"].get("automated").is_none());

    let apps = parsed(files(&platform(), &deploy_in_full()));
    let root = &apps["argocd/platform.yaml"];
    application(&root["spec"]);
    assert_eq!(root["spec"]["source"]["path"], "platform/out/argocd/applications");
    let below = apps.iter().filter(|(path, _)| path.starts_with("argocd/applications/"));
    let mut count = 0;
    for (_, app) in below {
        assert_eq!(
            (app["apiVersion"].as_str(), app["kind"].as_str()),
            (Some("argoproj.io/v1alpha1"), Some("Application"))
        );
        assert!(app["metadata"]["annotations"]["argocd.argoproj.io/sync-wave"].is_string());
        assert!(application(&app["spec"]));
        assert!(app["spec"]["syncPolicy"]["automated"].is_object());
        count += 1;
    }
    assert_eq!(count, platform().len());
}

/// Checks the requirements of the CustomResourceDefinition of HelmReleases (v2).
#[test]
fn flux_objects_are_complete() {
    let files = parsed(files(&platform(), &deploy_in_full()));
    let listed = files["flux/kustomization.yaml"]["resources"].as_array().unwrap();
    let names: Vec<String> = platform().into_iter().map(|release| release.name).collect();
    assert_eq!(listed.len(), names.len());
    for path in listed {
        let release = &files[&format!("flux/{}", path.as_str().unwrap())];
        assert_eq!(release["apiVersion"], "helm.toolkit.fluxcd.io/v2");
        let spec = &release["spec"];
        for path in [
            "/interval",
            "/chart/spec/chart",
            "/chart/spec/sourceRef/kind",
            "/chart/spec/sourceRef/name",
            "/releaseName",
        ] {
            assert!(spec.pointer(path).is_some_and(Json::is_string), "{path}");
        }
        let has_folder = platform()
            .iter()
            .any(|r| r.install.crds_folder.is_some() && spec["releaseName"] == *r.name);
        for action in ["install", "upgrade"] {
            assert_eq!(spec[action].get("crds").is_some(), has_folder);
        }
        for need in spec["dependsOn"].as_array().into_iter().flatten() {
            assert!(names.contains(&need["name"].as_str().unwrap().to_owned()));
        }
    }
}

/// Helm 4 removes labels and annotations of a namespace that it creates a second time.
#[test]
fn namespaces_of_charts_are_not_created_again() {
    let mut releases = platform();
    // The seals' chart creates the namespace of models, which need it through the mesh.
    releases[3].install.namespaces = vec!["models-system".to_owned()];
    let files = parsed(files(&releases, &deploy()));
    let helmfile = files["helmfile.yaml"]["releases"].as_array().unwrap();
    let by_helmfile = |name: &str| {
        let release = helmfile.iter().find(|release| release["name"] == name).unwrap();
        release.get("createNamespace").cloned()
    };
    assert_eq!(by_helmfile("models"), Some(Json::Bool(false)));
    assert_eq!(by_helmfile("mesh"), None);
    let by_flux = |name: &str| {
        let mut releases = files.values().filter(|file| file["kind"] == "HelmRelease");
        let release = releases.find(|release| release["metadata"]["name"] == name).unwrap();
        release["spec"]["install"]["createNamespace"].clone()
    };
    assert_eq!(by_flux("models"), false);
    assert_eq!(by_flux("mesh"), true);
}

#[test]
fn a_circle_does_not_hang() {
    let releases = [
        release("a", "a", Part::Operator, &["b"]),
        release("b", "b", Part::Operator, &["a"]),
        release("c", "c", Part::Operator, &[]),
    ];
    let plan = plan(&releases);
    let levels: Vec<_> = plan.iter().map(|p| (p.release.name.as_str(), p.level)).collect();
    assert_eq!(levels, [("c", 0), ("a", 3), ("b", 3)]);
}

/// Bundles with any parts, in any order, each of which depends on any that have a lower number.
fn platforms() -> impl Strategy<Value = Vec<Release>> {
    let bundle = (any::<[bool; 2]>(), prop::collection::vec(any::<bool>(), 12));
    let order = prop::collection::vec(any::<prop::sample::Index>(), 36);
    (prop::collection::vec(bundle, 1..12), order).prop_map(|(bundles, order)| {
        let mut releases = Vec::new();
        for (number, ([crds, operands], on)) in bundles.iter().enumerate() {
            let name = format!("b{number}");
            let on: Vec<String> =
                (0..number).filter(|n| on[*n]).map(|number| format!("b{number}")).collect();
            let on: Vec<&str> = on.iter().map(String::as_str).collect();
            releases.push(release(&name, &name, Part::Operator, &on));
            if *crds {
                releases.push(release(&format!("{name}-crds"), &name, Part::Crds, &on));
            }
            if *operands {
                releases.push(release(&format!("{name}-operands"), &name, Part::Operands, &on));
            }
        }
        let count = releases.len();
        for (one, other) in order.iter().enumerate().take(count) {
            releases.swap(one, other.index(count));
        }
        releases
    })
}

proptest! {
    #[test]
    fn each_release_comes_after_all_that_it_needs(releases in platforms()) {
        let plan = plan(&releases);
        prop_assert_eq!(plan.len(), releases.len());
        let mut before: Vec<&str> = Vec::new();
        for planned in &plan {
            let release = planned.release;
            for need in &planned.needs {
                prop_assert!(before.contains(&need.name.as_str()));
                let level = plan.iter().find(|p| p.release == *need).unwrap().level;
                prop_assert!(level < planned.level);
            }
            prop_assert!(planned.needs.is_empty() == (planned.level == 0));
            // Also what the configuration says, not only what the plan made of it.
            if release.install.part == Part::Operator {
                for other in &releases {
                    let ours = other.bundle == release.bundle && other.install.part == Part::Crds;
                    if ours || release.depends_on.contains(&other.bundle) {
                        prop_assert!(before.contains(&other.name.as_str()), "{}", other.name);
                    }
                }
            }
            prop_assert!(release.install.part != Part::Crds || planned.needs.is_empty());
            if release.install.part == Part::Operands {
                prop_assert!(before.contains(&release.bundle.as_str()));
            }
            before.push(&release.name);
        }
    }
}
