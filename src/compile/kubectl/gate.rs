//! Gates as commands of kubectl.

use super::Namespaces;
use super::shell::{or_fail, shell};
use crate::config::{self, GateTest, Target};
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

    /// Returns the arguments of the kubectl commands that wait for it, without the namespace.
    ///
    /// The first one waits for the object: `kubectl wait` for a condition and `kubectl rollout
    /// status` fail at once without it.
    pub fn waits(&self) -> Vec<Vec<String>> {
        let timeout = format!("--timeout={}s", self.timeout);
        let object = self.object();
        let wait = |condition: String| {
            let condition = format!("--for={condition}");
            vec!["wait".to_owned(), condition, timeout.clone(), object.clone()]
        };
        let create = wait("create".to_owned());
        let test = match &self.test {
            GateTest::Condition(condition) => wait(format!("condition={condition}")),
            GateTest::Field { path, value } => wait(format!("jsonpath={{{path}}}={value}")),
            GateTest::Rollout => {
                vec!["rollout".to_owned(), "status".to_owned(), timeout.clone(), object.clone()]
            }
        };
        vec![create, test]
    }

    /// Returns the arguments of the kubectl commands that show why it is closed, without the
    /// namespace.
    pub fn shows(&self) -> Vec<Vec<String>> {
        let words = |text: &str| text.split(' ').map(str::to_owned).collect::<Vec<_>>();
        let object = self.object();
        match (&self.test, self.target.is_crd()) {
            (_, true) => vec![words(&format!("describe {object}"))],
            (GateTest::Rollout, _) => vec![
                words(&format!("describe {object}")),
                words("get pods"),
                words("get events --sort-by=.lastTimestamp"),
            ],
            _ => vec![
                words(&format!("get {object} --output yaml")),
                words("get events --sort-by=.lastTimestamp"),
            ],
        }
    }

    /// Returns the command of kubectl with these arguments.
    pub fn command(&self, arguments: &[String], namespaces: Namespaces<'_>) -> String {
        let own = self.target.namespace.as_deref();
        let flag = if self.target.is_crd() { String::new() } else { namespaces.flag(own) };
        format!("kubectl {flag}{}", shell(arguments))
    }

    /// Returns the commands that wait for it.
    pub fn commands(&self, namespaces: Namespaces<'_>) -> Vec<String> {
        self.waits().iter().map(|wait| self.command(wait, namespaces)).collect()
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
        for (number, show) in self.shows().iter().enumerate() {
            let separator = if number == 0 { "; to see why: " } else { "; " };
            message += &format!("{separator}{}", self.command(show, named));
        }
        format!("{} {}", waits.join(" && "), or_fail(&message))
    }

    /// Returns the object as kubectl expects it: `istio.sailoperator.io/default`.
    pub fn object(&self) -> String {
        object(&self.target)
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
