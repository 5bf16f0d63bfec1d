//! Placeholders for Helm values while a patch runs on the object.

use crate::ir::{Expr, Map, Number, Part as TextPart, Value};
use jaq_json::read::parse_single;
use jaq_json::{Num, Val};

/// Helm values, each replaced by a placeholder string. A patch can keep or remove them.
pub struct Placeholders {
    /// The prefix of placeholders; neither the object nor the patch contains it.
    mark: String,
    /// Parts of placeholders that neither the object nor the patch contains: if one of them is
    /// found alone, a placeholder was cut.
    pieces: Vec<&'static str>,
    leaves: Vec<Value>,
}

/// The first and last character of such a text, of the private use area, and a word in it.
const PIECES: [&str; 3] = ["\u{e000}", "\u{e001}", "helm-value"];

impl Placeholders {
    /// Selects a placeholder prefix that neither `root` nor the text of the patch contains.
    pub fn new(root: &Map, patch: &str) -> Self {
        let [start, _, word] = PIECES;
        // Characters for private use are unlikely, and if a text has them, the next number is
        // taken.
        let held = |text: &str| patch.contains(text) || map_holds(root, text);
        let mut marks = (0_usize..).map(|number| format!("{start}{word}-{number}-"));
        Placeholders {
            mark: marks.find(|mark| !held(mark)).unwrap_or_default(),
            pieces: PIECES.into_iter().filter(|piece| !held(piece)).collect(),
            leaves: Vec::new(),
        }
    }

    /// Returns `root` with a placeholder in place of each Helm value.
    pub fn hide(&mut self, root: &Map) -> Map {
        root.iter().map(|(key, value)| (key.clone(), self.hidden(value))).collect()
    }

    fn hidden(&mut self, value: &Value) -> Value {
        match value {
            Value::Expr(_) | Value::When(_) => {
                self.leaves.push(value.clone());
                Value::Text(format!("{}{}{}", self.mark, self.leaves.len() - 1, PIECES[1]))
            }
            Value::Seq(items) => Value::Seq(items.iter().map(|item| self.hidden(item)).collect()),
            Value::Map(map) => self.hide(map).into(),
            other => other.clone(),
        }
    }

    /// Parses `json` and restores the Helm values.
    ///
    /// # Errors
    /// If a placeholder was changed, or is in a place where Helm values are not possible.
    pub fn restore(&self, json: &str) -> Result<Map, String> {
        let patched = parse_single(json.as_bytes()).map_err(|error| error.to_string())?;
        match self.open(&patched)? {
            Value::Map(map) => Ok(*map),
            other => Err(format!("it returned {}, not an object", other.type_name())),
        }
    }

    fn open(&self, value: &Val) -> Result<Value, String> {
        Ok(match value {
            Val::Null => Value::Null,
            Val::Bool(value) => Value::Bool(*value),
            Val::Num(number) => Value::Number(opened(number)?),
            // All texts and keys in JSON are UTF-8.
            Val::TStr(bytes) | Val::BStr(bytes) => self.text(&String::from_utf8_lossy(bytes))?,
            Val::Arr(items) => {
                Value::Seq(items.iter().map(|item| self.open(item)).collect::<Result<_, _>>()?)
            }
            Val::Obj(map) => {
                let mut opened = Map::with_capacity(map.len());
                for (key, value) in map.iter() {
                    // The writer has no template syntax for keys.
                    let Value::Text(key) = self.open(key)? else {
                        return Err("a Helm value cannot be a map key".to_owned());
                    };
                    opened.insert(key, self.open(value)?);
                }
                Value::from(opened)
            }
        })
    }

    /// Restores the Helm values in a string.
    fn text(&self, text: &str) -> Result<Value, String> {
        const CUT: &str = "a Helm value was changed: it can only be kept or removed";
        let whole = |text: &str| match self.pieces.iter().any(|piece| text.contains(piece)) {
            true => Err(CUT.to_owned()),
            false => Ok(text.to_owned()),
        };

        let mut parts = Vec::new();
        let mut rest = text;
        while let Some((before, after)) = rest.split_once(&self.mark) {
            let (index, after) = after.split_once(PIECES[1]).ok_or(CUT)?;
            let leaf =
                index.parse().ok().and_then(|index: usize| self.leaves.get(index)).ok_or(CUT)?;
            // A whole value, unchanged: it may be of any type.
            if before.is_empty() && after.is_empty() && parts.is_empty() {
                return Ok(leaf.clone());
            }

            if !before.is_empty() {
                parts.push(TextPart::Text(whole(before)?));
            }
            match leaf {
                // Only these are text under every value that a user may set.
                Value::Expr(Expr::ReleaseNamespace) => parts.push(TextPart::ReleaseNamespace),
                Value::Expr(Expr::Concat(inner)) => parts.extend(inner.iter().cloned()),
                _ => {
                    return Err(
                        "only the release namespace can be interpolated into a string".to_owned()
                    );
                }
            }
            rest = after;
        }
        if parts.is_empty() {
            return whole(rest).map(Value::Text);
        }
        if !rest.is_empty() {
            parts.push(TextPart::Text(whole(rest)?));
        }
        Ok(Value::Expr(Expr::Concat(parts)))
    }
}

fn map_holds(map: &Map, mark: &str) -> bool {
    map.iter().any(|(key, value)| key.contains(mark) || holds(value, mark))
}

fn holds(value: &Value, mark: &str) -> bool {
    match value {
        Value::Text(text) => text.contains(mark),
        Value::Seq(items) => items.iter().any(|item| holds(item, mark)),
        Value::Map(map) => map_holds(map, mark),
        _ => false,
    }
}

