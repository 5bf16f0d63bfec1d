//! Rules for the source that clippy has no lint for.

/// The files that may open files of others and start programs. The interpreter of jq runs in this
/// program itself, started once more.
const MAY_OPEN: [&str; 3] = ["regular_file.rs", "source/process.rs", "jq/session.rs"];

/// Ways to open a file, which wait for a named pipe and read a device for ever, and to start a
/// program, which may run for ever.
const OPENING: [&str; 7] = [
    "File::open",
    "fs::read(",
    "fs::read_to_string",
    "OpenOptions::new",
    "Command::new",
    ".output()",
    ".custom_flags(",
];

#[test]
fn files_are_opened_and_programs_started_in_one_place() {
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut found = Vec::new();
    let mut seen = 0;
    for entry in walkdir::WalkDir::new(&root) {
        let entry = entry.expect("an entry");
        let path = entry.path().strip_prefix(&root).expect("below src").to_str().expect("UTF-8");
        let is_test = path.ends_with("tests.rs") || path.contains("/tests/");
        if !path.ends_with(".rs") || is_test || MAY_OPEN.contains(&path) {
            continue;
        }
        seen += 1;
        let text = std::fs::read_to_string(entry.path()).expect("a file");
        let code = text.split("\nmod tests {").next().expect("a part");
        for (number, line) in code.lines().enumerate() {
            let line = line.split("//").next().expect("a part");
            // What is created and was not there before is nobody else's.
            let creates = line.contains(".create_new(true)");
            if !creates && OPENING.iter().any(|way| line.contains(way)) {
                found.push(format!("src/{path}:{}: {}", number + 1, line.trim()));
            }
        }
    }
    assert!(seen > 100, "only {seen} files were looked at");
    assert!(
        found.is_empty(),
        "open files with crate::regular_file, start programs with source::process:\n{}",
        found.join("\n")
    );
}
