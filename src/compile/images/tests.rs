use super::*;
use crate::config::BundleConfig;
use crate::source;
use crate::{bundle, olm};

fn digest(n: u8) -> String {
    format!("sha256:{}", format!("{n:02x}").repeat(32))
}

/// Images of a bundle with this pod spec, these related images and annotations, each in YAML.
fn images_of(pod: &str, related: &str, annotations: &str) -> (Vec<Image>, Bundle) {
    let csv = format!(
        "apiVersion: operators.coreos.com/v1alpha1
kind: ClusterServiceVersion
metadata: {{name: lamp.v1.0.0, annotations: {annotations}}}
spec:
  version: 1.0.0
  relatedImages: {related}
  installModes: [{{type: AllNamespaces, supported: true}}]
  install:
    strategy: deployment
    spec:
      deployments:
      - name: lamp
        spec:
          selector: {{matchLabels: {{app: lamp}}}}
          template:
            metadata: {{labels: {{app: lamp}}}}
            spec: {pod}
"
    );
    let files = bundle::sample::files(&[("csv.yaml", &csv)], &[bundle::sample::ANNOTATIONS]);
    let config = BundleConfig::new("lamp", source::from_argument("lamp"));
    let mut found = Diagnostics::new();
    let mut bundle = bundle::load(&files, &mut found).unwrap_or_else(|| panic!("{found:#?}"));
    let lowered = olm::lower(&mut bundle, &config, "lamp", &mut found);
    assert!(!found.has_errors(), "{found:#?}");
    let own = format!("quay.io/lamps/bundle@{}", digest(0));
    (collect(&lowered.objects, Some(&bundle), Some(&own)), bundle)
}

fn all_uses() -> (Vec<Image>, Bundle) {
    let pod = format!(
        "{{initContainers: [{{name: init, image: 'quay.io/lamps/init:1'}}],
           volumes: [{{name: model, image: {{reference: 'quay.io/lamps/glow:1'}}}}, {{name: tmp, emptyDir: {{}}}}],
           containers: [
             {{name: manager, image: 'quay.io/lamps/manager@{one}',
               env: [{{name: RELATED_IMAGE_BULB, value: 'quay.io/lamps/bulb:2'}},
                     {{name: SOCKET, value: 'quay.io/lamps/socket@{two}'}},
                     {{name: OTHER, value: 'quay.io/lamps/other:1'}},
                     {{name: RELATED_IMAGE_NONE, value: ''}},
                     {{name: TEXT, value: 'see quay.io/lamps/x@{two}'}}],
               args: ['--proxy=quay.io/lamps/proxy@{three}', 'quay.io/lamps/bare@{three}', '--v=2']}},
             {{name: sidecar, image: 'quay.io/lamps/manager@{one}'}}]}}",
        one = digest(1),
        two = digest(2),
        three = digest(3),
    );
    let related = format!(
        "[{{name: manager, image: 'quay.io/lamps/manager@{}'}},
          {{name: shade, image: 'quay.io/lamps/shade@{}'}}, {{name: empty}}]",
        digest(1),
        digest(4)
    );
    let annotations = "{containerImage: 'quay.io/lamps/manager:v1', other: 'quay.io/lamps/x:1'}";
    images_of(&pod, &related, annotations)
}

fn checked(images: &[Image], bundle: &Bundle) -> Diagnostics {
    let mut found = Diagnostics::new();
    check(images, Some(bundle), &mut found);
    found
}

#[test]
fn images_are_found_wherever_they_are_used() {
    let (images, bundle) = all_uses();
    let bundles = [BundleImages { bundle: "lamp".to_owned(), images: images.clone() }];
    insta::assert_snapshot!(list(&bundles));
    insta::assert_snapshot!("images_as_json", json(&bundles));
    let shown: Vec<String> = checked(&images, &bundle)
        .iter()
        .map(|d| {
            format!("{}: {} ({})", d.code.as_str(), d.message, d.place.path.as_deref().unwrap())
        })
        .collect();
    insta::assert_snapshot!("images_to_look_at", shown.join("\n"));
    assert!(
        pulled(&images).iter().all(|image| !image.contains("bundle") && !image.ends_with(":v1"))
    );
}

