use super::*;
use serde_json::{Value as Json, json};

/// A budget of steps that a test can afford; sessions of tests run on threads.
const SMALL: Budget = Budget { steps: 200_000, seconds: 0, memory: 0 };

fn answer(filter: &str, object: &Json, budget: Budget) -> Result<bool, String> {
    let programs = vec![(Purpose::Filter, filter.to_owned())];
    let mut session = Session::start_within(programs, budget).map_err(|error| error.to_string())?;
    if let [Some(error)] = session.errors() {
        return Err(error.message.clone());
    }
    match session.conditions(&[0], &Input::Resolved(object.clone())) {
        Ok(answers) => answers[0].clone().map_err(|failure| match failure {
            Failure::Error(reason) | Failure::InvalidRegex(reason) => reason,
            Failure::NotCondition(given) => format!("gives {given}"),
        }),
        Err(stopped) => Err(format!("stopped: {}", stopped.excess)),
    }
}

fn matches(filter: &str, object: &Json) -> Result<bool, String> {
    answer(filter, object, Budget::default())
}

/// Returns the marked text, the message and the hint for `filter`.
fn verdict(filter: &str) -> String {
    match check(filter, Purpose::Filter) {
        Ok(()) => "accepted".to_owned(),
        Err(error) => {
            let marked = &filter[error.range.start..error.range.end.min(filter.len())];
            let marked: String = marked.chars().take(24).collect();
            format!("invalid at `{marked}`: {} ({})", error.message, error.hint)
        }
    }
}

fn route() -> Json {
    json!({
        "apiVersion": "route.openshift.io/v1",
        "kind": "Route",
        "metadata": {"name": "a-metrics", "labels": {"a": "b", "n": "3"}},
        "rules": [{"verbs": ["get", "*"]}, {}],
        "big": 18_446_744_073_709_551_615_u64,
    })
}

#[test]
fn useful_filters_mean_what_jq_means() {
    let cases = [
        (".kind == \"Route\"", true),
        (".kind | startswith(\"Console\")", false),
        (".metadata.name | test(\"metrics$\")", true),
        (".metadata.name | test(\"METRICS\"; \"i\")", true),
        (".metadata.labels[\"a\"]? == \"b\"", true),
        (".metadata.annotations[\"a\"]? == \"b\"", false),
        ("any(.rules[]?; .verbs | index(\"*\"))", true),
        ("any(.rules[]?.verbs[]?; . == \"delete\")", false),
        (".kind | IN(\"Route\", \"ConsolePlugin\")", true),
        ("IN(.rules[].verbs[]?; \"get\")", true),
        ("[.kind] | inside([\"Route\", \"Role\", \"ConsolePlugin\"])", true),
        ("\"\\(.kind)/\\(.metadata.name)\" == \"Route/a-metrics\"", true),
        (".kind + \"/\" + .metadata.name == \"Route/a-metrics\"", true),
        (".metadata.labels | has(\"a\") and (has(\"z\") | not)", true),
        (".metadata.labels | to_entries | any(.value == \"3\")", true),
        (".metadata.labels | keys | join(\",\") == \"a,n\"", true),
        (".apiVersion | split(\"/\")[0] | endswith(\".openshift.io\")", true),
        (".metadata.name as $name | any(.rules[]; .name == $name)", false),
        ("if .kind == \"Route\" then .rules | length > 1 else false end", true),
        ("[.. | strings | select(startswith(\"*\"))] | length == 1", true),
        ("any(..; . == \"get\")", true),
        ("(.spec.replicas // 1) > 0", true),
        ("try (.kind | keys) catch false", false),
        (".big == 18446744073709551615", true),
        (".metadata.name | ltrimstr(\"a-metrics\") == \"\"", true),
        (".rules | map(.verbs) | flatten | unique | length > 0", true),
        ("select(.rules[].verbs[]? == \"get\")", true),
        // Any output may be true; no output is false.
        ("null", false),
        ("empty", false),
        ("false, true", true),
        ("false, null", false),
        (".rules[].verbs[]? == \"get\"", true),
        ("select(.kind == \"Role\")", false),
        (".", true),
        (".a.b.c", false),
    ];
    for (filter, expected) in cases {
        assert_eq!(verdict(filter), "accepted", "{filter}");
        assert_eq!(matches(filter, &route()), Ok(expected), "{filter}");
    }
}

