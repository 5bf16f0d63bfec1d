//! The operators: which program is in the image of which bundle, and what its work is.

use crate::go::{self, Module};
use crate::helm::Helm;
use std::path::{Path, PathBuf};

/// An operator in one or two versions.
#[derive(Debug)]
pub(crate) struct Operator {
    /// The folder of its bundles below corpus/.
    pub(crate) package: &'static str,
    /// Path of the Go module.
    pub(crate) module: &'static str,
    /// See [`Module::not_replaced`].
    pub(crate) not_replaced: &'static [&'static str],
    /// The versions that are built, the oldest first: one, or the old and the new one of an upgrade.
    pub(crate) versions: &'static [Version],
    /// Repository of the image without its registry.
    pub(crate) image: &'static str,
    /// Paths of the program in the image; the first is its ENTRYPOINT.
    pub(crate) files: &'static [&'static str],
    /// Variables of its environment in the image.
    pub(crate) env: &'static [(&'static str, &'static str)],
    /// True if it elects a leader.
    pub(crate) has_leader: bool,
    /// False if the bundle does not tell the operator which namespaces to watch: it works in all of them,
    /// under OLM as well.
    pub(crate) is_limited: bool,
    /// Custom resources that are created, in this order.
    pub(crate) resources: &'static [Resource],
    /// A change of the first custom resource that the operator's webhooks refuse.
    pub(crate) refusal: Option<Refusal>,
    /// An argument for the value `extraArgs`, which changes nothing that a check sees.
    pub(crate) argument: &'static str,
    /// Requests that are denied under OLM as well.
    pub(crate) denied: &'static [Denied],
}

/// A version of a bundle and of its module.
#[derive(Debug)]
pub(crate) struct Version {
    pub(crate) bundle: &'static str,
    pub(crate) module: &'static str,
    pub(crate) sum: &'static str,
    /// The package of the program in the module.
    pub(crate) package: &'static str,
}

/// A custom resource of the bundle's `alm-examples`.
#[derive(Debug)]
pub(crate) struct Resource {
    pub(crate) kind: &'static str,
    pub(crate) plural: &'static str,
    /// Objects that the operator creates for it: path of the API, plural and name, where `{}` is the name
    /// of the custom resource.
    pub(crate) work: &'static [(&'static str, &'static str, &'static str)],
    /// A field of the custom resource that the operator writes.
    pub(crate) status: &'static str,
}

/// A custom resource that is refused.
#[derive(Debug)]
pub(crate) struct Refusal {
    /// A merge patch in JSON.
    pub(crate) patch: &'static str,
    /// The answer of the operator.
    pub(crate) words: &'static str,
}

/// Requests that RBAC denies the operator under OLM as well, because the bundle does not grant them.
#[derive(Debug)]
pub(crate) struct Denied {
    /// The resource with its group.
    pub(crate) resource: &'static str,
    pub(crate) verb: &'static str,
    pub(crate) reason: &'static str,
}

const CORE: &str = "api/v1";
const APPS: &str = "apis/apps/v1";
const RBAC: &str = "apis/rbac.authorization.k8s.io/v1";

pub(crate) const RABBITMQ: Operator = Operator {
    package: "rabbitmq-cluster-operator",
    module: "github.com/rabbitmq/cluster-operator/v2",
    not_replaced: &[],
    versions: &[
        Version {
            bundle: "2.12.1",
            module: "v2.12.1",
            sum: "h1:Pgpn7CjGmNRohXlDjob52KX7ekLdPN54Ijn+wS4KEfY=",
            package: ".",
        },
        Version {
            bundle: "2.22.1",
            module: "v2.22.1",
            sum: "h1:sZo4DBRs1fCdffLYU3RlJTB/9oeWaLtDIYcuZL1ijlw=",
            package: "./cmd",
        },
    ],
    image: "rabbitmqoperator/cluster-operator",
    files: &["/manager"],
    env: &[],
    has_leader: true,
    is_limited: true,
    resources: &[Resource {
        kind: "RabbitmqCluster",
        plural: "rabbitmqclusters",
        work: &[
            (APPS, "statefulsets", "{}-server"),
            (CORE, "services", "{}"),
            (CORE, "services", "{}-nodes"),
            (CORE, "secrets", "{}-default-user"),
            (CORE, "configmaps", "{}-server-conf"),
            (CORE, "serviceaccounts", "{}-server"),
            (RBAC, "roles", "{}-peer-discovery"),
            (RBAC, "rolebindings", "{}-server"),
        ],
        status: "/status/conditions/0/type",
    }],
    refusal: None,
    argument: "--zap-log-level=debug",
    denied: &[],
};

pub(crate) const GRAFANA: Operator = Operator {
    package: "grafana-operator",
    module: "github.com/grafana/grafana-operator/v5",
    not_replaced: &[],
    // Modules that v5.24.0 requires are not served by every proxy.
    versions: &[Version {
        bundle: "5.18.0",
        module: "v5.18.0",
        sum: "h1:ei7N2VfjsRjY8iprenH1IDV783WeV7CP5VNp//sB4hI=",
        package: ".",
    }],
    image: "grafana/grafana-operator",
    files: &["/ko-app/v5"],
    env: &[],
    has_leader: true,
    is_limited: true,
    resources: &[
        Resource {
            kind: "Grafana",
            plural: "grafanas",
            work: &[
                (APPS, "deployments", "{}-deployment"),
                (CORE, "services", "{}-service"),
                (CORE, "secrets", "{}-admin-credentials"),
                (CORE, "configmaps", "{}-ini"),
                (CORE, "serviceaccounts", "{}-sa"),
            ],
            status: "/status/stage",
        },
        Resource {
            kind: "GrafanaDashboard",
            plural: "grafanadashboards",
            work: &[],
            status: "/status/conditions/0/type",
        },
    ],
    refusal: None,
    argument: "--zap-log-level=debug",
    denied: &[],
};

