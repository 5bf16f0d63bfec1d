//! The tables of `bundles.toml`, each declared once: [`table!`] makes a type, its reader, and the
//! [`Table`] of keys that the JSON schema and the reference are made of.
//!
//! A field of the type is a key of the table. Its [`Form`] says which values it has, and its
//! documentation is that of the key.

use super::*;

/// The type of a key's value.
#[derive(Clone, Copy, Debug)]
pub enum Kind {
    /// `true` or `false`.
    Boolean,
    /// A whole number between these two, both included.
    Integer(u32, u32),
    /// A string. If there is a pattern (a regular expression valid both in ECMA 262 and here), the
    /// value must match it. Editors use the pattern; the reader gives better messages.
    String(Option<&'static str>),
    /// One of these strings.
    OneOf(&'static [&'static str]),
    /// A list of jq filters.
    Filters,
    /// A string with this pattern, or `false`.
    StringOrFalse(&'static str),
    /// `true` or `false`, or a string with this pattern.
    Switch(&'static str),
    /// `"all"`, `"own"` or a list of namespaces.
    Watch,
    /// A table with fields of the Kubernetes API.
    Object,
    /// A string, or such a table.
    TextOrObject,
    /// A table.
    Table(fn() -> &'static Table),
    /// A list of such values; one of tables is written `[[name]]`.
    List(&'static Kind),
    /// A table with user-defined keys and such values.
    Map(&'static Kind),
}

impl Kind {
    /// Describes the expected value, for messages: "must be …".
    pub fn expected(self) -> &'static str {
        match self {
            Kind::Boolean => "a boolean",
            Kind::Integer(..) => "an integer",
            Kind::String(_) | Kind::OneOf(_) => "a string",
            Kind::Filters => "a list of jq filters, which are strings",
            Kind::StringOrFalse(_) => "a string or false",
            Kind::Switch(_) => "a boolean or a string",
            Kind::Watch => "\"all\", \"own\" or a list of namespaces",
            Kind::Object | Kind::Table(_) => "a table",
            Kind::TextOrObject => "a YAML string or a table",
            Kind::List(Kind::String(_) | Kind::OneOf(_)) => "a list of strings",
            Kind::List(_) => "a list of tables",
            Kind::Map(Kind::List(_)) => "a table of lists of strings",
            Kind::Map(_) => "a table of strings",
        }
    }

    /// Returns true if a value has this type; its content is not checked.
    pub(crate) fn has_type(self, value: &DeValue<'_>) -> bool {
        match value {
            // `true` would name nothing.
            DeValue::Boolean(false) if matches!(self, Kind::StringOrFalse(_)) => true,
            DeValue::Boolean(_) => matches!(self, Kind::Boolean | Kind::Switch(_)),
            DeValue::Integer(_) => matches!(self, Kind::Integer(..)),
            DeValue::Array(_) => matches!(self, Kind::List(_) | Kind::Filters | Kind::Watch),
            DeValue::String(_) => {
                matches!(self, Kind::String(_) | Kind::OneOf(_) | Kind::Watch | Kind::TextOrObject)
                    || matches!(self, Kind::StringOrFalse(_) | Kind::Switch(_))
            }
            DeValue::Table(_) => {
                matches!(self, Kind::Object | Kind::Table(_) | Kind::Map(_) | Kind::TextOrObject)
            }
            DeValue::Float(_) | DeValue::Datetime(_) => false,
        }
    }

    /// Returns the type of the items, if there are any.
    pub(crate) fn item(self) -> Option<Kind> {
        match self {
            Kind::List(item) | Kind::Map(item) => Some(*item),
            // Only a list is asked: a word such as `"all"` has no items.
            Kind::Filters | Kind::Watch => Some(Kind::String(None)),
            _ => None,
        }
    }

    /// Returns the table that the value is, or that each item of it is.
    pub fn table(self) -> Option<&'static Table> {
        match self {
            Kind::Table(table) | Kind::List(&Kind::Table(table)) => Some(table()),
            _ => None,
        }
    }
}

/// A key of a table.
#[derive(Clone, Debug)]
pub struct Key {
    /// The name.
    pub name: String,
    /// The type of the value.
    pub kind: Kind,
    /// True if the table is invalid without the key.
    pub required: bool,
    /// The description: one or two sentences, and the default.
    pub doc: &'static str,
    /// Keys of the same table that must be there with it.
    pub needs: &'static [&'static str],
}

impl Key {
    /// Returns the hint to write the key: its value is a valid one, or what to put there in upper-case
    /// letters, which the first sentence of the description explains.
    pub(crate) fn hint(&self) -> String {
        let line = format!("write `{} = {}`", self.name, self.example_of(self.kind));
        if matches!(self.kind, Kind::Boolean | Kind::Switch(_) | Kind::OneOf(_)) {
            return line;
        }

        let sentence = self.doc.split(". ").next().unwrap_or_default().trim_end_matches('.');
        let (word, rest) = sentence.split_at(sentence.find(' ').unwrap_or(sentence.len()));
        // Abbreviations, such as `URL`, stay as they are.
        let is_name = word.chars().skip(1).any(char::is_uppercase);
        let word = if is_name { word.to_owned() } else { word.to_lowercase() };
        format!("{line}: {word}{rest}")
    }

    fn example_of(&self, kind: Kind) -> String {
        let text = || format!("\"{}\"", self.name.to_uppercase());
        match kind {
            Kind::Boolean | Kind::Switch(_) => "true".to_owned(),
            Kind::Integer(..) => "N".to_owned(),
            Kind::OneOf(known) => format!("\"{}\"", known.first().copied().unwrap_or_default()),
            Kind::Filters => "['.kind == \"KIND\"']".to_owned(),
            Kind::Watch => "\"all\"".to_owned(),
            Kind::String(_) | Kind::StringOrFalse(_) | Kind::TextOrObject => text(),
            Kind::Table(table) => match table().keys.iter().find(|key| key.required) {
                Some(key) => format!("{{ {} = {} }}", key.name, key.example_of(key.kind)),
                None => "{ … }".to_owned(),
            },
            Kind::Object => "{ KEY = \"VALUE\" }".to_owned(),
            Kind::List(item) => format!("[{}]", self.example_of(*item)),
            Kind::Map(item) => format!("{{ KEY = {} }}", self.example_of(*item)),
        }
    }
}

/// A table of the file.
#[derive(Clone, Debug)]
pub struct Table {
    /// The header as written in the file, for example `[[bundle]]`; empty for the top level.
    pub header: &'static str,
    /// The description.
    pub doc: &'static str,
    /// The keys, in the order of the documentation.
    pub keys: Vec<Key>,
    /// Keys of which there must be exactly one.
    pub exactly_one_of: &'static [&'static str],
}

impl Table {
    /// Returns the key of this name.
    pub fn key(&self, name: &str) -> Option<&Key> {
        self.keys.iter().find(|key| key.name == name)
    }

