use super::*;
use crate::ir::Release;
use serde_json::{Value as Json, json};

fn read_all(text: &str) -> Vec<Json> {
    let read = read(text).unwrap_or_else(|problem| panic!("{problem:?}\n{text}"));
    read.documents.iter().map(|document| to_json(&document.value)).collect()
}

fn to_json(value: &Value) -> Json {
    Release { namespace: "", values: &Json::Null }.value(value)
}

fn read_one(text: &str) -> Json {
    let mut documents = read_all(text);
    assert_eq!(documents.len(), 1, "{text}");
    documents.remove(0)
}

/// Message, line and column of the refusal, and whether it is a limit.
fn refusal(text: &str) -> (String, usize, usize, bool) {
    let problem = read(text).expect_err(text);
    (problem.message, problem.line, problem.column, problem.cause == Cause::Limit)
}

#[test]
fn scalars_of_the_yaml_1_1_of_kubernetes() {
    for (text, expected) in [
        ("y", json!(true)),
        ("On", json!(true)),
        ("NO", json!(false)),
        ("'yes'", json!("yes")),
        ("\"on\"", json!("on")),
        ("0644", json!(420)),
        ("0o644", json!(420)),
        ("'0644'", json!("0644")),
        ("1_000", json!(1000)),
        ("~", json!(null)),
        ("", json!(null)),
        ("2001-12-14t21:59:43.10-05:00", json!("2001-12-14t21:59:43.10-05:00")),
        ("2001-12-14", json!("2001-12-14")),
        ("12:30:45", json!("12:30:45")),
        ("!!str 5", json!("5")),
        ("!!str", json!("")),
        ("!!str yes", json!("yes")),
        ("!!int \"5\"", json!(5)),
        ("!!float 5", json!(5)),
        ("!!float '1.5'", json!(1.5)),
        ("!!bool \"yes\"", json!(true)),
        ("!!null ''", json!(null)),
        ("!!timestamp 2001-12-14", json!("2001-12-14")),
        ("!!binary aGVsbG8=", json!("hello")),
        ("!<tag:yaml.org,2002:int> '7'", json!(7)),
        ("!custom x", json!("x")),
        ("!custom 5", json!("5")),
        ("! '5'", json!("5")),
        ("=", json!("=")),
        ("<<", json!("<<")),
        ("4294967295", json!(4_294_967_295_u32)),
        ("18446744073709551615", json!(u64::MAX)),
        ("-9223372036854775808", json!(i64::MIN)),
        ("0.1", json!(0.1)),
        ("1.0", json!(1)),
        ("a # comment", json!("a")),
        ("a#b", json!("a#b")),
        ("http://host:80/#x", json!("http://host:80/#x")),
        ("!!map {a: 1}", json!({"a": 1})),
        ("!custom [1]", json!([1])),
        ("\"\\x41\\u00e9\\U0001f600\\t\\0\"", json!("Aé😀\t\0")),
        ("\"it\\'s\"", json!("it's")),
    ] {
        assert_eq!(read_one(&format!("k: {text}\n")), json!({ "k": expected }), "{text}");
    }
}

#[test]
fn keys_become_strings() {
    let text = "on: x\n1: x\n0x10: x\n1.50: x\n1e7: x\ntrue : x\n'1': z\n.inf: x\n-.Inf: x\n.NaN: x\n!!str 5: x\n\
                2001-01-01: x\n\"\": x\n=: x\n? a b\n: x\n? - not\n";
    let (message, line, ..) = refusal(text);
    assert_eq!((message.as_str(), line), ("a map key must be a string, number or boolean", 17));
    let read = read_one(&text[..text.len() - "? - not\n".len()]);
    let keys: Vec<&str> = read.as_object().unwrap().keys().map(String::as_str).collect();
    let expected = [
        "true",
        "1",
        "16",
        "1.5",
        "1e+07",
        ".inf",
        "-.inf",
        ".nan",
        "5",
        "2001-01-01",
        "",
        "=",
        "a b",
    ];
    assert_eq!(keys, expected);
    assert_eq!(read["1"], "z");
}

#[test]
fn merge_keys_apply_in_place() {
    let base = "base: &base {a: 1, b: 2}\nmore: &more {b: 3, c: 4}\n";
    for (map, expected) in [
        ("{<<: *base}", json!({"a": 1, "b": 2})),
        ("{<<: *base, b: 9}", json!({"a": 1, "b": 9})),
        // As in go-yaml v2, and unlike in the specification, the order decides.
        ("{b: 9, <<: *base}", json!({"b": 2, "a": 1})),
        ("{<<: [*base, *more]}", json!({"b": 2, "c": 4, "a": 1})),
        ("{<<: [*more, *base], d: 5}", json!({"a": 1, "b": 3, "c": 4, "d": 5})),
        ("{<<: *base, <<: *more}", json!({"a": 1, "b": 3, "c": 4})),
        ("{<<: {z: 1}}", json!({"z": 1})),
        ("{<<: {<<: *base, a: 7}}", json!({"a": 7, "b": 2})),
        ("{'<<': 1}", json!({"<<": 1})),
        ("{!!str <<: 1}", json!({"<<": 1})),
        ("{<<: []}", json!({})),
        ("{!!merge <<: *base}", json!({"a": 1, "b": 2})),
        ("{!!merge '<<': *base, ! <<: *more}", json!({"a": 1, "b": 3, "c": 4})),
    ] {
        let text = format!("{base}k: {map}\n");
        assert_eq!(read_one(&text)["k"], expected, "{map}");
        assert!(read(&text).unwrap().duplicates.is_empty(), "{map}");
    }
    let twice = read("k: {a: 1, <<: {b: 2}, a: 3, b: 4, b: 5}\n").unwrap();
    let paths: Vec<&str> = twice.duplicates.iter().map(|d| d.path.as_str()).collect();
    assert_eq!(paths, [".k.a", ".k.b"]);
}

