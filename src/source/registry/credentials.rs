//! Credentials where `docker login` and `podman login` leave them.
//!
//! containers-auth.json(5) and Docker's config.json; credential helpers speak the protocol of
//! docker-credential-helpers.

use super::super::access::Environment;
use super::super::process::Program;
use super::super::reference::one_docker_hub;
use super::failure::Failure;
use crate::diag::Code;
use crate::failure;
use crate::regular_file;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::Deserialize;
use std::collections::BTreeMap;
use std::fmt;
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Timeout of a credential helper; some prompt the user.
const HELPER_TIME: Duration = Duration::from_secs(60);

/// Bytes that a helper or a file may have.
const MOST_BYTES: u64 = 4 << 20;

/// A text that is never shown.
#[derive(Clone, PartialEq, Eq)]
pub(super) struct Secret(String);

impl Secret {
    pub(super) fn new(text: impl Into<String>) -> Self {
        Secret(text.into())
    }

    /// Returns the text, for sending.
    pub(super) fn reveal(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("(secret)")
    }
}

/// Login credentials.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Login {
    Password {
        user: String,
        password: Secret,
    },
    /// A token that buys tokens (OAuth 2 refresh token).
    Identity(Secret),
    /// A token that is sent unchanged.
    Registry(Secret),
}

/// Credentials and their origin.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Credentials {
    pub(super) login: Login,
    /// The origin, for messages.
    pub(super) from: String,
}

#[derive(Default, Deserialize)]
pub(super) struct AuthFile {
    #[serde(default)]
    auths: BTreeMap<String, HostCredentials>,
    #[serde(default, rename = "credHelpers")]
    pub(super) helpers: BTreeMap<String, String>,
    #[serde(default, rename = "credsStore")]
    pub(super) store: Option<String>,
}

#[derive(Default, Deserialize)]
struct HostCredentials {
    auth: Option<String>,
    username: Option<String>,
    password: Option<String>,
    identitytoken: Option<String>,
    registrytoken: Option<String>,
}

/// Looks for credentials of a repository: in the file that `REGISTRY_AUTH_FILE` names, else in
/// Podman's and then in Docker's. The most specific entry of the first file that has one counts.
pub(super) fn find(
    host: &str,
    repository: &str,
    environment: &Environment,
) -> Result<Option<Credentials>, Failure> {
    // As containers-auth.json(5): the variable replaces all other files.
    let files = match environment.path("REGISTRY_AUTH_FILE") {
        Some(file) => vec![(file, true)],
        None => usual_files(environment).into_iter().map(|file| (file, false)).collect(),
    };
    for (path, must_exist) in files {
        let text = match regular_file::read(&path, MOST_BYTES) {
            Ok(text) => text,
            Err(error) if error.kind() == ErrorKind::NotFound && !must_exist => continue,
            Err(error) => return Err(invalid(&path, &error.to_string())),
        };
        // The parser's message may quote the file, so only its position is shown.
        let file: AuthFile = serde_json::from_slice(&text).map_err(|error| {
            let place = format!("line {}, column {}", error.line(), error.column());
            invalid(&path, &format!("invalid JSON at {place}"))
        })?;
        if let Some(found) = find_in(&file, &path, host, repository, environment)? {
            return Ok(Some(found));
        }
    }
    Ok(None)
}

fn usual_files(environment: &Environment) -> Vec<PathBuf> {
    let home = environment.path("HOME");
    let below_home = |path: &str| home.as_ref().map(|home| home.join(path));
    let podman = match environment.path("XDG_RUNTIME_DIR") {
        Some(dir) => Some(dir.join("containers/auth.json")),
        None => of_no_session(),
    };
    let config = environment.path("XDG_CONFIG_HOME").or_else(|| below_home(".config"));
    let docker = environment.path("DOCKER_CONFIG").or_else(|| below_home(".docker"));
    [
        podman,
        config.map(|dir| dir.join("containers/auth.json")),
        docker.map(|dir| dir.join("config.json")),
    ]
    .into_iter()
    .flatten()
    .collect()
}

/// Returns the default location of the credentials of `podman login` and `skopeo login` without a
/// user session, for example for root in a container.
fn of_no_session() -> Option<PathBuf> {
    use std::os::unix::fs::MetadataExt as _;
    // The owner of this directory is the user of the process. Without /proc, podman uses HOME.
    let user = fs::metadata("/proc/self").ok()?.uid();
    Some(PathBuf::from(format!("/run/containers/{user}/auth.json")))
}

