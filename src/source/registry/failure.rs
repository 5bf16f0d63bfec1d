//! Failures of registry requests, and their diagnostics.

use crate::diag::{Code, Diagnostic, Fatal};
use crate::failure;

/// The reason why a request failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Failure {
    /// The connection failed or broke; the same request may succeed later.
    Unreachable(String),
    /// The registry is busy; with the seconds of Retry-After, if any.
    Busy(String, Option<u64>),
    /// No secure connection.
    Tls(String),
    /// No secure connection, because the registry's certificate is not trusted.
    Certificate(String),
    /// There is no such image or blob.
    NotFound(String),
    /// The registry requires credentials, or rejected those of this file or program.
    Denied(String, Option<String>),
    /// Any other failure that a retry would not change.
    Refused(String),
    /// A complete diagnostic, of a failure that no caller tells from others.
    Reported(Fatal),
}

impl Failure {
    /// The content came too slowly.
    pub(super) fn too_slow(message: String) -> Self {
        let hint = "copy the image to a faster registry and add it as a `[[mirror]]`, or raise \
            `timeout` in `[network]`";
        Failure::Reported(failure(Code::RegistryFailed, message, hint))
    }

    /// A redirect to a forbidden address.
    pub(super) fn unsafe_redirect(message: String) -> Self {
        let hint = "check the registry, its redirects and any proxy; write a registry on this \
            machine as `localhost:PORT`";
        Failure::Reported(failure(Code::UnsafeRedirect, message, hint))
    }

    /// A token server that may not receive the credentials of the registry `host`.
    pub(super) fn unsafe_realm(message: String, host: &str, realm: &str) -> Self {
        let hint = format!(
            "to trust that host with your credentials, add [[registry]] host = \"{host}\", \
                auth-hosts = [\"{realm}\"]"
        );
        Failure::Reported(failure(Code::UnsafeRealm, message, hint))
    }

    /// The content has the wrong digest or size.
    pub(super) fn mismatch(message: String) -> Self {
        let hint = "push the image again, or use an intact mirror: the response is corrupt or a \
            different image";
        Failure::Reported(failure(Code::BlobMismatch, message, hint))
    }

    /// The content exceeds a limit.
    pub(super) fn too_much(message: String) -> Self {
        let hint = "check that the reference is a bundle image: no real bundle is as large";
        Failure::Reported(failure(Code::SourceLimit, message, hint))
    }

    /// Converts the failure to a diagnostic; `host` is the registry's.
    pub(super) fn diagnostic(self, host: &str) -> Diagnostic {
        // Each hint says what the reader can change: network, credentials, configuration or image.
        let (code, message, hint): (Code, String, &str) = match self {
            Failure::Unreachable(message) => (
                Code::RegistryUnreachable,
                message,
                "check the host name, the network, and HTTPS_PROXY and NO_PROXY; to use only the \
                    cache, layouts and directories, pass `--offline`",
            ),
            Failure::Busy(message, _) => (
                Code::RegistryFailed,
                message,
                "try again later, or raise `retries` or `timeout` in `[network]`",
            ),
            Failure::Tls(message) | Failure::Certificate(message) => (
                Code::RegistryUnreachable,
                message,
                &format!(
                    "for a private CA, add [[registry]] host = \"{host}\", ca = \"FILE.pem\" with \
                        the CA of this certificate; for a registry with plain HTTP only, \
                        plain-http = true"
                ),
            ),
            Failure::NotFound(message) => (
                Code::ImageNotFound,
                message,
                "check the repository and the tag; some registries return this also for missing \
                    credentials",
            ),
            Failure::Denied(message, used) => (
                Code::RegistryDenied,
                message,
                &match used {
                    Some(place) => format!(
                        "log in again, for example with `podman login {host}`: the credentials of \
                            `{place}` were rejected"
                    ),
                    None => format!(
                        "log in, for example with `podman login {host}` or `docker login {host}`, \
                            or set REGISTRY_AUTH_FILE: no credentials were found"
                    ),
                },
            ),
            Failure::Refused(message) => (
                Code::RegistryFailed,
                message,
                "check the address: the registry does not follow the OCI distribution specification",
            ),
            Failure::Reported(diagnostic) => return *diagnostic,
        };
        Diagnostic::error(code, message).hint(hint)
    }
}

/// Returns `None` in place of the failure of a request for something that does not exist.
pub(super) fn if_found<T>(outcome: Result<T, Failure>) -> Result<Option<T>, Failure> {
    match outcome {
        Err(Failure::NotFound(_)) => Ok(None),
        other => other.map(Some),
    }
}