#[test]
fn anchors_and_aliases() {
    assert_eq!(
        read_one("a: &x [1, {b: &y c}]\nd: *x\ne: *y\n*y : f\ng: &x 2\nh: *x\n"),
        json!({"a": [1, {"b": "c"}], "d": [1, {"b": "c"}], "e": "c", "c": "f", "g": 2, "h": 2})
    );
}

#[test]
fn alias_bombs_are_stopped() {
    let laughs = |first: &str, times: usize| {
        let mut text = format!("a0: &a0 {first}\n");
        for level in 1..30 {
            let items = vec![format!("*a{}", level - 1); times].join(", ");
            text.push_str(&format!("a{level}: &a{level} [{items}]\n"));
        }
        text
    };
    // Many nodes; few nodes that are long; keys; merges; anchors around anchors.
    let keys = format!("{{ ? {} : 1 }}", "k".repeat(100_000));
    let merges = (1..2000).fold("a0: &a0 {}\n".to_owned(), |text, n| {
        format!("{text}a{n}: &a{n} {{<<: *a{}, k{n}: {}}}\n", n - 1, "x".repeat(100))
    });
    let nested = format!(
        "{}[{}]{}",
        (0..200).map(|n| format!("&b{n} [")).collect::<String>(),
        "x,".repeat(100_000),
        "]".repeat(200)
    );
    // Aliases of one anchor.
    let flat = format!("- &a {}\n{}", "x".repeat(1_000_000), "- *a\n".repeat(40));
    for text in
        [laughs("[x]", 9), laughs(&"x".repeat(100_000), 2), laughs(&keys, 2), merges, nested, flat]
    {
        let problem = read(&text).expect_err("a limit");
        assert_eq!(problem.message, "anchors and aliases repeat more than 33554432 bytes");
        assert_eq!(problem.cause, Cause::Limit);
    }
}

#[test]
fn nesting_is_limited() {
    let block_maps = |deep| (0..deep).map(|n| format!("{}a:\n", " ".repeat(n))).collect::<String>();
    let around = |open: &str, deep, value: &str, close: &str| {
        format!("{}{value}{}", open.repeat(deep), close.repeat(deep))
    };
    // Aliases may not nest what the text itself may not, in the depth that their values have.
    let alias = |value: &str, alias: &str, deep| {
        format!("a: &x {value}\nb: {}\n", around("[", deep - 1, alias, "]"))
    };
    let nest: &[(usize, &dyn Fn(usize) -> String)] = &[
        (250, &|deep| around("[", deep, "", "]")),
        (250, &|deep| around("{a: ", deep, "1", "}")),
        (250, &|deep| around("{\"a\":", deep, "1", "}")),
        (125, &|deep| around("{\"a\":[", deep, "1", "]}")),
        (250, &|deep| "- ".repeat(deep)),
        // Each list has maps as items.
        (125, &|deep| around("[a: ", deep, "1", "]")),
        (250, &block_maps),
        (250, &|deep| alias("1", "*x", deep)),
        (250, &|deep| format!("&x .inf : 1\nb: {}\n", around("[", deep - 2, "{*x : 1}", "]"))),
        (249, &|deep| alias("[]", "*x", deep)),
        (249, &|deep| alias("[1, 2]", "*x", deep)),
        (249, &|deep| alias("{}", "*x", deep)),
        (249, &|deep| alias("{b: 1, c: 2}", "*x", deep)),
        (247, &|deep| alias("[{b: [c], d: 1}, 2]", "*x", deep)),
        (246, &|deep| alias("{b: [[{}]], c: []}", "*x", deep)),
    ];
    for (deepest, text) in nest {
        let fine = text(*deepest);
        assert!(read(&fine).is_ok(), "{:?} {}", read(&fine), &fine[..20]);
        // Indentation is as wide as the text is deep.
        for deep in [deepest + 1, 3_000] {
            let problem = read(&text(deep)).expect_err(&fine[..20]);
            let expected = ("lists and maps nest more than 250 deep", Cause::Limit);
            assert_eq!((problem.message.as_str(), problem.cause), expected, "{}", &fine[..20]);
        }
    }
    // Nothing of a text that is far too deep is kept.
    assert!(read(&"[".repeat(1_000_000)).is_err());
}

#[test]
fn values_are_limited() {
    // A map, its key, a list and its items; JSON is read fast.
    let items = |count| format!("{{\"a\":[{}1]}}", "1,".repeat(count - 4));
    assert!(read(&items(MAX_NODES)).is_ok());
    let problem = read(&items(MAX_NODES + 1)).expect_err("a limit");
    let expected = ("the file has more than 2000000 values", Cause::Limit);
    assert_eq!((problem.message.as_str(), problem.cause), expected);
}

/// A key ends at most 1,024 characters after its start, whether plain, in quotes or with an anchor.
#[test]
fn keys_without_a_question_mark_are_limited() {
    for (before, after) in [("", ""), ("'", "'"), ("&a ", ""), ("{'", "'")] {
        for letter in ["k", "é", "日"] {
            let key = |more: usize| {
                let length = 1_024 - before.trim_start_matches('{').len() - after.len() + more;
                let close = if before.starts_with('{') { "}" } else { "" };
                format!("{before}{}{after}: 1{close}\n", letter.repeat(length))
            };
            assert!(read(&key(0)).is_ok(), "{before}{letter}: {:?}", read(&key(0)));
            let message = read(&key(1)).unwrap_err().message;
            let expected = match before {
                "{'" => "expected `,` or `}`, found `:` (map that begins in line 1)",
                _ => "mapping values are not allowed in this context",
            };
            assert_eq!(message, expected, "{before}{letter}");
        }
    }
}

/// Go decides between YAML and JSON by the first 4,096 bytes.
#[test]
fn json_begins_within_a_buffer() {
    let text = |blanks| format!("{}{{\"a\": \"\\ud83d\"}}", " ".repeat(blanks));
    assert_eq!(read_one(&text(4_095)), json!({"a": "\u{fffd}"}));
    assert_eq!(
        read(&text(4_096)).unwrap_err().message,
        "the escape is no Unicode character; YAML has no surrogates"
    );
}

