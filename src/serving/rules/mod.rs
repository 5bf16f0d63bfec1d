//! Checks of the invariants.

pub(super) mod adapters;
pub(super) mod addresses;
pub(super) mod by_release;
pub(super) mod checkpoint;
pub(super) mod config;
pub(super) mod engine;
pub(super) mod extras;
pub(super) mod gateway;
pub(super) mod group;
pub(super) mod hardware;
pub(super) mod join;
pub(super) mod kserve;
pub(super) mod metrics;
pub(super) mod network_policy;
pub(super) mod picker;
pub(super) mod picker_server;
pub(super) mod pod;
pub(super) mod pool;
pub(super) mod prefix_cache;
pub(super) mod probe;
pub(super) mod program;
pub(super) mod ray;
pub(super) mod references;
pub(super) mod runtime;
pub(super) mod selector;
pub(super) mod set;
pub(super) mod transfer;

// What most rules speak of.
use crate::diag::suggest::{self, is_typo};
use crate::diag::{Code, Severity};
use crate::invariants::{ContainerContext, Context, Finding, Found, Reporter};
use crate::ir::{group_of, quantity};
use crate::picker::{METRICS_PORT, PICKER_PORT};
use crate::releases::hardware::HARDWARE;
use crate::releases::image::{is_in, parts};
use crate::releases::names::NAMES;
use crate::releases::{GIE, LLM_D, SGLANG, VLLM, engines, image, kinds};
use crate::view::config_map::File;
use crate::view::discovery::is_patch;
use crate::view::flags::Flags;
use crate::view::pods::{
    Engine, Located, Part, Program, Sidecar, Template, Variable, accelerators, all_containers,
    declared, expanded_names, is_moved, is_placeholder, is_shell, is_true, items, list, mount_of,
    number, port_number, starts_ray, strings, target_port, text, text_at, text_or, texts, variable,
    variable_or, volume_of, words,
};
use crate::view::shell::is_in_name;
use crate::view::{Manifest, Picker, View, labels_at, maps, pairs};
use engine::{first_name, ranks};
use gateway::{parents, pool_backends};
use join::leader_of;
use picker::{pickers_of, service_port};
use pod::{containers, pods};
use probe::{downloads, lasts};
use selector::{may_select, monitored, read_port};
use serde_json::{Value as Json, json};
use std::collections::{BTreeMap, BTreeSet};

/// Returns two values that are known and not the same.
fn differing<T: PartialEq>(one: Option<T>, other: Option<T>) -> Option<(T, T)> {
    one.zip(other).filter(|(one, other)| one != other)
}

/// Returns values by their keys.
fn grouped<K: Ord, V>(all: impl Iterator<Item = (K, V)>) -> BTreeMap<K, Vec<V>> {
    let mut groups: BTreeMap<K, Vec<V>> = BTreeMap::new();
    all.for_each(|(key, value)| groups.entry(key).or_default().push(value));
    groups
}

/// Returns numbers as ranges: `8000`, `8001–8007`, `1, 3, 5–9`.
fn ranges(numbers: &[u32]) -> String {
    let mut numbers = numbers.to_vec();
    numbers.sort_unstable();
    numbers.dedup();
    // A pod may have a port for each of many ranks, which a message should not list.
    let runs = numbers.chunk_by(|one, next| one.checked_add(1) == Some(*next));
    let shown = |run: &[u32]| match run {
        [first, .., last] => format!("{first}–{last}"),
        run => run.iter().map(u32::to_string).collect(),
    };
    runs.map(shown).collect::<Vec<String>>().join(", ")
}
