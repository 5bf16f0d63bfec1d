//! Running the programs of one bundle over its objects, one object at a time.

use super::placeholders::Placeholders;
use super::worker::{self, Request, Setup};
use super::{Answer, Budget, Excess, ProgramError, Purpose, large_stack};
use crate::ir::{Map, Object, Release, Value};
use rustix::process::Signal;
use serde::{Deserialize, Serialize};
use serde_json::Value as Json;
use serde_json::value::RawValue;
use std::fmt;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::os::unix::process::ExitStatusExt as _;
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::OnceLock;

static WORKER: OnceLock<PathBuf> = OnceLock::new();

/// Runs jq in child processes of `program` from now on, for the rest of this process. It calls
/// [`worker::main`] when its first argument is [`worker::ARGUMENT`].
pub fn run_in(program: PathBuf) {
    // Only the first call has an effect: sessions of one process do not differ.
    let _ = WORKER.set(program);
}

/// KiB of address space that mimalloc, the allocator of our program, reserves at a time in a worker.
/// Its default is 1 GiB, which is all that [`Budget`] allows.
const ARENA_KIB: &str = "32768";

/// The reason why a program has no result for an object.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Failure {
    /// A runtime error; the message has no values, which may be secret.
    Error(String),
    /// A runtime error because a text is not a regular expression, as [`Failure::Error`].
    InvalidRegex(String),
    /// The filter returned a value of this type, which is not a boolean.
    NotCondition(String),
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Failure::Error(reason) | Failure::InvalidRegex(reason) => write!(f, "here {reason}"),
            Failure::NotCondition(given) => write!(f, "it returned {given}"),
        }
    }
}

/// A program went over its budget, or could not be run. The session is over.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stopped {
    /// The program, as numbered by [`Session::start`].
    pub program: usize,
    /// The exceeded limit.
    pub excess: Excess,
}

/// Programs that wait for objects.
pub struct Session {
    worker: Option<Worker>,
    errors: Vec<Option<ProgramError>>,
    budget: Budget,
}

struct Worker {
    requests: Box<dyn Write>,
    answers: Box<dyn BufRead>,
    /// The process, if the worker is a separate process.
    child: Option<Child>,
}

impl Session {
    /// Starts a session with these programs; without programs, starts no process.
    ///
    /// # Errors
    /// If the process or thread cannot be started.
    pub fn start(programs: Vec<(Purpose, String)>) -> io::Result<Session> {
        Self::start_within(programs, Budget::default())
    }

    /// [`Session::start`] with another budget.
    ///
    /// # Errors
    /// As [`Session::start`].
    pub fn start_within(programs: Vec<(Purpose, String)>, budget: Budget) -> io::Result<Session> {
        if programs.is_empty() {
            return Ok(Session { worker: None, errors: Vec::new(), budget });
        }
        let mut worker = match WORKER.get() {
            Some(program) => Worker::process(program)?,
            None => Worker::thread()?,
        };

        // The first answer has an error, or none, for each program.
        let started = worker.send(&Setup { programs, budget }).and_then(|()| worker.line());
        let errors = serde_json::from_str(&started?)?;
        Ok(Session { worker: Some(worker), errors, budget })
    }

    /// Returns the compile error of each program, if any.
    pub fn errors(&self) -> &[Option<ProgramError>] {
        &self.errors
    }

    /// Runs these filters on the object; there is a result for each of `programs`.
    ///
    /// # Errors
    /// If a filter exceeds its budget.
    pub fn conditions(
        &mut self,
        programs: &[usize],
        input: &Input<'_>,
    ) -> Result<Vec<Result<bool, Failure>>, Stopped> {
        let outputs = self.ask(programs, input)?.into_iter();
        Ok(outputs.map(|output| Ok(output?.get() == "true")).collect())
    }

    /// Runs the patch `program` on the object. Helm values are replaced by [`Placeholders`]: the
    /// patch can move and remove them and insert the release namespace into strings, but cannot
    /// inspect them.
    ///
    /// # Errors
    /// If the patch exceeds its budget; the inner error is a runtime error, without values, which
    /// may be secret.
    pub fn patch(
        &mut self,
        program: usize,
        text: &str,
        root: &Map,
    ) -> Result<Result<Map, String>, Stopped> {
        // jq knows JSON only: expressions become texts that it may move and must not read.
        let mut placeholders = Placeholders::new(root, text);
        let hidden = placeholders.hide(root);
        let mut outputs = self.ask(&[program], &Input::Literal(&hidden))?;
        let output = outputs.pop().ok_or_else(|| unexpected(program))?;
        Ok(match output {
            Ok(object) => placeholders.restore(object.get()),
            Err(Failure::Error(why) | Failure::InvalidRegex(why) | Failure::NotCondition(why)) => {
                Err(why)
            }
        })
    }

