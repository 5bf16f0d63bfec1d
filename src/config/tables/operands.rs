//! `[bundle.namespaces]`, `[bundle.service-accounts]` and `[[bundle.adopt]]`: the objects that
//! operands need before the operator creates them.

use super::*;
use crate::forms::SUBDOMAIN;
use crate::ir::{Scope, dns_subdomain};
use crate::reader::Located;

/// The key in `[bundle.service-accounts]` for the release namespace.
const RELEASE: &str = "release";

table! {
    /// Objects that the operands of an operator need.
    pub struct OperandTable at "operands", checked by operands as Operands {
        /// Namespaces of the operator's operands, by a key of your choice: each becomes a value
        /// `namespaces.KEY`, is created by the chart, and gets the pull secret if values create it.
        namespaces: Namespaces = Default::default();
        /// ServiceAccounts that are pre-created for the operator's operands, with the pull secret:
        /// lists by key of `[bundle.namespaces]`, or `release` for the release namespace.
        service_accounts: ServiceAccounts = Default::default();
        adopt: Vec<Adoption>;
    }
}

table! {
    /// A ServiceAccount of `[bundle.service-accounts]` that another Helm release adopts, for example
    /// one that the operator installs itself.
    pub struct Adoption at "[[bundle.adopt]]" {
        /// Name of the ServiceAccount, from the list `release`.
        service_account: Placed<ObjectName>;
        /// Name of the release that adopts it.
        release: ObjectName;
        /// Namespace of that release. Default: the namespace of this chart's release.
        namespace: Option<Namespace>;
    }
}

/// Objects that an operator's operands need before the operator creates them.
#[derive(Clone, Debug, Default)]
pub struct Operands {
    /// Namespaces besides the release's, by the name of their value.
    pub namespaces: BTreeMap<String, String>,
    /// Pre-created ServiceAccounts, which have the pull secret.
    pub accounts: Vec<Account>,
}

/// A ServiceAccount that an operator will find and use.
#[derive(Clone, Debug)]
pub struct Account {
    /// Name of the ServiceAccount.
    pub name: String,
    /// The value with its namespace; `None` for the release namespace.
    pub namespace: Option<String>,
    /// The Helm release that adopts it, if any.
    pub adopted_by: Option<Adoption>,
    /// The span of its name in the file.
    pub span: Span,
}

/// CRDs for which there are stubs.
pub const STUBS: [&str; 2] =
    ["infrastructures.config.openshift.io", "servicemonitors.monitoring.coreos.com"];

fn operands(table: OperandTable, reader: &mut Reader<'_>, _: &Fields<'_>) -> Option<Operands> {
    let known = table.namespaces.keys().map(String::as_str).chain([RELEASE]);
    let known: Vec<&str> = known.collect();
    let mut accounts = Vec::new();
    for (key, names) in table.service_accounts {
        if !known.contains(&key.text.as_str()) {
            let message = format!("`{}` is not in `[bundle.namespaces]`", key.text);
            let hint = suggest::did_you_mean(&key.text, &known).unwrap_or_else(|| {
                format!("add the namespace there, or use `{RELEASE}` for the release namespace")
            });
            reader.found.error(Code::InvalidValue, &key.span, message, hint);
            continue;
        }
        let namespace = Some(key.text).filter(|key| key != RELEASE);
        accounts.extend(names.into_iter().map(|Text { text, span }| Account {
            name: text,
            namespace: namespace.clone(),
            adopted_by: None,
            span,
        }));
    }

    let describe = |account: &Account| {
        (format!("duplicate ServiceAccount `{}`", account.name), "remove one of them")
    };
    let key = |account: &Account| (account.name.clone(), account.namespace.clone());
    let accounts = reader.unique(Code::InvalidValue, accounts, key, |one| &one.span, describe);
    let mut operands = Operands { namespaces: table.namespaces, accounts };
    for adoption in table.adopt {
        adopt(reader, adoption, &mut operands);
    }
    Some(operands)
}

/// Marks the ServiceAccount of an adoption.
fn adopt(reader: &mut Reader<'_>, adoption: Adoption, operands: &mut Operands) {
    let name = adoption.service_account.text.clone();
    let named = |account: &&mut Account| account.name == name;
    let mut accounts: Vec<&mut Account> = operands.accounts.iter_mut().filter(named).collect();

    // Only ServiceAccounts that exist before the chart creates namespaces can be adopted.
    if let Some(account) = accounts.iter_mut().find(|account| account.namespace.is_none()) {
        account.adopted_by = Some(adoption);
        return;
    }
    let (message, hint) = match accounts.first() {
        Some(_) => (
            format!("the ServiceAccount `{name}` is not in the release namespace"),
            "only ServiceAccounts of `release` in `[bundle.service-accounts]` can be adopted: they \
                must exist before the chart creates a namespace",
        ),
        None => (
            format!("`{name}` is not in `[bundle.service-accounts]`"),
            "add it there under `release`: only pre-created ServiceAccounts can be adopted",
        ),
    };
    reader.found.error(Code::InvalidValue, &adoption.service_account.span, message, hint);
}

/// Namespaces, by the name of their value.
pub struct Namespaces;

impl Form for Namespaces {
    type Value = BTreeMap<String, String>;
    const KIND: Kind = Kind::Map(&Namespace::KIND);

