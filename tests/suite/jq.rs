//! jq programs of the configuration, run by the real program: what has no end or fills the memory is
//! stopped and named, and what is sound is not, however busy the machine is.

use crate::support::command::{Case, Seen};
use crate::support::lamp::CONFIG;

/// Builds the lamp bundle with more in its table. The budget of jq is 1 GiB and 10 s, so the limits
/// around the program leave room for a worker that uses it up.
fn build(more: &str) -> (Case, Seen) {
    build_within("-v 1572864 -t 60", more)
}

/// Builds with these limits of the shell for each process. Limits below the budget are reported like it,
/// and reached sooner.
fn build_within(limits: &str, more: &str) -> (Case, Seen) {
    let case = Case::with_lamps();
    case.write("bundles.toml", format!("{CONFIG}{more}"));
    let seen = case.shell(&format!("ulimit {limits} && exec \"$0\" \"$@\""), &["build"], &[]);
    (case, seen)
}

fn stopped(program: &str, more: &str, causes: &[&str]) {
    is_stopped(program, build_within("-v 524288 -t 60", more), causes);
}

/// The program is stopped, by name, for one of the causes, and nothing is written.
fn is_stopped(program: &str, (case, seen): (Case, Seen), causes: &[&str]) {
    assert_eq!(seen.code, Some(2), "{program}: {}", seen.text());
    let said = format!("error[filter-budget]: jq program `{program}` stopped on ");
    assert!(seen.stderr.starts_with(&said), "{program}: {}", seen.stderr);
    let told = causes.iter().any(|cause| seen.stderr.contains(cause));
    assert!(told, "{program}: {}", seen.stderr);
    assert!(seen.stderr.contains(" --> bundles.toml:"), "{program}: {}", seen.stderr);
    assert!(!case.path("out").exists(), "{program}");
}

fn filters(programs: &[&str], causes: &[&str]) {
    for program in programs {
        stopped(program, &format!("exclude = ['{program}']\n"), causes);
    }
}

const DEPTH: &[&str] = &[": its recursion is too deep"];
const MEMORY: &[&str] = &[": it exceeded 1024 MiB of memory"];
const TIME: &[&str] = &["of CPU time"];

#[test]
fn filters_that_do_not_end_are_stopped() {
    // The loop is inside of a function, within one step. src/jq/tests.rs tests steps, with a small budget.
    let endless = "last(range(1e12)) | true";
    let exclude = format!("exclude = ['{endless}']\n");
    is_stopped(endless, build_within("-v 1572864 -t 2", &exclude), TIME);
}

/// Without a limit of the shell, it takes the whole budget to see that: 10 s, and what the process has
/// used before the filter, in whole seconds. The worker is the only child of the program.
#[test]
#[cfg(target_os = "linux")]
fn a_filter_has_ten_seconds_of_processor_time() {
    let case = Case::with_lamps();
    case.write("bundles.toml", format!("{CONFIG}exclude = ['last(range(1e12)) | true']\n"));
    let script = "\"$0\" \"$@\" & \
                  while kill -0 $!; do \
                    worker=$(awk -v parent=$! '$4 == parent {print $1}' /proc/[0-9]*/stat); \
                    grep 'Max cpu time *1[1-3] ' /proc/$worker/limits && kill $worker && break; \
                    sleep 0.05; \
                  done 2>/dev/null; wait";
    let seen = case.shell(script, &["build"], &[]);
    assert!(seen.stdout.contains("Max cpu time"), "{}", seen.text());
}

#[test]
fn filters_that_call_themselves_too_deeply_are_stopped() {
    filters(&["def f: 1 + f; f", "def f: [f]; f", "def f: try f catch .; f"], DEPTH);
}

#[test]
fn filters_that_fill_the_memory_are_stopped() {
    filters(
        &[
            "[range(1e9)] | true",
            "\"x\" * 10000000000 | length > 0",
            "reduce range(40) as $i (\"x\"; . + .) | true",
            "reduce range(40) as $i ([.]; . + .) | true",
            "reduce range(40) as $i ([.]; [., .]) | tojson | true",
            "\"x\" * 100000000 | explode | true",
            "reduce range(25) as $i (\"xx\"; @base64 \"\\(. + .)\") | true",
        ],
        MEMORY,
    );
}

#[test]
fn patches_are_stopped_too() {
    let patched =
        |patch| format!("[[bundle.patch]]\nmatch = '.kind == \"Deployment\"'\npatch = '{patch}'\n");
    for patch in [".a = [range(1e9)]", ".a = \"x\" * 10000000000"] {
        stopped(patch, &patched(patch), MEMORY);
    }

    let patch = ".a = reduce range(60) as $i ([1]; [., .])";
    is_stopped(patch, build_within("-v 1572864 -t 2", &patched(patch)), TIME);

    // The filter of a patch has a budget of its own, and is named as itself.
    let matches = "[range(1e9)] | true";
    stopped(matches, &format!("[[bundle.patch]]\nmatch = '{matches}'\npatch = '.'\n"), MEMORY);
}

#[test]
fn an_index_far_beyond_a_list_fills_nothing() {
    let more = "[[bundle.patch]]\nmatch = '.kind == \"Deployment\"'\n\
                patch = '.spec.template.spec.containers[1000000000] = 1'\n";
    let (case, seen) = build(more);
    assert_eq!(seen.code, Some(2), "{}", seen.text());
    assert!(seen.stderr.contains("error[patch-failed]"), "{}", seen.stderr);
    assert!(!case.path("out").exists());
}

