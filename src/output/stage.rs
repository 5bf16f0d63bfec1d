//! The folder where a build makes its charts, and the steps in which they take their places.
//!
//! It is in the output folder, so that it is on the same file system, also where the output folder
//! is a mount point or its parent is read-only:
//!
//! - `.bundle2chart-lock` is locked by the build that writes.
//! - `.bundle2chart-stage/new/CHART` is a staged chart, and the replaced one after the exchange.
//! - `.bundle2chart-stage/old/CHART` is the replaced chart where the system cannot exchange folders.
//! - `.bundle2chart-stage/beside/` has the files beside the charts while they are staged, and is
//!   renamed to `ready/` when all charts are in their places.
//!
//! [`Site::recover`] brings in order what a killed build left.

#![expect(clippy::disallowed_methods, reason = "writes the output folder")]

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

/// Name of the folder with what a build has not put in its place yet.
pub(super) const STAGE: &str = ".bundle2chart-stage";

/// Name of the file that a build locks.
pub(super) const LOCK: &str = ".bundle2chart-lock";

/// Times that a lock is asked for again because its file was deleted meanwhile.
const LOCK_ATTEMPTS: usize = 100;

/// An output folder, which need not exist, and the paths in it that a build uses.
#[derive(Debug)]
pub(super) struct Site {
    /// The output folder.
    pub(super) out: PathBuf,
    stage: PathBuf,
    lock: PathBuf,
}

/// How a chart took its place, and how that is undone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Step {
    /// There was nothing.
    Moved,
    /// The replaced chart is where the new one was staged.
    Exchanged,
    /// The replaced chart is in `old/`.
    MovedTwice,
}

impl Site {
    /// Finds the paths of an output folder.
    ///
    /// # Errors
    /// [`Code::OutputUnsuitable`] where it is something else than a folder.
    pub(super) fn of(out: &Path) -> Result<Self, Diagnostics> {
        match fs::metadata(out) {
            Ok(metadata) if !metadata.is_dir() => Err(Diagnostic::error(
                Code::OutputUnsuitable,
                format!("the output folder `{}` is not a folder", out.display()),
            )
            .at(Place::file(out.display().to_string()))
            .hint("choose another folder with `--out`")
            .into()),
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                Err(failed("read", out, &error))
            }
            _ => Ok(Site { stage: out.join(STAGE), lock: out.join(LOCK), out: out.to_owned() }),
        }
    }

    /// Whether another build is at work or a killed one left something.
    pub(super) fn has_leftovers(&self) -> bool {
        exists(&self.stage) || exists(&self.lock)
    }

    /// Makes this process the only one that writes to the output folder, and brings in order what
    /// a killed build left.
    pub(super) fn lock(&self) -> Result<Lock, Diagnostics> {
        let mut lock = Lock { made: self.make_out()?, path: None, file: None };
        let refused = |e: io::Error| failed("lock the output folder with", &self.lock, &e);
        // The holder deletes the file when it is done, so the one that we locked may be gone or
        // another one by now. Then somebody else made progress, and we try again.
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
        .hint("wait until it is done and build again")
        .into())
    }

    /// Creates the output folder, and returns what was created, the innermost first.
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

    /// Stages a file beside the charts.
    pub(super) fn stage_beside(&self, path: &str, content: &[u8]) -> Result<(), Diagnostics> {
        let target = self.stage.join("beside").join(path);
        make_folders_of(&target, &self.out)?;
        write_file(&target, content)
    }

    /// Puts the staged charts in their places, all or none, and then the files beside them.
    ///
    /// Returns problems where all is in place and something of the old charts is left.
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

        let (staged, ready) = (self.stage.join("beside"), self.stage.join("ready"));
        if exists(&staged) {
            fs::rename(&staged, &ready).map_err(|e| failed("rename", &staged, &e))?;
            self.install_beside()?;
        }

        let mut left = Diagnostics::new();
        for (chart, step) in done {
            left.append(self.retire(chart, step).err().unwrap_or_default());
        }
        // What is not moved over must not be removed.
        if left.is_empty() {
            left.append(self.remove_stage().err().unwrap_or_default());
        }
        Ok(left)
    }

    /// Puts a staged chart in its place.
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

        // There is no chart for a moment; `recover` puts the old one back when we are killed then.
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

    /// Moves what somebody else put into a replaced chart, after it was looked at, to the new one.
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
            // A Chart.lock may be Helm's; anybody else's has been refused.
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

    /// Puts the files beside the charts in their places, where all are staged. Can be done again
    /// when it did not come to its end: the ownership file is the last.
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
                // Fails where the folder has other files.
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

/// The right to write to an output folder; ends when dropped or when the process ends.
#[derive(Debug)]
pub(super) struct Lock {
    /// Folders that were created for it, the innermost first.
    made: Vec<PathBuf>,
    path: Option<PathBuf>,
    file: Option<File>,
}

impl Drop for Lock {
    fn drop(&mut self) {
        // While we hold it, nobody else can; a file that stays is only untidy.
        if let Some(path) = &self.path {
            let _ = fs::remove_file(path);
        }
        self.file = None;
        // A build that wrote nothing leaves no folder; one with files in it stays.
        let _ = self.made.iter().try_for_each(fs::remove_dir);
    }
}

/// Exchanges two folders in one step; `false` when the system or the file system cannot.
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

/// Exchanges two folders in one step; `false` when the system or the file system cannot.
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

/// Whether both are files with the same content.
fn is_same(one: &Path, other: &Path) -> bool {
    let Ok(metadata) = fs::symlink_metadata(other) else { return false };
    let Ok(content) = regular_file::read(one, metadata.len()) else { return false };
    has_content(other, &metadata, &content).unwrap_or_default()
}

/// Creates the folders around `file` that are missing, all of which are below `root`.
fn make_folders_of(file: &Path, root: &Path) -> Result<(), Diagnostics> {
    let missing = |folder: &&Path| *folder != root && !exists(folder);
    let mut missing: Vec<&Path> = file.ancestors().skip(1).take_while(missing).collect();
    missing.reverse();
    missing.into_iter().try_for_each(make_folder)
}

/// Creates a folder with mode 0755, whatever the umask.
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
        // A set-group-ID folder hands its group and this bit down; that is the user's wish.
        let mode = fs::Permissions::from_mode(0o755 | mode & 0o2000);
        fs::set_permissions(folder, mode).map_err(refused)?;
    }
    Ok(())
}

/// Writes a new file with mode 0644.
///
/// Nothing is flushed to the disk: a killed process loses nothing, and waiting for the disk takes
/// longer than compiling. After a power failure the ownership file tells which files are whole.
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

/// Gives us the right to delete what is in folders that were read-only for their owner. Only
/// folders: files may be links to files that are in use.
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

/// Whether there is anything at `path`, a dangling link included.
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
