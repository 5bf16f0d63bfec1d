//! Chart versions that are not released yet: Git's HEAD does not have them.

use super::ownership;
use crate::source::chart::{Committed, committed};
use std::path::Path;

/// Returns true if the chart in the directory `dir` of the output directory is in a Git work tree
/// and HEAD does not have it as it is, so that replacing it changes no released version. False
/// without Git, and if Git ignores the directory.
pub(super) fn is_unreleased(out: &Path, dir: &Path, marker: &[u8]) -> bool {
    let Some(path) = dir.join(ownership::FILE_NAME).to_str().map(str::to_owned) else {
        return false;
    };
    match committed(out, &path) {
        Committed::Unknown => false,
        Committed::Absent => true,
        Committed::File(content) => content != marker,
    }
}
