//! Memory of builds of many bundles, as the system counts it for the whole program.
//!
//! `cargo bench --bench memory`. Every seventh bundle is the 3.1 MB mesh bundle of fixtures/, so
//! that 1,000 have 460 MB of YAML.

#![allow(clippy::expect_used, clippy::print_stdout, clippy::disallowed_methods, reason = "a test")]

use std::fmt::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

const MESH: &str = "mesh/mesh-operator-bundle:2.3.1";
const SMALL: [&str; 3] = [
    "pod-groups/pod-group-operator-bundle:1.0.0",
    "sealing-wax/sealing-wax-operator-bundle:1.1.0",
    "sealing-wax/sealing-wax-operator-bundle:1.0.0",
];

fn main() {
    println!("bundles  jobs  peak MB  seconds");
    for (count, jobs) in [(1, 1), (100, 1), (100, 2), (1_000, 1), (1_000, 2), (1_000, 8)] {
        let folder = tempfile::tempdir().expect("a folder");
        configure(folder.path(), count);
        let start = Instant::now();
        let peak = build(folder.path(), jobs);
        let seconds = start.elapsed().as_secs_f64();
        println!("{count:>7}  {jobs:>4}  {:>7}  {seconds:>7.2}", peak / 1_000);
    }
}

fn configure(folder: &Path, count: usize) {
    let registry = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/registry");
    let mut text = format!(
        "[[mirror]]\nfrom = \"registry.example.com\"\nto = \"oci-layout:{}\"\n",
        registry.display()
    );
    for index in 0..count {
        let image = if index % 7 == 0 { MESH } else { SMALL[index % 3] };
        let _ = write!(
            text,
            "[[bundle]]\nname = \"operator-{index}\"\nimage = \"registry.example.com/{image}\"\n"
        );
    }
    std::fs::write(folder.join("bundles.toml"), text).expect("a writable folder");
}

/// Most memory in kB that a build had at a time.
fn build(folder: &Path, jobs: usize) -> u64 {
    let mut program = Command::new(env!("CARGO_BIN_EXE_bundle2chart"))
        .args(["build", "--offline", "--jobs", &jobs.to_string()])
        .current_dir(folder)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .expect("the program starts");
    let status = format!("/proc/{}/status", program.id());
    let mut peak = 0;
    loop {
        let text = std::fs::read_to_string(&status).unwrap_or_default();
        let line = text.lines().find_map(|line| line.strip_prefix("VmHWM:"));
        let now = line.and_then(|line| line.trim().trim_end_matches(" kB").parse().ok());
        peak = now.unwrap_or(0).max(peak);
        if let Some(status) = program.try_wait().expect("a child") {
            assert!(status.success(), "{status}");
            return peak;
        }
        std::thread::sleep(Duration::from_millis(2));
    }
}
