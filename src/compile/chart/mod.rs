//! Builds the files of Helm charts from a unit, in memory.
//!
//! A bundle compiles to one chart, and depending on its configuration to a chart NAME-crds that is
//! installed before it and a chart NAME-operands that is installed after it.

pub mod artifact_hub;
pub mod budget;
mod chart_lock;
mod cluster_scope;
mod companion_docs;
mod content;
mod crd_docs;
mod crds;
mod first_resource;
mod gates;
mod generated;
pub mod manifest;
pub mod metadata;
mod named_templates;
mod notes;
pub mod readme;
pub mod required_apis;
mod uninstall;
pub mod values;

pub use artifact_hub::CRDS_EXAMPLES;
pub use budget::{
    LIMIT as RELEASE_LIMIT, WARN as RELEASE_WARN, percent as release_percent,
    share as release_share,
};
pub use chart_lock::{CHART_LOCK, CRDS_SUBCHART, chart_lock, is_written_by_helm};
pub use content::Content;
pub use crds::Crds;
pub use first_resource::FirstResource;
pub use generated::{Manifest, render_generated, single_map};

use crate::bundle::Bundle;
use crate::config::{BundleConfig, CRDS_SUFFIX, CrdPlacement, Layout, OPERANDS_SUFFIX, Watch};
use crate::documents::file;
use crate::ir::{Object, Origin, Phase, ReadPaths, Release, Scopes, Unit};
use crate::kubectl::{Gate, Step};
use crate::overlay::{self, Definitions};
use askama::filters::Safe;
use companion_docs::{CrdsNotes, CrdsReadme, OperandsNotes, OperandsReadme};
use notes::Notes;
use readme::Readme;
use required_apis::Providers;
use std::collections::BTreeMap;

/// A Helm chart.
#[derive(Clone, Debug)]
pub struct Chart {
    /// Name of the chart.
    pub name: String,
    /// Version of the chart.
    pub version: semver::Version,
    /// File contents by `/`-separated path.
    pub files: BTreeMap<String, Vec<u8>>,
    /// Upper bound of the size of its release Secret in bytes; Helm's limit is [`RELEASE_LIMIT`].
    pub release_bytes: usize,
    /// True if Chart.yaml is without the annotation with examples, because the release is large.
    pub is_without_examples: bool,
    /// The facts that its installation depends on.
    pub install: Install,
}

/// The facts of a chart that its installation depends on.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Install {
    /// The part of the bundle.
    pub part: Part,
    /// Folder of CRDs that Helm does not upgrade, with a trailing slash.
    pub crds_folder: Option<&'static str>,
    /// Names of its stub CRDs.
    pub stubs: Vec<String>,
    /// Namespaces that it creates with the default values.
    pub namespaces: Vec<String>,
    /// Gates that open before charts that depend on it are installed.
    pub gates: Vec<Gate>,
    /// Changes after its installation.
    pub steps: Vec<Step>,
    /// Most seconds that its Jobs wait for the gates of switches.
    pub gate_seconds: u64,
}

/// Text that the source of a chart adds to its documents.
#[derive(Clone, Debug, Default)]
pub struct Additions {
    /// Sections of README.md, after the commands of the installation. Like those of templates they
    /// begin with the line end of what is before them, and end without one.
    pub readme: String,
    /// Paragraphs of NOTES.txt, with the same line ends.
    pub notes: String,
}

/// Inputs for chart metadata and documentation.
#[derive(Clone, Copy, Debug)]
pub struct Description<'a> {
    /// The source bundle; `None` for a `[[chart]]`.
    pub bundle: Option<&'a Bundle>,
    /// The configuration of the bundle.
    pub config: &'a BundleConfig,
    /// Version of the chart.
    pub version: &'a semver::Version,
    /// Namespace in the commands of README.md.
    pub namespace: &'a str,
    /// Namespaces that the operator watches, if there is an operator.
    pub watch: Option<&'a Watch>,
    /// Source of the bundle as configured, independent of its content.
    pub origin: &'a str,
    /// Images that the chart refers to.
    pub images: &'a [String],
    /// Layout of the output folder.
    pub layout: Layout,
    /// Placement of CRDs.
    pub crds: CrdPlacement,
    /// Warnings about the bundle, for reviewers of the chart.
    pub warnings: &'a [String],
    /// Text of the source in its documents.
    pub additions: &'a Additions,
}

