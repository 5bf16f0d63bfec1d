//! Template that fails with a remediation hint if the cluster lacks an API.
//!
//! Helm rejects a release if the cluster lacks the kind of one of its objects, with a message about
//! REST mappings and no hint. The template fails before that.

use crate::ir::{Object, Unit};
use crate::kinds::{is_built_in, provider};
use crate::overlay::Definitions;
use crate::yaml::quoted_argument;
use std::collections::{BTreeMap, BTreeSet};

/// Path in a chart. Helm evaluates `.tpl` files whose name has no leading underscore, and the
/// rendered text is empty, so it adds nothing to the release.
pub const REQUIRED_APIS: &str = "templates/required-apis.tpl";

/// Chart names by the kinds that their CRDs define, as `GROUP/KIND`.
pub type Providers = BTreeMap<String, String>;

/// Returns the kinds that the CRDs among `objects` define, mapped to `chart`.
pub(super) fn provided(objects: &[Object], chart: &str) -> Providers {
    let definitions = Definitions::of(objects.iter());
    let kinds = definitions.kinds();
    kinds.map(|(group, kind)| (format!("{group}/{kind}"), chart.to_owned())).collect()
}

/// Returns the template that fails the installation of chart `name` if the cluster lacks the kind of
/// one of its objects; `None` if all kinds are built-in or defined by the chart.
pub fn template(unit: &Unit, name: &str, providers: &Providers) -> Option<String> {
    let own = Definitions::of(unit.objects.iter());

    // Objects with a condition may be disabled by values.
    let foreign = unit.objects.iter().filter(|object| {
        object.when.is_none() && !is_built_in(object) && own.of_object(object).is_none()
    });
    // Each API once, in any order of the objects.
    let apis = foreign.map(|object| {
        let api = format!("{}/{}", object.api_version(), object.kind());
        let remedy = remedy(object, providers);
        let sentence =
            format!("{name} requires the API {api}, which this cluster does not have: {remedy}");
        (api, sentence)
    });
    let apis: BTreeSet<(String, String)> = apis.collect();
    (!apis.is_empty()).then(|| template_text(apis))
}

fn remedy(object: &Object, providers: &Providers) -> String {
    let group = object.group();
    if let Some(chart) = providers.get(&format!("{group}/{}", object.kind())) {
        return format!("install the chart {chart} first");
    }
    // OpenShift's own groups cannot be installed on other clusters.
    if group.ends_with(".openshift.io") {
        return "it exists on OpenShift only".to_owned();
    }
    match provider(group) {
        Some(provider) => format!("install {provider} first"),
        None => "install its CustomResourceDefinition first".to_owned(),
    }
}

/// Returns a template that fails if the cluster lacks an API. `apis` are `GROUP/VERSION/KIND`, each
/// with its message.
///
/// Without a cluster (`helm template`, `helm lint`), Helm only knows group versions and no kinds,
/// so nothing fails (Helm: `chart/common`, default capabilities).
fn template_text(apis: impl IntoIterator<Item = (String, String)>) -> String {
    let mut text = "\
{{- /* Fails where the cluster lacks an API that this chart needs. Without a cluster (helm template, helm lint) it does \
nothing. */ -}}
{{- if .Capabilities.APIVersions.Has \"apps/v1/Deployment\" -}}
"
    .to_owned();
    for (api, sentence) in apis {
        text += &format!(
            "{{{{- if not (.Capabilities.APIVersions.Has {}) -}}}}\n{{{{- fail {} -}}}}\n{{{{- end -}}}}\n",
            quoted_argument(&api),
            quoted_argument(&sentence)
        );
    }
    text.push_str("{{- end -}}\n");
    text
}

/// Returns true if `text` is a template that [`template`] wrote, for any APIs and messages.
pub(super) fn is_written(text: &str) -> bool {
    let argument = |line: &str, start: &str, end: &str| {
        let quoted = line.strip_prefix(start)?.strip_suffix(end)?;
        // A string of Go is one of JSON where it has these escapes only.
        let plain: String = serde_json::from_str(quoted).ok()?;
        (quoted_argument(&plain) == quoted).then_some(plain)
    };
    let apis = text
        .lines()
        .filter_map(|line| argument(line, "{{- if not (.Capabilities.APIVersions.Has ", ") -}}"));
    let sentences = text.lines().filter_map(|line| argument(line, "{{- fail ", " -}}"));
    template_text(apis.zip(sentences)) == text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ir::{Condition, Map, Origin, Value, ValuesPath};

    fn object(api_version: &str, kind: &str) -> Object {
        let mut root = Map::new();
        root.insert("apiVersion".to_owned(), Value::text(api_version));
        root.insert("kind".to_owned(), Value::text(kind));
        Object::new(root, Origin::Added("a test"))
    }

    fn unit(objects: Vec<Object>) -> Unit {
        Unit { objects, ..Unit::default() }
    }

    #[test]
    fn kinds_of_kubernetes_need_nothing() {
        let unit = unit(vec![object("v1", "Service"), object("apps/v1", "Deployment")]);
        assert_eq!(template(&unit, "widgets", &Providers::new()), None);
    }

    #[test]
    fn kinds_of_the_chart_and_of_disabled_objects_need_nothing() {
        let mut unit = crate::passes::sample::bundle(
            "apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: widgets.example.com}
spec:
  group: example.com
  names: {kind: Widget, plural: widgets}
  versions: [{name: v1, served: true}]
",
        );
        unit.objects.push(object("example.com/v1", "Widget"));
        let when = Some(Condition::Set(ValuesPath::new(["a"])));
        unit.objects.push(Object { when, ..object("other.example.com/v1", "Other") });
        assert_eq!(template(&unit, "widgets", &Providers::new()), None);
    }

    #[test]
    fn each_missing_kind_has_its_remedy_once() {
        let unit = unit(vec![
            object("cert-manager.io/v1", "Certificate"),
            object("cert-manager.io/v1", "Certificate"),
            object("route.openshift.io/v1", "Route"),
            object("widgets.example.com/v1", "Widget"),
            object("other.example.com/v1", "Other"),
        ]);
        let widget = ("widgets.example.com/Widget".to_owned(), "widgets-crds".to_owned());
        let providers = Providers::from([widget]);
        let text = template(&unit, "widgets", &providers).unwrap_or_default();
        insta::assert_snapshot!(text);

        assert!(is_written(&text));
        for (from, to) in [
            ("-}}\n{{- end -}}\n{{- if", "-}}\nkind: Pod\n{{- end -}}\n{{- if"),
            ("install", "\" -}}{{ include \"x\" . }}{{ \""),
            ("{{- fail", "{{- define \"bundle2chart.image\" -}}{{- end -}}{{- fail"),
        ] {
            assert!(text.contains(from));
            assert!(!is_written(&text.replacen(from, to, 1)), "{from}");
        }
    }
}
