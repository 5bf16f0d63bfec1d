use super::*;
use crate::ir::Release;
use serde_json::json;

#[test]
fn holes_get_values() {
    let holes = map! {"name": "a", "port": 80, "more": json!([3, 4])};
    let filled = |text: &'static str| {
        let json = Release { namespace: "here", values: &json!({}) }.value(&part(text, &holes));
        json.to_string()
    };
    for (text, json) in [
        ("{a: $name, $name-b: $port}", r#"{"a":"a","a-b":80}"#),
        (
            "[--port=$port, $name.$namespace.svc, $namespace]",
            r#"["--port=80","a.here.svc","here"]"#,
        ),
        ("[1, $more, [$none], {a: 1, b: $none}, $none]", "[1,3,4,[]]"),
        ("a: $?none\nb: $?port", r#"{"b":80}"#),
        ("{a: {b: $none}}", "null"),
    ] {
        assert_eq!(filled(text), json, "{text}");
    }
}
