//! The charts in `out/` are those that `bundles.toml` describes.

#![allow(clippy::expect_used, clippy::unwrap_used, clippy::panic, reason = "a test")]

use std::process::Command;

#[test]
fn is_what_a_build_makes() {
    let run = Command::new(env!("CARGO_BIN_EXE_bundle2chart"))
        .args(["build", "--check"])
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .output()
        .expect("bundle2chart runs");
    let (differences, words) =
        (String::from_utf8_lossy(&run.stdout), String::from_utf8_lossy(&run.stderr));
    assert!(
        run.status.code() == Some(0) && differences.is_empty(),
        "out/ is not what bundles.toml describes: run `cargo run -- build --replace`, and read \
         the change before it is committed\n{differences}{words}"
    );
}
