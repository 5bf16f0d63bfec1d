//! Mutations of webhooks, Services, policies, charts and bundles: what others in the cluster notice.

use super::*;
use crate::{BundleFacts, ChartFacts};

pub(super) fn mutations() -> [(&'static str, Vec<Mutation>); 7] {
    [
        ("webhooks", webhooks()),
        ("services", services()),
        ("availability", availability()),
        ("objects", objects()),
        ("hooks", hooks()),
        ("bundles", bundles()),
        ("charts", charts()),
    ]
}

fn webhooks() -> Vec<Mutation> {
    vec![
        risky(
            "failures block requests",
            vec![set("webhook/failurePolicy", json!("Fail"))],
            "webhook-policy-hardened",
            "widgets cannot be written while it is down",
        ),
        risky(
            "failures no longer block requests",
            vec![set("webhook/failurePolicy", json!("Ignore"))],
            "webhook-policy-relaxed",
            "while it is down, objects are accepted that it would reject",
        )
        .from(vec![set("webhook/failurePolicy", json!("Fail"))]),
        risky(
            "failures block requests by default",
            vec![unset("webhook/failurePolicy")],
            "webhook-policy-hardened",
            "the default in v1 is Fail",
        ),
        risky(
            "more operations",
            vec![set("webhook/rules/0/operations", json!(["CREATE", "UPDATE"]))],
            "webhook-rules-widened",
            "updates depend on the webhook, too",
        ),
        risky(
            "pods",
            vec![set(
                "webhook/rules/1",
                json!({"apiGroups": [""], "apiVersions": ["v1"],
            "resources": ["pods"], "operations": ["CREATE"]}),
            )],
            "webhook-on-core-added",
            "the creation of every pod depends on the webhook",
        ),
        risky(
            "no namespace selector",
            vec![unset("webhook/namespaceSelector")],
            "webhook-selector-removed",
            "all namespaces depend on the webhook",
        ),
        risky(
            "a stricter namespace selector",
            vec![set("webhook/namespaceSelector/matchLabels/a", json!("b"))],
            "webhook-narrowed",
            "the webhook is removed for the other namespaces",
        ),
        risky(
            "a shorter timeout",
            vec![set("webhook/timeoutSeconds", json!(1))],
            "webhook-timeout-lowered",
            "slow calls fail",
        ),
        risky(
            "a longer timeout",
            vec![set("webhook/timeoutSeconds", json!(30))],
            "webhook-timeout-raised",
            "requests wait longer while it is down",
        ),
        risky(
            "a longer timeout by default",
            vec![unset("webhook/timeoutSeconds")],
            "webhook-timeout-raised",
            "the default is 10 s",
        ),
        breaking(
            "side effects",
            vec![set("webhook/sideEffects", json!("Some"))],
            "object-refused",
            "version 1 of the API has no such webhooks",
        ),
        risky(
            "another path",
            vec![set("webhook/clientConfig/service/path", json!("/v2/validate"))],
            "webhook-target-changed",
            "another endpoint answers",
        ),
        breaking(
            "another Service that is missing",
            vec![set("webhook/clientConfig/service/name", json!("widgets"))],
            "backend-missing",
            "the API server cannot call the webhook",
        ),
        breaking(
            "a port that the Service lacks",
            vec![set("webhook/clientConfig/service/port", json!(9443))],
            "backend-missing",
            "the API server cannot call the webhook",
        ),
        info(
            "the default port written out",
            vec![set("webhook/clientConfig/service/port", json!(443))],
            "",
            "443 is the default",
        ),
        info(
            "defaults of a webhook written out",
            vec![
                set("webhook/matchPolicy", json!("Equivalent")),
                set("webhook/objectSelector", json!({})),
                set("webhook/rules/0/scope", json!("*")),
            ],
            "",
            "the API server sets them",
        ),
        info(
            "another CA bundle",
            vec![set("webhook/clientConfig/caBundle", json!("Yg=="))],
            "field-changed",
            "the certificate is renewed with it",
        ),
        risky(
            "the webhook removed",
            vec![Patch::Delete("ValidatingWebhookConfiguration")],
            "webhook-removed",
            "what it rejected is accepted",
        ),
        risky(
            "a review version removed",
            vec![set("webhook/admissionReviewVersions", json!(["v1"]))],
            "webhook-review-version-removed",
            "old API servers may know only v1beta1",
        )
        .from(vec![set("webhook/admissionReviewVersions", json!(["v1", "v1beta1"]))]),
    ]
}

fn services() -> Vec<Mutation> {
    vec![
        breaking(
            "a port removed",
            vec![
                set("Service/spec/ports/0/port", json!(8443)),
                Patch::Delete("ValidatingWebhookConfiguration"),
            ],
            "service-port-changed",
            "clients of the port cannot connect",
        ),
        info(
            "a port added",
            vec![set(
                "Service/spec/ports/1",
                json!({"name": "metrics", "port": 8080, "targetPort": 8443}),
            )],
            "service-port-added",
            "nothing that was served is missing",
        ),
        risky(
            "a port renamed",
            vec![set("Service/spec/ports/0/name", json!("webhook"))],
            "service-port-renamed",
            "Ingresses and ServiceMonitors may use the name",
        ),
        breaking(
            "a named target port that the pods lack",
            vec![set("Service/spec/ports/0/targetPort", json!("admission"))],
            "port-unknown",
            "the Service has no endpoints for the port",
        ),
        breaking(
            "the target port renamed in the container",
            vec![set("container/ports/0/name", json!("admission"))],
            "port-unknown",
            "the Service still has the old name",
        ),
        risky(
            "a target port that nothing mentions",
            vec![set("Service/spec/ports/0/targetPort", json!(9444))],
            "port-undeclared",
            "programs may listen on ports that they do not declare",
        ),
        breaking(
            "a selector without pods",
            vec![set("Service/spec/selector", json!({"app": "widgets"}))],
            "service-without-pods",
            "the Service has no endpoints",
        ),
        risky(
            "a new Service without pods",
            vec![Patch::Add(object(
                "v1",
                "Service",
                "widget-db",
                json!({"spec": {"selector": {"app": "db"}, "ports": [{"port": 5432}]}}),
            ))],
            "service-selects-nothing",
            "the operator may create the pods",
        ),
        risky(
            "a load balancer",
            vec![set("Service/spec/type", json!("LoadBalancer"))],
            "service-exposed",
            "clients outside of the cluster can connect",
        ),
        breaking(
            "no load balancer any more",
            vec![set("Service/spec/type", json!("ClusterIP"))],
            "service-withdrawn",
            "the external address is released",
        )
        .from(vec![set("Service/spec/type", json!("LoadBalancer"))]),
        breaking(
            "a headless Service",
            vec![set("Service/spec/clusterIP", json!("None"))],
            "immutable-field",
            "clusterIP is immutable",
        ),
        info(
            "a headless Service that is no longer called one",
            vec![unset("Service/spec/clusterIP")],
            "field-changed",
            "the API server keeps the address that a manifest leaves out, also `None`",
        )
        .from(vec![set("Service/spec/clusterIP", json!("None"))]),
        info(
            "defaults of a Service written out",
            vec![
                set("Service/spec/type", json!("ClusterIP")),
                set("Service/spec/sessionAffinity", json!("None")),
                set("Service/spec/ports/0/protocol", json!("TCP")),
            ],
            "",
            "the API server sets them",
        ),
        risky(
            "only local endpoints",
            vec![set("Service/spec/internalTrafficPolicy", json!("Local"))],
            "service-routing-changed",
            "nodes without a pod drop the traffic",
        ),
        info(
            "an annotation",
            vec![set("Service/metadata/annotations", json!({"a": "b"}))],
            "metadata-changed",
            "only controllers that know it read it",
        ),
        risky(
            "a NetworkPolicy",
            vec![Patch::Add(object(
                "networking.k8s.io/v1",
                "NetworkPolicy",
                "widgets",
                json!({"spec": {"podSelector": {}}}),
            ))],
            "network-policy-added",
            "all ingress is dropped",
        ),
        risky(
            "no NetworkPolicy any more",
            vec![Patch::Delete("NetworkPolicy")],
            "network-policy-removed",
            "the pods accept all traffic",
        )
        .from(vec![Patch::Add(object(
            "networking.k8s.io/v1",
            "NetworkPolicy",
            "widgets",
            json!({"spec": {"podSelector": {}}}),
        ))]),
        info(
            "the default policy types written out",
            vec![set("NetworkPolicy/spec/policyTypes", json!(["Ingress"]))],
            "",
            "ingress is the default without egress rules",
        )
        .from(vec![Patch::Add(object(
            "networking.k8s.io/v1",
            "NetworkPolicy",
            "widgets",
            json!({"spec": {"podSelector": {}}}),
        ))]),
    ]
}

fn availability() -> Vec<Mutation> {
    let scaler = || {
        vec![Patch::Add(object(
            "autoscaling/v2",
            "HorizontalPodAutoscaler",
            "widgets",
            json!({"spec": {"maxReplicas": 5, "scaleTargetRef": {"name": "widget-operator"}}}),
        ))]
    };
    vec![
        risky(
            "a stricter disruption budget",
            vec![set("PodDisruptionBudget/spec/minAvailable", json!(2))],
            "disruption-budget-tightened",
            "drains wait with two replicas",
        ),
        risky(
            "a looser disruption budget",
            vec![set("PodDisruptionBudget/spec/minAvailable", json!(0))],
            "disruption-budget-changed",
            "all pods may be evicted",
        ),
        risky(
            "no disruption budget",
            vec![Patch::Delete("PodDisruptionBudget")],
            "availability-removed",
            "all pods may be evicted",
        ),
        risky(
            "a lower maximum of the autoscaler",
            vec![set("HorizontalPodAutoscaler/spec/maxReplicas", json!(3))],
            "autoscaling-changed",
            "three replicas may be too few",
        )
        .from(scaler()),
        info(
            "the default minimum of the autoscaler written out",
            vec![set("HorizontalPodAutoscaler/spec/minReplicas", json!(1))],
            "",
            "1 is the default",
        )
        .from(scaler()),
    ]
}

fn objects() -> Vec<Mutation> {
    let class = |value: i64| {
        let mut class = object("scheduling.k8s.io/v1", "PriorityClass", "widgets", json!({}));
        class["value"] = json!(value);
        Patch::Add(class)
    };
    let api = || {
        Patch::Add(object(
            "apiregistration.k8s.io/v1",
            "APIService",
            "v1.metrics.example.com",
            json!({"spec": {"group": "metrics.example.com", "version": "v1",
                "service": {"name": "widget-webhook", "namespace": "ns"}}}),
        ))
    };
    let stateful = || {
        Patch::Add(object(
            "apps/v1",
            "StatefulSet",
            "widget-db",
            json!({"spec": {
            "serviceName": "db", "selector": {"matchLabels": {"app": "db"}},
            "template": {"metadata": {"labels": {"app": "db"}}, "spec": {"containers": [
                {"name": "db", "image": "registry.example.com/db:1"}]}},
            "volumeClaimTemplates": [{"metadata": {"name": "data"}, "spec": {
                "resources": {"requests": {"storage": "1Gi"}}}}]}}),
        ))
    };
    let ingress = || {
        Patch::Add(object(
            "networking.k8s.io/v1",
            "Ingress",
            "widgets",
            json!({"spec": {"rules": [{"host": "widgets.example.com"}]}}),
        ))
    };
    let job = || {
        Patch::Add(object(
            "batch/v1",
            "Job",
            "migrate",
            json!({"spec": {"template": {"spec": {
            "restartPolicy": "Never",
            "containers": [{"name": "migrate", "image": "registry.example.com/widgets/migrate:1"}]}}}}),
        ))
    };
    vec![
        breaking(
            "another priority",
            vec![set("PriorityClass/value", json!(5))],
            "immutable-field",
            "the value of a PriorityClass is immutable",
        )
        .from(vec![class(1)]),
        risky(
            "a priority class removed",
            vec![Patch::Delete("PriorityClass")],
            "class-removed",
            "pods of users may name it",
        )
        .from(vec![class(1)]),
        risky(
            "the default priority of the cluster",
            vec![set("PriorityClass/globalDefault", json!(true))],
            "cluster-default-changed",
            "it applies to all pods without a class",
        )
        .from(vec![class(1)]),
        risky(
            "an aggregated API",
            vec![api()],
            "api-service-added",
            "discovery fails while its Service does not answer",
        ),
        breaking(
            "an aggregated API removed",
            vec![Patch::Delete("APIService")],
            "api-service-removed",
            "clients of the API fail",
        )
        .from(vec![api()]),
        risky(
            "an aggregated API without TLS verification",
            vec![set("APIService/spec/insecureSkipTLSVerify", json!(true))],
            "tls-verification-off",
            "anyone in the network path can answer",
        )
        .from(vec![api()]),
        risky(
            "a ServiceMonitor without TLS verification",
            vec![set(
                "ServiceMonitor/spec/endpoints/0/tlsConfig/insecureSkipVerify",
                json!(true),
            )],
            "tls-verification-off",
            "anyone in the network path can answer",
        )
        .from(vec![Patch::Add(object(
            "monitoring.coreos.com/v1",
            "ServiceMonitor",
            "widgets",
            json!({"spec": {"endpoints": [{"port": "https", "tlsConfig": {"insecureSkipVerify": false}}]}}),
        ))]),
        breaking(
            "fewer pods of a StatefulSet that deletes their claims",
            vec![
                set("StatefulSet/spec/replicas", json!(1)),
                set("StatefulSet/spec/template/metadata/labels/a", json!("b")),
            ],
            "data-removed",
            "the claims are deleted with their data",
        )
        .from(vec![
            stateful(),
            set("StatefulSet/spec/replicas", json!(3)),
            set(
                "StatefulSet/spec/persistentVolumeClaimRetentionPolicy",
                json!({"whenScaled": "Delete"}),
            ),
        ]),
        risky(
            "a partition of a StatefulSet",
            vec![set(
                "StatefulSet/spec/updateStrategy",
                json!({"type": "RollingUpdate", "rollingUpdate": {"partition": 3}}),
            )],
            "rollout-unavailable",
            "pods below the partition are not replaced",
        )
        .from(vec![stateful()]),
        breaking(
            "another external address of a Service",
            vec![set("Service/spec/externalIPs", json!(["192.0.2.2"]))],
            "service-withdrawn",
            "clients use the old address",
        )
        .from(vec![set("Service/spec/externalIPs", json!(["192.0.2.1"]))]),
        risky(
            "no pods of a StatefulSet that keeps their claims, instead of others",
            vec![
                set("StatefulSet/spec/ordinals", json!({"start": 3})),
                set("StatefulSet/spec/template/metadata/labels/a", json!("b")),
            ],
            "volume-claim-unused",
            "the new pods have other claims",
        )
        .from(vec![stateful()]),
        info(
            "other ordinals of a StatefulSet without pods",
            vec![set("StatefulSet/spec/ordinals", json!({"start": 3}))],
            "field-changed",
            "there are no claims",
        )
        .from(vec![stateful(), set("StatefulSet/spec/replicas", json!(0))]),
        breaking(
            "no pods of a StatefulSet",
            vec![set("StatefulSet/spec/replicas", json!(0))],
            "replicas-zero",
            "nothing runs",
        )
        .from(vec![stateful()]),
        risky(
            "fewer pods of a StatefulSet without claims",
            vec![set("StatefulSet/spec/replicas", json!(1))],
            "replicas-lowered",
            "there are no claims",
        )
        .from(vec![
            stateful(),
            set("StatefulSet/spec/replicas", json!(3)),
            unset("StatefulSet/spec/volumeClaimTemplates"),
        ]),
        info(
            "more pods of a StatefulSet",
            vec![set("StatefulSet/spec/replicas", json!(2))],
            "replicas-changed",
            "all claims are mounted",
        )
        .from(vec![stateful()]),
        risky(
            "another host of a route",
            vec![set("HTTPRoute/spec/hostnames", json!(["w.example.com"]))],
            "ingress-changed",
            "clients use the old host",
        )
        .from(vec![Patch::Add(object(
            "gateway.networking.k8s.io/v1",
            "HTTPRoute",
            "widgets",
            json!({"spec": {"hostnames": ["widgets.example.com"]}}),
        ))]),
        info(
            "a Secret in another form",
            vec![set("Secret/stringData", json!({"tls.crt": "a", "tls.key": "a"})), unset("Secret/data")],
            "",
            "the API server encodes it",
        ),
        breaking(
            "other volume claims of a StatefulSet",
            vec![set(
                "StatefulSet/spec/volumeClaimTemplates/0/spec/resources/requests/storage",
                json!("2Gi"),
            )],
            "immutable-field",
            "claim templates are immutable",
        )
        .from(vec![stateful()]),
        breaking(
            "updates only on deletion, by default rolling before",
            vec![set("StatefulSet/spec/updateStrategy", json!({"type": "OnDelete"}))],
            "stored-default-refused",
            "server-side apply keeps the rollingUpdate that the server added, and validation rejects it",
        )
        .from(vec![stateful()]),
        risky(
            "updates only on deletion",
            vec![set("StatefulSet/spec/updateStrategy", json!({"type": "OnDelete"}))],
            "rollout-unavailable",
            "the new image is not rolled out",
        )
        .from(vec![
            stateful(),
            set("StatefulSet/spec/updateStrategy", json!({"rollingUpdate": {"partition": 0}})),
        ]),
        info(
            "the default pod management written out",
            vec![set("StatefulSet/spec/podManagementPolicy", json!("OrderedReady"))],
            "",
            "it is the default, so the immutable field is the same",
        )
        .from(vec![stateful()]),
        breaking(
            "a StatefulSet removed",
            vec![Patch::Delete("StatefulSet")],
            "data-removed",
            "its data belongs to no pod",
        )
        .from(vec![stateful()]),
        breaking(
            "a Deployment replaced by nothing",
            vec![Patch::Delete("Deployment")],
            "service-without-pods",
            "the webhook's Service has no endpoints",
        ),
        breaking(
            "an Ingress removed",
            vec![Patch::Delete("Ingress")],
            "route-removed",
            "its host is no longer routed",
        )
        .from(vec![ingress()]),
        risky(
            "another host",
            vec![set("Ingress/spec/rules/0/host", json!("w.example.com"))],
            "ingress-changed",
            "clients use the old host",
        )
        .from(vec![ingress()]),
        breaking(
            "another template of a Job",
            vec![set(
                "Job/spec/template/spec/containers/0/image",
                json!("registry.example.com/widgets/migrate:2"),
            )],
            "immutable-field",
            "the template of a Job is immutable",
        )
        .from(vec![job()]),
        info(
            "another template of a hook",
            vec![set(
                "Job/spec/template/spec/containers/0/image",
                json!("registry.example.com/widgets/migrate:2"),
            )],
            "image-changed",
            "Helm deletes hooks before it creates them",
        )
        .from(vec![job(), set("Job/metadata/annotations", json!({"helm.sh/hook": "pre-upgrade"}))]),
        risky(
            "a custom resource of another operator",
            vec![Patch::Add(object(
                "monitoring.coreos.com/v1",
                "ServiceMonitor",
                "widgets",
                json!({}),
            ))],
            "api-needed",
            "Helm rejects the release where the CRD is missing",
        ),
        risky(
            "a custom resource removed",
            vec![Patch::Delete("ServiceMonitor")],
            "custom-resource-removed",
            "its operator stops scraping",
        )
        .from(vec![Patch::Add(object(
            "monitoring.coreos.com/v1",
            "ServiceMonitor",
            "widgets",
            json!({}),
        ))]),
        risky(
            "another Service of an aggregated API",
            vec![set("APIService/spec/service/namespace", json!("monitoring"))],
            "api-service-changed",
            "another endpoint answers requests for the API",
        )
        .from(vec![api()]),
        risky(
            "claims of a StatefulSet deleted with it",
            vec![set(
                "StatefulSet/spec/persistentVolumeClaimRetentionPolicy",
                json!({"whenDeleted": "Delete"}),
            )],
            "volume-reclaim-changed",
            "the default is Retain",
        )
        .from(vec![stateful()]),
        risky(
            "another schedule",
            vec![set("CronJob/spec/schedule", json!("0 4 * * *"))],
            "schedule-changed",
            "the job runs at another time",
        )
        .from(vec![Patch::Add(object(
            "batch/v1",
            "CronJob",
            "backup",
            json!({"spec": {"schedule": "0 3 * * *", "jobTemplate": {"spec": {}}}}),
        ))]),
        risky(
            "a ServiceAccount of operands removed",
            vec![Patch::Delete("ServiceAccount")],
            "service-account-removed",
            "the operator may create pods with it",
        )
        .from(vec![
            unset("pod/serviceAccountName"),
            set("container/args", json!([])),
            set("ClusterRoleBinding/subjects", json!([])),
            set("RoleBinding/subjects", json!([])),
        ]),
        risky(
            "a quota",
            vec![Patch::Add(object("v1", "ResourceQuota", "q", json!({})))],
            "quota-added",
            "pods above it are rejected",
        ),
        breaking(
            "a Namespace removed",
            vec![Patch::Delete("Namespace")],
            "data-removed",
            "everything in it is deleted",
        )
        .from(vec![Patch::Add(object("v1", "Namespace", "w", json!({})))]),
        risky(
            "a stricter namespace",
            vec![set(
                "Namespace/metadata/labels",
                json!({"pod-security.kubernetes.io/enforce": "restricted"}),
            )],
            "pod-security-changed",
            "it rejects pods that are not restricted",
        )
        .from(vec![Patch::Add(object("v1", "Namespace", "w", json!({})))]),
    ]
}

fn hooks() -> Vec<Mutation> {
    vec![
        risky(
            "a ConfigMap becomes a hook",
            vec![set("ConfigMap/metadata/annotations", json!({"helm.sh/hook": "pre-upgrade"}))],
            "hook-changed",
            "Helm deletes it from the release",
        ),
        risky(
            "a hook joins the release",
            vec![unset("ConfigMap/metadata/annotations")],
            "hook-changed",
            "the object lacks Helm's ownership metadata",
        )
        .from(vec![set("ConfigMap/metadata/annotations", json!({"helm.sh/hook": "pre-upgrade"}))]),
    ]
}

/// Sets the facts of version 1.4.0.
fn old_version(side: &mut Side) {
    side.package = "widget-operator".to_owned();
    side.operator_version = "1.4.0".to_owned();
    side.bundle = BundleFacts {
        csv: "widget-operator.v1.4.0".to_owned(),
        install_modes: Some(vec!["OwnNamespace".to_owned(), "AllNamespaces".to_owned()]),
        requires: Some(vec!["gadget-operator >=1.0.0".to_owned()]),
        watch: Some("all".to_owned()),
        min_kube_version: Some("1.25.0".to_owned()),
        related_images: Some(json!([{"name": "widget", "image": "registry.example.com/w:1"}])),
        ..BundleFacts::default()
    };
}

/// Sets the version to 1.6.0.
fn new_version(side: &mut Side) {
    side.operator_version = "1.6.0".to_owned();
    side.bundle.csv = "widget-operator.v1.6.0".to_owned();
}

fn bundles() -> Vec<Mutation> {
    let start = || vec![Patch::Facts(old_version)];
    vec![
        risky(
            "a version skipped",
            vec![
                Patch::Facts(new_version),
                Patch::Facts(|side| {
                    side.bundle.edges.replaces = "widget-operator.v1.5.0".to_owned()
                }),
            ],
            "upgrade-path-skipped",
            "OLM would install 1.5.0 first",
        )
        .from(start()),
        info(
            "the version that it replaces",
            vec![
                Patch::Facts(new_version),
                Patch::Facts(|side| {
                    side.bundle.edges.replaces = "widget-operator.v1.4.0".to_owned()
                }),
            ],
            "",
            "it is a step of the vendor's upgrade path",
        )
        .from(start()),
        info(
            "a version in the skip range",
            vec![
                Patch::Facts(new_version),
                Patch::Facts(|side| {
                    side.bundle.edges.replaces = "widget-operator.v1.5.0".to_owned();
                    side.bundle.edges.skip_range = ">=1.3.0 <1.6.0".to_owned();
                }),
            ],
            "",
            "OLM upgrades from every version in the range",
        )
        .from(start()),
        info(
            "a version that is skipped by name",
            vec![
                Patch::Facts(new_version),
                Patch::Facts(|side| {
                    side.bundle.edges.replaces = "widget-operator.v1.5.0".to_owned();
                    side.bundle.edges.skips = vec!["widget-operator.v1.4.0".to_owned()];
                }),
            ],
            "",
            "OLM upgrades from every version that is skipped",
        )
        .from(start()),
        risky(
            "a version outside of the skip range",
            vec![
                Patch::Facts(new_version),
                Patch::Facts(|side| {
                    side.bundle.edges.skip_range = ">=1.5.0 <v1.6.0".to_owned();
                }),
            ],
            "upgrade-path-skipped",
            "OLM would not upgrade from 1.4.0",
        )
        .from(start()),
        info(
            "no upgrade path at all",
            vec![Patch::Facts(new_version)],
            "",
            "the vendor does not say how to upgrade",
        )
        .from(start()),
        risky(
            "a downgrade",
            vec![Patch::Facts(|side| side.operator_version = "1.3.0".to_owned())],
            "downgrade",
            "operators rarely read objects of later versions",
        )
        .from(start()),
        info(
            "an earlier version that replaces the old one",
            vec![Patch::Facts(|side| {
                side.operator_version = "1.3.0".to_owned();
                side.bundle.edges.replaces = side.bundle.csv.clone();
                side.bundle.csv = "widget-operator.v1.3.0".to_owned();
            })],
            "",
            "the vendor's upgrade graph decides, such as for 1.0.1-1 after 1.0.1",
        )
        .from(start()),
        breaking(
            "another package",
            vec![Patch::Facts(|side| side.package = "other".to_owned())],
            "package-changed",
            "it is no upgrade",
        )
        .from(start()),
        breaking(
            "the chart watches one namespace",
            vec![Patch::Facts(|side| side.bundle.watch = Some("own".to_owned()))],
            "watch-narrowed",
            "custom resources elsewhere are not reconciled",
        )
        .from(start()),
        risky(
            "an install mode less",
            vec![Patch::Facts(|side| {
                side.bundle.install_modes = Some(vec!["AllNamespaces".to_owned()]);
            })],
            "install-mode-removed",
            "other installations may use it",
        )
        .from(start()),
        info(
            "an install mode more",
            vec![Patch::Facts(|side| {
                side.bundle
                    .install_modes
                    .get_or_insert_default()
                    .push("SingleNamespace".to_owned());
            })],
            "install-mode-added",
            "nothing uses it yet",
        )
        .from(start()),
        breaking(
            "a dependency",
            vec![Patch::Facts(|side| {
                side.bundle
                    .requires
                    .get_or_insert_default()
                    .push("example.org/v1/Gizmo".to_owned());
            })],
            "dependency-added",
            "Helm installs no dependencies",
        )
        .from(start()),
        risky(
            "another range of a dependency",
            vec![Patch::Facts(|side| {
                side.bundle.requires = Some(vec!["gadget-operator >=2.0.0".to_owned()]);
            })],
            "dependency-changed",
            "the installed version may be too old",
        )
        .from(start()),
        info(
            "a dependency less",
            vec![Patch::Facts(|side| side.bundle.requires = Some(Vec::new()))],
            "dependency-removed",
            "nothing has to be installed",
        )
        .from(start()),
        risky(
            "a higher minimum Kubernetes version",
            vec![Patch::Facts(|side| side.bundle.min_kube_version = Some("1.29.0".to_owned()))],
            "kube-version-changed",
            "older clusters are no longer supported",
        )
        .from(start()),
        info(
            "a lower minimum Kubernetes version",
            vec![Patch::Facts(|side| side.bundle.min_kube_version = Some("1.20.0".to_owned()))],
            "field-changed",
            "every cluster that was supported still is",
        )
        .from(start()),
        info(
            "a related image of the next version",
            vec![Patch::Facts(|side| {
                side.bundle.related_images =
                    Some(json!([{"name": "widget", "image": "registry.example.com/w:2"}]));
            })],
            "operand-image-changed",
            "the repository is the same",
        )
        .from(start()),
        risky(
            "a related image of another registry",
            vec![Patch::Facts(|side| {
                side.bundle.related_images =
                    Some(json!([{"name": "widget", "image": "mirror.example.org/w:2"}]));
            })],
            "operand-registry-changed",
            "operands may not be pulled",
        )
        .from(start()),
        info(
            "a fact that the old side does not know",
            vec![Patch::Facts(|side| side.bundle.install_modes = Some(Vec::new()))],
            "",
            "charts of earlier versions of bundle2chart do not have it",
        ),
    ]
}

/// Sets the facts of a chart.
fn chart(side: &mut Side) {
    side.chart = Some(ChartFacts {
        name: "widgets".to_owned(),
        version: "1.4.0".to_owned(),
        kube_version: ">=1.25.0-0".to_owned(),
        values: json!({"replicas": 2, "logLevel": "info"}),
        schema: json!({"type": "object", "additionalProperties": false, "properties": {
            "replicas": {"type": "integer", "maximum": 5},
            "logLevel": {"type": "string", "enum": ["info", "error", "debug"]},
            "tag": {"type": ["string", "integer"]},
            "labels": {"type": "object"},
        }}),
        ..ChartFacts::default()
    });
}

fn facts(side: &mut Side) -> &mut ChartFacts {
    side.chart.get_or_insert_default()
}

fn charts() -> Vec<Mutation> {
    let start = || vec![Patch::Facts(chart)];
    vec![
        info(
            "another chart version",
            vec![Patch::Facts(|side| facts(side).version = "1.5.0".to_owned())],
            "chart-version-changed",
            "every upgrade changes it",
        )
        .from(start()),
        risky(
            "a higher kubeVersion",
            vec![Patch::Facts(|side| facts(side).kube_version = ">=1.29.0-0".to_owned())],
            "kube-version-changed",
            "Helm refuses older clusters",
        )
        .from(start()),
        breaking(
            "a value removed",
            vec![Patch::Facts(|side| {
                facts(side).values = json!({"replicas": 2});
                facts(side).schema["properties"].as_object_mut().expect("a map").remove("logLevel");
            })],
            "value-removed",
            "values files that set it are rejected or have no effect",
        )
        .from(start()),
        breaking(
            "another type of a value",
            vec![Patch::Facts(|side| {
                facts(side).values["replicas"] = json!("two");
            })],
            "value-type-changed",
            "values of the old type are rejected",
        )
        .from(start()),
        info(
            "another default of a value",
            vec![Patch::Facts(|side| {
                facts(side).values["logLevel"] = json!("debug");
            })],
            "value-default-changed",
            "its effects are changes of objects",
        )
        .from(start()),
        breaking(
            "a value with fewer choices in values.schema.json",
            vec![Patch::Facts(|side| {
                facts(side).schema["properties"]["logLevel"]["enum"] = json!(["info", "error"]);
            })],
            "value-narrowed",
            "Helm rejects values files with the choice that is gone",
        )
        .from(start()),
        breaking(
            "a value with fewer types in values.schema.json",
            vec![Patch::Facts(|side| {
                facts(side).schema["properties"]["tag"]["type"] = json!("integer");
            })],
            "value-narrowed",
            "Helm rejects values files with a string",
        )
        .from(start()),
        breaking(
            "a pattern for a value in values.schema.json",
            vec![Patch::Facts(|side| {
                facts(side).schema["properties"]["tag"]["pattern"] = json!("^v");
            })],
            "value-narrowed",
            "Helm rejects values that do not match",
        )
        .from(start()),
        breaking(
            "a lower maximum of a value in values.schema.json",
            vec![Patch::Facts(|side| {
                facts(side).schema["properties"]["replicas"]["maximum"] = json!(3);
            })],
            "value-narrowed",
            "Helm rejects higher numbers",
        )
        .from(start()),
        breaking(
            "a required value without a default",
            vec![Patch::Facts(|side| facts(side).schema["required"] = json!(["tag"]))],
            "value-narrowed",
            "Helm rejects all values files without it",
        )
        .from(start()),
        breaking(
            "a value without a default that values.schema.json no longer has",
            vec![Patch::Facts(|side| {
                facts(side).schema["properties"] = json!({"replicas": {"type": "integer"},
                    "logLevel": {"type": "string", "enum": ["info", "error", "debug"]},
                    "labels": {"type": "object"}});
            })],
            "value-removed",
            "the schema is closed, so Helm rejects values files with it",
        )
        .from(start()),
        breaking(
            "a map that accepted any key",
            vec![Patch::Facts(|side| {
                facts(side).schema["properties"]["labels"]["additionalProperties"] = json!(false);
            })],
            "value-narrowed",
            "Helm rejects values files with keys of their own",
        )
        .from(start()),
        info(
            "fewer types of a value that the given values do not set",
            vec![Patch::Facts(|side| {
                facts(side).schema["properties"]["tag"]["type"] = json!("integer");
                facts(side).given = json!({"replicas": 3});
            })],
            "value-default-changed",
            "the values of this release are accepted as before",
        )
        .from(start()),
        info(
            "a required value with a default",
            vec![Patch::Facts(|side| facts(side).schema["required"] = json!(["replicas"]))],
            "",
            "the default fulfils the requirement",
        )
        .from(start()),
        info(
            "more choices, types and keys in values.schema.json",
            vec![Patch::Facts(|side| {
                let properties = &mut facts(side).schema["properties"];
                properties["logLevel"]["enum"] = json!(["info", "error", "debug", "trace"]);
                properties["replicas"] = json!({"type": ["integer", "string"], "maximum": 9});
                properties["tag"] = json!({"description": "Image tag"});
            })],
            "",
            "all values that were accepted still are",
        )
        .from(start()),
        info(
            "a value added",
            vec![Patch::Facts(|side| facts(side).values["more"] = json!(true))],
            "value-added",
            "nothing sets it yet",
        )
        .from(start()),
    ]
}
