//! Hosts that get credentials, and hosts that do not.

use super::distribution::certificate;
use super::hostile::Stored;
use super::project::{PASSWORD, Project, REPOSITORY, USER, assert_built, assert_refused};
use super::server::{Answer, Server};
use base64::Engine as _;

const TOKEN: &str = "canary-token-0815";

fn basic() -> String {
    let pair = format!("{USER}:{PASSWORD}");
    format!("Basic {}", base64::engine::general_purpose::STANDARD.encode(pair))
}

/// A registry that gives its blobs for a token from `realm`.
fn token_registry(realm: impl Fn(&str) -> String + Send + Sync + 'static) -> Server {
    let stored = Stored::lamp();
    Server::start(move |asked| {
        let host = asked.header("host").unwrap_or_default();
        if asked.target.starts_with("/token?") {
            let scope = format!("scope=repository%3A{}%3Apull", REPOSITORY.replace('/', "%2F"));
            assert!(asked.target.contains(&scope), "{}", asked.target);
            assert!(asked.target.contains("service=lamps"), "{}", asked.target);
            return match asked.header("authorization") {
                Some(given) if given == basic() => {
                    Answer::new(200, format!("{{\"token\":\"{TOKEN}\"}}"))
                }
                _ => Answer::new(401, ""),
            };
        }
        if asked.header("authorization") == Some(&format!("Bearer {TOKEN}")) {
            return stored.answer(asked);
        }
        let challenge = format!("Bearer realm=\"{}\",service=\"lamps\"", realm(host));
        Answer::new(401, "").with("www-authenticate", challenge)
    })
}

#[test]
fn a_token_is_fetched_once_and_shown_never() {
    let server = token_registry(|host| format!("http://{host}/token"));
    let project = Project::new(&server.host());
    project.log_in(&server.host(), PASSWORD);
    let seen = project.run(&["build", "-vvv"]);
    assert_built(&project, &seen);
    assert_eq!(server.asked().iter().filter(|a| a.target.starts_with("/token")).count(), 1);
    assert!(seen.stderr.contains("/v2/lamps/bundle/manifests/1.0.0: 401"), "{}", seen.stderr);
    project.assert_no_secret(&[&seen], &[TOKEN]);
}

#[test]
fn a_busy_place_for_tokens_is_asked_again_when_it_says() {
    let stored = Stored::lamp();
    let server = Server::start(move |asked| {
        if asked.target.starts_with("/token?") {
            return match asked.times {
                0 => Answer::new(429, "").with("retry-after", "1"),
                _ => Answer::new(200, format!("{{\"token\":\"{TOKEN}\"}}")),
            };
        }
        if asked.header("authorization") == Some(&format!("Bearer {TOKEN}")) {
            return stored.answer(asked);
        }
        let host = asked.header("host").unwrap_or_default();
        let challenge = format!("Bearer realm=\"http://{host}/token\",service=\"lamps\"");
        Answer::new(401, "").with("www-authenticate", challenge)
    });
    let project = Project::new(&server.host());
    let begun = std::time::Instant::now();
    assert_built(&project, &project.run(&["build"]));
    assert!(begun.elapsed() >= std::time::Duration::from_secs(1), "{:?}", begun.elapsed());
}

#[test]
fn a_wrong_password_names_where_it_came_from_and_not_itself() {
    let server = token_registry(|host| format!("http://{host}/token"));
    let project = Project::new(&server.host());
    project.log_in(&server.host(), "canary-wrong");
    let seen = project.run(&["build", "-vvv"]);
    assert_refused(&project, &seen, "registry-denied", &["auth.json"]);
    project.assert_no_secret(&[&seen], &["canary-wrong"]);
    let project = Project::new(&server.host());
    let seen = project.run(&["build"]);
    assert_refused(&project, &seen, "registry-denied", &["podman login"]);
}

