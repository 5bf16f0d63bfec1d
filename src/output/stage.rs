//! The staging directory of a build, and the steps that move its files into place.
//!
//! It is in the output directory, so that it is on the same file system even if the output directory
//! is a mount point or its parent is read-only:
//!
//! - `.bundle2chart-stage/new/CHART` is a staged chart, and the replaced one after the exchange.
//! - `.bundle2chart-stage/old/CHART` is the replaced chart for a moment, if the system cannot
//!   exchange directories.
//! - `.bundle2chart-stage/deployment/` contains the staged deployment files, if any.
//! - `.bundle2chart-stage/ready/` replaces it when all charts are in place.
//!
//! Each step leaves a state in which [`Stage::recover`] can continue: it ends every build, and the
//! one after a killed build begins with it.

#![expect(clippy::disallowed_methods, reason = "writes the output directory")]

use super::chart_files::OwnedFiles;
use super::failure::{error, failed, walk_failed};
use super::inspection::{Inspection, files_below};
use super::ownership::{self, Ownership, Recorded};
use crate::chart::CHART_LOCK;
use crate::diag::{Code, Fatal};
use std::fs::{self, OpenOptions, Permissions};
use std::io::{self, Write as _};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use walkdir::WalkDir;

/// Name of the directory with staged files of a build.
pub(super) const STAGE: &str = ".bundle2chart-stage";

/// The part of it with staged charts.
const CHARTS: &str = "new";
/// The part of it with staged deployment files.
const DEPLOYMENT: &str = "deployment";

/// Exchanges two directories atomically, or returns false if that is not supported.
type Exchange = fn(&Path, &Path) -> io::Result<bool>;

/// The staging directory of a locked output directory.
#[derive(Debug)]
pub(super) struct Stage {
    out: PathBuf,
    dir: PathBuf,
    exchange: Exchange,
}

impl Stage {
    /// Returns the staging directory in `out`, which need not exist.
    pub(super) fn of(out: &Path) -> Self {
        Stage { out: out.to_owned(), dir: out.join(STAGE), exchange }
    }

    /// Returns true if there are staged files, of a running or killed build.
    pub(super) fn exists(&self) -> bool {
        exists(&self.dir)
    }

    /// Stages files. Those that stay the same are linked from the output directory, so that they are the
    /// same files afterwards.
    pub(super) fn write(&self, files: &OwnedFiles<'_>, found: &Inspection) -> Result<(), Fatal> {
        let part = if files.is_chart() { CHARTS } else { DEPLOYMENT };
        for (path, content) in files.iter() {
            let staged = self.dir.join(part).join(files.dir).join(path);
            make_parents(&staged)?;
            let current = self.out.join(files.dir).join(path);
            // File systems without hard links get a copy, which has the same content.
            let linked = found.same.contains(path) && fs::hard_link(current, &staged).is_ok();
            if !linked {
                write_file(&staged, content)?;
            }
        }
        Ok(())
    }

    /// Moves the staged charts into place and those that are not staged away, all or none, and then
    /// the deployment files.
    pub(super) fn install(&self, charts: &[&Path]) -> Result<(), Fatal> {
        for (index, chart) in charts.iter().enumerate() {
            // Charts are all of one build or none: deployment files name their versions.
            if let Err(problem) = self.swap(chart) {
                // Should this fail as well, each chart still is the old or the new one.
                for chart in charts.iter().take(index).rev() {
                    let _ = self.swap(chart);
                }
                return Err(problem);
            }
        }
        // The rename marks the point of no return: from here on, an interrupted build is completed
        // and not undone.
        let (staged, ready) = (self.dir.join(DEPLOYMENT), self.dir.join("ready"));
        make_directories(&staged)?;
        fs::rename(&staged, &ready).map_err(|e| failed("rename", &staged, &e))?;
        self.complete()
    }

