//! Checks the TOML tree against the tables of keys: reports unknown, missing and ill-typed keys,
//! and gives typed access to the others.

use super::tables::output::Output;
use super::tables::root::{Included, Root};
use super::tables::settings::Defaults;
use super::*;
use toml::Spanned;

/// A value in the file, with its range.
pub type Node<'t> = Spanned<DeValue<'t>>;

/// A value and its range in the file.
pub(crate) type Located<T> = (T, Range<usize>);

/// Keys of OLM's Subscription, CatalogSource and ClusterServiceVersion, and of other tables, that have
/// another name in a table.
const OTHER_WORDS: [(&str, &str); 8] = [
    ("installModes", "watch"),
    ("targetNamespaces", "watch"),
    ("source", "catalog"),
    ("startingCSV", "version"),
    ("defaultChannel", "channel"),
    ("installNamespace", "namespace"),
    ("watch-namespaces", "watch"),
    ("path", "manifests"),
];

/// Keys that the hint about an unknown one names at most.
const MOST_KEYS: usize = 5;

/// Reads the tables of a file, and collects the errors in them.
pub struct Reader<'a> {
    /// The file that is being read.
    pub(crate) source: &'a Arc<SourceText>,
    /// The directory that paths are relative to.
    pub(crate) base: &'a Path,
    /// `[defaults]`.
    pub(crate) defaults: Defaults,
    /// Facts that `[deploy]` is checked against.
    pub(crate) known: Known,
    pub(crate) found: Diagnostics,
}

/// Facts of tables that are read before others.
#[derive(Default)]
pub(crate) struct Known {
    /// The names of bundles, charts and models.
    pub(crate) charts: Vec<String>,
    /// The names of models, with their namespaces.
    pub(crate) models: Vec<(String, String)>,
    /// `[output]`.
    pub(crate) output: Output,
}

/// The known, well-typed keys of one table.
pub struct Fields<'t> {
    /// The table's header, or the whole of an inline table.
    pub(crate) header: Range<usize>,
    values: Vec<(&'static Key, &'t Node<'t>)>,
}

