//! Values of each table that are read, and mistakes in each as users read them.

use crate::declare::{Key, Kind};
use crate::diag::{Code, Diagnostic, Diagnostics, Place, SourceText};
use crate::ir::{Object, Origin, map};
use crate::{Config, Switch, Watch, tests::parsed};
use std::path::Path;
use std::sync::Arc;

const BUNDLE: &str = "[[bundle]]\nname = \"a\"\npath = \"a\"\n";
const MODEL: &str =
    "[[serving]]\nname = \"m\"\nmodel = \"hf://a/b\"\nengine = { image = \"c:1\" }\n";

/// Returns the findings about each of these texts, which follow `start` in a file of their own. Empty
/// lines separate them.
fn findings(start: &str, texts: &str) -> String {
    let mut shown = String::new();
    for text in texts.trim().split("\n\n") {
        shown += &format!("==> {text}\n{}\n", findings_of(format!("{start}{text}\n")));
    }
    shown
}

/// Returns the findings about a file, each with the first line of its place.
pub(crate) fn findings_of(text: String) -> String {
    let source = Arc::new(SourceText { name: "bundles.toml".to_owned(), text });
    let mut found = Diagnostics::new();
    let _ = Config::parse(&source, Path::new("."), &mut found);
    shown(&found)
}

/// Returns findings as `CODE at LINE `TEXT`: MESSAGE`, then what is related, and the hint.
pub(crate) fn shown(found: &Diagnostics) -> String {
    let place = |place: &Place| {
        let Some(span) = &place.span else { return place.file.clone().unwrap_or_default() };
        let text = &span.source.text;
        let before = text[..span.range.start].lines().count().max(1);
        let line = before + usize::from(text[..span.range.start].ends_with('\n'));
        let marked = text[span.range.clone()].lines().next().unwrap_or("");
        format!("{line} `{marked}`")
    };
    let mut shown = String::new();
    for one in found.iter() {
        shown += &format!("{} at {}: {}\n", one.code.as_str(), place(&one.place), one.message);
        for (related, label) in &one.related {
            shown += &format!("    {label}: {}\n", place(related));
        }
        shown += &format!("    {}\n", one.hint.as_deref().unwrap_or("no hint"));
    }
    shown
}

/// Returns values of a configuration, with the text of each place.
pub(crate) fn values(text: &str, values: &dyn std::fmt::Debug) -> String {
    let span = regex::Regex::new(
        r#"Span \{\s+source: SourceText \{\s+name: "bundles.toml",\s+text: "(?:\\.|[^"\\])*",\s+\},\s+range: (\d+)\.\.(\d+),\s+\}"#,
    );
    let place = |found: &regex::Captures<'_>| {
        let at = |number: usize| found[number].parse::<usize>().unwrap();
        format!("at {:?}", text[at(1)..at(2)].lines().next().unwrap_or_default())
    };
    span.unwrap().replace_all(&format!("{values:#?}"), place).into_owned()
}

#[test]
fn defaults() {
    let chart = "[[chart]]\nname = \"b\"\nchart-version = \"1.0.0\"\nmanifests = [\"b\"]\n";
    let deploy = "[deploy]\n[deploy.argocd]\nrepo = \"https://git.example.com/a.git\"\n\
        [deploy.flux]\nsource-name = \"a\"\n";
    let mirror = "[[mirror]]\nfrom = \"a.example.com\"\nto = \"b.example.com/\"\n";
    let text = format!("{BUNDLE}{chart}{mirror}{deploy}{MODEL}");
    insta::assert_snapshot!(values(&text, &parsed(&text)));
}

const EVERYTHING: &str = r#"
required-version = ">=0.1"
[defaults]
include = ['.kind != "Route"']
exclude = ['.kind == "Job"']
pull-secret = "pull"
crds = "subchart"
strip-descriptions = true
maintainers = [{ name = "team", email = "a@example.com", url = "https://example.com" }]
provided = ["cert-manager", "cert-manager.io/v1/Certificate"]
watch = "own"
certificates = "helm"
auth-reader = true
aggregate-roles = true
[output]
dir = "charts"
layout = "flat"
keep = 3
[[mirror]]
from = "a.example.com"
to = "oci-layout:images"
fallback = true
[[mirror]]
from = "a.example.com"
to = "b.example.com:5000/mirror/"
[[registry]]
host = "A.example.com:5000"
ca = "ca.pem"
plain-http = false
auth-hosts = ["token.example.com"]
[network]
retries = 0
timeout = 3600
downloads = 64
[[verify]]
prefix = "a.example.com"
key = ["a.pem", "b.pem"]
[[verify]]
prefix = "b.example.com"
identity = "a@example.com"
issuer = "https://token.example.com"
roots = "roots.json"
[[verify]]
prefix = "c.example.com"
identity-regexp = 'a\.b'
issuer = "https://token.example.com"
roots = "roots.json"
[[verify]]
prefix = "d.example.com"
insecure = true
[[verify]]
require = true
[lints]
run-as-user-missing = "deny"
[[ignore]]
path = "Deployment/manager:.spec.replicas"
reason = "by hand"
[deploy]
helmfile = "a.yaml.gotmpl"
server-side = true
values = "values"
profile = "small"
repository-path = "platform"
[deploy.argocd]
repo = "https://git.example.com/a.git"
revision = "main"
style = "app-of-apps"
name = "apps"
project = "p"
destination = "production"
namespace = "gitops"
prune = true
dir = "argo/apps"
discover = "models"
[[deploy.argocd.ignore-differences]]
group = "apps"
kind = "Deployment"
name = "a"
namespace = "b"
json-pointers = ["/spec/replicas"]
[[deploy.argocd.ignore-differences]]
kind = "Service"
jq-paths = [".spec"]
[[deploy.argocd.application]]
chart = "lone"
prune = true
ignore-differences = [{ kind = "Secret", jq-paths = [".data"] }]
[[deploy.argocd.application]]
chart = "all-crds"
[deploy.flux]
source-name = "platform"
source-namespace = "sources"
namespace = "releases"
interval = "1h30m"
timeout = "100ms"
dir = "flux/releases"

