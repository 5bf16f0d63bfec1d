#![expect(clippy::disallowed_methods, reason = "files that cannot be read are made first")]

use super::*;
use crate::diag::{Diagnostics, SourceText, human};
use std::path::Path;
use std::sync::Arc;

/// Returns the human-readable diagnostics of this file.
fn shown(text: &str) -> String {
    read(text).1
}

/// Returns the configuration, and the human-readable diagnostics.
pub(crate) fn read(text: &str) -> (Option<Config>, String) {
    let source = Arc::new(SourceText { name: "bundles.toml".to_owned(), text: text.to_owned() });
    let mut found = Diagnostics::new();
    let config = Config::parse(&source, Path::new("."), &mut found);
    assert_eq!(config.is_none(), found.has_errors());
    (config, human::render(&found, false))
}

pub(crate) fn parsed(text: &str) -> Config {
    let source = Arc::new(SourceText { name: "bundles.toml".to_owned(), text: text.to_owned() });
    let mut found = Diagnostics::new();
    let config = Config::parse(&source, Path::new("base"), &mut found);
    config.unwrap_or_else(|| panic!("{}", human::render(&found, false)))
}

#[test]
fn defaults_are_resolved() {
    let config = parsed(
        r#"#:schema ./schema/bundles.schema.json
        required-version = ">=0.1"
        [defaults]
        exclude = ['.kind == "Route"']
        pull-secret = "redhat-pull-secret"
        watch = "own"
        crds = "templates"
        [output]
        dir = "./charts/../build"
        layout = "flat"
        [[mirror]]
        from = "registry.redhat.io"
        to = "oci-layout:fixtures/registry"
        [[bundle]]
        name = "lws-operator"
        image = "registry.redhat.io/leader-worker-set/lws-operator-bundle:1.0"
        exclude = ['.kind == "Job"']
        auth-reader = true
        depends-on = ["cert-manager"]
        [[bundle]]
        name = "cert-manager"
        path = "../bundles/cert-manager"
        namespace = "cert-manager-operator"
        pull-secret = false
        watch = ["a", "b"]
        crds = "crds"
        chart-version = "1.2.3-rc.1"
        "#,
    );
    assert_eq!(config.base, Path::new("base"));
    assert_eq!(config.output, Output { dir: "build".into(), layout: Layout::Flat, keep: None });
    let [mirror] = config.mirrors.as_slice() else { panic!("one mirror") };
    assert_eq!(mirror.to, MirrorTarget::Layout("fixtures/registry".into()));
    let [lws, cert_manager] = config.bundles.as_slice() else { panic!("two bundles") };

    let texts = |filters: &[Filter]| filters.iter().map(|f| f.text.clone()).collect::<Vec<_>>();
    assert_eq!(texts(&lws.settings.exclude), [".kind == \"Route\"", ".kind == \"Job\""]);
    assert_eq!(lws.settings.pull_secret(), "redhat-pull-secret");
    assert_eq!(
        (lws.watch(), lws.settings.crds),
        (Some(&Watch::Own), Some(CrdPlacement::Templates))
    );
    assert!(
        lws.operator.auth_reader == Some(true)
            && lws.chart_version.is_none()
            && lws.namespace.is_none()
    );
    assert_eq!(lws.depends_on, ["cert-manager"]);
    assert_eq!(lws.span.line_column().0, 14);
    assert!(matches!(&lws.source, Source::Image { reference, .. } if reference.ends_with(":1.0")));

    assert_eq!(cert_manager.settings.pull_secret(), "");
    assert_eq!(cert_manager.settings.crds, Some(CrdPlacement::Crds));
    let watched = Watch::Namespaces(vec!["a".to_owned(), "b".to_owned()]);
    assert_eq!(cert_manager.watch(), Some(&watched));
    assert_eq!(cert_manager.chart_version.as_ref().map(ToString::to_string).unwrap(), "1.2.3-rc.1");
    assert!(matches!(&cert_manager.source, Source::Path { path, .. } if path.starts_with("..")));
}

