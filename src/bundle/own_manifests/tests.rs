use super::*;
use crate::sample;
use crate::tests::all_told;

const OBJECT: &str = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n";

#[test]
fn objects_are_read_unless_kustomize_writes_them() {
    let mut shown = String::new();
    for names in [
        &["a.yaml"][..],
        &["b.yaml", "a/c.yaml", "kustomization.json"],
        &["kustomization.yaml"],
        &["a/b/kustomization.yml", "a/b/c.yaml"],
        // Neither its content nor another file matters.
        &["a/kustomization.yaml", "broken.yaml", "empty.yaml"],
        &["broken.yaml", "empty.yaml"],
        &["empty.yaml"],
        &["empty.yaml", "empty/a.yaml", "empty/b.yaml", "empty/c.yaml", "empty/d.yaml"],
    ] {
        let content = |name: &&str| match *name {
            name if name.starts_with("broken") => "a: ]\n",
            name if name.starts_with("empty") => "# a\n",
            _ => OBJECT,
        };
        let manifests: Vec<(&str, &str)> = names.iter().map(|n| (*n, content(n))).collect();
        let mut files = sample::files(&manifests, &[]);
        files.manifests_dir.clear();
        let mut diagnostics = Diagnostics::new();
        let places = own_manifests(&files, &mut diagnostics).map(|objects| {
            let place = |object: &Object| object.place().file.expect("a file");
            objects.iter().map(place).collect::<Vec<_>>()
        });
        shown += &format!("{names:?}: {places:?}\n{}", all_told(&diagnostics));
    }
    insta::assert_snapshot!(shown);
}