#[test]
fn what_fails_says_why_and_shows_no_value() {
    let secret = json!({"kind": "Secret", "data": {"password": "hunter2"}, "list": [1], "n": 1});
    let mut seen = Vec::new();
    for filter in [
        ".data.password.x",
        ".data | startswith(\"a\")",
        ".missing[] == 1",
        ".data + 1",
        ".n | keys",
        ".data.password | test(. + \"(\")",
        "true | length",
        ".list[\"a\"]",
        ".data | split(1)",
        ".kind | test(\"a\"; \"?\")",
        "true | keys",
        ".n | .[0]",
        ".n | .[true]",
        ".list | .[{}]",
        ".n | .[1:]",
        ".list | .[\"a\":]",
        ".kind | floor",
        ".kind | sqrt",
        ".kind | sort",
        ".kind | implode",
        "path(1)",
        ".list | join(1)",
        ".data | tonumber",
        "[1.5] | implode",
        ".data | ltrimstr(1) | error",
        "error(\"hunter2\")",
        ".kind | strptime(1)",
        "\"a\" | fromjson",
        "{(1): 2}",
    ] {
        let error = match matches(filter, &secret) {
            Err(error) => error,
            Ok(value) => panic!("{filter} gave {value}"),
        };
        assert!(!error.contains("hunter2"), "{filter}: {error}");
        seen.push(format!("{filter:<48} {error}"));
    }
    insta::assert_snapshot!(seen.join("\n"));
}

#[test]
fn programs_that_cannot_be_used_say_where_and_why() {
    let nested = |n: usize| format!("{}1{}", "(".repeat(n), ")".repeat(n));
    let cases = [
        nested(5_000),
        nested(65),
        format!("((1) | {})", nested(64)),
        "env".to_owned(),
        "$ENV.HOME".to_owned(),
        "$__prog_args".to_owned(),
        "input".to_owned(),
        "[inputs]".to_owned(),
        "input_filename".to_owned(),
        "input_line_number".to_owned(),
        "get_search_list".to_owned(),
        "\"a\" | modulemeta".to_owned(),
        "now".to_owned(),
        "0 | localtime".to_owned(),
        "0 | strflocaltime(\"a\")".to_owned(),
        "debug_empty".to_owned(),
        "stderr_empty".to_owned(),
        "debug".to_owned(),
        "debug(\"a\")".to_owned(),
        "stderr".to_owned(),
        "halt".to_owned(),
        "halt_error(1)".to_owned(),
        "import \"a\" as a; .".to_owned(),
        "include \"a\"; .".to_owned(),
        "def f: now; f".to_owned(),
        ". == \"\\u12\"".to_owned(),
        ".kind == 'Route'".to_owned(),
        ".kind == \"Route\" && true".to_owned(),
        ".kind == \"Route\" || true".to_owned(),
        ".kind ==".to_owned(),
        ".kind == \"Route\")".to_owned(),
        "(.kind == \"Route\"".to_owned(),
        ".kind | startswith".to_owned(),
        ".kind | startsWith(\"a\")".to_owned(),
        "kind == \"Route\"".to_owned(),
        ".kind == Route".to_owned(),
        "Route".to_owned(),
        "$x == 1".to_owned(),
        "break $out".to_owned(),
        String::new(),
        "# nothing".to_owned(),
        "{kind = 1}".to_owned(),
        ". as | 1".to_owned(),
        "def : 1; .".to_owned(),
        "def f(.): 1; .".to_owned(),
        "reduce . 1".to_owned(),
        "foreach . as $x".to_owned(),
        "if . then 1".to_owned(),
        "if . 1".to_owned(),
        "if . then 1 else 2 3".to_owned(),
        "label . | 1".to_owned(),
        "{a: }".to_owned(),
        ".[1:2:3]".to_owned(),
        ".a (aaaaaaaaaaaaaaaaaaaaaaaaa)".to_owned(),
        ".kind | test".to_owned(),
        "length(1)".to_owned(),
        "Route(1)".to_owned(),
        format!(".{}", " ".repeat(4_096)),
    ];
    let mut seen = String::new();
    for case in &cases {
        let verdict = verdict(case);
        assert_ne!(verdict, "accepted", "{case}");
        let shown: String = case.chars().take(60).collect();
        seen.push_str(&format!("{shown}\n    {verdict}\n"));
    }
    insta::assert_snapshot!(seen);
    for limit in [nested(64), format!(".{}", " ".repeat(4_095))] {
        assert_eq!(verdict(&limit), "accepted");
    }
}

