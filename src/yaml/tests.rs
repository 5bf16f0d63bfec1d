use super::*;

/// The events of a text in short, with the line and column of each.
fn events(text: &str) -> Vec<(String, usize, usize)> {
    Events::new(text)
        .map(|next| {
            let (event, mark) = next.unwrap_or_else(|error| panic!("{error:?}\n{text}"));
            let shown = match event {
                Event::DocumentStart(number) => format!("document {number}"),
                Event::DocumentEnd => "end".to_owned(),
                Event::Scalar { text, anchor, tag, .. } => {
                    let tag = tag.map_or(String::new(), |tag| format!(" {tag}"));
                    let anchor = if anchor == 0 { String::new() } else { format!(" &{anchor}") };
                    format!("{text:?}{anchor}{tag}")
                }
                Event::Alias(anchor) => format!("*{anchor}"),
                Event::SequenceStart { .. } => "[".to_owned(),
                Event::SequenceEnd => "]".to_owned(),
                Event::MappingStart { .. } => "{".to_owned(),
                Event::MappingEnd => "}".to_owned(),
            };
            (shown, mark.line, mark.column(text))
        })
        .collect()
}

fn error(text: &str) -> Error {
    Events::new(text).find_map(Result::err).unwrap_or_else(|| panic!("{text}"))
}

#[test]
fn events_have_places() {
    let text = "# c\né: &x !!int 5\nb:\n- *x\n-\n---\n{\"ü\": [1,\n  'z']}\n";
    let expected = [
        ("document 1", 2, 1),
        ("{", 2, 1),
        ("\"é\"", 2, 1),
        ("\"5\" &1 tag:yaml.org,2002:int", 2, 4),
        ("\"b\"", 3, 1),
        ("[", 4, 1),
        ("*1", 4, 3),
        ("\"\"", 5, 2),
        ("]", 6, 1),
        ("}", 6, 1),
        ("end", 6, 1),
        ("document 2", 7, 1),
        ("{", 7, 1),
        ("\"ü\"", 7, 2),
        ("[", 7, 7),
        ("\"1\"", 7, 8),
        ("\"z\"", 8, 3),
        ("]", 8, 6),
        ("}", 8, 7),
        ("end", 9, 1),
    ];
    let expected = expected.map(|(event, line, column)| (event.to_owned(), line, column));
    assert_eq!(events(text), expected);
}

#[test]
fn json_has_places() {
    let expected = [
        ("document 1", 1, 1),
        ("{", 1, 1),
        ("\"é\"", 2, 2),
        ("[", 2, 7),
        ("\"1\"", 2, 8),
        ("\"/\"", 3, 1),
        ("]", 3, 5),
        ("}", 4, 1),
        ("end", 4, 2),
    ];
    let expected = expected.map(|(event, line, column)| (event.to_owned(), line, column));
    assert_eq!(events("{\n \"é\": [1,\n\"\\/\"]\n}"), expected);
}

#[test]
fn errors_have_places() {
    for (text, line, column) in [
        ("a: 1\nbé: @x\n", 2, 5),
        ("a: 1\n---\nb: [1\n", 3, 4),
        ("a: 1\nb: {c: [1,\n", 2, 8),
        ("a: {b: \n\n", 1, 4),
        ("a:\n  b: 1\n c: 2\n", 3, 2),
        ("a: 1\n--- b\n", 2, 1),
        ("a: \"x\n", 1, 4),
        ("a: \"é\\q\"\n", 1, 6),
        ("a: b: c\n", 1, 5),
        ("a: 1\nb\nc: 2\n", 2, 1),
        ("a: é\u{1}\n", 1, 5),
    ] {
        let found = error(text);
        assert_eq!((found.mark.line, found.mark.column(text)), (line, column), "{found:?}");
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
