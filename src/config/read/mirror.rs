//! Reads `[[mirror]]`.

use super::reader::{Fields, Located, Reader};
use super::values;
use crate::diag::{Code, Diagnostic, Place};
use crate::keys::{MIRROR, OCI_LAYOUT};
use crate::{Mirror, MirrorTarget};
use std::path::PathBuf;

pub(super) fn read(reader: &mut Reader<'_>, root: &Fields<'_>) -> Vec<Mirror> {
    let mut mirrors: Vec<Mirror> = Vec::new();
    for (table, header) in root.tables("mirror") {
        let fields = reader.fields(&MIRROR, header, table);
        let from = fields.text("from").and_then(|at| values::reference_prefix(reader, "from", at));
        let to = fields.text("to").and_then(|at| mirror_to(reader, at));
        let (Some(from), Some(to)) = (from, to) else { continue };
        let fallback = fields.boolean("fallback").unwrap_or_default();
        let span = reader.span(fields.header.clone());
        let first = mirrors.iter().find(|mirror| mirror.from == from && !mirror.fallback);
        if let Some(first) = first {
            let message = format!("this mirror of `{from}` is never used");
            let diagnostic = Diagnostic::error(Code::InvalidValue, message)
                .at(Place::span(span))
                .related(Place::span(first.span.clone()), "this mirror is always used first")
                .hint(
                    "set `fallback = true` for the first one, remove one of them, or use a \
                        longer prefix in one of them",
                );
            reader.found.push(diagnostic);
            continue;
        }
        mirrors.push(Mirror { from, to, fallback, span });
    }

    mirrors
}

/// Reads the target of a mirror.
fn mirror_to(reader: &mut Reader<'_>, at: Located<&str>) -> Option<MirrorTarget> {
    let range = at.1.clone();
    if let Some(folder) = at.0.strip_prefix(OCI_LAYOUT) {
        if !folder.trim().is_empty() {
            return Some(MirrorTarget::Layout(PathBuf::from(folder)));
        }
        reader.error(
            Code::InvalidValue,
            &range,
            "`to` has no directory",
            format!(
                "write `{OCI_LAYOUT}DIR`, where DIR is an OCI image layout directory (with a \
                    file `oci-layout`), relative to this file"
            ),
        );
        return None;
    }

    let text = values::reference(reader, "to", at)?.trim_end_matches('/').to_owned();
    let (host, path) = text.split_once('/').unwrap_or((&text, ""));
    let names_host = host.contains('.') || host.contains(':') || host == "localhost";
    if !names_host || host.starts_with("oci:") || path.contains([':', '@']) {
        reader.error(
            Code::InvalidValue,
            &range,
            "`to` is neither an image layout nor a registry prefix",
            format!(
                "write `{OCI_LAYOUT}DIR` for a directory, or HOST/PATH without a tag, for \
                    example `registry.example.com/mirror`"
            ),
        );
        return None;
    }

    Some(MirrorTarget::Registry(text))
}
