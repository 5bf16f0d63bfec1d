//! An allocator that counts, so that memory has a bound per call and not only per process.

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

struct Counting;

#[global_allocator]
static ALLOCATOR: Counting = Counting;

static NOW: AtomicUsize = AtomicUsize::new(0);
static PEAK: AtomicUsize = AtomicUsize::new(0);

fn add(size: usize) {
    let now = NOW.fetch_add(size, Relaxed) + size;
    PEAK.fetch_max(now, Relaxed);
}

// SAFETY: every call is passed on to the system's allocator unchanged.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        add(layout.size());
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        add(layout.size());
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        NOW.fetch_sub(layout.size(), Relaxed);
        unsafe { System.dealloc(pointer, layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // The old and the new memory may exist at the same time.
        add(size);
        NOW.fetch_sub(layout.size(), Relaxed);
        unsafe { System.realloc(pointer, layout, size) }
    }
}

/// Runs `work`, which may allocate `mib` MiB at a time. libFuzzer bounds its time.
///
/// # Panics
/// When it allocates more.
pub fn bounded<T>(mib: usize, work: impl FnOnce() -> T) -> T {
    let before = NOW.load(Relaxed);
    PEAK.store(before, Relaxed);
    let result = work();
    let used = PEAK.load(Relaxed).saturating_sub(before);
    assert!(used <= mib << 20, "allocates {} MiB, and may {mib}", used >> 20);
    result
}
