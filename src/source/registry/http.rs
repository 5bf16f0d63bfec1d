//! HTTP for a registry client, with checks of redirects, credentials and addresses.

use super::failure::Failure;
use super::proxy::{self, Proxies, bare};
use crate::regular_file;
use rustls::crypto::ring;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::{self, PemObject as _};
use std::fmt::Debug;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;
use ureq::config::Config;
use ureq::http::{self, HeaderMap, Method, StatusCode, Uri};
use ureq::tls::{Certificate, RootCerts, TlsConfig, TlsProvider};
use ureq::unversioned::resolver::{DefaultResolver, ResolvedSocketAddrs, Resolver};
use ureq::unversioned::transport::{DefaultConnector, NextTimeout};
use ureq::{Agent, BodyReader, Proxy, SendBody};

/// Redirects of one request that are followed; registries use one or two.
const MOST_REDIRECTS: usize = 5;

/// Bytes of a file of certificates; that of a whole system has less than 1 MiB.
const ROOT_BYTES: u64 = 16 << 20;

/// Bytes of an answer's headers.
const HEADER_BYTES: usize = 64 << 10;

/// An answer.
pub(super) struct Response {
    pub(super) status: StatusCode,
    pub(super) headers: HeaderMap,
    pub(super) body: BodyReader<'static>,
    /// URL of the final response, after redirects.
    pub(super) from: Uri,
}

impl Response {
    /// Returns a header's value, when it is text.
    pub(super) fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name)?.to_str().ok()
    }
}

/// An HTTP request, for any address.
pub(super) struct Request<'r> {
    pub(super) method: Method,
    pub(super) headers: Vec<(&'static str, String)>,
    pub(super) body: Content<'r>,
}

impl Request<'_> {
    pub(super) fn new(method: Method) -> Self {
        Request { method, headers: Vec::new(), body: Content::None }
    }

    pub(super) fn get(headers: Vec<(&'static str, String)>) -> Self {
        Request { headers, ..Request::new(Method::GET) }
    }
}

