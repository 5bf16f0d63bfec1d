//! Invariants of the servers of endpoint pickers: their ports, TLS, files and pools.

use super::*;

/// Checks flags of pickers against each other, and against volumes, Services and gateways.
pub(crate) fn server(view: &View<'_>, found: &mut Found) {
    let referenced = view.pools().flat_map(|(_, pool)| pickers_of(view, pool));
    let referenced: BTreeSet<usize> = referenced.map(|picker| picker.owner).collect();
    for picker in &view.pickers {
        ports(view, picker, found);
        let mut found = found.at(picker.owner, format!("{}.args", picker.path));
        files(view, picker, &mut found);
        pool(view, picker, referenced.contains(&picker.owner), &mut found);
    }
}

/// Checks that Services target the port of a picker's metrics.
fn ports(view: &View<'_>, picker: &Picker<'_>, found: &mut Found) {
    // Only a port that is named after metrics has to lead to them.
    let Some(metrics) = picker.flags.number("metrics-port", METRICS_PORT.into()) else { return };
    for (index, service) in view.services_selecting(&picker.pods) {
        for (port, path) in items(service.spec(), "ports", ".spec") {
            let target = target_port(picker.container, port)
                .filter(|target| *target != metrics)
                .filter(|_| text(port, "name").contains("metrics"));
            let Some(target) = target else { continue };
            let message = format!(
                "{service} targets port {target} of {picker}, which serves metrics on {metrics}"
            );
            let hint = "set `targetPort` of the Service, or `--metrics-port`";
            found.push(index, path, message, hint);
        }
    }
}

/// Checks that the files of a picker are on a volume: its image has none.
fn files(view: &View<'_>, picker: &Picker<'_>, found: &mut Reporter<'_>) {
    let official = picker.is_of_upstream();
    // Other images may contain the files.
    for flag in ["config-file", "cert-path", "metrics-cert-dir", "metrics-client-ca-file"] {
        let path = picker.flags.text(flag).filter(|path| official && !is_placeholder(path));
        // An empty path is the default.
        let Some(path) = path.filter(|path| !path.is_empty()) else { continue };
        if matches!(view.file(&picker.pods, picker.container, path), File::NotMounted) {
            let message = format!("`--{flag}` of {picker} is {path}, where no volume is mounted");
            found.push(message, "mount the ConfigMap or Secret with the file there");
        }
    }
}

/// Checks that the pool of a picker is in the manifests, if any pool is.
fn pool(view: &View<'_>, picker: &Picker<'_>, is_referenced: bool, found: &mut Reporter<'_>) {
    let owner = picker.manifest;
    let said = |flag: &str| picker.flags.text(flag).filter(|value| !is_placeholder(value));
    // The pool that references it is checked with it.
    let is_near = |pool: &&Manifest| !is_referenced && pool.may_share_namespace(owner);
    let pools = view.pools().map(|(_, pool)| pool).filter(is_near);
    let pools: Vec<&str> = pools.map(Manifest::name).collect();
    let is_open = pools.is_empty() || pools.iter().any(|pool| is_placeholder(pool));
    if let Some(name) = said("pool-name").filter(|name| !is_open && !pools.contains(name)) {
        let message = format!("{picker} has `--pool-name={name}`, which does not exist");
        found.push(message, suggest::hint(name, &pools, "pools"));
    }
    if let (Some(namespace), own) = (said("pool-namespace"), owner.namespace())
        && !own.is_empty()
        && namespace != own
        && view.pools().all(|(_, pool)| pool.namespace() != namespace)
        && view.pools().next().is_some()
    {
        let message = format!("{picker} has `--pool-namespace={namespace}`, but is in {own}");
        found.push(message, format!("write `--pool-namespace={own}`"));
    }
}
