//! Fields that the API server, its controllers or another release own: what `diff` says about changes
//! next to them, and the upgrades after the one that looks fine.

use crate::command::Case;
use crate::control_plane::ControlPlane;
use crate::helm::Helm;
use crate::lamp::{CONFIG, CSV_FILE};
use crate::lifecycle::shell;
use crate::object_faults::{ObjectFault, places, samples};
use bundle2chart::diff::{ChangeSet, Options, Side, compare};
use serde_json::{Value as Json, json};
use std::collections::BTreeSet;
use std::path::Path;
use std::thread::sleep;
use std::time::Duration;

const NAMESPACE: &str = "default";

const POD: &str = "{metadata: {labels: {a: b}}, spec: {containers: [{name: c, image: 'x:1'}]}}";

/// Objects by kind, to be changed.
const OBJECTS: &[(&str, &str)] = &[
    ("Deployment", "apiVersion: apps/v1, spec: {selector: {matchLabels: {a: b}}, template: POD}"),
    ("DaemonSet", "apiVersion: apps/v1, spec: {selector: {matchLabels: {a: b}}, template: POD}"),
    (
        "StatefulSet",
        "apiVersion: apps/v1, spec: {serviceName: s, selector: {matchLabels: {a: b}}, template: POD}",
    ),
    (
        "Job",
        "apiVersion: batch/v1, spec: {suspend: true, template: {spec: {restartPolicy: Never, containers: [{name: c, image: 'x:1'}]}}}",
    ),
    ("Service", "apiVersion: v1, spec: {selector: {a: b}, ports: [{port: 80}]}"),
    ("ConfigMap", "apiVersion: v1, data: {a: b}"),
    ("Secret", "apiVersion: v1, stringData: {a: b}"),
    (
        "PersistentVolumeClaim",
        "apiVersion: v1, spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}",
    ),
    (
        "PersistentVolume",
        "apiVersion: v1, spec: {accessModes: [ReadWriteOnce], capacity: {storage: 1Gi}, nfs: {server: a, path: /b}}",
    ),
    ("StorageClass", "apiVersion: storage.k8s.io/v1, provisioner: a.b/c"),
    ("CSIDriver", "apiVersion: storage.k8s.io/v1, spec: {}"),
    ("PriorityClass", "apiVersion: scheduling.k8s.io/v1, value: 1"),
    ("RuntimeClass", "apiVersion: node.k8s.io/v1, handler: a"),
    ("IngressClass", "apiVersion: networking.k8s.io/v1, spec: {controller: a.b/c}"),
    ("EndpointSlice", "apiVersion: discovery.k8s.io/v1, addressType: IPv4, endpoints: []"),
    (
        "RoleBinding",
        "apiVersion: rbac.authorization.k8s.io/v1, roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: a}",
    ),
    ("PodDisruptionBudget", "apiVersion: policy/v1, spec: {selector: {matchLabels: {a: b}}}"),
    (
        "ClusterRole",
        "apiVersion: rbac.authorization.k8s.io/v1, aggregationRule: {clusterRoleSelectors: [{matchLabels: {kubernetes.io/bootstrapping: rbac-defaults}}]}",
    ),
];

