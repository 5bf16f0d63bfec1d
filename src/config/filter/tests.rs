use super::*;
use serde_json::json;
use std::time::Duration;

fn matches(filter: &str, object: &Json) -> Result<bool, String> {
    let program = Program::compile(filter).map_err(|error| error.message)?;
    program.matches(&Input::from(object.clone()))
}

/// What a person reads about `filter`: whether it is refused, the message, and the text marked.
fn verdict(filter: &str) -> String {
    match Filter::check(filter) {
        Ok(()) => "accepted".to_owned(),
        Err(error) => {
            let kind = if error.refused { "refused" } else { "invalid" };
            let marked = &filter[error.range.start..error.range.end.min(filter.len())];
            let marked: String = marked.chars().take(24).collect();
            format!("{kind} at `{marked}`: {}", error.message)
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
        (".rules | map(.verbs) | flatten | unique | length", true),
        ("select(.rules[].verbs[]? == \"get\")", true),
        // Only false and null are false; no output is false; only the first output counts.
        ("0", true),
        ("\"\"", true),
        ("null", false),
        ("empty", false),
        ("false, true", false),
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
    ] {
        let error = match matches(filter, &secret) {
            Err(error) => error,
            Ok(value) => panic!("{filter} gave {value}"),
        };
        assert!(!error.contains("hunter2"), "{filter}: {error}");
        seen.push(format!("{filter:<48} {error}"));
    }
    insta::assert_snapshot!(seen.join("\n"), @r#"
    .data.password.x                                 a string has no fields
    .data | startswith("a")                          an object is not a string
    .missing[] == 1                                  null has no entries
    .data + 1                                        cannot calculate with an object here
    .n | keys                                        a number has no entries
    .data.password | test(. + "(")                   invalid regex: found open group without closing ')'
    true | length                                    a boolean has no length
    .list["a"]                                       a list has no fields
    .data | split(1)                                 split input and separator must be strings
    .kind | test("a"; "?")                           invalid regex flag: ?
    "#);
}

#[test]
fn hostile_filters_are_refused_or_invalid() {
    let nested = |n: usize| format!("{}1{}", "(".repeat(n), ")".repeat(n));
    let doubling = |step: &str, n: usize| format!("[.]{}", format!(" | {step}").repeat(n));
    let cases = [
        "last(repeat(1))".to_owned(),
        "def f: f; f".to_owned(),
        "[range(1e9)]".to_owned(),
        "def f: 1+f; f".to_owned(),
        nested(5_000),
        nested(65),
        "-".repeat(4_096),
        format!("{}1", "-".repeat(5_000)),
        "\"x\"*1e9".to_owned(),
        ".[1000000000]=1".to_owned(),
        ".a |= 1".to_owned(),
        ".a += 1".to_owned(),
        ".a //= 1".to_owned(),
        "env".to_owned(),
        "$ENV.HOME".to_owned(),
        "$__prog_args".to_owned(),
        "input".to_owned(),
        "import \"a\" as a; .".to_owned(),
        "include \"a\"; .".to_owned(),
        "reduce .[] as $x (0; . + $x)".to_owned(),
        "foreach .[] as $x (0; . + $x)".to_owned(),
        "label $out | break $out".to_owned(),
        "limit(1; .)".to_owned(),
        "getpath([\"a\"])".to_owned(),
        "error(.data)".to_owned(),
        "recurse(.a)".to_owned(),
        "fromjson".to_owned(),
        "tonumber".to_owned(),
        "now".to_owned(),
        "debug".to_owned(),
        "halt".to_owned(),
        "@json".to_owned(),
        "@base64 \"\\(.a)\"".to_owned(),
        "[.[] as $x | .[]]".to_owned(),
        ". as $x | [$x]".to_owned(),
        "[..|..]".to_owned(),
        doubling("[.[], .[]]", 30),
        doubling(". + .", 30),
        doubling("tojson", 30),
        doubling("\"\\(.)\\(.)\"", 30),
        doubling("{a: ., b: .}", 30),
        doubling("tojson | split(\"\") | map(\"0123456789\") | add", 3),
        "tojson | split(\"\") | join(tojson)".to_owned(),
        "any([.[], .[]] | [.[], .[]] | [.[], .[]] | [.[], .[]] | [.[], .[]] | [.[], .[]] | [.[], .[]] | [.[], .[]]; .)".to_owned(),
        ". == \"\\u12\"".to_owned(),
        ".kind = \"Route\"".to_owned(),
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
        "$x == 1".to_owned(),
        ".kind | test(\"(\")".to_owned(),
        ".kind | test(\"((((((((a{9}){9}){9}){9}){9}){9}){9}){9}\")".to_owned(),
        String::new(),
        "# nothing".to_owned(),
    ];
    let mut seen = String::new();
    for case in &cases {
        let verdict = verdict(case);
        assert_ne!(verdict, "accepted", "{case}");
        assert!(!verdict.contains("too long"), "{case}");
        let shown: String = case.chars().take(60).collect();
        seen.push_str(&format!("{shown}\n    {verdict}\n"));
    }
    insta::assert_snapshot!(seen, @r#"
    last(repeat(1))
        refused at `repeat`: a filter may not use `repeat`
    def f: f; f
        refused at `f`: a filter may not use `def`
    [range(1e9)]
        refused at `range`: a filter may not use `range`
    def f: 1+f; f
        refused at `f`: a filter may not use `def`
    ((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((
        refused at `((((((((((((((((((((((((`: this filter has 10001 bytes; the limit is 4096
    ((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((
        refused at `(`: this filter nests more than 64 brackets
    ------------------------------------------------------------
        invalid at ``: this filter is not valid jq: expected a value, a path or a filter, found the end
    ------------------------------------------------------------
        refused at `------------------------`: this filter has 5001 bytes; the limit is 4096
    "x"*1e9
        refused at `*`: a filter may not multiply: `"x" * 1000000000` would fill the memory
    .[1000000000]=1
        refused at `=`: a filter may not assign
    .a |= 1
        refused at `|=`: a filter may not change the object
    .a += 1
        refused at `+=`: a filter may not change the object
    .a //= 1
        refused at `//=`: a filter may not change the object
    env
        refused at `env`: a filter may not use `env`
    $ENV.HOME
        refused at `$ENV`: a filter may not use `$ENV`
    $__prog_args
        refused at `$__prog_args`: a filter may not use `$__prog_args`
    input
        refused at `input`: a filter may not use `input`
    import "a" as a; .
        refused at `import`: a filter may not use `import`
    include "a"; .
        refused at `include`: a filter may not use `include`
    reduce .[] as $x (0; . + $x)
        refused at `reduce`: a filter may not use `reduce`
    foreach .[] as $x (0; . + $x)
        refused at `foreach`: a filter may not use `foreach`
    label $out | break $out
        refused at `$out`: a filter may not use `label`
    limit(1; .)
        refused at `limit`: a filter may not use `limit`
    getpath(["a"])
        refused at `getpath`: a filter may not use `getpath`
    error(.data)
        refused at `error`: a filter may not use `error`
    recurse(.a)
        refused at `recurse`: a filter may not use `recurse` with an argument, which may not end
    fromjson
        refused at `fromjson`: a filter may not use `fromjson`
    tonumber
        refused at `tonumber`: a filter may not use `tonumber`
    now
        refused at `now`: a filter may not use `now`
    debug
        refused at `debug`: a filter may not use `debug`
    halt
        refused at `halt`: a filter may not use `halt`
    @json
        refused at `@json`: a filter may not use `@json`
    @base64 "\(.a)"
        refused at `@base64`: a filter may not use `@base64`
    [.[] as $x | .[]]
        refused at `[.[] as $x | .[]]`: this filter could build values without a limit to their size
    . as $x | [$x]
        refused at `. as $x | [$x]`: this filter could build values without a limit to their size
    [..|..]
        refused at `[..|..]`: this filter could build values more than 1000 times as large as the object
    [.] | [.[], .[]] | [.[], .[]] | [.[], .[]] | [.[], .[]] | [.
        refused at `[.] | [.[], .[]] | [.[],`: this filter could build values more than 1000 times as large as the object
    [.] | . + . | . + . | . + . | . + . | . + . | . + . | . + . 
        refused at `[.] | . + . | . + . | . `: this filter could build values more than 1000 times as large as the object
    [.] | tojson | tojson | tojson | tojson | tojson | tojson | 
        refused at `[.] | tojson | tojson | `: this filter could build values more than 1000 times as large as the object
    [.] | "\(.)\(.)" | "\(.)\(.)" | "\(.)\(.)" | "\(.)\(.)" | "\
        refused at `[.] | "\(.)\(.)" | "\(.)`: this filter could build values more than 1000 times as large as the object
    [.] | {a: ., b: .} | {a: ., b: .} | {a: ., b: .} | {a: ., b:
        refused at `[.] | {a: ., b: .} | {a:`: this filter could build values more than 1000 times as large as the object
    [.] | tojson | split("") | map("0123456789") | add | tojson 
        refused at `[.] | tojson | split("")`: this filter could build values more than 1000 times as large as the object
    tojson | split("") | join(tojson)
        refused at `tojson | split("") | joi`: this filter could build values without a limit to their size
    any([.[], .[]] | [.[], .[]] | [.[], .[]] | [.[], .[]] | [.[]
        refused at `any([.[], .[]] | [.[], .`: this filter could build values more than 1000 times as large as the object
    . == "\u12"
        invalid at `"`: this filter is not valid jq: expected a 4-digit hexadecimal UTF-8 code point, found `"`
    .kind = "Route"
        refused at `=`: a filter may not assign
    .kind == 'Route'
        invalid at `'`: this filter is not valid jq: `'` has no meaning here
    .kind == "Route" && true
        invalid at `&`: this filter is not valid jq: `&` has no meaning here
    .kind == "Route" || true
        invalid at `||`: this filter is not valid jq: expected an operator such as `|`, `==` or `and`, or the end, found `||`
    .kind ==
        invalid at ``: this filter is not valid jq: expected a value, a path or a filter, found the end
    .kind == "Route")
        invalid at `)`: this filter is not valid jq: `)` has no meaning here
    (.kind == "Route"
        invalid at ``: this filter is not valid jq: expected a closing parenthesis, found the end
    .kind | startswith
        invalid at `startswith`: `startswith` takes 1 argument, but here it has 0
    .kind | startsWith("a")
        invalid at `startsWith`: jq has no filter `startsWith`
    kind == "Route"
        invalid at `kind`: jq has no filter `kind`
    .kind == Route
        invalid at `Route`: jq has no filter `Route`
    $x == 1
        invalid at `$x`: there is no variable `$x`
    .kind | test("(")
        invalid at `(`: this regular expression cannot be used: invalid regex: found open group without closing ')'
    .kind | test("((((((((a{9}){9}){9}){9}){9}){9}){9}){9}")
        invalid at `((((((((a{9}){9}){9}){9}`: this regular expression cannot be used: invalid regex: found open group without closing ')'

        invalid at ``: this filter is empty
    # nothing
        invalid at ``: this filter is not valid jq: expected a value, a path or a filter, found the end
    "#);
}

#[test]
fn long_filters_that_are_fine_are_compiled_and_run_without_overflow() {
    for filter in [
        format!("{}1", "-".repeat(4_000)),
        format!("{}1", ".|".repeat(2_000)),
        format!("{}1", "try ".repeat(1_000)),
        format!("{}.", ". as $x|".repeat(500)),
        format!("1{}", "+1".repeat(2_000)),
        format!(".{}", "[0]?".repeat(1_000)),
        nested_conditions(60),
    ] {
        let run = run_watched(FILTER_DEADLINE, move || matches(&filter, &json!([[[1]]])));
        assert!(matches!(run, Ok(Ok(_))), "{run:?}");
    }
}

fn nested_conditions(n: usize) -> String {
    (0..n).fold("true".to_owned(), |inner, _| format!("if ({inner}) then true else false end"))
}

#[test]
fn every_allowed_filter_exists() {
    use super::rules::ALLOWED;
    for (name, arity, _) in ALLOWED {
        let arguments = vec!["\"a\""; *arity].join("; ");
        let call = if *arity == 0 { (*name).to_owned() } else { format!("{name}({arguments})") };
        assert_eq!(verdict(&format!("try ({call}) catch false")), "accepted");
    }
}

#[test]
fn a_filter_that_takes_too_long_is_given_up() {
    // Accepted, since it keeps nothing; but it looks at every pair of many values.
    let text = "any(..; . as $x | any(.. ; . == $x | not | not))";
    let wide = Json::Array((0..2_000).map(|n| json!([n])).collect());
    let deep = (0..60).fold(wide, |inner, _| json!([inner.clone(), inner.is_array()]));
    let work = move || {
        let never = "all(..; . as $x | all(..; test(\"a\")? // true))";
        assert_eq!(verdict(text), "accepted");
        matches(never, &deep)
    };
    let stopped = run_watched(Duration::from_millis(30), work);
    assert_eq!(stopped, Err(Stopped::Deadline));
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
    "label",
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
        let object = route();
        match Filter::check(&text) {
            Err(error) => {
                assert!(!error.message.contains("compile"), "{text}: {}", error.message);
                assert!(text.get(error.range.clone()).is_some(), "{text}: {:?}", error.range);
            }
            Ok(()) => {
                let copy = text.clone();
                let ran = run_watched(FILTER_DEADLINE, move || matches(&copy, &object));
                assert!(ran.is_ok(), "{text}: {ran:?}");
            }
        }
    }
}
