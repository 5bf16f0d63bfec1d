//! Threads: the same work for many bundles, with results in their order.

use crate::diag::Diagnostics;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

/// Stack size in bytes of threads that compile or compare. Trees are processed recursively, nested
/// as deep as the YAML reader allows ([`crate::yaml::MAX_DEPTH`]), and such a bundle must not
/// overflow the stack. Unoptimized code needs about 20 KiB per level.
pub(crate) const COMPILER_STACK: usize = 32 << 20;

/// Threads for work that mostly waits for registries, to each of which the client limits the number of
/// parallel requests.
#[cfg(feature = "cli")]
pub(crate) const REGISTRY_JOBS: usize = 16;

/// Applies `work` to every item on up to `jobs` threads. Returns the results in the order of the
/// items, and adds the findings in this order, with the item's name as the bundle.
pub(super) fn for_each<T: Sync, R: Send>(
    items: &[T],
    jobs: usize,
    name: impl Fn(&T) -> &str,
    diagnostics: &mut Diagnostics,
    work: impl Fn(&T, &mut Diagnostics) -> Option<R> + Sync,
) -> Vec<R> {
    let work = |item: &T| {
        // A list per item: threads finish in any order, and messages have the order of
        // bundles.toml.
        let mut found = Diagnostics::new();
        (work(item, &mut found), found)
    };
    let mut results = Vec::new();
    for (item, (result, found)) in items.iter().zip(in_parallel(items, jobs, work)) {
        diagnostics.append(found.for_bundle(name(item)));
        results.extend(result);
    }
    results
}

/// Applies `work` to every item on up to `jobs` threads; results in the order of the items.
#[expect(
    clippy::disallowed_methods,
    reason = "bundles are compiled side by side; order is restored"
)]
fn in_parallel<T: Sync, R: Send>(
    items: &[T],
    jobs: usize,
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
            done.lock().unwrap_or_else(PoisonError::into_inner).push((index, result));
        }
    };

    std::thread::scope(|scope| {
        let started = (0..jobs.clamp(1, items.len().max(1)))
            .map_while(|_| {
                // Most functions on objects are recursive.
                let thread = std::thread::Builder::new().stack_size(COMPILER_STACK);
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
