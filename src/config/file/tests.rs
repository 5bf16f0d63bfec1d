#![expect(clippy::disallowed_methods, reason = "writes the files that are read")]
//! Files, and those that they include.

use crate::diag::Diagnostics;
use crate::ir::{Map, Object, Origin};
use crate::tables::tests::shown;
use crate::{Config, Filter};
use std::fs;
use std::path::Path;

const CHART: &str = "[[chart]]\nname = \"NAME\"\nchart-version = \"1.0.0\"\nmanifests = [\"m\"]\n";

fn chart(name: &str) -> String {
    CHART.replace("NAME", name)
}

/// Returns the findings about a configuration, and the names of its charts.
fn read(folder: &Path, text: &str, tables: &str) -> String {
    let path = folder.join("bundles.toml");
    fs::write(&path, text).unwrap();
    let mut found = Diagnostics::new();
    let config = Config::read_draft(&path, text.to_owned(), tables, &mut found);
    let names: Vec<String> =
        config.iter().flat_map(Config::tables).map(|(name, _)| name.to_owned()).collect();
    let shown = shown(&found).replace(&folder.display().to_string(), "FOLDER");
    format!("charts: {}\n{shown}", names.join(" "))
}

#[test]
fn included_files() {
    let folder = tempfile::tempdir().unwrap();
    let write = |path: &str, text: &str| {
        let path = folder.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    };
    write("models/b.toml", &chart("b"));
    write("models/a.toml", &chart("a"));
    write("models/.hidden.toml", "not TOML");
    write("models/more/c.toml", &chart("c"));
    write("models/folder.toml/d.toml", &chart("d"));
    write("wrong/a.toml", "include = [\"c.toml\"]\n[defaults]\n[[charts]]\nname = \"x\"\n");
    write("wrong/b.toml", &chart("main"));
    write("wrong/c.toml", &format!("{}depends-on = [\"missing\"]\n", chart("c")));
    write("broken/a.toml", "name =\n");
    std::os::unix::fs::symlink("loop", folder.path().join("loop")).unwrap();
    fs::write(folder.path().join("models/latin.txt"), b"\xe9").unwrap();

    let mut seen = String::new();
    for include in [
        "\"models/*.toml\"",
        "\"models/b.toml\", \"./models//?.toml\"",
        "\"models/b.toml\", \"models/a.toml\"",
        "\"loop/*.toml\"",
        "\"models/*/*.toml\"",
        "\"none/*.toml\", \"models/b.toml/*\"",
        "\"*.toml\"",
        "\"/models/*.toml\", \"~/a.toml\", \" \", \"models/**\"",
        "\"models/missing.toml\", \"models/latin.txt\", \"models\"",
        "\"wrong/*.toml\"",
        "\"broken/a.toml\"",
        "1",
    ] {
        let text = format!("include = [{include}]\n{}", chart("main"));
        seen += &format!("==> {include}\n{}\n", read(folder.path(), &text, ""));
    }
    // Findings about the main file, after those about an included one.
    let one = format!("include = [\"models/a.toml\"]\n{}", chart("main"));
    let deploy = format!("{one}[deploy]\nserver-side = true\n");
    seen += &format!("==> [deploy]\n{}\n", read(folder.path(), &deploy, ""));
    write("empty.toml", "");
    let none = "include = [\"empty.toml\"]\nbundle = []\n";
    seen += &format!("==> no bundle\n{}\n", read(folder.path(), none, ""));
    write("many.toml", &"[[chart]]\n".repeat(1_000));
    let many = format!("include = [\"many.toml\", \"models/b.toml\"]\n{}", chart("main"));
    seen += &format!("==> 1002 charts\n{}\n", read(folder.path(), &many, ""));
    seen += &format!("==> not a list\n{}\n", read(folder.path(), "include = \"a\"\n", ""));
    insta::assert_snapshot!(seen);
}

#[test]
fn a_thousand_files_are_included() {
    let folder = tempfile::tempdir().unwrap();
    for number in 0..1_000 {
        fs::write(folder.path().join(format!("{number}.tml")), "").unwrap();
    }
    let text = format!("include = [\"*.tml\"]\n{}", chart("main"));
    assert_eq!(read(folder.path(), &text, ""), "charts: main\n");
    fs::write(folder.path().join("more.tml"), "").unwrap();
    insta::assert_snapshot!(read(folder.path(), &text, ""));
}

