//! Runs the tests: each alone, to see which mutants it reaches, and then for each mutant those that
//! reach it, until one fails.

use crate::build::Program;
use crate::list::Mutant;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fs;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::time::{Duration, Instant};

/// A test that passes without a mutant.
pub struct Test<'p> {
    program: &'p Program,
    pub name: String,
    duration: Duration,
    reached: BTreeSet<usize>,
}

/// Result of the tests of a mutant.
pub enum Outcome {
    /// A test fails, or takes much longer than without the mutant.
    Caught { test: String, timeout: bool },
    /// All tests that reach it pass.
    Missed { tests: usize },
    /// The tests that ran in the given time pass; others were not run.
    MissedSoFar { tests: usize, left: usize },
    /// No test reaches it.
    Unreached,
}

impl Outcome {
    /// Returns true if a test notices the mutant.
    pub fn is_caught(&self) -> bool {
        matches!(self, Outcome::Caught { .. })
    }
}

/// Runs `work` for each number below `count`, with `jobs` threads.
fn in_parallel(count: usize, jobs: usize, work: impl Fn(usize) + Sync) {
    let next = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        for _ in 0..jobs.max(1) {
            scope.spawn(|| {
                while let at = next.fetch_add(1, Relaxed)
                    && at < count
                {
                    work(at);
                }
            });
        }
    });
}

/// Waits for the end of a program; returns `None` if it takes longer than `limit`.
fn wait(mut child: Child, limit: Duration) -> Option<bool> {
    let start = Instant::now();
    loop {
        if let Ok(Some(status)) = child.try_wait() {
            return Some(status.success());
        }
        if start.elapsed() > limit {
            // Also the programs that the test started.
            let _ = Command::new("kill").args(["-9", "--", &format!("-{}", child.id())]).status();
            let _ = child.wait();
            return None;
        }
        std::thread::sleep(Duration::from_millis(2));
    }
}

/// Runs tests of one program by name; `Some(true)` if all pass, `None` after `limit`.
///
/// # Panics
/// The program cannot be started, which says nothing about a mutant.
fn run(program: &Program, names: &[&str], variable: (&str, &str), limit: Duration) -> Option<bool> {
    use std::os::unix::process::CommandExt as _;
    let child = Command::new(&program.path)
        .arg("--exact")
        .args(names)
        .arg("--test-threads=1")
        .current_dir(&program.folder)
        .env(variable.0, variable.1)
        .env("INSTA_UPDATE", "no")
        .env("INSTA_FORCE_PASS", "0")
        // The tests stand on their own.
        .env_remove("BUNDLE2CHART_SHARED")
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .process_group(0)
        .spawn();
    let child = child.unwrap_or_else(|e| panic!("cannot run {}: {e}", program.path.display()));
    wait(child, limit)
}

/// Returns the names of the tests that run by default.
fn names(program: &Program) -> Result<Vec<String>, String> {
    let list = |options: &[&str]| -> Result<Vec<String>, String> {
        let output = Command::new(&program.path)
            .args(["--list", "--format=terse"])
            .args(options)
            .current_dir(&program.folder)
            .output()
            .map_err(|error| format!("cannot run {}: {error}", program.path.display()))?;
        let text = String::from_utf8_lossy(&output.stdout);
        Ok(text.lines().filter_map(|line| line.strip_suffix(": test").map(str::to_owned)).collect())
    };
    let ignored = list(&["--ignored"])?;
    Ok(list(&[])?.into_iter().filter(|name| !ignored.contains(name)).collect())
}

/// Runs each test alone, and returns those that pass with the mutants that they reach. Tests that read
/// the sources fail, because these are not the checkout's. What was measured is kept until the
/// programs change.
///
/// # Errors
/// A program cannot be run.
pub fn reached<'p>(
    programs: &'p [Program],
    work: &Path,
    jobs: usize,
) -> Result<Vec<Test<'p>>, String> {
    let mut tests = Vec::new();
    for program in programs {
        let stem = program.path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        // Programs for the same sources are the same bytes.
        let mut hasher = DefaultHasher::new();
        fs::read(&program.path).map_err(|error| error.to_string())?.hash(&mut hasher);
        let folder = work.join("reached").join(format!("{stem}-{:x}", hasher.finish()));
        fs::create_dir_all(&folder).map_err(|error| error.to_string())?;
        let names = names(program)?;
        eprintln!("{}: {} tests", stem, names.len());

        let found = Mutex::new(Vec::new());
        in_parallel(names.len(), jobs, |at| {
            let name = names[at].replace("::", ".");
            let (kept, raw) = (folder.join(&name), folder.join(format!("{name}.reached")));
            let _ = fs::remove_file(&raw);
            if !kept.exists() {
                let start = Instant::now();
                let path = raw.to_string_lossy().into_owned();
                let limit = Duration::from_secs(120);
                let passes = run(program, &[&names[at]], ("MUTANTS_REACHED", &path), limit);
                let text = fs::read_to_string(&raw).unwrap_or_default();
                let _ = fs::remove_file(&raw);
                // A failure is not kept: it can be that of a snapshot, which is no part of the program.
                if passes == Some(true) {
                    let milliseconds = start.elapsed().as_millis();
                    let _ = fs::write(&kept, format!("{milliseconds}\n{text}"));
                }
            }
            let text = fs::read_to_string(&kept).unwrap_or_default();
            let mut lines = text.lines();
            match lines.next().and_then(|line| line.parse().ok()) {
                Some(milliseconds) => {
                    let test = Test {
                        program,
                        name: names[at].clone(),
                        duration: Duration::from_millis(milliseconds),
                        reached: lines.filter_map(|line| line.parse().ok()).collect(),
                    };
                    found.lock().unwrap_or_else(|e| e.into_inner()).push(test);
                }
                None => eprintln!("not used, because it fails without mutants: {}", names[at]),
            }
        });
        let mut found = found.into_inner().unwrap_or_else(|e| e.into_inner());
        found.sort_by(|a, b| a.name.cmp(&b.name));
        tests.extend(found);
    }
    Ok(tests)
}

