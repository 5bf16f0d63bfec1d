//! The staging directory of a build, and the steps that install the staged charts.
//!
//! It is in the output directory, so that it is on the same file system even if the output directory
//! is a mount point or its parent is read-only:
//!
//! - `.bundle2chart-lock` is locked by the running build.
//! - `.bundle2chart-stage/new/CHART` is a staged chart, and the replaced one after the exchange.
//! - `.bundle2chart-stage/old/CHART` is the replaced chart if the system cannot exchange directories.
//! - `.bundle2chart-stage/deployment/` contains the staged deployment files, and is renamed to `ready/`
//!   when all charts are installed.
//!
//! [`Site::recover`] cleans up after a killed build.

#![expect(clippy::disallowed_methods, reason = "writes the output directory")]

use super::compare::{Inspection, OWNERSHIP_LIMIT, has_content, is_marked, walk_failed};
use super::failure::failed;
use super::ownership::{self, Ownership};
use super::tree::ChartFiles;
use crate::chart::CHART_LOCK;
use crate::diag::{Code, Diagnostic, Diagnostics, Place};
use crate::regular_file;
use std::collections::BTreeMap;
use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use walkdir::WalkDir;

/// Name of the directory with staged files of a build.
pub(super) const STAGE: &str = ".bundle2chart-stage";

/// Name of the file that a build locks.
pub(super) const LOCK: &str = ".bundle2chart-lock";

/// Number of attempts to lock, if the lock file is deleted in between.
const LOCK_ATTEMPTS: usize = 100;

/// An output directory, which may not exist, and the paths in it that a build uses.
#[derive(Debug)]
pub(super) struct Site {
    /// The output directory.
    pub(super) out: PathBuf,
    stage: PathBuf,
    lock: PathBuf,
}

/// The way in which a chart was installed, for undoing it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Step {
    /// There was nothing.
    Moved,
    /// The replaced chart is in the staging path of the new one.
    Exchanged,
    /// The replaced chart is in `old/`.
    MovedTwice,
}

