//! Finds the manifests and metadata directories of an image or tree.

use super::tree::{Tree, normalise};
use super::{BundleFiles, failure};
use crate::diag::{Code, Diagnostic, Diagnostics, Fatal, Place};
use crate::ir::Step;
use crate::yaml::outline::outline;
use std::collections::BTreeMap;
use std::rc::Rc;

/// Label and annotation with the path of the manifests directory.
pub(super) const MANIFESTS_KEY: &str = "operators.operatorframework.io.bundle.manifests.v1";
/// Label and annotation with the path of the metadata directory.
const METADATA_KEY: &str = "operators.operatorframework.io.bundle.metadata.v1";
/// Label of a catalog image, which people mistake for a bundle, with the path of its directory.
pub(super) const CATALOG_KEY: &str = "operators.operatorframework.io.index.configs.v1";

const DEFAULT_MANIFESTS: &str = "manifests";
const DEFAULT_METADATA: &str = "metadata";
const ANNOTATIONS_FILE: &str = "annotations.yaml";

/// The directories from the image's labels.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Folders {
    manifests: Option<String>,
    metadata: Option<String>,
}

impl Folders {
    /// Reads the labels; returns an error for an invalid path.
    fn from_labels(labels: &BTreeMap<String, String>) -> Result<Self, Fatal> {
        let read = |key: &str| named(Place::default(), "the label", key, labels.get(key));
        Ok(Folders { manifests: read(MANIFESTS_KEY)?, metadata: read(METADATA_KEY)? })
    }

    /// Returns the directories to keep before annotations.yaml has been read.
    pub(super) fn candidates(&self) -> Vec<String> {
        let mut folders = vec![DEFAULT_MANIFESTS.to_owned(), DEFAULT_METADATA.to_owned()];
        for name in [&self.manifests, &self.metadata].into_iter().flatten() {
            if !folders.contains(name) {
                folders.push(name.clone());
            }
        }
        folders
    }

    /// Returns the tree that `read` makes of some directories, and the directories that the bundle
    /// has in it. If annotations.yaml names a manifests directory that neither a label names nor is
    /// usual, the tree is read once more.
    fn find(
        &self,
        mut read: impl FnMut(Vec<String>, &mut Diagnostics) -> Result<Tree, Fatal>,
        diagnostics: &mut Diagnostics,
    ) -> Result<(Tree, Decided), Fatal> {
        // Kept apart, because a second attempt would report them again.
        let mut warnings = Diagnostics::new();
        let mut tree = read(self.candidates(), diagnostics)?;
        let mut decided = self.decide(&tree, &mut warnings)?;
        if !self.candidates().contains(&decided.manifests) {
            let folders = [self.candidates(), vec![decided.manifests]].concat();
            // The first read has reported the warnings about the layers.
            tree = read(folders, &mut Diagnostics::new())?;
            warnings = Diagnostics::new();
            decided = self.decide(&tree, &mut warnings)?;
        }
        diagnostics.append(warnings);
        Ok((tree, decided))
    }