pub(super) fn find_in(
    file: &AuthFile,
    path: &Path,
    host: &str,
    repository: &str,
    environment: &Environment,
) -> Result<Option<Credentials>, Failure> {
    let entry = |wanted: &str| {
        file.auths.iter().find(|(key, _)| normal(key) == wanted).map(|(_, entry)| entry)
    };
    let login = |wanted: &str| {
        let login = entry(wanted).map_or(Ok(None), |entry| entry.login(path))?;
        Ok(login.map(|login| Credentials { login, from: path.display().to_string() }))
    };

    // host/a/b, host/a; the host alone comes after its helper.
    let mut scope = format!("{host}/{repository}");
    while scope.len() > host.len() {
        if let Some(found) = login(&scope)? {
            return Ok(Some(found));
        }
        scope.truncate(scope.rfind('/').unwrap_or_default());
    }
    // Helpers are for whole registries, so that entries with a path are more specific.
    let helper = file.helpers.iter().find(|(key, _)| normal(key) == host).map(|(_, name)| name);
    if let Some(helper) = helper {
        return ask(helper, host, environment);
    }
    if let Some(found) = login(host)? {
        return Ok(Some(found));
    }
    // The helper for all registries without an entry.
    file.store.as_ref().map_or(Ok(None), |helper| ask(helper, host, environment))
}

/// Returns a key of `auths` as a host and perhaps a path: Docker writes
/// `https://index.docker.io/v1/`.
fn normal(key: &str) -> String {
    let is_url = key.contains("://");
    // Docker compares hosts only, after it removed the scheme and the path.
    let key = key.split_once("://").map_or(key, |(_, rest)| rest);
    let key = key.trim_end_matches('/');
    let key = ["/v1", "/v2"].iter().find_map(|end| key.strip_suffix(end)).unwrap_or(key);
    let key = if is_url { key.split('/').next().unwrap_or(key) } else { key };
    one_docker_hub(key).to_owned()
}

impl HostCredentials {
    fn login(&self, path: &Path) -> Result<Option<Login>, Failure> {
        let filled = |text: &Option<String>| text.clone().filter(|text| !text.is_empty());
        // Docker leaves the name of a user next to a token, which is then not a password's.
        if let Some(token) = filled(&self.identitytoken) {
            return Ok(Some(Login::Identity(Secret::new(token))));
        }
        if let Some(token) = filled(&self.registrytoken) {
            return Ok(Some(Login::Registry(Secret::new(token))));
        }
        if let Some(auth) = filled(&self.auth) {
            let decoded = STANDARD.decode(auth.trim()).ok().and_then(|b| String::from_utf8(b).ok());
            let pair = decoded.as_deref().and_then(|text| text.split_once(':'));
            let Some((user, password)) = pair else {
                return Err(invalid(path, "`auth` is not USER:PASSWORD in base64"));
            };
            // As Docker's reader does.
            let password = Secret::new(password.trim_end_matches('\0'));
            return Ok(Some(Login::Password { user: user.to_owned(), password }));
        }
        Ok(filled(&self.username)
            .zip(filled(&self.password))
            .map(|(user, password)| Login::Password { user, password: Secret::new(password) }))
    }
}

