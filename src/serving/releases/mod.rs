//! Facts per release of the programs that serve models, and judgements by them: a command line, a
//! JSON value, an environment variable or a picker configuration comes in with the image that runs
//! it; verdicts come out.
//!
//! `data/` has one table per program. Each name has the ranges of releases that have it
//! (`FIRST..LAST`, both inclusive, either may be empty), with what the program accepts there. The
//! tables were read from the sources of each release without running them, and contain names, types
//! and choices only; `update.py` in this folder adds a release. `data/images.json` maps images to
//! programs and releases, and `data/replacements.json` names what replaces a setting. Facts of no release are
//! in `data/hardware.json` (devices and models), `data/names.json` (names that rules know),
//! `data/references.json` (configurations of pickers) and `data/runtimes.json` (KServe).

pub(super) mod argparse;
pub(super) mod checkpoint;
pub(super) mod fields;
pub(super) mod go_flags;
pub(super) mod hardware;
pub(super) mod image;
mod json_flag;
pub(super) mod kinds;
pub(super) mod names;
pub(super) mod picker;
pub(super) mod relations;
pub(super) mod spans;
pub(super) mod variables;
pub(super) mod verdict;

// What most of the tables and judgements speak of.
use crate::diag::suggest;
use crate::embedded;
use crate::view::pods::{as_text, is_placeholder, list, text};
use fields::Field;
use relations::Relation;
use serde::Deserialize;
use serde_json::{Map, Value as Json};
use spans::{Named, Release, Releases, Spans};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{LazyLock, OnceLock};
use verdict::{CHECK_VERSION, Judge, Kind, Verdict};

/// A flag of a program.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Flag {
    /// Of argparse `int`, `float`, `str`, `json`, `json|str`, `hint` (an integer such as `32k`), `fold` (a
    /// choice in any case), `flag` (no value), `bool` (also `--no-NAME`), `truefalse`; of Go `bool`, `int`,
    /// `uint`, `float`, `duration`, `list` or `str`.
    #[serde(rename = "type")]
    pub(super) kind: String,
    /// `+`, `*`, `?` or `append`.
    pub(super) nargs: String,
    /// All values; empty if open.
    pub(super) choices: Vec<Json>,
    /// True if it takes `None`, too.
    pub(super) none: bool,
    /// Other names, with dashes.
    pub(super) alias: Vec<String>,
    /// One letter, for Go's `pflag`; empty if none.
    pub(super) short: String,
    /// True if a later release removes it.
    pub(super) deprecated: bool,
    /// True if the program knows it, but does not start with it.
    pub(super) rejected: bool,
    /// Its replacement, with dashes; empty if none is known.
    #[serde(rename = "use")]
    pub(super) instead: String,
    /// The class of its JSON value.
    pub(super) class: String,
}

/// A plugin of an endpoint picker.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Plugin {
    /// True if it needs `--allow-experimental-plugins`.
    pub(super) alpha: bool,
    /// True if a later release removes it.
    pub(super) deprecated: bool,
    /// The release that removes it; empty if not announced.
    pub(super) removal: String,
    /// Its replacement; empty if none is known.
    #[serde(rename = "use")]
    pub(super) instead: String,
    /// True if it does not read its parameters.
    pub(super) ignored: bool,
    /// True if not all its parameters are known.
    pub(super) open: bool,
    /// Its parameters.
    pub(super) parameters: BTreeMap<String, Field>,
}

/// Facts about a program, by release.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct ProgramTable {
    /// Name in messages.
    #[serde(skip)]
    pub(super) name: &'static str,
    /// Key in data/images.json and data/replacements.json.
    #[serde(skip)]
    pub(super) key: &'static str,
    #[serde(rename = "versions")]
    pub(super) releases: Releases,
    pub(super) flags: Named<Flag>,
    /// Flags by their aliases, with dashes.
    #[serde(skip)]
    aliases: BTreeMap<String, BTreeSet<String>>,
    /// Accepted names of flags by release, and last those of all releases.
    #[serde(skip)]
    accepted: Vec<OnceLock<BTreeMap<String, argparse::Accepted>>>,
    /// Fields of JSON values of flags, by `CLASS.FIELD`.
    pub(super) fields: Named<Field>,
    pub(super) env: Named<()>,
    /// Types of variables that are numbers.
    pub(super) env_types: Named<Flag>,
    /// Registered names that are values of flags and variables, by their names, and connectors; in lower case, after
    /// `fold `, if a variable is read in any case.
    #[serde(skip)]
    pub(super) values: BTreeMap<String, Named<()>>,
    /// Paths that answer GET requests of its server.
    pub(super) paths: Named<()>,
    /// First segments of the paths that it serves.
    pub(super) segments: Named<()>,
    /// Abilities of its parser: of Go programs `pflag`; of pickers also `strict_parameters` and `gate_assign`.
    pub(super) behaviors: Named<()>,
    /// Its Prometheus metrics without prefix, and the `_total` of counters, with their kinds; an empty one is not
    /// known.
    pub(super) metrics: Named<String>,
    /// Beginnings of metrics under its prefix of older releases than those of the table, and of the router of
    /// its production stack (vllm_router, services/metrics_service).
    pub(super) other_metrics: Named<()>,
    /// Relations between its flags.
    pub(super) relations: Named<Relation>,
}

