//! Selects the `[[mirror]]`s for a reference.

use super::reference::Reference;
use crate::config::Mirror;

/// Returns the name of a repository below `start`, the name of a registry or of a repository itself.
pub(super) fn name_below(start: &str, rest: &str) -> String {
    if rest.is_empty() { start.to_owned() } else { format!("{start}/{rest}") }
}

/// Returns the mirrors that serve a reference, and the rest of the reference's name: longest prefix
/// first, then in the order of the configuration.
pub(super) fn find<'m, 'r>(
    mirrors: &'m [Mirror],
    reference: &'r Reference,
) -> Vec<(&'m Mirror, &'r str)> {
    let mut found: Vec<(&Mirror, &str)> =
        mirrors.iter().filter_map(|m| Some((m, reference.after(&m.from)?))).collect();
    // Stable, so that mirrors of one prefix stay in their order.
    found.sort_by_key(|(_, rest)| rest.len());
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::MirrorTarget;
    use crate::diag::{SourceText, Span};
    use std::sync::Arc;

    fn found(prefixes: &[&str], reference: &str) -> Vec<(usize, String)> {
        let text = Arc::new(SourceText { name: String::new(), text: String::new() });
        let list: Vec<Mirror> = prefixes
            .iter()
            .map(|from| Mirror {
                from: (*from).to_owned(),
                to: MirrorTarget::Layout("layout".into()),
                fallback: true,
                span: Span::new(&text, 0..0),
            })
            .collect();
        let reference = Reference::parse(reference).unwrap();
        find(&list, &reference)
            .into_iter()
            .map(|(mirror, rest)| {
                (list.iter().position(|m| std::ptr::eq(m, mirror)).unwrap(), rest.to_owned())
            })
            .collect()
    }

    fn named(found: &[(usize, &str)]) -> Vec<(usize, String)> {
        found.iter().map(|(index, rest)| (*index, (*rest).to_owned())).collect()
    }

    #[test]
    fn the_longest_prefix_comes_first_whatever_the_order() {
        let prefixes = ["quay.io", "quay.io/team/b", "quay.io/team", "quay.io/team"];
        assert_eq!(
            found(&prefixes, "quay.io/team/b:1"),
            named(&[(1, ""), (2, "b"), (3, "b"), (0, "team/b")])
        );
        assert_eq!(
            found(&prefixes, "quay.io/team/c:1"),
            named(&[(2, "c"), (3, "c"), (0, "team/c")])
        );
        assert_eq!(found(&prefixes, "quay.io/teams/c:1"), named(&[(0, "teams/c")]));
        assert_eq!(found(&prefixes, "docker.io/team/c:1"), []);
    }

    #[test]
    fn a_prefix_ends_on_a_slash() {
        let prefixes = ["registry.redhat.io"];
        assert_eq!(found(&prefixes, "registry.redhat.io.evil.com/a/b:1.0"), []);
        assert_eq!(found(&prefixes, "registry.redhat.io:5000/a/b:1.0"), []);
        assert_eq!(found(&prefixes, "registry.redhat.io/a/b:1.0"), named(&[(0, "a/b")]));
    }
}
