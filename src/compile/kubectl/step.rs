//! Steps after the installation as commands of kubectl.

use super::gate::{object, or_fail};
use super::{Gate, Namespaces};
use crate::config::{StepAfter, Target};
use crate::escape::shell::quoted;
use crate::source::sha256;
use serde_json::{Value as Json, json};

/// Start of the annotation of an object that a step was carried out on once. A digest of the step
/// follows, so that a changed step is carried out again.
const MARKER: &str = "bundle2chart/after-";

/// Value of that annotation.
const DONE: &str = "done";

/// A step after the installation of a release: a change to an object that others create.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Step {
    /// The object.
    pub target: Target,
    /// True if the object has no namespace.
    pub cluster_scoped: bool,
    /// The gates to wait for before the change.
    pub gates: Vec<Gate>,
    /// Time limit in seconds for the creation of the object.
    pub timeout: u32,
    /// Merge patches, in order.
    patches: Vec<Json>,
    /// The annotation that the last patch sets, if the change must not be repeated.
    marker: Option<String>,
}

impl Step {
    /// Returns a step of the configuration.
    pub fn new(step: &StepAfter, cluster_scoped: bool) -> Step {
        let mut patch = step.patch.clone();
        let mut marker = None;
        let always = step.reset.as_ref().is_some_and(|reset| reset.always);
        if step.reset.is_some() && !always {
            let key = format!("{MARKER}{}", digest(step));
            patch["metadata"]["annotations"][&key] = json!(DONE);
            marker = Some(key);
        }
        let removal = step.reset.iter().map(|reset| reset.removal.clone());
        Step {
            target: step.target.clone(),
            cluster_scoped,
            gates: step.gates.iter().map(|gate| Gate::new(gate, false)).collect(),
            timeout: step.timeout,
            patches: removal.chain([patch]).collect(),
            marker,
        }
    }

    /// Returns the most seconds that its waiting takes.
    pub fn seconds(&self) -> u64 {
        // A gate waits for the object, and then for its state.
        let gates = self.gates.iter().map(|gate| 2 * u64::from(gate.timeout));
        u64::from(self.timeout) + gates.sum::<u64>()
    }

    /// Returns true if an object is changed once, and then marked.
    pub fn is_done_once(&self) -> bool {
        self.marker.is_some()
    }

    /// Returns the object in a few words: `Istio/default`.
    pub fn describe(&self) -> String {
        let Target { kind, name, .. } = &self.target;
        format!("{kind}/{name}")
    }

    /// Returns its merge patches as JSON, in order.
    pub fn patches(&self) -> Vec<String> {
        // Hooks of helmfile are templates, in which two braces begin an action. JSON only has them
        // inside of strings.
        self.patches.iter().map(|patch| patch.to_string().replace("{{", "{\\u007b")).collect()
    }

    /// Returns the commands that carry it out, one a line.
    pub fn commands(&self, namespaces: Namespaces<'_>) -> Vec<String> {
        let mut commands = vec![self.wait(namespaces)];
        for gate in &self.gates {
            commands.extend(gate.commands(namespaces));
        }
        commands.extend(self.patch_commands(namespaces));
        commands
    }

    /// Returns a script that carries it out, unless the object shows that this was done before.
    /// Messages name what was awaited.
    pub fn script(&self, namespaces: Namespaces<'_>) -> String {
        let own = self.target.namespace.as_deref();
        let place = if self.cluster_scoped { String::new() } else { namespaces.place(own) };
        let described = format!("{}{place}", self.describe());
        let absent = format!("no {described} (time limit {}s)", self.timeout);
        let mut lines = vec![format!("{} {}", self.wait(namespaces), or_fail(&absent))];
        lines.extend(self.gates.iter().map(|gate| gate.script(namespaces)));

        if let Some(marker) = &self.marker {
            // The marker has no dots, which would have to be escaped here.
            let output = format!("jsonpath={{.metadata.annotations.{marker}}}");
            let target = object(&self.target);
            let get = self.kubectl(&["get", &target, "--output", &output], namespaces);
            let unread = or_fail(&format!("cannot read {described}"));
            lines.push(format!("done=\"$({get})\" {unread}"));
            let message = quoted(&format!("{described} was changed before"));
            lines.push(format!("if [ \"$done\" = {DONE} ]; then echo {message}; exit 0; fi"));
        }

        let failed = or_fail(&format!("cannot patch {described}"));
        let patches = self.patch_commands(namespaces);
        lines.extend(patches.into_iter().map(|patch| format!("{patch} {failed}")));
        lines.join("\n")
    }

    fn wait(&self, namespaces: Namespaces<'_>) -> String {
        let timeout = format!("--timeout={}s", self.timeout);
        self.kubectl(&["wait", "--for=create", &timeout, &object(&self.target)], namespaces)
    }

    fn patch_commands(&self, namespaces: Namespaces<'_>) -> Vec<String> {
        let target = object(&self.target);
        let patches = self.patches();
        let patch = |patch: &String| {
            self.kubectl(&["patch", &target, "--type=merge", "--patch", patch], namespaces)
        };
        patches.iter().map(patch).collect()
    }

    fn kubectl(&self, arguments: &[&str], namespaces: Namespaces<'_>) -> String {
        namespaces.kubectl(&self.target, self.cluster_scoped, arguments)
    }
}

/// Returns the start of a digest of what a step changes.
fn digest(step: &StepAfter) -> String {
    let removal = step.reset.as_ref().map(|reset| &reset.removal);
    let text = json!([removal, step.patch]).to_string();
    // Enough to tell the steps on one object apart.
    sha256(text.as_bytes())[..8].to_owned()
}
