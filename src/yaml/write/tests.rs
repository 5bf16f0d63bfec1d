//! The output of the emitter has the meaning of the object tree: written as a template, rendered, and
//! read back by two independent readers, any tree gives itself.

use super::*;
use crate::ir::{
    CertificateField, CertificatePiece, ImageReference, Object, Origin, Release, ValuesPath,
};
use crate::{parse, render};
use proptest::prelude::*;
use serde_json::{Value as Json, json};

const NAMESPACE: &str = "my-ns";

/// Fragments that some reader or template engine could take for syntax.
const HOSTILE: &[&str] = &[
    "{",
    "}",
    "{{",
    "}}",
    "{{-",
    "-}}",
    "{{ end }}",
    "{{ \"{{\" }}",
    "'",
    "\"",
    "\\",
    "\\n",
    "#",
    " #",
    "# ",
    ":",
    ": ",
    " :",
    "-",
    "- ",
    "? ",
    "?",
    ",",
    "[",
    "]",
    "[]",
    "{}",
    "!",
    "!tag",
    "!!str",
    "&",
    "&a",
    "*",
    "*a",
    "|",
    "|-",
    ">",
    ">+",
    "%",
    "%YAML 1.2",
    "@",
    "`",
    "---",
    "--- ",
    "...",
    "<<",
    "=",
    "~",
    "null",
    "Null",
    "NULL",
    "nUll",
    "true",
    "True",
    "TRUE",
    "false",
    "FALSE",
    "y",
    "Y",
    "yes",
    "Yes",
    "YES",
    "yES",
    "n",
    "N",
    "no",
    "No",
    "NO",
    "on",
    "On",
    "ON",
    "off",
    "Off",
    "OFF",
    ".inf",
    "-.INF",
    "+.Inf",
    ".nan",
    ".NaN",
    "nan",
    "inf",
    "Infinity",
    "0",
    "-0",
    "+1",
    "007",
    "0o17",
    "0O17",
    "0x1F",
    "0b101",
    "1_000",
    "_1",
    "1e3",
    "1E3",
    "1.",
    ".5",
    "1.5e+10",
    "6e400",
    "12:30:45",
    "190:20:30.15",
    "4294967295",
    "9223372036854775808",
    "2001-12-14",
    "2001-12-14t21:59:43.10-05:00",
    "2001-12-14 21:59:43.10 -5",
    " ",
    "  ",
    "\n",
    "\n\n",
    "\r\n",
    "\r",
    "\t",
    "\0",
    "\u{7}",
    "\u{1b}",
    "\u{7f}",
    "\u{85}",
    "\u{a0}",
    "\u{2028}",
    "\u{2029}",
    "\u{feff}",
    "\u{fffd}",
    "\u{fffe}",
    "\u{ffff}",
    "\u{d7ff}",
    "\u{e000}",
    "\u{1f600}",
    "\u{10ffff}",
    "\u{200b}",
    "\u{301}",
    "é",
    "日本",
    "Ω",
    "a",
    "text",
    "a b",
    "word: x",
    "/path",
    "$(VAR)",
    "x\ny",
    "x\n  y",
    "\n---\n",
    "\n...\n",
    "\n# c",
    "\n- a",
    "\nk: v",
];

fn numbers() -> Vec<Number> {
    let mut numbers: Vec<Number> = [0, 1, -1, 8, 420, i64::MIN, i64::MAX, 4_294_967_295]
        .into_iter()
        .map(Number::Int)
        .collect();
    numbers.extend([1 << 63, u64::MAX].map(Number::Uint));
    numbers.extend(
        [
            0.1,
            -0.0,
            1.0,
            1e15,
            1e16,
            1e17,
            1e21,
            1e22,
            1e300,
            5e-324,
            1e-5,
            1.5e-7,
            -2.5e-10,
            f64::MAX,
            f64::MIN_POSITIVE,
            123_456_789.125,
            18_446_744_073_709_551_616.0,
        ]
        .map(Number::Float),
    );
    numbers
}

