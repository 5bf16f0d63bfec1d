//! Logins in URLs: `user:password` in `https://user:password@host`.

use std::borrow::Cow;
use std::ops::Range;

/// Returns the byte ranges of logins with a password, or over HTTP with a token in place of the user,
/// in order. Those that name variables or placeholders are none.
pub fn logins(text: &str) -> impl Iterator<Item = Range<usize>> {
    text.match_indices("://").filter_map(|(at, separator)| {
        let start = at + separator.len();
        let rest = text.get(start..)?;
        let is_end = |c: char| c.is_whitespace() || "/?#\"'`\\<>,".contains(c);
        let login = rest.get(..rest.find(is_end).unwrap_or(rest.len()))?.rsplit_once('@')?.0;
        // `ssh://git@host` names a user that everybody has.
        let is_http = text[..at].ends_with("http") || text[..at].ends_with("https");
        let is_secret = match login.split_once(':') {
            Some((_, password)) => !password.is_empty(),
            None => is_http && !login.is_empty(),
        };
        let is_written = !login.contains(['$', '{', '*']);
        (is_secret && is_written).then_some(start..start + login.len())
    })
}

/// Returns a text with asterisks for the characters of its logins, so that columns stay.
pub fn without_logins(text: &str) -> Cow<'_, str> {
    let mut shown = Cow::Borrowed(text);
    // From the end, because characters may be longer than asterisks.
    for login in logins(text).collect::<Vec<_>>().into_iter().rev() {
        let stars = "*".repeat(text[login.clone()].chars().count());
        shown.to_mut().replace_range(login, &stars);
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::without_logins;

    #[test]
    fn logins_are_hidden_and_nothing_else() {
        for (text, shown) in [
            ("https://u:pw@a.example/x", "https://****@a.example/x"),
            (
                "write `oci://u:p€@a` or \"http://tok@b\"",
                "write `oci://****@a` or \"http://***@b\"",
            ),
            ("docker://a:b@c@d", "docker://*****@d"),
        ] {
            assert_eq!(without_logins(text), shown);
            assert_eq!(without_logins(shown), shown);
            assert_eq!(text.chars().count(), shown.chars().count());
        }
        for text in [
            "ssh://git@git.example.com/a.git",
            "https://a.example:8080/p@q:r",
            "oci://a.example/b@sha256:0",
            "http://$(USER):$(PASSWORD)@proxy:3128",
            "https://{{ .Values.login }}@a",
            "oci://u:@a",
            "https://@a",
            "a://b, c:d@e",
            "://",
        ] {
            assert_eq!(without_logins(text), text);
        }
    }
}
