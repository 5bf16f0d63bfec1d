//! The worker of a [`super::Session`]: reads programs and objects, and returns results.
//!
//! Every message is a line of JSON. The first one has the programs; the response is an error or
//! null for each. Each later one has an object and the programs to run; the response is a line per
//! program, written immediately: if the process dies in between, the missing responses identify the
//! program. A request is read completely before the response, so that the two sides cannot deadlock
//! on full pipes.

use super::{Budget, Excess, Program, ProgramError, Purpose, on_large_stack};
use jaq_json::read::parse_single;
use rustix::process::{Resource, getrlimit, setrlimit};
use rustix::time::{ClockId, clock_gettime};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use std::io::{self, BufRead, Write};
use std::process::ExitCode;

/// The first argument of a process that is a worker.
pub const ARGUMENT: &str = "jq-worker";

/// The first message.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Setup {
    pub(super) programs: Vec<(Purpose, String)>,
    pub(super) budget: Budget,
}

/// A later message: the numbers of programs, and the object to run them on.
#[derive(Serialize, Deserialize)]
pub(super) struct Request<P, O> {
    pub(super) programs: P,
    pub(super) object: O,
}

/// Serves the session on stdin and stdout. The limits of the session's budget are set permanently,
/// so the process must not be used for anything else.
pub fn main() -> ExitCode {
    // On a thread, because the stack of the main one is as large as `ulimit -s` says.
    let served = on_large_stack(|| serve(io::stdin().lock(), io::stdout().lock(), true));
    match served {
        Some(Ok(())) => ExitCode::SUCCESS,
        _ => ExitCode::FAILURE,
    }
}

/// Limits the process to `budget`, except for its CPU time.
fn limit_process(budget: &Budget) -> io::Result<()> {
    // Exceeding the limits is expected, so core dumps are disabled.
    lower(Resource::Core, 0)?;
    lower(Resource::As, budget.memory)
}

/// Adds `seconds` of CPU time to the process's limit.
fn add_cpu_time(seconds: u64) -> io::Result<()> {
    // The limit counts from the start of the process, in whole seconds.
    let used = clock_gettime(ClockId::ProcessCPUTime).tv_sec;
    lower(Resource::Cpu, u64::try_from(used).unwrap_or_default() + 1 + seconds)
}

/// Sets the soft limit, which a process may also raise again, but not above the hard one.
fn lower(resource: Resource, wanted: u64) -> io::Result<()> {
    let mut limit = getrlimit(resource);
    // At the soft limit of CPU time the kernel sends SIGXCPU, from which the session knows the
    // reason; at the hard one SIGKILL (setrlimit(2)), also if both are the same.
    limit.current = Some(limit.maximum.map_or(wanted, |most| most.saturating_sub(1).min(wanted)));
    Ok(setrlimit(resource, limit)?)
}

/// Answers until the input ends. The system limits the work of a process of its own (`is_limited`), and
/// not that of a thread.
pub(super) fn serve(
    mut input: impl BufRead,
    mut output: impl Write,
    is_limited: bool,
) -> io::Result<()> {
    let mut line = Vec::new();
    if input.read_until(b'\n', &mut line)? == 0 {
        return Ok(());
    }
    let setup: Setup = serde_json::from_slice(&line)?;
    // Before anything of the user is read by the interpreter.
    if is_limited {
        limit_process(&setup.budget)?;
    }

    let compiled: Vec<Result<Program, ProgramError>> =
        setup.programs.iter().map(|(purpose, text)| Program::compile(text, *purpose)).collect();
    let errors: Vec<_> = compiled.iter().map(|program| program.as_ref().err()).collect();
    write_line(&mut output, &errors)?;

    loop {
        line.clear();
        if input.read_until(b'\n', &mut line)? == 0 {
            return Ok(());
        }
        let request: Request<Vec<usize>, &RawValue> = serde_json::from_slice(&line)?;
        let object = parse_single(request.object.get().as_bytes()).map_err(io::Error::other)?;
        for index in request.programs {
            // Per program and object, so that many objects do not add up to the limit.
            if is_limited {
                add_cpu_time(setup.budget.seconds)?;
            }
            let answer = match compiled.get(index) {
                Some(Ok(program)) => program.answer(&object, setup.budget.steps),
                // `Session::errors` has had the error since the first answer.
                _ => Err(Excess::Failure("it does not compile".to_owned())),
            };
            write_line(&mut output, &answer)?;
        }
    }
}

/// Writes a message and flushes it.
pub(super) fn write_line(output: &mut impl Write, message: &impl Serialize) -> io::Result<()> {
    let mut line = serde_json::to_vec(message)?;
    line.push(b'\n');
    output.write_all(&line)?;
    output.flush()
}
