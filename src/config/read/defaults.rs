//! Reads the settings that can be in `[defaults]` or in a bundle.

use super::reader::{Fields, Located, Reader};
use super::{certificates, overlay, values};
use crate::diag::{Code, Diagnostic, Span, suggest};
use crate::jq::Purpose;
use crate::keys::Table;
use crate::{CertificateProvider, CrdPlacement, Filter, Issuer, Maintainer, Text, Toggles, Watch};

/// Settings that can be in `[defaults]` or in a bundle.
#[derive(Default)]
pub(crate) struct Settings {
    pub(super) include: Vec<Filter>,
    pub(super) exclude: Vec<Filter>,
    /// `Some(None)`: switched off.
    pub(crate) pull_secret: Option<Option<String>>,
    pub(super) crds: Option<CrdPlacement>,
    pub(super) toggles: Toggles,
    pub(crate) maintainers: Option<Vec<Maintainer>>,
    pub(super) watch: Option<Watch>,
    /// The value of `watch`.
    pub(super) watch_span: Option<Span>,
    pub(super) provided: Vec<Text>,
    pub(super) certificates: Option<CertificateProvider>,
    pub(super) issuer: Option<Issuer>,
}

impl Settings {
    /// Returns these settings of a table, completed from `[defaults]`.
    pub(super) fn over(self, defaults: &Settings) -> Settings {
        let joined = |shared: &[Filter], own: Vec<Filter>| {
            shared.iter().cloned().chain(own).collect::<Vec<Filter>>()
        };
        Settings {
            include: joined(&defaults.include, self.include),
            exclude: joined(&defaults.exclude, self.exclude),
            pull_secret: self.pull_secret.or_else(|| defaults.pull_secret.clone()),
            crds: self.crds.or(defaults.crds),
            maintainers: self.maintainers.or_else(|| defaults.maintainers.clone()),
            watch: self.watch.or_else(|| defaults.watch.clone()),
            watch_span: self.watch_span.or_else(|| defaults.watch_span.clone()),
            provided: defaults.provided.iter().cloned().chain(self.provided).collect(),
            certificates: self.certificates.or(defaults.certificates),
            issuer: self.issuer.or_else(|| defaults.issuer.clone()),
            toggles: self.toggles,
        }
    }
}

/// Reads the settings in `[defaults]`, `[[bundle]]` or `[[chart]]`: those in `table`. Toggles that are
/// not set there are as in `defaults`.
pub(super) fn settings(
    reader: &mut Reader<'_>,
    fields: &Fields<'_>,
    table: &Table,
    defaults: Toggles,
) -> Settings {
    let toggles = Toggles::read(fields, table, defaults);
    let watch = match (fields.text("watch"), fields.texts("watch")) {
        (Some(word), _) => watch_word(reader, word),
        (None, Some(list)) => watch_list(reader, list),
        (None, None) => None,
    };
    let watch_range = fields.text("watch").map(|(_, range)| range);
    let watch_range = watch_range.or_else(|| fields.texts("watch").map(|(_, range)| range));
    let pull_secret = match (fields.text("pull-secret"), fields.boolean("pull-secret")) {
        (Some(at), _) => values::secret(reader, at).map(Some),
        (None, Some(_)) => Some(None),
        (None, None) => None,
    };
    let crds = fields.text("crds").and_then(|(text, _)| CrdPlacement::named(text));

    Settings {
        include: filters(reader, fields, "include"),
        exclude: filters(reader, fields, "exclude"),
        pull_secret,
        crds,
        toggles,
        maintainers: maintainers(reader, fields),
        watch,
        watch_span: watch_range.map(|range| reader.span(range)),
        provided: provided(reader, fields),
        certificates: certificates::provider(fields),
        issuer: certificates::issuer(reader, fields),
    }
}

/// Reads `maintainers`; an empty list means none, also where `[defaults]` has some.
pub(crate) fn maintainers(reader: &mut Reader<'_>, fields: &Fields<'_>) -> Option<Vec<Maintainer>> {
    let is_set = fields.places().any(|(key, _)| key.name == "maintainers");
    let tables = reader.inner_tables(fields, "maintainers");
    let found = tables.iter().filter_map(|fields| maintainer(reader, fields)).collect();
    is_set.then_some(found)
}

