//! `ready` of `[[bundle]]` and `[[chart]]`: gates, which hold back what comes next.

use crate::diag::Span;
use crate::ir::{Object, Phase};

/// Default time limit of a gate: helmfile's and Flux's for a release.
pub(super) const TIMEOUT: &str = "10m";

/// Pattern of `timeout`: a whole number with a unit.
pub(super) const GATE_TIMEOUT: &str = "^[1-9][0-9]{0,4}[smh]$";

/// An entry of `ready`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Gate {
    /// The awaited object.
    pub target: Target,
    /// The state that it must have.
    pub test: GateTest,
    /// Time limit in seconds.
    pub timeout: u32,
    /// The chart after which it is awaited: `Operand` for NAME-operands, else `With`.
    pub phase: Phase,
    /// The object in the file.
    pub span: Span,
}

/// The object that a gate awaits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Target {
    /// API group; empty for Kubernetes' core.
    pub group: String,
    /// Version of the API.
    pub version: String,
    /// Kind, as in manifests.
    pub kind: String,
    /// Name of the object.
    pub name: String,
    /// Its namespace; `None` for the release namespace, and for CRDs, which have none.
    pub namespace: Option<String>,
}

impl Target {
    /// Returns `apiVersion` as in manifests.
    pub fn api_version(&self) -> String {
        match self.group.as_str() {
            "" => self.version.clone(),
            group => format!("{group}/{}", self.version),
        }
    }

    /// Returns true if an object is of its API group and kind.
    pub fn is_kind_of(&self, object: &Object) -> bool {
        object.kind() == self.kind && object.group() == self.group
    }

    /// Returns true for a CustomResourceDefinition.
    pub fn is_crd(&self) -> bool {
        self.kind == "CustomResourceDefinition"
    }
}

/// The state that a gate awaits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum GateTest {
    /// A condition of the status is `True`.
    Condition(String),
    /// A Deployment, StatefulSet or DaemonSet is rolled out.
    Rollout,
    /// A field has a value.
    Field {
        /// The path with a leading dot: `.status.state`, `.status.items[0].phase`.
        path: String,
        /// The value as text.
        value: String,
    },
}
