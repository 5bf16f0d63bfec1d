//! JSON values of vLLM's flags: fields, values of fields, and connectors.

use super::*;

/// Returns the JSON in a text as the parser reads it: numbers may end in k, m, g or t.
pub(super) fn read(text: &str) -> Option<Json> {
    serde_json::from_str(text).ok().or_else(|| serde_json::from_str(&without_units(text)).ok())
}

/// Returns the text without the units of numbers: `{"a": 32k}` is `{"a": 32}`.
fn without_units(text: &str) -> String {
    let mut out = String::new();
    let (mut is_quoted, mut before) = (false, ' ');
    for character in text.chars() {
        if character == '"' && before != '\\' {
            is_quoted = !is_quoted;
        }
        let is_unit = !is_quoted && "kKmMgGtT".contains(character) && before.is_ascii_digit();
        if !is_unit {
            out.push(character);
        }
        before = character;
    }
    out
}

/// A flag with a JSON value, at a release of its engine.
pub(super) struct JsonFlag<'j, 't> {
    pub(super) judge: &'j mut Judge<'t>,
    pub(super) table: &'j ProgramTable,
    /// The facts about the flag that may apply.
    pub(super) specs: &'j [&'j Flag],
    /// Its name with dashes.
    pub(super) name: &'j str,
}

impl JsonFlag<'_, '_> {
    /// Judges its value, if it is a JSON object.
    pub(super) fn value(mut self, text: &str) {
        let is_json = self.specs.iter().all(|spec| spec.kind.starts_with("json"));
        if let Some(Json::Object(object)) = read(text).filter(|_| is_json) {
            self.object(&object);
        }
    }

    /// Judges a field after a dot: `--kv-transfer-config.kv_role=kv_both`.
    pub(super) fn field(mut self, field: &str, value: Option<&str>) {
        let (first, rest) = field.split_once('.').unwrap_or((field, ""));
        let is_part = !rest.is_empty() || field.ends_with('+');
        let value = value.filter(|text| !is_part && !is_placeholder(text));
        let value = value.map_or(Json::Null, |text| read(text).unwrap_or_else(|| Json::from(text)));
        self.object(&Map::from_iter([(first.trim_end_matches('+').to_owned(), value)]));
    }

    fn object(&mut self, object: &Map<String, Json>) {
        self.fields(object, self.specs.last().map_or("", |spec| spec.class.as_str()));
        self.connectors(object);
    }

    /// Judges the fields of an object of a class.
    fn fields(&mut self, object: &Map<String, Json>, class: &str) {
        let (table, name) = (self.table, self.name);
        let index = self.judge.index();
        // Before, unknown fields were ignored or not, by class.
        let refuses = table.behaviors.has("unknown_json_field_refused", index);
        // Without any field in the tables the class is not known, rather than empty.
        let is_class_known = !class.is_empty()
            && table.fields.names(index).iter().any(|key| key.split('.').next() == Some(class));

        for (field, value) in object.iter().filter(|_| is_class_known) {
            // vLLM, EngineArgs.create_speculative_config: dashes are underscores, since 0.26.
            let has_dashes = table.behaviors.has("dashes_in_speculative", index);
            let is_dashed = class == "SpeculativeConfig" && has_dashes;
            let field = &if is_dashed { field.replace('-', "_") } else { field.clone() };
            let key = format!("{class}.{field}");
            // vllm/config/utils.py: `config` makes pydantic dataclasses with `extra="forbid"`.
            if refuses && !table.fields.has(&key, index) {
                self.unknown_field(class, field);
            }
            let specs = table.fields.candidates(&key, index);
            let is_open = value.is_null() || value.as_str().is_some_and(is_placeholder);
            let Some(last) = specs.last().filter(|_| !is_open) else { continue };

            // For an unknown release a value must be wrong in all of them.
            if specs.iter().all(|spec| is_no_choice(spec, value)) {
                let shown = as_text(value);
                let choices: Vec<&str> = last.choices.iter().filter_map(Json::as_str).collect();
                let title = self.judge.title();
                let message =
                    format!("{title} does not accept `{shown}` for `{field}` of `{name}`");
                self.judge.refuse("", message, suggest::hint(&shown, &choices, "values"));
            } else if refuses && specs.iter().all(|spec| !is_scalar(&spec.kind, value)) {
                let message = format!("`{field}` of `{name}` is not of type {}", last.kind);
                self.judge.refuse("", message, format!("write a value of type {}", last.kind));
            } else if let Json::Object(inner) = value {
                // Other classes are not those of configurations, and may ignore unknown fields.
                let class = last.kind.split('|').find(|kind| kind.ends_with("Config"));
                self.fields(inner, class.unwrap_or_default());
            }
        }
    }

