//! The new output tree, made beside the old one.
//!
//! What does not change is linked (the same file under two names), so a file in the stage is
//! never opened for writing unless it was created there.

#![expect(clippy::disallowed_methods, reason = "makes the new output tree")]

use super::compare::{Inspection, walk_failed};
use super::failure::failed;
use super::ownership;
use super::swap::same_device;
use super::tree::ChartFiles;
use crate::diag::{Code, Diagnostic, Diagnostics, Place};
use std::collections::BTreeSet;
use std::fs::{self, File, FileTimes, Metadata, OpenOptions};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use walkdir::WalkDir;

/// A new tree that is being made.
#[derive(Debug)]
pub(super) struct Stage<'a> {
    /// The tree that is there now; it need not exist.
    current: &'a Path,
    /// The new tree.
    stage: &'a Path,
    /// Folders of the new tree, each after the one that it is in, with what they are copies of.
    folders: Vec<(PathBuf, Option<Metadata>)>,
    made: BTreeSet<PathBuf>,
}

impl<'a> Stage<'a> {
    /// Begins a new tree in `stage`, which must not exist, with all that is in `current` except
    /// the folders and files `except`, relative to it.
    pub(super) fn carry(
        current: &'a Path,
        stage: &'a Path,
        except: &BTreeSet<&Path>,
    ) -> Result<Self, Diagnostics> {
        let mut new = Stage { current, stage, folders: Vec::new(), made: BTreeSet::new() };
        let Ok(root) = fs::symlink_metadata(current) else {
            new.make_folder(PathBuf::new(), None)?;
            return Ok(new);
        };
        let mut unsuitable = Diagnostics::new();
        let mut walk = WalkDir::new(current).sort_by_file_name().into_iter();
        while let Some(entry) = walk.next() {
            let entry = entry.map_err(|e| walk_failed(current, e))?;
            let Ok(relative) = entry.path().strip_prefix(current) else { continue };
            let metadata = entry.metadata().map_err(|e| walk_failed(current, e))?;
            let kind = metadata.file_type();
            if except.contains(relative) {
                if kind.is_dir() {
                    walk.skip_current_dir();
                }
            } else if !same_device(&root, &metadata) {
                unsuitable.push(stuck(entry.path(), "is at or below a mount point"));
                if kind.is_dir() {
                    walk.skip_current_dir();
                }
            } else if kind.is_dir() {
                new.make_folder(relative.to_owned(), Some(metadata))?;
            } else if kind.is_symlink() {
                copy_symlink(entry.path(), &stage.join(relative))?;
            } else if kind.is_file() {
                carry_file(entry.path(), &stage.join(relative), &metadata)?;
            } else {
                unsuitable.push(stuck(entry.path(), "is neither a file, a folder nor a link"));
            }
        }
        if unsuitable.is_empty() { Ok(new) } else { Err(unsuitable) }
    }

    /// Adds a chart, whose folder was not carried. Files that are the same are linked from the
    /// current tree.
    pub(super) fn add_chart(
        &mut self,
        chart: &ChartFiles,
        found: &Inspection,
    ) -> Result<(), Diagnostics> {
        let files = chart
            .files
            .iter()
            .map(|(path, content)| (path.as_str(), content.as_slice()))
            .chain([(ownership::FILE_NAME, found.marker.as_bytes())]);
        for (path, content) in files {
            let relative = chart.dir.join(path);
            self.make_folders_of(&relative)?;
            let target = self.stage.join(&relative);
            let linked = found.same.contains(path)
                && fs::hard_link(self.current.join(&relative), &target).is_ok();
            if !linked {
                write_file(&target, content).map_err(|e| failed("write", &target, &e))?;
            }
        }
        Ok(())
    }

    /// Adds a file that was not carried.
    pub(super) fn add_file(&mut self, file: &Path, content: &[u8]) -> Result<(), Diagnostics> {
        self.make_folders_of(file)?;
        let target = self.stage.join(file);
        write_file(&target, content).map_err(|e| failed("write", &target, &e))
    }

    /// Gives the folders their modes.
    pub(super) fn finish(self) -> Result<(), Diagnostics> {
        // A folder may turn read-only here, so those inside it come first.
        for (folder, like) in self.folders.into_iter().rev() {
            let folder = self.stage.join(folder);
            File::open(&folder)
                .and_then(|open| set_look(&folder, &open, like.as_ref()))
                .map_err(|e| failed("set owner and mode of", &folder, &e))?;
        }
        Ok(())
    }

    fn make_folders_of(&mut self, file: &Path) -> Result<(), Diagnostics> {
        let mut missing: Vec<_> =
            file.ancestors().skip(1).take_while(|folder| !self.made.contains(*folder)).collect();
        missing.reverse();
        missing.into_iter().try_for_each(|folder| self.make_folder(folder.to_owned(), None))
    }

