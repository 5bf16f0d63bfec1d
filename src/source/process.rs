#![expect(
    clippy::disallowed_methods,
    reason = "starts programs, gives them a part of the environment, and waits for them in threads"
)]
//! Programs of others: `helm`, `git` and credential helpers.
//!
//! The only place that starts them. A program is found by its absolute path, gets options
//! that no value can turn into others, has a limit of time and of output, and runs in a process
//! group that is killed when it is done, when its time is up, and when this process ends in
//! whatever way. Only what leaves that group (`setsid`) outlives it, and is not waited for.

use super::limits::{at_most, in_bytes};
use rustix::fs::{Access, access};
use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process_group, waitid};
use std::ffi::{OsStr, OsString};
use std::io::{self, Read, Write as _};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{self, RecvTimeoutError, SyncSender};
use std::thread;
use std::time::{Duration, Instant};

/// Environment variables for the user's directories and locale.
const USUAL_VARIABLES: &[&str] = &["HOME", "LOGNAME", "PATH", "TMPDIR", "USER"];

/// Bytes of stderr that are kept.
const ERROR_BYTES: usize = 64 << 10;

/// Time to wait for the remaining output of an exited program, if a process outside its group keeps
/// the pipe open.
const GRACE: Duration = Duration::from_secs(1);

/// Time between two looks at whether a program has ended.
const PAUSE: Duration = Duration::from_millis(5);

/// A program that is about to be started.
pub(super) struct Program {
    command: Command,
    input: Vec<u8>,
    time: Duration,
    pub(super) output_bytes: u64,
    memory: Option<u64>,
}

/// The result of a program.
pub(super) struct Finished {
    /// The exit status.
    pub(super) status: ExitStatus,
    /// The stdout of the program.
    pub(super) output: Vec<u8>,
    /// The start of its stderr.
    pub(super) errors: Vec<u8>,
}

impl Program {
    /// Finds a program in `path`, or in the `PATH` of this process. It starts with an empty
    /// environment.
    ///
    /// # Errors
    /// If no directory has an executable file with this name.
    pub(super) fn find(name: &str, path: Option<&str>) -> io::Result<Self> {
        let path = path.map(OsString::from).or_else(|| std::env::var_os("PATH"));
        let file = path.as_deref().and_then(|path| executable(name, path));
        let missing = || io::Error::new(io::ErrorKind::NotFound, "program not found in PATH");
        let mut command = Command::new(file.ok_or_else(missing)?);
        // Callers name what the program may know.
        command.env_clear();
        Ok(Program {
            command,
            input: Vec::new(),
            time: Duration::from_secs(60),
            output_bytes: 4 << 20,
            memory: None,
        })
    }

    /// Limits its time and the bytes of its stdout.
    pub(super) fn limits(mut self, time: Duration, output_bytes: u64) -> Self {
        (self.time, self.output_bytes) = (time, output_bytes);
        self
    }

    /// Limits its memory in bytes, on Linux only; it ends when it needs more.
    pub(super) fn memory(mut self, bytes: u64) -> Self {
        self.memory = Some(bytes);
        self
    }