impl Site {
    /// Determines the paths of an output directory.
    ///
    /// # Errors
    /// [`Code::OutputUnsuitable`] if it is not a directory.
    pub(super) fn of(out: &Path) -> Result<Self, Diagnostics> {
        match fs::metadata(out) {
            Ok(metadata) if !metadata.is_dir() => Err(Diagnostic::error(
                Code::OutputUnsuitable,
                format!("the output directory `{}` is not a directory", out.display()),
            )
            .at(Place::file(out.display().to_string()))
            .hint("use another directory with `--out`")
            .into()),
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                Err(failed("read", out, &error))
            }
            _ => Ok(Site { stage: out.join(STAGE), lock: out.join(LOCK), out: out.to_owned() }),
        }
    }

    /// Returns true if another build is running or a killed one left files.
    pub(super) fn has_leftovers(&self) -> bool {
        exists(&self.stage) || exists(&self.lock)
    }

    /// Locks the output directory for this process, and cleans up after a killed build.
    pub(super) fn lock(&self) -> Result<Lock, Diagnostics> {
        let mut lock = Lock { made: self.make_out()?, path: None, file: None };
        let refused = |e: io::Error| failed("lock the output directory with", &self.lock, &e);
        // The holder deletes the file when it is done, so the locked file may be gone or replaced
        // by now. In this case another build has finished, and we try again.
        for _ in 0..LOCK_ATTEMPTS {
            let file = regular_file::open_or_create(&self.lock).map_err(refused)?;
            match file.try_lock() {
                Ok(()) => {}
                Err(TryLockError::WouldBlock) => break,
                Err(TryLockError::Error(error)) => return Err(refused(error)),
            }
            let locked = file.metadata().map_err(refused)?;
            match fs::symlink_metadata(&self.lock) {
                Ok(named) if same_file(&locked, &named) => {
                    lock.path = Some(self.lock.clone());
                    lock.file = Some(file);
                    self.recover()?;
                    return Ok(lock);
                }
                Ok(_) => {}
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) => return Err(refused(error)),
            }
        }
        Err(Diagnostic::error(
            Code::OutputBusy,
            format!("another build is writing to `{}`", self.out.display()),
        )
        .at(Place::file(self.lock.display().to_string()))
        .hint("wait until it is finished and build again")
        .into())
    }

    /// Creates the output directory, and returns the created directories, innermost first.
    fn make_out(&self) -> Result<Vec<PathBuf>, Diagnostics> {
        let missing = |folder: &&Path| !folder.as_os_str().is_empty() && !exists(folder);
        let made: Vec<PathBuf> =
            self.out.ancestors().take_while(missing).map(Path::to_owned).collect();
        if let Some(parent) = self.out.parent().filter(|_| !made.is_empty()) {
            fs::create_dir_all(parent).map_err(|e| failed("create", parent, &e))?;
            make_folder(&self.out)?;
        }
        Ok(made)
    }

    /// Undoes or completes what a killed build did not finish.
    fn recover(&self) -> Result<(), Diagnostics> {
        if !exists(&self.stage) {
            return Ok(());
        }
        // Killed between the two moves of a chart.
        let old = self.stage.join("old");
        for entry in WalkDir::new(&old).min_depth(1).max_depth(2).into_iter().flatten() {
            let Ok(chart) = entry.path().strip_prefix(&old) else { continue };
            let place = self.out.join(chart);
            if is_marked(entry.path()) && !exists(&place) {
                fs::rename(entry.path(), &place).map_err(|e| failed("put back", &place, &e))?;
            }
        }
        self.install_beside()?;
        self.remove_stage()
    }

    /// Removes what is staged, and charts that were replaced.
    pub(super) fn remove_stage(&self) -> Result<(), Diagnostics> {
        if !exists(&self.stage) {
            return Ok(());
        }
        make_removable(&self.stage)?;
        fs::remove_dir_all(&self.stage).map_err(|e| failed("remove", &self.stage, &e))
    }

    /// Stages a chart. Files that stay the same are linked from the chart that is there, so that
    /// they are the same files afterwards.
    pub(super) fn stage_chart(
        &self,
        chart: &ChartFiles,
        found: &Inspection,
    ) -> Result<(), Diagnostics> {
        let files = chart.files.iter().map(|(path, content)| (path.as_str(), content.as_slice()));
        for (path, content) in files.chain([(ownership::FILE_NAME, found.marker.as_bytes())]) {
            let target = self.stage.join("new").join(&chart.dir).join(path);
            make_folders_of(&target, &self.out)?;
            let current = self.out.join(&chart.dir).join(path);
            let linked = found.same.contains(path) && fs::hard_link(current, &target).is_ok();
            if !linked {
                write_file(&target, content)?;
            }
        }
        Ok(())
    }

    /// Stages a deployment file.
    pub(super) fn stage_deployment_files(
        &self,
        path: &str,
        content: &[u8],
    ) -> Result<(), Diagnostics> {
        let target = self.stage.join("deployment").join(path);
        make_folders_of(&target, &self.out)?;
        write_file(&target, content)
    }

    /// Installs the staged charts, all or none, and then the deployment files.
    ///
    /// Returns problems if everything is installed and some old files are left.
    pub(super) fn install(&self, charts: &[&Path]) -> Result<Diagnostics, Diagnostics> {
        self.install_by(exchange, charts)
    }

    fn install_by(
        &self,
        exchange: fn(&Path, &Path) -> io::Result<bool>,
        charts: &[&Path],
    ) -> Result<Diagnostics, Diagnostics> {
        let mut done: Vec<(&Path, Step)> = Vec::new();
        for chart in charts {
            match self.put(exchange, chart) {
                Ok(step) => done.push((chart, step)),
                Err(problems) => {
                    // Should this fail too, each chart still is the old or the new one.
                    for (chart, step) in done.into_iter().rev() {
                        let _ = self.put_back(exchange, chart, step);
                    }
                    return Err(problems);
                }
            }
        }

        let (staged, ready) = (self.stage.join("deployment"), self.stage.join("ready"));
        if exists(&staged) {
            fs::rename(&staged, &ready).map_err(|e| failed("rename", &staged, &e))?;
            self.install_beside()?;
        }

        let mut left = Diagnostics::new();
        for (chart, step) in done {
            left.append(self.retire(chart, step).err().unwrap_or_default());
        }
        // Files that could not be moved must not be deleted.
        if left.is_empty() {
            left.append(self.remove_stage().err().unwrap_or_default());
        }
        Ok(left)
    }

    /// Installs a staged chart.
    fn put(
        &self,
        exchange: fn(&Path, &Path) -> io::Result<bool>,
        chart: &Path,
    ) -> Result<Step, Diagnostics> {
        let (new, old) = (self.stage.join("new").join(chart), self.stage.join("old").join(chart));
        let place = self.out.join(chart);
        let refused = |e: io::Error| failed("replace", &place, &e);
        if !exists(&place) {
            make_folders_of(&place, &self.out)?;
            fs::rename(&new, &place).map_err(refused)?;
            return Ok(Step::Moved);
        }
        if exchange(&new, &place).map_err(refused)? {
            return Ok(Step::Exchanged);
        }

        // The chart is missing for a moment; `recover` restores the old one if the process is
        // killed now.
        make_folders_of(&old, &self.out)?;
        fs::rename(&place, &old).map_err(refused)?;
        fs::rename(&new, &place).map_err(|error| {
            let _ = fs::rename(&old, &place);
            refused(error)
        })?;
        Ok(Step::MovedTwice)
    }

    fn put_back(
        &self,
        exchange: fn(&Path, &Path) -> io::Result<bool>,
        chart: &Path,
        step: Step,
    ) -> io::Result<()> {
        let new = self.stage.join("new").join(chart);
        let place = self.out.join(chart);
        match step {
            Step::Exchanged => exchange(&new, &place).map(|_| ()),
            Step::Moved => fs::rename(&place, &new),
            Step::MovedTwice => {
                fs::rename(&place, &new)?;
                fs::rename(self.stage.join("old").join(chart), &place)
            }
        }
    }

    /// Moves files that were added to a replaced chart after its inspection to the new one.
    fn retire(&self, chart: &Path, step: Step) -> Result<(), Diagnostics> {
        let old = match step {
            Step::Moved => return Ok(()),
            Step::Exchanged => self.stage.join("new").join(chart),
            Step::MovedTwice => self.stage.join("old").join(chart),
        };
        let ours = read_marker(&old.join(ownership::FILE_NAME));
        for entry in WalkDir::new(&old) {
            let entry = entry.map_err(|e| walk_failed(&old, e))?;
            let Ok(relative) = entry.path().strip_prefix(&old) else { continue };
            // A Chart.lock may be Helm's; other files have been rejected earlier.
            let known = relative.to_str().is_some_and(|path| {
                [ownership::FILE_NAME, CHART_LOCK].contains(&path)
                    || ours.as_ref().is_some_and(|ours| ours.contains_key(path))
            });
            let target = self.out.join(chart).join(relative);
            if entry.file_type().is_dir() || known || is_same(entry.path(), &target) {
                continue;
            }
            make_folders_of(&target, &self.out)?;
            fs::rename(entry.path(), &target).map_err(|e| failed("keep", &target, &e))?;
        }
        Ok(())
    }

    /// Installs the deployment files, if all are staged. Can be repeated after an interruption: the
    /// ownership file is the last.
    fn install_beside(&self) -> Result<(), Diagnostics> {
        let ready = self.stage.join("ready");
        let new_marker = ready.join(ownership::FILE_NAME);
        let Some(new) = read_marker(&new_marker) else { return Ok(()) };
        let marker = self.out.join(ownership::FILE_NAME);
        let old = read_marker(&marker).unwrap_or_default();

        for path in new.keys() {
            let (staged, place) = (ready.join(path), self.out.join(path));
            if exists(&staged) {
                make_folders_of(&place, &self.out)?;
                fs::rename(&staged, &place).map_err(|e| failed("replace", &place, &e))?;
            }
        }
        for path in old.keys().filter(|path| !new.contains_key(*path)) {
            let place = self.out.join(path);
            remove_file(&place)?;
            for folder in place.ancestors().skip(1).take_while(|folder| *folder != self.out) {
                // Fails if the directory has other files.
                if fs::remove_dir(folder).is_err() {
                    break;
                }
            }
        }
        if new.is_empty() {
            return remove_file(&marker);
        }
        fs::rename(&new_marker, &marker).map_err(|e| failed("replace", &marker, &e))
    }
}