/// Runs a credential helper.
fn ask(
    helper: &str,
    host: &str,
    environment: &Environment,
) -> Result<Option<Credentials>, Failure> {
    #[derive(Deserialize)]
    #[serde(rename_all = "PascalCase")]
    struct Answer {
        username: String,
        secret: String,
    }
    // The name becomes part of a file name: one with `/` could start any program.
    let fits = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
    if helper.is_empty() || !helper.chars().all(fits) {
        let message = format!("invalid name of a credential helper: `{}`", helper.escape_debug());
        return Err(told(message, "fix it in the credentials file of docker or podman"));
    }
    let program = format!("docker-credential-{helper}");
    let failed = |why: String| {
        told(
            format!("the credential helper `{program}` failed: {why}"),
            "run it by hand, or log in again",
        )
    };
    // `docker login` stores the credentials of Docker Hub under this URL.
    let server = if host == "docker.io" { "https://index.docker.io/v1/" } else { host };
    // A helper is the user's program, configured in the user's file, and finds its secrets in
    // environment variables (AWS_PROFILE, GITHUB_TOKEN): it gets all of them, as with docker.
    let done = Program::find(&program, environment.get("PATH").or(Some("")))
        .map(|helper| helper.all_variables().limits(HELPER_TIME, MOST_BYTES))
        .and_then(|helper| helper.arguments(&["get"]).input(server).run())
        .map_err(|error| failed(error.to_string()))?;
    let (status, text) = (done.status, done.output);
    if !status.success() {
        // The protocol's message for missing credentials; other messages may contain secrets and
        // are not shown.
        let text = String::from_utf8_lossy(&text);
        if text.trim().starts_with("credentials not found") || text.contains("no credentials") {
            return Ok(None);
        }
        return Err(failed(format!("it exited with {status}")));
    }
    let answer: Answer = serde_json::from_slice(&text).map_err(|_| {
        failed("its output is not valid JSON of the credential helper protocol".to_owned())
    })?;
    if answer.secret.is_empty() {
        return Ok(None);
    }
    let secret = Secret::new(answer.secret);
    // By this name docker-credential-helpers mark an identity token.
    let login = if answer.username == "<token>" {
        Login::Identity(secret)
    } else {
        Login::Password { user: answer.username, password: secret }
    };
    Ok(Some(Credentials { login, from: program }))
}

fn invalid(path: &Path, why: &str) -> Failure {
    told(
        format!("cannot use the credentials file `{}`: {why}", path.display()),
        "log in again, or set another file in REGISTRY_AUTH_FILE",
    )
}

fn told(message: String, hint: &str) -> Failure {
    Failure::Reported(failure(Code::InvalidCredentials, message, hint))
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "tests write files")]
mod tests {
    use super::*;

    fn environment(folder: &Path) -> Environment {
        let folder = folder.to_str().unwrap().to_owned();
        let path = std::env::var("PATH").unwrap_or_default();
        Environment::new([
            ("HOME".to_owned(), folder.clone()),
            ("PATH".to_owned(), format!("{folder}/bin:{path}")),
        ])
    }

    fn password(user: &str, password: &str) -> Login {
        Login::Password { user: user.to_owned(), password: Secret::new(password) }
    }