impl Reader<'_> {
    pub(crate) fn span(&self, range: Range<usize>) -> Span {
        Span::new(self.source, range)
    }

    /// Reports an error at a range of the file that is being read.
    pub(crate) fn error(
        &mut self,
        code: Code,
        range: &Range<usize>,
        message: impl Into<String>,
        hint: impl Into<String>,
    ) {
        self.found.error(code, &self.span(range.clone()), message, hint);
    }

    /// Returns the value that was made of a text in the file, or reports why there is none.
    pub(crate) fn valid<T, M: Into<String>, H: Into<String>>(
        &mut self,
        value: &Node<'_>,
        made: Result<T, (M, H)>,
    ) -> Option<T> {
        made.map_err(|(message, hint)| {
            self.error(Code::InvalidValue, &value.span(), message, hint);
        })
        .ok()
    }

    /// Returns the value of one of these words; reports another text as an unknown `noun`.
    pub(crate) fn word<T: Copy>(
        &mut self,
        value: &Node<'_>,
        noun: &str,
        [one, other]: [(&str, T); 2],
    ) -> Option<T> {
        let text = value.get_ref().as_str()?;
        let meant = [one, other].into_iter().find(|(word, _)| *word == text);
        let fault =
            || (format!("unknown {noun} `{text}`"), format!("write `{}` or `{}`", one.0, other.0));
        self.valid(value, meant.map(|(_, meant)| meant).ok_or_else(fault))
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
                // Left out: `well_typed` has reported it.
                Some(_) => {}
                None => self.unknown(table, name.get_ref(), &name.span()),
            }
        }
        for key in table.keys.iter().filter(|key| key.required) {
            // In the tree, not among `values`: a key of a wrong type has been reported, and is not
            // missing, too.
            if !tree.contains_key(key.name.as_str()) {
                let message = format!("`{}` is missing {}", key.name, table.place());
                self.error(Code::MissingKey, &header, message, key.hint());
            }
        }
        self.exactly_one(table, &header, tree);
        self.needed(table, tree);
        Fields { header, values }
    }

    /// Reports the second of two that should be one.
    pub(crate) fn twice(
        &mut self,
        code: Code,
        (second, first): (&Span, &Span),
        message: impl Into<String>,
        related: &str,
        hint: impl Into<String>,
    ) {
        let error = Diagnostic::error(code, message).at(second).related(first, related);
        self.found.push(error.hint(hint));
    }

    /// Returns the items without those with the `key` of an earlier one, which are reported with the
    /// message and hint of `describe`.
    pub(crate) fn unique<T, K: PartialEq>(
        &mut self,
        code: Code,
        items: Vec<T>,
        key: impl Fn(&T) -> K,
        span: fn(&T) -> &Span,
        describe: impl Fn(&T) -> (String, &'static str),
    ) -> Vec<T> {
        let mut kept: Vec<(K, T)> = Vec::new();
        for item in items {
            let own = key(&item);
            match kept.iter().find(|(known, _)| *known == own) {
                None => kept.push((own, item)),
                Some((_, first)) => {
                    let (message, hint) = describe(&item);
                    let spans = (span(&item), span(first));
                    self.twice(code, spans, message, "first defined here", hint);
                }
            }
        }
        kept.into_iter().map(|(_, item)| item).collect()
    }

    fn unknown(&mut self, table: &'static Table, name: &str, range: &Range<usize>) {
        // By address: both tables have the same header, an empty one.
        if std::ptr::eq(table, Included::table()) && Root::table().key(name).is_some() {
            let message = format!("`{name}` is not allowed in an included file");
            let hint = "move it to bundles.toml: included files have `[[bundle]]`, `[[chart]]` and \
                `[[serving]]` tables only";
            self.error(Code::UnknownKey, range, message, hint);
            return;
        }
        let known: Vec<&str> = table.keys.iter().map(|key| key.name.as_str()).collect();
        let message = format!("unknown key `{name}` {}", table.place());
        let same = OTHER_WORDS.iter().find(|(word, key)| *word == name && known.contains(key));
        let hint = match same {
            Some((_, key)) => format!("write `{key}`, which is what `{name}` is here"),
            None => similar_key(name, table, &known),
        };
        self.error(Code::UnknownKey, range, message, hint);
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
        // The tree is sorted by key; the first one in the file stays.
        present.sort_by_key(|name| name.span().start);

        match present.as_slice() {
            [] if table.exactly_one_of.is_empty() => {}
            [] => self.error(
                Code::MissingKey,
                header,
                format!("{names} is missing {}", table.place()),
                subject(table).1,
            ),
            [first, others @ ..] => {
                for other in others {
                    let (what, _) = subject(table);
                    let message = format!("{what} must have exactly one of {names}");
                    let hint = match table.header.starts_with("[[") {
                        true => {
                            format!("remove one of them, or split them into two `{}`", table.header)
                        }
                        false => "remove one of them".to_owned(),
                    };
                    let spans = (&self.span(other.span()), &self.span(first.span()));
                    self.twice(Code::InvalidValue, spans, message, "the other one", hint);
                }
            }
        }
    }

    /// Reports keys that have no meaning without others.
    fn needed(&mut self, table: &Table, tree: &DeTable<'_>) {
        for name in tree.keys() {
            let Some(key) = table.key(name.get_ref()) else { continue };
            for needed in key.needs.iter().filter(|needed| !tree.contains_key(**needed)) {
                let message = format!("`{}` requires `{needed}`", key.name);
                let hint = table.key(needed).map(Key::hint).unwrap_or_default();
                self.error(Code::MissingKey, &name.span(), message, hint);
            }
        }
    }

    fn well_typed(&mut self, key: &Key, value: &Node<'_>) -> bool {
        let fault = match (key.kind, value.get_ref()) {
            (kind, found) if !kind.has_type(found) => {
                let (message, hint) = self.mismatch(key, value);
                Some((Code::WrongType, message, hint))
            }
            (Kind::Integer(least, most), DeValue::Integer(number)) => {
                // TOML has hexadecimal, octal and binary integers as well.
                let parsed = u32::from_str_radix(number.as_str(), number.radix());
                let fits = parsed.is_ok_and(|number| (least..=most).contains(&number));
                let message = format!("`{}` must be a number from {least} to {most}", key.name);
                (!fits).then_some((Code::InvalidValue, message, key.hint()))
            }
            (Kind::OneOf(known), DeValue::String(text)) if !known.contains(&text.as_ref()) => {
                let message = format!("invalid value `{text}` of `{}`", key.name);
                Some((Code::InvalidValue, message, suggest::hint(text.as_ref(), known, "values")))
            }
            _ => None,
        };
        if let Some((code, message, hint)) = fault {
            self.error(code, &value.span(), message, hint);
            return false;
        }

        self.check_items(key, key.kind, value);
        true
    }

    /// Returns the message and the hint about a value of another type than the key has.
    fn mismatch(&self, key: &Key, value: &Node<'_>) -> (String, String) {
        let (name, found) = (&key.name, value.get_ref());
        let message =
            format!("`{name}` must be {}, but this is {}", key.kind.expected(), type_name(found));
        let hint = match (key.kind, found) {
            (Kind::List(Kind::Table(table)), DeValue::Table(_))
                if table().header.starts_with("[[") =>
            {
                format!("write `{}`, with double brackets", table().header)
            }
            // A name and a value, as in a container of Kubernetes.
            (Kind::List(Kind::Object), DeValue::Table(table)) if name == "env" => {
                let pair = |(name, value): (&Spanned<_>, &Node<'_>)| {
                    let value = self.source.text.get(value.span()).unwrap_or_default();
                    format!("{{ name = \"{}\", value = {value} }}", name.get_ref())
                };
                let pairs: Vec<String> = table.iter().take(MOST_KEYS).map(pair).collect();
                format!("write `env = [{}]`", pairs.join(", "))
            }
            (Kind::List(Kind::String(_)) | Kind::Filters, DeValue::String(_))
            | (Kind::List(Kind::Object | Kind::Table(_)), DeValue::Table(_)) => {
                // As it is written, with its quotes.
                let text = self.source.text.get(value.span()).unwrap_or_default();
                format!("put it in brackets: `{name} = [{text}]`")
            }
            _ => key.hint(),
        };
        (message, hint)
    }

    /// Reports the items of a value, and those in them, that have another type than `kind` says.
    fn check_items(&mut self, key: &Key, kind: Kind, value: &Node<'_>) {
        // Tables in a list have no items here: their keys are checked when they are read.
        let Some(kind) = kind.item() else { return };
        for item in items(value).chain(entries(value).map(|((_, item), _)| item)) {
            if kind.has_type(item.get_ref()) {
                self.check_items(key, kind, item);
                continue;
            }
            let (expected, found) = (kind.expected(), type_name(item.get_ref()));
            let message =
                format!("every item of `{}` must be {expected}, but this is {found}", key.name);
            let hint = match item.get_ref() {
                DeValue::Array(_) | DeValue::Table(_) => "remove it".to_owned(),
                _ if matches!(kind, Kind::String(_)) => "put it in quotes".to_owned(),
                _ => format!("`{}` is {}", key.name, key.kind.expected()),
            };
            self.error(Code::WrongType, &item.span(), message, hint);
        }
    }
}

