//! Gates as commands of kubectl.

use super::Namespaces;
use crate::config::{self, GateTest, Target};
use crate::escape::shell::quoted;
use std::collections::BTreeMap;

/// No namespaces in environment variables.
static NONE: BTreeMap<String, String> = BTreeMap::new();

/// A gate of a release.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Gate {
    /// The awaited object; its namespace is that of bundles.toml, or of the object in the chart.
    pub target: Target,
    /// The state that it must have.
    pub test: GateTest,
    /// Time limit in seconds.
    pub timeout: u32,
    /// True if the chart contains the object; others are created by operators.
    pub in_chart: bool,
}

impl Gate {
    /// Returns a gate of the configuration for a chart.
    pub fn new(gate: &config::Gate, in_chart: bool) -> Gate {
        Gate {
            target: gate.target.clone(),
            test: gate.test.clone(),
            timeout: gate.timeout,
            in_chart,
        }
    }

    /// Returns the commands that wait for it.
    ///
    /// The first one waits for the object: `kubectl wait` for a condition and `kubectl rollout
    /// status` fail at once without it.
    pub fn commands(&self, namespaces: Namespaces<'_>) -> Vec<String> {
        let timeout = format!("--timeout={}s", self.timeout);
        let object = object(&self.target);
        let wait = |condition: String| {
            self.kubectl(&["wait", &format!("--for={condition}"), &timeout, &object], namespaces)
        };
        let test = match &self.test {
            GateTest::Condition(condition) => wait(format!("condition={condition}")),
            GateTest::Field { path, value } => wait(format!("jsonpath={{{path}}}={value}")),
            GateTest::Rollout => {
                self.kubectl(&["rollout", "status", &timeout, &object], namespaces)
            }
        };
        vec![wait("create".to_owned()), test]
    }

    /// Returns the commands that show why it is closed.
    pub fn shows(&self, namespaces: Namespaces<'_>) -> Vec<String> {
        let object = object(&self.target);
        let kubectl = |arguments: &[&str]| self.kubectl(arguments, namespaces);
        let events = kubectl(&["get", "events", "--sort-by=.lastTimestamp"]);
        match (&self.test, self.target.is_crd()) {
            (_, true) => vec![kubectl(&["describe", &object])],
            (GateTest::Rollout, _) => {
                vec![kubectl(&["describe", &object]), kubectl(&["get", "pods"]), events]
            }
            _ => vec![kubectl(&["get", &object, "--output", "yaml"]), events],
        }
    }

    fn kubectl(&self, arguments: &[&str], namespaces: Namespaces<'_>) -> String {
        namespaces.kubectl(&self.target, self.target.is_crd(), arguments)
    }

    /// Returns a command that waits for it, and ends the script with a message if it stays closed:
    /// kubectl's own does not always name the object.
    pub fn script(&self, namespaces: Namespaces<'_>) -> String {
        let waits = self.commands(namespaces);
        let own = self.target.namespace.as_deref();
        let namespace = namespaces.name(own);
        let place = if self.target.is_crd() { String::new() } else { namespaces.place(own) };
        let mut message =
            format!("gate closed: {}{place} (time limit {}s)", self.describe(), self.timeout);
        // A name of a namespace is known on every machine, a variable only in the pod.
        let named = namespace.map_or_else(|| Namespaces::InPod(&NONE), Namespaces::Named);
        message += &format!("; to see why: {}", self.shows(named).join("; "));
        format!("{} {}", waits.join(" && "), or_fail(&message))
    }

    /// Returns the namespace of the object in a release in `release`; `None` for CRDs.
    pub fn namespace<'a>(&'a self, release: &'a str) -> Option<&'a str> {
        let own = self.target.namespace.as_deref().unwrap_or(release);
        (!self.target.is_crd()).then_some(own)
    }

    /// Returns the gate in a few words: `condition Ready of Istio/default`.
    pub fn describe(&self) -> String {
        let Target { kind, name, .. } = &self.target;
        match &self.test {
            GateTest::Rollout => format!("rollout of {kind}/{name}"),
            GateTest::Condition(condition) => format!("condition {condition} of {kind}/{name}"),
            GateTest::Field { path, value } => format!("{path} = {value} of {kind}/{name}"),
        }
    }
}

/// Returns an object as kubectl expects it: `istio.sailoperator.io/default`.
pub(super) fn object(Target { group, kind, name, .. }: &Target) -> String {
    let kind = kind.to_lowercase();
    match group.as_str() {
        "" | "apps" => format!("{kind}/{name}"),
        "apiextensions.k8s.io" => format!("crd/{name}"),
        group => format!("{kind}.{group}/{name}"),
    }
}

/// Returns a command that ends the script with this message if the one before it fails.
pub(super) fn or_fail(message: &str) -> String {
    format!("|| {{ echo {} >&2; exit 1; }}", quoted(message))
}
