//! `[deploy]`: what is written to install the charts with.

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
    /// The models that Argo CD discovers, if it does.
    pub discovery: Option<Discovery>,
    /// Charts with an Application of their own.
    pub applications: Vec<OwnApplication>,
}

/// `discover` of `[deploy.argocd]`
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Discovery {
    /// Namespace of the models.
    pub namespace: String,
    /// Names of the models' charts, sorted.
    pub charts: Vec<String>,
}

/// `[[deploy.argocd.application]]`
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OwnApplication {
    /// Name of the chart.
    pub chart: String,
    /// True if objects that are no longer in the chart are deleted.
    pub prune: bool,
    /// Further fields that are no differences.
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::read::deploy::is_duration;
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
            assert!(is_duration(good), "{good}");
        }
        for bad in ["", "10", "m", "10 m", "1.h", ".5h", "10d", "-1h"] {
            assert!(!is_duration(bad), "{bad}");
        }
    }
}
