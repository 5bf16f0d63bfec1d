//! Invariants of Prometheus' expressions: the names of vLLM's metrics.

use super::extras::{self, queries, target};
use super::*;

/// Kinds with rules of Prometheus: of its operator, and of Google's.
const RULES: [&str; 3] = ["PrometheusRule", "Rules", "ClusterRules"];

/// Endings of the series of a metric, by its kind (Prometheus' client for Python).
const SERIES: [(&str, &[&str]); 3] = [
    ("counter", &["_total", "_created"]),
    ("gauge", &[""]),
    ("histogram", &["_bucket", "_sum", "_count", "_created"]),
];

/// Returns the endings of the series of a metric; those of all kinds if its kind is not known.
fn endings(kind: &str) -> impl Iterator<Item = &'static str> {
    let of_kind = SERIES.iter().filter(move |(known, _)| kind.is_empty() || *known == kind);
    of_kind.flat_map(|(_, endings)| *endings).copied()
}

/// Returns the name of a metric in that of a series, without its ending.
fn metric(series: &str) -> &str {
    let mut names = endings("").filter(|ending| !ending.is_empty());
    names.find_map(|ending| series.strip_suffix(ending)).unwrap_or(series)
}

/// Returns the metrics of a release, or of any, that a series may be of, with their kinds. The name of a
/// metric may end like a series: `iteration_tokens_total`.
fn known(series: &str, index: Option<usize>) -> impl Iterator<Item = (&str, &'static str)> {
    [series, metric(series)].into_iter().flat_map(move |name| {
        VLLM.metrics.candidates(name, index).into_iter().map(move |kind| (name, kind.as_str()))
    })
}

/// Returns true if a release has a series.
fn is_served(series: &str, index: Option<usize>) -> bool {
    known(series, index)
        .any(|(name, kind)| endings(kind).any(|end| series == format!("{name}{end}")))
}

/// Returns the message and the hint about a series that a release does not have; none about a name that is
/// like no metric, which another rule may record.
fn wrong(series: &str, index: Option<usize>) -> Option<(String, String)> {
    if let Some((name, kind)) = known(series, index).next() {
        let endings = endings(kind).filter(|ending| *ending != "_created");
        let all: Vec<String> = endings.map(|end| format!("`vllm:{name}{end}`")).collect();
        let message = format!("`vllm:{series}` is a {kind}, which has no series of this name");
        return Some((message, format!("write one of {}", all.join(", "))));
    }

    let (own, names) = (metric(series), VLLM.metrics.names(index));
    let wanted: BTreeSet<&str> = own.split('_').collect();
    let is_same = |name: &&str| name.split('_').collect::<BTreeSet<&str>>() == wanted;
    let same = names.iter().copied().find(is_same);
    let other = VLLM.metrics.find(own).map(|_| "see the metrics of the release".to_owned());
    let near = same.or_else(|| suggest::nearest(own, &names));
    let near = near.map(|near| {
        let kind = VLLM.metrics.candidates(near, index).pop().map_or("", String::as_str);
        let ending = endings(kind).find(|end| *end == &series[own.len()..]);
        let ending = ending.or(endings(kind).next());
        format!("did you mean `vllm:{near}{}`?", ending.unwrap_or_default())
    });
    let hint = near.or(other)?;
    let release = index.map(|index| format!(" {}", VLLM.releases.name(index)));
    let release = release.unwrap_or_default();
    Some((format!("vLLM{release} has no metric `vllm:{series}`"), hint))
}

/// Returns the words of an expression, without those in quotes and comments.
fn words(expression: &str) -> BTreeSet<&str> {
    let lines = expression.lines().filter_map(|line| line.split('#').next());
    let plain = lines.flat_map(|line| line.split(['"', '\'', '`']).step_by(2));
    let is_in_name = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | ':');
    plain.flat_map(|text| text.split(move |c| !is_in_name(c))).collect()
}

/// Returns the releases of engines; one that is not known if there are none.
fn releases<'e>(engines: impl Iterator<Item = &'e Engine<'e>>) -> BTreeSet<Option<usize>> {
    let own = engines.filter(|engine| engine.program == Program::Vllm);
    let index = |engine: &Engine<'_>| VLLM.index(text(engine.container, "image"));
    let own = own.map(|engine| index(engine).filter(|_| engine.unjudged.is_none()));
    let found: BTreeSet<Option<usize>> = own.collect();
    if found.is_empty() { BTreeSet::from([None]) } else { found }
}

/// Returns true if an expression takes a quantile of a sum over buckets. Buckets without their bounds are left
/// out (Prometheus, histogram_quantile).
fn sums_buckets(expression: &str) -> bool {
    expression.split("histogram_quantile(").skip(1).any(|inner| {
        let sum = inner.split_once(',').and_then(|(_, sum)| sum.trim_start().strip_prefix("sum"));
        sum.is_some_and(|sum| sum.starts_with(['(', ' ']) && sum.contains("_bucket"))
    })
}

/// An expression with its object, its JSON path, and the releases of the engines that it reads.
type Expression<'v> = (usize, String, &'v str, BTreeSet<Option<usize>>);