    /// Returns the metadata directory and the text of its annotations.yaml: the directory from the
    /// label if the file exists there, else the default one.
    fn annotations<'t>(&'t self, tree: &'t Tree) -> (&'t str, Option<&'t [u8]>) {
        let labelled = self.metadata.as_deref().unwrap_or(DEFAULT_METADATA);
        [labelled, DEFAULT_METADATA]
            .into_iter()
            .find_map(|folder| {
                tree.file(&format!("{folder}/{ANNOTATIONS_FILE}")).map(|text| (folder, Some(text)))
            })
            .unwrap_or((labelled, None))
    }

    /// Determines the directories; annotations.yaml takes precedence over the labels.
    fn decide(&self, tree: &Tree, diagnostics: &mut Diagnostics) -> Result<Decided, Fatal> {
        let (metadata, text) = self.annotations(tree);
        let file = format!("{metadata}/{ANNOTATIONS_FILE}");
        let [manifests, metadata_named] = text.map(annotated).unwrap_or_default();
        let read = |key: &str, value: Option<String>| {
            named(Place::file(&file), "the annotation", key, value.as_ref())
        };
        let manifests = read(MANIFESTS_KEY, manifests)?;
        let metadata_named = read(METADATA_KEY, metadata_named)?;
        if let (Some(annotated), Some(labelled)) = (&manifests, &self.manifests)
            && annotated != labelled
        {
            let message = format!(
                "the image label names the manifests directory `{labelled}`, but \
                            {ANNOTATIONS_FILE} `{annotated}`"
            );
            diagnostics.push(
                Diagnostic::warning(Code::FolderMismatch, message)
                    .at(Place::file(file.clone()))
                    .hint(format!(
                        "set `{MANIFESTS_KEY}` to the same value in both: `{annotated}` was used, \
                        because {ANNOTATIONS_FILE} takes precedence"
                    )),
            );
        }
        // annotations.yaml cannot change its own place: the directory where it was found is the
        // metadata directory.
        let other = metadata_named.as_deref().filter(|named| *named != metadata);
        if text.is_some()
            && let Some(other) = other.or(self.metadata.as_deref().filter(|m| *m != metadata))
        {
            let message = format!(
                "`{METADATA_KEY}` names the metadata directory `{other}`, but \
                            {ANNOTATIONS_FILE} is in `{metadata}`"
            );
            let hint = format!("set `{METADATA_KEY}` to `{metadata}`, which was used");
            diagnostics.push(
                Diagnostic::warning(Code::FolderMismatch, message).at(Place::file(file)).hint(hint),
            );
        }
        let stated = manifests.is_some() || self.manifests.is_some();
        let manifests = manifests
            .or_else(|| self.manifests.clone())
            .unwrap_or_else(|| DEFAULT_MANIFESTS.to_owned());
        Ok(Decided { manifests, metadata: metadata.to_owned(), stated })
    }
}

/// Returns the files of the bundle with these labels; `read` makes the tree that keeps some directories.
pub(super) fn bundle(
    labels: &BTreeMap<String, String>,
    read: impl FnMut(Vec<String>, &mut Diagnostics) -> Result<Tree, Fatal>,
    diagnostics: &mut Diagnostics,
) -> Result<BundleFiles, Fatal> {
    let (tree, decided) = Folders::from_labels(labels)?.find(read, diagnostics)?;
    decided.files(tree, labels, diagnostics)
}

/// The directories of a bundle.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Decided {
    manifests: String,
    metadata: String,
    /// True if a label or an annotation names the manifests directory.
    stated: bool,
}

impl Decided {
    /// Returns the bundle's files from a tree that keeps both directories.
    fn files(
        self,
        tree: Tree,
        labels: &BTreeMap<String, String>,
        diagnostics: &mut Diagnostics,
    ) -> Result<BundleFiles, Fatal> {
        let mut problems = Vec::new();
        // OLM reads manifests from one level only.
        let manifests = tree.take(&self.manifests, true, &mut problems);
        let metadata = tree.take(&self.metadata, false, &mut problems);
        // After a rejected entry, an empty directory is a consequence.
        if problems.is_empty() && manifests.is_empty() {
            problems.push(*self.no_manifests(labels));
        }
        diagnostics.fail_with(problems)?;

        // The tree is the only other owner of the files, so that their content need not be copied.
        drop(tree);
        let owned = |files: BTreeMap<String, Rc<Vec<u8>>>| {
            files.into_iter().map(|(name, content)| (name, Rc::unwrap_or_clone(content))).collect()
        };
        Ok(BundleFiles {
            manifests: owned(manifests),
            metadata: owned(metadata),
            manifests_dir: self.manifests,
            metadata_dir: self.metadata,
            labels: labels.clone(),
            ..BundleFiles::default()
        })
    }

    fn no_manifests(&self, labels: &BTreeMap<String, String>) -> Fatal {
        let folder = &self.manifests;
        let (message, hint) = if labels.contains_key(CATALOG_KEY) {
            (
                "this is an operator catalog, not a bundle".to_owned(),
                "write `catalog` in place of `image`, and the name of a `package` (`bundle2chart add \
                    CATALOG PACKAGE`)",
            )
        } else if self.stated {
            (
                format!("no files in the bundle's manifests directory `{folder}`"),
                "check the bundle's Dockerfile and annotations.yaml",
            )
        } else {
            (
                format!(
                    "not a bundle: no label or annotation names the manifests directory, and \
                        `{folder}` has no files"
                ),
                "use a registry+v1 bundle, which has a directory `manifests` with a \
                    ClusterServiceVersion; the bundle image of an operator often has the suffix \
                    `-bundle`",
            )
        };

        failure(Code::NoManifests, message, hint)
    }
}

