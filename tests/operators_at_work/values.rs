//! Values of a chart on the running operator.

use crate::checks::{self, Broken};
use crate::installation::{Chart, Installation, NAMESPACE};
use crate::life::PATIENCE;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value as Json, json};

const REGISTRY: &str = "mirror.example.com/copies";

/// Credentials for the pull secret.
const CREDENTIALS: &str = r#"{"auths":{"mirror.example.com":{"auth":"dXNlcjpwYXNz"}}}"#;

/// Sets values by an upgrade, and returns what they do not do.
pub(crate) fn check(installation: &mut Installation<'_>, chart: &Chart) -> Vec<Broken> {
    let values = values(installation, chart);
    let file = tempfile::NamedTempFile::new().expect("a file");
    std::fs::write(file.path(), values.to_string()).expect("a file");
    installation.upgrade(chart, &["--values", file.path().to_str().expect("UTF-8")]);

    let mut broken = checks::check(installation, "valued", PATIENCE);
    broken.extend(
        differences(installation, chart)
            .into_iter()
            .map(|detail| Broken { check: checks::VALUES, detail }),
    );
    if installation.operator.has_leader {
        broken.extend(successor(installation));
    }
    broken
}

/// Values for everything that a running operator shows.
fn values(installation: &Installation<'_>, chart: &Chart) -> Json {
    let (deployment, container) = chart.workload();
    let mut settings = json!({
        "extraEnv": [{ "name": "EXTRA", "value": "of $(HOSTNAME_OF_TEST)" }],
        "extraArgs": { &container: [installation.operator.argument] },
        "resources": { &container: { "limits": { "cpu": "2", "memory": "3Gi" } } },
        "podLabels": { "example.com/labelled": "true" },
    });
    if installation.operator.has_leader {
        settings["replicas"] = json!(2);
    }
    let images = installation.images();
    let registry = images[0].split('/').next().expect("a registry");
    json!({
        "deployments": { deployment: settings },
        "proxy": {
            "http": "http://proxy.example.com:3128",
            "https": "http://proxy.example.com:3128",
            "noProxy": no_proxy(chart),
        },
        "pullSecret": { "name": "pull-secret", "dockerConfigJson": CREDENTIALS },
        "imageRegistries": { registry: REGISTRY },
    })
}

/// The value that the README of the chart recommends.
fn no_proxy(chart: &Chart) -> String {
    let readme = std::fs::read_to_string(chart.path.join("README.md")).expect("a README");
    let row = readme.lines().find(|line| line.starts_with("| `proxy.noProxy`")).expect("a row");
    row.split('`').nth_back(1).expect("an example").to_owned()
}

/// Values that the pods do not have.
fn differences(installation: &Installation<'_>, chart: &Chart) -> Vec<String> {
    let (_, container) = chart.workload();
    let mut wrong = Vec::new();
    let processes = installation.processes();
    if processes.is_empty() {
        wrong.push("no process".to_owned());
    }
    for (environment, arguments) in &processes {
        for variable in [
            "EXTRA=of $(HOSTNAME_OF_TEST)",
            "HTTP_PROXY=http://proxy.example.com:3128",
            "HTTPS_PROXY=http://proxy.example.com:3128",
            "NO_PROXY=10.0.0.1,.svc,.cluster.local",
        ] {
            if !environment.lines().any(|line| line == variable) {
                wrong.push(format!("{variable} is not in {environment}"));
            }
        }
        if !arguments.lines().any(|line| line == installation.operator.argument) {
            wrong.push(format!("{} is not in {arguments}", installation.operator.argument));
        }
    }

    for pod in installation.pods() {
        let has_limits =
            crate::objects::containers(&pod).find(|spec| spec["name"] == *container).is_some_and(
                |spec| spec["resources"]["limits"] == json!({ "cpu": "2", "memory": "3Gi" }),
            );
        if !has_limits {
            wrong.push(format!("other resources: {}", pod["spec"]["containers"]));
        }
        if crate::objects::label(&pod, "example.com/labelled") != "true" {
            wrong.push(format!("no label: {}", pod["metadata"]["labels"]));
        }
        if !has_credentials(installation, &pod) {
            wrong.push(format!("no credentials: {}", pod["spec"]["imagePullSecrets"]));
        }
    }
    let elsewhere = |image: &String| !image.starts_with(REGISTRY);
    wrong.extend(installation.images().into_iter().filter(elsewhere));
    wrong
}

/// True if a pull secret of the pod has the credentials.
fn has_credentials(installation: &Installation<'_>, pod: &Json) -> bool {
    let secrets = crate::objects::items(pod, "/spec/imagePullSecrets");
    let mut contents = secrets.filter_map(|secret| {
        let name = secret["name"].as_str().expect("a name");
        let path = format!("/api/v1/namespaces/{NAMESPACE}/secrets/{name}");
        let secret = installation.cluster.get(&path)?;
        STANDARD.decode(secret["data"][".dockerconfigjson"].as_str()?).ok()
    });
    contents.any(|content| content == CREDENTIALS.as_bytes())
}

/// Deletes the leader: another pod has to follow.
fn successor(installation: &Installation<'_>) -> Option<Broken> {
    let first = installation.leaders();
    let pod = first.first()?;
    let path = format!("/api/v1/namespaces/{NAMESPACE}/pods/{pod}");
    installation.cluster.client.send("DELETE", &path, None);
    let followed = || {
        let leaders = installation.leaders();
        (leaders.len() == 1 && leaders != first).then_some(())
    };
    let detail = || format!("{pod} has no successor: {:?}", installation.leaders());
    match installation.cluster.within(PATIENCE, followed) {
        Some(()) => None,
        None => Some(Broken { check: checks::LEADER, detail: detail() }),
    }
}
