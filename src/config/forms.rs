//! Rules of single values: names, references, paths, versions.

use super::*;
use crate::ir::{ImageReference, label_fault};
use regex::Regex;
use std::path::{Component, Path as StdPath};
use std::sync::{LazyLock, Mutex};
use std::time::Duration;

/// Longest name of a bundle: Helm's limit for the name of a release, which is often the chart's.
pub(crate) const NAME_LIMIT: usize = 53;
/// Longest name of a namespace: that of a DNS-1123 label (RFC 1123, section 2.1).
pub(crate) const NAMESPACE_LIMIT: usize = 63;
/// Longest name of a Secret: that of a DNS-1123 subdomain.
const SUBDOMAIN_LIMIT: usize = 253;

/// A rule that a string follows.
pub trait Rule {
    /// The regular expression for editors; `None` for all strings.
    const PATTERN: Option<&'static str>;
    /// The message about a string that does not match the pattern, with places for `{key}` and `{text}`.
    const MESSAGE: &'static str = "invalid value `{text}` of `{key}`";
    /// The hint of the message; that of the key if there is none.
    const HINT: Option<&'static str> = None;

    /// Returns true if a string matches the pattern.
    fn fits(text: &str) -> bool {
        Self::PATTERN.is_none_or(|pattern| matches(pattern, text))
    }

    /// Returns the message and the hint about a string that does not follow the rule.
    fn fault(key: &Key, text: &str) -> Option<(String, String)> {
        if Self::fits(text) {
            return None;
        }
        let message = Self::MESSAGE.replace("{key}", &key.name);
        // Apostrophes are shown as they are: no message puts single quotes around the text.
        let shown = text.escape_debug().to_string().replace("\\'", "'");
        let message = message.replace("{text}", &shown);
        Some((message, Self::HINT.map_or_else(|| key.hint(), str::to_owned)))
    }
}

/// A wrong string is reported and kept, so that other rules find what else is wrong.
impl<T: Rule> Form for T {
    type Value = String;
    const KIND: Kind = Kind::String(T::PATTERN);

    fn read(reader: &mut Reader<'_>, key: &Key, value: &Node<'_>) -> Option<String> {
        let text = value.get_ref().as_str()?;
        if let Some((message, hint)) = T::fault(key, text) {
            reader.error(Code::InvalidValue, &value.span(), message, hint);
        }
        Some(text.to_owned())
    }
}

/// Returns true if a text matches one of the patterns of this crate.
pub(crate) fn matches(pattern: &'static str, text: &str) -> bool {
    // Thousands of values have the same few patterns, and compiling one takes longer than matching.
    static COMPILED: LazyLock<Mutex<BTreeMap<&'static str, Option<Regex>>>> =
        LazyLock::new(Mutex::default);
    // A thread that panicked has left whole entries, so the map is usable.
    let mut compiled = COMPILED.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    let regex = compiled.entry(pattern).or_insert_with(|| Regex::new(pattern).ok());
    regex.as_ref().is_some_and(|regex| regex.is_match(text))
}