/// The lock of an output directory; released when dropped or when the process exits.
#[derive(Debug)]
pub(super) struct Lock {
    /// Directories that were created for it, the innermost first.
    made: Vec<PathBuf>,
    path: Option<PathBuf>,
    file: Option<File>,
}

impl Drop for Lock {
    fn drop(&mut self) {
        // The lock is exclusive while this process holds it; a leftover file is harmless.
        if let Some(path) = &self.path {
            let _ = fs::remove_file(path);
        }
        self.file = None;
        // A build that wrote nothing leaves no directory; one with files in it stays.
        let _ = self.made.iter().try_for_each(fs::remove_dir);
    }
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

/// Exchanges two directories atomically; returns `false` if the system or the file system does not
/// support it.
#[cfg(not(any(target_os = "linux", target_os = "android", target_vendor = "apple")))]
fn exchange(_one: &Path, _other: &Path) -> io::Result<bool> {
    Ok(false)
}

/// Reads which files an ownership file lists: SHA-256 by path.
fn read_marker(file: &Path) -> Option<BTreeMap<String, String>> {
    let text = String::from_utf8(regular_file::read(file, OWNERSHIP_LIMIT).ok()?).ok()?;
    let of_chart = Ownership::parse(&text).map(|ownership| ownership.sums);
    of_chart.or_else(|_| ownership::parse_beside(&text)).ok()
}

/// Returns true if both are files with the same content.
fn is_same(one: &Path, other: &Path) -> bool {
    let Ok(metadata) = fs::symlink_metadata(other) else { return false };
    let Ok(content) = regular_file::read(one, metadata.len()) else { return false };
    has_content(other, &metadata, &content).unwrap_or_default()
}

/// Creates the missing parent directories of `file` below `root`.
fn make_folders_of(file: &Path, root: &Path) -> Result<(), Diagnostics> {
    let missing = |folder: &&Path| *folder != root && !exists(folder);
    let mut missing: Vec<&Path> = file.ancestors().skip(1).take_while(missing).collect();
    missing.reverse();
    missing.into_iter().try_for_each(make_folder)
}

/// Creates a directory with mode 0755, independent of the umask.
fn make_folder(folder: &Path) -> Result<(), Diagnostics> {
    let refused = |e: io::Error| failed("create", folder, &e);
    match fs::create_dir(folder) {
        // Charts are staged side by side.
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => return Ok(()),
        done => done.map_err(refused)?,
    }
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        let mode = fs::symlink_metadata(folder).map_err(refused)?.permissions().mode();
        // A set-group-ID directory hands its group and this bit down; that is the user's wish.
        let mode = fs::Permissions::from_mode(0o755 | mode & 0o2000);
        fs::set_permissions(folder, mode).map_err(refused)?;
    }
    Ok(())
}

