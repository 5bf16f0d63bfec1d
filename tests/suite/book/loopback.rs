//! The registries of the pages: a real one on this machine, reached through a proxy as in a company's
//! network.

use crate::registry::distribution::Distribution;
use crate::registry::project::{PASSWORD, USER};
use crate::support::command::Case;
use crate::support::image::{Compression, Image, Layer, Layout};
use base64::Engine as _;
use std::collections::BTreeMap;
use std::io::{BufRead as _, BufReader, Write as _};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// The hosts that pages name.
const HOSTS: [&str; 2] = ["registry.example.com", "quay.io"];
/// The bundle of the first steps, which has two versions in fixtures/.
const BUNDLE: &str = "sealing-wax/sealing-wax-operator-bundle";

/// A registry, and a proxy that leads to it.
pub(super) struct Loopback {
    registry: Distribution,
    proxy: SocketAddr,
    stop: Arc<AtomicBool>,
}

impl Loopback {
    /// Starts both, with version 1.0.0 of the sealing wax operator.
    pub(super) fn start() -> Self {
        let registry = Distribution::start();
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let proxy = listener.local_addr().expect("an address");
        let stop = Arc::new(AtomicBool::new(false));
        let (target, stopped) = (registry.host.clone(), Arc::clone(&stop));
        std::thread::spawn(move || {
            for client in listener.incoming().map_while(Result::ok) {
                if stopped.load(Ordering::Relaxed) {
                    break;
                }
                let target = target.clone();
                std::thread::spawn(move || tunnel(client, &target));
            }
        });
        let loopback = Loopback { registry, proxy, stop };
        loopback.release("1.0.0");
        loopback
    }

    /// Pushes a version of the operator, also as the tag `stable`.
    pub(super) fn release(&self, version: &str) {
        let layout = super::root().join("fixtures/registry");
        for tag in [version, "stable"] {
            let name = format!("{}/{BUNDLE}:{version}", HOSTS[0]);
            self.registry.push(
                &layout,
                &name,
                &format!("{BUNDLE}:{tag}"),
                &["--all", "--preserve-digests"],
            );
        }
    }

    /// Pushes the versions of a public bundle, whose folders are in `package`.
    pub(super) fn publish(&self, package: &Path) {
        let folder_name = |path: &Path| path.file_name().expect("a name").display().to_string();
        for entry in std::fs::read_dir(package).expect("a folder") {
            let folder = entry.expect("an entry").path();
            let mut layer = Layer::new();
            for entry in walkdir::WalkDir::new(&folder).sort_by_file_name() {
                let entry = entry.expect("an entry");
                if entry.file_type().is_file() {
                    let path = entry.path().strip_prefix(&folder).expect("a path below");
                    layer.file(
                        &path.display().to_string(),
                        &std::fs::read(entry.path()).expect("a file"),
                    );
                }
            }
            let layers = vec![(Compression::Gzip, layer.into_tar())];
            let mut layout = Layout::default();
            layout
                .image("bundle", &Image { architecture: "amd64", labels: BTreeMap::new(), layers });
            let files = Case::new();
            for (path, content) in layout.into_files() {
                files.write(&path, content);
            }
            let target =
                format!("operatorhubio/{}:v{}", folder_name(package), folder_name(&folder));
            self.registry.push(&files.path(""), "bundle", &target, &[]);
        }
    }

    /// Writes the credentials and the CA to a directory; returns the variables that name them.
    pub(super) fn environment(&self, directory: &Path) -> Vec<(&'static str, String)> {
        let pair = base64::engine::general_purpose::STANDARD.encode(format!("{USER}:{PASSWORD}"));
        let auths = HOSTS.map(|host| (host.to_owned(), serde_json::json!({ "auth": pair })));
        let auths = serde_json::json!({ "auths": serde_json::Map::from_iter(auths) });
        let file = |name: &str, content: String| {
            let path = directory.join(name);
            std::fs::write(&path, content).expect("a file");
            path.display().to_string()
        };
        let auth = file("auth.json", auths.to_string());
        vec![
            ("HTTPS_PROXY", format!("http://{}", self.proxy)),
            ("SSL_CERT_FILE", file("ca.pem", self.registry.authority.clone())),
            ("HELM_REGISTRY_CONFIG", auth.clone()),
            ("REGISTRY_AUTH_FILE", auth),
        ]
    }
}

impl Drop for Loopback {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        // Wakes the listener.
        let _ = TcpStream::connect(self.proxy);
    }
}

/// Serves one connection of a proxy (CONNECT, RFC 9110, section 9.3.6): whatever host is asked for,
/// it is the registry, whose certificate decides.
fn tunnel(client: TcpStream, target: &str) {
    let Ok(mut writer) = client.try_clone() else { return };
    let mut reader = BufReader::new(client);
    let mut line = String::new();
    while reader.read_line(&mut line).is_ok_and(|read| read > 2) {
        assert!(
            HOSTS.iter().any(|host| line.starts_with(&format!("CONNECT {host}:443 ")))
                || line.contains(": "),
            "{line}"
        );
        line.clear();
    }
    let Ok(server) = TcpStream::connect(target) else { return };
    if writer.write_all(b"HTTP/1.1 200 Connected\r\n\r\n").is_err() {
        return;
    }

    let Ok(mut from_server) = server.try_clone() else { return };
    let back = std::thread::spawn(move || {
        let _ = std::io::copy(&mut from_server, &mut writer);
        let _ = writer.shutdown(Shutdown::Write);
    });
    let mut to_server = server;
    let _ = std::io::copy(&mut reader, &mut to_server);
    let _ = to_server.shutdown(Shutdown::Write);
    let _ = back.join();
}
