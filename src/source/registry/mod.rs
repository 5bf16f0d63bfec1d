//! A registry client: the OCI distribution specification over HTTPS, pull and push.
//!
//! Registries are not trusted: their redirects, token servers and the size and content of responses
//! are checked. Credentials are only sent to the registry itself and to the hosts in the
//! configuration. docs/decisions.md says why oci-client is not used.

mod credentials;
mod failure;
pub(super) mod fuzzing;
mod http;
mod manifest;
mod proxy;
mod referrers;
mod retry;
mod token;
mod transfer;

use super::access::Environment;
use super::cache::Cache;
use super::image::MANIFEST_TYPES;
use super::limits::is_exceeded;
use super::reference::Reference;
use super::resolver::{Located, SourceResolver};
use crate::config::Network;
use crate::diag::{Code, Fatal};
use crate::failure;
use crate::ir::json::items;
use crate::parallel::locked;
use credentials::{Credentials, Secret};
use failure::Failure;
use http::{Http, Request, Response, is_loopback, join, same_host, shown};
use oci_spec::image::Descriptor;
use proxy::Proxies;
use retry::{Claims, LONGEST_PAUSE, pause_after, read_body, retry_after, timed};
use serde_json::Value as Json;
use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::sync::{Arc, Mutex, OnceLock};
use std::time::Duration;
use ureq::http::{Method, Uri};
use ureq::tls::Certificate;

/// Returns the Accept header for manifests and indexes.
fn accepted() -> (&'static str, String) {
    ("accept", MANIFEST_TYPES.join(", "))
}

/// Bytes of an error's body that are looked at.
const ERROR_BYTES: u64 = 64 << 10;

/// Hosts that are documented as one service and share credentials: the token servers of Docker Hub
/// and GitLab.com.
const SAME_SERVICE: &[(&str, &str)] =
    &[("docker.io", "auth.docker.io"), ("registry.gitlab.com", "gitlab.com")];

/// All registries.
pub(super) struct Client {
    cache: Cache,
    hosts: Mutex<BTreeMap<String, Arc<Host>>>,
    system_roots: OnceLock<Vec<Certificate<'static>>>,
    proxies: Arc<Proxies>,
    /// Downloads in progress, so that nothing is downloaded twice at a time.
    claims: Claims<String>,
    /// Results by reference, so that a tag resolves to the same image during a run, and failures
    /// are not repeated for the next bundle.
    outcomes: Mutex<BTreeMap<String, Result<Descriptor, Fatal>>>,
}

/// One registry.
struct Host {
    /// The name as in references.
    name: String,
    /// Scheme and authority of requests.
    endpoint: String,
    http: Http,
    /// Numbers of the requests that are under way.
    requests: Claims<usize>,
    /// Other hosts, optionally with port, that may receive the credentials.
    trusted: Vec<String>,
    /// Values of the Authorization header by scope.
    tokens: Mutex<BTreeMap<String, Secret>>,
}

/// A repository in a registry.
pub(super) struct Repository<'s> {
    sources: &'s SourceResolver,
    client: &'s Client,
    host: Arc<Host>,
    name: String,
    /// The address that those of requests are relative to.
    base: Uri,
}

impl SourceResolver {
    /// Finds an image in its registry.
    pub(super) fn open_registry(&self, reference: &Reference) -> Result<Located<'_>, Fatal> {
        let repository = self.repository(&reference.name)?;
        let root = repository.manifest(reference)?;
        Ok(Located { blobs: Box::new(repository), root, signature: None })
    }

    /// Returns the tags of the repository `name` in its registry.
    pub(super) fn tags_in(&self, name: &str) -> Result<Vec<String>, Fatal> {
        self.repository(name)?.tags()
    }

    /// Returns the repository of a name such as `registry.example.com/team/bundle`.
    pub(super) fn repository(&self, name: &str) -> Result<Repository<'_>, Fatal> {
        // On first use: a build from local bundles needs neither credentials nor proxies.
        let client = self.client.get_or_init(|| Client::of(&self.access.environment));
        let client = client.as_ref().map_err(Clone::clone)?;
        let (host, path) = name.split_once('/').unwrap_or((name, ""));
        let name = match (host, path.contains('/')) {
            // Docker Hub's own images have a short name.
            ("docker.io", false) => format!("library/{path}"),
            _ => path.to_owned(),
        };
        let host = client.host(host, self).map_err(|failure| failure.diagnostic(host))?;
        let base = format!("{}/v2/{name}/", host.endpoint).parse().map_err(|_| {
            let message = format!("invalid registry host `{}`", host.name);
            Failure::Refused(message).diagnostic(&host.name)
        })?;
        Ok(Repository { sources: self, client, host, name, base })
    }
}

