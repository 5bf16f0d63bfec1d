//! The functions that programs may call: all of jq that does no input or output.

use super::budget::Metered;
use jaq_core::load::parse::Def;
use jaq_core::native::Fun;
use std::collections::BTreeSet;

/// Functions with inputs or effects other than the object, by name, each with the reason why it is
/// not available. None is defined, so that programs that use them do not compile.
const WITHHELD: &[(&str, &str)] = &[
    ("env", "it reads the environment"),
    ("$ENV", "it reads the environment"),
    ("$__prog_args", "it reads the command line"),
    ("input", "it reads other input"),
    ("inputs", "it reads other input"),
    ("input_filename", "it reads the names of files"),
    ("input_line_number", "it reads other input"),
    ("get_search_list", "it reads the names of files"),
    ("modulemeta", "it reads other files"),
    ("now", "it reads the clock"),
    ("localtime", "it reads the time zone"),
    ("strflocaltime", "it reads the time zone"),
    ("debug", "it writes to stderr"),
    ("debug_empty", "it writes to stderr"),
    ("stderr", "it writes to stderr"),
    ("stderr_empty", "it writes to stderr"),
    ("halt", "it exits the process"),
    ("halt_error", "it exits the process"),
];

/// Functions of jq 1.8 that jaq does not define.
const MISSING: &str = include_str!("library.jq");

/// Returns the reason why a function is not available; `None` for all others.
pub(super) fn withheld(name: &str) -> Option<&'static str> {
    WITHHELD.iter().find(|(withheld, _)| *withheld == name).map(|(_, why)| *why)
}

/// Functions that are written in jq.
pub(super) fn definitions() -> impl Iterator<Item = Def<&'static str>> {
    // Users know jq by its manual, and expect the functions in it.
    let missing = jaq_core::load::parse(MISSING, |parser| parser.defs());
    jaq_core::defs()
        .chain(jaq_std::defs())
        .chain(jaq_json::defs())
        .chain(missing.unwrap_or_default())
        .filter(|definition| withheld(definition.name).is_none())
}

/// Functions that are written in Rust.
pub(super) fn functions() -> impl Iterator<Item = Fun<Metered>> {
    jaq_core::funs::<Metered>()
        .chain(jaq_std::funs())
        .chain(jaq_json::funs())
        .filter(|(name, ..)| withheld(name).is_none())
}

/// Returns every function by name and number of arguments.
pub(super) fn signatures() -> BTreeSet<(String, usize)> {
    let defined =
        definitions().map(|definition| (definition.name.to_owned(), definition.args.len()));
    let native = functions().map(|(name, arguments, _)| (name.to_owned(), arguments.len()));
    defined.chain(native).collect()
}
