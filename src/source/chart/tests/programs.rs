//! Calls of `helm` and `git`, which are scripts in the PATH of a child process: tests have no PATH of
//! their own.

use super::*;
use std::os::unix::fs::PermissionsExt as _;

/// Tells the test below that it is the child process.
const CHILD: &str = "BUNDLE2CHART_CHILD_CALLS";

/// Prints how it was called, and then acts as the values file says.
const HELM: &str = r#"#!/bin/sh
while [ "$(ulimit -d)" = unlimited ]; do sleep 0.01; done
case $(cat values.yaml) in
call)
    echo "helm $*"
    env | grep -E '^(HOME|HELM|KUBE|LC)' | sed "s:=$PWD/:=WORK/:" | sort
    echo "memory $(ulimit -d)"
    test -d chart && ls chart || tar -tzf chart.tgz ;;
fail) echo "Error: $PWD/chart: no value " >&2; exit 1 ;;
memory) echo "fatal error: runtime: cannot allocate memory" >&2; exit 2 ;;
more) echo "fatal error: out of memory" >&2; exit 2 ;;
flag) echo "Error: unknown flag: --skip-schema-validation" >&2; exit 1 ;;
bytes) printf '\377' ;;
most) head -c 33554432 /dev/zero ;;
large) head -c 33554433 /dev/zero ;;
esac
"#;

/// Records how it was called, and then acts as the revision says.
const GIT: &str = r#"#!/bin/sh
{ echo "git $*"; env | grep -E '^(GIT|XDG|LC)' | sort; } >> "$HOME/log"
object() { printf '100644 blob %s %s\t%s\0' "$1" "$2" "$3"; }
case "$*" in
*" tab "*) printf '100644 blob 1 1 a\0' ;;
*" facts "*) printf '100644 blob 1\ta\0' ;;
*" utf8 "*) printf '100644 blob \377 1\ta\0' ;;
*" partial "*) object 1 - a ;;
*" file "*) object 1 104857600 a ;;
*" larger "*) object 1 104857601 a ;;
*" two "*) object 1 60000000 a; object 2 60000000 b ;;
*" lines "*) object 1 1 a; object 2 1 b ;;
*cat-file*) cat > /dev/null; printf '1 blob 1\na\n2 blob 1\nb' ;;
*) echo "warning: a" >&2; echo "fatal: b" >&2; exit 1 ;;
esac
"#;

fn program(folder: &Path, name: &str, script: &str) {
    fs::create_dir_all(folder).unwrap();
    let file = folder.join(name);
    fs::write(&file, script).unwrap();
    fs::set_permissions(file, fs::Permissions::from_mode(0o755)).unwrap();
}

fn rendered(form: Form, values: &str) -> String {
    let files = tree(&[("Chart.yaml", CHART), ("values.yaml", "")]);
    match helm_template("widgets", &files, form, "ns", values) {
        Ok(text) if text.len() > 1 << 20 => format!("{} bytes\n", text.len()),
        Ok(text) => text,
        Err(error) => format!("{}\n", told(&error, Path::new("/none"))),
    }
}

/// No test by itself: the process of the next test.
#[test]
fn child_that_calls_programs() {
    let Some(values) = std::env::var_os(CHILD) else { return };
    println!("\nready");
    for values in values.to_str().unwrap().split(' ') {
        print!("{values}: {}", rendered(Form::Directory, values));
    }
    print!("package: {}", rendered(Form::Package, "call"));
    let folder = std::env::current_dir().unwrap();
    for revision in ["main", "tab", "facts", "utf8", "partial", "file", "larger", "two", "lines"] {
        let read = read_revision(&folder, revision, "widgets");
        let read = read.map_err(|error| told(&error, &folder));
        println!("{revision}: {}", read.map_or_else(|error| error, |files| format!("{files:?}")));
    }
    println!("done");
}

#[test]
fn programs_are_called_with_limits_and_few_variables() {
    let home = tempfile::tempdir().unwrap();
    let (scripts, broken, empty) =
        (home.path().join("bin"), home.path().join("broken"), home.path().join("empty"));
    program(&scripts, "helm", HELM);
    program(&scripts, "git", GIT);
    program(&broken, "helm", "#!/no/such/shell\n");
    program(&broken, "git", GIT);
    fs::create_dir(&empty).unwrap();
    let child = |values: &str, path: &Path, temporary: &Path| {
        let path = format!("{}:/usr/bin:/bin", path.display());
        let path = if values.is_empty() { empty.display().to_string() } else { path };
        let mut child = Command::new(std::env::current_exe().unwrap());
        let output = child
            .args(["--exact", "--nocapture", "chart::tests::programs::child_that_calls_programs"])
            .current_dir(&scripts)
            .envs([(CHILD, values), ("PATH", &path), ("HELM_PLUGINS", "a"), ("KUBECONFIG", "a")])
            .envs([("GIT_CONFIG_GLOBAL", "a"), ("GIT_CONFIG_NOSYSTEM", "b"), ("GIT_DIR", "c")])
            .envs([("GIT_CONFIG_SYSTEM", "d"), ("XDG_CONFIG_HOME", "e"), ("XDG_DATA_HOME", "f")])
            .envs([("HOME", home.path()), ("TMPDIR", temporary)])
            .output();
        let text = String::from_utf8(output.unwrap().stdout).unwrap();
        let text = text.split_once("ready\n").unwrap().1;
        text.split_once("done\n").unwrap().0.replace(&home.path().display().to_string(), "DIR")
    };
    let scenarios = "call fail memory more flag bytes most large";
    let mut shown = child(scenarios, &scripts, home.path());
    shown += "\nlog of git:\n";
    let log = fs::read_to_string(home.path().join("log")).unwrap();
    shown.extend(log.lines().take(10).map(|line| format!("{line}\n")));
    for (what, values, path, temporary) in [
        ("no programs", "", &empty, home.path()),
        ("no program", "call", &broken, home.path()),
        ("no directory", "call", &scripts, Path::new("/none")),
    ] {
        let text = child(values, path, temporary);
        let lines = text.lines().filter(|line| {
            ["call:", ": helm", ": ", "main:"].iter().any(|start| line.starts_with(start))
        });
        // The directory has a random name.
        let lines = lines.map(|line| match line.split_once("/.tmp") {
            Some((before, after)) => {
                before.to_owned() + after.trim_start_matches(char::is_alphanumeric)
            }
            None => line.to_owned(),
        });
        shown += &format!("\n{what}:\n{}\n", lines.collect::<Vec<_>>().join("\n"));
    }
    // Packages of the crate have no folders of tests' data.
    insta::with_settings!({ snapshot_path => "../snapshots" }, {
        insta::assert_snapshot!(shown);
    });
    assert_eq!(revision::git(&empty).unwrap().output_bytes, 200 << 20);
}
