//! The modules of the crate depend on each other in the order that ARCHITECTURE.md draws.

use crate::source_files::source_files;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

/// The line above the drawing.
const MARKER: &str = "Each line uses only lines below it";

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// The line between the modules of the program and those of the compiler's crate.
const BOUNDARY: &str = "--- src/compiler";

/// Returns the lines of the drawing, top first, each with its modules.
fn drawing() -> Vec<Vec<String>> {
    let text = fs::read_to_string(root().join("ARCHITECTURE.md")).expect("ARCHITECTURE.md");
    let (_, after) = text.split_once(MARKER).expect("the drawing of the module graph");
    let block = after.split("```").nth(1).expect("a code block");
    let lines = block.lines().skip(1).filter(|line| !line.trim().is_empty());
    lines.map(|line| line.split_whitespace().map(str::to_owned).collect()).collect()
}

fn is_boundary(line: &[String]) -> bool {
    line.join(" ") == BOUNDARY
}

/// Returns the text without comments and unit tests, which may use any module.
fn code(text: &str) -> String {
    let text = text.split("#[cfg(test)]\nmod tests").next().unwrap_or_default();
    let lines = text.lines().map(|line| line.split("//").next().unwrap_or_default());
    lines.collect::<Vec<_>>().join("\n")
}

/// Returns the names that follow `crate::`, also those of a list in braces.
fn used(code: &str) -> BTreeSet<String> {
    let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let name = |text: &str| text.chars().take_while(|c| is_name(*c)).collect::<String>();
    let mut found = BTreeSet::new();
    for rest in code.split("crate::").skip(1) {
        let Some(list) = rest.strip_prefix('{') else {
            found.insert(name(rest));
            continue;
        };
        let mut depth = 0;
        let mut at_start = true;
        for (offset, c) in list.char_indices() {
            match c {
                '}' if depth == 0 => break,
                '{' => depth += 1,
                '}' => depth -= 1,
                ',' if depth == 0 => at_start = true,
                _ if at_start && is_name(c) => {
                    found.insert(name(&list[offset..]));
                    at_start = false;
                }
                _ => {}
            }
        }
    }
    found
}

/// Returns the module of a path below src/. The configuration of models counts as `config`: the reader
/// of bundles.toml calls it for its tables, and it is written with that reader.
fn module_of(path: &str) -> &str {
    let path = path.strip_prefix("compiler/").unwrap_or(path);
    match path.split(['/', '.']).next().unwrap_or_default() {
        "serving" if path.starts_with("serving/config/") => "config",
        "serving_disabled" => "serving",
        module => module,
    }
}

/// Returns the modules that each module of both crates uses, with a file that does.
fn graph() -> BTreeMap<String, BTreeMap<String, String>> {
    let mut graph: BTreeMap<String, BTreeMap<String, String>> = BTreeMap::new();
    for (path, text) in source_files() {
        if path.ends_with("lib.rs") || path == "main.rs" {
            continue;
        }
        let module = module_of(&path).to_owned();
        let uses = graph.entry(module.clone()).or_default();
        let code = code(&text).replace("crate::serving::config", "crate::config");
        for name in used(&code).into_iter().filter(|name| *name != module) {
            uses.entry(name).or_insert_with(|| path.clone());
        }
    }
    let modules: BTreeSet<String> = graph.keys().cloned().collect();
    for uses in graph.values_mut() {
        uses.retain(|name, _| modules.contains(name));
    }
    graph
}

#[test]
fn modules_depend_on_lower_ones_only() {
    let drawing = drawing();
    let graph = graph();
    let drawn: BTreeSet<&String> =
        drawing.iter().filter(|line| !is_boundary(line)).flatten().collect();
    let existing: BTreeSet<&String> = graph.keys().collect();
    assert_eq!(drawn, existing, "ARCHITECTURE.md draws other modules than src/ has");

    let rank = |module: &String| drawing.iter().position(|line| line.contains(module));
    let wrong: Vec<String> = graph
        .iter()
        .flat_map(|(module, uses)| {
            let above = uses.iter().filter(move |(used, _)| rank(used) <= rank(module));
            above.map(move |(used, file)| format!("{module} uses {used} (src/{file})"))
        })
        .collect();
    assert!(wrong.is_empty(), "against the order in ARCHITECTURE.md:\n{}", wrong.join("\n"));
}

#[test]
fn the_compiler_is_what_is_below_the_boundary() {
    let drawing = drawing();
    let boundary = drawing.iter().position(|line| is_boundary(line)).expect("the boundary");
    let below: BTreeSet<&str> =
        drawing[boundary + 1..].iter().flatten().map(String::as_str).collect();
    let folder = fs::read_dir(root().join("src/compiler")).expect("src/compiler");
    let names: Vec<String> = folder
        .map(|entry| entry.expect("an entry").file_name().into_string().expect("UTF-8"))
        .filter(|name| !matches!(name.as_str(), "Cargo.toml" | "lib.rs"))
        .collect();
    let compiled: BTreeSet<&str> = names.iter().map(|name| module_of(name)).collect();
    assert_eq!(below, compiled, "ARCHITECTURE.md draws another crate than src/compiler is");
}

/// Returns the first cells of the table below the line that ends with `marker` in ARCHITECTURE.md.
fn first_cells(marker: &str) -> BTreeSet<String> {
    let text = fs::read_to_string(root().join("ARCHITECTURE.md")).expect("ARCHITECTURE.md");
    let (_, after) = text.split_once(marker).expect("the line above the table");
    let rows = after.trim_start().lines().skip(2).take_while(|line| line.starts_with('|'));
    let cell = |row: &str| row.split('`').nth(1).expect("a cell with a path").to_owned();
    rows.map(cell).collect()
}

#[test]
fn only_listed_files_outside_of_serving_name_it() {
    let mut naming = BTreeSet::new();
    for (path, text) in source_files() {
        let is_part = module_of(&path) == "serving" || path.starts_with("compiler/serving/");
        let code = code(&text).to_lowercase();
        if !is_part && (code.contains("serving") || code.contains("maas")) {
            naming.insert(path);
        }
    }

    let listed = first_cells("holds the list:\n");
    assert_eq!(naming, listed, "ARCHITECTURE.md lists other files than those that name serving");
}

#[test]
fn imports_are_found_in_every_form() {
    let text = "use crate::ir::Map;\nuse crate::{diag::{self, Code}, yaml};\nlet x = crate::jq::f();\n\
                // crate::cli\n#[cfg(test)]\nmod tests { use crate::pipeline; }";
    let found = used(&code(text));
    assert_eq!(found.into_iter().collect::<Vec<_>>(), ["diag", "ir", "jq", "yaml"]);
}
