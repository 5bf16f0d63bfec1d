//! The budget of a jq program for one object, and its enforcement.

use jaq_core::Lut;
use jaq_core::data::{DataT, HasLut};
use jaq_json::Val;
use serde::{Deserialize, Serialize};
use std::cell::Cell;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

/// The budget of one program for one object.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Budget {
    /// Terms of the program that are evaluated.
    pub steps: u64,
    /// Seconds of CPU time; only with a separate process.
    pub seconds: u64,
    /// Bytes of address space of the process; only with a separate process.
    pub memory: u64,
}

impl Default for Budget {
    /// Returns several times the budget of the most expensive legitimate program: one that does a
    /// dozen things with every value of a 2 MB CRD takes about ten million steps and a second.
    fn default() -> Self {
        Budget { steps: 50_000_000, seconds: 10, memory: 1 << 30 }
    }
}

/// Stack of the thread that compiles or runs programs: both recurse with the length of the
/// program, and running also with the depth of objects.
pub(super) const FILTER_STACK: usize = 64 << 20;
/// The part of [`FILTER_STACK`] for terms. The rest is for functions with their own recursion.
const TERM_STACK: usize = 48 << 20;

/// The exceeded limit.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Excess {
    /// The limit of steps.
    Steps(u64),
    /// The recursion depth.
    Depth,
    /// The limit of CPU time in seconds.
    Time(u64),
    /// The limit of memory in bytes.
    Memory(u64),
    /// The interpreter or its process failed.
    Failure(String),
}

impl fmt::Display for Excess {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Excess::Steps(steps) => {
                write!(f, "it exceeded {} million steps", steps / 1_000_000)
            }
            Excess::Depth => write!(f, "its recursion is too deep"),
            Excess::Time(seconds) => write!(f, "it exceeded {seconds} s of CPU time"),
            Excess::Memory(bytes) => write!(f, "it exceeded {} MiB of memory", bytes >> 20),
            Excess::Failure(reason) => write!(f, "{reason}"),
        }
    }
}

/// The data types for running programs. Every evaluation of a term asks [`Run`] for the table of
/// terms, which is where steps are counted.
pub(super) struct Metered;

impl DataT for Metered {
    type V<'a> = Val;
    type Data<'a> = Run<'a>;
}

/// One run of a program.
#[derive(Clone, Copy)]
pub(super) struct Run<'a> {
    table: &'a Lut<Metered>,
    meter: &'a Meter,
}

impl<'a> HasLut<'a, Metered> for Run<'a> {
    fn lut(&self) -> &'a Lut<Metered> {
        self.meter.step();
        self.table
    }
}

/// The remaining budget.
struct Meter {
    budget: u64,
    taken: Cell<u64>,
    /// Stack address at the start of the run.
    base: usize,
}

impl Meter {
    /// Counts a step. jaq cannot return an error from here, so the run is unwound to [`metered`],
    /// which frees all its data; panic hooks are not called.
    fn step(&self) {
        // A Cell, because jaq asks for the table through a shared reference.
        let taken = self.taken.get() + 1;
        self.taken.set(taken);
        if taken > self.budget {
            resume_unwind(Box::new(Excess::Steps(self.budget)));
        }
        // An overflow of the stack aborts the process, so it is noticed before.
        if self.base.abs_diff(stack_position()) > TERM_STACK {
            resume_unwind(Box::new(Excess::Depth));
        }
    }
}

/// Returns the address of something on top of the stack.
#[inline(never)]
fn stack_position() -> usize {
    let here = 0_u8;
    std::hint::black_box(&raw const here) as usize
}

/// Returns the result of `work`, which runs a program with at most `steps` steps.
pub(super) fn metered<T>(
    table: &Lut<Metered>,
    steps: u64,
    work: impl FnOnce(Run<'_>) -> T,
) -> Result<T, Excess> {
    let meter = Meter { budget: steps, taken: Cell::new(0), base: stack_position() };
    let run = Run { table, meter: &meter };
    // jaq has no way to stop a program; nothing that it owns is used after it was stopped.
    catch_unwind(AssertUnwindSafe(|| work(run))).map_err(|payload| match payload.downcast() {
        Ok(excess) => *excess,
        Err(_) => Excess::Failure("the jq interpreter failed".to_owned()),
    })
}
