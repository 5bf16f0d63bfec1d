//! Files to a [`Bundle`].

use super::position::Positions;
use super::{Bundle, ClusterServiceVersion, Requirements, properties, requirements};
use crate::diag::{Code, Diagnostic, Diagnostics, Place};
use crate::ir::{Number, Object, Origin, Release, Value};
use crate::source::BundleFiles;
use crate::yaml::Cause;
use crate::yaml::read::{Document, Documents};
use indexmap::IndexMap;

const PACKAGE: &str = "operators.operatorframework.io.bundle.package.v1";
const MEDIATYPE: &str = "operators.operatorframework.io.bundle.mediatype.v1";

/// Reads all files of a bundle. All problems are reported, with lines; there is no bundle if any of
/// them is an error.
///
/// OLM: operator-controller, bundle source: every file of manifests/ in lexical order, every
/// document of it, Lists flattened, routed by kind alone. In contrast to OLM, several CSVs are an
/// error (OLM silently uses the last one).
pub fn load(files: &BundleFiles, diagnostics: &mut Diagnostics) -> Option<Bundle> {
    let start = diagnostics.mark();
    let annotations = annotations(files, diagnostics);
    // Everything is read before the first error ends the load, so that one run reports all of them.
    let readable = !diagnostics.has_errors_since(start);
    let objects = read_manifests(files, false, diagnostics);
    // With unreadable files the CSV may be in one of them, and its error is enough.
    let complete = !diagnostics.has_errors_since(start);

    let mut csvs = Vec::new();
    let mut crds = Vec::new();
    let mut others = Vec::new();
    for object in objects {
        match object.kind() {
            "ClusterServiceVersion" => csvs.push(object),
            "CustomResourceDefinition" => crds.push(object),
            _ => others.push(object),
        }
    }
    let mut csv = single_csv(csvs, files, complete, diagnostics)
        .and_then(|object| ClusterServiceVersion::read(object, diagnostics));

    if let Some(mediatype) = annotations.get(MEDIATYPE).filter(|m| *m != "registry+v1") {
        let message =
            format!("unsupported media type `{mediatype}`: only `registry+v1` can be compiled");
        let hint = "use `helm` bundles as charts and `plain` bundles as manifests";
        let place = annotation_place(files, MEDIATYPE);
        diagnostics.error(Code::UnsupportedMediaType, place, message, hint);
    }
    let package = annotations.get(PACKAGE).cloned().unwrap_or_default();
    // Annotations that cannot be read are reported, and the package is in them.
    if package.is_empty() && readable {
        let hint = "set this annotation to the operator's package name";
        let place = annotation_place(files, PACKAGE);
        diagnostics.error(Code::AnnotationsMissing, place, "package name is empty", hint);
    }
    // Requirements of a CSV are its required CRDs, which need the owned ones of the bundle.
    let mut requirements = match &csv {
        Some(csv) => requirements::read(files, csv, &crds, diagnostics),
        None => Requirements::default(),
    };
    if let Some(csv) = &mut csv {
        // After the requirements, which read the same properties from their file.
        properties::annotate(&mut csv.object, files);
    }
    // Dependencies are checked after all bundles are compiled, when the files are no longer there.
    let mut positions = Positions::new(files);
    for dependency in &mut requirements.dependencies {
        positions.complete(&mut dependency.place);
    }
    positions.locate(diagnostics.since(start));

    csv.filter(|_| !diagnostics.has_errors_since(start)).map(|csv| Bundle {
        edges: files.edges.clone().unwrap_or_else(|| csv.edges()),
        package,
        annotations,
        requirements,
        csv,
        crds,
        objects: others,
        image: files.image.clone(),
        manifest_bytes: files.manifests.values().map(Vec::len).sum(),
    })
}