    fn unknown_field(&mut self, class: &str, field: &str) {
        let noun = format!("`{}` field", self.name);
        let key = format!("{class}.{field}");
        let fields = &self.table.fields;
        if fields.find(&key).is_some() {
            self.judge.exists(fields, &key, field, &noun, "");
            return;
        }
        let known = fields.names(self.judge.index());
        let known: Vec<&str> =
            known.iter().filter_map(|key| key.strip_prefix(class)?.strip_prefix('.')).collect();
        let message = format!("{} has no {noun} `{field}`", self.judge.title());
        self.judge.refuse("", message, suggest::hint(field, &known, "fields"));
    }

    /// Judges the connectors of a transfer configuration, and of those in a MultiConnector.
    fn connectors(&mut self, object: &Map<String, Json>) {
        // `--kv-transfer-config` and `--ec-transfer-config`.
        let kind = self.name.trim_start_matches("--").split('-').next().unwrap_or_default();
        let is_transfer = self.name.ends_with("-transfer-config");
        let registered = self.table.values.get(&format!("{kind}_connectors"));
        let Some(registered) = registered.filter(|_| is_transfer) else { return };

        let connector = object.get(&format!("{kind}_connector")).and_then(Json::as_str);
        // With a module the connector may be a class that no registry of vLLM has.
        let module = object.get(&format!("{kind}_connector_module_path"));
        let is_own = module.is_some_and(|path| !path.is_null());
        if let Some(connector) = connector.filter(|text| !is_own && !is_placeholder(text)) {
            self.judge.exists(registered, connector, connector, "connector", "");
        }
        let extra = object.get("kv_connector_extra_config").unwrap_or(&Json::Null);
        for inner in list(extra, "connectors").iter().filter_map(Json::as_object) {
            self.connectors(inner);
        }
    }
}

/// Returns true if the value is none of those of a field. Members of enumerations are read by their names
/// in any case, or by their values; `auto` is for the engine to choose.
fn is_no_choice(spec: &Field, value: &Json) -> bool {
    let is_none = |text: &str| !spec.choices.iter().any(|choice| choice == text);
    match (spec.kind.trim_end_matches("|null"), value.as_str()) {
        ("choice", _) => !spec.choices.contains(value),
        // vllm/config/kernel.py: validators normalize these before they are compared.
        ("fold", Some(text)) => is_none(&text.to_lowercase().replace('-', "_")),
        ("member", Some(text)) => text != "auto" && is_none(&text.to_uppercase()),
        _ => false,
    }
}

/// Returns false if the value is certainly not of the type: pydantic converts text to numbers.
fn is_scalar(kind: &str, value: &Json) -> bool {
    let kinds: Vec<&str> = kind.split('|').filter(|kind| *kind != "null").collect();
    let number =
        |text: &str| text.trim().parse::<f64>().is_ok() || argparse::is_human_integer(text);

    let words = ["true", "false", "t", "f", "yes", "no", "y", "n", "on", "off", "0", "1"];
    match (&kinds[..], value) {
        (["int"], Json::Number(number)) => {
            number.as_f64().is_none_or(|number| number.fract() == 0.0)
        }
        (["int" | "float"], Json::String(text)) => number(text),
        (["bool"], Json::String(text)) => words.contains(&text.to_ascii_lowercase().as_str()),
        (["int" | "float" | "bool"], Json::Number(_) | Json::Bool(_)) => true,
        (["int" | "float" | "bool"], _) => false,
        (["str"], _) => value.is_string(),
        (["list"], _) => value.is_array(),
        (["object"], _) => value.is_object(),
        _ => true,
    }
}
