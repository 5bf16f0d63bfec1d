//! Reads `bundles.toml`: parses texts, and returns a checked [`Config`] and diagnostics.
//!
//! [`tables`](super::tables) has a file for each table. [`Reader`] checks the TOML tree against their
//! keys and collects what is wrong; [`check`] has the rules for several bundles together.

pub(crate) mod check;

use super::reader::Known;
use super::tables::chart::ChartTable;
use super::tables::deploy::DeployTable;
use super::tables::operands::check_namespaces;
use super::tables::root::{Draft, Included, Root};
use super::tables::settings::Defaults;
use super::tables::{deploy, mirror, registry, verify};
use super::*;
use crate::escape::login::logins;
use crate::serving;
use toml::de::Error;

/// Most bundles of one configuration; keeps the checks of all against all short.
const BUNDLE_LIMIT: usize = 1_000;

/// The keys of the tables that become charts.
const TABLES: [&str; 3] = ["bundle", "chart", "serving"];

/// The tables that become charts.
pub(crate) struct Tables {
    pub(crate) drafts: Vec<Draft>,
    pub(crate) bundles: Vec<BundleConfig>,
    pub(crate) servings: Vec<ServingConfig>,
}

impl Config {
    /// Parses `source` and resolves its defaults; relative paths are relative to `base`.
    ///
    /// All problems are reported, in the order of the file; the configuration is only returned if
    /// none is an error. If the file is not valid TOML, only this is reported. Filters are compiled
    /// on a separate thread.
    ///
    /// Nothing is read from disk, so the files of `include` are missing; [`Config::read`] adds them.
    pub fn parse(
        source: &Arc<SourceText>,
        base: &Path,
        diagnostics: &mut Diagnostics,
    ) -> Option<Config> {
        Config::parse_with(source, &[], base, diagnostics)
    }

    /// [`Config::parse`], with the texts of the files that `include` names.
    pub(super) fn parse_with(
        source: &Arc<SourceText>,
        included: &[Arc<SourceText>],
        base: &Path,
        diagnostics: &mut Diagnostics,
    ) -> Option<Config> {
        let sources: Vec<&Arc<SourceText>> = std::iter::once(source).chain(included).collect();
        let mut trees = Vec::new();
        let mut found = Diagnostics::new();
        for source in &sources {
            let (tree, errors) = DeTable::parse_recoverable(&source.text);
            match source.merge_conflict() {
                Some(marker) if errors.iter().any(|one| is_at(&source.text, one, &marker)) => {
                    let hint = "keep one of both sides, and remove the markers of Git";
                    let place = &Span::new(source, marker);
                    found.error(Code::ConfigSyntax, place, "unresolved merge conflict", hint);
                }
                _ => {
                    let mut errors: Vec<Diagnostic> =
                        errors.iter().map(|error| syntax(source, error)).collect();
                    // The parser reports both characters of the line end `\r\n` in a string.
                    errors.dedup();
                    found.extend(errors);
                }
            }
            trees.push(tree);
        }

        let (defaults, known) = (Defaults::default(), Known::default());
        let mut reader = Reader { source, base, defaults, known, found };
        let files = sources.iter().copied().zip(trees.iter().map(|tree| tree.get_ref()));
        // A tree with syntax errors lacks keys, which would be reported as missing.
        let is_toml = !reader.found.has_errors();
        for (source, login) in
            sources.iter().flat_map(|one| logins(&one.text).into_iter().map(move |at| (one, at)))
        {
            // Whichever key or comment has it, because the file is committed.
            let hint = "remove it, and revoke it if the file was shared; registries are read with \
                what `podman login` or `docker login` stores";
            let place = &Span::new(source, login);
            reader.found.error(Code::InvalidValue, place, "a password", hint);
        }
        let config = is_toml.then(|| config(&mut reader, &files.collect::<Vec<_>>())).flatten();

        // The trees are sorted by key; people read the files from the top.
        let start = diagnostics.mark();
        diagnostics.append(reader.found);
        let place = |d: &Diagnostic| d.place.span.as_ref().map(|span| position(span, &sources));
        // Stable: findings at one place stay in the order in which they were made.
        diagnostics.since(start).sort_by_key(place);
        config.filter(|_| !diagnostics.has_errors_since(start))
    }
}

