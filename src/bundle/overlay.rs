//! Objects of overlays, parsed like the bundle's own objects.

use super::load::read_file;
use crate::config::Switch;
use crate::config::text::{locate, value_at};
use crate::diag::{Diagnostics, Place, Span};
use crate::ir::{Condition, Object, steps};
use crate::source::{BundleFiles, OverlayFile};

/// Returns the objects of all overlays, in order, each with the phase and the switch of its overlay.
pub fn overlays(files: &BundleFiles, diagnostics: &mut Diagnostics) -> Vec<Object> {
    let mut objects = Vec::new();
    for file in &files.overlays {
        for mut object in read_file(&file.name, &file.content, files, true, diagnostics) {
            object.phase = file.phase;
            let switch = file.switch.as_ref().map(|name| Switch::value(name));
            object.when = switch.map(Condition::Set);
            objects.push(object);
        }
    }

    objects
}

/// Maps a place in an inline overlay to its place in the configuration; other places stay.
pub(super) fn map_inline(place: &mut Place, files: &BundleFiles) {
    let file = files.overlays.iter().find(|file| place.file.as_ref() == Some(&file.name));
    let Some((file, inline)) = file.and_then(|file| Some((file, file.inline.as_ref()?))) else {
        return;
    };

    // A span replaces the position in the file, which only exists in memory.
    let span = within(file, inline, place);
    place.span = Some(span);
    (place.file, place.document, place.line, place.column) = (None, None, None, None);
}

/// Returns the place in the configuration: the key that is meant, the rest of its line, or all of
/// the overlay.
fn within(file: &OverlayFile, inline: &Span, place: &Place) -> Span {
    let source = inline.source.text.as_str();
    let is_text = source.get(inline.range.clone()).is_some_and(|raw| raw.starts_with(['"', '\'']));
    // TOML tables have their own keys to point to; a string has lines of YAML, escaped for TOML.
    if !is_text {
        let path = place.path.as_deref().unwrap_or_default();
        let range = value_at(source, inline.range.clone(), &steps(path));
        return Span::new(&inline.source, range);
    }

    // Lines are those of the value; `locate` maps them to bundles.toml, through TOML's escapes.
    let text = std::str::from_utf8(&file.content).unwrap_or_default();
    let Some(line) = place.line else { return inline.clone() };
    let mut lines = text.split_inclusive('\n');
    let start: usize = lines.by_ref().take(line.saturating_sub(1)).map(str::len).sum();
    let Some(content) = lines.next().map(str::trim_end) else { return inline.clone() };

    let blanks = content.len() - content.trim_start().len();
    let column = place.column.map_or(blanks, |column| {
        content.char_indices().nth(column.saturating_sub(1)).map_or(blanks, |(at, _)| at)
    });
    let part = start + column..start + content.len();
    Span::new(&inline.source, locate(source, inline.range.clone(), part))
}

#[cfg(test)]
mod tests;
