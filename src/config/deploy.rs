//! `[deploy]`: what is written to install the charts with.

use super::keys::{ARGOCD, DEPLOY, FLUX, IGNORE_DIFFERENCES};
use super::tree::{Fields, Located, Reader};
use super::values::plain;
use super::{BundleConfig, CertificateProvider, Output};
use crate::diag::{Code, Diagnostic, Place};
use std::path::{Component, Path};

/// The syntax of durations in Flux (the pattern in its CustomResourceDefinitions).
pub(super) const DURATION: &str = "^([0-9]+(\\.[0-9]+)?(ms|s|m|h))+$";

/// `[deploy]`. Paths are `/`-separated, without `.` and without a trailing `/`; an empty path is
/// the base directory itself.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Deploy {
    /// File name of the helmfile in the output directory, if one is generated.
    pub helmfile: Option<String>,
    /// True if helmfile uses server-side apply.
    pub server_side: bool,
    /// Directory of the charts in the repository.
    pub charts: String,
    /// Directories of values files, if configured.
    pub values: Option<Values>,
    /// `[deploy.argocd]`
    pub argocd: Option<ArgoCd>,
    /// `[deploy.flux]`
    pub flux: Option<Flux>,
}

/// Location of the values files of charts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Values {
    /// Path of the directory, relative to the output directory.
    pub from_output: String,
    /// Path of the directory in the repository.
    pub in_repository: String,
}

/// `[deploy.argocd]`
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ArgoCd {
    /// URL of the repository.
    pub repo: String,
    /// Branch, tag or commit.
    pub revision: String,
    /// The kind of objects to generate.
    pub style: ArgoStyle,
    /// Name of the outermost object.
    pub name: String,
    /// Project in Argo CD.
    pub project: String,
    /// URL of the cluster, or its name in Argo CD.
    pub destination: String,
    /// Namespace of Argo CD's objects.
    pub namespace: String,
    /// True if objects that are no longer in a chart are deleted.
    pub prune: bool,
    /// Directory in the output directory.
    pub dir: String,
    /// Fields that are no differences, besides those that never are.
    pub ignore: Vec<IgnoreDifference>,
}

/// The kind of Argo CD objects to generate.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ArgoStyle {
    /// One ApplicationSet.
    #[default]
    ApplicationSet,
    /// An Application of Applications.
    AppOfApps,
}

/// `[[deploy.argocd.ignore-differences]]`
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IgnoreDifference {
    /// API group; empty for the core group.
    pub group: String,
    /// Kind of the objects.
    pub kind: String,
    /// Name, for a single object.
    pub name: Option<String>,
    /// Namespace, for a single namespace.
    pub namespace: Option<String>,
    /// Fields as JSON pointers.
    pub json_pointers: Vec<String>,
    /// Fields as jq paths.
    pub jq_paths: Vec<String>,
}

/// `[deploy.flux]`
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Flux {
    /// Name of the GitRepository.
    pub source_name: String,
    /// Namespace of the GitRepository.
    pub source_namespace: String,
    /// Namespace of the HelmReleases.
    pub namespace: String,
    /// The reconcile interval.
    pub interval: String,
    /// The timeout of a release.
    pub timeout: String,
    /// Directory in the output directory.
    pub dir: String,
}