    fn make_folder(&mut self, folder: PathBuf, like: Option<Metadata>) -> Result<(), Diagnostics> {
        let path = self.stage.join(&folder);
        create_private(&path).map_err(|e| failed("create", &path, &e))?;
        self.made.insert(folder.clone());
        self.folders.push((folder, like));
        Ok(())
    }
}

fn stuck(path: &Path, why: &str) -> Diagnostic {
    let name = path.display().to_string();
    Diagnostic::error(
        Code::OutputUnsuitable,
        format!("`{name}` {why}, so the output folder cannot be replaced in one step"),
    )
    .at(Place::file(name))
    .hint("move it out of the output folder, or choose another folder with `--out`")
}

/// Writes a new file with mode 0644.
///
/// Nothing is flushed to the disk: a killed process loses nothing, and waiting for the disk takes
/// longer than compiling. After a power failure the ownership file tells which files are whole.
fn write_file(path: &Path, content: &[u8]) -> io::Result<()> {
    let mut file = OpenOptions::new().write(true).create_new(true).open(path)?;
    file.write_all(content)?;
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        file.set_permissions(fs::Permissions::from_mode(0o644))?;
    }
    Ok(())
}

/// Links a file to the new tree, or copies it where that is not possible.
fn carry_file(from: &Path, to: &Path, metadata: &Metadata) -> Result<(), Diagnostics> {
    match fs::hard_link(from, to) {
        Ok(()) => Ok(()),
        // Same file system but other mount: a bind mount. Its content would be copied and the
        // mount would go with the old tree.
        Err(error) if error.kind() == io::ErrorKind::CrossesDevices => {
            Err(stuck(from, "is at or below a mount point").into())
        }
        // File systems without links, the limit of links to a file, files of another user.
        Err(_) => copy_file(from, to, metadata).map_err(|e| failed("copy", from, &e)),
    }
}

/// Copies a file with its mode, its time of modification (by which [`super::swap`] knows it
/// again) and, where allowed, its owner.
fn copy_file(from: &Path, to: &Path, metadata: &Metadata) -> io::Result<()> {
    fs::copy(from, to)?;
    let copy = File::open(to)?;
    #[cfg(unix)]
    {
        use std::os::unix::fs::MetadataExt as _;
        // Only root can give files away; for anybody else the copy is the builder's.
        let _ = std::os::unix::fs::fchown(&copy, Some(metadata.uid()), Some(metadata.gid()));
    }
    copy.set_permissions(metadata.permissions())?;
    copy.set_times(FileTimes::new().set_modified(metadata.modified()?))
}

#[cfg(unix)]
fn copy_symlink(from: &Path, to: &Path) -> Result<(), Diagnostics> {
    fs::read_link(from)
        .and_then(|target| std::os::unix::fs::symlink(target, to))
        .map_err(|e| failed("copy the link", from, &e))
}

#[cfg(not(unix))]
fn copy_symlink(from: &Path, _to: &Path) -> Result<(), Diagnostics> {
    Err(stuck(from, "is a link").into())
}

/// Creates a folder into which this process can write, whatever the umask.
#[cfg(unix)]
fn create_private(path: &Path) -> io::Result<()> {
    use std::os::unix::fs::PermissionsExt as _;
    fs::create_dir(path)?;
    let mode = fs::symlink_metadata(path)?.permissions().mode();
    if mode & 0o700 == 0o700 {
        return Ok(());
    }
    fs::set_permissions(path, fs::Permissions::from_mode(mode | 0o700))
}

#[cfg(not(unix))]
fn create_private(path: &Path) -> io::Result<()> {
    fs::create_dir(path)
}

/// Gives a folder the owner and mode of the one that it is a copy of, or 0755.
#[cfg(unix)]
fn set_look(path: &Path, folder: &File, like: Option<&Metadata>) -> io::Result<()> {
    use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, chown};
    let now = folder.metadata()?;
    // A set-group-ID folder hands its group and this bit down; that is the user's wish.
    let mode = like.map_or(0o755 | now.mode() & 0o2000, Metadata::mode);
    if let Some(like) = like {
        if now.uid() != like.uid() {
            chown(path, Some(like.uid()), None)?;
        }
        if now.gid() != like.gid() {
            // Allowed only for groups that we are in.
            let _ = chown(path, None, Some(like.gid()));
        }
    }
    folder.set_permissions(fs::Permissions::from_mode(mode & 0o7777))
}

#[cfg(not(unix))]
fn set_look(_path: &Path, _folder: &File, _like: Option<&Metadata>) -> io::Result<()> {
    Ok(())
}