impl ProgramTable {
    /// Returns the release that an image names.
    pub(super) fn release(&self, image: &str) -> Release {
        image::release(image, self.key, &self.releases)
    }

    /// Returns the index of the release whose facts apply to an image; `None` if unknown.
    pub(super) fn index(&self, image: &str) -> Option<usize> {
        self.releases.index(self.release(image))
    }

    /// Returns true if an image names this release or a later one; `None` if it names none.
    pub(super) fn is_since(&self, image: &str, version: &str) -> Option<bool> {
        let first = self.releases.index(self.releases.find(version));
        self.index(image).map(|index| Some(index) >= first)
    }

    /// Judges a flag with this name as written, if it is deprecated at the release of the judge.
    fn deprecated(&self, flag: &str, written: &str, judge: &mut Judge<'_>) {
        let spec = self.flags.find(flag).and_then(|spans| judge.current(spans));
        if spec.is_some_and(|spec| spec.deprecated) {
            let instead = self.instead(flag, judge.index());
            judge.deprecated("", &format!("flag `{written}`"), "", instead);
        }
    }

    /// Returns what to write for a flag that a release does not have or will lose, if the release has that.
    pub(super) fn instead(&self, flag: &str, index: Option<usize>) -> Option<String> {
        let has = |flag: &str| self.flags.has(flag, index);
        let name = |text: &str| {
            let name = text.strip_prefix("--")?;
            let end = name.find(|c: char| !c.is_ascii_alphanumeric() && c != '-');
            Some(name[..end.unwrap_or(name.len())].to_owned())
        };
        // Its own description in the table is that of the program.
        let of_table = self.flags.find(flag).and_then(|spans| {
            spans.all().rev().map(|spec| spec.instead.as_str()).find(|text| !text.is_empty())
        });
        if let Some(text) = replacement(self.key, flag).or(of_table) {
            let hint = match text.strip_prefix("--") {
                Some(words) if words.contains(' ') => format!("see {text}"),
                Some(_) => format!("write `{text}`"),
                None => text.to_owned(),
            };
            return name(text).is_none_or(|name| has(&name)).then_some(hint);
        }

        // The release may be older than the flag: then the setting that it replaced is the right one.
        let mut all = REPLACEMENTS.get(self.key).into_iter().flatten();
        let (old, _) = all.find(|(old, new)| name(new).as_deref() == Some(flag) && has(old))?;
        Some(format!("write `--{old}`"))
    }

    /// Returns true if it serves paths with the first segment of this one.
    pub(super) fn serves(&self, path: &str) -> bool {
        let first = path.trim_start_matches('/').split('/').next().unwrap_or_default();
        self.segments.has(first, None)
    }

    /// Returns a judge of its settings at a release.
    pub(super) fn judge(&self, release: Release) -> Judge<'_> {
        Judge::new(self.name, &self.releases, release)
    }
}

/// Facts about an endpoint picker.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Picker {
    #[serde(skip)]
    pub(super) program: ProgramTable,
    pub(super) plugins: Named<Plugin>,
    /// Keys of its configuration.
    pub(super) config: Named<Field>,
    #[serde(rename = "feature_gates")]
    pub(super) gates: Named<()>,
    #[serde(rename = "config_api_versions")]
    pub(super) api_versions: Named<()>,
    /// Releases of the inference extension that releases of llm-d's picker are built on, or were
    /// released with.
    pub(super) built_on: BTreeMap<String, String>,
}

