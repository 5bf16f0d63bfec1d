//! A unit laid out as the files of Helm charts, in memory.
//!
//! A bundle is one chart, and where its configuration says so, has others beside it: its CRDs
//! before it, and what needs the operator after it.

mod beside;
mod budget;
mod certificates;
mod chart_lock;
mod cluster_scope;
mod crd_docs;
mod crds;
mod manifest;
mod metadata;
mod notes;
mod readme;
mod required_apis;
mod serving;
mod uninstall;
mod values;

pub use budget::{LIMIT as RELEASE_LIMIT, WARN as RELEASE_WARN, percent as release_percent};
pub use chart_lock::{CHART_LOCK, CRDS_SUBCHART, chart_lock, is_written_by_helm};
pub use serving::serving_chart;

use crate::bundle::Bundle;
use crate::config::{BundleConfig, CRDS_SUFFIX, CrdPlacement, Layout, OPERANDS_SUFFIX, Watch};
use crate::ir::{Object, Origin, Phase, ReadPaths, Scopes, Unit};
use crate::yaml::CERTIFICATE_TEMPLATE;
use required_apis::Providers;
use required_apis::REQUIRED_APIS;
use std::collections::BTreeMap;

/// A chart: its files by `/`-separated path.
#[derive(Clone, Debug)]
pub struct Chart {
    /// Name of the chart.
    pub name: String,
    /// Version of the chart.
    pub version: semver::Version,
    /// Content by path.
    pub files: BTreeMap<String, Vec<u8>>,
    /// Bytes that a release of it takes in the Secret where Helm keeps it, of at most
    /// [`RELEASE_LIMIT`].
    pub release_bytes: usize,
    /// Folder with CRDs that Helm does not upgrade, with a slash at the end.
    pub crds_folder: Option<&'static str>,
    /// Names of its stub CRDs.
    pub stubs: Vec<String>,
}

/// What a chart says about itself besides its objects.
#[derive(Clone, Copy, Debug)]
pub struct Description<'a> {
    /// The bundle that it came from.
    pub bundle: &'a Bundle,
    /// How it is configured.
    pub config: &'a BundleConfig,
    /// Version of the chart.
    pub version: &'a semver::Version,
    /// Namespace that the README installs it into.
    pub namespace: &'a str,
    /// Which namespaces the operator watches.
    pub watch: &'a Watch,
    /// Bytes-independent name of where the bundle came from, as configured.
    pub origin: &'a str,
    /// Images that the chart refers to.
    pub images: &'a [String],
    /// How charts lie beside each other.
    pub layout: Layout,
    /// Where CRDs go.
    pub crds: CrdPlacement,
}

/// Which of a bundle's charts. They are installed in this order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Part {
    /// Its CRDs.
    Crds,
    /// The operator.
    Main,
    /// What needs the operator.
    Operands,
}

impl Part {
    /// The chart's name.
    fn name(self, config: &BundleConfig) -> String {
        match self {
            Part::Crds => format!("{}{CRDS_SUFFIX}", config.name),
            Part::Main => config.name.clone(),
            Part::Operands => format!("{}{OPERANDS_SUFFIX}", config.name),
        }
    }
}

/// What the other charts of the bundle hold.
#[derive(Clone, Copy, Debug, Default)]
struct Companions {
    /// The chart of CRDs, those of the bundle.
    crds: bool,
    /// The chart of CRDs, stubs.
    stubs: bool,
    operands: bool,
}

impl Companions {
    /// Whether there is a chart of CRDs.
    fn has_crds_chart(self) -> bool {
        self.crds || self.stubs
    }
}

/// Names of the stubs among these objects, in their order.
fn stub_names(objects: &[Object]) -> Vec<String> {
    let stubs = objects.iter().filter(|object| object.origin == Origin::Stub);
    let mut names: Vec<String> = stubs.map(|stub| stub.name().to_owned()).collect();
    names.sort_unstable();
    names
}