/// Declares rules that are a pattern, perhaps with a message, which may name `{key}` and `{text}`, and
/// a hint of their own.
macro_rules! patterns {
    ($($(#[doc = $doc:literal])+ $name:ident = $pattern:expr $(, $message:literal, $hint:literal)?;)+) => {
        $($(#[doc = $doc])+
        pub struct $name;

        impl $crate::forms::Rule for $name {
            const PATTERN: Option<&'static str> = Some($pattern);
            $(const MESSAGE: &'static str = $message;
            const HINT: Option<&'static str> = Some($hint);)?
        })+
    };
}
pub(crate) use patterns;

/// A string of any form.
pub struct Any;

impl Rule for Any {
    const PATTERN: Option<&'static str> = None;
}

/// A string that is not only blanks: a path, or a sentence.
pub struct Filled;

impl Rule for Filled {
    const PATTERN: Option<&'static str> = None;

    fn fault(key: &Key, text: &str) -> Option<(String, String)> {
        let message = || format!("`{}` is empty", key.name);
        text.trim().is_empty().then(|| (message(), "set a value, or remove the key".to_owned()))
    }
}

/// A string without whitespace: a name, a reference, a URL.
pub struct Word;

impl Rule for Word {
    const PATTERN: Option<&'static str> = Some("^[^\\s]+$");

    fn fault(key: &Key, text: &str) -> Option<(String, String)> {
        let has_blank = text.contains(char::is_whitespace);
        let message = || (format!("`{}` contains whitespace", key.name), "remove it".to_owned());
        Filled::fault(key, text).or_else(|| has_blank.then(message))
    }
}

/// The name of a bundle or chart.
pub struct Name;

impl Rule for Name {
    const PATTERN: Option<&'static str> = Some("^[a-z0-9]([-a-z0-9]{0,51}[a-z0-9])?$");

    fn fault(_: &Key, text: &str) -> Option<(String, String)> {
        let fault = label_fault(text, NAME_LIMIT)?;
        let lower = text.to_lowercase().replace(['_', '.', ' '], "-");
        let hint = match label_fault(&lower, NAME_LIMIT) {
            None => format!("write `name = \"{lower}\"`: releases are named after it"),
            Some(_) => format!("{}; releases are named after it", label_rule(NAME_LIMIT)),
        };
        Some((format!("the name of a bundle or chart {fault}"), hint))
    }
}

/// The name of a bundle, chart or model, which is looked up.
pub struct Listed;

impl Rule for Listed {
    const PATTERN: Option<&'static str> = Name::PATTERN;

    // An unknown name is reported with a suggestion where all names are known; its form adds
    // nothing.
    fn fault(_: &Key, _: &str) -> Option<(String, String)> {
        None
    }
}

/// A name that is a DNS label, of at most the length of a chart's name.
pub struct Label;

impl Rule for Label {
    const PATTERN: Option<&'static str> = Name::PATTERN;

    fn fault(key: &Key, text: &str) -> Option<(String, String)> {
        let fault = label_fault(text, NAME_LIMIT)?;
        Some((format!("`{}` {fault}", key.name), label_rule(NAME_LIMIT)))
    }
}

/// The name of a namespace, or of an object that has the same rule.
pub struct Namespace;

impl Rule for Namespace {
    const PATTERN: Option<&'static str> = Some(NAMESPACE);

    fn fault(_: &Key, text: &str) -> Option<(String, String)> {
        let fault = label_fault(text, NAMESPACE_LIMIT)?;
        Some((format!("the namespace name {fault}"), label_rule(NAMESPACE_LIMIT)))
    }
}

/// Pattern of a [`Namespace`].
pub(crate) const NAMESPACE: &str = "^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$";

/// The name of an object, or an API group: a DNS-1123 subdomain.
pub struct ObjectName;

impl Rule for ObjectName {
    const PATTERN: Option<&'static str> = Some(SUBDOMAIN);

    fn fault(key: &Key, text: &str) -> Option<(String, String)> {
        let fault = subdomain_fault(text)?;
        Some((format!("`{}` {fault}", key.name), subdomain_rule()))
    }
}

/// Pattern of an [`ObjectName`].
pub(crate) const SUBDOMAIN: &str =
    "^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$";

fn subdomain_fault(text: &str) -> Option<String> {
    if text.len() > SUBDOMAIN_LIMIT {
        return Some(format!("has {} characters", text.len()));
    }
    if !text.is_empty() && text.split('.').any(str::is_empty) {
        return Some("has an empty part before or after a dot".to_owned());
    }
    // Kubernetes limits the whole name only, not its labels (`IsDNS1123Subdomain`).
    text.split('.').find_map(|label| label_fault(label, SUBDOMAIN_LIMIT))
}

fn subdomain_rule() -> String {
    format!("use at most {SUBDOMAIN_LIMIT} lower-case letters, digits, dashes and dots")
}

fn label_rule(limit: usize) -> String {
    format!(
        "use at most {limit} lower-case letters, digits and dashes; start and end with a letter or \
            digit"
    )
}

/// The name of a pull secret; `None` for `false`.
pub struct PullSecret;

impl Form for PullSecret {
    type Value = Option<String>;
    const KIND: Kind = Kind::StringOrFalse(SUBDOMAIN);

    fn read(reader: &mut Reader<'_>, _: &Key, value: &Node<'_>) -> Option<Option<String>> {
        let Some(text) = value.get_ref().as_str() else { return Some(None) };
        if let Some(fault) = subdomain_fault(text) {
            let message = format!("the pull secret name {fault}");
            let hint = match text {
                "" => "write `pull-secret = false` to use no pull secret".to_owned(),
                _ => subdomain_rule(),
            };
            reader.error(Code::InvalidValue, &value.span(), message, hint);
        }
        Some(Some(text.to_owned()))
    }
}

patterns! {
    /// A kind of objects.
    ApiKind = "^[A-Z][A-Za-z0-9]*$",
        "invalid kind \"{text}\"",
        "use letters and digits, starting with an upper-case letter, as in `ClusterIssuer`";
}

/// An image reference; only what no reference can be is refused here.
pub struct Reference;

impl Rule for Reference {
    const PATTERN: Option<&'static str> = Some("^[^\\s:/][^\\s]*$");

    fn fault(key: &Key, text: &str) -> Option<(String, String)> {
        let name = &key.name;
        if let Some((scheme, rest)) = ImageReference::scheme(text) {
            let message =
                format!("`{name}` starts with `{scheme}://`, which image references do not have");
            return Some((message, format!("write `{rest}`")));
        }
        // No host begins like this, and `source` would only report an invalid reference.
        if text.starts_with(['/', '.']) {
            let message = format!("`{name}` is a path, not an image reference");
            return Some((message, format!("for local files, write `path = \"{text}\"`")));
        }
        Word::fault(key, text)
    }
}

/// A prefix of image references.
pub struct ReferencePrefix;

impl Rule for ReferencePrefix {
    const PATTERN: Option<&'static str> = Some("^[^/:@\\s]([^@\\s]*[^/:@\\s])?$");

    fn fault(key: &Key, text: &str) -> Option<(String, String)> {
        let fault = Reference::fault(key, text);
        let end = text.chars().next_back().filter(|c| "/:@".contains(*c));
        fault.or_else(|| {
            let hint = format!(
                "write `{}`: prefixes match up to a `/`, `:` or `@` or the end of a reference",
                text.trim_end_matches(['/', ':', '@'])
            );
            Some((format!("`{}` ends with `{}`", key.name, end?), hint))
        })
    }
}

/// A string with its place in the file.
pub struct Placed<T>(T);

impl<T: Rule> Form for Placed<T> {
    type Value = Text;
    const KIND: Kind = T::KIND;

    fn read(reader: &mut Reader<'_>, key: &Key, value: &Node<'_>) -> Option<Text> {
        let text = T::read(reader, key, value)?;
        Some(Text { text, span: reader.span(value.span()) })
    }
}

/// The version of a chart.
pub struct ChartVersion;

impl Form for ChartVersion {
    type Value = semver::Version;
    const KIND: Kind = Kind::String(Some(
        "^(0|[1-9][0-9]*)\\.(0|[1-9][0-9]*)\\.(0|[1-9][0-9]*)(-[0-9A-Za-z.-]+)?(\\+[0-9A-Za-z.-]+)?$",
    ));

    fn read(reader: &mut Reader<'_>, _: &Key, value: &Node<'_>) -> Option<semver::Version> {
        let text = value.get_ref().as_str()?;
        let parsed = semver::Version::parse(text).map_err(|error| {
            let hint = "write three numbers, for example `1.2.3` or `1.2.3-rc.1`";
            (format!("`chart-version` is not a semantic version: {error}"), hint)
        });
        reader.valid(value, parsed)
    }
}

/// A whole number between these two, both included.
pub struct Integer<const LEAST: u32, const MOST: u32>;

impl<const LEAST: u32, const MOST: u32> Form for Integer<LEAST, MOST> {
    type Value = u32;
    const KIND: Kind = Kind::Integer(LEAST, MOST);

    fn read(_: &mut Reader<'_>, _: &Key, value: &Node<'_>) -> Option<u32> {
        let number = value.get_ref().as_integer()?;
        u32::from_str_radix(number.as_str(), number.radix()).ok()
    }
}

/// A duration in seconds between these two, both included.
pub struct Seconds<const LEAST: u32, const MOST: u32>;

impl<const LEAST: u32, const MOST: u32> Form for Seconds<LEAST, MOST> {
    type Value = Duration;
    const KIND: Kind = Kind::Integer(LEAST, MOST);

    fn read(reader: &mut Reader<'_>, key: &Key, value: &Node<'_>) -> Option<Duration> {
        let seconds = Integer::<LEAST, MOST>::read(reader, key, value)?;
        Some(Duration::from_secs(u64::from(seconds)))
    }
}

/// Returns `path` without `.`, and without `..` if the parent is known; does not access the disk.
pub(crate) fn plain(path: &StdPath) -> PathBuf {
    let mut result = PathBuf::new();
    for component in path.components() {
        match component {
            Component::CurDir => {}
            Component::ParentDir
                if matches!(result.components().next_back(), Some(Component::Normal(_))) =>
            {
                result.pop();
            }
            // A leading `..` stays: its parent is known to the disk only, where it may be a link.
            component => result.push(component),
        }
    }
    result
}
