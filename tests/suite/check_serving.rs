//! `check-serving` as a person sees it.

use crate::support::command::Case;

const PODS: &str = "\
apiVersion: apps/v1
kind: Deployment
metadata: {name: chat, namespace: models}
spec:
  selector: {matchLabels: {app: chat}}
  template:
    metadata: {labels: {app: chat}}
    spec:
      containers:
      - name: engine
        image: vllm/vllm-openai:v0.33.0@sha256:0000000000000000000000000000000000000000000000000000000000000000
        command: [vllm, serve]
        args: [example/model, --tensor-parallel-size=2]
        resources: {limits: {nvidia.com/gpu: 2}}
        volumeMounts: [{name: shm, mountPath: /dev/shm}]
      volumes: [{name: shm, emptyDir: {medium: Memory}}]
";

const POOL: &str = "\
apiVersion: inference.networking.k8s.io/v1
kind: InferencePool
metadata: {name: chat, namespace: models}
spec:
  selector: {matchLabels: {app: chat}}
  targetPorts: [{number: 8000}, {number: 8001}]
";

#[test]
fn clean_manifests_are_exit_code_0() {
    let case = Case::new();
    case.write("manifests/pods.yaml", PODS);
    case.write("manifests/deeper/values.yaml", "replicas: 3\n");
    case.write(
        "manifests/kustomization.yaml",
        "apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\n",
    );
    case.write("manifests/notes.txt", "not YAML: [");
    insta::assert_snapshot!(case.run(&["check-serving", "manifests"]).text());
}

#[test]
fn the_same_names_in_another_namespace_are_another_stack() {
    let stack = include_str!("../../fixtures/serving/single.yaml");
    let elsewhere = stack
        .replace("namespace: models", "namespace: tests")
        .replace(".models.", ".tests.")
        .replace("-namespace=models", "-namespace=tests");
    let case = Case::new();
    case.write("models.yaml", stack);
    case.write("tests.yaml", elsewhere);
    let seen = case.run(&["check-serving", "models.yaml", "tests.yaml"]);
    assert_eq!(seen.code, Some(0), "{}", seen.text());
}

#[test]
fn findings_are_exit_code_1_in_all_formats() {
    let case = Case::new();
    case.write("pods.yaml", PODS.replace("size=2", "size=4"));
    case.write("pool.yaml", POOL);
    let mut shown = String::new();
    for format in ["human", "json", "github"] {
        let seen =
            case.run(&["check-serving", "pods.yaml", "pool.yaml", "--message-format", format]);
        shown.push_str(&seen.text());
    }
    insta::assert_snapshot!(shown);
    let seen = case.run(&["check-serving", "pods.yaml", "pool.yaml", "--message-format", "sarif"]);
    assert_eq!(seen.code, Some(1));
    let sarif: serde_json::Value = serde_json::from_str(&seen.stdout).expect("JSON");
    assert_eq!(sarif["runs"][0]["results"].as_array().expect("results").len(), 2);
}

#[test]
fn standard_input_is_a_set_of_manifests() {
    let case = Case::new();
    case.write("all.yaml", format!("{PODS}---\n{POOL}"));
    let seen =
        case.shell("exec \"$0\" check-serving - --message-format github < all.yaml", &[], &[]);
    insta::assert_snapshot!(seen.text());
}

#[test]
fn what_cannot_be_checked_is_exit_code_2() {
    let case = Case::new();
    case.write("chart/templates/pods.yaml", "{{- if .Values.x }}\nkind: A\n{{- end }}\n");
    case.write(
        "template.yaml",
        "apiVersion: v1\nkind: A\nmetadata:\n  name: {{ .Release.Name }}\n",
    );
    case.write("nothing.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n");
    let mut shown = String::new();
    for arguments in [
        &["check-serving", "chart"][..],
        &["check-serving", "template.yaml"],
        &["check-serving", "nothing.yaml"],
        &["check-serving", "missing"],
        &["check-serving"],
        &["check-serving", "nothing.yaml", "--api", "llm-d-9"],
    ] {
        shown.push_str(&case.run(arguments).text());
    }
    insta::assert_snapshot!(shown);
}

/// The pods of an autoscaler may be in another file.
#[test]
fn parts_without_a_server_are_a_note() {
    let case = Case::new();
    let scaler = "apiVersion: autoscaling/v2\nkind: HorizontalPodAutoscaler\nmetadata: {name: a}\n\
        spec: {maxReplicas: 2, scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: a}}\n";
    case.write("scaler.yaml", scaler);
    let seen = case.run(&["check-serving", "scaler.yaml"]);
    assert_eq!(seen.code, Some(0), "{}", seen.text());
    assert!(seen.text().contains("note[serving-nothing]"), "{}", seen.text());
}

