//! The real helmfile, made from its sources by Go the first time that a test asks for it.

#![allow(dead_code, reason = "each test program uses a part")]

use super::go::Module;
use super::helm::{Helm, Run};
use super::once::{create_once, tools_dir};
use std::path::{Path, PathBuf};
use std::process::Command;
use tempfile::TempDir;

const VERSION: &str = "1.8.0";
const MODULE: Module = Module {
    path: "github.com/helmfile/helmfile",
    version: "v1.8.0",
    sum: Some("h1:coUoYKmxceeLbm4y43dJ1Dh3crrwniAx8LtBxPcu7+Y="),
    package: ".",
    not_replaced: &[],
};

/// helmfile with Helm, without any of the user's own settings.
pub(crate) struct Helmfile {
    path: PathBuf,
    helm: Helm,
    home: TempDir,
}

impl Helmfile {
    /// The pinned version, with the newest Helm.
    ///
    /// # Panics
    /// When it can be neither found nor made.
    pub(crate) fn ready() -> Self {
        let home = TempDir::new().expect("a folder");
        Helmfile { path: installed(), helm: Helm::newest(), home }
    }

    /// `helmfile --file FILE ARGUMENTS`, in another folder than that of the file, without a cluster.
    /// Programs in `before` come before those of this machine.
    ///
    /// # Panics
    /// When it fails.
    #[track_caller]
    pub(crate) fn run(&self, file: &Path, arguments: &[&str], before: Option<&Path>) -> Run {
        let run = self.run_on(&self.home.path().join("no-cluster"), file, arguments, before);
        assert!(run.success, "{arguments:?}\n{}\n{}", run.stdout, run.stderr);
        run
    }

    /// The same with the cluster of this kubeconfig; it may fail.
    pub(crate) fn run_on(
        &self,
        kubeconfig: &Path,
        file: &Path,
        arguments: &[&str],
        before: Option<&Path>,
    ) -> Run {
        let helm = self.helm.path.parent().expect("a folder");
        let path = std::env::join_paths(
            before.into_iter().chain([helm]).chain([Path::new("/usr/bin"), Path::new("/bin")]),
        );
        let output = Command::new(&self.path)
            .arg("--file")
            .arg(file)
            .args(arguments)
            .current_dir(self.home.path())
            .env_clear()
            .env("PATH", path.expect("a path"))
            .env("HOME", self.home.path())
            .env("KUBECONFIG", kubeconfig)
            .output()
            .expect("helmfile starts");
        Run::of("helmfile", &output)
    }

    /// The helm program that it runs.
    pub(crate) fn helm(&self) -> &Path {
        &self.helm.path
    }
}

fn installed() -> PathBuf {
    let tools = tools_dir();
    let path = tools.join(format!("helmfile-{VERSION}")).join("helmfile");
    if let Err(reason) = create_once(&path, |staged| MODULE.build(&tools, staged)) {
        panic!(
            "this test needs helmfile {VERSION} and could not build it: {reason}\n\
             hint: install Go 1.26; GOPROXY sets the proxy for Go modules. Or put the program at {} \
             yourself; BUNDLE2CHART_TEST_TOOLS names another folder for it.",
            path.display()
        );
    }
    path
}
