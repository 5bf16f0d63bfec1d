//! The TOML tree against the key tables: unknown, missing and ill-typed keys, and typed access to
//! the rest.

use crate::diag::suggest;
use crate::diag::{Code, Diagnostic, Diagnostics, Place, SourceText, Span};
use crate::keys::{INCLUDED, Key, Kind, ROOT, Table};
use serde_json::Value as Json;
use std::collections::BTreeSet;
use std::ops::Range;
use std::sync::{Arc, LazyLock};
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// A value and its range in the file.
pub(crate) type Located<T> = (T, Range<usize>);

/// An entry of a table with user-defined keys.
pub(crate) type Named<'t, T> = (Located<&'t str>, Located<T>);

/// Keys of OLM's Subscription, CatalogSource and ClusterServiceVersion, and the key here.
const OLM_WORDS: [(&str, &str); 6] = [
    ("installModes", "watch"),
    ("targetNamespaces", "watch"),
    ("source", "catalog"),
    ("startingCSV", "version"),
    ("defaultChannel", "channel"),
    ("installNamespace", "namespace"),
];

/// The names of all keys: what is read must be declared.
static KEYS: LazyLock<BTreeSet<&str>> =
    LazyLock::new(|| ROOT.all().iter().flat_map(|table| table.keys).map(|key| key.name).collect());

/// Collects what is wrong with the file.
pub(crate) struct Reader<'a> {
    /// The file that is being read.
    pub(crate) source: &'a Arc<SourceText>,
    pub(crate) found: Diagnostics,
}

/// The known, well-typed keys of one table.
pub(crate) struct Fields<'t> {
    /// The table's header, or the whole of an inline table.
    pub(crate) header: Range<usize>,
    values: Vec<(&'static Key, &'t Spanned<DeValue<'t>>)>,
}