/// Returns the position of a place: the index of its file, and the offset in it.
fn position(span: &Span, sources: &[&Arc<SourceText>]) -> (Option<usize>, usize) {
    let file = sources.iter().position(|source| Arc::ptr_eq(source, &span.source));
    (file, span.range.start)
}

/// Returns true if an error is on the line of a marker.
fn is_at(text: &str, error: &Error, marker: &Range<usize>) -> bool {
    let line = text.get(marker.start..).and_then(|rest| rest.lines().next()).unwrap_or_default();
    error
        .span()
        .is_some_and(|span| (marker.start..=marker.start + line.len()).contains(&span.start))
}

fn syntax(source: &Arc<SourceText>, error: &Error) -> Diagnostic {
    let range = error.span().unwrap_or_default();
    if let Some(string) = unclosed_string(&source.text, range.start) {
        return Diagnostic::error(Code::ConfigSyntax, "invalid TOML: unclosed string")
            .at(Place::span(Span::new(source, string)))
            .hint("close the quote on the same line");
    }
    // By their texts: errors of the parser have no kinds.
    let hint = match error.message() {
        "duplicate key" => "remove one of them: a table can only be defined once",
        message if message.contains("escaped value") => {
            "write the text in single quotes, in which `\\` is a character, or write `\\\\`"
        }
        message if message.contains("quoted") => "put text in quotes: `key = \"value\"`",
        message if message.contains("multi-line") => "close the three quotes",
        message if message.contains("unclosed") => {
            "close the bracket or the quote on the same line"
        }
        _ => "write `key = value`, with text in quotes and lists in brackets",
    };
    Diagnostic::error(Code::ConfigSyntax, format!("invalid TOML: {}", error.message()))
        .at(Place::span(Span::new(source, range)))
        .hint(hint)
}

/// Returns the string on one line that is not closed, if the line ends at `end`: the parser marks the
/// end, where nothing is to be seen.
fn unclosed_string(text: &str, end: usize) -> Option<std::ops::Range<usize>> {
    let rest = text.get(end..)?;
    if !(rest.is_empty() || rest.starts_with(['\n', '\r'])) {
        return None;
    }
    let end = text.get(..end)?.trim_end_matches('\r').len();
    let start = text.get(..end)?.rfind('\n').map_or(0, |newline| newline + 1);
    let line = text.get(start..end)?;
    // A string of several lines may begin or end here, so quotes of this line alone say nothing.
    if line.contains("\"\"\"") || line.contains("'''") {
        return None;
    }

    let mut opened: Option<(usize, char)> = None;
    let mut escaped = false;
    for (at, c) in line.char_indices() {
        match opened {
            None if matches!(c, '"' | '\'') => opened = Some((at, c)),
            Some((_, '"')) if escaped => escaped = false,
            Some((_, '"')) if c == '\\' => escaped = true,
            Some((_, quote)) if c == quote => opened = None,
            _ => {}
        }
    }
    opened.map(|(at, _)| start + at..end)
}

/// A file, with its text and its tree.
type File<'t> = (&'t Arc<SourceText>, &'t DeTable<'t>);

