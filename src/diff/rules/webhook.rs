//! Rules on admission webhooks.

use super::lookup::{Lookup, Memo};
use super::representatives::Representatives;
use super::{RuleContext, display_value, found, listed, rules};
use crate::Finding;
use crate::identity::Pair;
use crate::path::Step;
use crate::read::{self, items, text};
use serde_json::{Value as Json, json};
use std::collections::{BTreeSet, HashSet};
use std::rc::Rc;

rules! {
    /// Webhook intercepts requests for built-in resources.
    ///
    /// While the webhook is unavailable, pods, namespaces or workloads of all users may not be
    /// created or changed; a deadlock can stop the whole cluster.
    CORE "webhook-on-core-added" Risky(RequestsBlocked Watch)
        "Check that its selectors exclude kube-system and its own namespace.";
    /// Webhook added.
    ///
    /// With failurePolicy Fail, matching requests fail while the webhook is unavailable.
    ADDED "webhook-added" Risky(RequestsBlocked Watch)
        "Check that the operator is ready before objects of these kinds are applied.";
    /// Webhook removed.
    ///
    /// Its validation or defaulting no longer happens: objects that it rejected are accepted, and
    /// fields that it set stay empty. Risky, because policies may rely on it.
    REMOVED "webhook-removed" Risky(RequestsBlocked)
        "Check what the webhook did, and whether something replaces it.";
    /// Failure policy of a webhook changed to Fail.
    ///
    /// Matching objects cannot be written while the webhook is unavailable.
    POLICY "webhook-policy-hardened" Risky(RequestsBlocked Watch)
        "Run the webhook with more than one replica.";
    /// Failure policy of a webhook changed to Ignore.
    ///
    /// While the webhook is unavailable, matching objects are written without its validation and
    /// defaulting. Risky, because policies may rely on it, as with a removed webhook.
    RELAXED "webhook-policy-relaxed" Risky(RequestsBlocked)
        "Check whether something relies on the webhook.";
    /// Webhook rules widened.
    ///
    /// More requests depend on the webhook.
    WIDENED "webhook-rules-widened" Risky(RequestsBlocked Watch)
        "Check the additional resources and operations.";
    /// Webhook intercepts fewer requests.
    ///
    /// For the requests that it no longer intercepts it is removed: its validation or defaulting no
    /// longer happens. Risky, because policies may rely on it.
    NARROWED "webhook-narrowed" Risky(RequestsBlocked)
        "Check what the webhook did for these requests.";
    /// Selector or match condition of a webhook removed.
    ///
    /// Without the namespace selector, object selector or match condition the webhook intercepts
    /// more requests.
    SELECTOR "webhook-selector-removed" Risky(RequestsBlocked Watch)
        "Check that system namespaces are still excluded.";
    /// Timeout of a webhook raised.
    ///
    /// While the webhook is unavailable, every matching request blocks for the timeout.
    TIMEOUT "webhook-timeout-raised" Risky(RequestsBlocked)
        "Check clients with short timeouts.";
    /// Timeout of a webhook lowered.
    ///
    /// A call that takes longer fails: the request is refused with failurePolicy Fail, and passes
    /// without the webhook with Ignore.
    TIMEOUT_LOWERED "webhook-timeout-lowered" Risky(RequestsBlocked)
        "Compare the timeout with the latency of the webhook in your clusters.";
    /// Service, path or URL of a webhook changed.
    ///
    /// Requests go to another endpoint. While it does not answer, they fail or are not validated.
    TARGET "webhook-target-changed" Risky(RequestsBlocked)
        "Check that the endpoint is ready after the upgrade.";
    /// Review version of a webhook removed.
    ///
    /// The API server sends the first version that it knows, and calls fail if it knows none.
    REVIEW "webhook-review-version-removed" Risky(RequestsBlocked)
        "Check that your clusters support one of the remaining versions.";
}

