//! Charts of `[[serving]]` tables: the layout of bundle charts, with their own README and NOTES.

mod documents;

use super::images_of;
use super::releases::image;
use crate::config::serving::{Model, ServingConfig};
use crate::images;
use crate::ir::{Unit, map};
use crate::yaml;
use bundle2chart_compile::chart::metadata::maintainers;
use bundle2chart_compile::chart::required_apis::{self, Providers, REQUIRED_APIS};
use bundle2chart_compile::chart::{
    Chart, HELMIGNORE, Install, artifact_hub, budget, created_namespaces, manifest, values,
};

/// Returns the chart of a `[[serving]]` table.
pub(super) fn chart(unit: &Unit, config: &ServingConfig) -> Chart {
    let mut files = manifest::templates(unit.objects.iter());
    if let Some(template) = required_apis::template(unit, &config.name, &Providers::new()) {
        files.insert(REQUIRED_APIS.to_owned(), template);
    }

    files.insert("Chart.yaml".to_owned(), metadata(unit, config));
    files.insert("values.yaml".to_owned(), values::yaml(&unit.values));
    files.insert("values.schema.json".to_owned(), values::schema(unit, false));
    files.insert("README.md".to_owned(), documents::readme(unit, config));
    files.insert("templates/NOTES.txt".to_owned(), documents::notes(config));
    files.insert(".helmignore".to_owned(), HELMIGNORE.to_owned());

    let release_bytes = budget::release_bytes(&config.name, &files, unit, &config.namespace);
    Chart {
        release_bytes,
        is_without_examples: false,
        install: Install {
            namespaces: created_namespaces(unit, &config.namespace),
            ..Install::default()
        },
        name: config.name.clone(),
        version: config.chart_version.clone(),
        files: files.into_iter().map(|(path, text)| (path, text.into_bytes())).collect(),
    }
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