impl Client {
    fn of(environment: &Environment) -> Result<Self, Fatal> {
        Ok(Client {
            cache: Cache::new(environment.cache().as_deref())?,
            proxies: Arc::new(Proxies::of(environment)),
            hosts: Mutex::default(),
            system_roots: OnceLock::new(),
            claims: Claims::default(),
            outcomes: Mutex::default(),
        })
    }

    fn host(&self, name: &str, sources: &SourceResolver) -> Result<Arc<Host>, Failure> {
        // Locked until the host is known: another thread would probe the same registry again.
        let mut hosts = locked(&self.hosts);
        if let Some(host) = hosts.get(name) {
            return Ok(Arc::clone(host));
        }
        let config = sources.registries.iter().find(|registry| registry.host == name);
        let mut roots = self.system_roots.get_or_init(http::system_roots).clone();
        if let Some((registry, ca)) = config.and_then(|config| Some((config, config.ca.as_ref()?)))
        {
            let own = http::read_roots(&sources.base.join(ca)).map_err(|why| {
                let message = format!("cannot use `{ca}` as `ca`: {why}");
                let hint = "set a PEM file with the CA certificates";
                let error = failure(Code::InvalidValue, message, hint);
                Failure::Reported(error.at(&registry.span).into())
            })?;
            // In addition to the system's, and for this registry only.
            roots.extend(own);
        }
        let loopback = is_loopback(name);
        let http = Http::new(&roots, sources.network.timeout, loopback, &self.proxies);
        let authority = if name == "docker.io" { "registry-1.docker.io" } else { name };
        let plain = match config.and_then(|config| config.plain_http) {
            Some(plain) => plain,
            // A registry on this machine is often one for tests, without a certificate.
            _ if loopback && !sources.access.offline => speaks_plain_http(&http, authority),
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
            requests: Claims::default(),
            trusted,
            tokens: Mutex::default(),
        });
        hosts.insert(name.to_owned(), Arc::clone(&host));
        Ok(host)
    }
}

/// Returns true if a registry answers over HTTP and has no TLS.
fn speaks_plain_http(http: &Http, authority: &str) -> bool {
    let ask = |scheme: &str| {
        let address: Uri = format!("{scheme}://{authority}/v2/").parse().ok()?;
        Some(http.send(&Request::new(Method::GET), &address, None))
    };
    // A certificate that is not trusted is TLS all the same.
    let has_tls = match ask("https") {
        Some(Err(Failure::Certificate(_))) => true,
        Some(outcome) => outcome.is_ok(),
        None => false,
    };
    !has_tls && matches!(ask("http"), Some(Ok(_)))
}

