//! The real program, run in a folder of its own, and what a person sees of it.

#![allow(dead_code, reason = "each test program uses a part")]
#![expect(clippy::disallowed_methods, reason = "tests write what the program reads")]

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant, SystemTime};

/// Seconds of processor time that any command may take. Real time would measure the machine.
const PROCESSOR_SECONDS: u32 = 10;
/// KiB of address space that any command may use.
const ADDRESS_SPACE: u32 = 1 << 20;
/// After this much real time a command hangs.
const HANGS: Duration = Duration::from_secs(120);

/// A folder to work in.
pub(crate) struct Case {
    folder: tempfile::TempDir,
}

/// Result of a command.
pub(crate) struct Seen {
    pub(crate) code: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Case {
    pub(crate) fn new() -> Self {
        Case { folder: tempfile::tempdir().expect("a folder") }
    }

    pub(crate) fn path(&self, path: &str) -> PathBuf {
        self.folder.path().join(path)
    }

    /// Writes a file and the folders above it.
    pub(crate) fn write(&self, path: &str, content: impl AsRef<[u8]>) {
        let path = self.path(path);
        fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
        fs::write(path, content).expect("a file");
    }

    pub(crate) fn read(&self, path: &str) -> String {
        fs::read_to_string(self.path(path)).expect("a text")
    }

    /// The fixtures of the project below `fixtures`: linked, but for overlays, because links of those
    /// must not leave the folder.
    pub(crate) fn link_fixtures(&self) {
        let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures");
        fs::create_dir_all(self.path("fixtures")).expect("a folder");
        for entry in fs::read_dir(&fixtures).expect("fixtures") {
            let name = entry.expect("an entry").file_name();
            let link = self.path("fixtures").join(&name);
            if name != "overlays" {
                std::os::unix::fs::symlink(fixtures.join(&name), link).expect("a link");
            }
        }
        for entry in walkdir::WalkDir::new(fixtures.join("overlays")) {
            let entry = entry.expect("an entry");
            if entry.file_type().is_file() {
                let path = entry.path().strip_prefix(&fixtures).expect("a path");
                let content = fs::read(entry.path()).expect("a file");
                self.write(&format!("fixtures/{}", path.display()), content);
            }
        }
    }

    /// Replaces the only `from` in a file.
    pub(crate) fn replace(&self, path: &str, from: &str, to: &str) {
        let text = self.read(path);
        assert_eq!(text.matches(from).count(), 1, "{from:?} in {path}");
        self.write(path, text.replacen(from, to, 1));
    }

    pub(crate) fn remove(&self, path: &str) {
        fs::remove_file(self.path(path)).expect("a file");
    }

    /// Runs the program within limits of time and memory.
    pub(crate) fn run(&self, arguments: &[&str]) -> Seen {
        self.run_with(arguments, &[])
    }

    /// The same with environment variables.
    pub(crate) fn run_with(&self, arguments: &[&str], environment: &[(&str, &str)]) -> Seen {
        let limits = format!("ulimit -v {ADDRESS_SPACE} -t {PROCESSOR_SECONDS} 2>/dev/null");
        self.shell(&format!("{limits}; exec \"$0\" \"$@\""), arguments, environment)
    }

    /// Runs a shell script in which `$0` is the program and `$@` are the arguments.
    pub(crate) fn shell(
        &self,
        script: &str,
        arguments: &[&str],
        environment: &[(&str, &str)],
    ) -> Seen {
        let (out, err) = (tempfile::NamedTempFile::new(), tempfile::NamedTempFile::new());
        let (out, err) = (out.expect("a file"), err.expect("a file"));
        let stream = |file: &tempfile::NamedTempFile| file.reopen().expect("a file");
        let mut child = Command::new("bash")
            .args(["-c", script, env!("CARGO_BIN_EXE_bundle2chart")])
            .args(arguments)
            .current_dir(self.folder.path())
            .env_remove("NO_COLOR")
            .env("COLUMNS", "100")
            .envs(environment.iter().copied())
            .stdin(Stdio::null())
            .stdout(stream(&out))
            .stderr(stream(&err))
            .spawn()
            .expect("bash runs");
        let code = wait(&mut child);
        let text = |file: &tempfile::NamedTempFile| {
            let text = fs::read(file.path()).expect("what was printed");
            String::from_utf8(text).expect("UTF-8").replace(&self.shown(), "[temp]")
        };
        let seen = Seen { code, stdout: text(&out), stderr: text(&err) };
        for word in ["panicked", "RUST_BACKTRACE", "memory allocation", "overflowed its stack"] {
            assert!(!seen.stderr.contains(word), "{}", seen.stderr);
        }
        seen
    }

    fn shown(&self) -> String {
        self.folder.path().to_str().expect("UTF-8").to_owned()
    }

    /// Everything below a folder: content and time of change of files, and folders.
    pub(crate) fn tree(&self, folder: &str) -> BTreeMap<PathBuf, (Vec<u8>, SystemTime)> {
        let mut tree = BTreeMap::new();
        let mut waiting = vec![self.path(folder)];
        while let Some(path) = waiting.pop() {
            let Ok(metadata) = fs::symlink_metadata(&path) else { continue };
            let content = if metadata.is_dir() {
                let entries = fs::read_dir(&path).expect("a folder");
                waiting.extend(entries.map(|entry| entry.expect("an entry").path()));
                Vec::new()
            } else {
                fs::read(&path).unwrap_or_default()
            };
            // What is staged and not used comes and goes in the folder itself.
            let root = path == self.path(folder);
            let time =
                if root { SystemTime::UNIX_EPOCH } else { metadata.modified().expect("a time") };
            tree.insert(path, (content, time));
        }
        tree
    }

    /// Names of files below a folder, one a line.
    pub(crate) fn listing(&self, folder: &str) -> String {
        let root = self.path(folder);
        self.tree(folder).keys().filter(|path| path.is_file()).fold(
            String::new(),
            |mut text, path| {
                let shown = path.strip_prefix(&root).unwrap_or(Path::new("?"));
                let _ = writeln!(text, "{}", shown.display());
                text
            },
        )
    }
}

fn wait(child: &mut Child) -> Option<i32> {
    let start = Instant::now();
    loop {
        if let Some(status) = child.try_wait().expect("a child") {
            return status.code();
        }
        if start.elapsed() > HANGS {
            child.kill().expect("a child");
            panic!("the program hangs");
        }
        std::thread::sleep(Duration::from_millis(5));
    }
}

impl Seen {
    /// Standard error without the sizes of charts, which every change of their texts changes.
    pub(crate) fn stderr_but_sizes(&self) -> String {
        self.stderr.lines().fold(String::new(), |text, line| {
            let line = match line.strip_suffix(" KiB").and_then(|line| line.rsplit_once(' ')) {
                Some((line, _)) => format!("{} [size]", line.trim_end()),
                None => line.to_owned(),
            };
            text + &line + "\n"
        })
    }

    /// For snapshots.
    pub(crate) fn text(&self) -> String {
        let mut text =
            format!("exit code {}\n", self.code.map_or("none".into(), |c| c.to_string()));
        for (name, stream) in [("standard output", &self.stdout), ("standard error", &self.stderr)]
        {
            if !stream.is_empty() {
                let _ = write!(text, "--- {name}\n{stream}");
            }
        }
        text
    }
}
