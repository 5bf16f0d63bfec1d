//! Charts of models: they lint and render in the oldest and the newest Helm, to exactly the objects that
//! were compiled; the real CRDs take these objects; and what was committed is what is compiled.

use crate::support::crd_schemas::CrdSchemas;
use crate::support::helm::Helm;
use crate::support::rendered::{documents, object_differences};
use crate::support::serving_examples;
use crate::support::shared;
use bundle2chart::config::serving::profile::{self, Profile};
use bundle2chart::config::{Config, ServingConfig};
use bundle2chart::diag::{Code, Diagnostics, Place, Severity, SourceText, human};
use bundle2chart::ir::Release;
use bundle2chart::output::{self, ChartFiles, Mode};
use bundle2chart::serving::{self, Manifest};
use bundle2chart::{bundle, source};
use serde_json::{Value as Json, json};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;

/// Shapes besides those of the examples, by name.
const SHAPES: &[(&str, &str)] = &[
    ("ray", "topology = \"lws-ray\"\nnodes = 2\ntp = 8\npp = 2\n"),
    ("internal", "topology = \"lws-dp-internal\"\nnodes = 2\ndp = 16\nexpert-parallel = true\n"),
    ("hybrid", "topology = \"lws-dp-hybrid\"\nnodes = 2\ndp = 16\n"),
    ("leaders", "topology = \"lws-mp\"\nnodes = 2\ntp = 16\nprefill = { nodes = 2, tp = 16 }\n"),
    (
        "set",
        "topology = \"lws-dp-external\"\nnodes = 2\ndp = 8\ndisaggregated-set = true\n\
         prefill = { nodes = 2, dp = 8, replicas = 2 }\n",
    ),
    (
        "pd",
        "tp = 2\nprefill = { tp = 1, replicas = 3 }\ndisruption-budget = 1\nnetwork-policy = {}\n",
    ),
    ("old", "api = \"gie-1.4\"\nobjectives = { premium = 100 }\n"),
    ("kserve", "form = \"kserve\"\ntp = 2\nprefill = { tp = 1 }\nroute = { gateway = \"g\" }\n"),
    (
        "pods",
        "tp = 2\nlabels = { team = \"search\" }\nqueue = \"gpu\"\n\
         service-account-annotations = { \"eks.amazonaws.com/role-arn\" = \"arn:aws:iam::1:role/a\" }\n\
         prefill = { topology = \"lws-mp\", nodes = 2, tp = 4 }\n\
         pod = { labels = { zone = \"a\" }, volumes = [{ name = \"tmp\", emptyDir = {} }], \
         volume-mounts = [{ name = \"tmp\", mountPath = \"/tmp\" }], \
         init-containers = [{ name = \"prepare\", image = \"example.com/prepare:1\" }], \
         sidecars = [{ name = \"logs\", image = \"example.com/logs:1\" }], \
         env-from = [{ configMapRef = { name = \"settings\" } }], \
         priority-class = \"inference\", scheduler = \"binpack\", runtime-class = \"nvidia\", \
         topology-spread = [{ maxSkew = 1, topologyKey = \"zone\", whenUnsatisfiable = \"DoNotSchedule\" }], \
         security-context = { fsGroup = 1000 }, host-aliases = [{ ip = \"10.0.0.1\", hostnames = [\"a\"] }], \
         dns-config = { searches = [\"example.com\"] } }\n\
         epp = { pod = { priority-class = \"routing\", labels = { zone = \"a\" } } }\n",
    ),
    (
        "cache",
        "cache = { size = \"200Gi\", storage-class = \"shared\" }\n\
         adapters = [{ name = \"sql\", source = \"hf://example/sql\" }, \
         { name = \"law\", source = \"pvc://adapters/law\" }, { name = \"tax\", source = \"pvc://adapters/tax\" }]\n\
         adapter-rank = 32\ntracing = { endpoint = \"http://collector.observability:4317\" }\n\
         autoscaling = { max = 3, metrics = \"gke\" }\n",
    ),
    ("precise", "tp = 2\nepp = { preset = \"precise-prefix\" }\ncache = { claim = \"hub\" }\n"),
    (
        "claims",
        "tp = 8\naccelerator = { claim-template = \"gpus\", rdma = \"ib\" }\n\
         prefill = { tp = 8 }\ntracing = { endpoint = \"http://otel:4317\", percent = 100 }\n",
    ),
    (
        "precise-pd",
        "prefill = {}\nepp = { preset = \"precise-prefix\" }\n[serving.engine]\n\
         image = \"example.com/vllm:v1\"\nkv-offload = \"64Gi\"\n",
    ),
    (
        "sglang",
        "tp = 2\nmonitoring = {}\nautoscaling = { max = 3 }\ncache = { claim = \"hub\" }\n\
         adapters = [{ name = \"sql\", source = \"hf://example/sql\" }]\n[serving.engine]\n\
         kind = \"sglang\"\nimage = \"lmsysorg/sglang:v0.5.23\"\n",
    ),
    (
        "sglang-mp",
        "topology = \"lws-mp\"\nnodes = 2\ntp = 8\npp = 2\n[serving.engine]\nkind = \"sglang\"\n\
         image = \"lmsysorg/sglang:v0.5.23\"\n",
    ),
    (
        "sglang-pd",
        "topology = \"lws-dp-internal\"\nnodes = 2\ndp = 16\nexpert-parallel = true\n\
         prefill = { topology = \"single\", tp = 8 }\n[serving.engine]\nkind = \"sglang\"\n\
         image = \"lmsysorg/sglang:v0.5.23\"\nkv-offload = \"64Gi\"\n",
    ),
    ("tpu", "tp = 8\naccelerator = { vendor = \"tpu\", tpu = \"v6e\" }\n"),
    (
        "kserve-pods",
        "form = \"kserve\"\nlabels = { team = \"search\" }\nprefill = {}\n\
         pod = { volumes = [{ name = \"tmp\", emptyDir = {} }], priority-class = \"inference\" }\n",
    ),
    (
        "governed",
        "form = \"kserve\"\nroute = { gateway = \"g\" }\n[serving.maas]\nsubscriptions = [{ name = \"all\", \
         groups = [\"system:authenticated\"], token-limits = [{ limit = 1, window = \"1h\" }] }]\n",
    ),
    (
        "everything",
        "tp = 2\ndisruption-budget = 1\nnetwork-policy = { monitoring-namespaces = [\"monitoring\"] }\npull-secret = \"registry\"\n\
         monitoring = { labels = { team = \"models\" } }\nautoscaling = { max = 5 }\n\
         objectives = { premium = 100, batch = -1 }\n\
         rewrites = [{ model = \"old\", targets = [{ model = \"example/model\", weight = 9 }] }]\n\
         epp = { replicas = 2, failure-mode = \"FailClose\", flags = { tracing = true } }\n\
         route = { gateway = \"g\", gateway-class = \"istio\", provider = \"istio\", auth = \"kuadrant\", \
         hosts = [\"a.example.com\"], paths = [\"/v1\", \"/v2\"], model-header = \"X-Model\" }\n",
    ),
];

