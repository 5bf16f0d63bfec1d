//! The reader of `bundles.toml`: text comes in, a checked [`Config`] and what is wrong goes out.
//!
//! Each table has a file with a function for it. They have a [`Reader`] in common, which checks the
//! TOML tree against the tables of keys and collects what is wrong, and the rules of single
//! [`values`]; [`check`] has the rules for several bundles together.

mod bundle;
mod certificates;
mod check;
mod defaults;
pub(super) mod deploy;
mod ignore;
mod mirror;
mod network;
mod operands;
mod output;
mod overlay;
mod pods;
mod reader;
mod registry;
mod serving;
mod values;

use super::keys::serving::SERVING;
use super::keys::{BUNDLE, DEFAULTS, OUTPUT, ROOT};
use super::{Config, Layout, Output};
use crate::diag::{Code, Diagnostic, Diagnostics, Place, SourceText, Span};
use check::Draft;
use defaults::Settings;
use reader::{Located, Reader};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use toml::de::{DeTable, Error};

/// Most bundles of one file; keeps the checks of all against all short.
const BUNDLE_LIMIT: usize = 1_000;

impl Config {
    /// Parses `source` and resolves its defaults; relative paths are relative to `base`.
    ///
    /// All problems are reported, in the order of the file; the configuration is only returned if
    /// none is an error. If the file is not valid TOML, only this is reported. Filters are compiled
    /// on a separate thread.
    pub fn parse(source: &Arc<SourceText>, base: &Path) -> (Option<Config>, Diagnostics) {
        let (tree, errors) = DeTable::parse_recoverable(&source.text);
        if !errors.is_empty() {
            let found = errors.iter().map(|error| syntax(source, error)).collect();
            return (None, in_file_order(found));
        }
        let mut reader = Reader { source, found: Diagnostics::new() };
        let config = config(&mut reader, tree.get_ref(), base);
        let found = in_file_order(reader.found);
        (config.filter(|_| !found.has_errors()), found)
    }
}

/// The tree is sorted by key; people read the file from the top.
fn in_file_order(found: Diagnostics) -> Diagnostics {
    let mut found: Vec<Diagnostic> = found.into_iter().collect();
    found.sort_by_key(|d| d.place.span.as_ref().map(|span| span.range.start));
    found.into_iter().collect()
}

fn syntax(source: &Arc<SourceText>, error: &Error) -> Diagnostic {
    let range = error.span().unwrap_or(0..0);
    let hint = match error.message() {
        "duplicate key" => "remove one of them: a table can only be defined once",
        message if message.contains("quoted") => "put text in quotes: `key = \"value\"`",
        message if message.contains("unclosed") || message.contains("literal string") => {
            "close the bracket or the quote on the same line"
        }
        _ => "see https://toml.io for the syntax",
    };
    Diagnostic::error(Code::ConfigSyntax, format!("invalid TOML: {}", error.message()))
        .at(Place::span(Span::new(source, range)))
        .hint(hint)
}

fn config(reader: &mut Reader<'_>, tree: &DeTable<'_>, base: &Path) -> Option<Config> {
    // Findings about the whole file are placed at its first line.
    let end = reader.source.text.find('\n').unwrap_or(reader.source.text.len());
    let root = reader.fields(&ROOT, 0..end, tree);
    if let Some(at) = root.text("required-version") {
        required_version(reader, at);
    }
    let mut defaults = Settings::default();
    if let Some((table, header)) = root.table("defaults") {
        let fields = reader.fields(&DEFAULTS, header, table);
        defaults = defaults::settings(reader, &fields);
    }
    let mut output =
        Some(Output { dir: PathBuf::from("out"), layout: Layout::default(), keep: None });
    if let Some((table, header)) = root.table("output") {
        let fields = reader.fields(&OUTPUT, header, table);
        output = output::read(reader, &fields, base);
    }
    let mirrors = mirror::read(reader, &root);
    let registries = registry::read(reader, &root);
    let network = network::read(reader, &root);
    let ignore = ignore::read(reader, &root);

    let tables = root.tables("bundle");
    let models = root.tables("serving");
    let has_bundles = tree.contains_key("bundle") || tree.contains_key("serving");
    if let (false, Some(key)) = (has_bundles, ROOT.key("bundle")) {
        reader.missing(&ROOT, &root.header, key);
    }
    let empty = tables.is_empty() && models.is_empty();
    if let (true, Some((_, range))) = (empty, root.texts("bundle")) {
        reader.error(
            Code::MissingKey,
            &range,
            "the configuration has no bundle",
            "add a `[[bundle]]` with a `name` and an `image` or a `path`",
        );
    }
    if let Some((_, range)) = tables.iter().chain(&models).nth(BUNDLE_LIMIT) {
        let count = tables.len() + models.len();
        let message = format!("the configuration has {count} bundles");
        let hint = format!("split it: one file can have {BUNDLE_LIMIT}");
        reader.error(Code::InvalidValue, range, message, hint);
        return None;
    }
    let mut drafts = Vec::new();
    let mut bundles = Vec::new();
    for (table, header) in tables {
        let fields = reader.fields(&BUNDLE, header, table);
        let (draft, bundle) = bundle::read(reader, &fields, &defaults);
        drafts.push(draft);
        bundles.extend(bundle);
    }
    let mut servings = Vec::new();
    for (table, header) in models {
        let fields = reader.fields(&SERVING, header, table);
        let pull_secret = defaults.pull_secret.as_ref().and_then(Option::as_deref);
        servings.extend(serving::read(reader, &fields, pull_secret));
        let (depends_on, _) = fields.texts("depends-on").unwrap_or_default();
        drafts.push(Draft { name: fields.text("name"), depends_on });
    }
    check::names(reader, &drafts);
    check::dependencies(reader, &drafts);
    let charts: Vec<_> = bundles
        .iter()
        .map(|bundle| (bundle.name.as_str(), &bundle.span))
        .chain(servings.iter().map(|serving| (serving.name.as_str(), &serving.span)))
        .collect();
    check::companions(reader, &bundles, &charts);
    bundles.iter().for_each(|bundle| operands::namespaces(reader, bundle));
    let output = output?;
    check::outputs(reader, &output, &bundles, &charts, &mirrors);
    let deploy = deploy::read(reader, &root, &output, &bundles);
    Some(Config {
        base: base.to_owned(),
        output,
        mirrors,
        registries,
        network,
        ignore,
        deploy,
        bundles,
        servings,
    })
}

/// Checks that this bundle2chart version may build the file.
fn required_version(reader: &mut Reader<'_>, (text, range): Located<&str>) {
    let own = env!("CARGO_PKG_VERSION");
    match (semver::VersionReq::parse(text), semver::Version::parse(own)) {
        (Err(error), _) => reader.error(
            Code::InvalidValue,
            &range,
            format!("invalid version requirement in `required-version`: {error}"),
            format!("write a requirement such as `required-version = \">={own}\"`"),
        ),
        (Ok(requirement), Ok(version)) if !requirement.matches(&version) => reader.error(
            Code::RequiredVersion,
            &range,
            format!("this is bundle2chart {own}, but the configuration requires {requirement}"),
            "install a matching version, or change `required-version`; other errors in this \
                file may be caused by the version difference",
        ),
        _ => {}
    }
}
