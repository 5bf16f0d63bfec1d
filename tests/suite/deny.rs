//! Licenses, sources, bans and advisories of dependencies, by deny.toml: those of the program, of the
//! fuzz targets, of the mutation tests and of the second registry client.

use crate::support::cargo_program;
use crate::support::unchecked::not_checked;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The version of cargo-deny.
const VERSION: &str = "0.20.2";

const WORKSPACES: [&str; 4] = [".", "fuzz", "tests/mutants", "tests/oci_client"];

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// Returns cargo-deny: the program on the PATH, or one that it compiles.
fn cargo_deny() -> PathBuf {
    let on_path = PathBuf::from("cargo-deny");
    match Command::new(&on_path).arg("--version").output() {
        Ok(output) if output.status.success() => on_path,
        _ => cargo_program::installed("cargo-deny", VERSION, &[]),
    }
}

#[test]
#[ignore = "compiles cargo-deny"]
fn cargo_deny_finds_nothing() {
    let program = cargo_deny();
    let run = |workspace: &str, arguments: &[&str]| {
        let mut command = Command::new(&program);
        command.arg("--manifest-path").arg(root().join(workspace).join("Cargo.toml"));
        command.arg("--config").arg(root().join("deny.toml"));
        let output = command.args(arguments).output().expect("cargo-deny runs");
        (output.status.success(), String::from_utf8_lossy(&output.stderr).into_owned())
    };
    for workspace in WORKSPACES {
        let (is_fine, text) = run(workspace, &["check", "licenses", "bans", "sources"]);
        assert!(is_fine, "{workspace}: {text}");
    }

    // This command reports no finding, so it fails only if the database cannot be fetched.
    let (is_fetched, why) = run(".", &["fetch", "db"]);
    if !is_fetched {
        not_checked(&format!("advisories and yanked versions, without their database: {why}"));
        return;
    }
    for workspace in WORKSPACES {
        let (is_fine, text) = run(workspace, &["check", "advisories"]);
        assert!(is_fine, "{workspace}: {text}");
    }
}
