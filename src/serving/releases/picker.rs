//! Configurations of endpoint pickers: `apiVersion`, keys, feature gates, plugins and parameters.

use super::fields::{self, Field};
use super::spans::Release;
use super::verdict::{Judge, Kind, Verdict};
use super::{Picker, Plugin};
use crate::diag::suggest;
use crate::view::pods::{list, text};
use serde_json::Value as Json;
use std::collections::BTreeMap;

/// Judges a configuration; `allows_experimental` is the flag `--allow-experimental-plugins`.
pub(crate) fn judge(
    table: &Picker,
    release: Release,
    config: &Json,
    allows_experimental: bool,
) -> Vec<Verdict> {
    let mut judge = Judge::new(table.program.name, &table.program.releases, release);
    // Without the release, only names are judged that no release has.
    api_version(&mut judge, table, config);
    keys(&mut judge, table, config);
    gates(&mut judge, table, config);

    for (index, plugin) in list(config, "plugins").iter().enumerate() {
        let path = format!(".plugins[{index}]");
        let name = text(plugin, "type");
        if !name.is_empty() && !super::argparse::is_open(name) {
            self::plugin(&mut judge, table, plugin, name, &path, allows_experimental);
        }
    }
    judge.verdicts()
}

fn api_version(judge: &mut Judge<'_>, table: &Picker, config: &Json) {
    let written = text(config, "apiVersion");
    if written.is_empty() {
        judge.push(Kind::Refused, ".apiVersion", "no apiVersion".to_owned(), "add it");
        return;
    }
    let index = judge.index();
    let known = table.api_versions.names(index);
    if !known.contains(&written) {
        let message = format!("{} does not read apiVersion `{written}`", judge.title());
        let hint = known
            .last()
            .map_or("remove it".to_owned(), |last| format!("write `apiVersion: {last}`"));
        judge.push(Kind::Refused, ".apiVersion", message, hint);
        return;
    }
    let newest = known.last().copied().unwrap_or_default();
    if index.is_some() && written != newest {
        let message = format!("apiVersion `{written}` is deprecated in {}", judge.title());
        judge.push(Kind::Deprecated, ".apiVersion", message, format!("write `{newest}`"));
    }
}

fn keys(judge: &mut Judge<'_>, table: &Picker, config: &Json) {
    for (name, value) in config.as_object().into_iter().flatten() {
        let path = format!(".{name}");
        let found = judge.exists(&table.config, name, name, "key", &path, Kind::Refused);
        // An unknown release has the fields of any.
        let objects: Vec<BTreeMap<String, Field>> = found
            .iter()
            .map(|field| BTreeMap::from_iter([(name.clone(), (*field).clone())]))
            .collect();
        let fields = fields::union(objects.iter());
        if fields.is_empty() {
            continue;
        }
        let object = Json::Object(serde_json::Map::from_iter([(name.clone(), value.clone())]));
        fields::judge(judge, &object, &fields, "", "key", Kind::Refused);
    }
}

fn gates(judge: &mut Judge<'_>, table: &Picker, config: &Json) {
    let index = judge.index();
    for gate in list(config, "featureGates").iter().filter_map(Json::as_str) {
        let path = ".featureGates";
        let (name, value) = match gate.split_once('=') {
            Some((name, value)) => (name, Some(value)),
            None => (gate, None),
        };
        if let Some(value) =
            value.filter(|_| index.is_some() && !table.program.behaviors.has("gate_assign", index))
        {
            let message =
                format!("{} does not accept a value for feature gate `{name}`", judge.title());
            let hint =
                if value == "true" { format!("write `{name}`") } else { "remove it".to_owned() };
            judge.push(Kind::Refused, path, message, hint);
            continue;
        }

        let known = table.gates.names(index);
        if table.gates.find(name).is_none() {
            let title = judge.title();
            let message = format!("{title} has no feature gate `{name}`");
            judge.push(Kind::Refused, path, message, suggest::hint(name, &known, "gates"));
        } else {
            judge.exists(&table.gates, name, name, "feature gate", path, Kind::Refused);
        }
        if let Some(value) = value.filter(|value| !matches!(*value, "true" | "false")) {
            let message = format!("feature gate `{name}` has the value `{value}`");
            judge.push(Kind::Refused, path, message, "write `true` or `false`");
        }
    }
}