/// Reads the objects of all manifests, in order; `own` for those of the user.
pub(super) fn read_manifests(
    files: &BundleFiles,
    own: bool,
    diagnostics: &mut Diagnostics,
) -> Vec<Object> {
    // A map by name: OLM walks the directory in lexical order, too.
    let read = files.manifests.iter().flat_map(|(name, bytes)| {
        read_file(&files.manifest_name(name), bytes, files, own, diagnostics)
    });
    read.collect()
}

/// Reads the objects of one file, without the fields that only the API server writes.
pub(super) fn read_file(
    file: &str,
    bytes: &[u8],
    files: &BundleFiles,
    own: bool,
    diagnostics: &mut Diagnostics,
) -> Vec<Object> {
    let mut objects = Vec::new();
    let read = documents(file, bytes, files, diagnostics);
    for document in read.into_iter().flat_map(|read| read.documents) {
        let origin = origin_of(file, &document, own);
        flatten(document.value, origin, &document.item_lines, &mut objects, diagnostics);
    }
    objects.iter_mut().for_each(drop_server_fields);
    objects
}

fn annotation_place(files: &BundleFiles, key: &str) -> Place {
    let file = format!("{}/annotations.yaml", files.metadata_dir);
    Place::file(file).path(format!(".annotations[{key:?}]"))
}

/// Returns the entries of annotations.yaml, and the image's labels for missing keys.
fn annotations(files: &BundleFiles, diagnostics: &mut Diagnostics) -> IndexMap<String, String> {
    let labels = files.labels.iter().map(|(key, value)| (key.clone(), value.clone()));
    let mut merged: IndexMap<String, String> = labels.collect();
    // Other labels are those of the base image.
    merged.retain(|key, _| key.starts_with("operators.operatorframework.io."));
    let file = format!("{}/annotations.yaml", files.metadata_dir);
    let Some(bytes) = files.metadata.get("annotations.yaml") else {
        if merged.is_empty() {
            let message = format!("the bundle has no {file}");
            let hint = "use a directory (or image) with manifests/ and metadata/annotations.yaml";
            diagnostics.error(Code::AnnotationsMissing, Place::file(file), message, hint);
        }
        return merged;
    };

    let Some(documents) = documents(&file, bytes, files, diagnostics) else { return merged };
    let root = documents.documents.into_iter().next().map(|document| document.value);
    let map = root.as_ref().and_then(|root| root.get("annotations")).and_then(Value::as_map);
    let Some(map) = map else {
        let message = "the file has no `annotations` map";
        let hint = "write `annotations:`, followed by indented `KEY: VALUE` lines";
        let place = Place::file(file).path(".annotations");
        diagnostics.error(Code::AnnotationsMissing, place, message, hint);
        return merged;
    };

    let mut report = |key: &str, diagnostic: Diagnostic| {
        let place = annotation_place(files, key);
        diagnostics.push(diagnostic.at(place).hint("put the value in quotes"));
    };
    for (key, value) in map {
        // OLM reads numbers and booleans as texts (sigs.k8s.io/yaml, for fields that are strings).
        let text = match value {
            Value::Text(text) => text.clone(),
            Value::Bool(_) | Value::Number(_) => {
                let text = Release::LITERAL.value(value).to_string();
                if let Value::Number(Number::Float(_)) = value {
                    // As a number, 4.20 is 4.2.
                    let message = format!("annotation `{key}` is a number: it is read as `{text}`");
                    report(key, Diagnostic::note(Code::AnnotationsMissing, message));
                }
                text
            }
            // To Go, null is the empty text, which is a missing annotation.
            Value::Null => continue,
            _ => {
                let message = format!("annotation `{key}` is {}, not a string", value.type_name());
                report(key, Diagnostic::error(Code::AnnotationsMissing, message));
                continue;
            }
        };
        // The file overrides the labels of the image: both are written by the same tool, but only the
        // file is edited by hand.
        merged.insert(key.clone(), text);
    }

    merged
}

