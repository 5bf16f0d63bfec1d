//! The files of a chart, which those of operators and those of models have alike.

use super::crds::Crds;
use super::required_apis::{self, Providers, REQUIRED_APIS};
use super::{
    Chart, HELMIGNORE, Install, RELEASE_WARN, budget, created_namespaces, manifest,
    named_templates, stub_names, values,
};
use crate::ir::Unit;

/// The content of the files of a chart.
pub struct Content<'a> {
    /// Name of the chart.
    pub name: &'a str,
    /// Version of the chart.
    pub version: &'a semver::Version,
    /// Namespace of the release.
    pub namespace: &'a str,
    /// Objects and values.
    pub unit: &'a Unit,
    /// CRDs outside of `templates/`, with the other files of their subchart.
    pub crds: Crds,
    /// Charts that provide kinds.
    pub providers: &'a Providers,
    /// Returns Chart.yaml, with the examples of custom resources or without.
    pub metadata: &'a dyn Fn(&Crds, bool) -> String,
    /// README.md.
    pub readme: String,
    /// NOTES.txt.
    pub notes: String,
    /// The facts of its installation that do not follow from the objects.
    pub install: Install,
}

impl Content<'_> {
    /// Returns the chart.
    pub fn chart(self) -> Chart {
        let Content { name, unit, mut crds, namespace, .. } = self;
        let templates = unit.objects.iter().filter(|object| !crds.holds(object));
        let mut files = manifest::templates(templates);
        files.extend(named_templates::files(unit));
        if let Some(template) = required_apis::template(unit, name, self.providers) {
            files.insert(REQUIRED_APIS.to_owned(), template);
        }
        files.insert("Chart.yaml".to_owned(), (self.metadata)(&crds, true));
        files.insert("values.yaml".to_owned(), values::yaml(&unit.values));
        files.insert("values.schema.json".to_owned(), values::schema(unit, crds.are_in_subchart()));
        files.insert("README.md".to_owned(), self.readme);
        files.insert("templates/NOTES.txt".to_owned(), self.notes);
        files.insert(".helmignore".to_owned(), HELMIGNORE.to_owned());
        files.append(&mut crds.files);

        let mut release_bytes = budget::release_bytes(name, &files, unit, namespace);
        let mut is_without_examples = false;
        // Catalogs can do without them; a release that does not fit cannot be installed.
        if release_bytes >= RELEASE_WARN {
            let text = (self.metadata)(&crds, false);
            is_without_examples = files.get("Chart.yaml") != Some(&text);
            if is_without_examples {
                files.insert("Chart.yaml".to_owned(), text);
                release_bytes = budget::release_bytes(name, &files, unit, namespace);
            }
        }

        Chart {
            name: name.to_owned(),
            is_without_examples,
            version: self.version.clone(),
            files: files.into_iter().map(|(path, text)| (path, text.into_bytes())).collect(),
            release_bytes,
            install: Install {
                crds_folder: crds.folder(),
                stubs: stub_names(&unit.objects),
                namespaces: created_namespaces(unit, namespace),
                ..self.install
            },
        }
    }
}
