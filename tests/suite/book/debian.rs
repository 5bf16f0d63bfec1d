//! The first commands of the README on a new machine: Debian's base system, a compiler for C and Git, which
//! Rust and a clone need, and Rust.

use super::page::{Page, Part, root};
use super::transcript;
use crate::support::once::install_packages;
use std::path::Path;
use std::process::Command;

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
  bash -c "cd; $COMMAND"
"#;

/// A session in the system; its commands with their prompts, and what they printed.
struct Machine<'m> {
    system: &'m Path,
    rust: &'m str,
    transcript: Vec<(String, String)>,
}

impl Machine<'_> {
    /// Runs a command in a directory; returns what it prints to both streams.
    fn run(&mut self, directory: &str, command: &str) -> String {
        let output = Command::new("unshare")
            .args(["--mount", "bash", "-c", ENTER])
            .env("SYSTEM", self.system)
            .env("RUST", self.rust)
            .env("REPOSITORY", root())
            .env("COMMAND", format!("exec 2>&1; cd {directory} && {command}"))
            .output()
            .expect("unshare runs");
        let printed = String::from_utf8_lossy(&output.stdout).into_owned();
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "$ {command}\n{printed}{errors}");
        let prompt = if directory == "." { "~$" } else { &format!("~/{directory}$") };
        self.transcript.push((format!("{prompt} {command}"), printed.clone()));
        printed
    }

    /// Returns the transcript, in which `…` stands for what cargo says of crates and tests.
    fn text(&self) -> String {
        let mut text = String::new();
        for (command, printed) in &self.transcript {
            text += &format!("{command}\n");
            for line in printed.lines() {
                if !is_left_out(line) {
                    text += &format!("{line}\n");
                } else if !text.ends_with("…\n") {
                    text += "…\n";
                }
            }
        }
        text
    }
}

/// Returns true for lines of cargo about single crates and tests.
fn is_left_out(line: &str) -> bool {
    let left_out = ["Compiling", "Download", "Updating", "Running", "Doc-tests", "running "];
    let line = line.trim_start();
    line.is_empty()
        || line.starts_with("test ") && !line.starts_with("test result: ok")
        || line.starts_with("test result: ok. 0 ")
        || left_out.iter().any(|start| line.starts_with(start))
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
    let mut machine = Machine { system: &system, rust: rust.trim(), transcript: Vec::new() };

    // The clone has what is committed; the owner of the original is another one.
    machine.run(".", "git config --global --add safe.directory '*'");
    machine.transcript.clear();
    machine
        .run(".", "git clone --quiet --config advice.detachedHead=false /repository bundle2chart");
    follow(&mut machine, "bundle2chart", "README.md", "a clone of this repository with its charts");

    machine.run(".", "mkdir charts && cp -r bundle2chart/fixtures charts");
    machine.run(".", "ln -s ~/bundle2chart/target/release/bundle2chart /usr/local/bin/");
    follow(&mut machine, "charts", "docs/first-chart.md", "a directory with fixtures/");
    let printed = machine.run("bundle2chart", "time cargo test");
    for what in ["python3-pip", "docker-registry", "skopeo", "helm-"] {
        let is_said = |line: &str| line.starts_with("installed: ") && line.contains(what);
        assert!(printed.lines().any(is_said), "{what} is not said to be installed\n{printed}");
    }
    println!("{}", machine.text());
}

/// Runs the console block of a session of a page, and compares what is printed.
fn follow(machine: &mut Machine<'_>, directory: &str, path: &str, session: &str) {
    let page = Page::all().into_iter().find(|page| page.path == Path::new(path)).expect("a page");
    let begins = |part: &Part| matches!(part, Part::Session(name) if name == session);
    let mut parts = page.parts().into_iter().skip_while(|part| !begins(part));
    let block = parts.find_map(|part| match part {
        Part::Block(language, range) if language == "console" => page.text.get(range),
        _ => None,
    });
    for step in transcript::steps(block.expect("a block")) {
        let printed = machine.run(directory, &step.command);
        assert!(transcript::matches(&step.output, &printed), "{}\n{printed}", step.output);
    }
}
