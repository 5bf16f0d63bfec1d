//! Programs that tests install with cargo.

use super::once::{create_once, tools_dir};
use std::path::{Path, PathBuf};
use std::process::Command;

/// Returns the program of this package and version; compiles it unless it is there. `options` are
/// those of `cargo install`.
///
/// # Panics
/// With what to do if it cannot be compiled.
pub(crate) fn installed(name: &str, version: &str, options: &[&str]) -> PathBuf {
    let directory = tools_dir().join(format!("{name}-{version}"));
    let path = directory.join(name);
    let install = |staged: &Path| {
        let output = Command::new(env!("CARGO"))
            .args(["install", name, "--version", version, "--locked"])
            .args(options)
            // Compiles in half of the time, and these programs run for seconds.
            .args(["--debug", "--root"])
            .arg(directory.join("installed"))
            .arg("--target-dir")
            .arg(directory.join("target"))
            .output()
            .map_err(|error| error.to_string())?;
        if !output.status.success() {
            return Err(String::from_utf8_lossy(&output.stderr).into_owned());
        }
        let copied = std::fs::copy(directory.join("installed/bin").join(name), staged);
        copied.map(drop).map_err(|error| error.to_string())
    };
    if let Err(reason) = create_once(&path, install) {
        panic!(
            "this test needs {name} {version} and could not install it: {reason}\n\
             hint: it is a cargo package; or put the program at {} yourself",
            path.display()
        );
    }
    path
}
