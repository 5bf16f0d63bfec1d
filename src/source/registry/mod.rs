//! A client of registries: the OCI distribution specification over HTTPS, reading and pushing.
//!
//! What a registry says is not trusted: where it redirects to, where it sends us for a token, how
//! much it sends and what. Credentials go to the registry itself and to hosts that the
//! configuration names. oci-client, which does the same job, reads manifests of any size, follows
//! every redirect, logs in wherever a challenge points to and hides Retry-After; so the requests
//! are made here, with ureq.

mod challenge;
mod credentials;
mod download;
mod failure;
mod http;
mod manifest;
mod pace;
mod proxy;
mod push;
mod token;

use super::access::Access;
use super::cache::Cache;
use super::image::MANIFEST_TYPES;
use super::limits::Limits;
use crate::config::{Network, Registry};
use crate::diag::{Code, Diagnostic, Diagnostics, Place};
use credentials::{Credentials, Secret};
use failure::Failure;
use http::{Content, Http, Query, Response, is_loopback, shown};
use oci_spec::image::Descriptor;
use pace::{
    Claims, LONGEST_PAUSE, Overdue, Paced, Slots, Stopwatch, pause_after, retry_after, wait,
};
use proxy::Proxies;
use serde::Deserialize;
use std::collections::BTreeMap;
use std::io::{self, Read as _};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;
use ureq::http::{Method, Uri};
use ureq::tls::Certificate;

/// The Accept header for manifests and indexes.
fn accepted() -> (&'static str, String) {
    ("accept", MANIFEST_TYPES.join(", "))
}

/// Bytes of an error's body that are looked at.
const ERROR_BYTES: u64 = 64 << 10;

/// Hosts that are one service by their operators' documentation, and so share credentials: where
/// Docker Hub and GitLab.com give tokens.
const SAME_SERVICE: &[(&str, &str)] =
    &[("docker.io", "auth.docker.io"), ("registry.gitlab.com", "gitlab.com")];

/// All registries.
pub(super) struct Client {
    registries: Vec<Registry>,
    base: PathBuf,
    network: Network,
    access: Access,
    cache: Arc<Cache>,
    hosts: Mutex<BTreeMap<String, Arc<Host>>>,
    system_roots: OnceLock<Vec<Certificate<'static>>>,
    proxies: Arc<Proxies>,
    slots: Slots,
    /// What is being fetched, so that nothing is fetched twice at a time.
    claims: Claims,
    /// What references led to, so that a tag means the same for a whole run, and what failed, so
    /// that the next bundle does not wait for it again.
    outcomes: Mutex<BTreeMap<String, Result<Descriptor, Diagnostics>>>,
}

/// One registry.
struct Host {
    /// As references have it.
    name: String,
    /// Scheme and authority of requests.
    endpoint: String,
    http: Http,
    trusted: Vec<String>,
    /// Values of the Authorization header by scope.
    tokens: Mutex<BTreeMap<String, Secret>>,
}

/// A repository in a registry.
#[derive(Clone)]
pub(super) struct Repository<'c> {
    client: &'c Client,
    host: Arc<Host>,
    name: String,
    limits: Limits,
}

impl Client {
    pub(super) fn new(
        registries: &[Registry],
        base: PathBuf,
        network: &Network,
        access: Access,
        cache: Arc<Cache>,
    ) -> Self {
        Client {
            registries: registries.to_vec(),
            base,
            network: network.clone(),
            proxies: Arc::new(Proxies::of(&access.environment)),
            access,
            cache,
            hosts: Mutex::default(),
            system_roots: OnceLock::new(),
            slots: Slots::new(network.downloads),
            claims: Claims::default(),
            outcomes: Mutex::default(),
        }
    }

