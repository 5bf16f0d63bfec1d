//! Real bundles and fixtures, rendered by OLM's own renderer while the test runs.
//!
//! `tests/olm_renderer` is that renderer behind a pipe. Building it the first time takes
//! about four minutes of a processor, Go and a proxy for Go modules.

use crate::command::Case as Folder;
use crate::go;
use crate::lamp::{CRD_FILE, CSV_FILE};
use crate::olm::{Case, NAMESPACE, compile};
use crate::parallel::in_parallel;
use crate::shared::shared;
use bundle2chart::config::{CertificateProvider, PodConfig, Watch};
use bundle2chart::diag::Code;
use serde_json::{Value as Json, json};
use std::collections::BTreeMap;
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};
use walkdir::WalkDir;

const PROGRAM: &str = "olm_renderer";

/// Modules that hold bundles, and that the renderer is built with anyway.
const MODULES: [&str; 2] = [
    "github.com/operator-framework/operator-controller",
    "github.com/operator-framework/operator-registry",
];

/// OLM's renderer, waiting for bundles.
struct Renderer {
    process: Child,
    answers: BufReader<ChildStdout>,
}

impl Renderer {
    fn start(program: &Path) -> Self {
        let mut process = Command::new(program)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("the renderer starts");
        let answers = BufReader::new(process.stdout.take().expect("a pipe"));
        Renderer { process, answers }
    }

    /// The objects of a bundle, or OLM's error.
    fn render(
        &mut self,
        folder: &Path,
        watch: &[&str],
        certificates: &str,
    ) -> Result<Vec<Json>, String> {
        let request = json!({
            "folder": folder, "namespace": NAMESPACE, "watch": watch, "certificates": certificates,
        });
        let stdin = self.process.stdin.as_mut().expect("a pipe");
        writeln!(stdin, "{request}").expect("the renderer reads");
        let mut line = String::new();
        self.answers.read_line(&mut line).expect("the renderer answers");

        match serde_json::from_str(&line).expect("JSON") {
            Json::Object(mut answer) => match (answer.remove("objects"), answer.remove("error")) {
                (_, Some(Json::String(error))) => Err(error),
                (Some(Json::Array(objects)), None) => Ok(objects),
                (objects, _) => panic!("no answer: {objects:?}"),
            },
            other => panic!("no answer: {other}"),
        }
    }
}

impl Drop for Renderer {
    fn drop(&mut self) {
        drop(self.process.stdin.take());
        let _ = self.process.wait();
    }
}

const PROVIDERS: [&str; 2] = ["cert-manager", "service-ca"];

fn unsupported(rendered: &Result<Vec<Json>, String>) -> bool {
    rendered.as_ref().is_err_and(|error| error.contains("invalid target namespaces"))
}

/// Bundles that OLM renders and that are refused here, with the code.
const REFUSED: [(&str, Code); 4] = [
    ("validate/invalid_annotations_bundle", Code::UnsupportedMediaType),
    ("invalid_dependencies_bundle/invalid_gvk_dependency", Code::DependencyInvalid),
    ("invalid_dependencies_bundle/invalid_package_dependency", Code::DependencyInvalid),
    ("negative/two-csv", Code::SeveralCsvs),
];

/// The namespaces that each mode watches, as OLM's renderer takes them and as a configuration does.
fn modes() -> [(&'static str, Vec<&'static str>, Watch); 4] {
    let named =
        |names: &[&str]| Watch::Namespaces(names.iter().map(|name| (*name).to_owned()).collect());
    [
        ("all", vec![""], Watch::All),
        ("own", vec![NAMESPACE], Watch::Own),
        ("single", vec!["watch-a"], named(&["watch-a"])),
        ("multi", vec!["watch-a", "watch-b"], named(&["watch-a", "watch-b"])),
    ]
}