/// The body of a request.
#[derive(Clone, Copy)]
pub(super) enum Content<'r> {
    None,
    Bytes(&'r [u8]),
    /// A file from its start.
    File(&'r std::fs::File, u64),
}

/// Connections to the hosts of one registry.
pub(super) struct Http {
    direct: Agent,
    /// Through the proxies for https and for http.
    proxied: [Option<Agent>; 2],
    proxies: Arc<Proxies>,
}

impl Http {
    /// Creates the connections of a registry. `loopback` is true if the registry is on this
    /// machine, and may redirect to it.
    pub(super) fn new(
        roots: &[Certificate<'static>],
        timeout: Duration,
        loopback: bool,
        proxies: &Arc<Proxies>,
    ) -> Self {
        let tls = TlsConfig::builder()
            .provider(TlsProvider::Rustls)
            .root_certs(RootCerts::new_with_certs(roots))
            .unversioned_rustls_crypto_provider(Arc::new(ring::default_provider()))
            .build();
        let agent = |proxy: Option<Proxy>| {
            let config = Config::builder()
                .http_status_as_error(false)
                // Redirects are followed below, with checks that ureq does not have.
                .max_redirects(0)
                .max_redirects_will_error(false)
                .max_response_header_size(HEADER_BYTES)
                .tls_config(tls.clone())
                .user_agent(concat!("bundle2chart/", env!("CARGO_PKG_VERSION")))
                // Digests and sizes are those of the bytes as stored.
                .accept_encoding("identity")
                .timeout_resolve(Some(timeout))
                .timeout_connect(Some(timeout))
                .timeout_recv_response(Some(timeout))
                .timeout_per_read(Some(timeout))
                .timeout_per_write(Some(timeout))
                .proxy(proxy)
                .build();
            // With a proxy, it is the proxy's name that is resolved, and that may be anywhere.
            let loopback = loopback || config.proxy().is_some();
            let resolver = Guarded { inner: DefaultResolver::default(), loopback };
            Agent::with_parts(config, DefaultConnector::default(), resolver)
        };
        let through = |https| proxies.of_scheme(https).map(|proxy| agent(Some(proxy.clone())));
        let proxied = [through(true), through(false)];
        Http { direct: agent(None), proxied, proxies: Arc::clone(proxies) }
    }

    /// Sends a request and follows redirects: to https only (unless the request itself was not),
    /// and without the Authorization header, with the value `authorization`, when the host or port
    /// changes.
    pub(super) fn send(
        &self,
        request: &Request<'_>,
        address: &Uri,
        authorization: Option<&str>,
    ) -> Result<Response, Failure> {
        let mut uri = address.clone();
        for _ in 0..=MOST_REDIRECTS {
            // Registries redirect to storage with signed URLs, which rejects a second
            // authorization.
            let authorization = authorization.filter(|_| same_host(&uri, address));
            let response = self.send_once(request, &uri, authorization)?;
            // Only GET and HEAD follow redirects.
            let may_move = matches!(request.method, Method::GET | Method::HEAD);
            let target = response.header("location").filter(|_| may_move);
            let (true, Some(target)) = (response.status.is_redirection(), target) else {
                return Ok(response);
            };
            let next = join(&uri, target).ok_or_else(|| {
                Failure::unsafe_redirect(format!("{} redirects to an invalid address", shown(&uri)))
            })?;
            // Plain HTTP only where it was asked for from the start.
            if next.scheme_str() != Some("https") && next.scheme_str() != address.scheme_str() {
                return Err(Failure::unsafe_redirect(format!(
                    "{} redirects to {}, which is not HTTPS",
                    shown(&uri),
                    shown(&next)
                )));
            }
            uri = next;
        }
        Err(Failure::unsafe_redirect(format!(
            "{} redirects more than {MOST_REDIRECTS} times",
            shown(address)
        )))
    }

    fn send_once(
        &self,
        sent: &Request<'_>,
        uri: &Uri,
        authorization: Option<&str>,
    ) -> Result<Response, Failure> {
        let mut request = http::Request::builder().method(sent.method.clone()).uri(uri.clone());
        for (name, value) in &sent.headers {
            request = request.header(*name, value);
        }
        if let Some(authorization) = authorization {
            request = request.header("authorization", authorization);
        }
        let (agent, proxy) = self.agent(uri)?;
        let failed = |error: ureq::Error| failure(uri, proxy, &error);
        let unbuilt = |error: http::Error| {
            Failure::Refused(format!("cannot send the request to {}: {error}", shown(uri)))
        };
        let response = match sent.body {
            Content::None => agent.run(request.body(()).map_err(unbuilt)?),
            Content::Bytes(bytes) => agent.run(request.body(bytes).map_err(unbuilt)?),
            Content::File(mut file, size) => {
                // The distribution specification requires the length of a monolithic upload, and a
                // reader has none.
                let request = request.header("content-length", size);
                let body = SendBody::from_reader(&mut file);
                agent.run(request.body(body).map_err(unbuilt)?)
            }
        };

        let (parts, body) = response.map_err(failed)?.into_parts();
        Ok(Response {
            status: parts.status,
            headers: parts.headers,
            // Readers of bodies have limits of their own.
            body: body.into_with_config().limit(u64::MAX).reader(),
            from: uri.clone(),
        })
    }

    /// Returns the agent for an address, and its proxy, if any. This machine is never reached
    /// through a proxy.
    fn agent(&self, uri: &Uri) -> Result<(&Agent, Option<&Proxy>), Failure> {
        let host = uri.host().unwrap_or_default();
        // A proxy has another loopback interface.
        let proxy = if is_loopback(host) { None } else { self.proxies.to(uri)? };
        let [https, http] = &self.proxied;
        match (if is_https(uri) { https } else { http }, proxy) {
            (Some(agent), Some(proxy)) => {
                // Behind a proxy our resolver does not see the address, so the name must do.
                if !is_allowed_host(host) {
                    return Err(forbidden(uri));
                }
                Ok((agent, Some(proxy)))
            }
            _ => Ok((&self.direct, None)),
        }
    }
}

/// Certificates of the system's trust store.
pub(super) fn system_roots() -> Vec<Certificate<'static>> {
    let found = rustls_native_certs::load_native_certs();
    found.certs.into_iter().map(|cert| Certificate::from_der(cert.as_ref()).to_owned()).collect()
}

/// Reads a PEM file of certificates; the error is the end of a message.
pub(super) fn read_roots(path: &Path) -> Result<Vec<Certificate<'static>>, String> {
    let pem = regular_file::read(path, ROOT_BYTES).map_err(|error| error.to_string())?;
    let roots = CertificateDer::pem_slice_iter(&pem)
        .map(|found| Ok(Certificate::from_der(&found?).to_owned()))
        .collect::<Result<Vec<_>, pem::Error>>();
    let roots = roots.map_err(|error| error.to_string())?;
    if roots.is_empty() { Err("no certificate found".to_owned()) } else { Ok(roots) }
}

