//! Generated changes of CRDs: what the API server refuses after a change, and took before it, `diff`
//! calls breaking.

use crate::control_plane::{Client, ControlPlane};
use crate::schema_pairs::{FORMATS, SchemaPair, crd, pair};
use bundle2chart::diff::{Class, Options, Side, compare};
use serde_json::{Map, Value as Json, json};
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

/// Generated pairs of schemas; `BUNDLE2CHART_SCHEMA_PAIRS=FIRST-LAST` judges others.
const PAIRS: Range<u64> = 0..3_000;
/// Pairs in one CRD, each of which is a field of it.
const BATCH: usize = 250;
/// Generated values of each field.
const VALUES: usize = 16;

/// The server's messages about CEL rules, which `diff` does not evaluate, as it does not evaluate formats.
const UNDECIDED: [&str; 2] = ["failed rule: ", "compilation failed: "];

/// Returns true for refusals by CEL rules and formats: such changes are at least risky, except new
/// fields, whose defaults the vendor's own CRD has passed with.
fn is_undecided(why: &str, codes: &[&str]) -> bool {
    let mut words = UNDECIDED
        .map(str::to_owned)
        .into_iter()
        .chain(FORMATS.iter().map(|format| format!("must be of type {format}:")));
    let is_default = why.starts_with("the new schema is refused: ");
    is_default
        && words.any(|words| why.contains(&words))
        && codes.iter().any(|code| {
            ["crd-default-changed", "crd-schema-changed", "crd-property-added"].contains(code)
        })
}

const CRDS: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";

#[test]
#[ignore = "needs Go 1.26: cargo test --test api_server -- --ignored"]
fn objects_that_a_new_schema_refuses_are_breaking() {
    let pairs = std::env::var("BUNDLE2CHART_SCHEMA_PAIRS").ok().map_or(PAIRS, |wanted| {
        let (first, last) = wanted.split_once('-').expect("FIRST-LAST");
        first.parse().expect("a number")..last.parse().expect("a number")
    });
    let pairs: Vec<SchemaPair> = pairs.map(pair).collect();
    let cluster = ControlPlane::start();
    let client = cluster.administrator();

    let mut tally = Tally::default();
    let batches: Vec<Batch<'_>> =
        pairs.chunks(BATCH).enumerate().map(|(index, pairs)| Batch::new(index, pairs)).collect();
    for batch in batches {
        batch.judge(&cluster, &client, &mut tally);
    }
    eprintln!("{}", tally.shown());
    // A generator of what no server takes would prove nothing.
    assert!(tally.judged * 10 >= pairs.len() * 9, "{} of {}", tally.judged, pairs.len());
    assert!(tally.refused * 5 >= pairs.len(), "{} of {}", tally.refused, pairs.len());
    let wrong = tally.wrong;
    assert!(wrong.is_empty(), "{}: {}", wrong.len(), wrong[..wrong.len().min(60)].join("\n"));
}

/// Results of all pairs.
#[derive(Default)]
struct Tally {
    /// Pairs whose old schema the server takes.
    judged: usize,
    /// Pairs of which the server refuses a value, or the new schema.
    refused: usize,
    /// Values that were valid.
    valid: usize,
    /// Pairs by class, and whether the server refuses something.
    classes: BTreeMap<(&'static str, bool), usize>,
    wrong: Vec<String>,
}

impl Tally {
    fn shown(&self) -> String {
        let Tally { judged, refused, valid, classes, .. } = self;
        format!(
            "{judged} pairs judged, {valid} valid values, {refused} pairs refused; by class and refusal: \
             {classes:?}"
        )
    }
}

/// Pairs that are the fields of one CRD.
struct Batch<'p> {
    kind: String,
    pairs: BTreeMap<usize, &'p SchemaPair>,
}

impl<'p> Batch<'p> {
    fn new(index: usize, pairs: &'p [SchemaPair]) -> Self {
        Batch { kind: format!("Batch{index}"), pairs: pairs.iter().enumerate().collect() }
    }