    fn write(folder: &Path, file: &str, text: &str) {
        let path = folder.join(file);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    fn login(folder: &Path, host: &str, repository: &str) -> Option<Login> {
        find(host, repository, &environment(folder)).unwrap().map(|found| found.login)
    }

    #[test]
    fn the_most_specific_entry_counts() {
        let folder = tempfile::tempdir().unwrap();
        let auth = |text: &str| STANDARD.encode(text);
        let json = serde_json::json!({"auths": {
            "quay.io": {"auth": auth("host:1")},
            "quay.io/team": {"auth": auth("team:2:3")},
            "quay.io/team/op": {"username": "op", "password": "4"},
            "https://index.docker.io/v1/": {"auth": auth("hub:5")},
            "localhost:5000": {"identitytoken": "6"},
            "empty.example.com": {},
        }});
        write(folder.path(), ".config/containers/auth.json", &json.to_string());
        let login = |host, repository| login(folder.path(), host, repository);
        assert_eq!(login("quay.io", "other/op"), Some(password("host", "1")));
        assert_eq!(login("quay.io", "teams/op"), Some(password("host", "1")));
        assert_eq!(login("quay.io", "team/other"), Some(password("team", "2:3")));
        assert_eq!(login("quay.io", "team/op"), Some(password("op", "4")));
        assert_eq!(login("docker.io", "library/op"), Some(password("hub", "5")));
        assert_eq!(login("localhost:5000", "op"), Some(Login::Identity(Secret::new("6"))));
        assert_eq!(login("empty.example.com", "op"), None);
        assert_eq!(login("quay.io.evil.example.com", "team/op"), None);
    }

    #[test]
    fn podman_comes_before_docker_and_the_variable_before_both() {
        let folder = tempfile::tempdir().unwrap();
        let entry = |user: &str| {
            let auth = STANDARD.encode(format!("{user}:p"));
            serde_json::json!({"auths": {"a.example.com": {"auth": auth}}}).to_string()
        };
        write(folder.path(), ".docker/config.json", &entry("docker"));
        assert_eq!(login(folder.path(), "a.example.com", "b"), Some(password("docker", "p")));
        write(folder.path(), ".config/containers/auth.json", &entry("podman"));
        assert_eq!(login(folder.path(), "a.example.com", "b"), Some(password("podman", "p")));
        write(folder.path(), "mine.json", &entry("mine"));
        let file = folder.path().join("mine.json").to_str().unwrap().to_owned();
        let named = Environment::new([("REGISTRY_AUTH_FILE".to_owned(), file)]);
        let found = find("a.example.com", "b", &named).unwrap().unwrap();
        assert_eq!(found.login, password("mine", "p"));
        assert!(found.from.ends_with("mine.json"));
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn podman_leaves_credentials_elsewhere_without_a_session() {
        use std::os::unix::fs::MetadataExt as _;
        let folder = tempfile::tempdir().unwrap();
        let user = fs::metadata(folder.path()).unwrap().uid();
        let home = folder.path().to_str().unwrap().to_owned();
        let below = |path: &str| folder.path().join(path);
        let files = |more: Option<(&str, &str)>| {
            let more = more.map(|(name, value)| (name.to_owned(), value.to_owned()));
            let home = [("HOME".to_owned(), home.clone())];
            usual_files(&Environment::new(home.into_iter().chain(more)))
        };
        let others = [below(".config/containers/auth.json"), below(".docker/config.json")];
        let [first, rest @ ..] = &files(None)[..] else { panic!("no files") };
        assert_eq!(*first, PathBuf::from(format!("/run/containers/{user}/auth.json")));
        assert_eq!(*rest, others);
        let found = files(Some(("XDG_RUNTIME_DIR", "/run/user/7")));
        assert_eq!(found[0], PathBuf::from("/run/user/7/containers/auth.json"));
    }

    #[test]
    fn a_file_that_cannot_be_used_is_an_error_without_its_content() {
        let folder = tempfile::tempdir().unwrap();
        for text in [
            "{\"auths\": {\"a.b\": \"canary\"}}",
            "canary",
            "{\"auths\": {\"a.b\": {\"auth\": \"canary\"}}}",
        ] {
            write(folder.path(), ".docker/config.json", text);
            let error = find("a.b", "c", &environment(folder.path())).unwrap_err();
            let text = format!("{error:?}");
            assert!(text.contains("config.json") && !text.contains("canary"), "{text}");
        }
        let missing = Environment::new([("REGISTRY_AUTH_FILE".to_owned(), "/nowhere".to_owned())]);
        assert!(find("a.b", "c", &missing).is_err());
    }

    #[cfg(unix)]
    #[test]
    fn helpers_are_asked() {
        use std::os::unix::fs::PermissionsExt as _;
        let folder = tempfile::tempdir().unwrap();
        let helper = |name: &str, script: &str| {
            let file = format!("bin/docker-credential-{name}");
            write(folder.path(), &file, &format!("#!/bin/sh\n{script}\n"));
            let permissions = fs::Permissions::from_mode(0o755);
            fs::set_permissions(folder.path().join(file), permissions).unwrap();
        };
        helper(
            "mine",
            "read -r host; echo \"{\\\"ServerURL\\\":\\\"$host\\\",\\\"Username\\\":\\\"u-$host\\\",\\\"Secret\\\":\\\"s\\\"}\"",
        );
        helper("token", "echo '{\"Username\":\"<token>\",\"Secret\":\"t\"}'");
        helper("none", "echo 'credentials not found in native keychain'; exit 1");
        helper("broken", "echo canary; exit 3");
        let json = serde_json::json!({
            "credHelpers": {"a.b": "mine", "c.d": "none", "e.f": "broken", "g.h": "missing", "i.j": "../x"},
            "credsStore": "token", "auths": {"k.l": {}, "a.b": {"auth": STANDARD.encode("no:no")}},
        });
        write(folder.path(), ".docker/config.json", &json.to_string());
        let login = |host| find(host, "r", &environment(folder.path()));
        assert_eq!(login("a.b").unwrap().unwrap().login, password("u-a.b", "s"));
        assert_eq!(login("c.d").unwrap(), None);
        assert_eq!(login("k.l").unwrap().unwrap().login, Login::Identity(Secret::new("t")));

        for host in ["e.f", "g.h", "i.j"] {
            let text = format!("{:?}", login(host).unwrap_err());
            assert!(!text.contains("canary"), "{text}");
        }
    }

    #[test]
    fn a_secret_is_not_shown() {
        let login = password("u", "canary");
        assert!(!format!("{login:?}").contains("canary"));
    }
}
