//! Authentication: challenges of registries in the WWW-Authenticate header (RFC 9110, section 11.6.1),
//! and the token that answers one, the value of the Authorization header.

use super::credentials::{Credentials, Login, Secret};
use super::failure::Failure;
use super::http::{Content, Http, Request, Response, is_https, shown};
use super::retry::{read_body, retry_after};
use super::{Repository, broken};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bundle2chart_model::escape::percent;
use serde::Deserialize;
use std::time::Duration;
use ureq::http::{Method, Uri};

/// Bytes of an answer with a token.
const TOKEN_BYTES: u64 = 1 << 20;

/// A way to authenticate that a registry offers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Challenge {
    /// A user name and a password with each request.
    Basic,
    /// A token from a token server (the distribution specification's token authentication).
    Bearer {
        /// URL of the token server.
        realm: String,
        /// Service that the token is for.
        service: Option<String>,
    },
}

/// Parses the header's values into challenges, tokens first; unknown schemes are ignored.
pub(super) fn challenges<'v>(values: impl Iterator<Item = &'v str>) -> Vec<Challenge> {
    let mut offers = Vec::new();
    for value in values {
        for (scheme, parameters) in schemes(value) {
            let parameter = |name: &str| {
                let found = parameters.iter().find(|(key, _)| key.eq_ignore_ascii_case(name));
                found.map(|(_, value)| value.clone())
            };
            // Schemes and parameter names are case-insensitive (RFC 9110, section 11.1).
            if scheme.eq_ignore_ascii_case("basic") {
                offers.push(Challenge::Basic);
            } else if scheme.eq_ignore_ascii_case("bearer")
                && let Some(realm) = parameter("realm")
            {
                offers.insert(0, Challenge::Bearer { realm, service: parameter("service") });
            }
        }
    }
    offers
}

/// Returns the schemes of a header with their parameters.
fn schemes(value: &str) -> Vec<(String, Vec<(String, String)>)> {
    let mut found: Vec<(String, Vec<(String, String)>)> = Vec::new();
    let mut rest = value.trim_start();
    while !rest.is_empty() {
        let end = rest.find([' ', ',', '=']).unwrap_or(rest.len());
        let (word, after) = rest.split_at(end);
        let tail = after.trim_start();
        if let (Some(given), Some((_, parameters))) = (tail.strip_prefix('='), found.last_mut()) {
            let (text, after) = parameter_value(given.trim_start());
            parameters.push((word.to_owned(), text));
            rest = after;
        } else if word.is_empty() {
            // Not a header that makes sense from here on.
            let skipped = rest.chars().next().map_or(0, char::len_utf8);
            rest = &rest[skipped..];
        } else {
            found.push((word.to_owned(), Vec::new()));
            rest = after;
        }
        rest = rest.trim_start_matches([' ', ',', '\t']);
    }
    found
}

/// Returns a token or a quoted string, and what comes after it.
fn parameter_value(text: &str) -> (String, &str) {
    let Some(quoted) = text.strip_prefix('"') else {
        let end = text.find([',', ' ']).unwrap_or(text.len());
        return (text[..end].to_owned(), &text[end..]);
    };
    let mut value = String::new();
    let mut characters = quoted.char_indices();
    while let Some((index, character)) = characters.next() {
        match character {
            '"' => return (value, &quoted[index + 1..]),
            '\\' => value.extend(characters.next().map(|(_, escaped)| escaped)),
            other => value.push(other),
        }
    }
    (value, "")
}

/// The request of a token.
struct Asked<'a> {
    service: Option<&'a str>,
    credentials: Option<&'a Credentials>,
    scope: &'a str,
}