impl Description<'_> {
    /// Returns the version of the operator, or of a `[[chart]]`.
    fn app_version(&self) -> String {
        self.bundle.map_or_else(|| self.version.to_string(), |bundle| bundle.csv.version.clone())
    }

    /// Returns the provenance in a few words, which follow the name.
    fn made_from(&self) -> &'static str {
        if self.bundle.is_some() { "compiled from its OLM bundle" } else { "built from manifests" }
    }
}

/// The part of a bundle or model that a chart contains, in install order.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Part {
    /// NAME-crds: CRDs of the bundle and stub CRDs.
    Crds,
    /// NAME: the operator.
    #[default]
    Operator,
    /// NAME-operands: overlays that need the running operator.
    Operands,
}

impl Part {
    /// Returns the chart name.
    fn name(self, config: &BundleConfig) -> String {
        match self {
            Part::Crds => format!("{}{CRDS_SUFFIX}", config.name),
            Part::Operator => config.name.clone(),
            Part::Operands => format!("{}{OPERANDS_SUFFIX}", config.name),
        }
    }

    /// Returns the phase of the steps and gates after the chart; `None` if there are none.
    fn phase(self) -> Option<Phase> {
        match self {
            Part::Crds => None,
            Part::Operator => Some(Phase::With),
            Part::Operands => Some(Phase::Operand),
        }
    }
}

/// A chart for its documents.
struct DocumentedChart<'a> {
    part: Part,
    unit: &'a Unit,
    description: &'a Description<'a>,
    crds: &'a Crds,
    companions: Companions<'a>,
    /// The kinds of its cluster-scoped objects.
    cluster_scoped: Option<Safe<String>>,
    /// Steps after the installation, and then gates.
    steps: &'a [Step],
    gates: &'a [Gate],
}

impl<'a> DocumentedChart<'a> {
    /// Returns the name of a chart of the bundle, which is that of its release.
    fn name(&self, part: Part) -> Safe<String> {
        Safe(part.name(self.description.config))
    }

    /// Returns the sorted names of the stub CRDs.
    fn stubs(&self) -> Vec<String> {
        stub_names(&self.unit.objects)
    }

    fn watched(&self) -> Option<String> {
        self.description.watch.map(Watch::describe)
    }

    /// Returns the namespace in commands.
    fn namespace(&self) -> Safe<&'a str> {
        Safe(self.description.namespace)
    }

    /// Returns the name of the Job that carries the steps out.
    fn steps_job(&self) -> String {
        overlay::job_name(self.description.config, self.part.phase().unwrap_or_default())
    }

    /// Returns the relative path of another chart of the bundle.
    fn folder(&self, part: Part) -> Safe<String> {
        let name = part.name(self.description.config);
        Safe(match self.description.layout {
            Layout::Versioned => format!("../../{name}/{}", self.description.version),
            Layout::Flat => format!("../{name}"),
        })
    }
}

/// The other charts of the bundle.
#[derive(Clone, Copy, Debug, Default)]
struct Companions<'a> {
    /// The custom resource to create first, if there is no chart NAME-operands.
    first: Option<&'a FirstResource>,
    /// NAME-crds has CRDs of the bundle.
    crds: bool,
    /// NAME-crds has stub CRDs.
    stubs: bool,
    /// There is a chart NAME-operands.
    operands: bool,
}

impl Companions<'_> {
    /// Returns true if there is a chart NAME-crds.
    fn has_crds_chart(self) -> bool {
        self.crds || self.stubs
    }
}

/// Returns the sorted names of the stub CRDs among these objects.
fn stub_names(objects: &[Object]) -> Vec<String> {
    let stubs = objects.iter().filter(|object| object.origin == Origin::Stub);
    let mut names: Vec<String> = stubs.map(|stub| stub.name().to_owned()).collect();
    names.sort_unstable();
    names
}

/// Returns the sorted names of the namespaces that a chart creates with the default values.
fn created_namespaces(unit: &Unit, release_namespace: &str) -> Vec<String> {
    let values = unit.default_values();
    let release = Release { namespace: release_namespace, values: &values };
    let name = |object: &Object| {
        release.object(object)?.pointer("/metadata/name")?.as_str().map(str::to_owned)
    };
    let mut names: Vec<String> = unit.of_kind("Namespace").filter_map(name).collect();
    names.sort_unstable();
    names
}

