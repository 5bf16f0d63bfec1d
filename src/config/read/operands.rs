//! Reads the tables of a bundle about what its operands need.

use super::reader::{Fields, Located, Reader};
use super::values;
use crate::diag::{Code, Diagnostic, Place, suggest};
use crate::ir::{Scope, Scopes, dns_subdomain};
use crate::keys::{ADOPT, RELEASE};
use crate::operands::STUBS;
use crate::{Account, Adoption, BundleConfig, Operands, Text};

/// `[bundle.scopes]`.
pub(super) fn scopes(reader: &mut Reader<'_>, fields: &Fields<'_>) -> Scopes {
    let mut scopes = Scopes::new();
    for ((kind, range), (text, place)) in fields.entries("scopes") {
        let named = kind.split_once('/').is_some_and(|(group, kind)| {
            dns_subdomain(group).is_ok() && kind.starts_with(|c: char| c.is_ascii_uppercase())
        });
        if !named {
            let message = format!("`{kind}` is not GROUP/KIND");
            let hint = "write it as GROUP/KIND, for example `monitoring.coreos.com/PodMonitor`";
            reader.error(Code::InvalidValue, &range, message, hint);
        }
        let scope = match text {
            "Cluster" => Scope::Cluster,
            "Namespaced" => Scope::Namespaced,
            _ => {
                let message = format!("unknown scope `{text}`");
                reader.error(
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

/// Returns the tables of a bundle that are about its operands.
pub(super) fn read(reader: &mut Reader<'_>, fields: &Fields<'_>) -> Operands {
    let mut operands = Operands::default();
    for (key, at) in fields.entries("namespaces") {
        value_name(reader, &key);
        let range = at.1.clone();
        let Some(namespace) = values::namespace(reader, at) else { continue };
        let twice = operands.namespaces.iter().find(|(_, known)| **known == namespace);
        if let Some((first, _)) = twice {
            let message = format!("`{}` and `{first}` are the same namespace", key.0);
            reader.error(Code::InvalidValue, &range, message, "remove one: one value is enough");
            continue;
        }
        operands.namespaces.insert(key.0.to_owned(), namespace);
    }

    for ((key, range), (names, _)) in fields.list_entries("service-accounts") {
        if key != RELEASE && !operands.namespaces.contains_key(key) {
            let known = operands.namespaces.keys().map(String::as_str);
            let known: Vec<&str> = known.chain([RELEASE]).collect();
            let message = format!("`{key}` is not in `[bundle.namespaces]`");
            let hint = match suggest::nearest(key, &known) {
                Some(word) => format!("did you mean `{word}`?"),
                None => {
                    format!("add the namespace there, or use `{RELEASE}` for the release namespace")
                }
            };
            reader.error(Code::InvalidValue, &range, message, hint);
            continue;
        }
        let namespace = (key != RELEASE).then(|| key.to_owned());
        for (name, range) in names {
            let span = reader.span(range.clone());
            let Some(name) = values::object_name(reader, "service-accounts", (name, range)) else {
                continue;
            };
            let twice = |a: &&Account| a.name == name && a.namespace == namespace;
            if let Some(first) = operands.accounts.iter().find(twice) {
                let message = format!("duplicate ServiceAccount `{name}`");
                let diagnostic = Diagnostic::error(Code::InvalidValue, message)
                    .at(Place::span(span))
                    .related(Place::span(first.span.clone()), "first listed here")
                    .hint("remove one of them");
                reader.found.push(diagnostic);
                continue;
            }
            let namespace = namespace.clone();
            operands.accounts.push(Account { name, namespace, adopted_by: None, span });
        }
    }

    adoptions(reader, fields, &mut operands);
    operands
}

fn value_name(reader: &mut Reader<'_>, (key, range): &Located<&str>) {
    let fits = |c: char| c.is_ascii_alphanumeric() || c == '-';
    let fault = if *key == RELEASE {
        "is the release namespace, which needs no entry here"
    } else if !key.starts_with(|c: char| c.is_ascii_lowercase()) || !key.chars().all(fits) {
        "is not a valid name for a value"
    } else {
        return;
    };
    reader.error(
        Code::InvalidValue,
        range,
        format!("{key:?} {fault}"),
        "use letters, digits and dashes, starting with a lower-case letter, for example \
            `operand`",
    );
}

fn adoptions(reader: &mut Reader<'_>, fields: &Fields<'_>, operands: &mut Operands) {
    for (table, header) in fields.tables("adopt") {
        let fields = reader.fields(&ADOPT, header, table);
        let release =
            fields.text("release").and_then(|at| values::object_name(reader, "release", at));
        let namespace = match fields.text("namespace") {
            Some(at) => values::namespace(reader, at).map(Some),
            None => Some(None),
        };

        let Some((name, range)) = fields.text("service-account") else { continue };
        let named = |account: &&mut Account| account.name == name;
        let mut accounts: Vec<&mut Account> = operands.accounts.iter_mut().filter(named).collect();

        // Only ServiceAccounts that exist before the chart creates namespaces can be adopted.
        let in_release = accounts.iter().position(|account| account.namespace.is_none());
        let Some(index) = in_release else {
            let (message, hint) = match accounts.first() {
                Some(_) => (
                    format!("the ServiceAccount `{name}` is not in the release namespace"),
                    "only ServiceAccounts of `release` in `[bundle.service-accounts]` can be \
                        adopted: they must exist before the chart creates a namespace",
                ),
                None => (
                    format!("`{name}` is not in `[bundle.service-accounts]`"),
                    "add it there under `release`: only pre-created ServiceAccounts can be \
                        adopted",
                ),
            };
            reader.error(Code::InvalidValue, &range, message, hint);
            continue;
        };

        if let (Some(release), Some(namespace), Some(account)) =
            (release, namespace, accounts.get_mut(index))
        {
            account.adopted_by = Some(Adoption { release, namespace });
        }
    }
}

/// Returns the names of `stub-crds`.
pub(super) fn stub_crds(reader: &mut Reader<'_>, fields: &Fields<'_>) -> Vec<Text> {
    let (items, _) = fields.texts("stub-crds").unwrap_or_default();
    let mut stubs: Vec<Text> = Vec::new();
    for (name, range) in items {
        if !STUBS.contains(&name) {
            let message = format!("no stub CRD `{name}`");
            let hint = match suggest::nearest(name, &STUBS) {
                Some(known) => format!("did you mean `{known}`?"),
                None => format!(
                    "the stub CRDs are {}; for another CRD, write it yourself and add it with \
                        `[[bundle.overlay]]`",
                    STUBS.join(" and ")
                ),
            };
            reader.error(Code::InvalidValue, &range, message, hint);
        } else if stubs.iter().any(|stub| stub.text == name) {
            let message = format!("duplicate stub CRD `{name}`");
            reader.error(Code::InvalidValue, &range, message, "remove one of them");
        } else {
            stubs.push(Text { text: name.to_owned(), span: reader.span(range) });
        }
    }
    stubs
}

/// A bundle's namespaces are not the one that it is installed into.
pub(super) fn namespaces(reader: &mut Reader<'_>, bundle: &BundleConfig) {
    let own = bundle.namespace.as_deref();
    for (key, namespace) in &bundle.operands.namespaces {
        if own == Some(namespace) {
            let message = format!("`{key}` in `[bundle.namespaces]` is the release namespace");
            let diagnostic = Diagnostic::error(Code::InvalidValue, message)
                .at(Place::span(bundle.span.clone()))
                .hint(format!(
                    "remove it, and use `{RELEASE}` instead: a chart cannot create its own release \
                        namespace"
                ));
            reader.found.push(diagnostic);
        }
    }
}
