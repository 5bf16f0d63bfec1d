//! The real registry server of the distribution project, and skopeo to fill it.

use crate::support::once::install_packages;
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair, KeyUsagePurpose};
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use std::fs::{self, File};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// The password of the tests as bcrypt, which is all that the server takes.
const HTPASSWD: &str = "canary:$2y$05$G/7QNC1x9ooXy13IlmcYbuK.67xvKlLpdaqo3SHO.BhxiYoQID9OK\n";

/// An authority of our own as PEM, and a certificate for this machine with its key.
pub(crate) fn certificate() -> (String, CertificateDer<'static>, PrivateKeyDer<'static>) {
    let (authority, leaf, key) = generated();
    let key = PrivateKeyDer::try_from(key.serialize_der()).expect("a key");
    (authority, leaf.der().clone(), key)
}

fn generated() -> (String, rcgen::Certificate, KeyPair) {
    let mut params = CertificateParams::new(Vec::<String>::new()).expect("parameters");
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    params.key_usages = vec![KeyUsagePurpose::KeyCertSign];
    let issuer = CertifiedIssuer::self_signed(params, KeyPair::generate().expect("a key"))
        .expect("an authority");
    // The last two are the registry of the fixtures and a public one, behind a proxy.
    let names =
        ["localhost", "127.0.0.1", "registry.example.com", "quay.io"].map(str::to_owned).to_vec();
    let params = CertificateParams::new(names).expect("parameters");
    let key = KeyPair::generate().expect("a key");
    let leaf = params.signed_by(&key, &issuer).expect("a certificate");
    (issuer.pem(), leaf, key)
}

/// A running registry with TLS and a password.
pub(crate) struct Distribution {
    pub(crate) host: String,
    /// The authority that signed its certificate, as PEM.
    pub(crate) authority: String,
    folder: tempfile::TempDir,
    process: Child,
}

impl Distribution {
    /// Starts the server; installs it where Debian's packages can be installed.
    ///
    /// # Panics
    /// When there is no server and it cannot be installed.
    pub(crate) fn start() -> Self {
        Distribution::start_with(true)
    }

    /// The same without TLS, for programs that never use it for this machine.
    pub(crate) fn start_plain() -> Self {
        Distribution::start_with(false)
    }

    fn start_with(tls: bool) -> Self {
        install();
        let folder = tempfile::tempdir().expect("a folder");
        let file = |name: &str| folder.path().join(name);
        let (authority, leaf, key) = generated();
        fs::write(file("cert.pem"), leaf.pem()).expect("a file");
        fs::write(file("key.pem"), key.serialize_pem()).expect("a file");
        // Where skopeo looks for the authority.
        fs::create_dir(file("certs")).expect("a folder");
        fs::write(file("certs/ca.crt"), &authority).expect("a file");
        fs::write(file("htpasswd"), HTPASSWD).expect("a file");
        let free = TcpListener::bind("127.0.0.1:0").expect("a port");
        let address = free.local_addr().expect("an address").to_string();
        drop(free);
        let (cert, key) = (file("cert.pem"), file("key.pem"));
        let cert = format!("  tls: {{certificate: {}, key: {}}}\n", cert.display(), key.display());
        let config = format!(
            "version: 0.1\nlog: {{level: error}}\nstorage: {{filesystem: {{rootdirectory: {root}}}}}\n\
             http:\n  addr: {address}\n{tls}\
             auth: {{htpasswd: {{realm: lamps, path: {htpasswd}}}}}\n",
            root = file("data").display(),
            tls = if tls { cert.as_str() } else { "" },
            htpasswd = file("htpasswd").display(),
        );
        fs::write(file("config.yml"), config).expect("a file");
        let process = Command::new("docker-registry")
            .args(["serve".as_ref(), file("config.yml").as_os_str()])
            .stdout(Stdio::null())
            .stderr(File::create(file("log")).expect("a file"))
            .spawn()
            .expect("docker-registry runs");
        let begun = Instant::now();
        while TcpStream::connect(&address).is_err() {
            let log = fs::read_to_string(file("log")).unwrap_or_default();
            assert!(begun.elapsed() < Duration::from_secs(30), "no registry: {log}");
            std::thread::sleep(Duration::from_millis(20));
        }
        Distribution { host: address, authority, folder, process }
    }

    /// `skopeo copy` from an image layout into the registry.
    pub(crate) fn push(&self, layout: &Path, name: &str, target: &str, more: &[&str]) {
        let status = Command::new("skopeo")
            .args(["--insecure-policy", "copy", "--quiet", "--dest-creds"])
            .arg(format!("{}:{}", super::project::USER, super::project::PASSWORD))
            .arg("--dest-cert-dir")
            .arg(self.folder.path().join("certs"))
            .args(more)
            .arg(format!("oci:{}:{name}", layout.display()))
            .arg(format!("docker://{}/{target}", self.host))
            .status()
            .expect("skopeo runs");
        assert!(status.success(), "skopeo copied {name} to {target}");
    }

    /// Runs `skopeo sync`, `skopeo copy` or `skopeo inspect` with the password.
    pub(crate) fn skopeo(&self, arguments: &[String]) {
        let auth = self.folder.path().join("auth.json");
        let pair = format!("{}:{}", super::project::USER, super::project::PASSWORD);
        let pair = base64::Engine::encode(&base64::engine::general_purpose::STANDARD, pair);
        fs::write(&auth, format!("{{\"auths\":{{\"{}\":{{\"auth\":\"{pair}\"}}}}}}", self.host))
            .expect("a file");
        let (first, rest) = arguments.split_first().expect("a command");
        let insecure: &[&str] = match first.as_str() {
            "sync" | "copy" => &["--src-tls-verify=false", "--dest-tls-verify=false"],
            _ => &["--tls-verify=false"],
        };
        let status = Command::new("skopeo")
            .args(["--insecure-policy", first])
            .args(insecure)
            .args(rest)
            .env("REGISTRY_AUTH_FILE", auth)
            .stdout(Stdio::null())
            .status()
            .expect("skopeo runs");
        assert!(status.success(), "skopeo {arguments:?}");
    }

    /// Returns the manifest or index at a tag, as it is stored; `None` if there is no such tag.
    pub(crate) fn manifest(&self, repository: &str, tag: &str) -> Option<serde_json::Value> {
        let tags = self.storage().join("repositories").join(repository).join("_manifests/tags");
        let digest = fs::read_to_string(tags.join(tag).join("current/link")).ok()?;
        serde_json::from_slice(&self.blob(&digest)).ok()
    }

    /// Returns a blob or manifest as it is stored.
    ///
    /// # Panics
    /// When there is none.
    pub(crate) fn blob(&self, digest: &str) -> Vec<u8> {
        let (algorithm, hex) = digest.split_once(':').expect("a digest");
        let folder = self.storage().join("blobs").join(algorithm).join(&hex[..2]).join(hex);
        fs::read(folder.join("data")).expect("a blob")
    }

    fn storage(&self) -> PathBuf {
        self.folder.path().join("data/docker/registry/v2")
    }

    pub(crate) fn stop(mut self) -> PathBuf {
        self.process.kill().expect("a process");
        self.process.wait().expect("a process");
        self.folder.path().to_owned()
    }
}

impl Drop for Distribution {
    fn drop(&mut self) {
        // It may have been stopped already.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// Installs the registry server and skopeo from Debian's packages when they are missing.
///
/// # Panics
/// When they are missing and cannot be installed.
pub(crate) fn install() {
    install_packages(&["docker-registry", "skopeo"]);
}
