//! Programs that tests install: those of Debian's packages for the machine, others once for a checkout.

#![allow(dead_code, reason = "each test program uses a part")]
#![expect(clippy::disallowed_methods, reason = "tests keep programs in a folder")]

use std::fs::{self, File, OpenOptions};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{Mutex, PoisonError};

/// The file with a line for each program that was installed, which `tests/unchecked.rs` prints.
pub(crate) fn file() -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join("installed")
}

/// Records that something was installed, which is said after the other tests.
fn installed(what: &str) {
    let mut file = OpenOptions::new().create(true).append(true).open(file()).expect("a file");
    // One write, because tests run at the same time.
    file.write_all(format!("{what}\n").as_bytes()).expect("a line");
}

/// Returns the folder of downloaded and built programs: `target/test-tools`, or the one in
/// `BUNDLE2CHART_TEST_TOOLS`.
pub(crate) fn tools_dir() -> PathBuf {
    match std::env::var_os("BUNDLE2CHART_TEST_TOOLS") {
        Some(folder) => folder.into(),
        None => Path::new(env!("CARGO_TARGET_TMPDIR")).with_file_name("test-tools"),
    }
}

/// Creates a program at `path`, unless it exists. `write` writes it to the path in its argument;
/// the program is renamed from there, so that no other thread or process starts half of it.
///
/// # Errors
/// The error of `write`, or of a folder that cannot be written.
pub(crate) fn create_once(
    path: &Path,
    write: impl FnOnce(&Path) -> Result<(), String>,
) -> Result<(), String> {
    if path.is_file() {
        return Ok(());
    }
    let text = |error: std::io::Error| error.to_string();
    let folder = path.parent().ok_or("no folder")?;
    fs::create_dir_all(folder).map_err(text)?;
    let lock = File::create(folder.join("lock")).map_err(text)?;
    lock.lock().map_err(text)?;
    if path.is_file() {
        return Ok(()); // another thread or process was faster
    }

    let staged = path.with_extension("new");
    write(&staged)?;
    fs::rename(&staged, path).map_err(text)?;
    installed(&path.display().to_string());
    Ok(())
}

/// Installs Debian's packages whose programs are missing, with sudo where it asks for no password.
///
/// # Panics
/// When they cannot be installed.
pub(crate) fn install_packages(packages: &[&'static str]) {
    // Tests run in parallel, and dpkg has one lock: only the first of them may install.
    static ONE: Mutex<()> = Mutex::new(());
    let missing = {
        let _guard = ONE.lock().unwrap_or_else(PoisonError::into_inner);
        let wanted: Vec<&str> = packages.iter().copied().filter(|name| !is_there(name)).collect();
        let install = [&["install", "--no-install-recommends"], &wanted[..]].concat();
        let done = wanted.is_empty() || (apt_get(&["update"]) && apt_get(&install));
        let missing = !done || !packages.iter().all(|name| is_there(name));
        if !missing {
            wanted.iter().for_each(|name| installed(&format!("{name}, a package of Debian")));
        }
        missing
    };

    let packages = packages.join(" ");
    assert!(
        !missing,
        "this test needs {packages}, and could not install them\n\
         hint: on Debian and Ubuntu, `apt-get install {packages}`"
    );
}

/// Tells if the program of a package is there. It has the package's name, except for pip.
fn is_there(package: &str) -> bool {
    let command = match package {
        "python3-pip" => &["python3", "-m", "pip"][..],
        program => &[program],
    };
    succeeds(Command::new(command[0]).args(&command[1..]).arg("--version").stderr(Stdio::null()))
}

fn apt_get(arguments: &[&str]) -> bool {
    [&["apt-get"][..], &["sudo", "-n", "apt-get"]].iter().any(|program| {
        let mut command = Command::new(program[0]);
        command.args(&program[1..]);
        // Another program may be installing packages at the same time.
        command.args(["-qq", "-y", "-o", "DPkg::Lock::Timeout=300"]).args(arguments);
        succeeds(command.env("DEBIAN_FRONTEND", "noninteractive"))
    })
}

fn succeeds(command: &mut Command) -> bool {
    command.stdout(Stdio::null()).status().is_ok_and(|status| status.success())
}
