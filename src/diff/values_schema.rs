//! Tightenings of `values.schema.json`: values that Helm accepts for the old chart and rejects for
//! the new one.
//!
//! Only tightenings become part of the pseudo-objects of both charts, so that a schema that allows
//! more, or has other descriptions, is no difference.

use super::ChartFacts;
use super::path::{Path, Step};
use super::read::{at, entries, texts};
use super::values::{OPEN, next, resolved, type_of, types};
use serde_json::{Value as Json, json};

/// Key of the pseudo-object of a chart with the tightened values.
pub(super) const KEY: &str = "valuesSchema";

/// Keyword for a value that the new schema does not have.
pub(super) const REMOVED: &str = "removed";
/// Keyword for a value that the new schema requires, and for which the chart has no default.
pub(super) const REQUIRED: &str = "required";
/// Keyword for maps that no longer accept unknown keys.
pub(super) const CLOSED: &str = "additionalProperties";

/// Maximum depth of a schema.
const DEPTH: usize = 32;

/// Maximum number of schemas that are compared: each may refer to all others.
const MOST_SCHEMAS: usize = 100_000;

/// Keywords whose values are not compared, so that any other one counts as tighter.
const UNCOMPARED: [&str; 12] = [
    "pattern",
    "const",
    "if",
    "then",
    "else",
    "allOf",
    "anyOf",
    "oneOf",
    "dependencies",
    "dependentRequired",
    "multipleOf",
    "format",
];

/// Numeric keywords, and true for those that allow less with a higher number.
const BOUNDS: [(&str, bool); 10] = [
    ("minimum", true),
    ("exclusiveMinimum", true),
    ("minLength", true),
    ("minItems", true),
    ("minProperties", true),
    ("maximum", false),
    ("exclusiveMaximum", false),
    ("maxLength", false),
    ("maxItems", false),
    ("maxProperties", false),
];

/// Returns the tightened keywords of both charts, by the path of the value; `None` without any.
pub(super) fn tightened(before: &ChartFacts, after: &ChartFacts) -> Option<[Json; 2]> {
    if !after.schema.is_object() {
        return None;
    }
    let (found, left) = ([json!({}), json!({})], MOST_SCHEMAS);
    let mut comparison = Comparison { before, after, above: Vec::new(), left, found };
    comparison.walk(&before.schema, &after.schema, &Path::default());
    Some(comparison.found).filter(|found| found[0] != json!({}))
}

struct Comparison<'c> {
    before: &'c ChartFacts,
    after: &'c ChartFacts,
    /// The schemas that the compared ones are part of.
    above: Vec<[*const Json; 2]>,
    /// Number of schemas that may still be compared.
    left: usize,
    /// The keywords that allow less than before, by the value that has them, such as `a.b`; empty for all
    /// values.
    found: [Json; 2],
}