pub(super) fn add_findings(context: &RuleContext<'_, '_>, findings: &mut Vec<Finding>) {
    let edit = context.edit;
    match (context.shape().as_slice(), &edit.old, &edit.new) {
        // A configuration may be compared as a whole where its list has no merge key.
        ([] | ["webhooks"], old, Some(new)) => {
            let [old, new] = [old.as_ref(), Some(new)].map(webhooks);
            let [before, after] = [old, new].map(|webhooks| -> HashSet<Option<&Json>> {
                webhooks.iter().map(|webhook| webhook.get("name")).collect()
            });
            let came = new.iter().filter(|webhook| !before.contains(&webhook.get("name")));
            findings.extend(came.map(|webhook| added(context, webhook)));
            if !before.is_subset(&after) {
                findings.push(found(&REMOVED, "webhook removed"));
            }
        }
        (["webhooks", "[]"], None, Some(new)) => findings.push(added(context, new)),
        ([] | ["webhooks"] | ["webhooks", "[]"], Some(_), None) => {
            findings.push(found(&REMOVED, "webhook removed"));
        }
        (["webhooks", "[]", rest @ ..], ..) => changed(context, rest, findings),
        _ => {}
    }
}

/// Returns the webhooks of a configuration or of a list of webhooks.
fn webhooks(value: Option<&Json>) -> &[Json] {
    items(value.map(|value| value.get("webhooks").unwrap_or(value)), &[])
}

/// A kind of request that matches a webhook rule: group, version, resource, operation, scope.
type Request<'j> = [&'j str; 5];

/// The lists of a rule, in the order of [`Entries`].
const LISTS: [&str; 4] = ["apiGroups", "apiVersions", "resources", "operations"];

/// The representatives of the entries of all rules.
type Entries<'j> = Representatives<'j, 4>;

/// Returns the representatives of the entries of the rules of both sides.
pub(super) fn entries<'j>(sides: [Option<&'j Json>; 2]) -> Entries<'j> {
    let rules = sides.into_iter().flat_map(webhooks).flat_map(|webhook| items(webhook, &["rules"]));
    Representatives::of(LISTS, rules, |list, entry| match list {
        _ if entry.contains(['*', '/']) => None,
        0 if is_core(entry) => Some("core"),
        3 => None,
        // Any name serves: no rule tells the others of a list apart.
        _ => LISTS.get(list).copied(),
    })
}

/// Returns the requests that match a webhook.
fn requests<'j>(webhook: &'j Json, entries: &Entries<'j>) -> Vec<Request<'j>> {
    items(webhook, &["rules"]).iter().flat_map(|rule| requests_of(rule, entries)).collect()
}

/// All operations, which a rule may write as `*`.
const OPERATIONS: [&str; 4] = ["CONNECT", "CREATE", "DELETE", "UPDATE"];

/// Returns the requests that match one rule.
fn requests_of<'j>(rule: &'j Json, entries: &Entries<'j>) -> Vec<Request<'j>> {
    let mut all = Vec::new();
    let scope = rule.get("scope").and_then(Json::as_str).unwrap_or("*");
    let [groups, versions, resources, operations] = entries.lists(rule);
    let operations = if operations.contains(&"*") { OPERATIONS.to_vec() } else { operations };
    for group in groups {
        for version in &versions {
            for resource in &resources {
                for operation in &operations {
                    all.push([group, version, resource, operation, scope]);
                }
            }
        }
    }
    all
}

/// The requests that match a webhook of the old side.
struct Intercepted<'j> {
    all: HashSet<Request<'j>>,
    /// Parts that are `*` in any of them.
    wild: [bool; 5],
    /// True if any is for a built-in resource.
    core: bool,
}

impl<'j> Intercepted<'j> {
    fn by(webhook: &'j Json, entries: &Entries<'j>) -> Self {
        let all = requests(webhook, entries);
        let mut wild = [false; 5];
        for request in &all {
            for (wild, part) in wild.iter_mut().zip(request) {
                *wild |= *part == "*";
            }
        }
        let core = all.iter().any(|[group, ..]| is_core(group));
        let all = all.into_iter().collect();
        Intercepted { all, wild, core }
    }

