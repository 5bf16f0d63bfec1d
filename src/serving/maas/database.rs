//! The embedded database of API keys. Its Secret is the user's, so that charts contain no secret.

use crate::config::serving::maas::{
    DATABASE, DATABASE_NAME, DATABASE_PASSWORD, DATABASE_SECRET, EmbeddedDatabase, MaasDatabase,
};
use crate::ir::Object;
use serde_json::{Value as Json, json};

/// Port of PostgreSQL.
const PORT: u16 = 5432;
/// User and group of PostgreSQL in Red Hat's and sclorg's images. OpenShift would select one.
const USER: u16 = 26;

/// Returns a Deployment with its volume and Service; nothing for an existing database.
pub(super) fn objects(database: &MaasDatabase) -> Vec<Object> {
    let Some(embedded) = &database.embedded else { return Vec::new() };
    let part = |api_version, kind, spec| {
        super::object((api_version, kind), DATABASE, &database.namespace, spec)
    };
    let claim = json!({
        "accessModes": ["ReadWriteOnce"],
        "resources": {"requests": {"storage": embedded.storage}},
    });
    let service = json!({
        "selector": labels(),
        "ports": [{"name": "postgresql", "port": PORT, "targetPort": "postgresql"}],
    });
    // Two pods must not write to one volume.
    let deployment = json!({
        "replicas": 1,
        "strategy": {"type": "Recreate"},
        "selector": {"matchLabels": labels()},
        "template": {"metadata": {"labels": labels()}, "spec": pod(embedded)},
    });

    vec![
        part("v1", "PersistentVolumeClaim", claim),
        part("v1", "Service", service),
        part("apps/v1", "Deployment", deployment),
    ]
}

fn labels() -> Json {
    json!({"app.kubernetes.io/name": DATABASE})
}

fn pod(embedded: &EmbeddedDatabase) -> Json {
    let password = json!({"secretKeyRef": {"name": DATABASE_SECRET, "key": DATABASE_PASSWORD}});
    // Succeeds when PostgreSQL accepts connections; part of the image.
    let check = json!({"command": ["/usr/libexec/check-container"]});
    let container = json!({
        "name": "postgresql",
        "image": embedded.image,
        "env": [
            {"name": "POSTGRESQL_USER", "value": DATABASE_NAME},
            {"name": "POSTGRESQL_DATABASE", "value": DATABASE_NAME},
            {"name": "POSTGRESQL_PASSWORD", "valueFrom": password},
        ],
        "ports": [{"name": "postgresql", "containerPort": PORT}],
        "readinessProbe": {"exec": check, "periodSeconds": 5},
        "resources": {
            "requests": {"cpu": "100m", "memory": "256Mi"},
            "limits": {"memory": "512Mi"},
        },
        "securityContext": {
            "allowPrivilegeEscalation": false,
            "capabilities": {"drop": ["ALL"]},
        },
        "volumeMounts": [{"name": "data", "mountPath": "/var/lib/pgsql/data"}],
    });
    json!({
        "automountServiceAccountToken": false,
        "securityContext": {
            "runAsNonRoot": true,
            "runAsUser": USER,
            "fsGroup": USER,
            "seccompProfile": {"type": "RuntimeDefault"},
        },
        "containers": [container],
        "volumes": [{"name": "data", "persistentVolumeClaim": {"claimName": DATABASE}}],
    })
}
