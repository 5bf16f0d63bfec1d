//! `[[bundle.overlay]]` and `[[bundle.patch]]`, and those of `[[chart]]`: the user's own manifests,
//! and changes to the objects of a bundle or chart.

use super::*;
use crate::jq::{self, Purpose};

table! {
    /// Overlays: your own manifests. They are parsed like the bundle's manifests and validated
    /// against its CRDs; filters do not apply to them.
    pub struct OverlayTable at "[[bundle.overlay]]" or "[[chart.overlay]]",
        one of ["path", "inline"],
        checked by overlay as Overlay
    {
        /// A file, or a directory whose .yaml, .yml and .json files are read in alphabetical order,
        /// relative to this file.
        path: Option<Placed<Filled>>;
        /// Inline objects: a string of YAML documents, or one object as a table.
        inline: Option<Manifest>;
        /// Installation phase. `with` (default): with the operator. `before`: before the operator;
        /// Jobs must complete. `operand`: after the operator is ready, as a separate chart
        /// NAME-operands.
        phase: OverlayPhase;
        /// Name of a switch (`[[bundle.switch]]`), with `phase = "operand"`: objects of this overlay
        /// are added when it is on, and replace those of the same name.
        switch: Option<Placed<Any>>;
    }
}

/// `[[bundle.overlay]]`
#[derive(Clone, Debug, PartialEq)]
pub struct Overlay {
    /// The source of its objects.
    pub source: OverlaySource,
    /// The phase of the installation.
    pub phase: Phase,
    /// The switch that adds it.
    pub switch: Option<Text>,
    /// The value of `path` or `inline` in the file.
    pub span: Span,
}

/// The source of an overlay's objects.
#[derive(Clone, Debug, PartialEq)]
pub enum OverlaySource {
    /// A file or directory, relative to the configuration.
    Path(String),
    /// YAML documents.
    Text(String),
    /// One object.
    Object(Json),
}

fn overlay(table: OverlayTable, _: &mut Reader<'_>, _: &Fields<'_>) -> Option<Overlay> {
    let path = table.path.map(|Text { text, span }| (OverlaySource::Path(text), span));
    let (source, span) = path.or(table.inline)?;
    Some(Overlay { source, phase: table.phase, switch: table.switch, span })
}

/// Objects in the configuration itself.
pub struct Manifest;

impl Form for Manifest {
    type Value = (OverlaySource, Span);
    const KIND: Kind = Kind::TextOrObject;

    fn read(reader: &mut Reader<'_>, key: &Key, value: &Node<'_>) -> Option<Self::Value> {
        let source = match value.get_ref().as_str() {
            Some(_) => OverlaySource::Text(Filled::read(reader, key, value)?),
            None => OverlaySource::Object(as_json(value.get_ref())),
        };
        Some((source, reader.span(value.span())))
    }
}

words! {
    /// The phase of an overlay.
    OverlayPhase: Phase = "with" => Phase::With, "before" => Phase::Before,
        "operand" => Phase::Operand;
}

table! {
    /// A change to the bundle's objects. Patches are applied in order, after filters.
    pub struct PatchConfig at "[[bundle.patch]]" or "[[chart.patch]]" {
        /// A jq filter: objects that match it are patched.
        matches as "match": FilterProgram;
        /// A jq program that returns the changed object, for example
        /// `.spec.template.spec.priorityClassName = "system-cluster-critical"`.
        patch: PatchProgram;
    }
}

/// A jq program that is true or false for an object.
pub type FilterProgram = Program<false>;

/// A jq program that returns a changed object.
pub type PatchProgram = Program<true>;

/// A jq program, reported when it cannot be used.
pub struct Program<const IS_PATCH: bool>;

impl<const IS_PATCH: bool> Form for Program<IS_PATCH> {
    type Value = Filter;
    const KIND: Kind = Any::KIND;
    // Not a list of any strings, so that messages say that they are filters.
    const LIST: Kind = Kind::Filters;

    fn read(reader: &mut Reader<'_>, _: &Key, value: &Node<'_>) -> Option<Filter> {
        let (program, range) = (value.get_ref().as_str()?, value.span());
        let purpose = if IS_PATCH { Purpose::Patch } else { Purpose::Filter };
        if let Err(error) = jq::check(program, purpose) {
            let part = text::locate(&reader.source.text, range.clone(), error.range);
            reader.error(Code::InvalidFilter, &part, error.message, error.hint);
        }
        // Kept, although it may be wrong: nothing runs after an error, and the table is still
        // checked.
        Some(Filter { text: program.to_owned(), span: reader.span(range) })
    }
}