#[test]
fn registries_may_be_addresses() {
    let bundle = "[[bundle]]\nname = \"a\"\nimage = \"[::1]:5000/a:1\"\n";
    let read = |host: &str| {
        let text = format!("{bundle}[[registry]]\nhost = \"{host}\"\nplain-http = true\n");
        let source = Arc::new(SourceText { name: "bundles.toml".to_owned(), text });
        Config::parse(&source, Path::new("."), &mut Diagnostics::new())
    };
    for host in ["[::1]", "[::1]:5000", "[fd00::2]:443", "10.0.0.1:5000", "registry-a:5000"] {
        assert_eq!(read(host).unwrap().registries[0].host, host);
    }
    for host in ["::1", "[::1", "[::g]", "[::1]:", "[::1]5000", "[10.0.0.1]", ":5000"] {
        assert!(read(host).is_none(), "{host}");
    }
}

#[test]
fn catalogs() {
    let text = "[[bundle]]\nname = \"a\"\ncatalog = \"./index\"\npackage = \"p\"\n\
                channel = \"stable\"\nversion = \">=1.2, <2\"\n\
                [[bundle]]\nname = \"b\"\ncatalog = \"quay.io/c:1\"\npackage = \"p\"\n\
                version = \"1.2.3\"\n";
    let source = Arc::new(SourceText { name: "bundles.toml".to_owned(), text: text.to_owned() });
    let config = Config::parse(&source, Path::new("."), &mut Diagnostics::new()).unwrap();
    let [first, second] = config.bundles.as_slice() else { panic!("two bundles") };
    let Source::Catalog(first) = &first.source else { panic!("a catalog") };
    assert_eq!((first.catalog.text.as_str(), first.package.text.as_str()), ("./index", "p"));
    assert_eq!(first.channel.as_ref().map(|channel| channel.text.as_str()), Some("stable"));
    let request = |source: &CatalogSource| source.version.clone().map(|version| version.request);
    assert!(matches!(request(first), Some(VersionRequest::Range(_))));
    let Source::Catalog(second) = &second.source else { panic!("a catalog") };
    assert!(matches!(request(second), Some(VersionRequest::Exact(v)) if v.to_string() == "1.2.3"));
    assert!(second.channel.is_none());
}

#[test]
fn a_version_without_its_end_is_any_that_begins_so() {
    for (version, fits, does_not) in [
        ("1.2", "1.2.9", "1.3.0"),
        ("1", "1.9.9", "2.0.0"),
        ("1.2.x", "1.2.9", "1.3.0"),
        ("^1.2", "1.3.0", "2.0.0"),
        ("~1.2", "1.2.9", "1.3.0"),
        (">=1.2, <1.4", "1.3.9", "1.4.0"),
    ] {
        let text = format!(
            "[[bundle]]\nname = \"a\"\ncatalog = \"./index\"\npackage = \"p\"\nversion = \"{version}\"\n"
        );
        let source = Arc::new(SourceText { name: "bundles.toml".to_owned(), text });
        let config = Config::parse(&source, Path::new("."), &mut Diagnostics::new()).unwrap();
        let Source::Catalog(source) = &config.bundles[0].source else { panic!("a catalog") };
        let Some(WantedVersion { request: VersionRequest::Range(range), .. }) = &source.version
        else {
            panic!("{version} is a range")
        };
        assert!(range.matches(&fits.parse().unwrap()), "{version} has {fits}");
        assert!(!range.matches(&does_not.parse().unwrap()), "{version} has not {does_not}");
    }
}

