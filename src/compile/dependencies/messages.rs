//! Diagnostics for missing dependencies.

use super::Member;
use crate::bundle::{Api, Dependency, Requirement};
use crate::config::{Source, Text};
use crate::diag::{Code, Diagnostic, Place, join, listed, quoted};

/// Most names in a message.
const MOST_NAMES: usize = 8;

/// Returns an error about a requirement that is no single API.
pub(super) fn missing(
    members: &[Member<'_>],
    own: &Member<'_>,
    dependency: &Dependency,
) -> Diagnostic {
    let name = &own.config.name;
    let (mut message, hint) = match &dependency.requirement {
        Requirement::Package { name: package, text, .. } => {
            let needs = format!("`{name}` requires package `{package}` in version `{text}`");
            match members.iter().find(|member| member.package == *package) {
                Some(other) => {
                    let (other, version) = (&other.config.name, &other.version);
                    let provided = or_provided(own, &[package.as_str()]);
                    (
                        format!("{needs}, but `{other}` has version {version}"),
                        format!("use a matching version of `{other}`{provided}"),
                    )
                }
                None => (
                    format!("{needs}, which no bundle provides"),
                    to_add(own, package, Some(package), &[package.as_str()]),
                ),
            }
        }
        Requirement::Not(list) => {
            let list = join(list.iter().map(ToString::to_string), " or ");
            (
                format!("`{name}` conflicts with {list}"),
                "remove one of them from the configuration".to_owned(),
            )
        }
        other => {
            let mut names = Vec::new();
            collect(other, &mut names);
            let names: Vec<&str> = names.iter().map(String::as_str).collect();
            (
                format!("`{name}` requires {other}, which the bundles do not provide"),
                to_add(own, "NAME", None, &names),
            )
        }
    };

    let words = one_line(&dependency.message);
    if !words.is_empty() {
        message += &format!(": {words}");
    }

    Diagnostic::error(Code::DependencyMissing, message)
        .at(&own.config.span)
        .related(dependency.place.clone(), "the dependency")
        .hint(hint)
}

/// Returns an error about APIs of one group.
pub(super) fn missing_apis(
    members: &[Member<'_>],
    own: &Member<'_>,
    apis: &[(&Api, &Dependency)],
) -> Diagnostic {
    let names: Vec<String> = apis.iter().map(|(api, _)| api.to_string()).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let shown = listed(quoted(&names), MOST_NAMES);
    let apis_of = if names.len() == 1 { "the API" } else { "the APIs" };
    let mut message =
        format!("`{}` requires {apis_of} {shown}, which no bundle provides", own.config.name);

    let other_version = members.iter().find_map(|member| {
        let provides = member.requirements.provides.iter();
        let mut near = provides
            .filter(|have| apis.iter().any(|(a, _)| a.group == have.group && a.kind == have.kind));
        near.next().map(|near| format!("; `{}` provides `{near}`", member.config.name))
    });
    message.extend(other_version);
    let mut diagnostic = Diagnostic::error(Code::DependencyMissing, message)
        .at(&own.config.span)
        .hint(to_add(own, "NAME", None, &names));
    for (_, dependency) in apis.iter().take(MOST_NAMES) {
        diagnostic = diagnostic.related(dependency.place.clone(), "the dependency");
    }

    diagnostic
}

/// Returns a note about an undeclared install order: `own` has the need, and `declared` is the
/// place of the dependency, if any.
pub(super) fn order(
    own: &Member<'_>,
    provider: &Member<'_>,
    need: &str,
    declared: Option<&Place>,
) -> Diagnostic {
    let (name, provider) = (&own.config.name, &provider.config.name);
    let message =
        format!("`{name}` requires {need} from `{provider}`, which is not in its `depends-on`");
    let hint = format!("add {}", list("depends-on", &own.config.depends_on, &[provider.as_str()]));
    let note = Diagnostic::note(Code::DependencyOrder, message).hint(hint);
    match declared {
        Some(place) => note.related(place.clone(), "the dependency"),
        None => note,
    }
}

/// Returns a note about a chart that needs cert-manager in the cluster: the same for all charts, so
/// that it is printed once.
pub(super) fn cert_manager() -> Diagnostic {
    let message = "the webhook or APIService certificates require cert-manager in the cluster";
    Diagnostic::note(Code::ForeignKind, message).hint(format!(
        "if the cluster has cert-manager, write {}; otherwise install it first or set \
            `certificates`",
        list("provided", &[], &["cert-manager.io/v1/Certificate"])
    ))
}

/// Returns a note about what only OLM can check.
pub(super) fn unchecked(dependency: &Dependency) -> Diagnostic {
    let mut message = format!("not checked: requires {}", dependency.requirement);
    let words = one_line(&dependency.message);
    if !words.is_empty() {
        message += &format!(" ({words})");
    }
    Diagnostic::note(Code::DependencyNotChecked, message)
        .at(dependency.place.clone())
        .hint("check it by hand: only OLM evaluates properties of other operators")
}

/// Returns the hint for a missing bundle.
fn to_add(own: &Member<'_>, name: &str, package: Option<&str>, provided: &[&str]) -> String {
    let source = match (&own.config.source, package) {
        (Source::Catalog(source), _) => {
            format!("catalog = {:?}\npackage = {:?}", source.catalog.text, package.unwrap_or("…"))
        }
        _ => "image = \"…\"".to_owned(),
    };
    format!(
        "add a bundle that provides it:\n[[bundle]]\nname = \"{name}\"\n{source}\nand {} to this one{}",
        list("depends-on", &own.config.depends_on, &[name]),
        or_provided(own, provided)
    )
}

fn or_provided(own: &Member<'_>, provided: &[&str]) -> String {
    // Entries of `[defaults]` stay there.
    let is_own = |entry: &&Text| {
        let (entry, own) = (&entry.span, &own.config.span);
        entry.source.name == own.source.name && entry.range.start > own.range.start
    };
    let known = own.config.settings.provided.iter().filter(is_own);
    let known: Vec<String> = known.map(|entry| entry.text.clone()).collect();
    format!("; or, if the cluster already provides it: {}", list("provided", &known, provided))
}

fn list(key: &str, known: &[String], more: &[&str]) -> String {
    let all = known.iter().map(String::as_str).chain(more.iter().copied());
    format!("{key} = [{}]", join(all.map(|name| format!("{name:?}")), ", "))
}

/// Collects the entries of `provided` that would satisfy a requirement.
fn collect(requirement: &Requirement, names: &mut Vec<String>) {
    let name = match requirement {
        Requirement::Package { name, .. } => name.clone(),
        Requirement::Api(api) => api.to_string(),
        Requirement::All(list) => {
            list.iter().for_each(|inner| collect(inner, names));
            return;
        }
        Requirement::Any(list) => {
            // One of the alternatives is enough.
            if let Some(first) = list.first() {
                collect(first, names);
            }
            return;
        }
        Requirement::Not(_) | Requirement::Unchecked(_) => return,
    };
    if !names.contains(&name) {
        names.push(name);
    }
}

fn one_line(text: &str) -> String {
    let words = join(text.split_whitespace(), " ");
    // The text is the bundle's (`failureMessage` of a constraint), of any length.
    words.chars().filter(|c| !c.is_control()).take(300).collect()
}
