//! A real Kubernetes control plane without nodes: etcd, kube-apiserver and kube-controller-manager.
//! Objects are validated, stored, owned and collected as in any cluster; no pod runs.
//!
//! All programs are one, built from `tests/control_plane` and pinned there by checksum. Each
//! [`ControlPlane`] is a cluster of its own, in a temporary folder and on ports of this machine.

#![allow(dead_code, reason = "each test program uses a part")]
#![expect(clippy::disallowed_methods, reason = "tests start servers and write their files")]

mod audit;
mod client;
mod keys;
mod process;

pub(crate) use audit::Request;
#[allow(unused_imports, reason = "each test program uses a part")]
pub(crate) use client::Answer;
pub(crate) use client::Client;
#[allow(unused_imports, reason = "each test program uses a part")]
pub(crate) use process::Process;

use super::go;
use super::helm::Run;
use audit::CHANGES;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value as Json, json};
use std::fs;
use std::io::Write as _;
use std::net::{Ipv4Addr, TcpListener};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// Name of the program's sources below tests/.
const PROGRAM: &str = "control_plane";

/// The user of the tests.
pub(crate) const ADMIN: &str = "admin";

/// The user of the controllers.
pub(crate) const CONTROLLERS: &str = "system:kube-controller-manager";

/// The address of the Service `kubernetes`, the first of the range below.
const API_SERVER_IP: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 1);
const SERVICE_RANGE: &str = "10.0.0.0/16";

/// Time limit for a server to be ready: long, because the machine may be busy.
const PATIENCE: Duration = Duration::from_secs(300);

/// Number of attempts to start a cluster, because another program may take a port meanwhile.
const ATTEMPTS: usize = 3;

/// A running cluster. Ends with the test.
pub(crate) struct ControlPlane {
    folder: tempfile::TempDir,
    program: PathBuf,
    port: u16,
    /// Last started, first ended.
    processes: Vec<Process>,
}

impl ControlPlane {
    /// Starts a cluster that has only what Kubernetes itself puts there; builds its programs first
    /// where that was not done yet.
    ///
    /// # Panics
    /// When Go is missing, or the programs cannot be built or do not become ready.
    pub(crate) fn start() -> Self {
        Self::start_logging(CHANGES)
    }

    /// The same with another audit policy than [`CHANGES`].
    ///
    /// # Panics
    /// When Go is missing, or the programs cannot be built or do not become ready.
    pub(crate) fn start_logging(audit_policy: &str) -> Self {
        let program = program();
        let mut reasons = Vec::new();
        for _ in 0..ATTEMPTS {
            match Self::attempt(&program, audit_policy) {
                Ok(control_plane) => return control_plane,
                Err(reason) => reasons.push(reason),
            }
        }
        panic!("the control plane does not start:\n{}", reasons.join("\n"));
    }

    /// Builds the programs, where that was not done yet.
    ///
    /// # Panics
    /// When Go is missing, or the programs cannot be built.
    pub(crate) fn build() {
        program();
    }

    /// The version of Kubernetes, for example `1.35.4`.
    pub(crate) fn version() -> String {
        go::required_version(PROGRAM, "k8s.io/kubernetes").trim_start_matches('v').to_owned()
    }

    fn attempt(program: &Path, audit_policy: &str) -> Result<Self, String> {
        let folder = tempfile::tempdir().expect("a folder");
        keys::write(folder.path());
        fs::write(folder.path().join("audit.yaml"), audit_policy).expect("a file");
        let [etcd, peers, port, controllers] = free_ports();
        let processes = Vec::new();
        let mut control_plane =
            ControlPlane { folder, program: program.to_owned(), port, processes };
        for user in ["admin", "controllers"] {
            control_plane.write_kubeconfig(user, &control_plane.certificate_of(user));
        }

        control_plane.run("etcd", etcd_arguments(&control_plane.folder(), etcd, peers));
        control_plane.run("kube-apiserver", control_plane.api_server_arguments(etcd));
        control_plane.wait("/readyz")?;
        let arguments = control_plane.controller_arguments(controllers);
        control_plane.run("kube-controller-manager", arguments);
        // The first thing of the controllers that others wait for.
        control_plane.wait("/api/v1/namespaces/default/serviceaccounts/default")?;
        Ok(control_plane)
    }