/// Every folder below `root` that holds a bundle, by its path there.
fn bundles(label: &str, root: &Path) -> Vec<(String, PathBuf)> {
    let mut found: Vec<(String, PathBuf)> = WalkDir::new(root)
        .into_iter()
        .map(|entry| entry.expect("an entry").into_path())
        .filter(|path| path.ends_with("metadata/annotations.yaml"))
        .filter_map(|path| Some(path.parent()?.parent()?.to_path_buf()))
        .filter(|folder| folder.join("manifests").is_dir())
        .map(|folder| {
            let name = folder.strip_prefix(root).expect("a path below").display().to_string();
            (format!("{label}/{name}"), folder)
        })
        .collect();
    found.sort();
    found
}

/// The outcome for a bundle in each mode.
struct Outcome {
    lines: Vec<Result<String, String>>,
    used: BTreeMap<&'static str, usize>,
}

fn compare(program: &Path, name: &str, folder: &Path) -> Outcome {
    let mut renderer = Renderer::start(program);
    let refused = REFUSED.iter().find(|(bundle, _)| name.ends_with(bundle)).map(|(_, code)| *code);
    let (mut lines, mut used) = (Vec::new(), BTreeMap::new());
    for (mode, namespaces, watch) in modes() {
        let expected = PROVIDERS.map(|name| renderer.render(folder, &namespaces, name));
        // Modes that a bundle does not support are compared once, in the first one.
        if unsupported(&expected[0]) && lines.len() > 1 {
            continue;
        }
        let same = expected[0] == expected[1];
        for (certificates, expected) in PROVIDERS.into_iter().zip(expected) {
            if same && certificates != PROVIDERS[0] {
                continue;
            }
            let provider = CertificateProvider::named(certificates).expect("a provider");
            let actual = compile(folder, Some(watch.clone()), provider, PodConfig::default());
            let line = Case { mode, expected, actual, refused }.judge(&mut used);
            let label = format!("{name:<60} {mode:<6} {certificates:<12}");
            lines.push(match line {
                Ok(line) => Ok(format!("{label} {line}")),
                Err(line) => Err(format!("{label} {line}")),
            });
        }
    }
    Outcome { lines, used }
}

#[test]
#[ignore = "needs Go 1.26: cargo test --test against_go -- --ignored"]
fn every_bundle_is_what_olm_renders() {
    let program = go::program(PROGRAM);
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/bundles");
    let mut all = bundles("fixtures", &fixtures);
    for module in MODULES {
        let label = module.rsplit('/').next().expect("a name");
        all.extend(bundles(label, &go::module_folder(PROGRAM, module)));
    }
    for name in ["corpus", "olm-goldens"] {
        all.extend(shared(name).iter().flat_map(|folder| bundles(name, folder)));
    }

    let outcomes = in_parallel(&all, |(name, folder)| compare(&program, name, folder));
    let (mut used, mut wrong) = (BTreeMap::<&str, usize>::new(), Vec::new());
    for outcome in outcomes {
        for (name, count) in outcome.used {
            *used.entry(name).or_default() += count;
        }
        for line in outcome.lines {
            match line {
                Ok(line) => println!("{line}"),
                Err(line) => wrong.push(line),
            }
        }
    }
    println!("{used:#?}");
    assert!(wrong.is_empty(), "{} differ:\n{}", wrong.len(), wrong.join("\n"));
}

const WEBHOOK: &str = "  webhookdefinitions:
  - type: ValidatingAdmissionWebhook
    generateName: check.light.example.com
    deploymentName: lamp-operator
    containerPort: 443
    targetPort: 9443
    admissionReviewVersions: [v1]
    sideEffects: None
    rules:
    - {apiGroups: [light.example.com], apiVersions: [v1], operations: [CREATE], resources: [lamps], scop: Namespaced}
";

/// A bundle whose operator has a webhook, with `more` in the spec of its pods.
fn with_webhook(more: &str) -> Folder {
    let folder = Folder::with_lamps();
    let containers = "              containers:\n";
    folder.replace(CSV_FILE, containers, &format!("{more}{containers}"));
    folder.write(CSV_FILE, format!("{}{WEBHOOK}", folder.read(CSV_FILE)));
    folder
}

