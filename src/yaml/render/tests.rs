use super::*;
use serde_json::json;

fn rendered(template: &str) -> Result<String, RenderError> {
    let values = json!({
        "a": {"b": 1, "empty": "", "c-d": "x\"y", "list": ["p", {"q": null}], "zero": 0},
        "on": true,
        "a_b": {"_c": "d"},
        "images": {"own": "own/b:2"},
    });
    let mut text = String::new();
    let release = Release { namespace: "ns", values: &values };
    render(template, &release, |part| text.push_str(part)).map(|()| text)
}

#[test]
fn text_and_operands() {
    for (template, expected) in [
        ("", ""),
        ("plain } }} { text", "plain } }} { text"),
        (r#"a{{ "{{" }}b {{"}}"}}"#, "a{{b }}"),
        ("{{.Release.Namespace}}", "ns"),
        ("{{ .Release.Namespace | quote }}", "\"ns\""),
        ("{{ .Values.a.b }}{{ .Values.missing.deep }}", "1"),
        (r#"{{ (index .Values "a" "c-d") | quote }}"#, r#""x\"y""#),
        (r#"{{ index .Values "a" "c-d" | b64enc | quote }}"#, "\"eCJ5\""),
        ("{{ .Values.a.list | toJson }}", r#"["p",{"q":null}]"#),
        ("x:{{ toYaml .Values.a.list | nindent 2 }}", "x:\n  - p\n  - q: null"),
        ("a \n {{- \"b\" -}} \t\r\n c", "abc"),
        ("{{ include \"bundle2chart.crd-version\" (list \"a\" \"1.0.0\" .Values.on) }}", ""),
        ("{{ include \"bundle2chart.image\" (list $ \"x\" \"quay.io/a:1\") }}", "quay.io/a:1"),
        ("{{ .Release.Name | quote }}", "\"release-name\""),
        ("{{- $a := .Values.a -}}\n{{ $a.b }}{{ index $a \"c-d\" }}{{ $a.missing.deep }}", "1x\"y"),
        ("{{ with .Values.a.b }}[{{ . }}]{{ end }}{{ .Values.on }}", "[1]true"),
        ("{{ with .Values.a.zero }}[{{ . }}]{{ else }}{{ .Values.on }}{{ end }}", "true"),
        ("{{ if .Values.a.zero }}{{ with .Values.on }}{{ . }}{{ end }}{{ end }}", ""),
        ("a {{-1}}", "error"),
        (" a", " a"),
        ("{{ .Values.a_b._c }}{{ $v_ := .Values.a_b }}{{ $v_._c }}", "dd"),
        ("{{ if .Values.on }}a{{ end -}} b", "ab"),
        ("{{ with .Values.a.zero }}x{{ else if .Values.on }}y{{ end }}", "y"),
        ("{{ if .Values.a.zero }}a{{ else if not .Values.a.zero }}b{{ end }}", "b"),
        ("{{ printf \"a%sb%%c\" .Values.a.empty }}", "ab%c"),
        ("{{ printf \"%s\" .Values.missing }}", "%!s(<nil>)"),
        ("{{ \"abc\" | trunc 2 }}{{ trunc 9 \"abc\" }}", "ababc"),
        ("{{ list 1 \"a\" .Values.missing true_ }}", "error"),
        ("{{ list 1 \"a\" .Values.missing .Values.on | toJson }}", "[1,\"a\",null,true]"),
        ("{{ include \"bundle2chart.image\" (list $ \"own\" \"quay.io/a:1\") }}", "own/b:2"),
        (
            "{{ include \"bundle2chart.certificate\" (list $ \"svc\" \"sec\" \"tls.key\") }}",
            "dGxzLmtleSBvZiBTZWNyZXQgc2VjLCBnZW5lcmF0ZWQgYnkgSGVsbQ==",
        ),
    ] {
        let text = rendered(template).unwrap_or_else(|_| "error".to_owned());
        assert_eq!(text, expected, "{template}");
    }
}

#[test]
fn conditions() {
    for (condition, holds) in [
        (".Values.on", true),
        (".Values.a.zero", false),
        (".Values.missing", false),
        ("or .Values.a.zero .Values.on", true),
        ("and .Values.a.zero .Values.on", false),
        ("and (or .Values.a.empty .Values.on) (index .Values \"a\" \"c-d\")", true),
        ("and .Values.a", true),
        ("not .Values.a.zero", true),
        ("ne .Release.Namespace .Values.a.empty", true),
        ("ne .Release.Namespace \"ns\"", false),
        ("not (lookup \"v1\" \"Secret\" \"\" \"a\")", true),
    ] {
        let template = format!("[{{{{ if {condition} }}}}yes{{{{ else }}}}no{{{{ end }}}}]");
        let expected = if holds { "[yes]" } else { "[no]" };
        assert_eq!(rendered(&template).as_deref(), Ok(expected), "{condition}");
    }
    let nested = "{{ if .Values.on }}{{ if .Values.a.zero }}a{{ else }}b{{ end }}c{{ else }}\
                  {{ if .Values.on }}d{{ else }}e{{ end }}{{ .Values.a.b | b64enc }}{{ end }}f";
    assert_eq!(rendered(nested).as_deref(), Ok("bcf"));
    for (first, second, expected) in [
        ("on", "on", "a"),
        ("on", "missing", "a"),
        ("missing", "on", "b"),
        ("a.zero", "missing", "c"),
    ] {
        let chain = format!(
            "{{{{ if .Values.{first} }}}}a{{{{ else if .Values.{second} }}}}b{{{{ else }}}}c{{{{ end }}}}"
        );
        assert_eq!(rendered(&chain).as_deref(), Ok(expected), "{chain}");
    }
}

#[test]
fn what_is_not_ours_is_an_error_with_its_place() {
    for (template, offset, message) in [
        ("ab{{ range .Values.a }}", 5, "unknown function `range`"),
        ("{{ if .Values.on }}", 0, "`if` without `end`"),
        ("a{{ end }}", 1, "stray `end`"),
        ("a{{ else }}", 1, "stray `else`"),
        ("{{if .Values.on}}{{else}}{{else}}{{end}}", 25, "stray `else`"),
        ("{{ .Chart.Name }}", 3, "unknown field `.Chart.Name`"),
        ("{{ . }}", 4, "expected a name after `.`"),
        ("{{ .Values.a . }}", 13, "expected the end of the action"),
        ("{{ \"x", 3, "a string without an end"),
        ("{{ \"x\ny\" }}", 3, "a string without an end"),
        ("{{ \"\\q\" }}", 4, "unknown escape in a string"),
        ("{{", 2, "expected a value or function"),
        ("{{ }}", 3, "expected a value or function"),
        ("{{ .Values.a.b ", 15, "expected the end of the action"),
        ("{{ .Values.a.b | }}", 17, "expected a value or function"),
        ("{{ .Values.a.b | 5 }}", 17, "expected a function after `|`"),
        ("{{ (.Values.a.b }}", 16, "expected `)`"),
        ("{{ .Values.a.b-}}", 14, "expected the end of the action"),
        ("{{ .Values.a }}", 0, "a list or map needs `toYaml` or `toJson`"),
        ("{{ .Values.a.b | b64enc }}", 17, "`b64enc` cannot take these arguments"),
        ("{{ toYaml }}", 3, "`toYaml` cannot take these arguments"),
        ("{{ nindent 99999999999 \"\" }}", 3, "`nindent` cannot take these arguments"),
        ("{{/* comment */}}", 2, "expected a value or function"),
        ("{{ é }}", 3, "expected a value or function"),
        ("{{ $a }}", 3, "unknown variable `$a`"),
        ("{{ $.Values }}", 4, "expected the end of the action"),
        ("{{ with .Values.a }}{{ .b }}{{ end }}", 23, "`with` has no fields"),
        ("{{ with .Values.on }}", 0, "`if` without `end`"),
        ("{{ with .Values.on }}{{ ._b }}{{ end }}", 24, "`with` has no fields"),
        ("{{ 1x }}", 3, "expected an integer"),
        ("{{ 99999999999999999999 }}", 3, "expected an integer"),
        ("{{ $ a }}", 5, "expected the end of the action"),
        ("{{ .Values. }}", 11, "expected a name after `.`"),
        ("{{ .Values.}}", 11, "expected a name after `.`"),
        ("{{ .Values. a }}", 11, "expected a name after `.`"),
        ("{{ ne 1 }}", 3, "`ne` cannot take these arguments"),
        ("{{ list 1 2 3 4 5 }}", 3, "`list` cannot take these arguments"),
        ("{{ list .Values.a }}", 3, "`list` cannot take these arguments"),
        ("{{ list .Values.a.list }}", 3, "`list` cannot take these arguments"),
        ("{{ nindent 10001 \"\" }}", 3, "`nindent` cannot take these arguments"),
        ("{{ printf \"%s\" }}", 3, "`printf` cannot take these arguments"),
        ("{{ printf \"%d\" 1 }}", 3, "`printf` cannot take these arguments"),
        ("{{ printf \"\" 1 }}", 3, "`printf` cannot take these arguments"),
    ] {
        let expected = RenderError { offset, message: message.to_owned() };
        assert_eq!(rendered(template), Err(expected), "{template}");
    }
}

/// Each limit, at its value and one above it.
#[test]
fn texts_are_limited() {
    const HALF: usize = RENDERED_BYTES / 2;
    let result = |template: &str, text: usize| {
        let values = json!({"text": "x".repeat(text), "lines": "\n".repeat(text % 10_000)});
        let mut bytes = 0;
        render(template, &Release { namespace: "ns", values: &values }, |part| bytes += part.len())
            .map(|()| bytes)
            .map_err(|error| (error.offset, error.message))
    };
    let too_much = |offset| Err((offset, "the template makes too much text".to_owned()));

    // Text, values, what functions return, and what variables copy.
    assert_eq!(result(&"x".repeat(RENDERED_BYTES), 0), Ok(RENDERED_BYTES));
    assert_eq!(result(&"x".repeat(RENDERED_BYTES + 1), 0), too_much(RENDERED_BYTES + 1));
    assert_eq!(result("{{ .Values.text }}", RENDERED_BYTES), Ok(RENDERED_BYTES));
    assert_eq!(result("{{ .Values.text }}", RENDERED_BYTES + 1), too_much(0));
    assert_eq!(result("{{ if quote .Values.text }}a{{ end }}", RENDERED_BYTES - 3), Ok(1));
    assert_eq!(result("{{ if quote .Values.text }}a{{ end }}", RENDERED_BYTES - 1), too_much(6));
    let copied = "{{ $a := quote .Values.text }}{{ if $a }}a{{ end }}";
    assert_eq!(result(copied, HALF - 3), Ok(1));
    assert_eq!(result(copied, HALF - 1), too_much(38));

    assert_eq!(result("{{ nindent 10000 \"\" }}", 0), Ok(10_001));
    let indented = "{{ if nindent 9999 .Values.lines }}a{{ end }}";
    assert_eq!(result(indented, 3_354), Ok(1));
    let unfit = "`nindent` cannot take these arguments".to_owned();
    assert_eq!(result(indented, 3_355), Err((6, unfit)));

    let nested = |deep| format!("{{{{ {}1{} }}}}", "(".repeat(deep), ")".repeat(deep));
    assert_eq!(rendered(&nested(200)).as_deref(), Ok("1"));
    let error = RenderError { offset: 203, message: "parentheses too deep".to_owned() };
    assert_eq!(rendered(&nested(201)), Err(error.clone()));
    assert_eq!(rendered(&format!("{{{{ {}", "(".repeat(100_000))), Err(error));
    let beside = format!("{{{{ and {} }}}}", "(1) ".repeat(300));
    assert_eq!(rendered(&beside).as_deref(), Ok("1"));
}

/// Notes read name and version of the chart, and no value in a map that is missing.
#[test]
fn notes_are_rendered_strictly() {
    let values = json!({"a": {"b": null, "c": "d"}, "off": false});
    let release = Release { namespace: "ns", values: &values };
    for (template, expected) in [
        ("{{ .Chart.Name }} {{ .Chart.Version }}", Ok("widgets 1.2.3")),
        ("{{ .Values.a.c }}{{ .Values.missing }}{{ .Values.a.b }}", Ok("d")),
        ("{{ index .Values \"a\" \"c\" }}{{ index .Values \"missing\" }}", Ok("d")),
        ("{{ $a := .Values.a }}{{ $a.c }}{{ $a.missing }}", Ok("d")),
        ("{{ if .Values.off }}{{ .Values.missing.b }}{{ end }}", Ok("")),
        ("{{ .Values.a.b.c }}", Err("")),
        ("{{ .Values.missing.b }}", Err("")),
        ("{{ index .Values \"missing\" \"b\" }}", Err("")),
        ("{{ $a := .Values.missing }}{{ $a.b }}", Err("")),
        ("{{ .Chart.Other }}", Err("byte 3 of the template: unknown field `.Chart.Other`")),
    ] {
        let rendered = render_strictly(template, &release, ["widgets", "1.2.3"]);
        let rendered = rendered.map_err(|error| error.to_string());
        let missing = "byte 0 of the template: it reads a value in a map that is missing";
        let expected = expected.map_err(|error| if error.is_empty() { missing } else { error });
        assert_eq!(rendered.as_deref().map_err(String::as_str), expected, "{template}");
    }
}
