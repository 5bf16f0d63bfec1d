//! Bundles as OLM renders them against the same bundles as they are compiled here.

use super::comparison::Comparison;
use bundle2chart::config::{BundleConfig, CertificateProvider, PodConfig, Watch};
use bundle2chart::diag::{Code, Diagnostics, Severity};
use bundle2chart::ir::Release;
use bundle2chart::pipeline;
use bundle2chart::source::{self, Limits};
use serde_json::Value as Json;
use std::collections::BTreeMap;
use std::path::Path;

/// The namespace that all bundles are rendered for.
pub(crate) const NAMESPACE: &str = "op-ns";

/// Compiled objects, or the codes and messages of the errors.
pub(crate) type Compiled = Result<Vec<Json>, Vec<(Code, String)>>;

/// Compiles the bundle in `folder`; without `watch`, its install modes decide.
pub(crate) fn compile(
    folder: &Path,
    watch: Option<Watch>,
    certificates: CertificateProvider,
    pods: PodConfig,
) -> Compiled {
    let argument = folder.to_str().expect("a UTF-8 path");
    let source = source::from_argument(argument);
    let mut diagnostics = Diagnostics::new();
    let files = source::fetch(&source, Path::new(""), &[], &Limits::default(), &mut diagnostics);
    let compiled = files.and_then(|files| {
        let mut config = BundleConfig::new("operator", source);
        config.namespace = Some(NAMESPACE.to_owned());
        config.operator.watch = watch.map(|watch| (watch, None));
        config.operator.certificates = Some(certificates);
        config.pods = pods;
        pipeline::compile(&files, &config, &mut diagnostics)
    });
    let Some(compiled) = compiled else {
        let errors = diagnostics.iter().filter(|d| d.severity == Severity::Error);
        return Err(errors.map(|d| (d.code, d.message.clone())).collect());
    };
    let values = compiled.unit.default_values();
    let release = Release { namespace: NAMESPACE, values: &values };
    Ok(compiled.unit.objects.iter().filter_map(|object| release.object(object)).collect())
}

/// Parts of OLM's errors, and the code that the same is reported with here.
const REASONS: [(&str, Code); 16] = [
    ("invalid target namespaces", Code::InstallModeUnsupported),
    ("contains conversion webhook", Code::ConversionWebhook),
    ("references non-existent deployment", Code::ServerMissing),
    ("not owned bundle", Code::ConversionWebhook),
    ("reference same custom resource definition", Code::ConversionWebhook),
    ("must have .spec.preserveUnknownFields set to false", Code::ConversionWebhook),
    ("duplicate strategy deployment spec", Code::DuplicateObject),
    ("strategy deployment name", Code::InvalidName),
    ("duplicate custom resource definition", Code::DuplicateObject),
    ("not found in bundle", Code::OwnedCrdMissing),
    ("package name is empty", Code::AnnotationsMissing),
    ("duplicate webhook", Code::DuplicateObject),
    ("has invalid name", Code::InvalidName),
    ("contains forbidden rule", Code::ForbiddenRule),
    ("unsupported resource", Code::UnsupportedKind),
    ("Object 'Kind' is missing", Code::NotAnObject),
];

/// One bundle in one mode, rendered by OLM and compiled here.
pub(crate) struct Case<'a> {
    /// `all`, `own`, `single` or `multi`.
    pub(crate) mode: &'a str,
    /// OLM's objects, or its error.
    pub(crate) expected: Result<Vec<Json>, String>,
    /// Ours.
    pub(crate) actual: Compiled,
    /// The code that we refuse it with although OLM renders it.
    pub(crate) refused: Option<Code>,
}

impl Case<'_> {
    /// Returns what to print when both are equal but for deviations, which are counted in `used`,
    /// or refused for the same reasons.
    ///
    /// # Errors
    /// Otherwise; says what differs.
    pub(crate) fn judge(self, used: &mut BTreeMap<&'static str, usize>) -> Result<String, String> {
        match (self.expected, self.actual) {
            (Ok(expected), Ok(actual)) => {
                let comparison = Comparison::new(expected, actual, self.mode, NAMESPACE);
                for name in &comparison.used {
                    *used.entry(name).or_default() += 1;
                }
                if !comparison.differences.is_empty() {
                    return Err(format!("WRONG\n{}", comparison.differences.join("\n")));
                }
                let but: Vec<&str> = comparison.used.into_iter().collect();
                Ok(format!("{} objects, equal but for {}", comparison.objects, but.join(", ")))
            }
            (Err(why), Ok(objects)) => {
                Err(format!("WRONG: {} objects, but OLM says: {why}", objects.len()))
            }
            (Err(_), Err(errors)) if self.refused.is_some_and(only(&errors)) => {
                Ok(format!("refused, also by OLM: {}", summary(&errors)))
            }
            (Err(why), Err(errors)) => {
                let reasons = REASONS.iter().filter(|(text, _)| why.contains(text));
                let expected: Vec<Code> = reasons.map(|(_, code)| *code).collect();
                if expected.is_empty() {
                    return Err(format!("WRONG: OLM's reason is new: {why}"));
                }
                let missing =
                    expected.iter().find(|code| !errors.iter().any(|(found, _)| found == *code));
                match missing {
                    Some(code) => Err(format!("WRONG: not {}: {errors:?}", code.as_str())),
                    None => Ok(format!("refused, as by OLM: {}", summary(&errors))),
                }
            }
            (Ok(_), Err(errors)) if self.refused.is_some_and(only(&errors)) => {
                Ok(format!("refused, unlike by OLM: {}", summary(&errors)))
            }
            (Ok(expected), Err(errors)) if only(&errors)(Code::CrdApiVersion) => {
                let old = "apiextensions.k8s.io/v1beta1";
                if expected.iter().any(|object| object["apiVersion"] == old) {
                    Ok("refused, and a CRD of v1beta1 in OLM".to_owned())
                } else {
                    Err(format!("WRONG: refused, but OLM renders it: {errors:?}"))
                }
            }
            (Ok(_), Err(errors)) => Err(format!("WRONG: refused, but OLM renders it: {errors:?}")),
        }
    }
}

/// Returns whether all errors have a code.
fn only(errors: &[(Code, String)]) -> impl Fn(Code) -> bool {
    move |code| errors.iter().all(|(found, _)| *found == code)
}

fn summary(errors: &[(Code, String)]) -> String {
    let mut codes: Vec<&str> = errors.iter().map(|(code, _)| code.as_str()).collect();
    codes.sort_unstable();
    codes.dedup();
    codes.join(", ")
}
