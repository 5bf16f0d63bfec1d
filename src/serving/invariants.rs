//! Invariants of model-serving manifests; invariants.json is their table.
//!
//! They check objects as an API server would receive them, so they apply to generated charts and to
//! third-party manifests.

use super::rules;
use super::view::pods::{Engine, Template};
use super::view::{Manifest, View};
use crate::diag::{Code, Diagnostic, Diagnostics, Place, Severity, Span};
use crate::embedded;
use std::collections::BTreeSet;
use std::sync::LazyLock;

/// A rule for a set of manifests.
#[derive(Debug)]
pub struct Invariant {
    /// Code of its findings.
    pub code: Code,
    /// Severity of its findings, unless a finding overrides it.
    pub severity: Severity,
    /// The key of `[[serving]]` that determines it.
    pub field: &'static str,
    /// Source of the rule: an issue, an API or a program.
    pub source: &'static str,
    /// Consequence of a violation.
    pub reason: &'static str,
    /// Reports violations.
    pub(super) check: Check,
}

/// A function that reports the violations of an invariant.
pub(super) type Check = fn(&View<'_>, &mut Found);

/// A violation of an invariant.
#[derive(Clone, Debug, Default)]
pub(super) struct Finding {
    /// Overrides the severity of the invariant.
    pub(super) severity: Option<Severity>,
    /// Overrides the key of `[[serving]]`.
    pub(super) field: Option<&'static str>,
    /// Overrides the code.
    pub(super) code: Option<Code>,
    /// Overrides reason and source.
    pub(super) why: Option<(&'static str, &'static str)>,
    /// True if it says that objects are missing from the file, so that errors about it may be false.
    pub(super) is_incomplete: bool,
    pub(super) message: String,
    /// Index of the manifest.
    pub(super) owner: usize,
    /// JSON path in it.
    pub(super) path: String,
    pub(super) hint: String,
}

impl Finding {
    /// Makes it a warning.
    pub(super) fn warning(&mut self) -> &mut Self {
        self.severity = Some(Severity::Warning);
        self
    }

    /// Makes it a note.
    pub(super) fn note(&mut self) -> &mut Self {
        self.severity = Some(Severity::Note);
        self
    }

    /// Sets the reason of the CEL rules in Gateway API's CRDs.
    pub(super) fn rejected(&mut self) -> &mut Self {
        self.why("the API server rejects the object", "Gateway API, CEL rules")
    }

    /// Sets the key of `[[serving]]`.
    pub(super) fn field(&mut self, field: &'static str) -> &mut Self {
        self.field = Some(field);
        self
    }

    /// Sets the code.
    pub(super) fn code(&mut self, code: Code) -> &mut Self {
        self.code = Some(code);
        self
    }

    /// Sets reason and source.
    pub(super) fn why(&mut self, reason: &'static str, source: &'static str) -> &mut Self {
        self.why = Some((reason, source));
        self
    }
}

/// Collects findings.
#[derive(Debug)]
pub(super) struct Found {
    /// Code of the invariant.
    pub(super) code: Code,
    all: Vec<Finding>,
}

impl Found {
    /// Adds a finding and returns it, for overrides.
    pub(super) fn push(
        &mut self,
        owner: usize,
        path: impl Into<String>,
        message: impl Into<String>,
        hint: impl Into<String>,
    ) -> &mut Finding {
        let (message, path, hint) = (message.into(), path.into(), hint.into());
        self.all.push(Finding { message, owner, path, hint, ..Finding::default() });
        let last = self.all.len() - 1;
        &mut self.all[last]
    }

    /// Returns a reporter of findings at one place.
    pub(super) fn at(&mut self, owner: usize, path: impl Into<String>) -> Reporter<'_> {
        Reporter { found: self, owner, path: path.into(), field: None }
    }
}

/// Adds findings at one place.
pub(super) struct Reporter<'f> {
    found: &'f mut Found,
    owner: usize,
    path: String,
    field: Option<&'static str>,
}

impl Reporter<'_> {
    /// Sets the key of `[[serving]]` of the findings.
    pub(super) fn field(self, field: &'static str) -> Self {
        Self { field: Some(field), ..self }
    }

    /// Returns a reporter of findings at a path below the place.
    pub(super) fn inside(&mut self, path: &str) -> Reporter<'_> {
        let path = format!("{}{path}", self.path);
        Reporter { found: &mut *self.found, path, ..*self }
    }

    /// Adds a finding and returns it, for overrides.
    pub(super) fn push(
        &mut self,
        message: impl Into<String>,
        hint: impl Into<String>,
    ) -> &mut Finding {
        self.below("", message, hint)
    }

    /// Adds a finding at a path below the place and returns it, for overrides.
    pub(super) fn below(
        &mut self,
        path: &str,
        message: impl Into<String>,
        hint: impl Into<String>,
    ) -> &mut Finding {
        let path = format!("{}{path}", self.path);
        let finding = self.found.push(self.owner, path, message, hint);
        finding.field = self.field;
        finding
    }
}

/// An engine with its pods, and the manifests around them.
pub(super) type Context<'v> = (&'v View<'v>, &'v Template<'v>, &'v Engine<'v>);

/// Checks each engine by a rule, which reports at its container.
fn each(view: &View<'_>, found: &mut Found, rule: fn(Context<'_>, &mut Reporter<'_>)) {
    for (template, engine) in view.engines() {
        rule((view, template, engine), &mut found.at(template.owner, &engine.path));
    }
}