#[test]
fn all_of_jq_that_does_no_io_is_available() {
    for (filter, expected) in [
        ("def high: . > 1; [1, 2] | any(high)", true),
        ("def f($n): if $n == 0 then true else f($n - 1) end; f(50000)", true),
        ("reduce .rules[].verbs[]? as $v (0; . + 1) == 2", true),
        ("[foreach .rules[] as $r (0; . + 1)] == [1, 2]", true),
        ("label $out | .rules[] | true, break $out", true),
        ("[limit(3; range(10))] == [0, 1, 2]", true),
        ("[range(0; 10; 5)] == [0, 5]", true),
        ("[1 | until(. > 100; . * 2)] == [128]", true),
        ("[1 | while(. < 5; . + 1)] | length == 4", true),
        ("first(repeat(1)) == 1", true),
        ("[recurse(.metadata?; . != null) | .name?] | index(\"a-metrics\") == 1", true),
        ("[paths] | any(. == [\"metadata\", \"name\"])", true),
        ("[leaf_paths] | length > 5", true),
        ("getpath([\"metadata\", \"name\"]) == \"a-metrics\"", true),
        ("(.metadata.labels.n | tonumber) * 2 == 6", true),
        ("\"[1, 2]\" | fromjson | add == 3", true),
        ("(\"ab\" * 2) == \"abab\"", true),
        ("(.kind = \"Job\" | .kind) == \"Job\"", true),
        ("del(.metadata) | has(\"metadata\") | not", true),
        ("walk(if type == \"string\" then \"x\" else . end) | .kind == \"x\"", true),
        ("with_entries(.value |= tostring) | .kind == \"Route\"", true),
        (".metadata.name | capture(\"(?<a>.)-\") | .a == \"a\"", true),
        (".metadata.name | sub(\"-.*\"; \"\") == \"a\"", true),
        ("[.metadata.name | scan(\"[aeiou]\")] | length == 3", true),
        ("@base64 \"\\(.kind)\" | @base64d == \"Route\"", true),
        ("@json \"\\(.kind)\" == \"\\\"Route\\\"\"", true),
        ("[.kind] | @csv == \"\\\"Route\\\"\"", true),
        ("INDEX(.rules[]; .verbs | length) | keys == [\"0\", \"2\"]", true),
        (". as {kind: $k, metadata: {$name}} | $k + $name == \"Routea-metrics\"", true),
        ("\"1970-01-01T00:00:01Z\" | fromdate == 1", true),
        ("[.rules[] | try error(\"x\") catch .] == [\"x\", \"x\"]", true),
        ("[splits(\"a\")?] | length == 0", true),
        (". as $x | [$x, $x] | length == 2", true),
        ("[..|..] | length > 10", true),
    ] {
        assert_eq!(verdict(filter), "accepted", "{filter}");
        assert_eq!(matches(filter, &route()), Ok(expected), "{filter}");
    }
}