impl Reader<'_> {
    /// Reads `[deploy]`; without it, no deployment files are generated.
    pub(super) fn deploy(
        &mut self,
        root: &Fields<'_>,
        output: &Output,
        bundles: &[BundleConfig],
    ) -> Deploy {
        let Some((table, header)) = root.table("deploy") else { return Deploy::default() };
        let fields = self.fields(&DEPLOY, header, table);
        let helmfile = match (fields.text("helmfile"), fields.boolean("helmfile")) {
            (Some(at), _) => self.helmfile_name(at),
            (None, Some(true)) => Some("helmfile.yaml".to_owned()),
            (None, _) => None,
        };
        let repository = match fields.text("repository-path") {
            Some(at) => self.folder_inside("repository-path", at).unwrap_or_default(),
            None => String::new(),
        };
        let argocd = self.argocd(&fields);
        let flux = self.flux(&fields);
        let charts = below(&repository, &output.dir);
        if charts.is_none() && (argocd.is_some() || flux.is_some()) {
            let message = "the output directory is outside the repository";
            let hint = "set `repository-path` to the directory of this file in the repository";
            self.error(Code::InvalidValue, &fields.header, message, hint);
        }

        let values = fields.text("values").and_then(|at| self.values(at, &repository, output));
        for (dir, key) in [
            (argocd.as_ref().map(|argocd| &argocd.dir), "argocd"),
            (flux.as_ref().map(|flux| &flux.dir), "flux"),
        ] {
            let first = dir.and_then(|dir| dir.split('/').next());
            let Some(bundle) = bundles.iter().find(|b| Some(b.name.as_str()) == first) else {
                continue;
            };
            let name = &bundle.name;
            let message = format!(
                "`[deploy.{key}]` would write into the directory of chart \
                `{name}`"
            );
            let diagnostic = Diagnostic::error(Code::OverlappingOutput, message)
                .at(self.place(fields.header.clone()))
                .related(Place::span(bundle.span.clone()), "the chart's bundle")
                .hint(format!("set another directory with `dir` in `[deploy.{key}]`"));
            self.found.push(diagnostic);
        }

        if let Some(argocd) = &argocd {
            self.generated_certificates(&fields, bundles);
            self.name_of_its_own(argocd, &fields, bundles);
        }

        Deploy {
            helmfile,
            server_side: fields.boolean("server-side").unwrap_or_default(),
            charts: charts.unwrap_or_default(),
            values,
            argocd,
            flux,
        }
    }

    /// Argo CD renders charts without a cluster, where Helm's `lookup` finds nothing.
    fn generated_certificates(&mut self, fields: &Fields<'_>, bundles: &[BundleConfig]) {
        for bundle in bundles.iter().filter(|b| b.certificates == CertificateProvider::Helm) {
            let message = format!(
                "Argo CD would replace the certificates of `{}` on every sync",
                bundle.name
            );
            let diagnostic = Diagnostic::warning(Code::CertificatesRenewed, message)
                .at(Place::span(bundle.span.clone()))
                .related(self.place(fields.header.clone()), "Argo CD is enabled here")
                .hint("use cert-manager: `certificates = \"cert-manager\"`");
            self.found.push(diagnostic);
        }
    }

    /// The Application of Applications is none of the Applications.
    fn name_of_its_own(&mut self, argocd: &ArgoCd, fields: &Fields<'_>, bundles: &[BundleConfig]) {
        if argocd.style != ArgoStyle::AppOfApps {
            return;
        }
        for bundle in bundles.iter().filter(|bundle| bundle.name == argocd.name) {
            let message = format!("two Applications would have the name `{}`", argocd.name);
            let diagnostic = Diagnostic::error(Code::DuplicateName, message)
                .at(self.place(fields.header.clone()))
                .related(Place::span(bundle.span.clone()), "the bundle of this name")
                .hint("set another `name` in `[deploy.argocd]`");
            self.found.push(diagnostic);
        }
    }

    fn argocd(&mut self, deploy: &Fields<'_>) -> Option<ArgoCd> {
        let (table, header) = deploy.table("argocd")?;
        let fields = self.fields(&ARGOCD, header, table);
        let text = |reader: &mut Self, key: &str, usual: &str| match fields.text(key) {
            Some(at) => reader.word(key, at).map(|word| word.text),
            None => Some(usual.to_owned()),
        };
        let repo = text(self, "repo", "").filter(|repo| !repo.is_empty());
        let revision = text(self, "revision", "HEAD");
        let destination = text(self, "destination", "https://kubernetes.default.svc");
        let name = self.label("name", &fields, "platform");
        let namespace = self.label("namespace", &fields, "argocd");
        let project = match fields.text("project") {
            Some(at) => self.object_name("project", at),
            None => Some("default".to_owned()),
        };
        let dir = self.dir(&fields, "argocd");
        let mut ignore = Vec::new();
        for (table, header) in fields.tables("ignore-differences") {
            let fields = self.fields(&IGNORE_DIFFERENCES, header, table);
            ignore.extend(self.ignore_difference(&fields));
        }

        Some(ArgoCd {
            repo: repo?,
            revision: revision?,
            style: match fields.text("style") {
                Some(("app-of-apps", _)) => ArgoStyle::AppOfApps,
                _ => ArgoStyle::ApplicationSet,
            },
            name: name?,
            project: project?,
            destination: destination?,
            namespace: namespace?,
            prune: fields.boolean("prune").unwrap_or_default(),
            dir: dir?,
            ignore,
        })
    }

    fn ignore_difference(&mut self, fields: &Fields<'_>) -> Option<IgnoreDifference> {
        let optional = |reader: &mut Self, key: &str| match fields.text(key) {
            Some(at) => reader.object_name(key, at).map(Some),
            None => Some(None),
        };
        let [group, name, namespace] =
            ["group", "name", "namespace"].map(|key| optional(self, key));
        let kind = fields.text("kind").and_then(|at| self.kind(at));
        let texts = |key: &str| -> Vec<String> {
            let (list, _) = fields.texts(key).unwrap_or_default();
            list.into_iter().map(|(text, _)| text.to_owned()).collect()
        };
        let (json_pointers, jq_paths) = (texts("json-pointers"), texts("jq-paths"));

        if json_pointers.is_empty() && jq_paths.is_empty() {
            self.error(
                Code::MissingKey,
                &fields.header,
                "no fields to ignore",
                "add `json-pointers` or `jq-paths`",
            );
            return None;
        }

        Some(IgnoreDifference {
            group: group?.unwrap_or_default(),
            kind: kind?,
            name: name?,
            namespace: namespace?,
            json_pointers,
            jq_paths,
        })
    }

    fn flux(&mut self, deploy: &Fields<'_>) -> Option<Flux> {
        let (table, header) = deploy.table("flux")?;
        let fields = self.fields(&FLUX, header, table);
        let source_name =
            fields.text("source-name").and_then(|at| self.object_name("source-name", at));
        let namespace = self.label("namespace", &fields, "flux-system");
        let usual = namespace.clone().unwrap_or_default();
        let source_namespace = self.label("source-namespace", &fields, &usual);
        let [interval, timeout] =
            ["interval", "timeout"].map(|key| self.duration(key, &fields, "10m"));
        let dir = self.dir(&fields, "flux");
        Some(Flux {
            source_name: source_name?,
            source_namespace: source_namespace?,
            namespace: namespace?,
            interval: interval?,
            timeout: timeout?,
            dir: dir?,
        })
    }

    fn label(&mut self, key: &str, fields: &Fields<'_>, usual: &str) -> Option<String> {
        match fields.text(key) {
            Some(at) => self.namespace(at),
            None => Some(usual.to_owned()),
        }
    }

    fn dir(&mut self, fields: &Fields<'_>, usual: &str) -> Option<String> {
        match fields.text("dir") {
            Some(at) => {
                let range = at.1.clone();
                let dir = self.folder_inside("dir", at)?;
                if dir.is_empty() {
                    let message = "the output directory itself contains the charts";
                    self.error(Code::InvalidValue, &range, message, "use a subdirectory of it");
                    return None;
                }
                Some(dir)
            }
            None => Some(usual.to_owned()),
        }
    }

    fn duration(&mut self, key: &str, fields: &Fields<'_>, usual: &str) -> Option<String> {
        let Some((text, range)) = fields.text(key) else { return Some(usual.to_owned()) };
        if is_duration(text) {
            return Some(text.to_owned());
        }
        let message = format!("`{key}` is not a duration: {text:?}");
        self.error(Code::InvalidValue, &range, message, "write it as `10m`, `1h` or `1h30m`");
        None
    }

    fn helmfile_name(&mut self, (text, range): Located<&str>) -> Option<String> {
        let fits = text.ends_with(".yaml") || text.ends_with(".yaml.gotmpl");
        let plain = text.chars().all(|c| c.is_ascii_alphanumeric() || "._-".contains(c));
        if fits && plain && !text.starts_with('.') {
            return Some(text.to_owned());
        }
        self.error(
            Code::InvalidValue,
            &range,
            format!("invalid file name for helmfile: {text:?}"),
            "use a file in the output directory that ends in `.yaml`, or write `helmfile = true`",
        );
        None
    }

    /// Reads a relative subdirectory, without `.`; empty for the base directory itself.
    fn folder_inside(&mut self, key: &str, (text, range): Located<&str>) -> Option<String> {
        let fits = !text.is_empty() && !text.contains(char::is_whitespace) && !text.contains('\\');
        let inner = fits.then(|| below("", Path::new(text))).flatten();
        if inner.is_none() {
            let message = format!("`{key}` is not a relative subdirectory: {text:?}");
            let hint = "use names separated by `/`, without whitespace and without `..`";
            self.error(Code::InvalidValue, &range, message, hint);
        }
        inner
    }

    fn values(&mut self, at: Located<&str>, repository: &str, output: &Output) -> Option<Values> {
        let range = at.1.clone();
        let folder = self.folder_inside("values", at)?;
        // From the output directory back to the file's: one step up for each name.
        let Some(down) = below("", &plain(&output.dir)) else {
            let message = "`values` requires an output directory below the directory of this file";
            self.error(Code::InvalidValue, &range, message, "change `dir` in `[output]`");
            return None;
        };
        let up = down.split('/').filter(|name| !name.is_empty()).map(|_| "..");
        Some(Values {
            from_output: up.chain([folder.as_str()]).collect::<Vec<_>>().join("/"),
            in_repository: below(repository, Path::new(&folder))?,
        })
    }
}