impl<'t> Fields<'t> {
    /// Returns a key that is there and well-typed, with its value.
    pub(crate) fn entry(&self, name: &str) -> Option<(&'static Key, &'t Node<'t>)> {
        self.values.iter().find(|(key, _)| key.name == name).copied()
    }

    /// Returns a table without keys.
    pub(crate) fn empty(header: Range<usize>) -> Self {
        Fields { header, values: Vec::new() }
    }

    /// Returns every key that is there and well-typed, with its value.
    pub(crate) fn all(&self) -> &[(&'static Key, &'t Node<'t>)] {
        &self.values
    }

    /// Returns true if the key is there.
    pub(crate) fn has(&self, name: &str) -> bool {
        self.entry(name).is_some()
    }

    /// Returns the place of a value; that of the table if it is missing.
    pub(crate) fn place(&self, name: &str) -> Range<usize> {
        self.entry(name).map_or_else(|| self.header.clone(), |(_, value)| value.span())
    }

    /// Returns the items of the list at a key.
    pub(crate) fn items(&self, name: &str) -> impl Iterator<Item = &'t Node<'t>> {
        self.entry(name).into_iter().flat_map(|(_, value)| items(value))
    }
}

/// Returns the items of a list; none of another value.
pub(crate) fn items<'t>(value: &'t Node<'t>) -> impl Iterator<Item = &'t Node<'t>> {
    value.get_ref().as_array().into_iter().flatten()
}

