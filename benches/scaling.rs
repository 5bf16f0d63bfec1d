//! Processor time against size, with the exponent of its growth: 1 for linear work, 2 for quadratic.
//!
//! `cargo bench --bench scaling`, or with a part of the names of rows, `cargo bench --bench scaling --
//! stacks`. docs/performance.md has the table; no exponent may be above 1.2.

#![allow(
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    clippy::disallowed_methods,
    reason = "a benchmark"
)]

use bundle2chart::config::{BundleConfig, Config};
use bundle2chart::diag::Diagnostics;
use bundle2chart::diff::{self, Options};
use bundle2chart::lock::Lock;
use bundle2chart::pipeline::{self, Inputs};
use bundle2chart::serving;
use bundle2chart::source::{self, Access, BundleFiles, SourceResolver};
use rustix::time::{ClockId, clock_gettime};
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;

#[path = "../tests/support/command.rs"]
mod command;
#[path = "../tests/support/lamp.rs"]
mod lamp;
#[path = "../tests/diff_scaling/shapes.rs"]
mod shapes;

/// Rounds of each size; the best one counts, which other programs disturbed least.
const ROUNDS: usize = 3;

/// A row of the table: sizes, and the milliseconds that one takes.
struct Row {
    name: String,
    sizes: &'static [usize],
    cost: Box<dyn Fn(usize) -> f64 + Send>,
}

fn row(
    name: impl Into<String>,
    sizes: &'static [usize],
    cost: impl Fn(usize) -> f64 + Send + 'static,
) -> Row {
    Row { name: name.into(), sizes, cost: Box::new(cost) }
}

fn main() {
    let part = std::env::args().skip(1).find(|argument| !argument.starts_with('-'));
    let mut rows = vec![
        row("bundles built (program)", &[1, 10, 100, 1_000], bundles),
        row("kB of one CRD", &[125, 500, 2_000], crd),
        row("models built", &[25, 100, 400], models),
    ];
    for (name, rename) in STACKS {
        let name = format!("check-serving: stacks, {name}");
        rows.push(row(name, &[60, 250, 1_000], move |count| stacks(count, *rename)));
    }
    for (name, shape) in shapes::SHAPES {
        let sizes: &[usize] = &[625, 2_500, 5_000];
        rows.push(row(format!("diff: {name}"), sizes, move |count| difference(*shape, count)));
    }

    println!("| cost of | size: ms | exponent |\n|---|---|---|");
    // Deep trees need a large stack.
    let selected = move |row: &Row| part.as_ref().is_none_or(|part| row.name.contains(part));
    let printing = move || rows.into_iter().filter(selected).for_each(|row| print(&row));
    let thread = thread::Builder::new().stack_size(64 << 20);
    thread.spawn(printing).expect("a thread").join().expect("all rows");
}

fn print(row: &Row) {
    let costs: Vec<(usize, f64)> = row
        .sizes
        .iter()
        .map(|size| {
            let rounds = (0..ROUNDS).map(|_| (row.cost)(*size));
            (*size, rounds.fold(f64::INFINITY, f64::min))
        })
        .collect();
    // The largest sizes have the smallest share of what does not grow.
    let [.., (few, least), (many, most)] = costs[..] else { return };
    let exponent = (most / least).ln() / (many as f64 / few as f64).ln();
    let cells: Vec<String> = costs.iter().map(|(size, ms)| format!("{size}: {ms:.1}")).collect();
    println!("| {} | {} | {exponent:.2} |", row.name, cells.join(", "));
}

/// Returns the milliseconds of processor time of a function, with all threads.
fn time<T>(run: impl FnOnce() -> T) -> f64 {
    let now = || {
        let now = clock_gettime(ClockId::ProcessCPUTime);
        now.tv_sec as f64 * 1e3 + now.tv_nsec as f64 / 1e6
    };
    let start = now();
    let result = run();
    let end = now();
    drop(result);
    end - start
}

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

fn difference(shape: shapes::Shape, count: usize) -> f64 {
    let (old, new) = (shape(count, 0), shape(count, 1));
    time(|| diff::compare(old, new, &Options::default()))
}

/// A fresh build by the program, of which every tenth bundle has 3.1 MB.
fn bundles(count: usize) -> f64 {
    const SMALL: [&str; 3] = [
        "pod-groups/pod-group-operator-bundle:1.0.0",
        "sealing-wax/sealing-wax-operator-bundle:1.1.0",
        "sealing-wax/sealing-wax-operator-bundle:1.0.0",
    ];
    let folder = tempfile::tempdir().expect("a folder");
    let mut text = format!(
        "[[mirror]]\nfrom = \"registry.example.com\"\nto = \"oci-layout:{}\"\n",
        root().join("fixtures/registry").display()
    );
    for index in 0..count {
        let image =
            if index % 10 == 0 { "mesh/mesh-operator-bundle:2.3.1" } else { SMALL[index % 3] };
        let _ = write!(
            text,
            "[[bundle]]\nname = \"operator-{index}\"\nimage = \"registry.example.com/{image}\"\n"
        );
    }
    fs::write(folder.path().join("bundles.toml"), text).expect("a writable folder");

    let mut program = Command::new(env!("CARGO_BIN_EXE_bundle2chart"));
    program.args(["build", "--offline", "--quiet", "--jobs", "1"]).current_dir(folder.path());
    let before = children();
    let status = program.stderr(Stdio::null()).status().expect("the program runs");
    assert!(status.success(), "{status}");
    children() - before
}

