//! A project of one bundle that is built from a registry, with its own cache and credentials.

use crate::support::command::{Case, Seen};
use crate::support::image::{Compression, Image, Layer, Layout, digest};
use base64::Engine as _;
use std::collections::BTreeMap;
use std::path::PathBuf;
use walkdir::WalkDir;

pub(crate) const USER: &str = "canary";
pub(crate) const PASSWORD: &str = "canary-password-4711";
pub(crate) const REPOSITORY: &str = "lamps/bundle";

/// The files of an image layout with one small bundle, named `lamps/bundle:1.0.0`.
pub(crate) fn lamp() -> BTreeMap<String, Vec<u8>> {
    lamp_of(CSV)
}

/// The same with another CSV.
pub(crate) fn lamp_of(csv: &str) -> BTreeMap<String, Vec<u8>> {
    let mut layer = Layer::new();
    layer.folder("manifests").folder("metadata");
    layer.file("manifests/csv.yaml", csv.as_bytes());
    layer.file("metadata/annotations.yaml", ANNOTATIONS.as_bytes());
    // Does not compress, so that the blob has a size worth breaking off.
    let noise: Vec<u8> =
        (0..200_000_u32).map(|n| (n.wrapping_mul(2_654_435_761) >> 13).to_le_bytes()[0]).collect();
    layer.file("noise", &noise);
    let image = Image {
        architecture: "amd64",
        labels: BTreeMap::new(),
        layers: vec![(Compression::Gzip, layer.into_tar())],
    };
    let mut layout = Layout::default();
    layout.image("lamps/bundle:1.0.0", &image);
    layout.into_files()
}

pub(crate) const CSV: &str = "
apiVersion: operators.coreos.com/v1alpha1
kind: ClusterServiceVersion
metadata: {name: lamp-operator.v1.0.0}
spec:
  version: 1.0.0
  installModes: [{type: AllNamespaces, supported: true}]
  install:
    strategy: deployment
    spec:
      deployments:
      - name: lamp-operator
        spec:
          selector: {matchLabels: {app: lamp}}
          template:
            metadata: {labels: {app: lamp}}
            spec:
              serviceAccountName: lamp-operator
              containers:
              - name: lamp
                image: registry.example.com/lamps/lamp@sha256:0000000000000000000000000000000000000000000000000000000000000000
";
const ANNOTATIONS: &str = "
annotations:
  operators.operatorframework.io.bundle.mediatype.v1: registry+v1
  operators.operatorframework.io.bundle.manifests.v1: manifests/
  operators.operatorframework.io.bundle.metadata.v1: metadata/
  operators.operatorframework.io.bundle.package.v1: lamp-operator
";

/// A folder to run in.
pub(crate) struct Project {
    pub(crate) case: Case,
}

impl Project {
    /// `lamps/bundle:1.0.0` from a registry at `host`. The time limit is one that a busy machine
    /// keeps too.
    pub(crate) fn new(host: &str) -> Self {
        let case = Case::new();
        case.write(
            "bundles.toml",
            format!(
                "[network]\nretries = 2\ntimeout = 30\n\n[[bundle]]\nname = \"lamp-operator\"\n\
                 image = \"{host}/{REPOSITORY}:1.0.0\"\n"
            ),
        );
        Project { case }
    }

    /// Gives up on a registry after one second.
    pub(crate) fn set_short_timeout(&self) {
        self.case.replace("bundles.toml", "timeout = 30", "timeout = 1");
    }

    pub(crate) fn add(&self, toml: &str) {
        let text = self.case.read("bundles.toml");
        self.case.write("bundles.toml", format!("{text}\n{toml}"));
    }

    /// Leaves a password where `podman login` would.
    pub(crate) fn log_in(&self, host: &str, password: &str) {
        let pair = base64::engine::general_purpose::STANDARD.encode(format!("{USER}:{password}"));
        self.case.write(
            "auth.json",
            serde_json::json!({ "auths": { host: { "auth": pair } } }).to_string(),
        );
    }

    pub(crate) fn run(&self, arguments: &[&str]) -> Seen {
        self.run_with(arguments, &[])
    }

