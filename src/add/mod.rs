//! Edits bundles.toml: [`add`] inspects a bundle and writes its `[[bundle]]` table, [`remove`] removes
//! one. Comments and layout of everything else stay as they are, byte for byte.

mod proposals;
mod remove;
mod table;

pub(crate) use remove::remove;
pub(crate) use table::{list, quoted};

use crate::config::{Config, Source, Watch};
use crate::diag::{Code, Diagnostic, Diagnostics, Place, SourceText, Span};
use crate::lock::Lock;
use crate::olm;
use crate::replace_file::replace_file;
use crate::source::{self, Access, Reference, SourceResolver};
use crate::{bundle, pipeline};
use std::fs;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;
use table::Table;
use toml_edit::Document;

/// Name of the bundle while it is inspected; its package is not known yet.
const DRAFT: &str = "bundle2chart-add";

// A bundle to add, as the arguments of the command. clap would show a doc comment in place of the
// command's own.
#[derive(Clone, Debug, PartialEq, Eq, clap::Args)]
pub(crate) struct Request {
    /// An image reference, a bundle directory, an OCI layout (with `:TAG` or `@DIGEST`), a tar of
    /// either, or with PACKAGE a catalog.
    #[arg(value_name = "REFERENCE|PATH|CATALOG")]
    pub source: String,
    /// Package of the catalog.
    #[arg(value_name = "PACKAGE")]
    pub package: Option<String>,
    /// Channel of the package [default: the package's default channel].
    #[arg(long, value_name = "CHANNEL", requires = "package")]
    pub channel: Option<String>,
    /// Version in the channel, or a range of versions [default: the head of the channel].
    #[arg(long, value_name = "VERSION", requires = "package")]
    pub version: Option<String>,
    /// Name of the bundle and of its chart [default: the package].
    #[arg(long, value_name = "NAME")]
    pub name: Option<String>,
    /// Namespace of the operator [default: the bundle's suggested namespace, or the name].
    #[arg(long, value_name = "NS")]
    pub namespace: Option<String>,
    /// Namespaces to watch: `all`, `own`, or a comma-separated list [default: the bundle's default
    /// install mode].
    #[arg(long, value_name = "WATCH")]
    pub watch: Option<Watch>,
}

/// Bundles that are added to a configuration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Added {
    /// Names of the new bundles.
    pub names: Vec<String>,
    /// The new tables.
    pub tables: String,
    /// The whole new text of the configuration.
    pub text: String,
}

/// Inspects the requested bundle and returns the configuration at `path` with a table for it.
/// Mirrors, registries and defaults of the configuration apply. Nothing is written.
///
/// `None` if the configuration is invalid, or if the bundle cannot be read or compiled.
pub(crate) fn add(
    request: &Request,
    path: &Path,
    lock: &Lock,
    access: Access,
    diagnostics: &mut Diagnostics,
) -> Option<Added> {
    if let Some(package) = request.package.as_ref().filter(|package| package.contains('/')) {
        let message = format!("`{package}` is not the name of a package");
        let hint = format!("write the catalog first: `add {package} {}`", request.source);
        return diagnostics.fail(Diagnostic::error(Code::InvalidValue, message).hint(hint));
    }
    let text = Config::read_text(path, diagnostics)?;
    let source = request.source_keys(path);
    // As a table of the configuration, so that its mirrors, registries and defaults apply.
    let config = parse(path, text.clone(), &table(DRAFT, &source), diagnostics)?;
    let mut settings = config.bundles.iter().find(|bundle| bundle.name == DRAFT)?.clone();

    let start = diagnostics.mark();
    let sources = SourceResolver::of(&config, access);
    let files = sources.fetch(&settings.source, None, diagnostics);
    let bundle = files.as_ref().and_then(|files| bundle::load(files, diagnostics));
    // Warnings and notes are those of the next build, for which the table is still to be completed.
    diagnostics.only_errors_since(start);
    let (files, bundle) = (files?, bundle?);

    let name = request.name.clone().unwrap_or_else(|| bundle.package.clone());
    let watch = request.watch.as_ref().or_else(|| settings.watch()).cloned();
    let Some(watch) = watch.or_else(|| olm::default_watch(&bundle.csv)) else {
        let message = format!("`{name}` has no default install mode");
        let found = Diagnostic::error(Code::InstallModeUnsupported, message);
        let hint = "set the namespaces to watch with `--watch NAMESPACE`";
        return diagnostics.fail(found.at(bundle.csv.place(".spec.installModes")).hint(hint));
    };
    let namespace = request.namespace.as_deref().or(bundle.suggested_namespace());
    let namespace = namespace.unwrap_or(&name).to_owned();
    if let Some(existing) = config.bundles.iter().find(|bundle| bundle.name == name) {
        let message = format!("`{name}` is already in {}", path.display());
        return diagnostics.fail(
            Diagnostic::error(Code::DuplicateName, message).at(&existing.span).hint(format!(
                "set another name with `--name`, or run `bundle2chart remove {name}` first"
            )),
        );
    }
    settings.name.clone_from(&name);
    settings.namespace = Some(namespace.clone());
    // That of the command line has no place in the file.
    let place = settings.watch_span().filter(|_| request.watch.is_none()).cloned();
    settings.operator.watch = Some((watch.clone(), place));
    // The name is new, so no other package can have it.
    settings.package = None;

    let start = diagnostics.mark();
    // With the settings that are written below: a build would find the same.
    let compiled = pipeline::compile_loaded(Some(bundle.clone()), &files, &settings, diagnostics);
    let noticed: Vec<Code> = diagnostics.since(start).iter().map(|found| found.code).collect();
    diagnostics.only_errors_since(start);
    diagnostics.name_bundle(start, &name);
    let compiled = compiled?;

    let mut table = Table::new(&name, &source);
    table.set("namespace", &namespace);
    table.set_toml("watch", &watch.to_toml(), &table::install_modes(&bundle));
    let subject = proposals::Subject {
        bundle: &bundle,
        unit: &compiled.unit,
        noticed: &noticed,
        settings: &settings,
        config: &config,
        lock,
    };
    proposals::propose(&subject, &mut table);

    // The names are checked against the other bundles, and every proposed value is valid.
    with_tables(path, text, vec![name], table.text, diagnostics)
}

