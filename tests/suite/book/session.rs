//! A directory in which the commands of a page are run, with the programs that a reader has:
//! bundle2chart, Helm, Git and those of every shell.

use super::loopback::Loopback;
use super::root;
use crate::catalog::outdated;
use crate::support::command::Case;
use crate::support::helm::Helm;
use crate::support::shared::shared;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Helm without a cluster: `install` says what it would create. A release that is pending in a dry
/// run is deployed in a cluster (`book::the_first_chart_installs_on_a_real_cluster`).
const HELM: &str = r#"#!/bin/bash
[ "$1" = install ] || exec HELM "$@"
set -o pipefail
shift
HELM install --dry-run=client "$@" | sed -e '/^HOOKS:/,/^NOTES:/{/^NOTES:/!d}' \
  -e 's/^STATUS: pending-install/STATUS: deployed/' \
  -e 's/^DESCRIPTION: Dry run complete/DESCRIPTION: Install complete/'
"#;

/// Cargo for a program that is compiled already.
const CARGO: &str = r#"#!/bin/bash
[ "$1 $2 $3" = "run --release --" ] || exit 1
shift 3
echo "    Finished \`release\` profile [optimized] target(s) in 0.00s" >&2
exec bundle2chart "$@"
"#;

/// A bundle that needs another one.
const DEPENDENCIES: &str = "\
dependencies:
- type: olm.package
  value: {packageName: socket-operator, version: '>=1.0.0 <2.0.0'}
";

/// A shell in a directory of its own.
pub(super) struct Session {
    case: Case,
    /// Programs, the home directory and the cache.
    tools: tempfile::TempDir,
    registry: Option<Loopback>,
    /// The kubeconfig of a cluster; without one, Helm installs in dry runs.
    kubeconfig: Option<PathBuf>,
}

impl Session {
    /// Starts a session of a kind, on a cluster if there is one; `None` without the shared test data
    /// that it needs.
    ///
    /// # Panics
    /// If there is no such kind.
    pub(super) fn start(kind: &str, kubeconfig: Option<&Path>) -> Option<Self> {
        let mut registry = None;
        let case = match kind {
            "an empty directory" => Case::new(),
            // The commands of the page are all there is: the proxy, the CA and the login are those
            // of the machine.
            "a new repository" => {
                registry = Some(Loopback::start());
                Case::new()
            }
            "a new repository and a public bundle" => {
                let package = shared("corpus/cloudnative-pg")?;
                registry.insert(Loopback::start()).publish(&package);
                Case::new()
            }
            "a directory with fixtures/" => {
                let case = Case::new();
                case.link_fixtures();
                case
            }
            "a clone of this repository" => clone(),
            "a clone of this repository with its charts" => clone_with_charts(),
            "charts of two versions" => two_versions(),
            "a catalog with newer versions" => outdated::outdated(),
            "a bundle with a dependency" => {
                let case = Case::with_lamps();
                case.write("bundle/metadata/dependencies.yaml", DEPENDENCIES);
                case
            }
            _ => panic!("tests/suite/book/session.rs has no session `{kind}`"),
        };
        let tools = tempfile::tempdir().expect("a directory");
        let session = Session { case, tools, registry, kubeconfig: kubeconfig.map(Path::to_owned) };
        session.install();
        if session.registry.is_some() {
            session.run("git init --quiet");
        }
        Some(session)
    }

    /// Makes something happen that is not a command of the page.
    ///
    /// # Panics
    /// If there is no such step.
    pub(super) fn step(&mut self, name: &str) {
        match (name, &self.registry) {
            ("version 1.1.0 is released", Some(registry)) => registry.release("1.1.0"),
            _ => panic!("tests/suite/book/session.rs has no step `{name}` here"),
        }
    }

    /// Writes a file that the page shows.
    pub(super) fn write(&self, path: &str, content: &str) {
        self.case.write(path, content);
    }

