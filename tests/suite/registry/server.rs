//! A small HTTP server that does exactly as it is told, also what no server should do.

use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// A request.
#[derive(Clone, Debug)]
pub(crate) struct Asked {
    pub(crate) method: String,
    /// Path and query.
    pub(crate) target: String,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: Vec<u8>,
    /// Number of earlier requests for this path.
    pub(crate) times: usize,
}

impl Asked {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str())
    }
}

/// An answer.
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: Body,
}

pub(crate) enum Body {
    Whole(Vec<u8>),
    /// These bytes, though the header says so many.
    Announced(Vec<u8>, u64),
    /// Zeros without end, and without a length.
    Endless,
    /// One byte at a time, with a pause after each.
    Slow(Vec<u8>, Duration),
}

impl Answer {
    pub(crate) fn new(status: u16, body: impl Into<Vec<u8>>) -> Self {
        Answer { status, headers: Vec::new(), body: Body::Whole(body.into()) }
    }

    pub(crate) fn with(mut self, name: &str, value: impl Into<String>) -> Self {
        self.headers.push((name.to_owned(), value.into()));
        self
    }
}

type Handler = dyn Fn(&Asked) -> Answer + Send + Sync;

/// A running server; it ends with the test.
pub(crate) struct Server {
    pub(crate) address: SocketAddr,
    asked: Arc<Mutex<Vec<Asked>>>,
    stop: Arc<AtomicBool>,
}

impl Server {
    pub(crate) fn start(handler: impl Fn(&Asked) -> Answer + Send + Sync + 'static) -> Self {
        Server::run(Arc::new(handler), None)
    }

    pub(crate) fn start_tls(
        certificate: CertificateDer<'static>,
        key: PrivateKeyDer<'static>,
        handler: impl Fn(&Asked) -> Answer + Send + Sync + 'static,
    ) -> Self {
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let config = rustls::ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .expect("versions")
            .with_no_client_auth()
            .with_single_cert(vec![certificate], key)
            .expect("a certificate");
        Server::run(Arc::new(handler), Some(Arc::new(config)))
    }

    fn run(handler: Arc<Handler>, tls: Option<Arc<rustls::ServerConfig>>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let address = listener.local_addr().expect("an address");
        let asked = Arc::new(Mutex::new(Vec::new()));
        let stop = Arc::new(AtomicBool::new(false));
        let (log, stopped) = (Arc::clone(&asked), Arc::clone(&stop));
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                if stopped.load(Ordering::Relaxed) {
                    return;
                }
                let Ok(stream) = stream else { continue };
                let (handler, log, tls) = (Arc::clone(&handler), Arc::clone(&log), tls.clone());
                std::thread::spawn(move || {
                    let socket = stream.try_clone();
                    match tls {
                        None => serve(stream, handler.as_ref(), &log),
                        Some(config) => {
                            let connection = rustls::ServerConnection::new(config).expect("TLS");
                            let mut stream = rustls::StreamOwned::new(connection, stream);
                            serve(&mut stream, handler.as_ref(), &log);
                            stream.conn.send_close_notify();
                            let _ = stream.flush();
                        }
                    }
                    if let Ok(socket) = socket {
                        hang_up(socket);
                    }
                });
            }
        });
        Server { address, asked, stop }
    }

    /// As references have it.
    pub(crate) fn host(&self) -> String {
        self.address.to_string()
    }

    /// Everything that was asked so far.
    pub(crate) fn asked(&self) -> Vec<Asked> {
        self.asked.lock().unwrap().clone()
    }

    /// Number of requests for paths that end like this.
    pub(crate) fn count(&self, end: &str) -> usize {
        self.asked().iter().filter(|asked| asked.target.ends_with(end)).count()
    }

    /// Returns true if any request had an Authorization header.
    pub(crate) fn saw_credentials(&self) -> bool {
        self.asked().iter().any(|asked| asked.header("authorization").is_some())
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        // Wakes the listener.
        let _ = TcpStream::connect(self.address);
    }
}

/// Ends a connection without a reset: a socket that is closed with unread bytes, of TLS for
/// instance, is reset, and the client may lose the answer.
fn hang_up(mut socket: TcpStream) {
    let _ = socket.shutdown(Shutdown::Write);
    let _ = socket.set_read_timeout(Some(Duration::from_secs(1)));
    let _ = std::io::copy(&mut Read::take(&mut socket, 1 << 20), &mut std::io::sink());
}

/// One request a connection.
fn serve(stream: impl Read + Write, handler: &Handler, log: &Mutex<Vec<Asked>>) {
    let mut reader = BufReader::new(stream);
    let mut line = String::new();
    // What is not HTTP, a TLS greeting for instance, is hung up on.
    if reader.read_line(&mut line).is_err() || !line.ends_with("HTTP/1.1\r\n") {
        return;
    }
    let mut words = line.split(' ').map(str::to_owned);
    let (method, target) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
    let mut headers = Vec::new();
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line).is_err() || line.trim().is_empty() {
            break;
        }
        if let Some((name, value)) = line.split_once(':') {
            headers.push((name.to_ascii_lowercase(), value.trim().to_owned()));
        }
    }
    // A connection that ends with unread bytes is reset, and the client may not see the answer.
    let length = headers.iter().find(|(name, _)| name == "content-length");
    let length = length.and_then(|(_, length)| length.parse().ok()).unwrap_or(0);
    let mut body = Vec::new();
    let _ = reader.by_ref().take(length).read_to_end(&mut body);

    let mut log = log.lock().unwrap();
    let times = log.iter().filter(|asked| asked.target == target).count();
    let asked = Asked { method, target, headers, body, times };
    log.push(asked.clone());
    drop(log);
    if asked.method == "CONNECT" {
        // A proxy's tunnel, which leads back here.
        if reader.get_mut().write_all(b"HTTP/1.1 200 Connected\r\n\r\n").is_ok() {
            let _ = reader.get_mut().flush();
            serve(reader.into_inner(), handler, &Mutex::default());
        }
        return;
    }
    let answer = handler(&asked);
    // The client may hang up at any time.
    let _ = reply(reader.get_mut(), &answer);
}

fn reply(stream: &mut (impl Read + Write), answer: &Answer) -> std::io::Result<()> {
    let mut head = format!("HTTP/1.1 {} Answer\r\nconnection: close\r\n", answer.status);
    for (name, value) in &answer.headers {
        head.push_str(&format!("{name}: {value}\r\n"));
    }
    match &answer.body {
        Body::Whole(bytes) => head.push_str(&format!("content-length: {}\r\n", bytes.len())),
        Body::Slow(bytes, _) => head.push_str(&format!("content-length: {}\r\n", bytes.len())),
        Body::Announced(_, size) => head.push_str(&format!("content-length: {size}\r\n")),
        Body::Endless => {}
    }
    stream.write_all(head.as_bytes())?;
    stream.write_all(b"\r\n")?;
    match &answer.body {
        Body::Whole(bytes) | Body::Announced(bytes, _) => stream.write_all(bytes)?,
        Body::Endless => {
            let zeros = vec![b' '; 64 << 10];
            loop {
                stream.write_all(&zeros)?;
            }
        }
        Body::Slow(bytes, pause) => {
            for byte in bytes {
                stream.write_all(&[*byte])?;
                stream.flush()?;
                std::thread::sleep(*pause);
            }
        }
    }
    stream.flush()
}
