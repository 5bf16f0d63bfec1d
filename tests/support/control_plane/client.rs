//! Requests to the API server as a pod makes them: with the token of its ServiceAccount.

use rustls::crypto::ring;
use serde_json::{Value as Json, json};
use std::sync::Arc;
use std::time::Duration;
use ureq::Agent;
use ureq::http::Request;
use ureq::tls::{Certificate, RootCerts, TlsConfig};

/// A user of the API server.
pub(crate) struct Client {
    agent: Agent,
    address: String,
    token: String,
}

/// An answer.
#[derive(Debug)]
pub(crate) struct Answer {
    /// The HTTP status.
    pub(crate) status: u16,
    /// The body, or its text where it is no JSON.
    pub(crate) body: Json,
}

impl Answer {
    /// Returns true if RBAC refused the request. Admission refuses with the same status and other words.
    pub(crate) fn is_forbidden(&self) -> bool {
        let message = self.body["message"].as_str().unwrap_or_default();
        self.status == 403 && (message.contains(" cannot ") || message.contains("Forbidden"))
    }

    /// Returns true if the request succeeded.
    pub(crate) fn succeeded(&self) -> bool {
        (200..300).contains(&self.status)
    }
}

impl Client {
    pub(super) fn new(address: String, authority: &[u8], token: String) -> Self {
        let authority = Certificate::from_pem(authority).expect("a certificate");
        let tls = TlsConfig::builder()
            .root_certs(RootCerts::new_with_certs(&[authority]))
            .unversioned_rustls_crypto_provider(Arc::new(ring::default_provider()))
            .build();
        let config = Agent::config_builder()
            .tls_config(tls)
            .proxy(None)
            .http_status_as_error(false)
            // A server that hangs; nothing that a busy machine would reach.
            .timeout_global(Some(Duration::from_secs(300)))
            .build();
        Client { agent: config.into(), address, token }
    }

    /// The token.
    pub(crate) fn token(&self) -> &str {
        &self.token
    }

    /// Sends `METHOD PATH`, with a body where there is one.
    ///
    /// # Panics
    /// When there is no answer.
    pub(crate) fn send(&self, method: &str, path: &str, body: Option<&Json>) -> Answer {
        let answer = match self.try_send(method, path, body) {
            // The server closed a connection that was idle for long.
            Err(_) if method == "GET" => self.try_send(method, path, body),
            answer => answer,
        };
        answer.unwrap_or_else(|error| panic!("{method} {path}: {error}"))
    }

    /// The same; an error if the server closes the connection, as it does when its code panics.
    pub(crate) fn try_send(
        &self,
        method: &str,
        path: &str,
        body: Option<&Json>,
    ) -> Result<Answer, ureq::Error> {
        let content = match method {
            "PATCH" => "application/merge-patch+json",
            _ => "application/json",
        };
        let request = Request::builder()
            .method(method)
            .uri(format!("{}{path}", self.address))
            .header("Authorization", format!("Bearer {}", self.token))
            .header("Content-Type", content);
        let answer = match body {
            Some(body) => self.agent.run(request.body(body.to_string()).expect("a request")),
            None => self.agent.run(request.body(()).expect("a request")),
        };
        let mut answer = answer?;
        let status = answer.status().as_u16();
        // A watch goes on until its time is over.
        if path.contains("watch=1") && status == 200 {
            return Ok(Answer { status, body: Json::Null });
        }
        let text = answer.body_mut().read_to_string()?;
        let body = serde_json::from_str(&text).unwrap_or_else(|_| json!(text));
        Ok(Answer { status, body })
    }

    /// `GET PATH`.
    pub(crate) fn get(&self, path: &str) -> Answer {
        self.send("GET", path, None)
    }

    /// `POST PATH` with this object.
    pub(crate) fn post(&self, path: &str, object: &Json) -> Answer {
        self.send("POST", path, Some(object))
    }
}
