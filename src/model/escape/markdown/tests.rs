use super::*;
use proptest::prelude::*;
use pulldown_cmark::{Event, Options, Parser, Tag, TagEnd};

/// The text that is shown, and what is more than text: events other than those of paragraphs, tables
/// and code, and text that GitHub would link.
fn rendered(markdown: &str) -> (String, Vec<String>) {
    let options = Options::ENABLE_TABLES
        | Options::ENABLE_STRIKETHROUGH
        | Options::ENABLE_TASKLISTS
        | Options::ENABLE_FOOTNOTES
        | Options::ENABLE_GFM
        | Options::ENABLE_MATH;
    let (mut shown, mut others) = (String::new(), Vec::new());
    let mut is_code = false;
    for event in Parser::new_ext(markdown, options) {
        match event {
            Event::Text(text) => {
                if !is_code && is_linked(&text) {
                    others.push(format!("a link of GitHub's in {text:?}"));
                }
                shown.push_str(&text);
            }
            Event::Code(text) => shown.push_str(&text),
            Event::InlineHtml(tag) if matches!(&*tag, "<code>" | "</code>") => {
                is_code = &*tag == "<code>";
            }
            Event::SoftBreak => shown.push(' '),
            Event::Start(
                Tag::Paragraph | Tag::Table(_) | Tag::TableHead | Tag::TableRow | Tag::TableCell,
            )
            | Event::End(
                TagEnd::Paragraph
                | TagEnd::Table
                | TagEnd::TableHead
                | TagEnd::TableRow
                | TagEnd::TableCell,
            ) => {}
            other => others.push(format!("{other:?}")),
        }
    }
    (shown, others)
}

const HOSTILE: &[&str] = &[
    "plain text of a bundle",
    "# heading",
    "- item",
    "1. item",
    "+ x",
    "===",
    "> quote",
    "    code",
    "```",
    "~~~",
    "~~a~~",
    "**bold** _em_ a_b_c",
    "[a](http://b)",
    "![a](https://b/c.png)",
    "<img src=x onerror=y>",
    "<script>alert(1)</script>",
    "<!-- x",
    "&lt;b&gt;",
    "http://example.com/a",
    "www.example.com",
    "a@example.com",
    "@someone",
    "owner/repository#12",
    "GH-12",
    "a | b",
    "a \\| b",
    "`a`",
    "``<img src=x>",
    "` <img src=x> `",
    "a ``` b ` c",
    "\\",
    "a\\",
    "[^1]",
    "[x]: http://a",
    "a\n\n# b",
    "a  \nb",
    "x\u{202e}y\u{1b}[31m",
    "$\\href{http://a}{b}$",
    "",
    " ",
    " a ",
];

/// `text` in each place that Markdown has for it.
fn places(text: &str) -> [String; 4] {
    [
        text.to_owned(),
        format!("before {text} after\n"),
        format!("| a | b |\n|---|---|\n| {text} | c |\n"),
        format!("{text}\n{text}\n"),
    ]
}

fn check(hostile: &str) {
    let shown: String = visible(hostile).split_whitespace().collect::<Vec<_>>().join(" ");
    for markdown in places(&text(hostile)) {
        let (seen, others) = rendered(&markdown);
        assert_eq!(others, Vec::<String>::new(), "{hostile:?}: {markdown}");
        assert!(seen.contains(&shown), "{hostile:?}: {seen:?} of {markdown}");
    }
    let shown = crate::escape::replace_bracket_commands(visible(hostile), "\\u{23}");
    for markdown in places(&code(hostile)) {
        let (seen, others) = rendered(&markdown);
        assert_eq!(others, Vec::<String>::new(), "{hostile:?}: {markdown}");
        assert!(seen.contains(shown.trim()), "{hostile:?}: {seen:?} of {markdown}");
    }
    for sentence_of_ours in [
        hostile.to_owned(),
        format!("image `{hostile}` of {hostile} is now `{hostile}`"),
        format!("{hostile} has `{hostile}"),
    ] {
        for markdown in places(&sentence(&sentence_of_ours)) {
            let (_, others) = rendered(&markdown);
            assert_eq!(others, Vec::<String>::new(), "{hostile:?}: {markdown}");
        }
    }
}

#[test]
fn nothing_hostile_means_anything() {
    HOSTILE.iter().for_each(|hostile| check(hostile));
}

#[test]
fn plain_text_stays_as_it_is() {
    let plain = "Sealing Wax Operator 1.1.0, compiled (a_b-c); 50 % of x/y: \"z\" it's - 1. + a.";
    assert_eq!(text(plain), plain);
    assert_eq!(code("a b"), "`a b`");
    assert_eq!(sentence("image `a` of b: c"), "image `a` of b: c");
    assert_eq!(sentence("`a`, `b`"), "`a`, `b`");
}

#[test]
fn a_fence_is_longer_than_what_it_holds() {
    assert_eq!(fence(["a", "b`"]), "```");
    assert_eq!(fence(["a```", "b`````c"]), "``````");
}

proptest! {
    #[test]
    fn no_text_means_anything(
        hostile in r"([-`*_{}\[\]()<>#+.!|~&$^=:/@\\ \n0-9ab]|www|http|GH-|<b>|</b>|`){0,24}"
    ) {
        check(&hostile);
    }
}
