//! Memory of builds.

use crate::fixtures::mesh;
use crate::support::command::Case;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// The most memory in bytes that a build has, without the pages of the program's own file, and how
/// long it takes.
pub(crate) fn peak_of_build(case: &Case) -> (u64, Duration) {
    let start = Instant::now();
    let mut child = Command::new(env!("CARGO_BIN_EXE_bundle2chart"))
        .arg("build")
        .current_dir(case.path(""))
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the program runs");
    let status = format!("/proc/{}/status", child.id());
    let mut peak = 0;
    let exit = loop {
        // The mark only rises, and a process that has ended has none.
        let text = std::fs::read_to_string(&status).unwrap_or_default();
        let kib = |name: &str| -> Option<u64> {
            let value = text.lines().find_map(|line| line.strip_prefix(name))?;
            value.trim().strip_suffix(" kB")?.parse().ok()
        };
        // How much of the program is mapped depends on the page cache, not on the build.
        let used = kib("VmHWM:").zip(kib("RssFile:")).map(|(all, file)| all - file.min(all));
        peak = peak.max(used.unwrap_or_default() * 1024);
        if let Some(exit) = child.try_wait().expect("a child") {
            break exit;
        }
        assert!(start.elapsed() < Duration::from_secs(300), "the program hangs");
        std::thread::sleep(Duration::from_millis(2));
    };
    assert!(exit.success(), "{exit}");
    (peak, start.elapsed())
}

/// The bundle, its objects and the chart are in memory, each once.
#[test]
fn a_large_bundle_takes_a_few_times_its_size() {
    let case = Case::new();
    let mut bytes = 0;
    for (name, content) in mesh() {
        bytes += content.len() as u64;
        case.write(&format!("mesh/{name}"), content);
    }
    case.write("bundles.toml", "[[bundle]]\nname = \"mesh-operator\"\npath = \"mesh\"\n");
    let (peak, time) = peak_of_build(&case);
    println!("{bytes} bytes: {} KiB of memory, {time:?}", peak / 1024);
    assert!(peak > 0 && peak < 7 * bytes, "{peak} bytes");
}
