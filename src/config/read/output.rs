//! Reads `[output]`.

use super::reader::{Fields, Located, Reader};
use super::values::{self, plain};
use crate::diag::Code;
use crate::{Layout, Output};
use std::path::{Component, Path, PathBuf};

pub(super) fn read(reader: &mut Reader<'_>, fields: &Fields<'_>, base: &Path) -> Option<Output> {
    let layout = match fields.text("layout") {
        Some(("flat", _)) => Layout::Flat,
        _ => Layout::Versioned,
    };
    let dir = match fields.text("dir") {
        Some(at) => output_dir(reader, at, base)?,
        None => PathBuf::from("out"),
    };
    Some(Output { dir, layout, keep: fields.integer("keep") })
}

/// Reads the output directory, relative to the configuration, without `.` and redundant `..`.
fn output_dir(reader: &mut Reader<'_>, at: Located<&str>, base: &Path) -> Option<PathBuf> {
    let range = at.1.clone();
    let text = values::filled(reader, "dir", at)?;
    let path = Path::new(text);
    if path.is_absolute() || path.has_root() || text.starts_with('~') {
        reader.error(
            Code::InvalidValue,
            &range,
            "`dir` is not a relative path, so it differs between machines",
            "write a relative path such as `out`, or use `--out` on the command line",
        );
        return None;
    }

    let dir = plain(path);
    let upwards = dir.components().all(|component| component == Component::ParentDir);
    if upwards || plain(base).starts_with(plain(&base.join(&dir))) {
        reader.error(
            Code::OverlappingOutput,
            &range,
            "the output directory contains this configuration",
            "use a separate directory, such as `out`: charts in the output directory are \
                written, replaced and deleted",
        );
        return None;
    }

    Some(dir)
}
