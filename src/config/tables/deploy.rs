//! `[deploy]`: the files for helmfile, Argo CD and Flux, which install the charts.

use super::*;

table! {
    /// Deployment with helmfile, Argo CD or Flux: generates files next to the charts that install
    /// them in the order of `depends-on`.
    pub struct DeployTable at "[deploy]", checked by deploy as Deploy {
        /// Generate a helmfile: `true` for `helmfile.yaml`, or a file name. Default: false.
        helmfile: Option<HelmfileName>;
        /// Server-side apply with forced conflicts in the helmfile; requires Helm 4 and a helmfile
        /// version that supports `serverSide`. Default: Helm's default.
        server_side: bool, needs ["helmfile"];
        /// Directory with values files for the charts, relative to this file: NAME.yaml is used if
        /// it exists. Default: none.
        values: Option<Folder>;
        /// Profile of the values, for example `tier1-minimal`: NAME.PROFILE.yaml in `values` is used
        /// after NAME.yaml, if it exists. Default: none.
        profile: Option<Label>, needs ["values"];
        /// Directory of this file in its Git repository, for Argo CD and Flux. Default: the root of
        /// the repository.
        repository_path: Folder = String::new();
        argocd: Option<ArgoCd>;
        flux: Option<Flux>;
    }
}

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
    /// The profile, if one is configured.
    pub profile: Option<String>,
}

impl Values {
    /// Returns the names of a chart's values files, of which later ones win.
    pub fn files(&self, chart: &str) -> Vec<String> {
        let profile = self.profile.iter().map(|profile| format!("{chart}.{profile}.yaml"));
        std::iter::once(format!("{chart}.yaml")).chain(profile).collect()
    }
}

fn deploy(table: DeployTable, reader: &mut Reader<'_>, fields: &Fields<'_>) -> Option<Deploy> {
    let charts = below(&table.repository_path, &reader.known.output.dir);
    if charts.is_none() && (table.argocd.is_some() || table.flux.is_some()) {
        let message = "the output directory is outside the repository";
        let hint = "set `repository-path` to the directory of this file in the repository";
        reader.error(Code::InvalidValue, &fields.header, message, hint);
    }

    let values = table.values.and_then(|folder| {
        // From the output directory back to the file's: one step up for each name.
        let Some(down) = below("", &reader.known.output.dir) else {
            let message = "`values` requires an output directory below the directory of this file";
            let hint = "change `dir` in `[output]`";
            reader.error(Code::InvalidValue, &fields.place("values"), message, hint);
            return None;
        };
        let up = down.split('/').filter(|name| !name.is_empty()).map(|_| "..");
        Some(Values {
            from_output: up.chain([folder.as_str()]).collect::<Vec<_>>().join("/"),
            in_repository: below(&table.repository_path, Path::new(&folder))?,
            profile: table.profile,
        })
    });
    Some(Deploy {
        helmfile: table.helmfile.flatten(),
        server_side: table.server_side,
        charts: charts.unwrap_or_default(),
        values,
        argocd: table.argocd,
        flux: table.flux,
    })
}

/// Checks the files that are generated against the bundles; `header` is that of the table.
pub(crate) fn check(
    reader: &mut Reader<'_>,
    deploy: &Deploy,
    header: &Range<usize>,
    bundles: &[BundleConfig],
) {
    for (dir, key) in [
        (deploy.argocd.as_ref().map(|argocd| &argocd.dir), "argocd"),
        (deploy.flux.as_ref().map(|flux| &flux.dir), "flux"),
    ] {
        // Directories of charts are directly in the output directory, in both layouts.
        let first = dir.and_then(|dir| dir.split('/').next());
        let Some(bundle) = bundles.iter().find(|b| Some(b.name.as_str()) == first) else {
            continue;
        };
        let name = &bundle.name;
        let message = format!("`[deploy.{key}]` would write into the directory of chart `{name}`");
        let spans = (&reader.span(header.clone()), &bundle.span);
        let hint = format!("set another directory with `dir` in `[deploy.{key}]`");
        reader.twice(Code::OverlappingOutput, spans, message, "the table of the chart", hint);
    }
    let Some(argocd) = &deploy.argocd else { return };

    // Argo CD renders charts without a cluster, where Helm's `lookup` finds nothing.
    for bundle in bundles.iter().filter(|b| b.certificates() == CertificateProvider::Helm) {
        let message =
            format!("Argo CD would replace the certificates of `{}` on every sync", bundle.name);
        let diagnostic = Diagnostic::warning(Code::CertificatesRenewed, message)
            .at(&bundle.span)
            .related(&reader.span(header.clone()), "Argo CD is enabled here")
            .hint("use cert-manager: `certificates = \"cert-manager\"`");
        reader.found.push(diagnostic);
    }

    // The Application of Applications is none of the Applications.
    let apps = bundles.iter().filter(|_| argocd.style == ArgoStyle::AppOfApps);
    for bundle in apps.filter(|bundle| bundle.name == argocd.name) {
        let message = format!("two Applications would have the name `{}`", argocd.name);
        let spans = (&reader.span(header.clone()), &bundle.span);
        let hint = "set another `name` in `[deploy.argocd]`";
        reader.twice(Code::DuplicateName, spans, message, "the bundle of this name", hint);
    }
}