    fn judge(mut self, cluster: &ControlPlane, client: &Client, tally: &mut Tally) {
        let refused = self.serve(cluster, client, "old", |pair| &pair.old);
        self.pairs.retain(|index, _| !refused.contains_key(index));
        tally.judged += self.pairs.len();

        // Values as a manifest has them, and as the server returns them.
        let mut valid: Vec<BTreeMap<usize, Json>> = Vec::new();
        let candidates: BTreeMap<usize, Vec<Json>> =
            self.pairs.iter().map(|(index, pair)| (*index, pair.values(VALUES))).collect();
        for number in 0..VALUES {
            let values = candidates.iter().map(|(index, values)| (*index, values[number].clone()));
            let values: BTreeMap<usize, Json> = values.collect();
            let (stored, _) = self.send(client, values.clone());
            // `0.0` is returned as `0`, which the server compares otherwise with `maximum: -0.5`.
            let (stored, _) = self.send(client, stored);
            let same = |index: &usize, value: &Json| {
                stored.get(index).is_some_and(|stored| is_within(value, stored))
            };
            valid.push(values.into_iter().filter(|(index, value)| same(index, value)).collect());
            valid.push(stored);
        }
        tally.valid += valid.iter().map(BTreeMap::len).sum::<usize>();

        let mut unserved = self.serve(cluster, client, "new", |pair| &pair.new);
        // What rules cost in one CRD and in another is no matter of the change.
        let expensive = |why: &String| why.contains("estimated rule cost");
        self.pairs.retain(|index, _| !unserved.get(index).is_some_and(expensive));
        unserved.retain(|index, _| self.pairs.contains_key(index));
        let mut reasons: BTreeMap<usize, String> = unserved
            .iter()
            .map(|(index, why)| (*index, format!("the new schema is refused: {why}")))
            .collect();
        for values in valid {
            let served =
                |index: &usize| self.pairs.contains_key(index) && !unserved.contains_key(index);
            let values: BTreeMap<usize, Json> =
                values.into_iter().filter(|(index, _)| served(index)).collect();
            let (stored, refused) = self.send(client, values.clone());
            for (index, value) in &values {
                let why = match (refused.get(index), stored.get(index)) {
                    (Some(why), _) => why.clone(),
                    (None, Some(stored)) if !is_within(value, stored) => {
                        format!("becomes {stored}")
                    }
                    _ => continue,
                };
                reasons.entry(*index).or_insert(format!("{value}: {why}"));
            }
        }
        eprintln!("{}: {} of {} pairs refused", self.kind, reasons.len(), self.pairs.len());
        tally.refused += reasons.len();
        for (index, pair) in &self.pairs {
            tally.add(pair, reasons.get(index));
        }
        client.send("DELETE", &self.crd_path(), None);
    }