fn read(name: &str, text: &str, base: &Path) -> Config {
    let source = Arc::new(SourceText { name: name.to_owned(), text: text.to_owned() });
    let mut found = Diagnostics::new();
    let config = Config::parse(&source, base, &mut found);
    config.unwrap_or_else(|| panic!("{}", human::render(&found, false)))
}

fn examples() -> (PathBuf, Vec<ServingConfig>) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/serving");
    let text = std::fs::read_to_string(folder.join("bundles.toml")).expect("the examples");
    let config = read("bundles.toml", &text, &folder);
    (folder, config.servings)
}

fn shapes() -> Vec<ServingConfig> {
    let models = ["hf://example/model", "oci://example.com/model:1", "s3://models/a", "pvc://c/a"];
    let mut text = String::new();
    for (index, (name, table)) in SHAPES.iter().enumerate() {
        // Some keys are for downloaded models only.
        let model = if table.contains("cache") || table.contains("precise") {
            models[0]
        } else {
            models[index % models.len()]
        };
        let engine = if table.contains("[serving.engine]") {
            ""
        } else {
            "engine = { image = \"example.com/vllm:v1\" }\n"
        };
        text.push_str(&format!(
            "[[serving]]\nname = \"{name}\"\nmodel = \"{model}\"\nserved-name = \"example/model\"\n\
             {engine}{table}"
        ));
    }
    read("bundles.toml", &text, Path::new(".")).servings
}

fn all() -> Vec<ServingConfig> {
    examples().1.into_iter().chain(shapes()).collect()
}

/// The objects in this namespace, as an API server would receive them.
fn objects(config: &ServingConfig, namespace: &str) -> Vec<Json> {
    let mut found = Diagnostics::new();
    let unit = serving::compile(config, &mut found);
    let unit = unit.unwrap_or_else(|| panic!("{}", human::render(&found, false)));
    let values = unit.default_values();
    let release = Release { namespace, values: &values };
    unit.objects.iter().filter_map(|object| release.object(object)).collect()
}