impl Reader<'_> {
    pub(crate) fn span(&self, range: Range<usize>) -> Span {
        Span::new(self.source, range)
    }

    pub(crate) fn place(&self, range: Range<usize>) -> Place {
        Place::span(self.span(range))
    }

    /// Reports an error at `range`.
    pub(crate) fn error(
        &mut self,
        code: Code,
        range: &Range<usize>,
        message: impl Into<String>,
        hint: impl Into<String>,
    ) {
        let place = self.place(range.clone());
        self.found.push(Diagnostic::error(code, message).at(place).hint(hint));
    }

    /// Reports an error at a place of any file.
    pub(crate) fn error_at(
        &mut self,
        code: Code,
        span: &Span,
        message: impl Into<String>,
        hint: impl Into<String>,
    ) {
        let place = Place::span(span.clone());
        self.found.push(Diagnostic::error(code, message).at(place).hint(hint));
    }

    /// Returns the keys of `tree`, which should be those of `table`; everything else is reported.
    pub(crate) fn fields<'t>(
        &mut self,
        table: &'static Table,
        header: Range<usize>,
        tree: &'t DeTable<'t>,
    ) -> Fields<'t> {
        let mut values = Vec::new();
        for (name, value) in tree {
            match table.key(name.get_ref()) {
                Some(key) if self.well_typed(key, value) => values.push((key, value)),
                Some(_) => {}
                None => self.unknown(table, name.get_ref(), &name.span()),
            }
        }
        for key in table.keys.iter().filter(|key| key.required) {
            if !tree.contains_key(key.name) {
                self.missing(table, &header, key);
            }
        }
        self.exactly_one(table, &header, tree);
        self.needed(table, tree);
        Fields { header, values }
    }

    /// Returns the tables of a key that is a list of tables.
    pub(crate) fn inner_tables<'t>(&mut self, outer: &Fields<'t>, name: &str) -> Vec<Fields<'t>> {
        let found = outer.values.iter().find(|(key, _)| key.name == name);
        let Some((Key { kind: Kind::Tables(table), .. }, _)) = found else { return Vec::new() };
        let tables = outer.tables(name).into_iter();
        tables.map(|(tree, header)| self.fields(table, header, tree)).collect()
    }

    fn unknown(&mut self, table: &Table, name: &str, range: &Range<usize>) {
        if std::ptr::eq(table, &raw const INCLUDED) && ROOT.key(name).is_some() {
            let message = format!("`{name}` is not allowed in an included file");
            let hint = "move it to bundles.toml: included files have `[[bundle]]`, `[[chart]]` and \
                `[[serving]]` tables only";
            self.error(Code::UnknownKey, range, message, hint);
            return;
        }
        let known: Vec<&str> = table.keys.iter().map(|key| key.name).collect();
        let message = format!("unknown key `{name}` {}", table.place());
        let olm = OLM_WORDS.iter().find(|(word, key)| *word == name && known.contains(key));
        let hint = match (olm, ROOT.with_key(name).as_slice()) {
            (Some((_, key)), _) => format!("write `{key}`, which is what OLM's `{name}` is here"),
            // A key such as `name` is in nearly all tables.
            (None, tables @ ([_] | [_, _])) if suggest::nearest(name, &known).is_none() => {
                let places: Vec<String> = tables.iter().map(|table| table.place()).collect();
                format!("`{name}` belongs {}", places.join(" or "))
            }
            _ => suggest::hint(name, &known, "keys"),
        };
        self.error(Code::UnknownKey, range, message, hint);
    }

    pub(crate) fn missing(&mut self, table: &Table, header: &Range<usize>, key: &Key) {
        let (message, hint) = match key.kind {
            Kind::Tables(tables) => (
                "the configuration has no bundle".to_owned(),
                format!(
                    "add a bundle with `bundle2chart add REFERENCE`, or by hand:\n{}\nname = \"my-operator\"\n\
                     image = \"registry.example.com/team/my-operator-bundle:1.0\"",
                    tables.header
                ),
            ),
            _ => (
                format!("`{}` is missing {}", key.name, table.place()),
                format!("add `{}`: {}", key.name, key.doc),
            ),
        };
        self.error(Code::MissingKey, header, message, hint);
    }

    fn exactly_one(&mut self, table: &Table, header: &Range<usize>, tree: &DeTable<'_>) {
        let names = match suggest::list(table.exactly_one_of).rsplit_once(", ") {
            Some((others, last)) => format!("{others} or {last}"),
            None => suggest::list(table.exactly_one_of),
        };
        let mut present: Vec<_> = tree
            .keys()
            .filter(|name| table.exactly_one_of.contains(&name.get_ref().as_ref()))
            .collect();
        present.sort_by_key(|name| name.span().start);

        match present.as_slice() {
            [] if table.exactly_one_of.is_empty() => {}
            [] => self.error(
                Code::MissingKey,
                header,
                format!("{names} is missing {}", table.place()),
                subject(table).1,
            ),
            [_] => {}
            [first, others @ ..] => {
                for other in others {
                    let (what, _) = subject(table);
                    let message = format!("{what} must have exactly one of {names}");
                    let diagnostic = Diagnostic::error(Code::InvalidValue, message)
                        .at(self.place(other.span()))
                        .related(self.place(first.span()), "the other one")
                        .hint(format!(
                            "remove one of them, or split them into two `{}`",
                            table.header
                        ));
                    self.found.push(diagnostic);
                }
            }
        }
    }

    /// Keys that have no meaning without others.
    fn needed(&mut self, table: &Table, tree: &DeTable<'_>) {
        let mut found: Vec<_> = tree
            .keys()
            .filter_map(|name| Some((name.span(), table.key(name.get_ref())?)))
            .collect();
        found.sort_by_key(|(range, _)| range.start);
        for (range, key) in found {
            for needed in key.needs.iter().filter(|needed| !tree.contains_key(**needed)) {
                let message = format!("`{}` requires `{needed}`", key.name);
                let hint = match table.key(needed) {
                    Some(needed) => format!("`{}`: {}", needed.name, needed.doc),
                    None => format!("add `{needed}`"),
                };
                self.error(Code::MissingKey, &range, message, hint);
            }
        }
    }

    fn well_typed(&mut self, key: &Key, value: &Spanned<DeValue<'_>>) -> bool {
        let range = value.span();
        let fits = match (key.kind, value.get_ref()) {
            (Kind::Boolean | Kind::Switch(_), DeValue::Boolean(_))
            | (
                Kind::String(_) | Kind::StringOrFalse(_) | Kind::Switch(_) | Kind::Watch,
                DeValue::String(_),
            )
            | (Kind::StringOrFalse(_), DeValue::Boolean(false))
            | (Kind::Object | Kind::Table(_), DeValue::Table(_)) => true,
            (Kind::Integer(least, most), DeValue::Integer(number)) => {
                let parsed = u32::from_str_radix(number.as_str(), number.radix());
                if parsed.is_ok_and(|number| (least..=most).contains(&number)) {
                    return true;
                }
                let message = format!("`{}` must be a number from {least} to {most}", key.name);
                let hint = format!("`{}`: {}", key.name, key.doc);
                self.error(Code::InvalidValue, &range, message, hint);
                return false;
            }
            (Kind::OneOf(known), DeValue::String(text)) => {
                if known.contains(&text.as_ref()) {
                    return true;
                }
                let message = format!("invalid value `{text}` of `{}`", key.name);
                let hint = suggest::hint(text, known, "values");
                self.error(Code::InvalidValue, &range, message, hint);
                return false;
            }
            (Kind::Strings(_) | Kind::Filters | Kind::Watch, DeValue::Array(items)) => {
                let strings = items
                    .iter()
                    .map(|item| (item, matches!(item.get_ref(), DeValue::String(_)), "a string"));
                self.items(key, strings);
                return true;
            }
            (Kind::TextOrObject, DeValue::String(_) | DeValue::Table(_)) => true,
            (Kind::StringMap(_), DeValue::Table(entries)) => {
                let items = entries.iter().map(|(_, item)| item);
                let strings = items
                    .map(|item| (item, matches!(item.get_ref(), DeValue::String(_)), "a string"));
                self.items(key, strings);
                return true;
            }
            (Kind::StringsMap(_), DeValue::Table(entries)) => {
                let lists: Vec<_> = entries.iter().map(|(_, list)| list).collect();
                self.items(
                    key,
                    lists.iter().map(|list| {
                        (*list, matches!(list.get_ref(), DeValue::Array(_)), "a list of strings")
                    }),
                );
                for item in lists.iter().filter_map(|list| list.get_ref().as_array()).flatten() {
                    let fits = matches!(item.get_ref(), DeValue::String(_));
                    self.items(key, std::iter::once((item, fits, "a string")));
                }
                return true;
            }
            (Kind::Objects | Kind::Tables(_), DeValue::Array(items)) => {
                let tables = items
                    .iter()
                    .map(|item| (item, matches!(item.get_ref(), DeValue::Table(_)), "a table"));
                self.items(key, tables);
                return true;
            }
            _ => false,
        };

        if !fits {
            let found = type_name(value.get_ref());
            let message =
                format!("`{}` must be {}, but this is {found}", key.name, key.kind.expected());
            let hint = match (key.kind, value.get_ref()) {
                (Kind::Tables(tables), DeValue::Table(_)) => {
                    format!("write `{}`, with double brackets", tables.header)
                }
                (Kind::Strings(_) | Kind::Filters, DeValue::String(_)) => {
                    let text = self.source.text.get(range.clone()).unwrap_or_default();
                    format!("put it in brackets: `{} = [{text}]`", key.name)
                }
                (Kind::StringOrFalse(_), DeValue::Boolean(true)) => {
                    format!("set a name: `{} = \"…\"`", key.name)
                }
                _ => format!("`{}`: {}", key.name, key.doc),
            };
            self.error(Code::WrongType, &range, message, hint);
        }

        fits
    }

    fn items<'t>(
        &mut self,
        key: &Key,
        items: impl Iterator<Item = (&'t Spanned<DeValue<'t>>, bool, &'static str)>,
    ) {
        for (item, fits, expected) in items {
            if !fits {
                let found = type_name(item.get_ref());
                let message =
                    format!("every item of `{}` must be {expected}, but this is {found}", key.name);
                let hint = match item.get_ref() {
                    DeValue::Array(_) | DeValue::Table(_) => "remove it".to_owned(),
                    _ if expected == "a string" => "put it in quotes".to_owned(),
                    _ => format!("`{}` is {}", key.name, key.kind.expected()),
                };
                self.error(Code::WrongType, &item.span(), message, hint);
            }
        }
    }
}