#[test]
fn an_output_that_is_no_condition_is_an_error() {
    for (filter, given) in [
        ("\"Route\"", "a string"),
        (".kind", "a string"),
        ("0", "a number"),
        (".rules | length", "a number"),
        (".metadata", "an object"),
        ("[true]", "a list"),
        ("true, 1", "a number"),
        (".kind = \"Job\"", "an object"),
    ] {
        assert_eq!(matches(filter, &route()), Err(format!("gives {given}")), "{filter}");
    }
}

#[test]
fn a_budget_of_steps_stops_what_does_not_end() {
    for filter in [
        "def f: f; f",
        "def f: ., f; [f] | true",
        "last(repeat(1))",
        "[repeat(1)] | true",
        "reduce repeat(1) as $x (0; . + 1) | true",
        "last(foreach repeat(1) as $x (0; . + 1))",
        "1 | until(false; . + 1)",
        "last(1 | while(true; . + 1))",
        "last(recurse(.))",
        "reduce range(1e12) as $i (0; . + $i) | true",
        "any(range(1e12); . < 0)",
        "repeat(true)",
        "[limit(1e12; repeat(1))] | true",
        "def f: f | f; f",
    ] {
        let stopped = answer(filter, &route(), SMALL).unwrap_err();
        assert!(stopped.starts_with("stopped: it"), "{filter}: {stopped}");
    }
    let deep = Budget { steps: u64::MAX, ..SMALL };
    for filter in ["def f: 1 + f; f", "def f: [f]; f"] {
        let stopped = answer(filter, &route(), deep).unwrap_err();
        assert_eq!(stopped, "stopped: its recursion is too deep", "{filter}");
    }
    // The same program takes as many steps each time.
    let counted = "reduce range(1000) as $i (0; . + $i) == 499500";
    let enough =
        (1..).find(|n| answer(counted, &route(), Budget { steps: n * 1_000, ..SMALL }).is_ok());
    for _ in 0..3 {
        let steps = enough.unwrap() * 1_000;
        assert_eq!(answer(counted, &route(), Budget { steps, ..SMALL }), Ok(true));
        assert!(answer(counted, &route(), Budget { steps: steps - 1_000, ..SMALL }).is_err());
    }
}

#[test]
fn a_session_ends_with_the_program_that_was_stopped() {
    let programs = [".kind == \"Route\"", "def f: f; f", "true"];
    let programs = programs.map(|text| (Purpose::Filter, text.to_owned())).to_vec();
    let mut session = Session::start_within(programs, SMALL).unwrap();
    let input = Input::Resolved(route());
    assert_eq!(session.conditions(&[0, 2], &input).unwrap(), [Ok(true), Ok(true)]);
    let stopped = session.conditions(&[0, 1, 2], &input).unwrap_err();
    assert_eq!(stopped, Stopped { program: 1, excess: Excess::Steps(200_000) });
    assert!(session.conditions(&[0], &input).is_err(), "no answer is taken for another's");
}

#[test]
fn a_patch_that_gives_no_json_fails() {
    for (patch, why) in [
        (".a = nan", "not finite"),
        (".a = infinite", "not finite"),
        (".a = 1e999", "not finite"),
        (". + {(1): 2}", "a key is a number"),
        (".a = ([255] | tobytes)", "cut inside a character"),
        (".a = reduce range(2000) as $i (0; [.])", "nested deeper than 1000"),
        ("empty", "no object"),
        (".kind", "a string, not an object"),
        ("., .", "more than one"),
        ("null", "it returned null, not an object"),
        ("true", "it returned a boolean, not an object"),
        (".a = reduce range(1000) as $i (0; [.])", "nested deeper than 1000"),
        (".a = reduce range(1000) as $i (0; {a: .})", "nested deeper than 1000"),
        (". + {([255] | tobytes | tostring): 1}", "a"),
    ] {
        let programs = vec![(Purpose::Patch, patch.to_owned())];
        let mut session = Session::start(programs).unwrap();
        assert_eq!(session.errors(), [None], "{patch}");
        let root = crate::ir::Map::from_iter([("kind".to_owned(), crate::ir::Value::text("A"))]);
        let error = session.patch(0, patch, &root).unwrap().unwrap_err();
        assert!(error.contains(why), "{patch}: {error}");
    }
}