    /// Sends the CRD with the schemas that the server accepts, and waits until it validates with them;
    /// returns why it refuses others, or every object because of a default in them.
    fn serve(
        &self,
        cluster: &ControlPlane,
        client: &Client,
        version: &str,
        schema: impl Fn(&'p SchemaPair) -> &'p Json,
    ) -> BTreeMap<usize, String> {
        // A field without a schema, in place of those that the server refuses.
        let free = json!({ "x-kubernetes-preserve-unknown-fields": true });
        let mut refused = BTreeMap::new();
        loop {
            let fields = self.pairs.iter().map(|(index, pair)| {
                let is_refused = refused.contains_key(index);
                (format!("p{index}"), if is_refused { &free } else { schema(pair) })
            });
            // The server goes on with earlier schemas for a while, which refuse this value.
            let version = format!("{version} {}", refused.len());
            let object = self.object(json!({ "version": version }));
            let served = json!({"type": "string", "enum": [version]});
            let crd = crd(&self.kind, fields.chain([("version".to_owned(), &served)]));
            let mut answer = client.send("PATCH", &self.crd_path(), Some(&crd));
            if answer.status == 404 {
                answer = client.post(CRDS, &crd);
            }
            let mut faults = faults(&answer.body, "properties[p");
            if answer.status < 300 {
                faults = cluster.wait_for("the schema", || {
                    let answer = client.post(&self.path(), &object);
                    let is_served =
                        answer.status != 404 && !answer.body.to_string().contains("spec.version");
                    is_served.then(|| self::faults(&answer.body, "spec.p"))
                });
                if faults.is_empty() {
                    return refused;
                }
            }
            let known = refused.len();
            refused.extend(faults);
            assert!(refused.len() > known, "{}", answer.body);
        }
    }

    fn crd_path(&self) -> String {
        format!("{CRDS}/{}.pairs.example.com", self.kind.to_lowercase())
    }

    fn path(&self) -> String {
        let plural = self.kind.to_lowercase();
        format!("/apis/pairs.example.com/v1/{plural}?dryRun=All&fieldValidation=Ignore")
    }

    fn object(&self, spec: Json) -> Json {
        json!({"apiVersion": "pairs.example.com/v1", "kind": self.kind,
            "metadata": {"name": "x"}, "spec": spec})
    }

    /// Sends an object with a value for each field; returns the values as stored of fields that are
    /// accepted, and why others are refused.
    fn send(
        &self,
        client: &Client,
        mut values: BTreeMap<usize, Json>,
    ) -> (BTreeMap<usize, Json>, BTreeMap<usize, String>) {
        let mut refused = BTreeMap::new();
        loop {
            let spec: Map<String, Json> =
                values.iter().map(|(index, value)| (format!("p{index}"), value.clone())).collect();
            let answer = client.post(&self.path(), &self.object(Json::Object(spec)));
            if answer.status < 300 {
                // A null that the schema does not allow is removed.
                let stored = |index: &usize| {
                    let stored = answer.body["spec"].get(format!("p{index}"))?;
                    Some((*index, stored.clone()))
                };
                let given: BTreeSet<&usize> = values.keys().collect();
                return (given.into_iter().filter_map(stored).collect(), refused);
            }
            let faults = faults(&answer.body, "spec.p");
            let known = refused.len();
            refused.extend(faults);
            assert!(refused.len() > known, "{}", answer.body);
            values.retain(|index, _| !refused.contains_key(index));
        }
    }
}

/// Returns the reasons of a refusal, by the number after `prefix` in the paths of their fields.
fn faults(status: &Json, prefix: &str) -> BTreeMap<usize, String> {
    let causes = status["details"]["causes"].as_array().into_iter().flatten();
    let fault = |cause: &Json| {
        // The path is in the message where the cause has no field.
        let why = format!("{}: {}", cause["field"].as_str()?, cause["message"].as_str()?);
        let (_, rest) = why.split_once(prefix)?;
        let end = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
        Some((rest[..end].parse().ok()?, why))
    };
    causes.filter_map(fault).collect()
}

/// Returns true if all fields of a value are the same in another one, which may have more.
fn is_within(value: &Json, other: &Json) -> bool {
    match (value, other) {
        (Json::Object(value), Json::Object(other)) => value
            .iter()
            .all(|(key, value)| other.get(key).is_some_and(|other| is_within(value, other))),
        (Json::Array(value), Json::Array(other)) => {
            value.len() == other.len() && value.iter().zip(other).all(|(a, b)| is_within(a, b))
        }
        (Json::Number(value), Json::Number(other)) => value.as_f64() == other.as_f64(),
        _ => value == other,
    }
}

impl Tally {
    /// Adds a pair, and why the server refuses a value that was valid, if it does.
    fn add(&mut self, pair: &SchemaPair, refused: Option<&String>) {
        let side = |schema: &Json| {
            let crd = crd("Pair", [("field".to_owned(), schema)]);
            Side::new("side", [crd], "default", None)
        };
        let set = compare(side(&pair.old), side(&pair.new), &Options::default());
        let class = set.class().map_or("none", Class::as_str);
        *self.classes.entry((class, refused.is_some())).or_default() += 1;
        let findings = set.changes().flat_map(|(_, change)| &change.findings);
        let codes: Vec<&str> = findings.map(|finding| finding.rule.code).collect();
        if let Some(why) = refused
            && class != "breaking"
            && !is_undecided(why, &codes)
        {
            self.wrong.push(format!(
                "pair {}: {class} {codes:?}\n  {}\n  {}\n  {why}",
                pair.number, pair.old, pair.new
            ));
        }
    }
}