/// Judges a plugin and its parameters.
fn plugin(
    judge: &mut Judge<'_>,
    table: &Picker,
    plugin: &Json,
    name: &str,
    path: &str,
    allows_experimental: bool,
) {
    let index = judge.index();
    let before = judge.verdicts.len();
    let found = judge.exists(&table.plugins, name, name, "plugin", path, Kind::Refused);
    if table.plugins.find(name).is_none() {
        let near = suggest::nearest(name, &table.plugins.names(index)).is_some();
        // A custom plugin of a custom picker is no typing error.
        if let Some(verdict) = judge.verdicts.get_mut(before).filter(|_| !near) {
            verdict.is_certain = false;
            verdict.hint = "custom plugins need a custom image".to_owned();
        }
        return;
    }
    let current = table.plugins.find(name).and_then(|spans| judge.current(spans));
    if let Some(spec) = current.filter(|spec| spec.deprecated) {
        let removal = match spec.removal.as_str() {
            "" => String::new(),
            release => format!(", and removed in {release}"),
        };
        let instead = match spec.instead.as_str() {
            "" => later_replacement(table, name),
            instead => Some(format!("use `{instead}`")),
        };
        judge.deprecated(path, &format!("plugin `{name}`"), &removal, instead);
    }

    let is_alpha = index.is_some() && found.iter().any(|spec| spec.alpha);
    if is_alpha && !allows_experimental {
        let message = format!("plugin `{name}` is experimental");
        let hint = "add the flag `--allow-experimental-plugins`, or use another plugin";
        judge.push(Kind::Refused, path, message, hint);
    }
    parameters(judge, table, plugin, name, &found, path);
}

/// Returns the replacement that a later release names.
fn later_replacement(table: &Picker, name: &str) -> Option<String> {
    let spans = table.plugins.find(name)?;
    let instead = spans.all().map(|spec| spec.instead.as_str()).find(|text| !text.is_empty())?;
    Some(format!("use `{instead}`"))
}

/// Judges the parameters of a plugin by the facts of its releases: of one, or of all if the release is
/// unknown.
fn parameters(
    judge: &mut Judge<'_>,
    table: &Picker,
    plugin: &Json,
    name: &str,
    specs: &[&Plugin],
    path: &str,
) {
    let Some(parameters) = plugin.get("parameters").filter(|p| !p.is_null()) else { return };
    let path = format!("{path}.parameters");
    let Some(map) = parameters.as_object() else {
        let message = format!("`parameters` of plugin `{name}` is not a map");
        judge.push(Kind::Refused, &path, message, "write a map");
        return;
    };

    if specs.iter().all(|spec| spec.ignored) {
        if !map.is_empty() && !specs.is_empty() {
            let message = format!("plugin `{name}` of {} has no parameters", judge.title());
            judge.push(Kind::Ignored, &path, message, "remove `parameters`");
        }
        return;
    }
    if specs.iter().any(|spec| spec.open) {
        return;
    }

    let newest = judge.index().or(judge.releases.len().checked_sub(1));
    let is_strict = table.program.behaviors.has("strict_parameters", newest);
    let unknown = if is_strict { Kind::Refused } else { Kind::Ignored };
    let fields = fields::union(specs.iter().map(|spec| &spec.parameters));
    let before = judge.verdicts.len();
    fields::judge(judge, parameters, &fields, &path, &format!("`{name}` parameter"), unknown);
    // The image may have a later release, but hardly a typing error.
    if judge.release == Release::Unknown {
        for verdict in &mut judge.verdicts[before..] {
            verdict.is_certain = verdict.hint.starts_with("did you mean");
        }
        some_have(judge, table, name, map.keys());
    }
}

/// Records parameters that only some releases of a plugin have, for an unknown release.
fn some_have<'k>(
    judge: &mut Judge<'_>,
    table: &Picker,
    plugin: &str,
    names: impl Iterator<Item = &'k String>,
) {
    let Some(spans) = table.plugins.find(plugin) else { return };
    for name in names {
        let knows = |spec: &Plugin| {
            spec.ignored || spec.parameters.keys().any(|known| known.eq_ignore_ascii_case(name))
        };
        if !spans.all().any(knows) {
            continue;
        }
        // Releases without the plugin are told by its own name.
        let has: Vec<bool> =
            (0..judge.releases.len()).map(|index| spans.at(index).is_none_or(knows)).collect();
        judge.depends(&format!("{plugin}.{name}"), &has);
    }
}
