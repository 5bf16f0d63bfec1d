//! The first commands of the README on a new machine: Debian's base system, a compiler for C and Git, which
//! Rust and a clone need, and Rust.

use super::page::{Page, Part, root};
use super::transcript;
use crate::support::once::install_packages;
use std::path::Path;
use std::process::Command;
use std::time::Instant;

/// Runs `$COMMAND` in the system at `$SYSTEM`, with Rust from `$RUST` and this repository at `/repository`.
/// Packages come from where this machine gets them, by the certificates that it trusts. The mounts are gone
/// with the process.
const ENTER: &str = r#"
set -euo pipefail
mkdir -p "$SYSTEM/opt/rust" "$SYSTEM/repository"
mount --bind "$RUST" "$SYSTEM/opt/rust"
mount --bind "$REPOSITORY" "$SYSTEM/repository"
mount -t proc proc "$SYSTEM/proc"
mount --rbind /dev "$SYSTEM/dev"
mount -t tmpfs tmpfs "$SYSTEM/tmp"
cp --dereference /etc/resolv.conf /etc/hosts "$SYSTEM/etc"
certificates=/etc/ssl/certs/ca-certificates.crt
cp "$certificates" "$SYSTEM$certificates"
exec chroot "$SYSTEM" /usr/bin/env --ignore-environment HOME=/root COLUMNS=100 \
  PATH=/opt/rust/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin \
  SSL_CERT_FILE="$certificates" PIP_CERT="$certificates" \
  bash -c "cd /root; $COMMAND"
"#;

/// Runs a command in the system; returns what it prints to both streams.
fn run(system: &Path, rust: &str, command: &str) -> String {
    let start = Instant::now();
    let command = format!("exec 2>&1; {command}");
    let output = Command::new("unshare")
        .args(["--mount", "bash", "-c", ENTER])
        .env("SYSTEM", system)
        .env("RUST", rust)
        .env("REPOSITORY", root())
        .env("COMMAND", &command)
        .output()
        .expect("unshare runs");
    let printed = String::from_utf8_lossy(&output.stdout).into_owned();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "$ {command}\n{printed}{errors}");
    println!("$ {command}\n{printed}{:?}", start.elapsed());
    printed
}

#[test]
#[ignore = "needs root, and compiles everything: cargo test --test suite -- --ignored debian::"]
fn a_bare_debian_with_rust_follows_the_readme() {
    install_packages(&["debootstrap"]);
    let folder = tempfile::tempdir().expect("a folder");
    let system = folder.path().join("system");
    let installed = Command::new("debootstrap")
        .args(["--variant=minbase", "--include=build-essential,ca-certificates,git", "stable"])
        .arg(&system)
        .output()
        .expect("debootstrap runs");
    assert!(installed.status.success(), "{}", String::from_utf8_lossy(&installed.stdout));
    let rust = Command::new("rustc").args(["--print", "sysroot"]).output().expect("rustc runs");
    let rust = String::from_utf8(rust.stdout).expect("a path");
    let run = |command: &str| run(&system, rust.trim(), command);

    // The clone is of what is committed.
    run("git config --global --add safe.directory '*' && git clone --quiet /repository clone");
    let page = Page::all().remove(0);
    let block = page.parts().into_iter().find_map(|part| match part {
        Part::Block(language, range) if language == "console" => page.text.get(range),
        _ => None,
    });
    for step in transcript::steps(block.expect("a block")) {
        let printed = run(&format!("cd clone && {}", step.command));
        assert!(transcript::matches(&step.output, &printed), "{}\n{printed}", step.output);
    }

    let printed = run("cd clone && time cargo test");
    for what in ["python3-pip", "docker-registry", "skopeo", "helm-"] {
        let is_said = |line: &str| line.starts_with("installed: ") && line.contains(what);
        assert!(printed.lines().any(is_said), "{what} is not said to be installed\n{printed}");
    }
}
