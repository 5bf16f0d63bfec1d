//! jq programs of the configuration: filters, which select objects, and patches, which change them.
//!
//! Programs are written by the user who runs the build, so they can use all of jq that only depends
//! on the object and has no side effects ([`library`]). jq is Turing-complete, and a program may
//! loop forever or fill the memory by mistake, so it runs within a [`Budget`]:
//!
//! - **Steps**, counted in the interpreter. They are the same on every machine, so the result does
//!   not depend on its speed or load. Nearly all runaway programs end here.
//! - **CPU time and memory**, limited by the system. A library function can loop or grow within one
//!   step (`last(range(1e12))`, `"x" * 1e12`), a thread cannot be killed, and its allocations cannot
//!   be counted without unsafe code. So jq runs in a child process ([`worker`]), which sets its
//!   limits before it reads the first object. A limit of wall time would make the result depend on
//!   the load of the machine.
//!
//! In normal use, the step limit decides; the system limits are far higher, for what steps do not
//! measure. macOS does not enforce limits of the address space.
//!
//! A program that embeds this library cannot be started as a worker. There, jq runs in a thread with
//! a budget of steps only, unless [`run_in`] names a program that can: a function that loops or
//! grows within one step is not stopped, and its thread lives until the process ends.

#![forbid(unsafe_code)]
#![warn(missing_docs)]

mod budget;
mod error;
mod library;
mod placeholders;
mod session;
pub mod worker;

pub use budget::{Budget, Excess};
pub use error::kind_hint;
pub use error::{NESTING_LIMIT, ProgramError, SOURCE_LIMIT};
pub use placeholders::Placeholders;
pub use session::{Failure, Input, Session, Stopped, run_in};

use budget::{FILTER_STACK, Metered, metered};
use bundle2chart_model::{diag, ir};
use jaq_core::load::{Arena, File, Loader, lex, parse};
use jaq_core::{Compiler, Ctx, Vars, unwrap_valr};
use jaq_json::{Num, Val};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

/// Checks that `text` can be used for `purpose`.
///
/// # Errors
/// The error and its position.
pub fn check(text: &str, purpose: Purpose) -> Result<(), ProgramError> {
    // jaq's compiler is recursive.
    let owned = text.to_owned();
    on_large_stack(move || Program::compile(&owned, purpose).map(|_| ())).unwrap_or_else(|| {
        Err(ProgramError::invalid(
            0..text.len(),
            "the jq compiler failed on this program",
            "shorten or simplify it",
        ))
    })
}

/// The purpose of a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Purpose {
    /// Selects objects.
    Filter,
    /// Changes an object.
    Patch,
}

/// Returns threads with a stack of [`FILTER_STACK`].
fn large_stack() -> std::thread::Builder {
    std::thread::Builder::new().name("jq".to_owned()).stack_size(FILTER_STACK)
}

/// Runs `work` on a thread with a large stack; returns `None` if it panics.
fn on_large_stack<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Option<T> {
    large_stack().spawn(work).ok()?.join().ok()
}

/// A compiled program. It cannot be moved to another thread; compiling takes about a millisecond.
struct Program {
    purpose: Purpose,
    filter: jaq_core::Filter<Metered>,
}

impl Program {
    /// Compiles `text`. This recurses with the length of the program: see [`on_large_stack`].
    fn compile(text: &str, purpose: Purpose) -> Result<Program, ProgramError> {
        error::bounded(text)?;
        // Lexed and parsed here first: the loader reports the same errors without their places.
        let tokens = lex::Lexer::new(text).lex().map_err(|found| error::lexical(text, &found))?;
        parse::Parser::new(&tokens)
            .parse(|parser| parser.term())
            .map_err(|found| error::syntactic(text, &found))?;

        let arena = Arena::default();
        let modules = Loader::new(library::definitions())
            .load(&arena, File { code: text, path: () })
            .map_err(|_| error::unexplained(text))?;
        let compiled = Compiler::default().with_funs(library::functions()).compile(modules);
        let filter = compiled.map_err(|errors| {
            match errors.iter().flat_map(|(_, errors)| errors).next() {
                Some((name, kind)) => error::undefined(text, name, kind),
                None => error::unexplained(text),
            }
        })?;
        Ok(Program { purpose, filter })
    }

    /// Returns the answer for one object, within `steps`.
    fn answer(&self, input: &Val, steps: u64) -> Answer {
        metered(&self.filter.lut, steps, |run| {
            let outputs = self.outputs(run, input);
            let result = match self.purpose {
                Purpose::Filter => condition(outputs, input),
                Purpose::Patch => patched(outputs),
            };
            json(&result?).map_err(Failure::Error)
        })
    }

    fn outputs<'a>(
        &'a self,
        run: budget::Run<'a>,
        input: &Val,
    ) -> impl Iterator<Item = Output> + 'a {
        let context = Ctx::<Metered>::new(run, Vars::new([]));
        self.filter.id.run((context, input.clone())).map(unwrap_valr)
    }
}

/// Returns the result of a filter. The object matches if any output is true, as in jq's
/// `select(FILTER)`. An output is `true`, `false`, `null`, or the object itself, as returned by
/// `select`.
fn condition(outputs: impl Iterator<Item = Output>, input: &Val) -> Result<Val, Failure> {
    let mut any = false;
    for output in outputs {
        any |= match output {
            Ok(Val::Bool(value)) => value,
            // A path to a missing field is null, which reads as "no".
            Ok(Val::Null) => false,
            // `select(…)` returns the object itself; people write it out of habit.
            Ok(value @ Val::Obj(_)) if value == *input => true,
            Ok(value) => return Err(Failure::NotCondition(type_name(&value).to_owned())),
            Err(error) => return Err(failure(&error)),
        };
    }
    Ok(Val::Bool(any))
}

