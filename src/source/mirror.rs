//! Which `[[mirror]]` has the bytes of a reference.

use super::reference::Reference;
use crate::config::Mirror;

/// The mirror with the longest prefix of the reference, and the rest of the reference's name. Of
/// two equal prefixes the first counts.
pub(super) fn find<'m, 'r>(
    mirrors: &'m [Mirror],
    reference: &'r Reference,
) -> Option<(&'m Mirror, &'r str)> {
    let mut best: Option<(&Mirror, &str)> = None;
    for mirror in mirrors {
        if let Some(rest) = reference.after(&mirror.from)
            && best.is_none_or(|(_, shortest)| rest.len() < shortest.len())
        {
            best = Some((mirror, rest));
        }
    }
    best
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::MirrorTarget;
    use crate::diag::{SourceText, Span};
    use std::sync::Arc;

    fn found(prefixes: &[&str], reference: &str) -> Option<(usize, String)> {
        let text = Arc::new(SourceText { name: String::new(), text: String::new() });
        let list: Vec<Mirror> = prefixes
            .iter()
            .map(|from| Mirror {
                from: (*from).to_owned(),
                to: MirrorTarget::Layout("layout".into()),
                span: Span::new(&text, 0..0),
            })
            .collect();
        let reference = Reference::parse(reference).unwrap();
        let (mirror, rest) = find(&list, &reference)?;
        let index = list.iter().position(|m| std::ptr::eq(m, mirror)).unwrap();
        Some((index, rest.to_owned()))
    }

    #[test]
    fn the_longest_prefix_wins_whatever_the_order() {
        let prefixes = ["quay.io", "quay.io/team/b", "quay.io/team", "quay.io/team"];
        assert_eq!(found(&prefixes, "quay.io/team/b:1"), Some((1, String::new())));
        assert_eq!(found(&prefixes, "quay.io/team/c:1"), Some((2, "c".to_owned())));
        assert_eq!(found(&prefixes, "quay.io/teams/c:1"), Some((0, "teams/c".to_owned())));
        assert_eq!(found(&prefixes, "docker.io/team/c:1"), None);
    }

    #[test]
    fn a_prefix_ends_on_a_slash() {
        let prefixes = ["registry.redhat.io"];
        assert_eq!(found(&prefixes, "registry.redhat.io.evil.com/a/b:1"), None);
        assert_eq!(found(&prefixes, "registry.redhat.io:5000/a/b:1"), None);
        assert_eq!(found(&prefixes, "registry.redhat.io/a/b:1"), Some((0, "a/b".to_owned())));
    }
}
