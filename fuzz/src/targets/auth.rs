//! Challenges of registries, and files with credentials. No error shows the
//! password of the seeds, `canary`.

use super::super::memory::bounded;
use bundle2chart::source::{Reference, fuzzing};

/// Checks one input.
pub fn run(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    bounded(16, || {
        let lines: Vec<&str> = text.lines().collect();
        let offers = fuzzing::challenges(&lines);
        // Each value is parsed by itself, so that one cannot change the meaning of the next.
        let alone: usize = lines.iter().map(|line| fuzzing::challenges(&[line]).len()).sum();
        assert_eq!(offers.len(), alone);
    });

    bounded(16, || {
        if let Err(message) = fuzzing::credentials(data, "registry.example.com", "team/app") {
            assert!(!message.contains("canary"), "the password is shown: {message}");
        }
    });

    if let Ok(reference) = Reference::parse(text) {
        let tag = reference.tag.as_ref().map(|tag| format!(":{tag}")).unwrap_or_default();
        let digest = reference.digest.as_ref().map(|digest| format!("@{digest}"));
        let spelt = format!("{}{tag}{}", reference.name, digest.unwrap_or_default());
        assert_eq!(Reference::parse(&spelt).ok(), Some(reference), "{text:?} and {spelt:?}");
    }
}