/// Returns true if the host name is a loopback name.
pub(super) fn is_loopback(host: &str) -> bool {
    let name = match host.strip_prefix('[') {
        Some(bracketed) => bracketed.split(']').next().unwrap_or_default(),
        None => host.split(':').next().unwrap_or_default(),
    };
    name == "localhost" || name.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
}

/// Returns true if two addresses are of the same server.
pub(super) fn same_host(one: &Uri, other: &Uri) -> bool {
    // With and without the default port, it is the same server.
    one.host() == other.host() && port(one) == port(other) && one.scheme() == other.scheme()
}

/// Returns the port of an address, which is that of its scheme if it has none.
pub(super) fn port(uri: &Uri) -> u16 {
    uri.port_u16().unwrap_or(if is_https(uri) { 443 } else { 80 })
}

pub(super) fn is_https(uri: &Uri) -> bool {
    uri.scheme_str() == Some("https")
}

/// Returns a Location relative to the address that gave it.
pub(super) fn join(base: &Uri, location: &str) -> Option<Uri> {
    let scheme = location.split_once("://").map(|(scheme, _)| scheme);
    // The query of a relative location may have `://`, too.
    if scheme.is_some_and(|scheme| scheme.bytes().all(|byte| byte.is_ascii_alphabetic())) {
        return location.parse().ok().filter(|uri: &Uri| uri.authority().is_some());
    }
    let (scheme, authority) = (base.scheme_str()?, base.authority()?);
    if location.starts_with("//") {
        return format!("{scheme}:{location}").parse().ok();
    }
    let folder = base.path().rsplit_once('/').map_or("", |(folder, _)| folder);
    let path = if location.starts_with('/') {
        location.to_owned()
    } else if location.starts_with('?') {
        // Without a path, it is another query of the same one (RFC 3986, 5.2.2).
        format!("{}{location}", base.path())
    } else {
        format!("{folder}/{location}")
    };
    format!("{scheme}://{authority}{path}").parse().ok()
}

/// Returns an address for messages, without its query, which may be a signature.
pub(super) fn shown(uri: &Uri) -> String {
    let authority = uri.authority().map_or("", |authority| authority.as_str());
    // Messages must not contain user information or queries, which may be signed.
    let host = authority.rsplit_once('@').map_or(authority, |(_, host)| host);
    let path: String = uri.path().chars().take(200).collect();
    format!("{}://{host}{}", uri.scheme_str().unwrap_or("https"), path.escape_debug())
}

/// Resolves names, but not to where no registry is: addresses of the link and others at which
/// clouds serve the credentials of machines, and this machine unless the registry is on it.
#[derive(Debug)]
struct Guarded {
    inner: DefaultResolver,
    loopback: bool,
}

impl Resolver for Guarded {
    fn resolve(
        &self,
        uri: &Uri,
        config: &Config,
        timeout: NextTimeout,
    ) -> Result<ResolvedSocketAddrs, ureq::Error> {
        let found = self.inner.resolve(uri, config, timeout)?;
        let mut allowed = self.empty();
        for address in found.iter().filter(|address| is_allowed(address.ip(), self.loopback)) {
            allowed.push(*address);
        }
        // A name may have several addresses, of which the allowed ones are used.
        if allowed.is_empty() {
            return Err(ureq::Error::Other(FORBIDDEN.into()));
        }
        Ok(allowed)
    }
}

/// Returns true if a registry can have this address; loopback addresses only if `loopback`.
fn is_allowed(address: IpAddr, loopback: bool) -> bool {
    // IPv4 addresses written as IPv6 are the same hosts.
    let address = address.to_canonical();
    if METADATA_ADDRESSES.contains(&address) || (!loopback && address.is_loopback()) {
        return false;
    }
    match address {
        IpAddr::V4(v4) => !v4.is_link_local() && !v4.is_unspecified() && !v4.is_broadcast(),
        IpAddr::V6(v6) => {
            // The AWS metadata service: fd00:ec2::/48.
            let is_aws = v6.segments()[..3] == [0xfd00, 0x0ec2, 0];
            let has_own_meaning = v6.is_unicast_link_local() || v6.is_unspecified() || is_aws;
            // A gateway or the kernel sends these on as IPv4.
            !has_own_meaning
                && (v6.is_loopback()
                    || embedded(v6).is_none_or(|v4| is_allowed(IpAddr::V4(v4), loopback)))
        }
    }
}

