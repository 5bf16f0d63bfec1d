//! Parses `bundles.toml` into a checked [`Config`].

use super::keys::serving::SERVING;
use super::keys::{BUNDLE, DEFAULTS, IGNORE, MIRROR, NETWORK, OUTPUT, REGISTRY, ROOT};
use super::tree::{Fields, Located, Reader};
use super::{
    BundleConfig, CatalogSource, CertificateProvider, Config, CrdPlacement, Filter, Issuer, Layout,
    Mirror, Network, Output, Registry, Source, Text, Watch,
};
use super::{check, operands};
use crate::diag::{Code, Diagnostic, Diagnostics, Place, SourceText, Span};
use crate::ir::{Ignore, Pattern};
use crate::jq::Purpose;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use toml::de::{DeTable, Error};

/// Most bundles of one file; keeps the checks of all against all short.
const BUNDLE_LIMIT: usize = 1_000;

/// A bundle whose names are not yet checked against each other.
pub(super) struct Draft<'t> {
    pub(super) name: Option<Located<&'t str>>,
    pub(super) depends_on: Vec<Located<&'t str>>,
}

/// Settings that can be in `[defaults]` or in a bundle.
#[derive(Default)]
struct Settings {
    include: Vec<Filter>,
    exclude: Vec<Filter>,
    /// `Some(None)`: switched off.
    pull_secret: Option<Option<String>>,
    auth_reader: Option<bool>,
    crds: Option<CrdPlacement>,
    strip_descriptions: Option<bool>,
    watch: Option<Watch>,
    provided: Vec<Text>,
    certificates: Option<CertificateProvider>,
    issuer: Option<Issuer>,
    aggregate_roles: Option<bool>,
}

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
        let config = reader.config(tree.get_ref(), base);
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