    /// Adds arguments that are the same for every input.
    pub(super) fn arguments(mut self, constant: &[&'static str]) -> Self {
        self.command.args(constant);
        self
    }

    /// Adds an option as one argument, `NAME=VALUE`, so that the value cannot be parsed as another
    /// option.
    pub(super) fn option(mut self, name: &'static str, value: &str) -> Self {
        self.command.arg(format!("{name}={value}"));
        self
    }

    /// Adds operands behind `--`. No other argument may follow.
    pub(super) fn operands<S: AsRef<OsStr>>(mut self, operands: &[S]) -> Self {
        self.command.arg("--").args(operands);
        self
    }

    /// Sets the working directory.
    pub(super) fn folder(mut self, folder: &Path) -> Self {
        self.command.current_dir(folder);
        self
    }

    /// Sets its stdin, which is empty else.
    pub(super) fn input(mut self, input: impl Into<Vec<u8>>) -> Self {
        self.input = input.into();
        self
    }

    /// Passes on a few variables of this process: the usual ones and those that are named.
    /// Messages are in English.
    pub(super) fn variables(mut self, names: &[&str]) -> Self {
        for name in USUAL_VARIABLES.iter().chain(names) {
            if let Some(value) = std::env::var_os(name) {
                self.command.env(name, value);
            }
        }
        self.command.env("LC_ALL", "C");
        self
    }

    /// Passes on all variables of this process.
    pub(super) fn all_variables(mut self) -> Self {
        self.command.envs(std::env::vars_os());
        self
    }

    /// Sets a variable.
    pub(super) fn variable(mut self, name: &str, value: impl AsRef<OsStr>) -> Self {
        self.command.env(name, value);
        self
    }

    /// Runs the program to its end.
    ///
    /// # Errors
    /// If it does not start, or cannot be waited for; `TimedOut` and `QuotaExceeded` if it passes its
    /// limits. Nothing of its process group is left then.
    pub(super) fn run(mut self) -> io::Result<Finished> {
        let begun = Instant::now();
        // Before the program, whose process group it leads.
        let leader = Leader::start();
        self.command
            .process_group(leader.as_ref().map_or(0, Leader::id))
            .stdin(if self.input.is_empty() { Stdio::null() } else { Stdio::piped() })
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let unstarted = |error| io::Error::other(format!("cannot start it: {error}"));
        let mut running = Running { child: self.command.spawn().map_err(unstarted)?, leader };
        // After the start, because `CommandExt::pre_exec` is `unsafe`, which the workspace forbids.
        if let Some(bytes) = self.memory {
            limit_memory(&running.child, bytes).map_err(unstarted)?;
        }

        // A thread that is stuck at a pipe of a process that left the group is left alone.
        if let Some(mut pipe) = running.child.stdin.take() {
            let input = std::mem::take(&mut self.input);
            // A program that does not read its input says so by how it ends.
            thread::spawn(move || pipe.write_all(&input));
        }
        // Bounded: a program that writes faster than it is read waits.
        let (sender, chunks) = mpsc::sync_channel(16);
        if let Some(pipe) = running.child.stdout.take() {
            let sender = sender.clone();
            thread::spawn(move || forward(pipe, &sender, Chunk::Output));
        }
        if let Some(pipe) = running.child.stderr.take() {
            let sender = sender.clone();
            thread::spawn(move || forward(pipe, &sender, Chunk::Error));
        }
        // The channel ends when both threads have.
        drop(sender);

        let (mut output, mut errors) = (Vec::new(), Vec::new());
        let mut ended: Option<Instant> = None;
        loop {
            match chunks.recv_timeout(PAUSE) {
                Ok(Chunk::Output(bytes)) => {
                    output.extend(bytes);
                    let limit = self.output_bytes;
                    let too_much = || format!("it wrote more than {}", in_bytes(limit));
                    at_most(output.len() as u64, limit, too_much)?;
                }
                Ok(Chunk::Error(bytes)) => {
                    errors.extend(bytes);
                    errors.truncate(ERROR_BYTES);
                }
                Err(RecvTimeoutError::Timeout) if ended.is_some_and(|at| at.elapsed() > GRACE) => {
                    break;
                }
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) if ended.is_some() => break,
                // It has closed its output and still runs.
                Err(RecvTimeoutError::Disconnected) => thread::sleep(PAUSE),
            }
            if ended.is_none() && running.has_ended()? {
                ended = Some(Instant::now());
                // Child processes that are still running keep the pipes open.
                running.kill();
            }
            if begun.elapsed() > self.time {
                if ended.is_some() {
                    break;
                }
                let why = format!("it timed out after {} seconds", self.time.as_secs());
                return Err(io::Error::new(io::ErrorKind::TimedOut, why));
            }
        }
        let status = running.child.wait()?;
        Ok(Finished { status, output, errors })
    }
}

