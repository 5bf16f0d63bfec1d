//! Whatever is wrong with the input: the program says what, where and what to do, in time, in
//! little memory, and leaves the output folder alone. Each case breaks a good bundle in one way;
//! tests/suite/snapshots shows what a person sees.

use crate::support::command::Case;
use crate::support::image::{Compression, Image, Layer, Layout};
use crate::support::lamp::{
    ANNOTATIONS, ANNOTATIONS_FILE, CONFIG, CRD, CRD_FILE, CSV, CSV_FILE, files,
};
use bundle2chart::diag::Code;
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs;

/// Builds, and expects errors of exactly these kinds and nothing written.
fn refused(case: &Case, name: &str, expected: &[Code]) {
    let had_output = case.path("out").exists();
    let before = case.tree("out");
    let seen = case.run(&["build"]);
    assert_eq!(seen.code, Some(2), "{}", seen.text());
    assert_eq!(case.path("out").exists(), had_output);
    insta::assert_snapshot!(name, seen.text());

    // Again with an older chart in the output directory, for a program.
    if !had_output {
        case.write("out/old-operator/1.0.0/Chart.yaml", "name: old-operator\n");
    }
    let before = if had_output { before } else { case.tree("out") };
    let seen = case.run(&["build", "--message-format", "json"]);
    assert_eq!(seen.code, Some(2), "{}", seen.text());
    assert_eq!(case.tree("out"), before, "the output folder was touched");
    let lines: Vec<Value> = seen
        .stdout
        .lines()
        .map(|line| serde_json::from_str(line).unwrap_or_else(|e| panic!("{e}: {line}")))
        .collect();
    let mut codes: Vec<&str> = lines
        .iter()
        .filter(|line| line["severity"] == "error")
        .map(|line| line["code"].as_str().expect("a code"))
        .collect();
    codes.dedup();
    let expected: Vec<&str> = expected.iter().map(|code| code.as_str()).collect();
    assert_eq!(codes, expected, "{}", seen.stdout);
    for line in &lines {
        assert!(line["place"]["file"].is_string(), "no place: {line}");
    }
}

/// A test for each way to break the good bundle, with the codes of its errors.
macro_rules! refused {
    ($($name:ident: [$($code:ident),*] = |$case:ident| $damage:block)*) => {$(
        #[test]
        fn $name() {
            let $case = Case::with_lamps();
            $damage
            refused(&$case, stringify!($name), &[$(Code::$code),*]);
        }
    )*};
}

#[test]
fn the_bundle_that_is_broken_here_is_good() {
    let case = Case::with_lamps();
    let seen = case.run(&["build"]);
    assert_eq!(seen.code, Some(0), "{}", seen.text());
    assert!(!seen.stderr.contains('['), "nothing to say: {}", seen.text());
}

// bundles.toml

refused! {
    no_configuration: [ConfigUnreadable] = |case| {
        case.remove("bundles.toml");
    }
    configuration_is_not_toml: [ConfigSyntax] = |case| {
        case.write("bundles.toml", "[[bundle]]\nname = lamp-operator\npath = \"bundle\"\n");
    }
    quote_is_not_closed: [ConfigSyntax] = |case| {
        case.write("bundles.toml", "[[bundle]]\nname = \"lamp # \\\"operator\npath = \"bundle\"\n");
    }
    words_of_olm: [InvalidValue, UnknownKey] = |case| {
        let keys = "watch = \"OwnNamespace\"\ninstallModes = []\nstartingCSV = \"a.v1\"\n";
        case.write("bundles.toml", format!("{CONFIG}{keys}"));
    }
    keys_of_other_tables: [UnknownKey] = |case| {
        case.write("bundles.toml", format!("{CONFIG}layout = \"flat\"\nrepo = \"a\"\n"));
    }
    path_of_the_manifests: [UnknownSource] = |case| {
        case.write("bundles.toml", CONFIG.replace("\"bundle\"", "\"bundle/manifests\""));
    }
    path_above_the_bundle: [UnknownSource] = |case| {
        case.write("bundles.toml", CONFIG.replace("\"bundle\"", "\".\""));
    }
    path_is_an_image: [SourceNotFound] = |case| {
        let image = "\"registry.example.com/lamps/bundle:1.0\"";
        case.write("bundles.toml", CONFIG.replace("\"bundle\"", image));
    }
    many_mistakes_at_once: [UnknownKey, WrongType, InvalidFilter, MissingKey, DuplicateName, InvalidValue] = |case| {
        case.write("bundles.toml", MANY_MISTAKES);
    }
    output_over_a_source: [OverlappingOutput] = |case| {
        case.write("bundles.toml", format!("[output]\ndir = \"bundle/manifests\"\n\n{CONFIG}"));
    }
    wrong_version_of_the_program: [RequiredVersion] = |case| {
        case.write("bundles.toml", format!("required-version = \">=7\"\n{CONFIG}"));
    }
    filter_fails_on_an_object: [FilterFailed] = |case| {
        case.write("bundles.toml", format!("{CONFIG}exclude = ['.metadata.name | test(1)']\n"));
    }
}

/// Every check of webhooks and APIServices fails on this.
const WEBHOOKS: &str = "  webhookdefinitions:
  - type: ValidatingAdmissionWebhook
    generateName: check.light.example.com
    deploymentName: lamp-operator
    containerPort: 443
    targetPort: 9443
    admissionReviewVersions: [v1]
    sideEffects: None
    rules:
    - apiGroups: ['*']
      apiVersions: [v1]
      operations: [CREATE]
      resources: [lamps]
    - apiGroups: [admissionregistration.k8s.io]
      apiVersions: [v1]
      operations: [CREATE]
      resources: [ValidatingWebhookConfigurations]
  - type: ValidatingAdmissionWebhook
    generateName: check.light.example.com-
    deploymentName: lamp-operator
    containerPort: 443
    targetPort: webhook
  - type: MutatingAdmissionWebhook
    generateName: Brighten
    deploymentName: lantern-operator
    admissionReviewVersions: [v1]
    sideEffects: None
  - type: ConversionWebhook
    generateName: convert.light.example.com
    deploymentName: lamp-operator
    containerPort: 444
    admissionReviewVersions: [v1]
    conversionCRDs: [lamps.light.example.com, candles.light.example.com]
  - type: ConversionWebhook
    generateName: convert-too.light.example.com
    deploymentName: lamp-operator
    containerPort: 444
    admissionReviewVersions: [v1]
    conversionCRDs: [lamps.light.example.com]
  apiservicedefinitions:
    owned:
    - group: dim.example.com
      version: v1
      kind: Dimmer
      deploymentName: dimmer
";

const MANY_MISTAKES: &str = r#"
[defaults]
exlude = ['.kind == "Secret"']
auth-reader = "yes"
exclude = [
  '.kind | startswith("Console"',
  'env.HOME == "/root"',
]

[[bundle]]
name = "lamp-operator"

[[bundle]]
name = "lamp-operator"
path = "bundle"
watch = "everything"
"#;

// What the bundle is made of

