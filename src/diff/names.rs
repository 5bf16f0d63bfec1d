//! Names that rules and the redaction of secrets know.

use crate::embedded;
use serde::Deserialize;
use std::collections::BTreeMap;
use std::sync::LazyLock;

/// The names of names.json.
#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", bound = "'de: 'static")]
pub(super) struct Names {
    pub(super) secrets: Secrets,
    pub(super) kubernetes: Kubernetes,
    /// Merge keys by list name; the first that fits both lists is used, and fields with `?` are optional.
    /// They come from the Kubernetes API (`x-kubernetes-list-map-keys`, patchMergeKey); other lists have
    /// the fields that identify their items.
    ///
    /// Rules of RBAC, webhooks, Prometheus and Ingresses have one name: `!` tells them apart.
    pub(super) merge_keys: BTreeMap<&'static str, Vec<Vec<&'static str>>>,
}

/// Parts of the names of values, in lower case without punctuation.
#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", bound = "'de: 'static")]
pub(super) struct Secrets {
    /// Endings of names whose values are references or metadata of secrets.
    pub(super) places: Vec<&'static str>,
    /// Parts of names whose values are secrets.
    pub(super) words: Vec<&'static str>,
    /// Last words of names whose values are secrets.
    pub(super) last_words: Vec<&'static str>,
    /// Words in names of references to Secrets, such as `pullSecret`.
    pub(super) naming: Vec<&'static str>,
}

/// Names of the Kubernetes API.
#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", bound = "'de: 'static")]
pub(super) struct Kubernetes {
    /// Verbs that Kubernetes knows. Source: Kubernetes, "Using RBAC Authorization" and "Authorization".
    pub(super) verbs: Vec<&'static str>,
    /// Formats that the API server validates, without dashes, which it does not compare; it ignores all
    /// others. Source: kube-openapi's pkg/validation/strfmt, and apiextensions-apiserver's
    /// `supportedVersionedFormats`, the last two since Kubernetes 1.34.
    pub(super) validated_formats: Vec<&'static str>,
    /// Capabilities of a container that drops none, in containerd.
    pub(super) default_capabilities: Vec<&'static str>,
    /// Kernel parameters of a pod alone, which the baseline Pod Security Standard admits.
    pub(super) sysctls: Vec<&'static str>,
    /// SELinux types that the baseline Pod Security Standard admits.
    pub(super) selinux_types: Vec<&'static str>,
}

pub(super) static NAMES: LazyLock<Names> =
    LazyLock::new(|| embedded::json(include_str!("names.json")));
