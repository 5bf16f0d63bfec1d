//! CustomResourceDefinitions as large as a service mesh has them, written by a program: megabytes
//! of nested schema would tell a reader of this repository nothing.
//!
//! A seed decides everything, so that the same text comes out on every machine.

use std::collections::BTreeSet;
use std::fmt::Write as _;

/// Subjects of the generated CRDs, and the size in bytes of each.
const KINDS: [(&str, &str, &str, usize); 17] = [
    ("extensions.mesh.example.com", "Extension", "extensions", 15_000),
    ("mesh.example.com", "Mesh", "meshes", 787_000),
    ("mesh.example.com", "MeshAgent", "meshagents", 510_000),
    ("mesh.example.com", "MeshPlugin", "meshplugins", 116_000),
    ("mesh.example.com", "MeshRevision", "meshrevisions", 782_000),
    ("routing.mesh.example.com", "Destination", "destinations", 405_000),
    ("routing.mesh.example.com", "Entry", "entries", 40_000),
    ("routing.mesh.example.com", "Filter", "filters", 21_000),
    ("routing.mesh.example.com", "ProxySetting", "proxysettings", 6_000),
    ("routing.mesh.example.com", "Sidecar", "sidecars", 94_000),
    ("routing.mesh.example.com", "VirtualRoute", "virtualroutes", 150_000),
    ("routing.mesh.example.com", "Workload", "workloads", 21_000),
    ("routing.mesh.example.com", "WorkloadGroup", "workloadgroups", 40_000),
    ("security.mesh.example.com", "PeerRule", "peerrules", 14_000),
    ("security.mesh.example.com", "Permit", "permits", 33_000),
    ("security.mesh.example.com", "TokenRule", "tokenrules", 27_000),
    ("telemetry.mesh.example.com", "Report", "reports", 43_000),
];

const THINGS: [&str; 40] = [
    "proxy", "route", "listener", "cluster", "header", "token", "seal", "retry", "budget",
    "window", "pool", "queue", "probe", "weight", "subset", "port", "host", "zone", "region",
    "mirror", "fault", "delay", "limit", "trace", "span", "log", "filter", "match", "prefix",
    "cookie", "cipher", "peer", "tunnel", "gate", "shard", "buffer", "timer", "sampler", "label",
    "rule",
];
const QUALITIES: [&str; 24] = [
    "inner",
    "outer",
    "idle",
    "upstream",
    "downstream",
    "default",
    "global",
    "local",
    "strict",
    "early",
    "late",
    "shared",
    "plain",
    "hidden",
    "maximum",
    "minimum",
    "initial",
    "final",
    "stable",
    "weighted",
    "trusted",
    "merged",
    "nested",
    "spare",
];
const DEEDS: [&str; 20] = [
    "opens",
    "closes",
    "counts",
    "forwards",
    "refuses",
    "remembers",
    "forgets",
    "splits",
    "joins",
    "measures",
    "delays",
    "rewrites",
    "seals",
    "checks",
    "samples",
    "drains",
    "warms",
    "ejects",
    "balances",
    "reports",
];
const WHENS: [&str; 16] = [
    "before the first request",
    "while the pool is warm",
    "after the last retry",
    "once a minute",
    "as long as the peer answers",
    "when nothing else matches",
    "until the window ends",
    "at the border of the mesh",
    "for every new connection",
    "only in the same zone",
    "unless a header says otherwise",
    "in the order of the list",
    "with the weight of its subset",
    "when the budget is used up",
    "without asking the pilot",
    "behind the second gate",
];

/// The files of the generated CRDs, by name.
pub(crate) fn files() -> Vec<(String, Vec<u8>)> {
    KINDS
        .iter()
        .enumerate()
        .map(|(index, (group, kind, plural, size))| {
            let text = definition(group, kind, plural, *size, index as u64);
            (format!("{group}_{plural}.yaml"), text.into_bytes())
        })
        .collect()
}

fn definition(group: &str, kind: &str, plural: &str, size: usize, seed: u64) -> String {
    let singular = kind.to_lowercase();
    let mut schema = Schema { text: String::with_capacity(size + 4096), random: Random(seed) };
    schema.text.push_str(&format!(
        "apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata:
  creationTimestamp: null
  name: {plural}.{group}
spec:
  group: {group}
  names:
    categories:
    - mesh
    kind: {kind}
    listKind: {kind}List
    plural: {plural}
    singular: {singular}
  scope: Namespaced
  versions:
  - additionalPrinterColumns:
    - description: How old the object is.
      jsonPath: .metadata.creationTimestamp
      name: Age
      type: date
    name: v1
    schema:
      openAPIV3Schema:
        description: {kind} says how one part of the mesh behaves.
        properties:
          apiVersion:
            type: string
          kind:
            type: string
          metadata:
            type: object
          spec:
            description: What is wanted.
"
    ));
    schema.object_until(size, 12, 0);
    schema.text.push_str(
        "          status:
            type: object
            x-kubernetes-preserve-unknown-fields: true
        type: object
    served: true
    storage: true
    subresources:
      status: {}
",
    );
    schema.text
}