/// Limits the private memory of a process that has just started. Its reserved address space does not
/// count: programs in Go reserve more than they use.
#[cfg(target_os = "linux")]
fn limit_memory(child: &Child, bytes: u64) -> io::Result<()> {
    use rustix::process::{Resource, Rlimit, prlimit};
    let limit = Rlimit { current: Some(bytes), maximum: Some(bytes) };
    match prlimit(Some(Pid::from_child(child)), Resource::Data, limit) {
        // It has ended.
        Ok(_) | Err(rustix::io::Errno::SRCH) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

#[cfg(not(target_os = "linux"))]
fn limit_memory(_: &Child, _: u64) -> io::Result<()> {
    Ok(())
}

/// A part of what a program writes.
enum Chunk {
    Output(Vec<u8>),
    Error(Vec<u8>),
}

/// Forwards the data of a pipe until its end, or until the receiver is dropped.
fn forward(mut pipe: impl Read, to: &SyncSender<Chunk>, chunk: fn(Vec<u8>) -> Chunk) {
    let mut buffer = vec![0; 64 << 10];
    while let Ok(count @ 1..) = pipe.read(&mut buffer) {
        if to.send(chunk(buffer[..count].to_vec())).is_err() {
            return;
        }
    }
}

/// A program at work. Dropping it kills its process group.
struct Running {
    child: Child,
    leader: Option<Leader>,
}

impl Running {
    /// Returns true if the program has exited. It is not reaped, so that its process ID is not
    /// reused.
    fn has_ended(&self) -> io::Result<bool> {
        // Not reaped yet, so that its process group keeps its number until it is killed.
        let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
        Ok(waitid(WaitId::Pid(Pid::from_child(&self.child)), options)?.is_some())
    }

    fn kill(&self) {
        let leader = self.leader.as_ref().map_or(&self.child, |leader| &leader.shell);
        // An error means that the group has already exited.
        let _ = kill_process_group(Pid::from_child(leader), Signal::KILL);
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.kill();
        let _ = self.child.wait();
    }
}

/// The leader of a process group: a shell that waits for the end of its stdin, a pipe that only
/// this process holds open, and then kills the group. The operating system closes the pipe however
/// this process ends, even if it is killed. `prctl(PR_SET_PDEATHSIG)` would require `unsafe`, only
/// works on Linux, and does not reach grandchildren.
struct Leader {
    shell: Child,
}

impl Leader {
    /// Starts the shell. Without a shell (distroless images), a program leads its own group, which
    /// is killed like any other unless this process is killed first.
    fn start() -> Option<Self> {
        let shell = Command::new("/bin/sh")
            .args(["-c", "read -r end; kill -s KILL 0"])
            .env_clear()
            .current_dir("/")
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .process_group(0)
            .spawn();
        shell.ok().map(|shell| Leader { shell })
    }

    fn id(&self) -> i32 {
        Pid::from_child(&self.shell).as_raw_nonzero().get()
    }
}

impl Drop for Leader {
    fn drop(&mut self) {
        let _ = self.shell.kill();
        let _ = self.shell.wait();
    }
}

/// Finds the executable file of a program in the directories of a `PATH`. Relative directories are
/// ignored, as in Go's `os/exec`: files in the working directory are not trusted.
fn executable(name: &str, path: &OsStr) -> Option<PathBuf> {
    std::env::split_paths(path)
        .filter(|folder| folder.is_absolute())
        .map(|folder| folder.join(name))
        .find(|file| file.is_file() && access(file, Access::EXEC_OK).is_ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(script: &'static str) -> Program {
        Program::find("sh", None).unwrap().variables(&[]).arguments(&["-c", script])
    }

    /// Returns true if a process exists and is no zombie.
    fn is_alive(pid: &str) -> bool {
        let Ok(stat) = std::fs::read_to_string(format!("/proc/{pid}/stat")) else { return false };
        !stat.rsplit(") ").next().unwrap_or_default().starts_with('Z')
    }

    #[track_caller]
    fn assert_ends(pid: &str) {
        let begun = Instant::now();
        while is_alive(pid) {
            assert!(begun.elapsed() < Duration::from_secs(10), "the process {pid} is alive");
            thread::sleep(PAUSE);
        }
    }

    #[test]
    fn output_errors_and_status_are_those_of_the_program() {
        let done = shell("cat; echo said >&2; exit 3").input("read").run().unwrap();
        assert_eq!((done.output, done.errors), (b"read".to_vec(), b"said\n".to_vec()));
        assert_eq!(done.status.code(), Some(3));
    }

    #[test]
    fn a_program_that_never_ends_is_killed_with_what_it_started() {
        let folder = tempfile::tempdir().unwrap();
        let begun = Instant::now();
        let outcome = shell("sleep 600 & echo $! > pid; sleep 600")
            .folder(folder.path())
            .limits(Duration::from_secs(1), 1 << 10)
            .run();
        assert_eq!(outcome.err().unwrap().kind(), io::ErrorKind::TimedOut);
        assert!(begun.elapsed() < Duration::from_secs(30));
        assert_ends(std::fs::read_to_string(folder.path().join("pid")).unwrap().trim());
    }

    #[test]
    fn a_grandchild_that_holds_the_output_open_is_not_waited_for() {
        let begun = Instant::now();
        let done = shell("echo done; sleep 600 & echo $!").run().unwrap();
        let text = String::from_utf8(done.output).unwrap();
        let pid = text.strip_prefix("done\n").unwrap().trim();
        assert_ends(pid);
        // One that leaves the process group lives on. It is not waited for either.
        let done = shell("echo done; setsid sleep 60 & exit 0").run().unwrap();
        assert_eq!(done.output, b"done\n");
        assert!(done.status.success());
        assert!(begun.elapsed() < Duration::from_secs(30));
    }

    #[test]
    fn output_has_a_limit_and_errors_are_cut() {
        let outcome = shell("yes").limits(Duration::from_secs(60), 1 << 20).run();
        assert_eq!(outcome.err().unwrap().kind(), io::ErrorKind::QuotaExceeded);
        let done = shell("yes | head -c 1000000 >&2").run().unwrap();
        assert_eq!(done.errors.len(), ERROR_BYTES);
    }

    #[test]
    fn a_program_that_does_not_read_its_input_ends() {
        let done = shell("exit 0").input(vec![b'x'; 1 << 20]).run().unwrap();
        assert!(done.status.success());
    }

    #[test]
    fn values_are_never_options_and_variables_are_few() {
        let script = "printf '%s\\n' \"$@\"; env | cut -d= -f1 | sort";
        let program = Program::find("sh", None).unwrap().arguments(&["-c", script, "sh"]);
        let done = program
            .variable("A", "b")
            .option("--name", "--post-renderer=sh")
            .operands(&["--repo=x", "-y"])
            .run()
            .unwrap();
        let text = String::from_utf8(done.output).unwrap();
        let expected = "--name=--post-renderer=sh\n--\n--repo=x\n-y\nA\nPWD\n";
        // Some shells set these themselves.
        let own = |line: &&str| !["OLDPWD", "SHLVL", "_"].contains(line);
        assert_eq!(
            text.lines().filter(own).map(|l| format!("{l}\n")).collect::<String>(),
            expected
        );
    }

    #[test]
    fn programs_are_found_by_absolute_path_and_only_when_they_can_run() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("sh"), "no program").unwrap();
        let path = format!(":.:{}:/bin:/usr/bin", folder.path().display());
        let found = executable("sh", OsStr::new(&path)).unwrap();
        assert!(found.is_absolute() && !found.starts_with(folder.path()), "{found:?}");
        let missing = Program::find("sh", Some(folder.path().to_str().unwrap()));
        assert_eq!(missing.err().unwrap().kind(), io::ErrorKind::NotFound);
    }
}
