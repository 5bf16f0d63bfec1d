//! Security contexts of pods that run kubectl, as restricted pod security requires them.

use serde_json::{Value as Json, json};

/// A user that is not root, for images without one.
pub const USER: u32 = 65532;

/// Returns the security context of the pod.
pub fn pod_security() -> Json {
    json!({
        "runAsNonRoot": true,
        "runAsUser": USER,
        "seccompProfile": {"type": "RuntimeDefault"},
    })
}

/// Returns the security context of its containers.
pub fn container_security() -> Json {
    json!({
        "allowPrivilegeEscalation": false,
        "capabilities": {"drop": ["ALL"]},
        "readOnlyRootFilesystem": true,
    })
}
