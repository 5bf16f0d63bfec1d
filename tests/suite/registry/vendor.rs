//! Copies of images: what is there is checked, and what broke off goes on.

use super::distribution::certificate;
use super::hostile::Stored;
use super::project::{Project, REPOSITORY};
use super::server::{Answer, Server};
use std::fs;

/// A project whose image is locked and in the cache.
fn locked() -> (Server, Project) {
    let stored = Stored::lamp();
    let server = Server::start(move |asked| stored.answer(asked));
    let project = Project::new(&server.host());
    let seen = project.run(&["build"]);
    assert_eq!(seen.code, Some(0), "{}", seen.stderr);
    (server, project)
}

#[track_caller]
fn vendor(project: &Project, copied: &str) {
    let seen = project.run(&["vendor", "vendored"]);
    assert_eq!(seen.code, Some(0), "{}", seen.stderr);
    assert!(seen.stderr.contains(copied), "{}", seen.stderr);
}

/// Runs `vendor` with files of at most 2 KiB, less than the layer has: `trap` decides whether
/// the system kills the program, or tells it as it does on a full disk.
fn vendor_on_a_small_disk(project: &Project, trap: &str) {
    let environment = project.environment();
    let environment: Vec<(&str, &str)> =
        environment.iter().map(|(name, value)| (*name, value.as_str())).collect();
    let script = format!("{trap}ulimit -f 2; exec \"$0\" \"$@\"");
    let seen = project.case.shell(&script, &["vendor", "vendored"], &environment);
    assert_ne!(seen.code, Some(0), "{}", seen.stderr);
}

#[test]
fn vendoring_goes_on_after_a_kill_and_a_full_disk() {
    for trap in ["", "trap '' XFSZ; "] {
        let (server, project) = locked();
        vendor_on_a_small_disk(&project, trap);
        // What earlier versions left, which wrote the marker at the end.
        let marker = project.case.path("vendored/oci-layout");
        if trap.is_empty() && marker.exists() {
            fs::remove_file(marker).expect("removed");
            fs::write(project.case.path("vendored/.bundle2chart-left"), "x").expect("written");
        }
        vendor(&project, "blobs copied");
        vendor(&project, " 0 blobs copied");
        assert!(
            project.files("vendored").keys().all(|path| {
                !path.file_name().expect("a name").to_string_lossy().starts_with('.')
            })
        );
        let asked = server.asked().len();
        project.add(&format!(
            "[[mirror]]\nfrom = \"{}\"\nto = \"oci-layout:vendored\"\n",
            server.host()
        ));
        fs::remove_dir_all(project.case.path("cache")).expect("no cache");
        let seen = project.run(&["build", "--locked", "--offline", "--out", "again"]);
        assert_eq!(seen.code, Some(0), "{}", seen.stderr);
        assert_eq!(server.asked().len(), asked);
    }
}

#[test]
fn a_folder_with_other_files_is_no_layout() {
    let (_server, project) = locked();
    project.case.write("vendored/notes.txt", "mine");
    let seen = project.run(&["vendor", "vendored"]);
    assert_eq!(seen.code, Some(2));
    assert!(seen.stderr.contains("is not an OCI image layout"), "{}", seen.stderr);
    assert_eq!(project.files("vendored").len(), 1);
}

#[test]
fn a_damaged_copy_of_a_blob_is_replaced() {
    let (_server, project) = locked();
    vendor(&project, " 3 blobs copied");
    let before = project.files("vendored");
    let layer = format!("vendored/blobs/{}", Stored::lamp().layer().replace(':', "/"));
    let mut bytes = fs::read(project.case.path(&layer)).expect("the layer");
    bytes[1000] ^= 1;
    fs::write(project.case.path(&layer), bytes).expect("damaged");
    vendor(&project, " 1 blobs copied");
    assert_eq!(project.files("vendored"), before);
    // What is no regular file is no blob.
    for special in ["/dev/zero", "/nowhere"] {
        fs::remove_file(project.case.path(&layer)).expect("removed");
        std::os::unix::fs::symlink(special, project.case.path(&layer)).expect("a link");
        vendor(&project, " 1 blobs copied");
        assert_eq!(project.files("vendored"), before);
    }
}

#[test]
fn an_upload_never_goes_over_http_for_a_registry_with_https() {
    let (_source, project) = locked();
    let plain = Server::start(|_| Answer::new(201, ""));
    let (authority, leaf, key) = certificate();
    let target = plain.host();
    let server = Server::start_tls(leaf, key, move |asked| match asked.method.as_str() {
        "POST" => Answer::new(202, "").with("location", format!("http://{target}/upload")),
        _ => Answer::new(404, ""),
    });
    project.case.write("ca.pem", &authority);
    project.add(&format!("[[registry]]\nhost = \"{}\"\nca = \"ca.pem\"\n", server.host()));
    let seen = project.run(&["vendor", "--to", &format!("{}/mirror", server.host())]);
    assert_eq!(seen.code, Some(2), "{}", seen.stderr);
    assert!(seen.stderr.contains("error[unsafe-redirect]"), "{}", seen.stderr);
    assert!(seen.stderr.contains("which is not https"), "{}", seen.stderr);
    assert!(plain.asked().is_empty(), "the blob was sent");
    assert!(server.count("/uploads/") > 0, "{REPOSITORY}");
}
