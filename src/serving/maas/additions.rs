//! The platform of models as a service in README.md and NOTES.txt of a `[[chart]]`: the Secrets that the
//! cluster must have.

use crate::config::serving::maas::{
    DATABASE, DATABASE_NAME, DATABASE_PASSWORD, DATABASE_SECRET, DATABASE_URL, MaasPlatform,
};
use askama::Template;
use bundle2chart_compile::chart::Additions;
use bundle2chart_compile::documents::filters;

/// Returns the text of `[chart.maas]` in the documents of its chart.
pub fn additions(platform: &MaasPlatform) -> Additions {
    Additions { readme: Readme { platform }.to_string(), notes: Notes { platform }.to_string() }
}

#[derive(Template)]
#[template(path = "maas/documents/platform.md")]
struct Readme<'a> {
    platform: &'a MaasPlatform,
}

#[derive(Template)]
#[template(path = "maas/documents/platform.txt", syntax = "notes")]
struct Notes<'a> {
    platform: &'a MaasPlatform,
}
