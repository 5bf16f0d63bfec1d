//! Prints what was found.

use crate::accepted::Accepted;
use crate::instrument::NO_BRANCH;
use crate::list::Mutant;
use crate::tests::Outcome;
use std::collections::BTreeMap;

/// Prints the mutants that no test catches, and the rate.
pub fn print(
    mutants: &[Mutant],
    outcomes: &BTreeMap<usize, Outcome>,
    unviable: &BTreeMap<usize, String>,
    accepted: &BTreeMap<usize, &Accepted>,
    is_whole: bool,
) {
    println!();
    let (mut caught, mut timeouts, mut missed, mut listed) = (0, 0, 0, 0);
    let mut folders: BTreeMap<String, (usize, usize)> = BTreeMap::new();
    for (id, outcome) in outcomes {
        let mutant = &mutants[*id];
        if let Some(line) = accepted.get(id) {
            listed += 1;
            println!("accepted: {}: {}", mutant.name, line.reason);
            continue;
        }
        let folder: Vec<&str> = mutant.file.split('/').take(3).collect();
        let counts = folders.entry(folder.join("/")).or_default();
        counts.1 += 1;
        match outcome {
            Outcome::Caught { timeout, .. } => {
                counts.0 += 1;
                caught += 1;
                timeouts += usize::from(*timeout);
            }
            Outcome::Unreached => {
                missed += 1;
                println!("unreached: {}", mutant.name);
            }
            Outcome::Missed { .. } | Outcome::MissedSoFar { .. } => {
                missed += 1;
                println!("missed: {}", mutant.name);
            }
        }
    }

    if is_whole {
        for (id, reason) in unviable {
            println!("unviable: {}: {reason}", mutants[*id].name);
        }
    }
    println!();
    for (folder, (caught, all)) in folders {
        println!("{folder}: {caught} of {all} caught ({} %)", percent(caught, all));
    }
    let viable = caught + missed;
    let not_written = unviable.values().filter(|reason| *reason == NO_BRANCH).count();
    println!(
        "{viable} mutants: {caught} caught ({} %), {timeouts} of them by timeout; {missed} missed; \
         {listed} accepted, {} do not compile, {not_written} are no branches and not tested",
        percent(caught, viable),
        unviable.len() - not_written,
    );
}

fn percent(part: usize, whole: usize) -> String {
    format!("{:.1}", 100.0 * part as f64 / (whole.max(1)) as f64)
}