[[bundle]]
name = "all"
image = "a.example.com/b/all:1.0"
package = "all"
namespace = "all-system"
include = ['.kind == "Role"']
pull-secret = false
crds = "separate"
strip-descriptions = false
maintainers = []
provided = ["other"]
watch = ["x", "y"]
certificates = "cert-manager"
issuer = { name = "ca", kind = "ClusterIssuer", group = "cert.example.com" }
auth-reader = false
chart-version = "1.2.3-rc.1"
depends-on = ["lone"]
ready = [
  { rollout = "StatefulSet/a.b" },
  { rollout = "daemonset/a", namespace = "n", timeout = "2h" },
  { crd = "lamps.example.com", namespace = "n", timeout = "90s" },
  { condition = "Ready", object = "v1/Service/a", phase = "operand" },
  { jsonpath = "{.status.items[0].phase}", value = "on: 1", object = "example.com/v1/Lamp/a.b", phase = "with" },
  { jsonpath = ".data.a", value = "b", object = "v1/ConfigMap/a", namespace = "n" },
]
scopes = { "example.com/Lamp" = "Cluster", "example.com/Room" = "Namespaced" }
namespaces = { lamps = "lights", rooms = "flat" }
service-accounts = { release = ["one", "two"], lamps = ["one"] }
adopt = [{ service-account = "two", release = "r", namespace = "n" }]
stub-crds = ["infrastructures.config.openshift.io"]
lints = { run-as-user-missing = "allow" }
[[bundle.after]]
object = "example.com/v1/Lamp/a"
namespace = "n"
annotations = { "example.com/a" = "" }
labels = { a = "b" }
patch = "{spec: {on: true, off: null}, metadata: {labels: {c: d}}}"
reset = "always"
ready = [{ rollout = "deployment/a" }]
timeout = "1m"
resource = "lampen"
image = "example.com/kubectl:1"
phase = "operand"
[[bundle.after]]
object = "v1/ConfigMap/a"
patch.data = { a = "b", at = 2026-01-02, more = [1, 1.5] }
[bundle.config]
resources = { limits = { cpu = 1, memory = "1Gi" }, claims = [{ name = "gpu" }] }
[[bundle.overlay]]
path = "overlay"
phase = "before"
[[bundle.overlay]]
inline = "kind: Lamp"
phase = "operand"
switch = "dim"
[[bundle.overlay]]
inline = { kind = "Lamp", spec = { on = true } }
[[bundle.switch]]
name = "dim"
ready = [{ crd = "lamps.example.com" }]
[[bundle.patch]]
match = '.kind == "Role"'
patch = '.a = 1'

[[chart]]
name = "lone"
chart-version = "1.0.0"
manifests = ["one", "two.yaml"]
vendored = [
  { path = "v.yaml", digest = "sha256:0000000000000000000000000000000000000000000000000000000000000000", url = "https://example.com/v.yaml" },
]
namespace = "own"
namespaces = { more = "other" }
ready = [{ rollout = "deployment/a" }]

[[bundle]]
name = "catalog"
catalog = "c.example.com/catalog:1"
package = "p"
channel = "stable"
version = "1.2"
"#;

#[test]
fn everything_that_can_be_set() {
    insta::assert_snapshot!(values(EVERYTHING, &parsed(EVERYTHING)));
}