/// Returns true if the text is a duration as defined by [`DURATION`].
fn is_duration(text: &str) -> bool {
    let mut rest = text;
    while !rest.is_empty() {
        let digits = |text: &str| text.bytes().take_while(u8::is_ascii_digit).count();
        let whole = digits(rest);
        let (number, mut after) = rest.split_at(whole);
        if number.is_empty() {
            return false;
        }
        if let Some(fraction) = after.strip_prefix('.') {
            let length = digits(fraction);
            if length == 0 {
                return false;
            }
            after = fraction.split_at(length).1;
        }
        let unit = ["ms", "s", "m", "h"].into_iter().find_map(|unit| after.strip_prefix(unit));
        let Some(next) = unit else { return false };
        rest = next;
    }
    !text.is_empty()
}

/// Returns `path` relative to `start`, without `.` and `..`; `None` if it leads outside.
fn below(start: &str, path: &Path) -> Option<String> {
    let mut names: Vec<&str> = start.split('/').filter(|name| !name.is_empty()).collect();
    for component in path.components() {
        match component {
            Component::Normal(name) => names.push(name.to_str()?),
            Component::CurDir => {}
            Component::ParentDir => {
                names.pop()?;
            }
            Component::RootDir | Component::Prefix(_) => return None,
        }
    }
    Some(names.join("/"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Config;
    use crate::diag::{SourceText, human};
    use std::sync::Arc;

    fn read(text: &str) -> (Option<Config>, String) {
        let name = "bundles.toml".to_owned();
        let source = Arc::new(SourceText { name, text: text.to_owned() });
        let (config, found) = Config::parse(&source, Path::new("."));
        (config, human::render(&found, false))
    }

    const BUNDLE: &str = "[[bundle]]\nname = \"a\"\npath = \"a\"\n";

    #[test]
    fn nothing_is_deployed_unless_said() {
        let (config, _) = read(BUNDLE);
        assert_eq!(config.unwrap().deploy, Deploy::default());
    }

    #[test]
    fn paths_are_resolved() {
        let (config, shown) = read(&format!(
            "{BUNDLE}[output]\ndir = \"./charts/all\"\n[deploy]\nhelmfile = true\n\
             values = \"values/prod/\"\nrepository-path = \"teams/platform\"\n\
             [deploy.argocd]\nrepo = \"https://git.example.com/a.git\"\n\
             [deploy.flux]\nsource-name = \"a\"\n"
        ));
        let deploy = config.unwrap_or_else(|| panic!("{shown}")).deploy;
        assert_eq!(deploy.helmfile.as_deref(), Some("helmfile.yaml"));
        assert_eq!(deploy.charts, "teams/platform/charts/all");
        let values = deploy.values.unwrap();
        assert_eq!(values.from_output, "../../values/prod");
        assert_eq!(values.in_repository, "teams/platform/values/prod");
        let flux = deploy.flux.unwrap();
        assert_eq!(flux.source_namespace, "flux-system");
    }

    #[test]
    fn an_output_folder_beside_the_file_is_found_in_the_repository() {
        let text = |path: &str| {
            format!(
                "{BUNDLE}[output]\ndir = \"../charts\"\n[deploy]\n{path}\n\
                 [deploy.flux]\nsource-name = \"a\"\n"
            )
        };
        let (config, _) = read(&text("repository-path = \"platform\""));
        assert_eq!(config.unwrap().deploy.charts, "charts");
        let (config, shown) = read(&text(""));
        assert!(config.is_none() && shown.contains("outside the repository"), "{shown}");
    }

    #[test]
    fn what_is_wrong_with_it() {
        let (_, shown) = read(
            r#"[[bundle]]
name = "flux"
path = "a"
certificates = "helm"
[deploy]
helmfile = "../helmfile.yaml"
values = "../values"
repository-path = "/srv"
[deploy.argocd]
style = "apps"
project = "A"
dir = "."
[[deploy.argocd.ignore-differences]]
kind = "Deployment"
[[deploy.argocd.ignore-differences]]
kind = "deployment"
jq-paths = [".spec"]
[deploy.flux]
source-name = "a"
interval = "10 minutes"
[[bundle]]
name = "argocd"
path = "b"
"#,
        );
        insta::assert_snapshot!(shown);
    }

    #[test]
    fn no_two_owners_of_a_folder() {
        let (_, shown) = read(
            r#"[[bundle]]
name = "flux"
path = "a"
[[bundle]]
name = "apps"
path = "b"
certificates = "helm"
[deploy]
server-side = true
[deploy.argocd]
repo = "https://git.example.com/a.git"
dir = "apps/argo"
[deploy.flux]
source-name = "a"
"#,
        );
        insta::assert_snapshot!(shown);
    }

    #[test]
    fn durations() {
        for good in ["10m", "1h30m", "1.5h", "100ms", "0s"] {
            assert!(is_duration(good), "{good}");
        }
        for bad in ["", "10", "m", "10 m", "1.h", ".5h", "10d", "-1h"] {
            assert!(!is_duration(bad), "{bad}");
        }
    }
}