/// Returns the documents of one file; problems and duplicate keys become diagnostics.
pub(super) fn documents(
    file: &str,
    bytes: &[u8],
    files: &BundleFiles,
    diagnostics: &mut Diagnostics,
) -> Option<Documents> {
    // Line and column by hand: Rust's error has an offset only, which no editor goes to.
    let text = match std::str::from_utf8(bytes) {
        Ok(text) => text,
        Err(error) => {
            let before = &bytes[..error.valid_up_to()];
            let line = before.iter().filter(|byte| **byte == b'\n').count() + 1;
            let column = before.iter().rev().take_while(|byte| **byte != b'\n').count() + 1;
            let message =
                format!("the file is not UTF-8: invalid byte 0x{:02x}", bytes[before.len()]);
            let hint = "save the file as UTF-8, or remove it if it is not a manifest: every file in \
                        the manifests directory is read as one";
            diagnostics.error(Code::NotUtf8, Place::file(file).at(line, column), message, hint);
            return None;
        }
    };
    let mut normalized = |line: usize, message: &str| {
        let note = Diagnostic::note(Code::TextNormalized, message);
        diagnostics.push(note.at(Place::file(file).at(line, 1)));
    };
    if text.starts_with('\u{feff}') {
        normalized(1, "the file starts with a byte order mark, which is skipped");
    }
    // Byte by byte, because nearly no file has one.
    if let Some(offset) = memchr::memchr(b'\r', bytes).and_then(|_| text.find("\r\n")) {
        let line = text[..offset].matches('\n').count() + 1;
        normalized(line, "the file has Windows line endings (CRLF), which are normalized");
    }
    match crate::yaml::read(text) {
        Ok(documents) => {
            for duplicate in &documents.duplicates {
                let (line, column) = duplicate.last;
                let place = |line, column| Place {
                    document: Some(duplicate.document),
                    ..Place::file(file).at(line, column).path(&duplicate.path)
                };
                let message = format!(
                    "duplicate key `{}` (lines {} and {line}); the last value is used, as in \
                        Kubernetes",
                    duplicate.path, duplicate.first
                );
                let warning = Diagnostic::warning(Code::DuplicateKey, message)
                    .at(place(line, column))
                    .related(place(duplicate.first, 1), "first defined here; this value is ignored")
                    .hint("remove one of them in the bundle's sources");
                diagnostics.push(warning);
            }
            Some(documents)
        }
        Err(problem) => {
            let folder = files.manifests_dir.as_str();
            // Without a folder, every absolute path would be below it.
            let is_manifest = !folder.is_empty() && file.starts_with(&format!("{folder}/"));
            let line = text.lines().nth(problem.line.saturating_sub(1));
            let is_template = line.is_some_and(|line| line.contains("{{"));
            let hint = match problem.cause {
                Cause::Limit => "report this if it is a real bundle",
                Cause::Tab => "replace the tab with spaces",
                Cause::Indentation => "check the indentation of this line and the lines above",
                Cause::Syntax if is_manifest => {
                    "fix the file, or remove it if it is not a manifest: every file in the \
                     manifests directory is parsed as YAML or JSON"
                }
                Cause::Syntax if is_template => {
                    "write the value: manifests are plain YAML; values come from the chart \
                     (`namespaces`, `[[bundle.switch]]`)"
                }
                Cause::Syntax if file.ends_with(".toml") => {
                    "name another file: this one is TOML, and manifests are YAML or JSON"
                }
                Cause::Syntax => "fix the file: it must be YAML or JSON",
            };
            let code = match problem.cause {
                Cause::Limit => Code::ManifestLimit,
                _ => Code::ManifestSyntax,
            };
            let place = Place {
                document: Some(problem.document),
                ..Place::file(file).at(problem.line, problem.column)
            };
            let what = match problem.cause {
                Cause::Syntax if is_template && !is_manifest => "it is a template, not YAML",
                _ => &problem.message,
            };
            let message = format!("cannot read the file: {what}");
            diagnostics.error(code, place, message, hint);
            None
        }
    }
}

