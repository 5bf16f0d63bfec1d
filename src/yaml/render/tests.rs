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
fn what_is_not_ours_is_an_error() {
    for template in [
        "ab{{ range .Values.a }}",
        "{{ if .Values.on }}",
        "a{{ end }}",
        "a{{ else }}",
        "{{if .Values.on}}{{else}}{{else}}{{end}}",
        "{{ .Chart.Name }}",
        "{{ . }}",
        "{{ .Values.a . }}",
        "{{ \"x",
        "{{ \"x\ny\" }}",
        "{{ \"\\q\" }}",
        "{{",
        "{{ }}",
        "{{ .Values.a.b ",
        "{{ .Values.a.b | }}",
        "{{ .Values.a.b | 5 }}",
        "{{ (.Values.a.b }}",
        "{{ .Values.a.b-}}",
        "{{ .Values.a }}",
        "{{ .Values.a.b | b64enc }}",
        "{{ toYaml }}",
        "{{ nindent 99999999999 \"\" }}",
        "{{/* comment */}}",
        "{{ é }}",
        "{{ $a }}",
        "{{ $.Values }}",
        "{{ with .Values.a }}{{ .b }}{{ end }}",
        "{{ with .Values.on }}",
        "{{ with .Values.on }}{{ ._b }}{{ end }}",
        "{{ 1x }}",
        "{{ 99999999999999999999 }}",
        "{{ $ a }}",
        "{{ .Values. }}",
        "{{ .Values.}}",
        "{{ .Values. a }}",
        "{{ ne 1 }}",
        "{{ list 1 2 3 4 5 }}",
        "{{ list .Values.a }}",
        "{{ list .Values.a.list }}",
        "{{ nindent 10001 \"\" }}",
        "{{ printf \"%s\" }}",
        "{{ printf \"%d\" 1 }}",
        "{{ printf \"\" 1 }}",
    ] {
        assert_eq!(rendered(template), Err(RenderError), "{template}");
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
    };

    // Text, values, what functions return, and what variables copy.
    assert_eq!(result(&"x".repeat(RENDERED_BYTES), 0), Ok(RENDERED_BYTES));
    assert_eq!(result(&"x".repeat(RENDERED_BYTES + 1), 0), Err(RenderError));
    assert_eq!(result("{{ .Values.text }}", RENDERED_BYTES), Ok(RENDERED_BYTES));
    assert_eq!(result("{{ .Values.text }}", RENDERED_BYTES + 1), Err(RenderError));
    assert_eq!(result("{{ if quote .Values.text }}a{{ end }}", RENDERED_BYTES - 3), Ok(1));
    assert_eq!(
        result("{{ if quote .Values.text }}a{{ end }}", RENDERED_BYTES - 1),
        Err(RenderError)
    );
    let copied = "{{ $a := quote .Values.text }}{{ if $a }}a{{ end }}";
    assert_eq!(result(copied, HALF - 3), Ok(1));
    assert_eq!(result(copied, HALF - 1), Err(RenderError));

    assert_eq!(result("{{ nindent 10000 \"\" }}", 0), Ok(10_001));
    let indented = "{{ if nindent 9999 .Values.lines }}a{{ end }}";
    assert_eq!(result(indented, 3_354), Ok(1));
    assert_eq!(result(indented, 3_355), Err(RenderError));

    let nested = |deep| format!("{{{{ {}1{} }}}}", "(".repeat(deep), ")".repeat(deep));
    assert_eq!(rendered(&nested(200)).as_deref(), Ok("1"));
    assert_eq!(rendered(&nested(201)), Err(RenderError));
    assert_eq!(rendered(&format!("{{{{ {}", "(".repeat(100_000))), Err(RenderError));
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
        ("{{ .Values.a.b.c }}", Err(RenderError)),
        ("{{ .Values.missing.b }}", Err(RenderError)),
        ("{{ index .Values \"missing\" \"b\" }}", Err(RenderError)),
        ("{{ $a := .Values.missing }}{{ $a.b }}", Err(RenderError)),
        ("{{ .Chart.Other }}", Err(RenderError)),
    ] {
        let rendered = render_strictly(template, &release, ["widgets", "1.2.3"]);
        assert_eq!(rendered.as_deref(), expected.as_ref().map(|text| *text), "{template}");
    }
}
