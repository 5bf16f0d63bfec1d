//! The output folder, what lies beside it during a build, and the step in which the new tree takes
//! the old one's place.
//!
//! Beside an output folder `out` there may be, and only there: `.out.bundle2chart-lock`, held by
//! the build that writes; `.out.bundle2chart-stage`, the new tree before the swap and, where the
//! system can exchange two folders, the old tree after it; and, where it cannot,
//! `.out.bundle2chart-old`, the old tree after the swap. [`Site::recover`] removes what a killed
//! build left of them.

#![expect(clippy::disallowed_methods, reason = "swaps the output folder")]

use super::compare::walk_failed;
use super::failure::failed;
use crate::diag::{Code, Diagnostic, Diagnostics, Place, Severity};
use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fs::{self, File, Metadata, OpenOptions, TryLockError};
use std::io;
use std::path::{Path, PathBuf};
use walkdir::WalkDir;

/// An output folder, which need not exist, and the paths beside it that a build uses.
#[derive(Debug)]
pub(super) struct Site {
    /// The output folder itself, not a symbolic link to it.
    pub(super) out: PathBuf,
    /// The new tree until the swap.
    pub(super) stage: PathBuf,
    parent: PathBuf,
    old: PathBuf,
    lock: PathBuf,
}

impl Site {
    /// Finds the output folder, through symbolic links where `out` is one.
    pub(super) fn of(out: &Path) -> Result<Self, Diagnostics> {
        let unsuitable = |why: &str| -> Diagnostics {
            Diagnostic::error(
                Code::OutputUnsuitable,
                format!("the output folder `{}` {why}", out.display()),
            )
            .at(Place::file(out.display().to_string()))
            .hint("choose another folder with `--out`")
            .into()
        };
        // Drops a trailing `/` and `/.`, which would hide a symbolic link.
        let mut folder: PathBuf = out.components().collect();
        match fs::symlink_metadata(&folder) {
            Ok(metadata) if metadata.is_symlink() || folder.file_name().is_none() => {
                folder = fs::canonicalize(&folder).map_err(|e| failed("find", &folder, &e))?;
                if !folder.is_dir() {
                    return Err(unsuitable("is a link to something that is not a folder"));
                }
            }
            Ok(metadata) if !metadata.is_dir() => return Err(unsuitable("is not a folder")),
            Ok(_) => {}
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(failed("read", &folder, &error)),
        }
        let Some(name) = folder.file_name().map(OsString::from) else {
            return Err(unsuitable("has no folder around it in which it could be swapped"));
        };
        let parent = match folder.parent() {
            Some(parent) if !parent.as_os_str().is_empty() => parent.to_owned(),
            _ => PathBuf::from("."),
        };
        let beside = |suffix: &str| {
            let mut hidden = OsString::from(".");
            hidden.push(&name);
            hidden.push(suffix);
            parent.join(hidden)
        };
        Ok(Site {
            stage: beside(".bundle2chart-stage"),
            old: beside(".bundle2chart-old"),
            lock: beside(".bundle2chart-lock"),
            out: folder,
            parent,
        })
    }

    /// Where the tree is that a reader should see: the output folder, or the old tree beside it
    /// where a build was killed between the two steps of a swap.
    pub(super) fn readable(&self) -> &Path {
        if !exists(&self.out) && exists(&self.old) { &self.old } else { &self.out }
    }

    /// Whether another build is at work or a killed one left something.
    pub(super) fn has_leftovers(&self) -> bool {
        [&self.lock, &self.stage, &self.old].into_iter().any(|path| exists(path))
    }

