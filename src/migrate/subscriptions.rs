//! From OLM: `kubectl get subscriptions,csvs,operatorgroups,catalogsources -o yaml`.

use super::{inline, left_out};
use crate::add::{self, Added};
use crate::config::{Config, PodConfig};
use crate::diag::{Code, Diagnostic, Diagnostics, Place};
use crate::ir::Release;
use crate::ir::json::text;
use crate::yaml;
use serde_json::Value as Json;
use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::Path;

/// The operators that a cluster has installed with OLM.
#[derive(Clone, Debug)]
pub(crate) struct Installed<'a> {
    /// The argument of the command, for messages.
    pub file: &'a str,
    /// Files with the output of kubectl, each with its name.
    pub files: &'a [(String, Vec<u8>)],
    /// Images of catalogs, by the name of their CatalogSource.
    pub catalogs: &'a [(String, String)],
}

/// Returns the configuration at `path` with a table for each Subscription. `None` after an error.
pub(crate) fn subscriptions(
    installed: &Installed<'_>,
    path: &Path,
    diagnostics: &mut Diagnostics,
) -> Option<Added> {
    let start = diagnostics.mark();
    let objects = objects(installed, diagnostics)?;
    let of_kind = |kind: &'static str| objects.iter().filter(move |object| object["kind"] == kind);
    let subscriptions: Vec<&Json> = of_kind("Subscription")
        // Knative's messaging API has Subscriptions, too.
        .filter(|object| text(*object, &["apiVersion"]).starts_with("operators.coreos.com/"))
        .collect();
    if subscriptions.is_empty() {
        let message = "there is no Subscription";
        let found = Diagnostic::error(Code::NotMigrated, message).at(Place::file(installed.file));
        return diagnostics.fail(found.hint(
            "run `kubectl get subscriptions,csvs,operatorgroups,catalogsources --all-namespaces \
                -o yaml`",
        ));
    }

    let mut names = BTreeSet::new();
    let mut tables = Vec::new();
    for subscription in subscriptions {
        let one = Subscription { object: subscription, objects: &objects, installed };
        // Two namespaces may have the same package.
        let package = text(subscription, &["spec", "name"]).to_owned();
        let name = match names.contains(&package) {
            true => format!("{package}-{}", one.namespace()),
            false => package,
        };
        tables.extend(one.table(&name, diagnostics));
        names.insert(name);
    }
    diagnostics.no_errors_since(start)?;
    let text = Config::read_text(path, diagnostics)?;
    add::with_tables(path, text, names.into_iter().collect(), tables.join("\n"), diagnostics)
}

/// Returns the objects of all documents, and those of lists.
fn objects(installed: &Installed<'_>, diagnostics: &mut Diagnostics) -> Option<Vec<Json>> {
    let mut documents = Vec::new();
    for (file, content) in installed.files {
        let text = std::str::from_utf8(content).map_err(|error| error.to_string());
        match text.and_then(yaml::parse) {
            Ok(found) => documents.extend(found),
            Err(why) => {
                let message = format!("not valid YAML: {why}");
                let found = Diagnostic::error(Code::NotMigrated, message).at(Place::file(file));
                let hint = "pass the output of `kubectl get … -o yaml` as it is";
                return diagnostics.fail(found.hint(hint));
            }
        }
    }
    let documents = documents.iter().map(|document| Release::LITERAL.value(document));
    let items = documents.flat_map(|document| match document.get("items").cloned() {
        Some(Json::Array(items)) => items,
        _ => vec![document],
    });
    Some(items.collect())
}

/// A Subscription among the other objects.
struct Subscription<'a> {
    object: &'a Json,
    objects: &'a [Json],
    installed: &'a Installed<'a>,
}

