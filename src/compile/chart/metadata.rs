//! Chart.yaml.

use super::chart_lock::{CRDS_CONDITION, CRDS_SUBCHART};
use super::crds::Crds;
use super::{Description, Part, artifact_hub};
use crate::bundle::Bundle;
use crate::config::Maintainer;
use crate::diag::join;
use crate::documents::plain;
use crate::fields::texts;
use crate::ir::{Map, Object, Value, map, value};

/// Returns Chart.yaml: versions, description and provenance, without timestamps, and
/// the examples of custom resources if `with_examples`.
pub(super) fn chart(
    description: &Description<'_>,
    part: Part,
    crds: &Crds,
    with_examples: bool,
) -> String {
    let csv = description.bundle.map(|bundle| &bundle.csv);
    let of_csv =
        |key: &str| csv.map(|csv| csv.spec_text(key)).filter(|text| !text.trim().is_empty());
    let name = description.bundle.map_or(&description.config.name, |bundle| &bundle.package);
    let title = of_csv("displayName").unwrap_or(name);
    let what = match (part, csv) {
        (Part::Crds, _) => "CustomResourceDefinitions of ",
        (Part::Operator, _) => "",
        (Part::Operands, Some(_)) => "Custom resources for the operator of ",
        (Part::Operands, None) => "Objects that follow ",
    };
    let made_from = description.made_from();
    // Chart viewers turn URLs into links, so only https.
    let is_link = |url: &&str| url.starts_with("https://");
    let home = csv.and_then(|csv| csv.object.at(&["spec", "provider", "url"])?.as_str());
    let source = csv.and_then(|csv| csv.annotation("repository")).filter(is_link);
    let keywords: Vec<&str> =
        csv.into_iter().flat_map(|csv| texts(csv.object.at(&["spec", "keywords"]))).collect();
    let maintained_by = description.config.maintainers();
    let dependency = value!({
        "name": CRDS_SUBCHART,
        "version": description.version.to_string(),
        "condition": ?crds.are_templates().then_some(CRDS_CONDITION),
    });

    plain(&map! {
        "apiVersion": "v2",
        "name": part.name(description.config),
        "version": description.version.to_string(),
        "appVersion": description.app_version(),
        "description": format!("{what}{title}, {made_from}"),
        "type": "application",
        "kubeVersion": ?of_csv("minKubeVersion").and_then(kube_version),
        "home": ?home.filter(is_link),
        "keywords": ?(!keywords.is_empty()).then(|| Value::texts(keywords)),
        "sources": ?source.map(|source| Value::texts([source])),
        "icon": ?csv.and_then(|csv| icon(&csv.object)),
        "deprecated": ?(of_csv("maturity") == Some("deprecated")).then_some(true),
        "maintainers": ?(!maintained_by.is_empty()).then(|| maintainers(maintained_by)),
        "dependencies": ?crds.are_in_subchart().then(|| vec![dependency]),
        "annotations": annotations(description, part, with_examples),
    })
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

fn annotations(description: &Description<'_>, part: Part, with_examples: bool) -> Map {
    let mut annotations = provenance(description);
    // The next build reads both: moving CRDs breaks releases, and a change of `watch` is an error.
    if part == Part::Operator {
        annotations.extend(map! {
            "bundle2chart/crds": description.crds.as_str(),
            "bundle2chart/watch": ?description.watch.map(|watch| watch.annotation()),
        });
        annotations.extend(description.bundle.map(upgrade_facts).unwrap_or_default());
    }
    if description.config.settings.strip_descriptions == Some(true) {
        annotations.insert("bundle2chart/descriptions".to_owned(), Value::text("stripped"));
    }
    // Artifact Hub's annotations come last: they have texts of the bundle with several lines.
    if let Some(bundle) = description.bundle.filter(|_| part == Part::Operator) {
        let vendor = bundle.csv.object.at(&["spec", "provider", "name"]).and_then(Value::as_str);
        let vendor = vendor.filter(|vendor| !vendor.is_empty());
        annotations.extend(map! {"bundle2chart/vendor": ?vendor});
        annotations.extend(artifact_hub::annotations(&bundle.csv, description.images));
    }
    if !with_examples {
        annotations.shift_remove(artifact_hub::CRDS_EXAMPLES);
    }
    annotations
}

/// Returns the annotations with the source of the chart.
fn provenance(description: &Description<'_>) -> Map {
    let Some(bundle) = description.bundle else {
        return map! {"bundle2chart/manifests": description.origin};
    };
    let channels = bundle.channels().join(",");
    map! {
        "bundle2chart/bundle": description.origin,
        "bundle2chart/package": &bundle.package,
        "bundle2chart/csv": bundle.csv.name(),
        "bundle2chart/digest": ?bundle.image.as_ref().map(|image| &image.digest),
        "bundle2chart/max-openshift-version": ?&bundle.requirements.max_openshift,
        "bundle2chart/channels": ?Some(channels).filter(|channels| !channels.is_empty()),
    }
}

/// Returns the facts of the bundle that `diff` compares: the vendor's upgrade path, install modes and
/// dependencies.
fn upgrade_facts(bundle: &Bundle) -> Map {
    let (csv, edges) = (&bundle.csv, &bundle.edges);
    let facts = [
        ("install-modes", join(csv.install_modes.iter().map(|mode| mode.as_str()), ",")),
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
    let entry =
        |Maintainer { name, email, url }: &_| value!({"name": name, "email": ?email, "url": ?url});
    Value::Seq(maintainers.iter().map(entry).collect())
}
