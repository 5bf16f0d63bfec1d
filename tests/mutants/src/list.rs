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
    pub package: String,
    /// Kind of change: `FnValue`, `BinaryOperator`, `MatchArm`, …
    pub genre: String,
    pub span: Span,
    /// New text; empty if the place is deleted.
    pub replacement: String,
    pub function: Option<Function>,
}

/// Lines and columns, from 1; `end` is exclusive.
#[derive(Deserialize)]
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

/// Returns the mutants of the files in .cargo/mutants.toml.
///
/// # Errors
/// cargo-mutants is not installed, or fails.
pub fn mutants(root: &Path) -> Result<Vec<Mutant>, String> {
    let output = Command::new("cargo")
        .args(["mutants", "--workspace", "--list", "--json"])
        .current_dir(root)
        .output()
        .map_err(|error| format!("cannot run cargo: {error}"))?;
    if !output.status.success() {
        let text = String::from_utf8_lossy(&output.stderr);
        return Err(format!("{text}hint: cargo install cargo-mutants --locked"));
    }
    serde_json::from_slice(&output.stdout)
        .map_err(|error| format!("cannot read the list of cargo-mutants: {error}"))
}
