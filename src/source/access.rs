//! What a run may use of the machine that it is on: network, cache, and whom to tell.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// How sources may be reached.
#[derive(Clone, Default)]
pub struct Access {
    /// Nothing is sent over a network; what is not at hand is an error.
    pub offline: bool,
    /// Variables of the environment that say where credentials, the cache and proxies are; the
    /// library reads none by itself.
    pub environment: Environment,
    /// Who is told what is going on.
    pub reporter: Option<Arc<dyn Reporter>>,
}

impl Access {
    /// Tells the reporter something of interest at this level of detail and above.
    pub(super) fn tell(&self, detail: u8, line: impl FnOnce() -> String) {
        if let Some(reporter) = self.reporter.as_ref().filter(|r| r.detail() >= detail) {
            reporter.line(&line());
        }
    }
}

/// Is told what a run does. Nothing that it is told holds a secret.
pub trait Reporter: Send + Sync {
    /// How much it wants to know: 0 nothing but progress, 1 what comes from where, 2 every
    /// request, 3 the headers of answers too.
    fn detail(&self) -> u8;
    /// A line, without its end.
    fn line(&self, line: &str);
    /// A download has begun; `size` is in bytes. What is returned is dropped at its end.
    fn download(&self, name: &str, size: u64) -> Box<dyn Download>;
}

/// Is told how a download goes.
pub trait Download: Send {
    /// This many bytes are there in all.
    fn reached(&self, bytes: u64);
}

/// Variables of the environment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Environment {
    variables: BTreeMap<String, String>,
}

impl Environment {
    /// Names of the variables that matter.
    pub const VARIABLES: &[&str] = &[
        "ALL_PROXY",
        "BUNDLE2CHART_CACHE",
        "DOCKER_CONFIG",
        "HOME",
        "HTTPS_PROXY",
        "HTTP_PROXY",
        "NO_PROXY",
        "PATH",
        "REGISTRY_AUTH_FILE",
        "XDG_CACHE_HOME",
        "XDG_CONFIG_HOME",
        "XDG_RUNTIME_DIR",
        "all_proxy",
        "http_proxy",
        "https_proxy",
        "no_proxy",
    ];

    /// Of `variables`, those that matter and are not empty.
    pub fn new(variables: impl IntoIterator<Item = (String, String)>) -> Self {
        let matters = |(name, value): &(String, String)| {
            Self::VARIABLES.contains(&name.as_str()) && !value.is_empty()
        };
        Environment { variables: variables.into_iter().filter(matters).collect() }
    }

    pub(super) fn get(&self, name: &str) -> Option<&str> {
        self.variables.get(name).map(String::as_str)
    }

    pub(super) fn path(&self, name: &str) -> Option<PathBuf> {
        self.get(name).map(PathBuf::from)
    }

    /// Where blobs are kept: `BUNDLE2CHART_CACHE`, else a folder in `XDG_CACHE_HOME` or in
    /// `.cache` at home.
    pub(super) fn cache(&self) -> Option<PathBuf> {
        self.path("BUNDLE2CHART_CACHE").or_else(|| {
            let caches = self
                .path("XDG_CACHE_HOME")
                .or_else(|| Some(Path::new(self.get("HOME")?).join(".cache")))?;
            Some(caches.join("bundle2chart"))
        })
    }
}