/// Runs for each mutant the tests that reach it.
pub fn outcomes(
    mutants: &[Mutant],
    selected: &[usize],
    tests: &[Test<'_>],
    budget: Duration,
    jobs: usize,
) -> BTreeMap<usize, Outcome> {
    let caught = Caught::default();
    let outcomes = Mutex::new(BTreeMap::new());
    in_parallel(selected.len(), jobs, |at| {
        let id = selected[at];
        let outcome = outcome(id, &mutants[id].file, tests, &caught, budget);
        let (word, by) = match &outcome {
            Outcome::Caught { test, timeout: false } => ("caught", format!(" by {test}")),
            Outcome::Caught { test, timeout: true } => ("timeout", format!(" in {test}")),
            Outcome::Missed { tests } => ("missed", format!(" by {tests} tests")),
            Outcome::MissedSoFar { tests, left } => {
                ("missed", format!(" by {tests} tests, {left} not run"))
            }
            Outcome::Unreached => ("unreached", String::new()),
        };
        println!("{word} {}{by}", mutants[id].name);
        outcomes.lock().unwrap_or_else(|e| e.into_inner()).insert(id, outcome);
    });
    outcomes.into_inner().unwrap_or_else(|e| e.into_inner())
}

/// Number of mutants that each test caught: in a file, and in all.
#[derive(Default)]
struct Caught {
    counts: Mutex<HashMap<(String, usize), usize>>,
}

impl Caught {
    fn add(&self, file: &str, test: usize) {
        let mut counts = self.counts.lock().unwrap_or_else(|e| e.into_inner());
        for file in [file, ""] {
            *counts.entry((file.to_owned(), test)).or_default() += 1;
        }
    }

    /// Returns a number that is higher for tests that are likely to catch a mutant of the file.
    fn weight(&self, file: &str, test: usize) -> usize {
        let counts = self.counts.lock().unwrap_or_else(|e| e.into_inner());
        let count = |file: &str| counts.get(&(file.to_owned(), test)).copied().unwrap_or_default();
        1 + count("") + 20 * count(file)
    }
}

fn outcome(
    id: usize,
    file: &str,
    tests: &[Test<'_>],
    caught: &Caught,
    budget: Duration,
) -> Outcome {
    let mut reaching: Vec<usize> =
        (0..tests.len()).filter(|at| tests[*at].reached.contains(&id)).collect();
    if reaching.is_empty() {
        return Outcome::Unreached;
    }
    // First those that are fast for what they caught.
    reaching.sort_by_key(|at| {
        let milliseconds = tests[*at].duration.as_millis() as usize + 5;
        (milliseconds * 1_000 / caught.weight(file, *at), *at)
    });

    // Most mutants are caught by one of the first tests.
    let (mut done, mut size) = (0, 1);
    let mut left = budget;
    while done < reaching.len() {
        let program = tests[reaching[done]].program;
        let mut batch = Vec::new();
        for at in reaching[done..].iter().copied() {
            let test = &tests[at];
            let fits = test.duration <= left;
            if batch.len() == size || !std::ptr::eq(test.program, program) || !fits {
                break;
            }
            left -= test.duration;
            batch.push(at);
        }
        if batch.is_empty() {
            return Outcome::MissedSoFar { tests: done, left: reaching.len() - done };
        }
        if let Some((test, timeout)) = failing(id, &batch, tests) {
            caught.add(file, test);
            return Outcome::Caught { test: tests[test].name.clone(), timeout };
        }
        done += batch.len();
        size *= 2;
    }
    Outcome::Missed { tests: done }
}

/// Runs a batch of tests of one program, and returns the one that fails, with true if it takes too
/// long.
fn failing(id: usize, batch: &[usize], tests: &[Test<'_>]) -> Option<(usize, bool)> {
    let number = id.to_string();
    let run = |batch: &[usize]| {
        let names: Vec<&str> = batch.iter().map(|at| tests[*at].name.as_str()).collect();
        let usual: Duration = batch.iter().map(|at| tests[*at].duration).sum();
        let limit = Duration::from_secs(5) + usual * 5;
        run(tests[batch[0]].program, &names, ("MUTANT", &number), limit)
    };
    if run(batch) == Some(true) {
        return None;
    }
    if let [test] = *batch {
        // Once more: a busy machine makes tests fail, too.
        let result = run(batch);
        return (result != Some(true)).then_some((test, result.is_none()));
    }
    // Halves until one test is left, so that it is known for the next mutants.
    let (one, other) = batch.split_at(batch.len() / 2);
    failing(id, one, tests).or_else(|| failing(id, other, tests))
}
