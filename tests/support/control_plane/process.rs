//! Programs of a control plane, which end with the test, also when the test is killed.

use std::fs::File;
use std::path::Path;
use std::process::{Child, ChildStdin, Command, ExitStatus, Stdio};

/// Runs `"$@"` until that ends, or standard input does: that is a pipe from the test, which the
/// system closes however the test ends.
const GUARD: &str = r#"
exec 3<&0
"$@" </dev/null 3<&- &
server=$!
{ read -r _ <&3; kill -9 "$server"; } 2>/dev/null &
reader=$!
exec 3<&-
wait "$server"
status=$?
# The number of a program that ended may soon be another program's.
kill -9 "$reader" 2>/dev/null
exit "$status"
"#;

/// A running program. Dropping it ends it.
pub(crate) struct Process {
    guard: Child,
    pipe: Option<ChildStdin>,
}

impl Process {
    /// Starts `program ARGUMENTS`, with what it prints in `log`.
    pub(crate) fn start(program: &Path, arguments: &[String], log: &Path) -> Self {
        let log = File::create(log).expect("a file");
        let mut guard = Command::new("sh")
            .args(["-c", GUARD, "sh"])
            .arg(program)
            .args(arguments)
            .stdin(Stdio::piped())
            .stdout(log.try_clone().expect("a file"))
            .stderr(log)
            .spawn()
            .expect("sh runs");
        let pipe = guard.stdin.take();
        Process { guard, pipe }
    }

    /// Returns the exit status; `None` while the program runs.
    pub(crate) fn ended(&mut self) -> Option<ExitStatus> {
        self.guard.try_wait().expect("a process")
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        drop(self.pipe.take());
        let _ = self.guard.wait();
    }
}
