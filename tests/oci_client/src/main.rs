//! Pulls and pushes one image with the oci-client library, over plain HTTP.
//!
//! `oci_client pull REFERENCE FOLDER`: writes the manifest and the blobs that it names to
//! FOLDER/DIGEST, byte for byte, and prints the manifest's digest.
//! `oci_client push REFERENCE FOLDER MANIFEST_DIGEST`: uploads them from there.
//! `oci_client referrers REFERENCE ARTIFACT_TYPE`: prints the digests of what is attached to a digest.
//!
//! User and password are in REGISTRY_USER and REGISTRY_PASSWORD.

use oci_client::client::{ClientConfig, ClientProtocol};
use oci_client::manifest::{
    IMAGE_MANIFEST_LIST_MEDIA_TYPE, IMAGE_MANIFEST_MEDIA_TYPE, OCI_IMAGE_INDEX_MEDIA_TYPE,
    OCI_IMAGE_MEDIA_TYPE, OciImageManifest,
};
use oci_client::secrets::RegistryAuth;
use oci_client::{Client, Reference, RegistryOperation};
use std::error::Error;
use std::fs;
use std::path::Path;

const ACCEPTED: [&str; 4] = [
    OCI_IMAGE_MEDIA_TYPE,
    OCI_IMAGE_INDEX_MEDIA_TYPE,
    IMAGE_MANIFEST_MEDIA_TYPE,
    IMAGE_MANIFEST_LIST_MEDIA_TYPE,
];

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    // The library does not compile without TLS, and does not start without a provider of it.
    rustls::crypto::ring::default_provider().install_default().map_err(|_| "a provider is set")?;
    let config = ClientConfig { protocol: ClientProtocol::Http, ..ClientConfig::default() };
    let client = Client::new(config);
    let password = std::env::var("REGISTRY_PASSWORD")?;
    let auth = RegistryAuth::Basic(std::env::var("REGISTRY_USER")?, password);

    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    match arguments.as_slice() {
        ["pull", reference, folder] => {
            let reference = reference.parse()?;
            runtime.block_on(pull(&client, &auth, &reference, Path::new(folder)))
        }
        ["push", reference, folder, digest] => {
            let reference = reference.parse()?;
            runtime.block_on(push(&client, &auth, &reference, Path::new(folder), digest))
        }
        ["referrers", reference, artifact_type] => {
            let reference = reference.parse()?;
            runtime.block_on(referrers(&client, &auth, &reference, artifact_type))
        }
        _ => Err("usage: oci_client pull REFERENCE FOLDER | push REFERENCE FOLDER DIGEST | \
            referrers REFERENCE ARTIFACT_TYPE"
            .into()),
    }
}

async fn pull(
    client: &Client,
    auth: &RegistryAuth,
    reference: &Reference,
    folder: &Path,
) -> Result<(), Box<dyn Error>> {
    fs::create_dir_all(folder)?;
    let (manifest, digest) = client.pull_manifest_raw(reference, auth, &ACCEPTED).await?;
    let parsed: OciImageManifest = manifest_of(&manifest)?;
    for blob in parsed.layers.iter().chain([&parsed.config]) {
        let mut bytes = Vec::new();
        client.pull_blob(reference, blob, &mut bytes).await?;
        fs::write(folder.join(&blob.digest), bytes)?;
    }
    fs::write(folder.join(&digest), manifest)?;
    println!("{digest}");
    Ok(())
}

async fn push(
    client: &Client,
    auth: &RegistryAuth,
    reference: &Reference,
    folder: &Path,
    digest: &str,
) -> Result<(), Box<dyn Error>> {
    client.auth(reference, auth, RegistryOperation::Push).await?;
    let manifest = fs::read(folder.join(digest))?;
    let parsed: OciImageManifest = manifest_of(&manifest)?;
    for blob in parsed.layers.iter().chain([&parsed.config]) {
        client.push_blob(reference, fs::read(folder.join(&blob.digest))?, &blob.digest).await?;
    }
    let media_type = parsed.media_type.as_deref().unwrap_or(OCI_IMAGE_MEDIA_TYPE);
    client.push_manifest_raw(reference, manifest, media_type.parse()?).await?;
    Ok(())
}

async fn referrers(
    client: &Client,
    auth: &RegistryAuth,
    reference: &Reference,
    artifact_type: &str,
) -> Result<(), Box<dyn Error>> {
    client.auth(reference, auth, RegistryOperation::Pull).await?;
    for entry in client.pull_referrers(reference, Some(artifact_type)).await?.manifests {
        println!("{}", entry.digest);
    }
    Ok(())
}

fn manifest_of(bytes: &[u8]) -> Result<OciImageManifest, Box<dyn Error>> {
    Ok(serde_json::from_slice(bytes)?)
}