impl<'t> Fields<'t> {
    fn value(&self, name: &str) -> Option<&'t Spanned<DeValue<'t>>> {
        debug_assert!(KEYS.contains(name), "`{name}` is a key of no table");
        self.values.iter().find(|(key, _)| key.name == name).map(|(_, value)| *value)
    }

    /// Returns every key that is there, and where its value is.
    pub(crate) fn places(&self) -> impl Iterator<Item = (&'static Key, Range<usize>)> {
        self.values.iter().map(|(key, value)| (*key, value.span()))
    }

    /// Returns the place of a value; that of the table if it is missing.
    pub(crate) fn place(&self, name: &str) -> Range<usize> {
        self.value(name).map_or_else(|| self.header.clone(), Spanned::span)
    }

    pub(crate) fn text(&self, name: &str) -> Option<Located<&'t str>> {
        let value = self.value(name)?;
        value.get_ref().as_str().map(|text| (text, value.span()))
    }

    pub(crate) fn boolean(&self, name: &str) -> Option<bool> {
        self.value(name)?.get_ref().as_bool()
    }

    /// Returns a whole number, already in its range.
    pub(crate) fn integer(&self, name: &str) -> Option<u32> {
        let number = self.value(name)?.get_ref().as_integer()?;
        u32::from_str_radix(number.as_str(), number.radix()).ok()
    }

    /// Returns the strings of a list and the range of the list; `None` if the value is not a list.
    pub(crate) fn texts(&self, name: &str) -> Option<Located<Vec<Located<&'t str>>>> {
        let value = self.value(name)?;
        let items = value.get_ref().as_array()?;
        let texts =
            items.iter().filter_map(|item| Some((item.get_ref().as_str()?, item.span()))).collect();
        Some((texts, value.span()))
    }

    /// Returns the value as JSON; dates are texts.
    pub(crate) fn json(&self, name: &str) -> Option<Located<Json>> {
        let value = self.value(name)?;
        Some((as_json(value.get_ref()), value.span()))
    }

    /// Returns the entries of a table with user-defined keys and string values.
    pub(crate) fn entries(&self, name: &str) -> Vec<Named<'t, &'t str>> {
        let entries = self.table(name).into_iter().flat_map(|(table, _)| table.iter());
        entries
            .filter_map(|(key, value)| {
                let text = value.get_ref().as_str()?;
                Some(((key.get_ref().as_ref(), key.span()), (text, value.span())))
            })
            .collect()
    }

    /// Returns the entries of a table with user-defined keys and string list values.
    pub(crate) fn list_entries(&self, name: &str) -> Vec<Named<'t, Vec<Located<&'t str>>>> {
        let entries = self.table(name).into_iter().flat_map(|(table, _)| table.iter());
        entries
            .filter_map(|(key, value)| {
                let items = value.get_ref().as_array()?.iter();
                let texts = items.filter_map(|item| Some((item.get_ref().as_str()?, item.span())));
                Some(((key.get_ref().as_ref(), key.span()), (texts.collect(), value.span())))
            })
            .collect()
    }

    pub(crate) fn table(&self, name: &str) -> Option<Located<&'t DeTable<'t>>> {
        let value = self.value(name)?;
        value.get_ref().as_table().map(|table| (table, value.span()))
    }

    pub(crate) fn tables(&self, name: &str) -> Vec<Located<&'t DeTable<'t>>> {
        let items = self.value(name).and_then(|value| value.get_ref().as_array());
        items
            .into_iter()
            .flatten()
            .filter_map(|item| Some((item.get_ref().as_table()?, item.span())))
            .collect()
    }
}