/// Writes a new file with mode 0644.
///
/// Files are not flushed to disk: a killed process loses nothing, and flushing takes longer than
/// compiling. After a power failure, the ownership file identifies the complete files.
fn write_file(path: &Path, content: &[u8]) -> Result<(), Diagnostics> {
    let write = || -> io::Result<()> {
        let mut file = OpenOptions::new().write(true).create_new(true).open(path)?;
        file.write_all(content)?;
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt as _;
            file.set_permissions(fs::Permissions::from_mode(0o644))?;
        }
        Ok(())
    };
    write().map_err(|e| failed("write", path, &e))
}

/// Makes read-only directories writable for their owner, so that their contents can be deleted.
/// Files are not changed: they may be hard links to files that are in use.
#[cfg(unix)]
fn make_removable(tree: &Path) -> Result<(), Diagnostics> {
    use std::os::unix::fs::PermissionsExt as _;
    for entry in WalkDir::new(tree) {
        let entry = entry.map_err(|e| walk_failed(tree, e))?;
        if entry.file_type().is_dir() {
            let metadata = entry.metadata().map_err(|e| walk_failed(tree, e))?;
            let mode = metadata.permissions().mode();
            if mode & 0o700 != 0o700 {
                fs::set_permissions(entry.path(), fs::Permissions::from_mode(mode | 0o700))
                    .map_err(|e| failed("make writable", entry.path(), &e))?;
            }
        }
    }
    Ok(())
}

#[cfg(not(unix))]
fn make_removable(_tree: &Path) -> Result<(), Diagnostics> {
    Ok(())
}

/// Removes a file that may be gone already.
fn remove_file(path: &Path) -> Result<(), Diagnostics> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            Err(failed("remove", path, &error))
        }
        _ => Ok(()),
    }
}

/// Returns true if `path` exists, including dangling symbolic links.
fn exists(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok()
}

#[cfg(unix)]
fn same_file(one: &fs::Metadata, other: &fs::Metadata) -> bool {
    use std::os::unix::fs::MetadataExt as _;
    one.ino() == other.ino() && one.dev() == other.dev()
}

#[cfg(not(unix))]
fn same_file(_one: &fs::Metadata, _other: &fs::Metadata) -> bool {
    true
}

#[cfg(test)]
mod tests;