    /// The repository of a name such as `registry.example.com/team/bundle`.
    pub(super) fn repository(
        &self,
        name: &str,
        limits: &Limits,
    ) -> Result<Repository<'_>, Diagnostics> {
        let (host, path) = name.split_once('/').unwrap_or((name, ""));
        let path = match (host, path.contains('/')) {
            // Docker Hub's own images have a short name.
            ("docker.io", false) => format!("library/{path}"),
            _ => path.to_owned(),
        };
        let host = self.host(host).map_err(|failure| failure.diagnostic(host))?;
        Ok(Repository { client: self, host, name: path, limits: limits.clone() })
    }

    /// How this went before, in this run.
    fn outcome(&self, name: &str) -> Option<Result<Descriptor, Diagnostics>> {
        self.outcomes.lock().unwrap_or_else(PoisonError::into_inner).get(name).cloned()
    }

    fn remember(&self, name: &str, outcome: Result<Descriptor, Diagnostics>) {
        let mut outcomes = self.outcomes.lock().unwrap_or_else(PoisonError::into_inner);
        outcomes.insert(name.to_owned(), outcome);
    }

    fn host(&self, name: &str) -> Result<Arc<Host>, Failure> {
        let mut hosts = self.hosts.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(host) = hosts.get(name) {
            return Ok(Arc::clone(host));
        }
        let config = self.registries.iter().find(|registry| registry.host == name);
        let mut roots = self.system_roots.get_or_init(http::system_roots).clone();
        if let Some((registry, ca)) = config.and_then(|config| Some((config, config.ca.as_ref()?)))
        {
            let own = http::read_root_file(&self.base.join(ca)).map_err(|why| {
                Failure::Told(Box::new(
                    Diagnostic::error(
                        Code::InvalidValue,
                        format!("`{}` cannot be used as `ca`: {why}", ca.display()),
                    )
                    .at(Place::span(registry.span.clone()))
                    .hint("Name a PEM file with the certificates of the authority."),
                ))
            })?;
            roots.extend(own);
        }
        let timeout = self.network.timeout;
        let loopback = is_loopback(name);
        let http = Http::new(&roots, timeout, loopback, &self.proxies);
        let authority = if name == "docker.io" { "registry-1.docker.io" } else { name };
        let plain = match config {
            Some(config) if config.plain_http => true,
            // A registry on this machine is often one for tests, without a certificate.
            _ if loopback && !self.access.offline => speaks_plain_http(&http, authority),
            _ => false,
        };
        let scheme = if plain { "http" } else { "https" };
        let mut trusted: Vec<String> = config.map(|c| c.auth_hosts.clone()).unwrap_or_default();
        let same = SAME_SERVICE.iter().filter(|(registry, _)| *registry == name);
        trusted.extend(same.map(|(_, realm)| (*realm).to_owned()));
        let host = Arc::new(Host {
            name: name.to_owned(),
            endpoint: format!("{scheme}://{authority}"),
            http,
            trusted,
            tokens: Mutex::default(),
        });
        hosts.insert(name.to_owned(), Arc::clone(&host));
        Ok(host)
    }
}

/// Whether a registry answers on http and has no TLS.
fn speaks_plain_http(http: &Http, authority: &str) -> bool {
    let ask = |scheme: &str| {
        let uri: Uri = format!("{scheme}://{authority}/v2/").parse().ok()?;
        let query = Query {
            method: Method::GET,
            uri,
            headers: Vec::new(),
            authorization: None,
            body: Content::None,
        };
        Some(http.send(&query))
    };
    // A certificate that is not trusted is TLS all the same.
    let has_tls = match ask("https") {
        Some(Err(Failure::Certificate(_))) => true,
        Some(outcome) => outcome.is_ok(),
        None => false,
    };
    !has_tls && matches!(ask("http"), Some(Ok(_)))
}

/// What to ask a repository for.
struct Request<'r> {
    method: Method,
    /// After `/v2/NAME/`, or a whole address.
    path: &'r str,
    headers: Vec<(&'static str, String)>,
    body: Content<'r>,
    /// Whether something is pushed.
    push: bool,
}

impl<'r> Request<'r> {
    fn get(path: &'r str, headers: Vec<(&'static str, String)>) -> Self {
        Request { method: Method::GET, path, headers, body: Content::None, push: false }
    }
}