refused! {
    no_csv: [CsvMissing] = |case| {
        case.remove(CSV_FILE);
    }
    two_csvs: [SeveralCsvs] = |case| {
        case.write("bundle/manifests/other.yaml", CSV.replace("v1.2.3", "v1.3.0"));
    }
    old_crd: [CrdApiVersion] = |case| {
        case.replace(CRD_FILE, "apiextensions.k8s.io/v1", "apiextensions.k8s.io/v1beta1");
    }
    crd_without_versions: [CrdApiVersion] = |case| {
        let text = CRD.split("  versions:").next().unwrap_or_default();
        case.write(CRD_FILE, text);
    }
    no_manifests: [NoManifests] = |case| {
        case.remove(CSV_FILE);
        case.remove(CRD_FILE);
    }
    no_annotations: [AnnotationsMissing] = |case| {
        case.remove(ANNOTATIONS_FILE);
    }
    annotations_of_the_wrong_shape: [AnnotationsMissing] = |case| {
        case.write(ANNOTATIONS_FILE, "annotations:\n- a list\n");
    }
    helm_bundle: [UnsupportedMediaType] = |case| {
        case.replace(ANNOTATIONS_FILE, "registry+v1", "helm+v3");
    }
    empty_package_name: [AnnotationsMissing] = |case| {
        case.replace(ANNOTATIONS_FILE, "package.v1: lamp-operator", "package.v1: \"\"");
    }
    folder_in_manifests: [UnexpectedEntry] = |case| {
        case.write("bundle/manifests/crds/a.yaml", CRD);
    }
    link_in_manifests: [UnexpectedEntry] = |case| {
        std::os::unix::fs::symlink("/etc/passwd", case.path("bundle/manifests/link.yaml"))
            .expect("a link");
    }
    readme_in_manifests: [NotAnObject] = |case| {
        case.write("bundle/manifests/README.md", "Lamps\n=====\n\nTurn them on.\n");
    }
    binary_in_manifests: [NotUtf8] = |case| {
        case.write("bundle/manifests/lamp.png", b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR");
    }
    unsupported_kind: [UnsupportedKind] = |case| {
        case.write("bundle/manifests/job.yaml", "apiVersion: batch/v1\nkind: Job\nmetadata:\n  name: once\n");
    }
    owned_crd_missing: [OwnedCrdMissing] = |case| {
        case.remove(CRD_FILE);
    }
    crd_twice: [DuplicateObject] = |case| {
        case.write("bundle/manifests/again.yaml", format!("# the same\n---\n{CRD}"));
    }
    object_twice: [DuplicateObject] = |case| {
        let map = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: lamps\n";
        case.write("bundle/manifests/maps.yaml", format!("{map}---\n{map}data: {{a: b}}\n"));
    }
    no_kind: [NotAnObject] = |case| {
        case.write("bundle/manifests/values.yaml", "replicas: 1\n");
    }
    no_name: [NotAnObject] = |case| {
        case.write("bundle/manifests/a.yaml", "apiVersion: v1\nkind: List\nitems:\n- apiVersion: v1\n  kind: Secret\n- 7\n");
    }
    names_of_objects: [InvalidName] = |case| {
        let names = ["v1 ConfigMap A_b", "v1 Service 1a", "v1 Service a.b", "rbac.authorization.k8s.io/v1 Role a/b",
            "rbac.authorization.k8s.io/v1 Role a:b"];
        let objects = names.map(|words| {
            let words: Vec<&str> = words.split(' ').collect();
            let [version, kind, name] = words[..] else { panic!("three words") };
            let more = if kind == "Service" { "spec: {ports: [{port: 80}], selector: {app: lamp-operator}}\n" } else { "" };
            format!("apiVersion: {version}\nkind: {kind}\nmetadata: {{name: '{name}'}}\n{more}")
        });
        case.write("bundle/manifests/more.yaml", objects.join("---\n"));
    }
    types_of_objects: [ObjectFieldType] = |case| {
        case.write(
            "bundle/manifests/more.yaml",
            "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\n  labels: {a: 5, nothing: }\n  annotations:\n    b: yes\ndata: {n: 1}\n\
             ---\napiVersion: v1\nkind: Secret\nmetadata: {name: a}\nstringData: {password: 12345}\n",
        );
        let rule = "        - apiGroups: [light.example.com]\n";
        case.replace(CSV_FILE, rule, &format!("        - {{apiGroups: '', resources: [pods], verbs: get}}\n{rule}"));
    }
    types_of_crds: [ObjectFieldType] = |case| {
        case.replace(CRD_FILE, "    served: true\n", "    served: 'true'\n");
        case.replace(CRD_FILE, "        type: object\n", "        type: object\n        required: spec\n        properties: {spec: {default: {a: [1]}, maxLength: long}}\n");
    }
    types_of_annotations: [ObjectFieldType] = |case| {
        let name = "  name: lamp-operator.v1.2.3\n";
        case.replace(CSV_FILE, name, &format!("{name}  annotations: {{certified: false, createdAt: }}\n"));
    }
    long_name: [InvalidName] = |case| {
        let name = "l".repeat(64);
        case.write("bundle/manifests/a.yaml", format!("apiVersion: v1\nkind: Service\nmetadata:\n  name: {name}\n"));
    }
}

// What the CSV says

refused! {
    csv_fields_of_the_wrong_type: [ObjectFieldType] = |case| {
        case.replace(CSV_FILE, "  version: 1.2.3", "  version: 1.2");
        case.replace(CSV_FILE, "type: OwnNamespace\n    supported: true", "type: OwnNamespace\n    supported: \"true\"");
        case.replace(CSV_FILE, "        rules:\n        - apiGroups", "        rules:\n          apiGroups");
    }
    csv_parts_that_are_no_maps: [ObjectFieldType] = |case| {
        case.replace(CSV_FILE, "  customresourcedefinitions:\n    owned:\n", "  relatedImages: [image]\n  apiservicedefinitions: none\n  customresourcedefinitions:\n    required: [lamps]\n    owned:\n");
        case.replace(CSV_FILE, "      deployments:\n", "      permissions: [lamp-operator]\n      deployments:\n      - lamp-operator\n");
        case.replace(CSV_FILE, "  installModes:\n", "  installModes:\n  - MultiNamespace\n");
    }
    csv_install_that_is_no_map: [ObjectFieldType] = |case| {
        let text = case.read(CSV_FILE);
        let end = text.find("  install:\n").expect("the install strategy");
        case.write(CSV_FILE, format!("{}  install: [deployment]\n", &text[..end]));
    }
    deployment_of_the_wrong_type: [ObjectFieldType] = |case| {
        case.replace(CSV_FILE, "containerPort: 8080", "containerPort: http");
    }
    csv_without_spec: [ObjectFieldType] = |case| {
        let text = CSV.split("spec:").next().unwrap_or_default();
        case.write(CSV_FILE, text);
    }
    other_strategy: [UnsupportedStrategy] = |case| {
        case.replace(CSV_FILE, "strategy: deployment", "strategy: magic");
    }
    bad_deployment_name: [InvalidName] = |case| {
        case.replace(CSV_FILE, "- name: lamp-operator\n        spec", "- name: Lamp_Operator\n        spec");
    }
    deployment_twice: [DuplicateObject] = |case| {
        let text = case.read(CSV_FILE);
        let start = text.find("      - name: lamp-operator").expect("a deployment");
        case.write(CSV_FILE, format!("{text}{}", &text[start..]));
    }
    wrong_watch: [InstallModeUnsupported] = |case| {
        case.write("bundles.toml", format!("{CONFIG}watch = [\"one\", \"two\"]\n"));
    }
    no_install_mode: [InstallModeUnsupported] = |case| {
        case.write(CSV_FILE, CSV.replace("supported: true", "supported: false"));
    }
    webhooks_that_cannot_work: [
        ConversionWebhook,
        ServerMissing,
        DuplicateObject,
        InvalidName,
        ConversionWebhook,
        ForbiddenRule,
        ObjectFieldType,
        PortConflict
    ] = |case| {
        case.write(CSV_FILE, format!("{CSV}{WEBHOOKS}"));
    }
    webhook_fields_of_the_wrong_type: [ObjectFieldType] = |case| {
        let webhooks = "  webhookdefinitions:
  - type: AdmissionWebhook
    generateName: check.light.example.com
    containerPort: '443'
    targetPort: 1.5
    deploymentName: 7
  - a word
  apiservicedefinitions:
    owned:
    - group: dim.example.com
      version: 1
      containerPort: 70000
      deploymentName: lamp-operator
";
        case.write(CSV_FILE, format!("{CSV}{webhooks}"));
    }
    properties_of_the_wrong_shape: [DependencyInvalid] = |case| {
        let properties = "properties:\n- value: 1\n- type: x\n  value: 2\n";
        case.write("bundle/metadata/properties.yaml", properties);
    }
    properties_that_are_no_list: [DependencyInvalid] = |case| {
        let name = "  name: lamp-operator.v1.2.3\n";
        let annotation = "  annotations:\n    olm.properties: '{\"type\": \"x\"}'\n";
        case.replace(CSV_FILE, name, &format!("{name}{annotation}"));
        let properties = "properties:\n- type: light\n  value: 2\n";
        case.write("bundle/metadata/properties.yaml", properties);
    }
    version_is_not_semantic: [InvalidVersion] = |case| {
        case.replace(CSV_FILE, "  version: 1.2.3", "  version: 1.2.3.4");
    }
}

// Text that is not what it should be

refused! {
    invalid_utf8: [NotUtf8] = |case| {
        let mut text = CRD.as_bytes().to_vec();
        text.extend_from_slice(b"# caf\xe9\n");
        case.write(CRD_FILE, text);
    }
    invalid_yaml: [ManifestSyntax] = |case| {
        case.replace(CRD_FILE, "    kind: Lamp\n", "   kind: Lamp\n");
    }
    tab_in_yaml: [ManifestSyntax] = |case| {
        case.replace(CRD_FILE, "    plural: lamps", "\tplural: lamps");
    }
    alias_bomb: [ManifestLimit] = |case| {
        let mut text = "a0: &a0 [lol, lol, lol, lol, lol, lol, lol, lol, lol]\n".to_owned();
        for level in 1..12 {
            let previous = format!("*a{}", level - 1);
            let list = [previous.as_str(); 9].join(", ");
            text.push_str(&format!("a{level}: &a{level} [{list}]\n"));
        }
        case.write("bundle/manifests/bomb.yaml", text);
    }
    deep_yaml_blocks: [ManifestLimit] = |case| {
        case.write("bundle/manifests/deep.yaml", "- ".repeat(100_000));
    }
    deep_yaml_flow: [ManifestLimit] = |case| {
        case.write("bundle/manifests/deep.yaml", "[".repeat(100_000));
    }
    deep_json: [ManifestLimit] = |case| {
        case.write("bundle/manifests/deep.json", "{\"a\":".repeat(100_000));
    }
    deep_annotations: [ManifestLimit] = |case| {
        case.write(ANNOTATIONS_FILE, format!("annotations: {}", "[".repeat(100_000)));
    }
    manifest_of_seventeen_mebibytes: [SourceLimit] = |case| {
        case.write("bundle/manifests/large.yaml", "#".repeat(17 << 20));
    }
}

/// Odd texts that Kubernetes reads are read with a note.
#[test]
fn byte_order_mark_and_windows_line_ends_are_read() {
    let case = Case::with_lamps();
    case.write(CSV_FILE, format!("\u{feff}{CSV}"));
    case.write(CRD_FILE, CRD.replace('\n', "\r\n"));
    let seen = case.run(&["build"]);
    assert_eq!(seen.code, Some(0), "{}", seen.text());
    insta::assert_snapshot!(
        "byte_order_mark_and_windows_line_ends_are_read",
        seen.stderr_but_sizes()
    );

    let plain = Case::with_lamps();
    assert_eq!(plain.run(&["build"]).code, Some(0));
    let contents = |case: &Case| -> Vec<Vec<u8>> {
        case.tree("out").into_values().map(|(content, _)| content).collect()
    };
    assert!(contents(&case) == contents(&plain), "the same charts");
}

/// Trees are walked by recursion, and the deepest that are read must fit every stack.
#[test]
fn trees_as_deep_as_the_reader_allows_are_compiled_and_compared() {
    let levels = 120;
    let nested = |open: &str, inside: &str, close: &str, levels: usize| {
        open.repeat(levels) + inside + &close.repeat(levels)
    };
    let schema = nested(r#"{"type":"object","properties":{"p":"#, "{}", "}}", levels);
    let default = nested("[", "", "]", 2 * levels - 10);
    let crd = STRICT_CRD.replace(
        "colour: {type: string, pattern: '^#[0-9a-f]{6}$'}",
        "p: {x-kubernetes-preserve-unknown-fields: true, default: DEFAULT}",
    );
    let (head, _) = crd.split_once("        type: object").expect("a schema");
    let lamp = nested(r#"{"p":"#, "{}", "}", levels - 1);

    let case = Case::with_lamps();
    case.write(CRD_FILE, format!("{head}        {schema}\n"));
    let overlay = "[[bundle.overlay]]\npath = \"lamps\"\n";
    case.write("bundles.toml", format!("{CONFIG}{overlay}"));
    let kind = "apiVersion: light.example.com/v1\nkind: Lamp\nmetadata: {name: a}\np: ";
    case.write("lamps/deep.yaml", format!("{kind}{lamp}\n"));
    let seen = case.run(&["build", "--jobs=1"]);
    assert_eq!(seen.code, Some(0), "{}", seen.text());
    for arguments in [&["inspect", "bundle"][..], &["diff", "bundle", "bundle"]] {
        assert_eq!(case.run(arguments).code, Some(0), "{arguments:?}");
    }

    case.write(CRD_FILE, crd.replace("DEFAULT", &default));
    case.write("lamps/deep.yaml", "# nothing\n");
    case.write("bundles.toml", CONFIG);
    let seen = case.run(&["build", "--replace"]);
    assert_eq!(seen.code, Some(0), "{}", seen.text());
}

// Images

/// A layer with the files of the bundle.
fn bundle_layer() -> Layer {
    let mut layer = Layer::new();
    for (path, content) in files() {
        layer.file(path, content.as_bytes());
    }
    layer
}

/// Puts an image of these layers into the layout `images`, and builds it through a mirror.
/// `spoil` may change the files of the layout.
fn image(case: &Case, layers: Vec<Layer>, spoil: impl FnOnce(&mut BTreeMap<String, Vec<u8>>)) {
    let mut layout = Layout::default();
    layout.image(
        "registry.example.com/lamps/bundle:1.2.3",
        &Image {
            architecture: "amd64",
            labels: BTreeMap::new(),
            layers: layers.into_iter().map(|l| (Compression::Gzip, l.into_tar())).collect(),
        },
    );
    let mut files = layout.into_files();
    spoil(&mut files);
    for (path, content) in files {
        case.write(&format!("images/{path}"), content);
    }
    case.write("bundles.toml", IMAGE_CONFIG);
}

const IMAGE_CONFIG: &str = "\
[[mirror]]
from = \"registry.example.com\"
to = \"oci-layout:images\"

[[bundle]]
name = \"lamp-operator\"
image = \"registry.example.com/lamps/bundle:1.2.3\"
";

/// The blob of a layer: the one that is compressed.
fn layer_blob(files: &mut BTreeMap<String, Vec<u8>>) -> (String, &mut Vec<u8>) {
    let blob = files.iter_mut().find(|(_, content)| content.starts_with(&[0x1f, 0x8b]));
    blob.map(|(path, content)| (path.clone(), content)).expect("a layer")
}

#[test]
fn the_image_that_is_broken_here_is_good() {
    let case = Case::new();
    image(&case, vec![bundle_layer()], |_| {});
    let seen = case.run(&["build"]);
    assert_eq!(seen.code, Some(0), "{}", seen.text());
}

/// 80 MiB of zeros that take 80 KiB.
fn zeros() -> Vec<u8> {
    vec![0; 80 << 20]
}

refused! {
    layer_that_unpacks_to_a_huge_manifest: [SourceLimit] = |case| {
        let mut layer = bundle_layer();
        layer.file("manifests/zeros.yaml", &zeros());
        image(&case, vec![layer], |_| {});
    }
    layer_that_unpacks_to_huge_data_beside_the_bundle: [SourceLimit] = |case| {
        let mut base = Layer::new();
        base.file("usr/share/zeros", &zeros());
        image(&case, vec![base, bundle_layer()], |_| {});
    }
    layer_with_links: [UnexpectedEntry] = |case| {
        let mut layer = bundle_layer();
        layer.symlink("manifests/a.yaml", "/etc/passwd").symlink("manifests/b.yaml", "../../up");
        image(&case, vec![layer], |_| {});
    }
    layer_with_climbing_paths: [UnexpectedEntry] = |case| {
        let mut layer = bundle_layer();
        layer.raw("../../manifests/evil.yaml", b"x").raw("manifests/../manifests/up.yaml", b"x");
        image(&case, vec![layer], |_| {});
    }
    truncated_layer: [BlobMismatch] = |case| {
        image(&case, vec![bundle_layer()], |files| {
            let (_, content) = layer_blob(files);
            content.truncate(content.len() / 2);
        });
    }
    longer_layer: [BlobMismatch] = |case| {
        image(&case, vec![bundle_layer()], |files| layer_blob(files).1.push(0));
    }
    changed_layer: [BlobMismatch] = |case| {
        image(&case, vec![bundle_layer()], |files| {
            let (_, content) = layer_blob(files);
            // The operating system in the gzip header, which no decoder looks at.
            content[9] ^= 1;
        });
    }
    missing_layer: [MissingBlob] = |case| {
        image(&case, vec![bundle_layer()], |files| {
            let (path, _) = layer_blob(files);
            files.remove(&path);
        });
    }
    index_is_not_json: [InvalidLayout] = |case| {
        image(&case, vec![bundle_layer()], |files| {
            files.insert("index.json".into(), b"{\"schemaVersion\": 2,".to_vec());
        });
    }
    no_such_image_in_the_mirror: [ImageNotFound] = |case| {
        image(&case, vec![bundle_layer()], |_| {});
        case.replace("bundles.toml", "bundle:1.2.3", "bundle:1.2.4");
    }
    registry_does_not_answer: [RegistryUnreachable] = |case| {
        image(&case, vec![bundle_layer()], |_| {});
        case.replace("bundles.toml", "image = \"registry.example.com", "image = \"localhost:1");
        case.replace("bundles.toml", "[[bundle]]", "[network]\nretries = 0\n[[bundle]]");
    }
    lock_is_damaged: [LockInvalid] = |case| {
        image(&case, vec![bundle_layer()], |_| {});
        case.write("bundles.lock", b"version = 1\n<<<<<<< ours\n");
    }
    lock_of_a_later_version: [LockInvalid] = |case| {
        image(&case, vec![bundle_layer()], |_| {});
        case.write("bundles.lock", b"version = 2\n");
    }
    mirror_does_not_exist: [SourceNotFound] = |case| {
        image(&case, vec![bundle_layer()], |_| {});
        case.replace("bundles.toml", "oci-layout:images", "oci-layout:pictures");
    }
    path_does_not_exist: [SourceNotFound] = |case| {
        case.replace("bundles.toml", "\"bundle\"", "\"bundel\"");
    }
    path_is_something_else: [UnknownSource] = |case| {
        case.write("bundle.zip", b"PK\x03\x04");
        case.replace("bundles.toml", "\"bundle\"", "\"bundle.zip\"");
    }
}

// The output folder

refused! {
    output_is_a_file: [OutputUnsuitable] = |case| {
        case.write("out", "not a folder");
    }
    chart_folder_is_not_ours: [NotOurs] = |case| {
        case.write("out/lamp-operator/1.2.3/Chart.yaml", "name: somebody-elses\n");
    }
    version_exists_with_other_content: [ChartVersionExists] = |case| {
        assert_eq!(case.run(&["build"]).code, Some(0));
        case.replace(CSV_FILE, "replicas: 1", "replicas: 2");
    }
    chart_was_edited: [ChartEdited] = |case| {
        assert_eq!(case.run(&["build"]).code, Some(0));
        case.write("out/lamp-operator/1.2.3/values.yaml", "edited: true\n");
    }
    foreign_file_in_a_chart: [ForeignFile] = |case| {
        assert_eq!(case.run(&["build"]).code, Some(0));
        case.write("out/lamp-operator/1.2.3/templates/mine.yaml", "kind: Mine\n");
    }
}

/// Permissions bind root only without its capability to override them.
#[test]
fn output_folder_without_permission() {
    use std::os::unix::fs::PermissionsExt as _;
    let case = Case::with_lamps();
    fs::create_dir(case.path("closed")).expect("a folder");
    let mode = |bits| fs::set_permissions(case.path("closed"), fs::Permissions::from_mode(bits));
    mode(0o555).expect("a mode");
    let is_root = fs::write(case.path("closed/probe"), "").is_ok();
    let script = if is_root {
        fs::remove_file(case.path("closed/probe")).expect("a file");
        "exec setpriv --bounding-set=-dac_override,-dac_read_search \"$0\" \"$@\""
    } else {
        "exec \"$0\" \"$@\""
    };
    let seen = case.shell(script, &["build", "--out", "closed/out"], &[]);
    mode(0o755).expect("a mode");
    assert_eq!(seen.code, Some(2), "{}", seen.text());
    assert!(seen.stderr.contains("error[output-failed]"), "{}", seen.stderr);
    assert!(seen.stderr.contains("Permission denied"), "{}", seen.stderr);
    assert!(seen.stderr.contains("use another directory with `--out`"), "{}", seen.stderr);
    assert_eq!(case.listing("closed"), "");
}

/// One broken bundle of several: nothing is written, and all problems of all bundles are shown.
#[test]
fn one_broken_bundle_stops_all() {
    let case = Case::with_lamps();
    for (path, content) in files() {
        case.write(&format!("second/{path}"), content);
    }
    case.write("second/metadata/annotations.yaml", ANNOTATIONS.replace("registry+v1", "plain+v0"));
    let table =
        |name: &str, path: &str| format!("[[bundle]]\nname = \"{name}\"\npath = \"{path}\"\n");
    let config = [table("first", "bundle"), table("second", "second"), table("third", "nowhere")];
    case.write("bundles.toml", config.join("\n"));
    refused(
        &case,
        "one_broken_bundle_stops_all",
        &[Code::UnsupportedMediaType, Code::SourceNotFound],
    );
}

// What is kept beside a bundle

/// A CRD that says what lamps are, with the schema of `spec` indented as it must be.
const STRICT_CRD: &str = "apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata:
  name: lamps.light.example.com
spec:
  group: light.example.com
  scope: Cluster
  names:
    kind: Lamp
    plural: lamps
  versions:
  - name: v1
    served: true
    storage: true
    schema:
      openAPIV3Schema:
        type: object
        required: [spec]
        properties:
          spec:
            type: object
            required: [version]
            properties:
              version:
                description: Which lamp. The newest by default.
                type: string
                enum: [v1.24-latest, v1.26-latest, v1.27-latest]
              brightness: {type: integer, minimum: 1, maximum: 10}
              colour: {type: string, pattern: '^#[0-9a-f]{6}$'}
";

const LAMPS: &str = "# Lamps of the house.
apiVersion: light.example.com/v1
kind: Lamp
metadata:
  name: kitchen
  namespace: house
spec:
  version: v1.27.5
  brightness: 11
  color: red
---
apiVersion: light.example.com/v1
kind: Lamp
metadata:
  name: cellar
spec:
  colour: red
---
apiVersion: light.example.com/v2
kind: Lamp
metadata:
  name: attic
---
apiVersion: light.example.com/v1
kind: Lmap
metadata:
  name: hall
";

fn with_overlay(case: &Case, more: &str) {
    case.write(CRD_FILE, STRICT_CRD);
    case.write("bundles.toml", format!("{CONFIG}{more}"));
}

const GOOD_LAMP: &str = "
[[bundle.overlay]]
inline = '''
apiVersion: light.example.com/v1
kind: Lamp
metadata: {name: kitchen}
spec: {version: v1.26-latest}
'''
";

refused! {
    overlay_against_the_crd: [OverlayInvalid] = |case| {
        with_overlay(&case, "[[bundle.overlay]]\npath = \"lamps\"\n");
        case.write("lamps/README.md", "not read\n");
        case.write("lamps/house.yaml", LAMPS);
    }
    overlay_in_the_configuration: [OverlayInvalid] = |case| {
        with_overlay(&case, &GOOD_LAMP.replace("v1.26-latest", "v1.26-lates").replace("kitchen}", "kitchen, namespace: a}"));
    }
    overlay_as_a_table: [OverlayInvalid] = |case| {
        with_overlay(&case, "[[bundle.overlay]]\n[bundle.overlay.inline]\napiVersion = \"light.example.com/v1\"\nkind = \"Lamp\"\nmetadata.name = \"a\"\nspec.version = 1\n\
            [[bundle.overlay]]\ninline = { apiVersion = \"light.example.com/v1\", kind = \"Lamp\", metadata = { name = \"b\" }, spec = {} }\n\
            [[bundle.overlay]]\ninline.kind = \"Lamp\"\ninline.apiVersion = \"light.example.com/v1\"\ninline.metadata.name = \"c\"\n\
            inline.spec.version = \"v1.26-lates\"\n");
    }
    overlay_with_a_status: [OverlayInvalid] = |case| {
        with_overlay(&case, &GOOD_LAMP.replace("spec:", "status: {lit: true}\nspec:"));
        case.write(CRD_FILE, STRICT_CRD.replace("    schema:\n", "    subresources: {status: {}}\n    schema:\n"));
    }
    overlay_with_fields_that_kubernetes_does_not_have: [OverlayInvalid] = |case| {
        with_overlay(&case, "[[bundle.overlay]]\ninline = '''\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: switch, owner: me}\ndat: {on: 'yes'}\n'''\n");
    }
    overlay_does_not_exist: [OverlayUnreadable] = |case| {
        with_overlay(&case, "[[bundle.overlay]]\npath = \"lamps\"\n");
    }
    overlay_in_a_chart: [OverlappingOutput] = |case| {
        with_overlay(&case, "[[bundle.overlay]]\npath = \"out/lamp-operator/kept.yaml\"\n");
    }
    overlay_without_files: [OverlayUnreadable] = |case| {
        with_overlay(&case, "[[bundle.overlay]]\npath = \"lamps\"\n");
        case.write("lamps/README.md", "none\n");
    }
    overlay_is_read_twice: [OverlayUnreadable] = |case| {
        with_overlay(&case, "[[bundle.overlay]]\npath = \"lamps/a.yaml\"\n[[bundle.overlay]]\npath = \"lamps\"\n");
        case.write("lamps/a.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\n");
    }
    overlay_is_not_yaml: [ManifestSyntax] = |case| {
        with_overlay(&case, "[[bundle.overlay]]\ninline = '''\nkind: Lamp\n\tname: a\n'''\n");
    }
    overlay_is_no_object: [NotAnObject] = |case| {
        with_overlay(&case, "[[bundle.overlay]]\ninline = \"kind: Lamp\"\n[[bundle.overlay]]\npath = \"a.yaml\"\n");
        case.write("a.yaml", "- 1\n");
    }
    overlay_has_what_the_bundle_has: [DuplicateObject] = |case| {
        with_overlay(&case, "[[bundle.overlay]]\ninline = '{apiVersion: v1, kind: ServiceAccount, metadata: {name: lamp-operator}}'\n");
    }
    overlay_together_with_its_crd: [OverlayPhase] = |case| {
        with_overlay(&case, &format!("crds = \"templates\"\n{GOOD_LAMP}"));
    }
    overlay_for_olm: [OverlayInvalid] = |case| {
        with_overlay(&case, "[[bundle.overlay]]\ninline = '{apiVersion: operators.coreos.com/v1, kind: OperatorGroup, metadata: {name: a}}'\n");
    }
    job_before_its_account: [OverlayPhase] = |case| {
        with_overlay(&case, "[[bundle.overlay]]\nphase = \"before\"\npath = \"job.yaml\"\n");
        case.write("job.yaml", "apiVersion: batch/v1\nkind: Job\nmetadata:\n  name: first\nspec:\n  template:\n    spec:\n      restartPolicy: Never\n      serviceAccountName: lamp-operator\n");
    }
    mistakes_about_overlays_and_patches: [WrongType, InvalidValue, UnknownKey, InvalidValue, MissingKey, InvalidFilter] = |case| {
        case.write("bundles.toml", format!("{CONFIG}{OVERLAY_MISTAKES}"));
    }
    mistakes_about_operands: [InvalidValue, WrongType, InvalidValue, WrongType, InvalidValue] = |case| {
        case.write("bundles.toml", format!("{CONFIG}{OPERAND_MISTAKES}"));
    }
    names_of_charts_beside_others: [DuplicateName, InvalidValue] = |case| {
        let long = "l".repeat(50);
        case.write("bundles.toml", format!("[defaults]\ncrds = \"separate\"\n{CONFIG}[[bundle]]\nname = \"lamp-operator-crds\"\npath = \"bundle\"\ncrds = \"crds\"\n[[bundle]]\nname = \"{long}\"\npath = \"bundle\"\n"));
    }
    patch_gives_no_object: [PatchFailed] = |case| {
        case.write("bundles.toml", format!("{CONFIG}{}{}{}", patch("empty"), patch(".spec.replicas"), patch("., .")));
    }
    patch_makes_another_object: [PatchFailed] = |case| {
        case.write("bundles.toml", format!("{CONFIG}{}", patch(".metadata.name = \"lantern-operator\"")));
    }
    patch_fails: [PatchFailed] = |case| {
        case.write("bundles.toml", format!("{CONFIG}{}", patch(".kind.length = 1")));
    }
    release_does_not_fit: [ReleaseSize] = |case| {
        // Text that no compression makes shorter.
        let mut state = 1_u64;
        let mut text = String::new();
        while text.len() < 800_000 {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            text.push_str(&format!("{:016x}", state ^ (state >> 31)));
        }
        case.write("bundle/manifests/map.yaml", format!("apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: much\ndata:\n  text: {text}\n"));
    }
}

fn patch(program: &str) -> String {
    format!("[[bundle.patch]]\nmatch = '.kind == \"Deployment\"'\npatch = '{program}'\n")
}

const OVERLAY_MISTAKES: &str = r#"
[[bundle.overlay]]
inline = 7
[[bundle.overlay]]
path = "a.yaml"
inline = "b"
fase = "operand"
[[bundle.overlay]]
path = "a.yaml"
phase = "operands"
[[bundle.overlay]]
[[bundle.patch]]
match = '.kind == '
patch = '.. |= now'
"#;

const OPERAND_MISTAKES: &str = r#"
stub-crds = ["infrastructure.config.openshift.io", "routes.route.openshift.io"]
[bundle.namespaces]
release = "lamps"
Operand = "lights"
one = "lights-of-one"
other = "lights-of-one"
number = 7
wrong = "Not_A_Name"
[bundle.scopes]
"monitoring.example.com/Lamp" = "cluster"
Lamp = "Cluster"
[bundle.service-accounts]
onee = ["a"]
one = ["a", "a", "B_"]
other = "a"
[[bundle.adopt]]
service-account = "a"
release = "r"
[[bundle.adopt]]
service-account = "b"
release = "r"
"#;

// what is no regular file

/// Puts a named pipe, which is waited for, or a link to an endless device at a path.
fn special(case: &Case, path: &str, kind: &str) {
    let path = case.path(path);
    let _ = fs::remove_file(&path);
    fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
    if kind == "pipe" {
        let made = std::process::Command::new("mkfifo").arg(path).status().expect("mkfifo");
        assert!(made.success());
    } else {
        std::os::unix::fs::symlink("/dev/zero", path).expect("a link");
    }
}

#[test]
fn what_is_no_regular_file_is_refused_and_not_waited_for() {
    const CHART: &str = "apiVersion: v2\nname: other\nversion: 1.0.0\n";
    const CATALOG: &str = "[[bundle]]\nname = \"lamp-operator\"\npackage = \"lamp-operator\"\ncatalog = \"./catalog.json\"\n";
    let overlay = format!("{CONFIG}[[bundle.overlay]]\npath = \"overlay.yaml\"\n");
    let layout = "[[bundle]]\nname = \"lamp-operator\"\npath = \"layout\"\n";
    let index = r#"{"schemaVersion": 2, "manifests": [{"mediaType": "application/vnd.oci.image.manifest.v1+json", "size": 2, "digest": "sha256:44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a"}]}"#;
    let blob =
        "layout/blobs/sha256/44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a";
    // The file, the configuration, and what is run.
    let cases: [(&str, &str, &[&str]); 16] = [
        ("bundles.toml", CONFIG, &["build"]),
        ("bundles.lock", CONFIG, &["build"]),
        ("overlay.yaml", &overlay, &["build"]),
        ("bundle/manifests/more.yaml", CONFIG, &["build"]),
        ("bundle/metadata/annotations.yaml", CONFIG, &["build"]),
        ("catalog.json", CATALOG, &["build"]),
        ("layout/oci-layout", layout, &["build"]),
        ("layout/index.json", layout, &["build"]),
        (blob, layout, &["build"]),
        ("out/.bundle2chart-lock", CONFIG, &["build"]),
        ("out/.bundle2chart", CONFIG, &["build"]),
        ("values.yaml", CONFIG, &["diff", "bundle", "bundle", "-f", "values.yaml"]),
        ("package.tgz", CONFIG, &["diff", "bundle", "./package.tgz"]),
        ("chart/Chart.yaml", CONFIG, &["diff", "bundle", "./chart"]),
        ("manifest.yaml", CONFIG, &["check-serving", "manifest.yaml"]),
        ("bundle.tar", CONFIG, &["inspect", "./bundle.tar"]),
    ];
    for (path, config, arguments) in cases {
        for kind in ["pipe", "device"] {
            let case = Case::with_lamps();
            case.write("bundles.toml", config);
            case.write("chart/Chart.yaml", CHART);
            case.write("layout/oci-layout", "{\"imageLayoutVersion\": \"1.0.0\"}");
            case.write("layout/index.json", index);
            special(&case, path, kind);
            let seen = case.shell("exec timeout 60 \"$0\" \"$@\"", arguments, &[]);
            assert_eq!(seen.code, Some(2), "{path}, a {kind}: {}", seen.text());
            assert!(!case.path("out/lamp-operator").exists(), "{path}, a {kind}");
        }
    }
}

/// Mistakes of a first day: the message, and a hint that says what to write.
/// A lock with an entry that no bundle has.
const LOCK_OF_ANOTHER: &str = "\
version = 1

[[bundle]]
name = \"other\"
config-hash = \"sha256:0000000000000000000000000000000000000000000000000000000000000000\"
embedded = \"sha256:1111111111111111111111111111111111111111111111111111111111111111\"
csv = \"other.v1\"
csv-version = \"1.0.0\"
package = \"other\"
";

#[test]
fn mistakes_have_a_hint_that_mends_them() {
    // Files to write, the command, and texts of the message.
    type Mistake<'m> = (&'m [(&'m str, String)], &'m [&'m str], [&'m str; 2]);
    let with = |more: &str| format!("{CONFIG}{more}");
    let overlay = "[[bundle.overlay]]\npath = \"extra.yaml\"\n";
    let path = |path: &str| CONFIG.replace("\"bundle\"", &format!("{path:?}"));
    let catalog = CONFIG.replace("path = \"bundle\"", "catalog = \"./all\"\npackage = \"lamps\"");
    let nothing = ("bundles.toml", "# none yet\n".to_owned());
    let mistakes: [Mistake<'_>; 48] = [
        (
            &[("bundles.toml", CONFIG.replace("lamp-operator", "Lamp_operator"))],
            &["build"],
            ["the name of a bundle or chart contains 'L'", "write `name = \"lamp-operator\"`"],
        ),
        (
            &[("bundles.toml", with("layout = \"flat\"\n"))],
            &["build"],
            ["unknown key `layout` in `[[bundle]]`", "`layout` belongs in `[output]`"],
        ),
        (
            &[(
                "bundles.toml",
                with("patch = [{ match = '.kind == \"Deploymnt\"', patch = '.' }]\n"),
            )],
            &["build"],
            ["patch for `.kind == \"Deploymnt\"` matched no objects", "did you mean `Deployment`?"],
        ),
        (
            &[
                ("bundles.toml", with(overlay)),
                ("extra.yaml", "metadata:\n  name: {{ .Release.Name }}\n".to_owned()),
            ],
            &["build"],
            ["it is a template, not YAML", "write the value: manifests are plain YAML"],
        ),
        (
            &[("bundles.lock", "version = 1\n<<<<<<< HEAD\n=======\n>>>>>>> other\n".to_owned())],
            &["build"],
            [
                "the lock file has an unresolved merge conflict",
                "`git checkout --ours bundles.lock`",
            ],
        ),
        (
            &[("bundles.toml", format!("<<<<<<< HEAD\n{CONFIG}=======\n>>>>>>> other\n"))],
            &["build"],
            ["unresolved merge conflict", "remove the markers of Git"],
        ),
        (
            &[],
            &["add", "bundle/manifests"],
            ["is not a bundle directory", "write `bundle`: this is a part of that bundle"],
        ),
        (
            &[],
            &["add", "./bundle/manifests", "lamp-operator"],
            ["is a part of a bundle, not a catalog", "write `path = \"./bundle\"`"],
        ),
        (
            &[("bundles.lock", LOCK_OF_ANOTHER.to_owned())],
            &["build", "--locked"],
            [
                "bundles.lock has an entry for `other`, which is not in the configuration",
                "run `bundle2chart lock` and commit the lock file",
            ],
        ),
        (&[], &["diff", "--rev", "mian"], ["no directory `out`", "run `bundle2chart build` first"]),
        (
            &[("out/.keep", String::new())],
            &["diff", "--rev", "mian"],
            ["not a git repository", "run it in a Git repository"],
        ),
        (
            &[],
            &["add", "./bundle", "lamp-operator", "--name", "other"],
            ["is the directory of a bundle, not a catalog", "write `path = \"./bundle\"`"],
        ),
        (
            &[],
            &["migrate", "bundle"],
            ["`bundle` is a bundle, and the hand-made chart is missing", "migrate CHART 'bundle'`"],
        ),
        (
            &[],
            &["migrate", "bundle", "bundle"],
            ["`bundle` is a bundle, not a chart", "run `bundle2chart add 'bundle'`"],
        ),
        // Values of the configuration are blamed there, and not in the bundle.
        (
            &[(
                "bundles.toml",
                with(
                    "patch = [{ match = '.kind == \"Deployment\"', patch = '.spec.replicas = \"two\"' }]\n",
                ),
            )],
            &["build"],
            ["it sets `.spec.replicas` to a value of the wrong type", "--> bundles.toml:4:53"],
        ),
        (
            &[("bundles.toml", with("config.resources = { limits = { cpu = \"lots\" } }\n"))],
            &["build"],
            ["`resources.limits.cpu` is not a quantity", "--> bundles.toml:4:39"],
        ),
        // Values of another type, and keys that are missing or elsewhere.
        (
            &[("bundles.toml", with("auth-reader = \"yes\"\n"))],
            &["build"],
            ["`auth-reader` must be a boolean", "write `auth-reader = true`"],
        ),
        (
            &[("bundles.toml", with("config.env = { A = \"b\" }\n"))],
            &["build"],
            ["`env` must be a list", "write `env = [{ name = \"A\", value = \"b\" }]`"],
        ),
        (
            &[("bundles.toml", with("[deploy.argocd]\n"))],
            &["build"],
            ["`repo` is missing in `[deploy.argocd]`", "write `repo = \"REPO\"`: URL of the Git"],
        ),
        (
            &[("bundles.toml", with("layuot = \"flat\"\n"))],
            &["build"],
            ["unknown key `layuot`", "did you mean `layout`, which belongs in `[output]`?"],
        ),
        (
            &[("bundles.toml", with("watch-namespaces = [\"a\"]\n"))],
            &["build"],
            ["unknown key `watch-namespaces`", "write `watch`, which is"],
        ),
        (
            &[("bundles.toml", with("image-registry = \"a\"\n"))],
            &["build"],
            [
                "`catalog`, `channel`, and others; `bundle2chart schema`",
                "`bundle2chart schema` has all",
            ],
        ),
        (
            &[(
                "bundles.toml",
                with(
                    "[[chart]]\nname = \"a\"\nchart-version = \"1.0.0\"\nmanifests = [\"a\"]\npath = \"a\"\n",
                ),
            )],
            &["build"],
            ["unknown key `path` in `[[chart]]`", "write `manifests`, which is"],
        ),
        (
            &[("bundles.toml", CONFIG.replace("\"lamp-", "\"lamp\\d"))],
            &["build"],
            ["missing escaped value", "write the text in single quotes"],
        ),
        (
            &[
                ("bundles.toml", with(&overlay.replace("extra.yaml", "extra.toml"))),
                ("extra.toml", "[a]\nb = 1\n".to_owned()),
            ],
            &["build"],
            ["found more after the end of the document", "this one is TOML"],
        ),
        (
            &[("bundles.toml", with("exclude = ['.kind == \"Deployment\"']\n"))],
            &["build"],
            ["filters remove the only Deployment: ", "narrow `exclude`"],
        ),
        (
            &[(
                "bundles.toml",
                with("patch = [{ match = '.metadata.name == \"lamp-oprator\"', patch = '.' }]\n"),
            )],
            &["build"],
            ["matched no objects", "did you mean `lamp-operator`?"],
        ),
        // Patches.
        (
            &[("bundles.toml", with(&patch("{spec: {replicas: 2}}")))],
            &["build"],
            ["it changes or drops kind, apiVersion, name", "as `.spec.replicas = 2` does"],
        ),
        (
            &[("bundles.toml", with(&patch(".spec.template.spec.priorityClasName = \"a\"")))],
            &["build"],
            [
                "it sets the unknown field `.spec.template.spec.priorityClasName`",
                "set a field of this type",
            ],
        ),
        (
            &[("bundles.toml", with(&patch(".spec.template.spec.containers[3].image = \"a\"")))],
            &["build"],
            ["index 3 out of bounds", "select the item by a field"],
        ),
        (
            &[("bundles.toml", with(&patch(".spec.a.b = 1")))],
            &["build"],
            ["null has no entries", "`+=` creates a missing map"],
        ),
        (
            &[("bundles.toml", with("watch = [\"all\"]\n"))],
            &["build"],
            ["`watch` is a word in a list", "write `watch = \"all\"`"],
        ),
        (
            &[("bundles.toml", with("resources = {}\n"))],
            &["build"],
            ["unknown key `resources`", "= hint: `resources` belongs in `[bundle.config]`\n"],
        ),
        // Sources that are something else.
        (
            &[("bundles.toml", path("other/bundel"))],
            &["build"],
            ["`other/bundel` does not exist", "check the path: relative to bundles.toml"],
        ),
        (
            &[(
                "bundles.toml",
                CONFIG.replace("path = \"bundle\"", "image = \"${REGISTRY}/lamps:1\""),
            )],
            &["build"],
            ["it has a `$`", "write the value: variables are not expanded"],
        ),
        (
            &[],
            &["add", "lamps", "registry.example.com/catalog:1"],
            ["is not the name of a package", "`add registry.example.com/catalog:1 lamps`"],
        ),
        (
            &[
                ("bundles.toml", path("empty")),
                ("empty/manifests/crd.yaml", CRD.to_owned()),
                ("empty/metadata/annotations.yaml", ANNOTATIONS.to_owned()),
            ],
            &["build"],
            ["no ClusterServiceVersion in `manifests`", "--> empty/manifests\n"],
        ),
        (
            &[("bundles.toml", path("chart")), ("chart/Chart.yaml", "name: other\n".to_owned())],
            &["build"],
            ["`chart` is not a bundle directory", "this is a Helm chart"],
        ),
        (
            &[("bundles.toml", path(CSV_FILE))],
            &["build"],
            ["lamp.clusterserviceversion.yaml` is not a bundle", "write `bundle`: this is a part"],
        ),
        (
            &[
                ("bundles.toml", catalog.clone()),
                ("all/lamps/manifests/csv.yaml", CSV.to_owned()),
                ("all/lamps/metadata/annotations.yaml", ANNOTATIONS.to_owned()),
                ("all/sockets/1.0.0/manifests/csv.yaml", CSV.to_owned()),
                ("all/sockets/1.0.0/metadata/annotations.yaml", ANNOTATIONS.to_owned()),
            ],
            &["build"],
            ["bundle2chart add ./all/lamps`; it also has", "`./all/sockets/1.0.0`"],
        ),
        (&[], &["inspect", "nosuch"], ["it has no registry host", "or `./nosuch` for a path"]),
        // Arguments are no lines of the configuration.
        (&[], &["add", "./nosuch"], ["`./nosuch` does not exist", "--> command line:3:8"]),
        (
            &[],
            &["add", "bundle", "--name", "Lamps", "--namespace", "lamps"],
            ["the name of a bundle or chart contains 'L'", "--> command line:2:8"],
        ),
        (
            std::slice::from_ref(&nothing),
            &["images"],
            ["the configuration has no bundle", "--> bundles.toml\n"],
        ),
        (
            &[],
            &["build", "--out", "bundle/charts"],
            ["`bundle/charts` is in the directory of the bundle or chart `lamp", "`--out DIR`"],
        ),
        (
            &[
                (
                    "bundles.toml",
                    "[output]\ndir = \"own/charts\"\n[[chart]]\nname = \"own\"\nchart-version = \"1.0.0\"\nmanifests = [\"own\"]\n".to_owned(),
                ),
                ("own/a.yaml", "{apiVersion: v1, kind: ConfigMap, metadata: {name: a}}\n".to_owned()),
            ],
            &["build"],
            ["`own/charts` is in the directory of the bundle or chart `own`", "bundles.toml:6:14"],
        ),
        (
            &[("bundles.toml", "bundle = [{ name = \"other\", path = \"bundle\" }]\n".to_owned())],
            &["add", "bundle", "--name", "lamps"],
            ["`bundle` is an inline list, to which no table", "--> bundles.toml:1:10"],
        ),
        (
            &[("out/lamp-operator/1.2.3/Chart.yaml", "name: other\n".to_owned())],
            &["diff", "lamp-operator@1.0.0", "bundle"],
            ["version 1.0.0 of chart `lamp-operator` not found", "write `lamp-operator@1.2.3`"],
        ),
    ];
    for (files, command, expected) in mistakes {
        let case = Case::with_lamps();
        for (path, content) in files {
            case.write(path, content);
        }
        let seen = case.run(command);
        for text in expected {
            assert!(seen.stderr.contains(text), "{command:?}: no {text:?} in\n{}", seen.text());
        }
        let count = seen.stderr.matches("error[").count() + seen.stderr.matches("warning[").count();
        assert_eq!(count, 1, "{}", seen.text());
    }
}

/// Returns the path in a line of a report: after an arrow, or in brackets with the object.
fn place(line: &str) -> Option<&str> {
    let place = line.split_once("--> ").map(|(_, place)| place);
    place.or_else(|| line.strip_suffix(')')?.rsplit(['(', ' ']).next())?.split(':').next()
}

/// Every place is a path from the working folder, wherever that is.
#[test]
fn places_open_from_the_working_folder() {
    let case = Case::with_lamps();
    let service = "apiVersion: v1\nkind: Service\nmetadata: {name: a}\nspec: {prots: []}\n";
    case.replace(CSV_FILE, "containerPort: 8080", "{containerPort: 8080, prot: TCP}");
    case.write("overlays/service.yaml", service);
    case.write("manifests/service.yaml", service);
    case.write("own/service.yaml", service);
    case.write(
        "bundles.toml",
        format!(
            "{CONFIG}[[bundle.overlay]]\npath = \"overlays\"\n\
             [[bundle.overlay]]\npath = \"manifests/service.yaml\"\n\
             [[chart]]\nname = \"own\"\nchart-version = \"1.0.0\"\nmanifests = [\"own\"]\n"
        ),
    );
    let in_folder = |folder: &str, arguments: &[&str]| {
        case.write(&format!("{folder}/.keep"), "");
        case.shell(&format!("cd {folder}; exec \"$0\" \"$@\""), arguments, &[])
    };
    let files = [CSV_FILE, "overlays/service.yaml", "manifests/service.yaml", "own/service.yaml"];
    for (folder, up) in [(".", ""), ("sub", "../"), ("sub/sub", "../../")] {
        let config = format!("{up}bundles.toml");
        let seen = in_folder(folder, &["build", "-v", "-c", &config]);
        let places: Vec<&str> = seen.stderr.lines().filter_map(place).collect();
        for file in files {
            let shown = format!("{up}{file}");
            assert!(places.contains(&shown.as_str()), "{shown} in {folder}: {}", seen.text());
        }
        for place in places {
            assert!(
                case.path(folder).join(place).is_file(),
                "{place} in {folder}: {}",
                seen.text()
            );
        }

        let seen = in_folder(folder, &["inspect", &format!("{up}bundle")]);
        assert!(seen.stderr.contains(&format!("--> {up}{CSV_FILE}:")), "{}", seen.text());
    }

    // So is each file of `build --check`, with and without a chart.
    let case = Case::with_lamps();
    assert_eq!(case.run(&["build"]).code, Some(0));
    case.write("out/lamp-operator/1.2.3/values.yaml", "{}\n");
    let seen = case.shell(
        "mkdir sub; cd sub; exec \"$0\" \"$@\"",
        &["build", "--check", "-c", "../bundles.toml"],
        &[],
    );
    assert_eq!(seen.stdout, "stale ../out/lamp-operator/1.2.3/values.yaml\n", "{}", seen.text());
    assert!(seen.stderr.contains("run `bundle2chart build --replace`"), "{}", seen.text());
}