#[test]
fn long_filters_that_are_fine_are_compiled_and_run_without_overflow() {
    for filter in [
        format!("{}1", "-".repeat(4_095)),
        format!("{}1", ".|".repeat(2_000)),
        format!("{}1", "try ".repeat(1_000)),
        format!("{}.", ". as $x|".repeat(500)),
        format!("1{}", "+1".repeat(2_000)),
        format!(".{}", "[0]?".repeat(1_000)),
        nested_conditions(60),
    ] {
        let run = matches(&filter, &json!([[[true]]]));
        assert!(!matches!(&run, Err(error) if error.starts_with("stopped")), "{run:?}");
    }
}

fn nested_conditions(n: usize) -> String {
    (0..n).fold("true".to_owned(), |inner, _| format!("if ({inner}) then true else false end"))
}

/// Pieces of which jq programs, sound and unsound, are made.
const PIECES: &[&str] = &[
    ".",
    "..",
    ".a",
    ".[]",
    ".[0]",
    ".[1:]",
    "[",
    "]",
    "(",
    ")",
    "{",
    "}",
    "{a: .}",
    "|",
    ",",
    "and",
    "or",
    "not",
    "==",
    "<",
    "+",
    "-",
    "/",
    "%",
    "//",
    "?",
    "as $x |",
    "$x",
    "1",
    "1e999",
    "\"a\"",
    "\"\\(",
    "\"",
    "\\",
    "if",
    "then",
    "elif",
    "else",
    "end",
    "try",
    "catch",
    "map(",
    "select(",
    "any(",
    ";",
    "test(\"a+\")",
    "test(\"(\")",
    "split(\"\")",
    "add",
    "join(\",\")",
    "tojson",
    "keys",
    "to_entries",
    "sort_by(.)",
    "group_by(.a)",
    "first(",
    "recurse",
    "@text",
    "é",
    "#",
    "\n",
    "::",
    "def",
    "reduce",
    "def f: f;",
    "f",
    "repeat(",
    "range(9)",
    "|=",
    "=",
    "tojson",
    "fromjson",
    "label $out |",
    "break $out",
    "null",
    "true",
    "length",
    "index(\"a\")",
];

proptest::proptest! {
    #![proptest_config(proptest::test_runner::Config::with_cases(256))]

    #[test]
    fn no_filter_makes_the_compiler_or_a_run_fail(
        pieces in proptest::collection::vec(proptest::sample::select(PIECES), 1..12)
    ) {
        let text = pieces.join(" ");
        match check(&text, Purpose::Filter) {
            Err(error) => {
                assert!(!error.message.contains("compiler"), "{text}: {}", error.message);
                assert!(text.get(error.range.clone()).is_some(), "{text}: {:?}", error.range);
            }
            Ok(()) => {
                let ran = answer(&text, &route(), SMALL);
                assert!(!matches!(&ran, Err(error) if error.contains("failed")), "{text}: {ran:?}");
            }
        }
    }
}

#[test]
fn invalid_regular_expressions_are_a_kind_of_failure() {
    let failure = |filter: &str| {
        let programs = vec![(Purpose::Filter, filter.to_owned())];
        let mut session = Session::start_within(programs, Budget::default()).expect("a thread");
        let input = Input::Resolved(json!({"kind": "Route"}));
        session.conditions(&[0], &input).expect("answers").remove(0).expect_err("a failure")
    };
    for filter in [".kind | test(\"(\")", ".kind | test(\"a\"; \"?\")"] {
        assert!(matches!(failure(filter), Failure::InvalidRegex(_)), "{filter}");
    }
    // The text of a program is no reason to suggest another regular expression.
    assert!(matches!(failure(".\"invalid regex\" | keys"), Failure::Error(_)));
}

