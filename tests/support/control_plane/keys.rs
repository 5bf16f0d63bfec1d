//! Keys and certificates of a control plane: its own authority, the API server's certificate, those
//! of its clients, and the key that signs the tokens of ServiceAccounts.

use rcgen::{
    BasicConstraints, CertificateParams, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair,
    KeyUsagePurpose, SanType,
};
use std::fs;
use std::net::{IpAddr, Ipv4Addr};
use std::path::Path;

/// Names of the API server's Service in a cluster.
const SERVER_NAMES: [&str; 3] = ["localhost", "kubernetes.default", "kubernetes.default.svc"];

/// Writes everything that the programs read into `folder`:
///
/// - `ca.crt`, and `server.crt` and `server.key` from it;
/// - `admin.crt` and `controllers.crt` with keys, of users who may do everything;
/// - `proxy-ca.crt`, and `proxy.crt` and `proxy.key` from it, which the API server shows to the
///   servers of APIServices;
/// - `accounts.key` and `accounts.pub`, for tokens of ServiceAccounts.
pub(super) fn write(folder: &Path) {
    let ca = authority("test-ca", &folder.join("ca.crt"));
    let names = SERVER_NAMES.map(str::to_owned).to_vec();
    let mut server = CertificateParams::new(names).expect("names");
    server.subject_alt_names.push(SanType::IpAddress(IpAddr::V4(Ipv4Addr::LOCALHOST)));
    server.subject_alt_names.push(SanType::IpAddress(IpAddr::V4(super::API_SERVER_IP)));
    issue(server, "kube-apiserver", &ca, folder, "server");

    // Audit events tell requests of tests from requests of controllers by these names.
    for (file, user) in [("admin", super::ADMIN), ("controllers", super::CONTROLLERS)] {
        let mut client = client();
        client.distinguished_name.push(DnType::OrganizationName, "system:masters");
        issue(client, user, &ca, folder, file);
    }

    let proxy_ca = authority("test-proxy-ca", &folder.join("proxy-ca.crt"));
    issue(client(), "front-proxy-client", &proxy_ca, folder, "proxy");

    let accounts = KeyPair::generate().expect("a key");
    fs::write(folder.join("accounts.key"), accounts.serialize_pem()).expect("a file");
    fs::write(folder.join("accounts.pub"), accounts.public_key_pem()).expect("a file");
}

fn authority(name: &str, file: &Path) -> Issuer<'static, KeyPair> {
    let mut params = CertificateParams::default();
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
    params.distinguished_name.push(DnType::CommonName, name);
    let key = KeyPair::generate().expect("a key");
    let certificate = params.self_signed(&key).expect("a certificate");
    fs::write(file, certificate.pem()).expect("a file");
    Issuer::new(params, key)
}

fn client() -> CertificateParams {
    let mut params = CertificateParams::default();
    params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ClientAuth];
    params
}

/// Writes `file.crt` and `file.key`.
fn issue(
    mut params: CertificateParams,
    name: &str,
    issuer: &Issuer<'static, KeyPair>,
    folder: &Path,
    file: &str,
) {
    params.distinguished_name.push(DnType::CommonName, name);
    let key = KeyPair::generate().expect("a key");
    let certificate = params.signed_by(&key, issuer).expect("a certificate");
    fs::write(folder.join(file).with_extension("crt"), certificate.pem()).expect("a file");
    fs::write(folder.join(file).with_extension("key"), key.serialize_pem()).expect("a file");
}