impl Repository<'_> {
    /// Returns the name for messages.
    fn shown(&self) -> String {
        format!("{}/{}", self.host.name, self.name)
    }

    /// Makes a request when few enough are under way. Retries a temporary failure, as often as the
    /// configuration says. `missing` says what does not exist if the registry has no such thing.
    fn with_retries<T>(
        &self,
        missing: impl FnOnce() -> String,
        mut attempt: impl FnMut() -> Result<T, Failure>,
    ) -> Result<T, Fatal> {
        let Network { downloads, retries, .. } = self.sources.network;
        let free =
            |taken: &BTreeSet<usize>| (0..downloads.max(1) as usize).find(|n| !taken.contains(n));
        let _claim = self.host.requests.wait_for(free);
        let mut tries = 0;
        loop {
            let (why, asked) = match attempt() {
                Err(Failure::Unreachable(why)) if tries < retries => (why, None),
                Err(Failure::Busy(why, asked)) if tries < retries => (why, asked),
                Err(Failure::NotFound(codes)) => {
                    return Err(self.failed(Failure::NotFound(missing() + &codes)));
                }
                // Done, or not to be tried again.
                outcome => return outcome.map_err(|failure| self.failed(failure)),
            };
            let mut pause = pause_after(tries);
            if let Some(seconds) = asked {
                let asked = Duration::from_secs(seconds);
                if asked > LONGEST_PAUSE {
                    let message = format!("{why}, with Retry-After {seconds} s");
                    return Err(self.failed(Failure::Busy(message, None)));
                }
                // "At once" from a busy registry would use up all tries at once.
                pause = pause.max(asked);
            }
            tries += 1;
            self.sources.access.tell(1, || format!("{why}; retrying in {} ms", pause.as_millis()));
            std::thread::sleep(pause);
        }
    }

    fn failed(&self, failure: Failure) -> Fatal {
        failure.diagnostic(&self.host.name).into()
    }

    /// Sends a request to a path below `/v2/NAME/` or a whole address, with credentials if the registry
    /// requires them, which with `push` may push; returns successful responses only.
    fn send(&self, path: &str, push: bool, request: &Request<'_>) -> Result<Response, Failure> {
        let actions = if push { "pull,push" } else { "pull" };
        let scope = format!("repository:{}:{actions}", self.name);
        let host = &self.host;
        let known = locked(&host.tokens).get(&scope).cloned();
        let response = self.send_once(path, request, known.as_ref())?;
        if response.status.as_u16() != 401 {
            return self.check_status(response, None);
        }
        // A token may have expired.
        let values = response.headers.get_all("www-authenticate");
        let offers = token::challenges(values.iter().filter_map(|value| value.to_str().ok()));
        let credentials =
            credentials::find(&host.name, &self.name, &self.sources.access.environment)?;
        let token = self.answer(&offers, credentials.as_ref(), &scope)?;
        let Some(token) = token else { return self.check_status(response, credentials.as_ref()) };
        let response = self.send_once(path, request, Some(&token))?;
        // A rejected token is not kept, or the next request would begin with it.
        if response.status.is_success() {
            locked(&host.tokens).insert(scope, token);
        }
        self.check_status(response, credentials.as_ref())
    }

    fn send_once(
        &self,
        path: &str,
        request: &Request<'_>,
        authorization: Option<&Secret>,
    ) -> Result<Response, Failure> {
        let host = &self.host;
        let uri = join(&self.base, path)
            .ok_or_else(|| Failure::Refused(format!("`{}` returned an invalid URL", host.name)))?;
        let place = shown(&uri);
        let is_own = same_host(&self.base, &uri);
        let authorization = authorization.filter(|_| is_own).map(Secret::reveal);
        let (sent, millis) = timed(|| host.http.send(request, &uri, authorization));
        self.sources.access.tell(2, || {
            let outcome = match &sent {
                Ok(response) => response.status.as_u16().to_string(),
                Err(_) => "failed".to_owned(),
            };
            format!("{} {place}: {outcome}, {millis} ms", request.method)
        });
        if let Ok(response) = &sent {
            self.sources.access.tell(3, || headers_of(response));
        }

        sent
    }

    /// Returns a successful response, or the failure for its status.
    fn check_status(
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
        let codes = error_codes(response, self.sources.network.timeout);
        let answers = format!("{place} returned {status}{codes}");
        Err(match status.as_u16() {
            401 | 403 => Failure::Denied(answers, credentials.map(|found| found.from.clone())),
            404 => Failure::NotFound(codes),
            408 | 425 | 429 | 500..=599 => Failure::Busy(answers, after),
            _ => Failure::Refused(answers),
        })
    }
}

/// Returns the error codes (OCI distribution specification) in the body of an error. Messages are
/// dropped, because a registry could echo secrets of the request.
fn error_codes(response: Response, timeout: Duration) -> String {
    let bytes = read_body(response.body, timeout, ERROR_BYTES).ok().flatten().unwrap_or_default();
    let body: Json = serde_json::from_slice(&bytes).unwrap_or_default();
    let codes = items(&body, &["errors"]).iter().map(|error| error["code"].as_str());
    // Without one of them, it is no such body.
    let mut codes = codes.collect::<Option<Vec<&str>>>().unwrap_or_default();
    // The form that the specification gives codes; anything else could be text of the request.
    codes.retain(|code| {
        code.len() < 64 && code.bytes().all(|b| b.is_ascii_uppercase() || b == b'_')
    });
    if codes.is_empty() { String::new() } else { format!(" ({})", codes.join(", ")) }
}

/// Formats the useful headers that contain no secrets.
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

/// Returns an error while a body is read.
fn broken(place: &str, error: &io::Error) -> Failure {
    if is_exceeded(error) {
        return Failure::too_slow(format!("{place} is too slow: {error}"));
    }
    Failure::Unreachable(match error.kind() {
        io::ErrorKind::TimedOut => format!("{place} is too slow: {error}"),
        _ => format!("connection to {place} broke: {error}"),
    })
}

/// Reports a blob or manifest that is not in the cache.
fn offline(shown: &str) -> Fatal {
    let message = format!("`{shown}` is not in the cache and --offline is set");
    let hint = "run once without `--offline`, or vendor the images with `bundle2chart vendor DIR`";
    failure(Code::Offline, message, hint)
}

/// Reports a tag that can only be resolved by the registry.
fn offline_tag(shown: &str) -> Fatal {
    let message = format!("cannot resolve tag `{shown}` with --offline: it is not in bundles.lock");
    let hint = "run `bundle2chart lock` without `--offline`; builds then use the digest in bundles.lock, \
            from the cache or from what `bundle2chart vendor DIR` copied";
    failure(Code::Offline, message, hint)
}