impl Reader<'_> {
    fn config(&mut self, tree: &DeTable<'_>, base: &Path) -> Option<Config> {
        // Findings about the whole file are placed at its first line.
        let end = self.source.text.find('\n').unwrap_or(self.source.text.len());
        let root = self.fields(&ROOT, 0..end, tree);
        if let Some(at) = root.text("required-version") {
            self.required_version(at);
        }
        let mut defaults = Settings::default();
        if let Some((table, header)) = root.table("defaults") {
            let fields = self.fields(&DEFAULTS, header, table);
            defaults = self.settings(&fields);
        }
        let mut output = Some(Output { dir: PathBuf::from("out"), layout: Layout::default() });
        if let Some((table, header)) = root.table("output") {
            let fields = self.fields(&OUTPUT, header, table);
            output = self.output(&fields, base);
        }
        let mirrors = self.mirrors(&root);
        let registries = self.registries(&root);
        let network = self.network(&root);
        let ignore = self.ignores(&root);

        let tables = root.tables("bundle");
        let models = root.tables("serving");
        let has_bundles = tree.contains_key("bundle") || tree.contains_key("serving");
        if let (false, Some(key)) = (has_bundles, ROOT.key("bundle")) {
            self.missing(&ROOT, &root.header, key);
        }
        let empty = tables.is_empty() && models.is_empty();
        if let (true, Some((_, range))) = (empty, root.texts("bundle")) {
            self.error(
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
            self.error(Code::InvalidValue, range, message, hint);
            return None;
        }
        let mut drafts = Vec::new();
        let mut bundles = Vec::new();
        for (table, header) in tables {
            let fields = self.fields(&BUNDLE, header, table);
            let (draft, bundle) = self.bundle(&fields, &defaults);
            drafts.push(draft);
            bundles.extend(bundle);
        }
        let mut servings = Vec::new();
        for (table, header) in models {
            let fields = self.fields(&SERVING, header, table);
            let pull_secret = defaults.pull_secret.as_ref().and_then(Option::as_deref);
            servings.extend(self.serving(&fields, pull_secret));
            let (depends_on, _) = fields.texts("depends-on").unwrap_or_default();
            drafts.push(Draft { name: fields.text("name"), depends_on });
        }
        check::names(self, &drafts);
        check::dependencies(self, &drafts);
        let charts: Vec<_> = bundles
            .iter()
            .map(|bundle| (bundle.name.as_str(), &bundle.span))
            .chain(servings.iter().map(|serving| (serving.name.as_str(), &serving.span)))
            .collect();
        check::companions(self, &bundles, &charts);
        bundles.iter().for_each(|bundle| operands::namespaces(self, bundle));
        let output = output?;
        check::outputs(self, &output, &bundles, &charts, &mirrors);
        let deploy = self.deploy(&root, &output, &bundles);
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

    fn output(&mut self, fields: &Fields<'_>, base: &Path) -> Option<Output> {
        let layout = match fields.text("layout") {
            Some(("flat", _)) => Layout::Flat,
            _ => Layout::Versioned,
        };
        let dir = match fields.text("dir") {
            Some(at) => self.output_dir(at, base)?,
            None => PathBuf::from("out"),
        };
        Some(Output { dir, layout })
    }

    fn mirrors(&mut self, root: &Fields<'_>) -> Vec<Mirror> {
        let mut mirrors: Vec<Mirror> = Vec::new();
        for (table, header) in root.tables("mirror") {
            let fields = self.fields(&MIRROR, header, table);
            let from = fields.text("from").and_then(|at| self.mirror_from(at));
            let to = fields.text("to").and_then(|at| self.mirror_to(at));
            let (Some(from), Some(to)) = (from, to) else { continue };
            let fallback = fields.boolean("fallback").unwrap_or_default();
            let span = self.span(fields.header.clone());
            let first = mirrors.iter().find(|mirror| mirror.from == from && !mirror.fallback);
            if let Some(first) = first {
                let message = format!("this mirror of `{from}` is never used");
                let diagnostic = Diagnostic::error(Code::InvalidValue, message)
                    .at(Place::span(span))
                    .related(Place::span(first.span.clone()), "this mirror is always used first")
                    .hint(
                        "set `fallback = true` for the first one, remove one of them, or use a \
                            longer prefix in one of them",
                    );
                self.found.push(diagnostic);
                continue;
            }
            mirrors.push(Mirror { from, to, fallback, span });
        }

        mirrors
    }

    fn registries(&mut self, root: &Fields<'_>) -> Vec<Registry> {
        let mut registries: Vec<Registry> = Vec::new();
        for (table, header) in root.tables("registry") {
            let fields = self.fields(&REGISTRY, header, table);
            let host = fields.text("host").and_then(|at| self.host("host", at));
            let ca = fields.text("ca").and_then(|at| self.path("ca", at));
            let (listed, _) = fields.texts("auth-hosts").unwrap_or_default();
            let auth_hosts =
                listed.into_iter().filter_map(|at| self.host("auth-hosts", at)).collect();
            let Some(host) = host else { continue };
            let span = self.span(fields.header.clone());
            if let Some(first) = registries.iter().find(|registry| registry.host == host) {
                let message = format!("duplicate table for registry `{host}`");
                let diagnostic = Diagnostic::error(Code::InvalidValue, message)
                    .at(Place::span(span))
                    .related(Place::span(first.span.clone()), "first defined here")
                    .hint("merge them into one table");
                self.found.push(diagnostic);
                continue;
            }
            registries.push(Registry {
                host,
                ca: ca.map(PathBuf::from),
                plain_http: fields.boolean("plain-http").unwrap_or_default(),
                auth_hosts,
                span,
            });
        }

        registries
    }

    fn network(&mut self, root: &Fields<'_>) -> Network {
        let usual = Network::default();
        let Some((table, header)) = root.table("network") else { return usual };
        let fields = self.fields(&NETWORK, header, table);
        let seconds = |number: u32| Duration::from_secs(u64::from(number));
        Network {
            retries: fields.integer("retries").unwrap_or(usual.retries),
            timeout: fields.integer("timeout").map_or(usual.timeout, seconds),
            downloads: fields.integer("downloads").map_or(usual.downloads, |n| n as usize),
        }
    }

    fn ignores(&mut self, root: &Fields<'_>) -> Vec<Ignore> {
        let mut ignores = Vec::new();
        for (table, header) in root.tables("ignore") {
            let fields = self.fields(&IGNORE, header, table);
            let reason = fields.text("reason").map(|(text, range)| {
                if text.trim().is_empty() {
                    let hint = "give the reason why these changes can be ignored";
                    self.error(Code::InvalidValue, &range, "`reason` is empty", hint);
                }
                text.to_owned()
            });
            let Some((text, range)) = fields.text("path") else { continue };
            match Pattern::parse(text) {
                Ok(pattern) => {
                    ignores.push(Ignore { pattern, reason: reason.unwrap_or_default() });
                }
                Err(why) => {
                    let hint = "run `bundle2chart explain invalid-pattern` for the syntax";
                    self.error(Code::InvalidPattern, &range, why, hint);
                }
            }
        }
        ignores
    }

    fn settings(&mut self, fields: &Fields<'_>) -> Settings {
        let watch = match (fields.text("watch"), fields.texts("watch")) {
            (Some(word), _) => self.watch_word(word),
            (None, Some(list)) => self.watch_list(list),
            (None, None) => None,
        };
        let pull_secret = match (fields.text("pull-secret"), fields.boolean("pull-secret")) {
            (Some(at), _) => self.secret(at).map(Some),
            (None, Some(_)) => Some(None),
            (None, None) => None,
        };
        let crds = fields.text("crds").and_then(|(text, _)| CrdPlacement::named(text));

        Settings {
            include: self.filters(fields, "include"),
            exclude: self.filters(fields, "exclude"),
            pull_secret,
            auth_reader: fields.boolean("auth-reader"),
            crds,
            strip_descriptions: fields.boolean("strip-descriptions"),
            watch,
            provided: self.provided(fields),
            certificates: Self::provider(fields),
            issuer: self.issuer(fields),
            aggregate_roles: fields.boolean("aggregate-roles"),
        }
    }

    fn filters(&mut self, fields: &Fields<'_>, key: &str) -> Vec<Filter> {
        let (items, _) = fields.texts(key).unwrap_or_default();
        items.into_iter().map(|at| self.program(at, Purpose::Filter)).collect()
    }

    fn catalog(&mut self, fields: &Fields<'_>) -> Option<Source> {
        let [catalog, package, channel] =
            ["catalog", "package", "channel"].map(|key| match fields.text(key) {
                Some(at) => self.word(key, at).map(Some),
                None => Some(None),
            });
        let version = match fields.text("version") {
            Some(at) => self.wanted_version(at).map(Some),
            None => Some(None),
        };
        // Each of the values has been checked above and reported its own errors.
        Some(Source::Catalog(CatalogSource {
            catalog: catalog??,
            package: package??,
            channel: channel?,
            version: version?,
        }))
    }

    fn bundle<'t>(
        &mut self,
        fields: &Fields<'t>,
        defaults: &Settings,
    ) -> (Draft<'t>, Option<BundleConfig>) {
        let name = fields.text("name");
        if let Some(at) = &name {
            self.name(at);
        }
        let source = match (fields.text("image"), fields.text("path")) {
            _ if fields.text("catalog").is_some() => self.catalog(fields),
            (Some(at), _) => {
                let span = self.span(at.1.clone());
                self.reference("image", at).map(|reference| Source::Image { reference, span })
            }
            (None, Some(at)) => {
                let span = self.span(at.1.clone());
                self.path("path", at).map(|path| Source::Path { path, span })
            }
            (None, None) => None,
        };
        // The package of a catalog is checked with the catalog.
        let package = match &source {
            Some(Source::Catalog(wanted)) => Some(wanted.package.clone()),
            _ if fields.text("catalog").is_some() => None,
            _ => fields.text("package").and_then(|at| self.word("package", at)),
        };
        let own = self.settings(fields);
        let certificates = own.certificates.or(defaults.certificates).unwrap_or_default();
        self.issuer_is_used(fields, certificates);
        let pods = self.pods(fields);
        let overlays = self.overlays(fields);
        let patches = self.patches(fields);
        let operands = self.operands(fields);
        let stub_crds = self.stub_crds(fields);
        let namespace = fields.text("namespace").and_then(|at| self.namespace(at));
        let chart_version = fields.text("chart-version").and_then(|at| self.version(at));
        let (depends_on, _) = fields.texts("depends-on").unwrap_or_default();

        let joined =
            |shared: &[Filter], own: Vec<Filter>| shared.iter().cloned().chain(own).collect();
        let bundle = name.clone().zip(source).map(|((name, _), source)| BundleConfig {
            name: name.to_owned(),
            source,
            package,
            namespace,
            watch: own.watch.or_else(|| defaults.watch.clone()),
            include: joined(&defaults.include, own.include),
            exclude: joined(&defaults.exclude, own.exclude),
            pull_secret: own.pull_secret.or_else(|| defaults.pull_secret.clone()).flatten(),
            auth_reader: own.auth_reader.or(defaults.auth_reader).unwrap_or_default(),
            crds: own.crds.or(defaults.crds),
            strip_descriptions: own
                .strip_descriptions
                .or(defaults.strip_descriptions)
                .unwrap_or_default(),
            certificates,
            pods,
            overlays,
            patches,
            scopes: self.scopes(fields),
            operands,
            stub_crds,
            issuer: own.issuer.or_else(|| defaults.issuer.clone()),
            aggregate_roles: own.aggregate_roles.or(defaults.aggregate_roles).unwrap_or_default(),
            chart_version,
            provided: defaults.provided.iter().cloned().chain(own.provided).collect(),
            depends_on: depends_on.iter().map(|(name, _)| (*name).to_owned()).collect(),
            span: self.span(fields.header.clone()),
        });
        (Draft { name, depends_on }, bundle)
    }
}
