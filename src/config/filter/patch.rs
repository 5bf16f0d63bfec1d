//! jq programs that change an object: what they may contain beyond filters, and running them.
//!
//! A patch is a filter that puts out an object instead of a truth. On top of what filters may do, it
//! may assign to paths (`=`, `|=`, `+=`, `//=`), delete them (`del`) and merge objects (`*` with an
//! object in braces on its right). A path is made of field names, `[]`, small numbers and `select`,
//! so that an assignment visits each place once, and cannot make a list of a billion nulls.

use super::growth::Refusal;
use super::{FilterError, Program, Val};
use crate::ir::{Expr, Map, Number, Part as TextPart, Value};
use jaq_core::data::JustLut;
use jaq_core::load::lex::StrPart;
use jaq_core::load::parse::{BinaryOp, Term};
use jaq_core::path::Part;
use jaq_core::{Ctx, Vars, unwrap_valr};
use jaq_json::Num;

/// The largest index that an assignment may name: a list is filled with nulls up to there.
const LARGEST_INDEX: usize = 1_000;

/// A compiled patch. Tied to its thread, like [`Program`].
pub struct Patch {
    program: Program,
    text: String,
}

impl Patch {
    /// Compiles `text`, as [`Program::compile`] does.
    pub fn compile(text: &str) -> Result<Patch, FilterError> {
        let program = Program::compile_as(text, super::Use::Patch)?;
        Ok(Patch { program, text: text.to_owned() })
    }

    /// What the patch makes of an object. Values that only Helm knows are sealed: the patch may
    /// move them, remove them and put the release namespace into texts, but cannot look at them.
    ///
    /// An error says what went wrong without showing values, which may be secret.
    pub fn apply(&self, root: &Map) -> Result<Map, String> {
        let mut seals = Seals::of(root, &self.text);
        let sealed = seals.map(root);
        let context = Ctx::<JustLut<Val>>::new(&self.program.filter.lut, Vars::new([]));
        let mut outputs = self.program.filter.id.run((context, sealed)).map(unwrap_valr).take(2);
        let first = match outputs.next() {
            None => return Err("it gives no object".to_owned()),
            Some(Err(error)) => return Err(super::without_values(&error.to_string())),
            Some(Ok(value)) => value,
        };
        match outputs.next() {
            None => {}
            Some(_) => return Err("it gives more than one value".to_owned()),
        }
        match seals.open(&first)? {
            Value::Map(map) => Ok(*map),
            other => Err(format!("it gives {}, not an object", other.type_name())),
        }
    }
}

/// Leaves that only Helm knows, each behind a text that stands for it.
struct Seals {
    /// What such a text begins with; no text of the object or the patch holds it.
    mark: String,
    leaves: Vec<Value>,
}

/// What such a text ends with: of the private use area, as is the beginning.
const END: char = '\u{e001}';

impl Seals {
    fn of(root: &Map, patch: &str) -> Self {
        let mut number = 0_usize;
        loop {
            let mark = format!("\u{e000}{number}-");
            if !patch.contains(&mark) && !map_holds(root, &mark) {
                return Seals { mark, leaves: Vec::new() };
            }
            number += 1;
        }
    }

    fn map(&mut self, map: &Map) -> Val {
        Val::obj(
            map.iter().map(|(key, value)| (Val::from(key.clone()), self.seal(value))).collect(),
        )
    }

    fn seal(&mut self, value: &Value) -> Val {
        match value {
            Value::Expr(_) | Value::When(_) => {
                self.leaves.push(value.clone());
                Val::from(format!("{}{}{END}", self.mark, self.leaves.len() - 1))
            }
            Value::Seq(items) => items.iter().map(|item| self.seal(item)).collect(),
            Value::Map(map) => self.map(map),
            other => super::literal(other),
        }
    }

    fn open(&self, value: &Val) -> Result<Value, String> {
        Ok(match value {
            Val::Null => Value::Null,
            Val::Bool(value) => Value::Bool(*value),
            Val::Num(number) => Value::Number(opened(number)?),
            Val::TStr(bytes) | Val::BStr(bytes) => {
                let text =
                    std::str::from_utf8(bytes).map_err(|_| "a text is cut inside a character")?;
                self.text(text)?
            }
            Val::Arr(items) => {
                Value::Seq(items.iter().map(|item| self.open(item)).collect::<Result<_, _>>()?)
            }
            Val::Obj(map) => {
                let mut opened = Map::with_capacity(map.len());
                for (key, value) in map.iter() {
                    let key = match self.open(key)? {
                        Value::Text(key) => key,
                        Value::Expr(_) | Value::When(_) => {
                            return Err("a key cannot be a value that Helm fills in".to_owned());
                        }
                        other => return Err(format!("a key is {}, not a text", other.type_name())),
                    };
                    opened.insert(key, self.open(value)?);
                }
                Value::from(opened)
            }
        })
    }