/// Reads the main file and the included ones, which come after it.
fn config<'a>(reader: &mut Reader<'a>, files: &[File<'a>]) -> Option<Config> {
    let (main, included) = files.split_first()?;
    let (main_source, tree) = *main;
    let root = reader.fields(Root::table(), Range::default(), tree);
    let table = Root::of(reader, &root);
    if let Some(wanted) = table.as_ref().and_then(|table| table.required_version.as_ref()) {
        required_version(reader, wanted);
    }
    if let Some(table) = &table {
        // Before bundles are read, which are completed from it, wherever it is in the file.
        reader.defaults = table.defaults.clone();
    }

    let mut parts = vec![(main_source, root)];
    for (source, tree) in included {
        reader.source = source;
        parts.push((source, reader.fields(Included::table(), Range::default(), tree)));
    }
    let mut read = tables(reader, &parts);
    if let Some(tables) = &mut read {
        // References between charts and models, once all of them are known.
        serving::resolve(reader, tables);
    }
    reader.source = main_source;
    let Tables { drafts, bundles, servings } = read?;
    check::names(reader, &drafts);
    check::dependencies(reader, &drafts);
    let charts: Vec<_> = charts(&bundles, &servings).collect();
    check::companions(reader, &bundles, &charts);
    bundles.iter().for_each(|bundle| check_namespaces(reader, bundle));

    // Only now, so that errors in other tables do not hide those between bundles.
    let table = table?;
    let mirrors = mirror::used(reader, table.mirror);
    let registries = registry::distinct(reader, table.registry);
    let verifications = verify::distinct(reader, table.verify);
    check::outputs(reader, &table.output, &bundles, &charts, &mirrors);
    // `[deploy]` names charts and models, and may depend on the layout of `[output]`.
    reader.known = Known {
        charts: charts.iter().map(|(name, _)| (*name).to_owned()).collect(),
        models: servings
            .iter()
            .map(|model| (model.name.clone(), model.namespace.clone()))
            .collect(),
        output: table.output.clone(),
    };
    let (_, root) = parts.first()?;
    let deploy = DeployTable::find(reader, root, "deploy").unwrap_or_default();
    deploy::check(reader, &deploy, &root.place("deploy"), &bundles);
    Some(Config {
        base: reader.base.to_owned(),
        output: table.output,
        mirrors,
        registries,
        network: table.network,
        verifications,
        lints: table.lints,
        ignore: table.ignore,
        deploy,
        bundles,
        servings,
    })
}

/// Reads the bundles, charts and models of all files; `None` if there are too many.
fn tables<'a>(
    reader: &mut Reader<'a>,
    parts: &[(&'a Arc<SourceText>, Fields<'a>)],
) -> Option<Tables> {
    let all = |key: &'static str| {
        parts.iter().flat_map(move |(source, fields)| {
            let items = fields.items(key);
            items.filter_map(move |item| Some((*source, item.get_ref().as_table()?, item.span())))
        })
    };
    let count = TABLES.iter().map(|key| all(key).count()).sum::<usize>();
    if let Some((source, _, range)) = TABLES.iter().flat_map(|key| all(key)).nth(BUNDLE_LIMIT) {
        let message = format!("the configuration has {count} bundles");
        let hint = format!("split it: one configuration can have {BUNDLE_LIMIT}");
        reader.source = source;
        reader.error(Code::InvalidValue, &range, message, hint);
        return None;
    }

    let mut drafts = Vec::new();
    let mut bundles = all_of::<BundleConfig>(reader, all("bundle"), &mut drafts);
    bundles.extend(all_of::<ChartTable>(reader, all("chart"), &mut drafts));
    let servings = all_of::<ServingConfig>(reader, all("serving"), &mut drafts);
    // Bundles and charts as people read them; the tree has them by key.
    let sources: Vec<&Arc<SourceText>> = parts.iter().map(|(source, _)| *source).collect();
    bundles.sort_by_key(|bundle| position(&bundle.span, &sources));
    Some(Tables { drafts, bundles, servings })
}

/// Reads tables of one kind.
fn all_of<'a, T: Form>(
    reader: &mut Reader<'a>,
    tables: impl Iterator<Item = (&'a Arc<SourceText>, &'a DeTable<'a>, Range<usize>)>,
    drafts: &mut Vec<Draft>,
) -> Vec<T::Value> {
    let read = tables.filter_map(|(source, table, header)| {
        reader.source = source;
        let fields = reader.fields(T::KIND.table()?, header, table);
        // A table that is wrong has a draft, but no bundle: others may still depend on it.
        drafts.extend(Draft::of(reader, &fields));
        T::of(reader, &fields)
    });
    read.collect()
}

/// Checks that this bundle2chart version may build the file.
fn required_version(reader: &mut Reader<'_>, Text { text, span }: &Text) {
    let own = env!("CARGO_PKG_VERSION");
    match (semver::VersionReq::parse(text), semver::Version::parse(own)) {
        (Err(error), _) => reader.found.error(
            Code::InvalidValue,
            span,
            format!("invalid version requirement in `required-version`: {error}"),
            format!("write a requirement such as `required-version = \">={own}\"`"),
        ),
        (Ok(requirement), Ok(version)) if !requirement.matches(&version) => reader.found.error(
            Code::RequiredVersion,
            span,
            format!("this is bundle2chart {own}, but the configuration requires {requirement}"),
            "install a matching version, or change `required-version`; other errors in this \
                file may be caused by the version difference",
        ),
        _ => {}
    }
}