    /// Makes this process the only one that writes to the output folder.
    pub(super) fn lock(&self) -> Result<Lock, Diagnostics> {
        fs::create_dir_all(&self.parent).map_err(|e| failed("create", &self.parent, &e))?;
        let refused = |e: io::Error| failed("lock the output folder with", &self.lock, &e);
        // The holder deletes the file when it is done, so the one that we locked may be gone or
        // another one by now. Then somebody else made progress, and we try again.
        for _ in 0..100 {
            let file = OpenOptions::new()
                .create(true)
                .truncate(false)
                .write(true)
                .open(&self.lock)
                .map_err(refused)?;
            match file.try_lock() {
                Ok(()) => {}
                Err(TryLockError::WouldBlock) => break,
                Err(TryLockError::Error(error)) => return Err(refused(error)),
            }
            let locked = file.metadata().map_err(refused)?;
            match fs::symlink_metadata(&self.lock) {
                Ok(named) if same_file(&locked, &named) => {
                    return Ok(Lock { path: self.lock.clone(), _file: file });
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

    /// Brings the output folder and what is beside it in order after a build was killed. Needs
    /// the lock.
    pub(super) fn recover(&self) -> Result<(), Diagnostics> {
        if exists(&self.old) {
            if !exists(&self.out) {
                fs::rename(&self.old, &self.out)
                    .map_err(|e| failed("put back the old tree from", &self.old, &e))?;
            } else if exists(&self.stage) {
                // The swap never got to its second step, so this output folder is not ours.
                let old = self.old.display();
                let out = self.out.display();
                return Err(Diagnostic::error(
                    Code::OutputUnsuitable,
                    format!(
                        "a build was killed and left the old tree in `{old}`, and since then \
                         something else made `{out}`"
                    ),
                )
                .at(Place::file(old.to_string()))
                .hint(format!(
                    "keep the one that you need as `{out}`, delete the other one, and build again"
                ))
                .into());
            } else {
                remove_tree(&self.old)?;
            }
        }
        if exists(&self.stage) {
            remove_tree(&self.stage)?;
        }
        Ok(())
    }

    /// Refuses an output folder that cannot be renamed, before anything is staged.
    pub(super) fn check_swappable(&self) -> Result<(), Diagnostics> {
        let Ok(out) = fs::symlink_metadata(&self.out) else { return Ok(()) };
        let refuse = |why: &str, hint: &str| {
            Err(Diagnostic::error(
                Code::OutputUnsuitable,
                format!("the output folder `{}` {why}", self.out.display()),
            )
            .at(Place::file(self.out.display().to_string()))
            .hint(hint)
            .into())
        };
        let parent = fs::metadata(&self.parent).map_err(|e| failed("read", &self.parent, &e))?;
        if !same_device(&out, &parent) {
            return refuse(
                "is a mount point, so it cannot be replaced in one step",
                "choose a folder inside it with `--out`",
            );
        }
        // Whoever stands in a folder that is swapped goes on standing in the old one.
        if let (Ok(here), Ok(out)) = (fs::canonicalize("."), fs::canonicalize(&self.out))
            && here.starts_with(&out)
        {
            return refuse(
                "is, or holds, the folder that you are working in",
                "change to a folder outside of it and build again",
            );
        }
        Ok(())
    }

    /// Puts the staged tree in the place of the output folder and deletes the old tree.
    ///
    /// `ours` are the paths, relative to the output folder, that may be deleted although the new
    /// tree has something else there. Whatever else appeared in the old tree while the new one
    /// was staged is moved over.
    ///
    /// Gives warnings where the new tree is in place and something of the old is left.
    pub(super) fn swap(&self, ours: &BTreeSet<PathBuf>) -> Result<Diagnostics, Diagnostics> {
        self.swap_by(exchange, ours)
    }

    fn swap_by(
        &self,
        exchange: fn(&Path, &Path) -> io::Result<bool>,
        ours: &BTreeSet<PathBuf>,
    ) -> Result<Diagnostics, Diagnostics> {
        let refused = |e: io::Error| failed("replace", &self.out, &e);
        let old = if !exists(&self.out) {
            fs::rename(&self.stage, &self.out).map_err(refused)?;
            None
        } else if exchange(&self.stage, &self.out).map_err(refused)? {
            Some(&self.stage)
        } else {
            self.swap_in_two_steps()?;
            Some(&self.old)
        };
        let cleaned = old.map_or(Ok(()), |old| retire(old, &self.out, ours));
        let warning = |problem: Diagnostic| Diagnostic {
            severity: Severity::Warning,
            hint: Some("the new output is complete; the next build cleans up".to_owned()),
            ..problem
        };
        Ok(cleaned.err().into_iter().flatten().map(warning).collect())
    }

    /// For systems that cannot exchange two folders: a reader may find no output folder for a
    /// moment, and [`Site::recover`] puts the old tree back when we are killed in that moment.
    fn swap_in_two_steps(&self) -> Result<(), Diagnostics> {
        let refused = |e: io::Error| failed("replace", &self.out, &e);
        fs::rename(&self.out, &self.old).map_err(refused)?;
        fs::rename(&self.stage, &self.out).map_err(|error| {
            // Should this fail too, the next build does it.
            let _ = fs::rename(&self.old, &self.out);
            refused(error)
        })
    }
}

/// The right to write to an output folder; ends when dropped or when the process ends.
#[derive(Debug)]
pub(super) struct Lock {
    path: PathBuf,
    _file: File,
}

impl Drop for Lock {
    fn drop(&mut self) {
        // While we hold it, nobody else can; a file that stays is only untidy.
        let _ = fs::remove_file(&self.path);
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

/// Deletes the old tree except what neither is `ours` nor was carried to the new tree `out`: that
/// was written by somebody else after it was looked at, and is moved over.
fn retire(old: &Path, out: &Path, ours: &BTreeSet<PathBuf>) -> Result<(), Diagnostics> {
    make_removable(old)?;
    for entry in WalkDir::new(old).contents_first(true) {
        let entry = entry.map_err(|e| walk_failed(old, e))?;
        let path = entry.path();
        let Ok(relative) = path.strip_prefix(old) else { continue };
        let removed = if entry.file_type().is_dir() {
            fs::remove_dir(path)
        } else if ours.contains(relative) || is_carried(path, &out.join(relative)) {
            fs::remove_file(path)
        } else {
            let target = out.join(relative);
            target
                .parent()
                .map_or(Ok(()), fs::create_dir_all)
                .and_then(|()| fs::rename(path, target))
        };
        removed.map_err(|e| failed("remove", path, &e))?;
    }
    Ok(())
}

/// Whether `new` is `old` as [`super::stage`] carries it to a new tree.
fn is_carried(old: &Path, new: &Path) -> bool {
    let (Ok(before), Ok(after)) = (fs::symlink_metadata(old), fs::symlink_metadata(new)) else {
        return false;
    };
    if before.is_symlink() && after.is_symlink() {
        return matches!((fs::read_link(old), fs::read_link(new)), (Ok(a), Ok(b)) if a == b);
    }
    cfg!(unix) && same_file(&before, &after)
        || before.is_file()
            && after.is_file()
            && before.len() == after.len()
            && matches!((before.modified(), after.modified()), (Ok(a), Ok(b)) if a == b)
}

/// Deletes a tree that this module made.
pub(super) fn remove_tree(path: &Path) -> Result<(), Diagnostics> {
    make_removable(path)?;
    fs::remove_dir_all(path).map_err(|e| failed("remove", path, &e))
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

/// Whether there is anything at `path`, a dangling link included.
pub(super) fn exists(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok()
}

#[cfg(unix)]
fn same_file(one: &Metadata, other: &Metadata) -> bool {
    use std::os::unix::fs::MetadataExt as _;
    one.ino() == other.ino() && one.dev() == other.dev()
}

#[cfg(not(unix))]
fn same_file(_one: &Metadata, _other: &Metadata) -> bool {
    true
}

/// Whether two files are on one file system.
#[cfg(unix)]
pub(super) fn same_device(one: &Metadata, other: &Metadata) -> bool {
    use std::os::unix::fs::MetadataExt as _;
    one.dev() == other.dev()
}

/// Whether two files are on one file system.
#[cfg(not(unix))]
pub(super) fn same_device(_one: &Metadata, _other: &Metadata) -> bool {
    true
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;
    use std::process::{Command, Stdio};

    const CHILD: &str = "BUNDLE2CHART_TEST_TWO_STEP_SWAP";

    fn two_steps(_: &Path, _: &Path) -> io::Result<bool> {
        Ok(false)
    }

    fn fill(folder: &Path, content: &str) {
        fs::create_dir_all(folder.join("sub")).unwrap();
        for name in ["a", "sub/b", "sub/c"] {
            fs::write(folder.join(name), content).unwrap();
        }
    }

    fn files(folder: &Path) -> BTreeMap<PathBuf, String> {
        WalkDir::new(folder)
            .into_iter()
            .map(Result::unwrap)
            .filter(|entry| entry.file_type().is_file())
            .map(|entry| {
                let path = entry.path().strip_prefix(folder).unwrap().to_owned();
                (path, fs::read_to_string(entry.path()).unwrap())
            })
            .collect()
    }

    fn code_of(problems: &Diagnostics) -> Code {
        assert_eq!(problems.iter().count(), 1);
        problems.iter().next().unwrap().code
    }

    fn ours() -> BTreeSet<PathBuf> {
        ["a", "sub/b", "sub/c"].into_iter().map(PathBuf::from).collect()
    }

    #[test]
    fn names_what_is_beside_the_folder() {
        let site = Site::of(Path::new("build/out/")).unwrap();
        assert_eq!(site.out, Path::new("build/out"));
        assert_eq!(site.stage, Path::new("build/.out.bundle2chart-stage"));
        assert_eq!(Site::of(Path::new("out")).unwrap().stage.parent(), Some(Path::new(".")));
        let root = Site::of(Path::new("/")).unwrap_err();
        assert_eq!(code_of(&root), Code::OutputUnsuitable);
    }

    #[test]
    fn moves_over_what_appeared_while_the_new_tree_was_made() {
        for how in [exchange, two_steps] {
            let home = tempfile::tempdir().unwrap();
            let site = Site::of(&home.path().join("out")).unwrap();
            fill(&site.out, "old");
            fill(&site.stage, "new");
            fs::write(site.out.join("shared"), "same").unwrap();
            fs::hard_link(site.out.join("shared"), site.stage.join("shared")).unwrap();
            fs::write(site.out.join("edited"), "before").unwrap();
            fs::hard_link(site.out.join("edited"), site.stage.join("edited")).unwrap();
            // An editor saves, and somebody adds a file, after both were looked at.
            fs::write(site.out.join("saving"), "after").unwrap();
            fs::rename(site.out.join("saving"), site.out.join("edited")).unwrap();
            fs::create_dir(site.out.join("added")).unwrap();
            fs::write(site.out.join("added/file"), "x").unwrap();

            assert_eq!(site.swap_by(how, &ours()).unwrap(), Diagnostics::new());
            let found = files(&site.out);
            let found: Vec<_> =
                found.iter().map(|(p, c)| (p.to_str().unwrap(), c.as_str())).collect();
            let wanted = [
                ("a", "new"),
                ("added/file", "x"),
                ("edited", "after"),
                ("shared", "same"),
                ("sub/b", "new"),
                ("sub/c", "new"),
            ];
            assert_eq!(found, wanted);
            assert!(!site.has_leftovers());
        }
    }

    #[test]
    fn puts_the_old_tree_back_when_killed_between_the_two_steps() {
        let home = tempfile::tempdir().unwrap();
        let site = Site::of(&home.path().join("out")).unwrap();
        fill(&site.old, "old");
        fill(&site.stage, "new");
        assert_eq!(site.readable(), site.old);
        site.recover().unwrap();
        assert!(files(&site.out).values().all(|content| content == "old"));
        assert!(!site.has_leftovers());

        // After the second step the new tree counts.
        fill(&site.old, "older");
        assert_eq!(site.readable(), site.out);
        site.recover().unwrap();
        assert!(files(&site.out).values().all(|content| content == "old"));
        assert!(!site.has_leftovers());
    }

    #[test]
    fn chooses_no_tree_when_somebody_else_made_one_after_the_kill() {
        let home = tempfile::tempdir().unwrap();
        let site = Site::of(&home.path().join("out")).unwrap();
        fill(&site.old, "old");
        fill(&site.stage, "new");
        fill(&site.out, "other");
        let problem = site.recover().unwrap_err();
        assert_eq!(code_of(&problem), Code::OutputUnsuitable);
        assert!(exists(&site.old) && exists(&site.out) && exists(&site.stage));
    }

    #[test]
    fn a_lock_excludes_others_and_leaves_nothing() {
        let home = tempfile::tempdir().unwrap();
        let site = Site::of(&home.path().join("made/for/it/out")).unwrap();
        let lock = site.lock().unwrap();
        assert_eq!(code_of(&site.lock().unwrap_err()), Code::OutputBusy);
        drop(lock);
        assert!(!site.has_leftovers());
        // A killed build leaves the file without a lock on it.
        fs::write(&site.lock, "").unwrap();
        drop(site.lock().unwrap());
        assert!(!site.has_leftovers());
    }

    /// Not a test of its own: the process that the next test kills.
    #[test]
    fn child_that_swaps_in_two_steps() {
        let Some(out) = std::env::var_os(CHILD) else { return };
        let site = Site::of(Path::new(&out)).unwrap();
        println!("\nready");
        for content in ["A", "B"].into_iter().cycle() {
            let _lock = site.lock().unwrap();
            fill(&site.stage, content);
            site.swap_by(two_steps, &ours()).unwrap();
        }
    }

    #[test]
    fn a_kill_during_two_steps_leaves_one_whole_tree() {
        use std::io::{BufRead as _, BufReader};
        let home = tempfile::tempdir().unwrap();
        let site = Site::of(&home.path().join("out")).unwrap();
        fill(&site.out, "A");
        let mut interrupted = 0;
        for kill in 0..50_u64 {
            let mut child = Command::new(std::env::current_exe().unwrap())
                .args(["--exact", "--nocapture"])
                .arg("emit::swap::tests::child_that_swaps_in_two_steps")
                .env(CHILD, &site.out)
                .stdout(Stdio::piped())
                .spawn()
                .unwrap();
            let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
            assert!(lines.any(|line| line.unwrap() == "ready"));
            std::thread::sleep(std::time::Duration::from_micros(200 + kill * 977 % 6000));
            child.kill().unwrap();
            child.wait().unwrap();

            interrupted += u32::from(exists(&site.stage) || exists(&site.old));
            let seen = files(site.readable());
            let _lock = site.lock().unwrap();
            site.recover().unwrap();
            assert_eq!(files(&site.out), seen);
            assert_eq!(seen.len(), 3);
            assert!(["A", "B"].iter().any(|tree| seen.values().all(|content| content == tree)));
            assert!(!exists(&site.stage) && !exists(&site.old));
        }
        assert!(interrupted > 5, "only {interrupted} kills hit anything");
    }
}
