//! The tables of `bundles.toml`: a file for each, with its keys and its rules.

pub mod after;
pub mod argocd;
pub mod bundle;
pub mod certificates;
pub mod chart;
pub mod deploy;
pub mod flux;
pub mod ignore;
pub mod lints;
pub mod mirror;
pub mod operands;
pub mod output;
pub mod overlay;
pub mod pods;
pub mod ready;
pub mod registry;
pub mod root;
pub mod settings;
pub mod switch;
pub mod verify;

// What most of the tables speak of.
use super::*;
use crate::declare::{Derived, Flat, Header, choices, table, words};
use crate::forms::{
    Any, ApiKind, ChartVersion, Filled, Integer, Label, Listed, Name, Namespace, ObjectName,
    Placed, Reference, ReferencePrefix, Rule, Word, matches, patterns, plain,
};
use crate::ir::{Phase, Scopes};
use serde_json::json;
use std::path::Component;

#[cfg(test)]
pub(crate) mod tests;
