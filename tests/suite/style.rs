//! Rules for the source that clippy has no lint for.

use crate::source_files::source_files;

/// The files that may open files of others and start programs. The interpreter of jq runs in this
/// program itself, started once more.
const MAY_OPEN: [&str; 3] = ["model/regular_file.rs", "source/process.rs", "jq/session.rs"];

/// Ways to open a file, which wait for a named pipe and read a device without end, and to start a
/// program, which may run without end.
const OPENING: [&str; 7] = [
    "File::open",
    "fs::read(",
    "fs::read_to_string",
    "OpenOptions::new",
    "Command::new",
    ".output()",
    ".custom_flags(",
];

/// Returns the path and the text of each source file, without unit tests.
fn sources() -> Vec<(String, String)> {
    let code = |text: &str| text.split("\nmod tests {").next().expect("a part").to_owned();
    let files = source_files().into_iter();
    let sources: Vec<_> = files.map(|(path, text)| (path, code(&text))).collect();
    assert!(sources.len() > 100, "only {} source files", sources.len());
    sources
}

/// Returns the functions that return `Diagnostics` by value, alone or in another type.
fn returning_diagnostics(code: &str) -> Vec<&str> {
    let mut found = Vec::new();
    for (at, _) in code.match_indices("fn ") {
        let is_item = code[..at].ends_with(|c: char| c.is_whitespace() || c == '(');
        let signature = code[at..].split(['{', ';']).next().unwrap_or_default();
        // The last arrow: parameters may be closures that return something, too.
        let Some((_, returned)) = signature.rsplit_once("->") else { continue };
        let returned = returned.replace("&mut Diagnostics", "").replace("&Diagnostics", "");
        let mut words = returned.split(|c: char| !c.is_alphanumeric() && c != '_');
        if is_item && words.any(|word| word == "Diagnostics") {
            found.push(signature["fn ".len()..].split(['(', '<']).next().unwrap_or_default());
        }
    }
    found
}

#[test]
fn diagnostics_are_reported_to_the_sink_and_not_returned() {
    let example = "fn a(d: &mut Diagnostics) -> Option<u8> { }
        fn b() -> Diagnostics { } pub fn c<T>(\n x: u8,\n) -> Result<T, Diagnostics>\n where T: X { }
        fn d(f: impl Fn() -> Diagnostics) -> u8 { } fn e(&self) -> &Diagnostics { }
        fn f() -> (u8, crate::diag::Diagnostics) { }";
    assert_eq!(returning_diagnostics(example), ["b", "c", "f"]);

    let found: Vec<String> = sources()
        .iter()
        .filter(|(path, _)| !path.starts_with("model/diag/"))
        .flat_map(|(path, code)| {
            returning_diagnostics(code).into_iter().map(move |name| format!("src/{path}: {name}"))
        })
        .collect();
    assert!(
        found.is_empty(),
        "take `diagnostics: &mut Diagnostics` as the last parameter, or return Result<_, Fatal>:\n{}",
        found.join("\n")
    );
}

#[test]
fn files_are_opened_and_programs_started_in_one_place() {
    let mut found = Vec::new();
    for (path, code) in sources().iter().filter(|(path, _)| !MAY_OPEN.contains(&path.as_str())) {
        for (number, line) in code.lines().enumerate() {
            let line = line.split("//").next().expect("a part");
            // A file that is created here cannot be a pipe or a link of someone else.
            let creates = line.contains(".create_new(true)");
            if !creates && OPENING.iter().any(|way| line.contains(way)) {
                found.push(format!("src/{path}:{}: {}", number + 1, line.trim()));
            }
        }
    }
    assert!(
        found.is_empty(),
        "open files with crate::regular_file, start programs with source::process:\n{}",
        found.join("\n")
    );
}

/// A file that no `mod` names is not compiled, and none of its tests runs.
#[test]
fn every_file_of_a_test_program_is_a_module() {
    for program in ["suite", "api_server", "source", "against_go", "diff_scaling"] {
        let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests").join(program);
        let main = std::fs::read_to_string(folder.join("main.rs")).expect("main.rs");
        let modules: Vec<&str> =
            main.lines().filter_map(|line| line.strip_prefix("mod ")).collect();
        for entry in std::fs::read_dir(&folder).expect("a folder") {
            let name = entry.expect("an entry").file_name().to_string_lossy().into_owned();
            let Some(module) = name.strip_suffix(".rs").filter(|module| *module != "main") else {
                continue;
            };
            let declared = modules.iter().any(|line| line.strip_suffix(';') == Some(module));
            assert!(declared, "tests/{program}/{name} is in no `mod`");
        }
    }
}

