//! Files of `[deploy]` are written, checked, changed and removed with the charts, and nothing
//! else is touched.

use crate::support::command::{Case, Seen};
use crate::support::crd_schemas::CrdSchemas;
use crate::support::lamp::{ANNOTATIONS, CRD, CSV};
use crate::support::shared::shared;

const BUNDLES: &str = "\
[[bundle]]
name = \"lamp-operator\"
path = \"bundle\"
namespace = \"lamp-system\"
crds = \"crds\"
depends-on = [\"socket-operator\"]

[[bundle]]
name = \"socket-operator\"
path = \"socket\"
namespace = \"socket-system\"
crds = \"subchart\"
";

const DEPLOY: &str = "
[deploy]
helmfile = true
values = \"values\"
[deploy.argocd]
repo = \"https://git.example.com/lamps.git\"
style = \"app-of-apps\"
[deploy.flux]
source-name = \"lamps\"
";

/// Lamps that need sockets.
fn case() -> Case {
    let case = Case::with_lamps();
    let other = |text: &str| {
        text.replace("light.example.com", "wire.example.com")
            .replace("lamps", "sockets")
            .replace("lamp", "socket")
            .replace("Lamp", "Socket")
    };
    case.write("socket/manifests/csv.yaml", other(CSV));
    case.write("socket/manifests/crd.yaml", other(CRD));
    case.write("socket/metadata/annotations.yaml", other(ANNOTATIONS));
    case.write("bundles.toml", format!("{BUNDLES}{DEPLOY}"));
    case
}

#[track_caller]
fn run(case: &Case, arguments: &[&str], code: i32) -> Seen {
    let seen = case.run(arguments);
    assert_eq!(seen.code, Some(code), "{}", seen.text());
    seen
}

/// Deployment files and other files outside of the charts.
fn deployment_files(case: &Case) -> Vec<String> {
    let chart = |line: &&str| line.starts_with("lamp-operator/") || line.starts_with("socket-");
    case.listing("out").lines().filter(|line| !chart(line)).map(str::to_owned).collect()
}

#[test]
fn it_is_written_with_the_charts() {
    let case = case();
    let seen = run(&case, &["build"], 0);
    assert!(seen.stderr.contains("install the charts with one of:\n  helmfile"), "{}", seen.stderr);
    assert_eq!(
        deployment_files(&case),
        [
            ".bundle2chart",
            "REPORT.md",
            "argocd/applications/lamp-operator.yaml",
            "argocd/applications/socket-operator.yaml",
            "argocd/platform.yaml",
            "flux/kustomization.yaml",
            "flux/releases/lamp-operator.yaml",
            "flux/releases/socket-operator.yaml",
            "helmfile.yaml",
        ]
    );
    insta::assert_snapshot!(case.read("out/helmfile.yaml"));
    let before = case.tree("out");
    run(&case, &["build"], 0);
    assert_eq!(case.tree("out"), before, "a second build touches nothing");
    run(&case, &["build", "--check"], 0);
    let sums = case.shell("cd out && sha256sum --check --strict --quiet .bundle2chart", &[], &[]);
    assert_eq!(sums.code, Some(0), "{}", sums.text());
}

/// Everything that `helmfile`, Argo CD and Flux are told to read is where they are told.
#[test]
fn it_leads_to_the_charts() {
    let case = case();
    run(&case, &["build"], 0);
    let parse =
        |path: &str| -> serde_json::Value { serde_yaml::from_str(&case.read(path)).expect("YAML") };
    let helmfile = parse("out/helmfile.yaml");
    let is_chart = |folder: &str| case.path(folder).join("Chart.yaml").is_file();
    for release in helmfile["releases"].as_array().unwrap() {
        assert!(is_chart(&format!("out/{}", release["chart"].as_str().unwrap())));
        for hook in release["hooks"].as_array().unwrap() {
            let last = hook["args"].as_array().unwrap().last().unwrap().as_str().unwrap();
            let folders: Vec<&str> = last.split([' ', ';']).filter(|w| w.contains('/')).collect();
            assert!(!folders.is_empty(), "{last}");
            for folder in folders {
                let found = std::fs::read_dir(case.path("out").join(folder)).expect("a folder");
                assert_eq!(found.count(), 1);
            }
        }
    }
    for name in ["lamp-operator", "socket-operator"] {
        let app = parse(&format!("out/argocd/applications/{name}.yaml"));
        assert!(is_chart(app["spec"]["source"]["path"].as_str().unwrap()));
        let release = parse(&format!("out/flux/releases/{name}.yaml"));
        let chart = &release["spec"]["chart"]["spec"];
        assert!(is_chart(chart["chart"].as_str().unwrap()));
        assert!(case.path(chart["valuesFiles"][0].as_str().unwrap()).is_file());
    }
}

#[test]
fn a_bundle_that_others_need_is_built_first() {
    let seen = run(&case(), &["build", "lamp-operator"], 0);
    let first = "bundle2chart build socket-operator # first, because lamp-operator depends on it";
    assert!(seen.stderr.contains(first), "{}", seen.stderr);
}

#[test]
fn check_sees_it() {
    let case = case();
    let seen = run(&case, &["build", "--check"], 1);
    assert!(seen.stdout.contains("missing out/helmfile.yaml\n"), "{}", seen.stdout);
    run(&case, &["build"], 0);
    case.replace("bundles.toml", "namespace = \"lamp-system\"", "namespace = \"lamp-2\"");
    case.replace("bundles.toml", "helmfile = true", "helmfile = \"lamps.yaml\"");
    let seen = run(&case, &["build", "--check"], 1);
    for line in ["missing out/lamps.yaml", "extra out/helmfile.yaml", "stale out/.bundle2chart"] {
        assert!(seen.stdout.lines().any(|found| found == line), "{line}: {}", seen.stdout);
    }
}

#[test]
fn what_is_no_longer_asked_for_is_removed_and_nothing_else() {
    let case = case();
    run(&case, &["build"], 0);
    case.write("out/NOTES.md", "mine");
    case.write("out/argocd/project.yaml", "mine: too");
    case.write("bundles.toml", BUNDLES);
    run(&case, &["build"], 0);
    assert_eq!(
        deployment_files(&case),
        [".bundle2chart", "NOTES.md", "REPORT.md", "argocd/project.yaml"]
    );
    run(&case, &["build", "--check"], 0);
}

/// A build of some bundles does not know the others, so it leaves the files as they are.
#[test]
fn a_partial_build_leaves_it() {
    let case = case();
    run(&case, &["build", "lamp-operator"], 0);
    assert!(deployment_files(&case).is_empty());
    run(&case, &["build"], 0);
    let before = case.tree("out");
    run(&case, &["build", "lamp-operator"], 0);
    run(&case, &["build", "lamp-operator", "--check"], 0);
    assert_eq!(case.tree("out"), before);
}

#[test]
fn what_is_not_ours_is_not_replaced() {
    let case = case();
    case.write("out/helmfile.yaml", "releases: []\n");
    case.write("out/flux", "a file\n");
    case.write("out/argocd/platform.yaml", "kind: Application\n");
    let before = case.tree("out");
    let seen = run(&case, &["build", "--replace"], 2);
    insta::assert_snapshot!(seen.text());
    assert_eq!(case.tree("out"), before);
    let seen = run(&case, &["build", "--check"], 1);
    assert!(seen.stdout.contains("foreign out/helmfile.yaml"), "{}", seen.stdout);
}

/// Argo CD, Flux and `kubectl apply --filename FOLDER` install a folder as a whole.
#[test]
fn files_beside_deployment_files_are_foreign() {
    let case = case();
    run(&case, &["build"], 0);
    let files =
        ["out/argocd/a.yaml", "out/argocd/applications/a/b.yaml", "out/flux/releases/c.yaml"];
    for file in files {
        case.write(file, "kind: ConfigMap\n");
        let seen = run(&case, &["build", "--check"], 1);
        assert!(seen.stdout.contains(&format!("foreign {file}\n")), "{}", seen.stdout);
        let seen = run(&case, &["build", "--replace"], 2);
        assert!(seen.stderr.contains("error[not-ours]"), "{}", seen.stderr);
        std::fs::remove_file(case.path(file)).expect("a file");
    }
    // Beside the folders, files are the user's own.
    case.write("out/notes.yaml", "kind: ConfigMap\n");
    run(&case, &["build", "--check"], 0);
}

#[test]
fn edits_are_not_lost() {
    let case = case();
    run(&case, &["build"], 0);
    case.write("out/helmfile.yaml", "releases: []\n");
    // Also where it would be removed.
    case.write("out/flux/kustomization.yaml", "resources: []\n");
    case.write("bundles.toml", format!("{BUNDLES}[deploy]\nhelmfile = true\n"));
    let before = case.tree("out");
    let seen = run(&case, &["build"], 2);
    insta::assert_snapshot!(seen.text());
    assert_eq!(case.tree("out"), before);
    run(&case, &["build", "--replace"], 0);
    assert_eq!(deployment_files(&case), [".bundle2chart", "REPORT.md", "helmfile.yaml"]);
    assert!(case.read("out/helmfile.yaml").contains("lamp-operator"));
}

#[test]
fn a_damaged_list_stops_the_build() {
    let case = case();
    run(&case, &["build"], 0);
    let list = case.read("out/.bundle2chart");
    case.write("out/.bundle2chart", format!("{list}<<<<<<< ours\n"));
    for arguments in [["build", "--replace"], ["build", "--check"]] {
        let seen = run(&case, &arguments, 2);
        assert!(seen.stderr.contains("error[ownership-file]"), "{}", seen.stderr);
    }
}

/// With one version at a time, a chart of Flux's name would be where its files are.
#[test]
fn a_chart_of_the_same_name_is_refused() {
    let case = case();
    case.replace("bundles.toml", "name = \"socket-operator\"", "name = \"flux\"");
    case.replace("bundles.toml", "[\"socket-operator\"]", "[\"flux\"]");
    let seen = run(&case, &["build"], 2);
    assert!(seen.stderr.contains("error[overlapping-output]"), "{}", seen.stderr);
    let own = "source-name = \"lamps\"\ndir = \"gitops/flux\"";
    case.replace("bundles.toml", "source-name = \"lamps\"", own);
    run(&case, &["build"], 0);
    assert!(case.path("out/gitops/flux/releases/flux.yaml").is_file());
}

/// Each of the tools leaves a real CRD alone, whatever `crds` says.
#[test]
fn a_stub_crd_never_replaces_the_real_one() {
    let stub = "servicemonitors.monitoring.coreos.com";
    for placement in ["templates", "separate", "subchart", "crds"] {
        let case = case();
        let stubs = format!("crds = \"{placement}\"\nstub-crds = [\"{stub}\"]");
        case.replace("bundles.toml", "crds = \"crds\"", &stubs);
        run(&case, &["build"], 0);
        let parse = |path: &str| -> serde_json::Value {
            serde_yaml::from_str(&case.read(path)).expect("YAML")
        };

        // Helm and Flux: a hook that is not rendered where the CRD exists, in a release that is
        // installed before the operator's.
        let chart = "lamp-operator-crds/1.2.3";
        let path = format!("out/{chart}/templates/customresourcedefinition-{stub}.yaml");
        let template = case.read(&path);
        let looks = "(not (lookup \"apiextensions.k8s.io/v1\" \"CustomResourceDefinition\" \"\" ";
        assert!(template.lines().next().unwrap().contains(looks), "{template}");
        let folders = case.listing("out");
        let copies = folders.lines().filter(|path| path.contains(stub)).count();
        assert_eq!(copies, 1, "{folders}");
        let helmfile = parse("out/helmfile.yaml");
        let releases = helmfile["releases"].as_array().unwrap();
        let lamps = releases.iter().find(|release| release["name"] == "lamp-operator").unwrap();
        assert_eq!(lamps["needs"][0], "lamp-system/lamp-operator-crds");

        // Argo CD: no hook, which it would delete first, and no difference in the `spec`.
        let left_alone = |path: &str| {
            let app = parse(path);
            let spec = app.pointer("/spec/template/spec").unwrap_or(&app["spec"]).clone();
            let options = spec["syncPolicy"]["syncOptions"].as_array().unwrap();
            assert!(options.contains(&"RespectIgnoreDifferences=true".into()));
            let ignored = spec["ignoreDifferences"].as_array().unwrap().clone();
            ignored.iter().any(|one| one["name"] == stub && one["jsonPointers"][0] == "/spec")
        };
        let crds = "out/argocd/applications/lamp-operator-crds.yaml";
        assert!(left_alone(crds));
        let values = &parse(crds)["spec"]["source"]["helm"]["values"];
        assert_eq!(*values, "stubs:\n  hook: false\n");
        let socket = "out/argocd/applications/socket-operator.yaml";
        assert!(!left_alone(socket));
        assert!(parse(socket)["spec"]["source"]["helm"].get("values").is_none());

        case.replace("bundles.toml", "style = \"app-of-apps\"\n", "");
        run(&case, &["build"], 0);
        let path = "out/argocd/applicationset.yaml";
        assert!(left_alone(path));
        let set = parse(path);
        let values = &set["spec"]["template"]["spec"]["source"]["helm"]["values"];
        assert_eq!(*values, "{{.values}}");
        for element in set["spec"]["generators"][0]["list"]["elements"].as_array().unwrap() {
            let has_stubs = element["name"] == "lamp-operator-crds";
            let expected = if has_stubs { "stubs:\n  hook: false\n" } else { "" };
            assert_eq!(element["values"], expected, "{element}");
        }
    }
}

/// Flux replaces CRDs of a crds/ folder only when it is told to; there are no others to say it of.
#[test]
fn flux_replaces_crds_of_folders() {
    let case = case();
    case.replace("bundles.toml", "crds = \"subchart\"\n", "");
    run(&case, &["build"], 0);
    for (name, policy) in [("lamp-operator", Some("CreateReplace")), ("socket-operator", None)] {
        let text = case.read(&format!("out/flux/releases/{name}.yaml"));
        let release: serde_json::Value = serde_yaml::from_str(&text).expect("YAML");
        for action in ["install", "upgrade"] {
            let crds = release["spec"][action].get("crds");
            assert_eq!(crds.and_then(serde_json::Value::as_str), policy, "{name}");
        }
    }
}

#[test]
fn an_application_set_prunes_where_it_is_told_to() {
    let case = case();
    case.replace("bundles.toml", "style = \"app-of-apps\"\n", "");
    run(&case, &["build"], 0);
    let set = case.read("out/argocd/applicationset.yaml");
    assert!(!set.contains("automated") && set.contains("nothing is synced automatically"), "{set}");
    assert!(set.contains("preserveResourcesOnDeletion: true"), "{set}");
    case.replace("bundles.toml", "[deploy.flux]", "prune = true\n[deploy.flux]");
    run(&case, &["build"], 0);
    let set = case.read("out/argocd/applicationset.yaml");
    let parsed: serde_json::Value = serde_yaml::from_str(&set).expect("YAML");
    // The controller of ApplicationSets takes the policy away, and prunes as it says.
    let policy = &parsed["spec"]["template"]["spec"]["syncPolicy"];
    assert_eq!(policy["automated"]["prune"], true, "{set}");
    assert!(set.contains("all charts are synced at once"), "{set}");
}

/// Each object of Flux against the CustomResourceDefinitions that Flux 2.3 comes with.
#[test]
fn flux_knows_every_field() {
    let Some(folder) = shared("corpus/flux/2.3.0/manifests") else { return };
    let schemas = CrdSchemas::read(&folder);
    let case = case();
    for values in [true, false] {
        if !values {
            case.replace("bundles.toml", "values = \"values\"\n", "");
        }
        run(&case, &["build"], 0);
        for name in ["lamp-operator", "socket-operator"] {
            let text = case.read(&format!("out/flux/releases/{name}.yaml"));
            let mut release: serde_json::Value = serde_yaml::from_str(&text).expect("YAML");
            assert_eq!(schemas.problems(&release), Some(Vec::new()), "{text}");
            release["spec"]["instal"] = serde_json::json!({});
            assert_eq!(schemas.problems(&release).expect("a schema").len(), 1);
        }
    }
}

const GOVERNED: &str = r#"
[[serving]]
name = "NAME"
model = "hf://example/NAME"
form = "kserve"
namespace = "models"
allow-tags = true
engine = { image = "registry.example.com/vllm:v0.33.0" }
[serving.maas]
subscriptions = [{ name = "all", groups = ["system:authenticated"], token-limits = [{ limit = 1000, window = "1m" }] }]
"#;

/// Lamps, the Gateway of models, and a model in a file.
fn models(argocd: &str, layout: &str) -> Case {
    let case = case();
    let text = format!(
        "include = [\"models/*.toml\"]\n{BUNDLES}[[chart]]\nname = \"maas\"\nchart-version = \"1.0.0\"\n\
         [chart.maas.gateway]\nclass = \"istio\"\nhostname = \"maas.example.com\"\n\
         tls-secret = \"tls\"\nnamespaces = [\"models\"]\n[output]\nlayout = \"{layout}\"\n\
         [deploy]\nvalues = \"models\"\nprofile = \"tier1-minimal\"\n[deploy.argocd]\n\
         repo = \"https://git.example.com/lamps.git\"\n{argocd}"
    );
    case.write("bundles.toml", text);
    case.write("models/granite.toml", GOVERNED.replace("NAME", "granite"));
    case
}

/// The files that a second model changes, and that it adds outside of its chart.
fn changed_by_a_model(argocd: &str) -> Vec<String> {
    let case = models(argocd, "flat");
    run(&case, &["build"], 0);
    let before = case.tree("out");
    case.write("models/qwen.toml", GOVERNED.replace("NAME", "qwen"));
    run(&case, &["build"], 0);
    assert!(case.path("out/qwen/Chart.yaml").is_file());
    let after = case.tree("out");
    assert!(before.keys().all(|path| after.contains_key(path)), "nothing is removed");
    after
        .iter()
        .filter(|(path, (text, _))| before.get(*path).is_none_or(|(before, _)| before != text))
        .map(|(path, _)| path.to_string_lossy().into_owned())
        .filter(|path| !path.contains("qwen"))
        // The report of the build, and its digest.
        .filter(|path| !path.ends_with("/REPORT.md") && !path.ends_with("/.bundle2chart"))
        .collect()
}

/// A pull request that adds a file of a model.
#[test]
fn a_model_changes_one_chart_and_nothing_else() {
    let nothing: [&str; 0] = [];
    for style in ["application-set", "app-of-apps"] {
        let argocd = format!("style = \"{style}\"\ndiscover = \"models\"\n");
        assert_eq!(changed_by_a_model(&argocd), nothing, "{style}");
    }
    let listed = changed_by_a_model("style = \"application-set\"\n");
    assert_eq!(listed.len(), 1, "{listed:?}");
    assert!(listed[0].ends_with("argocd/applicationset.yaml"), "{listed:?}");
}

/// Discovery finds charts: the pattern matches the models and nothing else.
#[test]
fn directories_of_models_are_discovered() {
    let own = "discover = \"models\"\n[[deploy.argocd.application]]\nchart = \"lamp-operator\"\n\
               [[deploy.argocd.application.ignore-differences]]\nkind = \"Service\"\n\
               json-pointers = [\"/spec\"]\n";
    let case = models(own, "flat");
    run(&case, &["build"], 0);
    let parse =
        |path: &str| -> serde_json::Value { serde_yaml::from_str(&case.read(path)).expect("YAML") };
    let set = parse("out/argocd/applications/models.applicationset.yaml");
    let directories = &set["spec"]["generators"][0]["git"]["directories"];
    let directories = directories.as_array().expect("directories");
    assert_eq!(directories[0]["path"], "out/*");
    let excluded: Vec<&str> =
        directories[1..].iter().map(|one| one["path"].as_str().expect("a path")).collect();
    for entry in std::fs::read_dir(case.path("out")).expect("out") {
        let path = entry.expect("an entry").path();
        let name = path.file_name().expect("a name").to_string_lossy().into_owned();
        if path.is_dir() {
            let is_excluded = excluded.contains(&format!("out/{name}").as_str());
            assert_eq!(is_excluded, name != "granite", "{name}");
        }
    }
    let files = &set["spec"]["template"]["spec"]["source"]["helm"]["valueFiles"];
    let expected =
        ["/models/{{.path.basename}}.yaml", "/models/{{.path.basename}}.tier1-minimal.yaml"];
    assert_eq!(files, &serde_json::json!(expected));

    // The chart with an Application is in no other object.
    let application = parse("out/argocd/applications/lamp-operator.yaml");
    let policy = &application["spec"]["syncPolicy"];
    assert_eq!(policy["automated"]["prune"], false);
    let options = policy["syncOptions"].as_array().expect("options");
    assert!(options.contains(&"ServerSideApply=true".into()));
    let ignored = application["spec"]["ignoreDifferences"].as_array().expect("differences");
    assert!(ignored.iter().any(|one| one["kind"] == "Service"));
    assert!(!case.read("out/argocd/applicationset.yaml").contains("lamp-operator"));

    // Argo CD would install any other folder as well.
    case.write("out/notes/notes.yaml", "a: b\n");
    for mode in [["build", "--quiet"], ["build", "--check"]] {
        let seen = run(&case, &mode, 2);
        assert!(seen.stderr.contains("`discover` installs `notes`"), "{}", seen.stderr);
        assert_eq!(seen.stderr.matches("error[").count(), 1, "{}", seen.stderr);
    }
}

#[test]
fn what_cannot_be_discovered_is_refused() {
    let case = models("discover = \"models\"\n", "versioned");
    let seen = run(&case, &["build"], 2);
    assert!(seen.stderr.contains("`discover` requires one directory per chart"), "{}", seen.stderr);
    let own = "[[deploy.argocd.application]]\nchart = \"lamp-operater\"\n";
    let seen = run(&models(own, "flat"), &["build"], 2);
    assert!(seen.stderr.contains("no chart `lamp-operater`"), "{}", seen.stderr);
    assert!(seen.stderr.contains("`lamp-operator`"), "{}", seen.stderr);
}
