//! Reading bundles from folders, image layouts and tars, honest and hostile.

#![expect(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "tests make files, measure time and fail loudly"
)]

mod bombs;
mod damage;
mod fixture;
mod folders;
mod layers;
mod names;
mod paths;
