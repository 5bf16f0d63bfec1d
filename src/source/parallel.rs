//! Threads: the same work for many items, with results in their order.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Locks a mutex. One that is poisoned is used all the same: each change of what it guards is one call,
/// which is done or not.
pub(super) fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Applies `work` to every item on up to `jobs` threads with stacks of `stack` bytes; results in the
/// order of the items.
#[expect(
    clippy::disallowed_methods,
    reason = "bundles and blobs are worked on side by side; order is restored"
)]
pub fn in_parallel<T: Sync, R: Send>(
    items: &[T],
    jobs: usize,
    stack: usize,
    work: impl Fn(&T) -> R + Sync,
) -> Vec<R> {
    // A counter instead of equal shares: bundles differ in size by a factor of thousand.
    let next = AtomicUsize::new(0);
    let done: Mutex<Vec<(usize, R)>> = Mutex::new(Vec::with_capacity(items.len()));
    let worker = || {
        while let Some((index, item)) = {
            let index = next.fetch_add(1, Ordering::Relaxed);
            items.get(index).map(|item| (index, item))
        } {
            let result = work(item);
            locked(&done).push((index, result));
        }
    };

    std::thread::scope(|scope| {
        let started = (0..jobs.min(items.len()))
            .map_while(|_| {
                let thread = std::thread::Builder::new().stack_size(stack);
                thread.spawn_scoped(scope, worker).ok()
            })
            .count();
        // Without any thread the work is done here, more slowly.
        if started == 0 {
            worker();
        }
    });
    let mut done = done.into_inner().unwrap_or_else(PoisonError::into_inner);
    done.sort_unstable_by_key(|(index, _)| *index);
    done.into_iter().map(|(_, result)| result).collect()
}