    /// A kubeconfig of a user who may do everything.
    pub(crate) fn kubeconfig(&self) -> PathBuf {
        self.file("admin.kubeconfig")
    }

    /// That kubeconfig with another default namespace, which objects may differ from.
    pub(crate) fn kubeconfig_in(&self, namespace: &str) -> PathBuf {
        self.in_namespace(&self.kubeconfig(), namespace, namespace)
    }

    /// Writes this kubeconfig with another default namespace as `NAME.kubeconfig`.
    fn in_namespace(&self, kubeconfig: &Path, namespace: &str, name: &str) -> PathBuf {
        let text = fs::read_to_string(kubeconfig).expect("a file");
        let mut kubeconfig: Json = serde_json::from_str(&text).expect("JSON");
        kubeconfig["contexts"][0]["context"]["namespace"] = json!(namespace);
        let file = self.file(&format!("{name}.kubeconfig"));
        fs::write(&file, kubeconfig.to_string()).expect("a file");
        make_private(&file);
        file
    }

    /// A kubeconfig with a token of this ServiceAccount, and the namespace that its pods have.
    ///
    /// # Panics
    /// When there is no such ServiceAccount.
    pub(crate) fn kubeconfig_of(&self, namespace: &str, account: &str) -> PathBuf {
        let name = format!("{namespace}-{account}");
        let token = json!({ "token": self.token_of(namespace, account) });
        let file = self.write_kubeconfig(&name, &token);
        self.in_namespace(&file, namespace, &name)
    }

    /// The user with a token of this ServiceAccount.
    ///
    /// # Panics
    /// When there is no such ServiceAccount.
    pub(crate) fn client_of(&self, namespace: &str, account: &str) -> Client {
        let authority = fs::read(self.file("ca.crt")).expect("a file");
        Client::new(self.address(), &authority, self.token_of(namespace, account))
    }

    /// A ServiceAccount with all permissions, whose requests the audit log tells from those of Helm.
    pub(crate) fn administrator(&self) -> Client {
        let admin = ["--clusterrole=cluster-admin", "--serviceaccount=default:default"];
        let run = self.kubectl(&[&["create", "clusterrolebinding", "admin"][..], &admin].concat());
        assert!(run.success || run.stderr.contains("already exists"), "{}", run.stderr);
        self.client_of("default", "default")
    }

    fn token_of(&self, namespace: &str, account: &str) -> String {
        let arguments = ["create", "token", account, "--namespace", namespace];
        self.kubectl(&arguments).expect_success().trim().to_owned()
    }

    /// The API server's address, `https://127.0.0.1:PORT`.
    pub(crate) fn address(&self) -> String {
        format!("https://127.0.0.1:{}", self.port)
    }

    /// `kubectl ARGUMENTS` as a user who may do everything.
    pub(crate) fn kubectl(&self, arguments: &[&str]) -> Run {
        self.kubectl_as(&self.kubeconfig(), arguments, "")
    }

    /// `kubectl apply --server-side --filename -` with these manifests.
    ///
    /// # Panics
    /// When the server refuses them.
    #[track_caller]
    pub(crate) fn apply(&self, manifests: &str) {
        let arguments = ["apply", "--server-side", "--filename", "-"];
        self.kubectl_as(&self.kubeconfig(), &arguments, manifests).expect_success();
    }

    /// `kubectl get ARGUMENTS` as JSON: one object, or a list with `items`.
    ///
    /// # Panics
    /// When there is no such object.
    #[track_caller]
    pub(crate) fn get(&self, arguments: &[&str]) -> Json {
        let all: Vec<&str> =
            ["get", "--output", "json"].into_iter().chain(arguments.iter().copied()).collect();
        serde_json::from_str(&self.kubectl(&all).expect_success()).expect("JSON")
    }

    /// `kubectl ARGUMENTS` with this kubeconfig and standard input, and nothing of the user's own.
    pub(crate) fn kubectl_as(&self, kubeconfig: &Path, arguments: &[&str], stdin: &str) -> Run {
        let mut child = Command::new(&self.program)
            .arg("kubectl")
            .args(arguments)
            .env_clear()
            .env("HOME", self.folder())
            .env("KUBECONFIG", kubeconfig)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("kubectl runs");
        // It may end without reading all of it, which its answer tells better.
        let _ = child.stdin.take().expect("a pipe").write_all(stdin.as_bytes());
        let output = child.wait_with_output().expect("kubectl runs");
        Run::of("kubectl", &output)
    }