/// Returns the milliseconds of processor time of ended child processes (proc_pid_stat(5)).
fn children() -> f64 {
    const TICKS_PER_SECOND: f64 = 100.0;
    let text = fs::read_to_string("/proc/self/stat").expect("Linux");
    let (_, fields) = text.rsplit_once(')').expect("a name in parentheses");
    let times = fields.split_whitespace().skip(13).take(2);
    times.map(|ticks| ticks.parse::<f64>().expect("a number")).sum::<f64>() / TICKS_PER_SECOND * 1e3
}

/// A bundle with one CRD of so many kilobytes.
fn crd(kilobytes: usize) -> f64 {
    let mut crd = format!("{}        properties:\n", lamp::CRD);
    let mut index = 0;
    while crd.len() < kilobytes << 10 {
        let _ = write!(
            crd,
            "          setting{index}:
            type: object
            description: Settings of part {index}, which the operator applies to all lamps.
            properties:
              enabled: {{type: boolean, default: false}}
              replicas: {{type: integer, minimum: {index}, format: int32}}
              names: {{type: array, items: {{type: string, maxLength: 253}}}}
"
        );
        index += 1;
    }
    let files = BundleFiles {
        manifests: BTreeMap::from([
            ("csv.yaml".to_owned(), lamp::CSV.into()),
            ("crd.yaml".to_owned(), crd.into_bytes()),
        ]),
        metadata: BTreeMap::from([("annotations.yaml".to_owned(), lamp::ANNOTATIONS.into())]),
        ..BundleFiles::default()
    };
    let config = BundleConfig::new("lamp-operator", source::from_argument("lamps"));
    time(|| pipeline::compile(&files, &config, &mut Diagnostics::new()).expect("it compiles"))
}

fn models(count: usize) -> f64 {
    let mut text = String::new();
    for index in 0..count {
        let _ = write!(
            text,
            "[[serving]]
name = \"chat-{index}\"
model = \"hf://example/chat-{index}-8B\"
allow-tags = true
replicas = 2
[serving.engine]
image = \"vllm/vllm-openai:v0.33.0\"
startup-minutes = 30
resources = {{ requests = {{ cpu = \"8\", memory = \"48Gi\" }}, limits = {{ memory = \"64Gi\" }} }}
[serving.route]
gateway = \"inference-gateway\"
provider = \"istio\"
paths = [\"/chat-{index}\"]
"
        );
    }
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("bundles.toml");
    fs::write(&path, text).expect("a writable folder");

    let mut found = Diagnostics::new();
    let cost = time(|| {
        let config = Config::read(&path, &mut found).expect("a valid configuration");
        let sources = SourceResolver::of(&config, Access { offline: true, ..Access::default() });
        let lock = Lock::default();
        let inputs = Inputs { config: &config, sources: &sources, lock: &lock, jobs: 1 };
        pipeline::build(&inputs, &[], &mut found).charts.len()
    });
    assert!(!found.has_errors());
    cost
}

/// Returns the text of a stack in fixtures/serving with the names that its number gives it.
type Rename = fn(text: &str, number: usize) -> String;

/// Stacks in one file.
const STACKS: &[(&str, Rename)] = &[
    ("other names", named),
    ("labels in common", |text, number| {
        named(&text.replace("{app: chat", "{team: search, tier: model, app: chat"), number)
    }),
    ("a namespace each", |text, number| {
        let namespace = format!("models-{number}");
        text.replace("namespace: models", &format!("namespace: {namespace}"))
            .replace(".models.", &format!(".{namespace}."))
            .replace("-namespace=models", &format!("-namespace={namespace}"))
    }),
];

fn named(text: &str, number: usize) -> String {
    text.replace("chat", &format!("chat-{number}"))
        .replace("hf-token", &format!("hf-token-{number}"))
        .replace("name: inference,", &format!("name: inference-{number},"))
}

fn stacks(count: usize, rename: Rename) -> f64 {
    let stack = fs::read_to_string(root().join("fixtures/serving/single.yaml")).expect("a fixture");
    let stacks: Vec<String> = (0..count).map(|number| rename(&stack, number)).collect();
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("stacks.yaml");
    fs::write(&path, stacks.join("---\n")).expect("a writable folder");
    check(&path)
}

fn check(path: &Path) -> f64 {
    let paths = [path.to_str().expect("a UTF-8 path").to_owned()];
    let mut found = Diagnostics::new();
    let cost = time(|| serving::check_files(&paths, "", &mut found).is_some());
    assert!(!found.has_errors(), "{:?}", found.iter().next());
    cost
}
