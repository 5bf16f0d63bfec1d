//! The reference of bundles.toml: one page for each table, from the tables of keys that the reader
//! and the JSON schema use.

use super::up_to_date;
use bundle2chart::config::declare::{Key, Kind, Table};
use bundle2chart::config::tables::root::Root;
use std::fmt::Write as _;
use std::fs;
use std::path::Path;

/// Directory of the pages.
const DIRECTORY: &str = "docs/reference/bundles-toml";
const SOURCE: &str = "Generated from `src/config/tables`.\n";

/// A table, and the tables that have it.
struct Found {
    table: &'static Table,
    /// Name of the page.
    page: String,
    /// The key with its table, as in a file.
    title: String,
    /// Titles and pages of the tables that have it.
    parents: Vec<(String, String)>,
}

/// Returns all tables below the top of the file, each once, in the order of the keys.
fn tables() -> Vec<Found> {
    let mut found = Vec::new();
    collect(Root::table(), None, &mut found);
    found
}

fn collect(table: &'static Table, parent: Option<(&str, &str)>, found: &mut Vec<Found>) {
    for key in &table.keys {
        let Some(inner) = key.kind.table() else { continue };
        let up = parent.map(|(title, page)| (title.to_owned(), page.to_owned()));
        if let Some(known) = found.iter_mut().find(|known| std::ptr::eq(known.table, inner)) {
            known.parents.extend(up);
            continue;
        }

        let is_header = inner.header.starts_with('[');
        let page = match parent {
            Some((_, parent)) if !is_header => format!("{parent}-{}", inner.header),
            _ => inner.header.trim_matches(['[', ']']).replace('.', "-"),
        };
        let title = inner.header.to_owned();
        found.push(Found {
            table: inner,
            page: page.clone(),
            title: title.clone(),
            parents: up.into_iter().collect(),
        });
        collect(inner, Some((&title, &page)), found);
    }
}

/// Returns the page of a table.
fn page_of<'f>(table: &Table, found: &'f [Found]) -> &'f str {
    let known = found.iter().find(|known| std::ptr::eq(known.table, table)).expect("a table");
    &known.page
}

/// Describes the type of a key; `prefix` leads to the directory of the pages.
fn type_of(key: &Key, found: &[Found], prefix: &str) -> String {
    let values = |values: &[&str]| -> String {
        let quoted: Vec<String> = values.iter().map(|value| format!("`\"{value}\"`")).collect();
        quoted.join(", ")
    };
    match key.kind {
        Kind::Boolean => "boolean".to_owned(),
        Kind::Integer(least, most) => format!("integer, {least} to {most}"),
        Kind::String(_) => "string".to_owned(),
        Kind::OneOf(list) => values(list),
        Kind::Filters => "list of [jq](../customising.md#jq) filters".replace("../", up(prefix)),
        Kind::StringOrFalse(_) => "string or `false`".to_owned(),
        Kind::Switch(_) => "boolean or string".to_owned(),
        Kind::Watch => format!("{} or list of namespaces", values(&["all", "own"])),
        Kind::Object => "table".to_owned(),
        Kind::TextOrObject => "YAML string or table".to_owned(),
        Kind::Table(inner) => format!("[table]({prefix}{}.md)", page_of(inner(), found)),
        Kind::List(Kind::Table(inner)) => {
            format!("[list of tables]({prefix}{}.md)", page_of(inner(), found))
        }
        Kind::List(_) | Kind::Map(_) => key.kind.expected().trim_start_matches("a ").to_owned(),
    }
}

/// Returns the way from a page to docs/.
fn up(prefix: &str) -> &'static str {
    if prefix.is_empty() { "../../" } else { "../" }
}

/// Returns the keys of a table as a Markdown table.
fn keys(table: &Table, found: &[Found], prefix: &str) -> String {
    let mut text = "| key | type | description |\n|---|---|---|\n".to_owned();
    for key in &table.keys {
        let required = if key.required { ", required" } else { "" };
        let needs: Vec<String> = key.needs.iter().map(|needed| format!("`{needed}`")).collect();
        let needs = match needs.as_slice() {
            [] => String::new(),
            needs => format!(" Only with {}.", needs.join(" and ")),
        };
        let _ = writeln!(
            text,
            "| `{}` | {}{required} | {}{needs} |",
            key.name,
            type_of(key, found, prefix),
            key.doc.replace('|', "\\|")
        );
    }
    match table.exactly_one_of {
        [] => {}
        choices => {
            let choices: Vec<String> = choices.iter().map(|name| format!("`{name}`")).collect();
            let _ = write!(text, "\nExactly one of {} must be set.\n", choices.join(", "));
        }
    }
    text
}

/// Files that are not part of the book.
const REPOSITORY: &str = concat!(env!("CARGO_PKG_REPOSITORY"), "/blob/main/");

#[test]
fn reference_of_bundles_toml() {
    let found = tables();
    let mut index = format!(
        "# bundles.toml\n\n`bundle2chart schema` prints the JSON schema for your editor; it is also in \
         [schema/]({REPOSITORY}schema/bundles.schema.json).\n[bundles.toml]({REPOSITORY}bundles.toml) \
         of this repository is an example with comments.\n\n{SOURCE}\n"
    );
    index.push_str(&keys(Root::table(), &found, "bundles-toml/"));
    up_to_date("docs/reference/bundles-toml.md", &index);

    for Found { table, page, title, parents } in &found {
        let parents: Vec<String> =
            parents.iter().map(|(title, page)| format!("[`{title}`]({page}.md)")).collect();
        let place = match parents.as_slice() {
            [] => "At the top of [bundles.toml](../bundles-toml.md).".to_owned(),
            parents => format!("In {}.", parents.join(" and ")),
        };
        let text = format!(
            "# `{title}`\n\n{} {place}\n\n{}\n{SOURCE}",
            table.doc,
            keys(table, &found, "")
        );
        up_to_date(&format!("{DIRECTORY}/{page}.md"), &text);
    }
    let expected: Vec<String> = found.iter().map(|found| format!("{}.md", found.page)).collect();
    for entry in fs::read_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join(DIRECTORY)).expect("pages")
    {
        let name = entry.expect("an entry").file_name().into_string().expect("UTF-8");
        assert!(expected.contains(&name), "{DIRECTORY}/{name} is the page of no table: remove it");
    }
    summary(&found);
}

/// The pages are in the book's table of contents.
fn summary(found: &[Found]) {
    let path = "docs/SUMMARY.md";
    let text = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(path)).expect(path);
    let mut expected = String::new();
    for line in text.lines().filter(|line| !line.contains("](reference/bundles-toml/")) {
        expected.push_str(line);
        expected.push('\n');
        if line.contains("](reference/bundles-toml.md)") {
            for Found { page, title, .. } in found {
                let _ = writeln!(expected, "  - [`{title}`](reference/bundles-toml/{page}.md)");
            }
        }
    }
    up_to_date(path, &expected);
}
