//! Charts of generated `[[serving]]` tables: each topology with and without prefill pods, and the other
//! keys in turn, so that each value of a key is in several tables.

use crate::cluster::Cluster;
use crate::examples::lifecycle;
use crate::namespaces;
use crate::promises::Broken;
use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::process::Command;

/// Shapes of replicas that vLLM's own processes serve, in terms of 8 GPUs per node.
const SHAPES: &[(&str, &str)] = &[
    ("single", "tp = 2"),
    ("lws-mp", "nodes = 2\ntp = 8\npp = 2"),
    ("lws-dp-internal", "nodes = 2\ntp = 4\ndp = 4"),
    ("lws-dp-hybrid", "nodes = 2\ntp = 2\ndp = 8"),
    ("lws-dp-external", "nodes = 2\ntp = 4\ndp = 4"),
];

/// Additional keys, and tables that follow all keys.
const EXTRAS: &[(&str, &str)] = &[
    ("replicas = 2", "[serving.monitoring]"),
    ("disruption-budget = 1\nreplicas = 2", "[serving.network-policy]"),
    ("", "[serving.epp]\nreplicas = 2"),
];

#[test]
#[ignore = "needs Go 1.26: cargo test --test serving_e2e -- --ignored"]
fn generated_tables() {
    namespaces::run("tables::generated_tables", || {
        let folder = tempfile::tempdir().expect("a folder");
        let tables = tables();
        build(folder.path(), &tables);
        let cluster = Cluster::start();
        let mut failures = Vec::new();
        for (name, table) in &tables {
            if !namespaces::is_wanted(name) {
                continue;
            }
            let chart = folder.path().join("out").join(name).join("0.1.0");
            let broken = lifecycle(&cluster, name, &chart);
            eprintln!("{name}: {} broken promises", broken.len());
            for (step, Broken { promise, detail }) in broken {
                failures.push(format!("{name} after {step}: {promise}: {detail}\n{table}"));
            }
        }
        assert!(failures.is_empty(), "{}", failures.join("\n"));
    });
}

/// Names of models and their tables.
fn tables() -> Vec<(String, String)> {
    let mut tables = Vec::new();
    for (index, (topology, shape)) in SHAPES.iter().enumerate() {
        for with_prefill in [false, true] {
            let (keys, more) = EXTRAS[(2 * index + usize::from(with_prefill)) % EXTRAS.len()];
            let suffix = if with_prefill { "-prefill" } else { "" };
            let name = format!("model-{topology}{suffix}");
            let mut table = format!(
                "[[serving]]\nname = \"{name}\"\nmodel = \"hf://example/model\"\nallow-tags = true\n\
                 topology = \"{topology}\"\n{shape}\n{keys}\n\n\
                 [serving.engine]\nimage = \"vllm/vllm-openai:v0.33.0\"\n\n{more}\n"
            );
            if with_prefill {
                let _ = write!(table, "\n[serving.prefill]\ntopology = \"{topology}\"\n{shape}\n");
            }
            tables.push((name, table));
        }
    }
    tables
}

/// Builds the charts in `FOLDER/out`.
fn build(folder: &Path, tables: &[(String, String)]) {
    let text: Vec<&str> = tables.iter().map(|(_, table)| table.as_str()).collect();
    fs::write(folder.join("bundles.toml"), text.join("\n")).expect("a file");
    let output = Command::new(env!("CARGO_BIN_EXE_bundle2chart"))
        .args(["build", "--offline"])
        .current_dir(folder)
        .output()
        .expect("the program runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

/// All tables are valid, and no two have the same keys.
#[test]
fn tables_are_built() {
    let folder = tempfile::tempdir().expect("a folder");
    let tables = tables();
    build(folder.path(), &tables);
    for (name, _) in &tables {
        assert!(folder.path().join("out").join(name).join("0.1.0/Chart.yaml").is_file(), "{name}");
    }
}