impl Comparison<'_> {
    /// Compares the schemas of the value at a path, and of all values below it.
    fn walk(&mut self, old: &Json, new: &Json, path: &Path) {
        let old = resolved(&self.before.schema, old);
        let new = resolved(&self.after.schema, new);
        let pair = [old, new].map(std::ptr::from_ref);
        // References make schemas recursive: below itself, a schema says the same of other values.
        if self.above.contains(&pair) || self.above.len() > DEPTH || self.left == 0 {
            return;
        }
        self.left -= 1;
        self.above.push(pair);
        self.keywords(old, new, path);
        self.required(old, new, path);

        let closed = &Json::Bool(false);
        // JSON schema allows additional properties unless it says otherwise.
        let [before, after] = [old, new].map(|schema| schema.get(CLOSED).unwrap_or(&OPEN));
        if before != closed && after == closed {
            self.push(path, CLOSED, Some(before.clone()), Some(closed.clone()));
        }
        if before.is_object() && after.is_object() {
            self.walk(before, after, &path.with(key("*")));
        }
        if let (Some(old), Some(new)) = (old.get("items"), new.get("items")) {
            self.walk(old, new, &path.with(Step::Item(Vec::new())));
        }

        for (name, schema) in entries(old, &["properties"]) {
            let path = &path.with(key(name));
            match next(new, name) {
                Some(below) => self.walk(schema, below, path),
                // A value with a default is found as an edit of the default.
                None if after == closed && self.default(self.before, path).is_none() => {
                    self.push(path, REMOVED, Some(Json::Bool(false)), Some(Json::Bool(true)));
                }
                None => {}
            }
        }
        // Values that the old schema did not check, or that had none.
        for (name, schema) in entries(new, &["properties"]) {
            let path = &path.with(key(name));
            if at(old, &["properties", name]).is_none() && self.default(self.before, path).is_some()
            {
                self.walk(&OPEN, schema, path);
            }
        }
        self.above.pop();
    }

    /// Compares the keywords about the value itself.
    fn keywords(&mut self, old: &Json, new: &Json, path: &Path) {
        let (before, after) = (old.get("type"), new.get("type"));
        // Another type of the default is an edit of the default.
        let kind = |chart| self.default(chart, path).map(std::mem::discriminant);
        let same_default = kind(self.before).zip(kind(self.after)).is_none_or(|(a, b)| a == b);
        // Without a type, values are like the default.
        let usual = self.default(self.before, path).map(|value| json!(type_of(value)));
        if same_default && after.is_some_and(|after| !covers(after, before.or(usual.as_ref()))) {
            self.keyword("type", old, new, path);
        }

        if let Some(after) = new.get("enum").and_then(Json::as_array) {
            let before = old.get("enum").and_then(Json::as_array);
            if before.is_none_or(|before| before.iter().any(|value| !after.contains(value))) {
                self.keyword("enum", old, new, path);
            }
        }
        for keyword in UNCOMPARED {
            if new.get(keyword).is_some() && old.get(keyword) != new.get(keyword) {
                self.keyword(keyword, old, new, path);
            }
        }
        for (keyword, higher_is_less) in BOUNDS {
            let number = |schema: &Json| schema.get(keyword).and_then(Json::as_f64);
            let Some(after) = number(new) else { continue };
            let tighter = number(old)
                .is_none_or(|before| if higher_is_less { after > before } else { after < before });
            if tighter {
                self.keyword(keyword, old, new, path);
            }
        }
    }

    /// Compares the required keys of a map. A default of the chart fulfils the requirement.
    fn required(&mut self, old: &Json, new: &Json, path: &Path) {
        let before = texts(old, &[REQUIRED]);
        for name in texts(new, &[REQUIRED]).into_iter().filter(|name| !before.contains(name)) {
            let path = &path.with(key(name));
            // Helm validates values after it merged the defaults.
            if self.default(self.after, path).is_none() {
                self.push(path, REQUIRED, Some(Json::Bool(false)), Some(Json::Bool(true)));
            }
        }
    }

    /// Returns the default of a value.
    fn default<'d>(&self, chart: &'d ChartFacts, path: &Path) -> Option<&'d Json> {
        let value = path.steps().iter().try_fold(&chart.values, |value, step| match step {
            Step::Key(key) => value.get(key),
            _ => None,
        });
        value.filter(|value| !value.is_null())
    }

    fn keyword(&mut self, keyword: &'static str, old: &Json, new: &Json, path: &Path) {
        self.push(path, keyword, old.get(keyword).cloned(), new.get(keyword).cloned());
    }

    fn push(&mut self, path: &Path, keyword: &'static str, old: Option<Json>, new: Option<Json>) {
        let step = |step: &Step| match step {
            Step::Item(_) => "[]".to_owned(),
            step => Path(vec![step.clone()]).to_string(),
        };
        let path: String = path.steps().iter().map(step).collect();
        let path = path.trim_start_matches('.');
        for (found, value) in self.found.iter_mut().zip([old, new]) {
            // A path on both sides, so that the keyword is what differs.
            if found.get(path).is_none() {
                found[path] = json!({});
            }
            if let Some(value) = value {
                found[path][keyword] = value;
            }
        }
    }
}

fn key(name: &str) -> Step {
    Step::Key(name.to_owned())
}

/// Returns true if the types of `new` include those of `old`. Null removes a default before the
/// schema is checked, so losing it loses nothing.
fn covers(new: &Json, old: Option<&Json>) -> bool {
    let new = types(new);
    let has = |kind: &&str| {
        *kind == "null" || new.contains(kind) || (*kind == "integer" && new.contains(&"number"))
    };
    old.is_some_and(|old| types(old).iter().all(has))
}