/// A file of half a kilobyte must not fill the machine: the limits of memory and time are those of
/// every run.
/// Templates are not YAML: one error for a chart in place of one for each of its files.
#[test]
fn a_chart_is_one_error() {
    let case = Case::new();
    case.write("charts/chat/Chart.yaml", "apiVersion: v2\nname: chat\nversion: 0.1.0\n");
    case.write("charts/chat/values.yaml", "replicas: 1\n");
    for name in ["a", "b"] {
        let path = format!("charts/chat/templates/{name}.yaml");
        case.write(&path, PODS.replace("name: chat", "name: {{ .Release.Name }}"));
    }
    let seen = case.run(&["check-serving", "charts"]);
    assert_eq!((seen.code, seen.text().matches("error[").count()), (Some(2), 1), "{}", seen.text());
    let hint = "`helm template NAME charts/chat | bundle2chart check-serving -`";
    assert!(seen.text().contains(hint), "{}", seen.text());
}

#[test]
fn a_command_that_is_not_followed_is_a_note() {
    let case = Case::new();
    case.write("pods.yaml", PODS.replace("[vllm, serve]", "[./start.sh]"));
    let seen = case.run(&["check-serving", "pods.yaml"]);
    assert!(
        seen.text().contains("because its command `./start.sh` is not followed"),
        "{}",
        seen.text()
    );
}

#[test]
fn images_of_no_known_release_are_a_note() {
    for (tag, judge) in [
        ("v99.0.0", "are judged by vLLM 0.33.0, the newest known release"),
        ("latest", "are judged by no release: it names no release of vLLM"),
    ] {
        let case = Case::new();
        let image = format!("vllm/vllm-openai:{tag}");
        case.write("pods.yaml", PODS.replace("vllm/vllm-openai:v0.33.0", &image));
        case.write(
            "bundles.toml",
            format!(
                "[[serving]]\nname = \"chat\"\nmodel = \"pvc://models/chat\"\nallow-tags = true\n\
                 engine = {{ image = \"{image}\" }}\nprefill = {{}}\n"
            ),
        );
        for arguments in [&["check-serving", "pods.yaml"][..], &["build"]] {
            let seen = case.run(arguments);
            let notes = seen.text().matches(judge).count();
            assert_eq!(notes, 1, "{tag} {arguments:?}\n{}", seen.text());
        }
    }
}

#[test]
fn variables_that_multiply_are_not_expanded() {
    let doubling = "a=$a$a; ".repeat(28);
    let script = format!("a=xxxxxxxx; {doubling} exec vllm serve m --port $a $@");
    let arguments = format!("shift; {}vllm serve m", "set -- \\\"$@\\\" \\\"$@\\\"; ".repeat(28));
    let chain: String =
        (1..29).map(|n| format!(", {{name: v{n}, value: $(v{0})$(v{0})}}", n - 1)).collect();
    let environment = format!("[{{name: v0, value: xxxxxxxx}}{chain}]");
    let arithmetic =
        format!("a={}; vllm serve m --port $(({}))", "0".repeat(60_000), "a+".repeat(30_000));
    let here_document = format!("a=x; {doubling} cat <<EOF | bash -c \\\"$a\\\"\\n$a\\nEOF\\n");
    for command in [
        format!("command: [bash, -c, \"{script}\"]"),
        format!("command: [bash, -c, \"bash -c '{script}'; {script}\"]"),
        format!("command: [bash, -c, \"{arguments} $*\", x, {}]", "y, ".repeat(50_000)),
        format!("command: [vllm, serve, m, --port, $(v28)]\n        env: {environment}"),
        format!("command: [bash, -c, \"{arithmetic}\"]"),
        format!("command: [bash, -c, \"{here_document}; vllm serve m\"]"),
        format!("command: [bash, -c, \"{}vllm serve m\"]", "a <<E\\n".repeat(10_000)),
    ] {
        let case = Case::new();
        case.write("pods.yaml", PODS.replace("command: [vllm, serve]", &command));
        case.write("pool.yaml", POOL);
        let seen = case.run(&["check-serving", "pods.yaml", "pool.yaml"]);
        let wanted = "note[serving-unread]: command of container `engine` of Deployment/chat is \
                      not checked";
        assert!(seen.code.is_some_and(|code| code < 2), "{}", seen.text());
        if !command.contains("set --") {
            assert!(seen.stderr.contains(wanted), "{}", seen.text());
            assert!(!seen.stderr.contains("serving-pool-ports"), "{}", seen.text());
        }
    }
    // One container costs little; of many, each still has its note.
    let case = Case::new();
    let pods =
        PODS.replace("command: [vllm, serve]", &format!("command: [bash, -c, \"{script}\"]"));
    let many: Vec<String> =
        (0..500).map(|n| pods.replacen("name: chat", &format!("name: chat-{n}"), 1)).collect();
    case.write("pods.yaml", many.join("---\n"));
    let seen = case.run(&["check-serving", "pods.yaml"]);
    assert_eq!(seen.code, Some(0), "{}", seen.text());
    assert!(seen.stderr.contains("500 notes"), "{}", seen.stderr);
}

