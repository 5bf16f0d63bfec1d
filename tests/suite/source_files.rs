//! The files of the program, for tests of their text.

use std::fs;
use std::path::Path;
use walkdir::WalkDir;

/// Returns the paths below src/ of the files with code of the program, and their texts: all but test
/// modules.
pub(crate) fn source_files() -> Vec<(String, String)> {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut files = Vec::new();
    for entry in WalkDir::new(&source) {
        let entry = entry.expect("an entry");
        let path = entry.path().strip_prefix(&source).expect("below src").to_str().expect("UTF-8");
        if path.ends_with(".rs") {
            let text = fs::read_to_string(entry.path()).expect("a source file");
            files.push((path.to_owned(), text));
        }
    }

    let tests: Vec<String> =
        files.iter().flat_map(|(path, text)| test_modules(path, text)).collect();
    let is_test = |path: &str| {
        let mut rests = tests.iter().filter_map(|module| path.strip_prefix(module.as_str()));
        rests.any(|rest| rest == ".rs" || rest.starts_with('/'))
    };
    files.retain(|(path, _)| !is_test(path));
    files
}

/// Returns the paths, without `.rs`, of the modules that a file declares for tests only.
fn test_modules(path: &str, text: &str) -> Vec<String> {
    let stem = path.strip_suffix(".rs").expect("a source file");
    let (parent, name) = stem.rsplit_once('/').unwrap_or(("", stem));
    let folder = if ["mod", "lib", "main"].contains(&name) { parent } else { stem };
    let declared = |rest: &str| {
        let line = rest.lines().find(|line| !line.is_empty() && !line.starts_with("#["))?;
        let module = line.strip_prefix("mod ")?.strip_suffix(';')?;
        Some(format!("{folder}/{module}").trim_start_matches('/').to_owned())
    };
    text.split("#[cfg(test)]").skip(1).filter_map(declared).collect()
}

#[test]
fn test_modules_are_found_for_each_kind_of_file() {
    let text = "#[cfg(test)]\nmod sample;\n#[cfg(test)]\n#[allow(x)]\nmod tests;\nmod code;\n\
                #[cfg(test)]\nmod inline {\n}\n#[cfg(test)]\nuse a::b;\nmod more;";
    assert_eq!(test_modules("a/mod.rs", text), ["a/sample", "a/tests"]);
    assert_eq!(test_modules("a/b.rs", text), ["a/b/sample", "a/b/tests"]);
    assert_eq!(test_modules("lib.rs", text), ["sample", "tests"]);
}
