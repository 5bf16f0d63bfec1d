//! A real kube-apiserver with its etcd, and nothing else of a cluster: objects are validated and
//! stored, and no controller acts upon them.

#![expect(clippy::disallowed_methods, reason = "tests install and run the server")]

use super::helm::tools_dir;
use rcgen::KeyPair;
use std::fs::{self, File};
use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// Version of the server that tests/api-server/build.sh makes.
pub(crate) const VERSION: &str = "1.20.2";

/// Only for a server of this test, on this machine, while it runs.
const TOKEN: &str = "token-of-a-test";

/// How long the server may take to be ready on a machine that is busy.
const PATIENCE: Duration = Duration::from_secs(120);

/// A running server. Ends with the test.
pub(crate) struct ApiServer {
    folder: tempfile::TempDir,
    processes: Vec<Child>,
}

impl ApiServer {
    /// Starts a server without any objects; makes it first where there is none yet.
    ///
    /// # Panics
    /// When the server cannot be made or does not become ready.
    pub(crate) fn start() -> Self {
        let binary = installed();
        let folder = tempfile::tempdir().expect("a folder");
        let file = |name: &str| folder.path().join(name);
        let key = KeyPair::generate().expect("a key");
        fs::write(file("accounts.key"), key.serialize_pem()).expect("a file");
        fs::write(file("accounts.pub"), key.public_key_pem()).expect("a file");
        fs::write(file("tokens.csv"), format!("{TOKEN},admin,admin,system:masters\n"))
            .expect("a file");
        let [etcd, peers, port] = free_ports();
        fs::write(file("kubeconfig"), kubeconfig(port)).expect("a file");

        let log = |name: &str| Stdio::from(File::create(file(name)).expect("a file"));
        let store = Command::new("etcd")
            .arg("--data-dir")
            .arg(file("etcd"))
            .arg(format!("--listen-client-urls=http://127.0.0.1:{etcd}"))
            .arg(format!("--advertise-client-urls=http://127.0.0.1:{etcd}"))
            .arg(format!("--listen-peer-urls=http://127.0.0.1:{peers}"))
            .arg("--unsafe-no-fsync")
            .stdout(log("etcd.log"))
            .stderr(Stdio::null())
            .spawn()
            .expect("etcd runs");
        let mut server = ApiServer { folder, processes: vec![store] };
        let file = |name: &str| server.folder.path().join(name);
        let path = |flag: &str, name: &str| format!("--{flag}={}", file(name).display());
        let api = Command::new(&binary)
            .args([
                format!("--etcd-servers=http://127.0.0.1:{etcd}"),
                format!("--secure-port={port}"),
                path("cert-dir", "certificates"),
                path("token-auth-file", "tokens.csv"),
                path("service-account-key-file", "accounts.pub"),
                path("service-account-signing-key-file", "accounts.key"),
            ])
            .args([
                "--bind-address=127.0.0.1",
                "--service-cluster-ip-range=10.0.0.0/24",
                "--service-account-issuer=https://kubernetes.default.svc",
                "--authorization-mode=RBAC",
                "--allow-privileged",
                // Nobody here makes the default account of a namespace.
                "--disable-admission-plugins=ServiceAccount",
            ])
            .stdout(Stdio::null())
            .stderr(Stdio::from(File::create(file("api.log")).expect("a file")))
            .spawn()
            .expect("kube-apiserver runs");
        server.processes.push(api);
        server.wait(port);
        server
    }

    /// A kubeconfig of somebody who may do everything.
    pub(crate) fn kubeconfig(&self) -> PathBuf {
        self.folder.path().join("kubeconfig")
    }

    /// Waits for the objects that the server makes itself; then it is ready.
    fn wait(&mut self, port: u16) {
        let begun = Instant::now();
        while !has_roles(port) {
            for process in &mut self.processes {
                let ended = process.try_wait().expect("a process");
                assert!(ended.is_none(), "a server stopped: {}", self.log());
            }
            assert!(begun.elapsed() < PATIENCE, "the server is not ready: {}", self.log());
            std::thread::sleep(Duration::from_millis(200));
        }
    }

    fn log(&self) -> String {
        let log = fs::read_to_string(self.folder.path().join("api.log")).unwrap_or_default();
        let lines: Vec<&str> = log.lines().collect();
        lines[lines.len().saturating_sub(20)..].join("\n")
    }
}

impl Drop for ApiServer {
    fn drop(&mut self) {
        for mut process in self.processes.drain(..).rev() {
            let _ = process.kill();
            let _ = process.wait();
        }
    }
}

/// Whether the server answers that it is ready. Its own certificate is not what is tested, and curl
/// is where apt-get is.
fn has_roles(port: u16) -> bool {
    if TcpStream::connect(("127.0.0.1", port)).is_err() {
        return false;
    }
    let answer = Command::new("curl")
        .args(["--silent", "--insecure", "--max-time", "5", "--header"])
        .arg(format!("Authorization: Bearer {TOKEN}"))
        .arg(format!("https://127.0.0.1:{port}/readyz"))
        .output()
        .expect("curl runs");
    answer.stdout == b"ok"
}

fn kubeconfig(port: u16) -> String {
    format!(
        "apiVersion: v1\nkind: Config\ncurrent-context: test\n\
         clusters: [{{name: test, cluster: {{server: 'https://127.0.0.1:{port}', \
         insecure-skip-tls-verify: true}}}}]\n\
         users: [{{name: test, user: {{token: {TOKEN}}}}}]\n\
         contexts: [{{name: test, context: {{cluster: test, user: test}}}}]\n"
    )
}

fn free_ports() -> [u16; 3] {
    let listeners = [(); 3].map(|()| TcpListener::bind("127.0.0.1:0").expect("a port"));
    listeners.map(|listener| listener.local_addr().expect("an address").port())
}

/// The binary of the server; made where there is none, and etcd and curl installed.
fn installed() -> PathBuf {
    let folder = tools_dir().join(format!("kube-apiserver-{VERSION}"));
    fs::create_dir_all(&folder).expect("a folder");
    let lock = File::create(folder.join("install.lock")).expect("a file");
    lock.lock().expect("a lock");
    let binary = folder.join("kube-apiserver");
    let mut missing = Vec::new();
    for (program, package) in [("etcd", "etcd-server"), ("curl", "curl")] {
        if Command::new(program).arg("--version").output().is_err() {
            missing.push(package);
        }
    }
    if !missing.is_empty() {
        run(Command::new("apt-get").args(["-qq", "update"]));
        run(Command::new("apt-get")
            .args(["-qq", "--no-install-recommends", "install"])
            .args(&missing)
            .env("DEBIAN_FRONTEND", "noninteractive"));
    }
    if !binary.is_file() {
        say("making kube-apiserver, which takes about ten minutes");
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/api-server/build.sh");
        run(Command::new("nice").arg(script).arg(&binary));
    }
    binary
}

fn run(command: &mut Command) {
    let mut child = command
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap_or_else(|error| panic!("{command:?} does not start: {error}"));
    let mut words = Vec::new();
    let mut stderr = child.stderr.take().expect("a pipe");
    let _ = stderr.read_to_end(&mut words);
    let status = child.wait().expect("a process");
    assert!(
        status.success(),
        "{command:?} failed: {}\nhint: this test needs Debian 12 on x86-64 and root, or a \
         kube-apiserver {VERSION} in BUNDLE2CHART_TEST_TOOLS/kube-apiserver-{VERSION}, etcd and curl",
        String::from_utf8_lossy(&words)
    );
}

fn say(words: &str) {
    let _ = writeln!(std::io::stderr(), "{words}");
}