fn opened(number: &Num) -> Result<Number, String> {
    // Integers that fit stay integers: `1` must not become `1.0` in a chart.
    let text = number.to_string();
    match (text.parse::<i64>(), text.parse::<u64>(), text.parse::<f64>()) {
        (Ok(value), ..) => Ok(Number::Int(value)),
        (_, Ok(value), _) => Ok(Number::Uint(value)),
        (.., Ok(value)) if value.is_finite() => Ok(Number::Float(value)),
        _ => Err("a number is not finite".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ir::ValuesPath;
    use crate::{Purpose, Session};

    fn object(text: &str) -> Map {
        let Value::Map(map) = bundle2chart_yaml::parse(text).unwrap().remove(0) else {
            panic!("a map")
        };
        *map
    }

    fn applied(patch: &str, root: &Map) -> Result<Map, String> {
        let mut session = Session::start(vec![(Purpose::Patch, patch.to_owned())]).unwrap();
        assert_eq!(session.errors(), [None], "{patch}");
        session.patch(0, patch, root).unwrap()
    }

    #[test]
    fn nothing_is_lost_on_the_way() {
        let mut root = object(
            "{a: {}, b: [], c: 4294967295, d: 18446744073709551615, e: 1.5, f: '', g: null, h: [1, [true]], \
             i: \"\\ue0000-0\\ue001\", j: 1.0e+300}",
        );
        let namespace = Value::from(Expr::ReleaseNamespace);
        root.insert("k".to_owned(), Value::Seq(vec![namespace.clone()]));
        assert_eq!(applied(".", &root).unwrap(), root);
        let mut more = root.clone();
        more.insert("l".to_owned(), namespace);
        assert_eq!(applied(".l = .k[0]", &root).unwrap(), more);
    }

    #[test]
    fn fields_are_set_merged_and_deleted() {
        let root = object("{spec: {list: [{name: a, v: 1}, {name: b}], x: {why: 1}}}");
        for (patch, expected) in [
            (".spec.x.why = 2", "{spec: {list: [{name: a, v: 1}, {name: b}], x: {why: 2}}}"),
            (
                ".spec.x *= {z: 3}",
                "{spec: {list: [{name: a, v: 1}, {name: b}], x: {why: 1, z: 3}}}",
            ),
            ("del(.spec.list, .spec.x.why)", "{spec: {x: {}}}"),
            (
                "(.spec.list[] | select(.name == \"b\") | .v) |= 7",
                "{spec: {list: [{name: a, v: 1}, {name: b, v: 7}], x: {why: 1}}}",
            ),
            (
                ".spec.list += [{name: \"c\"}]",
                "{spec: {list: [{name: a, v: 1}, {name: b}, {name: c}], x: {why: 1}}}",
            ),
            (
                ".spec.new //= {}",
                "{spec: {list: [{name: a, v: 1}, {name: b}], x: {why: 1}, new: {}}}",
            ),
            (
                ".spec.list |= map(.name |= ascii_upcase)",
                "{spec: {list: [{name: A, v: 1}, {name: B}], x: {why: 1}}}",
            ),
        ] {
            assert_eq!(applied(patch, &root).unwrap(), object(expected), "{patch}");
        }
    }

    #[test]
    fn expressions_can_be_kept_and_the_namespace_put_into_texts() {
        let mut root = object("{a: x}");
        root.insert("ns".to_owned(), Expr::ReleaseNamespace.into());
        root.insert("secret".to_owned(), Expr::Text(ValuesPath::new(["a"])).into());
        let patched = applied(".host = \"a.\\(.ns).svc\"", &root).unwrap();
        let text = |text: &str| TextPart::Text(text.to_owned());
        let host = vec![text("a."), TextPart::ReleaseNamespace, text(".svc")];
        assert_eq!(patched.get("host"), Some(&Value::from(Expr::Concat(host))));
        // At the end of a text, twice, and as a key; texts that look like placeholders stay.
        let of = |patch: &str| applied(patch, &root).unwrap().get("b").cloned().unwrap();
        let parts = |parts: Vec<TextPart>| Value::from(Expr::Concat(parts));
        let namespace = TextPart::ReleaseNamespace;
        assert_eq!(of(".b = \"x\\(.ns)\""), parts(vec![text("x"), namespace.clone()]));
        assert_eq!(of(".b = \"\\(.ns)\\(.ns)\""), parts(vec![namespace.clone(), namespace]));
        assert!(applied(". + {(.ns): 1}", &root).unwrap_err().contains("map key"));
        let alike = format!("{}{}-0-{}", PIECES[0], PIECES[2], PIECES[1]);
        assert_eq!(of(&format!(".b = \"{alike}\"")), Value::text(&alike));
        let mut keyed = root.clone();
        keyed.insert(alike, Value::text("a"));
        assert_eq!(applied(".", &keyed).unwrap(), keyed);
        assert!(applied(".b = \"\\(.secret)!\"", &root).unwrap_err().contains("namespace"));
        let gone = applied(".b = (.ns | length > 0)", &root).unwrap();
        assert_eq!(gone.get("b"), Some(&Value::Bool(true)));
        for cut in
            [".[1:]", ".[:-1]", ".[1:-1]", "explode[3:] | implode", "ascii_upcase", "split(\"-\")"]
        {
            let error = applied(&format!(".b = (.ns | {cut})"), &root).unwrap_err();
            assert!(error.contains("was changed"), "{cut}: {error}");
        }
    }

    #[test]
    fn what_is_no_object_is_an_error() {
        let root = object("{a: 1}");
        for (patch, why) in [
            ("empty", "no object"),
            (".a", "a number, not an object"),
            (".a, .a", "more than one"),
            (". | .a.b = 1", "has no"),
        ] {
            let error = applied(patch, &root).unwrap_err();
            assert!(error.contains(why), "{patch}: {error}");
        }
    }
}