fn values() -> Json {
    let long = format!("{} {{{{ x }}}}: #", "long ".repeat(300));
    json!({
        "on": true,
        "off": false,
        "zero": 0,
        "empty": "",
        "none": null,
        "emptyList": [],
        "emptyMap": {},
        "word": "yes",
        "images": {"set": "own/a:1", "set-too": "own/b:1", "empty": ""},
        "imageRegistries": {"mirrored:5000": "copies.example.com/x", "docker.io": "hub"},
        "hostile": "{{ a }}: \"b\" # c\\\u{85}\u{feff}",
        "block": "a\n  b\n\n{{c}}\n",
        "long": long,
        "number": 1.5e300,
        "list": [1, "- a", {"k: v": null, "{{": [[], {}]}, [["x\ny", "on"], []]],
        "map": {"a": {"b-c": "deep"}, "": [true], "on": {"x\ny": "\t"}},
        "with-dash": {"in side \"\\": "odd", "on": true, "off": ""},
    })
}

fn path(segments: &[&str]) -> ValuesPath {
    ValuesPath::new(segments.iter().copied())
}

fn any_path() -> impl Strategy<Value = ValuesPath> {
    let paths: &[&[&str]] = &[
        &["on"],
        &["off"],
        &["zero"],
        &["empty"],
        &["none"],
        &["emptyList"],
        &["emptyMap"],
        &["word"],
        &["hostile"],
        &["block"],
        &["long"],
        &["number"],
        &["list"],
        &["map"],
        &["map", "a"],
        &["map", "a", "b-c"],
        &["map", ""],
        &["with-dash", "in side \"\\"],
        &["with-dash", "on"],
        &["with-dash", "off"],
        &["missing", "deeper"],
    ];
    proptest::sample::select(paths.to_vec()).prop_map(path)
}

fn list_path() -> impl Strategy<Value = ValuesPath> {
    let paths: &[&[&str]] = &[&["list"], &["emptyList"], &["map", ""], &["missing"]];
    proptest::sample::select(paths.to_vec()).prop_map(path)
}

fn string_path() -> impl Strategy<Value = ValuesPath> {
    let paths: &[&[&str]] = &[&["word"], &["hostile"], &["block"], &["with-dash", "off"]];
    proptest::sample::select(paths.to_vec()).prop_map(path)
}

fn any_text() -> impl Strategy<Value = String> {
    let fragment = prop_oneof![
        8 => proptest::sample::select(HOSTILE).prop_map(str::to_owned),
        1 => any::<char>().prop_map(String::from),
        1 => "[a-zA-Z0-9 ./_-]{0,12}",
    ];
    prop_oneof![
        20 => proptest::collection::vec(fragment, 0..5).prop_map(|parts| parts.concat()),
        2 => any::<String>(),
        1 => (proptest::sample::select(HOSTILE), 100..1500usize)
            .prop_map(|(text, times)| text.repeat(times)),
    ]
}

fn condition() -> impl Strategy<Value = Condition> {
    any_path().prop_map(Condition::Set).prop_recursive(3, 8, 3, |inner| {
        let several = proptest::collection::vec(inner, 1..4);
        prop_oneof![several.clone().prop_map(Condition::Any), several.prop_map(Condition::All),]
    })
}

fn image() -> impl Strategy<Value = ImageReference> {
    let references = ["quay.io/a/b@sha256:01", "mirrored:5000/a", "localhost/a", "a/b:1", "a:1"];
    let keys = ["set", "set-too", "empty", "missing"];
    (proptest::sample::select(references.to_vec()), proptest::sample::select(keys.to_vec()))
        .prop_map(|(reference, key)| ImageReference::new(key, reference))
}