#[test]
fn the_invariants_are_listed() {
    insta::assert_snapshot!(Case::new().run(&["check-serving", "--list"]).text());
}

#[test]
fn a_configuration_of_models_alone_builds() {
    let case = Case::new();
    case.write(
        "bundles.toml",
        "[[serving]]\nname = \"chat\"\nmodel = \"hf://example/model\"\n\
         engine = { image = \"example.com/vllm:1\" }\nallow-tags = true\n\
         [[serving]]\nname = \"other\"\nmodel = \"hf://example/other\"\n\
         engine = { image = \"example.com/vllm:1\" }\nallow-tags = true\n",
    );
    let seen = case.run(&["--quiet", "build", "chat"]);
    assert_eq!(seen.code, Some(0), "{}", seen.text());
    insta::assert_snapshot!(case.listing("out"));
    assert_eq!(case.run(&["--quiet", "build"]).code, Some(0));
    assert_eq!(case.run(&["--quiet", "build", "--check"]).code, Some(0));
    assert_eq!(case.run(&["--quiet", "lock"]).code, Some(0));
    // A model is installed like any chart, after what it depends on.
    let models = case.read("bundles.toml");
    case.write(
        "bundles.toml",
        format!("[deploy]\nhelmfile = true\n{models}depends-on = [\"chat\"]\n"),
    );
    let seen = case.run(&["--quiet", "build", "--replace"]);
    assert_eq!(seen.code, Some(0), "{}", seen.text());
    insta::assert_snapshot!("helmfile", case.read("out/helmfile.yaml"));
    case.write("bundles.toml", models);
    insta::assert_snapshot!("images", case.run(&["images"]).text());
    assert!(case.run(&["images", "chat"]).stdout.contains("vllm:1"));
    insta::assert_snapshot!("unknown", case.run(&["build", "chats"]).text());
    case.replace("bundles.toml", "name = \"other\"", "name = \"chat\"");
    insta::assert_snapshot!("twice", case.run(&["--quiet", "build"]).text());
}

#[test]
fn two_models_have_no_object_in_common() {
    let case = Case::new();
    let model = |name: &str, namespace: &str| {
        format!(
            "[[serving]]\nname = \"{name}\"\nnamespace = \"{namespace}\"\n\
             model = \"hf://example/{name}\"\nengine = {{ image = \"example.com/vllm:1\" }}\nallow-tags = true\n\
             objectives = {{ premium = 1 }}\nroute = {{ gateway = \"g\", gateway-class = \"c\" }}\n"
        )
    };
    case.write("bundles.toml", format!("{}{}", model("chat", "one"), model("chat-epp", "one")));
    insta::assert_snapshot!(case.run(&["--quiet", "build"]).text());
    assert_eq!(case.listing("out"), "", "something was written");
    case.write("bundles.toml", format!("{}{}", model("chat", "one"), model("chat-epp", "two")));
    assert_eq!(case.run(&["--quiet", "build"]).code, Some(0));
    // Two models at one path of one Gateway.
    let at = |name: &str| {
        model(name, "one")
            .replace("objectives = { premium = 1 }\n", "")
            .replace(", gateway-class = \"c\"", "")
    };
    case.write("bundles.toml", format!("{}{}", at("chat"), at("other")));
    let seen = case.run(&["build", "--replace"]);
    assert_eq!(seen.code, Some(0));
    let shown = seen.text();
    assert!(
        shown.contains("HTTPRoute/chat and HTTPRoute/other both match `PathPrefix /`"),
        "{shown}"
    );
}
