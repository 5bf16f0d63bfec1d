//! Charts of `[[serving]]` tables: the layout of bundle charts, with their own README and NOTES.

mod documents;

use super::*;
use bundle2chart_compile::chart::metadata::maintainers;
use bundle2chart_compile::chart::required_apis::Providers;
use bundle2chart_compile::chart::{Content, Crds, Install, artifact_hub};

/// Returns the chart of a `[[serving]]` table.
pub(super) fn chart(unit: &Unit, config: &ServingConfig) -> Chart {
    Content {
        name: &config.name,
        version: &config.chart_version,
        namespace: &config.namespace,
        unit,
        crds: Crds::default(),
        providers: &Providers::new(),
        metadata: &|_, _| metadata(unit, config),
        readme: documents::readme(unit, config),
        notes: documents::notes(config),
        install: Install::default(),
    }
    .chart()
}

fn metadata(unit: &Unit, config: &ServingConfig) -> String {
    let (_, version) = image::parts(&config.engine.image);
    // 1.30 for native sidecars and `sleep` in preStop, 1.35 for image volumes.
    let minimum = if matches!(config.model, Model::Image(_)) { "1.35" } else { "1.30" };
    let mut annotations = map! {
        "bundle2chart/model": &config.served_name,
        "bundle2chart/api": config.profile.name,
    };
    // The license of the model's files is not known here.
    annotations.extend(artifact_hub::images_of(&images::pulled(&images_of(unit, config))));
    let maintainers = (!config.maintainers.is_empty()).then(|| maintainers(&config.maintainers));
    let root = map! {
        "apiVersion": "v2",
        "name": &config.name,
        "version": config.chart_version.to_string(),
        "appVersion": ?Some(version).filter(|version| !version.is_empty()),
        "description": format!("Serves the model {}", config.served_name),
        "type": "application",
        // `-0` admits versions of vendors, such as `v1.30.4-gke.100`, which are pre-releases in
        // SemVer.
        "kubeVersion": format!(">={minimum}.0-0"),
        "maintainers": ?maintainers,
        "annotations": annotations,
    };
    yaml::plain(&root).unwrap_or_default()
}
