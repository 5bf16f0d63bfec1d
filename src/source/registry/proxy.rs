//! Selects the proxy for a URL from environment variables.
//!
//! The variables work as in Go programs (golang.org/x/net/http/httpproxy) such as podman, skopeo
//! and kubectl: `HTTPS_PROXY` for https, `HTTP_PROXY` for http, and exceptions in `NO_PROXY`.
//! `ALL_PROXY` is the default for the first two, as in curl.

use super::super::access::Environment;
use super::failure::Failure;
use super::http::{is_https, port};
use crate::diag::{Code, Fatal};
use crate::failure;
use std::net::IpAddr;
use ureq::http::Uri;
use ureq::{Proxy, ProxyProtocol};

/// The proxy settings.
pub(super) struct Proxies {
    https: Setting,
    http: Setting,
    exceptions: Vec<Exception>,
}

/// A proxy, if configured. Errors are reported when the proxy is needed.
type Setting = Result<Option<Proxy>, Fatal>;

/// An exception in `NO_PROXY`.
#[derive(Debug, PartialEq, Eq)]
enum Exception {
    Everywhere,
    /// Addresses whose first bits are these.
    Network(IpAddr, u8),
    /// A name and those below it, without its dot; only those below it when that is `true`.
    Domain(String, bool, Option<u16>),
}

impl Proxies {
    /// Reads the variables.
    pub(super) fn of(environment: &Environment) -> Self {
        // Upper case first, as in Go (httpproxy.FromEnvironment).
        let first = |names: &[&'static str]| {
            let mut set = names.iter().filter_map(|name| Some((*name, environment.get(name)?)));
            set.next().map(|(name, value)| proxy(name, value)).transpose()
        };
        let none = environment.get("NO_PROXY").or_else(|| environment.get("no_proxy"));
        let entries = none.unwrap_or_default().split([',', ' ']).map(str::trim);
        Proxies {
            https: first(&["HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy"]),
            http: first(&["HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"]),
            exceptions: entries.filter(|entry| !entry.is_empty()).filter_map(exception).collect(),
        }
    }

    /// Returns the proxy for https or http.
    pub(super) fn of_scheme(&self, https: bool) -> Option<&Proxy> {
        if https { &self.https } else { &self.http }.as_ref().ok()?.as_ref()
    }

    /// Returns the proxy that leads to an address, unless none is needed.
    pub(super) fn to(&self, uri: &Uri) -> Result<Option<&Proxy>, Failure> {
        if self.exceptions.iter().any(|exception| exception.covers(uri)) {
            return Ok(None);
        }
        let setting = if is_https(uri) { &self.https } else { &self.http };
        setting.as_ref().map(Option::as_ref).map_err(|wrong| Failure::Reported(wrong.clone()))
    }
}

/// Returns the address of a proxy for messages, without its password.
pub(super) fn shown(proxy: &Proxy) -> String {
    let kind = if proxy.protocol() == ProxyProtocol::Https { "https" } else { "http" };
    format!("{kind}://{}:{}", proxy.host(), proxy.port())
}

fn proxy(name: &str, value: &str) -> Result<Proxy, Fatal> {
    // `proxy:3128` is usual.
    let scheme = value.split_once("://").map_or("http", |(scheme, _)| scheme);
    let spoken = ["http", "https"].iter().any(|known| scheme.eq_ignore_ascii_case(known));
    let made = Proxy::new(value.trim()).ok().filter(|_| spoken);
    made.ok_or_else(|| {
        // The value is not shown: it may contain a password.
        let message = format!("invalid proxy address in the environment variable `{name}`");
        let hint = "write http://HOST:PORT or https://HOST:PORT, with USER:PASSWORD@ before HOST \
            if required; SOCKS and other proxies are not supported";
        failure(Code::InvalidValue, message, hint)
    })
}

/// Parses an entry of `NO_PROXY`; `None` if it is invalid.
fn exception(entry: &str) -> Option<Exception> {
    // Go: golang.org/x/net/http/httpproxy, `config.init`, in its order.
    if entry == "*" {
        return Some(Exception::Everywhere);
    }
    if let Some((address, bits)) = entry.split_once('/') {
        let address: IpAddr = bare(address).parse().ok()?;
        let bits = bits.parse().ok().filter(|bits| *bits <= width(address))?;
        return Some(Exception::Network(address, bits));
    }
    if let Ok(address) = bare(entry).parse::<IpAddr>() {
        return Some(Exception::Network(address, width(address)));
    }

    let (name, port) = match entry.rsplit_once(':') {
        Some((name, port)) => (name, Some(port.parse().ok()?)),
        None => (entry, None),
    };
    if let Ok(address) = bare(name).parse::<IpAddr>() {
        return Some(Exception::Domain(address.to_string(), false, port));
    }

    // `*.example.com` and `.example.com` are its subdomains, `example.com` is also itself.
    let name = name.to_ascii_lowercase();
    let name = name.strip_prefix('*').unwrap_or(&name);
    let below = name.strip_prefix('.');
    let domain = below.unwrap_or(name).to_owned();
    (!domain.is_empty()).then_some(Exception::Domain(domain, below.is_some(), port))
}

