//! Makes images configurable, for clusters that use their own registry.

use super::Context;
use crate::diag::{Diagnostics, join};
use crate::images::{Leaf, Use, base_name, of_pods, visit};
use crate::ir::{
    Expr, IMAGE_REGISTRIES, IMAGES, ImageReference, Map, Part, Unit, Value, ValueSpec, ValuesPath,
    distinct, stable_key,
};
use serde_json::{Value as Json, json};
use std::collections::{BTreeMap, BTreeSet};

/// Makes values of the images in pods, and of the images that operators get to start:
/// `imageRegistries` for all, and `images.NAME` for each.
pub(super) fn images(unit: &mut Unit, context: &Context, _: &mut Diagnostics) {
    let mut images = of_pods(&unit.objects);
    images.retain(|reference, uses| {
        // Before the names are chosen, so that an image that nobody pulls takes no name from another.
        uses.retain(is_used);
        is_reference(reference) && !uses.is_empty()
    });
    if images.is_empty() {
        return;
    }
    let names = names(&images, &context.version);
    for object in &mut unit.objects {
        visit(object, &Map::new(), &mut |leaf| {
            if let Some(name) = names.get(leaf.reference.as_str()).filter(|_| is_used(&leaf.used)) {
                replace(leaf, name);
            }
        });
    }

    let hosts: BTreeSet<&str> = images.keys().map(|image| ImageReference::split(image).0).collect();
    let copies =
        hosts.iter().map(|host| ((*host).to_owned(), json!(format!("mirror.example.com/{host}"))));
    let example: Json = copies.collect();
    unit.values.push(ValueSpec::new(
        ValuesPath::new([IMAGE_REGISTRIES]),
        json!({}),
        json!({
            "type": "object",
            "propertyNames": {"pattern": format!("^{HOST}$")},
            "additionalProperties": {
                "type": "string",
                "pattern": format!("^({HOST}(/[a-z0-9]+([._-]+[a-z0-9]+)*)*)?$"),
            },
            "examples": [example],
        }),
        format!(
            "Registry rewrites, with an optional path, such as `quay.io: \
                mirror.example.com/quay`. Repositories, tags and digests are kept. Images of \
                this chart are from {}; other keys have no effect.",
            join(hosts.iter().map(|host| format!("`{host}`")), ", ")
        ),
    ));

    let mut names: Vec<(&str, String)> = names.into_iter().collect();
    // By key, as people look for them in values.yaml.
    names.sort_by(|(_, one), (_, other)| one.cmp(other));
    unit.values.extend(names.into_iter().map(|(reference, name)| ValueSpec {
        path: ValuesPath::new([IMAGES, name.as_str()]),
        // Not the reference: `helm upgrade --reuse-values` would keep the images of the old version.
        default: json!(""),
        documented_default: Some(reference.to_owned()),
        schema: json!({"type": "string", "pattern": "^([A-Za-z0-9][A-Za-z0-9._:/@-]*)?$"}),
        description: format!("Overrides the image {name}"),
    }));
}

/// A pattern for a registry host with optional port.
const HOST: &str = "[A-Za-z0-9][A-Za-z0-9.-]*(:[0-9]+)?";

/// Returns true if the image is pulled. The CSV's `containerImage` is informational only.
fn is_used(used: &Use) -> bool {
    used.name != "containerImage"
}

/// Returns true if a text is an image reference: `RELATED_IMAGE_` variables can contain anything.
fn is_reference(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_alphanumeric())
        && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"._:/@-".contains(&byte))
}

/// Replaces the reference by an expression with the values.
fn replace(leaf: Leaf<'_>, name: &str) {
    let image = ImageReference::new(name, &leaf.reference);
    let prefix = Some(leaf.prefix).filter(|prefix| !prefix.is_empty()).map(Part::Text);
    let parts = prefix.into_iter().chain([Part::Image(image)]);
    *leaf.value = Value::from(Expr::Concat(parts.collect()));
}

/// Returns a name for each image, without versions and dots: the last segment of its repository.
/// Images with the same name are named after their first use: its environment variable, annotation,
/// option or container.
fn names<'i>(images: &'i BTreeMap<String, Vec<Use>>, version: &str) -> BTreeMap<&'i str, String> {
    let items: Vec<(&str, &[Use])> =
        images.iter().map(|(reference, uses)| (reference.as_str(), uses.as_slice())).collect();
    let stable = |name: fn(&str, &[Use]) -> String| {
        move |(reference, uses): &(&str, &[Use])| stable_key(&name(reference, uses), version)
    };
    let names = distinct(
        &items,
        &[
            &stable(|reference, _| base_name(reference).to_owned()),
            &stable(place),
            &stable(object_and_place),
            &stable(|reference, _| reference.to_owned()),
            &|(reference, _)| (*reference).to_owned(),
        ],
    );
    items.into_iter().map(|(reference, _)| reference).zip(names).collect()
}