#[test]
fn syntax_errors_come_together() {
    insta::assert_snapshot!(shown(r#"
[[bundle]]
name = lws
image = 'a/b
path = "b"
[output
[[bundle]]
name = "a"
name = "b"
"#), @r#"
    error[config-syntax]: invalid TOML: string values must be quoted, expected literal string
     --> bundles.toml:3:8
      |
    3 | name = lws
      |        ^^^
      |
      = hint: put text in quotes: `key = "value"`

    error[config-syntax]: invalid TOML: unclosed string
     --> bundles.toml:4:9
      |
    4 | image = 'a/b
      |         ^^^^
      |
      = hint: close the quote on the same line

    error[config-syntax]: invalid TOML: unclosed table, expected `]`
     --> bundles.toml:6:8
      |
    6 | [output
      |        ^
      |
      = hint: close the bracket or the quote on the same line

    error[config-syntax]: invalid TOML: duplicate key
     --> bundles.toml:7:3
      |
    7 | [[bundle]]
      |   ^^^^^^
      |
      = hint: remove one of them: a table can only be defined once

    error[config-syntax]: invalid TOML: duplicate key
     --> bundles.toml:9:1
      |
    9 | name = "b"
      | ^^^^
      |
      = hint: remove one of them: a table can only be defined once

    5 errors
    "#);
}

#[test]
fn unknown_missing_and_mistyped_keys() {
    insta::assert_snapshot!(shown(r#"
defaults.excludes = []
whatever = []
[output]
dir = 1
layout = "flatt"

[[bundle]]
nmae = "a"
image = "registry.example.com/a:1"
path = "a"
exclude = '.kind == "Route"'
crds = "sub-chart"
pull_secret = "x"
pull-secret = true
watch = false

[[bundle]]
name = "b"
depends-on = ["a", 1]
auth-reader = "yes"

[mirror]
from = "x"
"#), @r#"
    error[unknown-key]: unknown key `excludes` in `[defaults]`
     --> bundles.toml:2:10
      |
    2 | defaults.excludes = []
      |          ^^^^^^^^
      |
      = hint: did you mean `exclude`?

    error[unknown-key]: unknown key `whatever` at the top of the file
     --> bundles.toml:3:1
      |
    3 | whatever = []
      | ^^^^^^^^
      |
      = hint: known keys: `required-version`, `include`, `defaults`, `output`, `mirror`, and others; `bundle2chart schema` has all

    error[wrong-type]: `dir` must be a string, but this is an integer
     --> bundles.toml:5:7
      |
    5 | dir = 1
      |       ^
      |
      = hint: write `dir = "DIR"`: directory for the charts, relative to this file; it must not contain this file

    error[invalid-value]: invalid value `flatt` of `layout`
     --> bundles.toml:6:10
      |
    6 | layout = "flatt"
      |          ^^^^^^^
      |
      = hint: did you mean `flat`?

    error[missing-key]: `name` is missing in `[[bundle]]`
     --> bundles.toml:8:1
      |
    8 | [[bundle]]
      | ^^^^^^^^^^
      |
      = hint: write `name = "NAME"`: name of the chart: lower-case letters, digits and dashes, at most 53 characters

    error[unknown-key]: unknown key `nmae` in `[[bundle]]`
     --> bundles.toml:9:1
      |
    9 | nmae = "a"
      | ^^^^
      |
      = hint: did you mean `name`?

    error[invalid-value]: a bundle must have exactly one of `image`, `path` or `catalog`
      --> bundles.toml:11:1
       |
    10 | image = "registry.example.com/a:1"
       | ----- the other one
    11 | path = "a"
       | ^^^^
       |
       = hint: remove one of them, or split them into two `[[bundle]]`

    error[wrong-type]: `exclude` must be a list of jq filters, which are strings, but this is a string
      --> bundles.toml:12:11
       |
    12 | exclude = '.kind == "Route"'
       |           ^^^^^^^^^^^^^^^^^^
       |
       = hint: put it in brackets: `exclude = ['.kind == "Route"']`

    error[invalid-value]: invalid value `sub-chart` of `crds`
      --> bundles.toml:13:8
       |
    13 | crds = "sub-chart"
       |        ^^^^^^^^^^^
       |
       = hint: did you mean `subchart`?

    error[unknown-key]: unknown key `pull_secret` in `[[bundle]]`
      --> bundles.toml:14:1
       |
    14 | pull_secret = "x"
       | ^^^^^^^^^^^
       |
       = hint: did you mean `pull-secret`?

    error[wrong-type]: `pull-secret` must be a string or false, but this is true
      --> bundles.toml:15:15
       |
    15 | pull-secret = true
       |               ^^^^
       |
       = hint: write `pull-secret = "PULL-SECRET"`: default name of the image pull secret for ServiceAccounts and pods; `false` disables the one of `[defaults]`

    error[wrong-type]: `watch` must be "all", "own" or a list of namespaces, but this is false
      --> bundles.toml:16:9
       |
    16 | watch = false
       |         ^^^^^
       |
       = hint: write `watch = "all"`: namespaces that the operator watches: `"all"`, `"own"`, or a list of names

    error[missing-key]: `image`, `path` or `catalog` is missing in `[[bundle]]`
      --> bundles.toml:18:1
       |
    18 | [[bundle]]
       | ^^^^^^^^^^
       |
       = hint: add the source of the bundle: `image = "…"` for a reference, `path = "…"` for a directory or a tar, or `catalog = "…"` with a `package`

    error[wrong-type]: every item of `depends-on` must be a string, but this is an integer
      --> bundles.toml:20:20
       |
    20 | depends-on = ["a", 1]
       |                    ^
       |
       = hint: put it in quotes

    error[wrong-type]: `auth-reader` must be a boolean, but this is a string
      --> bundles.toml:21:15
       |
    21 | auth-reader = "yes"
       |               ^^^^^
       |
       = hint: write `auth-reader = true`

    error[wrong-type]: `mirror` must be a list of tables, but this is a table
      --> bundles.toml:23:1
       |
    23 | [mirror]
       | ^^^^^^^^
       |
       = hint: write `[[mirror]]`, with double brackets

    16 errors
    "#);
}

#[test]
fn values_that_are_not_allowed() {
    insta::assert_snapshot!(shown(r#"
required-version = ">=99"

[[mirror]]
from = "https://registry.example.com"
to = "registry local:5000"

[[registry]]
host = "https://registry.example.com/v2"
auth-hosts = ["a b"]

[network]
retries = 99
timeout = "30"

[[mirror]]
from = "registry.example.com/"
to = "oci-layout:"

[[bundle]]
name = "My_Operator"
image = "docker://registry.example.com/a:1"
namespace = "Über"
watch = "everything"
pull-secret = ""
chart-version = "v1.2.3"

[[bundle]]
name = "a-name-that-is-so-long-that-helm-would-refuse-to-install-it"
image = "./bundle"
watch = ["a", "", "a"]
chart-version = "1.2"

[[bundle]]
name = "c"
path = " "
watch = []
"#), @r#"
    error[required-version]: this is bundle2chart 0.1.0, but the configuration requires >=99
     --> bundles.toml:2:20
      |
    2 | required-version = ">=99"
      |                    ^^^^^^
      |
      = hint: install a matching version, or change `required-version`; other errors in this file may be caused by the version difference

    error[invalid-value]: `from` starts with `https://`, which image references do not have
     --> bundles.toml:5:8
      |
    5 | from = "https://registry.example.com"
      |        ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
      |
      = hint: write `registry.example.com`

    error[invalid-value]: `to` contains whitespace
     --> bundles.toml:6:6
      |
    6 | to = "registry local:5000"
      |      ^^^^^^^^^^^^^^^^^^^^^
      |
      = hint: remove it

    error[invalid-value]: `host` is not a host name
     --> bundles.toml:9:8
      |
    9 | host = "https://registry.example.com/v2"
      |        ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
      |
      = hint: write `registry.example.com`

    error[invalid-value]: `auth-hosts` is not a host name
      --> bundles.toml:10:15
       |
    10 | auth-hosts = ["a b"]
       |               ^^^^^
       |
       = hint: write HOST or HOST:PORT, as in image references

    error[invalid-value]: `retries` must be a number from 0 to 20
      --> bundles.toml:13:11
       |
    13 | retries = 99
       |           ^^
       |
       = hint: write `retries = N`: number of retries after a temporary failure: a broken connection, or a response 429 or 5xx

    error[wrong-type]: `timeout` must be an integer, but this is a string
      --> bundles.toml:14:11
       |
    14 | timeout = "30"
       |           ^^^^
       |
       = hint: write `timeout = N`: timeout in seconds for a stalled or slow connection

    error[invalid-value]: `from` ends with `/`
      --> bundles.toml:17:8
       |
    17 | from = "registry.example.com/"
       |        ^^^^^^^^^^^^^^^^^^^^^^^
       |
       = hint: write `registry.example.com`: prefixes match up to a `/`, `:` or `@` or the end of a reference

    error[invalid-value]: `to` has no directory
      --> bundles.toml:18:6
       |
    18 | to = "oci-layout:"
       |      ^^^^^^^^^^^^^
       |
       = hint: write `oci-layout:DIR`, where DIR is an OCI image layout directory (with a file `oci-layout`), relative to this file

    error[invalid-value]: the name of a bundle or chart contains 'M'
      --> bundles.toml:21:8
       |
    21 | name = "My_Operator"
       |        ^^^^^^^^^^^^^
       |
       = hint: write `name = "my-operator"`: releases are named after it

    error[invalid-value]: `image` starts with `docker://`, which image references do not have
      --> bundles.toml:22:9
       |
    22 | image = "docker://registry.example.com/a:1"
       |         ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
       |
       = hint: write `registry.example.com/a:1`

    error[invalid-value]: the namespace name contains 'Ü'
      --> bundles.toml:23:13
       |
    23 | namespace = "Über"
       |             ^^^^^^
       |
       = hint: use at most 63 lower-case letters, digits and dashes; start and end with a letter or digit

    error[invalid-value]: `watch` must be "all", "own" or a list, not "everything"
      --> bundles.toml:24:9
       |
    24 | watch = "everything"
       |         ^^^^^^^^^^^^
       |
       = hint: for specific namespaces, write `watch = ["everything"]`

    error[invalid-value]: the pull secret name is empty
      --> bundles.toml:25:15
       |
    25 | pull-secret = ""
       |               ^^
       |
       = hint: write `pull-secret = false` to use no pull secret

    error[invalid-value]: `chart-version` is not a semantic version: unexpected character 'v' while parsing major version number
      --> bundles.toml:26:17
       |
    26 | chart-version = "v1.2.3"
       |                 ^^^^^^^^
       |
       = hint: write three numbers, for example `1.2.3` or `1.2.3-rc.1`

    error[invalid-value]: the name of a bundle or chart has 59 characters
      --> bundles.toml:29:8
       |
    29 | name = "a-name-that-is-so-long-that-helm-would-refuse-to-install-it"
       |        ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
       |
       = hint: use at most 53 lower-case letters, digits and dashes; start and end with a letter or digit; releases are named after it

    error[invalid-value]: `image` is a path, not an image reference
      --> bundles.toml:30:9
       |
    30 | image = "./bundle"
       |         ^^^^^^^^^^
       |
       = hint: for local files, write `path = "./bundle"`

    error[invalid-value]: the namespace name is empty
      --> bundles.toml:31:15
       |
    31 | watch = ["a", "", "a"]
       |               ^^
       |
       = hint: use at most 63 lower-case letters, digits and dashes; start and end with a letter or digit

    error[invalid-value]: duplicate namespace `a` in `watch`
      --> bundles.toml:31:19
       |
    31 | watch = ["a", "", "a"]
       |          ---      ^^^
       |          |
       |          first listed here
       |
       = hint: remove one of them

    error[invalid-value]: `chart-version` is not a semantic version: unexpected end of input while parsing minor version number
      --> bundles.toml:32:17
       |
    32 | chart-version = "1.2"
       |                 ^^^^^
       |
       = hint: write three numbers, for example `1.2.3` or `1.2.3-rc.1`

    error[invalid-value]: `path` is empty
      --> bundles.toml:36:8
       |
    36 | path = " "
       |        ^^^
       |
       = hint: set a value, or remove the key

    error[invalid-value]: `watch` is an empty list
      --> bundles.toml:37:9
       |
    37 | watch = []
       |         ^^
       |
       = hint: write `watch = "all"`, `watch = "own"`, or list the namespaces

    22 errors
    "#);
}

#[test]
fn names_and_dependencies_across_bundles() {
    insta::assert_snapshot!(shown(r#"
[[bundle]]
name = "a"
path = "a"
depends-on = ["b"]
[[bundle]]
name = "b"
path = "b"
depends-on = ["c", "b", "cert-manger"]
[[bundle]]
name = "c"
path = "c"
depends-on = ["a"]
[[bundle]]
name = "cert-manager"
path = "d"
[[bundle]]
name = "a"
path = "e"
"#), @r#"
    error[invalid-value]: `b` depends on itself
     --> bundles.toml:9:20
      |
    9 | depends-on = ["c", "b", "cert-manger"]
      |                    ^^^
      |
      = hint: remove it from `depends-on`

    error[invalid-value]: `depends-on` has an unknown name `cert-manger`
     --> bundles.toml:9:25
      |
    9 | depends-on = ["c", "b", "cert-manger"]
      |                         ^^^^^^^^^^^^^
      |
      = hint: did you mean `cert-manager`?

    error[invalid-value]: circular dependency: a → b → c → a
      --> bundles.toml:13:15
       |
    13 | depends-on = ["a"]
       |               ^^^
       |
       = hint: remove one of these `depends-on`

    error[duplicate-name]: two charts have the name `a`
      --> bundles.toml:18:8
       |
     3 | name = "a"
       |        --- first defined here
    ...
    18 | name = "a"
       |        ^^^
       |
       = hint: rename one of them: the name is used for the chart and its directory

    4 errors
    "#);
}

#[test]
fn outputs_do_not_overlap_anything() {
    let bundle = "[[bundle]]\nname = \"a\"\npath = \"bundles/a\"\n";
    for dir in [".", "./", "..", "../..", "charts/..", "../base/."] {
        let found = shown(&format!("[output]\ndir = \"{dir}\"\n{bundle}"));
        let own_folder = dir == "../base/.";
        // The folder is called so only when the base is known: see the next assertion.
        assert_eq!(found.contains("overlapping-output"), !own_folder, "{dir}: {found}");
    }
    let source = Arc::new(SourceText {
        name: "bundles.toml".to_owned(),
        text: format!("[output]\ndir = \"../base/.\"\n{bundle}"),
    });
    let mut found = Diagnostics::new();
    let _ = Config::parse(&source, Path::new("/some/base"), &mut found);
    assert!(found.has_errors());

    insta::assert_snapshot!(shown(r#"
[output]
dir = "/var/charts"
[[bundle]]
name = "a"
path = "a"
"#), @r#"
    error[invalid-value]: `dir` is not a relative path, so it differs between machines
     --> bundles.toml:3:7
      |
    3 | dir = "/var/charts"
      |       ^^^^^^^^^^^^^
      |
      = hint: write a relative path such as `out`, or use `--out` on the command line

    1 error
    "#);
    insta::assert_snapshot!(shown(r#"
[output]
dir = "charts"
[[mirror]]
from = "registry.example.com"
to = "oci-layout:charts/b/registry"
[[bundle]]
name = "a"
path = "./charts/a/1.0"
[[bundle]]
name = "b"
path = "charts/bundles/b"
"#), @r#"
    error[overlapping-output]: the chart of `b` would be written to charts/b, which contains an input of this configuration
      --> bundles.toml:4:1
       |
     4 | [[mirror]]
       | ^^^^^^^^^^
    ...
    10 | [[bundle]]
       | ---------- the table of the chart
       |
       = hint: move one of them, or change `dir` in `[output]`

    error[overlapping-output]: the chart of `a` would be written to charts/a, which contains an input of this configuration
     --> bundles.toml:9:8
      |
    7 | [[bundle]]
      | ---------- the table of the chart
    8 | name = "a"
    9 | path = "./charts/a/1.0"
      |        ^^^^^^^^^^^^^^^^
      |
      = hint: move one of them, or change `dir` in `[output]`

    2 errors
    "#);
}

#[test]
fn filters_are_marked_inside_their_strings() {
    insta::assert_snapshot!(shown(r#"
[defaults]
exclude = [
  '.kind == "Route',
  '.kind == Route',
  ".kind | startsWith(\"Console\")",
  '''
.kind | tests("(")''',
  '.kind ==',
]
[[bundle]]
name = "a"
path = "a"
include = ['reduce .[] as $x (0; . + now)', '$ENV.HOME', '']
"#), @r#"
    error[invalid-filter]: invalid jq filter: expected a closing quote, found the end
     --> bundles.toml:4:19
      |
    4 |   '.kind == "Route',
      |                   ^
      |
      = hint: close this bracket or quote

    error[invalid-filter]: unknown jq function `Route`
     --> bundles.toml:5:13
      |
    5 |   '.kind == Route',
      |             ^^^^^
      |
      = hint: to exclude a kind, write '.kind == "Route"'

    error[invalid-filter]: unknown jq function `startsWith`
     --> bundles.toml:6:12
      |
    6 |   ".kind | startsWith(\"Console\")",
      |            ^^^^^^^^^^
      |
      = hint: did you mean `startswith`?

    error[invalid-filter]: unknown jq function `tests`
     --> bundles.toml:8:9
      |
    8 | .kind | tests("(")''',
      |         ^^^^^
      |
      = hint: did you mean `test`?

    error[invalid-filter]: invalid jq filter: expected a value, a path or a filter, found the end
     --> bundles.toml:9:12
      |
    9 |   '.kind ==',
      |            ^
      |
      = hint: see the jq manual for the syntax

    error[invalid-filter]: `now` is not available: it reads the clock
      --> bundles.toml:14:38
       |
    14 | include = ['reduce .[] as $x (0; . + now)', '$ENV.HOME', '']
       |                                      ^^^
       |
       = hint: use only the input object: filters must give the same result everywhere

    error[invalid-filter]: `$ENV` is not available: it reads the environment
      --> bundles.toml:14:46
       |
    14 | include = ['reduce .[] as $x (0; . + now)', '$ENV.HOME', '']
       |                                              ^^^^
       |
       = hint: use only the input object: filters must give the same result everywhere

    error[invalid-filter]: this filter is empty
      --> bundles.toml:14:59
       |
    14 | include = ['reduce .[] as $x (0; . + now)', '$ENV.HOME', '']
       |                                                           ^
       |
       = hint: write a condition such as `.kind == "Route"`, or remove the filter

    8 errors
    "#);
}

#[test]
fn every_finding_has_a_place_and_a_hint() {
    let source = Arc::new(SourceText {
        name: "bundles.toml".to_owned(),
        text: "x = 1\n[[bundle]]\nname = 'A'\nwatch = 'x'\ndepends-on = ['y']\n".to_owned(),
    });
    let mut found = Diagnostics::new();
    let _ = Config::parse(&source, Path::new("."), &mut found);
    assert_eq!(found.iter().count(), 5);
    assert!(found.iter().all(|d| d.place.span.is_some() && d.hint.is_some()));
}

#[test]
fn files_that_cannot_be_read() {
    let folder = tempfile::tempdir().unwrap();
    let message = |path: &Path| {
        let mut found = Diagnostics::new();
        let config = Config::read(path, &mut found);
        assert!(config.is_none());
        human::render(&found, false).replace(&folder.path().display().to_string(), "FOLDER")
    };
    insta::assert_snapshot!(message(&folder.path().join("bundles.toml")), @r#"
    error[config-unreadable]: cannot read the configuration: No such file or directory (os error 2)
    --> FOLDER/bundles.toml
     = hint: run in the directory of bundles.toml, set the file with `-c FILE`, or create one with `bundle2chart init`

    1 error
    "#);
    let latin = folder.path().join("latin.toml");
    std::fs::write(&latin, b"# one\nname = \"\xe9\"\n").unwrap();
    insta::assert_snapshot!(message(&latin), @r#"
    error[config-unreadable]: cannot read the configuration: line 2 is not UTF-8 text
    --> FOLDER/latin.toml
     = hint: save the file as UTF-8

    1 error
    "#);
    let large = folder.path().join("large.toml");
    std::fs::write(&large, vec![b'#'; 2 << 20]).unwrap();
    insta::assert_snapshot!(message(&large), @r#"
    error[config-unreadable]: cannot read the configuration: it is larger than 1 MiB
    --> FOLDER/large.toml
     = hint: is this the right file?

    1 error
    "#);
}

/// JSON has no such numbers, and null would remove a field instead of being reported.
#[test]
fn numbers_that_json_does_not_have_stay_texts() {
    let table = toml::de::DeTable::parse("a = inf\nb = -nan\nc = 1.5").unwrap();
    let found: Vec<_> =
        table.get_ref().values().map(|value| crate::reader::as_json(value.get_ref())).collect();
    assert_eq!(found, [serde_json::json!("inf"), "-nan".into(), 1.5.into()]);
}

proptest::proptest! {
    #![proptest_config(proptest::test_runner::Config::with_cases(256))]

    /// A file that is cut or joined anywhere is reported, in places that exist.
    #[test]
    fn no_text_makes_the_reader_fail(from in 0_usize..400, length in 0_usize..60, at in 0_usize..400) {
        const TEXT: &str = "#é\nrequired-version = \">=0\"\n[defaults]\nexclude = ['.a', \"\\u00e9\\\\\", \
            '''\n.b''', \"\"\"\\\n  .c\"\"\"]\nwatch = ['a', 'b']\n[output]\ndir = 'out'\n[[mirror]]\nfrom = 'a.b/c'\n\
            to = 'oci-layout:x'\n[[bundle]]\nname = 'a'\npath = 'x'\ndepends-on = ['b']\npull-secret = false\n\
            [[bundle]]\nname = 'b'\nimage = 'a.b/c/d:1'\nchart-version = '1.2.3'\ninclude = ['.kind == \"A\"']\n";
        let characters: Vec<char> = TEXT.chars().collect();
        let from = from.min(characters.len());
        let piece: Vec<char> = characters[from..(from + length).min(characters.len())].to_vec();
        let mut text = characters;
        let at = at.min(text.len());
        text.splice(at..at, piece);
        shown(&text.into_iter().collect::<String>());
    }
}