/// Doc comments start with a verb or name the thing, as readers of Rust expect.
#[test]
fn doc_comments_do_not_start_with_a_question_word() {
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut found = Vec::new();
    let folders = ["src", "tests", "benches", "fuzz/src", "fuzz/fuzz_targets"];
    // tests/mutants is a workspace of its own, with its own target folder.
    let files = |folder| {
        let entries = walkdir::WalkDir::new(root.join(folder)).into_iter();
        entries.filter_entry(|entry| entry.file_name() != "target")
    };
    for entry in folders.into_iter().flat_map(files) {
        let entry = entry.expect("an entry");
        if entry.path().extension().is_none_or(|extension| extension != "rs") {
            continue;
        }
        let text = std::fs::read_to_string(entry.path()).expect("a file");
        let mut in_comment = false;
        for (number, line) in text.lines().enumerate() {
            let doc = line.trim_start().strip_prefix("///");
            let doc = doc.or_else(|| line.trim_start().strip_prefix("//!"));
            let word = doc.and_then(|doc| doc.split_whitespace().next());
            let questions = ["What", "Whether", "How", "Where", "Who"];
            if !in_comment && word.is_some_and(|word| questions.contains(&word)) {
                found.push(format!("{}:{}: {}", entry.path().display(), number + 1, line.trim()));
            }
            in_comment = doc.is_some();
        }
    }
    assert!(found.is_empty(), "{}", found.join("\n"));
}

/// Returns the hints in a report of diagnostics, as people see it.
fn hints(text: &str) -> impl Iterator<Item = &str> {
    text.lines().filter_map(|line| line.split_once("= hint: ").map(|(_, hint)| hint.trim_end()))
}

/// Hints are imperatives: no sentences of a description, with a capital and a full stop.
#[test]
fn hints_start_in_lower_case_and_have_no_full_stop() {
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR"));
    let is_wrong = |hint: &&str| hint.starts_with(char::is_uppercase) || hint.ends_with('.');
    let example = "error: a\n  = hint: write `A.`\n  = hint: Write it\n = hint: write it.\n";
    let found: Vec<&str> = hints(example).filter(is_wrong).collect();
    assert_eq!(found, ["Write it", "write it."]);

    let mut count = 0;
    let mut found = Vec::new();
    for entry in
        ["src", "tests"].into_iter().flat_map(|folder| walkdir::WalkDir::new(root.join(folder)))
    {
        let entry = entry.expect("an entry");
        let ending = entry.path().extension().and_then(|ending| ending.to_str());
        if !entry.file_type().is_file() || !matches!(ending, Some("snap" | "rs")) {
            continue;
        }
        let text = std::fs::read_to_string(entry.path()).expect("a text");
        // The sentences above, which are wrong on purpose.
        let hints = hints(&text).filter(|_| !entry.path().ends_with(file!()));
        for hint in hints {
            count += 1;
            if is_wrong(&hint) {
                found.push(format!("{}: {hint}", entry.path().display()));
            }
        }
    }
    assert!(count > 500, "only {count} hints");
    assert!(found.is_empty(), "{}", found.join("\n"));
}

/// A file that is no YAML has no objects, and an object with a hole that nothing fills is left out.
#[test]
fn objects_of_models_are_read_and_their_holes_are_filled() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("src/serving/objects");
    let sources = sources();
    let of_models = sources.iter().filter(|(path, _)| path.starts_with("serving/"));
    let code: String = of_models.map(|(_, code)| code.as_str()).collect();
    let mut found = Vec::new();
    for entry in walkdir::WalkDir::new(&folder) {
        let entry = entry.expect("an entry");
        if !entry.file_type().is_file() {
            continue;
        }
        let name = entry.path().strip_prefix(&folder).expect("below").display().to_string();
        let text = std::fs::read_to_string(entry.path()).expect("a text");
        if !bundle2chart::yaml::parse(&text).is_ok_and(|documents| !documents.is_empty()) {
            found.push(format!("{name} is no YAML"));
        }
        if !code.contains(&format!("objects/{name}\"")) {
            found.push(format!("{name} is not used"));
        }
        for hole in text.split('$').skip(1).map(|rest| rest.trim_start_matches('?')) {
            let hole = hole.split(|c: char| !c.is_ascii_alphabetic() && c != '_').next();
            let hole = hole.expect("a part");
            if !code.contains(&format!("\"{hole}\"")) {
                found.push(format!("{name} has a hole `{hole}` without a value"));
            }
        }
    }
    assert!(found.is_empty(), "{}", found.join("\n"));
}
