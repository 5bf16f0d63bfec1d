//! Bytes as one layer and as two: gzip, zstd and tar from a hostile registry, within the limits.

use super::super::memory::bounded;
use bundle2chart::source::{Limits, fuzzing};

/// Checks one input.
pub fn run(data: &[u8]) {
    const MIB: u64 = 1 << 20;
    let limits = Limits {
        expanded_bytes: 64 * MIB,
        expansion_floor: 4 * MIB,
        zstd_window_bytes: 8 * MIB,
        ..Limits::default()
    };
    // A tar is divided at a block, so that both parts can be archives.
    let middle = (data.len() / 2).next_multiple_of(512).min(data.len());
    let (one, two) = data.split_at(middle);
    let _ = bounded(128, || fuzzing::layers(&[data], &limits));
    let _ = bounded(128, || fuzzing::layers(&[one, two], &limits));
}
