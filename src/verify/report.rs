//! The report of a verification: text, and JSON for bots.

use super::{Difference, FirstDifference, Verification};
use crate::escape::{self, Lines};
use serde_json::{Value as Json, json};

/// Returns the report as text: one line for a chart that is the same.
pub(crate) fn text(verification: &Verification) -> Lines {
    let Verification { chart, name, version, package, differences, reasons } = verification;
    let tool = concat!("bundle2chart ", env!("CARGO_PKG_VERSION"));
    let inputs = "bundles.toml and bundles.lock";
    if verification.is_same() {
        return Lines::from_iter([format!(
            "{chart} is byte for byte {name} {version} as {tool} builds it from {inputs}: {package}"
        )]);
    }

    let mut lines = Lines::new();
    lines.push(format!("{chart} differs from {name} {version} as {tool} builds it from {inputs}"));
    for Difference { change, path, first, digests } in differences {
        let change = change.as_str();
        match first {
            Some(FirstDifference { line, .. }) => {
                lines.push(format!("  {change:<8} {path}, from line {line}"));
            }
            // Archive and manifest have no path.
            None => lines.push(format!("  {change:<8} {path}").trim_end()),
        }
        let texts = first.as_ref().and_then(|first| first.texts.as_ref());
        for (side, text) in
            texts.into_iter().flat_map(|[built, found]| [("built", built), ("chart", found)])
        {
            let text = text.as_deref().unwrap_or("(end of file)");
            lines.push(format!("    {side}  {text}").trim_end());
        }
        if let Some((built, found)) = digests {
            lines.push(format!("    built  {built}"));
            lines.push(format!("    chart  {found}"));
        }
    }
    for reason in reasons {
        lines.push(format!("reason: {reason}"));
    }
    lines
}

/// Returns the report as JSON: keys are only added, and never change their meaning. Facts that are
/// not known are `null`.
pub(crate) fn json(verification: &Verification) -> String {
    let Verification { chart, name, version, package, differences, reasons } = verification;
    let document = json!({
        "chart": chart,
        "name": name,
        "version": version,
        "verified": verification.is_same(),
        "bundle2chart": env!("CARGO_PKG_VERSION"),
        "package": package,
        "differences": differences.iter().map(difference).collect::<Vec<_>>(),
        "reasons": reasons,
    });
    escape::json(&format!("{document:#}\n")).into_owned()
}

fn difference(difference: &Difference) -> Json {
    let Difference { change, path, first, digests } = difference;
    let texts = first.as_ref().and_then(|first| first.texts.as_ref());
    let [built, found] = match (texts, digests) {
        (Some([built, found]), _) => [built.clone(), found.clone()],
        (None, Some((built, found))) => [Some(built.clone()), Some(found.clone())],
        (None, None) => [None, None],
    };
    json!({
        "change": change.as_str(),
        "path": Some(path).filter(|path| !path.is_empty()),
        "line": first.as_ref().map(|first| first.line),
        "built": built,
        "found": found,
    })
}
