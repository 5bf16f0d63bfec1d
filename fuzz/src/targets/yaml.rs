//! The YAML reader: what it reads it writes and reads again, and with `KUBERNETES_YAML` (a program
//! that fuzz/run builds with Go) it reads what Kubernetes' decoder reads.

use super::super::memory::bounded;
use super::objects::{is_same, json, own_yaml};
use bundle2chart::yaml;
use serde_json::Value as Json;
use std::io::{BufReader, Read as _, Write as _};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::{Mutex, OnceLock};

#[path = "../../../tests/against_go/kubernetes_yaml/oracle.rs"]
#[allow(dead_code, reason = "the test asks about many texts at once")]
mod oracle;

/// Number of questions to Go about a text that it may read in several ways: it keeps any of two keys
/// that are equal in JSON only.
const ASKED_AGAIN: usize = 30;

struct Kubernetes {
    _child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
}

impl Kubernetes {
    fn start() -> Option<Mutex<Self>> {
        let program = std::env::var_os("KUBERNETES_YAML")?;
        let mut child = Command::new(program)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("the program starts");
        let input = child.stdin.take().expect("a pipe");
        let output = BufReader::new(child.stdout.take().expect("a pipe"));
        Some(Mutex::new(Kubernetes { _child: child, input, output }))
    }

    fn read(&mut self, text: &str) -> oracle::Reading {
        let length = u32::try_from(text.len()).expect("a short text");
        let question = [&length.to_le_bytes(), text.as_bytes()].concat();
        self.input.write_all(&question).expect("it reads");
        let mut head = [0; 5];
        self.output.read_exact(&mut head).expect("the answer");
        let length = u32::from_le_bytes([head[1], head[2], head[3], head[4]]);
        let mut content = vec![0; length as usize];
        self.output.read_exact(&mut content).expect("the answer");
        match head[0] {
            1 => Ok(serde_json::from_slice(&content).expect("JSON")),
            _ => Err(String::from_utf8_lossy(&content).into_owned()),
        }
    }
}

/// Checks one input.
pub fn run(data: &[u8]) {
    static KUBERNETES: OnceLock<Option<Mutex<Kubernetes>>> = OnceLock::new();
    let Ok(text) = std::str::from_utf8(data) else { return };

    // Aliases multiply a text up to a limit of nodes, so there is no bound by its size.
    let ours = bounded(256, || yaml::parse(text));
    if let Ok(values) = &ours {
        for value in values {
            let written = yaml::plain_value(value).expect("no expression in a text");
            let (read, meant) = (own_yaml(&written), json(std::slice::from_ref(value)));
            // Documents that are null are left out.
            let is_null = meant == [Json::Null] && read.is_empty();
            let same = read.len() == 1 && is_same(&read[0], &meant[0]);
            assert!(is_null || same, "written and read again: {read:?}, was {meant:?}");
        }
    }

    let Some(kubernetes) = KUBERNETES.get_or_init(Kubernetes::start) else { return };
    let mut kubernetes = kubernetes.lock().expect("one thread");
    let unmarked = oracle::without_marks(text);
    let (text, ours) = match &unmarked {
        Some(unmarked) => (unmarked.as_str(), yaml::parse(unmarked)),
        None => (text, ours),
    };
    let ours = ours.map(|values| json(&values));
    let mut ask =
        || matches!(oracle::compare(&ours, &kubernetes.read(text)), oracle::Verdict::Different);
    let differs = ask() && (0..ASKED_AGAIN).all(|_| ask());
    assert!(!differs, "ours: {ours:?}\nKubernetes: {:?}", kubernetes.read(text));
}