/// Texts that readers of YAML 1.2 often read as something else, or not at all, are among them.
#[test]
fn texts_are_read_as_go_reads_them() {
    for (text, expected) in [
        ("? k\n: v\n? l\n", r#"{"k":"v","l":null}"#),
        ("? |\n  long\n: - v\n", "{\"long\\n\":[\"v\"]}"),
        ("k:\n- a\n-\n  - b\n- - c\n  - d\n", r#"{"k":["a",["b"],["c","d"]]}"#),
        ("k:\n  - a: 1\n    b: 2\n  -   c: 3\n", r#"{"k":[{"a":1,"b":2},{"c":3}]}"#),
        (
            "a: 1\r\nb: |\r\n  x\r\n  y\r\nc: 'd\r\n  e'\r\n",
            "{\"a\":1,\"b\":\"x\\ny\\n\",\"c\":\"d e\"}",
        ),
        ("a:\t1\t# c\nb:\t[1,\t2]\n", r#"{"a":1,"b":[1,2]}"#),
        (
            "{\n\t\"a\": [\n\t\t1,\n\t\t\"x\\ty\"\n\t],\n\t\"b\": {}\n}\n",
            "{\"a\":[1,\"x\\ty\"],\"b\":{}}",
        ),
        ("{\"smile\":\"\\ud83d\\ude00\",\"s\":\"a\\/b\"}", r#"{"smile":"😀","s":"a/b"}"#),
        ("{\"a\":1,\"b\":\"c\",\"u\":\"\\u00e9\\n\"}", "{\"a\":1,\"b\":\"c\",\"u\":\"é\\n\"}"),
        (
            "{\"n\":1e3,\"m\":-0.5E-2,\"t\":true,\"z\":null}",
            r#"{"n":1000,"m":-0.005,"t":true,"z":null}"#,
        ),
        ("{\"next\":\"\u{85}\u{2028}\u{2029}\"}", "{\"next\":\"\u{85}\u{2028}\u{2029}\"}"),
        ("a: >\n  x\n  y\n\n  z\nb: >-\n  x\n   y\n", "{\"a\":\"x y\\nz\\n\",\"b\":\"x\\n y\"}"),
        ("a: |+\n  x\n\nb: |2\n    x\n", "{\"a\":\"x\\n\\n\",\"b\":\"  x\\n\"}"),
        ("a: |\n  x", "{\"a\":\"x\\n\"}"),
        ("a: one\n  two\n\n  three\n", "{\"a\":\"one two\\nthree\"}"),
        ("a: \"one\n  two\\\n  three\"\n", r#"{"a":"one twothree"}"#),
        ("a:\n  b: 'first\n  second'\n", r#"{"a":{"b":"first second"}}"#),
        ("a: 'first\nsecond'\nb: 1\n", r#"{"a":"first second","b":1}"#),
        ("a: \"first\n\tsecond\"\n", r#"{"a":"first second"}"#),
        ("a: {\n\t\"b\": 1\n}\n", r#"{"a":{"b":1}}"#),
        ("a: [-]\n", r#"{"a":["-"]}"#),
        ("a: {b:, c: d}\n", r#"{"a":{"b:":null,"c":"d"}}"#),
        ("a: {a:}\nb: [a:]\n", r#"{"a":{"a:":null},"b":["a:"]}"#),
        ("a: x\u{85} y\n", r#"{"a":"x y"}"#),
        ("a: 'x\u{2028} y'\n", "{\"a\":\"x\u{2028}y\"}"),
        ("a: |\n  x\u{85}  y\n", "{\"a\":\"x\\ny\\n\"}"),
        ("&x 1e7: a\nb: *x\n", r#"{"1e+07":"a","b":10000000}"#),
        ("a: x\r\r\n  y\n", r#"{"a":"x y"}"#),
        ("  {a: 1}\n", r#"{"a":1}"#),
        ("{\"a\": \"\\ud83d\"}", r#"{"a":"�"}"#),
        ("{\"a\": \"\u{7f}\"}", "{\"a\":\"\u{7f}\"}"),
        ("{\"a\": 1}\n{\"b\": 2}\n", r#"{"a":1}  {"b":2}"#),
        ("{\"a\": 1}\n---\nb: 2\n", r#"{"a":1}  {"b":2}"#),
        ("{\"a\": 1,}\n", r#"{"a":1}"#),
        ("{\"<<\": {\"a\": 1}}", r#"{"<<":{"a":1}}"#),
        ("a:\n        b: 1\n        c:\n                 - d\n", r#"{"a":{"b":1,"c":["d"]}}"#),
        ("a: [\nb,\nc\n]\n", r#"{"a":["b","c"]}"#),
        ("a: [b\nc]\n", r#"{"a":["b c"]}"#),
        ("a: {\nb: 1,\nc: 2\n}\n", r#"{"a":{"b":1,"c":2}}"#),
        ("{?a: b, ?c}\n", r#"{"a":"b","c":null}"#),
        ("[?a]\n", r#"[{"a":null}]"#),
        ("{'a': 1, 'b':2, \"c\":}\n", r#"{"a":1,"b":2,"c":null}"#),
        ("...a: 1\n---\n b...: 2\n", r#"{"...a":1}  {"b...":2}"#),
        ("ｅ: 1\n", r#"{"ｅ":1}"#),
        ("a: \u{feff}b\n", "{\"a\":\"\u{feff}b\"}"),
        ("# a\u{2028}b: 1 # c\u{2029}d: 2 # é…\u{85}e: 3\n", r#"{"b":1,"d":2,"e":3}"#),
        ("a: x … y ⁂ z ‘q’ Â\n", r#"{"a":"x … y ⁂ z ‘q’ Â"}"#),
        ("a: x ₨\n  y₨\nb: \"₨\n  ₨\"\n# ₨\n", "{\"a\":\"x ₨ y₨\",\"b\":\"₨ ₨\"}"),
        ("a: |\r  x\r  y\rb: 'x\r\r  y'\r", "{\"a\":\"x\\ny\\n\",\"b\":\"x\\ny\"}"),
        ("a:\n  b: [\nc\td]\n", "{\"a\":{\"b\":[\"c\\td\"]}}"),
        ("a: \"b''\n  c\"\n", "{\"a\":\"b'' c\"}"),
        ("a: [x … y ⁂ z]\n", r#"{"a":["x … y ⁂ z"]}"#),
        ("a: \"x …\n  y ⁂ z\"\n", r#"{"a":"x … y ⁂ z"}"#),
        ("a: |\n  x … y\n  ⁂ z\u{2028}  w\n", "{\"a\":\"x … y\\n⁂ z\u{2028}w\\n\"}"),
        ("a: x\u{2029}  y\n", "{\"a\":\"x\u{2029}y\"}"),
        ("a: 'x\u{2029} y\u{2028}\u{2028} z'\n", "{\"a\":\"x\u{2029}y\u{2028}\u{2028}z\"}"),
        ("a: 1\rb: 2\r\rc: 3", r#"{"a":1,"b":2,"c":3}"#),
        ("a: 1\r\r\nb: 2\r\r\n", r#"{"a":1,"b":2}"#),
        ("a: |\r\r\n  x\r\r\n  y\r\n", "{\"a\":\"x\\ny\\n\"}"),
        ("a: |1\n  x\n", "{\"a\":\" x\\n\"}"),
        ("|1\n  x\n", "\" x\\n\""),
        ("|\n x\n", "\"x\\n\""),
        ("a: |\n x\n", "{\"a\":\"x\\n\"}"),
        ("- |\n x\n", "[\"x\\n\"]"),
        (">\n a\n  b\n c\n\n d\n e\n\n\n  f\n\n g\n", "\"a\\n b\\nc\\nd e\\n\\n\\n f\\n\\ng\\n\""),
        ("|\n a\n\n b\n c\n", "\"a\\n\\nb\\nc\\n\""),
        ("a: |  \n  x\n", "{\"a\":\"x\\n\"}"),
        ("a: |\t# c\n  x\n", "{\"a\":\"x\\n\"}"),
        ("a: >2-\n   x\n  y\n", "{\"a\":\" x\\ny\"}"),
        ("a: |-2 # c\n   x\n\n\n", r#"{"a":" x"}"#),
        ("a: |+\n\n  \n   x\n  \n", "{\"a\":\"\\n\\nx\\n\\n\"}"),
        ("a: |\n  x\n  \ty\n", "{\"a\":\"x\\n\\ty\\n\"}"),
        ("a: |\n\nb: 1\n", r#"{"a":"","b":1}"#),
        ("a: b\tc # d\n", "{\"a\":\"b\\tc\"}"),
        ("a: x\n  \ty # c\n", r#"{"a":"x y"}"#),
        ("a\n...\n", r#""a""#),
        ("a: b\n\n c\n\n\n d\n", "{\"a\":\"b\\nc\\n\\nd\"}"),
        ("a: b # c\nd: e#f # g\n", r#"{"a":"b","d":"e#f"}"#),
        ("a: x #y\n", r#"{"a":"x"}"#),
        ("a#: 1\n", r#"{"a#":1}"#),
        ("&a-b_c x: 1\n", r#"{"x":1}"#),
        ("[&a x, *a, *a ]\n", r#"["x","x","x"]"#),
        ("!a%62 x\n", r#""x""#),
        ("!<tag:yaml.org%2C2002:int> 5\n", "5"),
        ("!<tag:yaml.org,2002:in%74> '5'\n", "5"),
        ("- !a-b/c;? x\n- !<!z> y\n- ! z\n", r#"["x","y","z"]"#),
        ("a: 'it''s'\n", r#"{"a":"it's"}"#),
        ("a: 'it''s\n  \\not'\n", "{\"a\":\"it's \\\\not\"}"),
        ("a: ''''\n", r#"{"a":"'"}"#),
        ("a: 'b''\n  c'\n", r#"{"a":"b' c"}"#),
        ("a: \"b  c\n  d\"\n", r#"{"a":"b  c d"}"#),
        ("a: 'b  c\n  d'\n", r#"{"a":"b  c d"}"#),
        ("a: \"b\\\n  c\\\n\n  d\"\n", "{\"a\":\"bc\\nd\"}"),
        ("a: \"b \\\u{85}  c\"\n", r#"{"a":"b c"}"#),
        ("a: \"b\\\r\n  c\"\n", r#"{"a":"bc"}"#),
        ("a: \"\\\"\n  '\"\n", "{\"a\":\"\\\" '\"}"),
        ("a: 'b\n\n\n  c'\n", "{\"a\":\"b\\n\\nc\"}"),
        (
            "a: \"\\0\\a\\b\\t\\\t\\n\\v\\f\\r\\e\\ \\\"\\'\\\\\\N\\_\\L\\P\\x7e\\u263a\"\n",
            "{\"a\":\"\\u0000\\u0007\\b\\t\\t\\n\\u000b\\f\\r\\u001b \\\"'\\\\\u{85}\u{a0}\u{2028}\u{2029}~☺\"}",
        ),
        ("a: !!binary |\n  aGVs\n  bG8=\n", r#"{"a":"hello"}"#),
        ("a: !!binary aGVsbG9=\n", r#"{"a":"hello"}"#),
        ("a: !!str\nb: &x\nc: *x\n", r#"{"a":"","b":null,"c":null}"#),
        (
            "{\"a\": 1}\n{\"b\": [-0.5E-2, 1e+3, 0, true, null, \"\\b\\f\\r\\t\\u00e9\\ud83d\\u0041\\ud83d\\ude00x\"]}",
            "{\"a\":1}  {\"b\":[-0.005,1000,0,true,null,\"\\b\\f\\r\\té�A😀x\"]}",
        ),
        ("{\"a\": 1}\n# c\nb: 2\n", r#"{"a":1}  {"b":2}"#),
        ("{\"a\": 1} ---\nb: 2\n", r#"{"a":1}  {"b":2}"#),
        ("{\"a\": 1}\n--- # c\n'b': 2\n", r#"{"a":1}  {"b":2}"#),
        ("\u{a0}{a: 1}\n", r#"{"a":1}"#),
        (
            "{a: 1}\n---\nb: \"\\x41\"\n---\n{\"c\": \"\\x41\"}\n",
            r#"{"a":1}  {"b":"A"}  {"c":"A"}"#,
        ),
        ("\n{a}", r#"{"a":null}"#),
        ("{a}\n", r#"{"a":null}"#),
        ("\n  {a: b}\n", r#"{"a":"b"}"#),
        ("{\"a\": 1}[{\"b\": 2}]", r#"{"a":1}  [{"b":2}]"#),
    ] {
        let documents: Vec<String> = read_all(text).iter().map(Json::to_string).collect();
        assert_eq!(documents.join("  "), expected, "{text:?}");
    }
}

#[test]
fn long_texts_are_read() {
    let long = "k".repeat(5_000);
    assert_eq!(read_one(&format!("{{\"{long}\": 1}}"))[&long], 1);
    assert_eq!(read_one(&format!("? {long}\n: 1\n"))[&long], 1);
    let huge = "x y ".repeat(500_000);
    assert_eq!(read_one(&format!("a: \"{huge}\"\n"))["a"], huge);
    assert_eq!(read_one(&format!("a: |\n  {huge}\n"))["a"], format!("{huge}\n"));
}

/// Each message, with the place in texts that get it: line, column, and number of another document
/// than the first.
#[test]
fn errors_name_problem_and_place() {
    let cases: &[(&str, &[(&str, &str)])] = &[
        (
            "expected `-`, for the next item of the list, found a key (list that begins in line 1)",
            &[("2:1", "- a\nb: 1\n")],
        ),
        (
            "could not find expected ':' of the key that starts here",
            &[
                ("4:1", "- a\n b\n- c: d\ne\n"),
                ("2:1", "a: 1\nb\nc: 2\n"),
                ("2:1", "a: 1\n'k'\n'd': 2\n"),
                ("2:1", "k:\nb\n"),
                ("2:1", "a: 1\n[b]\n"),
                ("2:1", "a: 1\n'b', c: 2\n"),
            ],
        ),
        (
            "expected the next key of the map, found `-` (map that begins in line 1)",
            &[("2:1", "a: 1\n- b\n")],
        ),
        (
            "expected the next key of the map, found a key (map that begins in line 1)",
            &[("3:2", "a:\n  b: 1\n c: 2\n")],
        ),
        (
            "Indentation: mapping values are not allowed in this context",
            &[("1:5", "a: b: c\n"), ("2:3", "a: 1\n b: 2\n")],
        ),
        (
            "expected the next key of the map, found a scalar (map that begins in line 1)",
            &[("1:8", "a: 'b' c: d\n"), ("1:8", "a: \"b\" c\n")],
        ),
        ("block sequence entries are not allowed in this context", &[("1:4", "a: - b\n")]),
        ("mapping keys are not allowed in this context", &[("1:4", "a: ? b\n")]),
        (
            "unclosed list or map",
            &[
                ("1:4", "a: [1\n"),
                ("#2 3:4", "a: 1\n---\nb: [1\n"),
                ("2:8", "a: 1\nb: {c: [1,\n"),
                ("1:4", "a: {b: \n\n"),
                ("1:1", "["),
                ("1:1", "['a'"),
                ("1:1", "['a',"),
                ("1:2", "['a': "),
                ("1:1", "['a': 'b'"),
                ("1:2", "[? "),
                ("1:1", "[? 'a'"),
                ("1:1", "{'a'"),
                ("1:1", "{'a': "),
                ("1:1", "{'a': 'b'"),
                ("1:1", "{'a',"),
                ("1:1", "{? 'a'"),
                ("1:4", "a: [\r---\r"),
                ("1:4", "a: [\n...\n"),
            ],
        ),
        (
            "expected a JSON value",
            &[("1:1", "{"), ("1:1", "{? "), ("1:1", "{,}"), ("1:1", "{]"), ("1:1", "{a}")],
        ),
        (
            "expected `,` or `]`, found a scalar (list that begins in line 1)",
            &[("1:6", "['a' 'b']"), ("1:11", "['a': 'b' 'c']")],
        ),
        ("expected `,` or `]`, found `[` (list that begins in line 1)", &[("1:7", "[a: b [c]]")]),
        ("expected `,` or `}`, found `[` (map that begins in line 1)", &[("1:7", "{a: b [c]}")]),
        ("expected `,` or `]`, found `{` (list that begins in line 1)", &[("1:6", "['a' {b: c}]")]),
        (
            "expected `,` or `}`, found a scalar (map that begins in line 1)",
            &[("1:6", "{'a' 'b'}"), ("1:11", "{'a': 'b' 'c': 1}")],
        ),
        ("expected a value, found `,`", &[("1:2", "[,]")]),
        ("expected a value, found `}`", &[("1:2", "[}"), ("1:4", "a: }\n")]),
        (
            "a map key must be a string, number or boolean",
            &[
                ("1:2", "[[a] b: c]"),
                ("1:1", "[]: x\n"),
                ("1:1", "{a: 1}: x\n"),
                ("1:1", "[a]: x\n"),
                ("1:2", "{[a]: x}\n"),
                ("1:3", "? {a: 1}\n: x"),
                ("1:3", "? [a]\n: x"),
                ("1:1", "~: x"),
                ("1:1", "null: x"),
                ("1:1", "? \n: x"),
                ("1:1", "18446744073709551615: x"),
            ],
        ),
        (
            "expected `,` or `]`, found an anchor (list that begins in line 1)",
            &[("1:6", "['a' &b c]")],
        ),
        (
            "expected `,` or `]`, found an alias (list that begins in line 1)",
            &[("1:6", "['a' *b]")],
        ),
        ("expected `,` or `]`, found a tag (list that begins in line 1)", &[("1:6", "['a' !b c]")]),
        (
            "expected a value, found `-`",
            &[
                ("1:2", "[- a]"),
                ("1:2", "{- a: 1}"),
                ("1:5", "{a: - b}"),
                ("1:5", "[a: - b]"),
                ("1:4", "[? - a]"),
                ("1:4", "{? - a}"),
            ],
        ),
        (
            "expected a value, found `]`",
            &[("1:4", "a: ]\n"), ("#3 5:4", "a: 1\n---\nb: 2\n---\nc: ]\n")],
        ),
        ("expected a value, found `...`", &[("1:1", "...\n")]),
        (
            "found more after the end of the document, which Kubernetes would drop without a word: a key",
            &[("3:1", "a: 1\n...\nb: 2\n"), ("2:1", "'a'\nb: 1\n")],
        ),
        (
            "found more after the end of the document, which Kubernetes would drop without a word: a value cannot start with `@` unless it is quoted",
            &[("3:1", "a: 1\n...\n@\n")],
        ),
        (
            // An indicator ends the text before what follows it is looked at.
            "found more after the end of the document, which Kubernetes would drop without a word: `}`",
            &[("1:3", "''}\n\t"), ("1:3", "! }? 1e3|-")],
        ),
        (
            "found more after the end of the document, which Kubernetes would drop without a word: `,`",
            &[("1:5", "''  ,` ")],
        ),
        (
            "found more after the end of the document, which Kubernetes would drop without a word: a scalar",
            &[("2:5", "a\n... b: c\n"), ("2:1", "[]\n~\n")],
        ),
        (
            "found more after the end of the document, which Kubernetes would drop without a word: `---`",
            &[("2:1", "a\r---\rb\n")],
        ),
        (
            "found more after the end of the document, which Kubernetes would drop without a word: an alias",
            &[("2:1", "[a]\n*b\n")],
        ),
        (
            "found more after the end of the document, which Kubernetes would drop without a word: `{`",
            &[("2:1", "[a]\n{b\n")],
        ),
        (
            "found something after `---` in the same line; Kubernetes allows only a comment there, in every line that begins with `---`",
            &[
                ("1:1", "--- >-\n  a\n"),
                ("2:1", "a: 1\n---b: 1\n"),
                ("2:1", "a: 1\n----\nb: 1\n"),
                ("3:1", "a: |\n  x\n---\ty\n"),
                ("2:1", "a: 1\n--- b\n"),
                ("1:1", "--- a"),
            ],
        ),
        (
            "found the control character U+007F, which YAML does not allow",
            &[("#2 3:4", "a: 1\n---\nb: \u{7f}\n"), ("1:4", "a: \u{7f}\n")],
        ),
        (
            "directives such as `%YAML` cannot be read by Kubernetes, which divides documents at the `---` that follows them",
            &[("1:1", "%YAML 1.2\n---\na: 1\n")],
        ),
        ("found a byte order mark inside the file", &[("2:1", "a: 1\n\u{feff}b: 2\n")]),
        (
            "found the control character U+0001, which YAML does not allow",
            &[("1:5", "a: é\u{1}\n")],
        ),
        ("found the control character U+FFFE, which YAML does not allow", &[("1:1", "\u{fffe}")]),
        (
            "found no JSON object after a JSON object (expected `{`); `---` in a line of its own separates JSON from YAML",
            &[
                ("#2 2:1", "{\"a\": 1}\nb: 2\n"),
                ("#3 2:1", "{\"a\": 1} {\"b\": 2}\n---\nc: 3\n"),
                ("#3 3:1", "{\"a\": 1}\n{\"b\": 2}\n\u{a0}{}"),
            ],
        ),
        (
            "found no JSON object after a JSON object (expected `,` or `]`); `---` in a line of its own separates JSON from YAML",
            &[("#2 2:10", "{\"a\": 1}\n{\"b\": [1 2]}")],
        ),
        (
            "found no JSON object after a JSON object (expected `,` or `}`); `---` in a line of its own separates JSON from YAML",
            &[("#2 2:9", "{\"a\": 1}\n{\"b\": 1 2}")],
        ),
        (
            "found no JSON object after a JSON object (expected `:`); `---` in a line of its own separates JSON from YAML",
            &[("#2 2:6", "{\"a\": 1}\n{\"b\" 1}")],
        ),
        (
            "found no JSON object after a JSON object (expected a string in double quotes); `---` in a line of its own separates JSON from YAML",
            &[("#2 2:2", "{\"a\": 1}\n{b: 1}")],
        ),
        (
            "found no JSON object after a JSON object (expected a JSON value); `---` in a line of its own separates JSON from YAML",
            &[
                ("#2 2:7", "{\"a\": 1}\n{\"b\": }"),
                ("#2 2:7", "{\"a\": 1}\n{\"b\": 01}"),
                ("#2 2:7", "{\"a\": 1}\n{\"b\": 1.}"),
                ("#2 2:7", "{\"a\": 1}\n{\"b\": -}"),
                ("#2 2:7", "{\"a\": 1}\n{\"b\": 1e}"),
                ("#2 2:2", "{\"a\": 1}\n[tru]"),
            ],
        ),
        (
            "found no JSON object after a JSON object (found a control character in a string); `---` in a line of its own separates JSON from YAML",
            &[("#2 2:3", "{\"a\": 1}\n[\"\t\"]"), ("#2 2:4", "{\"a\": 1}\n[\"x\n")],
        ),
        (
            "found no JSON object after a JSON object (unclosed string); `---` in a line of its own separates JSON from YAML",
            &[("#2 2:2", "{\"a\": 1}\n[\"x")],
        ),
        (
            "found no JSON object after a JSON object (found an escape that JSON does not have); `---` in a line of its own separates JSON from YAML",
            &[
                ("#2 2:3", "{\"a\": 1}\n[\"\\q\"]"),
                ("#2 2:3", "{\"a\": 1}\n[\"\\u12g4\"]"),
                ("#2 2:3", "{\"a\": 1}\n[\"\\"),
            ],
        ),
        (
            "`1e400` is a YAML number that JSON and Kubernetes do not support",
            &[("1:7", "{\"a\": 1e400}")],
        ),
        (
            "a value cannot start with `@` unless it is quoted",
            &[
                ("1:4", "a: @x"),
                ("2:5", "a: 1\nbé: @x\n"),
                ("1:7", "  {a: @}"),
                ("3:6", "\n\n {a: @}"),
            ],
        ),
        ("a value cannot start with ``` unless it is quoted", &[("1:4", "a: `x")]),
        ("a value cannot start with `%` unless it is quoted", &[("1:4", "a: %x\n")]),
        ("a value cannot start with `|` unless it is quoted", &[("1:5", "a: [|]\n")]),
        ("a value cannot start with `>` unless it is quoted", &[("1:5", "a: [>]\n")]),
        (
            "unclosed quoted string",
            &[("1:4", "a: \"x\n"), ("1:4", "a: 'x\n\n"), ("1:4", "a: \"x\\\n")],
        ),
        ("found a document indicator inside a quoted scalar", &[("2:1", "a: 'b\n...\n'\n")]),
        ("`\\q` is no escape of YAML 1.1 in double quotes", &[("1:6", "a: \"é\\q\"\n")]),
        ("`\\\\u{e9}` is no escape of YAML 1.1 in double quotes", &[("1:5", "a: \"\\é\"\n")]),
        (
            "found the control character U+0000, which YAML does not allow",
            &[("1:6", "a: \"\\\0\"")],
        ),
        ("`\\/` is no escape of YAML 1.1 in double quotes", &[("1:5", "a: \"\\/\"\n")]),
        (
            "did not find the expected hexadecimal digits of an escape",
            &[("1:5", "a: \"\\x4g\"\n"), ("1:4", "a: \"b\n  \\u12\"\n")],
        ),
        (
            "the escape is no Unicode character; YAML has no surrogates",
            &[("1:5", "a: \"\\ud83d\\ude00\"\n"), ("1:5", "a: \"\\U00110000\"\n")],
        ),
        ("found an indentation indicator equal to 0", &[("1:4", "a: |0\n")]),
        (
            "did not find a comment or line break after `|` or `>`",
            &[("1:6", "a: | x\n"), ("1:6", "a: >+x\n")],
        ),
        (
            "Tab: found a tab character where an indentation space is expected",
            &[("1:4", "a: |\n\tx\n"), ("1:4", "a: |\n  x\n \ty\n")],
        ),
        (
            "Tab: found a tab where indentation is expected",
            &[("2:1", "a:\n\tb: 1\n"), ("1:2", "-\ta: 1\n"), ("2:3", "a: 1 # c\n  \t\n\tb: 2\n")],
        ),
        (
            "Tab: found a tab character that violates indentation",
            &[("1:4", "a: 1\n\t\nb: 2\n"), ("1:4", "a: x\n\ty # c\n")],
        ),
        (
            "the name of an anchor consists of ASCII letters, digits, `-` and `_`",
            &[("1:1", "&x:y a: 1\n"), ("1:1", "& a\n")],
        ),
        (
            "the name of an alias consists of ASCII letters, digits, `-` and `_`",
            &[("1:1", "* a\n"), ("1:4", "a: *\n")],
        ),
        (
            "no anchor `x` comes before this alias",
            &[("1:4", "a: *x:\n"), ("1:4", "a: *x"), ("#2 3:4", "a: &x 1\n---\nb: *x\n")],
        ),
        (
            "did not find the expected blank or line break after a tag",
            &[("1:5", "a: !é b\n"), ("1:3", "!a{b} c\n")],
        ),
        ("the tag has no name", &[("1:1", "!<> a\n"), ("1:1", "!! a\n")]),
        ("did not find the expected `>` of a tag", &[("1:4", "!<a a\n")]),
        ("the tag handle `!e!` is not defined", &[("1:1", "!e!x 1\n")]),
        ("did not find two hexadecimal digits after `%` in a tag", &[("1:2", "!%4 a\n")]),
        ("the tag is not UTF-8", &[("1:1", "!%ff a\n")]),
        (
            "expected the next key of the map, found an anchor (map that begins in line 1)",
            &[("1:7", "a: &x &y b\n")],
        ),
        (
            "expected the next key of the map, found a tag (map that begins in line 1)",
            &[("1:7", "a: !x !y b\n")],
        ),
        (
            "an alias is inside the value that it refers to",
            &[
                ("1:8", "a: &x [*x]\n"),
                ("1:11", "a: &x {b: *x}\n"),
                ("#2 3:8", "a: &x 1\n---\nb: &x [*x]\n"),
            ],
        ),
        (
            "`.inf` is a YAML number that JSON and Kubernetes do not support",
            &[("2:4", "a: 1\nk: .inf")],
        ),
        (
            "`-.INF` is a YAML number that JSON and Kubernetes do not support",
            &[("2:4", "a: 1\nk: -.INF")],
        ),
        ("`.NaN` is a YAML number that JSON and Kubernetes do not support", &[("1:4", "k: .NaN")]),
        (
            "`.INF` is a YAML number that JSON and Kubernetes do not support",
            &[("1:4", "a: &x .INF\n*x : 1\nb: *x\n")],
        ),
        (
            "the value does not match its tag `!!int`",
            &[("1:4", "k: !!int x"), ("1:4", "k: !!int 1.5")],
        ),
        (
            "the value does not match its tag `!!float`",
            &[("1:4", "k: !!float x"), ("1:4", "k: !!float 18446744073709551615\n")],
        ),
        ("the value does not match its tag `!!bool`", &[("1:4", "k: !!bool x")]),
        ("the value does not match its tag `!!null`", &[("1:4", "k: !!null x")]),
        ("the value does not match its tag `!!timestamp`", &[("1:4", "k: !!timestamp 1\n")]),
        (
            "the value does not match its tag `!!binary`",
            &[("1:4", "k: !!binary _"), ("1:4", "k: !!binary /w==")],
        ),
        (
            "expected the next key of the map, found `:` (map that begins in line 1)",
            &[("1:1", ": x")],
        ),
        (
            "`<<` must refer to a map",
            &[
                ("1:2", "{<<: 1}"),
                ("1:2", "{<<: [1]}"),
                ("1:2", "{<<: [[{}]]}"),
                ("1:2", "{<<: }"),
                ("2:9", "x: &x [{a: 1}]\nb: {<<: *x}\n"),
            ],
        ),
    ];
    for (message, places) in cases {
        for (place, text) in *places {
            let problem = read(text).expect_err(text);
            let cause = match problem.cause {
                Cause::Syntax => String::new(),
                cause => format!("{cause:?}: "),
            };
            let document = match problem.document {
                1 => String::new(),
                number => format!("#{number} "),
            };
            let found = format!("{document}{}:{}", problem.line, problem.column);
            assert_eq!((cause + &problem.message).as_str(), *message, "{text:?}");
            assert_eq!(found, *place, "{text:?}");
        }
    }
    let error = "line 1, column 4: expected a value, found `]`";
    assert_eq!(parse("a: ]"), Err(error.to_owned()));
    assert_eq!(parse("a: 1\n---\n---\n"), Ok(vec![Value::map([("a", 1.into())])]));
}

/// Characters are checked in blocks, which may end within one.
#[test]
fn control_characters_are_found_anywhere() {
    for wide in ["", "é", "日", "🦀"] {
        for length in 500..520 {
            let text = format!("a: {wide}{}{wide}\u{7f}\n", "x".repeat(length));
            let (found, line, column, _) = refusal(&text);
            let expected = 4 + length + 2 * wide.chars().count();
            assert_eq!((line, column), (1, expected), "{wide} {length}");
            assert!(found.contains("control character U+007F"), "{found}");
            let valid = text.replace('\u{7f}', wide);
            assert!(read(&valid).is_ok(), "{wide} {length}");
        }
    }
}

#[test]
fn documents_are_counted_with_the_empty_ones() {
    let text = "# only a comment\n---\n# another\n--- # and a comment\na: 1\n...\n# after\n---\n\
                b: |\n  ---\n  x\n---\nc: 3\n---\n---\n- d\n";
    let read = read(text).unwrap();
    let found: Vec<(usize, usize, Json)> = read
        .documents
        .iter()
        .map(|document| (document.number, document.line, to_json(&document.value)))
        .collect();
    assert_eq!(
        found,
        [
            (2, 5, json!({"a": 1})),
            (3, 9, json!({"b": "---\nx\n"})),
            (4, 13, json!({"c": 3})),
            (6, 16, json!(["d"])),
        ]
    );
    assert!(read_all("").is_empty());
    assert!(read_all("# c\n\n").is_empty());
    assert!(read_all("---\n...\n---\nnull\n").is_empty());
    assert_eq!(refusal("a: 1\n---\nb: 2\n---\nc: ]\n").1, 5);
    assert_eq!(super::read("a: 1\n---\nb: 2\n---\nc: ]\n").unwrap_err().document, 3);
}

#[test]
fn duplicate_keys_name_both_places() {
    let text = "a: 1\nb:\n- x\n- c: 1\n  d: {e/f: 1, e/f: 2}\n  c: 2\na: 3\n---\n\"q\": 1\nq: 2\nq: 3\n1: x\n'1': y\n";
    let read = read(text).unwrap();
    let found: Vec<(usize, &str, usize, (usize, usize))> =
        read.duplicates.iter().map(|d| (d.document, d.path.as_str(), d.first, d.last)).collect();
    assert_eq!(
        found,
        [
            (1, ".b[1].d[\"e/f\"]", 5, (5, 15)),
            (1, ".b[1].c", 4, (6, 3)),
            (1, ".a", 1, (7, 1)),
            (2, ".q", 9, (10, 1)),
            (2, ".q", 10, (11, 1)),
            (2, ".1", 12, (13, 1)),
        ]
    );
    assert_eq!(to_json(&read.documents[0].value)["a"], 3);
    let keys: Vec<String> = read.documents[0].value.as_map().unwrap().keys().cloned().collect();
    assert_eq!(keys, ["a", "b"]);
    // Merged keys are no duplicates, in small maps and in large ones.
    for size in [2, 15, 16, 17, 40] {
        let keys: String = (0..size).map(|n| format!("k{n}: {n}\n")).collect();
        let text = format!("{keys}<<: {{m: 1, p: 2}}\nm: 3\nk1: 4\np: 5\nk1: 6\nm: 7\n");
        let read = super::read(&text).unwrap();
        let found = read.duplicates.iter().map(|d| (d.path.as_str(), d.first, d.last.0));
        let expected =
            [(".k1", 2, size + 3), (".k1", size + 3, size + 5), (".m", size + 2, size + 6)];
        assert_eq!(found.collect::<Vec<_>>(), expected, "{size}");
        let map = read.documents[0].value.as_map().unwrap();
        assert_eq!(
            ["k1", "m", "p"].map(|key| map.get(key)),
            [6, 7, 5].map(Value::from).each_ref().map(Some)
        );
    }
    let many = super::read(&"a: 1\n".repeat(10_000)).unwrap();
    assert_eq!(many.duplicates.len(), MAX_DUPLICATES);
}

#[test]
fn items_of_a_list_know_their_lines() {
    for (text, expected) in [
        (
            "kind: List\nitems:\n- a: 1\n\n-\n  b:\n  - 2\n- &x {c: 3}\n- *x\n",
            &[&[3, 6, 8, 9][..]][..],
        ),
        ("items: [1]\nspec:\n  items:\n  - 2\nitems:\n- 3\n---\nkind: K\n", &[&[6], &[]]),
        ("items:\n- 1\nspec:\n- 2\n---\n- - 1\n", &[&[2], &[]]),
        ("items:\n  a: [1]\n---\n[{items: [1]}]\n", &[&[], &[]]),
    ] {
        let documents = read(text).unwrap().documents;
        let lines: Vec<&[usize]> = documents.iter().map(|d| d.item_lines.as_slice()).collect();
        assert_eq!(lines, expected, "{text:?}");
    }
}