/// Depth of objects below `spec`.
const DEPTH: usize = 9;

struct Schema {
    text: String,
    random: Random,
}

impl Schema {
    fn line(&mut self, indent: usize, line: &str) {
        let _ = writeln!(self.text, "{:indent$}{line}", "");
    }

    /// `properties` and `type` of an object, properties until the text has `size` bytes; at
    /// least one.
    fn object_until(&mut self, size: usize, indent: usize, depth: usize) {
        self.line(indent, "properties:");
        let mut names = BTreeSet::new();
        while names.is_empty() || self.text.len() < size {
            let name = self.property_name();
            if names.insert(name.clone()) {
                self.line(indent + 2, &format!("{name}:"));
                self.property(size, indent + 4, depth);
            }
        }
        if self.random.one_in(4) {
            self.line(indent, "required:");
            for name in names.iter().take(2) {
                self.line(indent, &format!("- {name}"));
            }
        }
        self.line(indent, "type: object");
    }

    fn property(&mut self, size: usize, indent: usize, depth: usize) {
        self.description(indent);
        let left = size.saturating_sub(self.text.len());
        if depth < DEPTH && left > 2_000 && self.random.one_in(3) {
            // A part of what is left, so that wide and deep objects both occur.
            let part = self.text.len() + 500 + left / (2 + self.random.below(6));
            if self.random.one_in(3) {
                self.line(indent, "items:");
                self.object_until(part, indent + 2, depth + 1);
                self.line(indent, "type: array");
            } else {
                self.object_until(part, indent, depth + 1);
            }
            return;
        }
        let lines: &[&str] = match self.random.below(16) {
            0 => &["enum:", "- \"OFF\"", "- 'on'", "- \"yes\"", "- AUTO", "type: string"],
            1 | 2 => &["maximum: 4294967295", "minimum: 0", "type: integer"],
            3 => &["format: int32", "type: integer"],
            4 => &["format: int64", "nullable: true", "type: integer"],
            5 | 6 => &["type: boolean"],
            7 => &["default: \"\"", "type: string"],
            8 => &["maxLength: 253", "pattern: ^([a-z0-9-]+\\.)*[a-z0-9-]+$", "type: string"],
            9 => &["items:", "  type: string", "type: array", "x-kubernetes-list-type: atomic"],
            10 => &["additionalProperties:", "  type: string", "type: object"],
            11 => {
                &["anyOf:", "- type: integer", "- type: string", "x-kubernetes-int-or-string: true"]
            }
            12 => &["format: double", "maximum: 100", "minimum: 0.5", "type: number"],
            13 => &["type: object", "x-kubernetes-preserve-unknown-fields: true"],
            _ => &["type: string"],
        };
        for line in lines {
            self.line(indent, line);
        }
    }

    fn property_name(&mut self) -> String {
        let quality = self.random.pick(&QUALITIES);
        let mut name = quality.to_owned();
        for _ in 0..=self.random.below(2) {
            let thing = self.random.pick(&THINGS);
            name.push_str(&thing[..1].to_uppercase());
            name.push_str(&thing[1..]);
        }
        name
    }

    /// One of the shapes in which generators write descriptions: plain, quoted, block.
    fn description(&mut self, indent: usize) {
        let first = self.sentence();
        match self.random.below(8) {
            0 => {
                let thing = self.random.pick(&THINGS);
                self.line(indent, &format!("description: 'The {thing}''s part: {first}'"));
            }
            1 => {
                let second = self.sentence();
                self.line(indent, "description: |-");
                self.line(indent + 2, &first);
                self.text.push('\n');
                self.line(indent + 2, &format!("  * {second}"));
            }
            2 => {
                self.line(indent, "description: |2-");
                self.text.push('\n');
                self.line(indent + 2, &first);
            }
            _ => self.line(indent, &format!("description: {first}")),
        }
    }

    fn sentence(&mut self) -> String {
        let random = &mut self.random;
        format!(
            "The {} {} {} the {} {}.",
            random.pick(&QUALITIES),
            random.pick(&THINGS),
            random.pick(&DEEDS),
            random.pick(&THINGS),
            random.pick(&WHENS),
        )
    }
}

/// SplitMix64.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    fn below(&mut self, bound: usize) -> usize {
        (self.next() % bound as u64) as usize
    }

    fn one_in(&mut self, bound: usize) -> bool {
        self.below(bound) == 0
    }

    fn pick<'a>(&mut self, words: &[&'a str]) -> &'a str {
        words[self.below(words.len())]
    }
}
