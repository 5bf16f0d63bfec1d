//! The targets: each checks one input, and panics when it finds something. tests/suite/fuzz.rs runs
//! them on the inputs to start with, without libFuzzer.

pub mod auth;
pub mod catalog;
pub mod compile;
pub mod config;
pub mod diff;
mod fixtures;
pub mod layers;
mod objects;
pub mod shell;
pub mod tar;
mod tree;
pub mod yaml;