#[test]
fn files() {
    let seen = findings(
        "",
        r#"
required-version = "1.0 or later"
bundle = []

required-version = ">=0.1"
[[bundel]]
name = "a"

a = "\d"
[[bundle]]
name = "a"

a
[[bundle]]
name = "a"

a = [1

a = 'literal " quote
b = """
c = "
"""
d = '''
e = '
'''
f = "g" # it's

a = "b\"c

a = "\\b

a = 'b\

a = 'b' # it's

a = 'b' c # "

a = [1 # it's "

a = # "b

a # "b

[a # "b

[a] "b

a = "b" "c

"a

a = 1
"b

a = ["", "b

a = ["\\", "b

a = 1
<<<<<<< HEAD
b = 2
=======
b = 3
>>>>>>> other

<<<<<<< HEAD
b = 2
=======
>>>>>>> other
c = "d

a = { b = 1 # it's

a. # it's

a = 1. # it's

a = [ # it's

a = 1 "c

name = "a
[[bundle]]
"#,
    );
    insta::assert_snapshot!(seen);
    // The last line without and with a line end, of both kinds.
    for end in ["", "\n", "\r\n"] {
        for several_lines in ["a = \"\"\"b", "a = '''b"] {
            let found = findings_of(format!("{several_lines}{end}"));
            assert!(found.contains("multi-line"), "{found}");
            assert!(found.contains("close the three quotes"), "{found}");
        }
        let found = findings_of(format!("# one\na = \"b{end}"));
        let expected = "config-syntax at 2 `\"b`: invalid TOML: unclosed string\n    close the quote on the same line\n";
        assert_eq!(found, expected, "{end:?}");
    }
    let many = format!("{}{}", "[[bundle]]\n".repeat(600), "[[chart]]\n".repeat(401));
    insta::assert_snapshot!(findings_of(many));
    let all = "[[serving]]\n".repeat(1_000);
    assert!(!findings_of(all).contains("split it"));
}

#[test]
fn keys_of_other_tables_and_other_words() {
    let seen = findings(
        BUNDLE,
        r#"
installModes = "all"
targetNamespaces = []
source = "a"
startingCSV = "a"
defaultChannel = "a"
installNamespace = "a"
watch-namespaces = []

layout = "flat"
layuot = "flat"
image-registry = "a"
retires = 1
zzz = 1
from = "a"
reason = "b"
prune = true
condition = "Ready"
output = 1

[[chart]]
name = "b"
chart-version = "1.0.0"
path = "c"
installModes = "all"

[output]
installModes = "all"
zzz = 1
"#,
    );
    insta::assert_snapshot!(seen);
}

#[test]
fn types_of_values() {
    let seen = findings(
        BUNDLE,
        r#"
depends-on = "b"
include = 1
exclude = { a = 1 }
watch = 1.5
namespace = 2026-01-01
scopes = { "a.b/C" = ["d"], "a.b/D" = 1 }
stub-crds = [["a"], { b = 1 }]
service-accounts = { release = "a", b = [1] }
namespaces = ["a"]
patch = 'a'
config = "a"

overlay = { path = "a" }

crds = 1
strip-descriptions = "true"
maintainers = { name = "a" }
issuer = { name = true }

overlay = [{ inline = 7 }]
after = [{ object = "v1/ConfigMap/a", patch = 7, labels = "a", annotations = { a = 1 }, reset = true }]

config.env = { A = "b", C = 1 }
config.volumes = { name = "a" }
config.tolerations = "all"

[deploy]
helmfile = 1
server-side = 1
[output]
keep = "1"
layout = false
[network]
retries = 21
timeout = 0
downloads = 0x41

[[verify]]
key = "a.pem"
[[registry]]
host = "a"
plain-http = "no"
"#,
    );
    insta::assert_snapshot!(seen);
}

#[test]
fn names() {
    let long = |length: usize| "l".repeat(length);
    let label = |text: &str| format!("[deploy]\nvalues = \"v\"\nprofile = \"{text}\"");
    let gate = |text: &str| format!("ready = [{{ rollout = \"deployment/{text}\" }}]");
    let secret = |text: &str| format!("pull-secret = \"{text}\"");
    let namespace = |text: &str| format!("namespace = \"{text}\"");
    for (row, limit) in
        [(&label as &dyn Fn(&str) -> String, 53), (&gate, 253), (&secret, 253), (&namespace, 63)]
    {
        let found = |length| findings_of(format!("{BUNDLE}{}\n", row(&long(length))));
        assert_eq!(found(limit), "");
        assert!(found(limit + 1).contains(&format!("has {} characters", limit + 1)));
    }
    let seen = findings(
        BUNDLE,
        r#"
[deploy]
values = "v"
profile = "A b"

pull-secret = "a..b"

pull-secret = "a."

[[bundle]]
name = "a.b c_D"
path = "b"

depends-on = ["it's \"b\""]
issuer = { name = "ca", kind = "it's" }
"#,
    );
    insta::assert_snapshot!(seen);
}

#[test]
fn bundles_together() {
    let seen = findings(
        "",
        r#"
[[bundle]]
name = "a"
path = "a"
depends-on = ["b"]

[[bundle]]
path = "a"
depends-on = ["b"]
[[bundle]]
name = "c"
path = "c"

[[bundle]]
name = "a"
path = "a"
[[bundle]]
name = "other"
path = "b"
depends-on = ["zzz"]

[[bundle]]
name = "a"
path = "a"
depends-on = ["b", "c"]
[[bundle]]
name = "b"
path = "b"
[[bundle]]
name = "c"
path = "c"
depends-on = ["b"]

[[bundle]]
name = "a"
path = "a"
depends-on = ["b"]
[[bundle]]
name = "b"
path = "b"
[[bundle]]
name = "c"
path = "c"
depends-on = ["d", "a"]
[[bundle]]
name = "d"
path = "d"
depends-on = ["c"]

[[bundle]]
name = "a"
path = "a"
crds = "separate"
[[bundle]]
name = "b"
path = "b"
stub-crds = ["infrastructures.config.openshift.io"]
[[bundle]]
name = "c"
path = "c"
overlay = [{ path = "o" }]
[[bundle]]
name = "d"
path = "d"
overlay = [{ path = "o", phase = "operand" }]
[[bundle]]
name = "e"
path = "e"
crds = "templates"
overlay = [{ path = "o" }]
[[bundle]]
name = "a-crds"
path = "x"
[[bundle]]
name = "b-crds"
path = "x"
[[chart]]
name = "c-crds"
chart-version = "1.0.0"
manifests = ["x"]
[[serving]]
name = "d-operands"
model = "hf://a/b"
engine = { image = "c:1" }
[[bundle]]
name = "d-crds"
path = "x"
[[bundle]]
name = "e-crds"
path = "x"

[[bundle]]
name = "lllllllllllllllllllllllllllllllllllllllllllll-48-47"
path = "a"
crds = "separate"
overlay = [{ path = "o", phase = "operand" }]

[[bundle]]
name = "a"
path = "a"
namespace = "lights"
[bundle.namespaces]
lamps = "lights"
rooms = "rooms"

[output]
dir = "x/manifests/y"
[[bundle]]
name = "a"
path = "x"
[[bundle]]
name = "b"
catalog = "x/manifests/y/b/c"
package = "b"
overlay = [{ path = "x/manifests/y/a/c" }]
[[bundle]]
name = "d"
image = "x/manifests/y/d/e"
[[chart]]
name = "c"
chart-version = "1.0.0"
manifests = ["x/manifests/y/c"]
vendored = [{ path = "x/manifests/y/a", digest = "sha256:0000000000000000000000000000000000000000000000000000000000000000" }]

[output]
dir = "x/metadata"
[[bundle]]
name = "a"
path = "x"
[[bundle]]
name = "b"
path = "y"

[output]
dir = "x/other"
[[bundle]]
name = "a"
path = "x"
"#,
    );
    insta::assert_snapshot!(seen);
}

#[test]
fn sources() {
    let seen = findings(
        "[[bundle]]\nname = \"a\"\n",
        r#"
catalog = "c"

path = "a"
channel = "b"
version = "1"

catalog = "c"
package = "p"
version = "v1.2"

catalog = "c"
package = "p"
version = ">=1 <2"

catalog = "c"
package = "p"
version = "vv"

catalog = "c"
package = "p"
version = "1,"

image = "a b"

path = "a"
watch = "AllNamespaces"

path = "a"
watch = "OwnNamespace"

path = "a"
watch = "SingleNamespace"

path = "a"
watch = "MultiNamespace"

path = "a"
watch = "al"

path = "a"
watch = "owm"

path = "a"
certificates = "helm"
issuer = { name = "a" }

path = "a"
stub-crds = ["infrastructures.config.openshift.io", "infrastructures.config.openshift.io", "zzz"]

path = "a"
provided = ["a/b"]
"#,
    );
    insta::assert_snapshot!(seen);
}

#[test]
fn charts() {
    let seen = findings(
        "[[chart]]\nname = \"b\"\nchart-version = \"1.0.0\"\n",
        r#"
namespace = "a"

manifests = []

[[chart.vendored]]
path = "a"
digest = "sha256:0000000000000000000000000000000000000000000000000000000000000000"

manifests = []
[[chart.vendored]]
path = "a"
digest = "sha1:00"
url = "http://example.com"

maas = {}

manifests = ["a"]
ready = [{ rollout = "a" }]
[[chart.after]]
object = "v1/ConfigMap/a"
[[chart.overlay]]
fase = "a"
[[chart.switch]]
nam = "a"
[[chart.patch]]
matches = "a"
"#,
    );
    insta::assert_snapshot!(seen);
}

#[test]
fn gates() {
    let seen = findings(
        &format!("{BUNDLE}ready = ["),
        r#"
{ timeout = "5m" }]

{ rollout = "job/a" }]

{ rollout = "deployment/" }]

{ rollout = "deployment" }]

{ rollout = "deployment/A" }]

{ rollout = "deployment/a", crd = "a.example.com" }]

{ rollout = "deployment/a", object = "v1/Service/a" }]

{ crd = "a.example.com", object = "v1/Service/a" }]

{ crd = "lamps" }]

