//! What can go wrong between here and a registry, and what a person is told.

use crate::diag::{Code, Diagnostic};

/// Why a request has no answer that is of use.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Failure {
    /// The connection failed or broke; the same request may succeed later.
    Unreachable(String),
    /// The registry asks to come back later, after so many seconds if it says so.
    Busy(String, Option<u64>),
    /// Content that came too slowly to go on with.
    TooSlow(String),
    /// No secure connection.
    Tls(String),
    /// No secure connection, because the registry's certificate is not trusted.
    Certificate(String),
    /// There is no such image or blob.
    NotFound(String),
    /// The registry wants credentials, or other ones.
    Denied(String, Option<String>),
    /// A redirect to where none may lead.
    UnsafeRedirect(String),
    /// A place for tokens that credentials may not be sent to.
    UnsafeRealm(String, String),
    /// Content that is not what was asked for.
    Mismatch(String),
    /// More than there may be.
    TooMuch(String),
    /// Anything else that no second try would change.
    Refused(String),
    /// An error that is for people already.
    Told(Box<Diagnostic>),
}

impl Failure {
    /// Whether the same request may succeed later.
    pub(super) fn is_passing(&self) -> bool {
        matches!(self, Failure::Unreachable(_) | Failure::Busy(..))
    }

    /// For people; `host` is the registry's.
    pub(super) fn diagnostic(self, host: &str) -> Diagnostic {
        let (code, message, hint) = match self {
            Failure::Unreachable(message) => (
                Code::RegistryUnreachable,
                message,
                "Check the name and the network; HTTPS_PROXY and NO_PROXY are honoured. With \
                 `--offline`, only what is in the cache, in layouts and in folders is used."
                    .to_owned(),
            ),
            Failure::Busy(message, _) => (
                Code::RegistryFailed,
                message,
                "Try again later. How often it is asked, and how long it is waited for, is in \
                 `[network]`."
                    .to_owned(),
            ),
            Failure::TooSlow(message) => (
                Code::RegistryFailed,
                message,
                "copy the image to a faster registry and name it in a `[[mirror]]`, or raise \
                 `timeout` in `[network]`"
                    .to_owned(),
            ),
            Failure::Tls(message) | Failure::Certificate(message) => (
                Code::RegistryUnreachable,
                message,
                format!(
                    "When its certificate is signed by an authority of your own, name that: \
                     [[registry]] host = \"{host}\", ca = \"FILE.pem\". When it speaks plain HTTP \
                     only: plain-http = true."
                ),
            ),
            Failure::NotFound(message) => (
                Code::ImageNotFound,
                message,
                "Check the repository and the tag. Some registries say this also when \
                 credentials are missing."
                    .to_owned(),
            ),
            Failure::Denied(message, used) => (
                Code::RegistryDenied,
                message,
                match used {
                    Some(place) => format!(
                        "The credentials of {place} were used. Log in again, for example with \
                         `podman login {host}`."
                    ),
                    None => format!(
                        "No credentials for it were found. Log in, for example with `podman \
                         login {host}` or `docker login {host}`, or set REGISTRY_AUTH_FILE."
                    ),
                },
            ),
            Failure::UnsafeRedirect(message) => (
                Code::UnsafeRedirect,
                message,
                "The registry is broken, or something stands between you and it. Nothing was \
                 read from there."
                    .to_owned(),
            ),
            Failure::UnsafeRealm(message, realm) => (
                Code::UnsafeRealm,
                message,
                format!(
                    "If that host may have your credentials, say so: [[registry]] host = \
                     \"{host}\", auth-hosts = [\"{realm}\"]."
                ),
            ),
            Failure::Mismatch(message) => (
                Code::BlobMismatch,
                message,
                "What the registry sends is damaged or not what was asked for. Push the image \
                 again, or use a mirror that has it whole."
                    .to_owned(),
            ),
            Failure::TooMuch(message) => (
                Code::SourceLimit,
                message,
                "No real bundle needs as much; check that the reference is that of a bundle image."
                    .to_owned(),
            ),
            Failure::Refused(message) => (
                Code::RegistryFailed,
                message,
                "The registry does not do what the OCI distribution specification says. Check \
                 its address."
                    .to_owned(),
            ),
            Failure::Told(diagnostic) => return *diagnostic,
        };
        Diagnostic::error(code, message).hint(hint)
    }
}