impl Request {
    /// Returns the keys of the source, with paths relative to the configuration at `path`.
    fn source_keys(&self, path: &Path) -> Vec<(&'static str, String)> {
        let (key, source) = source_key(&self.source, path);
        let keys = [
            (if self.package.is_some() { "catalog" } else { key }, Some(source)),
            ("package", self.package.clone()),
            ("channel", self.channel.clone()),
            ("version", self.version.clone()),
        ];
        keys.into_iter().filter_map(|(key, value)| Some((key, value?))).collect()
    }
}

/// Returns a path of the working directory as one relative to the configuration. It keeps a leading
/// `./`, which distinguishes the path of a catalog from a reference.
fn relative(found: &str, config: &Path) -> String {
    let folder = config.parent().filter(|folder| !folder.as_os_str().is_empty());
    let (Some(folder), true) = (folder, Path::new(found).is_relative()) else {
        return found.to_owned();
    };
    // The way back from there needs the names of directories above the working directory.
    if folder.is_absolute() || folder.components().any(|part| part == Component::ParentDir) {
        return std::path::absolute(found)
            .map_or_else(|_| found.to_owned(), |path| path.display().to_string());
    }
    if let Ok(inside) = Path::new(found).strip_prefix(folder) {
        return format!("./{}", inside.display());
    }
    let up = folder.components().filter(|part| matches!(part, Component::Normal(_)));
    let up: PathBuf = up.map(|_| Component::ParentDir).collect();
    up.join(found).display().to_string()
}

/// Returns the configuration at `path` with the tables of more bundles; `None` if it is invalid.
pub(crate) fn with_tables(
    path: &Path,
    text: String,
    names: Vec<String>,
    tables: String,
    diagnostics: &mut Diagnostics,
) -> Option<Added> {
    // First as a text of their own: places in the file would be lines that it does not have.
    parse(path, text.clone(), &tables, diagnostics)?;
    not_inline(path, &text, &tables, diagnostics)?;
    let text = appended(&text, &tables);
    parse(path, text.clone(), "", diagnostics)?;
    Some(Added { names, tables, text })
}

/// Reports a list of bundles or charts to which TOML cannot add one of the tables.
fn not_inline(path: &Path, text: &str, tables: &str, diagnostics: &mut Diagnostics) -> Option<()> {
    let document = Document::parse(text).ok()?;
    let keys = ["bundle", "chart"].into_iter();
    let keys = keys.filter(|key| tables.contains(&format!("[[{key}]]")));
    let lists = keys.filter_map(|key| Some((key, document.get(key)?)));
    let inline = lists.filter(|(_, list)| list.is_array()).find_map(|(key, list)| {
        let source = SourceText { name: path.display().to_string(), text: text.to_owned() };
        Some((key, Span::new(&Arc::new(source), list.span()?)))
    });
    let Some((key, span)) = inline else { return Some(()) };
    let message = format!("`{key}` is an inline list, to which no table can be added");
    let hint = format!("write each of them as a table `[[{key}]]`");
    diagnostics.fail(Diagnostic::error(Code::ConfigSyntax, message).at(&span).hint(hint))
}