{ crd = "a_b.c" }]

{ condition = "Ready" }]

{ condition = "not ready", object = "light.example.com/v1/Lamp/a" }]

{ condition = "Ready", object = "lamp/a" }]

{ condition = "Ready", object = "light.example.com/Lamp/v1/a" }]

{ condition = "Ready", object = "a_b/v1/Lamp/a" }]

{ condition = "Ready", object = "v1/lamp/a" }]

{ condition = "Ready", object = "v1/Lamp/A" }]

{ jsonpath = ".status.state", object = "light.example.com/v1/Lamp/a" }]

{ value = "a", object = "v1/Service/a" }]

{ jsonpath = "status.state", value = "a", object = "v1/Service/a" }]

{ jsonpath = "{.status.state", value = "a", object = "v1/Service/a" }]

{ jsonpath = ".status[*].state", value = "a", object = "v1/Service/a" }]

{ jsonpath = ".status.a[12345].b[123456]", value = "a", object = "v1/Service/a" }]

{ jsonpath = ".status..b", value = "a", object = "v1/Service/a" }]

{ jsonpath = ".kind", value = "a", object = "v1/Service/a" }]

{ jsonpath = ".metadata.kind", value = "a'b", object = "v1/Service/a" }]

{ rollout = "deployment/a", timeout = "ten minutes" }]

{ rollout = "deployment/a", timeout = "0s" }]

{ rollout = "deployment/a", timeout = "5d" }]

{ rollout = "deployment/a", phase = "operand" }]

{ rollout = "deployment/a", phase = "before" }]
"#,
    );
    insta::assert_snapshot!(seen);
}

