#![expect(clippy::disallowed_methods, reason = "time passes while a registry is waited for")]
//! Timeouts, retries, and the number of parallel downloads.

use crate::limits::{Watched, exceeded, read_at_most};
use crate::parallel::locked;
use std::collections::BTreeSet;
use std::io::{self, Read};
use std::sync::{Condvar, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Minimum number of bytes per timeout; slower connections are aborted.
const LEAST_BYTES: u64 = 4 << 10;

/// Minimum average rate of a response body in bytes per second, after four timeouts.
const LEAST_RATE: u64 = 16 << 10;

/// Maximum time for a response body of any size.
const LONGEST_BODY: Duration = Duration::from_secs(2 * 60 * 60);

/// The pause before the first retry; each later one is twice as long.
const FIRST_PAUSE: Duration = Duration::from_millis(250);

/// Maximum pause before a retry, even if Retry-After is longer.
pub(super) const LONGEST_PAUSE: Duration = Duration::from_secs(60);

/// Returns the pause after a try, the first being 0.
pub(super) fn pause_after(attempt: u32) -> Duration {
    FIRST_PAUSE * (1 << attempt.min(6))
}

/// Returns the seconds of a Retry-After header: a number, or a date (RFC 9110, section 10.2.3).
pub(super) fn retry_after(value: &str) -> Option<u64> {
    if let Ok(seconds) = value.trim().parse() {
        return Some(seconds);
    }
    let date = httpdate::parse_http_date(value).ok()?;
    Some(date.duration_since(std::time::SystemTime::now()).map_or(0, |left| left.as_secs() + 1))
}

/// Returns the result of `work`, and its duration in milliseconds for messages.
pub(super) fn timed<T>(work: impl FnOnce() -> T) -> (T, u128) {
    let begun = Instant::now();
    (work(), begun.elapsed().as_millis())
}

/// Returns a response body of at most `size` bytes with a minimum rate and a total time limit. The
/// latter is a limit that [`is_exceeded`](crate::limits::is_exceeded): another attempt would time out
/// too.
pub(super) fn time_limited<R: Read>(body: R, timeout: Duration, size: u64) -> Watched<'static, R> {
    let time = time_for(size, timeout);
    let mut begun = Instant::now();
    let deadline = begun + time;
    let mut count = 0;
    Watched::new(body, move |bytes| {
        count += bytes.len() as u64;
        // At the end of the body it is complete, however long it took.
        if !bytes.is_empty() && Instant::now() > deadline {
            return Err(exceeded(format!("not complete after {} seconds", time.as_secs())));
        }
        if begun.elapsed() > timeout {
            if count < LEAST_BYTES && !bytes.is_empty() {
                let message = format!("only {count} bytes in {} seconds", timeout.as_secs());
                return Err(io::Error::new(io::ErrorKind::TimedOut, message));
            }
            (begun, count) = (Instant::now(), 0);
        }
        Ok(())
    })
}

/// Reads a response body; `None` if it has more than `limit` bytes.
pub(super) fn read_body(
    body: impl Read,
    timeout: Duration,
    limit: u64,
) -> io::Result<Option<Vec<u8>>> {
    read_at_most(time_limited(body, timeout, limit), limit)
}

/// Returns the timeout for a body of `size` bytes.
fn time_for(size: u64, timeout: Duration) -> Duration {
    // The timeout of each read alone would let a server send one byte at a time forever.
    let time = timeout * 4 + Duration::from_secs(size / LEAST_RATE);
    time.min(LONGEST_BODY.max(timeout * 4))
}

/// Keys that one thread at a time can claim.
#[derive(Default)]
pub(super) struct Claims<K> {
    taken: Mutex<BTreeSet<K>>,
    given_back: Condvar,
}

impl<K: Ord + Clone> Claims<K> {
    /// Waits until the key is free, and claims it until the result is dropped.
    pub(super) fn take(&self, key: &K) -> Claim<'_, K> {
        // A claim is for one name, so that others go on.
        self.wait_for(|taken| (!taken.contains(key)).then(|| key.clone()))
    }

    /// Waits until a key is free among those that are taken, and claims it likewise.
    pub(super) fn wait_for(&self, free: impl Fn(&BTreeSet<K>) -> Option<K>) -> Claim<'_, K> {
        let mut taken = locked(&self.taken);
        loop {
            if let Some(key) = free(&taken) {
                taken.insert(key.clone());
                return Claim { of: self, key };
            }
            taken = self.given_back.wait(taken).unwrap_or_else(PoisonError::into_inner);
        }
    }
}

/// A claimed key, which is free again when this is dropped.
pub(super) struct Claim<'c, K: Ord> {
    of: &'c Claims<K>,
    key: K,
}

impl<K: Ord> Drop for Claim<'_, K> {
    fn drop(&mut self) {
        locked(&self.of.taken).remove(&self.key);
        self.of.given_back.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_grow_to_a_bound() {
        assert_eq!(pause_after(0), Duration::from_millis(250));
        assert_eq!(pause_after(2), Duration::from_secs(1));
        assert!(pause_after(u32::MAX) <= LONGEST_PAUSE);
    }

    #[test]
    fn a_body_that_drips_above_the_pace_ends() {
        /// A body that is fast enough, and never ends.
        struct Drip;
        impl Read for Drip {
            fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
                std::thread::sleep(Duration::from_millis(1));
                buffer.fill(0);
                Ok(buffer.len())
            }
        }
        let begun = Instant::now();
        let mut body = time_limited(Drip, Duration::from_millis(20), 1 << 10);
        let error = loop {
            if let Err(error) = body.read(&mut [0; 8 << 10]) {
                break error;
            }
            assert!(begun.elapsed() < Duration::from_secs(60), "it goes on");
        };
        assert!(crate::limits::is_exceeded(&error), "{error}");
    }

    #[test]
    fn larger_bodies_may_take_longer_up_to_a_bound() {
        let timeout = Duration::from_secs(30);
        let seconds = |size| time_for(size, timeout).as_secs();
        assert_eq!(seconds(100 << 10), 126);
        assert_eq!(seconds(64 << 20), 120 + 4096);
        assert_eq!(seconds(u64::MAX), 7200);
        assert_eq!(time_for(0, LONGEST_BODY), LONGEST_BODY * 4);
    }

    #[test]
    fn a_registry_says_when_to_come_back() {
        assert_eq!(retry_after(" 7 "), Some(7));
        assert_eq!(retry_after("Sun, 06 Nov 1994 08:49:37 GMT"), Some(0));
        assert_eq!(retry_after("soon"), None);
        assert_eq!(retry_after("-1"), None);
    }
}
