//! `[bundle.namespaces]`, `[bundle.service-accounts]` and `[[bundle.adopt]]`: what an operator's
//! operands need before the operator makes them.

use super::keys::{ADOPT, RELEASE};
use super::tree::{At, Fields, Reader};
use super::{BundleConfig, Text};
use crate::diag::suggest;
use crate::diag::{Code, Diagnostic, Place, Span};
use crate::ir::{Scope, Scopes, dns_subdomain};
use std::collections::BTreeMap;

/// What an operator's operands need before the operator makes them.
#[derive(Clone, Debug, Default)]
pub struct Operands {
    /// Namespaces besides the release's, by the name of their value.
    pub namespaces: BTreeMap<String, String>,
    /// ServiceAccounts that are there first, so that they have the pull secret.
    pub accounts: Vec<Account>,
}

/// A ServiceAccount that an operator will find and use.
#[derive(Clone, Debug)]
pub struct Account {
    /// Its name.
    pub name: String,
    /// The value that names its namespace; nothing for the release's.
    pub namespace: Option<String>,
    /// The Helm release that takes it over, when there is one.
    pub adopted_by: Option<Adoption>,
    /// Where the file has its name.
    pub span: Span,
}

/// `[[bundle.adopt]]`
#[derive(Clone, Debug)]
pub struct Adoption {
    /// Name of the release.
    pub release: String,
    /// Its namespace; nothing for that of this chart's release.
    pub namespace: Option<String>,
}

impl Reader<'_> {
    /// `[bundle.scopes]`.
    pub(super) fn scopes(&mut self, fields: &Fields<'_>) -> Scopes {
        let mut scopes = Scopes::new();
        for ((kind, range), (text, place)) in fields.entries("scopes") {
            let named = kind.split_once('/').is_some_and(|(group, kind)| {
                dns_subdomain(group).is_ok() && kind.starts_with(|c: char| c.is_ascii_uppercase())
            });
            if !named {
                let message = format!("`{kind}` names no kind");
                let hint = "write it as GROUP/KIND, for example `monitoring.coreos.com/PodMonitor`";
                self.error(Code::InvalidValue, &range, message, hint);
            }
            let scope = match text {
                "Cluster" => Scope::Cluster,
                "Namespaced" => Scope::Namespaced,
                _ => {
                    let message = format!("`{text}` is no scope");
                    self.error(
                        Code::InvalidValue,
                        &place,
                        message,
                        "write `Cluster` or `Namespaced`",
                    );
                    continue;
                }
            };
            scopes.insert(kind.to_owned(), scope);
        }
        scopes
    }

    /// The tables of a bundle that are about its operands.
    pub(super) fn operands(&mut self, fields: &Fields<'_>) -> Operands {
        let mut operands = Operands::default();
        for (key, at) in fields.entries("namespaces") {
            self.value_name(&key);
            let range = at.1.clone();
            let Some(namespace) = self.namespace(at) else { continue };
            let twice = operands.namespaces.iter().find(|(_, known)| **known == namespace);
            if let Some((first, _)) = twice {
                let message = format!("`{}` and `{first}` are the same namespace", key.0);
                self.error(Code::InvalidValue, &range, message, "one value is enough: remove one");
                continue;
            }
            operands.namespaces.insert(key.0.to_owned(), namespace);
        }
        for ((key, range), (names, _)) in fields.list_entries("service-accounts") {
            if key != RELEASE && !operands.namespaces.contains_key(key) {
                let known = operands.namespaces.keys().map(String::as_str);
                let known: Vec<&str> = known.chain([RELEASE]).collect();
                let message = format!("`[bundle.namespaces]` has no `{key}`");
                let hint = match suggest::nearest(key, &known) {
                    Some(word) => format!("did you mean `{word}`?"),
                    None => format!(
                        "name the namespace there, or write `{RELEASE}` for the one that the chart is installed into"
                    ),
                };
                self.error(Code::InvalidValue, &range, message, hint);
                continue;
            }
            let namespace = (key != RELEASE).then(|| key.to_owned());
            for (name, range) in names {
                let span = self.span(range.clone());
                let Some(name) = self.object_name("service-accounts", (name, range)) else {
                    continue;
                };
                let twice = |a: &&Account| a.name == name && a.namespace == namespace;
                if let Some(first) = operands.accounts.iter().find(twice) {
                    let message = format!("the ServiceAccount `{name}` is there twice");
                    let diagnostic = Diagnostic::error(Code::InvalidValue, message)
                        .at(Place::span(span))
                        .related(Place::span(first.span.clone()), "the first one")
                        .hint("remove one of them");
                    self.found.push(diagnostic);
                    continue;
                }
                let namespace = namespace.clone();
                operands.accounts.push(Account { name, namespace, adopted_by: None, span });
            }
        }
        self.adoptions(fields, &mut operands);
        operands
    }

    fn value_name(&mut self, (key, range): &At<&str>) {
        let fits = |c: char| c.is_ascii_alphanumeric() || c == '-';
        let fault = if *key == RELEASE {
            "means the namespace that the chart is installed into, which needs no entry here"
        } else if !key.starts_with(|c: char| c.is_ascii_lowercase()) || !key.chars().all(fits) {
            "cannot be the name of a value"
        } else {
            return;
        };
        self.error(
            Code::InvalidValue,
            range,
            format!("{key:?} {fault}"),
            "use letters, digits and dashes, with a lower-case letter first, for example `operand`",
        );
    }

    fn adoptions(&mut self, fields: &Fields<'_>, operands: &mut Operands) {
        for (table, header) in fields.tables("adopt") {
            let fields = self.fields(&ADOPT, header, table);
            let release = fields.text("release").and_then(|at| self.object_name("release", at));
            let namespace = match fields.text("namespace") {
                Some(at) => self.namespace(at).map(Some),
                None => Some(None),
            };
            let Some((name, range)) = fields.text("service-account") else { continue };
            let named = |account: &&mut Account| account.name == name;
            let mut accounts: Vec<&mut Account> =
                operands.accounts.iter_mut().filter(named).collect();
            let in_release = accounts.iter().position(|account| account.namespace.is_none());
            let Some(index) = in_release else {
                let (message, hint) = match accounts.first() {
                    Some(_) => (
                        format!(
                            "the ServiceAccount `{name}` is not in the namespace of the release"
                        ),
                        "it must be there before the chart makes any namespace, so only accounts of \
                         `release` in `[bundle.service-accounts]` can be adopted",
                    ),
                    None => (
                        format!("`[bundle.service-accounts]` has no `{name}`"),
                        "what is adopted is made first: name it there, under `release`",
                    ),
                };
                self.error(Code::InvalidValue, &range, message, hint);
                continue;
            };
            if let (Some(release), Some(namespace), Some(account)) =
                (release, namespace, accounts.get_mut(index))
            {
                account.adopted_by = Some(Adoption { release, namespace });
            }
        }
    }
}