fn scalar() -> impl Strategy<Value = Value> {
    let part = prop_oneof![
        4 => any_text().prop_map(Part::Text),
        4 => Just(Part::ReleaseNamespace),
        1 => image().prop_map(Part::Image),
    ];
    prop_oneof![
        10 => any_text().prop_map(Value::Text),
        1 => Just(Value::Null),
        1 => any::<bool>().prop_map(Value::Bool),
        2 => proptest::sample::select(numbers()).prop_map(Value::Number),
        1 => any::<i64>().prop_map(|value| Value::Number(Number::Int(value))),
        1 => any::<f64>().prop_filter("finite", |value| value.is_finite())
            .prop_map(|value| Value::Number(Number::Float(value))),
        1 => Just(Value::Expr(Expr::ReleaseNamespace)),
        2 => proptest::collection::vec(part, 0..4).prop_map(|parts| Expr::Concat(parts).into()),
        2 => any_path().prop_map(|path| Expr::Values(path).into()),
        1 => string_path().prop_map(|path| Expr::Base64(path).into()),
        1 => Just(Expr::Integer(path(&["zero"])).into()),
        1 => ("[ -~]{0,20}", 0..40usize).prop_map(|(text, bytes)| {
            let parts = vec![Part::Text(text.clone()), Part::ReleaseNamespace, Part::Text(text)];
            Expr::Truncated(parts, bytes).into()
        }),
        1 => (any_text(), 0..3usize).prop_map(|(text, field)| {
            let field = CertificateField::ALL[field];
            let piece = CertificatePiece { service: text.clone(), secret: text, field };
            Expr::Certificate(Box::new(piece)).into()
        }),
    ]
}

fn tree() -> impl Strategy<Value = Value> {
    scalar().prop_recursive(5, 40, 5, |inner| {
        let optional = prop_oneof![
            3 => inner.clone(),
            1 => (condition(), inner.clone()).prop_map(|(when, value)| Value::when(when, value)),
        ];
        let item = prop_oneof![
            6 => optional.clone().prop_map(as_item),
            1 => list_path().prop_map(|path| Expr::Values(path).into()),
            1 => (condition(), list_path())
                .prop_map(|(when, path)| Value::when(when, Expr::Values(path).into())),
        ];
        prop_oneof![
            proptest::collection::vec(item, 0..5).prop_map(Value::Seq),
            proptest::collection::vec((any_text(), optional), 0..5).prop_map(Value::map),
        ]
    })
}

/// An item that joins the values' list must be a list there; others become a map's entry.
fn as_item(value: Value) -> Value {
    match value {
        Value::Expr(Expr::Values(_)) => Value::map([("k", value)]),
        Value::When(when) => Value::when(when.0, as_item(when.1)),
        _ => value,
    }
}

fn object() -> impl Strategy<Value = Object> {
    let entries = proptest::collection::vec((any_text(), tree()), 0..5);
    (entries, proptest::option::weighted(0.2, condition())).prop_map(|(entries, when)| {
        let mut root: Map = entries.into_iter().collect();
        root.insert("kind".to_owned(), Value::text("K"));
        Object { when, ..Object::new(root, Origin::Added("test")) }
    })
}

/// Numbers by value: an integral float and the integer are the same.
fn same(left: &Json, right: &Json) -> bool {
    match (left, right) {
        (Json::Number(left), Json::Number(right)) => {
            left == right || (left.is_f64() || right.is_f64()) && left.as_f64() == right.as_f64()
        }
        (Json::Array(left), Json::Array(right)) => {
            left.len() == right.len() && left.iter().zip(right).all(|(l, r)| same(l, r))
        }
        (Json::Object(left), Json::Object(right)) => {
            left.len() == right.len()
                && left.iter().zip(right).all(|((lk, l), (rk, r))| lk == rk && same(l, r))
        }
        _ => left == right,
    }
}

fn literal(value: &Value) -> Json {
    Release { namespace: "", values: &Json::Null }.value(value)
}

/// Both readers read `text` as `expected`, or as nothing.
fn reads_as(text: &str, expected: Option<&Json>) -> Result<(), String> {
    let documents = parse(text).map_err(|problem| format!("{problem} in\n{text}"))?;
    let ours: Vec<Json> = documents.iter().map(literal).collect();
    let theirs: Vec<Json> = serde_yaml::Deserializer::from_str(text)
        .map(serde::Deserialize::deserialize)
        .collect::<Result<_, serde_yaml::Error>>()
        .map_err(|problem| format!("{problem} in\n{text}"))?;
    let theirs: Vec<Json> = theirs.into_iter().filter(|document| !document.is_null()).collect();
    for (reader, read) in [("ours", ours), ("libyaml", theirs)] {
        let agrees = match (read.as_slice(), expected) {
            ([], None) => true,
            ([one], Some(expected)) => same(one, expected),
            _ => false,
        };
        if !agrees {
            return Err(format!("{reader} read {read:?}\nexpected {expected:?}\nfrom\n{text}"));
        }
    }
    Ok(())
}

