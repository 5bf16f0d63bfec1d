//! The output of the emitter has the meaning of the object tree: written as a template, rendered, and
//! read back by two independent readers, any tree gives itself.

use super::*;
use crate::ir::{
    CertificateField, CertificatePiece, ClusterObject, ImageReference, Object, Origin, Release,
    ValuesPath,
};
use crate::{parse, render};
use bundle2chart_model::value;
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
        .map_err(|_| format!("not rendered:\n{template}"))?;
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

/// Plain where no reader could take a text for anything else, otherwise in double quotes.
#[test]
fn texts_are_plain_where_that_is_safe() {
    for text in [
        "word",
        "a b",
        "a-b",
        "a:b",
        "a#b",
        "--leader-elect",
        "-c",
        "--é",
        "-é",
        "/path",
        "_a",
        "(a)",
        "$(VAR)",
        "é",
        "日本",
        "a\"b",
        "a'b",
        "a\\b",
        "a{{b",
        "yess",
        "nulls",
        "a\u{a0}b",
        "a\u{10348}",
    ] {
        let starts_with_dash = text.starts_with('-') && !text.is_ascii();
        let expected = if starts_with_dash { quoted(text) } else { text.to_owned() };
        assert_eq!(spell(text), expected);
    }
    let words = ["y", "n", "yes", "no", "on", "off", "true", "false", "null", "nan", "inf"];
    let of_words = words.map(|word| (word.to_owned(), format!("\"{word}\"")));
    let upper = words.map(|word| (word.to_uppercase(), format!("\"{}\"", word.to_uppercase())));
    let quoted = [
        ("", r#""""#),
        ("a ", r#""a ""#),
        (" a", r#"" a""#),
        ("a:", r#""a:""#),
        ("a: b", r#""a: b""#),
        ("a #b", r#""a #b""#),
        ("-", r#""-""#),
        ("--", r#""--""#),
        ("---", r#""---""#),
        ("-1", r#""-1""#),
        ("--1", r#""--1""#),
        ("- a", r#""- a""#),
        ("1a", r#""1a""#),
        (".a", r#"".a""#),
        ("~a", r#""~a""#),
        ("<<", r#""<<""#),
        ("#a", r##""#a""##),
        ("'a", r#""'a""#),
        ("\"a", r#""\"a""#),
        ("\\a", r#""\\a""#),
        ("a\nb", r#""a\nb""#),
        ("\r\t", r#""\r\t""#),
        ("a\0\u{7}\u{7f}", r#""a\x00\x07\x7f""#),
        ("a\u{85}\u{ad}", r#""a\x85\xad""#),
        ("a\u{200b}\u{2028}\u{feff}", r#""a\u200b\u2028\ufeff""#),
        ("a\u{fffe}é", r#""a\ufffeé""#),
        ("a\u{e0001}", r#""a\U000e0001""#),
    ];
    let quoted = quoted.map(|(text, spelled)| (text.to_owned(), spelled.to_owned()));
    for (text, expected) in of_words.into_iter().chain(upper).chain(quoted) {
        assert_eq!(spell(&text), expected);
    }
}

#[test]
fn values_are_written_in_blocks() {
    let key = "k".repeat(801);
    let wide = format!("{}é", "k".repeat(798));
    let deep = (0..40).fold(value!({"a": 1}), |inner, _| value!({"a": inner}));
    let deep_text: String = (0..40).map(|n| format!("{}a:\n", "  ".repeat(n))).collect();
    let float = |number| Value::Number(Number::Float(number));
    for (value, expected) in [
        (value!({}), "{}\n".to_owned()),
        (Value::Seq(Vec::new()), "[]\n".to_owned()),
        (Value::Null, "null\n".to_owned()),
        ("a: b".into(), "\"a: b\"\n".to_owned()),
        ("a\nb".into(), "|-\n  a\n  b\n".to_owned()),
        (Value::Seq(vec![1.into(), value!({"a": 2})]), "- 1\n- a: 2\n".to_owned()),
        (value!({"a": {}, "b": Value::Seq(Vec::new())}), "a: {}\nb: []\n".to_owned()),
        (
            value!({"a": {"b": [1, {"c": [2], "d": true}, "e"]}, "yes": Value::Null}),
            "a:\n  b:\n  - 1\n  - c:\n    - 2\n    d: true\n  - e\n\"yes\": null\n".to_owned(),
        ),
        (
            Value::Seq(vec![Value::Seq(vec![Value::texts(["a", "b"]), value!({})]), "c".into()]),
            "- - - a\n    - b\n  - {}\n- c\n".to_owned(),
        ),
        (value!({ (&*key): 1, (&*wide): 2 }), format!("? {key}\n: 1\n{wide}: 2\n")),
        (deep, format!("{deep_text}{}a: 1\n", "  ".repeat(40))),
        // Blocks of several lines, where all readers and Helm keep them.
        (value!({"a": "b\n\n  c\td\n"}), "a: |\n  b\n\n    c\td\n".to_owned()),
        (value!({"a": ["b\nc"]}), "a:\n- |-\n  b\n  c\n".to_owned()),
        (value!({"a": "\nb"}), "a: \"\\nb\"\n".to_owned()),
        (value!({"a": " b\nc"}), "a: \" b\\nc\"\n".to_owned()),
        (value!({"a": "\tb\nc"}), "a: \"\\tb\\nc\"\n".to_owned()),
        (value!({"a": "b\n\n"}), "a: \"b\\n\\n\"\n".to_owned()),
        (value!({"a": "b \nc"}), "a: \"b \\nc\"\n".to_owned()),
        (value!({"a": "b\nc\t"}), "a: \"b\\nc\\t\"\n".to_owned()),
        (value!({"a": "b\n\u{200b}c"}), "a: \"b\\n\\u200bc\"\n".to_owned()),
        (value!({"a": u64::MAX, "b": -1}), "a: 18446744073709551615\nb: -1\n".to_owned()),
        (
            Value::Seq([0.1, 1.0, 1e16, 1.5e300, 1e-7, -2.5e-10].map(float).to_vec()),
            "- 0.1\n- 1.0\n- 1.0e+16\n- 1.5e+300\n- 1.0e-7\n- -2.5e-10\n".to_owned(),
        ),
    ] {
        assert_eq!(plain_value(&value), Ok(expected.clone()));
        if let Value::Map(map) = &value {
            assert_eq!(plain(map), Ok(expected.clone()));
            assert_eq!(template(map, None), expected);
            let mut literal = (**map).clone();
            literal.mark_literal();
            assert_eq!(template(&literal, None), expected);
        }
    }
    assert_eq!(plain_value(&Expr::ReleaseName.into()), Err(ExpressionInPlainFile));
}

/// Each expression, condition and name of a value, as Helm reads it.
#[test]
fn expressions_are_written_for_helm() {
    let set = |segments: &[&str]| Condition::Set(path(segments));
    let unset = Condition::Unset(path(&["a"]));
    let missing = |namespace| {
        Condition::Missing(ClusterObject {
            api_version: "v1",
            kind: "Secret",
            namespace,
            name: "a\"b".to_owned(),
        })
    };
    let differ =
        |parts| Condition::Differ(Box::new([Expr::Text(path(&["a"])), Expr::Concat(parts)]));
    let text = |text: &str| Part::Text(text.to_owned());
    let image = || Part::Image(ImageReference::new("op", "quay.io/a:1"));
    let when = |condition, value: &str| Value::when(condition, value.into());
    let certificate = CertificatePiece {
        service: "svc".to_owned(),
        secret: "sec".to_owned(),
        field: CertificateField::Key,
    };
    let a = || Value::from(Expr::Values(path(&["a"])));
    for (root, expected) in [
        (value!({"k": Expr::ReleaseNamespace}), "k: {{ .Release.Namespace | quote }}\n"),
        (value!({"k": Expr::ReleaseName}), "k: {{ .Release.Name | quote }}\n"),
        (value!({"k": Expr::Integer(path(&["a"]))}), "k: {{ .Values.a | toJson }}\n"),
        (value!({"k": Expr::Text(path(&["a", "_b1"]))}), "k: {{ .Values.a._b1 | quote }}\n"),
        (
            value!({"k": Expr::Text(path(&["1", "b-c"]))}),
            "k: {{ index .Values \"1\" \"b-c\" | quote }}\n",
        ),
        (value!({"k": Expr::Base64(path(&["a"]))}), "k: {{ .Values.a | b64enc | quote }}\n"),
        (value!({"k": a()}), "k:\n  {{- toYaml .Values.a | nindent 2 }}\n"),
        (
            value!({"k": {"l": Expr::Values(path(&["a-b"]))}}),
            "k:\n  l:\n    {{- toYaml (index .Values \"a-b\") | nindent 4 }}\n",
        ),
        (
            value!({"k": Expr::Concat(vec![text("a\"{"), Part::ReleaseNamespace, text("{{"), image()])}),
            "k: \"a\\\"{{ \"{\" }}{{ .Release.Namespace }}{{ \"{{\" }}{{ include \
             \"bundle2chart.image\" (list $ \"op\" \"quay.io/a:1\") }}\"\n",
        ),
        (
            value!({"k": Expr::Truncated(vec![text("100%\n"), Part::ReleaseNamespace, image()], 63)}),
            "k: {{ printf \"100%%\\n%s%s\" .Release.Namespace (include \"bundle2chart.image\" \
             (list $ \"op\" \"quay.io/a:1\")) | trunc 63 | quote }}\n",
        ),
        (
            value!({"k": Expr::Certificate(Box::new(certificate))}),
            "k: {{ include \"bundle2chart.certificate\" (list $ \"svc\" \"sec\" \"tls.key\") | quote }}\n",
        ),
        (value!({"a{{b": "{{- c }}"}), "a{{ \"{{\" }}b: \"{{ \"{{\" }}- c }}\"\n"),
        (value!({"k": "{{\nb{{"}), "k: |-\n  {{ \"{{\" }}\n  b{{ \"{{\" }}\n"),
        (
            value!({"k": {"l": [a()], "m": 1}}),
            "k:\n  {{- with .Values.a }}\n  l:\n  {{- toYaml . | nindent 2 }}\n  {{- end }}\n  m: 1\n",
        ),
        // Conditions.
        (value!({"k": when(set(&["a"]), "b")}), "{{- if .Values.a }}\nk: b\n{{- end }}\n"),
        (value!({"k": when(unset.clone(), "b")}), "{{- if not .Values.a }}\nk: b\n{{- end }}\n"),
        (
            value!({"k": when(missing(Some(Expr::ReleaseNamespace)), "b")}),
            "{{- if not (lookup \"v1\" \"Secret\" .Release.Namespace \"a\\\"b\") }}\nk: b\n{{- end }}\n",
        ),
        (
            value!({"k": when(missing(Some(Expr::Text(path(&["a"])))), "b")}),
            "{{- if not (lookup \"v1\" \"Secret\" .Values.a \"a\\\"b\") }}\nk: b\n{{- end }}\n",
        ),
        (
            value!({"k": when(missing(None), "b")}),
            "{{- if not (lookup \"v1\" \"Secret\" \"\" \"a\\\"b\") }}\nk: b\n{{- end }}\n",
        ),
        (
            value!({"k": when(differ(vec![text("a\"b")]), "b")}),
            "{{- if ne .Values.a \"a\\\"b\" }}\nk: b\n{{- end }}\n",
        ),
        (
            value!({"k": when(differ(vec![text("a"), Part::ReleaseNamespace]), "b")}),
            "{{- if ne .Values.a (printf \"a%s\" .Release.Namespace) }}\nk: b\n{{- end }}\n",
        ),
        (
            value!({"k": when(Condition::Any(vec![set(&["a"]), unset, set(&["b-c"])]), "b")}),
            "{{- if or .Values.a (not .Values.a) (index .Values \"b-c\") }}\nk: b\n{{- end }}\n",
        ),
        (
            value!({"k": when(Condition::All(vec![set(&["a"]), Condition::Any(vec![set(&["b"])])]), "b")}),
            "{{- if and .Values.a (or .Values.b) }}\nk: b\n{{- end }}\n",
        ),
        // A list or map is absent with all that is in it, and a guard is written once.
        (
            value!({"k": {"l": when(set(&["a"]), "b")}, "m": 1}),
            "{{- if .Values.a }}\nk:\n  l: b\n{{- end }}\nm: 1\n",
        ),
        (
            value!({"k": {"l": when(set(&["a"]), "b"), "m": [Value::when(set(&["a"]), value!({"o": when(set(&["b"]), "c")})), "d"]}}),
            "k:\n  {{- if .Values.a }}\n  l: b\n  {{- end }}\n  m:\n  {{- if .Values.a }}\n  \
             {{- if .Values.b }}\n  -\n    o: c\n  {{- end }}\n  {{- end }}\n  - d\n",
        ),
        (
            value!({"k": [Value::Seq(vec![when(set(&["a"]), "b"), "c".into()]), {"m": when(set(&["a"]), "b"), "o": 1}]}),
            "k:\n-\n  {{- if .Values.a }}\n  - b\n  {{- end }}\n  - c\n-\n  {{- if .Values.a }}\n  m: b\n  \
             {{- end }}\n  o: 1\n",
        ),
        (
            value!({"k": [{"o": 1, "m": when(set(&["a"]), "b")}, Value::Seq(vec!["c".into(), when(set(&["a"]), "b")])]}),
            "k:\n- o: 1\n  {{- if .Values.a }}\n  m: b\n  {{- end }}\n- - c\n  {{- if .Values.a }}\n  - b\n  \
             {{- end }}\n",
        ),
        // Inside of `with`, the dot is the value.
        (
            value!({"k": Value::when(set(&["a"]), a())}),
            "{{- with .Values.a }}\nk:\n  {{- toYaml . | nindent 2 }}\n{{- end }}\n",
        ),
        (
            value!({"k": Value::when(set(&["a"]), value!({"b": ["c", {"d": a()}]})), "l": a()}),
            "{{- with .Values.a }}\nk:\n  b:\n  - c\n  - d:\n      {{- toYaml . | nindent 6 }}\n{{- end }}\n\
             l:\n  {{- toYaml .Values.a | nindent 2 }}\n",
        ),
        (
            value!({"k": Value::when(set(&["a"]), value!({"b": a(), "c": Expr::ReleaseName}))}),
            "{{- if .Values.a }}\nk:\n  b:\n    {{- toYaml .Values.a | nindent 4 }}\n  c: {{ .Release.Name | \
             quote }}\n{{- end }}\n",
        ),
        (
            value!({"k": ["b", a(), Value::when(set(&["c"]), a())]}),
            "k:\n- b\n{{- with .Values.a }}\n{{- toYaml . | nindent 0 }}\n{{- end }}\n{{- if .Values.c }}\n\
             {{- with .Values.a }}\n{{- toYaml . | nindent 0 }}\n{{- end }}\n{{- end }}\n",
        ),
        (
            value!({"k": {"l": 1, "": Expr::Entries(path(&["a"]))}}),
            "k:\n  l: 1\n  {{- with .Values.a }}\n  {{- toYaml . | nindent 2 }}\n  {{- end }}\n",
        ),
        (
            value!({"k": Value::when(set(&["a"]), Value::Seq(vec![a(), Value::when(set(&["b"]), a())]))}),
            "{{- if .Values.a }}\n{{- if or .Values.a (and .Values.b .Values.a) }}\nk:\n\
             {{- toYaml .Values.a | nindent 0 }}\n{{- if .Values.b }}\n\
             {{- toYaml .Values.a | nindent 0 }}\n{{- end }}\n{{- end }}\n{{- end }}\n",
        ),
        // A variable for a map behind `index`, if that is shorter.
        (
            value!({"k": Expr::Text(path(&["a-b", "c"])), "l": [Value::when(set(&["a-b", "d", "e-f"]), value!({"m": 1}))]}),
            "{{- $values := index .Values \"a-b\" -}}\nk: {{ $values.c | quote }}\n\
             {{- if index $values \"d\" \"e-f\" }}\nl:\n- m: 1\n{{- end }}\n",
        ),
        (
            value!({
                "k": Expr::Text(path(&["a-b", "c"])), "l": Expr::Text(path(&["d-e", "f"])),
                "m": when(Condition::Any(vec![Condition::Unset(path(&["d-e", "g"]))]), "b"),
                "o": Expr::Text(path(&["a-b"]))
            }),
            "{{- $values := index .Values \"d-e\" -}}\nk: {{ index .Values \"a-b\" \"c\" | quote }}\n\
             l: {{ $values.f | quote }}\n{{- if or (not $values.g) }}\nm: b\n{{- end }}\n\
             o: {{ index .Values \"a-b\" | quote }}\n",
        ),
        (
            value!({"k": when(missing(Some(Expr::Text(path(&["a-b", "c"])))), "l"), "m": Expr::Text(path(&["a-b", "d"]))}),
            "{{- $values := index .Values \"a-b\" -}}\n{{- if not (lookup \"v1\" \"Secret\" $values.c \
             \"a\\\"b\") }}\nk: l\n{{- end }}\nm: {{ $values.d | quote }}\n",
        ),
        (
            value!({"k": when(Condition::Differ(Box::new([Expr::ReleaseNamespace, Expr::Text(path(&["a-b", "c"]))])), "l"), "m": Expr::Text(path(&["a-b", "d"]))}),
            "{{- $values := index .Values \"a-b\" -}}\n{{- if ne .Release.Namespace $values.c }}\n\
             k: l\n{{- end }}\nm: {{ $values.d | quote }}\n",
        ),
        (
            value!({
                "k": {"l": Expr::Text(path(&["a-b", "c"]))},
                "m": Value::when(set(&["d_e"]), Expr::Text(path(&["a-b", "f"])).into())
            }),
            "{{- $values := index .Values \"a-b\" -}}\nk:\n  l: {{ $values.c | quote }}\n\
             {{- if .Values.d_e }}\nm: {{ $values.f | quote }}\n{{- end }}\n",
        ),
    ] {
        let root = root.as_map().expect("a map");
        assert_eq!(template(root, None), expected);
        let is_plain = !root.values().any(Value::has_expression);
        assert_eq!(plain(root).is_ok(), is_plain, "{expected}");
    }
    let root = value!({"a": 1, "b": when(set(&["a"]), "c")});
    assert_eq!(
        template(root.as_map().expect("a map"), Some(&set(&["a"]))),
        "{{- if .Values.a }}\na: 1\nb: c\n{{- end }}\n"
    );
    assert_eq!(template(&Map::new(), Some(&set(&["a"]))), "{{- if .Values.a }}\n{}\n{{- end }}\n");
}

/// Texts and names of values in NOTES.txt and similar files.
#[test]
fn texts_of_notes_are_escaped() {
    for (value, expected) in [
        ("a{b".into(), Some("a{b")),
        ("{{{{a".into(), Some("{{ \"{{\" }}{{ \"{{\" }}a")),
        (Expr::ReleaseNamespace.into(), Some("{{ .Release.Namespace }}")),
        (Expr::Text(path(&["a", "b-c"])).into(), Some("{{ index .Values \"a\" \"b-c\" }}")),
        (Expr::ReleaseName.into(), None),
        (Value::Null, None),
    ] {
        assert_eq!(expression::in_text(&value).as_deref(), expected);
    }
}
