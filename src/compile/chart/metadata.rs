//! Chart.yaml.

use super::chart_lock::{CRDS_CONDITION, CRDS_SUBCHART};
use super::crds::Crds;
use super::{Description, Part, artifact_hub};
use crate::bundle::{Bundle, ClusterServiceVersion};
use crate::config::Maintainer;
use crate::fields::texts;
use crate::ir::{Map, Object, Value, map, value};
use crate::yaml;

/// Returns Chart.yaml: versions, description and provenance, without timestamps, and
/// the examples of custom resources if `with_examples`.
pub(super) fn chart(
    description: &Description<'_>,
    part: Part,
    crds: &Crds,
    with_examples: bool,
) -> String {
    let csv = description.bundle.map(|bundle| &bundle.csv);
    let mut root = Map::new();
    let mut set = |key: &str, value: Value| {
        root.insert(key.to_owned(), value);
    };
    set("apiVersion", "v2".into());
    set("name", Value::text(part.name(description.config)));
    set("version", Value::text(description.version.to_string()));
    set("appVersion", Value::text(description.app_version()));
    let title = csv.map(|csv| csv.spec_text("displayName")).filter(|title| !title.is_empty());
    let name = description.bundle.map_or(&description.config.name, |bundle| &bundle.package);
    let title = title.unwrap_or(name);
    let what = match (part, csv) {
        (Part::Crds, _) => "CustomResourceDefinitions of ",
        (Part::Operator, _) => "",
        (Part::Operands, Some(_)) => "Custom resources for the operator of ",
        (Part::Operands, None) => "Objects that follow ",
    };
    let made_from = description.made_from();
    set("description", Value::text(format!("{what}{title}, {made_from}")));
    set("type", "application".into());

    csv.into_iter().flat_map(of_csv).for_each(|(key, value)| set(key, value));
    if !description.config.maintainers().is_empty() {
        set("maintainers", maintainers(description.config.maintainers()));
    }

    if crds.are_in_subchart() {
        let dependency = value!({
            "name": CRDS_SUBCHART,
            "version": description.version.to_string(),
            "condition": ?crds.are_templates().then_some(CRDS_CONDITION),
        });
        set("dependencies", vec![dependency].into());
    }

    let mut annotations = annotations(description);
    // The next build reads both: moving CRDs breaks releases, and a change of `watch` is an error.
    if part == Part::Operator {
        let placement = Value::text(description.crds.as_str());
        annotations.insert("bundle2chart/crds".to_owned(), placement);
        if let Some(watch) = description.watch {
            let watch = Value::text(watch.annotation());
            annotations.insert("bundle2chart/watch".to_owned(), watch);
        }
        annotations.extend(description.bundle.map(upgrade_facts).unwrap_or_default());
    }
    if description.config.settings.strip_descriptions == Some(true) {
        annotations.insert("bundle2chart/descriptions".to_owned(), Value::text("stripped"));
    }
    // Artifact Hub's annotations come last: they have texts of the bundle with several lines.
    if let Some(csv) = csv.filter(|_| part == Part::Operator) {
        let vendor = csv.object.at(&["spec", "provider", "name"]).and_then(Value::as_str);
        if let Some(vendor) = vendor.filter(|vendor| !vendor.is_empty()) {
            annotations.insert("bundle2chart/vendor".to_owned(), Value::text(vendor));
        }
        annotations.extend(artifact_hub::annotations(csv, description.images));
    }
    if !with_examples {
        annotations.shift_remove(artifact_hub::CRDS_EXAMPLES);
    }
    set("annotations", Value::from(annotations));
    plain(&root)
}

/// Returns the entries of Chart.yaml that describe the operator.
fn of_csv(csv: &ClusterServiceVersion) -> Vec<(&'static str, Value)> {
    let mut entries = Vec::new();
    if let Some(minimum) = kube_version(csv.spec_text("minKubeVersion")) {
        entries.push(("kubeVersion", Value::text(minimum)));
    }
    let provider = csv.object.at(&["spec", "provider", "url"]).and_then(Value::as_str);
    if let Some(home) = provider.filter(|url| url.starts_with("https://")) {
        entries.push(("home", Value::text(home)));
    }
    let keywords: Vec<&str> = texts(csv.object.at(&["spec", "keywords"])).collect();
    if !keywords.is_empty() {
        entries.push(("keywords", Value::texts(keywords)));
    }

    // Chart viewers turn it into a link, so only https.
    if let Some(source) = csv.annotation("repository").filter(|url| url.starts_with("https://")) {
        entries.push(("sources", Value::texts([source])));
    }

    if let Some(icon) = icon(&csv.object) {
        entries.push(("icon", Value::Text(icon)));
    }
    if csv.spec_text("maturity") == "deprecated" {
        entries.push(("deprecated", Value::Bool(true)));
    }
    entries
}