/// The name of a helmfile in the output directory; `None` for `false`.
pub struct HelmfileName;

impl Form for HelmfileName {
    type Value = Option<String>;
    const KIND: Kind = Kind::Switch("^[^/\\\\\\s]+\\.yaml(\\.gotmpl)?$");

    fn read(reader: &mut Reader<'_>, _: &Key, value: &Node<'_>) -> Option<Option<String>> {
        let Some(text) = value.get_ref().as_str() else {
            let is_on = value.get_ref().as_bool()?;
            return Some(is_on.then(|| "helmfile.yaml".to_owned()));
        };
        // Names with a leading dot are those of the build itself: `.bundle2chart` and its stage.
        if !matches("^[A-Za-z0-9_-][A-Za-z0-9._-]*\\.yaml(\\.gotmpl)?$", text) {
            reader.error(
                Code::InvalidValue,
                &value.span(),
                format!("invalid file name for helmfile: {text:?}"),
                "use a file in the output directory that ends in `.yaml`, or write `helmfile = true`",
            );
        }
        Some(Some(text.to_owned()))
    }
}

/// A relative subdirectory, without `.`; empty for the base directory itself.
pub struct Folder;

impl Form for Folder {
    type Value = String;
    const KIND: Kind = Kind::String(Some("^[^/\\\\\\s][^\\\\\\s]*$"));

    fn read(reader: &mut Reader<'_>, key: &Key, value: &Node<'_>) -> Option<String> {
        let text = value.get_ref().as_str()?;
        let fits = !text.is_empty() && !text.contains(char::is_whitespace) && !text.contains('\\');
        let inner = fits.then(|| below("", Path::new(text))).flatten();
        if inner.is_none() {
            let message = format!("`{}` is not a relative subdirectory: {text:?}", key.name);
            let hint = "use names separated by `/`, without whitespace and without `..`";
            reader.error(Code::InvalidValue, &value.span(), message, hint);
        }
        inner
    }
}

/// A subdirectory of the output directory.
pub struct Subfolder;

impl Form for Subfolder {
    type Value = String;
    const KIND: Kind = Folder::KIND;

    fn read(reader: &mut Reader<'_>, key: &Key, value: &Node<'_>) -> Option<String> {
        let folder = Folder::read(reader, key, value)?;
        if folder.is_empty() {
            let message = "the output directory itself contains the charts";
            let hint = "use a subdirectory of it";
            reader.error(Code::InvalidValue, &value.span(), message, hint);
            return None;
        }
        Some(folder)
    }
}

patterns! {
    /// A duration in Flux (the pattern in its CustomResourceDefinitions).
    Duration = "^([0-9]+(\\.[0-9]+)?(ms|s|m|h))+$",
        "`{key}` is not a duration: \"{text}\"",
        "write it as `10m`, `1h` or `1h30m`";
}

/// Returns `path` relative to `start`, without `.` and `..`; `None` if it leads outside.
fn below(start: &str, path: &Path) -> Option<String> {
    let path = plain(&Path::new(start).join(path));
    let names = path.components().map(|component| match component {
        Component::Normal(name) => name.to_str(),
        _ => None,
    });
    Some(names.collect::<Option<Vec<&str>>>()?.join("/"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::forms::Rule as _;
    use crate::tests::read;

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
            assert!(Duration::fits(good), "{good}");
        }
        for bad in ["", "10", "m", "10 m", "1.h", ".5h", "10d", "-1h"] {
            assert!(!Duration::fits(bad), "{bad}");
        }
    }
}