/// Returns the objects of a manifest outside of bundles, in their order. Documents that are not
/// objects, such as Helm values, and kustomizations are reported in notes.
pub fn manifests(file: &str, bytes: &[u8], diagnostics: &mut Diagnostics) -> Vec<Object> {
    let mut objects = Vec::new();
    let read = documents(file, bytes, &BundleFiles::default(), diagnostics);
    for document in read.into_iter().flat_map(|read| read.documents) {
        let origin = origin_of(file, &document, true);
        let text = |key: &str| document.value.get(key).and_then(Value::as_str).unwrap_or_default();
        // Rendered folders have files for other tools, such as values.yaml, next to their
        // manifests.
        let (api_version, kind) = (text("apiVersion"), text("kind"));
        let is_kustomization = api_version.starts_with("kustomize.config.k8s.io/");
        // Files of other programs have the form of objects, such as kubeconfigs.
        let is_of_program = document.value.get("metadata").is_none()
            && !(api_version.is_empty() || kind.is_empty() || kind.ends_with("List"))
            && super::served_version(api_version, kind).is_none();
        if api_version.is_empty() || kind.is_empty() || is_kustomization || is_of_program {
            let message = match kind {
                "" => "document without apiVersion and kind is not checked".to_owned(),
                _ => format!("document of kind {kind} is not checked"),
            };
            let hint = if is_kustomization {
                "apply it first: `kustomize build DIR | bundle2chart check-serving -`"
            } else if is_of_program {
                "write `metadata.name` if it is an object of the cluster"
            } else {
                "pass rendered manifests: from `helm template` or `kustomize build`"
            };
            let note = Diagnostic::note(Code::ServingUnread, message).at(origin.place()).hint(hint);
            diagnostics.push(note);
            continue;
        }
        flatten(document.value, origin, &document.item_lines, &mut objects, diagnostics);
    }
    objects
}

/// Returns the origin of a document; `own` for those of the user: overlays, and manifests of a
/// `[[chart]]`.
fn origin_of(file: &str, document: &Document, own: bool) -> Origin {
    let (file, path) = (file.to_owned(), String::new());
    let Document { number: document, line, .. } = *document;
    match own {
        true => Origin::Overlay { file, document, line, path },
        false => Origin::File { file, document, line, path },
    }
}

/// Converts a document to objects; the items of a List become separate objects.
fn flatten(
    value: Value,
    origin: Origin,
    item_lines: &[usize],
    objects: &mut Vec<Object>,
    diagnostics: &mut Diagnostics,
) {
    let is_own = matches!(origin, Origin::Overlay { .. });
    let hint = |of_bundle: &'static str| match is_own {
        true => "every document must be an object with apiVersion, kind and metadata.name",
        false => of_bundle,
    };
    let type_name = value.type_name();
    // A list or a text at the top is what is left of a broken template.
    let Value::Map(mut root) = value else {
        let message = format!("expected a Kubernetes object, found {type_name}");
        let hint = hint(
            "remove the file if it is not a manifest: every file in the manifests directory must \
                contain objects with apiVersion and kind",
        );
        diagnostics.error(Code::NotAnObject, origin.place(), message, hint);
        return;
    };

    let kind = root.get("kind").and_then(Value::as_str).unwrap_or_default().to_owned();
    // By the form, as kubectl does: lists of custom resources have kinds of their own.
    if let Some(item_kind) = kind.strip_suffix("List")
        && let Some(Value::Seq(items)) = root.get_mut("items")
    {
        for (index, mut item) in std::mem::take(items).into_iter().enumerate() {
            if let Some(item) = item.as_map_mut().filter(|_| !item_kind.is_empty()) {
                // apimachinery's `decodeToList` does the same: the API server omits both in items
                // of typed lists, such as RoleList.
                item.get_or_insert_with("kind", || Value::text(item_kind));
                if let Some(api_version) = root.get("apiVersion") {
                    item.get_or_insert_with("apiVersion", || api_version.clone());
                }
            }
            let mut origin = origin.clone();
            if let Origin::File { line, path, .. } | Origin::Overlay { line, path, .. } =
                &mut origin
            {
                // Lists in lists have no lines of their own.
                *line = item_lines.get(index).copied().unwrap_or(*line);
                path.push_str(&format!(".items[{index}]"));
            }
            flatten(item, origin, &[], objects, diagnostics);
        }
        return;
    }

    let not_a_manifest = hint(
        "remove the file if it is not a manifest: every document in the manifests directory must be \
            an object with apiVersion and kind",
    );
    // An object without a name cannot be upgraded: each release would create another one.
    let no_name = "set a name: Helm and OLM install objects by name, not generateName";
    let name = root.get("metadata").and_then(|metadata| metadata.get("name"));
    let is_text = |value: &Value| value.as_str().is_some_and(|text| !text.is_empty());
    let fields = [
        ("object", "apiVersion", root.get("apiVersion"), not_a_manifest),
        ("object", "kind", root.get("kind"), not_a_manifest),
        (kind.as_str(), "metadata.name", name, no_name),
    ];
    let wrong = fields.into_iter().find(|(_, _, value, _)| !value.is_some_and(is_text));
    if let Some((what, key, value, hint)) = wrong {
        // YAML reads the words n, y, on and off as booleans.
        let other = value.filter(|value| !matches!(value, Value::Text(_) | Value::Null));
        let message = match other.map(Value::type_name) {
            Some(found) => format!("`{key}` of the {what} must be a string, but it is {found}"),
            None => format!("the {what} has no `{key}`"),
        };
        let (code, hint) = match other {
            Some(_) => (Code::ObjectFieldType, "put the value in quotes"),
            None => (Code::NotAnObject, hint),
        };
        diagnostics.error(code, origin.place(), message, hint);
        return;
    }

    objects.push(Object::new(*root, origin));
}

