//! Intended deviations of our objects from OLM's; `comparison.rs` allows these and nothing else.

/// A deviation from OLM's renderer.
pub(crate) struct Deviation {
    /// Short name.
    pub(crate) name: &'static str,
    /// The difference.
    pub(crate) what: &'static str,
    /// The reason.
    pub(crate) why: &'static str,
}

/// All deviations; docs/deviations.md is generated from this list.
pub(crate) const DEVIATIONS: [Deviation; 30] = [
    Deviation {
        name: "stable-rbac-names",
        what: "Roles and bindings of the install strategy are named after their ServiceAccount (`ACCOUNT-role`, `ACCOUNT-clusterrole`, prefixed with the chart name unless the account contains it) instead of a hash of their content.",
        why: "An upgrade shows a changed rule, not a new and a deleted role. OLM v1's names change with every rule and with the install mode.",
    },
    Deviation {
        name: "own-namespace-role",
        what: "An operator that watches other namespaces also has its Roles in its own namespace.",
        why: "Leader election leases are there. OLM v0 keeps that Role; v1's renderer omits it, and the operator fails to start.",
    },
    Deviation {
        name: "shipped-subjects",
        what: "ServiceAccounts in the subjects of the bundle's bindings get the release namespace.",
        why: "Bundles have placeholders such as `system` there. OLM v1 does not replace them, so the binding grants nothing.",
    },
    Deviation {
        name: "cluster-scope",
        what: "Cluster-scoped objects, webhook configurations too, have no `metadata.namespace`; a VerticalPodAutoscaler is namespaced.",
        why: "The API server rejects or ignores the field, and OLM's table has the wrong scope for VerticalPodAutoscaler.",
    },
    Deviation {
        name: "shipped-service-accounts",
        what: "A ServiceAccount in the bundle is not generated again.",
        why: "OLM v1 renders it twice, and the order decides which one wins.",
    },
    Deviation {
        name: "service-account-name",
        what: "Pods of Deployments always have a `serviceAccountName`; without one in the bundle it is that of `serviceAccount`, or `default`.",
        why: "The API server keeps a copy in `serviceAccount` and uses it if a rollback removes the name: pods would keep the ServiceAccount of the later version.",
    },
    Deviation {
        name: "no-server-fields",
        what: "`metadata.creationTimestamp: null` and an empty `status` are dropped; `strategy: {}`, `resources: {}`, `divisor: \"0\"` of a `resourceFieldRef` and similar defaults are not added, except `replicas: 1`, which is a chart value; quantities, null (as in `annotations: null`), empty lists and maps, `false`, 0 and `\"\"` are kept as written. An empty `affinity`, `nodeSelector` or `resources` is omitted, because they are chart values.",
        why: "OLM's typed round trip adds and drops these. They are equivalent for the API server.",
    },
    Deviation {
        name: "webhook-port",
        what: "A webhook without `containerPort` uses port 443.",
        why: "That is the default in the CSV schema and in OLM v0. OLM v1 writes port 0, which the API server rejects.",
    },
    Deviation {
        name: "init-container-certificates",
        what: "Init containers that mount a certificate get the new volume.",
        why: "OLM removes the volume but not the mount, and the API server rejects the Deployment.",
    },
    Deviation {
        name: "common-name",
        what: "The common name of a certificate is truncated to 64 bytes.",
        why: "X.509 does not allow longer ones, and cert-manager rejects them. Clients use the DNS names, which are complete.",
    },
    Deviation {
        name: "service-name",
        what: "A Service name that would have 64 bytes has 63, and the Secret name follows it.",
        why: "The limit is 63; OLM truncates to 64, and the API server rejects its Service.",
    },
    Deviation {
        name: "catalog-annotations",
        what: "Pods have no annotations of the CSV that only catalogs and consoles read, such as `alm-examples` and `operators.openshift.io/…`, unless they read them with the downward API. Annotations of the pod template stay.",
        why: "They are read from the CSV, which the cluster does not have. An example of a custom resource would be two thirds of a Deployment, and each change of a description a restart.",
    },
    Deviation {
        name: "release-labels",
        what: "All objects have the labels that Helm recommends (`app.kubernetes.io/name`, `instance`, `managed-by` and `version`, `helm.sh/chart`), in place of the bundle's. The bundle's `name`, `instance` and `version` stay if a selector, an argument or other text of the chart mentions the label. A label by which objects other than pods are selected is not added. CRDs that are no templates have no `instance`, ServiceAccounts of operands only `managed-by` and `helm.sh/chart`, and stub CRDs and adopted ServiceAccounts their own labels only. Templates of pods get `name`, `instance` and `managed-by`, where they do not have them and no selector, argument or other text of the chart mentions the label; selectors do not change.",
        why: "They show which release an object belongs to, and the bundle's are those of its build (`managed-by: kustomize`, `name: deployment`). Helm replaces `managed-by` in the cluster in any case. Operators label their ServiceAccounts themselves, so `helm upgrade` of Helm 4 would conflict; labels of the version in pods would restart them with each version of the chart.",
    },
    Deviation {
        name: "kept-crds",
        what: "CRDs that are templates have the annotation `helm.sh/resource-policy: keep`.",
        why: "OLM keeps CRDs when an operator is removed. Helm would delete them with all custom resources.",
    },
    Deviation {
        name: "versions-of-crds",
        what: "CRDs that are templates have the annotation `bundle2chart/version` with the version of the operator.",
        why: "OLM knows the installed version. A chart of an older version checks the annotation and fails instead of downgrading a CRD.",
    },
    Deviation {
        name: "stale-injection",
        what: "A CRD with a conversion webhook of the CSV has no annotation `cert-manager.io/inject-ca-from` if another provider than cert-manager issues the certificate.",
        why: "It references a Certificate of the bundle's sources, which is not in the chart; with cert-manager in the cluster, both would overwrite the CA bundle.",
    },
    Deviation {
        name: "operator-namespace",
        what: "Pods have the annotation `olm.operatorNamespace` with the namespace of the release, whatever the CSV says.",
        why: "OLM v0 sets it, and so does v1 after v1.10.0, the version compared here.",
    },
    Deviation {
        name: "unknown-fields",
        what: "Unknown fields are also dropped from the bundle's objects of built-in kinds, with a note.",
        why: "OLM drops them from CSVs and CRDs only. Server-side apply, which Helm 4 uses, rejects objects with unknown fields.",
    },
    Deviation {
        name: "aggregated-rules",
        what: "A ClusterRole with an `aggregationRule` has no `rules`. Rules that are not empty are reported by a note.",
        why: "The ClusterRole aggregation controller replaces them and owns the field, so that each later `helm upgrade` of Helm 4 would fail with a conflict.",
    },
    Deviation {
        name: "certificate-paths",
        what: "A volume mounted at the path of a certificate is replaced, also if the path ends in `/`.",
        why: "OLM compares strings, so two volumes are mounted at one path, and one hides the other.",
    },
    // The rest does not occur in the goldens; tests/suite/awkward_truths.rs and tests/suite/lints.rs have it.
    Deviation {
        name: "shipped-services",
        what: "A Service of the bundle that has the name of a webhook Service (`DEPLOYMENT-service`) is left out; a warning names the ports that the cluster then lacks.",
        why: "OLM v1 renders both, and the last one that is applied wins. OLM v0 replaces the bundle's.",
    },
    Deviation {
        name: "target-port-zero",
        what: "A webhook with `targetPort: 0` has the port of its Service as target port.",
        why: "OLM writes 0, which the API server replaces by the same port.",
    },
    Deviation {
        name: "equal-copies",
        what: "Of two equal objects of one name, one is in the chart, with a note.",
        why: "OLM renders both, with the same result in the cluster; Helm fails at the second.",
    },
    Deviation {
        name: "kube-system",
        what: "Roles and RoleBindings of a bundle in `kube-system` stay there.",
        why: "They let the operator read objects there, such as the API server's authentication settings. OLM moves them to the operator's namespace, where they grant nothing.",
    },
    Deviation {
        name: "own-names",
        what: "The release namespace replaces the operator namespace in the ServiceAccounts group of the bundle's bindings, in `SERVICE.NAMESPACE.svc` in commands, arguments and env vars, and in the conversion webhook Service of the bundle's CRDs.",
        why: "Bundles hard-code the suggested namespace there; users install a chart into any namespace. Namespaces that are not rewritten are reported.",
    },
    Deviation {
        name: "operator-condition",
        what: "`OPERATOR_CONDITION_NAME` is set in the containers of an operator with RBAC for `operatorconditions`, with a warning that there is no such object.",
        why: "OLM v0 sets it in every container and creates the object, v1 does neither.",
    },
    Deviation {
        name: "default-watch",
        what: "An operator that does not support AllNamespaces watches its own namespace by default; it can watch several namespaces.",
        why: "OLM v1 renders neither without explicit configuration; v0 has both.",
    },
    Deviation {
        name: "api-services",
        what: "Owned APIServices come with a Service and certificate, with bindings to `system:auth-delegator` and `extension-apiserver-authentication-reader`, and with a Role for their Secret. Deployments with webhooks only have none of these bindings.",
        why: "OLM v1 rejects owned APIServices. v0 also creates the bindings for webhooks, but a webhook does not authenticate its caller; `auth-reader` is for operators that read the settings.",
    },
    Deviation {
        name: "no-operator-group",
        what: "Pods have no annotation `olm.operatorGroup`.",
        why: "Only OLM v0 has OperatorGroups.",
    },
    Deviation {
        name: "refused",
        what: "Bundles are rejected with another media type than registry+v1, several ClusterServiceVersions, v1beta1 CRDs, invalid dependencies, a Service port with two targets, duplicate objects, or invalid names and field types. Other objects that the API server rejects are kept, with a warning.",
        why: "OLM v1 silently uses the last ClusterServiceVersion, writes CRDs without versions, ignores dependencies, and fails at installation for the rest.",
    },
];
