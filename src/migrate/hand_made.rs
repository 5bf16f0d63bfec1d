//! From a hand-made chart and the bundle that it was made from.
//!
//! Objects that only the chart has become overlays, fields that it has beyond the bundle's objects or
//! sets to other values become patches. What only the bundle has stays as the bundle has it.

use super::changes::Changes;
use super::operands;
use super::{inline, left_out};
use crate::add::{self, Added, quoted};
use crate::config::{BundleConfig, Config, STUBS, Watch};
use crate::diag::{Diagnostics, listed};
use crate::diff::{Identity, Placement};
use crate::ir::{Object, Origin, Phase, RELEASE_LABELS, Release, Value};
use crate::olm::{AUTH_READER, auth_reader_name};
use crate::pipeline::operand::{self, Operands};
use crate::pipeline::{self, Compiled};
use crate::source::chart as charts;
use crate::source::{Access, SourceResolver};
use crate::{bundle, olm, yaml};
use serde_json::{Value as Json, json};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::Path;

/// Name of the bundle while it is read.
const DRAFT: &str = "bundle2chart-migrate";

/// Returns the configuration at `path` with a table for the hand-made `chart`, a directory or package, and
/// its `bundle`, an image reference or a path. The chart has these `values` over its defaults. `None` after
/// an error.
pub(crate) fn hand_made(
    chart: &str,
    bundle: &str,
    values: Json,
    path: &Path,
    access: Access,
    diagnostics: &mut Diagnostics,
) -> Option<Added> {
    let source = [add::source_key(bundle, path)];
    let text = Config::read_text(path, diagnostics)?;
    let config = add::parse(path, text.clone(), &add::table(DRAFT, &source), diagnostics)?;
    let settings = config.bundles.iter().find(|bundle| bundle.name == DRAFT)?.clone();
    let sources = SourceResolver::of(&config, access);

    // Rendered for its own default namespaces.
    let operands = Operands {
        config: Some(&config),
        values,
        helm: true,
        ..Operands::new(&sources, Path::new(""))
    };
    let side = operands.load(chart, None, diagnostics)?;
    let facts = side.chart.unwrap_or_default();
    let mut migration = Migration {
        file: chart,
        name: facts.name.clone(),
        theirs: side.objects.into_values().collect(),
        namespace: String::new(),
        pull_secret: None,
        table: String::new(),
        diagnostics,
    };
    migration.read_other_files(Path::new(chart))?;
    // Before objects are compared: it becomes a key, and no patch of each ServiceAccount.
    migration.find_pull_secret();
    let compiled = migration.compile(settings, &sources)?;
    migration.head(&source, &compiled, &facts.crds.into_values().collect());
    migration.compare(&compiled);

    let Migration { name, table, .. } = migration;
    add::with_tables(path, text, vec![name], table, diagnostics)
}

/// Returns the objects of a file if all are ServiceAccounts.
fn service_accounts(content: &[u8]) -> Option<Vec<Json>> {
    let objects = charts::documents("", content).ok()?;
    let is_account = |object: &Json| object["kind"] == "ServiceAccount";
    (!objects.is_empty() && objects.iter().all(is_account)).then_some(objects)
}

/// A chart on its way to a table.
struct Migration<'a> {
    /// The chart, for messages.
    file: &'a str,
    /// Its name, which the bundle gets.
    name: String,
    /// Its objects.
    theirs: Vec<Json>,
    /// The operator's namespace.
    namespace: String,
    /// Name of the pull secret of its ServiceAccounts.
    pull_secret: Option<String>,
    /// The table so far.
    table: String,
    diagnostics: &'a mut Diagnostics,
}

/// Directories of a chart, and its files, that Helm reads.
const READ_BY_HELM: [&str; 8] = [
    "templates/",
    "crds/",
    "charts/",
    "Chart.yaml",
    "Chart.lock",
    "values.yaml",
    "values.schema.json",
    ".helmignore",
];

