//! One chart full of text that some template engine or YAML reader takes for syntax: every Helm
//! renders exactly the tree that was meant, as a C and as a Go reader of YAML read it.

use crate::support::helm::Helm;
use crate::support::rendered::{differences, documents};
use base64::Engine as _;
use bundle2chart::ir::{
    Condition, Expr, Map, Object, Origin, Part, RELEASE_NAME, Release, Value, ValuesPath,
};
use bundle2chart::yaml;
use serde_json::{Value as Json, json};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use tempfile::TempDir;

/// Template syntax.
#[rustfmt::skip]
const BRACES: &[&str] = &[
    "{", "}", "{{", "}}", "{{{", "}}}", "{{{{", "{{{{{", "a{", "a{{", "a{{{", "a}", "a}}", "{a",
    "{{a", "{ {", "{{-", "-}}", "{{- ", " -}}", "{{ }}", "{{}}", "{{/*", "*/}}", "{{/* c */}}",
    "{{- /* c */ -}}", "{{ .Values.on }}", "{{ .Release.Namespace }}", "{{ \"{{\" }}",
    "{{ `{{` }}", "{{`", "`}}", "{{ end }}", "{{ if }}", "{{- end -}}", "{{ define \"x\" }}",
    "{{ include \"x\" . }}", "{{ fail \"x\" }}", "{{\n}}", "{\n{", "{\"a\": {\"b\": {}}}",
    "{{\"a\"}: 1}", "{%", "%}", "{#", "#}", "${x}", "$(x)", "$x", "{0}", "%s", "%!s(MISSING)",
    "\\{{", "{\\{", "{{\\", "\"{{\"", "'{{'", "{{'", "{{\"", "#{{", "{{#", "&{{", "[[", "]]",
    "text {{ in the middle }} of it", "two {{ a }} and {{ b }}", "- {{", "{{:", "{{: }}",
];

/// Quotes, escapes and everything that means something to YAML.
#[rustfmt::skip]
const SYNTAX: &[&str] = &[
    "\"", "'", "''", "\"\"", "\"a", "a\"", "'a", "a'", "'a'", "\"a\"", "it's", "`", "\\", "\\\\",
    "\\n", "\\x00", "\\u0000", "\\\"", "a\\", "C:\\dir\\new", "#", "# c", "a #", "a # c", "a#c",
    "#c", ":", ": ", " :", "a:", "a: ", "a: b", "a:b", ":a", "::", "a: b: c", "-", "--", "- ",
    "- x", "-x", "- - x", "?", "? ", "? x", "?x", "---", "--- ", "--- a", "----", "...", "... ",
    "... a", "....", "%", "%YAML", "%YAML 1.2", "%TAG ! x", "!", "!t", "!!str", "!!str x", "!<x>",
    "!!binary aGk=", "&", "&a", "&a x", "*", "*a", "*.example.com", "|", "|-", "|+", "|2", "| x",
    ">", ">-", ">+", "> x", "@", "@a", ",", ", ", "a, b", "[", "]", "[]", "[a", "[a, b]", "a]",
    "{}", "{a: b}", "<<", "<<: *a", "=", "~", "a\tb", "$", "^", "(a)", "/", "/a", ".", "..", "._",
    "a.b", "~/x", "a=b", "<a>", "a & b", "a | b", "a > b", "@@", "&&", "||", "**", "!=", "a!b",
];