    /// A folder with `kubectl` in it, for PATH of programs that run it.
    pub(crate) fn kubectl_folder(&self) -> PathBuf {
        let folder = self.file("bin");
        let kubectl = folder.join("kubectl");
        if !kubectl.exists() {
            fs::create_dir_all(&folder).expect("a folder");
            let script = format!("#!/bin/sh\nexec '{}' kubectl \"$@\"\n", self.program.display());
            fs::write(&kubectl, script).expect("a file");
            make_executable(&kubectl);
        }
        folder
    }

    /// Returns the end of the audit log, for [`ControlPlane::requests_since`].
    pub(crate) fn audit_mark(&self) -> usize {
        audit::requests(&self.file("audit.log"), 0).1
    }

    /// All logged requests since then, in the order of their answers.
    pub(crate) fn requests_since(&self, mark: usize) -> Vec<Request> {
        audit::requests(&self.file("audit.log"), mark).0
    }

    /// Calls `done` until it gives something.
    ///
    /// # Panics
    /// When it gives nothing for minutes.
    #[track_caller]
    pub(crate) fn wait_for<T>(&self, what: &str, mut done: impl FnMut() -> Option<T>) -> T {
        let begun = Instant::now();
        loop {
            if let Some(value) = done() {
                return value;
            }
            assert!(begun.elapsed() < PATIENCE, "{what} is still to come\n{}", self.logs());
            std::thread::sleep(Duration::from_millis(200));
        }
    }

    fn folder(&self) -> PathBuf {
        self.folder.path().to_owned()
    }