/// Changes: a kind, and merge patches of its object on the old side and on the new side.
const CHANGES: &[(&str, &str, &str)] = &[
    // Strategies, whose defaults the server stores.
    ("Deployment", "{}", "{spec: {strategy: {type: Recreate}}}"),
    (
        "Deployment",
        "{spec: {strategy: {type: RollingUpdate}}}",
        "{spec: {strategy: {type: Recreate}}}",
    ),
    (
        "Deployment",
        "{spec: {strategy: {rollingUpdate: {maxSurge: 1}}}}",
        "{spec: {strategy: {type: Recreate}}}",
    ),
    (
        "Deployment",
        "{spec: {strategy: {rollingUpdate: {}}}}",
        "{spec: {strategy: {type: Recreate}}}",
    ),
    ("StatefulSet", "{}", "{spec: {updateStrategy: {type: OnDelete}}}"),
    (
        "StatefulSet",
        "{spec: {updateStrategy: {rollingUpdate: {partition: 1}}}}",
        "{spec: {updateStrategy: {type: OnDelete}}}",
    ),
    ("DaemonSet", "{}", "{spec: {updateStrategy: {type: OnDelete}}}"),
    // Unions of which the server fills a part.
    (
        "Deployment",
        "{spec: {template: {spec: {containers: [{name: c, image: 'x:1', livenessProbe: {httpGet: {port: 80}}}]}}}}",
        "{spec: {template: {spec: {containers: [{name: c, image: 'x:1', livenessProbe: {grpc: {port: 80}}}]}}}}",
    ),
    (
        "Deployment",
        "{spec: {template: {spec: {containers: [{name: c, image: 'x:1', env: [{name: E, valueFrom: {fieldRef: {fieldPath: metadata.name}}}]}]}}}}",
        "{spec: {template: {spec: {containers: [{name: c, image: 'x:1', env: [{name: E, value: e}]}]}}}}",
    ),
    (
        "Deployment",
        "{spec: {template: {spec: {volumes: [{name: v, configMap: {name: m}}]}}}}",
        "{spec: {template: {spec: {volumes: [{name: v, secret: {secretName: m}}]}}}}",
    ),
    ("Service", "{spec: {sessionAffinity: ClientIP}}", "{spec: {sessionAffinity: None}}"),
    ("Service", "{spec: {type: NodePort}}", "{spec: {type: ClusterIP}}"),
    (
        "Service",
        "{spec: {type: LoadBalancer, externalTrafficPolicy: Local}}",
        "{spec: {type: ClusterIP}}",
    ),
    // Immutable fields.
    (
        "Deployment",
        "{}",
        "{spec: {selector: {matchLabels: {c: d}}, template: {metadata: {labels: {c: d}}}}}",
    ),
    ("StatefulSet", "{}", "{spec: {serviceName: t}}"),
    ("StatefulSet", "{}", "{spec: {podManagementPolicy: Parallel}}"),
    ("StatefulSet", "{}", "{spec: {persistentVolumeClaimRetentionPolicy: {whenDeleted: Delete}}}"),
    ("StatefulSet", "{}", "{spec: {minReadySeconds: 3, revisionHistoryLimit: 3}}"),
    ("Job", "{}", "{spec: {completions: 2}}"),
    ("Job", "{}", "{spec: {backoffLimit: 2, parallelism: 2, ttlSecondsAfterFinished: 60}}"),
    ("Job", "{spec: {completions: 1}}", "{spec: {completions: 1, completionMode: Indexed}}"),
    ("Job", "{}", "{spec: {managedBy: a.b/c}}"),
    (
        "Job",
        "{spec: {completionMode: Indexed, completions: 2}}",
        "{spec: {completionMode: Indexed, completions: 2, backoffLimitPerIndex: 1}}",
    ),
    ("Service", "{}", "{spec: {clusterIP: None}}"),
    ("Service", "{spec: {clusterIP: None}}", "{spec: {type: NodePort}}"),
    (
        "Service",
        "{spec: {type: LoadBalancer}}",
        "{spec: {type: LoadBalancer, loadBalancerClass: a.b/c}}",
    ),
    ("Service", "{}", "{spec: {type: LoadBalancer, loadBalancerClass: a.b/c}}"),
    ("ConfigMap", "{immutable: true}", "{immutable: true, data: {a: c}}"),
    ("ConfigMap", "{immutable: true}", "{}"),
    ("ConfigMap", "{}", "{immutable: true, data: {a: c}}"),
    ("Secret", "{type: Opaque}", "{type: a.b/c}"),
    ("PersistentVolumeClaim", "{}", "{spec: {resources: {limits: {storage: 2Gi}}}}"),
    ("PersistentVolumeClaim", "{}", "{spec: {accessModes: [ReadWriteMany]}}"),
    ("PersistentVolumeClaim", "{}", "{spec: {volumeMode: Block}}"),
    ("PersistentVolume", "{}", "{spec: {volumeMode: Block}}"),
    ("PersistentVolume", "{}", "{spec: {capacity: {storage: 2Gi}, accessModes: [ReadWriteMany]}}"),
    ("StorageClass", "{}", "{provisioner: d.e/f}"),
    ("StorageClass", "{}", "{parameters: {a: b}}"),
    ("StorageClass", "{}", "{reclaimPolicy: Retain}"),
    ("StorageClass", "{}", "{volumeBindingMode: WaitForFirstConsumer}"),
    ("StorageClass", "{}", "{allowVolumeExpansion: true, mountOptions: [a]}"),
    ("CSIDriver", "{}", "{spec: {attachRequired: false}}"),
    ("CSIDriver", "{}", "{spec: {volumeLifecycleModes: [Ephemeral]}}"),
    (
        "CSIDriver",
        "{}",
        "{spec: {podInfoOnMount: true, fsGroupPolicy: File, storageCapacity: true}}",
    ),
    ("PriorityClass", "{}", "{value: 2}"),
    ("PriorityClass", "{}", "{preemptionPolicy: Never}"),
    ("PriorityClass", "{}", "{description: a}"),
    ("RuntimeClass", "{}", "{handler: b}"),
    ("RuntimeClass", "{}", "{overhead: {podFixed: {cpu: 1m}}}"),
    ("IngressClass", "{}", "{spec: {controller: a.b/d}}"),
    ("EndpointSlice", "{}", "{addressType: FQDN}"),
    ("RoleBinding", "{}", "{roleRef: {name: b}}"),
    ("PodDisruptionBudget", "{spec: {minAvailable: 1}}", "{spec: {maxUnavailable: 1}}"),
    // Fields that controllers set.
    ("ClusterRole", "{}", "{rules: []}"),
    ("ClusterRole", "{}", "{aggregationRule: {clusterRoleSelectors: [{matchLabels: {c: d}}]}}"),
    ("Deployment", "{}", "{metadata: {annotations: {deployment.kubernetes.io/revision: '7'}}}"),
    (
        "Secret",
        "{type: kubernetes.io/service-account-token, stringData: null, metadata: {annotations: {kubernetes.io/service-account.name: default}}}",
        "{type: kubernetes.io/service-account-token, stringData: null, metadata: {annotations: {kubernetes.io/service-account.name: default}}, data: {token: YQ==}}",
    ),
];