    /// Swaps a staged chart with the one in the output directory, which may be missing. A second
    /// call undoes the first. A chart that is not staged is moved away.
    fn swap(&self, chart: &Path) -> Result<(), Fatal> {
        let (new, old) = (self.dir.join(CHARTS).join(chart), self.dir.join("old").join(chart));
        let place = self.out.join(chart);
        let refused = |e: io::Error| failed("replace", &place, &e);
        if !exists(&place) {
            make_parents(&place)?;
            return fs::rename(&new, &place).map_err(refused);
        }
        if !exists(&new) {
            make_parents(&new)?;
            fs::rename(&place, &new).map_err(refused)?;
            remove_empty_parents(&place, &self.out);
            return Ok(());
        }
        if (self.exchange)(&new, &place).map_err(refused)? {
            return Ok(());
        }

        // The chart is missing for a moment; `complete` restores the old one if the process is
        // killed now.
        make_parents(&old)?;
        fs::rename(&place, &old).map_err(refused)?;
        fs::rename(&new, &place).map_err(|error| {
            let _ = fs::rename(&old, &place);
            refused(error)
        })?;
        fs::rename(&old, &new).map_err(refused)
    }

    /// Finishes a build that has ended or was killed: afterwards, each chart is the old or the new
    /// one, the deployment files are complete if they were ready, and no files are staged.
    pub(super) fn recover(&self) -> Result<(), Fatal> {
        // Without leftovers nothing was interrupted.
        if self.exists() {
            self.complete()?;
            self.clean_up()?;
        }
        Ok(())
    }

    /// Puts back a chart between two moves, and installs the deployment files if they are ready.
    fn complete(&self) -> Result<(), Fatal> {
        let old = self.dir.join("old");
        for chart in charts_in(&old) {
            let place = self.out.join(&chart);
            if !exists(&place) {
                fs::rename(old.join(&chart), &place).map_err(|e| failed("put back", &place, &e))?;
            }
        }

        // The ownership file is moved last, so all of this can be repeated.
        let ready = self.dir.join("ready");
        let Recorded::Files(new) = Ownership::read(&ready)? else { return Ok(()) };
        for path in new.sums.keys().filter(|path| exists(&ready.join(path))) {
            self.move_to_output(&ready, Path::new(path), "replace")?;
        }
        if let Recorded::Files(old) = Ownership::read(&self.out)? {
            for path in old.sums.keys().filter(|path| !new.sums.contains_key(*path)) {
                let place = self.out.join(path);
                match fs::remove_file(&place) {
                    Err(error) if error.kind() != io::ErrorKind::NotFound => {
                        return Err(failed("remove", &place, &error));
                    }
                    _ => remove_empty_parents(&place, &self.out),
                }
            }
        }
        self.move_to_output(&ready, Path::new(ownership::FILE_NAME), "replace")
    }

    /// Removes the staging directory, but moves files that were added to a replaced chart after
    /// its inspection to the new one.
    pub(super) fn clean_up(&self) -> Result<(), Fatal> {
        // Before they are ready, `new/` may have a chart whose ownership file is incomplete.
        let replaced = if exists(&self.dir.join("ready")) { CHARTS } else { "old" };
        let replaced = self.dir.join(replaced);
        for chart in charts_in(&replaced) {
            let Recorded::Files(ours) = Ownership::read(&replaced.join(&chart))? else { continue };
            for path in files_below(&replaced.join(&chart))?.into_keys() {
                // A Chart.lock may be Helm's; other files have been rejected earlier.
                let known = path.to_str().is_some_and(|path| {
                    [ownership::FILE_NAME, CHART_LOCK].contains(&path)
                        || ours.sums.contains_key(path)
                });
                if !known {
                    self.move_to_output(&replaced, &chart.join(path), "keep")?;
                }
            }
        }
        make_removable(&self.dir)?;
        fs::remove_dir_all(&self.dir).map_err(|e| failed("remove", &self.dir, &e))
    }

    /// Moves a file from the same path below `folder`; errors say that `doing` failed.
    fn move_to_output(&self, folder: &Path, path: &Path, doing: &str) -> Result<(), Fatal> {
        let place = self.out.join(path);
        make_parents(&place)?;
        fs::rename(folder.join(path), &place).map_err(|e| failed(doing, &place, &e))
    }
}

/// Checks that an output directory is a directory or missing.
pub(super) fn check_directory(out: &Path) -> Result<(), Fatal> {
    match fs::metadata(out) {
        Ok(metadata) if !metadata.is_dir() => {
            let message = format!("the output directory `{}` is not a directory", out.display());
            let hint = "use another directory with `--out`";
            Err(error(Code::OutputUnsuitable, message, out).hint(hint).into())
        }
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(failed("read", out, &error)),
        _ => Ok(()),
    }
}

