use super::*;

/// The events of a text in short, each after its line and column. JSON is marked, as are quotes.
fn events(text: &str) -> String {
    let (mut events, mut shown, mut number) = (Events::new(text), Vec::new(), 0);
    while let Some(next) = events.next() {
        let (event, mark) = next.unwrap_or_else(|error| panic!("{error:?}\n{text}"));
        let properties = |anchor, tag: Option<Box<str>>| {
            let anchor = if anchor == 0 { String::new() } else { format!("&{anchor} ") };
            anchor + &tag.map_or(String::new(), |tag| format!("!<{tag}> "))
        };
        let event = match event {
            Event::Scalar { text, style, anchor, tag } => {
                let shown = match style {
                    Style::Plain if text.is_empty() => "~".to_owned(),
                    Style::Plain => text.into_owned(),
                    Style::Quoted => format!("'{text}'"),
                    Style::Json => format!("JSON {text}"),
                };
                properties(anchor, tag) + &shown
            }
            Event::Alias(anchor) => format!("*{anchor}"),
            Event::SequenceStart { anchor } => properties(anchor, None) + "[",
            Event::SequenceEnd => "]".to_owned(),
            Event::MappingStart { anchor } => properties(anchor, None) + "{",
            Event::MappingEnd => "}".to_owned(),
        };
        if number != events.document() {
            number = events.document();
            shown.push(format!("#{number}"));
        }
        shown.push(format!("{}:{} {event}", mark.line, mark.column(text)));
    }
    shown.join(", ")
}

/// Numbers of documents, anchors, empty values, and each form of a list, a map or a pair.
#[test]
fn events_have_places() {
    for (text, expected) in [
        (
            "# c\né: &x !!int 5\nb:\n- *x\n-\n---\n{\"ü\": [1,\n  'z']}\n",
            "#1, 2:1 {, 2:1 é, 2:4 &1 !<tag:yaml.org,2002:int> 5, 3:1 b, 4:1 [, 4:3 *1, 5:2 ~, 6:1 ], 6:1 }, #2, 7:1 {, 7:2 'ü', 7:7 [, 7:8 1, 8:3 'z', 8:6 ], 8:7 }",
        ),
        (
            "{\n \"é\": [1,\n\"\\/\"]\n}",
            "#1, 1:1 {, 2:2 'é', 2:7 [, 2:8 JSON 1, 3:1 '/', 3:5 ], 4:1 }",
        ),
        (
            "{\"a\": {}}\n \n\n[true, []]",
            "#1, 1:1 {, 1:2 'a', 1:7 {, 1:8 }, 1:9 }, #2, 4:1 [, 4:2 JSON true, 4:8 [, 4:9 ], 4:10 ]",
        ),
        ("- a\n-\n- - b\n  -\n", "#1, 1:1 [, 1:3 a, 2:2 ~, 3:3 [, 3:5 b, 4:4 ~, 5:1 ], 5:1 ]"),
        (
            "a:\nb:\n? c\n? d\n: e\n",
            "#1, 1:1 {, 1:1 a, 1:3 ~, 2:1 b, 2:3 ~, 3:3 c, 4:1 ~, 4:3 d, 5:3 e, 6:1 }",
        ),
        ("?\n- a\n:\n- b\n", "#1, 1:1 {, 2:1 [, 2:3 a, 3:1 ], 4:1 [, 4:3 b, 5:1 ], 5:1 }"),
        ("- &a\n- b\n", "#1, 1:1 [, 1:3 &1 ~, 2:3 b, 3:1 ]"),
        (
            "k:\n- &a\n- b\n- !t\nl:\n-\nm:\n",
            "#1, 1:1 {, 1:1 k, 2:1 [, 2:3 &1 ~, 3:3 b, 4:3 !<!t> ~, 5:1 ], 5:1 l, 6:1 [, 6:2 ~, 7:1 ], 7:1 m, 7:3 ~, 8:1 }",
        ),
        (
            "[a: b, ? c, ? , ? d : e, {f: , ? : g, ? h}, [? : i, j: ]]",
            "#1, 1:1 [, 1:2 {, 1:2 a, 1:5 b, 1:6 }, 1:8 {, 1:10 c, 1:11 ~, 1:11 }, 1:13 {, 1:15 ~, 1:15 ~, 1:15 }, 1:17 {, 1:19 d, 1:23 e, 1:24 }, 1:26 {, 1:27 f, 1:30 ~, 1:34 ~, 1:36 g, 1:41 h, 1:42 ~, 1:42 }, 1:45 [, 1:46 {, 1:48 ~, 1:50 i, 1:51 }, 1:53 {, 1:53 j, 1:56 ~, 1:56 }, 1:56 ], 1:57 ]",
        ),
        (
            "? a: b\n: c: d\n",
            "#1, 1:1 {, 1:3 {, 1:3 a, 1:6 b, 2:1 }, 2:3 {, 2:3 c, 2:6 d, 3:1 }, 3:1 }",
        ),
        ("\n  {a: b}\n", "#1, 2:3 {, 2:4 a, 2:7 b, 2:8 }"),
        ("{\"a\": 1} # c\n---\n  b\n", "#1, 1:1 {, 1:2 'a', 1:7 JSON 1, 1:8 }, #2, 3:3 b"),
        ("&a [1]\n", "#1, 1:1 &1 [, 1:5 1, 1:6 ]"),
        (
            "{&a k: &b {}, *a : *b}",
            "#1, 1:1 {, 1:2 &1 k, 1:8 &2 {, 1:12 }, 1:15 *1, 1:20 *2, 1:22 }",
        ),
        (
            "\u{feff}a: 'b'\n---\n\u{feff}c: >\n  d\n",
            "#1, 1:1 {, 1:1 a, 1:4 'b', 2:1 }, #2, 3:1 {, 3:1 c, 3:4 'd\n', 5:1 }",
        ),
        ("---\na\n", "#1, 2:1 a"),
        ("---\n---\n- a\n", "#1, 2:1 ~, #2, 3:1 [, 3:3 a, 4:1 ]"),
        ("# c\n---\n\n---\n--- # d\n- a\n", "#3, 6:1 [, 6:3 a, 7:1 ]"),
        (
            "'a' : b\n\"c\":\n  d: e # f\ng: h\n",
            "#1, 1:1 {, 1:1 'a', 1:7 b, 2:1 'c', 3:3 {, 3:3 d, 3:6 e, 4:1 }, 4:1 g, 4:4 h, 5:1 }",
        ),
        ("a:   b  \nc : d\n", "#1, 1:1 {, 1:1 a, 1:6 b, 2:1 c, 2:5 d, 3:1 }"),
        ("x\n", "#1, 1:1 x"),
        ("[? a : b]", "#1, 1:1 [, 1:2 {, 1:4 a, 1:8 b, 1:9 }, 1:9 ]"),
        ("[a\n,{b\n:c}]", "#1, 1:1 [, 1:2 a, 2:2 {, 2:3 b :c, 3:3 ~, 3:3 }, 3:4 ]"),
    ] {
        assert_eq!(events(text), expected, "{text:?}");
    }
}