impl Repository<'_> {
    /// How messages name it.
    fn shown(&self) -> String {
        format!("{}/{}", self.host.name, self.name)
    }

    /// Tries again what may succeed later, as often and as late as the configuration says.
    fn patiently<T>(&self, mut attempt: impl FnMut() -> Result<T, Failure>) -> Result<T, Failure> {
        let mut tries = 0;
        loop {
            let failure = match attempt() {
                Ok(done) => return Ok(done),
                Err(failure) => failure,
            };
            if !failure.is_passing() || tries == self.client.network.retries {
                return Err(failure);
            }
            let pause = match &failure {
                Failure::Busy(message, Some(seconds)) => {
                    let asked = Duration::from_secs(*seconds);
                    if asked > LONGEST_PAUSE {
                        let message = format!("{message} and asks to come back in {seconds} s");
                        return Err(Failure::Busy(message, None));
                    }
                    // "At once" from a busy registry would use up all tries at once.
                    asked.max(pause_after(tries))
                }
                _ => pause_after(tries),
            };
            tries += 1;
            self.client.access.tell(1, || {
                let (Failure::Unreachable(why) | Failure::Busy(why, _)) = &failure else {
                    return String::new();
                };
                format!("{why}; trying again in {} ms", pause.as_millis())
            });
            wait(pause);
        }
    }

    /// Sends a request, with credentials when the registry asks for them; the answer is a good one.
    fn send(&self, request: &Request<'_>) -> Result<Response, Failure> {
        let actions = if request.push { "pull,push" } else { "pull" };
        let scope = format!("repository:{}:{actions}", self.name);
        let host = &self.host;
        let known = host.tokens.lock().unwrap_or_else(PoisonError::into_inner).get(&scope).cloned();
        let response = self.send_once(request, known.as_ref())?;
        if response.status.as_u16() != 401 {
            return self.good(response, None);
        }
        // A token that was good may have come to its end.
        let values = response.headers.get_all("www-authenticate");
        let offers = challenge::parse(values.iter().filter_map(|value| value.to_str().ok()));
        let credentials =
            credentials::find(&host.name, &self.name, &self.client.access.environment)?;
        let registry = host.endpoint.parse().map_err(|_| {
            Failure::Refused(format!("`{}` is not the host of a registry", host.name))
        })?;
        let purpose = token::Purpose {
            registry: &registry,
            scope: &scope,
            trusted: &host.trusted,
            patience: self.client.network.timeout,
        };
        let token = token::answer(&host.http, &offers, credentials.as_ref(), &purpose);
        let token = token.map_err(|failure| with_origin(failure, credentials.as_ref()))?;
        let Some(token) = token else { return self.good(response, credentials.as_ref()) };
        let response = self.send_once(request, Some(&token))?;
        if response.status.is_success() {
            host.tokens.lock().unwrap_or_else(PoisonError::into_inner).insert(scope, token);
        }
        self.good(response, credentials.as_ref())
    }

    fn send_once(
        &self,
        request: &Request<'_>,
        authorization: Option<&Secret>,
    ) -> Result<Response, Failure> {
        let host = &self.host;
        let is_whole = request.path.starts_with("http://") || request.path.starts_with("https://");
        let address = if is_whole {
            request.path.to_owned()
        } else {
            format!("{}/v2/{}/{}", host.endpoint, self.name, request.path)
        };
        let uri: Uri = address.parse().map_err(|_| {
            Failure::Refused(format!("`{}` gives an address that cannot be read", host.name))
        })?;
        let authority = |uri: &Uri| uri.authority().map(ToString::to_string);
        let own = host.endpoint.parse::<Uri>().ok();
        let is_own = own
            .is_some_and(|own| authority(&own) == authority(&uri) && own.scheme() == uri.scheme());
        let place = shown(&uri);
        let watch = Stopwatch::start();
        let sent = host.http.send(&Query {
            method: request.method.clone(),
            uri,
            headers: request.headers.clone(),
            authorization: authorization.filter(|_| is_own).map(Secret::reveal),
            body: request.body,
        });
        self.client.access.tell(2, || {
            let outcome = match &sent {
                Ok(response) => response.status.as_u16().to_string(),
                Err(_) => "failed".to_owned(),
            };
            format!("{} {place}: {outcome}, {} ms", request.method, watch.millis())
        });
        if let Ok(response) = &sent {
            self.client.access.tell(3, || headers_of(response));
        }
        sent
    }

    /// The response when it is a success, else what it means.
    fn good(
        &self,
        response: Response,
        credentials: Option<&Credentials>,
    ) -> Result<Response, Failure> {
        let status = response.status;
        if status.is_success() {
            return Ok(response);
        }
        let place = shown(&response.from);
        let after = response.header("retry-after").and_then(retry_after);
        let said = said(response, self.client.network.timeout);
        let answers = format!("{place} answers {status}{said}");
        Err(match status.as_u16() {
            401 | 403 => {
                let from = credentials.map(|found| format!("`{}`", found.from.trim_matches('`')));
                Failure::Denied(answers, from)
            }
            404 => Failure::NotFound(said),
            408 | 425 | 429 | 500..=599 => Failure::Busy(answers, after),
            _ => Failure::Refused(answers),
        })
    }
}

