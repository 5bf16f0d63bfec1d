//! The report of a verification: text, and JSON for bots.

use super::{Difference, Subject, Verification};
use crate::escape::{self, Lines};
use serde_json::{Value as Json, json};

/// Returns the report as text: one line for a chart that is the same.
pub(crate) fn text(verification: &Verification) -> Lines {
    let Verification { subject, package, differences, reasons } = verification;
    let Subject { shown: chart, name, version, .. } = subject;
    let tool = concat!("bundle2chart ", env!("CARGO_PKG_VERSION"));
    let inputs = "bundles.toml and bundles.lock";
    if verification.is_same() {
        return Lines::from_iter([format!(
            "{chart} is byte for byte {name} {version} as {tool} builds it from {inputs}: {package}"
        )]);
    }

    let mut lines = Lines::new();
    lines.push(format!("{chart} differs from {name} {version} as {tool} builds it from {inputs}"));
    for Difference { change, path, line, texts } in differences {
        let change = change.as_str();
        match line {
            Some(line) => lines.push(format!("  {change:<8} {path}, from line {line}")),
            // Archive and manifest have no path.
            None => lines.push(format!("  {change:<8} {path}").trim_end()),
        }
        let texts = texts.iter().flat_map(|[built, found]| [("built", built), ("chart", found)]);
        for (side, text) in texts {
            let text = text.as_deref().unwrap_or("(end of file)");
            lines.push(format!("    {side}  {text}").trim_end());
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
    let Verification { subject, package, differences, reasons } = verification;
    let document = json!({
        "chart": subject.shown,
        "name": subject.name,
        "version": subject.version,
        "verified": verification.is_same(),
        "bundle2chart": env!("CARGO_PKG_VERSION"),
        "package": package,
        "differences": differences.iter().map(difference).collect::<Vec<_>>(),
        "reasons": reasons,
    });
    escape::json(&format!("{document:#}\n")).into_owned()
}

fn difference(difference: &Difference) -> Json {
    let Difference { change, path, line, texts } = difference;
    let [built, found] = texts.clone().unwrap_or_default();
    json!({
        "change": change.as_str(),
        "path": Some(path).filter(|path| !path.is_empty()),
        "line": line,
        "built": built,
        "found": found,
    })
}
