//! Mutations of the CRD and its schema.

use super::*;

pub(super) fn mutations() -> [(&'static str, Vec<Mutation>); 5] {
    [
        ("definitions", definitions()),
        ("fields", fields()),
        ("constraints", constraints()),
        ("lists", lists()),
        ("references_of_fields", references()),
    ]
}

const CRD: &str = "CustomResourceDefinition/spec";

fn at(rest: &str) -> String {
    format!("{CRD}/{rest}")
}

fn definitions() -> Vec<Mutation> {
    let webhook = || {
        json!({"strategy": "Webhook", "webhook": {"conversionReviewVersions": ["v1"], "clientConfig": {
            "service": {"name": "widget-webhook", "namespace": "ns", "path": "/convert"}}}})
    };
    vec![
        breaking(
            "the CRD removed",
            vec![Patch::Delete("CustomResourceDefinition")],
            "crd-removed",
            "the API is no longer served",
        ),
        breaking(
            "another scope",
            vec![set(&at("scope"), json!("Cluster"))],
            "crd-scope-changed",
            "the scope is immutable",
        ),
        breaking(
            "another kind",
            vec![set(&at("names/kind"), json!("Gadget"))],
            "crd-names-changed",
            "the kind of an established CRD is immutable",
        ),
        risky(
            "a short name lost",
            vec![unset(&at("names/shortNames"))],
            "crd-short-name-removed",
            "kubectl commands with it fail; the API is the same",
        ),
        info(
            "another short name",
            vec![set(&at("names/shortNames/1"), json!("wid"))],
            "field-changed",
            "kubectl knows one more name",
        ),
        info(
            "categories",
            vec![set(&at("names/categories"), json!(["all"]))],
            "field-changed",
            "kubectl get all shows the objects",
        ),
        info(
            "the list kind written out",
            vec![set(&at("names/listKind"), json!("WidgetList"))],
            "",
            "it is the default",
        ),
        info(
            "the singular written out",
            vec![set(&at("names/singular"), json!("widget"))],
            "",
            "it is the default",
        ),
        breaking(
            "a served version removed",
            vec![unset(&at("versions/1"))],
            "crd-version-removed",
            "clients of the version fail",
        ),
        breaking(
            "the storage version removed",
            vec![unset(&at("versions/0")), set(&at("versions/0/storage"), json!(true))],
            "crd-stored-version-removed",
            "the API server rejects the CRD while storedVersions has it",
        ),
        breaking(
            "a version no longer served",
            vec![set(&at("versions/1/served"), json!(false))],
            "crd-version-not-served",
            "clients of the version fail",
        ),
        risky(
            "an unserved version removed",
            vec![unset(&at("versions/1"))],
            "crd-unserved-version-removed",
            "objects may be stored in it",
        )
        .from(vec![set(&at("versions/1/served"), json!(false))]),
        risky(
            "another storage version",
            vec![
                set(&at("versions/0/storage"), json!(false)),
                set(&at("versions/1/storage"), json!(true)),
            ],
            "crd-storage-moved",
            "the old operator may not read objects that are written now",
        ),
        breaking(
            "another storage version without a field",
            vec![
                set(&at("versions/0/storage"), json!(false)),
                set(&at("versions/1/storage"), json!(true)),
                set(
                    &at("versions/1/schema/openAPIV3Schema"),
                    json!({"type": "object", "properties": {"spec": {"type": "object"}}}),
                ),
            ],
            "crd-property-removed",
            "the API server prunes what it reads as the new version",
        ),
        info(
            "a lower minimum that is excluded",
            vec![
                set("field/size/minimum", json!(0)),
                set("field/size/exclusiveMinimum", json!(true)),
            ],
            "crd-loosened",
            "1 is still the first integer",
        ),
        breaking(
            "a minimum that is excluded",
            vec![set("field/size/exclusiveMinimum", json!(true))],
            "crd-range-narrowed",
            "1 is refused",
        ),
        breaking(
            "a minimum of 2 in place of 0, which was excluded",
            vec![set("field/size/minimum", json!(2)), unset("field/size/exclusiveMinimum")],
            "crd-range-narrowed",
            "1 is refused",
        )
        .from(vec![
            set("field/size/minimum", json!(0)),
            set("field/size/exclusiveMinimum", json!(true)),
        ]),
        info(
            "a version added",
            vec![set(
                &at("versions/2"),
                json!({"name": "v2", "served": true,
            "storage": false, "schema": {"openAPIV3Schema": {"type": "object"}}}),
            )],
            "crd-version-added",
            "nothing that was served is missing",
        ),
        info(
            "a version deprecated",
            vec![set(&at("versions/1/deprecated"), json!(true))],
            "crd-version-deprecated",
            "requests get a warning",
        ),
        info(
            "a deprecation warning",
            vec![set(&at("versions/1/deprecationWarning"), json!("use v1"))],
            "crd-version-deprecated",
            "it is the text of the warning",
        ),
        breaking(
            "the status subresource removed",
            vec![unset(&at("versions/0/subresources"))],
            "crd-subresource-removed",
            "updates of the status fail",
        ),
        risky(
            "the scale subresource without a label selector",
            vec![unset(&at("versions/0/subresources/scale/labelSelectorPath"))],
            "crd-scale-changed",
            "autoscalers do not find the pods",
        )
        .from(vec![set(
            &at("versions/0/subresources/scale"),
            json!({"specReplicasPath": ".spec.size", "labelSelectorPath": ".status.selector"}),
        )]),
        breaking(
            "a selectable field removed",
            vec![unset(&at("versions/0/selectableFields"))],
            "crd-selectable-field-removed",
            "the API server rejects the field selector",
        )
        .from(vec![set(&at("versions/0/selectableFields"), json!([{"jsonPath": ".spec.mode"}]))]),
        info(
            "a printer column",
            vec![set(
                &at("versions/0/additionalPrinterColumns"),
                json!([{"name": "Mode", "type": "string", "jsonPath": ".spec.mode"}]),
            )],
            "field-changed",
            "kubectl get shows one more column",
        ),
        risky(
            "a conversion webhook",
            vec![set(&at("conversion"), webhook())],
            "crd-conversion-changed",
            "objects of other versions depend on the webhook",
        ),
        breaking(
            "no conversion webhook any more",
            vec![set(&at("conversion"), json!({"strategy": "None"}))],
            "crd-conversion-removed",
            "fields of the other version are pruned",
        )
        .from(vec![set(&at("conversion"), webhook())]),
        breaking(
            "a conversion webhook without its Service",
            vec![set(
                &at("conversion"),
                json!({"strategy": "Webhook", "webhook": {"clientConfig": {
                "service": {"name": "missing", "namespace": "ns"}}}}),
            )],
            "backend-missing",
            "objects cannot be read in the other version",
        ),
        info(
            "no conversion written out",
            vec![set(&at("conversion"), json!({"strategy": "None"}))],
            "",
            "None is the default",
        ),
        risky(
            "no longer kept on uninstall",
            vec![unset("CustomResourceDefinition/metadata/annotations")],
            "keep-policy-removed",
            "helm uninstall deletes all custom resources",
        )
        .from(vec![set(
            "CustomResourceDefinition/metadata/annotations",
            json!({"helm.sh/resource-policy": "keep"}),
        )]),
    ]
}

fn fields() -> Vec<Mutation> {
    vec![
        breaking("a field removed", vec![unset("field/title")], "crd-property-removed",
            "the API server prunes it"),
        info("a field added", vec![set("field/color", json!({"type": "string"}))], "crd-property-added",
            "objects without it are valid"),
        breaking("another type", vec![set("field/title/type", json!("integer"))], "crd-type-changed",
            "objects with a string are rejected"),
        info("numbers instead of integers", vec![set("field/size/type", json!("number"))],
            "crd-loosened", "every integer is a number"),
        breaking("integers instead of numbers", vec![set("field/size/type", json!("integer"))],
            "crd-type-changed", "1.5 is rejected").from(vec![set("field/size/type", json!("number"))]),
        breaking("strings instead of integers or strings", vec![
            set("field/port", json!({"type": "string"}))], "crd-type-changed", "numbers are rejected"),
        breaking("a required field", vec![set("CustomResourceDefinition/spec/versions/0/schema/openAPIV3Schema/properties/spec/required", json!(["size"]))],
            "crd-required-added", "objects without it are rejected")
            .from(vec![unset("CustomResourceDefinition/spec/versions/0/schema/openAPIV3Schema/properties/spec/required")]),
        info("a required field with a default", vec![
            set("CustomResourceDefinition/spec/versions/0/schema/openAPIV3Schema/properties/spec/required",
                json!(["size", "level"]))], "crd-default-added", "the API server fills it in"),
        info("no required field", vec![unset(
            "CustomResourceDefinition/spec/versions/0/schema/openAPIV3Schema/properties/spec/required")],
            "crd-loosened", "every valid object stays valid"),
        info("a default", vec![set("field/title/default", json!("none"))], "crd-default-added",
            "objects without the field behave as before"),
        risky("another default", vec![set("field/level/default", json!("debug"))], "crd-default-changed",
            "objects without the field behave differently"),
        risky("no default", vec![unset("field/level/default")], "crd-default-changed",
            "objects without the field lose the value"),
        breaking("null no longer allowed", vec![unset("field/note/nullable")], "crd-null-refused",
            "manifests with null are rejected"),
        info("null not allowed written out", vec![set("field/title/nullable", json!(false))], "",
            "it is the default"),
        breaking("unknown fields pruned", vec![unset("field/config/x-kubernetes-preserve-unknown-fields")],
            "crd-free-fields-pruned", "the API server drops what the schema does not have"),
        info("unknown fields preserved",
            vec![set("field/secretRef/x-kubernetes-preserve-unknown-fields", json!(true))],
            "crd-loosened", "nothing is pruned any more"),
        info("a description", vec![set("field/title/description", json!("the title"))],
            "description-changed", "descriptions do not validate"),
        risky("a status field removed", vec![
            unset("CustomResourceDefinition/spec/versions/0/schema/openAPIV3Schema/properties/status/properties/phase")],
            "crd-status-field-changed", "dashboards may read it"),
        info("a status field validated", vec![
            set("CustomResourceDefinition/spec/versions/0/schema/openAPIV3Schema/properties/status/properties/phase/enum",
                json!(["Ready"]))], "crd-status-checked", "only the operator writes it"),
    ]
}

fn constraints() -> Vec<Mutation> {
    vec![
        breaking(
            "an enum value removed",
            vec![set("field/mode/enum", json!(["fast"]))],
            "crd-enum-narrowed",
            "objects with the value are rejected",
        ),
        breaking(
            "an enum",
            vec![set("field/title/enum", json!(["a"]))],
            "crd-enum-narrowed",
            "all other values are rejected",
        ),
        info(
            "an enum value added",
            vec![set("field/mode/enum/2", json!("slow"))],
            "crd-loosened",
            "more values are allowed",
        ),
        breaking(
            "a higher minimum",
            vec![set("field/size/minimum", json!(3))],
            "crd-range-narrowed",
            "1 and 2 are rejected",
        ),
        info(
            "a higher maximum",
            vec![set("field/size/maximum", json!(1000))],
            "crd-loosened",
            "more values are allowed",
        ),
        breaking(
            "an exclusive maximum",
            vec![set("field/size/exclusiveMaximum", json!(true))],
            "crd-range-narrowed",
            "100 is rejected",
        ),
        info(
            "an exclusive maximum that is off",
            vec![set("field/size/exclusiveMaximum", json!(false))],
            "",
            "it is the default",
        ),
        breaking(
            "a maximum length",
            vec![set("field/title/maxLength", json!(10))],
            "crd-range-narrowed",
            "longer titles are rejected",
        ),
        info(
            "a minimum length of nothing",
            vec![set("field/title/minLength", json!(0))],
            "",
            "every text has it",
        ),
        breaking(
            "a pattern",
            vec![set("field/title/pattern", json!("^[a-z]+$"))],
            "crd-pattern-added",
            "other titles are rejected",
        ),
        info(
            "a pattern that allows more",
            vec![set("field/title/pattern", json!("^[a-z0-9]+$"))],
            "crd-loosened",
            "every text of the old pattern fits the new one",
        )
        .from(vec![set("field/title/pattern", json!("^[a-z]+$"))]),
        breaking(
            "a pattern that allows other texts",
            vec![set("field/title/pattern", json!("^[a-z]+$"))],
            "crd-pattern-added",
            "`0` is rejected",
        )
        .from(vec![set("field/title/pattern", json!("^[a-z0-9]+$"))]),
        risky(
            "another pattern, which is too large",
            vec![set("field/title/pattern", json!("^[^a]{1,90000}$"))],
            "crd-pattern-changed",
            "the patterns cannot be compared",
        )
        .from(vec![set("field/title/pattern", json!("^[^b]{1,90000}$"))]),
        info(
            "a pattern that all values of an enum fit",
            vec![set("field/mode/pattern", json!("^[a-z]+$"))],
            "crd-loosened",
            "no other value was allowed",
        ),
        info(
            "a length that the pattern implies",
            vec![set("field/title/maxLength", json!(3))],
            "crd-loosened",
            "no longer title was allowed",
        )
        .from(vec![set("field/title/pattern", json!("^[a-z]{1,3}$"))]),
        breaking(
            "a number that becomes an integer or a string",
            vec![set("field/factor", json!({"x-kubernetes-int-or-string": true}))],
            "crd-type-changed",
            "`1.5` is neither",
        )
        .from(vec![set("field/factor", json!({"type": "number"}))]),
        risky(
            "an integer that becomes a number, with a rule",
            vec![set("field/count/type", json!("number"))],
            "crd-schema-changed",
            "`%` is not defined for numbers, so the API server may reject the CRD",
        )
        .from(vec![set(
            "field/count",
            json!({"type": "integer", "x-kubernetes-validations": [{"rule": "self % 2 == 0"}]}),
        )]),
        breaking(
            "a required field whose default is null",
            vec![set("field/secretRef/required", json!(["name"]))],
            "crd-required-added",
            "a null default fills in nothing",
        )
        .from(vec![set("field/secretRef/properties/name/default", json!(null))]),
        risky(
            "a default that a format may refuse",
            vec![set("field/title/default", json!("10 s"))],
            "crd-default-changed",
            "formats are not evaluated",
        )
        .from(vec![set("field/title/format", json!("duration"))]),
        breaking(
            "a validated format",
            vec![set("field/title/format", json!("date-time"))],
            "crd-format-changed",
            "other texts are rejected",
        ),
        info(
            "a format that is not validated",
            vec![set("field/title/format", json!("semver"))],
            "crd-loosened",
            "the API server ignores unknown formats",
        ),
        breaking(
            "a CEL rule",
            vec![set("field/title/x-kubernetes-validations", json!([{"rule": "self != ''"}]))],
            "crd-validation-added",
            "objects that violate it are rejected when the field changes",
        ),
        risky(
            "a CEL rule on changes",
            vec![set("field/title/x-kubernetes-validations", json!([{"rule": "self == oldSelf"}]))],
            "crd-transition-rule-added",
            "existing objects stay valid, and the field can no longer change",
        ),
        info(
            "a CEL rule of a new field",
            vec![
                set("field/secretRef/properties/version", json!({"type": "string"})),
                set(
                    "field/secretRef/x-kubernetes-validations",
                    json!([{"rule": "!has(self.version) || self.version != ''"}]),
                ),
            ],
            "crd-validation-of-new-fields",
            "no existing object has the field",
        ),
        info(
            "another message of a CEL rule",
            vec![set("field/title/x-kubernetes-validations/0/message", json!("title is empty"))],
            "field-changed",
            "messages do not validate",
        )
        .from(vec![set("field/title/x-kubernetes-validations", json!([{"rule": "self != ''"}]))]),
        info(
            "a CEL rule less",
            vec![unset("field/title/x-kubernetes-validations")],
            "crd-loosened",
            "every valid object stays valid",
        )
        .from(vec![set("field/title/x-kubernetes-validations", json!([{"rule": "self != ''"}]))]),
        breaking(
            "an exception",
            vec![set("field/title/not", json!({"enum": ["x"]}))],
            "crd-combination-narrowed",
            "`x` is rejected",
        ),
        breaking(
            "an alternative less",
            vec![set("field/title/anyOf", json!([{"maxLength": 3}]))],
            "crd-combination-narrowed",
            "longer titles with an `a` are rejected",
        )
        .from(vec![set("field/title/anyOf", json!([{"maxLength": 3}, {"pattern": "a"}]))]),
        info(
            "an alternative more",
            vec![set("field/title/anyOf", json!([{"maxLength": 3}, {"pattern": "a"}]))],
            "crd-loosened",
            "every title that fits one stays valid",
        )
        .from(vec![set("field/title/anyOf", json!([{"maxLength": 3}]))]),
        info(
            "a wider alternative",
            vec![set("field/title/anyOf/0/maxLength", json!(4))],
            "crd-loosened",
            "every title that fits one stays valid",
        )
        .from(vec![set("field/title/anyOf", json!([{"maxLength": 3}, {"pattern": "a"}]))]),
        breaking(
            "another choice of one",
            vec![set("field/title/oneOf/1/pattern", json!("^b"))],
            "crd-combination-narrowed",
            "a title may fit both or none",
        )
        .from(vec![set("field/title/oneOf", json!([{"maxLength": 3}, {"pattern": "a"}]))]),
    ]
}

fn lists() -> Vec<Mutation> {
    vec![
        breaking(
            "a list of type set",
            vec![set("field/tags/x-kubernetes-list-type", json!("set"))],
            "crd-list-unique",
            "duplicates are rejected",
        ),
        info(
            "an atomic list written out",
            vec![set("field/tags/x-kubernetes-list-type", json!("atomic"))],
            "",
            "lists are atomic by default",
        ),
        breaking(
            "merge keys",
            vec![set("field/parts/x-kubernetes-list-map-keys", json!(["name", "port"]))],
            "crd-list-keys-changed",
            "server-side apply merges other items",
        )
        .from(vec![
            set("field/parts/x-kubernetes-list-type", json!("map")),
            set("field/parts/x-kubernetes-list-map-keys", json!(["name"])),
        ]),
        breaking(
            "fewer items",
            vec![set("field/tags/maxItems", json!(3))],
            "crd-range-narrowed",
            "longer lists are rejected",
        ),
        info(
            "a granular map written out",
            vec![set("field/config/x-kubernetes-map-type", json!("granular"))],
            "",
            "maps are granular by default",
        ),
        risky(
            "an atomic map",
            vec![set("field/config/x-kubernetes-map-type", json!("atomic"))],
            "crd-list-type-changed",
            "server-side apply replaces the whole map",
        ),
    ]
}

fn references() -> Vec<Mutation> {
    let subdomain = "^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$";
    vec![
        breaking(
            "the length of a Secret's name",
            vec![set("field/secretRef/properties/name/maxLength", json!(253))],
            "crd-range-narrowed",
            "a schema may hold any text under `name`; the server rejects what is longer",
        ),
        breaking(
            "the syntax of a key",
            vec![set("field/secretRef/properties/key/pattern", json!("^[-._a-zA-Z0-9]+$"))],
            "crd-pattern-added",
            "a key may be a path in a vault, such as `prod/db`",
        ),
        breaking(
            "a default outside of the enum",
            vec![set("field/mode/default", json!("slow"))],
            "crd-default-refused",
            "the API server rejects the CRD",
        ),
        breaking(
            "an enum without the default",
            vec![set("field/mode/enum", json!(["fast", "slow"]))],
            "crd-default-refused",
            "the API server rejects the CRD, whose default is the same",
        )
        .from(vec![set("field/mode/default", json!("safe"))]),
        breaking(
            "a new field with a default that is too long",
            vec![set(
                "field/more",
                json!({"type": "object", "properties": {
                    "name": {"type": "string", "maxLength": 2, "default": "abc"}}}),
            )],
            "crd-default-refused",
            "the API server rejects the CRD",
        ),
        breaking(
            "a default of an object without what is required now",
            vec![set("field/parts/items/required", json!(["name"]))],
            "crd-default-refused",
            "the API server rejects the CRD",
        )
        .from(vec![set("field/parts/default", json!([{"port": 1}]))]),
        info(
            "a new default",
            vec![set("field/mode/default", json!("safe"))],
            "crd-default-added",
            "it usually is the previous behavior",
        ),
        risky(
            "a new default that turns something on",
            vec![set("field/wide/default", json!(true))],
            "crd-default-changed",
            "a missing Boolean was false to the program",
        )
        .from(vec![set("field/wide", json!({"type": "boolean"}))]),
        breaking(
            "a shorter name of a Secret",
            vec![set("field/secretRef/properties/name/maxLength", json!(20))],
            "crd-range-narrowed",
            "Secrets may have longer names",
        ),
        breaking(
            "the syntax of a name for another field",
            vec![set("field/title/pattern", json!(subdomain))],
            "crd-pattern-added",
            "a title is no name of an object",
        ),
        breaking(
            "a stricter pattern of a name",
            vec![set("field/secretRef/properties/name/pattern", json!("^widget-[a-z]+$"))],
            "crd-pattern-added",
            "other Secrets are rejected",
        ),
    ]
}