/// Words that are booleans, nulls or numbers to some parsers.
#[rustfmt::skip]
const WORDS: &[&str] = &[
    "null", "Null", "NULL", "nUll", "true", "True", "TRUE", "tRue", "false", "False", "FALSE",
    "y", "Y", "yes", "Yes", "YES", "yEs", "n", "N", "no", "No", "NO", "on", "On", "ON", "oN",
    "off", "Off", "OFF", "t", "f", "nil", "none", "None", "undefined", "nan", "NaN", ".nan",
    ".NaN", ".NAN", "inf", "Inf", ".inf", ".Inf", ".INF", "-.inf", "+.inf", "-inf", "Infinity",
    "0", "00", "-0", "+0", "0.", ".0", "0.0", "-0.0", "1", "-1", "+1", "01", "007", "08", "09",
    "0o17", "0O17", "-0o17", "0x1F", "0X1f", "-0x1f", "0b101", "0B1", "1_000", "_1", "1_", "0_1",
    "1__0", "0x_1", "1.0", "1.", ".5", "-.5", "+.5", "1.5", "1,5", "1.2.3", "1.10", "v1", "1e3",
    "1E3", "1e+3", "1e-3", "1.5e10", "1.e3", ".5e3", "1e", "e1", "6e400", "12e03", "1e1000",
    "4294967295", "9223372036854775807", "9223372036854775808", "-9223372036854775809",
    "18446744073709551616", "100000000000000000000", "12:30", "12:30:45", "190:20:30.15", "1:1",
    "60:60", "2001-12-14", "2001-12-14T21:59:43Z", "2001-12-14t21:59:43.10-05:00",
    "2001-12-14 21:59:43.10 -5", "2001-1-1", "20011214", "0644", "1k", "1Gi", "100m", "1d", "0f",
    "1f", "0x", "0xg", "0b", "0b2", "0o", "0o8", "١", "½", "²",
];

/// White space, line ends and characters that do not show.
#[rustfmt::skip]
const SPACES: &[&str] = &[
    "", " ", "  ", "\t", " \t ", "\n", "\n\n", "\n\n\n", " \n", "\n ", " \n ", "\t\n", "\n\t",
    "a ", "a  ", " a", "  a", "\ta", "a\t", "a\n", "a\n\n", "a\n\n\n", "\na", "\n\na", "\n a",
    " \na", "\n\n  a\n b\n", "a\nb", "a\nb\n", "a\nb\n\n", "a\n\nb", "a\n \nb", "a\n\t\nb",
    "a \nb", "a\n b", "a\n  b\n", " a\nb", "  a\n b\nc", "\ta\nb", "a\n\tb\n", "a\n   \n",
    "a\n---\nb", "a\n--- \nb\n", "---\na", "a\n...\nb", "a\n# c\n", "# c\na\n", "a: b\nc: d\n",
    "- a\n- b\n", "a\n{{ b }}\n", "{{\na\n}}\n", "a\n{{- b\n", "a {{\nb", "{\na\n}\n", "a{\n{b\n",
    "\r", "\r\n", "a\r", "a\r\n", "a\r\nb\r\n", "a\rb", "\ra", "a\n\rb", "\0", "a\0b", "\u{1}",
    "\u{7}", "\u{8}", "\u{b}", "\u{c}", "\u{1b}[31m", "\u{1f}", "\u{7f}", "\u{80}", "\u{85}",
    "a\u{85}b", "a\u{85}", "\u{9f}", "\u{a0}", "a\u{a0}", "\u{ad}", "\u{200b}", "\u{200d}",
    "\u{200e}", "\u{202e}x", "\u{2028}", "a\u{2028}b", "\u{2029}", "a\nb\u{2028}c\n", "\u{2060}",
    "\u{3000}", "\u{3000}a", "\u{feff}", "\u{feff}a", "a\u{feff}", "a\n\u{feff}b\n", "\u{fffd}",
    "\u{fffe}", "\u{ffff}", "\u{d7ff}", "\u{e000}", "\u{f8ff}", "\u{1fffe}", "\u{e0001}",
    "\u{10ffff}", "😀", "a😀\nb\n", "👩‍👩‍👧", "🇩🇪", "e\u{301}", "\u{301}", "é", "ß", "日本語", "Ω",
    "שלום", "मन", "ǅ", "ﬁ",
];

/// Text that is long in one way or another.
fn long_texts() -> Vec<String> {
    let mut texts = vec![
        "x".repeat(127),
        "x".repeat(128),
        "x".repeat(129),
        "x".repeat(1023),
        "x".repeat(1024),
        "x".repeat(1025),
        "words and ".repeat(300),
        "words and\n".repeat(300),
        "{{ x }} ".repeat(400),
        "{".repeat(1001),
        "\"\\".repeat(600),
        ": #".repeat(500),
        "é😀".repeat(600),
        "\u{0}".repeat(900),
        format!("{}\n", "long ".repeat(2000)),
        format!("a\n{}", "\n".repeat(50)),
        format!("{}a", " ".repeat(200)),
        format!("a{}", " ".repeat(200)),
    ];
    // Across every width at which a writer might fold.
    texts.extend([78, 79, 80, 81].map(|width| format!("{} {{{{ b: c", "a".repeat(width))));
    texts
}