    fn file(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn run(&mut self, program: &str, flags: Vec<String>) {
        let arguments: Vec<String> = [program.to_owned()].into_iter().chain(flags).collect();
        let log = self.file(&format!("{program}.log"));
        self.processes.insert(0, Process::start(&self.program, &arguments, &log));
    }

    /// Waits until there is something at this path.
    fn wait(&mut self, path: &str) -> Result<(), String> {
        let begun = Instant::now();
        while !self.kubectl(&["get", "--raw", path]).success {
            let ended = self.processes.iter_mut().any(|process| process.ended().is_some());
            if ended || begun.elapsed() > PATIENCE {
                let how = if ended { "a program ended" } else { "nothing" };
                return Err(format!("{how} while waiting for {path}\n{}", self.logs()));
            }
            std::thread::sleep(Duration::from_millis(100));
        }
        Ok(())
    }

    /// The last lines of each program.
    fn logs(&self) -> String {
        let tail = |program: &str| {
            let log = fs::read_to_string(self.file(&format!("{program}.log"))).unwrap_or_default();
            let lines: Vec<&str> = log.lines().collect();
            format!("{program}:\n{}", lines[lines.len().saturating_sub(12)..].join("\n"))
        };
        ["etcd", "kube-apiserver", "kube-controller-manager"].map(tail).join("\n")
    }

    fn api_server_arguments(&self, etcd: u16) -> Vec<String> {
        let path = |flag: &str, name: &str| format!("--{flag}={}", self.file(name).display());
        vec![
            format!("--etcd-servers=http://127.0.0.1:{etcd}"),
            format!("--secure-port={}", self.port),
            "--bind-address=127.0.0.1".to_owned(),
            format!("--service-cluster-ip-range={SERVICE_RANGE}"),
            path("tls-cert-file", "server.crt"),
            path("tls-private-key-file", "server.key"),
            path("client-ca-file", "ca.crt"),
            "--authorization-mode=RBAC".to_owned(),
            "--allow-privileged".to_owned(),
            "--service-account-issuer=https://kubernetes.default.svc".to_owned(),
            path("service-account-key-file", "accounts.pub"),
            path("service-account-signing-key-file", "accounts.key"),
            // Servers of APIServices are called, and know by this who asks them.
            path("requestheader-client-ca-file", "proxy-ca.crt"),
            "--requestheader-allowed-names=front-proxy-client".to_owned(),
            "--requestheader-username-headers=X-Remote-User".to_owned(),
            "--requestheader-group-headers=X-Remote-Group".to_owned(),
            "--requestheader-extra-headers-prefix=X-Remote-Extra-".to_owned(),
            path("proxy-client-cert-file", "proxy.crt"),
            path("proxy-client-key-file", "proxy.key"),
            // No kube-proxy leads from the address of a Service to its endpoints.
            "--enable-aggregator-routing".to_owned(),
            path("audit-policy-file", "audit.yaml"),
            path("audit-log-path", "audit.log"),
        ]
    }

    fn controller_arguments(&self, port: u16) -> Vec<String> {
        let path = |flag: &str, name: &str| format!("--{flag}={}", self.file(name).display());
        vec![
            path("kubeconfig", "controllers.kubeconfig"),
            path("authentication-kubeconfig", "controllers.kubeconfig"),
            path("authorization-kubeconfig", "controllers.kubeconfig"),
            format!("--secure-port={port}"),
            "--bind-address=127.0.0.1".to_owned(),
            path("cert-dir", "controllers"),
            "--leader-elect=false".to_owned(),
            path("service-account-private-key-file", "accounts.key"),
            path("root-ca-file", "ca.crt"),
        ]
    }

    fn certificate_of(&self, user: &str) -> Json {
        let encoded = |end: &str| {
            let file = self.file(&format!("{user}.{end}"));
            STANDARD.encode(fs::read(file).expect("a file"))
        };
        json!({ "client-certificate-data": encoded("crt"), "client-key-data": encoded("key") })
    }

    fn write_kubeconfig(&self, name: &str, credentials: &Json) -> PathBuf {
        let authority = STANDARD.encode(fs::read(self.file("ca.crt")).expect("a file"));
        let cluster = json!({ "server": self.address(), "certificate-authority-data": authority });
        let kubeconfig = json!({
            "apiVersion": "v1",
            "kind": "Config",
            "current-context": "test",
            "clusters": [{ "name": "test", "cluster": cluster }],
            "users": [{ "name": "test", "user": credentials }],
            "contexts": [{ "name": "test", "context": { "cluster": "test", "user": "test" } }],
        });
        let file = self.file(&format!("{name}.kubeconfig"));
        fs::write(&file, kubeconfig.to_string()).expect("a file");
        // Helm 4 warns of kubeconfigs that others may read.
        make_private(&file);
        file
    }
}

fn etcd_arguments(folder: &Path, port: u16, peers: u16) -> Vec<String> {
    let clients = format!("http://127.0.0.1:{port}");
    let peers = format!("http://127.0.0.1:{peers}");
    vec![
        format!("--data-dir={}", folder.join("etcd").display()),
        format!("--listen-client-urls={clients}"),
        format!("--advertise-client-urls={clients}"),
        format!("--listen-peer-urls={peers}"),
        format!("--initial-advertise-peer-urls={peers}"),
        format!("--initial-cluster=default={peers}"),
        // Nothing has to survive the test.
        "--unsafe-no-fsync".to_owned(),
    ]
}

/// The program, with its version where `kubectl version` and Helm read it.
fn program() -> PathBuf {
    let version = ControlPlane::version();
    let minor = version.split('.').nth(1).expect("a minor version");
    let variables: Vec<String> = ["k8s.io/component-base/version", "k8s.io/client-go/pkg/version"]
        .iter()
        .flat_map(|package| {
            [
                format!("{package}.gitVersion=v{version}"),
                format!("{package}.gitMajor=1"),
                format!("{package}.gitMinor={minor}"),
            ]
        })
        .collect();
    go::program_with(PROGRAM, &variables)
}

fn free_ports() -> [u16; 4] {
    let listeners = [(); 4].map(|()| TcpListener::bind("127.0.0.1:0").expect("a port"));
    listeners.map(|listener| listener.local_addr().expect("an address").port())
}

#[cfg(unix)]
fn set_mode(file: &Path, mode: u32) {
    use std::os::unix::fs::PermissionsExt;
    fs::set_permissions(file, fs::Permissions::from_mode(mode)).expect("a file");
}

#[cfg(not(unix))]
fn set_mode(_: &Path, _: u32) {}

fn make_private(file: &Path) {
    set_mode(file, 0o600);
}

fn make_executable(file: &Path) {
    set_mode(file, 0o755);
}
