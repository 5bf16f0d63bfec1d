//! Install modes: which namespaces the operator watches.

use crate::bundle::ClusterServiceVersion;
use crate::config::{BundleConfig, InstallMode, Watch};
use crate::diag::{Code, Diagnostic, Diagnostics, join};
use crate::ir::{Expr, Part, Value};

/// The namespaces that an operator watches, checked against its install modes: values of objects in the
/// given order; `None` for all namespaces.
pub(super) struct Targets(pub(super) Option<Vec<Value>>);

/// Returns the default install mode if `watch` is not set: AllNamespaces if the CSV supports it,
/// else OwnNamespace if supported.
///
/// OLM: AllNamespaces by default. Without support for it, v1 reports an error instead of using
/// OwnNamespace.
pub fn default_watch(csv: &ClusterServiceVersion) -> Option<Watch> {
    let all = csv.supports(InstallMode::AllNamespaces).then_some(Watch::All);
    all.or_else(|| csv.supports(InstallMode::OwnNamespace).then_some(Watch::Own))
}

impl Targets {
    /// Selects the target namespaces and checks the install modes; `own` is the release namespace.
    ///
    /// OLM: AllNamespaces by default, if the CSV supports it; `OwnNamespace` is required for the
    /// operator's own namespace, `SingleNamespace` for one other, `MultiNamespace` for several.
    /// Without `watch`, [`default_watch`] decides.
    pub(super) fn choose(
        csv: &ClusterServiceVersion,
        config: &BundleConfig,
        own: &str,
        diagnostics: &mut Diagnostics,
    ) -> Option<Targets> {
        let error =
            |message| Diagnostic::error(Code::InstallModeUnsupported, message).hint(hint(csv));
        let modes = || csv.place(".spec.installModes");
        let names = match config.watch().cloned().or_else(|| default_watch(csv)) {
            None => {
                let known = supported(csv);
                let message = format!("`watch` has no default: the operator supports {known}");
                return diagnostics.fail(error(message).at(modes()));
            }
            Some(Watch::All) => None,
            Some(Watch::Own) => Some(vec![own.to_owned()]),
            Some(Watch::Namespaces(names)) => Some(names),
        };

        // OLM requires a mode for each part: the operator's own namespace, and the others by number.
        let has_own = names.iter().flatten().any(|name| name == own);
        let mut needed =
            Vec::from_iter(has_own.then_some((InstallMode::OwnNamespace, "its own namespace")));
        needed.extend(match names.as_deref() {
            None => Some((InstallMode::AllNamespaces, "all namespaces")),
            Some([_, _, ..]) => Some((InstallMode::MultiNamespace, "several namespaces")),
            Some(_) if has_own => None,
            Some(_) => Some((InstallMode::SingleNamespace, "one other namespace")),
        });
        needed.retain(|(mode, _)| !csv.supports(*mode));
        for (mode, wanted) in &needed {
            let (known, mode) = (supported(csv), mode.as_str());
            let error = error(format!(
                "the operator cannot watch {wanted}: it supports {known}, not {mode}"
            ));
            // The key is what can be changed; the command line has no place.
            diagnostics.push(match config.watch_span() {
                Some(span) => error.at(span).related(modes(), "the bundle's install modes"),
                None => error.at(modes()),
            });
        }

        let value = |name: String| match name == own {
            true => Value::Expr(Expr::ReleaseNamespace),
            false => Value::Text(name),
        };
        let values = names.map(|names| names.into_iter().map(value).collect());
        needed.is_empty().then_some(Targets(values))
    }

    /// Returns the value of the annotation `olm.targetNamespaces`: empty for all, else
    /// comma-separated.
    pub(super) fn annotation(&self) -> Value {
        match self.0.as_deref() {
            // Operators treat an empty list of namespaces as all of them (controller-runtime's
            // cache).
            None => Value::text(""),
            Some([namespace]) => namespace.clone(),
            Some(namespaces) => joined(namespaces),
        }
    }

    /// Returns the namespaces that get Roles: the operator's own one always (for leader election; OLM
    /// v0 does the same, v1 does not), then the others. `None` for all namespaces.
    pub(super) fn role_namespaces(&self) -> Option<Vec<Value>> {
        let mut namespaces = self.0.clone()?;
        let own = Value::Expr(Expr::ReleaseNamespace);
        namespaces.retain(|namespace| *namespace != own);
        namespaces.insert(0, own);
        Some(namespaces)
    }
}

/// A character that no name of a namespace has, in place of the release namespace.
const RELEASE: &str = "=";

/// Returns the comma-separated namespaces, as operators read them from `olm.targetNamespaces`.
fn joined(namespaces: &[Value]) -> Value {
    let names = namespaces.iter().map(|namespace| namespace.as_str().unwrap_or(RELEASE));
    let names = join(names, ",");
    match names.contains(RELEASE) {
        true => Value::Expr(Expr::Concat(Part::around_namespace(names.split(RELEASE)))),
        // The list is known now, and stays plain text in the chart.
        false => Value::Text(names),
    }
}

fn supported(csv: &ClusterServiceVersion) -> String {
    if csv.install_modes.is_empty() {
        return "no install mode".to_owned();
    }
    join(csv.install_modes.iter().map(|mode| mode.as_str()), ", ")
}

fn hint(csv: &ClusterServiceVersion) -> String {
    if csv.install_modes.is_empty() {
        return "the CSV must support at least one install mode".to_owned();
    }
    let choices = csv.install_modes.iter().map(|mode| format!("watch = {}", mode.watch()));
    format!("set {}", join(choices, " or "))
}
