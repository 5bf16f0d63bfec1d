use super::*;

#[test]
fn the_list_of_hidden_characters_is_that_of_unicode() {
    let class =
        r"^[[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}]--[\x{fe00}-\x{fe0f}]]$";
    let class = regex::Regex::new(class).unwrap();
    let mut wrong = Vec::new();
    for character in '\0'..=char::MAX {
        if class.is_match(character.encode_utf8(&mut [0; 4])) != is_hidden(character) {
            wrong.push(character.escape_unicode().to_string());
        }
    }
    assert_eq!(wrong.join(" "), "");
}

#[test]
fn what_is_hidden_is_shown() {
    assert_eq!(line("plain ü 漢 🙂\u{fe0f}"), "plain ü 漢 🙂\u{fe0f}");
    assert!(matches!(line("plain"), Cow::Borrowed(_)));
    assert_eq!(
        line("a\u{1b}[31m\u{7}\0\u{9b}2J\u{202e}b\u{e0041}\tc\r\nd\u{2028}"),
        r"a\u{1b}[31m\u{7}\u{0}\u{9b}2J\u{202e}b\u{e0041}    c\r\nd\u{2028}"
    );
    assert_eq!(lines("a\u{1b}\n\u{85}b\n"), "a\\u{1b}\n\\u{85}b\n");
}

#[test]
fn no_line_is_an_order_to_a_runner() {
    for (text, safe) in [
        ("::error::x", r"\u{3a}:error::x"),
        (" \u{a0}\t::add-mask::x", "\u{a0}"),
        ("::", r"\u{3a}:"),
        ("a::b", "a::b"),
        ("x ##[error]y", r"x #\u{23}[error]y"),
        ("##vso[task.setvariable variable=a]b", r"#\u{23}vso[task.setvariable variable=a]b"),
        ("###[a] ##teamcity[b] ##", r"##\u{23}[a] #\u{23}teamcity[b] ##"),
        ("## heading [link]", "## heading [link]"),
    ] {
        let line = line(text);
        assert!(line.contains(safe), "{line}");
        assert!(!line.trim_start().starts_with("::"), "{line}");
        assert_eq!(bracket_command(&line), None, "{line}");
    }
    assert_eq!(lines("a\n  ::error::x\nb"), "a\n  \\u{3a}:error::x\nb");
    assert_eq!(painted("\u{1b}[1ma\u{1b}[0m\n::b"), "\u{1b}[1ma\u{1b}[0m\n\\u{3a}:b");
}

#[test]
fn a_json_document_keeps_its_value() {
    let value = serde_json::json!({
        "a\u{7f}\u{9b}\u{202e}": ["\u{1b}\n\u{e0041}", "##[error]x ##", "::error::", "\\\u{85}"],
    });
    for document in [format!("{value:#}\n"), value.to_string()] {
        let safe = json(&document);
        assert!(!safe.chars().any(|c| is_hidden(c) && c != '\n'), "{safe}");
        assert!(safe.lines().all(|line| bracket_command(line).is_none()), "{safe}");
        assert_eq!(serde_json::from_str::<serde_json::Value>(&safe).unwrap(), value);
    }
}

#[test]
fn html_has_no_markup() {
    assert_eq!(
        html("<a b='c' d=\"e\">&\u{1b}\n</a>"),
        "&lt;a b=&#39;c&#39; d=&quot;e&quot;&gt;&amp;\\u{1b}\\n&lt;/a&gt;"
    );
    assert_eq!(html(" ::error::x ##[y]"), " &#58;&#58;error&#58;&#58;x #&#35;[y]");
}

#[test]
fn lines_are_pushed_one_by_one() {
    let mut lines = Lines::new();
    assert!(lines.is_empty());
    lines.push("a\n::error::b");
    lines.push("::c");
    lines.append(["d"].into_iter().collect());
    assert_eq!(lines.as_str(), "a\\n::error::b\n\\u{3a}:c\nd\n");
}