impl Subscription<'_> {
    fn namespace(&self) -> &str {
        text(self.object, &["metadata", "namespace"])
    }

    fn label(&self) -> String {
        format!("Subscription/{}", text(self.object, &["metadata", "name"]))
    }

    fn left_out(&self, message: String, hint: &str, diagnostics: &mut Diagnostics) {
        left_out(self.installed.file, &self.label(), message, hint, diagnostics);
    }

    /// Returns the objects of a kind in a namespace.
    fn others(&self, kind: &'static str, namespace: &str) -> impl Iterator<Item = &Json> {
        self.objects.iter().filter(move |object| {
            object["kind"] == kind && text(*object, &["metadata", "namespace"]) == namespace
        })
    }

    fn table(&self, name: &str, diagnostics: &mut Diagnostics) -> Option<String> {
        let catalog = self.catalog(diagnostics)?;
        let mut keys = vec![
            ("catalog", catalog),
            ("package", text(self.object, &["spec", "name"]).to_owned()),
            ("channel", text(self.object, &["spec", "channel"]).to_owned()),
            ("version", self.version(diagnostics).unwrap_or_default()),
            ("namespace", self.namespace().to_owned()),
        ];
        keys.retain(|(_, value)| !value.is_empty());
        let mut table = add::table(name, &keys);
        if let Some(watch) = self.watch(diagnostics) {
            let _ = writeln!(table, "watch = {watch}");
        }

        let config = self.object["spec"]["config"].as_object().into_iter().flatten();
        let mut entries = Vec::new();
        for (key, value) in config {
            // `proxy` is a key of bundles.toml alone.
            if key != "proxy" && PodConfig::table().key(key).is_some() {
                entries.push(format!("{key} = {}\n", inline::value(value)));
            } else {
                let message = format!("`spec.config.{key}` is not carried over");
                let hint = "change the operator's pods with a `[[bundle.patch]]`";
                self.left_out(message, hint, diagnostics);
            }
        }
        if !entries.is_empty() {
            let _ = write!(table, "\n[bundle.config]\n{}", entries.concat());
        }
        Some(table)
    }

    /// Returns the image of the catalog.
    fn catalog(&self, diagnostics: &mut Diagnostics) -> Option<String> {
        let name = text(self.object, &["spec", "source"]);
        // The last one: a later option overrides an earlier one.
        let mut given = self.installed.catalogs.iter().rev();
        if let Some((_, image)) = given.find(|(catalog, _)| catalog == name) {
            return Some(image.clone());
        }
        let namespace = text(self.object, &["spec", "sourceNamespace"]);
        let mut sources = self.others("CatalogSource", namespace);
        let source = sources.find(|source| text(*source, &["metadata", "name"]) == name);
        let image = source.map(|source| text(source, &["spec", "image"])).unwrap_or_default();
        if !image.is_empty() {
            return Some(image.to_owned());
        }

        let message = format!("{}: the image of CatalogSource/{name} is unknown", self.label());
        let hint = format!(
            "pass `--catalog {name}=REFERENCE`, or the output of `kubectl get` with catalogsources"
        );
        let place = Place::file(self.installed.file).object(self.label());
        diagnostics.fail(Diagnostic::error(Code::NotMigrated, message).at(place).hint(hint))
    }

    /// Returns the version of the installed CSV, or of the one that is requested.
    fn version(&self, diagnostics: &mut Diagnostics) -> Option<String> {
        // The installed one first: `startingCSV` stays in the Subscription after upgrades.
        let installed = [&["status", "installedCSV"][..], &["spec", "startingCSV"]];
        let names = installed.map(|keys| text(self.object, keys));
        let name = names.into_iter().find(|name| !name.is_empty())?;
        let mut csvs = self.others("ClusterServiceVersion", self.namespace());
        let csv = csvs.find(|csv| text(*csv, &["metadata", "name"]) == name);
        let stated = csv.map(|csv| text(csv, &["spec", "version"])).unwrap_or_default();
        // By convention a CSV is called NAME.vVERSION; without CSVs in the output, only that is
        // known.
        let suffix = name.split_once('.').map_or("", |(_, version)| version);
        let found = [stated, suffix.trim_start_matches('v')];
        let version = found.into_iter().find(|text| semver::Version::parse(text).is_ok());
        if version.is_none() {
            let message = format!("the version of `{name}` is unknown, so the newest is used");
            self.left_out(message, "set `version` to stay at one", diagnostics);
        }
        version.map(str::to_owned)
    }

    /// Returns the watched namespaces of the OperatorGroup, as a TOML value.
    fn watch(&self, diagnostics: &mut Diagnostics) -> Option<String> {
        // OLM allows one OperatorGroup in a namespace.
        let Some(group) = self.others("OperatorGroup", self.namespace()).next() else {
            let message = "there is no OperatorGroup in its namespace, so the namespaces to watch \
                are those of the bundle's default install mode";
            self.left_out(message.to_owned(), "check `watch`", diagnostics);
            return None;
        };
        if group["spec"].get("selector").is_some_and(|selector| !selector.is_null()) {
            let message = "the OperatorGroup selects namespaces by labels";
            self.left_out(message.to_owned(), "list the namespaces in `watch`", diagnostics);
            return None;
        }
        let targets = group["spec"]["targetNamespaces"].as_array().into_iter().flatten();
        let targets: Vec<&str> =
            targets.filter_map(Json::as_str).filter(|name| !name.is_empty()).collect();
        Some(match targets.as_slice() {
            [] => "\"all\"".to_owned(),
            [own] if *own == self.namespace() => "\"own\"".to_owned(),
            targets => add::list(targets),
        })
    }
}

#[cfg(test)]
mod tests;