/// Creates a directory and its missing parents with mode 0755, independent of the umask. Returns
/// the created ones, innermost first.
pub(super) fn make_directories(folder: &Path) -> Result<Vec<PathBuf>, Fatal> {
    let missing = |folder: &&Path| !folder.as_os_str().is_empty() && !exists(folder);
    let missing: Vec<PathBuf> =
        folder.ancestors().take_while(missing).map(Path::to_owned).collect();
    for folder in missing.iter().rev() {
        let refused = |e: io::Error| failed("create", folder, &e);
        match fs::create_dir(folder) {
            // Charts are staged side by side.
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => continue,
            done => done.map_err(refused)?,
        }
        let mode = fs::symlink_metadata(folder).map_err(refused)?.permissions().mode();
        // A set-group-ID directory hands its group and this bit down; that is the user's wish.
        let mode = Permissions::from_mode(0o755 | mode & 0o2000);
        fs::set_permissions(folder, mode).map_err(refused)?;
    }
    Ok(missing)
}

fn make_parents(file: &Path) -> Result<(), Fatal> {
    file.parent().map_or(Ok(()), |folder| make_directories(folder).map(|_| ()))
}

/// Removes the parent directories of `path` below `root` that are empty now.
fn remove_empty_parents(path: &Path, root: &Path) {
    let parents = path.ancestors().skip(1).take_while(|folder| *folder != root);
    // Removing fails for the first that has other files.
    let _ = parents.map(fs::remove_dir).try_for_each(|removed| removed);
}

/// Writes a new file with mode 0644.
///
/// Files are not flushed to disk: a killed process loses nothing, and flushing takes longer than
/// compiling. After a power failure, the ownership file identifies the complete files.
fn write_file(path: &Path, content: &[u8]) -> Result<(), Fatal> {
    let write = || -> io::Result<()> {
        let mut file = OpenOptions::new().write(true).create_new(true).open(path)?;
        file.write_all(content)?;
        file.set_permissions(Permissions::from_mode(0o644))
    };
    write().map_err(|e| failed("write", path, &e))
}

/// Makes read-only directories writable for their owner, so that their contents can be deleted.
/// Files are not changed: they may be hard links to files that are in use.
fn make_removable(tree: &Path) -> Result<(), Fatal> {
    for entry in WalkDir::new(tree) {
        let entry = entry.map_err(|e| walk_failed(tree, e))?;
        if entry.file_type().is_dir() {
            let mode = entry.metadata().map_err(|e| walk_failed(tree, e))?.permissions().mode();
            let writable = mode | 0o700;
            if writable != mode {
                fs::set_permissions(entry.path(), Permissions::from_mode(writable))
                    .map_err(|e| failed("make writable", entry.path(), &e))?;
            }
        }
    }
    Ok(())
}

/// Returns the complete charts below a part of the staging directory, relative to it.
fn charts_in(folder: &Path) -> Vec<PathBuf> {
    let entries = WalkDir::new(folder).into_iter().flatten();
    let markers = entries.filter(|entry| entry.file_name() == ownership::FILE_NAME);
    let charts = markers
        .filter_map(|marker| marker.path().parent()?.strip_prefix(folder).ok().map(Path::to_owned));
    charts.collect()
}

/// Exchanges two directories atomically; returns `false` if the system or the file system does not
/// support it.
#[cfg(any(target_os = "linux", target_os = "android", target_vendor = "apple"))]
fn exchange(one: &Path, other: &Path) -> io::Result<bool> {
    use rustix::fs::{CWD, RenameFlags, renameat_with};
    use rustix::io::Errno;
    match renameat_with(CWD, one, CWD, other, RenameFlags::EXCHANGE) {
        Ok(()) => Ok(true),
        Err(Errno::INVAL | Errno::NOSYS | Errno::NOTSUP) => Ok(false),
        Err(error) => Err(error.into()),
    }
}

/// Returns `false`: the system cannot exchange directories.
#[cfg(not(any(target_os = "linux", target_os = "android", target_vendor = "apple")))]
fn exchange(_one: &Path, _other: &Path) -> io::Result<bool> {
    Ok(false)
}

/// Returns true if `path` exists, including dangling symbolic links.
fn exists(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok()
}

#[cfg(test)]
mod tests;
