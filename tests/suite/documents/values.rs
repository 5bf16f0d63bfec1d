//! The reference of values: the comments in values.yaml of charts.

use super::up_to_date;
use crate::support::serving_examples;
use regex::Regex;
use std::fmt::Write as _;
use std::path::Path;
use walkdir::WalkDir;

const HEAD: &str = "\
# Values of a chart

values.yaml of each chart has its values with defaults and comments, and values.schema.json rejects unknown ones. These are all
values; a chart has those that its objects use. Names of containers, Deployments, images and so on are `NAME` here.

`bundle2chart diff --values FILE` shows which of your values a new version of a chart ignores or rejects.

Generated from values.yaml of the charts in out/ and of examples/serving.
";

/// Tables whose keys are names from the bundle.
const NAMED: [&str; 8] = [
    "images",
    "deployments",
    "serviceAccounts",
    "namespaces",
    "resources",
    "securityContext",
    "imagePullPolicy",
    "extraArgs",
];

/// Start of the comment with the default of an image.
const DEFAULT: &str = "# @default -- ";

/// A value with its description.
struct Described {
    path: String,
    description: String,
}

/// Returns the described values of a values.yaml, with `NAME` for names.
fn described(text: &str) -> Vec<Described> {
    let key = Regex::new(r"^( *)([A-Za-z][A-Za-z0-9._-]*):").expect("a pattern");
    let names = Regex::new(r"`[^`]*(?:example\.com|@sha256)[^`]*`").expect("a pattern");
    let mut found = Vec::new();
    let mut path: Vec<(usize, String)> = Vec::new();
    let mut comment: Option<String> = None;

    for line in text.lines() {
        let trimmed = line.trim_start();
        if let Some(start) = trimmed.strip_prefix("# -- ") {
            comment = Some(start.to_owned());
        } else if trimmed.starts_with(DEFAULT) {
            // Another one for each chart.
        } else if let (Some(more), Some(text)) = (trimmed.strip_prefix("# "), &mut comment) {
            text.push(' ');
            text.push_str(more);
        } else if let Some(parts) = key.captures(line) {
            let indent = parts[1].len();
            path.retain(|(outer, _)| *outer < indent);
            let named = path.last().is_some_and(|(_, parent)| NAMED.contains(&parent.as_str()));
            // Requests and limits of models have no names of containers above.
            let is_name = named && !["requests", "limits"].contains(&&parts[2]);
            let name = if is_name { "NAME".to_owned() } else { parts[2].to_owned() };
            let is_image = is_name && path.last().is_some_and(|(_, up)| up == "images");
            let containers = ["resources", "securityContext", "imagePullPolicy", "extraArgs"];
            let is_container =
                is_name && path.last().is_some_and(|(_, up)| containers.contains(&up.as_str()));
            path.push((indent, name));
            if let Some(mut description) = comment.take() {
                if is_container {
                    description = description.replace(&format!("`{}`", &parts[2]), "`NAME`");
                }
                if is_image {
                    description = description.replace(&parts[2], "`NAME`");
                }
                let path: Vec<&str> = path.iter().map(|(_, name)| name.as_str()).collect();
                found.push(Described {
                    path: path.join("."),
                    description: names.replace_all(&description, "`IMAGE`").into_owned(),
                });
            }
        }
    }
    found
}

/// Returns a table of the values of all charts below a directory.
fn table(directory: &Path) -> String {
    let mut values: Vec<Described> = Vec::new();
    for entry in WalkDir::new(directory).sort_by_file_name() {
        let entry = entry.expect("an entry");
        if entry.file_name() != "values.yaml" {
            continue;
        }
        let text = std::fs::read_to_string(entry.path()).expect("values");
        for value in described(&text) {
            if values.iter().all(|known| known.path != value.path) {
                values.push(value);
            }
        }
    }
    assert!(values.len() > 15, "only {} values in {}", values.len(), directory.display());
    values.sort_by(|one, other| one.path.cmp(&other.path));

    values.iter().fold("| value | description |\n|---|---|\n".to_owned(), |mut text, value| {
        let _ = writeln!(text, "| `{}` | {} |", value.path, value.description.replace('|', "\\|"));
        text
    })
}

#[test]
fn reference_of_values() {
    let text = format!(
        "{HEAD}\n## Charts of operators\n\n{}\n## Charts of models\n\n{}",
        table(&Path::new(env!("CARGO_MANIFEST_DIR")).join("out")),
        table(serving_examples::charts())
    );
    up_to_date("docs/reference/values.md", &text);
}
