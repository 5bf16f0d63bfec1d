//! `bundle2chart init`

use super::Exit;
use super::output::Output;
use crate::escape::Lines;
use std::io::Write as _;
use std::path::Path;

const TEMPLATE: &str = r#"# What bundle2chart builds: each [[bundle]] becomes the chart out/NAME/VERSION/.
required-version = ">=0.1"

[defaults]
# jq filters over each object; an object that one of these matches is left out.
exclude = ['.kind | startswith("Console")']
# Pull secret that every ServiceAccount refers to.
# pull-secret = "my-pull-secret"

# Where the bytes of a registry's images come from, when not from the registry itself.
# [[mirror]]
# from = "registry.example.com"
# to   = "oci-layout:images"

[[bundle]]
name = "my-operator"
path = "path/to/a/bundle"          # a folder with manifests/ and metadata/, an OCI layout, or an archive
# image = "registry.example.com/my/operator-bundle:1.0"
# namespace = "my-operator"
# watch = "all"                    # or "own", or ["one-namespace", "another"]
"#;

/// Writes a configuration template; never overwrites an existing file.
pub(super) fn run(config: &Path, output: &mut Output) -> Exit {
    let created =
        std::fs::File::create_new(config).and_then(|mut file| file.write_all(TEMPLATE.as_bytes()));
    match created {
        Ok(()) => {
            let text = "created: set the name and image of your bundle, then run `bundle2chart \
                build`";
            output.note(&Lines::from_iter([format!("{} {text}", config.display())]));
            Exit::Clean
        }
        Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {
            output.error(&Lines::from_iter([
                format!("error: {} exists and was not changed", config.display()),
                "hint: edit it, or use another file with `-c FILE`".to_owned(),
            ]));
            Exit::Error
        }
        Err(error) => {
            let text = format!("error: cannot create {}: {error}", config.display());
            output.error(&Lines::from_iter([text]));
            Exit::Error
        }
    }
}