impl Repository<'_> {
    /// Answers a challenge for the scope `repository:NAME:ACTIONS`. `None` when it can only be answered
    /// with credentials and there are none.
    pub(super) fn answer(
        &self,
        offers: &[Challenge],
        credentials: Option<&Credentials>,
        scope: &str,
    ) -> Result<Option<Secret>, Failure> {
        let login = credentials.map(|found| &found.login);
        // It is the answer itself, so there is nothing to fetch.
        if let Some(Login::Registry(token)) = login {
            return Ok(Some(bearer(token.reveal())));
        }
        for offer in offers {
            match (offer, login) {
                (Challenge::Basic, Some(Login::Password { user, password })) => {
                    return Ok(Some(basic(user, password)));
                }
                // Only a password can be sent with Basic.
                (Challenge::Basic, _) => {}
                // Public images need a token, too, which the server gives without credentials.
                (Challenge::Bearer { realm, service }, _) => {
                    let asked = Asked { service: service.as_deref(), credentials, scope };
                    return self.fetch_token(realm, &asked).map(Some);
                }
            }
        }
        Ok(None)
    }

    /// Fetches a token from a realm.
    fn fetch_token(&self, realm: &str, asked: &Asked<'_>) -> Result<Secret, Failure> {
        let (host, registry, credentials) = (&self.host, &self.base, asked.credentials);
        let unsafe_realm = |realm: &Uri, why: &str| {
            let name = realm.authority().map_or("", |authority| authority.as_str());
            let message =
                format!("the token server of {}/ is {}, {why}", host.endpoint, shown(realm));
            Failure::unsafe_realm(message, &host.name, name)
        };

        // User information in the URL would be sent as credentials, so such a realm is rejected.
        let parsed: Option<Uri> = realm.parse().ok().filter(|uri: &Uri| {
            uri.authority().is_some_and(|authority| !authority.as_str().contains('@'))
                && uri.scheme_str().is_some_and(|scheme| scheme == "https" || scheme == "http")
        });
        let Some(realm) = parsed else {
            let message = format!("{}/ returned no token server", host.endpoint);
            return Err(Failure::Refused(message));
        };
        // The realm comes from the registry's answer; it must not weaken the connection.
        if !is_https(&realm) && is_https(registry) {
            return Err(unsafe_realm(&realm, "which is not HTTPS"));
        }

        // Only requests with credentials are limited to trusted hosts: others have no secrets.
        let authority = |uri: &Uri| uri.authority().map(|a| a.as_str().to_ascii_lowercase());
        let is_own = authority(&realm) == authority(registry);
        let is_trusted = authority(&realm).is_some_and(|name| host.trusted.contains(&name));
        if credentials.is_some() && !is_own && !is_trusted {
            return Err(unsafe_realm(
                &realm,
                "another host, which is not trusted with credentials",
            ));
        }

        let response = request(&host.http, realm, asked)?;
        let place = shown(&response.from);
        match response.status.as_u16() {
            200 => read_token(response, &place, self.sources.network.timeout),
            401 | 403 => {
                let message = format!("{place} denied a token for this repository");
                Err(Failure::Denied(message, credentials.map(|found| found.from.clone())))
            }
            408 | 425 | 429 | 500..=599 => {
                let message = format!("{place} returned {}", response.status);
                Err(Failure::Busy(message, response.header("retry-after").and_then(retry_after)))
            }
            _ => Err(Failure::Refused(format!("{place} returned {}", response.status))),
        }
    }
}

fn basic(user: &str, password: &Secret) -> Secret {
    Secret::new(format!("Basic {}", STANDARD.encode(format!("{user}:{}", password.reveal()))))
}

fn bearer(token: &str) -> Secret {
    Secret::new(format!("Bearer {token}"))
}