impl Migration<'_> {
    /// Adds the ServiceAccounts in files of a chart directory that Helm does not read, such as those of
    /// helmfile hooks, and names the other files.
    fn read_other_files(&mut self, chart: &Path) -> Option<()> {
        if !chart.is_dir() {
            return Some(());
        }
        let tree = self.diagnostics.report(charts::read_folder(chart))?;
        let mut others = Vec::new();
        for (path, content) in &tree {
            if READ_BY_HELM.iter().any(|known| path.starts_with(known)) {
                continue;
            }
            let Some(accounts) = service_accounts(content) else {
                others.push(path.as_str());
                continue;
            };
            for account in accounts {
                let message =
                    format!("from {path}, which Helm does not read: the new chart has it");
                let hint = "remove the file from the hooks, and upgrade with `--take-ownership`: Helm \
                            refuses to adopt a ServiceAccount that exists";
                self.left_out(&Identity::of(&account), message, hint);
                self.theirs.push(account);
            }
        }
        if !others.is_empty() {
            let others = listed(&others, 6);
            let message =
                format!("Helm does not read these files, so they are not carried over: {others}");
            let hint = "add the objects that they create as a `[[bundle.overlay]]`";
            left_out(self.file, &self.name, message, hint, self.diagnostics);
        }
        Some(())
    }

    /// Finds the pull secret that most ServiceAccounts have, and removes it from them.
    fn find_pull_secret(&mut self) {
        let mut counts: BTreeMap<String, usize> = BTreeMap::new();
        let accounts = self.theirs.iter().filter(|object| object["kind"] == "ServiceAccount");
        for secret in
            accounts.filter_map(|account| account["imagePullSecrets"].as_array()).flatten()
        {
            *counts.entry(secret["name"].as_str().unwrap_or_default().to_owned()).or_default() += 1;
        }
        // Of equal counts the last name, always the same one, because the map is sorted.
        self.pull_secret = counts.into_iter().max_by_key(|(_, count)| *count).map(|(name, _)| name);

        let Some(name) = &self.pull_secret else { return };
        let own = json!({"name": name});
        for account in self.theirs.iter_mut().filter(|object| object["kind"] == "ServiceAccount") {
            let Some(secrets) = account["imagePullSecrets"].as_array_mut() else { continue };
            secrets.retain(|secret| *secret != own);
            if secrets.is_empty()
                && let Some(map) = account.as_object_mut()
            {
                map.shift_remove("imagePullSecrets");
            }
        }
    }

    /// Compiles the bundle for the namespace of the chart's Deployment.
    fn compile(
        &mut self,
        mut settings: BundleConfig,
        sources: &SourceResolver,
    ) -> Option<Compiled> {
        let start = self.diagnostics.mark();
        let files = sources.fetch(&settings.source, None, self.diagnostics)?;
        let loaded = bundle::load(&files, self.diagnostics)?;
        let deployments = &loaded.csv.deployments;
        let deployment = self.theirs.iter().find(|object| {
            let name = object["metadata"]["name"].as_str();
            object["kind"] == "Deployment" && deployments.iter().any(|own| Some(&*own.name) == name)
        });
        let namespace = deployment.and_then(|object| object["metadata"]["namespace"].as_str());
        // For a chart without the operator's Deployment, or without a namespace in it.
        let suggested = loaded.suggested_namespace().unwrap_or(&self.name);
        self.namespace = namespace.unwrap_or(suggested).to_owned();

        settings.name.clone_from(&self.name);
        settings.namespace = Some(self.namespace.clone());
        let default = || olm::default_watch(&loaded.csv).map(|watch| (watch, None));
        settings.operator.watch = settings.operator.watch.or_else(default);
        settings.package = None;
        let compiled = pipeline::compile_loaded(Some(loaded), &files, &settings, self.diagnostics);
        // What the build says of the bundle.
        self.diagnostics.only_errors_since(start);
        compiled
    }

    /// Removes the binding that `auth-reader` creates for the accounts of Deployments; returns true
    /// if there is one.
    fn auth_reader(&mut self, compiled: &Compiled) -> bool {
        let deployments = compiled.unit.objects.iter().filter(|o| o.kind() == "Deployment");
        let accounts: BTreeSet<&str> = deployments.map(Object::account).collect();
        let own = [&*self.namespace, operand::NAMESPACE];
        let is_auth_reader = |object: &Json| {
            let subjects = object["subjects"].as_array().map(Vec::as_slice).unwrap_or_default();
            object["kind"] == "RoleBinding"
                && object["metadata"]["namespace"] == "kube-system"
                && object["roleRef"]["name"] == AUTH_READER
                && subjects.iter().all(|subject| {
                    subject["kind"] == "ServiceAccount"
                        && subject["namespace"].as_str().is_some_and(|name| own.contains(&name))
                        && subject["name"].as_str().is_some_and(|name| accounts.contains(name))
                })
        };
        let found: Vec<Json> =
            self.theirs.extract_if(.., |object| is_auth_reader(object)).collect();
        let names = accounts.iter().map(|account| auth_reader_name(&self.name, account));
        let names: Vec<String> = names.map(|name| format!("RoleBinding/{name}")).collect();
        for binding in &found {
            let id = self.identity(binding);
            if names.contains(&format!("RoleBinding/{}", id.name)) {
                continue;
            }
            let message =
                format!("becomes `auth-reader`, and has another name: {}", names.join(", "));
            let hint = "nothing is lost: Helm replaces it during the upgrade";
            self.left_out(&id, message, hint);
        }
        !found.is_empty()
    }

    fn left_out(&mut self, id: &Identity, message: String, hint: &str) {
        left_out(self.file, &label(id), message, hint, self.diagnostics);
    }

    /// Writes the keys of the table.
    fn head(
        &mut self,
        source: &[(&'static str, String)],
        compiled: &Compiled,
        placements: &BTreeSet<Placement>,
    ) {
        let reads_settings = self.auth_reader(compiled);
        self.table = add::table(&self.name, source);
        let mut set = |key: &str, value: &str| {
            let _ = writeln!(self.table, "{key} = {value}");
        };
        set("namespace", &quoted(&self.namespace));
        set("watch", &compiled.watch.as_ref().map_or("\"all\"".to_owned(), Watch::to_toml));
        if let Some(name) = &self.pull_secret {
            set("pull-secret", &quoted(name));
        }
        if reads_settings {
            set("auth-reader", "true");
        }
        // CRDs that Helm does not own stay where they are: it would not adopt them.
        if placements.contains(&Placement::Crds) {
            set("crds", "\"crds\"");
        }
        let stubs: Vec<&str> = self
            .theirs
            .iter()
            .filter(|object| object["kind"] == "CustomResourceDefinition")
            .filter_map(|object| object["metadata"]["name"].as_str())
            .filter(|name| STUBS.contains(name))
            .collect();
        if !stubs.is_empty() {
            set("stub-crds", &add::list(&stubs));
        }
    }

    /// Writes overlays and patches, and reports what only one side has.
    fn compare(&mut self, compiled: &Compiled) {
        let values = compiled.unit.default_values();
        let release = Release { namespace: &self.namespace, values: &values };
        let mut ours: BTreeMap<Identity, (&Object, Json)> = BTreeMap::new();
        // Operands are in a chart of their own, which the hand-made one is not.
        for object in compiled.unit.objects.iter().filter(|o| o.phase != Phase::Operand) {
            if let Some(json) = release.object(object) {
                ours.insert(self.identity(&json), (object, json));
            }
        }

        let mut matched = BTreeSet::new();
        let mut only_theirs = Vec::new();
        let mut patches = String::new();
        // Taken, because `patch` and `overlay` report through `self`.
        for theirs in std::mem::take(&mut self.theirs) {
            let id = self.identity(&theirs);
            match ours.get(&id) {
                Some((_, own)) => {
                    patches.push_str(&self.patch(&id, own, &theirs));
                    matched.insert(id);
                }
                None => only_theirs.push((id, theirs)),
            }
        }
        // Before overlays: objects that the tables create need none.
        let operands = self.operands(&mut only_theirs);
        let overlays: String =
            only_theirs.iter().map(|(id, theirs)| self.overlay(id, theirs)).collect();
        for (id, (object, _)) in ours.iter().filter(|(id, _)| !matched.contains(*id)) {
            let (message, hint) = match &object.origin {
                Origin::Added(reason) => (
                    format!("only in the new chart, which adds it ({reason})"),
                    "check that it does no harm",
                ),
                _ => (
                    "only in the bundle, so the new chart has it".to_owned(),
                    "to leave it out, add a filter to `exclude`",
                ),
            };
            self.left_out(id, message, hint);
        }
        self.table.push_str(&operands);
        self.table.push_str(&overlays);
        self.table.push_str(&patches);
    }

    /// Returns the tables of namespaces and ServiceAccounts, and removes their objects from `objects`.
    fn operands(&mut self, objects: &mut Vec<(Identity, Json)>) -> String {
        let operands = operands::Operands::take(objects, &[&self.namespace, operand::NAMESPACE]);
        for name in operands.namespaces.iter().filter(|_| !operands.are_created) {
            let message = "the hand-made chart does not create it, the new chart does".to_owned();
            let hint = "upgrade the release with `--set createNamespaces=false`: Helm refuses to \
                        adopt a namespace that exists";
            self.left_out(&Identity::new("Namespace", "", "", name), message, hint);
        }
        operands.tables()
    }

    /// Returns the identity of an object, for which the release namespace is the operator's.
    fn identity(&self, object: &Json) -> Identity {
        let id = Identity::of(object);
        let own = id.namespace == self.namespace || id.namespace == operand::NAMESPACE;
        if own { Identity { namespace: String::new(), ..id } } else { id }
    }

    /// Returns the overlay for an object that only the chart has.
    fn overlay(&mut self, id: &Identity, theirs: &Json) -> String {
        if STUBS.contains(&id.name.as_str()) {
            let message = "replaced by a stub CRD, whose schema allows any field".to_owned();
            let hint = "for the full CRD, make it a `[[chart]]` and remove it from `stub-crds`";
            self.left_out(id, message, hint);
            return String::new();
        }
        if id.kind == "Secret" {
            let message = "a Secret is not copied to bundles.toml".to_owned();
            let hint = match self.pull_secret.as_ref() == Some(&id.name) {
                true => "set `pullSecret.dockerConfigJson` when you install the new chart",
                false => "create it outside of the chart",
            };
            self.left_out(id, message, hint);
            return String::new();
        }

        let object = match id.namespace.is_empty() {
            true => without_namespace(theirs),
            false => without_release_labels(theirs),
        };
        let manifest = yaml::plain_value(&Value::from(object)).unwrap_or_default();
        format!(
            "\n# {} of the hand-made chart\n[[bundle.overlay]]\ninline = {}\n",
            label(id),
            inline::lines(&manifest)
        )
    }

    /// Returns the patch that gives the bundle's object what the chart's has beyond it.
    fn patch(&mut self, id: &Identity, ours: &Json, theirs: &Json) -> String {
        if id.kind == "CustomResourceDefinition" {
            // The rest is the server's, or Helm's.
            let changes = Changes::of(&ours["spec"], &theirs["spec"]);
            let count = changes.assignments.len() + changes.lacking.len();
            if count > 0 {
                let places = match count {
                    1 => "one place".to_owned(),
                    count => format!("{count} places"),
                };
                let message = format!(
                    "differs from the bundle's in {places}; the new chart has the bundle's"
                );
                let hint = "compare them with `bundle2chart diff` before the upgrade";
                self.left_out(id, message, hint);
            }
            return String::new();
        }
        // The identities are the same, and hand-made charts set it for cluster-scoped objects, too.
        // That of a pod template has no meaning for the API server.
        let [mut ours, theirs] = [ours, theirs]
            .map(|object| without(without_namespace(object), "/spec/template/metadata"));
        let own_secret = json!({"name": self.pull_secret});
        if let Some(secrets) = ours["imagePullSecrets"].as_array_mut() {
            secrets.retain(|secret| *secret != own_secret);
        }
        let changes = Changes::of(&ours, &theirs);

        if !changes.lacking.is_empty() {
            let message = format!("lacks {}, which the new chart has", changes.lacking.join(", "));
            let hint = "to remove it, write a `[[bundle.patch]]` with `del(…)`";
            self.left_out(id, message, hint);
        }
        if changes.assignments.is_empty() {
            return String::new();
        }
        let matches =
            format!(".kind == {} and .metadata.name == {}", json!(id.kind), json!(id.name));
        let program = changes.assignments.join(" | ");
        format!(
            "\n# {} of the hand-made chart\n[[bundle.patch]]\nmatch = {}\npatch = {}\n",
            label(id),
            inline::literal(&matches),
            inline::literal(&program)
        )
    }
}

/// Returns an object without the labels that Helm recommends, which the new chart sets itself.
fn without_release_labels(object: &Json) -> Json {
    let mut object = object.clone();
    let Some(metadata) = object["metadata"].as_object_mut() else { return object };
    if let Some(labels) = metadata.get_mut("labels").and_then(Json::as_object_mut) {
        labels.retain(|label, _| !RELEASE_LABELS.contains(&label.as_str()));
        if labels.is_empty() {
            metadata.shift_remove("labels");
        }
    }
    object
}

/// Returns [`without_release_labels`], without the namespace.
pub(super) fn without_namespace(object: &Json) -> Json {
    without(without_release_labels(object), "/metadata")
}

/// Returns an object without the namespace in this metadata.
fn without(mut object: Json, metadata: &str) -> Json {
    if let Some(metadata) = object.pointer_mut(metadata).and_then(Json::as_object_mut) {
        metadata.shift_remove("namespace");
    }
    object
}

fn label(id: &Identity) -> String {
    match id.namespace.as_str() {
        "" => format!("{}/{}", id.kind, id.name),
        namespace => format!("{}/{} in {namespace}", id.kind, id.name),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_pods_that_are_compared_lose_their_namespace() {
        let template = json!({"metadata": {"namespace": "x", "labels": {"a": "b"}}});
        let object = json!({
            "metadata": {"name": "a", "namespace": "x"},
            "spec": {"namespace": "x", "template": template},
        });
        // The template of an ApplicationSet, for example, means it.
        let copied = without_namespace(&object);
        assert_eq!(copied["spec"], object["spec"]);
        assert_eq!(copied["metadata"], json!({"name": "a"}));
        let compared = without(copied, "/spec/template/metadata");
        let template = json!({"metadata": {"labels": {"a": "b"}}});
        assert_eq!(compared["spec"], json!({"namespace": "x", "template": template}));
    }
}
