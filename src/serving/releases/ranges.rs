//! Numeric limits of flags, which the tables do not contain.
//!
//! Source: the checks of the configuration classes of vLLM and of SGLang's `ServerArgs`; ports: TCP.

use serde::Deserialize;
use std::sync::LazyLock;

/// Limits of flags.
#[derive(Debug, Deserialize)]
struct Limits {
    /// Their names, those of both engines.
    flags: Vec<String>,
    /// A bound that the number itself does not reach.
    above: Option<f64>,
    least: Option<f64>,
    most: Option<f64>,
    /// A special value outside of the bounds: vLLM fits the length to its memory with -1.
    also: Option<f64>,
    /// The limits in messages.
    text: String,
}

static LIMITS: LazyLock<Vec<Limits>> =
    LazyLock::new(|| serde_json::from_str(include_str!("data/limits.json")).unwrap_or_default());

/// Returns the limits of a flag as text, if the number is outside of them.
pub(super) fn exceeded(flag: &str, value: f64) -> Option<&'static str> {
    let limits = LIMITS.iter().find(|limits| limits.flags.iter().any(|name| name == flag))?;
    let is_outside = limits.above.is_some_and(|bound| value <= bound)
        || limits.least.is_some_and(|least| value < least)
        || limits.most.is_some_and(|most| value > most);
    (is_outside && limits.also != Some(value)).then_some(limits.text.as_str())
}
