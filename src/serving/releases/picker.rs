//! Configurations of endpoint pickers: `apiVersion`, keys, feature gates, plugins and parameters.

use super::*;

/// Judges a configuration; `allows_experimental` is the flag `--allow-experimental-plugins`.
pub(crate) fn judge(
    table: &Picker,
    release: Release,
    config: &Json,
    allows_experimental: bool,
) -> Vec<Verdict> {
    let judge = table.program.judge(release);
    let mut judged = Config { judge, table, allows_experimental };
    // Without the release, only names are judged that no release has.
    judged.api_version(config);
    judged.keys(config);
    judged.gates(config);

    for (index, plugin) in list(config, "plugins").iter().enumerate() {
        let name = text(plugin, "type");
        if !name.is_empty() && !is_placeholder(name) {
            judged.plugin(plugin, name, &format!(".plugins[{index}]"));
        }
    }
    judged.judge.verdicts()
}

/// A configuration of a picker at a release.
struct Config<'t> {
    judge: Judge<'t>,
    table: &'t Picker,
    allows_experimental: bool,
}

impl Config<'_> {
    fn api_version(&mut self, config: &Json) {
        let path = ".apiVersion";
        let written = text(config, "apiVersion");
        if written.is_empty() {
            self.judge.refuse(path, "no apiVersion".to_owned(), "add it");
            return;
        }
        let known = self.table.api_versions.names(self.judge.index());
        // Names are sorted, and `llm-d.ai` is after `inference.networking.x-k8s.io`.
        let newest = known.last().copied();
        if !known.contains(&written) {
            let message = format!("{} does not read apiVersion `{written}`", self.judge.title());
            let hint =
                newest.map_or("remove it".to_owned(), |one| format!("write `apiVersion: {one}`"));
            self.judge.refuse(path, message, hint);
        } else if let Some(newest) = newest.filter(|newest| *newest != written)
            && self.judge.index().is_some()
        {
            let message = format!("apiVersion `{written}` is deprecated in {}", self.judge.title());
            self.judge.push(Kind::Deprecated, path, message, format!("write `{newest}`"));
        }
    }

    fn keys(&mut self, config: &Json) {
        for (name, value) in config.as_object().into_iter().flatten() {
            let (known, path) = (&self.table.config, format!(".{name}"));
            self.judge.exists(known, name, name, "key", &path);
            // An unknown release has the fields of any.
            let found = known.candidates(name, self.judge.index()).into_iter();
            let objects: Vec<BTreeMap<String, Field>> =
                found.map(|field| BTreeMap::from([(name.clone(), field.clone())])).collect();
            if let Some(field) = fields::union(objects.iter()).get(name) {
                fields::value(&mut self.judge, value, field, &path, name, Kind::Refused);
            }
        }
    }

    fn gates(&mut self, config: &Json) {
        let path = ".featureGates";
        let index = self.judge.index();
        let takes_values = self.table.program.behaviors.has("gate_assign", index);
        let gates = &self.table.gates;
        for gate in list(config, "featureGates").iter().filter_map(Json::as_str) {
            let (name, value) = split_value(gate);
            if let Some(value) = value.filter(|_| !takes_values) {
                let title = self.judge.title();
                let message = format!("{title} does not accept a value for feature gate `{name}`");
                let is_on = value == "true";
                let hint = if is_on { format!("write `{name}`") } else { "remove it".to_owned() };
                self.judge.refuse(path, message, hint);
                continue;
            }

            if gates.find(name).is_none() {
                let message = format!("{} has no feature gate `{name}`", self.judge.title());
                self.judge.refuse(path, message, suggest::hint(name, &gates.names(index), "gates"));
            } else {
                self.judge.exists(gates, name, name, "feature gate", path);
            }
            if let Some(value) = value.filter(|value| !matches!(*value, "true" | "false")) {
                let message = format!("feature gate `{name}` has the value `{value}`");
                self.judge.refuse(path, message, "write `true` or `false`");
            }
        }
    }

    /// Judges a plugin and its parameters.
    fn plugin(&mut self, plugin: &Json, name: &str, path: &str) {
        let plugins = &self.table.plugins;
        let index = self.judge.index();
        let verdict = self.judge.exists(plugins, name, name, "plugin", path);
        let Some(spans) = plugins.find(name) else {
            // A custom plugin of a custom picker is no typing error.
            if let Some(verdict) = verdict.filter(|verdict| !verdict.is_near()) {
                verdict.is_certain = false;
                verdict.hint = "custom plugins need a custom image".to_owned();
            }
            return;
        };
        if let Some(spec) = self.judge.current(spans).filter(|spec| spec.deprecated) {
            let removal = match spec.removal.as_str() {
                "" => String::new(),
                release => format!(", and removed in {release}"),
            };
            // A later release may name the replacement.
            let instead = [spec].into_iter().chain(spans.all()).map(|spec| spec.instead.as_str());
            let instead = instead.into_iter().find(|text| !text.is_empty());
            let instead = instead.map(|instead| format!("use `{instead}`"));
            self.judge.deprecated(path, &format!("plugin `{name}`"), &removal, instead);
        }

        let found = plugins.candidates(name, index);
        let is_alpha = index.is_some() && found.iter().any(|spec| spec.alpha);
        if is_alpha && !self.allows_experimental {
            let hint = "add the flag `--allow-experimental-plugins`, or use another plugin";
            self.judge.refuse(path, format!("plugin `{name}` is experimental"), hint);
        }
        if let Some(parameters) = plugin.get("parameters").filter(|p| !p.is_null()) {
            self.parameters(parameters, name, &found, &format!("{path}.parameters"));
        }
    }

    /// Judges the parameters of a plugin by the facts of its releases: of one, or of all if the release
    /// is unknown.
    fn parameters(&mut self, parameters: &Json, name: &str, specs: &[&Plugin], path: &str) {
        let Some(map) = parameters.as_object() else {
            let message = format!("`parameters` of plugin `{name}` is not a map");
            self.judge.refuse(path, message, "write a map");
            return;
        };
        if specs.iter().all(|spec| spec.ignored) {
            if !map.is_empty() && !specs.is_empty() {
                let message =
                    format!("plugin `{name}` of {} has no parameters", self.judge.title());
                self.judge.push(Kind::Ignored, path, message, "remove `parameters`");
            }
            return;
        }
        if specs.iter().any(|spec| spec.open) {
            return;
        }

        // llm-d's pickers refuse unknown parameters since 0.9 (llm-d-router#1134); before, they
        // ignored them.
        let newest = self.judge.index().or(self.judge.releases.len().checked_sub(1));
        let is_strict = self.table.program.behaviors.has("strict_parameters", newest);
        let unknown = if is_strict { Kind::Refused } else { Kind::Ignored };
        let fields = fields::union(specs.iter().map(|spec| &spec.parameters));
        let before = self.judge.verdicts.len();
        let noun = format!("`{name}` parameter");
        fields::judge(&mut self.judge, parameters, &fields, path, &noun, unknown);
        // The image may have a later release, but hardly a typing error.
        if self.judge.release.is_unknown() {
            for verdict in &mut self.judge.verdicts[before..] {
                verdict.is_certain = verdict.is_near();
            }
            self.some_have(name, map.keys());
        }
    }

    /// Records parameters that only some releases of a plugin have, for an unknown release.
    fn some_have<'k>(&mut self, plugin: &str, names: impl Iterator<Item = &'k String>) {
        let Some(spans) = self.table.plugins.find(plugin) else { return };
        for name in names {
            let knows = |spec: &Plugin| {
                spec.ignored || spec.parameters.keys().any(|known| known.eq_ignore_ascii_case(name))
            };
            if !spans.all().any(knows) {
                continue;
            }
            // Releases without the plugin are told by its own name.
            let shown = format!("{plugin}.{name}");
            self.judge.depends(&shown, |index| spans.at(index).is_none_or(knows));
        }
    }
}