/// Asks a realm for a token.
fn request(http: &Http, realm: Uri, asked: &Asked<'_>) -> Result<Response, Failure> {
    let mut form = vec![("scope", asked.scope)];
    form.extend(asked.service.map(|service| ("service", service)));
    let (method, uri, authorization, body) = match asked.credentials.map(|found| &found.login) {
        // An identity token is exchanged with the OAuth2 form of the token endpoint, a password
        // with Basic and GET; not every registry has both.
        Some(Login::Identity(token)) => {
            form.push(("grant_type", "refresh_token"));
            form.push(("client_id", "bundle2chart"));
            form.push(("refresh_token", token.reveal()));
            (Method::POST, realm, None, Some(encode(&form)))
        }
        other => {
            // Some realms have parameters of their own.
            let separator = if realm.query().is_some() { '&' } else { '?' };
            let text = format!("{realm}{separator}{}", encode(&form));
            let uri = text.parse().map_err(|_| {
                Failure::Refused(format!("invalid URL of a token server: {}", shown(&realm)))
            })?;
            let authorization = match other {
                Some(Login::Password { user, password }) => Some(basic(user, password)),
                _ => None,
            };
            (Method::GET, uri, authorization, None)
        }
    };
    let mut headers = vec![("accept", "application/json".to_owned())];
    if body.is_some() {
        headers.push(("content-type", "application/x-www-form-urlencoded".to_owned()));
    }
    let body = body.as_deref().map_or(Content::None, |body| Content::Bytes(body.as_bytes()));
    let authorization = authorization.as_ref().map(Secret::reveal);
    http.send(&Request { method, headers, body }, &uri, authorization)
}

/// Reads the token of a response.
fn read_token(response: Response, place: &str, timeout: Duration) -> Result<Secret, Failure> {
    #[derive(Deserialize)]
    struct Answer {
        token: Option<String>,
        access_token: Option<String>,
    }

    let read = read_body(response.body, timeout, TOKEN_BYTES);
    let text = read.map_err(|error| broken(place, &error))?.unwrap_or_default();
    let answer: Answer = serde_json::from_slice(&text)
        .map_err(|_| Failure::Refused(format!("{place} returned an invalid token response")))?;

    // The token becomes a header, so it must not contain line breaks.
    let token = answer
        .token
        // Both names are in the specification; Docker's server has the first, OAuth 2 the second.
        .or(answer.access_token)
        .filter(|token| !token.is_empty() && token.bytes().all(|byte| byte.is_ascii_graphic()));
    token
        .map(|token| bearer(&token))
        .ok_or_else(|| Failure::Refused(format!("{place} returned no token")))
}

/// Encodes pairs as a form or a query.
fn encode(pairs: &[(&str, &str)]) -> String {
    let pairs = pairs.iter().map(|(key, value)| format!("{key}={}", percent(value, b"-._~")));
    pairs.collect::<Vec<_>>().join("&")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bearer(realm: &str, service: Option<&str>) -> Challenge {
        Challenge::Bearer { realm: realm.to_owned(), service: service.map(str::to_owned) }
    }

    #[test]
    fn challenges_are_read() {
        let parse = |values: &[&'static str]| super::challenges(values.iter().copied());
        assert_eq!(parse(&["Basic realm=\"a, b\""]), [Challenge::Basic]);
        assert_eq!(
            parse(&["Bearer realm=\"https://a/token\",service=\"b\",scope=\"repository:c:pull\""]),
            [bearer("https://a/token", Some("b"))]
        );
        assert_eq!(
            parse(&["Basic realm=x, bearer Realm = \"https://a/\\\"q\" , Service=b"]),
            [bearer("https://a/\"q", Some("b")), Challenge::Basic]
        );
        assert_eq!(
            parse(&["Basic", "Bearer realm=https://a"]),
            [bearer("https://a", None), Challenge::Basic]
        );
    }

    #[test]
    fn nonsense_offers_nothing() {
        for value in ["", "=", "Bearer", "Negotiate abc==", "\"", ",,=,", "Bearer realm", "é="] {
            assert_eq!(challenges([value].into_iter()), [], "{value:?}");
        }
        assert_eq!(challenges(["Bearer realm=\"open"].into_iter()), [bearer("open", None)]);
    }
}