/// Parses the configuration at `path` with more tables; only problems are reported.
pub(crate) fn parse(
    path: &Path,
    text: String,
    tables: &str,
    diagnostics: &mut Diagnostics,
) -> Option<Config> {
    let start = diagnostics.mark();
    let config = Config::read_draft(path, text, tables, diagnostics);
    diagnostics.only_errors_since(start);
    config
}

/// Returns the key of the source that an argument names, and its value: a path is relative to the
/// configuration at `path`.
pub(crate) fn source_key(argument: &str, path: &Path) -> (&'static str, String) {
    match source::from_argument(argument) {
        Source::Image { .. } => ("image", argument.to_owned()),
        // What is there and no bundle is reported as a path that is none.
        _ => ("path", relative(argument, path)),
    }
}

/// Returns a `[[bundle]]` table with a name and the keys of a source.
pub(crate) fn table(name: &str, source: &[(&'static str, String)]) -> String {
    Table::new(name, source).text
}

/// Returns the text with a table after it, and an empty line in between.
fn appended(text: &str, table: &str) -> String {
    let end = match text {
        "" => "",
        text if text.ends_with("\n\n") => "",
        text if text.ends_with('\n') => "\n",
        _ => "\n\n",
    };
    format!("{text}{end}{table}")
}

/// Sets the tag of the image of the only bundle in `names`; returns the file that has its table, and
/// its new text. Nothing is written.
pub(crate) fn set_tag(
    config: &mut Config,
    names: &[String],
    tag: &str,
    diagnostics: &mut Diagnostics,
) -> Option<(PathBuf, String)> {
    let [name] = names else {
        let message = "`--to` sets the tag of one bundle";
        let hint = "write `--upgrade NAME --to TAG`";
        return diagnostics.fail(Diagnostic::error(Code::UnknownBundle, message).hint(hint));
    };
    pipeline::select_bundles(config, names, diagnostics)?;
    let bundle = config.bundles.iter_mut().find(|bundle| bundle.name == *name)?;
    let Source::Image { reference, span } = &mut bundle.source else {
        let message = format!("`{name}` has no tag: its source is not an image");
        let hint = "edit `path`, or `version` and `channel` of a catalog";
        let found = Diagnostic::error(Code::InvalidReference, message).at(bundle.source.span());
        return diagnostics.fail(found.hint(hint));
    };

    let old = diagnostics.report(Reference::parse(reference))?;
    // Without the digest of the old reference, which would win over the new tag.
    *reference = format!("{}:{tag}", old.name);
    // A wrong tag is an error before anything is written.
    diagnostics.report(Reference::parse(reference))?;
    let mut text = span.source.text.clone();
    text.replace_range(span.range.clone(), &quoted(reference));
    Some((PathBuf::from(&span.source.name), text))
}

/// Writes the file at `path` atomically, with the permissions that it has; a link stays a link. `None` if
/// this fails, which is reported.
pub(crate) fn write(path: &Path, text: &str, diagnostics: &mut Diagnostics) -> Option<()> {
    // A rename onto a link would replace the link, not the file.
    let written = fs::canonicalize(path).and_then(|path| replace_file(&path, text.as_bytes()));
    diagnostics.report(written.map_err(|error| {
        let message = format!("cannot write the configuration: {error}");
        let hint = "make the file and its directory writable";
        Diagnostic::error(Code::OutputFailed, message).at(place(path)).hint(hint).into()
    }))
}

/// Returns the place of the configuration as a whole.
fn place(path: &Path) -> Place {
    Place::file(path.display().to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_relative_to_the_configuration() {
        let relative = |found, config| relative(found, Path::new(config));
        assert_eq!(relative("bundles/lamp", "bundles.toml"), "bundles/lamp");
        assert_eq!(relative("/bundles/lamp", "team/bundles.toml"), "/bundles/lamp");
        assert_eq!(relative("team/lamp", "team/bundles.toml"), "./lamp");
        assert_eq!(relative("lamp.tar", "team/a/bundles.toml"), "../../lamp.tar");
        assert!(relative("lamp", "../bundles.toml").starts_with('/'));
    }

    #[test]
    fn tables_come_after_an_empty_line() {
        assert_eq!(appended("", "[[bundle]]\n"), "[[bundle]]\n");
        for text in ["# a", "# a\n", "# a\n\n"] {
            assert_eq!(appended(text, "[[bundle]]\n"), "# a\n\n[[bundle]]\n");
        }
    }
}
