//! Formatting and lints are tests, so that one command says all.

#![allow(clippy::expect_used, clippy::unwrap_used, clippy::panic, reason = "a test")]

use std::process::Command;

fn cargo(arguments: &[&str]) {
    let target = concat!(env!("CARGO_TARGET_TMPDIR"), "/lint");
    let output = Command::new(env!("CARGO"))
        .args(arguments)
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .env("CARGO_TARGET_DIR", target)
        .output()
        .expect("cargo runs");
    let text = String::from_utf8_lossy(&output.stderr).into_owned()
        + &String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "cargo {} failed:\n{text}", arguments.join(" "));
}

#[test]
fn formatted() {
    cargo(&["fmt", "--check"]);
}

#[test]
fn no_lints() {
    cargo(&["clippy", "--all-targets", "--locked", "--", "-D", "warnings"]);
}