fn place(_: &str, uses: &[Use]) -> String {
    let name = |used: &Use| match used.name.trim_start_matches('-') {
        "" => used.container.clone(),
        name => name.to_owned(),
    };
    uses.first().map(name).unwrap_or_default()
}

fn object_and_place(reference: &str, uses: &[Use]) -> String {
    let object = uses.first().map(|used| used.object.as_str()).unwrap_or_default();
    let object = object.split_once('/').map_or(object, |(_, name)| name);
    format!("{object}-{}", place(reference, uses))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ir::{Object, Origin, Release};

    fn deployment(name: &str, pod: &Json) -> Object {
        let root = json!({
            "apiVersion": "apps/v1",
            "kind": "Deployment",
            "metadata": {"name": name, "annotations": {"containerImage": "quay.io/a/lamp:1"}},
            "spec": {"template": {"spec": pod}},
        });
        let Value::Map(root) = Value::from(&root) else { unreachable!("a map") };
        Object::new(*root, Origin::Added("test"))
    }

    fn unit(pod: &Json) -> Unit {
        with_values(vec![deployment("lamp", pod)])
    }

    fn with_values(objects: Vec<Object>) -> Unit {
        let mut unit = Unit { objects, ..Unit::default() };
        images(&mut unit, &Context::default(), &mut Diagnostics::new());
        unit
    }

    fn paths(unit: &Unit) -> Vec<String> {
        unit.values.iter().map(|value| value.path.to_string()).collect()
    }

    /// Renders the first object with these values.
    fn rendered(unit: &Unit, values: &Json) -> String {
        let mut defaults = unit.default_values();
        for (key, value) in values.as_object().unwrap() {
            defaults[key].clone_from(value);
        }
        let object = Release { namespace: "ns", values: &defaults }.object(&unit.objects[0]);
        format!("{:#}", object.unwrap())
    }

    #[test]
    fn names_are_those_of_repositories_where_they_tell_images_apart() {
        let digest = |n: &str| format!("sha256:{}", n.repeat(64));
        let unit = unit(&json!({
            "initContainers": [{"name": "wait", "image": "busybox"}],
            "containers": [
                {
                    "name": "manager",
                    "image": format!("quay.io/a/lamp@{}", digest("1")),
                    "env": [
                        {"name": "RELATED_IMAGE_PILOT_OLD", "value": format!("quay.io/a/pilot@{}", digest("2"))},
                        {"name": "RELATED_IMAGE_PILOT_NEW", "value": format!("quay.io/a/pilot@{}", digest("3"))},
                        {"name": "RELATED_IMAGE_NONE", "value": "no image: {{ x }}"},
                        {"name": "BUSY", "value": "busybox"},
                    ],
                    "args": [format!("--proxy-image=quay.io/b/proxy@{}", digest("4")), "busybox"],
                },
                {"name": "other", "image": "quay.io/b/lamp:1"},
            ],
        }));
        assert_eq!(
            paths(&unit),
            [
                "imageRegistries",
                "images.RELATED_IMAGE_PILOT_NEW",
                "images.RELATED_IMAGE_PILOT_OLD",
                "images.busybox",
                "images.manager",
                "images.other",
                "images.proxy",
            ]
        );
        let before = rendered(&unit, &json!({}));
        assert!(before.contains("no image: {{ x }}") && before.contains("\"busybox\""));
        insta::assert_snapshot!(rendered(
            &unit,
            &json!({"imageRegistries": {"quay.io": "mirror:5000/x", "docker.io": "hub.example.com"}, "images": {"manager": "own/lamp:2"}})
        ));
    }

    #[test]
    fn without_images_there_are_no_values() {
        assert!(unit(&json!({"containers": [{"name": "a"}]})).values.is_empty());
        assert!(unit(&json!({"volumes": []})).values.is_empty());
    }

    #[test]
    fn images_of_one_name_in_several_deployments_are_named_after_these() {
        let pod = |organization: &str| {
            let image = |name: &str| format!("quay.io/{organization}/{name}:1");
            let related = |image: String| json!([{"name": "RELATED_IMAGE_LAMP", "value": image}]);
            json!({"containers": [
                {"name": "manager", "image": image("manager"), "env": related(image("lamp"))},
                {"name": "agent", "env": related(image("new/lamp"))},
            ]})
        };
        let deployments =
            vec![deployment("north", &pod("north")), deployment("south", &pod("south"))];
        assert_eq!(
            paths(&with_values(deployments)),
            [
                "imageRegistries",
                "images.north-manager",
                "images.quay-io/north/lamp:1",
                "images.quay-io/north/new/lamp:1",
                "images.quay-io/south/lamp:1",
                "images.quay-io/south/new/lamp:1",
                "images.south-manager",
            ]
        );
    }
}
