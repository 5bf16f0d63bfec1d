//! Steps after the installation (`[[bundle.after]]`), as a hook Job after all other objects, which Helm,
//! Argo CD and Flux carry out.

use super::hook_job::{AWAIT, CHANGE, Context, HookJob, Rules, START};
use crate::config::{BundleConfig, KUBECTL_IMAGE, OPERANDS_SUFFIX, StepAfter, Target};
use crate::diag::{Code, Diagnostic, Diagnostics};
use crate::ir::{Condition, Object, Phase, Scope, Scopes, ValueSpec, ValuesPath};
use crate::kinds::scope_of;
use crate::kubectl::{Namespaces, Step};

/// Name suffix of the Job and of what it needs.
const SUFFIX: &str = "-after";

/// Returns the value that says whether a Job carries out the steps.
pub(super) fn by_hook() -> ValueSpec {
    ValueSpec::switch(
        ValuesPath::new(["after", "hook"]),
        true,
        "Carry out the steps after the installation with a hook Job. Set to false if they are \
                carried out otherwise, for example by helmfile.",
    )
}

/// Returns the name of the Job of a phase.
pub fn job_name(config: &BundleConfig, phase: Phase) -> String {
    let operands = if phase == Phase::Operand { OPERANDS_SUFFIX } else { "" };
    format!("{}{operands}{SUFFIX}", config.name)
}

/// Returns the most seconds that a Job with these steps may take.
pub fn job_seconds(steps: &[Step]) -> u64 {
    START + steps.iter().map(Step::seconds).sum::<u64>()
}

/// Returns the steps of a phase, in order. `scopes` has the scopes of kinds that are not built into
/// Kubernetes.
pub fn steps(config: &BundleConfig, phase: Phase, scopes: &Scopes) -> Vec<Step> {
    let own = |step: &&StepAfter| step.phase == phase;
    let is_cluster_scoped =
        |target: &Target| scope_of(&target.group, &target.kind, scopes) == Some(Scope::Cluster);
    let steps = config.after.iter().filter(own);
    steps.map(|step| Step::new(step, is_cluster_scoped(&step.target))).collect()
}

/// Returns the Jobs of a bundle's steps with all that they need; none after an error. `objects` are
/// all others of the chart.
pub(super) fn after(
    context: &Context<'_>,
    objects: &[Object],
    diagnostics: &mut Diagnostics,
) -> Vec<Object> {
    let start = diagnostics.mark();
    let steps = &context.config.after;
    for step in steps {
        check(step, context, objects, diagnostics);
    }
    if diagnostics.has_errors_since(start) {
        return Vec::new();
    }

    let of_phase = |phase| {
        let steps: Vec<&StepAfter> = steps.iter().filter(|step| step.phase == phase).collect();
        (!steps.is_empty()).then(|| context.objects(&job(&steps, phase, context)))
    };
    [Phase::With, Phase::Operand].into_iter().filter_map(of_phase).flatten().collect()
}

/// Reports what makes a step impossible.
fn check(
    step: &StepAfter,
    context: &Context<'_>,
    objects: &[Object],
    diagnostics: &mut Diagnostics,
) {
    let gates = step.gates.iter().map(|gate| (&gate.target, &gate.span));
    for (target, span) in std::iter::once((&step.target, &step.span)).chain(gates) {
        context.check(Code::StepAfter, "the step's permissions are", target, span, diagnostics);
    }

    let target = &step.target;
    let is_target = |object: &&Object| {
        target.is_kind_of(object)
            && object.name() == target.name
            && context.same_namespace(object, target)
    };
    if let Some(object) = objects.iter().find(is_target) {
        let message =
            format!("the chart contains {object}, which steps would change back and forth");
        let hint = "change it with `patch`, or in its overlay: steps are for objects that operators create";
        diagnostics.push(Diagnostic::error(Code::StepAfter, message).at(&step.span).hint(hint));
    }
}

/// Returns the Job of these steps, with a container for each.
fn job<'a>(steps: &[&'a StepAfter], phase: Phase, context: &Context<'_>) -> HookJob<'a> {
    let mut rules = Rules::new();
    for step in steps {
        context.allow(&mut rules, &step.target, step.resource.as_deref(), CHANGE);
        for gate in &step.gates {
            // The plural of the step's kind is also that of a gate on this kind.
            let is_target =
                gate.target.kind == step.target.kind && gate.target.group == step.target.group;
            let plural = step.resource.as_deref().filter(|_| is_target);
            context.allow(&mut rules, &gate.target, plural, AWAIT);
        }
    }

    let gates = steps.iter().flat_map(|step| &step.gates).map(|gate| &gate.target);
    let variables = context.variables(steps.iter().map(|step| &step.target).chain(gates));
    let commands = self::steps(context.config, phase, &context.scopes);
    let containers = steps.iter().zip(&commands).map(|(step, command)| {
        let image = step.image.as_deref().unwrap_or(KUBECTL_IMAGE);
        (image, command.script(Namespaces::InPod(&variables)))
    });
    let containers = containers.collect();
    HookJob {
        name: job_name(context.config, phase),
        phase,
        is_before: false,
        when: Condition::Set(by_hook().path),
        reason: "steps after",
        containers,
        variables,
        rules,
        seconds: job_seconds(&commands),
    }
}