    /// Runs `programs` on `input` and returns the result of each. After an error the session is over.
    fn ask(
        &mut self,
        programs: &[usize],
        input: &Input<'_>,
    ) -> Result<Vec<Result<Box<RawValue>, Failure>>, Stopped> {
        let Some(first) = programs.first() else { return Ok(Vec::new()) };
        let mut worker = self.worker.take().ok_or_else(|| unexpected(*first))?;

        // Sending fails if the worker has exited; reading the response reports why.
        let _ = worker.send(&Request { programs, object: input });
        let mut outputs = Vec::with_capacity(programs.len());
        for &program in programs {
            let line = worker.line();
            let answer: io::Result<Answer> = line.and_then(|line| Ok(serde_json::from_str(&line)?));
            // The answer ends in the middle when the system stops the worker at a limit.
            let answer = answer.unwrap_or_else(|_| Err(worker.end(&self.budget)));
            outputs.push(answer.map_err(|excess| Stopped { program, excess })?);
        }
        self.worker = Some(worker);
        Ok(outputs)
    }
}

fn unexpected(program: usize) -> Stopped {
    let reason = "its session is over".to_owned();
    Stopped { program, excess: Excess::Failure(reason) }
}

impl Worker {
    /// Starts a worker process, connected only by three pipes.
    fn process(program: &PathBuf) -> io::Result<Worker> {
        // Not by `source::process`, which is of a crate above this one.
        let mut child = Command::new(program)
            .arg(worker::ARGUMENT)
            // A filter has no access to the environment, not even through a bug of the interpreter.
            .env_clear()
            .env("MIMALLOC_ARENA_RESERVE", ARENA_KIB)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()?;
        let (Some(requests), Some(answers)) = (child.stdin.take(), child.stdout.take()) else {
            return Err(io::Error::other("a worker without pipes"));
        };
        Ok(Worker::new(requests, answers, Some(child)))
    }

    /// Returns a thread of this process, which ends when its requests do.
    fn thread() -> io::Result<Worker> {
        let (input, requests) = io::pipe()?;
        let (answers, output) = io::pipe()?;
        // On failure the responses end, which the session detects.
        large_stack().spawn(move || worker::serve(BufReader::new(input), output, false))?;
        Ok(Worker::new(requests, answers, None))
    }

    fn new(
        requests: impl Write + 'static,
        answers: impl Read + 'static,
        child: Option<Child>,
    ) -> Worker {
        let answers = Box::new(BufReader::new(answers));
        Worker { requests: Box::new(requests), answers, child }
    }

    fn send(&mut self, message: &impl Serialize) -> io::Result<()> {
        worker::write_line(&mut self.requests, message)
    }

    fn line(&mut self) -> io::Result<String> {
        let mut line = String::new();
        match self.answers.read_line(&mut line)? {
            0 => Err(io::ErrorKind::UnexpectedEof.into()),
            _ => Ok(line),
        }
    }

    /// Returns the reason why the worker exited without a result.
    fn end(&mut self, budget: &Budget) -> Excess {
        let Some(child) = &mut self.child else {
            return Excess::Failure("the jq interpreter failed".to_owned());
        };
        // A worker that is still running sent an invalid response; it exits when its stdin is
        // closed.
        self.requests = Box::new(io::sink());
        let mut errors = Vec::new();
        if let Some(stderr) = &mut child.stderr {
            let _ = stderr.take(1 << 12).read_to_end(&mut errors);
        }
        let status = child.wait();
        self.child = None;
        let errors = String::from_utf8_lossy(&errors);
        match status {
            Ok(status) => cause(status, &errors, budget),
            Err(error) => Excess::Failure(format!("its process was lost: {error}")),
        }
    }
}

impl Drop for Worker {
    /// Kills the process, which may be waiting for requests or processing an obsolete one.
    fn drop(&mut self) {
        if let Some(child) = &mut self.child {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

/// Returns the limit that ended a worker. Rust ends a process with the same signal when memory or
/// stack run out, and says on stderr which it was.
pub(super) fn cause(status: ExitStatus, errors: &str, budget: &Budget) -> Excess {
    let is = |signal: Signal| status.signal() == Some(signal.as_raw());
    // The kernel sends it at the soft limit (RLIMIT_CPU).
    if is(Signal::XCPU) {
        Excess::Time(budget.seconds)
    } else if errors.contains("overflowed its stack") {
        Excess::Depth
    } else if errors.contains("memory allocation") || errors.contains("capacity overflow") {
        Excess::Memory(budget.memory)
    } else {
        Excess::Failure(format!("its process ended with {status}"))
    }
}

/// An object in the form in which programs read it.
#[derive(Serialize)]
#[serde(untagged)]
pub enum Input<'o> {
    /// An object without expressions.
    Literal(&'o Map),
    /// Every expression has its value.
    Resolved(Json),
}

impl<'o> Input<'o> {
    /// `object` with its expressions as they are in `release`. Its condition does not count: a
    /// filter also decides about objects that are present with other values only.
    pub fn new(object: &'o Object, release: &Release<'_>) -> Self {
        // Most objects by size are CRDs, which contain no expressions.
        if !object.root.values().any(Value::has_expression) {
            return Input::Literal(&object.root);
        }
        let resolved = release
            .object(object)
            // Filters see conditional objects as well, as if their condition was true.
            .or_else(|| release.object(&Object { when: None, ..object.clone() }));
        Input::Resolved(resolved.unwrap_or_default())
    }
}
