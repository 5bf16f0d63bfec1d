//! Maps a JSON path to its line. Only used when there is a finding for the path, because parsing
//! does not keep the positions of millions of values.

use super::overlay;
use crate::diag::{Diagnostic, Place};
use crate::ir::steps;
use crate::source::BundleFiles;
use crate::yaml::outline::{Document, outline};
use std::collections::BTreeMap;

/// Completes the places of findings that name a file of the bundle and a JSON path in it, but no
/// column: they get the line and column of the deepest part of the path that exists. Places in
/// inline overlays become places in bundles.toml.
pub fn locate(found: &mut [Diagnostic], files: &BundleFiles) {
    Positions::new(files).locate(found);
}

/// The positions in a bundle's files; each file is parsed once, when a place names it first.
pub struct Positions<'f> {
    files: &'f BundleFiles,
    read: BTreeMap<String, (&'f str, Vec<Document<'f>>)>,
}

impl<'f> Positions<'f> {
    /// Returns the positions of these files, without parsing any.
    pub fn new(files: &'f BundleFiles) -> Self {
        Positions { files, read: BTreeMap::new() }
    }

    /// Completes the places of findings.
    pub fn locate(&mut self, found: &mut [Diagnostic]) {
        for place in found.iter_mut().flat_map(Diagnostic::places_mut) {
            self.complete(place);
            overlay::map_inline(place, self.files);
        }
    }

    /// Completes a place, which stays a place in the bundle's files.
    pub fn complete(&mut self, place: &mut Place) {
        let (Some(file), Some(path), None, None) =
            (&place.file, &place.path, place.column, &place.span)
        else {
            return;
        };
        if !self.read.contains_key(file) {
            let text = content(file, self.files).and_then(|bytes| std::str::from_utf8(bytes).ok());
            let text = text.unwrap_or_default();
            // Also without a text: a file that is not there is not looked for again.
            self.read.insert(file.clone(), (text, outline(text)));
        }

        let wanted = place.document.unwrap_or(1);
        let Some((text, documents)) = self.read.get(file) else { return };
        let wanted = |document: &&Document<'_>| document.number == wanted && document.is_whole;
        if let Some(document) = documents.iter().find(wanted) {
            let mark = document.root.find(&steps(path));
            place.line = Some(mark.line);
            place.column = Some(mark.column(text));
        }
    }
}

fn content<'f>(file: &str, files: &'f BundleFiles) -> Option<&'f [u8]> {
    let in_folder = |folder: &str, content: &'f BTreeMap<String, Vec<u8>>| {
        let name = match folder {
            "" => file,
            folder => file.strip_prefix(folder)?.strip_prefix('/')?,
        };
        content.get(name).map(Vec::as_slice)
    };
    let overlay = files.overlays.iter().find(|overlay| overlay.name == file);
    if let Some(overlay) = overlay {
        return Some(&overlay.content);
    }
    in_folder(&files.manifests_dir, &files.manifests)
        .or_else(|| in_folder(&files.metadata_dir, &files.metadata))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diag::Code;
    use crate::sample;

    fn at(text: &str, document: usize, path: &str) -> Option<(usize, usize)> {
        let files = sample::files(&[("a.yaml", text)], &[]);
        let place =
            Place { document: Some(document), ..Place::file("manifests/a.yaml").path(path) };
        let mut found = [Diagnostic::error(Code::ObjectFieldType, "x").at(place)];
        locate(&mut found, &files);
        found[0].place.line.zip(found[0].place.column)
    }

    const TEXT: &str = "\
# a comment
a: 1
---
spec:
  list:
  - name: one
  - name: two
    'odd/key': {flow: [x, y]}
    same: 1
    same: 2