/// Lays the unit out, in the order in which the charts are installed.
pub fn charts(mut unit: Unit, description: &Description<'_>) -> Vec<Chart> {
    let scopes = cluster_scope::scopes(&unit.objects, &description.config.scopes);
    let operands = take(&mut unit, |object| object.phase == Phase::Operand);
    let separate = description.crds == CrdPlacement::Separate;
    // What Helm must render belongs to the release that knows the namespace.
    let crds = take(&mut unit, |object| {
        let own = object.kind() == "CustomResourceDefinition" && !object.has_expression();
        object.origin == Origin::Stub || separate && own
    });
    let mut providers = Providers::new();
    for (part, objects) in [
        (Part::Crds, crds.as_ref().map(|unit| unit.objects.as_slice()).unwrap_or_default()),
        (Part::Main, unit.objects.as_slice()),
    ] {
        providers.extend(required_apis::provided(objects, &part.name(description.config)));
    }

    let stubs = crds.as_ref().map(|unit| stub_names(&unit.objects)).unwrap_or_default();
    let companions = Companions {
        crds: crds.as_ref().is_some_and(|unit| unit.objects.len() > stubs.len()),
        stubs: !stubs.is_empty(),
        operands: operands.is_some(),
    };
    let read = ReadPaths::of(&unit.objects);
    unit.values.retain(|value| read.contains(&value.path));
    let parts = [(Part::Crds, crds), (Part::Main, Some(unit)), (Part::Operands, operands)];
    parts
        .into_iter()
        .filter_map(|(part, unit)| {
            Some(chart(unit?, description, part, companions, &providers, &scopes))
        })
        .collect()
}

/// The objects for a chart of their own, with the values that they read; nothing without any.
fn take(unit: &mut Unit, belongs: impl Fn(&Object) -> bool) -> Option<Unit> {
    if !unit.objects.iter().any(&belongs) {
        return None;
    }
    let (taken, left) = std::mem::take(&mut unit.objects).into_iter().partition(belongs);
    unit.objects = left;
    let objects: Vec<Object> = taken;
    let read = ReadPaths::of(&objects);
    let values = unit.values.iter().filter(|value| read.contains(&value.path)).cloned().collect();
    Some(Unit { values, objects, constraints: Vec::new() })
}

fn chart(
    mut unit: Unit,
    description: &Description<'_>,
    part: Part,
    companions: Companions,
    providers: &Providers,
    scopes: &Scopes,
) -> Chart {
    let crds = crds::place(&mut unit, part, description.crds);
    let unit = &unit;
    let mut files: BTreeMap<String, String> = BTreeMap::new();
    for (path, text) in manifest::templates(unit.objects.iter().filter(|o| !crds.holds(o))) {
        files.insert(path, text);
    }
    if certificates::are_generated(unit) {
        files.insert(certificates::PATH.to_owned(), CERTIFICATE_TEMPLATE.to_owned());
    }
    let name = part.name(description.config);
    if let Some(template) = required_apis::template(unit, &name, providers) {
        files.insert(REQUIRED_APIS.to_owned(), template);
    }
    if crds.are_in_subchart() {
        files.insert("charts/crds/Chart.yaml".to_owned(), metadata::crds_chart(description));
        let lock = chart_lock(description.version, crds.are_templates());
        files.insert(CHART_LOCK.to_owned(), lock);
    }
    files.insert("Chart.yaml".to_owned(), metadata::chart(description, part, &crds));
    files.insert("values.yaml".to_owned(), values::yaml(&unit.values));
    files.insert("values.schema.json".to_owned(), values::schema(unit, crds.are_in_subchart()));
    let once = cluster_scope::paragraph(unit, &crds, scopes);
    let (readme, notes) = match part {
        Part::Main => (
            readme::readme(unit, description, &crds, companions, &once),
            notes::notes(unit, description, &crds, companions),
        ),
        Part::Crds => beside::crds(unit, description, &crds, &once),
        Part::Operands => beside::operands(unit, description, &once),
    };
    files.insert("README.md".to_owned(), readme);
    files.insert("templates/NOTES.txt".to_owned(), notes);
    files.insert(".helmignore".to_owned(), HELMIGNORE.to_owned());
    let crds_folder = crds.folder();
    files.extend(crds.files);
    let release_bytes = budget::release_bytes(&name, &files, unit, description.namespace);
    Chart {
        name,
        version: description.version.clone(),
        files: files.into_iter().map(|(path, text)| (path, text.into_bytes())).collect(),
        release_bytes,
        crds_folder,
        stubs: stub_names(&unit.objects),
    }
}

/// Everything that Helm does not ignore is stored in the release Secret.
const HELMIGNORE: &str = "\
# Files that are for Git and for people, not for the release.
.bundle2chart
UPGRADE.md
.git/
.gitignore
*.swp
*.tgz
.DS_Store
";
