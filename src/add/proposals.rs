//! The keys that a bundle needs outside of OpenShift and without OLM, each with the reason.

use super::table::{Table, list, quoted};
use crate::bundle::{Bundle, Requirement};
use crate::chart::FirstResource;
use crate::config::{BundleConfig, CertificateProvider, Config, Source};
use crate::dependencies::Member;
use crate::diag::Code;
use crate::ir::{Object, Unit};
use crate::lock::Lock;
use crate::overlay;
use crate::source::Reference;
use std::collections::BTreeSet;

/// Group suffix of APIs that only OpenShift has.
const OPENSHIFT: &str = ".openshift.io";

/// The API that cert-manager provides for certificates of webhooks and APIServices.
const CERTIFICATE: &str = "cert-manager.io/v1/Certificate";

/// Registries whose images require a login.
const WITH_LOGIN: [&str; 3] = ["cp.icr.io", "registry.connect.redhat.com", "registry.redhat.io"];

/// The subject of a proposal.
pub(super) struct Subject<'s> {
    /// The bundle.
    pub(super) bundle: &'s Bundle,
    /// Its compiled objects.
    pub(super) unit: &'s Unit,
    /// The codes of what its compilation reported.
    pub(super) noticed: &'s [Code],
    /// Its settings, with the defaults of the configuration.
    pub(super) settings: &'s BundleConfig,
    /// The configuration with the other bundles.
    pub(super) config: &'s Config,
    /// The packages of other bundles.
    pub(super) lock: &'s Lock,
}

/// Adds the proposals to a table.
pub(super) fn propose(subject: &Subject<'_>, table: &mut Table) {
    subject.filters(table);
    subject.settings(table);
    subject.dependencies(table);
    subject.pull_secret(table);
    if subject.noticed.contains(&Code::RunAsUserMissing) {
        table.note(
            "sets runAsNonRoot without runAsUser: off OpenShift, its images need a numeric USER, or \
                pods fail with CreateContainerConfigError",
        );
    }
    subject.operand(table);
}

