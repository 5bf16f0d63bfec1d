//! The base of an image that stands on an operating system instead of on nothing: thousands of
//! files that are no part of a bundle, and every kind of archive entry that such a base has.

use super::image::Layer;

const PACKAGES: usize = 180;
const FILES_PER_PACKAGE: usize = 16;

/// The file system of the distribution.
pub(crate) fn system() -> Layer {
    let mut layer = Layer::new();
    for folder in ["dev", "etc", "root", "tmp", "usr", "usr/bin", "usr/lib", "usr/share", "var"] {
        layer.folder(folder);
    }
    layer
        .symlink("bin", "usr/bin")
        .symlink("lib", "usr/lib")
        .symlink("lib64", "usr/lib")
        .symlink("etc/os-release", "../usr/lib/os-release")
        .symlink("etc/mtab", "/proc/self/mounts") // dangles: there is no /proc in an image
        .symlink("var/run", "../../../../run") // climbs past the root, where it stops
        .file("usr/lib/os-release", b"ID=fixture\nNAME=\"Fixture Linux\"\nVERSION_ID=1\n")
        .file("etc/passwd", b"root:x:0:0:root:/root:/bin/sh\n")
        .program("usr/bin/sh", 0o755, b"#!not really a shell\n")
        .hard_link("usr/bin/bash", "usr/bin/sh")
        .hard_link("usr/bin/dash", "usr/bin/bash")
        .program("usr/bin/su", 0o4755, b"not really su\n")
        .program("etc/shadow", 0o000, b"root:*:::::::\n")
        .device("dev/null", 1, 3)
        .device("dev/zero", 1, 5)
        .pipe("dev/initctl")
        .folder("usr/share/doc");
    for package in 0..PACKAGES {
        layer.folder(&format!("usr/share/doc/package-{package:03}"));
        for file in 0..FILES_PER_PACKAGE {
            let path = format!("usr/share/doc/package-{package:03}/page-{file:02}.txt");
            layer.file(&path, format!("Page {file} about package {package}.\n").as_bytes());
        }
    }
    // Longer than the 100 bytes of a plain tar name, and than the 255 of a divided one.
    for length in [120, 300] {
        let folders = "deep/".repeat(length / 5);
        layer.file(&format!("usr/share/{folders}file"), b"far down\n");
    }
    layer
}

/// Leftovers of a build, also files where the bundle will be.
pub(crate) fn leftovers() -> Layer {
    let mut layer = Layer::new();
    layer
        .folder("manifests")
        .file("manifests/half-written.yaml", b"kind: [this is not a manifest\n")
        .file("manifests/stale.clusterserviceversion.yaml", b"kind: ClusterServiceVersion\n")
        .folder("metadata")
        .file("metadata/annotations.yaml", b"annotations:\n  from: the wrong layer\n")
        .file("metadata/dependencies.yaml", b"dependencies: from the wrong layer\n")
        .folder("tmp/build")
        .file("tmp/build/log.txt", b"built\n");
    layer
}

/// Takes away what [`leftovers`] left, one by one and a folder at a time.
pub(crate) fn cleaning() -> Layer {
    let mut layer = Layer::new();
    layer
        .whiteout("manifests/half-written.yaml")
        .whiteout("manifests/stale.clusterserviceversion.yaml")
        .folder("metadata")
        .opaque("metadata")
        .whiteout("tmp/build")
        .whiteout("usr/share/doc");
    layer
}

/// Additions of a build service.
pub(crate) fn build_information() -> Layer {
    let mut layer = Layer::new();
    layer
        .folder("root/buildinfo")
        .file("root/buildinfo/labels.json", b"{}\n")
        .file("root/buildinfo/content.json", b"{\"metadata\": {\"icm_version\": 1}}\n");
    layer
}