#[test]
fn tables_of_the_command_line_come_after_those_of_the_file() {
    let folder = tempfile::tempdir().unwrap();
    assert_eq!(read(folder.path(), &chart("a"), &chart("b")), "charts: a b\n");
    let found = read(folder.path(), &chart("a"), "[[chart]\n");
    assert!(found.contains("invalid TOML"), "{found}");

    // In the working directory.
    let mut found = Diagnostics::new();
    let text = format!("include = [\"missing.toml\"]\n{}", chart("a"));
    let _ = Config::read_draft(Path::new("bundles.toml"), text, "[chart]\n", &mut found);
    let names = found.iter().filter_map(|one| Some(one.place.span.as_ref()?.source.name.as_str()));
    assert_eq!(names.collect::<Vec<_>>(), ["bundles.toml", "command line"]);
    insta::assert_snapshot!(shown(&found));
}

#[test]
fn names_of_charts_and_of_the_output_directory() {
    let mut found = Diagnostics::new();
    let text = format!("{}{}", chart("a"), chart("b-crds"));
    let config = Config::read_draft(Path::new("bundles.toml"), text, "", &mut found).unwrap();
    assert_eq!((config.base.as_path(), config.out().as_path()), (Path::new("."), Path::new("out")));
    for (name, table) in [
        ("a", Some("a")),
        ("a-crds", Some("a")),
        ("a-operands", Some("a")),
        ("b-crds", Some("b-crds")),
        ("b-crds-crds", Some("b-crds")),
        ("b", None),
        ("a-other", None),
    ] {
        assert_eq!(config.table_of_chart(name), table, "{name}");
    }
    let elsewhere = Config { base: "dir".into(), ..config };
    assert_eq!(elsewhere.out(), Path::new("dir/out"));
}

#[test]
fn files_that_are_none() {
    let folder = tempfile::tempdir().unwrap();
    let limit = 1 << 20;
    let path = folder.path().join("bundles.toml");
    let text = chart("a");
    fs::write(&path, format!("{text}{}", "#".repeat(limit - text.len()))).unwrap();
    assert!(Config::read(&path, &mut Diagnostics::new()).is_some());
    fs::write(&path, format!("{text}{}", "#".repeat(limit - text.len() + 1))).unwrap();
    let mut seen = String::new();
    for path in [path.clone(), folder.path().to_owned(), path.join("bundles.toml")] {
        let mut found = Diagnostics::new();
        assert!(Config::read(&path, &mut found).is_none());
        seen += &shown(&found).replace(&folder.path().display().to_string(), "FOLDER");
    }
    insta::assert_snapshot!(seen);
}

#[test]
fn failures_of_filters() {
    use crate::jq::{Excess, Failure};
    let filter = |text: &str| Filter { text: text.to_owned(), ..parsed_filter() };
    let mut found = Diagnostics::new();
    let fails = |text: &str, failure: Failure| filter(text).failed("ConfigMap/a", &failure);
    let no_condition =
        |text: &str, given: &str| fails(text, Failure::NotCondition(given.to_owned()));
    found.push(fails("test(\"(\")", Failure::InvalidRegex("a".to_owned())));
    found.push(fails(".a", Failure::Error("a".to_owned())));
    found.push(no_condition(".kind = \"Route\"", "an object"));
    found.push(no_condition(" \"Route\"", "a string"));
    found.push(no_condition("\"Route.v1\"", "a string"));
    found.push(no_condition("1", "a number"));
    let object = Object::new(Map::new(), Origin::Added("a test"));
    found.push(filter(".a").stopped(&object, &Excess::Depth));
    insta::assert_snapshot!(shown(&found));
}

fn parsed_filter() -> Filter {
    let bundle = "[defaults]\nexclude = ['.a']\n[[bundle]]\nname = \"a\"\npath = \"a\"\n";
    crate::tests::parsed(bundle).bundles[0].settings.exclude[0].clone()
}

/// `inspect` and `diff` of bundles need none.
#[test]
fn a_build_needs_a_bundle() {
    let home = tempfile::tempdir().unwrap();
    let path = home.path().join("bundles.toml");
    for text in ["# later\n[output]\ndir = \"out\"\n", "bundle = []\n", ""] {
        fs::write(&path, text).unwrap();
        let mut found = Diagnostics::new();
        assert!(Config::read_any(&path, &mut found).is_some() && found.is_empty(), "{text}");
        assert!(Config::read(&path, &mut found).is_none());
        let said = found.iter().map(|one| (one.message.as_str(), one.hint.is_some()));
        assert_eq!(said.collect::<Vec<_>>(), [("the configuration has no bundle", true)]);
    }
    fs::write(&path, "[[bundle]]\nname = \"a\"\npath = \"a\"\n").unwrap();
    assert!(Config::read(&path, &mut Diagnostics::new()).is_some());
}
