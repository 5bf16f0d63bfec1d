//! Patterns of CRDs, which are regular expressions of Go, for the engine of this program.

/// Translates a pattern: in Go, `\d`, `\s`, `\w` and `\b` are about ASCII, and `[` in a class and `&&`
/// are characters.
pub fn pattern(go: &str) -> String {
    let mut text = String::with_capacity(go.len());
    let mut in_class = false;
    let mut rest = go.chars().peekable();
    while let Some(c) = rest.next() {
        match c {
            '\\' => {
                let Some(escaped) = rest.next() else { break };
                let class = match escaped.to_ascii_lowercase() {
                    'd' => "0-9",
                    'w' => "0-9A-Za-z_",
                    's' => "\\t\\n\\f\\r ",
                    'b' if !in_class => {
                        text.push_str(&format!("(?-u:\\{escaped})"));
                        continue;
                    }
                    _ => {
                        text.extend(['\\', escaped]);
                        continue;
                    }
                };
                match (escaped.is_ascii_uppercase(), in_class) {
                    (true, _) => text.push_str(&format!("[^{class}]")),
                    (false, true) => text.push_str(class),
                    (false, false) => text.push_str(&format!("[{class}]")),
                }
            }
            '[' if in_class && rest.peek() == Some(&':') => {
                // `[:alpha:]`
                text.push('[');
                for c in rest.by_ref() {
                    text.push(c);
                    if c == ']' {
                        break;
                    }
                }
            }
            '[' if in_class => text.push_str("\\["),
            '[' => {
                in_class = true;
                text.push('[');
                for first in ['^', ']'] {
                    if rest.next_if_eq(&first).is_some() {
                        text.push_str(if first == ']' { "\\]" } else { "^" });
                    }
                }
                if rest.next_if_eq(&'-').is_some() {
                    text.push_str("\\-");
                }
            }
            ']' => {
                in_class = false;
                text.push(']');
            }
            // Twice, they are operators on classes here, which Go does not have.
            '&' | '~' if in_class => text.extend(['\\', c]),
            '-' if in_class && rest.next_if_eq(&'-').is_some() => text.push_str("-\\-"),
            c => text.push(c),
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::pattern;
    use regex::Regex;

    #[test]
    fn patterns_mean_what_they_mean_in_go() {
        let is_match = |go: &str, text: &str| Regex::new(&pattern(go)).expect(go).is_match(text);
        for (go, matches, differs) in [
            (r"^\d+$", "12", "١"),
            (r"^\D+$", "ab", "1"),
            (r"^[\d.]+$", "1.2", "١"),
            (r"^[\W]+$", "-ä", "a"),
            (r"^[^\w]+$", "-ä", "a"),
            (r"^\w{1,3}$", "a_1", "ä"),
            (r"^[[:alpha:]_]+$", "a_", "1"),
            (r"^[]a]+$", "]a", "b"),
            (r"^[+--]+$", "+,-", "."),
            (r"^[--/]+$", "-./", ","),
            (r"^[^--/]+$", ",", "."),
            (r"^[^]a]+$", "b", "]"),
            (r"^[[a]+$", "[a", "b"),
            (r"^[a&&b]+$", "&a", "c"),
            (r"^a\.b$", "a.b", "acb"),
            (r"^\[\]$", "[]", "a"),
            (r"a\b", "a ä", "ab"),
        ] {
            assert!(is_match(go, matches), "{go} {matches}");
            assert!(!is_match(go, differs), "{go} {differs}");
        }
    }
}