pub(crate) const PROMETHEUS: Operator = Operator {
    package: "prometheus",
    module: "github.com/prometheus-operator/prometheus-operator",
    not_replaced: &[
        "github.com/prometheus-operator/prometheus-operator/pkg/apis/monitoring",
        "github.com/prometheus-operator/prometheus-operator/pkg/client",
    ],
    versions: &[
        Version {
            bundle: "0.65.1",
            module: "v0.65.1",
            sum: "h1:Krj59DoZURZfOKwJdtPssOrk5nN9TWElI0+foGXsesU=",
            package: "./cmd/operator",
        },
        Version {
            bundle: "0.70.0",
            module: "v0.70.0",
            sum: "h1:kMufKWvqJl08Kh0oue3VLmTsowYKKqCQJa7tqXo+DJI=",
            package: "./cmd/operator",
        },
    ],
    image: "prometheus-operator/prometheus-operator",
    files: &["/bin/operator"],
    // 0.65.1 refuses the garbage collector of later versions of Go otherwise.
    env: &[("ASSUME_NO_MOVING_GC_UNSAFE_RISK_IT_WITH", "go1.26")],
    has_leader: false,
    is_limited: false,
    resources: &[
        Resource {
            kind: "Prometheus",
            plural: "prometheuses",
            work: &[
                (APPS, "statefulsets", "prometheus-{}"),
                (CORE, "secrets", "prometheus-{}"),
                (CORE, "services", "prometheus-operated"),
            ],
            status: "/status/conditions/0/type",
        },
        Resource {
            kind: "Alertmanager",
            plural: "alertmanagers",
            work: &[
                (APPS, "statefulsets", "alertmanager-{}"),
                (CORE, "secrets", "alertmanager-{}-generated"),
                (CORE, "services", "alertmanager-operated"),
            ],
            status: "/status/replicas",
        },
    ],
    refusal: None,
    argument: "--log-level=debug",
    denied: &[],
};

pub(crate) const CLOUDNATIVE_PG: Operator = Operator {
    package: "cloudnative-pg",
    module: "github.com/cloudnative-pg/cloudnative-pg",
    not_replaced: &[],
    versions: &[
        Version {
            bundle: "1.24.0",
            module: "v1.24.0",
            sum: "h1:lY9IP/Gnh5ogNcFGoPnbD2eOiHdSdbdEp0PaUdOAMDQ=",
            package: "./cmd/manager",
        },
        Version {
            bundle: "1.24.1",
            module: "v1.24.1",
            sum: "h1:U1ETvJXvJzv3wpsfuL3RvpyNTb9273etXvYAOE0CgFk=",
            package: "./cmd/manager",
        },
    ],
    image: "cloudnative-pg/cloudnative-pg",
    // Instances get the program of their architecture from the operator.
    files: &["/manager", "/bin/manager_amd64"],
    env: &[],
    has_leader: true,
    is_limited: true,
    resources: &[Resource {
        kind: "Cluster",
        plural: "clusters",
        work: &[
            (CORE, "services", "{}-rw"),
            (CORE, "services", "{}-ro"),
            (CORE, "services", "{}-r"),
            (CORE, "secrets", "{}-app"),
            (CORE, "secrets", "{}-ca"),
            (CORE, "secrets", "{}-replication"),
            (CORE, "secrets", "{}-server"),
            (CORE, "serviceaccounts", "{}"),
            (RBAC, "roles", "{}"),
            (RBAC, "rolebindings", "{}"),
            (CORE, "persistentvolumeclaims", "{}-1"),
            ("apis/batch/v1", "jobs", "{}-1-initdb"),
        ],
        status: "/status/phase",
    }],
    refusal: Some(Refusal {
        patch: r#"{"spec": {"imageName": "postgres:nonsense"}}"#,
        words: "invalid version tag",
    }),
    argument: "--log-level=debug",
    denied: &[],
};

impl Operator {
    /// Returns the program of a version; builds it where that was not done yet.
    ///
    /// # Panics
    /// When it cannot be built.
    pub(crate) fn program(&self, version: &Version) -> PathBuf {
        let module = Module {
            path: self.module,
            version: version.module,
            sum: Some(version.sum),
            package: version.package,
            not_replaced: self.not_replaced,
        };
        go::module_program(self.package, &module)
    }

    /// Builds and downloads all that its tests run.
    ///
    /// # Panics
    /// When Go is missing, or a program cannot be built.
    pub(crate) fn build_programs(&self) {
        Helm::all();
        for version in self.versions {
            self.program(version);
        }
    }

    /// Returns the newest version.
    pub(crate) fn newest(&self) -> &Version {
        self.versions.last().expect("a version")
    }

    /// Returns the example of a custom resource in a bundle.
    pub(crate) fn example(resource: &Resource, bundle: &Path) -> serde_json::Value {
        let examples = crate::charts::examples(bundle);
        let found = examples.into_iter().find(|example| example["kind"] == resource.kind);
        found.unwrap_or_else(|| panic!("no example of {}", resource.kind))
    }
}