/// Returns the name of a flag or setting, and its value after `=`.
fn split_value(text: &str) -> (&str, Option<&str>) {
    text.split_once('=').map_or((text, None), |(name, value)| (name, Some(value)))
}

fn program(name: &'static str, key: &'static str, json: &Json) -> ProgramTable {
    // Without an error: a test reads every table.
    let mut table = ProgramTable::deserialize(json).unwrap_or_default();
    (table.name, table.key) = (name, key);
    for (flag, spans) in table.flags.iter() {
        for alias in spans.all().flat_map(|spec| &spec.alias) {
            table.aliases.entry(alias.clone()).or_default().insert(flag.to_owned());
        }
    }
    // Each release has hundreds of names, and a run asks for one or two releases.
    table.accepted = (0..=table.releases.len()).map(|_| OnceLock::new()).collect();

    // Registered names are in sections with the name of the flag or variable, which the program looks up.
    let marks = ["--", "VLLM_", "_connectors"];
    let sections = json.as_object().into_iter().flatten();
    let sections = sections.filter(|(name, _)| marks.iter().any(|mark| name.contains(mark)));
    let names = sections.map(|(name, section)| (name.replace("--", ""), section));
    table.values =
        names.filter_map(|(name, all)| Some((name, Named::deserialize(all).ok()?))).collect();
    table
}

fn picker(name: &'static str, key: &'static str, text: &'static str) -> Picker {
    let json = spans::resolved(embedded::json(text));
    let picker = Picker::deserialize(&json).unwrap_or_default();
    Picker { program: program(name, key, &json), ..picker }
}

/// Returns the tables of engines.
pub(super) fn engines() -> [&'static ProgramTable; 2] {
    [&SGLANG, &VLLM]
}

/// The full names of flags of engines, by other names: short names, and shorter long ones.
static FULL_NAMES: LazyLock<BTreeMap<String, String>> = LazyLock::new(|| {
    let mut names = BTreeMap::new();
    for table in engines() {
        for (alias, flags) in &table.aliases {
            let alias = alias.trim_start_matches('-');
            for flag in flags {
                // The tables name a flag by its first name upstream, which may be the short one.
                let is_longer = alias.len() > flag.len();
                let (short, full) = if is_longer { (&**flag, alias) } else { (alias, &**flag) };
                names.insert(short.to_owned(), full.to_owned());
            }
        }
    }
    // vLLM has flags of its own with names that are aliases in SGLang.
    names.retain(|short, _| VLLM.flags.find(short).is_none());
    names
});

/// Returns the full name of an engine's flag, without dashes, if the name is a shorter one.
pub(super) fn full_name(name: &str) -> Option<&'static str> {
    FULL_NAMES.get(name).map(String::as_str)
}

/// vLLM.
pub(super) static VLLM: LazyLock<ProgramTable> = LazyLock::new(|| {
    program("vLLM", "vllm", &spans::resolved(embedded::json(include_str!("data/vllm.json"))))
});

/// SGLang.
pub(super) static SGLANG: LazyLock<ProgramTable> = LazyLock::new(|| {
    program("SGLang", "sglang", &spans::resolved(embedded::json(include_str!("data/sglang.json"))))
});

/// The endpoint picker of llm-d.
pub(super) static LLM_D: LazyLock<Picker> = LazyLock::new(|| {
    picker("llm-d's endpoint picker", "picker-llm-d", include_str!("data/picker-llm-d.json"))
});

/// The endpoint picker of the Gateway API inference extension.
pub(super) static GIE: LazyLock<Picker> = LazyLock::new(|| {
    picker("GAIE's endpoint picker", "picker-gie", include_str!("data/picker-gie.json"))
});

/// The routing sidecar of llm-d.
pub(super) static SIDECAR: LazyLock<ProgramTable> = LazyLock::new(|| {
    let table = spans::resolved(embedded::json(include_str!("data/sidecar.json")));
    program("llm-d's routing sidecar", "sidecar", &table)
});

/// Replacements of settings, by program and setting.
static REPLACEMENTS: LazyLock<BTreeMap<String, BTreeMap<String, String>>> =
    LazyLock::new(|| embedded::json(include_str!("data/replacements.json")));

/// Returns what replaces a setting of a program, such as `--kv-connector` or a sentence.
pub(super) fn replacement(key: &str, name: &str) -> Option<&'static str> {
    REPLACEMENTS.get(key)?.get(name).map(String::as_str)
}

#[cfg(test)]
mod tests;