/// Addresses outside of the link where clouds serve the credentials of machines.
const METADATA_ADDRESSES: [IpAddr; 6] = [
    // Alibaba Cloud.
    IpAddr::V4(Ipv4Addr::new(100, 100, 100, 200)),
    // Azure's WireServer.
    IpAddr::V4(Ipv4Addr::new(168, 63, 129, 16)),
    // Oracle Cloud, of old over IPv4 and now over IPv6.
    IpAddr::V4(Ipv4Addr::new(192, 0, 0, 192)),
    IpAddr::V6(Ipv6Addr::new(0xfd00, 0xc1, 0, 0, 0, 0, 0xa9fe, 0xa9fe)),
    // Google Cloud.
    IpAddr::V6(Ipv6Addr::new(0xfd20, 0xce, 0, 0, 0, 0, 0, 0x254)),
    // Scaleway.
    IpAddr::V6(Ipv6Addr::new(0xfd00, 0x42, 0, 0, 0, 0, 0, 0x42)),
];

/// Names of the same, for a proxy that resolves names itself.
const METADATA_NAMES: [&str; 3] =
    ["instance-data.ec2.internal", "metadata.goog", "metadata.google.internal"];

/// Returns the IPv4 address in an IPv6 one: compatible (RFC 4291, 2.5.5.1), NAT64 (RFC 6052 and
/// 8215), 6to4 (RFC 3056), Teredo (RFC 4380) or ISATAP (RFC 5214). Mapped ones are IPv4 by now.
fn embedded(address: Ipv6Addr) -> Option<Ipv4Addr> {
    let parts = address.segments();
    let v4 = |high: u16, low: u16| Some(Ipv4Addr::from((u32::from(high) << 16) | u32::from(low)));
    match parts {
        [0, 0, 0, 0, 0, 0, high, low] | [0x64, 0xff9b, 0, 0, 0, 0, high, low] => v4(high, low),
        // A network's own prefix of /48 has the address around an octet of zeros, a longer one
        // has it at the end.
        [0x64, 0xff9b, 1, high, low, rest, ..] if high != 0 => {
            v4(high, ((low & 0xff) << 8) | (rest >> 8))
        }
        [0x64, 0xff9b, 1, _, _, _, high, low] => v4(high, low),
        [0x2002, high, low, ..] => v4(high, low),
        [0x2001, 0, _, _, _, _, high, low] => v4(!high, !low),
        [_, _, _, _, 0 | 0x200, 0x5efe, high, low] => v4(high, low),
        _ => None,
    }
}

/// Returns true if a proxy can be asked for a host whose name only the proxy resolves.
fn is_allowed_host(host: &str) -> bool {
    let host = bare(host).trim_end_matches('.').to_ascii_lowercase();
    if let Ok(address) = host.parse::<IpAddr>() {
        return is_allowed(address, false);
    }
    // `2852039166`, `0xa9.254.43518` and others are IPv4 addresses to many programs.
    let last = host.rsplit('.').next().unwrap_or_default();
    let digits = last.strip_prefix("0x").unwrap_or(last);
    let is_number = if digits.len() < last.len() {
        digits.bytes().all(|byte| byte.is_ascii_hexdigit())
    } else {
        !last.is_empty() && last.bytes().all(|byte| byte.is_ascii_digit())
    };
    !is_number && !METADATA_NAMES.contains(&host.as_str())
}

/// The error for a name that resolves to no allowed address.
const FORBIDDEN: &str = "it is a loopback, link-local or cloud metadata address";

fn forbidden(uri: &Uri) -> Failure {
    Failure::unsafe_redirect(format!("{} is not contacted: {FORBIDDEN}", shown(uri)))
}

/// Converts a connection error to a failure.
fn failure(uri: &Uri, proxy: Option<&Proxy>, error: &ureq::Error) -> Failure {
    let mut place = shown(uri);
    if let Some(proxy) = proxy {
        place = format!("{place} through the proxy {}", proxy::shown(proxy));
    }

    match error {
        // Only our resolver makes such errors, for forbidden addresses.
        ureq::Error::Other(_) => forbidden(uri),
        ureq::Error::HostNotFound => {
            Failure::Unreachable(format!("cannot resolve the host of {place}"))
        }
        ureq::Error::Timeout(_) => Failure::Unreachable(format!("{place} timed out")),
        ureq::Error::Rustls(inner) => tls_failure(&place, inner),
        ureq::Error::Tls(_) | ureq::Error::TlsRequired => {
            Failure::Tls(format!("no secure connection to {place}: {error}"))
        }
        ureq::Error::LargeResponseHeader(..) | ureq::Error::BadUri(_) => {
            Failure::Refused(format!("{place}: {error}"))
        }
        ureq::Error::Io(inner) => match inner.get_ref().and_then(|inner| inner.downcast_ref()) {
            Some(inner) => tls_failure(&place, inner),
            None => Failure::Unreachable(format!("{place}: {inner}")),
        },
        other => Failure::Unreachable(format!("{place}: {other}")),
    }
}

