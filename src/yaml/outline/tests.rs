use super::*;
use std::fmt::Write as _;

/// Returns the places of a value: key, or number of an item, and text, each level further in.
fn shown(node: &Node<'_>, depth: usize, out: &mut String) {
    let Mark { line, .. } = node.start;
    let name = node.key.as_deref().unwrap_or("-");
    let text = node.text().unwrap_or("…");
    let _ = writeln!(out, "{}{line}:{} {name} {text}", "  ".repeat(depth), node.start.offset);
    node.children.iter().for_each(|child| shown(child, depth + 1, out));
}

#[test]
fn values_have_places() {
    for (text, expected) in [
        ("# c\n---\na: 1\n---\n\n---\nb\n", "1 whole\n3:8 - …\n  3:8 a 1\n3 whole\n7:22 - b\n"),
        (
            "a:\n- b\n- [c, 'd']\n- {}\ne: &x {f: g}\nh: *x\n? [i]\n: j\n",
            "1 whole\n1:0 - …\n  1:0 a …\n    2:5 - b\n    3:9 - …\n      3:10 - c\n      3:13 - d\n    \
             4:20 - …\n  5:23 e …\n    5:30 f g\n  6:36 h …\n  7:44  j\n",
        ),
        (
            "a: 1\nb: [c, {d: e,\n",
            "1\n1:0 - …\n  1:0 a 1\n  2:5 b …\n    2:9 - c\n    2:12 - …\n      2:13 d e\n",
        ),
        ("a: 1\n---\n@\n", "1 whole\n1:0 - …\n  1:0 a 1\n"),
        ("{\"a\": [true]}", "1 whole\n1:0 - …\n  1:1 a …\n    1:7 - true\n"),
    ] {
        let mut found = String::new();
        for Document { number, is_whole, root } in outline(text) {
            let _ = writeln!(found, "{number}{}", if is_whole { " whole" } else { "" });
            shown(&root, 0, &mut found);
        }
        assert_eq!(found, expected, "{text:?}");
    }
}

/// The last part of a path that exists is its place; of equal keys the last counts.
#[test]
fn paths_are_found_as_far_as_they_exist() {
    let text = "a: 1\nb:\n- c: 2\n- d\na:\n  e: 3\n";
    let [document] = &outline(text)[..] else { panic!("one document") };
    let key = |key: &str| Step::Key(key.to_owned());
    for (steps, line) in [
        (vec![], 1),
        (vec![key("a")], 5),
        (vec![key("a"), key("e")], 6),
        (vec![key("a"), key("missing"), key("e")], 5),
        (vec![key("b"), Step::Index(0), key("c")], 3),
        (vec![key("b"), Step::Index(1)], 4),
        (vec![key("b"), Step::Index(2)], 2),
        (vec![key("b"), key("d")], 2),
        (vec![Step::Index(0)], 1),
    ] {
        assert_eq!(document.root.find(&steps).line, line, "{steps:?}");
    }
}
