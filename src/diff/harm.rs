//! The kinds of damage that rules tell of, by which reports rank findings.

/// The kind of damage that a change can do, the worst first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Harm {
    /// Objects, or fields of stored objects, are deleted for good.
    DataLost,
    /// Requests for an API fail.
    ApiRemoved,
    /// Objects or values that were valid are rejected.
    Rejected,
    /// A user or workload can read Secrets, gain other permissions or leave a container.
    Escalation,
    /// Requests of others are intercepted or rejected.
    RequestsBlocked,
    /// `helm upgrade` fails.
    UpgradeFails,
    /// Something that others use stops.
    Unavailable,
    /// Permissions that are not an escalation by themselves.
    PermissionsChanged,
    /// Pods run differently.
    Behaviour,
    /// Clients read other values than before.
    ClientsAffected,
}

impl Harm {
    /// Returns the consequence, as the end of a sentence: "…, because stored data can be lost".
    pub fn consequence(self) -> &'static str {
        match self {
            Harm::DataLost => "stored data can be lost",
            Harm::ApiRemoved => "clients can lose an API",
            Harm::Rejected => "objects can be rejected",
            Harm::Escalation => "permissions widen to Secrets, escalation or the node",
            Harm::RequestsBlocked => "webhooks can block requests",
            Harm::UpgradeFails => "`helm upgrade` can fail",
            Harm::Unavailable => "something in use can stop",
            Harm::PermissionsChanged => "permissions change",
            Harm::Behaviour => "pods run differently",
            Harm::ClientsAffected => "clients can read other values",
        }
    }
}