fn check(manifests: &[Manifest], profile: &'static Profile) -> Diagnostics {
    let mut found = Diagnostics::new();
    serving::check_manifests(manifests.to_vec(), profile, &mut found);
    found
}

fn manifests(objects: &[Json]) -> Vec<Manifest> {
    objects.iter().map(|json| Manifest { json: json.clone(), place: Place::default() }).collect()
}

/// Writes the chart of each model below `out`.
fn write(configs: &[ServingConfig], out: &Path) -> BTreeMap<String, PathBuf> {
    let charts: Vec<ChartFiles> = configs
        .iter()
        .map(|config| {
            // As `objects`, which the tests compare with it.
            let unpatched = ServingConfig { patches: Vec::new(), ..config.clone() };
            let built = serving::chart(&unpatched, &mut Diagnostics::new());
            let (_, chart) = built.expect("a chart");
            let version = chart.version.to_string();
            ChartFiles { dir: PathBuf::from(&chart.name), version, files: chart.files }
        })
        .collect();
    output::write(out, &charts, None, Mode::Write { replace: false }, &mut Diagnostics::new())
        .expect("an empty folder takes every chart");
    configs.iter().map(|config| (config.name.clone(), out.join(&config.name))).collect()
}

/// The examples whose charts are committed: one that Deployments serve, one of LeaderWorkerSets, and an
/// LLMInferenceService.
const COMMITTED: [&str; 3] = ["qwen3-8b", "deepseek-r1", "llama-70b-kserve"];

#[test]
fn the_committed_examples_are_what_a_build_makes() {
    let run = Command::new(env!("CARGO_BIN_EXE_bundle2chart"))
        .args(["--config", "examples/serving/bundles.toml", "--quiet", "build", "--check"])
        .args(COMMITTED)
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .output()
        .expect("bundle2chart runs");
    let words =
        String::from_utf8_lossy(&run.stdout).into_owned() + &String::from_utf8_lossy(&run.stderr);
    assert!(
        run.status.code() == Some(0),
        "run `cargo run -- -c examples/serving/bundles.toml build --replace {}`\n{words}",
        COMMITTED.join(" ")
    );
}

/// The charts that are not committed keep their bytes, too. `.bundle2chart` has the digests of a chart's
/// files, so that its own digest is that of the chart.
#[test]
fn the_other_examples_keep_their_bytes() {
    let names = examples().1.into_iter().map(|config| config.name);
    let others = names.filter(|name| !COMMITTED.contains(&name.as_str()));
    let digests: BTreeMap<String, String> = others
        .map(|name| {
            let list = serving_examples::charts().join(&name).join("0.1.0/.bundle2chart");
            let list = std::fs::read(list).expect("a list of files");
            (name, source::sha256(&list))
        })
        .collect();
    insta::assert_debug_snapshot!(digests);
}

#[test]
fn helm_takes_the_charts() {
    let out = tempfile::tempdir().expect("a folder");
    let configs = all();
    let folders = write(&configs, out.path());
    for config in &configs {
        Helm::newest().lint(&folders[&config.name], &["--kube-version", "1.35.0"]).expect_success();
    }
    for helm in Helm::oldest_too_in_ci() {
        for config in &configs {
            let folder = &folders[&config.name];
            let more = ["--kube-version", "1.35.0"];
            let text = helm.template("release", folder, "elsewhere", &more).expect_success();
            let found = documents(&text);
            let expected = objects(config, "elsewhere");
            let differences = object_differences(&expected, &found);
            assert!(differences.is_empty(), "{} {}: {differences:?}", helm.version, config.name);
        }
    }
}

