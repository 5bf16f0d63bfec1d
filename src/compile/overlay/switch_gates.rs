//! Gates of switches, as a hook Job for each switch that is on: it waits before the custom resources of
//! the switch are applied. Only values decide whether a switch is on, so the chart itself waits, and
//! with it Helm, helmfile, Argo CD and Flux.

use super::hook_job::{AWAIT, Context, HookJob, Rules, START};
use crate::config::{BundleConfig, KUBECTL_IMAGE, OPERANDS_SUFFIX, Switch};
use crate::diag::{Code, Diagnostics};
use crate::ir::{Condition, Object, Phase, ValueSpec, ValuesPath};
use crate::kubectl::{Gate, Namespaces};

/// Returns the value that says whether Jobs wait for the gates of switches.
pub(super) fn by_hook() -> ValueSpec {
    ValueSpec::switch(
        ValuesPath::new(["gates", "hook"]),
        true,
        "Wait for the gates of switches that are on with hook Jobs, before their custom resources \
                are applied.",
    )
}

/// Returns the name of the Job that waits for the gates of a switch.
pub fn switch_job_name(config: &BundleConfig, switch: &Switch) -> String {
    format!("{}{OPERANDS_SUFFIX}-{}-gates", config.name, switch.name.text)
}

/// Returns the most seconds that the Jobs of these switches may take, one after the other as Helm runs
/// hooks; a switch without gates has none.
pub fn switch_seconds(switches: &[Switch]) -> u64 {
    let waiting = switches.iter().filter(|switch| !switch.gates.is_empty());
    // A gate waits for the object, and then for its state.
    let seconds = waiting.map(|switch| {
        START + switch.gates.iter().map(|gate| 2 * u64::from(gate.timeout)).sum::<u64>()
    });
    seconds.sum()
}

/// Returns the Jobs that wait for the gates of switches with all that they need; none after an error.
pub(super) fn switch_gates(context: &Context<'_>, diagnostics: &mut Diagnostics) -> Vec<Object> {
    let switches = || context.config.switches.iter().filter(|switch| !switch.gates.is_empty());
    let start = diagnostics.mark();
    for gate in switches().flat_map(|switch| &switch.gates) {
        let unknown = "the permissions to wait for it are";
        context.check(Code::InvalidValue, unknown, &gate.target, &gate.span, diagnostics);
    }
    if diagnostics.has_errors_since(start) {
        return Vec::new();
    }
    switches().flat_map(|switch| context.objects(&job(switch, context))).collect()
}

/// Returns the Job of a switch, with a container for each gate.
fn job<'a>(switch: &Switch, context: &Context<'_>) -> HookJob<'a> {
    let targets = || switch.gates.iter().map(|gate| &gate.target);
    let mut rules = Rules::new();
    for target in targets() {
        context.allow(&mut rules, target, None, AWAIT);
    }

    let variables = context.variables(targets());
    let namespaces = Namespaces::InPod(&variables);
    let scripts = switch.gates.iter().map(|gate| Gate::new(gate, false).script(namespaces));
    let containers = scripts.map(|script| (KUBECTL_IMAGE, script)).collect();

    let is_on = Condition::Set(Switch::value(&switch.name.text));
    HookJob {
        name: switch_job_name(context.config, switch),
        phase: Phase::Operand,
        is_before: true,
        when: Condition::All(vec![Condition::Set(by_hook().path), is_on]),
        reason: "gates of switches",
        containers,
        variables,
        rules,
        seconds: switch_seconds(std::slice::from_ref(switch)),
    }
}