";

    #[test]
    fn keys_and_items_are_found() {
        assert_eq!(at(TEXT, 1, ".a"), Some((2, 1)));
        assert_eq!(at(TEXT, 2, ".spec.list"), Some((5, 3)));
        assert_eq!(at(TEXT, 2, ".spec.list[1]"), Some((7, 5)));
        assert_eq!(at(TEXT, 2, ".spec.list[1].name"), Some((7, 5)));
        assert_eq!(at(TEXT, 2, r#".spec.list[1]["odd/key"].flow[1]"#), Some((8, 27)));
        assert_eq!(at(TEXT, 2, ".spec.list[1].same"), Some((10, 5)));
    }

    #[test]
    fn missing_keys_are_located_at_their_parent() {
        assert_eq!(at(TEXT, 2, ".spec.list[1].none.deeper"), Some((7, 5)));
        assert_eq!(at(TEXT, 2, ".none"), Some((4, 1)));
        assert_eq!(at(TEXT, 2, ".spec.list[9]"), Some((5, 3)));
        assert_eq!(at(TEXT, 3, ".a"), None);
        assert_eq!(at("a: [\n", 1, ".a"), None);
    }

    #[test]
    fn flow_lists_aliases_and_texts_end_a_path() {
        let text = "\
a: [[b], {c: d}, []]
e: &e {f: 1}
g: *e
? [h, i]
: j
k: 1
---
- l: 1
---
m
";
        for (document, path, expected) in [
            (1, ".a[0][0]", (1, 6)),
            (1, ".a[1].c", (1, 11)),
            (1, ".a[2][0]", (1, 18)),
            (1, ".e.f", (2, 8)),
            // The line that uses the anchor, not that of the content.
            (1, ".g.f", (3, 1)),
            (1, ".k.x", (6, 1)),
            (1, ".k[0]", (6, 1)),
            (1, ".a.b", (1, 1)),
            (2, "[0].l", (8, 3)),
            (3, ".m", (10, 1)),
            (3, "[0]", (10, 1)),
        ] {
            assert_eq!(at(text, document, path), Some(expected), "{path}");
        }
    }

    /// Returns a told place after it is completed.
    fn completed(mut place: Place) -> String {
        let metadata = ("annotations.yaml", "annotations:\n  a: b\n");
        let mut files = sample::files(&[("a.yaml", "a: 1\nb: 2\n"), ("c.yaml", "")], &[metadata]);
        files.overlays = vec![crate::tests::overlay("o.yaml", "a: 1\n\nb: 2\n")];
        Positions::new(&files).complete(&mut place);
        crate::tests::told_place(&place)
    }

    #[test]
    fn places_of_the_bundles_files_are_completed() {
        let place = |file: &str| Place::file(file).path(".b");
        for (place, expected) in [
            (place("manifests/a.yaml"), "manifests/a.yaml:2:1 .b"),
            (Place { line: Some(1), ..place("manifests/a.yaml") }, "manifests/a.yaml:2:1 .b"),
            (Place { document: Some(1), ..place("manifests/a.yaml") }, "manifests/a.yaml#1:2:1 .b"),
            (Place { document: Some(2), ..place("manifests/a.yaml") }, "manifests/a.yaml#2 .b"),
            (place("manifests/a.yaml").at(1, 2), "manifests/a.yaml:1:2 .b"),
            (place("metadata/annotations.yaml"), "metadata/annotations.yaml:1:1 .b"),
            (place("o.yaml"), "o.yaml:3:1 .b"),
            (place("a.yaml"), "a.yaml .b"),
            (place("manifests/b.yaml"), "manifests/b.yaml .b"),
            (place("manifests/c.yaml"), "manifests/c.yaml .b"),
            (place("manifestsa.yaml"), "manifestsa.yaml .b"),
            (Place::file("manifests/a.yaml"), "manifests/a.yaml"),
            (Place::default().path(".b"), " .b"),
            (
                Place { span: Some(crate::tests::overlay("", "").span), ..place("o.yaml") },
                "bundles.toml:1:1 \"\"",
            ),
        ] {
            assert_eq!(completed(place.clone()), expected, "{place:?}");
        }
    }
}