#[test]
fn another_host_gets_no_credentials_unless_the_configuration_says_so() {
    let realm = Server::start(|asked| match asked.header("authorization") {
        Some(given) if given == basic() => {
            Answer::new(200, format!("{{\"access_token\":\"{TOKEN}\"}}"))
        }
        _ => Answer::new(401, ""),
    });
    let address = realm.host();
    let server = token_registry(move |_| format!("http://{address}/elsewhere"));
    let project = Project::new(&server.host());
    project.log_in(&server.host(), PASSWORD);
    let seen = project.run(&["build", "-vvv"]);
    assert_refused(
        &project,
        &seen,
        "unsafe-realm",
        &["is not trusted with credentials", &realm.host()],
    );
    assert!(realm.asked().is_empty());
    project.assert_no_secret(&[&seen], &[]);

    let (host, realm) = (server.host(), realm.host());
    project.add(&format!("[[registry]]\nhost = \"{host}\"\nauth-hosts = [\"{realm}\"]\n"));
    assert_built(&project, &project.run(&["build"]));
}

#[test]
fn a_token_never_comes_over_http_for_a_registry_with_https() {
    let plain = Server::start(|_| Answer::new(200, format!("{{\"token\":\"{TOKEN}\"}}")));
    let (authority, leaf, key) = certificate();
    let realm = format!("http://{}/token", plain.host());
    let server = Server::start_tls(leaf, key, move |_| {
        Answer::new(401, "").with("www-authenticate", format!("Bearer realm=\"{realm}\""))
    });
    for logged_in in [false, true] {
        let project = Project::new(&server.host());
        project.case.write("ca.pem", &authority);
        project.add(&format!("[[registry]]\nhost = \"{}\"\nca = \"ca.pem\"\n", server.host()));
        if logged_in {
            project.log_in(&server.host(), PASSWORD);
        }
        let seen = project.run(&["build"]);
        assert_refused(&project, &seen, "unsafe-realm", &["which is not HTTPS"]);
    }
    assert!(plain.asked().is_empty());
}

#[test]
fn a_registry_with_https_redirects_to_https_only() {
    let plain = Server::start(|_| Answer::new(200, "secret"));
    let (authority, leaf, key) = certificate();
    let (stored, target) = (Stored::lamp(), plain.host());
    let server = Server::start_tls(leaf, key, move |asked| {
        if asked.target.contains("/blobs/") {
            return Answer::new(302, "").with("location", format!("http://{target}/x"));
        }
        stored.answer(asked)
    });
    let project = Project::new(&server.host());
    project.case.write("ca.pem", &authority);
    project.add(&format!("[[registry]]\nhost = \"{}\"\nca = \"ca.pem\"\n", server.host()));
    let seen = project.run(&["build"]);
    assert_refused(&project, &seen, "unsafe-redirect", &["which is not HTTPS"]);
    assert!(plain.asked().is_empty());
}

#[test]
fn an_unknown_authority_is_refused_and_named_in_the_configuration() {
    let (authority, leaf, key) = certificate();
    let stored = Stored::lamp();
    let server = Server::start_tls(leaf, key, move |asked| stored.answer(asked));
    let project = Project::new(&server.host());
    let seen = project.run(&["build"]);
    assert_refused(&project, &seen, "registry-unreachable", &["no secure connection", "ca = "]);
    assert!(server.asked().is_empty());
    project.case.write("ca.pem", &authority);
    project.add(&format!("[[registry]]\nhost = \"{}\"\nca = \"ca.pem\"\n", server.host()));
    assert_built(&project, &project.run(&["build"]));
}

#[test]
fn a_proxy_is_used_but_not_for_this_machine() {
    let stored = Stored::lamp();
    let proxy = Server::start(move |asked| stored.answer(asked));
    let project = Project::new("lamps.example.com");
    project.add("[[registry]]\nhost = \"lamps.example.com\"\nplain-http = true\n");
    let mut environment = project.environment();
    environment.retain(|(name, _)| *name != "http_proxy");
    environment.push(("http_proxy", format!("http://{}", proxy.host())));
    let environment: Vec<(&str, &str)> =
        environment.iter().map(|(name, value)| (*name, value.as_str())).collect();
    let seen = project.case.shell("exec \"$0\" build -v", &[], &environment);
    assert_built(&project, &seen);
    assert!(proxy.asked().iter().all(|asked| asked.target == "lamps.example.com:80"));
    // A registry on this machine is asked directly, whatever the proxy.
    let stored = Stored::lamp();
    let server = Server::start(move |asked| stored.answer(asked));
    let local = Project::new(&server.host());
    let before = proxy.asked().len();
    let seen = local.case.shell("exec \"$0\" build -v", &[], &environment);
    assert_eq!(seen.code, Some(0), "{}", seen.stderr);
    assert_eq!(proxy.asked().len(), before);
}