    /// Returns this table and those below it that have a key of this name, which is no table itself.
    pub(crate) fn with_key(&'static self, name: &str) -> Vec<&'static Table> {
        let has_key = |table: &Table| table.key(name).is_some_and(|key| key.kind.table().is_none());
        let mut seen = BTreeSet::new();
        let mut tables = self.all();
        // `all` has a table as often as keys lead to it; a hint names it once.
        tables.retain(|table| has_key(table) && seen.insert(table.header));
        tables
    }

    /// Returns this table and those below it, as often as keys lead to them.
    pub(crate) fn all(&'static self) -> Vec<&'static Table> {
        let inner = self.keys.iter().filter_map(|key| key.kind.table());
        std::iter::once(self).chain(inner.flat_map(Table::all)).collect()
    }

    /// Names the place of a key, for messages: "in `[[bundle]]`".
    pub(crate) fn place(&self) -> String {
        match self.header {
            "" => "at the top of the file".to_owned(),
            header => format!("in `{header}`"),
        }
    }
}

/// The values that a key has: their type in Rust, in the schema and in the reference, and how they are
/// read.
pub trait Form {
    /// The type in Rust.
    type Value;
    /// The type in the file; never asked for if there is no key.
    const KIND: Kind = Kind::Boolean;
    /// The type of a list of them in the file.
    const LIST: Kind = Kind::List(&Self::KIND);
    /// The type of a table in `[[chart]]`, where it may have another header.
    const IN_CHART: Kind = Self::KIND;

    /// Returns the keys in place of the field's, if it is not one key.
    fn keys() -> Option<&'static [Key]> {
        None
    }

    /// Returns true if the table is invalid without the key.
    fn is_required() -> bool {
        Self::missing().is_none()
    }

    /// Returns the value in the file, which has the type [`Form::KIND`]; reports a wrong one. That of a
    /// table is the values of its keys; forms that are not one key have none.
    fn read(reader: &mut Reader<'_>, key: &Key, value: &Node<'_>) -> Option<Self::Value> {
        // The table of the key, not that of the form: in a `[[chart]]` it has another header, which
        // messages name.
        let fields = reader.fields(key.kind.table()?, value.span(), value.get_ref().as_table()?);
        Self::of(reader, &fields)
    }

    /// Returns the values of the keys of a table; `None` if one that it needs is missing or wrong,
    /// which is reported, and for what is no table.
    fn of(_: &mut Reader<'_>, _: &Fields<'_>) -> Option<Self::Value> {
        None
    }

    /// Returns the value without the key; `None` if the table has no meaning then.
    fn missing() -> Option<Self::Value> {
        None
    }

    /// Returns the value of the key `name` of a table; a wrong one is like none, so that what else is
    /// wrong is found, too.
    fn find(reader: &mut Reader<'_>, fields: &Fields<'_>, name: &str) -> Option<Self::Value> {
        let found = fields.entry(name).and_then(|(key, value)| Self::read(reader, key, value));
        found.or_else(Self::missing)
    }
}

impl Form for bool {
    type Value = bool;
    const KIND: Kind = Kind::Boolean;

