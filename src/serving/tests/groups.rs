//! Groups of pods, each with a valid counterpart.

use super::engines::{group, shared, vllm};
use super::pods::{Row, image, merge, object};
use serde_json::{Value as Json, json};

const LWS: &str = "leaderworkerset.x-k8s.io/v1";

/// Pods of another program.
fn plain(container: &Json) -> Json {
    let mut one = json!({"name": "own", "image": image("example.com/own:1")});
    merge(&mut one, container);
    json!({"spec": {"containers": [one]}})
}

/// A group of another program, with changes of its spec.
fn set(name: &str, spec: &Json) -> Vec<Json> {
    let mut all = json!({"leaderWorkerTemplate": {"size": 2, "workerTemplate": plain(&json!({}))}});
    merge(&mut all, spec);
    vec![object(LWS, "LeaderWorkerSet", name, &json!({"spec": all}))]
}

/// A group whose workers have this container.
fn workers(size: u32, container: &Json) -> Vec<Json> {
    let template = json!({"size": size, "leaderTemplate": plain(&json!({})), "workerTemplate": plain(container)});
    set("group", &json!({"leaderWorkerTemplate": template}))
}

/// A set of roles with these numbers of replicas.
fn roles(replicas: &[Option<u32>], more: &Json) -> Vec<Json> {
    let role = |(index, replicas): (usize, &Option<u32>)| {
        let mut spec =
            json!({"leaderWorkerTemplate": {"size": 1, "workerTemplate": plain(&json!({}))}});
        merge(&mut spec, more);
        if let Some(replicas) = replicas {
            spec["replicas"] = json!(replicas);
        }
        json!({"name": format!("role-{index}"), "spec": spec})
    };
    let roles: Vec<Json> = replicas.iter().enumerate().map(role).collect();
    vec![object(
        "disaggregatedset.x-k8s.io/v1",
        "DisaggregatedSet",
        "chat",
        &json!({"spec": {"roles": roles}}),
    )]
}

/// Changes the group's spec.
fn with(mut objects: Vec<Json>, spec: &Json) -> Vec<Json> {
    merge(&mut objects[0]["spec"], spec);
    objects
}

/// Changes the containers of the leader and of the workers.
fn containers(mut objects: Vec<Json>, leader: &Json, worker: &Json) -> Vec<Json> {
    for (part, change) in [("leaderTemplate", leader), ("workerTemplate", worker)] {
        let template = &mut objects[0]["spec"]["leaderWorkerTemplate"][part];
        merge(&mut template["spec"]["containers"][0], change);
    }
    objects
}

/// A group behind a Service: labels of the leader and of the workers, and changes of the Service.
fn behind(mut objects: Vec<Json>, [leader, worker]: [&str; 2], service: &Json) -> Vec<Json> {
    for (part, label) in [("leaderTemplate", leader), ("workerTemplate", worker)] {
        let template = &mut objects[0]["spec"]["leaderWorkerTemplate"][part];
        template["metadata"] = json!({"labels": {"app": label}});
    }
    let mut spec = json!({"selector": {"app": "group"}, "ports": [{"port": 8000}]});
    merge(&mut spec, service);
    objects.push(object("v1", "Service", "group", &json!({"spec": spec})));
    objects
}

/// Pods of a Ray cluster with these images, below a path of an object.
fn ray(kind: &str, key: &str, [head, worker]: [&str; 2]) -> Vec<Json> {
    let pods = |image: &str| json!({"template": {"spec": {"containers": [{"name": "ray", "image": super::pods::image(image)}]}}});
    let cluster = json!({"headGroupSpec": pods(head), "workerGroupSpecs": [pods(worker)]});
    let spec = if key.is_empty() { cluster } else { json!({key: cluster}) };
    vec![object("ray.io/v1", kind, "ray", &json!({"spec": spec}))]
}