    /// Returns true if they include a request. Candidates are looked up in a set, so the time does not
    /// depend on the number of requests.
    fn include(&self, request: &Request<'_>) -> bool {
        let [group, version, resource, operation, scope] = *request;
        let any = |part: usize| self.wild.get(part).copied().unwrap_or_default().then_some("*");
        // `pods/*` matches all subresources of pods, `*/*` all of all, and `*` no subresource.
        let parents = resource.match_indices('/').map(|(at, _)| format!("{}/*", &resource[..at]));
        let parents: Vec<String> = parents.chain(["*/*".to_owned()]).collect();
        let resources = [Some(resource), any(2)];
        let resources =
            || resources.into_iter().flatten().chain(parents.iter().map(String::as_str));
        let either = |part: usize, text| [Some(text), any(part)].into_iter().flatten();

        // Operations have no wildcard here.
        either(0, group).any(|group| {
            either(1, version).any(|version| {
                either(4, scope).any(|scope| {
                    resources().any(|resource| {
                        self.all.contains(&[group, version, resource, operation, scope])
                    })
                })
            })
        })
    }
}

/// Facts about the webhooks of one configuration, which its edits share.
pub(super) struct Webhooks<'j> {
    entries: Entries<'j>,
    intercepted: Memo<*const Json, Rc<Intercepted<'j>>>,
    /// Removed selector parts by field.
    lost: Memo<(*const Json, String), Option<String>>,
}

impl<'j> Webhooks<'j> {
    /// Returns the cache for a pair of configurations.
    pub(super) fn of(pair: &Pair<'j>) -> Self {
        let (intercepted, lost) = (Memo::default(), Memo::default());
        Webhooks { entries: entries([pair.old, pair.new]), intercepted, lost }
    }

