use super::*;

#[test]
fn serial_numbers_are_uuids_of_version_8() {
    assert_eq!(
        serial_number("0123456789abcdeffedcba98765432100011223344556677"),
        "urn:uuid:01234567-89ab-8def-8edc-ba9876543210"
    );
}

#[test]
fn images_have_the_version_of_their_digest_or_tag() {
    let digest = format!("sha256:{}", "0".repeat(64));
    let pinned = format!("postgres:16@{digest}");
    for (image, name, version) in [
        ("registry.example.com/lamps/lamp:1.0", "registry.example.com/lamps/lamp", "1.0"),
        ("postgres", "docker.io/library/postgres", "latest"),
        (pinned.as_str(), "docker.io/library/postgres", digest.as_str()),
    ] {
        let expected = json!({
            "type": "container",
            "bom-ref": format!("image:{image}"),
            "name": name,
            "version": version,
            "purl": purl::of_image(image, None),
            "properties": [{ "name": "bundle2chart:reference", "value": image }],
        });
        assert_eq!(component(image), expected);
    }
    let unknown = json!({
        "type": "container",
        "bom-ref": "image:{{ image }}",
        "name": "{{ image }}",
        "properties": [{ "name": "bundle2chart:reference", "value": "{{ image }}" }],
    });
    assert_eq!(component("{{ image }}"), unknown);
}