    /// A text with what it stands for, or what stands in it.
    fn text(&self, text: &str) -> Result<Value, String> {
        if !text.contains(&self.mark) {
            return Ok(Value::text(text));
        }
        let cut = "a value that Helm fills in was cut or changed: it can only be kept or removed";
        let mut parts = Vec::new();
        let mut rest = text;
        while let Some((before, after)) = rest.split_once(&self.mark) {
            let (index, after) = after.split_once(END).ok_or(cut)?;
            let leaf =
                index.parse().ok().and_then(|index: usize| self.leaves.get(index)).ok_or(cut)?;
            if before.is_empty() && after.is_empty() && parts.is_empty() {
                return Ok(leaf.clone());
            }
            if !before.is_empty() {
                parts.push(TextPart::Text(before.to_owned()));
            }
            match leaf {
                Value::Expr(Expr::ReleaseNamespace) => parts.push(TextPart::ReleaseNamespace),
                Value::Expr(Expr::Concat(inner)) => parts.extend(inner.iter().cloned()),
                _ => return Err("only the release namespace can be put into a text".to_owned()),
            }
            rest = after;
        }
        if !rest.is_empty() {
            parts.push(TextPart::Text(rest.to_owned()));
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
    if let Num::Float(value) = number {
        return match value.is_finite() {
            true => Ok(Number::Float(*value)),
            false => Err("a number is not finite".to_owned()),
        };
    }
    let text = number.to_string();
    match (text.parse::<i64>(), text.parse::<u64>(), text.parse::<f64>()) {
        (Ok(value), ..) => Ok(Number::Int(value)),
        (_, Ok(value), _) => Ok(Number::Uint(value)),
        (.., Ok(value)) if value.is_finite() => Ok(Number::Float(value)),
        _ => Err("a number is not finite".to_owned()),
    }
}

/// Refuses what may not stand on the left of an assignment, or in `del`, where there may be
/// several paths.
pub(super) fn path<'s>(term: &Term<&'s str>, several: bool) -> Result<(), Refusal<'s>> {
    match term {
        Term::Id => Ok(()),
        Term::Path(head, parts) => {
            path(head, false)?;
            parts.0.iter().try_for_each(|(part, _)| match part {
                Part::Range(None, None) => Ok(()),
                Part::Index(Term::Str(None, parts))
                    if parts.iter().all(|part| !matches!(part, StrPart::Term(_))) =>
                {
                    Ok(())
                }
                Part::Index(Term::Num(number))
                    if number.parse().is_ok_and(|number: usize| number <= LARGEST_INDEX) =>
                {
                    Ok(())
                }
                _ => Err(Refusal::Path { word: first_word(term) }),
            })
        }
        Term::BinOp(left, BinaryOp::Pipe(None), right) => {
            path(left, false)?;
            path(right, false)
        }
        Term::BinOp(left, BinaryOp::Comma, right) if several => {
            path(left, true)?;
            path(right, true)
        }
        Term::TryCatch(inner, None) => path(inner, several),
        Term::Call("select", arguments) if arguments.len() == 1 => Ok(()),
        _ => Err(Refusal::Path { word: first_word(term) }),
    }
}

/// A word of the text to point at.
fn first_word<'s>(term: &Term<&'s str>) -> &'s str {
    let mut word = "";
    super::growth::visit(term, &mut |term| {
        let found = match term {
            Term::Call(name, _) | Term::Num(name) | Term::Var(name) => *name,
            Term::Str(None, parts) => match parts.first() {
                Some(StrPart::Str(text)) => *text,
                _ => "",
            },
            _ => "",
        };
        if word.is_empty() {
            word = found;
        }
    });
    word
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bundle;
    use crate::ir::ValuesPath;

    fn object(text: &str) -> Map {
        let Value::Map(map) = bundle::parse(text).unwrap().remove(0) else { panic!("a map") };
        *map
    }

    fn applied(patch: &str, root: &Map) -> Result<Map, String> {
        Patch::compile(patch).map_err(|error| error.message)?.apply(root)
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
        assert_eq!(patched["host"], Value::from(Expr::Concat(host)));
        assert!(applied(".b = \"\\(.secret)!\"", &root).unwrap_err().contains("namespace"));
        assert!(applied(".b = (.ns | split(\"-\") | last)", &root).is_ok(), "it is gone, not cut");
        assert!(applied(".b = (.ns | rtrimstr(\"\\u{e001}\"))", &root).is_err());
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

    #[test]
    fn what_may_not_end_or_fill_the_memory_is_refused() {
        for patch in [
            ".. |= 1",
            ".a[1000000000] = 1",
            ".a[.b] = 1",
            ".a * 1000000000",
            "\"x\" * 1000000000",
            ".a *= 1000000",
            "(.a, .b) |= [., .]",
            ".a[] = .",
            "recurse(.) |= 1",
            "def f: f; f",
            "reduce .[] as $x (.; . + $x)",
            ".a = env",
            "paths |= 1",
            "walk(.)",
            ".a[2:5] = []",
        ] {
            let error = Patch::compile(patch).err().unwrap_or_else(|| panic!("{patch} is taken"));
            assert!(error.refused, "{patch}: {}", error.message);
        }
        // And a filter still may not change anything.
        for filter in [".a = 1", ".a |= 1", "del(.a)", "map_values(1)", ". * {a: 1}"] {
            assert!(Program::compile(filter).is_err(), "{filter}");
        }
    }
}