fn yaml(text: &str) -> Json {
    serde_yaml::from_str(text).unwrap_or_else(|error| panic!("{error}: {text}"))
}

/// Applies a JSON merge patch.
fn merge(value: &mut Json, patch: &Json) {
    match (value, patch) {
        (Json::Object(value), Json::Object(patch)) => {
            for (key, patch) in patch {
                if patch.is_null() {
                    value.remove(key);
                } else {
                    merge(value.entry(key.clone()).or_insert(json!({})), patch);
                }
            }
        }
        (value, patch) => *value = patch.clone(),
    }
}

/// The object of a change on one side.
fn object(index: usize, kind: &str, patch: &str) -> Json {
    let (_, rest) = OBJECTS.iter().find(|(of, _)| *of == kind).expect("a kind");
    let name =
        format!("t{index}.example.com").replace('.', if kind == "CSIDriver" { "." } else { "-" });
    let text = format!("{{kind: {kind}, metadata: {{name: {name}}}, {rest}}}");
    let mut object = yaml(&text.replace("POD", POD));
    merge(&mut object, &yaml(patch));
    object
}

/// Has Helm's field manager apply objects; returns the indices of those that the server refused.
fn apply(cluster: &ControlPlane, objects: &[Json], options: &[&str]) -> BTreeSet<usize> {
    let arguments = ["apply", "--server-side", "--field-manager=helm", "--filename", "-"];
    let arguments = [&arguments[..], options].concat();
    let list = json!({"apiVersion": "v1", "kind": "List", "items": objects});
    let run = cluster.kubectl_as(&cluster.kubeconfig(), &arguments, &list.to_string());
    let applied = |object: &Json| {
        let name = object["metadata"]["name"].as_str().expect("a name");
        run.stdout.contains(&format!("/{name} serverside-applied"))
    };
    let refused: BTreeSet<usize> =
        objects.iter().enumerate().filter(|(_, o)| !applied(o)).map(|(index, _)| index).collect();
    assert_eq!(refused.is_empty(), run.success, "{}", run.stderr);
    assert!(refused.len() < objects.len(), "{}\n{}", run.stdout, run.stderr);
    refused
}