/// Returns the only CSV; a missing one is reported if the manifests are `complete`.
fn single_csv(
    mut csvs: Vec<Object>,
    files: &BundleFiles,
    complete: bool,
    diagnostics: &mut Diagnostics,
) -> Option<Object> {
    if csvs.len() > 1 {
        let names: Vec<String> = csvs.iter().map(|csv| format!("`{}`", csv.name())).collect();
        let mut diagnostic = Diagnostic::error(
            Code::SeveralCsvs,
            format!("the bundle has {} ClusterServiceVersions: {}", csvs.len(), names.join(", ")),
        )
        .at(csvs[0].place())
        .hint("remove the others: a bundle installs one operator version");
        // OLM v1 uses the last one and OLM v0 the first, so none of them is right for both.
        for csv in &csvs[1..] {
            diagnostic = diagnostic.related(csv.place(), "another one");
        }
        diagnostics.push(diagnostic);
        return None;
    }

    let csv = csvs.pop();
    // The file with an error may be the CSV.
    if csv.is_none() && complete {
        let message = format!("no ClusterServiceVersion in `{}`", files.manifests_dir);
        let hint = "check that this is an operator bundle, not a catalog or an operator image";
        diagnostics.error(Code::CsvMissing, Place::file(&files.manifests_dir), message, hint);
    }
    csv
}

/// Removes fields that only the API server writes: `metadata.creationTimestamp: null`, and an empty
/// `status` (recursively, as controller-gen writes into CRDs). No other fields are removed.
fn drop_server_fields(object: &mut Object) {
    if let Some(metadata) = object.root.get_mut("metadata").and_then(Value::as_map_mut)
        // controller-gen writes it, and a status with empty fields, because Go's types have no way
        // to omit them.
        && metadata.get("creationTimestamp").is_some_and(Value::is_null)
    {
        metadata.shift_remove("creationTimestamp");
    }
    if object.root.get("status").is_some_and(is_empty_recursively) {
        object.root.shift_remove("status");
    }
}

fn is_empty_recursively(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Text(text) => text.is_empty(),
        Value::Seq(items) => items.iter().all(is_empty_recursively),
        Value::Map(map) => map.values().all(is_empty_recursively),
        _ => false,
    }
}

#[cfg(test)]
mod tests;