fn texts() -> Vec<String> {
    let tables = [BRACES, SYNTAX, WORDS, SPACES];
    let short = tables.into_iter().flatten().map(|text| (*text).to_owned());
    let unique: BTreeSet<String> = short.chain(long_texts()).collect();
    unique.into_iter().collect()
}

/// Every text in every position that a tree has.
fn tree(texts: &[String]) -> Map {
    let on = || Condition::Set(ValuesPath::new(["on"]));
    let off = || Condition::Set(ValuesPath::new(["off"]));
    let namespace = Part::ReleaseNamespace;
    let concat = |parts: &[Part]| Value::from(Expr::Concat(parts.to_vec()));
    let each = |make: &dyn Fn(&String) -> Value| Value::Seq(texts.iter().map(make).collect());
    let keyed = |make: &dyn Fn(&String) -> Value| {
        Value::map(texts.iter().map(|text| (text.clone(), make(text))))
    };
    let text_part = |text: &String| Part::Text(text.clone());
    let value = |index: usize| ValuesPath::new([format!("text{index}")]);
    Map::from_iter(
        [
            ("apiVersion", "v1".into()),
            ("kind", "ConfigMap".into()),
            ("metadata", Value::map([("name", Value::from("hostile"))])),
            ("items", each(&|text| text.clone().into())),
            ("keys", keyed(&|text| text.clone().into())),
            ("keysOfMaps", keyed(&|text| Value::map([(text, Value::map([(text, true.into())]))]))),
            ("keysOfLists", keyed(&|text| Value::texts([text, text]))),
            ("lists", each(&|t| Value::Seq(vec![Value::texts([t]), Value::texts([t, t])]))),
            (
                "maps",
                each(&|text| Value::map([("a", Value::text(text)), ("b", Value::text(text))])),
            ),
            ("before", each(&|text| concat(&[text_part(text), namespace.clone()]))),
            ("after", each(&|text| concat(&[namespace.clone(), text_part(text)]))),
            (
                "between",
                keyed(&|text| {
                    concat(&[text_part(text), namespace.clone(), text_part(text), text_part(text)])
                }),
            ),
            ("present", keyed(&|text| Value::when(on(), text.clone().into()))),
            ("absent", keyed(&|text| Value::when(off(), text.clone().into()))),
            ("presentItems", each(&|text| Value::when(on(), text.clone().into()))),
            (
                "guarded",
                Value::Seq(
                    texts
                        .iter()
                        .flat_map(|text| {
                            let text = || Value::text(text);
                            [Value::when(off(), text()), text(), Value::when(on(), text()), text()]
                        })
                        .collect(),
                ),
            ),
            ("joined", Value::Seq(vec![Expr::Values(ValuesPath::new(["texts"])).into()])),
            ("whole", Expr::Values(ValuesPath::new(["byText"])).into()),
            (
                "single",
                Value::map(
                    (0..texts.len()).map(|index| {
                        (format!("text{index}"), Value::from(Expr::Text(value(index))))
                    }),
                ),
            ),
            (
                "encoded",
                Value::Seq(
                    (0..texts.len()).map(|index| Expr::Base64(value(index)).into()).collect(),
                ),
            ),
        ]
        .map(|(key, value): (&str, Value)| (key.to_owned(), value)),
    )
}

/// The values of the chart: the same texts, once more.
fn values(texts: &[String]) -> Json {
    let carried = || texts.iter().filter(|text| survives_to_yaml(text));
    let mut values = json!({ "on": true, "off": false });
    values["texts"] = carried().map(String::as_str).collect();
    // Helm cannot read back how it writes long keys, nor the key `<<`.
    let short = carried().filter(|text| text.len() < 150 && *text != "<<");
    values["byText"] = short.map(|text| (text.clone(), json!(text))).collect();
    for (index, text) in texts.iter().enumerate() {
        values[format!("text{index}")] = json!(text);
    }
    values
}