#[test]
fn values_change_what_they_say_and_nothing_of_the_topology() {
    let out = tempfile::tempdir().expect("a folder");
    let (_, configs) = examples();
    let folders = write(&configs, out.path());
    let helm = Helm::newest();
    let folder = &folders["deepseek-r1"];
    let more = [
        "--set",
        "decode.replicas=3,image=example.com/vllm:v2,pullSecrets[0].name=mine",
        "--set",
        "decode.resources.limits.memory=2Ti,prefill.nodeSelector.rack=one",
    ];
    let text = helm.template("release", folder, "models", &more).expect_success();
    let found = documents(&text);
    let of = |name: &str| {
        let is = |object: &&Json| {
            object["metadata"]["name"] == name && object["kind"] == "LeaderWorkerSet"
        };
        found.iter().find(is).expect("a set").clone()
    };
    let decode = of("deepseek-r1-decode");
    assert_eq!(decode["spec"]["replicas"], 3);
    let pod = &decode["spec"]["leaderWorkerTemplate"]["workerTemplate"]["spec"];
    assert_eq!(pod["containers"][0]["image"], "example.com/vllm:v2");
    assert_eq!(pod["containers"][0]["resources"]["limits"]["memory"], "2Ti");
    assert_eq!(pod["containers"][0]["resources"]["limits"]["nvidia.com/gpu"], 8);
    assert_eq!(pod["imagePullSecrets"][0]["name"], "mine");
    let prefill = of("deepseek-r1-prefill");
    assert_eq!(
        prefill["spec"]["leaderWorkerTemplate"]["workerTemplate"]["spec"]["nodeSelector"]["rack"],
        "one"
    );
    let checked = check(&manifests(&found), profile::newest());
    assert!(!checked.has_errors(), "{}", human::render(&checked, false));
    for bad in [
        "decode.nodes=3",
        "decode.replicas=many",
        "epp.replicas=2",
        "tp=4",
        "decode.resources.limits.nvidia\\.com/gpu=4",
        "image=",
    ] {
        let run = helm.template("release", folder, "models", &["--set", bad]);
        assert!(!run.success, "{bad} is taken");
    }
}

/// A model behind a Gateway that asks for a token.
const ROUTED: &str = r#"
[defaults]
maintainers = [{ name = "platform", email = "platform@example.com" }]

[[serving]]
name = "chat"
model = "hf://example/model"
engine = { image = "example.com/vllm:v1" }
pod = { security-context = { fsGroup = 2000 } }

[serving.route]
gateway = "inference"
gateway-namespace = "gateways"
provider = "istio"
hosts = ["chat.example.com"]
auth = "kuadrant"
"#;

/// The objects of a chart in Helm.
fn template(folder: &Path, more: &[&str]) -> Vec<Json> {
    let more = [&["--kube-version", "1.35.0"], more].concat();
    documents(&Helm::newest().template("release", folder, "models", &more).expect_success())
}

#[test]
fn charts_of_models_name_maintainers_and_images() {
    let configs = read("bundles.toml", ROUTED, Path::new(".")).servings;
    let out = tempfile::tempdir().expect("a folder");
    let folder = &write(&configs, out.path())["chat"];
    let text = std::fs::read_to_string(folder.join("Chart.yaml")).expect("Chart.yaml");
    let chart: Json = serde_yaml::from_str(&text).expect("YAML");
    let maintainer = json!([{"name": "platform", "email": "platform@example.com"}]);
    assert_eq!(chart["maintainers"], maintainer);
    let images = chart["annotations"]["artifacthub.io/images"].as_str().expect("images");
    assert!(images.contains("image: example.com/vllm:v1"), "{images}");
}

#[test]
fn security_contexts_of_models_are_values() {
    let configs = read("bundles.toml", ROUTED, Path::new(".")).servings;
    let out = tempfile::tempdir().expect("a folder");
    let folder = &write(&configs, out.path())["chat"];
    let pod = |objects: &[Json]| -> Json {
        let is = |object: &&Json| object["metadata"]["name"] == "chat-decode";
        let found = objects.iter().find(is).expect("a Deployment");
        found["spec"]["template"]["spec"].clone()
    };
    let plain = pod(&template(folder, &[]));
    assert_eq!(plain["securityContext"], json!({"fsGroup": 2000}));
    let container = &plain["containers"][0];
    assert_eq!(container["securityContext"]["allowPrivilegeEscalation"], false);

    let name = container["name"].as_str().expect("a name");
    let of_container = format!("decode.securityContext.{name}.readOnlyRootFilesystem=true");
    let of_pods = "decode.podSecurityContext.runAsUser=7,epp.podSecurityContext.runAsUser=8";
    let changed = pod(&template(folder, &["--set", of_pods, "--set", &of_container]));
    assert_eq!(changed["securityContext"], json!({"fsGroup": 2000, "runAsUser": 7}));
    let container = &changed["containers"][0]["securityContext"];
    assert_eq!(container["readOnlyRootFilesystem"], true);
    assert_eq!(container["allowPrivilegeEscalation"], false);
}