fn check(object: &Object, values: &Json) -> Result<(), String> {
    let release = Release { namespace: NAMESPACE, values };
    let expected = release.object(object);
    let template = template(&object.root, object.when.as_ref());
    let mut text = String::new();
    render::render(&template, &release, |part| text.push_str(part))
        .map_err(|problem| format!("{problem} in\n{template}"))?;
    reads_as(&text, expected.as_ref()).map_err(|problem| format!("{problem}\nof\n{template}"))?;
    match (plain(&object.root), object.root.values().any(Value::has_expression)) {
        (Err(_), true) => Ok(()),
        (Ok(text), false) => reads_as(&text, Some(&literal(&object.root.clone().into()))),
        (plain, _) => Err(format!("plain mode gave {plain:?}")),
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn emitted_rendered_and_read_back(object in object()) {
        check(&object, &values()).map_err(TestCaseError::fail)?;
    }

    #[test]
    fn any_value_in_plain_mode(value in tree()) {
        match plain_value(&value) {
            Ok(text) => {
                prop_assert!(text.ends_with('\n'));
                let expected = Some(literal(&value)).filter(|value| !value.is_null());
                reads_as(&text, expected.as_ref()).map_err(TestCaseError::fail)?;
            }
            Err(_) => prop_assert!(value.has_expression()),
        }
    }

    #[test]
    fn rendering_never_panics(template in any_text(), inside in any_text()) {
        let values = values();
        let release = Release { namespace: NAMESPACE, values: &values };
        let _ = render::render(&template, &release, |_| ());
        let _ = render::render(&format!("{{{{ {inside} }}}}"), &release, |_| ());
    }
}

/// Every hostile fragment, alone and before every other, with and without text between.
fn hostile_texts() -> impl Iterator<Item = String> {
    let pairs = HOSTILE.iter().flat_map(|first| {
        HOSTILE
            .iter()
            .flat_map(move |last| ["", "a"].map(|between| format!("{first}{between}{last}")))
    });
    HOSTILE.iter().map(|text| (*text).to_owned()).chain(pairs)
}

#[test]
fn hostile_texts_in_every_position() {
    let texts: Vec<String> = hostile_texts().collect();
    assert!(texts.len() > 10_000, "{}", texts.len());
    let values = values();
    for chunk in texts.chunks(100) {
        let concat = |text: &String| {
            let text = || Part::Text(text.clone());
            Value::Expr(Expr::Concat(vec![text(), Part::ReleaseNamespace, text(), text()]))
        };
        let on = || Condition::Set(path(&["on"]));
        let off = || Condition::Set(path(&["off"]));
        let around = |text: &String| {
            vec![
                Value::when(off(), Value::text(text)),
                Value::text(text),
                Value::when(on(), Value::text(text)),
                Value::Seq(vec![Value::text(text), Value::Seq(vec![Value::text(text)])]),
                Value::map([(text, Value::when(off(), Value::text(text)))]),
                Value::map([(text, Value::map([(text, Value::Seq(Vec::new()))]))]),
            ]
        };
        let maps: [Vec<(String, Value)>; 4] = [
            chunk.iter().map(|text| (text.clone(), Value::text(text))).collect(),
            chunk.iter().map(|text| (text.clone(), concat(text))).collect(),
            // Long enough for an explicit key, however short the fragment is.
            chunk
                .iter()
                .step_by(10)
                .map(|text| (text.repeat(1100), Value::when(on(), text.clone().into())))
                .collect(),
            vec![("items".to_owned(), Value::Seq(chunk.iter().flat_map(around).collect()))],
        ];
        for entries in maps {
            let root = Map::from_iter(entries);
            let object = Object::new(root, Origin::Added("test"));
            check(&object, &values).unwrap();
        }
    }
}