#[test]
fn steps() {
    let seen = findings(
        &format!("{BUNDLE}[[bundle.after]]\n"),
        r#"
annotations = { a = "b" }

object = "v1/ConfigMap"
annotations = { a = "b" }

object = "v1/configmap/a"
annotations = { a = "b" }

object = "v1/ConfigMap/a"

object = "v1/ConfigMap/a"
annotations = { "a b" = "c d" }

object = "v1/ConfigMap/a"
annotations = { a = "b c" }
reset = "once"

object = "v1/ConfigMap/a"
labels = { a = "b c" }

object = "v1/ConfigMap/a"
labels = { a = "b" }
reset = "once"

object = "v1/ConfigMap/a"
patch = { data = { a = "b", c = "d" } }
[[bundle.after]]
object = "v1/ConfigMap/a"
patch = { data = { c = "b" } }

object = "v1/ConfigMap/a"
patch = '[1]'

object = "v1/ConfigMap/a"
patch = '{a: '

object = "v1/ConfigMap/a"
patch = "a: 1\n---\nb: 2"

object = "v1/ConfigMap/a"
patch = '{}'

object = "v1/ConfigMap/a"
patch = { apiVersion = "b" }

object = "v1/ConfigMap/a"
patch = { kind = "b" }

object = "v1/ConfigMap/a"
patch = { status = { a = 1 } }

object = "v1/ConfigMap/a"
patch = { metadata = { name = "b" } }

object = "v1/ConfigMap/a"
patch = { metadata = { namespace = "b" } }

object = "v1/ConfigMap/a"
patch = { metadata = { uid = "b" } }

object = "v1/ConfigMap/a"
annotations = { a = "b" }
patch = { metadata = { annotations = { a = "c" } } }

object = "v1/ConfigMap/a"
annotations = { a = "b" }
patch = { metadata = { annotations = "c" } }

object = "v1/ConfigMap/a"
labels = { a = "b" }
patch = { metadata = "c" }

object = "v1/ConfigMap/a"
patch = { data = { a = "b" } }
reset = "once"

object = "v1/ConfigMap/a"
annotations = { a = "b" }
reset = "never"

object = "v1/ConfigMap/a"
annotations = { a = "b" }
ready = [{ crd = "a.b", phase = "with" }]

object = "v1/ConfigMap/a"
annotations = { a = "b" }
timeout = "soon"

object = "v1/ConfigMap/a"
annotations = { a = "b" }
resource = "Lamps"

object = "v1/ConfigMap/a"
annotations = { a = "b" }
image = "https://example.com/a"

object = "v1/ConfigMap/a"
annotations = { a = "b" }
phase = "operand"

object = "v1/ConfigMap/a"
patch = { data = { a = "b" } }
[[bundle.after]]
object = "v1/ConfigMap/b"
patch = { data = { a = "b" } }
[[bundle.after]]
object = "v1/ConfigMap/a"
patch = { data = { b = "b", a = "c" } }

object = "v1/ConfigMap/a"
patch = { data = {} }
[[bundle.after]]
object = "v1/ConfigMap/a"
patch = { data = { a = { b = "c" } } }

object = "v1/ConfigMap/a"
patch = { data = { a = { b = "c" } } }
[[bundle.after]]
object = "v1/ConfigMap/a"
patch = { data = { a = "b" } }

object = "v1/ConfigMap/a"
patch = { data = { a = "b" } }
[[bundle.after]]
object = "v1/ConfigMap/a"
patch = { data = { b = "b" } }
[[bundle.after]]
object = "v1/ConfigMap/a"
namespace = "other"
patch = { data = { a = "b" } }
"#,
    );
    insta::assert_snapshot!(seen);
}

#[test]
fn switches() {
    let seen = findings(
        BUNDLE,
        r#"
[[bundle.switch]]
name = "a"

[[bundle.switch]]
name = "A b"

[[bundle.switch]]
name = "lllllllllllllllllllllllllllllllllllllllllllllllllllllllllllll-63"
[[bundle.overlay]]
phase = "operand"
switch = "lllllllllllllllllllllllllllllllllllllllllllllllllllllllllllll-63"
path = "o"

[[bundle.switch]]
name = "llllllllllllllllllllllllllllllllllllllllllllllllllllllllllllll-64"

[[bundle.overlay]]
phase = "operand"
switch = "a"
path = "o"

[[bundle.switch]]
name = "dimming"
[[bundle.overlay]]
phase = "operand"
switch = "diming"
path = "o"

[[bundle.switch]]
name = "dimming"
[[bundle.overlay]]
phase = "operand"
switch = "zzz"
path = "o"

[[bundle.switch]]
name = "a"
[[bundle.overlay]]
switch = "a"
path = "o"

[[bundle.switch]]
name = "a"
[[bundle.switch]]
name = "a"
[[bundle.overlay]]
phase = "operand"
switch = "a"
path = "o"
"#,
    );
    insta::assert_snapshot!(seen);
}

#[test]
fn overlays_patches_and_operands() {
    let seen = findings(
        BUNDLE,
        r#"
overlay = [{}]

overlay = [{ path = "a.yaml", inline = "b", fase = "operand" }]

overlay = [{ path = "a.yaml", phase = "operands" }]

overlay = [{ inline = " " }]

patch = [{ match = '.kind == ', patch = '.. |= now' }]

[bundle.namespaces]
release = "lamps"
Operand = "lights"
one = "lights-of-one"
other = "lights-of-one"
number = 7
wrong = "Not_A_Name"

[bundle.scopes]
"monitoring.example.com/Lamp" = "cluster"
Lamp = "Cluster"
"/Lamp" = "Cluster"
"a.b/lamp" = "Cluster"

[bundle.namespaces]
one = "lights-of-one"
[bundle.service-accounts]
onee = ["a"]
zzz = ["a"]
one = ["a", "a", "B_"]
release = ["a"]

[bundle.namespaces]
one = "lights-of-one"
[bundle.service-accounts]
one = ["a"]
release = ["b"]
[[bundle.adopt]]
service-account = "a"
release = "r"
[[bundle.adopt]]
service-account = "b"
release = "r"
[[bundle.adopt]]
service-account = "c"
release = "r"

[bundle.lints]
run-as-user-mising = "allow"
zzz = "warn"
run-as-user-missing = "warn"

[lints]
zzz = "deny"

[[ignore]]
path = "["
reason = " "
"#,
    );
    insta::assert_snapshot!(seen);
}

