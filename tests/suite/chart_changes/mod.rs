//! Real Helm judges what `diff`, `verify` and `package` report about charts that somebody changed.
//!
//! A change is made to a chart of out/, as a directory (`directory`) and as a package (`package`).
//! `diff` must report objects exactly if `helm template --include-crds` writes other objects, and
//! `verify` and `package` must refuse each change of a file of the package.

mod directory;
mod package;

use crate::support::command::{Case, Seen};
use crate::support::helm::{Helm, Run};
use serde::Deserialize as _;
use serde_json::Value as Json;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// The charts that are changed: with CRDs in a subchart's templates and in `crds/`, tests, hooks and
/// named templates.
const CHARTS: [&str; 5] = [
    "pod-group-operator/1.0.0",
    "toll-bridge-operator/0.3.0",
    "pod-group-operator-crds/1.0.0",
    "sealing-wax-operator/1.1.0",
    "awkward-operator/0.1.0-fixture.1",
];

/// An object that no chart has.
const BINDING: &str = "\
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata:
  name: evil
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: cluster-admin}
subjects: []
";

/// Content of a file by its name in bytes.
type Files = BTreeMap<Vec<u8>, Vec<u8>>;

/// Pseudo-random choices, the same in every run.
struct Random(u64);

impl Random {
    fn below(&mut self, end: usize) -> usize {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.0 >> 33).expect("31 bits") % end.max(1)
    }

    /// Chooses the name of a file.
    fn name(&mut self, files: &Files, fits: impl Fn(&str) -> bool) -> Option<Vec<u8>> {
        let is_fit = |name: &&Vec<u8>| str::from_utf8(name).is_ok_and(&fits);
        let names: Vec<&Vec<u8>> = files.keys().filter(is_fit).collect();
        names.get(self.below(names.len())).map(|name| (*name).clone())
    }
}

/// The result of rendering a chart with Helm.
#[derive(Debug, PartialEq)]
enum Truth {
    /// Its objects, in any order.
    Objects(Vec<String>),
    /// Helm cannot render it, or not to objects.
    Refused,
}

impl Truth {
    fn of(helm: &Helm, chart: &Path) -> Self {
        let Run { success, stdout, .. } = helm.template(
            "release-name",
            chart,
            "release-namespace",
            &["--skip-schema-validation"],
        );
        if !success {
            return Truth::Refused;
        }
        let documents = serde_yaml::Deserializer::from_str(&stdout).map(Json::deserialize);
        let Ok(documents) = documents.collect::<Result<Vec<Json>, _>>() else {
            return Truth::Refused;
        };
        let objects = || documents.iter().filter(|object| !object.is_null());
        let is_object =
            |object: &Json| object["apiVersion"].is_string() && object["kind"].is_string();
        if !objects().all(is_object) {
            return Truth::Refused;
        }
        let mut objects: Vec<String> = objects().map(ToString::to_string).collect();
        objects.sort();
        Truth::Objects(objects)
    }
}

/// A project with the charts of this repository in out/, and Helm as the only `helm`.
struct Project {
    case: Case,
    helm: Helm,
}

impl Project {
    fn new(helm: Helm) -> Self {
        let case = Case::new();
        case.link_fixtures();
        let root = Path::new(env!("CARGO_MANIFEST_DIR"));
        for file in ["bundles.toml", "bundles.lock"] {
            case.write(file, std::fs::read(root.join(file)).expect("a file"));
        }
        std::fs::create_dir(case.path("bin")).expect("a directory");
        std::os::unix::fs::symlink(&helm.path, case.path("bin/helm")).expect("a link");
        Project { case, helm }
    }

    fn run(&self, arguments: &[&str]) -> Seen {
        let path = format!("{}:/usr/bin:/bin", self.case.path("bin").display());
        self.case.run_with(arguments, &[("PATH", &path)])
    }

    fn path(&self, path: &str) -> PathBuf {
        self.case.path(path)
    }

    /// Holds what `diff` reports against the truth. `refused` is the code of the error about a chart that
    /// other programs read differently.
    fn check_diff(
        &self,
        shown: &str,
        [old, new]: [&str; 2],
        truth: [&Truth; 2],
        refused: Option<&str>,
    ) {
        let seen = self.run(&["diff", old, new, "--format", "json"]);
        let version = self.helm.version;
        if let Some(code) = refused {
            let is_named = seen.stderr.contains(&format!("error[{code}]"));
            assert!(seen.code == Some(2) && is_named, "Helm {version}, {shown}: {}", seen.text());
            return;
        }
        if truth[1] == &Truth::Refused {
            assert_eq!(seen.code, Some(2), "Helm {version} refuses {shown}: {}", seen.text());
            return;
        }
        assert_eq!(seen.code, Some(0), "Helm {version}, {shown}: {}", seen.text());
        let report: Json = serde_json::from_str(&seen.stdout).expect("JSON");
        let objects = report["objects"].as_array().expect("objects");
        let reports = objects.iter().any(|object| object["id"]["group"] != "bundle2chart");
        assert_eq!(reports, truth[0] != truth[1], "Helm {version}, {shown}: {}", seen.stdout);
    }
}

/// Returns the files of a chart in the out/ of this repository.
fn original(chart: &str) -> Files {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("out").join(chart);
    let entries = walkdir::WalkDir::new(&root).into_iter().map(|entry| entry.expect("an entry"));
    let files = entries.filter(|entry| entry.file_type().is_file());
    files
        .map(|entry| {
            let name = entry.path().strip_prefix(&root).expect("inside");
            let name = name.as_os_str().as_encoded_bytes().to_vec();
            (name, std::fs::read(entry.path()).expect("a file"))
        })
        .collect()
}

/// Replaces text in a file.
fn replace(files: &mut Files, name: &[u8], from: &str, to: &str) {
    let content = files.get_mut(name).expect("the file");
    let text = str::from_utf8(content).expect("UTF-8");
    assert!(text.contains(from), "{from} in {}", name.escape_ascii());
    *content = text.replace(from, to).into_bytes();
}
