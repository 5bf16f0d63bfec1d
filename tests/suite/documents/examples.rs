//! Examples of diagnostics, from the snapshots of the tests: what the program really printed.

use regex::Regex;
use std::collections::BTreeMap;
use std::path::Path;
use walkdir::WalkDir;

/// Lines of an example at most.
const LONGEST: usize = 14;

/// Returns the shortest example of each code.
pub(super) fn by_code() -> BTreeMap<String, String> {
    let head = Regex::new(r"^(?:error|warning|note)\[([a-z0-9-]+)\]: ").expect("a pattern");
    let mut found: BTreeMap<String, String> = BTreeMap::new();
    for directory in ["src", "tests"] {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join(directory);
        for entry in WalkDir::new(root).sort_by_file_name() {
            let path = entry.expect("an entry").into_path();
            if path.extension().is_none_or(|end| end != "snap") {
                continue;
            }
            let text = std::fs::read_to_string(&path).expect("a snapshot");
            for example in blocks(&text) {
                let Some(code) = head.captures(&example) else { continue };
                let known = found.entry(code[1].to_owned()).or_insert_with(|| example.clone());
                if example.len() < known.len() {
                    *known = example;
                }
            }
        }
    }
    found
}

/// Returns the diagnostics of a snapshot that fit into a page as they are.
fn blocks(text: &str) -> impl Iterator<Item = String> {
    text.split("\n\n")
        .flat_map(|block| {
            // Before the first one are the exit code and the name of the stream.
            let is_head = |line: &&str| line.contains("]: ") && !line.starts_with("---");
            let lines: Vec<&str> = block.lines().skip_while(|line| !is_head(line)).collect();
            let Some(brief) = lines.first().and_then(|line| line.strip_prefix("  ")) else {
                return vec![lines.join("\n")];
            };
            // Those of a bundle are below its name, without empty lines.
            let mut found = vec![brief.to_owned()];
            for line in lines.iter().skip(1).filter_map(|line| line.strip_prefix("  ")) {
                match found.last_mut().filter(|_| line.starts_with(' ')) {
                    Some(last) => *last += &format!("\n{line}"),
                    None => found.push(line.to_owned()),
                }
            }
            found
        })
        .filter(|block| {
            let is_ours = ["```", "[temp]", "\\u{", "$"].iter().all(|text| !block.contains(text));
            is_ours && !block.is_empty() && block.lines().count() <= LONGEST
        })
}

#[test]
fn examples_are_whole_diagnostics() {
    let text = "exit code 2\n--- standard error\nerror[a-b]: c\n--> d:1\n = hint: e\n\nnote[f]: g\n\n\
                bundle:\n  note[h]: i (j:1)\n   = hint: k\n  note[l]: m\nother:\n  note[n]: o\n\n1 error\n";
    let found: Vec<String> = blocks(text).collect();
    let brief = ["note[h]: i (j:1)\n = hint: k", "note[l]: m", "note[n]: o"];
    assert_eq!(found[..2], ["error[a-b]: c\n--> d:1\n = hint: e", "note[f]: g"]);
    assert_eq!(found[2..], brief);
}