#[rustfmt::skip]
pub(super) fn rows() -> Vec<Row> {
    let none = || json!({});
    let sound = ("", "");
    let mut rows: Vec<Row> = Vec::new();
    let mut row = |about, others, (code, says)| rows.push((about, none(), none(), others, code, says));

    // What the webhook of LeaderWorkerSet validates.
    let invalid_name = ("serving-group", "is not a valid name for a LeaderWorkerSet");
    let longest = "n".repeat(52);
    row("a name", set("group-1", &none()), sound);
    row("the longest name", set(&longest, &none()), sound);
    row("a name that is too long", set(&format!("{longest}n"), &none()), invalid_name);
    row("a name in capitals", set("Group", &none()), invalid_name);
    row("a name with a digit first", set("1-group", &none()), invalid_name);
    let rollout = |update: Json| set("group", &json!({"rolloutStrategy": {"type": "RollingUpdate", "rollingUpdateConfiguration": update}}));
    for update in [json!({"maxUnavailable": 0, "maxSurge": 0}), json!({"maxUnavailable": 0}), json!({"maxUnavailable": "0%", "maxSurge": "0"})] {
        row("a rollout without room", rollout(update), ("serving-group", "are both 0"));
    }
    for update in [json!({"maxUnavailable": 0, "maxSurge": 1}), json!({"maxUnavailable": 1, "maxSurge": 0}), json!({"maxSurge": 0}), json!({"maxUnavailable": "10%"})] {
        row("a rollout", rollout(update), sound);
    }
    let numbered = |replicas: Option<u32>, size: Option<u32>| set("group", &json!({"replicas": replicas, "leaderWorkerTemplate": {"size": size}}));
    row("the most groups of one pod", numbered(Some(2_147_483_647), None), sound);
    row("the largest group", numbered(None, Some(2_147_483_647)), sound);
    row("too many pods", numbered(Some(2), Some(1_073_741_824)), ("serving-group", "invalid number of pods"));
    row("no pods", numbered(Some(1), Some(0)), ("serving-group", "invalid number of pods"));
    let parts = |size: u32, part: u32| set("group", &json!({"leaderWorkerTemplate": {"size": size, "subGroupPolicy": {"subGroupSize": part}}}));
    for (size, part) in [(6, 3), (4, 3)] {
        row("subgroups", parts(size, part), sound);
    }
    row("a subgroup that is not whole", parts(5, 3), ("serving-group", "group size 5 is not divisible by subgroup size 3"));
    for replicas in [&[Some(1), Some(2)][..], &[Some(0), Some(0)], &[None, Some(1)]] {
        row("roles", roles(replicas, &none()), sound);
    }
    for replicas in [&[Some(0), Some(1)][..], &[None, Some(0)]] {
        row("a role without pods", roles(replicas, &none()), ("serving-group", "some roles have 0 replicas"));
    }
    let partition = json!({"rolloutStrategy": {"type": "RollingUpdate", "rollingUpdateConfiguration": {"partition": 1}}});
    row("a role with a partition", roles(&[Some(1)], &partition), ("serving-group", "a role has `partition`"));

    // Startup.
    let leader = "$(LWS_LEADER_ADDRESS)";
    let master = format!("--master-addr={leader}");
    let address = format!("--data-parallel-address={leader}");
    let first = ["--nnodes=2", "--node-rank=0", &master, "--tensor-parallel-size=2"];
    let other = ["--nnodes=2", "--node-rank=$(LWS_WORKER_INDEX)", &master, "--tensor-parallel-size=2", "--headless"];
    let nodes = || group(2, &first, &other);
    let ready = json!({"startupPolicy": "LeaderReady"});
    let probe = |port: u32| json!({"readinessProbe": {"httpGet": null, "tcpSocket": {"port": port}}});
    row("nodes of one engine", nodes(), sound);
    row("a leader that waits for workers", with(nodes(), &ready), ("serving-startup", "startupPolicy LeaderReady deadlocks"));
    row("a leader with its own probe", containers(with(nodes(), &ready), &probe(6379), &none()), ("!", "LeaderReady deadlocks"));
    row("a leader with a probe of the engine", containers(with(nodes(), &ready), &probe(8000), &none()), ("serving-startup", "startupPolicy LeaderReady deadlocks"));
    for size in [json!(1), Json::Null] {
        row("a leader alone", with(nodes(), &json!({"startupPolicy": "LeaderReady", "leaderWorkerTemplate": {"size": size}})), ("!", "LeaderReady deadlocks"));
    }

    // Members.
    let runs = |script: &str| json!({"command": ["sh", "-c", script]});
    let waits = "workers do not wait until the leader's name resolves";
    row("a worker that does not wait", workers(2, &runs("join $LWS_LEADER_ADDRESS")), ("serving-leader-address", waits));
    row("a leader that does not wait", containers(workers(2, &none()), &runs("join $LWS_LEADER_ADDRESS"), &none()), ("!", waits));
    for script in ["getent hosts $LWS_LEADER_ADDRESS", "nslookup $LWS_LEADER_ADDRESS", "until ping $LWS_LEADER_ADDRESS; do sleep 1; done"] {
        row(script, workers(2, &runs(script)), ("!", waits));
    }
    let no_variable = "LeaderWorkerSet sets no variable `LWS_PEER_COUNT`";
    row("a variable of groups", workers(2, &runs("echo $LWS_PEER_COUNT")), ("serving-group", no_variable));
    row("a variable with a default", workers(2, &runs("echo ${LWS_PEER_COUNT:-1}")), ("!", no_variable));
    let mut more = runs("echo $LWS_PEER_COUNT");
    more["envFrom"] = json!([{"configMapRef": {"name": "more"}}]);
    row("a variable of a ConfigMap", workers(2, &more), ("!", no_variable));
    row("another variable", workers(2, &runs("echo $PEER_COUNT")), ("!", "LeaderWorkerSet sets no variable"));
    for name in ["NCCL_SOCKET_IFNAME", "GLOO_SOCKET_IFNAME"] {
        let on = |value: &str, devices: Json| json!({"env": [{"name": name, "value": value}], "resources": {"limits": {"nvidia.com/gpu": devices}}});
        row(name, workers(2, &on("lo", json!(1))), ("serving-group", "on which other pods cannot connect"));
        row(name, workers(2, &on("eth0", json!(1))), sound);
        row(name, workers(1, &on("lo", json!(1))), sound);
        row(name, workers(2, &on("lo", Json::Null)), sound);
    }

    // Ranks of nodes.
    let no_address = ("serving-join", "have no leader address");
    let joined = |leader: &[&str], worker: &[&str]| group(2, leader, worker);
    row("a leader with another rank", joined(&["--nnodes=2", "--node-rank=1", &master, "--tensor-parallel-size=2"], &other), ("serving-join", "leader of LeaderWorkerSet/group has `--node-rank` 1, expected 0"));
    row("a worker with another rank", joined(&first, &["--nnodes=2", "--node-rank=0", &master, "--tensor-parallel-size=2", "--headless"]), ("serving-join", "has `--node-rank` 0, expected 1"));
    row("a worker without nodes", joined(&first, &["--headless", "--tensor-parallel-size=2"]), no_address);
    row("a leader without nodes", joined(&["--tensor-parallel-size=2"], &other), no_address);
    row("a worker at its own address", joined(&first, &["--nnodes=2", "--node-rank=$(LWS_WORKER_INDEX)", "--master-addr=localhost", "--tensor-parallel-size=2", "--headless"]), ("serving-join", "look for the leader at localhost"));
    row("a worker with a server", joined(&first, &["--nnodes=2", "--node-rank=$(LWS_WORKER_INDEX)", &master, "--tensor-parallel-size=2"]), ("serving-join", "start their own servers"));
    let separate = "each of the 2 pods of LeaderWorkerSet/group runs a separate engine";
    row("an engine in each pod", joined(&[], &[]), ("serving-join", separate));
    row("a server of another protocol", joined(&["--grpc"], &["--grpc"]), ("!", separate));
    let by_variable = json!({"env": [{"name": "VLLM_DP_RANK", "value": "1"}]});
    row("ranks of variables", containers(joined(&[], &[]), &by_variable, &by_variable), ("!", separate));
    let ranks = |more: &'static [&'static str]| [&["--data-parallel-size=2", "--data-parallel-size-local=1"], more].concat();
    let start = "--data-parallel-start-rank=$(LWS_WORKER_INDEX)";
    let dp = |leader: Vec<&str>, worker: Vec<&str>| group(2, &leader, &worker);
    row("ranks behind the leader", dp([ranks(&[]), vec![&address]].concat(), [ranks(&["--headless"]), vec![&address, start]].concat()), sound);
    row("ranks at the other flag", dp([ranks(&[]), vec![&master]].concat(), [ranks(&["--headless"]), vec![&master, start]].concat()), sound);
    row("ranks without an address", dp(ranks(&[]), [ranks(&["--headless"]), vec![start]].concat()), no_address);
    row("ranks with servers", dp([ranks(&["--data-parallel-hybrid-lb"]), vec![&address]].concat(), [ranks(&["--data-parallel-hybrid-lb"]), vec![&address, start]].concat()), ("!", "start their own servers"));
    row("ranks with servers, but one", dp([ranks(&[]), vec![&address]].concat(), [ranks(&[]), vec![&address, start]].concat()), ("serving-join", "start their own servers"));
    for servers in [["--data-parallel-hybrid-lb", "--headless"], ["--headless", "--data-parallel-hybrid-lb"]] {
        let [leader, worker] = servers.map(|flag| [&["--data-parallel-size=2", "--data-parallel-size-local=1", &address, start][..], &[flag]].concat());
        row("ranks with servers of one part", dp(leader, worker), ("!", "start their own servers"));
    }
    for message in ["have no leader address", "start their own servers", "--data-parallel-start-rank", "look for the leader"] {
        let flags = ["--data-parallel-size-local=1", "--master-addr=localhost", "--data-parallel-start-rank=7"];
        row("all ranks in each pod", joined(&flags[..1], &flags[..1]), ("!", message));
        row("all ranks in each pod at its own address", joined(&flags, &flags), ("!", message));
    }
    let external = ["--data-parallel-size=2", "--data-parallel-rank=$(LWS_WORKER_INDEX)", &address];
    row("a rank in each pod", group(2, &external, &external), ("!", separate));
    row("a rank in each pod, with a number", group(2, &external, &external), ("!", "--data-parallel-start-rank"));

    // SGLang.
    let sglang = |leader: &str, worker: &str| {
        let pod = |flags: &str| {
            let start = format!("exec python3 -m sglang.launch_server --host 0.0.0.0 --port 8000 --model-path example/chat-8B --tp-size 2 --nnodes 2 {flags}");
            json!({"image": image("lmsysorg/sglang:v0.5.13"), "command": ["sh", "-c", start]})
        };
        containers(joined(&[], &[]), &pod(leader), &pod(worker))
    };
    let at = |port: u32, rank: &str| format!("--dist-init-addr $(LWS_LEADER_ADDRESS):{port} --node-rank {rank}");
    row("one port", sglang(&at(5000, "0"), &at(5000, "$(LWS_WORKER_INDEX)")), ("!", "--dist-init-addr"));
    row("two ports", sglang(&at(5000, "0"), &at(5001, "$(LWS_WORKER_INDEX)")), ("serving-join", "of the leader has port 5000, of workers 5001"));
    row("one rank", sglang(&at(5000, "0"), &at(5000, "0")), ("serving-join", "has `--node-rank` 0, expected 1"));

    // Services.
    let selects = "selects the workers of LeaderWorkerSet/group";
    let both = ["group", "group"];
    row("a Service of the leader", behind(nodes(), ["group", "worker"], &none()), ("!", selects));
    row("a Service of all pods", behind(nodes(), both, &none()), ("serving-headless-selected", selects));
    row("a Service of workers", behind(nodes(), ["leader", "group"], &none()), ("!", selects));
    row("a Service for discovery", behind(nodes(), both, &json!({"clusterIP": "None"})), ("!", selects));
    row("a Service of another port", behind(nodes(), both, &json!({"ports": [{"port": 9000}]})), ("!", selects));
    row("workers that are not ready", behind(containers(nodes(), &none(), &probe(9000)), both, &none()), ("!", selects));
    let mut with_proxy = behind(nodes(), both, &none());
    let proxy = json!({"name": "proxy", "image": image("example.com/proxy:1"), "ports": [{"containerPort": 8000}]});
    with_proxy[0]["spec"]["leaderWorkerTemplate"]["workerTemplate"]["spec"]["containers"].as_array_mut().expect("a list").push(proxy);
    row("workers with a proxy", with_proxy, ("!", selects));

    row("a Service of workers with a declared port", behind(containers(nodes(), &none(), &json!({"ports": [{"containerPort": 8000}]})), both, &none()), ("serving-headless-selected", selects));
    let with_ray = |script: &str| json!({"image": image("vllm/vllm-openai:v0.15.0"), "command": ["sh", "-c", script]});
    let head = with_ray("ray start --head; exec vllm serve example/chat-8B --pipeline-parallel-size 2 --distributed-executor-backend ray");
    let of_ray = |worker: &Json, labels: [&str; 2]| behind(containers(joined(&[], &[]), &head, worker), labels, &none());
    let joins = with_ray("ray start --address=$(LWS_LEADER_ADDRESS):6379 --block");
    let mut declared = joins.clone();
    declared["ports"] = json!([{"containerPort": 8000}]);
    row("a Service of workers of Ray", of_ray(&joins, both), ("serving-headless-selected", selects));
    row("a Service of workers of Ray with a declared port", of_ray(&declared, both), ("serving-headless-selected", selects));
    for script in ["ray start --block --address=$(LWS_LEADER_ADDRESS):6379", "sleep 5; ray start --block \\\n  --address $(LWS_LEADER_ADDRESS):6379"] {
        row(script, of_ray(&with_ray(script), both), ("serving-headless-selected", selects));
    }
    let mut list = joins.clone();
    list["command"] = json!(["ray", "start", "--block", "--address=$(LWS_LEADER_ADDRESS):6379"]);
    row("a worker of Ray without a shell", of_ray(&list, both), ("serving-headless-selected", selects));
    row("a second head of Ray", of_ray(&with_ray("ray start --head --block; ray status --address x"), both), ("!", selects));
    row("a Service of the head of Ray", of_ray(&joins, ["group", "worker"]), ("!", selects));
    let own = json!({"image": image("example.com/own:1"), "command": ["own"]});
    row("a Service of workers of another program", behind(containers(joined(&[], &[]), &none(), &own), both, &none()), ("!", selects));
    for (path, code) in [("/health", "serving-headless-selected"), ("/v1/models", "!")] {
        let all = sglang(&at(5000, "0"), &at(5000, "$(LWS_WORKER_INDEX)"));
        let answers = json!({"readinessProbe": {"httpGet": {"path": path, "port": 8000}}});
        row(path, behind(containers(all, &none(), &answers), both, &none()), (code, selects));
    }

    // Releases of Ray.
    let release = |release: &str| format!("rayproject/ray:{release}");
    let differ = ("serving-ray", "but the head has 2.46.0");
    for (kind, key) in [("RayCluster", ""), ("RayJob", "rayClusterSpec"), ("RayService", "rayClusterConfig")] {
        for repository in ["rayproject/ray", "rayproject/ray-llm", "rayproject/ray-ml"] {
            let tags = ["2.46.0", "2.47.0-py311"].map(|tag| format!("{repository}:{tag}"));
            row(kind, ray(kind, key, [&tags[0], &tags[1]]), differ);
        }
    }
    for tag in ["2.46.0-gpu", "2.46", "2.x.0", "nightly"] {
        row("Ray", ray("RayCluster", "", [&release("2.46.0"), &release(tag)]), ("!", "but the head has"));
    }
    row("another image", ray("RayCluster", "", [&release("2.46.0"), "example.com/ray:2.47.0"]), ("!", "but the head has"));

    // One pod of vLLM.
    let mut row = |about, container: Json, whole: Json, others, (code, says)| rows.push((about, container, whole, others, code, says));
    let overlap = "`--enable-dbo` requires an all-to-all backend of DeepEP";
    let dbo = |name: &str, resource: &str, backend: &str| {
        let mut one = vllm(&Json::Null, &["--enable-dbo", &format!("--all2all-backend={backend}")]);
        one["image"] = json!(image(name));
        one["resources"]["limits"][resource] = json!(1);
        one
    };
    let (nvidia, amd) = ("nvidia.com/gpu", "amd.com/gpu");
    for (name, resource, backend, code) in [
        ("vllm/vllm-openai:v0.33.0", nvidia, "deepep_low_latency", "!"),
        ("vllm/vllm-openai:v0.33.0", nvidia, "nixl_ep", "!"),
        ("vllm/vllm-openai:v0.23.0", nvidia, "nixl_ep", "serving-engine-flags"),
        ("vllm/vllm-openai:v0.33.0", nvidia, "allgather_reducescatter", "serving-engine-flags"),
        ("vllm/vllm-openai-rocm:v0.33.0", nvidia, "allgather_reducescatter", "!"),
        ("vllm/vllm-openai:v0.33.0", amd, "allgather_reducescatter", "!"),
    ] {
        row(backend, dbo(name, resource, backend), shared(), vec![], (code, overlap));
    }
    row("a backend alone", vllm(&json!(1), &["--all2all-backend=allgather_reducescatter"]), shared(), vec![], ("!", overlap));
    let entry = "the arguments begin with `serve`";
    row("the entry point in the command", json!({"command": ["vllm"], "args": ["serve", "example/chat-8B"]}), none(), vec![], ("!", entry));
    row("the entry point in the arguments", json!({"command": null, "args": ["serve", "example/chat-8B"]}), none(), vec![], ("serving-engine-flags", entry));

    // StatefulSets.
    let set = |replicas: u32| {
        let mut whole = shared();
        merge(&mut whole, &json!({"kind": "StatefulSet", "spec": {"serviceName": "chat", "replicas": replicas}}));
        whole
    };
    let nodes = |count: u32| vllm(&json!(1), &[&format!("--nnodes={count}"), "--node-rank=$(RANK)", "--master-addr=chat-0.chat"]);
    let of_ranks = || vllm(&json!(1), &["--data-parallel-size=2", "--data-parallel-size-local=1", "--data-parallel-address=chat-0.chat"]);
    let mut unready = nodes(2);
    unready["readinessProbe"] = Json::Null;
    let in_order = "starts pods in order, but each waits for all of them";
    let hidden = |ip: &str| vec![object("v1", "Service", "chat", &json!({"spec": {"clusterIP": ip, "selector": {"app": "chat"}, "ports": [{"port": 8000}]}}))];
    let no_names = "has no names of pods of StatefulSet/chat before all are ready";
    row("nodes in order", nodes(2), set(2), vec![], ("serving-join", in_order));
    row("ranks in order", of_ranks(), set(2), vec![], ("serving-join", in_order));
    row("one node", nodes(1), set(2), vec![], ("!", in_order));
    row("no nodes", vllm(&json!(1), &[]), set(2), vec![], ("!", in_order));
    row("one pod", nodes(2), set(1), vec![], ("!", in_order));
    row("nodes without a probe", unready.clone(), set(2), vec![], ("!", in_order));
    row("hidden names", nodes(2), set(2), hidden("None"), ("serving-join", no_names));
    row("an address", nodes(2), set(2), hidden("10.0.0.1"), ("!", no_names));
    row("hidden names without nodes", vllm(&json!(1), &[]), set(2), hidden("None"), ("!", no_names));
    row("hidden names without a probe", unready, set(2), hidden("None"), ("!", no_names));
    let mut deployment = set(2);
    deployment["kind"] = json!("Deployment");
    row("hidden names of a Deployment", nodes(2), deployment, hidden("None"), ("!", "has no names of pods"));
    rows
}
