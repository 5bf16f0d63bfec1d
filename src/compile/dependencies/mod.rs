//! Checks the dependencies between the bundles of a configuration.
//!
//! OLM resolves dependencies from its catalogs. Here the user decides what is installed, so missing
//! dependencies are reported instead of added.

mod messages;
mod shared_objects;

use crate::bundle::{Api, Bundle, Dependency, Requirement, Requirements};
use crate::config::{BundleConfig, CertificateProvider, Text};
use crate::diag::{Code, Diagnostic, Diagnostics, Place, Span};
use crate::ir::Identity;
use semver::Version;
use std::collections::{BTreeMap, BTreeSet};

/// A bundle of the configuration, as far as others depend on it.
#[derive(Clone, Debug)]
pub struct Member<'c> {
    /// The configuration of the bundle.
    pub config: &'c BundleConfig,
    /// Name of its package.
    pub package: String,
    /// Version of the bundle.
    pub version: String,
    /// Its dependencies and what it provides.
    pub requirements: Requirements,
    /// True if cert-manager issues its certificates.
    pub cert_manager: bool,
    /// APIs of the user's own objects in it, each with its first object.
    pub uses: Vec<(Api, Place)>,
    /// The objects that its release owns, with the default values.
    pub objects: Vec<Identity>,
}

impl<'c> Member<'c> {
    /// Reads the parts of a bundle that are relevant for dependencies.
    pub fn new(config: &'c BundleConfig, bundle: &Bundle, objects: Vec<Identity>) -> Self {
        let serves = !(bundle.csv.webhooks.is_empty() && bundle.csv.api_services.is_empty());
        Member {
            config,
            package: bundle.package.clone(),
            version: bundle.csv.version.clone(),
            requirements: bundle.requirements.clone(),
            cert_manager: config.certificates() == CertificateProvider::CertManager && serves,
            uses: Vec::new(),
            objects,
        }
    }

    /// Returns a `[[chart]]`, which declares nothing: it provides the APIs of its CRDs.
    pub fn of_chart(
        config: &'c BundleConfig,
        provides: BTreeSet<Api>,
        objects: Vec<Identity>,
    ) -> Self {
        let version = config.chart_version.as_ref().map(ToString::to_string).unwrap_or_default();
        Member {
            config,
            package: config.name.clone(),
            version,
            requirements: Requirements { provides, ..Requirements::default() },
            cert_manager: false,
            uses: Vec::new(),
            objects,
        }
    }
}

/// Checks all bundles of a configuration against each other.
pub fn check(members: &[Member<'_>], diagnostics: &mut Diagnostics) {
    shared_objects::check(members, diagnostics);
    let mut used = BTreeSet::new();
    let before = installed_before(members);
    for (index, member) in members.iter().enumerate() {
        let mut checker = Checker { members, before: &before, index, used: &mut used };
        let start = diagnostics.mark();
        checker.check(diagnostics);
        diagnostics.name_bundle(start, &member.config.name);
    }

    // `provided` is often in `[defaults]`, so each entry is judged once, after all bundles.
    let mut reported = BTreeSet::new();
    for Text { text, span } in members.iter().flat_map(|member| &member.config.settings.provided) {
        let start = start_of(span);
        if !used.contains(&start) && reported.insert(start) {
            let message = format!("no bundle depends on `{text}`, which is in `provided`");
            let hint = "fix the entry, or remove it";
            diagnostics.push(Diagnostic::warning(Code::UnusedSetting, message).at(span).hint(hint));
        }
    }
}

/// The start of an entry: its file, and the offset in it.
type Start<'m> = (&'m str, usize);

fn start_of(span: &Span) -> Start<'_> {
    (&span.source.name, span.range.start)
}

/// The result for a requirement.
#[derive(Debug, PartialEq, Eq)]
enum Outcome {
    /// Satisfied by one bundle of each of these lists.
    Met(Vec<Vec<usize>>),
    Unmet,
    /// Not decidable at build time.
    Unknown,
}

/// Checks one bundle.
struct Checker<'m, 'u> {
    members: &'m [Member<'m>],
    /// For each bundle, the bundles that `depends-on` leads to (transitively).
    before: &'m [BTreeSet<usize>],
    index: usize,
    /// The used entries of `provided`.
    used: &'u mut BTreeSet<Start<'m>>,
}