/// Returns what a table with a choice of keys describes, and the hint if it has none of them.
fn subject(table: &Table) -> (&'static str, &'static str) {
    if table.key("catalog").is_some() {
        let hint = "add the source of the bundle: `image = \"…\"` for a reference, `path = \"…\"` \
            for a directory or a tar, or `catalog = \"…\"` with a `package`";
        ("a bundle", hint)
    } else if table.key("rollout").is_some() {
        let hint = "add what is awaited: `rollout = \"deployment/NAME\"`, `crd = \"PLURAL.GROUP\"`, \
            or `condition = \"Ready\"` with an `object`";
        ("a gate", hint)
    } else if table.key("insecure").is_some() {
        let hint = "add who signs the images: `key = [\"FILE.pem\"]`; or `insecure = true` to not \
            verify them, or `require = true` to reject them";
        ("a `[[verify]]` table", hint)
    } else {
        let hint = "add the objects: `path = \"…\"` for a file or a directory, or `inline = \
            \"…\"` for a YAML string";
        ("an overlay", hint)
    }
}

fn as_json(value: &DeValue<'_>) -> Json {
    match value {
        DeValue::String(text) => Json::String(text.to_string()),
        DeValue::Integer(integer) => {
            // Integers beyond 64 bits are passed on as strings, so that the type check reports
            // them.
            let digits = integer.as_str();
            i64::from_str_radix(digits, integer.radix()).map_or_else(|_| digits.into(), Json::from)
        }
        DeValue::Float(float) => {
            let text = float.as_str();
            text.parse::<f64>().map_or_else(|_| text.into(), Json::from)
        }
        DeValue::Boolean(value) => Json::Bool(*value),
        DeValue::Datetime(time) => Json::String(time.to_string()),
        DeValue::Array(items) => items.iter().map(|item| as_json(item.get_ref())).collect(),
        DeValue::Table(table) => table
            .iter()
            .map(|(key, value)| (key.get_ref().to_string(), as_json(value.get_ref())))
            .collect(),
    }
}

fn type_name(value: &DeValue<'_>) -> &'static str {
    match value {
        DeValue::String(_) => "a string",
        DeValue::Integer(_) => "an integer",
        DeValue::Float(_) => "a float",
        DeValue::Boolean(true) => "true",
        DeValue::Boolean(false) => "false",
        DeValue::Datetime(_) => "a date or time",
        DeValue::Array(_) => "a list",
        DeValue::Table(_) => "a table",
    }
}