fn maintainer(reader: &mut Reader<'_>, fields: &Fields<'_>) -> Option<Maintainer> {
    let name = fields.text("name").and_then(|at| values::filled(reader, "name", at))?;
    let (email, url) = (fields.text("email"), fields.text("url"));
    if let Some((text, range)) = email.as_ref().filter(|(text, _)| !text.contains('@')) {
        let message = format!("`email` of a maintainer is not an address: {text:?}");
        let hint = "write an address such as `platform@example.com`";
        reader.error(Code::InvalidValue, range, message, hint);
    }
    let is_web = |text: &str| text.starts_with("https://") || text.starts_with("http://");
    if let Some((text, range)) = url.as_ref().filter(|(text, _)| !is_web(text)) {
        let message = format!("`url` of a maintainer is not a web address: {text:?}");
        let hint = "write an address that begins with `https://`";
        reader.error(Code::InvalidValue, range, message, hint);
    }
    let owned = |text: Option<Located<&str>>| text.map(|(text, _)| text.to_owned());
    Some(Maintainer { name: name.to_owned(), email: owned(email), url: owned(url) })
}

fn filters(reader: &mut Reader<'_>, fields: &Fields<'_>, key: &str) -> Vec<Filter> {
    let (items, _) = fields.texts(key).unwrap_or_default();
    items.into_iter().map(|at| overlay::program(reader, at, Purpose::Filter)).collect()
}

/// Reads `provided`: dependencies that the cluster already provides.
fn provided(reader: &mut Reader<'_>, fields: &Fields<'_>) -> Vec<Text> {
    let (items, _) = fields.texts("provided").unwrap_or_default();
    let mut provided = Vec::new();
    for (text, range) in items {
        let parts: Vec<&str> = text.split('/').collect();
        let fits = match parts.as_slice() {
            [package] => !package.is_empty(),
            [_, version, kind] => !version.is_empty() && !kind.is_empty(),
            _ => false,
        };
        if fits && !text.contains(char::is_whitespace) {
            provided.push(Text { text: text.to_owned(), span: reader.span(range) });
            continue;
        }
        reader.error(
            Code::InvalidValue,
            &range,
            format!("{text:?} is neither a package nor an API"),
            "write a package name, or GROUP/VERSION/KIND, for example \
                `cert-manager.io/v1/Certificate`",
        );
    }
    provided
}

/// OLM's install modes with their values of `watch`.
const INSTALL_MODES: [(&str, &str); 2] = [("AllNamespaces", "all"), ("OwnNamespace", "own")];
/// Those whose value is a list.
const LISTED_MODES: [&str; 2] = ["SingleNamespace", "MultiNamespace"];

/// `"all"` or `"own"`.
fn watch_word(reader: &mut Reader<'_>, (text, range): Located<&str>) -> Option<Watch> {
    match text {
        "all" => Some(Watch::All),
        "own" => Some(Watch::Own),
        _ => {
            let mode = INSTALL_MODES.iter().find(|(mode, _)| *mode == text).map(|(_, word)| *word);
            let hint = match mode.or_else(|| suggest::nearest(text, &["all", "own"])) {
                Some(word) => format!("did you mean `watch = \"{word}\"`?"),
                None if LISTED_MODES.contains(&text) => {
                    "list the namespaces: `watch = [\"my-namespace\"]`".to_owned()
                }
                None => format!("for specific namespaces, write `watch = [\"{text}\"]`"),
            };
            let message = format!("`watch` must be \"all\", \"own\" or a list, not {text:?}");
            reader.error(Code::InvalidValue, &range, message, hint);
            None
        }
    }
}

/// Returns the namespaces to watch.
fn watch_list(
    reader: &mut Reader<'_>,
    (items, range): Located<Vec<Located<&str>>>,
) -> Option<Watch> {
    if items.is_empty() {
        reader.error(
            Code::InvalidValue,
            &range,
            "`watch` is an empty list",
            "write `watch = \"all\"`, `watch = \"own\"`, or list the namespaces",
        );
        return None;
    }

    let mut names: Vec<String> = Vec::new();
    for (index, (text, range)) in items.iter().enumerate() {
        if let Some((_, first)) = items.iter().take(index).find(|(earlier, _)| earlier == text) {
            let message = format!("duplicate namespace `{text}` in `watch`");
            let diagnostic = Diagnostic::error(Code::InvalidValue, message)
                .at(reader.place(range.clone()))
                .related(reader.place(first.clone()), "first listed here")
                .hint("remove one of them");
            reader.found.push(diagnostic);
        } else if let Some(name) = values::namespace(reader, (text, range.clone())) {
            names.push(name);
        }
    }

    Some(Watch::Namespaces(names))
}
