//! A pull request: a clone with an upgrade of one chart, whose remote has the target branch.

use crate::support::command::Case;
use crate::support::once::install_packages;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

const NAME: &str = "sealing-wax-operator";
const FIXTURES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/fixtures/bundles");

/// A clone of the repository `origin`, with one commit more.
pub(super) struct PullRequest {
    pub(super) case: Case,
}

/// Effects of a script.
pub(super) struct Done {
    pub(super) code: Option<i32>,
    /// Both streams.
    pub(super) text: String,
}

impl PullRequest {
    pub(super) fn new() -> Self {
        // The stand-in for `gh` filters with jq, and the recipe for GitLab uses both.
        install_packages(&["curl", "jq"]);
        let request = PullRequest { case: Case::new() };
        let case = &request.case;
        let program = env!("CARGO_BIN_EXE_bundle2chart");
        fs::create_dir(case.path("bin")).expect("a directory");
        std::os::unix::fs::symlink(program, case.path("bin/bundle2chart")).expect("a link");

        request.git(".", "init --quiet --bare origin.git");
        request.git(".", "clone --quiet origin.git clone");
        request.git("clone", "switch --quiet --create main");
        request.build("1.0.0");
        request.git("clone", "add .");
        request.git("clone", "commit --quiet --message one");
        request.git("clone", "push --quiet --set-upstream origin main");
        request.git("clone", "switch --quiet --create upgrade");
        request.build("1.1.0");
        request.git("clone", "add .");
        request.git("clone", "commit --quiet --message two");
        request
    }

    /// Builds the chart of a version in the clone.
    fn build(&self, version: &str) {
        let config = format!(
            "[[bundle]]\nname = \"{NAME}\"\npath = \"bundles/{NAME}/{version}\"\nnamespace = \"wax\"\n"
        );
        let bundles = self.case.path("clone/bundles");
        if !bundles.exists() {
            std::os::unix::fs::symlink(FIXTURES, bundles).expect("a link");
        }
        self.case.write("clone/bundles.toml", config);
        let done = self.script("bundle2chart build", &[]);
        assert_eq!(done.code, Some(0), "{}", done.text);
    }

    fn git(&self, directory: &str, arguments: &str) {
        let done = Command::new("git")
            .args(["-c", "user.name=t", "-c", "user.email=t@example.com"])
            .args(arguments.split(' '))
            .current_dir(self.case.path(directory))
            .output()
            .expect("git runs");
        assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    }

    /// Edits a chart by hand.
    pub(super) fn edit(&self) {
        let path = format!("clone/out/{NAME}/1.1.0/values.yaml");
        let text = self.case.read(&path);
        self.case.write(&path, format!("{text}# edited\n"));
    }

    /// Makes a script a program of the runner.
    pub(super) fn install(&self, name: &str, script: &str) {
        self.case.write(&format!("bin/{name}"), script);
        let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
        fs::set_permissions(self.case.path(&format!("bin/{name}")), mode).expect("a program");
    }

    /// Runs a script in the clone, as runners do: `bash` with these variables, which ends at the first
    /// error.
    pub(super) fn script(&self, script: &str, variables: &[(String, String)]) -> Done {
        let path = std::env::var("PATH").expect("PATH");
        let done = Command::new("bash")
            .args(["--noprofile", "--norc", "-eo", "pipefail", "-c", script])
            .current_dir(self.case.path("clone"))
            .env("PATH", format!("{}:{path}", self.case.path("bin").display()))
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .envs(variables.iter().cloned())
            .output()
            .expect("bash runs");
        let text = [&done.stdout[..], &done.stderr[..]].concat();
        Done { code: done.status.code(), text: String::from_utf8(text).expect("UTF-8") }
    }
}

/// Returns the path of a file of this repository.
pub(super) fn root(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(path)
}

/// Returns a file of this repository.
pub(super) fn read(path: &str) -> String {
    fs::read_to_string(root(path)).expect("a file")
}

/// Returns a YAML file of this repository.
pub(super) fn yaml(path: &str) -> serde_json::Value {
    serde_yaml::from_str(&read(path)).expect("YAML")
}
