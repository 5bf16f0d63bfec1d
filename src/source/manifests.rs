//! Manifests in files and directories.

use super::limits::{Limits, in_bytes, read_at_most};
use super::yaml_files::has_ending;
use super::{failure, unreadable};
use crate::diag::{Code, Diagnostics};
use crate::regular_file;
use std::io::{self, Read};
use std::path::Path;
use walkdir::WalkDir;

/// The name for stdin.
const STANDARD_INPUT: &str = "-";

/// Reads the YAML and JSON files at `path` (a file, a directory with all subdirectories, or `-` for
/// stdin), sorted by name, each with its name in messages. Symbolic links are not followed.
pub fn manifests(
    path: &str,
    limits: &Limits,
    diagnostics: &mut Diagnostics,
) -> Vec<(String, Vec<u8>)> {
    let mut files = Vec::new();
    let mut left = limits.kept_bytes;
    let mut take = |shown: String, reader: io::Result<Box<dyn Read>>| {
        let limit = left.min(limits.kept_file_bytes);
        match reader.and_then(|reader| read_at_most(reader, limit)) {
            Ok(None) => diagnostics.push(*failure(
                Code::SourceLimit,
                format!("`{shown}` is larger than {}", in_bytes(limit)),
                "check that this is the right directory",
            )),
            Ok(Some(content)) => {
                left = left.saturating_sub(content.len() as u64);
                files.push((shown, content));
            }
            // `regular_file` refuses pipes and devices with this kind.
            Err(error) if error.kind() == io::ErrorKind::InvalidInput => {
                let message = format!("cannot read `{shown}`: {error}");
                let hint = "write the manifests to a file, or pass `-` to read them from stdin";
                diagnostics.push(*failure(Code::SourceUnreadable, message, hint))
            }
            Err(error) => diagnostics.push(*unreadable(&shown, &error)),
        }
    };

    let open =
        |path: &Path| -> io::Result<Box<dyn Read>> { Ok(Box::new(regular_file::open(path)?)) };
    if path == STANDARD_INPUT {
        take("standard input".to_owned(), Ok(Box::new(io::stdin())));
        return files;
    }

    let root = Path::new(path);
    if !root.is_dir() {
        take(path.to_owned(), open(root));
        return files;
    }

    let mut count = 0;
    for entry in WalkDir::new(root).follow_links(false).sort_by_file_name() {
        match entry {
            Ok(entry) if entry.file_type().is_file() && has_ending(entry.path()) => {
                count += 1;
                if count > limits.kept_files {
                    break;
                }
                take(entry.path().display().to_string(), open(entry.path()));
            }
            Ok(_) => {}
            Err(error) => take(path.to_owned(), Err(io::Error::from(error))),
        }
    }
    if count > limits.kept_files {
        let message = format!("`{path}` has more than {} manifests", limits.kept_files);
        diagnostics.push(*failure(Code::SourceLimit, message, "pass a subdirectory"));
    }
    files
}