/// Waits until controllers have set the last of the fields that they own.
fn wait_for_controllers(cluster: &ControlPlane, objects: &[Json]) {
    let own = |kind: &str| {
        let of_kind = objects.iter().filter(move |object| object["kind"] == kind);
        let token = |object: &&Json| object["type"] == "kubernetes.io/service-account-token";
        let mut of_kind = of_kind.filter(|object| kind != "Secret" || token(object));
        let object = of_kind.next_back().expect("an object");
        cluster.get(&[kind, object["metadata"]["name"].as_str().expect("a name")])
    };
    cluster.wait_for("fields of controllers", || {
        let revision = "/metadata/annotations/deployment.kubernetes.io~1revision";
        let set = own("Deployment").pointer(revision).is_some()
            && own("Secret").pointer("/data/token").is_some()
            && own("ClusterRole")["rules"].is_array();
        set.then_some(())
    });
}

/// Findings about upgrades that the server refuses.
const REFUSALS: [&str; 3] = ["immutable-field", "stored-default-refused", "controller-field-added"];

fn difference(old: &Json, new: &Json) -> ChangeSet {
    let side = |object: &Json| Side::new("side", [object.clone()], NAMESPACE, None);
    compare(side(old), side(new), &Options::default())
}

fn has(set: &ChangeSet, codes: &[&str]) -> bool {
    let mut findings = set.changes().flat_map(|(_, change)| &change.findings);
    findings.any(|finding| codes.contains(&finding.rule.code))
}

/// Each change, and its reverse where a type decides which other fields are allowed.
fn changes() -> Vec<(&'static str, &'static str, &'static str)> {
    let reversed = CHANGES
        .iter()
        .filter(|(_, old, new)| new.contains("type: ") && !old.contains("service-account-token"));
    let reversed = reversed.map(|(kind, old, new)| (*kind, *new, *old));
    CHANGES.iter().copied().chain(reversed).collect()
}