#[test]
fn a_proxy_is_named_in_errors_and_never_done_without() {
    let build = |proxy: &str, more: &[(&str, &str)]| {
        let project = Project::new("lamps.example.com");
        let mut environment = project.environment();
        environment.retain(|(name, _)| *name != "HTTPS_PROXY");
        environment.push(("HTTPS_PROXY", proxy.to_owned()));
        environment.extend(more.iter().map(|(name, value)| (*name, (*value).to_owned())));
        let environment: Vec<(&str, &str)> =
            environment.iter().map(|(name, value)| (*name, value.as_str())).collect();
        let seen = project.case.shell("exec \"$0\" build -vvv", &[], &environment);
        (project, seen)
    };
    // No server listens on port 1.
    let (project, seen) = build("http://user:canary-proxy@127.0.0.1:1", &[]);
    let words = ["lamps.example.com", "through the proxy http://127.0.0.1:1: "];
    assert_refused(&project, &seen, "registry-unreachable", &words);
    project.assert_no_secret(&[&seen], &["canary-proxy"]);
    for wrong in ["socks5://user:canary-proxy@127.0.0.1:1", "http://us er:canary-proxy@h"] {
        let (project, seen) = build(wrong, &[]);
        assert_refused(&project, &seen, "invalid-value", &["`HTTPS_PROXY`", "http://HOST:PORT"]);
        project.assert_no_secret(&[&seen], &["canary-proxy"]);
    }
    let (_, seen) = build("http://127.0.0.1:1", &[("NO_PROXY", "10.0.0.0/8,example.com")]);
    assert!(!seen.stderr.contains("proxy http"), "{}", seen.stderr);
}

#[test]
fn an_identity_token_is_exchanged_and_not_sent_to_the_registry() {
    let stored = Stored::lamp();
    let server = Server::start(move |asked| {
        if asked.target == "/token" {
            assert_eq!(asked.method, "POST");
            assert_eq!(asked.header("authorization"), None);
            return Answer::new(200, format!("{{\"access_token\":\"{TOKEN}\"}}"));
        }
        if asked.header("authorization") == Some(&format!("Bearer {TOKEN}")) {
            return stored.answer(asked);
        }
        assert_eq!(asked.header("authorization"), None);
        let host = asked.header("host").unwrap_or_default();
        let challenge = format!("Bearer realm=\"http://{host}/token\",service=\"lamps\"");
        Answer::new(401, "").with("www-authenticate", challenge)
    });
    let project = Project::new(&server.host());
    let auths =
        serde_json::json!({ "auths": { server.host(): { "identitytoken": "canary-identity" } } });
    project.case.write("auth.json", auths.to_string());
    let seen = project.run(&["build", "-vvv"]);
    assert_built(&project, &seen);
    project.assert_no_secret(&[&seen], &[TOKEN, "canary-identity"]);
}

#[test]
fn an_answer_that_moves_a_secret_elsewhere_is_not_followed() {
    let thief = Server::start(|_| Answer::new(200, "{\"token\":\"x\"}"));
    let target = thief.host();
    let server = Server::start(move |asked| {
        let host = asked.header("host").unwrap_or_default();
        if asked.target == "/token" {
            return Answer::new(307, "").with("location", format!("http://{target}/token"));
        }
        let challenge = format!("Bearer realm=\"http://{host}/token\"");
        Answer::new(401, "").with("www-authenticate", challenge)
    });
    let project = Project::new(&server.host());
    let auths =
        serde_json::json!({ "auths": { server.host(): { "identitytoken": "canary-identity" } } });
    project.case.write("auth.json", auths.to_string());
    let seen = project.run(&["build"]);
    assert_refused(&project, &seen, "registry-failed", &["/token returned 307"]);
    assert!(thief.asked().is_empty());
}