impl<'m> Checker<'m, '_> {
    fn own(&self) -> &'m Member<'m> {
        &self.members[self.index]
    }

    fn check(&mut self, diagnostics: &mut Diagnostics) {
        let mut missing: BTreeMap<&str, Vec<(&Api, &Dependency)>> = BTreeMap::new();
        let mut later: BTreeMap<usize, &Dependency> = BTreeMap::new();
        for dependency in &self.own().requirements.dependencies {
            match (self.evaluate(&dependency.requirement), &dependency.requirement) {
                (Outcome::Met(needed), _) => {
                    for provider in self.to_add(&needed) {
                        // One note for each provider, about the first dependency on it.
                        later.entry(provider).or_insert(dependency);
                    }
                }
                (Outcome::Unmet, Requirement::Api(api)) => {
                    missing.entry(&api.group).or_default().push((api, dependency));
                }
                (Outcome::Unmet, _) => {
                    diagnostics.push(messages::missing(self.members, self.own(), dependency))
                }
                (Outcome::Unknown, _) => diagnostics.push(messages::unchecked(dependency)),
            }
        }

        for apis in missing.values() {
            diagnostics.push(messages::missing_apis(self.members, self.own(), apis));
        }
        if self.own().cert_manager {
            self.check_cert_manager(diagnostics);
        }
        let mut ordered: BTreeSet<usize> = later.keys().copied().collect();
        for (provider, dependency) in later {
            let need = dependency.requirement.to_string();
            let place = Some(&dependency.place);
            diagnostics.push(messages::order(self.own(), &self.members[provider], &need, place));
        }
        // An API that no bundle provides may be one that an operator creates at runtime.
        for (api, place) in &self.own().uses {
            let requirement = Requirement::Api(api.clone());
            let Outcome::Met(needed) = self.evaluate(&requirement) else { continue };
            for provider in self.to_add(&needed) {
                if ordered.insert(provider) {
                    let (provider, need) = (&self.members[provider], requirement.to_string());
                    diagnostics.push(messages::order(self.own(), provider, &need, Some(place)));
                }
            }
        }
    }

    /// Reports that the chart needs cert-manager. No bundle declares it, because OLM creates
    /// certificates itself.
    fn check_cert_manager(&mut self, diagnostics: &mut Diagnostics) {
        let certificate = Api {
            group: "cert-manager.io".to_owned(),
            version: "v1".to_owned(),
            kind: "Certificate".to_owned(),
        };
        // Both spellings count as used.
        let package = self.provided("cert-manager");
        match self.evaluate(&Requirement::Api(certificate)) {
            _ if package => {}
            Outcome::Met(needed) => {
                for provider in self.to_add(&needed) {
                    let provider = &self.members[provider];
                    diagnostics.push(messages::order(self.own(), provider, "cert-manager", None));
                }
            }
            Outcome::Unmet | Outcome::Unknown => diagnostics.push(messages::cert_manager()),
        }
    }

    fn evaluate(&mut self, requirement: &Requirement) -> Outcome {
        match requirement {
            Requirement::Package { name, range, .. } => {
                let provided = self.provided(name);
                let fits = |member: &Member<'_>| {
                    member.package == *name
                        && Version::parse(&member.version).is_ok_and(|v| range.contains(&v))
                };
                self.met_by(provided, fits)
            }
            Requirement::Api(api) => {
                let provided = self.provided(&api.to_string());
                self.met_by(provided, |member| member.requirements.provides.contains(api))
            }
            Requirement::All(list) => {
                let outcomes = self.evaluate_all(list);
                // One unmet part decides, also next to unknown ones.
                if outcomes.contains(&Outcome::Unmet) {
                    return Outcome::Unmet;
                }
                let mut needed = Vec::new();
                for outcome in outcomes {
                    match outcome {
                        Outcome::Met(more) => needed.extend(more),
                        other => return other,
                    }
                }
                Outcome::Met(needed)
            }
            Requirement::Any(list) => {
                let mut outcomes = self.evaluate_all(list);
                // The alternative that needs the fewest changes.
                outcomes.sort_by_key(|outcome| match outcome {
                    Outcome::Met(needed) => self.to_add(needed).len(),
                    Outcome::Unknown => usize::MAX - 1,
                    Outcome::Unmet => usize::MAX,
                });
                outcomes.into_iter().next().unwrap_or(Outcome::Unmet)
            }
            Requirement::Not(list) => {
                let outcomes = self.evaluate_all(list);
                if outcomes.iter().any(|outcome| matches!(outcome, Outcome::Met(_))) {
                    Outcome::Unmet
                } else if outcomes.contains(&Outcome::Unknown) {
                    Outcome::Unknown
                } else {
                    Outcome::Met(Vec::new())
                }
            }
            Requirement::Unchecked(_) => Outcome::Unknown,
        }
    }

    fn evaluate_all(&mut self, list: &[Requirement]) -> Vec<Outcome> {
        list.iter().map(|requirement| self.evaluate(requirement)).collect()
    }

    /// Returns true if `provided` has the requirement, and marks the entry as used.
    fn provided(&mut self, wanted: &str) -> bool {
        let entries = self.own().config.settings.provided.iter();
        let mut entries = entries.filter(|entry| entry.text == wanted).peekable();
        let is_provided = entries.peek().is_some();
        self.used.extend(entries.map(|entry| start_of(&entry.span)));
        is_provided
    }

    fn met_by(&self, provided: bool, fits: impl Fn(&Member<'_>) -> bool) -> Outcome {
        if provided || fits(self.own()) {
            return Outcome::Met(Vec::new());
        }
        let fitting = self.members.iter().enumerate().filter(|(_, member)| fits(member));
        let fitting: Vec<usize> = fitting.map(|(index, _)| index).collect();
        if fitting.is_empty() { Outcome::Unmet } else { Outcome::Met(vec![fitting]) }
    }

    /// Returns the bundles that `depends-on` should name, because it leads to none of some providers yet.
    fn to_add(&self, needed: &[Vec<usize>]) -> Vec<usize> {
        let is_before = |provider: &usize| self.before[self.index].contains(provider);
        let open = needed.iter().filter(|providers| !providers.iter().any(is_before));
        // A circle would be an error.
        let is_free = |provider: &&usize| !self.before[**provider].contains(&self.index);
        open.filter_map(|providers| providers.iter().find(is_free).copied()).collect()
    }
}

/// Returns, for each bundle, the bundles that must be installed before it.
fn installed_before(members: &[Member<'_>]) -> Vec<BTreeSet<usize>> {
    let names = members.iter().map(|member| member.config.name.as_str());
    let named: BTreeMap<&str, usize> = names.zip(0..).collect();
    let before = |member| {
        let mut reached = BTreeSet::new();
        let mut waiting: Vec<&Member<'_>> = vec![member];
        while let Some(member) = waiting.pop() {
            let next = member.config.depends_on.iter().filter_map(|name| named.get(name.as_str()));
            // What was reached before is not followed again, so that circles end.
            waiting.extend(next.filter(|next| reached.insert(**next)).map(|next| &members[*next]));
        }
        reached
    };
    members.iter().map(before).collect()
}

#[cfg(test)]
mod tests;