#[test]
#[ignore = "needs Go 1.26: cargo test --test api_server -- --ignored"]
fn changes_are_refused_as_diff_says() {
    let cluster = ControlPlane::start();
    let changes = changes();
    let objects = |of: fn((&'static str, &'static str)) -> &'static str| {
        let objects = changes.iter().enumerate();
        let objects = objects.map(|(index, (kind, old, new))| object(index, kind, of((old, new))));
        objects.collect::<Vec<_>>()
    };
    let (old, new) = (objects(|(old, _)| old), objects(|(_, new)| new));
    assert_eq!(apply(&cluster, &old, &[]), BTreeSet::new());
    wait_for_controllers(&cluster, &old);
    let refused = apply(&cluster, &new, &[]);
    let back = apply(&cluster, &old, &[]);

    let mut wrong = Vec::new();
    for (index, change) in changes.iter().enumerate() {
        let set = difference(&old[index], &new[index]);
        let said = has(&set, &REFUSALS);
        if said != refused.contains(&index) {
            wrong.push(format!("{change:?}: diff says refused: {said}"));
        }
        // A refused change has nothing to roll back.
        let said = has(&set, &["rollback-refused"]);
        if said != back.contains(&index) && !refused.contains(&index) {
            wrong.push(format!("{change:?}: diff says that the rollback is refused: {said}"));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

/// Each field of an object of each kind gets another value, or is removed. A change that the server
/// takes in a new object, and refuses in an update, is one that `diff` reports.
#[test]
#[ignore = "needs Go 1.26: cargo test --test api_server -- --ignored"]
fn generated_changes_are_refused_as_diff_says() {
    let cluster = ControlPlane::start();
    let mut objects: Vec<Json> =
        include_str!("field_samples.yaml").split("\n---\n").map(yaml).collect();
    // CRDs have the names of their kinds, and rules of their own.
    objects.extend(samples().into_iter().filter(|o| o["kind"] != "CustomResourceDefinition"));
    let (mut old, mut new) = (Vec::new(), Vec::new());
    for mut object in objects {
        if object["kind"] == "ClusterRole" && object.get("aggregationRule").is_some() {
            object.as_object_mut().expect("an object").remove("rules");
        }
        for change in other_values(&object) {
            new.push(change.in_object(&object));
            old.push(object.clone());
        }
    }
    let named = |objects: &[Json], prefix: &str| {
        let named = objects.iter().enumerate().map(|(index, object)| {
            let mut object = object.clone();
            object["metadata"]["name"] = format!("{prefix}{index}").into();
            object
        });
        named.collect::<Vec<_>>()
    };
    let dry_run = ["--dry-run=server", "--validate=false"];
    let absent = apply(&cluster, &named(&old, "old-"), &[]);
    let invalid = apply(&cluster, &named(&new, "new-"), &dry_run);
    let refused = apply(&cluster, &named(&new, "old-"), &dry_run);
    assert_eq!(absent, BTreeSet::new());
    assert!(invalid.len() * 2 < new.len(), "{} of {} are invalid", invalid.len(), new.len());

    let mut wrong = Vec::new();
    let judged = (0..new.len()).filter(|index| !invalid.contains(index));
    for index in judged {
        let set = difference(&old[index], &new[index]);
        if has(&set, &REFUSALS) != refused.contains(&index) {
            let changes =
                set.changes().map(|(object, change)| format!("{} {}", object.id, change.path));
            wrong.push((refused.contains(&index), changes.collect::<Vec<_>>()));
        }
    }
    eprintln!("{} changes, of which {} are invalid", new.len(), invalid.len());
    assert!(wrong.is_empty(), "refused by the server: {wrong:#?}");
}

/// For each place of an object another value of its type, and none.
fn other_values(object: &Json) -> Vec<ObjectFault> {
    let mut found = Vec::new();
    for (pointer, value) in places(object) {
        let other = match value {
            Json::String(text) => Some(json!(format!("{text}x"))),
            Json::Number(number) => Some(json!(number.as_i64().expect("an integer") + 1)),
            Json::Bool(set) => Some(json!(!set)),
            _ => None,
        };
        let is_item = pointer.rsplit('/').next().is_some_and(|key| key.parse::<usize>().is_ok());
        let removed = (!is_item).then_some(None);
        let values = removed.into_iter().chain(other.map(Some));
        found.extend(values.map(|value| ObjectFault { pointer: pointer.clone(), value }));
    }
    found
}

/// A case with the lamp operator in two versions, of which the new one has another strategy, with a
/// ClusterRole that aggregates others, and with a ServiceAccount for another release.
fn lamps() -> Case {
    let case = Case::with_lamps();
    case.write(
        "bundles.toml",
        format!(
            "{CONFIG}namespace = \"{NAMESPACE}\"\n[bundle.service-accounts]\nrelease = [\"lampd\"]\n\
             [[bundle.adopt]]\nservice-account = \"lampd\"\nrelease = \"lampd\"\n"
        ),
    );
    case.write(
        "bundle/manifests/roles.yaml",
        "{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole, metadata: {name: all-lamps}, rules: [],\n\
         aggregationRule: {clusterRoleSelectors: [{matchLabels: {lamps: 'yes'}}]}}\n---\n\
         {apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole, metadata: {name: lamps, labels: {lamps: 'yes'}},\n\
         rules: [{apiGroups: [''], resources: [pods], verbs: [get]}]}\n",
    );
    let build = || {
        let seen = case.run(&["build"]);
        assert_eq!(seen.code, Some(0), "{}", seen.text());
    };
    build();
    case.replace(CSV_FILE, "version: 1.2.3", "version: 1.3.0");
    case.replace(CSV_FILE, "lamp-operator.v1.2.3", "lamp-operator.v1.3.0");
    let replicas = "          replicas: 1\n";
    case.replace(
        CSV_FILE,
        replicas,
        &format!("{replicas}          strategy: {{type: Recreate}}\n"),
    );
    build();
    case
}

/// A cluster with `helm` and a case.
struct Site<'a> {
    cluster: &'a ControlPlane,
    helm: &'a Helm,
    case: &'a Case,
}

impl Site<'_> {
    /// `helm COMMAND lamps CHART OPTIONS`, with the chart of a version.
    fn chart(&self, command: &str, version: &str, options: &[&str]) -> crate::helm::Run {
        let chart = self.case.path(&format!("out/lamp-operator/{version}"));
        let chart = chart.to_str().expect("UTF-8");
        self.helm([&[command, "lamps", chart][..], options].concat().as_slice())
    }

    fn helm(&self, arguments: &[&str]) -> crate::helm::Run {
        let all = arguments.iter().copied().chain(["--namespace", NAMESPACE]);
        self.helm.run_on(&self.cluster.kubeconfig(), all)
    }

    /// Uninstalls as the README says: the controller of the aggregated ClusterRole may create it again.
    fn uninstall(&self) {
        self.helm(&["uninstall", "lamps"]).expect_success();
        let delete = "kubectl delete clusterrole 'all-lamps' --ignore-not-found";
        let readme = self.case.read("out/lamp-operator/1.3.0/README.md");
        assert!(readme.contains(&format!("{delete}   # ")), "{readme}");
        sleep(Duration::from_secs(1));
        shell(self.cluster, self.helm, Path::new("/"), delete).expect_success();
    }

    fn is_helm_4(&self) -> bool {
        self.helm.version.starts_with("4.")
    }

    /// Waits until the controller has set the rules of the ClusterRole.
    fn wait_for_rules(&self) {
        self.cluster.wait_for("rules of a ClusterRole", || {
            let role = self.cluster.get(&["clusterrole", "all-lamps"]);
            role["rules"].as_array().is_some_and(|rules| !rules.is_empty()).then_some(())
        });
    }

    /// Fails if Helm 4 does not report that it and another field manager have different values.
    #[track_caller]
    fn expect_conflict(&self, run: &crate::helm::Run, manager: &str) {
        if self.is_helm_4() {
            let words = format!("conflict with \"{manager}\"");
            assert!(!run.success && run.stderr.contains(&words), "{}", run.stderr);
        } else {
            assert!(run.success, "{}", run.stderr);
        }
    }
}