/// A chart's README asks for a request through the Gateway, with the host and the token of the route.
#[test]
fn the_request_of_a_readme_matches_the_route() {
    let configs = read("bundles.toml", ROUTED, Path::new(".")).servings;
    let out = tempfile::tempdir().expect("a folder");
    let readme = write(&configs, out.path())["chat"].join("README.md");
    let readme = std::fs::read_to_string(readme).expect("a README");
    for expected in [
        "kubectl --namespace gateways get gateway inference ",
        "create token default --audience chat)",
        "curl \"http://$ADDRESS/v1/completions\"",
        " -H 'Host: chat.example.com'",
        " -H \"Authorization: Bearer $TOKEN\"",
    ] {
        assert!(readme.contains(expected), "{expected}: {readme}");
    }
}

#[test]
fn the_real_schemas_take_the_objects() {
    let Some(folder) = shared::shared("serving/crds") else { return };
    let crds = CrdSchemas::read(&folder);
    let mut checked = 0;
    for config in all() {
        for object in objects(&config, "models") {
            let label =
                format!("{}: {}/{}", config.name, object["kind"], object["metadata"]["name"]);
            if let Some(problems) = crds.problems(&object) {
                assert!(problems.is_empty(), "{label}: {problems:#?}");
                checked += 1;
            }
        }
    }
    assert!(checked > 30, "only {checked} custom objects");
}

/// The schemas refuse wrong objects.
#[test]
fn the_real_schemas_refuse_what_is_wrong() {
    let Some(folder) = shared::shared("serving/crds") else { return };
    let crds = CrdSchemas::read(&folder);
    let (_, configs) = examples();
    let all = objects(&configs[3], "models");
    let set = all.iter().find(|object| object["kind"] == "LeaderWorkerSet").expect("a set");
    for (pointer, value) in [
        ("/spec/startupPolicy", Json::from("Whenever")),
        ("/spec/leaderWorkerTemplate/size", Json::from("two")),
        ("/spec/leaderWorkerTemplate/workerTemplate/spec/containerz", Json::from("x")),
    ] {
        let mut broken = set.clone();
        let (parent, key) = pointer.rsplit_once('/').expect("a pointer");
        broken.pointer_mut(parent).expect("a parent")[key] = value;
        assert!(!crds.problems(&broken).expect("a schema").is_empty(), "{pointer}");
    }
}

#[test]
fn our_charts_pass_our_own_check() {
    for config in all() {
        let manifests = manifests(&objects(&config, "models"));
        let found: Vec<_> = check(&manifests, config.profile)
            .into_iter()
            .filter(|d| d.severity == Severity::Error)
            .collect();
        assert!(found.is_empty(), "{}: {found:#?}", config.name);
    }
}

