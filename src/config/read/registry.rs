//! Reads `[[registry]]`.

use super::reader::{Fields, Located, Reader};
use super::values;
use crate::Registry;
use crate::diag::{Code, Diagnostic, Place};
use crate::keys::REGISTRY;
use std::net::Ipv6Addr;
use std::path::PathBuf;

pub(super) fn read(reader: &mut Reader<'_>, root: &Fields<'_>) -> Vec<Registry> {
    let mut registries: Vec<Registry> = Vec::new();
    for (table, header) in root.tables("registry") {
        let fields = reader.fields(&REGISTRY, header, table);
        let host = fields.text("host").and_then(|at| host_name(reader, "host", at));
        let ca = fields.text("ca").and_then(|at| values::path(reader, "ca", at));
        let (listed, _) = fields.texts("auth-hosts").unwrap_or_default();
        let auth_hosts =
            listed.into_iter().filter_map(|at| host_name(reader, "auth-hosts", at)).collect();
        let Some(host) = host else { continue };
        let span = reader.span(fields.header.clone());
        if let Some(first) = registries.iter().find(|registry| registry.host == host) {
            let message = format!("duplicate table for registry `{host}`");
            let diagnostic = Diagnostic::error(Code::InvalidValue, message)
                .at(Place::span(span))
                .related(Place::span(first.span.clone()), "first defined here")
                .hint("merge them into one table");
            reader.found.push(diagnostic);
            continue;
        }
        registries.push(Registry {
            host,
            ca: ca.map(PathBuf::from),
            plain_http: fields.boolean("plain-http"),
            auth_hosts,
            span,
        });
    }

    registries
}

/// Returns the host of a registry, in lower case.
fn host_name(reader: &mut Reader<'_>, key: &str, at: Located<&str>) -> Option<String> {
    let range = at.1.clone();
    let text = values::filled(reader, key, at)?;
    let (name, port) = text.split_once(':').unwrap_or((text, "0"));
    let fits = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '.';
    let is_name = !name.is_empty() && name.chars().all(fits) && port.parse::<u16>().is_ok();
    // An IPv6 address, of which the colons are not those before a port.
    let is_port = |text: &str| text.parse::<u16>().is_ok();
    let bracketed = text.strip_prefix('[').and_then(|rest| rest.split_once(']'));
    let is_address = bracketed.is_some_and(|(address, after)| {
        address.parse::<Ipv6Addr>().is_ok()
            && (after.is_empty() || after.strip_prefix(':').is_some_and(is_port))
    });
    if is_name || is_address {
        return Some(text.to_ascii_lowercase());
    }
    let bare = text.split_once("://").map_or(text, |(_, rest)| rest);
    let bare = bare.split('/').next().unwrap_or_default();
    reader.error(
        Code::InvalidValue,
        &range,
        format!("`{key}` is not a host name"),
        if bare == text {
            "write HOST or HOST:PORT, as in image references".to_owned()
        } else {
            format!("write `{bare}`")
        },
    );
    None
}