/// Installs, upgrades, rolls back and reinstalls with what other owners do in between.
#[test]
#[ignore = "needs Go 1.26: cargo test --test api_server -- --ignored"]
fn upgrades_next_to_other_owners() {
    let case = lamps();
    let cluster = ControlPlane::start();
    for helm in Helm::all() {
        let site = Site { cluster: &cluster, helm: &helm, case: &case };
        site.chart("install", "1.2.3", &[]).expect_success();
        site.wait_for_rules();
        site.chart("upgrade", "1.2.3", &[]).expect_success();

        refused_strategy(&site);
        scaled(&site);
        changed_pull_secrets(&site);
        adopted_account(&site);

        site.uninstall();
        site.helm(&["uninstall", "lampd"]).expect_success();
        let crd = "lamps.light.example.com";
        cluster.kubectl(&["delete", "crd", crd]).expect_success();
    }
}

/// The API server's default of the old strategy makes it refuse the new one, and the commands of the
/// plan pass.
fn refused_strategy(site: &Site<'_>) {
    let run = site.chart("upgrade", "1.3.0", &[]);
    if site.is_helm_4() {
        let words = "spec.strategy.rollingUpdate: Forbidden";
        assert!(!run.success && run.stderr.contains(words), "{}", run.stderr);
        let upgrade = site.case.read("out/lamp-operator/1.3.0/UPGRADE.md");
        let delete =
            "kubectl --namespace NAMESPACE delete --cascade=orphan deployment lamp-operator";
        assert!(upgrade.contains(delete), "{upgrade}");
        let words: Vec<&str> = delete.split(' ').skip(1).collect();
        let words: Vec<&str> = words
            .into_iter()
            .map(|word| if word == "NAMESPACE" { NAMESPACE } else { word })
            .collect();
        site.cluster.kubectl(&words).expect_success();
        site.chart("upgrade", "1.3.0", &[]).expect_success();
    } else {
        assert!(run.success, "{}", run.stderr);
    }
    site.chart("upgrade", "1.3.0", &[]).expect_success();
    let deployment = site.cluster.get(&["deployment", "lamp-operator", "--namespace", NAMESPACE]);
    assert_eq!(deployment["spec"]["strategy"], json!({"type": "Recreate"}));
}

