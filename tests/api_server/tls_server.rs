//! A server that answers the API server in an operator's place, with the certificate of a Secret.

use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::WebPkiClientVerifier;
use rustls::{RootCertStore, ServerConfig, ServerConnection, Stream};
use serde_json::Value as Json;
use std::collections::BTreeMap;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{IpAddr, SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;

/// A request that arrived.
#[derive(Clone, Debug)]
pub(crate) struct Call {
    /// The host that the client asked for, from the TLS handshake.
    pub(crate) host: String,
    /// True if the client showed a certificate of the trusted authority.
    pub(crate) certified: bool,
    pub(crate) path: String,
    /// By lower-case name.
    pub(crate) headers: BTreeMap<String, String>,
}

/// Answers a path and body with a status and body.
pub(crate) type Handler = fn(path: &str, body: &Json) -> (u16, Json);

/// A running server. Ends when it is dropped.
pub(crate) struct TlsServer {
    pub(crate) address: SocketAddr,
    calls: Arc<Mutex<Vec<Call>>>,
    ended: Arc<AtomicBool>,
}

impl TlsServer {
    /// Starts a server with this certificate and key (PEM), on a free port of an address that an API
    /// server may call. Clients with certificates of `clients` (PEM) are certified.
    pub(crate) fn start(certificate: &[u8], key: &[u8], clients: &[u8], handler: Handler) -> Self {
        let listener = TcpListener::bind((own_address(), 0)).expect("a port");
        let address = listener.local_addr().expect("an address");
        let config = Arc::new(config(certificate, key, clients));
        let (calls, ended) = (Arc::default(), Arc::new(AtomicBool::new(false)));
        let server = TlsServer { address, calls, ended };
        let (calls, ended) = (Arc::clone(&server.calls), Arc::clone(&server.ended));
        thread::spawn(move || {
            for stream in listener.incoming() {
                if ended.load(Ordering::SeqCst) {
                    return;
                }
                let (config, calls) = (Arc::clone(&config), Arc::clone(&calls));
                let stream = stream.expect("a connection");
                // A client that does not trust the certificate hangs up.
                thread::spawn(move || serve(stream, config, &calls, handler).ok());
            }
        });
        server
    }

    /// All calls until now.
    pub(crate) fn calls(&self) -> Vec<Call> {
        self.calls.lock().expect("a lock").clone()
    }
}

impl Drop for TlsServer {
    fn drop(&mut self) {
        self.ended.store(true, Ordering::SeqCst);
        // It waits for a connection.
        drop(TcpStream::connect(self.address));
    }
}

/// An address of this machine that is no loopback, which Kubernetes refuses for endpoints.
fn own_address() -> IpAddr {
    // Nothing is sent: connecting a datagram socket picks the address that would be used.
    let socket = UdpSocket::bind("0.0.0.0:0").expect("a socket");
    socket.connect("203.0.113.1:9").expect("a network besides the loopback, which this test needs");
    socket.local_addr().expect("an address").ip()
}

fn config(certificate: &[u8], key: &[u8], clients: &[u8]) -> ServerConfig {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let mut roots = RootCertStore::empty();
    for root in CertificateDer::pem_slice_iter(clients) {
        roots.add(root.expect("a certificate")).expect("an authority");
    }
    let verifier = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider.clone())
        .allow_unauthenticated()
        .build()
        .expect("a verifier");
    let chain = CertificateDer::pem_slice_iter(certificate).map(|c| c.expect("a certificate"));
    let key = PrivateKeyDer::from_pem_slice(key).expect("a key");
    ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .expect("versions")
        .with_client_cert_verifier(verifier)
        .with_single_cert(chain.collect(), key)
        .expect("a certificate and its key")
}

/// Answers requests of one connection until it is closed.
fn serve(
    mut stream: TcpStream,
    config: Arc<ServerConfig>,
    calls: &Mutex<Vec<Call>>,
    handler: Handler,
) -> std::io::Result<()> {
    let mut connection = ServerConnection::new(config).expect("a configuration");
    while connection.is_handshaking() {
        connection.complete_io(&mut stream)?;
    }
    let host = connection.server_name().unwrap_or_default().to_owned();
    let certified = connection.peer_certificates().is_some();
    let mut reader = BufReader::new(Stream::new(&mut connection, &mut stream));
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line)? == 0 {
            return Ok(());
        }
        let path = line.split(' ').nth(1).unwrap_or_default().to_owned();
        let mut headers = BTreeMap::new();
        loop {
            let mut line = String::new();
            reader.read_line(&mut line)?;
            let Some((name, value)) = line.trim_end().split_once(": ") else { break };
            headers.insert(name.to_lowercase(), value.to_owned());
        }
        let length = headers.get("content-length").map_or(0, |n| n.parse().expect("a number"));
        let mut body = vec![0; length];
        reader.read_exact(&mut body)?;
        let body = serde_json::from_slice(&body).unwrap_or(Json::Null);

        let (status, answer) = handler(path.split('?').next().unwrap_or_default(), &body);
        let (host, answer) = (host.clone(), answer.to_string());
        calls.lock().expect("a lock").push(Call { host, certified, path, headers });
        let head = format!(
            "HTTP/1.1 {status} -\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n",
            answer.len()
        );
        reader.get_mut().write_all(format!("{head}{answer}").as_bytes())?;
    }
}