#[test]
fn nested_as_deep_as_allowed() {
    for patch in
        [".a = reduce range(999) as $i (0; [.])", ".a = reduce range(999) as $i (0; {a: .})"]
    {
        // The program compiles bundles on threads with a large stack, too.
        let patched = on_large_stack(move || {
            let programs = vec![(Purpose::Patch, patch.to_owned())];
            let mut session = Session::start(programs).unwrap();
            session.patch(0, patch, &crate::ir::Map::new()).unwrap()
        });
        assert_eq!(patched.unwrap().map(|map| map.len()), Ok(1), "{patch}");
    }
}

#[test]
fn budgets_are_counted_and_named() {
    let least = |program: &str| {
        let is_enough =
            |steps: &u64| answer(program, &route(), Budget { steps: *steps, ..SMALL }).is_ok();
        (0..).find(is_enough).unwrap()
    };
    assert_eq!(["true", "true | true", "true | true | true"].map(least), [4, 9, 14]);
    let named = [
        Excess::Steps(1_000_000),
        Excess::Depth,
        Excess::Time(10),
        Excess::Memory(1 << 30),
        Excess::Failure("its process was lost".to_owned()),
    ];
    insta::assert_snapshot!(named.map(|excess| excess.to_string()).join("\n"));
}

#[test]
fn workers_end_for_a_reason() {
    use std::os::unix::process::ExitStatusExt as _;
    use std::process::ExitStatus;
    let (signal, exit) = (ExitStatus::from_raw, |code: i32| ExitStatus::from_raw(code << 8));
    let abort = rustix::process::Signal::ABORT.as_raw();
    let mut seen = String::new();
    for (status, errors) in [
        (signal(rustix::process::Signal::XCPU.as_raw()), ""),
        (signal(abort), "thread 'jq' has overflowed its stack"),
        (signal(abort), "memory allocation of 1 bytes failed"),
        (exit(101), "capacity overflow"),
        (exit(1), ""),
    ] {
        seen += &format!("{}\n", session::cause(status, errors, &Budget::default()));
    }
    insta::assert_snapshot!(seen);
}

/// A program that does not compile has no answer, and none is given after that.
#[test]
fn programs_that_do_not_compile_have_no_answer() {
    let programs = vec![(Purpose::Filter, "now".to_owned())];
    let mut session = Session::start(programs).unwrap();
    let input = Input::Resolved(route());
    let reasons = [0, 1].map(|_| session.conditions(&[0], &input).unwrap_err().excess.to_string());
    assert_eq!(reasons, ["it does not compile", "its session is over"]);
}

/// A worker that gets no request ends without an error.
#[test]
fn workers_end_with_their_input() {
    let setup = worker::Setup { programs: vec![(Purpose::Filter, ".".to_owned())], budget: SMALL };
    let setup = serde_json::to_string(&setup).expect("a message");
    for (input, answers) in [(String::new(), ""), (format!("{setup}\n"), "[null]\n")] {
        let mut output = Vec::new();
        let served = worker::serve(input.as_bytes(), &mut output, false);
        assert!(served.is_ok(), "{input}: {served:?}");
        assert_eq!(String::from_utf8(output).as_deref(), Ok(answers));
    }
}

#[test]
fn errors_of_jaq_name_kinds_of_values() {
    for (error, shown) in [
        ("cannot use {\"a\":1} as path", "an object cannot be used here"),
        ("cannot use [1] as iterable (array or object)", "a list has no entries"),
        ("cannot index null with \"a\"", "null has no fields"),
        ("cannot index true with 1", "a boolean has no numbered entries"),
        ("cannot index 1 with []", "a number has no entry named by a list"),
        ("cannot calculate \"a\" + 1", "cannot calculate with a string here"),
        ("\"index 3 out of bounds\"", "index 3 out of bounds"),
    ] {
        assert_eq!(without_values(error), shown, "{error}");
    }
}
