//! Authentication challenges of registries: the WWW-Authenticate header (RFC 9110, section 11.6.1).

/// A way to authenticate that a registry offers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Challenge {
    /// A user name and a password with each request.
    Basic,
    /// A token from a token server (the distribution specification's token authentication).
    Bearer {
        /// URL of the token server.
        realm: String,
        /// Service that the token is for.
        service: Option<String>,
    },
}

/// Parses the header's values into challenges, tokens first; unknown schemes are ignored.
pub(super) fn parse<'v>(values: impl Iterator<Item = &'v str>) -> Vec<Challenge> {
    let mut offers = Vec::new();
    for value in values {
        for (scheme, parameters) in schemes(value) {
            let parameter = |name: &str| {
                let found = parameters.iter().find(|(key, _)| key.eq_ignore_ascii_case(name));
                found.map(|(_, value)| value.clone())
            };
            // Schemes and parameter names are case-insensitive (RFC 9110, section 11.1).
            if scheme.eq_ignore_ascii_case("basic") {
                offers.push(Challenge::Basic);
            } else if scheme.eq_ignore_ascii_case("bearer")
                && let Some(realm) = parameter("realm")
            {
                offers.insert(0, Challenge::Bearer { realm, service: parameter("service") });
            }
        }
    }
    offers
}

/// Returns the schemes of a header with their parameters.
fn schemes(value: &str) -> Vec<(String, Vec<(String, String)>)> {
    let mut found: Vec<(String, Vec<(String, String)>)> = Vec::new();
    let mut rest = value.trim_start();
    while !rest.is_empty() {
        let end = rest.find([' ', ',', '=']).unwrap_or(rest.len());
        let (word, after) = rest.split_at(end);
        let tail = after.trim_start();
        if let (Some(given), Some((_, parameters))) = (tail.strip_prefix('='), found.last_mut()) {
            let (text, after) = parameter_value(given.trim_start());
            parameters.push((word.to_owned(), text));
            rest = after;
        } else if word.is_empty() {
            // Not a header that makes sense from here on.
            let skipped = rest.chars().next().map_or(0, char::len_utf8);
            rest = &rest[skipped..];
        } else {
            found.push((word.to_owned(), Vec::new()));
            rest = after;
        }
        rest = rest.trim_start_matches([' ', ',', '\t']);
    }
    found
}

/// Returns a token or a quoted string, and what comes after it.
fn parameter_value(text: &str) -> (String, &str) {
    let Some(quoted) = text.strip_prefix('"') else {
        let end = text.find([',', ' ']).unwrap_or(text.len());
        return (text[..end].to_owned(), &text[end..]);
    };
    let mut value = String::new();
    let mut characters = quoted.char_indices();
    while let Some((index, character)) = characters.next() {
        match character {
            '"' => return (value, &quoted[index + 1..]),
            '\\' => value.extend(characters.next().map(|(_, escaped)| escaped)),
            other => value.push(other),
        }
    }
    (value, "")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bearer(realm: &str, service: Option<&str>) -> Challenge {
        Challenge::Bearer { realm: realm.to_owned(), service: service.map(str::to_owned) }
    }

    #[test]
    fn challenges_are_read() {
        let parse = |values: &[&'static str]| super::parse(values.iter().copied());
        assert_eq!(parse(&["Basic realm=\"a, b\""]), [Challenge::Basic]);
        assert_eq!(
            parse(&["Bearer realm=\"https://a/token\",service=\"b\",scope=\"repository:c:pull\""]),
            [bearer("https://a/token", Some("b"))]
        );
        assert_eq!(
            parse(&["Basic realm=x, bearer Realm = \"https://a/\\\"q\" , Service=b"]),
            [bearer("https://a/\"q", Some("b")), Challenge::Basic]
        );
        assert_eq!(
            parse(&["Basic", "Bearer realm=https://a"]),
            [bearer("https://a", None), Challenge::Basic]
        );
    }

    #[test]
    fn nonsense_offers_nothing() {
        for value in ["", "=", "Bearer", "Negotiate abc==", "\"", ",,=,", "Bearer realm", "é="] {
            assert_eq!(parse([value].into_iter()), [], "{value:?}");
        }
        assert_eq!(parse(["Bearer realm=\"open"].into_iter()), [bearer("open", None)]);
    }
}