    /// Puts the programs in the first directory of PATH.
    fn install(&self) {
        let programs = self.tools.path().join("bin");
        fs::create_dir(&programs).expect("a directory");
        let program = env!("CARGO_BIN_EXE_bundle2chart");
        std::os::unix::fs::symlink(program, programs.join("bundle2chart")).expect("a link");

        let script = |name: &str, text: &str| {
            let path = programs.join(name);
            fs::write(&path, text).expect("a script");
            let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
            fs::set_permissions(path, mode).expect("an executable script");
        };
        script("cargo", CARGO);

        let real = Helm::newest().path;
        let helm = programs.join("helm");
        if self.kubeconfig.is_some() {
            std::os::unix::fs::symlink(real, helm).expect("a link");
            return;
        }
        script("helm", &HELM.replace("HELM", &real.display().to_string()));
    }

    /// Runs a command, and returns what it prints to both streams, in the order of a terminal.
    ///
    /// # Panics
    /// If a command fails without an error, or succeeds with one.
    pub(super) fn run(&self, command: &str) -> String {
        let tools = |name: &str| self.tools.path().join(name).display().to_string();
        let no_cluster = || PathBuf::from(tools("no-cluster"));
        let kubeconfig = self.kubeconfig.clone().unwrap_or_else(no_cluster);
        let printed = tempfile::NamedTempFile::new().expect("a file");
        let stream = || Stdio::from(printed.reopen().expect("a file"));
        // Both append: they share one file, but not its position.
        let script = format!("exec >>{0} 2>&1\n{command}", printed.path().display());
        let mut shell = Command::new("timeout");
        shell
            .args(["120", "bash", "-c", &script])
            .current_dir(self.case.path("."))
            .stdin(Stdio::null())
            .stderr(stream())
            .env("PATH", format!("{}:{}", tools("bin"), std::env::var("PATH").expect("PATH")))
            .env("HOME", tools("home"))
            .env("XDG_RUNTIME_DIR", tools("none"))
            .env("BUNDLE2CHART_CACHE", tools("cache"))
            .env("KUBECONFIG", kubeconfig)
            .env("COLUMNS", "100")
            .env_remove("NO_COLOR")
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .env("GIT_CONFIG_COUNT", "3")
            .envs([("GIT_CONFIG_KEY_0", "user.name"), ("GIT_CONFIG_VALUE_0", "A Reader")])
            .envs([("GIT_CONFIG_KEY_1", "user.email"), ("GIT_CONFIG_VALUE_1", "a@example.com")])
            .envs([("GIT_CONFIG_KEY_2", "init.defaultBranch"), ("GIT_CONFIG_VALUE_2", "main")]);
        for name in ["ALL_PROXY", "HTTPS_PROXY", "HTTP_PROXY", "https_proxy", "http_proxy"] {
            shell.env_remove(name);
        }
        if let Some(registry) = &self.registry {
            shell.envs(registry.environment(self.tools.path()));
        }

        let status = shell.status().expect("bash runs");
        let text = fs::read_to_string(printed.path()).expect("the output");
        let mut text = text.replace(&self.case.path("").display().to_string(), "/");
        if !text.is_empty() && !text.ends_with('\n') {
            text.push('\n');
        }
        let failed = text.lines().any(|line| line.starts_with("error"));
        assert_eq!(status.success(), !failed, "$ {command}\n{text}");
        assert!(!text.contains("panicked"), "$ {command}\n{text}");
        text
    }
}

/// Returns a directory like a clone of this repository, without charts.
fn clone() -> Case {
    let case = Case::new();
    case.link_fixtures();
    let read = |path: &str| fs::read_to_string(root().join(path)).expect("a file");
    case.write("bundles.toml", read("bundles.toml"));
    case.write("bundles.lock", read("bundles.lock"));
    case
}

/// Returns a directory like a clone of this repository.
fn clone_with_charts() -> Case {
    let case = clone();
    for entry in walkdir::WalkDir::new(root().join("out")) {
        let entry = entry.expect("an entry");
        if entry.file_type().is_file() {
            let path = entry.path().strip_prefix(root()).expect("a path below");
            case.write(&path.display().to_string(), fs::read(entry.path()).expect("a file"));
        }
    }
    case
}

/// Returns a clone with charts of both versions of the sealing wax operator.
fn two_versions() -> Case {
    let case = clone();
    let config = case.read("bundles.toml");
    for version in ["1.0.0", "1.1.0"] {
        case.write("bundles.toml", config.replace("-bundle:1.1.0", &format!("-bundle:{version}")));
        let seen = case.run(&["build", "sealing-wax-operator", "-q"]);
        assert_eq!(seen.code, Some(0), "{}", seen.text());
    }
    case
}