/// Checks each object of a kind by a rule, which reports at it.
fn of_kind(
    view: &View<'_>,
    found: &mut Found,
    kind: &str,
    rule: fn(&View<'_>, &Manifest, &mut Reporter<'_>),
) {
    for (owner, object) in view.of_kind(kind) {
        rule(view, object, &mut found.at(owner, ""));
    }
}

macro_rules! checks {
    (set $rule:path) => { $rule };
    (engines $rule:path) => { |view, found| each(view, found, $rule) };
    ($kind:literal $rule:path) => { |view, found| of_kind(view, found, $kind, $rule) };
    ($($module:ident $of:tt: $($name:ident)*;)*) => {
        /// The checks, by module and function.
        pub(super) static CHECKS: &[(&str, Check)] = &[$($((
            concat!(stringify!($module), "::", stringify!($name)),
            checks!($of rules::$module::$name),
        )),*),*];
    };
}

// By modules: those of a set of manifests, of each engine, and of each object of a kind.
checks! {
    adapters engines: forms loading;
    adapters "InferenceModelRewrite": rewrites;
    addresses set: order ports;
    addresses engines: names;
    by_release set: depends deprecated refused_or_ignored;
    checkpoint engines: arguments;
    config set: model roles valid;
    engine set: images pair sidecar;
    engine engines: devices group_size port_clash probes shared_memory;
    extras set: autoscaler destination disruption;
    gateway set: routes;
    group set: leader_address members startup webhook;
    hardware engines: cache fits weights;
    join set: join ray ray_releases;
    join engines: parallel refused;
    kserve set: runtime;
    kserve engines: place;
    kserve "LLMInferenceService": container exclusive model parallelism presets;
    metrics set: names;
    network_policy set: connections;
    picker set: flags pool port replicas resources rights;
    picker "InferencePool": missing;
    picker_server set: server;
    pod set: mounts quotas resources standards types;
    pod engines: service_links;
    pool set: headless missing ports_open shape;
    prefix_cache set: precise;
    probe set: proxied_tls;
    probe engines: address answered budget;
    program set: in_image metrics names;
    references set: references_exist;
    runtime set: buckets expanded;
    runtime engines: downloaded files grace_period visible_devices;
    selector set: nothing ports;
    set set: routes twice unread;
    transfer set: connector protocol router side_channel;
}

/// All invariants, in the order of invariants.json. A test finds the check of each row.
pub static INVARIANTS: LazyLock<Vec<Invariant>> = LazyLock::new(|| {
    let rows: Vec<[&str; 6]> = embedded::json(include_str!("invariants.json"));
    let invariant = |[check, code, severity, field, source, reason]: [&'static str; 6]| {
        let severities = [Severity::Error, Severity::Warning, Severity::Note];
        Some(Invariant {
            code: *Code::ALL.iter().find(|known| known.as_str() == code)?,
            severity: severities.into_iter().find(|known| known.as_str() == severity)?,
            field,
            source,
            reason,
            check: CHECKS.iter().find(|(name, _)| *name == check)?.1,
        })
    };
    rows.into_iter().filter_map(invariant).collect()
});

/// Returns the span of a key of bundles.toml, for a finding in the manifest with this index.
pub(super) type Placing<'p> = dyn Fn(usize, &'static str) -> Option<Span> + 'p;

/// Checks the invariants for which `wanted` is true, and reports violations.
pub(super) fn check(
    view: &View<'_>,
    wanted: fn(&Invariant) -> bool,
    placing: &Placing<'_>,
    diagnostics: &mut Diagnostics,
) {
    let start = diagnostics.mark();
    // All rules run before anything is reported: any of them may find that a file is incomplete.
    let mut all: Vec<(&Invariant, Found)> = Vec::new();
    for invariant in INVARIANTS.iter().filter(|invariant| wanted(invariant)) {
        let mut found = Found { code: invariant.code, all: Vec::new() };
        (invariant.check)(view, &mut found);
        all.push((invariant, found));
    }
    let file = |finding: &Finding| view.manifests[finding.owner].place.file.as_deref();
    let each = all.iter().flat_map(|(_, found)| &found.all);
    let incomplete: BTreeSet<Option<&str>> =
        each.filter(|finding| finding.is_incomplete).map(file).collect();

    for (invariant, found) in all {
        for finding in found.all {
            let severity = finding.severity.unwrap_or(invariant.severity);
            // Warnings and notes stay: they do not depend on objects that the file leaves out.
            if severity == Severity::Error && incomplete.contains(&file(&finding)) {
                continue;
            }
            let manifest = &view.manifests[finding.owner];
            let place = manifest.place.clone().object(manifest.to_string()).path(&finding.path);
            let span = placing(finding.owner, finding.field.unwrap_or(invariant.field));
            let (reason, source) = finding.why.unwrap_or((invariant.reason, invariant.source));
            let diagnostic = Diagnostic {
                code: finding.code.unwrap_or(invariant.code),
                severity,
                message: finding.message,
                place: Place { span, ..place },
                related: Vec::new(),
                hint: Some(format!("{} ({reason}; {source})", finding.hint)),
            };
            // Leader and workers may share a template, and several templates a key of bundles.toml.
            let place = &diagnostic.place;
            let same = |known: &Diagnostic| {
                let at_key = known.place.span.is_some() && known.place.span == place.span;
                known.code == diagnostic.code
                    && known.message == diagnostic.message
                    && (at_key || known.place == *place)
            };
            if !diagnostics.since(start).iter().any(same) {
                diagnostics.push(diagnostic);
            }
        }
    }
}