/// `kubectl scale` and `kubectl set image` conflict as docs/field-ownership.md says.
fn scaled(site: &Site<'_>) {
    let deployment = "deployment/lamp-operator";
    for (change, manager) in [
        (vec!["scale", "--replicas=3", deployment], "kubectl"),
        (vec!["set", "image", deployment, "manager=example.com/lamps:debug"], "kubectl-set"),
    ] {
        let namespace = ["--namespace", NAMESPACE];
        site.cluster.kubectl(&[&change[..], &namespace].concat()).expect_success();
        let run = site.chart("upgrade", "1.3.0", &[]);
        site.expect_conflict(&run, manager);
        if site.is_helm_4() {
            // Once is enough.
            site.chart("upgrade", "1.3.0", &["--force-conflicts"]).expect_success();
            site.chart("upgrade", "1.3.0", &[]).expect_success();
        }
    }
}

/// An operator adds a Secret to `imagePullSecrets`, and the chart's values then name it too.
fn changed_pull_secrets(site: &Site<'_>) {
    let own = ["--set", "pullSecret.name=registry"];
    site.chart("upgrade", "1.3.0", &own).expect_success();
    let patch = r#"{"imagePullSecrets": [{"name": "registry"}, {"name": "mine"}]}"#;
    let change = ["patch", "serviceaccount", "lamp-operator", "--type=merge", "--patch", patch];
    let options = ["--field-manager=lamp-operator", "--namespace", NAMESPACE];
    site.cluster.kubectl(&[&change[..], &options].concat()).expect_success();
    let run = site.chart("upgrade", "1.3.0", &own);
    site.expect_conflict(&run, "lamp-operator");
    let both = [&own[..], &["--set", "imagePullSecrets[0].name=mine"]].concat();
    site.chart("upgrade", "1.3.0", &both).expect_success();
    site.chart("upgrade", "1.3.0", &["--reset-values"]).expect_success();
}

/// A ServiceAccount that another release has adopted stays as it is when this one is installed again.
fn adopted_account(site: &Site<'_>) {
    let account =
        "apiVersion: v1\nkind: ServiceAccount\nmetadata: {name: lampd, labels: {of: lampd}}\n";
    site.case.write("lampd/Chart.yaml", "{apiVersion: v2, name: lampd, version: 1.0.0}");
    site.case.write("lampd/templates/account.yaml", account);
    let chart = site.case.path("lampd");
    site.helm(&["install", "lampd", chart.to_str().expect("UTF-8")]).expect_success();
    let found = || site.cluster.get(&["serviceaccount", "lampd", "--namespace", NAMESPACE]);
    let before = found();
    assert_eq!(before["metadata"]["labels"]["of"], "lampd");
    site.uninstall();
    site.chart("install", "1.3.0", &[]).expect_success();
    assert_eq!(found(), before);
}
