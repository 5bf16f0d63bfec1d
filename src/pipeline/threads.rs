//! Threads: the same work for many bundles, with results in their order.

use crate::diag::Diagnostics;
use crate::source::in_parallel;

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
pub(crate) fn for_each<T: Sync, R: Send>(
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
    let done = in_parallel(items, jobs, COMPILER_STACK, work);

    let mut results = Vec::new();
    for (item, (result, found)) in items.iter().zip(done) {
        diagnostics.append(found.for_bundle(name(item)));
        results.extend(result);
    }
    results
}
