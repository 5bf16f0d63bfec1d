//! How our objects differ from OLM's on purpose; `comparison.rs` allows it and nothing else.

/// A named difference to OLM's renderer.
pub(crate) struct Deviation {
    /// Short name.
    pub(crate) name: &'static str,
    /// What differs.
    pub(crate) what: &'static str,
    /// Why.
    pub(crate) why: &'static str,
}

/// All of them; docs/deviations.md is generated from this list.
pub(crate) const DEVIATIONS: [Deviation; 25] = [
    Deviation {
        name: "stable-rbac-names",
        what: "Roles and bindings of the install strategy are named after their ServiceAccount (`ACCOUNT-role`, `ACCOUNT-clusterrole`, the chart's name before it where the account does not hold it) instead of after a hash of their content.",
        why: "An upgrade shows a changed rule, not a new role beside a deleted one. OLM v1's names change with every rule, and with the install mode.",
    },
    Deviation {
        name: "own-namespace-role",
        what: "When the operator watches other namespaces, it has its Roles in its own namespace too.",
        why: "Leader election leases live there. OLM v0 keeps that Role; v1's renderer forgets it, and the operator stops at its start.",
    },
    Deviation {
        name: "shipped-subjects",
        what: "ServiceAccounts in the subjects of shipped bindings get the release namespace.",
        why: "Bundles ship placeholders such as `system` there. OLM v1 leaves them, so that the binding grants nothing.",
    },
    Deviation {
        name: "cluster-scope",
        what: "Cluster-scoped objects, webhook configurations too, have no `metadata.namespace`; a VerticalPodAutoscaler is namespaced.",
        why: "The API server refuses or ignores the field, and OLM's table has the wrong scope for VerticalPodAutoscaler.",
    },
    Deviation {
        name: "shipped-service-accounts",
        what: "A ServiceAccount that the bundle ships is not generated a second time.",
        why: "OLM v1 renders it twice, and which one wins depends on the order.",
    },
    Deviation {
        name: "service-account-name",
        what: "Pods of Deployments always have a `serviceAccountName`: `default`, or what `serviceAccount` says, where a bundle leaves it out.",
        why: "The API server keeps a copy in `serviceAccount` and takes the name from there when a rollback removes it: pods would keep the ServiceAccount of the later version.",
    },
    Deviation {
        name: "no-server-fields",
        what: "`metadata.creationTimestamp: null` and a `status` without content are dropped; `strategy: {}`, `resources: {}`, `divisor: \"0\"` of a `resourceFieldRef` and the like are not invented, but `replicas: 1` is, since it is a value of the chart; quantities stay as they are written, and so do null, empty lists and maps, `false`, 0 and `\"\"`. An empty `affinity` is left out, since it is a value of the chart.",
        why: "OLM's typed round trip adds and drops these. They mean the same to the API server.",
    },
    Deviation {
        name: "webhook-port",
        what: "A webhook without `containerPort` is called on port 443.",
        why: "That is the default in the schema of a CSV and what OLM v0 does. OLM v1 writes port 0, which the API server refuses.",
    },
    Deviation {
        name: "init-container-certificates",
        what: "Init containers that mount a certificate get the new volume in its place.",
        why: "OLM removes the volume and leaves the mount, and the API server refuses the Deployment.",
    },
    Deviation {
        name: "common-name",
        what: "The common name of a certificate is cut to 64 bytes.",
        why: "X.509 has no longer ones, and cert-manager refuses them. Clients look at the DNS names, which are whole.",
    },
    Deviation {
        name: "service-name",
        what: "Where a Deployment's name leaves room for a Service name of 64 bytes, it has 63, and the Secret is named accordingly.",
        why: "The limit is 63; OLM cuts one byte too late, and the API server refuses its Service.",
    },
    Deviation {
        name: "kept-crds",
        what: "CRDs that are templates have the annotation `helm.sh/resource-policy: keep`.",
        why: "OLM keeps CRDs when an operator goes. Helm would delete them, and every custom resource with them.",
    },
    Deviation {
        name: "versions-of-crds",
        what: "CRDs that are templates have the annotation `bundle2chart/version` with the version of the operator.",
        why: "OLM knows which version is installed. A chart of an older version stops at the annotation instead of downgrading a CRD.",
    },
    Deviation {
        name: "stale-injection",
        what: "A CRD that a conversion webhook of the CSV converts loses the annotation `cert-manager.io/inject-ca-from` when another provider than cert-manager makes the certificate.",
        why: "It names a Certificate of the bundle's sources, which no chart holds; where cert-manager runs, the two would fight over the CA.",
    },
    Deviation {
        name: "operator-namespace",
        what: "Pods have the annotation `olm.operatorNamespace`.",
        why: "OLM v0 sets it, and so do later versions of v1 than v1.10.0, which is compared here.",
    },
    Deviation {
        name: "unknown-fields",
        what: "Fields that Kubernetes' types do not have are dropped from shipped objects of Kubernetes' own kinds too, and a note says so.",
        why: "OLM drops them from CSVs and CRDs only. Server-side apply, which Helm 4 uses, refuses an object that has one.",
    },
    Deviation {
        name: "certificate-paths",
        what: "A volume that is mounted at the path of a certificate makes way also where that path ends in `/`.",
        why: "OLM compares texts, so two volumes are mounted at one path, and one of them hides the other.",
    },
    Deviation {
        name: "no-properties",
        what: "A `metadata/properties.yaml` without properties adds no annotation `olm.properties` to pods.",
        why: "OLM v1 writes `null` there, which says nothing.",
    },
    // What follows does not occur in the goldens; tests/suite/awkward_truths.rs and tests/suite/lints.rs have it.
    Deviation {
        name: "kube-system",
        what: "Roles and RoleBindings that a bundle ships for `kube-system` stay there.",
        why: "They let the operator read what is there, such as the API server's authentication settings. OLM moves them to the operator's namespace, where they grant nothing.",
    },
    Deviation {
        name: "own-names",
        what: "The group of all ServiceAccounts of the operator's namespace in shipped bindings, `SERVICE.NAMESPACE.svc` in commands, arguments and variables, and the namespace of a Service of the chart by which a shipped CRD is converted, follow the release namespace.",
        why: "Bundles write a namespace there that they expect; a chart goes where its user says. What is not rewritten is reported.",
    },
    Deviation {
        name: "operator-condition",
        what: "`OPERATOR_CONDITION_NAME` is set in the containers of an operator whose rules name `operatorconditions`, and a warning says that there is no such object.",
        why: "OLM v0 sets it in every container and makes the object, v1 does neither.",
    },
    Deviation {
        name: "default-watch",
        what: "An operator that does not support AllNamespaces watches its own namespace unless told otherwise; several namespaces can be watched.",
        why: "OLM v1 renders neither without being told; v0 has both.",
    },
    Deviation {
        name: "api-services",
        what: "Owned APIServices come with a Service and certificate, with bindings to `system:auth-delegator` and `extension-apiserver-authentication-reader`, and with a Role for their Secret. Deployments that serve webhooks only have none of these bindings.",
        why: "OLM v1 refuses owned APIServices. v0 makes the bindings for whatever serves, but a webhook does not ask who calls it; `auth-reader` is there for the operator that reads the settings.",
    },
    Deviation {
        name: "no-operator-group",
        what: "Pods have no annotation `olm.operatorGroup`.",
        why: "Only OLM v0 has OperatorGroups.",
    },
    Deviation {
        name: "refused",
        what: "Another media type than registry+v1, several ClusterServiceVersions, CRDs of v1beta1, dependencies that cannot be read, a port of a Service with two targets, two objects of one name, names and types of fields that the API server does not take: such a bundle is refused. What the API server refuses for other reasons is carried through, with a warning.",
        why: "OLM v1 takes the last ClusterServiceVersion in silence, writes CRDs without versions, does not look at dependencies, and finds out about the rest when it installs.",
    },
];
