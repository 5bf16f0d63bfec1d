//! The mutants, as cargo-mutants lists them.

use serde::Deserialize;
use std::path::Path;
use std::process::Command;

/// A change of one place in the sources.
#[derive(Deserialize)]
pub struct Mutant {
    /// Place and change, for people; unique.
    pub name: String,
    /// Path in the checkout.
    pub file: String,
    /// Kind of change: `FnValue`, `BinaryOperator`, `MatchArm`, …, `Operand`, `Statement`, `Literal`.
    pub genre: String,
    pub span: Span,
    /// New text; empty if the place is deleted.
    pub replacement: String,
    pub function: Option<Function>,
    /// The branch of a mutant of [`crate::kinds`]; none if a branch cannot be there.
    #[serde(skip)]
    pub branch: Option<Branch>,
    /// Places of the branch: that of the mutant, or the uses of the constant that it is in.
    #[serde(skip)]
    pub places: Vec<Span>,
    /// Of [`crate::kinds`], not of cargo-mutants.
    #[serde(skip)]
    pub is_own: bool,
}

/// Text around each place of a mutant, where `MUTANT` is true if it is selected.
pub struct Branch {
    pub before: String,
    pub after: String,
}

/// Lines and columns, from 1; `end` is exclusive.
#[derive(Clone, Deserialize)]
pub struct Span {
    pub start: Position,
    pub end: Position,
}

/// A line and a column in characters, both from 1.
#[derive(Clone, Copy, Deserialize, Eq, Ord, PartialEq, PartialOrd)]
pub struct Position {
    pub line: usize,
    pub column: usize,
}

/// The function that a mutant is in.
#[derive(Deserialize)]
pub struct Function {
    pub return_type: String,
}

/// Returns the mutants of files: those of cargo-mutants if it is installed, and then those of
/// [`crate::kinds`].
///
/// # Errors
/// cargo-mutants fails, or a file cannot be read.
pub fn mutants(root: &Path, files: &[String]) -> Result<Vec<Mutant>, String> {
    let mut mutants = listed(root, files)?;
    for file in files {
        let text = std::fs::read_to_string(root.join(file)).map_err(|e| format!("{file}: {e}"))?;
        mutants.extend(crate::kinds::mutants(file, &text)?);
    }
    Ok(mutants)
}

/// Returns the list of cargo-mutants.
fn listed(root: &Path, files: &[String]) -> Result<Vec<Mutant>, String> {
    let cargo = |arguments: &mut dyn Iterator<Item = String>| {
        let output =
            Command::new("cargo").arg("mutants").args(arguments).current_dir(root).output();
        output.map_err(|error| format!("cannot run cargo: {error}"))
    };
    if !cargo(&mut std::iter::once("--version".to_owned()))?.status.success() {
        eprintln!(
            "not checked: the kinds of cargo-mutants, which is missing: \
             cargo install cargo-mutants --locked"
        );
        return Ok(Vec::new());
    }
    let options = ["--workspace", "--list", "--json", "--no-config"].map(str::to_owned);
    let files = files.iter().map(|file| format!("--file={file}"));
    let output = cargo(&mut options.into_iter().chain(files))?;
    if !output.status.success() {
        return Err(String::from_utf8_lossy(&output.stderr).into_owned());
    }
    serde_json::from_slice(&output.stdout)
        .map_err(|error| format!("cannot read the list of cargo-mutants: {error}"))
}