/// Returns the entries of a table with user-defined keys.
pub(crate) fn entries<'t>(
    value: &'t Node<'t>,
) -> impl Iterator<Item = Located<(&'t str, &'t Node<'t>)>> {
    let table = value.get_ref().as_table().into_iter().flatten();
    table.map(|(name, value)| ((name.get_ref().as_ref(), value), name.span()))
}

/// Returns the hint about a key that a table, which has those in `known`, does not have: a similar key of
/// the table, else the tables with this key, or one that begins like it and is similar, if possible below
/// this table.
fn similar_key(name: &str, table: &'static Table, known: &[&str]) -> String {
    // A misspelled key is most often meant for this table, so a similar name here comes first.
    if let Some(near) = suggest::nearest(name, known) {
        return format!("did you mean `{near}`?");
    }
    let tables = Root::table().all();
    let all: Vec<&str> =
        tables.iter().flat_map(|table| &table.keys).map(|key| key.name.as_str()).collect();
    // Of all keys of all tables, some is near to any word.
    let near = suggest::nearest(name, &all).filter(|near| near.get(..3) == name.get(..3));
    let meant = near.unwrap_or(name);
    let tables = [table, Root::table()].map(|table| table.with_key(meant));
    let nearest = tables.into_iter().find(|tables| !tables.is_empty()).unwrap_or_default();
    let places: Vec<String> = nearest.iter().map(|table| table.place()).collect();
    // A key such as `name` is in nearly all tables.
    if (1..=MOST_KEYS).contains(&places.len()) {
        let places = places.join(" or ");
        return match meant == name {
            true => format!("`{name}` belongs {places}"),
            false => format!("did you mean `{meant}`, which belongs {places}?"),
        };
    }
    let keys = suggest::list(known.get(..MOST_KEYS).unwrap_or(known));
    let more = ", and others; `bundle2chart schema` has all";
    format!("known keys: {keys}{}", if known.len() > MOST_KEYS { more } else { "" })
}

/// Returns the subject of a table with a choice of keys, and the hint if it has none of them.
fn subject(table: &Table) -> (String, String) {
    let (subject, hint) = if table.key("catalog").is_some() {
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
    } else if table.key("inline").is_some() {
        let hint = "add the objects: `path = \"…\"` for a file or a directory, or `inline = \
            \"…\"` for a YAML string";
        ("an overlay", hint)
    } else {
        let first = table.exactly_one_of.first().and_then(|name| table.key(name));
        return (format!("`{}`", table.header), first.map(Key::hint).unwrap_or_default());
    };
    (subject.to_owned(), hint.to_owned())
}

/// Returns a value as JSON; dates are texts.
pub(crate) fn as_json(value: &DeValue<'_>) -> Json {
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
            // JSON has neither `inf` nor `nan`, and null would remove what a patch merges into.
            let number = text.parse::<f64>().ok().filter(|number| number.is_finite());
            number.map_or_else(|| text.into(), Json::from)
        }
        DeValue::Boolean(value) => Json::Bool(*value),
        // JSON has no dates, and Kubernetes has them as strings.
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
