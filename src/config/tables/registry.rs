//! `[[registry]]` and `[network]`: connection settings.

use super::*;
use crate::forms::Seconds;
use std::net::Ipv6Addr;
use std::time::Duration;

table! {
    /// Connection settings of a registry. Credentials are not configured here: they are read from
    /// where `podman login` and `docker login` store them.
    pub struct Registry at "[[registry]]" {
        /// Host of the registry, with the port if references have one.
        host: Host;
        /// PEM file, relative to this file, with CA certificates for the registry, in addition to
        /// the system's.
        ca: Option<Filled>;
        /// Connect over plain HTTP, which anyone on the network can read and change. Default:
        /// false, except for registries on localhost.
        plain_http: Option<bool>;
        /// Other hosts that may receive the credentials of this registry, because its token server
        /// is there. Default: none.
        auth_hosts: Vec<Host>;
        /// The table in the file.
        span: Header;
    }
}

/// The host of a registry, in lower case.
pub struct Host;

impl Form for Host {
    type Value = String;
    const KIND: Kind = Kind::String(Some(HOST));

    fn read(reader: &mut Reader<'_>, key: &Key, value: &Node<'_>) -> Option<String> {
        let text = value.get_ref().as_str()?;
        let bare = text.split_once("://").map_or(text, |(_, rest)| rest);
        let bare = bare.split('/').next().unwrap_or_default();
        let fault = Filled::fault(key, text).or_else(|| {
            let hint = match bare == text {
                true => "write HOST or HOST:PORT, as in image references".to_owned(),
                false => format!("write `{bare}`"),
            };
            (!is_host(text)).then(|| (format!("`{}` is not a host name", key.name), hint))
        });
        if let Some((message, hint)) = fault {
            reader.error(Code::InvalidValue, &value.span(), message, hint);
        }
        // Hosts are case-insensitive (RFC 3986, 3.2.2).
        Some(text.to_ascii_lowercase())
    }
}

const HOST: &str = "^([A-Za-z0-9.-]+|\\[[0-9A-Fa-f:.]+\\])(:[0-9]+)?$";

fn is_host(text: &str) -> bool {
    // Brackets are around an IPv6 address, whose colons are not those before a port.
    let (name, port) =
        text.rsplit_once(':').filter(|_| !text.ends_with(']')).unwrap_or((text, "0"));
    let address = name.strip_prefix('[').map(|rest| rest.trim_end_matches(']'));
    matches(HOST, text)
        && port.parse::<u16>().is_ok()
        && address.is_none_or(|address| address.parse::<Ipv6Addr>().is_ok())
}

/// Removes tables with the host of an earlier one; reports them.
pub(crate) fn distinct(reader: &mut Reader<'_>, tables: Vec<Registry>) -> Vec<Registry> {
    let describe = |table: &Registry| {
        let message = format!("duplicate table for registry `{}`", table.host);
        (message, "merge them into one table")
    };
    let host = |table: &Registry| table.host.clone();
    reader.unique(Code::InvalidValue, tables, host, |table| &table.span, describe)
}

table! {
    /// Timeouts and retries for registries.
    #[derive(PartialEq, Eq)]
    pub struct Network at "[network]" {
        /// Number of retries after a temporary failure: a broken connection, or a response 429 or
        /// 5xx. Default: 4.
        retries: Integer<0, 20> = Network::default().retries;
        /// Timeout in seconds for a stalled or slow connection. Default: 30.
        timeout: Seconds<1, 3600> = Network::default().timeout;
        /// Maximum number of parallel downloads and other requests per registry. Default: 4.
        downloads: Integer<1, 64> = Network::default().downloads;
    }
}

impl Default for Network {
    fn default() -> Self {
        Network { retries: 4, timeout: Duration::from_secs(30), downloads: 4 }
    }
}