impl Subject<'_> {
    /// Proposes filters for kinds that only OpenShift has: Helm rejects a release with a kind that
    /// the cluster does not have.
    fn filters(&self, table: &mut Table) {
        // Some operators define APIs of these groups themselves; those come with the bundle.
        let own = &self.bundle.requirements.provides;
        let is_own = |object: &Object| {
            own.iter().any(|api| api.group == object.group() && api.kind == object.kind())
        };
        let objects = self.unit.objects.iter();
        let foreign =
            objects.filter(|object| object.group().ends_with(OPENSHIFT) && !is_own(object));
        let foreign: BTreeSet<&str> = foreign.map(Object::kind).collect();
        if foreign.is_empty() {
            return;
        }

        let filters: Vec<String> =
            foreign.iter().map(|kind| format!(".kind == {}", serde_json::json!(kind))).collect();
        let why = "only OpenShift has these kinds: remove this key there";
        table.propose("exclude", &list(&filters), why);
    }

    /// Suggests an overlay with the first custom resource. It comes after the other proposals,
    /// because its `[[bundle.overlay]]` ends the keys of `[[bundle]]`.
    fn operand(&self, table: &mut Table) {
        let Some(first) = FirstResource::of(&self.bundle.csv, &self.unit.objects) else { return };
        table.note(&format!(
            "the first custom resource, the example of {} {} in the bundle: complete it for the chart of operands",
            first.article(),
            first.kind
        ));
        first.faults.iter().for_each(|fault| table.note(&format!("- {fault}")));
        // The example is in a literal string of TOML, which cannot contain its own quotes.
        let is_inline = first.is_short() && !first.yaml.contains("'''");
        table.suggest_operand(is_inline.then_some(&first.yaml), &first.kind);
    }

    fn settings(&self, table: &mut Table) {
        if self.noticed.contains(&Code::AuthReaderMissing) {
            let why = "delegates authentication to the API server, whose settings everyone can \
                read on OpenShift only";
            table.propose("auth-reader", "true", why);
        }
        let stubs = overlay::readable_stubs(self.unit);
        if !stubs.is_empty() {
            let why = "the operator may read these OpenShift APIs; the stub CRDs are created where \
                the cluster has none";
            table.propose("stub-crds", &list(&stubs), why);
        }
        if self.cert_manager() {
            let why = "issues the certificates of the webhooks and APIs; others: \"service-ca\" \
                (OpenShift), \"helm\", \"existing-secret\", \"none\"";
            table.propose("certificates", &quoted(CertificateProvider::default().as_str()), why);
        }
    }

    /// Returns true if cert-manager issues certificates for the bundle, which is the default.
    fn cert_manager(&self) -> bool {
        Member::new(self.settings, self.bundle, Vec::new()).cert_manager
    }

    /// Proposes `depends-on` for dependencies in the configuration, and suggests `provided` for
    /// others.
    fn dependencies(&self, table: &mut Table) {
        let (mut before, mut reasons, mut missing) = (Vec::new(), Vec::new(), Vec::new());
        // Adds what is required, why, and the bundle that provides it.
        let mut require = |what: String, why: String, provider: Option<String>| match provider {
            Some(name) => {
                reasons.push(why);
                before.push(name);
            }
            None if self.is_provided(&what) => {}
            None => missing.push((what, why)),
        };
        let dependencies = self.bundle.requirements.dependencies.iter();
        let mut required: Vec<&Requirement> = dependencies.map(|it| &it.requirement).collect();
        // Packages last, before the one of cert-manager.
        required.sort_by_key(|requirement| matches!(requirement, Requirement::Package { .. }));
        for requirement in required {
            match requirement {
                Requirement::Package { name, .. } => {
                    let provider = self.provider(|package| package == name);
                    require(name.clone(), format!("requires the package {name}"), provider);
                }
                Requirement::Api(api) => {
                    require(api.to_string(), format!("requires the API {api}"), None);
                }
                other => require(String::new(), format!("requires {other}"), None),
            }
        }
        if self.cert_manager() && !self.is_provided(CERTIFICATE) {
            let why = "cert-manager issues its certificates".to_owned();
            let provider = self.provider(|package| package.contains("cert-manager"));
            require(CERTIFICATE.to_owned(), why, provider);
        }

        before.sort();
        before.dedup();
        if !before.is_empty() {
            table.propose("depends-on", &list(&before), &reasons.join("; "));
        }
        let provided: Vec<&str> =
            missing.iter().map(|(what, _)| what.as_str()).filter(|what| !what.is_empty()).collect();
        if !missing.is_empty() {
            let reasons: Vec<&str> = missing.iter().map(|(_, why)| why.as_str()).collect();
            let why = format!(
                "{}: add the bundles that provide it, or confirm that the cluster has it",
                reasons.join("; ")
            );
            table.suggest("provided", &list(&provided), &why);
        }
    }

    fn is_provided(&self, what: &str) -> bool {
        self.settings.settings.provided.iter().any(|provided| provided.text == what)
            || self.bundle.requirements.provides.iter().any(|own| own.to_string() == what)
    }

    /// Returns the name of a configured bundle whose package is accepted.
    fn provider(&self, accepts: impl Fn(&str) -> bool) -> Option<String> {
        let others = self.config.bundles.iter().filter(|other| other.name != super::DRAFT);
        let package = |other: &BundleConfig| {
            let locked = self.lock.entry(other).map(|entry| entry.decisions.package.clone());
            let wanted = match &other.source {
                Source::Catalog(wanted) => Some(wanted.package.text.clone()),
                _ => other.package.as_ref().map(|package| package.text.clone()),
            };
            // The lock first: it has the package of an image or a path, which bundles.toml rarely
            // names.
            locked.or(wanted).unwrap_or_else(|| other.name.clone())
        };
        let mut found = others.filter(|other| accepts(&package(other)));
        found.next().map(|other| other.name.clone())
    }

    fn pull_secret(&self, table: &mut Table) {
        if !self.settings.settings.pull_secret().is_empty() {
            return;
        }
        let images = self.bundle.csv.related_images.iter().map(|(_, image)| image.as_str());
        let hosts: BTreeSet<&str> = images
            .chain([self.settings.source.text()])
            .filter(|image| Reference::parse(image).is_ok())
            .filter_map(|image| image.split('/').next())
            .filter(|host| WITH_LOGIN.contains(host))
            .collect();
        if !hosts.is_empty() {
            let hosts: Vec<&str> = hosts.into_iter().collect();
            let why = format!("images of {} require a login", hosts.join(" and "));
            table.suggest("pull-secret", &quoted("NAME"), &why);
        }
    }
}

#[cfg(test)]
mod tests;
