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
fn what_json_cannot_hold_is_refused_with_its_place() {
    for (text, message) in [
        ("a: 1\nk: .inf", "`.inf` is a YAML number that JSON and Kubernetes do not support"),
        ("a: 1\nk: -.INF", "`-.INF` is a YAML number that JSON and Kubernetes do not support"),
        ("a: 1\nk: .NaN", "`.NaN` is a YAML number that JSON and Kubernetes do not support"),
        ("a: 1\nk: !!int x", "the value does not match its tag `!!int`"),
        ("a: 1\nk: !!int 1.5", "the value does not match its tag `!!int`"),
        ("a: 1\nk: !!float x", "the value does not match its tag `!!float`"),
        ("a: 1\nk: !!bool x", "the value does not match its tag `!!bool`"),
        ("a: 1\nk: !!null x", "the value does not match its tag `!!null`"),
        ("a: 1\nk: !!binary _", "the value does not match its tag `!!binary`"),
        ("a: 1\nk: !!binary /w==", "the value does not match its tag `!!binary`"),
    ] {
        let (found, line, _, limit) = refusal(text);
        assert_eq!((found.as_str(), line, limit), (message, 2, false), "{text}");
    }
    assert_eq!(refusal("a: 1\nk: .inf").2, 4);
}

#[test]
fn keys_become_strings() {
    let text = "on: x\n1: x\n0x10: x\n1.50: x\n1e7: x\ntrue : x\n'1': z\n.inf: x\n!!str 5: x\n\
                2001-01-01: x\n\"\": x\n=: x\n? a b\n: x\n? - not\n";
    let (message, line, ..) = refusal(text);
    assert_eq!((message.as_str(), line), ("a map key must be a string, number or boolean", 15));
    let read = read_one(&text[..text.len() - "? - not\n".len()]);
    let keys: Vec<&str> = read.as_object().unwrap().keys().map(String::as_str).collect();
    let expected = ["true", "1", "16", "1.5", "1e+07", ".inf", "5", "2001-01-01", "", "=", "a b"];
    assert_eq!(keys, expected);
    assert_eq!(read["1"], "z");
    for text in ["? {a: 1}\n: x", "[a]: x", "~: x", "null: x", "? \n: x", "18446744073709551615: x"]
    {
        assert_eq!(refusal(text).0, "a map key must be a string, number or boolean", "{text}");
    }
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
    for map in ["{<<: 1}", "{<<: [1]}", "{<<: [[*base]]}", "{<<: }"] {
        let (message, line, ..) = refusal(&format!("{base}k: {map}\n"));
        assert_eq!((message.as_str(), line), ("`<<` must refer to a map", 3), "{map}");
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
    for text in ["a: *x", "a: &x 1\n---\nb: *x", "a: &x [*x]", "a: &x {b: *x}"] {
        assert!(!refusal(text).3, "{text}");
    }
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
    for text in
        [laughs("[x]", 9), laughs(&"x".repeat(100_000), 2), laughs(&keys, 2), merges, nested]
    {
        let (message, .., limit) = refusal(&text);
        assert!(limit && message.contains("anchors and aliases"), "{message}");
    }
}

#[test]
fn nesting_is_limited() {
    let deep = 100_000;
    let block_maps: String = (0..2_000).map(|n| format!("{}a:\n", " ".repeat(n))).collect();
    for text in [
        "[".repeat(deep),
        "{a: ".repeat(deep),
        "{\"a\":".repeat(deep),
        format!("{}{}", "[".repeat(deep), "]".repeat(deep)),
        format!("{}1{}", "{\"a\":[".repeat(deep), "]}".repeat(deep)),
        "- ".repeat(deep),
        "? ".repeat(deep),
        block_maps,
    ] {
        let (message, .., limit) = refusal(&text);
        assert!(limit, "{message} {}", &text[..20]);
    }
    // Aliases may not nest what the text itself may not.
    let mut aliases = "a0: &a0 [x]\n".to_owned();
    for level in 1..40 {
        let (open, close) = ("[".repeat(200), "]".repeat(200));
        aliases.push_str(&format!("a{level}: &a{level} {open}*a{}{close}\n", level - 1));
    }
    assert_eq!(refusal(&aliases).0, "lists and maps are nested more than 250 levels deep");
    let fine = format!("{}1{}", "{\"a\":[".repeat(100), "]}".repeat(100));
    assert_eq!(read_all(&fine).len(), 1);
    assert_eq!(read_all(&"- ".repeat(200)).len(), 1);
}

#[test]
fn values_are_limited() {
    let (message, .., limit) = refusal(&format!("[{}]", "1,".repeat(MAX_NODES)));
    assert_eq!((message.as_str(), limit), ("the file has more than 2000000 values", true));
}

#[test]
fn forms_of_maps_and_lists() {
    for (text, expected) in [
        ("? k\n: v\n? l\n", json!({"k": "v", "l": null})),
        ("? |\n  long\n: - v\n", json!({"long\n": ["v"]})),
        ("k:\n- a\n-\n  - b\n- - c\n  - d\n", json!({"k": ["a", ["b"], ["c", "d"]]})),
        ("k:\n  - a: 1\n    b: 2\n  -   c: 3\n", json!({"k": [{"a": 1, "b": 2}, {"c": 3}]})),
        (
            "a: 1\r\nb: |\r\n  x\r\n  y\r\nc: 'd\r\n  e'\r\n",
            json!({"a": 1, "b": "x\ny\n", "c": "d e"}),
        ),
        ("a:\t1\t# c\nb:\t[1,\t2]\n", json!({"a": 1, "b": [1, 2]})),
        (
            "{\n\t\"a\": [\n\t\t1,\n\t\t\"x\\ty\"\n\t],\n\t\"b\": {}\n}\n",
            json!({"a": [1, "x\ty"], "b": {}}),
        ),
        ("{\"smile\":\"\\ud83d\\ude00\",\"s\":\"a\\/b\"}", json!({"smile": "😀", "s": "a/b"})),
        ("{\"a\":1,\"b\":\"c\",\"u\":\"\\u00e9\\n\"}", json!({"a": 1, "b": "c", "u": "é\n"})),
        (
            "{\"n\":1e3,\"m\":-0.5E-2,\"t\":true,\"z\":null}",
            json!({"n": 1000, "m": -0.005, "t": true, "z": null}),
        ),
        ("{\"next\":\"\u{85}\u{2028}\u{2029}\"}", json!({"next": "\u{85}\u{2028}\u{2029}"})),
        ("a: >\n  x\n  y\n\n  z\nb: >-\n  x\n   y\n", json!({"a": "x y\nz\n", "b": "x\n y"})),
        ("a: |+\n  x\n\nb: |2\n    x\n", json!({"a": "x\n\n", "b": "  x\n"})),
        ("a: |\n  x", json!({"a": "x\n"})),
        ("a: one\n  two\n\n  three\n", json!({"a": "one two\nthree"})),
        ("a: \"one\n  two\\\n  three\"\n", json!({"a": "one twothree"})),
    ] {
        assert_eq!(read_one(text), expected, "{text:?}");
    }
    let long = "k".repeat(5_000);
    assert_eq!(read_one(&format!("{{\"{long}\": 1}}"))[&long], 1);
    assert_eq!(read_one(&format!("? {long}\n: 1\n"))[&long], 1);
    let huge = "x y ".repeat(500_000);
    assert_eq!(read_one(&format!("a: \"{huge}\"\n"))["a"], huge);
    assert_eq!(read_one(&format!("a: |\n  {huge}\n"))["a"], format!("{huge}\n"));
    for text in [
        "a:\n\tb: 1\n",
        "a: [1\n",
        "a: \"x\n",
        "a: b: c\n",
        "a: 1\n b: 2\n",
        "- a\nb: 1\n",
        "a: @x",
        "a: `x",
    ] {
        assert!(!refusal(text).3, "{text:?}");
    }
}

/// Texts that YAML 1.2 reads as something else, or not at all.
#[test]
fn yaml_1_1_as_go_reads_it() {
    for (text, expected) in [
        ("a:\n  b: 'first\n  second'\n", json!({"a": {"b": "first second"}})),
        ("a: 'first\nsecond'\nb: 1\n", json!({"a": "first second", "b": 1})),
        ("a: \"first\n\tsecond\"\n", json!({"a": "first second"})),
        ("a: {\n\t\"b\": 1\n}\n", json!({"a": {"b": 1}})),
        ("a: [-]\n", json!({"a": ["-"]})),
        ("a: {b:, c: d}\n", json!({"a": {"b:": null, "c": "d"}})),
        ("a: {a:}\nb: [a:]\n", json!({"a": {"a:": null}, "b": ["a:"]})),
        ("a: x\u{85} y\n", json!({"a": "x y"})),
        ("a: 'x\u{2028} y'\n", json!({"a": "x\u{2028}y"})),
        ("a: |\n  x\u{85}  y\n", json!({"a": "x\ny\n"})),
        ("&x 1e7: a\nb: *x\n", json!({"1e+07": "a", "b": 10_000_000})),
        ("a: x\r\r\n  y\n", json!({"a": "x y"})),
        ("  {a: 1}\n", json!({"a": 1})),
    ] {
        assert_eq!(read_one(text), expected, "{text:?}");
    }
    let long = "k".repeat(1_025);
    for (text, message) in [
        ("a: 1\n...\nb: 2\n", "more after the end of the document"),
        ("a: 1\n...\n@\n", "more after the end of the document"),
        ("[]\n~\n", "more after the end of the document"),
        ("'a'\nb: 1\n", "more after the end of the document"),
        ("--- >-\n  a\n", "after `---` in the same line"),
        ("a: 1\n---b: 1\n", "after `---` in the same line"),
        ("a: 1\n----\nb: 1\n", "after `---` in the same line"),
        ("a: |\n  x\n---\ty\n", "after `---` in the same line"),
        ("&x:y a: 1\n", "the name of an anchor"),
        ("a: 1\n\t\nb: 2\n", "found a tab"),
        ("-\ta: 1\n", "found a tab"),
        ("a: \"\\/\"\n", "no escape of YAML 1.1"),
        ("a: \"\\ud83d\\ude00\"\n", "no Unicode character"),
        ("%YAML 1.2\n---\na: 1\n", "directives"),
        ("a: 1\n\u{feff}b: 2\n", "byte order mark"),
        ("a: \u{7f}\n", "control character U+007F"),
        (&format!("{long}: 1\n"), "mapping values are not allowed"),
        ("x: &x [{a: 1}]\nb: {<<: *x}\n", "must refer to a map"),
        ("a: !!float 18446744073709551615\n", "does not match its tag"),
        ("a: !e!x 1\n", "tag handle `!e!`"),
        ("[]: x\n", "a map key must be"),
    ] {
        let (found, ..) = refusal(text);
        assert!(found.contains(message), "{text:?}: {found}");
    }
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

/// Go reads a text that begins with a JSON object by the rules of JSON, as far as it is JSON.
#[test]
fn json_is_read_as_json() {
    for (text, expected) in [
        ("{\"a\": \"\\ud83d\"}", vec![json!({"a": "\u{fffd}"})]),
        ("{\"a\": \"\u{7f}\"}", vec![json!({"a": "\u{7f}"})]),
        ("{\"a\": 1}\n{\"b\": 2}\n", vec![json!({"a": 1}), json!({"b": 2})]),
        ("{\"a\": 1}\n---\nb: 2\n", vec![json!({"a": 1}), json!({"b": 2})]),
        ("{\"a\": 1,}\n", vec![json!({"a": 1})]),
        ("{\"<<\": {\"a\": 1}}", vec![json!({"<<": {"a": 1}})]),
    ] {
        assert_eq!(read_all(text), expected, "{text:?}");
    }
    let numbers: Vec<usize> =
        read("{\"a\": 1}{\"b\": 2}").unwrap().documents.iter().map(|d| d.number).collect();
    assert_eq!(numbers, [1, 2]);
    for (text, message) in [
        ("{\"a\": 1e400}", "that JSON and Kubernetes do not support"),
        ("{\"a\": 1}\nb: 2\n", "found no JSON object after a JSON object"),
        ("{\"a\": 1} {\"b\": 2}\n---\nc: 3\n", "found no JSON object after a JSON object"),
    ] {
        let (found, ..) = refusal(text);
        assert!(found.contains(message), "{text:?}: {found}");
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
    let many = super::read(&"a: 1\n".repeat(10_000)).unwrap();
    assert_eq!(many.duplicates.len(), MAX_DUPLICATES);
}

#[test]
fn items_of_a_list_know_their_lines() {
    let text = "kind: List\nitems:\n- a: 1\n\n-\n  b:\n  - 2\n- &x {c: 3}\n- *x\n";
    assert_eq!(read(text).unwrap().documents[0].item_lines, [3, 6, 8, 9]);
    let text = "items: [1]\nspec:\n  items:\n  - 2\nitems:\n- 3\n---\nkind: K\n";
    let read = read(text).unwrap();
    assert_eq!(read.documents[0].item_lines, [6]);
    assert!(read.documents[1].item_lines.is_empty());
}