/// Published manifests: what must be found, and nothing else that is an error.
#[test]
fn published_manifests() {
    let Some(folder) = shared::shared("serving/manifests") else { return };
    let not_pinned = Code::ImageNotPinned.as_str();
    let deprecated = Code::ServingDeprecated.as_str();
    // Errors with a part of the message, and codes of warnings.
    type Expected<'e> = (&'e str, &'e [(&'e str, &'e str)], &'e [&'e str]);
    let cases: &[Expected<'_>] = &[
        ("baseline-vllm", &[], &[not_pinned]),
        ("baseline-sglang", &[], &[not_pinned]),
        ("baseline-tpu", &[], &[not_pinned]),
        (
            "wide-ep-hybrid",
            &[
                (
                    "serving-pool-ports",
                    "port 8001–8007 of the pods of LeaderWorkerSet/wide-ep-lws-nvidia-gpu-vllm-deepseek-v4-decode",
                ),
                (
                    "serving-pool-ports",
                    "port 8001–8007 of the pods of LeaderWorkerSet/wide-ep-lws-nvidia-gpu-vllm-deepseek-v4-prefill",
                ),
            ],
            &[not_pinned, deprecated],
        ),
        ("precise-prefix-cpu", &[("serving-model", "Qwen/Qwen3-32B")], &[not_pinned]),
        ("e-pd", &[], &[not_pinned, deprecated, "serving-image", "serving-pod"]),
        (
            "e-pd-wrong-router",
            &[("serving-roles", "prefill-filter")],
            &[not_pinned, deprecated, "serving-image", "serving-pod"],
        ),
        (
            "pd-recipe",
            &[
                ("serving-image", "REPLACE_ROUTING_SIDECAR_IMAGE"),
                ("serving-image", "REPLACE_MODEL_SERVER_IMAGE"),
                ("serving-image", "REPLACE_MODEL_SERVER_IMAGE"),
            ],
            &[deprecated],
        ),
    ];
    for (name, errors, warnings) in cases {
        let path = folder.join(name);
        let limits = source::Limits::default();
        let mut found = Diagnostics::new();
        let files = source::manifests(path.to_str().expect("UTF-8"), &limits, &mut found);
        assert!(found.is_empty() && !files.is_empty(), "{name}");
        let mut manifests = Vec::new();
        for (file, bytes) in files {
            let objects = bundle::manifests(&file, &bytes, &mut found);
            assert!(!found.has_errors(), "{name}: {found:?}");
            let values = Json::Null;
            let release = Release { namespace: "", values: &values };
            manifests.extend(objects.iter().map(|object| Manifest {
                json: release.object(object).expect("an object"),
                place: object.place(),
            }));
        }
        let found = check(&manifests, profile::newest());
        let shown = human::render(&found, false);
        let of = |severity: Severity| found.iter().filter(move |d| d.severity == severity);
        let mut left: Vec<_> = of(Severity::Error).collect();
        for (code, says) in *errors {
            let at = left.iter().position(|d| d.code.as_str() == *code && d.message.contains(says));
            left.remove(at.unwrap_or_else(|| panic!("{name}: no {code} with {says}\n{shown}")));
        }
        assert!(left.is_empty(), "{name}\n{shown}");
        let mut codes: Vec<&str> = of(Severity::Warning).map(|d| d.code.as_str()).collect();
        codes.sort_unstable();
        codes.dedup();
        assert_eq!(&codes, warnings, "{name}\n{shown}");
    }
}

/// The scripts of groups, run by a shell with stand-ins for the programs: what each pod of a group
/// starts in the end, and after what.
#[test]
fn scripts_start_what_they_should() {
    let folder = tempfile::tempdir().expect("a folder");
    let bin = folder.path();
    let write = |name: &str, text: &str| {
        let path = bin.join(name);
        std::fs::write(&path, format!("#!/bin/bash\n{text}\n")).expect("a program");
        let mut mode = std::fs::metadata(&path).expect("a file").permissions();
        std::os::unix::fs::PermissionsExt::set_mode(&mut mode, 0o755);
        std::fs::set_permissions(&path, mode).expect("a mode");
    };
    // The first attempts fail, as while a pod comes up.
    let late =
        |says: &str| format!("echo \"{says}\" >> $LOG\n[ \"$(grep -c \"^{says}\" $LOG)\" -ge 3 ]");
    write("getent", &late("getent $2"));
    let server = "if [ \"$1\" = -m ]; then echo \"python3 $*\" >> $LOG; exit 0; fi";
    write("python3", &format!("{server}\n{}", late("python3 ${!#}")));
    write("sleep", "exit 0");
    write("ray", "echo \"ray $*\" >> $LOG");
    write("vllm", "echo \"vllm $*\" >> $LOG");
    let mut shown = String::new();
    for config in all() {
        for object in objects(&config, "models") {
            let Some(parts) = object.pointer("/spec/leaderWorkerTemplate") else { continue };
            let worker = &parts["workerTemplate"];
            let leader = parts.get("leaderTemplate").unwrap_or(worker);
            for (index, template) in [(0, leader), (1, worker)] {
                let container = &template["spec"]["containers"][0];
                let words = ["command", "args"].iter().flat_map(|key| {
                    container[*key]
                        .as_array()
                        .into_iter()
                        .flatten()
                        .map(|word| word.as_str().expect("a text"))
                });
                let words: Vec<&str> = words.collect();
                let log = bin.join("log");
                let _ = std::fs::remove_file(&log);
                let path = format!("{}:/usr/bin:/bin", bin.display());
                let run = Command::new(words[0])
                    .args(&words[1..])
                    .env_clear()
                    .env("PATH", path)
                    .env("LOG", &log)
                    .env("LWS_LEADER_ADDRESS", "leader.models")
                    .env("LWS_WORKER_INDEX", index.to_string())
                    .env("LWS_GROUP_SIZE", "2")
                    .env("VLLM_HOST_IP", format!("10.0.0.{index}"))
                    .env("HOST_IP", format!("fd00::{index}"))
                    .output()
                    .expect("a shell");
                assert!(run.status.success(), "{}: {run:?}", config.name);
                let name = object["metadata"]["name"].as_str().expect("a name");
                let log = std::fs::read_to_string(&log).expect("a log");
                shown.push_str(&format!("{name}, pod {index}\n{log}\n"));
            }
        }
    }
    insta::assert_snapshot!(shown);
}
