use super::*;
use crate::diag::Code;
use crate::lock::Lock;
use crate::pipeline::samples::{config, write_bundle};
use crate::source::{Access, SourceResolver};

#[test]
fn images_and_findings_have_places_in_the_files_of_the_user() {
    let home = tempfile::tempdir().unwrap();
    write_bundle(home.path());
    let text = format!(
        "[[bundle]]
name = \"lamp\"
path = \"{}\"
[[bundle.overlay]]
inline = \"\"\"
apiVersion: v1
kind: Pod
metadata: {{name: pod}}
spec:
  containers:
  - name: pod
    image: registry.example.com/pod:1
\"\"\"
",
        home.path().display()
    );
    let config = config(&text);
    let sources = SourceResolver::of(&config, Access::default());
    let lock = Lock::default();
    let inputs = Inputs { config: &config, sources: &sources, lock: &lock, jobs: 1 };
    let mut found = Diagnostics::new();
    let all = images(&inputs, &[], &mut found);
    let references = all.iter().flat_map(|bundle| &bundle.images);
    let references: Vec<&str> = references.map(|image| image.reference.as_str()).collect();
    let operator = "registry.example.com/lamps/operator:1.2.3";
    assert_eq!(references, [operator, "registry.example.com/pod:1"]);
    let use_of_operator = &all[0].images[0].uses[0].place;
    let places: Vec<_> = found
        .iter()
        .map(|found| {
            let line = found.place.span.as_ref().map(|span| span.line_column().0);
            (found.code, found.place.file.as_deref(), line.or(found.place.line))
        })
        .collect();
    assert_eq!(use_of_operator.line, Some(29));
    let csv = Some("manifests/csv.yaml");
    assert_eq!(
        places,
        [
            (Code::ImageNotPinned, csv, Some(29)),
            // In bundles.toml.
            (Code::ImageNotPinned, None, Some(12)),
            (Code::ImageNotDeclared, csv, Some(29)),
        ]
    );
}