impl Exception {
    fn covers(&self, uri: &Uri) -> bool {
        let host = bare(uri.host().unwrap_or_default()).trim_end_matches('.').to_ascii_lowercase();
        match self {
            Exception::Everywhere => true,
            Exception::Network(network, bits) => host
                .parse::<IpAddr>()
                .is_ok_and(|address| prefix(address, *bits) == prefix(*network, *bits)),
            Exception::Domain(domain, below, only) => {
                let is_below =
                    host.strip_suffix(domain.as_str()).is_some_and(|rest| rest.ends_with('.'));
                only.is_none_or(|only| only == port(uri))
                    && (is_below || (host == *domain && !below))
            }
        }
    }
}

/// Returns an address without the brackets around it.
pub(super) fn bare(host: &str) -> &str {
    host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host)
}

fn width(address: IpAddr) -> u8 {
    if address.is_ipv4() { 32 } else { 128 }
}

/// Returns the first bits of an address, and what kind of address it is.
fn prefix(address: IpAddr, bits: u8) -> (bool, u128) {
    let value = match address {
        IpAddr::V4(address) => u128::from(address.to_bits()),
        IpAddr::V6(address) => address.to_bits(),
    };
    let rest = u32::from(width(address).saturating_sub(bits));
    (address.is_ipv4(), value.checked_shr(rest).unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn proxies(variables: &[(&str, &str)]) -> Proxies {
        let variables = variables.iter().map(|(name, value)| ((*name).into(), (*value).into()));
        Proxies::of(&Environment::new(variables))
    }

    /// Returns the proxy for an address; `None` for a direct connection.
    fn way(variables: &[(&str, &str)], uri: &str) -> Option<String> {
        let found = proxies(variables);
        let proxy = found.to(&uri.parse().unwrap()).unwrap();
        proxy.map(shown)
    }

    #[test]
    fn each_scheme_has_its_variable() {
        let both = [("HTTPS_PROXY", "http://user:canary@s:1"), ("http_proxy", "p:2")];
        assert_eq!(way(&both, "https://a.b/v2/").as_deref(), Some("http://s:1"));
        assert_eq!(way(&both, "http://a.b/v2/").as_deref(), Some("http://p:2"));
        let all = [("ALL_PROXY", "https://s"), ("HTTP_PROXY", "p:2")];
        assert_eq!(way(&all, "https://a.b/").as_deref(), Some("https://s:443"));
        assert_eq!(way(&all, "http://a.b/").as_deref(), Some("http://p:2"));
        assert_eq!(way(&[("HTTP_PROXY", "p:2")], "https://a.b/"), None);
        assert_eq!(way(&[("HTTPS_PROXY", "")], "https://a.b/"), None);
    }

    #[test]
    fn a_proxy_that_cannot_be_used_is_no_reason_to_do_without() {
        for value in ["socks5://user:canary@s:1", "http://us er:canary@s", "http://", "::canary::"]
        {
            let found = proxies(&[("HTTPS_PROXY", value)]);
            let wrong = found.to(&"https://a.b/".parse().unwrap()).unwrap_err();
            let text = format!("{wrong:?}");
            assert!(text.contains("HTTPS_PROXY") && !text.contains("canary"), "{text}");
            // It is of no interest to who does not need it.
            assert!(found.to(&"http://a.b/".parse().unwrap()).unwrap().is_none());
        }
    }

    #[test]
    fn exceptions_are_those_of_go() {
        let list = "b.example.com, .c.example.com,*.d.example.com,10.0.0.0/8,192.168.1.1,\
                    fd00::/8,e.example.com:5000,[::2]:5000,nonsense/8,:,.";
        let variables = [("HTTPS_PROXY", "s:1"), ("NO_PROXY", list)];
        for direct in [
            "b.example.com",
            "B.example.com:5000",
            "a.b.example.com",
            "a.c.example.com",
            "a.d.example.com",
            "10.1.2.3:5000",
            "192.168.1.1",
            "[fd12::1]:5000",
            "e.example.com:5000",
            "[::2]:5000",
        ] {
            assert_eq!(way(&variables, &format!("https://{direct}/v2/")), None, "{direct}");
        }
        for proxied in [
            "ab.example.com",
            "c.example.com",
            "d.example.com",
            "11.0.0.1",
            "192.168.1.2",
            "[fc00::1]",
            "e.example.com",
            "[::2]",
            "b.example.com.evil.example",
        ] {
            assert!(way(&variables, &format!("https://{proxied}/v2/")).is_some(), "{proxied}");
        }
        let all = [("HTTPS_PROXY", "s:1"), ("no_proxy", "*")];
        assert_eq!(way(&all, "https://a.b/"), None);
    }
}
