//! Launch scripts of engines, and manifests that contain them.

use super::super::memory::bounded;
use super::fixtures;
use bundle2chart::config::serving::profile;
use bundle2chart::diag::{Diagnostics, Place};
use bundle2chart::serving::{self, Manifest, fuzzing};
use std::collections::BTreeMap;

/// Bytes of a container's expansions, and of its words: the limit of the shell, and some.
const MOST_WORDS: usize = 1 << 20;

/// Checks one input.
pub fn run(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let variables = [("A", "4"), ("LWS_GROUP_SIZE", "2"), ("EMPTY", ""), ("TWO", "--x 1")];
    let variables: BTreeMap<String, String> =
        variables.map(|(name, value)| (name.to_owned(), value.to_owned())).into();
    let arguments = ["one".to_owned(), "two three".to_owned()];
    let commands = bounded(32, || fuzzing::commands(text, &arguments, &variables));
    let size: usize = commands.iter().flatten().flatten().map(String::len).sum();
    assert!(size <= text.len() + MOST_WORDS, "{} bytes become {size}", text.len());

    let place = || Place::file("manifests.yaml");
    let documents = fixtures::documents(data).into_iter();
    let manifests: Vec<Manifest> =
        documents.map(|json| Manifest { json, place: place() }).collect();
    bounded(128, || {
        let mut diagnostics = Diagnostics::new();
        serving::is_about_serving(&manifests);
        serving::check_manifests(manifests, profile::newest(), &mut diagnostics);
    });
}