/// Helm's `toYaml` writes nothing at all, or another text, where one of these is in the values.
fn survives_to_yaml(text: &str) -> bool {
    !text.contains(|c| {
        matches!(c, '\u{7f}'..='\u{9f}' | '\u{2028}' | '\u{2029}' | '\u{fffe}' | '\u{ffff}')
    })
}

fn write(folder: &Path, name: &str, files: &[(&str, &str)]) -> PathBuf {
    let chart = folder.join(name);
    std::fs::create_dir_all(chart.join("templates")).expect("a folder");
    let metadata = format!("apiVersion: v2\nname: {name}\nversion: 0.1.0\n");
    std::fs::write(chart.join("Chart.yaml"), metadata).expect("Chart.yaml");
    for (path, text) in files {
        std::fs::write(chart.join(path), text).expect("a file");
    }
    chart
}

/// Helm reads a file of a chart with the reader that Kubernetes' own tools use.
const READER: &str = "\
apiVersion: v1
kind: ConfigMap
metadata:
  name: read
data:
  json: {{ .Files.Get \"rendered.yaml\" | fromYaml | mustToJson | b64enc }}
";

fn as_go_reads(helm: &Helm, folder: &Path, text: &str) -> Json {
    let name = format!("reader-{}", helm.version.replace('.', "-"));
    let chart = write(folder, &name, &[("rendered.yaml", text), ("templates/read.yaml", READER)]);
    let read = documents(&helm.template("read", &chart, "any", &[]).expect_success());
    let encoded = read[0].pointer("/data/json").and_then(Json::as_str).expect("the answer");
    let json = base64::engine::general_purpose::STANDARD.decode(encoded).expect("base64");
    serde_json::from_slice(&json).expect("JSON")
}

#[test]
fn every_helm_renders_exactly_the_tree() {
    let texts = texts();
    assert!(texts.len() >= 400, "{} texts", texts.len());
    let values = values(&texts);
    let object = Object::new(tree(&texts), Origin::Added("test"));
    let temporary = TempDir::new().expect("a folder");
    let chart = write(
        temporary.path(),
        "hostile",
        &[
            ("templates/hostile.yaml", &yaml::template(&object.root, None)),
            ("values.yaml", &yaml::plain_value(&Value::from(&values)).expect("no expression")),
        ],
    );
    for helm in Helm::all_in_ci() {
        for namespace in ["home", "on"] {
            let release = Release { namespace, values: &values };
            let expected = release.object(&object).expect("no condition");
            let text = helm.template(RELEASE_NAME, &chart, namespace, &[]).expect_success();
            let read = documents(&text);
            assert_eq!(read.len(), 1);
            for (reader, read) in
                [("libyaml", read[0].clone()), ("Go", as_go_reads(&helm, temporary.path(), &text))]
            {
                let wrong = differences(&expected, &read);
                assert!(
                    wrong.is_empty(),
                    "Helm {}, read by {reader}: {} of them\n{}",
                    helm.version,
                    wrong.len(),
                    wrong.iter().take(30).cloned().collect::<Vec<_>>().join("\n")
                );
            }
        }
    }
}

/// A character that shows nothing, or turns the direction of text, is spelled by its code.
#[test]
fn reviewers_see_every_character() {
    let texts = texts();
    let written = yaml::template(&tree(&texts), None);
    for hidden in [
        '\u{85}',
        '\u{ad}',
        '\u{200b}',
        '\u{200d}',
        '\u{200e}',
        '\u{202e}',
        '\u{2028}',
        '\u{2060}',
        '\u{feff}',
        '\u{e0001}',
        '\u{1b}',
        '\u{7f}',
    ] {
        assert!(texts.iter().any(|text| text.contains(hidden)), "{hidden:?} is not tried");
        assert!(!written.contains(hidden), "{hidden:?} is written as it is");
    }
    assert!(written.contains("שלום") && written.contains('😀'), "what is seen stays as it is");
}