/// Returns the rules of Prometheus, and adds the names that they record.
fn rules<'v>(view: &'v View<'_>, recorded: &mut BTreeSet<&'v str>) -> Vec<Expression<'v>> {
    let mut all = Vec::new();
    let of_all = releases(view.engines().map(|(_, engine)| engine));
    for (owner, object) in RULES.iter().flat_map(|kind| view.of_kind(kind)) {
        let groups = items(object.spec(), "groups", ".spec");
        for (rule, path) in groups.flat_map(|(group, path)| items(group, "rules", &path)) {
            recorded.insert(text(rule, "record"));
            all.push((owner, format!("{path}.expr"), text(rule, "expr"), of_all.clone()));
        }
    }
    all
}

/// Returns the queries of KEDA and the names of adapters' metrics, and reports those of another engine.
fn of_scalers<'v>(view: &'v View<'_>, found: &mut Found) -> Vec<Expression<'v>> {
    let of_keda = view.of_kind("ScaledObject").flat_map(|(owner, scaler)| {
        queries(scaler).enumerate().map(move |(at, query)| {
            let path = format!(".spec.triggers[{at}].metadata.query");
            (owner, scaler, query, path)
        })
    });
    // Adapters have names of their own for other metrics.
    let of_adapters = extras::metrics(view).flat_map(|(owner, scaler, (metric, path))| {
        ["pods", "external"].into_iter().filter_map(move |key| {
            let name = text_at(metric.get(key)?, "/metric/name")?;
            Some((owner, scaler, name, format!("{path}.{key}.metric.name")))
        })
    });

    let mut all = Vec::new();
    for (owner, scaler, query, path) in of_keda.chain(of_adapters) {
        let pods = target(view, scaler).into_iter().flat_map(|(at, _)| view.templates_of(at));
        let engines: Vec<&Engine<'_>> = pods.filter_map(|pods| pods.engine.as_ref()).collect();
        let runs =
            |program| !engines.is_empty() && engines.iter().all(|one| one.program == program);
        let prefixes = [(Program::Vllm, "sglang:"), (Program::Sglang, "vllm:")];
        let other = prefixes.into_iter().find(|(program, _)| runs(*program));
        let mut words = words(query).into_iter();
        if let Some(name) = other.and_then(|(_, of)| words.find(|word| word.starts_with(of))) {
            let message = format!("`{name}` of {scaler} is a metric of another engine");
            let finding = found.push(owner, path.as_str(), message, "use one of its engine");
            finding.code(Code::ServingAutoscaler).field("autoscaling");
        }
        all.push((owner, path, query, releases(engines.iter().copied())));
    }
    all
}

/// Checks that queries of KEDA and rules of Prometheus name metrics that vLLM has.
pub(crate) fn names(view: &View<'_>, found: &mut Found) {
    let mut recorded = BTreeSet::new();
    let all = rules(view, &mut recorded);
    for (owner, path, expression, releases) in all.into_iter().chain(of_scalers(view, found)) {
        let (kind, words) = (view.manifests[owner].kind(), words(expression));
        // One of several names may be enough.
        if ["or", "absent", "absent_over_time"].iter().any(|word| words.contains(word)) {
            continue;
        }
        let keeps = ["le", "without"].iter().any(|word| words.contains(word));
        if !keeps && sums_buckets(expression) {
            let message = "`histogram_quantile` needs the label `le`, which the sum does not keep";
            found.push(owner, path.as_str(), message, "write `sum by (le) (…)`");
        }
        for word in words.difference(&recorded) {
            let Some((message, hint)) = missing(word, &words, &releases, kind) else { continue };
            let finding = found.push(owner, path.as_str(), message, hint);
            if !RULES.contains(&kind) {
                finding.code(Code::ServingAutoscaler).field("autoscaling");
            }
        }
    }
}

/// Returns the message and the hint about a word of an expression in an object of a kind that is a series of
/// vLLM's, but of none of the releases.
fn missing(
    word: &str,
    words: &BTreeSet<&str>,
    releases: &BTreeSet<Option<usize>>,
    kind: &str,
) -> Option<(String, String)> {
    let others = VLLM.other_metrics.names(None);
    let series = word.strip_prefix("vllm:").filter(|series| {
        // Names with more colons are those of recording rules.
        !series.contains(':')
            && !series.is_empty()
            // A tool completes the name.
            && !series.ends_with('_')
            && !others.iter().any(|other| series.starts_with(other))
    });
    let of_series = series.and_then(|series| {
        // Native histograms have one series, without the label `le`.
        let is_there = releases.iter().any(|at| {
            let mut all = known(series, *at);
            // Adapters drop the endings of series.
            is_served(series, *at)
                || kind == "HorizontalPodAutoscaler" && known(series, *at).next().is_some()
                || !words.contains("le") && all.any(|one| one == (series, "histogram"))
        });
        wrong(series, *releases.last().filter(|_| !is_there)?)
    });
    // Only adapters and recording rules write names without a colon.
    let plain = word
        .strip_prefix("vllm_")
        .filter(|series| kind == "ScaledObject" && VLLM.metrics.find(metric(series)).is_some());
    of_series.or_else(|| {
        Some((format!("vLLM has no metric `{word}`"), format!("write `vllm:{}`", plain?)))
    })
}