/// Largest icon, in characters of base64: a larger one would be most of Chart.yaml, which is read in
/// reviews and part of every release Secret.
const LARGEST_ICON: usize = 4 << 10;

/// Returns the first icon of the CSV as a data URL; `None` for a large one.
fn icon(csv: &Object) -> Option<String> {
    let icon = csv.at(&["spec", "icon"])?.as_seq()?.first()?;
    let media_type = icon.get("mediatype")?.as_str()?;
    let is_type = |c: char| c.is_ascii_alphanumeric() || "/+.-".contains(c);
    let is_image = media_type.starts_with("image/") && media_type.chars().all(is_type);

    // Vendors wrap the lines of an icon, but a data URL has none.
    let data: String = icon.get("base64data")?.as_str()?.split_whitespace().collect();
    let is_base64 = data.bytes().all(|b| b.is_ascii_alphanumeric() || b"+/=".contains(&b));
    let fits = is_image && is_base64 && !data.is_empty() && data.len() <= LARGEST_ICON;
    fits.then(|| format!("data:{media_type};base64,{data}"))
}

/// Returns Chart.yaml of the CRD subchart.
pub(super) fn crds_chart(description: &Description<'_>) -> String {
    let name = &description.config.name;
    plain(&map! {
        "apiVersion": "v2",
        "name": CRDS_SUBCHART,
        "version": description.version.to_string(),
        "description": format!("CustomResourceDefinitions of {name}"),
        "type": "application",
    })
}

fn annotations(description: &Description<'_>) -> Map {
    let Some(bundle) = description.bundle else {
        return map! {"bundle2chart/manifests": description.origin};
    };
    let mut annotations = map! {
        "bundle2chart/bundle": description.origin,
        "bundle2chart/package": &bundle.package,
        "bundle2chart/csv": bundle.csv.name(),
        "bundle2chart/digest": ?bundle.image.as_ref().map(|image| &image.digest),
    };
    if let Some(maximum) = &bundle.requirements.max_openshift {
        annotations.insert("bundle2chart/max-openshift-version".to_owned(), Value::text(maximum));
    }
    let channels = bundle.channels().join(",");
    if !channels.is_empty() {
        annotations.insert("bundle2chart/channels".to_owned(), Value::text(channels));
    }
    annotations
}

/// Returns the facts of the bundle that `diff` compares: the vendor's upgrade path, install modes and
/// dependencies.
fn upgrade_facts(bundle: &Bundle) -> Map {
    let (csv, edges) = (&bundle.csv, &bundle.edges);
    let modes: Vec<&str> = csv.install_modes.iter().map(|mode| mode.as_str()).collect();
    let facts = [
        ("install-modes", modes.join(",")),
        ("replaces", edges.replaces.clone()),
        ("skips", edges.skips.join(",")),
        ("skip-range", edges.skip_range.clone()),
        ("requires", bundle.requirements.texts().join("; ")),
    ];
    let facts = facts.into_iter().filter(|(_, text)| !text.is_empty());
    facts.map(|(key, text)| (format!("bundle2chart/{key}"), Value::text(text))).collect()
}

/// Returns Helm's `kubeVersion` for `minKubeVersion`; `-0` matches versions such as `1.29.3-gke.1`.
fn kube_version(minimum: &str) -> Option<String> {
    let version = semver::Version::parse(minimum.trim_start_matches('v')).ok()?;
    Some(format!(">={}.{}.{}-0", version.major, version.minor, version.patch))
}

/// Returns the list of maintainers.
pub fn maintainers(maintainers: &[Maintainer]) -> Value {
    Value::Seq(maintainers.iter().map(maintainer).collect())
}

fn maintainer(maintainer: &Maintainer) -> Value {
    let Maintainer { name, email, url } = maintainer;
    value!({"name": name, "email": ?email, "url": ?url})
}

/// Returns the YAML of a map without expressions, which cannot fail.
fn plain(root: &Map) -> String {
    yaml::plain(root).unwrap_or_default()
}
