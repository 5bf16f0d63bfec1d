//! Decisions that bundles make where bundles.toml is silent; changes must be explicit.

use super::{Decisions, Locked};
use crate::bundle::fields::texts;
use crate::bundle::{Bundle, Permission};
use crate::config::{BundleConfig, Watch};
use crate::diag::{Code, Diagnostic, Diagnostics};
use crate::ir::Value;
use crate::olm;
use std::collections::BTreeSet;

impl Decisions {
    /// Returns the effective decisions of a bundle: those of bundles.toml, else the bundle's own.
    pub(super) fn of(config: &BundleConfig, bundle: &Bundle) -> Self {
        let watch = config.watch().cloned().or_else(|| olm::default_watch(&bundle.csv));
        Decisions { package: bundle.package.clone(), watch }
    }
}

/// Reports an error for each recorded decision that the bundle would change.
pub(super) fn check(
    entry: &Locked,
    config: &BundleConfig,
    bundle: &Bundle,
    diagnostics: &mut Diagnostics,
) {
    let Decisions { package, watch } = &entry.decisions;

    // A package in bundles.toml is the user's own decision.
    if config.package.is_none() && *package != bundle.package {
        let message = format!(
            "`{}` is `{}` of package `{}`, but bundles.lock records package `{package}` ({})",
            config.name,
            config.source.text(),
            bundle.package,
            entry.csv
        );
        let hint = format!(
            "use another bundle name for another operator; if the operator was renamed, write \
                package = \"{}\"",
            bundle.package
        );
        diagnostics.error(Code::PackageMismatch, config.source.span(), message, hint);
        // A different operator is reported as such; its install mode is not a change of this one.
        return;
    }
    if let (Some(before), None) = (watch, config.watch())
        // Without a default, compiling reports that `watch` is missing.
        && let Some(now) = olm::default_watch(&bundle.csv)
        && *before != now
    {
        diagnostics.push(other_watch(before, &now, config, bundle));
    }
}

fn other_watch(before: &Watch, now: &Watch, config: &BundleConfig, bundle: &Bundle) -> Diagnostic {
    let csv = &bundle.csv;
    let why = match (before, now) {
        (_, Watch::All) => "supports AllNamespaces, which is the default",
        (Watch::All, _) => "no longer supports AllNamespaces",
        _ => "has this default",
    };
    let accept = format!("watch = {} to accept", now.to_toml());
    let choices = match before {
        // The default is AllNamespaces where the bundle supports it, so this one does not any more.
        Watch::All => format!("write {accept}"),
        before => format!("write watch = {} to keep it, or {accept}", before.to_toml()),
    };
    let message = format!(
        "`{}` would watch {} instead of {}, as recorded in bundles.lock: {} {why}",
        config.name,
        now.describe(),
        before.describe(),
        csv.name(),
    );
    Diagnostic::error(Code::WatchChanged, message)
        .at(&config.span)
        .related(csv.place(".spec.install.spec.permissions"), in_rbac(now, &csv.permissions))
        .hint(choices)
}

/// Describes the RBAC effect of the change for permissions in watched namespaces.
fn in_rbac(now: &Watch, permissions: &[Permission]) -> String {
    let rules = || permissions.iter().flat_map(|entry| entry.rules.as_seq().unwrap_or_default());
    let count = rules().count();
    if *now != Watch::All {
        return format!(
            "RBAC: these {count} rules become Roles in the release namespace; custom resources in \
                other namespaces are no longer reconciled"
        );
    }

    let of_secrets =
        |rule: &&Value| texts(rule.get("resources")).any(|it| it == "secrets" || it == "*");
    let verbs: BTreeSet<&str> =
        rules().filter(of_secrets).flat_map(|rule| texts(rule.get("verbs"))).collect();
    let of_secrets = match verbs.into_iter().collect::<Vec<_>>().as_slice() {
        [] => String::new(),
        verbs => format!(", including {} on Secrets", verbs.join(", ")),
    };
    format!("RBAC: these {count} rules become ClusterRoles for all namespaces{of_secrets}")
}