#[test]
fn pods() {
    let seen = findings(
        &format!("{BUNDLE}[bundle.config]\n"),
        r#"
resources = { limits = { cpu = "lots", memory = "1Gi" }, requests = { cpu = "x" } }

resources = { limits = 7 }

env = [{ name = "", value = "b" }, { value = "c" }]

volumes = [{ name = "a", emptyDir = {} }, { name = "a", emptyDir = {} }]

annotations = { a = ["b"] }
"#,
    );
    insta::assert_snapshot!(seen);
    let proxy = "proxy = { http = \"a\", https = \"b\", no-proxy = \"c\" }\n\
        env = [{ name = \"HTTPS_PROXY\", value = \"own\" }]\n";
    let config = parsed(&format!("{BUNDLE}[bundle.config]\n{proxy}"));
    let env = &config.bundles[0].pods.env;
    let pairs: Vec<_> =
        env.iter().map(|one| (one["name"].as_str(), one["value"].as_str())).collect();
    let expected = [("HTTPS_PROXY", "own"), ("HTTP_PROXY", "a"), ("NO_PROXY", "c")];
    assert_eq!(pairs, expected.map(|(name, value)| (Some(name), Some(value))));
}

#[test]
fn registries_and_signatures() {
    let seen = findings(
        BUNDLE,
        r#"
[[mirror]]
from = "a.example.com"
to = "mirror"

[[mirror]]
from = "a.example.com"
to = "oci:images"

[[mirror]]
from = "a.example.com"
to = "b.example.com/a:1"

[[mirror]]
from = "a.example.com"
to = "b.example.com/a@b"

[[mirror]]
from = "a.example.com:"
to = "/images"

[[mirror]]
from = "a.example.com@"
to = "oci-layout: "

[[mirror]]
from = "a.example.com"
to = "b.example.com"
[[mirror]]
from = "a.example.com"
to = "c.example.com"
[[mirror]]
from = "a.example.com/b"
to = "c.example.com"

[[registry]]
host = "a.example.com"
[[registry]]
host = "A.example.com"
[[registry]]
host = " "
[[registry]]
host = "a.example.com:65536"

[[verify]]
prefix = "a.example.com"
key = ["vendor.pem"]
insecure = true

[[verify]]
prefix = "b.example.com/"
require = true

[[verify]]
insecure = false

[[verify]]
require = false

[[verify]]
key = []

[[verify]]
prefix = "e.example.com"

[[verify]]
identity = "https://example.com/release.yaml"
issuer = "https://token.example.com"

[[verify]]
identity-regexp = 'release(@'
issuer = "https://token.example.com"
roots = "trusted_root.json"

[[verify]]
key = ["vendor.pem"]
issuer = "https://token.example.com"
roots = "trusted_root.json"

[[verify]]
insecure = true
[[verify]]
require = true

[[verify]]
prefix = "a.example.com"
insecure = true
[[verify]]
prefix = "a.example.com"
require = true
"#,
    );
    insta::assert_snapshot!(seen);
}

#[test]
fn deployment() {
    let seen = findings(
        BUNDLE,
        r#"
[deploy]
server-side = true
profile = "small"

[deploy]
helmfile = ".helmfile.yaml"

[deploy]
helmfile = "a.yml"

[deploy]
values = ""
repository-path = "a b"

[deploy]
values = 'a\b'

[output]
dir = "../charts"
[deploy]
values = "v"

[output]
dir = "../charts"
[deploy.argocd]
repo = "https://git.example.com/a.git"

[deploy.argocd]
repo = "https://git.example.com/a.git"
style = "app-of-apps"
name = "a"

[deploy.argocd]
repo = "https://git.example.com/a.git"
name = "a"
discover = "models"

[deploy.argocd]
repo = "https://git.example.com/a.git"
application = [{ chart = "b" }, { chart = "b-crds" }, { chart = "a" }, { chart = "a-operands" }, { chart = "a", prune = true }]

[deploy.argocd]
repo = "https://git.example.com/a.git"
ignore-differences = [{ kind = "A", json-pointers = ["a"] }, { kind = "B", jq-paths = [] }]

[deploy.flux]
source-name = "a"
dir = "./"
timeout = "1 h"

[output]
dir = ""

[output]
dir = "/charts"

[output]
dir = "~/charts"

[output]
dir = "charts/.."
"#,
    );
    insta::assert_snapshot!(seen);

    // Argo CD finds the models of a namespace, but for those with an Application of their own.
    let model = |name: &str| MODEL.replace("\"m\"", &format!("{name:?}"));
    let elsewhere = model("d") + "namespace = \"n\"\n";
    let config = parsed(&format!(
        "[output]\nlayout = \"flat\"\n[deploy.argocd]\nrepo = \"r\"\ndiscover = \"models\"\n\
         application = [{{ chart = \"c\" }}]\n{}{}{}{elsewhere}",
        model("c"),
        model("b"),
        model("a")
    ));
    let found = config.deploy.argocd.unwrap().discovery.unwrap();
    assert_eq!(found.charts, ["a", "b"]);
}