/// Says where refused credentials came from.
fn with_origin(failure: Failure, credentials: Option<&Credentials>) -> Failure {
    match failure {
        Failure::Denied(message, None) => {
            let from = credentials.map(|found| format!("`{}`", found.from.trim_matches('`')));
            Failure::Denied(message, from)
        }
        other => other,
    }
}

/// The codes of the distribution specification in an error's body. Its messages are left out: a
/// registry could repeat what it was sent.
fn said(response: Response, patience: Duration) -> String {
    #[derive(Deserialize)]
    struct Body {
        errors: Vec<Entry>,
    }
    #[derive(Deserialize)]
    struct Entry {
        code: String,
    }
    let mut bytes = Vec::new();
    let body = Paced::new(response.body, patience, ERROR_BYTES);
    if body.take(ERROR_BYTES).read_to_end(&mut bytes).is_err() {
        return String::new();
    }
    let Ok(body) = serde_json::from_slice::<Body>(&bytes) else { return String::new() };
    let is_code = |code: &String| {
        code.len() < 64 && code.bytes().all(|b| b.is_ascii_uppercase() || b == b'_')
    };
    let codes: Vec<String> = body.errors.into_iter().map(|e| e.code).filter(is_code).collect();
    if codes.is_empty() { String::new() } else { format!(" ({})", codes.join(", ")) }
}

/// Headers that tell something and hold no secret.
fn headers_of(response: &Response) -> String {
    let names = [
        "content-type",
        "content-length",
        "content-range",
        "docker-content-digest",
        "retry-after",
        "server",
    ];
    let lines = names
        .iter()
        .filter_map(|name| Some(format!("    {name}: {}", response.header(name)?.escape_debug())));
    lines.collect::<Vec<_>>().join("\n")
}

/// Diagnostics of one finding as a failure.
fn first(found: Diagnostics) -> Failure {
    let unknown = || Diagnostic::error(Code::RegistryFailed, "it failed for no known reason");
    Failure::Told(Box::new(found.into_iter().next().unwrap_or_else(unknown)))
}

/// An error while a body is read.
fn broken(place: &str, error: &io::Error) -> Failure {
    if error.get_ref().is_some_and(|inner| inner.is::<Overdue>()) {
        return Failure::TooSlow(format!("{place} is too slow: {error}"));
    }
    Failure::Unreachable(match error.kind() {
        io::ErrorKind::TimedOut => format!("{place} is too slow: {error}"),
        _ => format!("the connection to {place} broke: {error}"),
    })
}

/// That a blob or a manifest is not in the cache.
fn offline(shown: &str) -> Diagnostic {
    Diagnostic::error(
        Code::Offline,
        format!("`{shown}` is not in the cache, and nothing is fetched with `--offline`"),
    )
    .hint("Run once without `--offline`, or vendor the images: `bundle2chart vendor DIR`.")
}

/// That only the registry knows what a tag means.
fn offline_tag(shown: &str) -> Diagnostic {
    Diagnostic::error(
        Code::Offline,
        format!("only its registry knows what `{shown}` is now, and nothing is asked with `--offline`"),
    )
    .hint(
        "Lock it with `bundle2chart lock`, without `--offline`. Builds then go by the digest in the \
         lock file, with what is in the cache or what `bundle2chart vendor DIR` copied.",
    )
}