fn tls_failure(place: &str, error: &rustls::Error) -> Failure {
    let message = format!("no secure connection to {place}: {error}");
    match error {
        rustls::Error::InvalidCertificate(_) => Failure::Certificate(message),
        _ => Failure::Tls(message),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn locations_are_relative_to_where_they_come_from() {
        let base: Uri = "https://a.example.com:5000/v2/x/blobs/uploads/".parse().unwrap();
        let joined = |location: &str| join(&base, location).map(|uri| uri.to_string());
        for (location, expected) in [
            ("https://b.example.com/c?d=e", "https://b.example.com/c?d=e"),
            ("/v2/y?d=e", "https://a.example.com:5000/v2/y?d=e"),
            ("//b.example.com/c", "https://b.example.com/c"),
            ("c", "https://a.example.com:5000/v2/x/blobs/uploads/c"),
            ("?d=e", "https://a.example.com:5000/v2/x/blobs/uploads/?d=e"),
        ] {
            assert_eq!(joined(location).as_deref(), Some(expected));
        }
        for nothing in ["https://", "file:///etc/passwd", "https://a b/"] {
            assert_eq!(joined(nothing), None, "{nothing}");
        }
    }

    #[test]
    fn what_is_shown_of_an_address_holds_no_secret() {
        let uri: Uri = "https://user:canary@a.example.com/b?signature=canary".parse().unwrap();
        assert_eq!(shown(&uri), "https://a.example.com/b");
    }

    #[test]
    fn this_machine_has_several_names() {
        for host in ["localhost", "localhost:5000", "127.0.0.1:5000", "127.1.2.3", "[::1]:80"] {
            assert!(is_loopback(host), "{host}");
        }
        for host in ["localhost.example.com", "10.0.0.1", "169.254.169.254", "a.b:127"] {
            assert!(!is_loopback(host), "{host}");
        }
    }

    #[test]
    fn addresses_of_the_link_and_of_metadata_services_are_no_registries() {
        for address in [
            "169.254.169.254",
            "169.254.170.2",
            "fe80::1",
            "0.0.0.0",
            "fd00:ec2::254",
            "fd00:ec2::23",
            "100.100.100.200",
            "168.63.129.16",
            "192.0.0.192",
            "fd20:ce::254",
            "fd00:c1::a9fe:a9fe",
            "fd00:42::42",
            "::ffff:169.254.169.254",
            "::ffff:100.100.100.200",
            "::169.254.169.254",
            "64:ff9b::169.254.169.254",
            "64:ff9b::a83f:8110",
            "64:ff9b:1:a9fe:a9:fe00::",
            "64:ff9b:1::169.254.169.254",
            "2002:a9fe:a9fe::1",
            "2001:0:1:2:3:4:5601:5601",
            "2001:db8::5efe:169.254.169.254",
        ] {
            assert!(!is_allowed(address.parse().unwrap(), true), "{address}");
            assert!(!is_allowed_host(&format!("[{address}]")), "{address}");
        }
        for address in [
            "10.0.0.1",
            "192.168.1.1",
            "93.184.215.14",
            "100.100.100.201",
            "2001:db8::1",
            "fd12:3456::1",
            "64:ff9b::93.184.215.14",
            "2002:5db8:d70e::1",
        ] {
            assert!(is_allowed(address.parse().unwrap(), false), "{address}");
        }
        for address in ["127.0.0.1", "::1", "64:ff9b::127.0.0.1", "::ffff:127.0.0.1"] {
            assert!(!is_allowed(address.parse().unwrap(), false), "{address}");
        }
        assert!(is_allowed("::1".parse().unwrap(), true));
    }

    #[test]
    fn a_proxy_is_not_asked_for_metadata_services() {
        for host in [
            "169.254.169.254",
            "2852039166",
            "0xa9fea9fe",
            "0xa9.0xfe.0xa9.0xfe",
            "169.254.43518",
            "metadata.google.internal",
            "Metadata.Google.Internal.",
        ] {
            assert!(!is_allowed_host(host), "{host}");
        }
        for host in ["quay.io", "10.0.0.1", "registry.example.com.", "metadata", "a.b1", "1.a"] {
            assert!(is_allowed_host(host), "{host}");
        }
    }
}