    fn read(reader: &mut Reader<'_>, key: &Key, value: &Node<'_>) -> Option<Self::Value> {
        let mut namespaces: BTreeMap<String, String> = BTreeMap::new();
        for ((name, value), range) in entries(value) {
            // The key is a value of the chart, `namespaces.KEY`, which `--set` names without
            // escapes.
            value_name(reader, &(name, range));
            let Some(namespace) = Namespace::read(reader, key, value) else { continue };
            let twice = namespaces.iter().find(|(_, known)| **known == namespace);
            if let Some((first, _)) = twice {
                let message = format!("`{name}` and `{first}` are the same namespace");
                let hint = "remove one: one value is enough";
                reader.error(Code::InvalidValue, &value.span(), message, hint);
            }
            namespaces.insert(name.to_owned(), namespace);
        }
        Some(namespaces)
    }
}

fn value_name(reader: &mut Reader<'_>, (key, range): &Located<&str>) {
    let (fault, hint) = if *key == RELEASE {
        ("is the release namespace, which needs no entry here", "remove it")
    } else if !matches("^[a-z][A-Za-z0-9-]*$", key) {
        let hint = "use letters, digits and dashes, starting with a lower-case letter, for example \
            `operand`";
        ("is not a valid name for a value", hint)
    } else {
        return;
    };
    reader.error(Code::InvalidValue, range, format!("{key:?} {fault}"), hint);
}

/// ServiceAccounts, by the key of their namespace.
pub struct ServiceAccounts;

impl Form for ServiceAccounts {
    type Value = Vec<(Text, Vec<Text>)>;
    const KIND: Kind = Kind::Map(&Kind::List(&ObjectName::KIND));

    fn read(reader: &mut Reader<'_>, key: &Key, value: &Node<'_>) -> Option<Self::Value> {
        let mut accounts = Vec::new();
        for ((name, list), range) in entries(value) {
            let read = |item| Placed::<ObjectName>::read(reader, key, item);
            let names = items(list).filter_map(read).collect();
            accounts.push((Text { text: name.to_owned(), span: reader.span(range) }, names));
        }
        Some(accounts)
    }
}

/// Scopes, by `GROUP/KIND`.
pub struct ScopeMap;

impl Form for ScopeMap {
    type Value = Scopes;
    const KIND: Kind = Kind::Map(&Kind::String(Some("^(Cluster|Namespaced)$")));

    fn read(reader: &mut Reader<'_>, _: &Key, value: &Node<'_>) -> Option<Scopes> {
        let mut scopes = Scopes::new();
        for ((kind, value), range) in entries(value) {
            let named = kind.split_once('/').is_some_and(|(group, kind)| {
                // A group is required: all kinds of the core group, which has no name, are built
                // in.
                dns_subdomain(group).is_ok() && kind.starts_with(|c: char| c.is_ascii_uppercase())
            });
            if !named {
                let message = format!("`{kind}` is not GROUP/KIND");
                let hint = "write it as GROUP/KIND, for example `monitoring.coreos.com/PodMonitor`";
                reader.error(Code::InvalidValue, &range, message, hint);
            }
            let words = [("Cluster", Scope::Cluster), ("Namespaced", Scope::Namespaced)];
            let scope = reader.word(value, "scope", words);
            scopes.extend(scope.map(|scope| (kind.to_owned(), scope)));
        }
        Some(scopes)
    }
}

/// The name of a stub CRD.
pub struct Stub;

impl Rule for Stub {
    const PATTERN: Option<&'static str> = Some(SUBDOMAIN);

    fn fault(_: &Key, name: &str) -> Option<(String, String)> {
        let message = format!("no stub CRD `{name}`");
        let hint = suggest::did_you_mean(name, &STUBS).unwrap_or_else(|| {
            format!(
                "the stub CRDs are {}; for another CRD, write it yourself and add it with \
                    `[[bundle.overlay]]`",
                STUBS.join(" and ")
            )
        });
        (!STUBS.contains(&name)).then_some((message, hint))
    }
}

/// Reports a stub CRD that is listed twice.
pub(crate) fn distinct_stubs(reader: &mut Reader<'_>, stubs: &[Text]) {
    for (index, stub) in stubs.iter().enumerate() {
        if stubs.iter().take(index).any(|earlier| earlier.text == stub.text) {
            let message = format!("duplicate stub CRD `{}`", stub.text);
            reader.found.error(Code::InvalidValue, &stub.span, message, "remove one of them");
        }
    }
}

/// Reports a namespace of `[bundle.namespaces]` that the bundle itself is installed into.
pub(crate) fn check_namespaces(reader: &mut Reader<'_>, bundle: &BundleConfig) {
    // Only the namespace in the file: a suggested one is known when the bundle has been read.
    let own = bundle.namespace.as_deref();
    for (key, _) in bundle.operands.namespaces.iter().filter(|(_, name)| own == Some(name)) {
        let message = format!("`{key}` in `[bundle.namespaces]` is the release namespace");
        let hint = format!(
            "remove it, and use `{RELEASE}` instead: a chart cannot create its own release namespace"
        );
        reader.found.error(Code::InvalidValue, &bundle.span, message, hint);
    }
}
