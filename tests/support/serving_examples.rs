//! The charts of examples/serving. Only some are committed, so that tests of all of them build them.

#![expect(clippy::disallowed_methods, reason = "tests write charts and start the program")]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::LazyLock;

/// Returns the folder with all charts of examples/serving, built once for each test program.
pub(crate) fn charts() -> &'static Path {
    static CHARTS: LazyLock<PathBuf> = LazyLock::new(|| {
        // Test programs run at the same time under nextest and the like.
        let name = format!("serving-examples-{}", env!("CARGO_CRATE_NAME"));
        let out = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
        // Charts of an earlier build, which the example may no longer have.
        let _ = fs::remove_dir_all(&out);
        let built = Command::new(env!("CARGO_BIN_EXE_bundle2chart"))
            .args(["--config", "examples/serving/bundles.toml", "--quiet", "build", "--out"])
            .arg(&out)
            .current_dir(env!("CARGO_MANIFEST_DIR"))
            .output()
            .expect("bundle2chart runs");
        assert!(built.status.success(), "{}", String::from_utf8_lossy(&built.stderr));
        out
    });
    &CHARTS
}