#[test]
fn tools_get_their_formats() {
    let (images, _) = all_uses();
    let short = BundleImages {
        bundle: "short".to_owned(),
        images: images_of("{containers: [{name: a, image: busybox}]}", "[]", "{}").0,
    };
    let bundles = [BundleImages { bundle: "lamp".to_owned(), images }, short];
    let shown = |format: &dyn Fn(&mut Diagnostics) -> String| {
        let mut found = Diagnostics::new();
        let text = format(&mut found);
        let found: Vec<&str> = found.iter().map(|found| found.message.as_str()).collect();
        format!("{text}---\n{}", found.join("\n"))
    };
    insta::assert_snapshot!("skopeo", shown(&|found| skopeo(&bundles, found)));
    insta::assert_snapshot!("image_set", shown(&|found| image_set(&bundles, found)));
    let mirror = "mirror.example.com/ocp/";
    insta::assert_snapshot!("mirror_set", shown(&|found| mirror_set(&bundles, mirror, found)));
}

#[test]
fn pods_are_found_in_objects_of_any_kind() {
    let object = |json: serde_json::Value| {
        let Value::Map(root) = Value::from(&json) else { panic!("no map") };
        let origin = crate::ir::Origin::Overlay {
            file: "a.yaml".to_owned(),
            document: 1,
            line: 1,
            path: String::new(),
        };
        Object::new(*root, origin)
    };
    let pods = |image: &str| serde_json::json!({"containers": [{"name": "a", "image": image}]});
    let template = |image: &str| {
        serde_json::json!({
            "metadata": {"annotations": {"proxy": format!("quay.io/a/proxy@{}", digest(7))}},
            "spec": pods(image),
        })
    };
    let objects = [
        serde_json::json!({"kind": "Pod", "metadata": {"name": "a"}, "spec": pods("quay.io/a/pod:1")}),
        serde_json::json!({
            "kind": "CronJob", "metadata": {"name": "b"},
            "spec": {"jobTemplate": {"spec": {"template": template("quay.io/a/job:1")}}},
        }),
        serde_json::json!({
            "kind": "Gang", "metadata": {"name": "c"},
            "spec": {"groups": [{"template": template("quay.io/a/gang:1")}]},
        }),
        serde_json::json!({
            "kind": "CustomResourceDefinition", "metadata": {"name": "d"},
            "spec": {"default": pods("quay.io/a/none:1")},
        }),
    ];
    let (_, bundle) = images_of("{containers: []}", "[]", "{}");
    let objects: Vec<Object> = objects.into_iter().map(object).collect();
    let found = collect(&objects, Some(&bundle), None);
    let shown: Vec<String> = found
        .iter()
        .flat_map(|image| image.uses.iter().map(|used| (image.reference.clone(), used)))
        .map(|(image, used)| {
            format!("{} {} {}", image, used.object, used.place.path.as_deref().unwrap_or_default())
        })
        .collect();
    let proxy = format!("quay.io/a/proxy@{}", digest(7));
    assert_eq!(
        shown,
        [
            "quay.io/a/gang:1 Gang/c .spec.groups[0].template.spec.containers[0].image".to_owned(),
            "quay.io/a/job:1 CronJob/b .spec.jobTemplate.spec.template.spec.containers[0].image"
                .to_owned(),
            "quay.io/a/pod:1 Pod/a .spec.containers[0].image".to_owned(),
            format!("{proxy} CronJob/b .spec.jobTemplate.spec.template.metadata.annotations.proxy"),
            format!("{proxy} Gang/c .spec.groups[0].template.metadata.annotations.proxy"),
        ]
    );
}

#[test]
fn what_is_listed_by_digest_may_be_used_with_a_tag_too() {
    let image = |tag: &str| format!("quay.io/a/a{tag}@{}", digest(1));
    for (used, listed) in [(":1", ""), ("", ":1"), (":1", ":2")] {
        let (images, bundle) = images_of(
            &format!("{{containers: [{{name: a, image: '{}'}}]}}", image(used)),
            &format!("[{{name: a, image: '{}'}}]", image(listed)),
            "{}",
        );
        let found = checked(&images, &bundle);
        assert!(found.is_empty(), "{found:#?}");
    }
}

#[test]
fn a_bundle_without_related_images_gets_one_warning() {
    let pod = format!(
        "{{containers: [{{name: a, image: 'quay.io/a/a@{0}'}}, {{name: b, image: 'quay.io/a/b@{0}'}}]}}",
        digest(1)
    );
    let (images, bundle) = images_of(&pod, "[]", "{}");
    let found = checked(&images, &bundle);
    let [only] = found.iter().collect::<Vec<_>>()[..] else { panic!("{found:#?}") };
    assert!(only.message.contains("no `relatedImages`, but pods use 2 images"), "{only:?}");
}