#[test]
fn models() {
    let seen = findings(
        "[[serving]]\nengine = { image = \"c:1\" }\n",
        r#"
name = "1a"
model = "hf://a/b"

name = "lllllllllllllllllllllllllllllllllllll-41"
model = "hf://a/b"

name = "llllllllllllllllllllllllllllllllllllll-41"
model = "hf://a/b"

name = "m_n"
model = "hf://a"

name = "m"
model = "hf://a/b/c"

name = "m"
model = "hf:///b"

name = "m"
model = "oci://"

name = "m"
model = "pvc:///b"

name = "m"
model = "pvc://a/b/../c"

name = "m"
model = "s3://a b"

name = "m"
model = "http://a"
"#,
    );
    insta::assert_snapshot!(seen);
    let seen = findings(
        MODEL,
        r#"
labels = { "a b" = "c" }

labels = { "a" = "b c" }

adapters = [{ name = "a", source = "hf://a/b" }, { name = "a", source = "hf://a/c" }]

adapters = [{ name = "a/b", source = "hf://a/b" }]

adapters = [{ name = "", source = "hf://a/b" }]

adapters = [{ name = "a=b", source = "hf://a/b" }]

adapters = [{ name = "a", source = "hf://a/b", rank = 1 }]

adapters = [{ source = "hf://a/b" }]

adapters = [{ name = "a", source = "oci://a/b" }]

adapters = [{ name = "a", source = "pvc://A/b" }]

adapters = [{ name = "a", source = "hf://a/.." }]

adapters = [{ name = "a", source = "hf://a/b,c" }]

adapters = [{ name = "a", source = "pvc://a/b=c" }]

adapter-rank = 1

served-name = "a"
adapters = [{ name = "a", source = "pvc://claim/folder" }]

cache = {}

cache = { claim = "a", size = "1Gi" }

cache = { claim = "a", storage-class = "a", access-mode = "ReadWriteOnce" }

cache = { size = "0Gi" }

epp = { preset = "default", config = {} }

epp = { flags = { -v = 1, "a.b" = 1, c = {}, d = [1], e-1 = 2 } }

objectives = { A = 1, a.b = 1, "a.b" = "1", c = 2147483647, d = 2147483648 }

accelerator = { rdma = "efa" }
prefill = { resources = { limits = { "nvidia.com/gpu" = 2, cpu = 1 }, requests = { "vpc.amazonaws.com/efa" = 1 } } }

rewrites = [{ model = "a", targets = [] }, { model = "a", targets = [{ weight = 1 }] }, { targets = [{ model = "b" }] }]

rewrites = [{ model = "a", targets = [{ model = "b", weight = 0 }] }, { model = "a", targets = [{ model = "b", weight = 1000001 }] }]

rewrites = [{ model = "a", targets = [{ model = "b", weight = "1" }] }, { model = "a", targets = [{ model = 1 }] }]

rewrites = [{ model = "a", targets = [{ model = "b", wieght = 2 }] }, { model = "a", target = "b", targets = [{ model = "b" }] }]

route = { gateway = "a", gateway-class = "b", gateway-namespace = "c" }

route = { gateway = "a", gateway-class = "b" }

route = { gateway = "a", gateway-namespace = "c" }

autoscaling = { max = 1, metrics = "gke", metric = "a" }

autoscaling = { min = 2, max = 1 }

autoscaling = { kind = "keda", max = 1, metrics = "gke", metric = "a" }

network-policy = {}
route = { gateway = "a", provider = "gke" }

network-policy = {}
monitoring = {}

network-policy = {}
autoscaling = { max = 1 }

accelerator = { vendor = "none", per-node = 1, rdma = "ib" }

accelerator = { tpu = "v7" }

disaggregated-set = true

api = "llm-d-0.1"

patch = [{ match = '.', patch = 'now' }]

epp.image = "a b"

maas = { subscriptions = [] }
"#,
    );
    insta::assert_snapshot!(seen);
}

const MODELS: &str = r#"
[defaults]
pull-secret = "pull"
maintainers = [{ name = "team" }]
[[serving]]
name = "everything"
model = "pvc://claim/folder/inner"
served-name = "served"
api = "llm-d-0.9"
allow-tags = true
chart-version = "1.0.0"
namespace = "n"
pull-secret = false
maintainers = []
depends-on = ["kserve"]
labels = { "example.com/a" = "b" }
service-account-annotations = { a = "b" }
queue = "q"
cache = { size = "1Ti", storage-class = "fast", access-mode = "ReadWriteOnce" }
adapters = [{ name = "one", source = "hf://a/b" }, { name = "two", source = "pvc://claim/x" }]
adapter-rank = 512
tracing = { endpoint = "http://collector:4317", percent = 1 }
accelerator = { vendor = "tpu", tpu = "v7", rdma = "efa", rdma-devices = 1 }
topology = "lws-mp"
replicas = 0
nodes = 2
tp = 3
pp = 4
dp = 5
expert-parallel = true
disaggregated-set = true
objectives = { premium = 100, "a.b" = -10 }
rewrites = [{ model = "other", targets = [{ model = "served", weight = 1_000_000 }, { model = "b", weight = 1 }, { model = "c" }] }]
monitoring = { interval = "1m", labels = { a = "b" } }
network-policy = { monitoring-namespaces = ["monitoring"] }
autoscaling = { kind = "keda", min = 2, max = 2, waiting = 7, prometheus = "http://p:9090" }
disruption-budget = 1
[serving.engine]
kind = "sglang"
image = "example.com/sglang:1"
preset = "wide-ep"
args = ["--a"]
env = [{ name = "A", value = "b" }]
resources = { limits = { cpu = "1" } }
shared-memory = "2Gi"
token-secret = "hf"
capabilities = ["IPC_LOCK"]
startup-minutes = 1
node-selector = { a = "b" }
tolerations = [{ operator = "Exists" }]
kv-offload = "64Gi"
[serving.pod]
labels = { a = "b" }
priority-class = "high"
[serving.prefill]
replicas = 3
[serving.epp]
preset = "precise-prefix"
image = "example.com/epp:1"
replicas = 2
failure-mode = "FailClose"
flags = { v = 4, tracing = false }
[serving.route]
gateway = "g"
gateway-namespace = "gateways"
provider = "istio"
hosts = ["*.example.com"]
model-header = "X-Model"
request-timeout = "0s"
auth = "kuadrant"
[[serving.patch]]
match = '.kind == "Service"'
patch = '.a = 1'