/// A bundle's namespaces are not the one that it is installed into.
pub(super) fn namespaces(reader: &mut Reader<'_>, bundle: &BundleConfig) {
    let own = bundle.namespace.as_deref();
    for (key, namespace) in &bundle.operands.namespaces {
        if own == Some(namespace) {
            let message =
                format!("`{key}` in `[bundle.namespaces]` is the namespace of the release");
            let diagnostic = Diagnostic::error(Code::InvalidValue, message)
                .at(Place::span(bundle.span.clone()))
                .hint(format!(
                    "the chart cannot make the namespace that it is installed into: remove it, and write `{RELEASE}` \
                     in its place"
                ));
            reader.found.push(diagnostic);
        }
    }
}

/// CRDs that there are stubs of.
pub(crate) const STUBS: [&str; 2] =
    ["infrastructures.config.openshift.io", "servicemonitors.monitoring.coreos.com"];

impl Reader<'_> {
    /// The names of `stub-crds`.
    pub(super) fn stub_crds(&mut self, fields: &Fields<'_>) -> Vec<Text> {
        let (items, _) = fields.texts("stub-crds").unwrap_or_default();
        let mut stubs: Vec<Text> = Vec::new();
        for (name, range) in items {
            if !STUBS.contains(&name) {
                let message = format!("there is no stub of a CRD `{name}`");
                let hint = match suggest::nearest(name, &STUBS) {
                    Some(known) => format!("did you mean `{known}`?"),
                    None => format!(
                        "there are {}; for another one, write it yourself and declare it with `[[bundle.overlay]]`",
                        STUBS.join(" and ")
                    ),
                };
                self.error(Code::InvalidValue, &range, message, hint);
            } else if stubs.iter().any(|stub| stub.text == name) {
                let message = format!("`{name}` is there twice");
                self.error(Code::InvalidValue, &range, message, "remove one of them");
            } else {
                stubs.push(Text { text: name.to_owned(), span: self.span(range) });
            }
        }
        stubs
    }
}