    fn read(_: &mut Reader<'_>, _: &Key, value: &Node<'_>) -> Option<bool> {
        value.get_ref().as_bool()
    }

    fn missing() -> Option<bool> {
        Some(false)
    }
}

impl<T: Form> Form for Option<T> {
    type Value = Option<T::Value>;
    const KIND: Kind = T::KIND;

    fn read(reader: &mut Reader<'_>, key: &Key, value: &Node<'_>) -> Option<Self::Value> {
        Some(T::read(reader, key, value))
    }

    fn missing() -> Option<Self::Value> {
        Some(None)
    }
}

/// Wrong items are reported and left out.
impl<T: Form> Form for Vec<T> {
    type Value = Vec<T::Value>;
    const KIND: Kind = T::LIST;

    fn read(reader: &mut Reader<'_>, key: &Key, value: &Node<'_>) -> Option<Self::Value> {
        Some(items(value).filter_map(|item| T::read(reader, key, item)).collect())
    }

    fn missing() -> Option<Self::Value> {
        Some(Vec::new())
    }
}

/// A list that must be there.
pub struct Required<T>(T);

impl<T: Form> Form for Required<T> {
    type Value = T::Value;
    const KIND: Kind = T::KIND;

    fn read(reader: &mut Reader<'_>, key: &Key, value: &Node<'_>) -> Option<Self::Value> {
        T::read(reader, key, value)
    }
}

/// Keys of several tables: those of `T`, in place of the field's.
pub struct Flat<T>(T);

impl<T: Form> Form for Flat<T> {
    type Value = T::Value;

    fn keys() -> Option<&'static [Key]> {
        T::KIND.table().map(|table| table.keys.as_slice())
    }

    fn find(reader: &mut Reader<'_>, fields: &Fields<'_>, _: &str) -> Option<Self::Value> {
        T::of(reader, fields)
    }
}

/// A table that has another header in `[[chart]]`.
pub struct InChart<T>(T);

impl<T: Form> Form for InChart<T> {
    type Value = T::Value;
    const KIND: Kind = T::IN_CHART;

    fn of(reader: &mut Reader<'_>, fields: &Fields<'_>) -> Option<Self::Value> {
        T::of(reader, fields)
    }
}

/// Keys that another function reads.
pub struct Later<T>(T);

impl<T: Form> Form for Later<T> {
    type Value = ();
    const KIND: Kind = T::KIND;

    fn read(_: &mut Reader<'_>, _: &Key, _: &Node<'_>) -> Option<()> {
        Some(())
    }

    fn missing() -> Option<()> {
        Some(())
    }
}

/// No key: the place of the table's header.
pub struct Header;

impl Form for Header {
    type Value = crate::diag::Span;

    fn keys() -> Option<&'static [Key]> {
        Some(&[])
    }

    fn find(reader: &mut Reader<'_>, fields: &Fields<'_>, _: &str) -> Option<Self::Value> {
        Some(reader.span(fields.header.clone()))
    }
}

/// No key: a value that follows from other tables, set when they are known.
pub struct Derived<T>(T);