#[test]
fn long_lines_take_linear_time() {
    // Quadratic work would take minutes.
    let keys = "{a: ".repeat(100) + &"[b, 'c', {d: e}], ".repeat(20_000);
    assert!(Events::new(&keys).any(|event| event.is_err()));
    let json = format!("{{\"a\": [{}1]}}", "{\"b\": \"c\"}, ".repeat(20_000));
    assert!(Events::new(&json).all(|event| event.is_ok()));
    let documents = "a: 1\n---\n".repeat(20_000);
    assert!(Events::new(&documents).all(|event| event.is_ok()));
}

/// Pieces of texts in which lines of every kind meet.
const PIECES: [&str; 40] = [
    "\n", "\n", "\n", "\n  ", "\n  ", "\n    ", "\n- ", "\n  - ", " ", "  ", "\t", "a", "b: c",
    "key:", ": ", ":", ":x", " :", " #", "#", "# no", "- ", "-", "? ", "'", "\"", "[", "]",
    "{a: b}", "&a ", "*a", "!!str ", "|\n", ">-\n", "...", "---", "\u{85}", "\u{e9}", "\u{2028}",
    "<<: ",
];

/// The events of a text up to the first mistake, with their lines and columns.
fn described(text: &str) -> Vec<String> {
    let describe = |next: Result<(Event<'_>, Mark), super::Error>| match next {
        Ok((event, mark)) => format!("{event:?} {}:{}", mark.line, mark.column(text)),
        Err(error) => format!("{} {}:{}", error.message, error.mark.line, error.mark.column(text)),
    };
    Events::new(text).map(describe).collect()
}

proptest::proptest! {
    #![proptest_config(proptest::prelude::ProptestConfig::with_cases(20_000))]

    /// Lines that end in `\r\n` mean the same, and are read in the general way, without the short cut
    /// for lines that hold a key or a scalar.
    #[test]
    fn short_cuts_change_nothing(
        pieces in proptest::collection::vec(proptest::sample::select(&PIECES[..]), 0..24)
    ) {
        let text = format!("{}\n", pieces.concat());
        proptest::prop_assert_eq!(described(&text), described(&text.replace('\n', "\r\n")));
    }
}

#[test]
fn manifests_are_read_as_literal() {
    let text = "a: {b: [{c: d}]}\ne: 1\n";
    let mut read = crate::parse(text).unwrap();
    let crate::ir::Value::Map(mut root) = read.remove(0) else { panic!("a map") };
    assert!(root.is_literal());
    assert_eq!(root.get_mut("missing"), None);
    assert!(root.is_literal());
}