/// An awkward property of a bundle, and the deviation that it shows.
type Awkward = (&'static str, Option<&'static str>, fn() -> Folder);

/// Bundles that were found to differ, or would if we did otherwise.
const AWKWARD: [Awkward; 7] = [
    ("unknown fields of a CSV and a CRD", Some("no-server-fields"), || {
        let folder = with_webhook("              volumes: [{name: a, secretName: b}]\n");
        folder.replace(
            CSV_FILE,
            "          template:\n",
            "          template:\n            containers: []\n",
        );
        folder.replace(
            CSV_FILE,
            "          verbs: ['*']\n",
            "          verbs: ['*']\n          Verbs: [get]\n",
        );
        folder.replace(CRD_FILE, "  scope:", "  version: v1\n  scope:");
        folder.replace(
            CRD_FILE,
            "        type: object\n",
            "        type: object\n        x-light: on\n        Default: {}\n",
        );
        folder
    }),
    ("unknown fields of a shipped object", Some("unknown-fields"), || {
        let folder = with_webhook("");
        folder.write(
            "bundle/manifests/service.yaml",
            "apiVersion: v1\nkind: Service\nmetadata: {name: lamp, owner: me}\nspec: {ports: [{port: 80, target: 80}]}\n",
        );
        folder
    }),
    ("a volume at the path of a certificate", Some("certificate-paths"), || {
        let folder = with_webhook("              volumes: [{name: own, emptyDir: {}}]\n");
        folder.replace(
            CSV_FILE,
            "                ports:\n",
            "                volumeMounts: [{name: own, mountPath: /tmp/k8s-webhook-server/serving-certs/}]\n                ports:\n",
        );
        folder
    }),
    ("properties", None, || {
        let folder = with_webhook("");
        let properties = "properties:\n- {type: lamp, value: {text: '<a & b>'}}\n";
        folder.write("bundle/metadata/properties.yaml", properties);
        let annotation = r#"[{"more": 1, "value": "<", "type": "light"}]"#;
        folder.replace(
            CSV_FILE,
            "  name: lamp-operator.v1.2.3\n",
            &format!(
                "  name: lamp-operator.v1.2.3\n  annotations:\n    olm.properties: '{annotation}'\n"
            ),
        );
        folder
    }),
    ("no properties", Some("catalog-annotations"), || {
        let folder = with_webhook("");
        folder.write("bundle/metadata/properties.yaml", "properties: []\n");
        folder
    }),
    ("names at the limit of their length", None, || {
        // A Certificate of 57 bytes has an Issuer of 75, and one of 46 has one of 64.
        let folder = with_webhook("");
        let csv = folder.read(CSV_FILE);
        let long = format!("lamp-operator-{}", "x".repeat(19));
        let csv = csv.replace("- name: lamp-operator\n", &format!("- name: {long}\n"));
        let csv =
            csv.replace("deploymentName: lamp-operator\n", &format!("deploymentName: {long}\n"));
        folder.write(CSV_FILE, csv);
        folder
    }),
    ("null and empty fields", Some("no-server-fields"), || {
        let more = "              affinity: {}\n              hostNetwork: false\n              volumes: []\n              nodeSelector: null\n";
        with_webhook(more)
    }),
];

#[test]
#[ignore = "needs Go 1.26: cargo test --test against_go -- --ignored"]
fn awkward_bundles_are_what_olm_renders() {
    let program = go::program(PROGRAM);
    let mut wrong = Vec::new();
    for (name, deviation, folder) in AWKWARD {
        let folder = folder();
        let outcome = compare(&program, name, &folder.path("bundle"));
        wrong.extend(outcome.lines.into_iter().filter_map(Result::err));
        if let Some(deviation) = deviation.filter(|name| !outcome.used.contains_key(name)) {
            wrong.push(format!("{name}: {deviation} is no deviation"));
        }
    }
    assert!(wrong.is_empty(), "{} differ:\n{}", wrong.len(), wrong.join("\n"));
}
