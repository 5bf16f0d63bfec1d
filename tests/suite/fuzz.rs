//! The targets of fuzz/ on the inputs that they start with and on pseudo-random ones, so that their
//! oracles hold in each run of the tests. Memory is bounded by fuzz/ only, whose allocator counts.

use std::fs;
use std::path::{Path, PathBuf};

#[allow(unreachable_pub, reason = "public in fuzz/, which is a library")]
#[path = "../../fuzz/src/targets/mod.rs"]
pub(super) mod targets;

mod memory {
    /// Runs `work`; in fuzz/ with a bound on its memory.
    pub(super) fn bounded<T>(_mib: usize, work: impl FnOnce() -> T) -> T {
        work()
    }
}

/// The folder of the repository.
const ROOT: &str = env!("CARGO_MANIFEST_DIR");

/// Inputs of other lengths are for libFuzzer: bytes.
const MOST_BYTES: u64 = 100_000;

fn files(folder: &Path, found: &mut Vec<PathBuf>) {
    let Ok(entries) = fs::read_dir(folder) else { return };
    for entry in entries {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            files(&path, found);
        } else if path.metadata().expect("a file").len() <= MOST_BYTES {
            found.push(path);
        }
    }
}

/// Returns the files that a target starts with, by the table of fuzz/run.
fn inputs(target: &str) -> Vec<PathBuf> {
    let table = fs::read_to_string(Path::new(ROOT).join("fuzz/targets")).expect("fuzz/targets");
    let row = table.lines().find_map(|line| line.strip_prefix(&format!("{target} ")));
    let mut found = Vec::new();
    for folder in row.expect("a row of the target").split(' ').skip(1) {
        files(&Path::new(ROOT).join(folder), &mut found);
    }
    found.sort();
    found
}

/// Returns an input that its number decides.
fn random_input(number: u64) -> Vec<u8> {
    let mut state = number.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state.to_le_bytes()
    };
    let words = usize::from(next()[5]) + 1;
    (0..words).flat_map(|_| next()).collect()
}

/// Runs a target on its files and on random inputs. The last line that is printed names the input
/// with a finding.
fn check(target: &str, run: fn(&[u8]), random_inputs: u64) {
    let files = inputs(target);
    for path in &files {
        println!("{}", path.display());
        run(&fs::read(path).expect("an input"));
    }
    for number in 0..random_inputs {
        println!("random input {number}");
        run(&random_input(number));
    }
    assert!(!files.is_empty() || random_inputs > 0, "{target} has no inputs");
}

#[test]
fn auth_shows_no_secret() {
    check("auth", targets::auth::run, 500);
}

#[test]
fn catalogs_are_the_same_in_any_order_and_with_other_limits() {
    check("catalog", targets::catalog::run, 500);
}

#[test]
fn changed_bundles_are_rejected_or_render_to_their_objects() {
    check("compile", targets::compile::run, 60);
}

#[test]
fn configurations_are_rejected_or_have_models_that_compile() {
    check("config", targets::config::run, 0);
}

#[test]
fn edits_give_the_new_object_and_all_renderers_agree() {
    check("diff", targets::diff::run, 100);
}

#[test]
fn layers_are_applied_as_the_model_does() {
    check("layers", targets::layers::run, 1_000);
}

#[test]
fn launch_scripts_stay_within_their_budget() {
    check("shell", targets::shell::run, 0);
}

#[test]
fn random_archives_are_read_within_limits() {
    check("tar", targets::tar::run, 500);
}

#[test]
fn yaml_is_written_and_read_again() {
    check("yaml", targets::yaml::run, 200);
}
