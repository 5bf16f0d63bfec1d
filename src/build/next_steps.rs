//! The next steps after a build.

use super::{BUILD_REPORT, Outcome};
use crate::config::Deploy;
use crate::deploy::{self, Planned, Release};
use crate::diag::listed;
use crate::escape::{self, Lines};
use crate::output::ownership::UPGRADE_REPORT;
use crate::pipeline::upgrade::BuiltChart;
use std::collections::BTreeMap;
use std::path::Path;

/// Returns the reports to read, and the commands of the deployment tools that the configuration has, else one
/// of Helm for each release; nothing if the build changed nothing that is installed.
pub(super) fn lines(built: &Outcome<'_>) -> Lines {
    let Outcome { request, releases, changes, is_first, .. } = built;
    let out = request.out;
    let is_changed = |chart: &&BuiltChart| {
        changes.created.contains(&chart.dir) || changes.updated.contains(&chart.dir)
    };
    let changed: Vec<&BuiltChart> = built.charts.iter().filter(is_changed).collect();
    let tools = tool_commands(&request.config.deploy, out);
    let mut written = changes.deployment_files.iter();
    let has_files =
        !tools.is_empty() && written.any(|file| file.as_path() != Path::new(BUILD_REPORT));
    let mut lines = Lines::new();
    if changed.is_empty() && !has_files {
        return lines;
    }

    for chart in &changed {
        let Some(upgrade) = &chart.upgrade else { continue };
        let report = out.join(&chart.dir).join(UPGRADE_REPORT);
        lines.push(format!("{}: {upgrade}", report.display()));
    }
    // Only a build of all bundles writes the files of deployment tools.
    let is_whole = request.names.is_empty();
    if !tools.is_empty() && !is_whole && !is_first {
        lines.push("next: run `bundle2chart build`, which writes the files of deployment tools");
        return lines;
    }

    // A first build of some bundles is a trial.
    let tools = if is_whole { tools.as_slice() } else { &[] };
    // Each of the tools installs all charts.
    let with = if tools.len() > 1 { " with one of" } else { "" };
    let lock = built.lock.has_entries.then_some(built.lock_path.as_path());
    let files = [request.config_path].into_iter().chain(lock).chain([out]);
    let files: Vec<String> = files.map(|file| file.display().to_string()).collect();
    let files = listed(&files, 3);
    let (what, command) = match is_first {
        true => ("install", "install"),
        // Some releases may be in the cluster.
        false => ("install or upgrade", "upgrade --install"),
    };
    let read = match changed.iter().any(|chart| chart.upgrade.is_some()) {
        true => format!("read {UPGRADE_REPORT}, "),
        false => String::new(),
    };
    lines.push(format!("next: {read}commit {files}, and {what} the charts{with}:"));
    for (needed, name) in not_built(releases, out) {
        lines.push(format!("  bundle2chart build {needed} # first, because {name} depends on it"));
    }
    let plan = deploy::plan(releases).into_iter().filter(|_| tools.is_empty());
    for Planned { release, creates_namespace, .. } in plan {
        let Release { name, namespace, dir, .. } = release;
        if changed.iter().any(|chart| chart.dir == Path::new(dir)) {
            let create = if creates_namespace { " --create-namespace" } else { "" };
            let chart = shell(&out.join(dir));
            lines.push(format!("  helm {command} {name} {chart} --namespace {namespace}{create}"));
        }
    }
    tools.iter().for_each(|tool| lines.push(tool));
    lines
}

/// Returns the commands with which deployment tools install all charts.
fn tool_commands(deploy: &Deploy, out: &Path) -> Vec<String> {
    let Deploy { helmfile, argocd, flux, .. } = deploy;
    let commands = [
        (helmfile.as_ref(), "helmfile --file", " apply"),
        (argocd.as_ref().map(|argocd| &argocd.dir), "kubectl apply --filename", ""),
        (flux.as_ref().map(|flux| &flux.dir), "kubectl apply --kustomize", ""),
    ];
    let commands = commands.into_iter().filter_map(|(file, command, end)| {
        Some(format!("  {command} {}{end}", shell(&out.join(file?))))
    });
    commands.collect()
}

/// Returns a path as a word of a command.
fn shell(path: &Path) -> String {
    escape::shell::quoted(&path.display().to_string())
}

/// Returns the dependencies that have no chart in the output directory, each with a bundle that has it.
fn not_built<'r>(releases: &'r [Release], out: &Path) -> BTreeMap<&'r str, &'r str> {
    let is_missing = |bundle: &String| {
        releases.iter().all(|it| it.bundle != *bundle) && !out.join(bundle).exists()
    };
    let needed = releases.iter().flat_map(|it| it.depends_on.iter().map(move |name| (name, it)));
    let missing = needed.filter(|(name, _)| is_missing(name));
    missing.map(|(name, it)| (name.as_str(), it.bundle.as_str())).collect()
}