/// Normalizes a directory from a label or an annotation (`manifests/`, `/manifests`). Returns
/// `None` for invalid ones: empty, the root, with `..` or with control characters.
fn folder_name(value: &str) -> Option<String> {
    let (path, climbs) = normalise(value.trim().as_bytes());
    let path = String::from_utf8(path).ok()?;
    (!climbs && !path.is_empty() && !path.contains(char::is_control)).then_some(path)
}

/// Returns the directory that a label or an annotation names.
fn named(
    place: Place,
    what: &str,
    key: &str,
    value: Option<&String>,
) -> Result<Option<String>, Fatal> {
    let Some(value) = value else { return Ok(None) };
    if let Some(folder) = folder_name(value) {
        return Ok(Some(folder));
    }
    let value: String = value.chars().take(200).collect();
    let message = format!("{what} `{key}` is not a directory in the bundle: {value:?}");
    Err(failure(Code::UnexpectedEntry, message, "use `manifests/` or `metadata/`").at(place).into())
}

/// Reads the directories of manifests and metadata from annotations.yaml on a best-effort basis: a
/// later stage parses the file strictly and reports errors.
fn annotated(text: &[u8]) -> [Option<String>; 2] {
    let documents = outline(std::str::from_utf8(text).unwrap_or_default());
    [MANIFESTS_KEY, METADATA_KEY].map(|key| {
        let mut path = ["annotations", key].map(|key| Step::Key(key.to_owned())).into_iter();
        let root = &documents.first()?.root;
        path.try_fold(root, |node, step| node.child(&step))?.text().map(str::to_owned)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(text: &str) -> (Option<String>, Option<String>) {
        annotated(text.as_bytes()).into()
    }

    #[test]
    fn annotations_are_read_in_the_spellings_of_yaml() {
        let expected = (Some("m/".to_owned()), Some("meta".to_owned()));
        let plain = format!(
            "# c\nother: [a, {{annotations: x}}]\nannotations:\n  a: b\n  # c\n  {MANIFESTS_KEY}: m/\n  list: [1, 2]\n  {METADATA_KEY}: meta\n"
        );
        assert_eq!(names(&plain), expected);
        let json = format!(
            r#"{{"annotations": {{"{MANIFESTS_KEY}": "m/", "{METADATA_KEY}": "meta"}}, "x": 1}}"#
        );
        assert_eq!(names(&json), expected);
        let quoted = format!(
            "\u{feff}---\n'annotations': {{ \"{MANIFESTS_KEY}\" : 'm/', {METADATA_KEY}: \"meta\" }}\n---\nannotations:\n  {MANIFESTS_KEY}: no\n"
        );
        assert_eq!(names(&quoted), expected);
    }

    #[test]
    fn only_the_annotations_themselves_count() {
        let elsewhere = format!(
            "{MANIFESTS_KEY}: a\nx:\n  {MANIFESTS_KEY}: b\nannotations:\n  y:\n    {MANIFESTS_KEY}: c\n"
        );
        assert_eq!(names(&elsewhere), (None, None));
        let list = format!("annotations:\n- {MANIFESTS_KEY}\n- a\n");
        assert_eq!(names(&list), (None, None));
        let mut last = format!("annotations:\n  {MANIFESTS_KEY}: a\n  {MANIFESTS_KEY}: b\n");
        assert_eq!(names(&last).0.as_deref(), Some("b"));
        last.push_str("broken: [\n");
        assert_eq!(names(&last).0.as_deref(), Some("b"));
    }

    #[test]
    fn folder_names_are_normalised_or_refused() {
        for good in ["manifests/", "/manifests", "./manifests//", " manifests "] {
            assert_eq!(folder_name(good).as_deref(), Some("manifests"), "{good:?}");
        }
        assert_eq!(folder_name("/bundle/manifests/").as_deref(), Some("bundle/manifests"));
        for bad in ["", "/", ".", "../etc", "a/../b", "a\nb"] {
            assert_eq!(folder_name(bad), None, "{bad:?}");
        }
    }
}
