//! Logins in URLs and image references: `user:password` in `https://user:password@host`.

use crate::ir::ImageReference;
use std::borrow::Cow;
use std::ops::Range;

/// Most characters of a login or host without a scheme, so that a long text is not read again for each
/// `@`.
const LONGEST: usize = 256;

/// Returns the byte ranges of logins with a password, or over HTTP with a token in place of the user,
/// in order. Those that name variables or placeholders are none.
pub fn logins(text: &str) -> Vec<Range<usize>> {
    let is_end = |c: char| c.is_whitespace() || "/?#\"'`\\<>,".contains(c);
    let of_urls = text.match_indices("://").filter_map(|(at, separator)| {
        let start = at + separator.len();
        let rest = text.get(start..)?;
        let login = rest.get(..rest.find(is_end).unwrap_or(rest.len()))?.rsplit_once('@')?.0;
        // `ssh://git@host` names a user that everybody has.
        let is_http = text[..at].ends_with("http") || text[..at].ends_with("https");
        let is_secret = match login.split_once(':') {
            Some((_, password)) => !password.is_empty(),
            None => is_http && !login.is_empty(),
        };
        is_secret.then_some(start..start + login.len())
    });
    // Of image references, which have no scheme.
    let bare = text.match_indices('@').filter_map(|(end, _)| {
        let before = text[..end].char_indices().rev().take(LONGEST);
        let start = before.take_while(|(_, c)| !is_end(*c) && !"=(".contains(*c)).last()?.0;
        let after = text.get(end + 1..)?;
        let (length, next) = after.char_indices().take(LONGEST).find(|(_, c)| is_end(*c))?;
        let is_host = next == '/' && ImageReference::is_registry(&after[..length]);
        let (_, password) = text[start..end].split_once(':')?;
        let is_url = text[..start].ends_with("://");
        (is_host && !password.is_empty() && !is_url).then_some(start..end)
    });
    let mut logins: Vec<Range<usize>> = of_urls.chain(bare).collect();
    logins.retain(|login| !text[login.clone()].contains(['$', '{', '*']));
    logins.sort_by_key(|login| login.start);
    logins
}

/// Returns a text with asterisks for the characters of its logins, so that columns stay.
pub fn without_logins(text: &str) -> Cow<'_, str> {
    let mut shown = Cow::Borrowed(text);
    // From the end, because characters may be longer than asterisks.
    for login in logins(text).into_iter().rev() {
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
            ("image='u:pw@r.example.com/a:1'", "image='****@r.example.com/a:1'"),
            ("u:p€@r:5000/a and http://u:pw@r.a/b", "****@r:5000/a and http://****@r.a/b"),
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
            "mailto:a@b.example, c:d@e",
            "a:1@sha256:0 b/c",
            "$U:$P@r.example.com/a",
            "a/b:1@r.example.com",
        ] {
            assert_eq!(without_logins(text), text);
        }
    }
}
