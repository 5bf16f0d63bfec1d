//! Large catalogs take little memory.

use super::fixture::*;
use crate::memory::peak_of_build;
use crate::support::image::Layer;
use serde_json::{Value, json};
use std::io::Write as _;

/// Writes the bundles of many operators, with descriptions and examples as real ones have them,
/// until the file has `size` bytes.
fn write_large(file: &mut impl std::io::Write, size: usize, print: fn(&[Value]) -> String) {
    let example = json!([{ "apiVersion": "light.example.com/v1", "kind": "Lamp",
        "metadata": { "name": "example" }, "spec": { "brightness": 5, "colour": "warm \"white\"" } }]);
    let properties = |version: &str| {
        json!([
            { "type": "olm.package", "value": { "packageName": "x", "version": version } },
            { "type": "olm.csv.metadata", "value": {
                "annotations": { "alm-examples": format!("{example:#}").repeat(150) },
                "description": "# Lamps\nThey *shine*, and `glow` at \"night\".\n".repeat(400),
                "crdDescriptions": { "owned": vec![
                    json!({ "kind": "Lamp", "name": "lamps.light.example.com", "version": "v1",
                            "description": "A lamp" }); 40] },
            } },
        ])
    };
    let text = print(&[json!({ "schema": "olm.bundle", "package": "PACKAGE", "name": "NAME",
        "image": "quay.example.com/x@sha256:00", "properties": properties("1.0.0") })]);
    let mut written = 0;
    let mut number = 0;
    while written < size {
        let operator = number / 20;
        // Every twentieth operator is the wanted one: its bundles are large too.
        let package = if operator == 10 {
            "lamp-operator".to_owned()
        } else {
            format!("operator-{operator}")
        };
        let text =
            text.replace("PACKAGE", &package).replace("NAME", &format!("{package}.v0.0.{number}"));
        file.write_all(text.as_bytes()).expect("a file");
        written += text.len();
        number += 1;
    }
}

#[test]
fn a_large_catalog_image_takes_little_memory() {
    const MIB: usize = 1 << 20;
    let mut index = Vec::new();
    write_large(&mut index, 20 * MIB, |objects| {
        // Something that compresses as badly as icons do.
        let noise = (0..200_u32).map(|n| crate::support::image::digest(&n.to_le_bytes()));
        let mut objects = objects.to_vec();
        objects[0]["icon"] = json!(noise.collect::<Vec<_>>());
        as_json(&objects)
    });
    index.extend_from_slice(as_json(&catalog()).as_bytes());
    let mut layer = Layer::new();
    layer.file("configs/index.json", &index);
    drop(index);
    let case = with_catalog_image(catalog_image(Some("/configs"), vec![layer]));
    let (peak, time) = peak_of_build(&case);
    println!("image: {} MiB of memory, {time:?}", peak / MIB as u64);
    assert!(peak > 0 && peak < 16 * MIB as u64, "{peak} bytes");
    assert!(case.path("out/lamp-operator/1.2.3/Chart.yaml").exists());
}

#[test]
fn a_large_catalog_takes_little_memory() {
    const MIB: usize = 1 << 20;
    for (size, path, print) in [
        (100 * MIB, "catalog/index.json", as_json as fn(&[Value]) -> String),
        (40 * MIB, "catalog/index.yaml", as_yaml),
    ] {
        let case = case(&[]);
        case.write(path, "");
        let mut file = std::io::BufWriter::with_capacity(
            MIB,
            std::fs::File::create(case.path(path)).expect("a file"),
        );
        write_large(&mut file, size, print);
        file.write_all(print(&catalog()).as_bytes()).expect("a file");
        file.flush().expect("a file");
        let (peak, time) = peak_of_build(&case);
        println!("{path}: {} MiB of memory, {time:?}", peak / MIB as u64);
        assert!(peak > 0 && peak < 32 * MIB as u64, "{path}: {peak} bytes");
        assert!(case.path("out/lamp-operator/1.2.3/Chart.yaml").exists());
    }
}