    fn intercepted(&self, webhook: &'j Json) -> Rc<Intercepted<'j>> {
        let by = || Rc::new(Intercepted::by(webhook, &self.entries));
        self.intercepted.get(std::ptr::from_ref(webhook), |_| by())
    }

    /// Returns the field of a selector with the parts that the webhook `after` does not have.
    fn lost(&self, before: &Json, after: &Json, field: &str) -> Option<String> {
        self.lost.get((std::ptr::from_ref(before), field.to_owned()), |_| {
            let new: HashSet<String> = selector_parts(after.get(field)).into_iter().collect();
            let old = selector_parts(before.get(field)).into_iter();
            let gone: Vec<String> = old.filter(|part| !new.contains(part)).collect();
            (!gone.is_empty()).then(|| format!("`{field}`: {}", listed(&gone, 3)))
        })
    }
}

/// Returns true for built-in API groups, which all workloads depend on.
fn is_core(group: &str) -> bool {
    matches!(group, "" | "*" | "apps" | "batch" | "policy" | "autoscaling")
        // The Gateway API is installed as CRDs, although its group ends like those of Kubernetes.
        || group.ends_with(".k8s.io") && !group.starts_with("gateway.")
}

/// Returns the resources of requests, as the end of a sentence.
fn targets(requests: &[Request<'_>]) -> String {
    let name = |[group, _, resource, ..]: &Request<'_>| match *group {
        "" => (*resource).to_owned(),
        group => format!("{resource}.{group}"),
    };
    listed(requests.iter().map(name).collect::<BTreeSet<_>>(), 5)
}

/// Returns requests as text: `CREATE and UPDATE of pods`.
fn summary(requests: &[Request<'_>]) -> String {
    let operations: BTreeSet<&str> =
        requests.iter().map(|[_, _, _, operation, _]| *operation).collect();
    format!("{} of {}", listed(operations, OPERATIONS.len()), targets(requests))
}

/// Returns the finding for an added webhook.
fn added(context: &RuleContext<'_, '_>, webhook: &Json) -> Finding {
    let asked = requests(webhook, &context.webhooks.entries);
    let name = webhook.get("name").map(display_value).unwrap_or_default();
    // The default of admissionregistration.k8s.io/v1; in v1beta1 it was Ignore.
    let policy = webhook.get("failurePolicy").and_then(Json::as_str).unwrap_or("Fail");
    let reason = format!("{name} intercepts {} with failurePolicy {policy}", targets(&asked));
    let core = asked.iter().any(|[group, ..]| is_core(group));
    found(if core { &CORE } else { &ADDED }, reason)
}

/// Adds the findings for an edit inside of a webhook. The table of fields judges its other fields.
fn changed(context: &RuleContext<'_, '_>, rest: &[&str], findings: &mut Vec<Finding>) {
    let Some(path) = context.steps().get(..2) else { return };
    let (Some(before), Some(after)) = (context.old.at(path), context.new.at(path)) else { return };
    match rest {
        ["rules", ..] => intercepted(context, before, after, findings),
        [field @ ("namespaceSelector" | "objectSelector" | "matchConditions"), ..] => {
            let lost = context.webhooks.lost(before, after, field);
            findings.extend(lost.map(|gone| found(&SELECTOR, format!("removed from {gone}"))));
            let gained = context.webhooks.lost(after, before, field);
            findings.extend(gained.map(|came| found(&NARROWED, format!("added to {came}"))));
        }
        _ => {}
    }
}

/// Adds the findings for requests that a webhook with other rules intercepts, or no longer does.
fn intercepted<'a>(
    context: &RuleContext<'_, 'a>,
    before: &'a Json,
    after: &'a Json,
    findings: &mut Vec<Finding>,
) {
    let webhooks = &context.webhooks;
    let (held, holds) = (webhooks.intercepted(before), webhooks.intercepted(after));
    // Of the edited rule, or of all rules.
    let part = |side: &Lookup<'a>, webhook| match context.steps().get(..4) {
        Some(path @ [.., Step::Item(_) | Step::Index(_)]) => {
            side.at(path).map(|rule| requests_of(rule, &webhooks.entries)).unwrap_or_default()
        }
        _ => requests(webhook, &webhooks.entries),
    };
    let mut lost = part(&context.old, before);
    lost.retain(|request| !holds.include(request));
    if !lost.is_empty() {
        findings.push(found(&NARROWED, format!("no longer intercepts {}", summary(&lost))));
    }

    let mut gained = part(&context.new, after);
    gained.retain(|request| !held.include(request));
    // Requests for core objects can stop the whole cluster, others those for one API.
    if gained.iter().any(|[group, ..]| is_core(group)) && !held.core {
        findings.push(found(&CORE, format!("now also intercepts {}", targets(&gained))));
    } else if !gained.is_empty() {
        findings.push(found(&WIDENED, format!("now also intercepts {}", summary(&gained))));
    }
}

/// Returns the parts of a selector or list of match conditions, each of which excludes requests.
fn selector_parts(selector: Option<&Json>) -> Vec<String> {
    match selector {
        Some(Json::Array(conditions)) => {
            conditions.iter().filter_map(|c| c.get("expression")).map(display_value).collect()
        }
        map => {
            let labels = read::entries(map, &["matchLabels"]);
            let labels = labels
                .map(|(key, value)| format!("`{key}={}`", value.as_str().unwrap_or_default()));
            let expressions = items(map, &["matchExpressions"]).iter().flat_map(|expression| {
                let values = items(expression, &["values"]);
                let of_each = values.iter().filter(|_| text(expression, &["operator"]) == "NotIn");
                let each = |value: &Json| {
                    let mut one = expression.clone();
                    one["values"] = json!([value]);
                    one
                };
                let each: Vec<Json> = of_each.map(each).collect();
                if each.is_empty() { vec![expression.clone()] } else { each }
            });
            labels.chain(expressions.map(|expression| display_value(&expression))).collect()
        }
    }
}
