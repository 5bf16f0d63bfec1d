//! Operators' permissions are tried: for each fixture, requests with the tokens of its
//! ServiceAccounts, to every resource that the server has. What the CSV grants succeeds, everything
//! else is refused. What would change something is sent with `dryRun=All`.

use crate::charts;
use crate::control_plane::{Client, ControlPlane};
use crate::grants::{Grant, Watch, granted, grants};
use crate::helm::Helm;
use crate::install::{installable, prepare};
use crate::lifecycle::Release;
use crate::requests::{Place, Target, discover, mentioned};
use serde_json::{Value as Json, json};
use std::collections::BTreeMap;
use tempfile::TempDir;

/// Namespaces that operators watch, by bundles.toml.
fn watch(operator: &str) -> Watch {
    match operator {
        "awkward-operator" => Watch::Namespaces(&["letters", "parcels"]),
        "pod-group-operator" => Watch::Namespaces(&[]),
        _ => Watch::All,
    }
}

/// Accounts that read the API server's authentication settings: bundles.toml has `auth-reader` for
/// the one, and the other serves an API.
const AUTH_READERS: &[&str] = &["pod-group-operator", "toll-bridge-counter"];

/// Accounts that ask the API server who their callers are, because they serve an API.
const AUTH_DELEGATORS: &[&str] = &["toll-bridge-counter"];

/// A ConfigMap of the API server in kube-system: how it shows who it is, and who asks through it.
const AUTH_SETTINGS: &str = "extension-apiserver-authentication";

/// Permissions that OLM grants in addition to those of the CSV.
fn more_grants(account: &str) -> Vec<Grant> {
    let mut grants = Vec::new();
    if AUTH_READERS.contains(&account) {
        let rule = json!({
            "apiGroups": [""], "resources": ["configmaps"], "verbs": ["get", "list", "watch"],
            "resourceNames": [AUTH_SETTINGS],
        });
        grants.push(Grant { namespace: Some("kube-system".to_owned()), rule });
    }
    if AUTH_DELEGATORS.contains(&account) {
        for (group, resource) in [
            ("authentication.k8s.io", "tokenreviews"),
            ("authorization.k8s.io", "subjectaccessreviews"),
        ] {
            let rule =
                json!({ "apiGroups": [group], "resources": [resource], "verbs": ["create"] });
            grants.push(Grant { namespace: None, rule });
        }
    }
    grants
}

#[test]
#[ignore = "needs Go 1.26: cargo test --test api_server -- --ignored"]
fn what_a_csv_grants_and_nothing_else() {
    let cluster = ControlPlane::start();
    let temporary = TempDir::new().expect("a folder");
    let helm = Helm::newest();
    prepare(&cluster);
    cluster.apply(
        "apiVersion: v1\nkind: Namespace\nmetadata: {name: elsewhere}\n---\n\
         apiVersion: v1\nkind: ServiceAccount\nmetadata: {name: unprivileged, namespace: elsewhere}\n",
    );
    let unprivileged = cluster.client_of("elsewhere", "unprivileged");

    let fixtures = charts::fixtures();
    for charts::Release { name, namespace, chart, .. } in &fixtures {
        let chart = installable(&helm, chart, &temporary.path().join(name));
        let release = Release { cluster: &cluster, helm: &helm, name, namespace };
        release.run("install", &chart).expect_success();
    }
    delete_bindings_of_everybody(&cluster);
    let resources = discover(&unprivileged);
    assert!(resources.len() > 100, "{} resources", resources.len());

    let mut wrong = Vec::new();
    let (mut sent, mut allowed, mut leaders, mut reviewers) = (0, 0, 0, 0);
    // What any account may do, by request.
    let mut everybody: BTreeMap<String, bool> = BTreeMap::new();
    for charts::Release { name, namespace, bundle, .. } in &fixtures {
        let Some(bundle) = bundle else { continue };
        for (account, mut grants) in grants(bundle, namespace, &watch(name)) {
            let own = grants.clone();
            grants.extend(more_grants(&account));
            let client = cluster.client_of(namespace, &account);
            let mut targets = resources.clone();
            targets.extend(mentioned(&own, &resources));
            for target in &targets {
                for place in target.places(&["elsewhere", namespace, "letters", "kube-system"]) {
                    for verb in &target.verbs {
                        let Some(request) = target.request(verb, &place, "absent") else {
                            continue;
                        };
                        let asked = format!("{verb} {target} in {place}");
                        let expected = granted(&grants, target, &place, verb, "absent")
                            || *everybody
                                .entry(asked.clone())
                                .or_insert_with(|| !request.send(&unprivileged).is_forbidden());
                        let answer = request.send(&client);
                        sent += 1;
                        allowed += usize::from(expected);
                        if answer.is_forbidden() == expected {
                            wrong.push(format!(
                                "{namespace}/{account}: {asked}: expected {}, got {} {}",
                                if expected { "success" } else { "403" },
                                answer.status,
                                answer.body["message"]
                            ));
                        }
                    }
                }
            }
            wrong.extend(named_and_rare(&client, &own));
            leaders += usize::from(leader_election(&client, &grants, namespace));
            reviewers += usize::from(authentication(&client, &grants, &account, &mut wrong));
        }
    }
    eprintln!("{sent} requests, {allowed} of them allowed");
    assert!(wrong.is_empty(), "{} wrong:\n{}", wrong.len(), wrong.join("\n"));
    assert!(leaders > 2 && reviewers > 2, "{leaders} leaders, {reviewers} reviewers");
    assert!(allowed > 1000 && sent > 5 * allowed / 2, "{allowed} of {sent} allowed");
}