    /// The same with more variables.
    pub(crate) fn run_with(&self, arguments: &[&str], more: &[(&'static str, &str)]) -> Seen {
        let mut environment = self.environment();
        environment.extend(more.iter().map(|(name, value)| (*name, (*value).to_owned())));
        let borrowed: Vec<(&str, &str)> =
            environment.iter().map(|(name, value)| (*name, value.as_str())).collect();
        self.case.shell("exec \"$0\" \"$@\"", arguments, &borrowed)
    }

    /// Nothing of the machine's user: no credentials, no proxy, a cache of its own.
    pub(crate) fn environment(&self) -> Vec<(&'static str, String)> {
        let path = |name: &str| self.case.path(name).to_str().expect("UTF-8").to_owned();
        let mut environment = vec![
            ("HOME", path("home")),
            ("BUNDLE2CHART_CACHE", path("cache")),
            ("XDG_RUNTIME_DIR", path("none")),
            ("XDG_CONFIG_HOME", path("none")),
            ("DOCKER_CONFIG", path("none")),
        ];
        if self.case.path("auth.json").exists() {
            environment.push(("REGISTRY_AUTH_FILE", path("auth.json")));
        }
        for name in ["ALL_PROXY", "HTTPS_PROXY", "HTTP_PROXY", "https_proxy", "http_proxy"] {
            environment.push((name, String::new()));
        }
        environment
    }

    /// Files below a folder by relative path.
    pub(crate) fn files(&self, folder: &str) -> BTreeMap<PathBuf, Vec<u8>> {
        let root = self.case.path(folder);
        WalkDir::new(&root)
            .into_iter()
            .filter_map(Result::ok)
            .filter(|entry| entry.file_type().is_file())
            .filter_map(|entry| {
                let path = entry.path().strip_prefix(&root).expect("below it").to_owned();
                match std::fs::read(entry.path()) {
                    // A running download moved it in between.
                    Err(error) if error.kind() == std::io::ErrorKind::NotFound => None,
                    read => Some((path, read.expect("a file"))),
                }
            })
            .collect()
    }

    /// Every blob in the cache is what its name says, and nothing else is there.
    pub(crate) fn assert_cache_is_sound(&self) {
        for (path, bytes) in self.files("cache") {
            let name = path.to_str().expect("UTF-8");
            let expected = format!("blobs/{}", digest(&bytes).replace(':', "/"));
            assert_eq!(name, expected, "in the cache");
        }
    }

    /// Neither the password nor a token is in anything that was printed or written, but for the
    /// file that it came from.
    pub(crate) fn assert_no_secret(&self, seen: &[&Seen], secrets: &[&str]) {
        let encoded =
            base64::engine::general_purpose::STANDARD.encode(format!("{USER}:{PASSWORD}"));
        let mut needles: Vec<&str> = secrets.to_vec();
        needles.extend([PASSWORD, encoded.as_str()]);
        for needle in needles {
            for seen in seen {
                assert!(!seen.stdout.contains(needle), "{}", seen.stdout);
                assert!(!seen.stderr.contains(needle), "{}", seen.stderr);
            }
            for (path, bytes) in self.files("") {
                let text = String::from_utf8_lossy(&bytes);
                let is_source = path.ends_with("auth.json") || path.starts_with("home");
                assert!(is_source || !text.contains(needle), "{}", path.display());
            }
        }
    }
}

/// The run went well, and gave the chart.
#[track_caller]
pub(crate) fn assert_built(project: &Project, seen: &Seen) {
    assert_eq!(seen.code, Some(0), "{}", seen.stderr);
    assert!(project.case.path("out/lamp-operator/1.0.0/Chart.yaml").is_file());
    project.assert_cache_is_sound();
}

/// The run failed with a diagnostic of this code that has these words, and left nothing behind.
#[track_caller]
pub(crate) fn assert_refused(project: &Project, seen: &Seen, code: &str, words: &[&str]) {
    assert_eq!(seen.code, Some(2), "{}\n{}", seen.stdout, seen.stderr);
    let text = &seen.stderr;
    assert!(text.contains(&format!("error[{code}]")), "{code}: {text}");
    for word in words {
        assert!(text.contains(word), "{word:?} is not in\n{text}");
    }
    assert!(text.contains("hint: "), "{text}");
    assert!(!project.case.path("out").exists());
    assert!(!project.case.path("bundles.lock").exists());
    project.assert_cache_is_sound();
}
