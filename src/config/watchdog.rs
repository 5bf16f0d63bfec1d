//! Work that may not end, on a thread that is not waited for longer than a deadline.

use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread::Builder;
use std::time::Duration;

/// How long the filters of one bundle may run.
pub const FILTER_DEADLINE: Duration = Duration::from_secs(5);

/// Stack of the thread: reading, compiling and running a filter recurse with its length (at most
/// [`super::filter::SOURCE_LIMIT`]) and with the depth of the objects.
const STACK: usize = 64 << 20;

/// Why there is no result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stopped {
    /// The deadline passed; the thread runs on until the process ends.
    Deadline,
    /// The work panicked, or the system gave no thread: a defect, not the user's mistake.
    Failed,
}

/// The result of `work`, run on a thread of its own with a stack of 64 MiB, unless `deadline`
/// passes first.
///
/// Rust cannot stop a thread: work that is too slow keeps its memory and a processor until the
/// process ends, so a caller should end soon after [`Stopped::Deadline`].
pub fn run_watched<T: Send + 'static>(
    deadline: Duration,
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, Stopped> {
    let (sender, receiver) = channel();
    Builder::new()
        .name("filter".to_owned())
        .stack_size(STACK)
        .spawn(move || {
            // The receiver is gone only when it gave up waiting.
            let _ = sender.send(work());
        })
        .map_err(|_| Stopped::Failed)?;
    receiver.recv_timeout(deadline).map_err(|error| match error {
        RecvTimeoutError::Timeout => Stopped::Deadline,
        RecvTimeoutError::Disconnected => Stopped::Failed,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_result_a_panic_and_an_endless_loop_are_told_apart() {
        assert_eq!(run_watched(FILTER_DEADLINE, || 7), Ok(7));
        assert_eq!(
            run_watched(FILTER_DEADLINE, || -> u8 { panic!("for the test") }),
            Err(Stopped::Failed)
        );
        let short = Duration::from_millis(20);
        let forever = || std::thread::sleep(Duration::from_secs(3_600));
        assert_eq!(run_watched(short, forever), Err(Stopped::Deadline));
    }

    #[test]
    fn deep_recursion_fits_the_stack() {
        fn depth(n: u64) -> u64 {
            if n == 0 { 0 } else { 1 + std::hint::black_box(depth(n - 1)) }
        }
        assert_eq!(run_watched(FILTER_DEADLINE, || depth(200_000)), Ok(200_000));
    }
}