/// Returns the charts of a unit in install order.
pub fn charts(mut unit: Unit, description: &Description<'_>) -> Vec<Chart> {
    let scopes = Definitions::of(unit.objects.iter()).scopes(&description.config.scopes);
    let is_operand = |object: &Object| object.phase == Phase::Operand;
    // A chart of operands has the first custom resource: no example is shown.
    let bundle = description.bundle.filter(|_| !unit.objects.iter().any(is_operand));
    let first = bundle.and_then(|bundle| FirstResource::of(&bundle.csv, &unit.objects));
    // Operands first: a CRD among them belongs to their chart.
    let mut operands = take(&mut unit, is_operand);
    operands.constraints = overlay::switch_order(&description.config.switches);
    let separate = description.crds == CrdPlacement::Separate;
    // CRDs with expressions need the namespace and values of the operator's release.
    let crds = take(&mut unit, |object| {
        let own = object.kind() == "CustomResourceDefinition" && !object.has_expression();
        object.origin == Origin::Stub || separate && own
    });

    // What a cluster lacks can only come from a chart that is installed before the operands.
    let mut providers = Providers::new();
    for (part, unit) in [(Part::Crds, &crds), (Part::Operator, &unit)] {
        let chart = part.name(description.config);
        providers.extend(required_apis::provided(&unit.objects, &chart));
    }

    let stubs = stub_names(&crds.objects).len();
    let companions = Companions {
        first: first.as_ref(),
        crds: crds.objects.len() > stubs,
        stubs: stubs > 0,
        operands: !operands.objects.is_empty(),
    };

    let read = ReadPaths::of(&unit.objects);
    // Values of objects that are in another chart now.
    unit.values.retain(|value| read.contains(&value.path));
    let mut parts = vec![(Part::Crds, crds), (Part::Operator, unit), (Part::Operands, operands)];
    parts.retain(|(part, unit)| *part == Part::Operator || !unit.objects.is_empty());
    let chart = |(part, unit)| chart(unit, description, part, companions, &providers, &scopes);
    parts.into_iter().map(chart).collect()
}

/// Moves the matching objects, with the values that they use, to a new unit.
fn take(unit: &mut Unit, belongs: impl Fn(&Object) -> bool) -> Unit {
    let (taken, left) = std::mem::take(&mut unit.objects).into_iter().partition(belongs);
    unit.objects = left;
    let objects: Vec<Object> = taken;
    let read = ReadPaths::of(&objects);
    let values = unit.values.iter().filter(|value| read.contains(&value.path)).cloned().collect();
    Unit { values, objects, ..Unit::default() }
}

fn chart(
    mut unit: Unit,
    description: &Description<'_>,
    part: Part,
    companions: Companions<'_>,
    providers: &Providers,
    scopes: &Scopes,
) -> Chart {
    let mut crds = crds::place(&mut unit, part, description.crds);
    // `place` was the last change: it adds the values that the documents describe.
    let unit = &unit;
    if crds.are_in_subchart() {
        crds.files.insert("charts/crds/Chart.yaml".to_owned(), metadata::crds_chart(description));
        let lock = chart_lock(description.version, crds.are_templates());
        crds.files.insert(CHART_LOCK.to_owned(), lock);
    }

    let config = description.config;
    let after =
        |phase| (overlay::steps(config, phase, scopes), gates::of_phase(config, phase, unit));
    let (steps, gates) = part.phase().map(after).unwrap_or_default();
    let chart = &DocumentedChart {
        part,
        unit,
        description,
        crds: &crds,
        companions,
        cluster_scoped: cluster_scope::kinds(unit, &crds, scopes),
        steps: &steps,
        gates: &gates,
    };
    let (readme, notes) = match part {
        Part::Operator => (file(Readme { chart }), file(Notes { chart })),
        Part::Crds => (file(CrdsReadme { chart }), file(CrdsNotes { chart })),
        Part::Operands => (file(OperandsReadme { chart }), file(OperandsNotes { chart })),
    };

    let has_switches = part == Part::Operands;
    let gate_seconds = if has_switches { overlay::switch_seconds(&config.switches) } else { 0 };
    Content {
        name: &part.name(config),
        version: description.version,
        namespace: description.namespace,
        unit,
        providers,
        metadata: &|crds, with_examples| metadata::chart(description, part, crds, with_examples),
        crds,
        readme,
        notes,
        install: Install { part, gates, steps, gate_seconds, ..Install::default() },
    }
    .chart()
}

/// Content of .helmignore. Helm stores all other files in the release Secret.
const HELMIGNORE: &str = "\
# Not part of the release.
.bundle2chart
UPGRADE.md
.git/
.gitignore
*.swp
*.tgz
.DS_Store
";

#[cfg(test)]
mod tests;