[[serving]]
name = "kserve"
model = "oci://example.com/model:1"
form = "kserve"
engine = { image = "c:1", args = ["--a"], resources = { limits = { cpu = "1" } } }
accelerator = { vendor = "amd", claim-template = "claims", devices-per-unit = 3 }
prefill = { topology = "single", args = ["--b"], resources = {}, sidecar-image = "s:1" }
topology = "lws-ray"
network-policy = { gateway-namespaces = ["own"], monitoring-namespaces = ["m"] }
route = { gateway = "g", gateway-namespace = "gateways", paths = ["/a"] }
autoscaling = { kind = "keda", max = 2 }

[[serving]]
name = "bucket"
model = "s3://bucket/folder"
engine = { image = "c:1" }
accelerator = { vendor = "tpu", tpu = "v5e", devices-per-unit = 4 }
network-policy = {}
route = { gateway = "g", provider = "istio" }

[[serving]]
name = "none"
api = "gie-1.4"
model = "pvc://claim"
engine = { image = "c:1" }
accelerator = { vendor = "none" }
epp = { config = { plugins = [] } }
cache = { claim = "models" }
"#;

#[test]
fn everything_that_models_have() {
    let mut config = parsed(MODELS);
    // They are most of it, and one of them has all.
    for model in config.servings.iter_mut().skip(1) {
        model.spans.clear();
    }
    insta::assert_snapshot!(values(MODELS, &config.servings));
}

/// The first word of a description, and the end of its first sentence.
#[test]
fn hints_of_keys() {
    let hint =
        |kind, doc| Key { name: "ips".to_owned(), kind, required: false, doc, needs: &[] }.hint();
    for (kind, doc, expected) in [
        (Kind::String(None), "IP of a.b. More", "write `ips = \"IPS\"`: IP of a.b"),
        (Kind::Integer(1, 2), "Number.", "write `ips = N`: number"),
        (
            Kind::Map(&Kind::List(&Kind::String(None))),
            "A b",
            "write `ips = { KEY = [\"IPS\"] }`: a b",
        ),
        (Kind::OneOf(&["a", "b"]), "Number.", "write `ips = \"a\"`"),
    ] {
        assert_eq!(hint(kind, doc), expected);
    }
}

#[test]
fn files_of_values_and_levels() {
    let config = parsed(EVERYTHING);
    let values = config.deploy.values.as_ref().unwrap();
    assert_eq!(values.files("a"), ["a.yaml", "a.small.yaml"]);

    let mut found = Diagnostics::new();
    for bundle in [None, Some("all"), Some("lone")] {
        let mut finding = Diagnostic::warning(Code::RunAsUserMissing, "a message");
        finding.place.bundle = bundle.map(str::to_owned);
        found.push(finding);
    }
    found.push(Diagnostic::warning(Code::CertificatesRenewed, "a message"));
    config.set_levels(&mut found);
    let seen: Vec<_> =
        found.iter().map(|one| (one.place.bundle.as_deref(), one.severity.as_str())).collect();
    assert_eq!(seen, [(None, "error"), (Some("lone"), "error"), (None, "warning")]);
}

#[test]
fn watched_namespaces_are_written_and_read() {
    let names = |names: &[&str]| Watch::Namespaces(names.iter().map(|n| (*n).to_owned()).collect());
    for (watch, toml, annotation, words) in [
        (Watch::All, "\"all\"", "all", "all namespaces"),
        (Watch::Own, "\"own\"", "own", "the release namespace only"),
        (names(&["a"]), "[\"a\"]", "a", "these namespaces, which must exist: a"),
        (names(&["a", "b"]), "[\"a\", \"b\"]", "a,b", "these namespaces, which must exist: a, b"),
    ] {
        assert_eq!((watch.to_toml().as_str(), watch.describe().as_str()), (toml, words));
        assert_eq!(watch.annotation(), annotation);
        assert_eq!(annotation.parse(), Ok(watch));
    }
    let wrong = "use `all`, `own`, or a list of namespaces";
    for (text, error) in
        [("", wrong), ("a,,b", wrong), ("a,b,a", "duplicate namespace `a`"), ("a,", wrong)]
    {
        assert_eq!(text.parse::<Watch>(), Err(error.to_owned()));
    }
}

#[test]
fn targets_and_switches() {
    let config = parsed(EVERYTHING);
    let gates = &config.bundles[0].gates;
    let [rollout, .., map] = gates.as_slice() else { panic!("gates") };
    let versions = [rollout, map].map(|gate| gate.target.api_version());
    assert_eq!(versions, ["apps/v1", "v1"]);
    for (api_version, kind, is_same) in [
        ("apps/v1beta1", "StatefulSet", true),
        ("apps/v1", "Deployment", false),
        ("v1", "StatefulSet", false),
    ] {
        let root = map! {"apiVersion": api_version, "kind": kind};
        let object = Object::new(root, Origin::Added("a test"));
        assert_eq!(rollout.target.is_kind_of(&object), is_same, "{api_version} {kind}");
    }
    assert_eq!(Switch::value("dim").segments(), ["switches", "dim"]);
}
