//! Setting the tag of an image.

use super::quoted;
use crate::config::{Config, Source};
use crate::diag::{Code, Diagnostic, Diagnostics};
use crate::pipeline;
use crate::source::Reference;
use std::path::PathBuf;

/// Sets the tag of the image of the only bundle in `names`; returns the file that has its table, and
/// its new text. Nothing is written.
pub(crate) fn set_tag(
    config: &mut Config,
    names: &[String],
    tag: &str,
    diagnostics: &mut Diagnostics,
) -> Option<(PathBuf, String)> {
    let [name] = names else {
        let message = "`--to` sets the tag of one bundle";
        let hint = "write `--upgrade NAME --to TAG`";
        return diagnostics.fail(Diagnostic::error(Code::UnknownBundle, message).hint(hint));
    };
    pipeline::select_bundles(config, names, diagnostics)?;
    let bundle = config.bundles.iter_mut().find(|bundle| bundle.name == *name)?;
    let Source::Image { reference, span } = &mut bundle.source else {
        let message = format!("`{name}` has no tag: its source is not an image");
        let hint = "edit `path`, or `version` and `channel` of a catalog";
        return diagnostics.fail(
            Diagnostic::error(Code::InvalidReference, message).at(bundle.source.span()).hint(hint),
        );
    };

    let old = diagnostics.report(Reference::parse(reference))?;
    // Without the digest of the old reference, which would win over the new tag.
    *reference = format!("{}:{tag}", old.name);
    // A wrong tag is an error before anything is written.
    diagnostics.report(Reference::parse(reference))?;
    let mut text = span.source.text.clone();
    text.replace_range(span.range.clone(), &quoted(reference));
    Some((PathBuf::from(&span.source.name), text))
}