impl<T: Default> Form for Derived<T> {
    type Value = T;

    fn keys() -> Option<&'static [Key]> {
        Some(&[])
    }

    fn find(_: &mut Reader<'_>, _: &Fields<'_>, _: &str) -> Option<T> {
        Some(T::default())
    }
}

/// A table that is like an empty one if it is missing.
pub struct OrEmpty<T>(T);

impl<T: Form> Form for OrEmpty<T> {
    type Value = T::Value;
    const KIND: Kind = T::KIND;

    fn is_required() -> bool {
        false
    }

    fn find(reader: &mut Reader<'_>, fields: &Fields<'_>, name: &str) -> Option<Self::Value> {
        match fields.entry(name) {
            Some((key, value)) => T::read(reader, key, value),
            // Read like a table without keys: each default is declared with its key, and nowhere
            // else.
            None => T::of(reader, &Fields::empty(fields.header.clone())),
        }
    }
}

/// Returns the key of a field, or the keys in its place; `defaults` has its default, if there is one.
pub(crate) fn keys_of_field<F: Form>(
    name: String,
    defaults: &[&str],
    doc: &'static str,
    needs: &'static [&'static str],
) -> Vec<Key> {
    if let Some(group) = F::keys() {
        return group.to_vec();
    }
    // A key that is a table has its documentation.
    let table = F::KIND.table().filter(|_| doc.is_empty());
    let doc = table.map_or(doc, |table| table.doc);
    let required = F::is_required() && defaults.is_empty();
    vec![Key { name, kind: F::KIND, required, doc, needs }]
}

/// Returns the name of a field's key: its own, or that of the field.
pub(crate) fn key_name(field: &str, own: &[&str]) -> String {
    own.first().map_or_else(|| field.replace('_', "-"), |own| (*own).to_owned())
}