/// The awkward operator lets everybody view everything, which would hide what others may not.
fn delete_bindings_of_everybody(cluster: &ControlPlane) {
    let bindings = cluster.get(&["clusterrolebindings,rolebindings", "--all-namespaces"]);
    let of_groups: Vec<&str> = bindings["items"]
        .as_array()
        .expect("a list")
        .iter()
        .filter(|binding| {
            binding["metadata"]["annotations"]["meta.helm.sh/release-name"] != json!(null)
        })
        .filter(|binding| {
            let subjects = binding["subjects"].as_array();
            subjects.into_iter().flatten().any(|subject| subject["kind"] != "ServiceAccount")
        })
        .map(|binding| binding["metadata"]["name"].as_str().expect("a name"))
        .collect();
    assert_eq!(of_groups, ["awkward-viewers"]);
    cluster.kubectl(&["delete", "clusterrolebinding", "awkward-viewers"]).expect_success();
}

/// Objects that rules name, paths outside of resources, and verbs that are no requests (`approve`),
/// about which the server is asked.
fn named_and_rare(client: &Client, grants: &[Grant]) -> Vec<String> {
    let mut wrong = Vec::new();
    for grant in grants {
        let list = |key: &str| {
            let items = grant.rule[key].as_array().cloned().unwrap_or_default();
            items.iter().filter_map(Json::as_str).map(str::to_owned).collect::<Vec<_>>()
        };
        for path in list("nonResourceURLs") {
            if client.get(&path.replace('*', "absent")).is_forbidden() {
                wrong.push(format!("get {path} is refused"));
            }
        }
        let names = list("resourceNames");
        for (group, resource) in grant.resources() {
            for verb in list("verbs") {
                let names = if names.is_empty() { &[String::new()][..] } else { &names };
                for name in names {
                    let attributes = json!({
                        "namespace": grant.namespace, "group": group, "verb": verb, "name": name,
                        "resource": resource.split('/').next(), "subresource": resource.split('/').nth(1),
                    });
                    let review = json!({
                        "apiVersion": "authorization.k8s.io/v1", "kind": "SelfSubjectAccessReview",
                        "spec": { "resourceAttributes": attributes },
                    });
                    let reviews = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews";
                    let answer = client.post(reviews, &review);
                    if answer.body["status"]["allowed"] != true {
                        wrong.push(format!("{attributes}: {}", answer.body["status"]));
                    }
                }
            }
        }
    }
    wrong
}

/// An operator with leases in its namespace takes one, renews it, and gives it back; not all have.
fn leader_election(client: &Client, grants: &[Grant], namespace: &str) -> bool {
    let leases = Target::of("coordination.k8s.io", "leases");
    let place = Place::Namespace(namespace.to_owned());
    let may = |verb: &str| granted(grants, &leases, &place, verb, "absent");
    if !(may("create") && may("update") && may("get")) {
        return false;
    }
    let path = format!("/apis/coordination.k8s.io/v1/namespaces/{namespace}/leases");
    let mut lease = json!({
        "apiVersion": "coordination.k8s.io/v1", "kind": "Lease",
        "metadata": { "name": "leader", "namespace": namespace },
        "spec": { "holderIdentity": "first" },
    });
    let answer = client.post(&path, &lease);
    assert_eq!(answer.status, 201, "{:?}", answer.body);
    lease["metadata"]["resourceVersion"] = answer.body["metadata"]["resourceVersion"].clone();
    lease["spec"]["holderIdentity"] = json!("second");
    let one = format!("{path}/leader");
    assert_eq!(client.send("PUT", &one, Some(&lease)).status, 200);
    assert_eq!(client.get(&one).body["spec"]["holderIdentity"], "second");
    if may("delete") {
        assert_eq!(client.send("DELETE", &one, None).status, 200);
    }
    true
}

/// A server of metrics or of an API checks its callers and their permissions, and reads how the API
/// server shows itself. Returns whether this account asks.
fn authentication(
    client: &Client,
    grants: &[Grant],
    account: &str,
    wrong: &mut Vec<String>,
) -> bool {
    let may = |group: &str, resource: &str| {
        granted(grants, &Target::of(group, resource), &Place::Cluster, "create", "absent")
    };
    if may("authentication.k8s.io", "tokenreviews") {
        let review = json!({
            "apiVersion": "authentication.k8s.io/v1", "kind": "TokenReview",
            "spec": { "token": client.token() },
        });
        let answer = client.post("/apis/authentication.k8s.io/v1/tokenreviews", &review);
        if answer.body["status"]["authenticated"] != true {
            wrong.push(format!("{account}: TokenReview: {:?}", answer.body));
        }
    }
    if may("authorization.k8s.io", "subjectaccessreviews") {
        let review = json!({
            "apiVersion": "authorization.k8s.io/v1", "kind": "SubjectAccessReview",
            "spec": {
                "user": "somebody",
                "nonResourceAttributes": { "path": "/metrics", "verb": "get" },
            },
        });
        let answer = client.post("/apis/authorization.k8s.io/v1/subjectaccessreviews", &review);
        if answer.body["status"]["allowed"] != false {
            wrong.push(format!("{account}: SubjectAccessReview: {:?}", answer.body));
        }
    }
    let (configmaps, place) =
        (Target::of("", "configmaps"), Place::Namespace("kube-system".to_owned()));
    let expected = granted(grants, &configmaps, &place, "get", AUTH_SETTINGS);
    let path = format!("/api/v1/namespaces/kube-system/configmaps/{AUTH_SETTINGS}");
    let answer = client.get(&path);
    if answer.body["data"]["requestheader-client-ca-file"].is_string() != expected {
        wrong.push(format!("{account}: authentication settings: {:?}", answer.body));
    }
    may("authentication.k8s.io", "tokenreviews")
}