#[test]
fn the_program_that_is_stopped_is_named_among_others() {
    let more = "exclude = ['.kind == \"Route\"', '[range(1e9)] | true', '.kind == \"Job\"']\n";
    stopped("[range(1e9)] | true", more, MEMORY);
}

#[test]
fn sound_programs_of_all_of_jq_are_carried_out() {
    let (case, seen) = build(
        r#"exclude = [
    'def of($kinds): .kind as $kind | $kinds | index($kind) != null; of(["Route", "Console"])',
    'reduce (.rules[]?.verbs[]?) as $verb (false; . or $verb == "never")',
    '[limit(2; range(10))] | length == 3',
    '[foreach (.rules[]?) as $rule (0; . + 1)] | length > 50',
    'label $out | (.rules[]? | select(.verbs == []) | true, break $out)',
    '[paths] | length > 5000',
    '.metadata.name * 2 == "lamp"',
]

[[bundle.patch]]
match = '.kind == "Deployment"'
patch = 'walk(if type == "object" and has("replicas") then .replicas *= 3 else . end)'

[[bundle.patch]]
match = '.kind == "Deployment"'
patch = 'reduce ("a", "b") as $name (.; .metadata.labels += {($name): ($name * 2)})'

[[bundle.patch]]
match = '.kind == "Deployment"'
patch = '.spec.template.spec.containers[0].env |= (. // []) + [range(2) | {name: "N\(.)", value: "\(.)"}]'
"#,
    );
    assert_eq!(seen.code, Some(0), "{}", seen.text());
    let deployment = case.read("out/lamp-operator/1.2.3/templates/deployment-lamp-operator.yaml");
    let values = case.read("out/lamp-operator/1.2.3/values.yaml");
    assert!(values.contains("replicas: 3"), "{values}");
    for expected in ["a: aa", "b: bb", "name: N1"] {
        assert!(deployment.contains(expected), "{expected}: {deployment}");
    }
}

/// A machine that is too busy to run the program for longer than filters used to have. Stopping it
/// takes the processor away as a busy machine does, without keeping one busy.
#[test]
fn a_sound_filter_is_not_stopped_by_a_busy_machine() {
    let case = Case::with_lamps();
    let long = "reduce range(200000) as $i (0; . + $i) | . < 0";
    case.write("bundles.toml", format!("{CONFIG}exclude = ['{long}']\n"));
    let script = "set -m; \"$0\" \"$@\" & group=$!; sleep 0.2; kill -STOP -- -$group; sleep 7; \
                  kill -CONT -- -$group; wait $group";
    let seen = case.shell(script, &["build"], &[]);
    assert_eq!(seen.code, Some(0), "{}", seen.text());
}

#[test]
fn a_filter_that_is_no_condition_is_an_error() {
    for (filter, given, hint) in [
        ("\"Route\"", "returns a string", "to exclude a kind, write '.kind == \"Route\"'"),
        (".kind", "returns a string", "write a condition, such as `.kind == \"Route\"`"),
        (".spec.replicas // 0", "returns a number", "to test that a field is set"),
    ] {
        for key in ["exclude", "include"] {
            let (case, seen) = build(&format!("{key} = ['{filter}']\n"));
            assert_eq!(seen.code, Some(2), "{filter}: {}", seen.text());
            let said = format!("error[filter-failed]: filter `{filter}` {given} for ");
            assert!(seen.stderr.starts_with(&said), "{filter}: {}", seen.stderr);
            assert!(seen.stderr.contains(hint), "{filter}: {}", seen.stderr);
            assert!(!case.path("out").exists(), "{filter}");
        }
    }
    let (_, seen) = build("exclude = [\"Route\"]\n");
    assert_eq!(seen.code, Some(2));
    assert!(
        seen.stderr.contains("hint: to exclude a kind, write '.kind == \"Route\"'"),
        "{}",
        seen.stderr
    );
}

#[test]
fn filters_that_leave_nothing_are_an_error_and_too_little_is_a_warning() {
    let kinds = "[\"ServiceAccount\", \"ClusterRole\", \"ClusterRoleBinding\", \"Secret\"]";
    for (more, said) in [
        ("exclude = ['true']\n", "`exclude` filter `true` removes "),
        ("exclude = ['.']\n", "`exclude` filter `.` removes "),
        ("include = ['.kind == \"Rout\"']\n", " match no `include` filter"),
        (
            "include = ['.kind == \"Deployment\"']\nexclude = ['.kind == \"Deployment\"']\n",
            " match no `include` filter",
        ),
    ] {
        let (case, seen) = build(more);
        assert_eq!(seen.code, Some(2), "{more}: {}", seen.text());
        assert!(
            seen.stderr.contains("error[filtered-out]: filters remove all "),
            "{}",
            seen.stderr
        );
        assert!(seen.stderr.contains(said), "{more}: {}", seen.stderr);
        assert!(!case.path("out").exists(), "{more}");
    }
    for (more, said) in [
        (
            "exclude = ['.kind == \"Deployment\"']\n".to_owned(),
            "the only Deployment: `exclude` filter",
        ),
        (
            "exclude = ['.kind == \"CustomResourceDefinition\"']\n".to_owned(),
            "the only CRD: `exclude` filter",
        ),
        (
            format!("include = ['.kind | IN({kinds}[])', '.kind == \"Deployment\"']\n"),
            "the only CRD: 1 matches no `include` filter",
        ),
    ] {
        let (case, seen) = build(&more);
        assert_eq!(seen.code, Some(0), "{more}: {}", seen.text());
        let warning = format!("warning[filtered-out]: filters remove {said}");
        assert!(seen.stderr.contains(&warning), "{more}: {}", seen.stderr);
        assert!(case.path("out").exists(), "{more}");
    }
}
