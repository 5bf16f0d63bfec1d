//! The resources of the machine that a run can use: network, cache, and reporter.

use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Access to sources.
#[derive(Clone, Default)]
pub struct Access {
    /// Disables network access; anything that is not local is an error.
    pub offline: bool,
    /// Variables of the environment that say where credentials, the cache and proxies are; the
    /// library reads none by itself.
    pub environment: Environment,
    /// Receives progress and log lines.
    pub reporter: Option<Arc<dyn Reporter>>,
}

impl Access {
    /// Reports a line at this level of detail and above.
    pub(super) fn tell(&self, detail: u8, line: impl FnOnce() -> String) {
        if let Some(reporter) = self.reporter.as_ref().filter(|r| r.detail() >= detail) {
            reporter.line(&line());
        }
    }
}

/// Receives progress and log lines, which never contain secrets.
pub trait Reporter: Send + Sync {
    /// Returns the level of detail: 0 progress only, 1 sources of images, 2 HTTP requests, 3
    /// response headers.
    fn detail(&self) -> u8;
    /// Prints a line; `line` has no line break at its end.
    fn line(&self, line: &str);
    /// Starts a download; `size` is in bytes. The result is dropped when the download ends.
    fn download(&self, name: &str, size: u64) -> Box<dyn Download>;
}

/// Receives the progress of a download.
pub trait Download: Send {
    /// Reports the number of bytes that have arrived so far.
    fn reached(&self, bytes: u64);
}

/// Variables of the environment.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Environment {
    variables: BTreeMap<String, String>,
}

/// Prints names only: a proxy URL can contain a password.
impl fmt::Debug for Environment {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_set().entries(self.variables.keys()).finish()
    }
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

    /// Keeps the relevant, non-empty ones of `variables`.
    pub fn new(variables: impl IntoIterator<Item = (String, String)>) -> Self {
        let matters = |(name, value): &(String, String)| {
            // An empty variable counts as unset, as XDG's specification and Go's proxies have it.
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

    /// Returns the cache directory: `BUNDLE2CHART_CACHE`, else `bundle2chart` in `XDG_CACHE_HOME`
    /// or in `.cache` at home.
    pub(super) fn cache(&self) -> Option<PathBuf> {
        self.path("BUNDLE2CHART_CACHE").or_else(|| {
            let caches = self
                .path("XDG_CACHE_HOME")
                .or_else(|| Some(Path::new(self.get("HOME")?).join(".cache")))?;
            Some(caches.join("bundle2chart"))
        })
    }
}