/// Returns the result of a patch, which has one output: the whole object.
fn patched(mut outputs: impl Iterator<Item = Output>) -> Result<Val, Failure> {
    let failed = |reason: String| Err(Failure::Error(reason));
    let first = match outputs.next() {
        None => return failed("it returned no object".to_owned()),
        Some(output) => output.map_err(|error| failure(&error))?,
    };
    // A patch with two results would silently lose one.
    if outputs.next().is_some() {
        return failed("it returned more than one value".to_owned());
    }
    match first {
        Val::Obj(_) => Ok(first),
        other => failed(format!("it returned {}, not an object", type_name(&other))),
    }
}

/// An output of a program.
type Output = Result<Val, jaq_json::Error>;

/// The result of a program for one object, as JSON: of a filter true if the object matches, of a patch
/// the changed object.
type Answer = Result<Result<Box<RawValue>, Failure>, Excess>;

/// Nesting limit for patched objects; higher than for parsed bundles.
const DEEPEST: usize = 1_000;

/// Returns `value` as JSON; an error if it has none: jq also has texts of any bytes, keys that are
/// no texts, and numbers that are not finite.
fn json(value: &Val) -> Result<Box<RawValue>, String> {
    representable(value, 0)?;
    RawValue::from_string(value.to_string())
        .map_err(|_| "it returned an object that is not valid JSON".to_owned())
}

fn representable(value: &Val, depth: usize) -> Result<(), String> {
    if depth > DEEPEST {
        return Err(format!("it returned an object nested deeper than {DEEPEST}"));
    }
    match value {
        Val::Null | Val::Bool(_) => Ok(()),
        Val::Num(Num::Float(number)) if !number.is_finite() => {
            Err("a number is not finite".to_owned())
        }
        Val::Num(_) => Ok(()),
        // Slices of jaq's byte strings may end inside a character.
        Val::TStr(bytes) | Val::BStr(bytes) => match std::str::from_utf8(bytes) {
            Ok(_) => Ok(()),
            Err(_) => Err("a text is cut inside a character".to_owned()),
        },
        Val::Arr(items) => items.iter().try_for_each(|item| representable(item, depth + 1)),
        Val::Obj(map) => map.iter().try_for_each(|(key, value)| {
            if !matches!(key, Val::TStr(_)) {
                return Err(format!("a key is {}, not a text", type_name(key)));
            }
            representable(key, depth)?;
            representable(value, depth + 1)
        }),
    }
}

fn type_name(value: &Val) -> &'static str {
    match value {
        Val::Null => "null",
        Val::Bool(_) => "a boolean",
        Val::Num(_) => "a number",
        Val::TStr(_) | Val::BStr(_) => "a string",
        Val::Arr(_) => "a list",
        Val::Obj(_) => "an object",
    }
}

/// Start of the message with which `jaq_std` rejects a regular expression; its errors have no kinds.
const INVALID_REGEX: &str = "invalid regex";

/// Returns the failure for a runtime error of jq, without values, which may be secret.
fn failure(error: &jaq_json::Error) -> Failure {
    let reason = without_values(&error.to_string());
    if reason.starts_with(INVALID_REGEX) {
        Failure::InvalidRegex(reason)
    } else {
        Failure::Error(reason)
    }
}

/// Returns the message of a jq error without values, which may be secret.
fn without_values(error: &str) -> String {
    let kind = |value: &str| match value.chars().next() {
        Some('{') => "an object",
        Some('[') => "a list",
        Some('"') => "a string",
        Some('n') => "null",
        Some('t' | 'f') => "a boolean",
        _ => "a number",
    };
    // jaq's errors quote values, which may be those of a Secret; only their kinds are kept.
    if let Some(rest) = error.strip_prefix("cannot index ") {
        let index = rest.rsplit_once(" with ").map_or("", |(_, index)| index);
        let value = kind(rest);
        return match kind(index) {
            "a string" => format!("{value} has no fields"),
            "a number" => format!("{value} has no numbered entries"),
            index => format!("{value} has no entry named by {index}"),
        };
    }
    if let Some(rest) = error.strip_prefix("cannot use ") {
        let wanted = [
            (" as iterable (array or object)", "has no entries"),
            (" as rangeable (array or string)", "has no slices"),
            (" as integer", "is not an integer"),
            (" as number", "is not a number"),
            (" as string", "is not a string"),
            (" as array", "is not a list"),
        ];
        let wanted = wanted.iter().find(|(end, _)| rest.ends_with(end));
        return format!(
            "{} {}",
            kind(rest),
            wanted.map_or("cannot be used here", |(_, what)| what)
        );
    }
    if let Some(rest) = error.strip_prefix("cannot calculate ") {
        return format!("cannot calculate with {} here", kind(rest));
    }
    // Other messages are strings, written as JSON; those of jq itself show no values.
    let text: String = serde_json::from_str(error).unwrap_or_default();
    if text.ends_with(" has no length") {
        return "a boolean has no length".to_owned();
    }
    let known = [INVALID_REGEX, "split input and separator", "index "];
    if known.iter().any(|start| text.starts_with(start)) {
        return text;
    }
    "jq cannot say why without showing the object".to_owned()
}

#[cfg(test)]
mod tests;
