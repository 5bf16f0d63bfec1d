use super::*;

const SCHEMA: &str = "\
type: object
required: [spec]
properties:
  apiVersion: {type: string}
  kind: {type: string}
  metadata: {type: object}
  spec:
    type: object
    required: [version, size, mode]
    properties:
      version:
        type: string
        enum: [v1.24-latest, v1.26-latest, v1.26.1]
      size: {type: integer, minimum: 1, maximum: 5, exclusiveMaximum: true, multipleOf: 2}
      mode: {type: string, default: fast}
      name: {type: string, pattern: '^[a-z]+$', minLength: 2, maxLength: 4}
      port: {x-kubernetes-int-or-string: true, anyOf: [{type: integer}, {type: string}]}
      open: {type: object, x-kubernetes-preserve-unknown-fields: true, properties: {known: {type: string}}}
      labels: {type: object, additionalProperties: {type: string}, maxProperties: 2}
      none: {type: string, nullable: true}
      on: {type: boolean}
      ratio: {type: number}
      hosts: {type: array, items: {type: string}, x-kubernetes-list-type: set, minItems: 1}
      ports:
        type: array
        x-kubernetes-list-type: map
        x-kubernetes-list-map-keys: [number]
        items: {type: object, properties: {number: {type: integer}, name: {type: string}}}
      template:
        type: object
        x-kubernetes-embedded-resource: true
        properties: {spec: {type: object, properties: {a: {type: string}}}}
      source:
        type: object
        properties: {git: {type: object}, http: {type: object}}
        oneOf: [{required: [git]}, {required: [http]}]
      odd:
        type: integer
        not: {enum: [13]}
        allOf: [{minimum: 10}, {maximum: 20}]
";

fn faults(spec: &str) -> String {
    let schema = crate::yaml::parse(SCHEMA).unwrap().remove(0);
    let text =
        format!("{{apiVersion: a/v1, kind: K, metadata: {{name: x, odd: 1}}, spec: {spec}}}");
    let Value::Map(root) = crate::yaml::parse(&text).unwrap().remove(0) else { panic!("a map") };
    let lines = validate(&schema, &root).into_iter();
    lines.map(|f| format!("{} {} ({})\n", f.path, f.message, f.hint)).collect()
}

#[test]
fn what_the_api_server_takes_is_fine() {
    for spec in [
        "{version: v1.26.1, size: 2}",
        "{version: v1.26.1, size: 4, mode: slow, name: abc, port: 80, none: null, on: false}",
        "{version: v1.26.1, size: 4.0, port: http, open: {known: a, unknown: [1]}, labels: {a: b}}",
        "{version: v1.26.1, size: 2, ratio: 1, hosts: [a, b], ports: [{number: 1}, {number: 2}]}",
        "{version: v1.26.1, size: 2, template: {apiVersion: v1, kind: Pod, metadata: {name: a}, spec: {a: b}}}",
        "{version: v1.26.1, size: 2, source: {git: {}}, odd: 12}",
    ] {
        assert_eq!(faults(spec), "", "{spec}");
    }
}

#[test]
fn what_it_refuses_or_drops_is_said_with_its_path() {
    insta::assert_snapshot!(faults("{version: v1.26-lates, size: 5, mode: [a]}"), @r#"
    .spec.version is "v1.26-lates", which is not in the CRD's enum (did you mean "v1.26-latest"? use one of "v1.24-latest", "v1.26-latest", "v1.26.1")
    .spec.size is 5, which the CRD excludes (use another value: the maximum 5 is exclusive)
    .spec.size is 5, which is not a multiple allowed by the CRD (write a multiple of 2)
    .spec.mode is a list, not a string (see the CRD for the type)
    "#);
    insta::assert_snapshot!(faults("{version: 7, size: 3, name: A, port: 1.5, none: x, on: 'yes'}"), @r#"
    .spec.version is a number, not a string (put it in quotes)
    .spec.size is 3, which is not a multiple allowed by the CRD (write a multiple of 2)
    .spec.name has too few characters: 1 (use at least 2)
    .spec.name is "A", which does not match the pattern in the CRD (the pattern is `^[a-z]+$`)
    .spec.port is a number, not an integer or a string (write a number, or a string in quotes)
    .spec.true is a string, not a boolean (write it without quotes)
    "#);
    insta::assert_snapshot!(faults("{versoin: v1.26.1, size: 0, open: {known: 1}, labels: {a: 1, b: c, c: d}}"), @r"
    .spec.versoin is not in the CRD; the API server would drop it (did you mean `version`?)
    .spec.size is 0, smaller than the CRD allows (the minimum is 1)
    .spec.open.known is a number, not a string (put it in quotes)
    .spec.labels.a is a number, not a string (put it in quotes)
    .spec.labels has too many entries: 3 (use at most 2)
    .spec.version is required (add `version`)
    ");
    insta::assert_snapshot!(
        faults("{version: v1.26.1, size: 2, hosts: [], ports: [{number: 1}, {number: 1, nmae: a}], on: null}"), @r"
    .spec.hosts has too few items: 0 (use at least 1)
    .spec.ports[1].nmae is not in the CRD; the API server would drop it (did you mean `name`?)
    .spec.ports[1] has the same number as an earlier item (remove one of them)
    .spec.true is null (set a value, or remove it)
    ");
    insta::assert_snapshot!(
        faults("{version: v1.26.1, size: 2, template: {kind: 1, spec: {b: c}}, source: {git: {}, http: {}}, odd: 13}"),
        @r#"
    .spec.template.spec.b is not in the CRD; the API server would drop it (the fields in the CRD are a)
    .spec.source matches 2 of the CRD's oneOf schemas (match exactly one of {"required":["git"]}, {"required":["http"]})
    .spec.odd matches a schema that the CRD excludes with not (excluded: {"enum":[13]})
    "#);
    insta::assert_snapshot!(
        faults("{version: v1.26.1, size: 2, source: {}, odd: 21, name: toolong, hosts: [a, a], ratio: x}"), @r#"
    .spec.source matches none of the CRD's oneOf schemas (match exactly one of {"required":["git"]}, {"required":["http"]})
    .spec.odd is 21, larger than the CRD allows (the maximum is 20)
    .spec.name has too many characters: 7 (use at most 4)
    .spec.hosts[1] is a duplicate (remove one of them)
    .spec.ratio is a string, not a number (write it without quotes)
    "#);
    insta::assert_snapshot!(faults("7"), @r"
    .spec is a number, not a map (see the CRD for the type)
    ");
}