// A declarative macro: serde would stop at the first error, and a derive macro would be a crate
// with a parser of Rust (docs/decisions.md).
/// Declares a table of `bundles.toml`:
///
/// ```text
/// table! {
///     /// Documentation of the table.
///     pub struct Example at "[example]", one of ["file", "text"] {
///         /// Documentation of the key `file`, which is optional.
///         file: Option<Path>;
///         /// Documentation of the key `isText`, which is 1 when it is missing.
///         text as "isText": Integer<1, 9> = 1, needs ["file"];
///     }
/// }
/// ```
///
/// `or "[[chart.example]]"` is its header in `[[chart]]`; `checked by FUNCTION` checks and completes it,
/// `checked by FUNCTION as TYPE` turns it into another type.
macro_rules! table {
    (
        $(#[doc = $about:literal])+
        $(#[derive($($derived:ident),+)])?
        $vis:vis struct $name:ident at $header:literal $(or $in_charts:literal)?
            $(, one of [$($choice:literal),+])?
            $(, checked by $check:path $(as $value:ty)?)?
        {
            $(
                $(#[doc = $doc:literal])*
                $field:ident $(as $key:literal)? : $form:ty $(= $default:expr)?
                    $(, needs [$($needed:literal),+])?;
            )*
        }
    ) => {
        $(#[doc = $about])+
        #[derive(Clone, Debug $($(, $derived)+)?)]
        #[allow(missing_docs, reason = "a key that is a table has its documentation")]
        $vis struct $name {
            $($(#[doc = $doc])* pub $field: <$form as $crate::declare::Form>::Value,)*
        }

        impl $name {
            /// Returns the table with its keys.
            pub fn table() -> &'static $crate::declare::Table {
                // A static has one address, by which `Reader::unknown` knows the table of included
                // files.
                static TABLE: std::sync::LazyLock<$crate::declare::Table> =
                    std::sync::LazyLock::new(|| $crate::declare::Table {
                        header: $header,
                        // Each line of a doc comment begins with a space, which also joins the lines.
                        doc: concat!($($about),+).trim_ascii_start(),
                        keys: [$($crate::declare::keys_of_field::<$form>(
                            $crate::declare::key_name(stringify!($field), &[$($key)?]),
                            &[$(stringify!($default))?],
                            concat!("" $(, $doc)*).trim_ascii_start(),
                            &[$($($needed),+)?],
                        )),*].concat(),
                        exactly_one_of: &[$($($choice),+)?],
                    });
                &TABLE
            }
        }

        impl $crate::declare::Form for $name {
            type Value = $crate::declare::value!($name $($(, $value)?)?);
            const KIND: $crate::declare::Kind = $crate::declare::Kind::Table($name::table);
            $(const IN_CHART: $crate::declare::Kind = $crate::declare::Kind::Table(|| {
                static TABLE: std::sync::LazyLock<$crate::declare::Table> =
                    std::sync::LazyLock::new(|| $crate::declare::Table {
                        header: $in_charts,
                        ..$name::table().clone()
                    });
                &TABLE
            });)?

            fn of(
                reader: &mut $crate::reader::Reader<'_>,
                fields: &$crate::reader::Fields<'_>,
            ) -> Option<Self::Value> {
                $(let $field = {
                    let name = $crate::declare::key_name(stringify!($field), &[$($key)?]);
                    let found = <$form as $crate::declare::Form>::find(reader, fields, &name);
                    // Also for a wrong value, which is reported: other keys of the table are still
                    // checked.
                    $(let found = found.or_else(|| Some($default));)?
                    found
                };)*
                // Only after all keys were read: one run reports everything that is wrong in the
                // table.
                let table = $name { $($field: $field?),* };
                $crate::declare::checked!(reader, fields, table $(, $check $(as $value)?)?)
            }
        }

    };
}

/// The type that a table becomes.
macro_rules! value {
    ($name:ident) => {
        $name
    };
    ($name:ident, $value:ty) => {
        $value
    };
}

/// Calls the function that checks a table, if it has one.
macro_rules! checked {
    ($reader:ident, $fields:ident, $table:ident) => {
        Some($table)
    };
    ($reader:ident, $fields:ident, $table:ident, $check:path) => {{
        let mut table = $table;
        $check(&mut table, $reader, $fields);
        Some(table)
    }};
    ($reader:ident, $fields:ident, $table:ident, $check:path as $value:ty) => {
        $check($table, $reader, $fields)
    };
}

/// Declares the values of a key: an enumeration with the strings of its variants, the default first.
macro_rules! choices {
    (
        $(#[doc = $about:literal])+
        pub enum $name:ident {
            $(#[doc = $first_doc:literal])+
            $first:ident = $first_text:literal,
            $($(#[doc = $doc:literal])+ $variant:ident = $text:literal,)*
        }
    ) => {
        $(#[doc = $about])+
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
        pub enum $name {
            $(#[doc = $first_doc])+
            #[default]
            $first,
            $($(#[doc = $doc])+ $variant,)*
        }

        impl $name {
            /// The strings in bundles.toml, in the order of the variants: the default first.
            pub const NAMES: &'static [&'static str] = &[$first_text, $($text),*];

            /// Returns the string in bundles.toml.
            pub fn as_str(self) -> &'static str {
                $name::NAMES[self as usize]
            }

            /// Returns the value with this string in bundles.toml.
            pub fn named(name: &str) -> Option<Self> {
                match name {
                    $first_text => Some($name::$first),
                    $($text => Some($name::$variant),)*
                    _ => None,
                }
            }
        }

        $crate::declare::words_of! {
            $name: $name = $first_text => $name::$first $(, $text => $name::$variant)*
        }
    };
}

/// Declares keys whose words have values of another type, the default first.
macro_rules! words {
    ($(
        $(#[doc = $doc:literal])+
        $name:ident: $type:ty = $($text:literal => $value:expr),+;
    )+) => {
        $($(#[doc = $doc])+
        pub struct $name;

        $crate::declare::words_of! { $name: $type = $($text => $value),+ })+
    };
}

/// Says how words are read.
macro_rules! words_of {
    ($name:ident: $type:ty = $first:literal => $default:expr $(, $text:literal => $value:expr)*) => {
        impl $crate::declare::Form for $name {
            type Value = $type;
            const KIND: $crate::declare::Kind =
                $crate::declare::Kind::OneOf(&[$first $(, $text)*]);

            fn read(
                _: &mut $crate::reader::Reader<'_>,
                _: &$crate::declare::Key,
                value: &$crate::reader::Node<'_>,
            ) -> Option<$type> {
                Some(match value.get_ref().as_str()? {
                    $($text => $value,)*
                    // The first word: `Reader::fields` leaves out all others, and reports them.
                    _ => $default,
                })
            }

            fn missing() -> Option<$type> {
                Some($default)
            }
        }
    };
}

pub(crate) use {checked, choices, table, value, words, words_of};
