//! Names of namespaces in commands.

use crate::config::Target;
use crate::diag::join;
use crate::escape::shell::quoted;
use std::collections::BTreeMap;

/// The place where commands run, which decides how they name namespaces.
#[derive(Clone, Copy, Debug)]
pub enum Namespaces<'a> {
    /// A machine with kubectl, for a release in this namespace.
    Named(&'a str),
    /// A pod of the release. Its namespace is the default of kubectl there; names of environment
    /// variables with the others, by namespace.
    InPod(&'a BTreeMap<String, String>),
}

impl Namespaces<'_> {
    /// Returns the command of kubectl with these arguments, for an object and its namespace.
    pub(super) fn kubectl(
        self,
        target: &Target,
        is_cluster_scoped: bool,
        arguments: &[&str],
    ) -> String {
        let own = target.namespace.as_deref();
        let flag = if is_cluster_scoped { String::new() } else { self.flag(own) };
        format!("kubectl {flag}{}", join(arguments.iter().map(|word| quoted(word)), " "))
    }

    /// Returns the flag for the namespace of an object, with a space after it; empty for the
    /// default. `None` is the release namespace.
    fn flag(self, namespace: Option<&str>) -> String {
        match self {
            Namespaces::Named(release) => {
                format!("--namespace {} ", namespace.unwrap_or(release))
            }
            Namespaces::InPod(variables) => {
                let variable = namespace.and_then(|namespace| variables.get(namespace));
                variable.map(|name| format!("--namespace \"${name}\" ")).unwrap_or_default()
            }
        }
    }

    /// Returns where an object is, for messages: ` in namespace mesh-system`; empty if unknown.
    pub(super) fn place(self, namespace: Option<&str>) -> String {
        let name = self.name(namespace);
        name.map(|name| format!(" in namespace {name}")).unwrap_or_default()
    }

    /// Returns the name of a namespace for messages, if it is known.
    pub(super) fn name<'n>(&'n self, namespace: Option<&'n str>) -> Option<&'n str> {
        match self {
            Namespaces::Named(release) => Some(namespace.unwrap_or(release)),
            Namespaces::InPod(_) => namespace,
        }
    }
}
