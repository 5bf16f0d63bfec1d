//! Quantities of the Kubernetes API, such as `128Mi` and `100m`.

use serde_json::Value as Json;

/// Parses a quantity; `None` if it is invalid.
///
/// Kubernetes: apimachinery, pkg/api/resource, `ParseQuantity`. A number may lack its digits: `m` is
/// zero.
pub fn quantity(value: &Json) -> Option<f64> {
    let text = match value {
        Json::String(text) => text.clone(),
        Json::Number(number) => number.to_string(),
        _ => return None,
    };
    let text = text.trim();
    let unsigned = text.strip_prefix(['+', '-']).unwrap_or(text);
    let (whole, rest) = digits(unsigned);
    let (fraction, unit) = rest.strip_prefix('.').map_or(("", rest), digits);
    let sign = if text.starts_with('-') { "-" } else { "" };
    // Zeros on both sides, because Rust parses neither a lone point nor an empty text.
    let decimal = format!("{sign}0{whole}.{fraction}0");
    let number: f64 = decimal.parse().ok().filter(|_| !text.is_empty())?;

    // Powers of thousands and of 1024 are exact. A quotient is rounded once, so that `1100m` is the
    // same number as `1.1`.
    let power = |units: &[&str]| (1..).zip(units).find(|(_, one)| **one == unit).map(|(at, _)| at);
    if let Some(power) = power(&["k", "M", "G", "T", "P", "E"]) {
        Some(number * 1e3_f64.powi(power))
    } else if let Some(power) = power(&["Ki", "Mi", "Gi", "Ti", "Pi", "Ei"]) {
        Some(number * 1024_f64.powi(power))
    } else if let Some(power) = power(&["m", "u", "n"]) {
        Some(number / 1e3_f64.powi(power))
    } else if unit.is_empty() {
        Some(number)
    } else {
        // After `E`, which alone is exa.
        let exponent: i64 = unit.strip_prefix(['e', 'E'])?.parse().ok()?;
        format!("{decimal}e{exponent}").parse().ok()
    }
}

/// Splits a text after its leading digits.
fn digits(text: &str) -> (&str, &str) {
    text.split_at(text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len()))
}

#[cfg(test)]
mod tests {
    use super::quantity;
    use serde_json::json;

    #[test]
    fn quantities() {
        for (text, number) in [
            (json!("1Ki"), Some(1024.0)),
            (json!("500m"), Some(0.5)),
            (json!("1100m"), Some(1.1)),
            (json!("4350m"), Some(4.35)),
            (json!(3), Some(3.0)),
            (json!("1e3"), Some(1000.0)),
            (json!("2E"), Some(2e18)),
            (json!("1Ei"), Some(1024f64.powi(6))),
            (json!("1.5E-3"), Some(0.0015)),
            (json!("+.5"), Some(0.5)),
            (json!("-2."), Some(-2.0)),
            (json!(" 1 "), Some(1.0)),
            (json!("m"), Some(0.0)),
            (json!(1.5), Some(1.5)),
            (json!(""), None),
            (json!("1e"), None),
            (json!("1.2.3"), None),
            (json!("1 Gi"), None),
            (json!("1gi"), None),
            (json!("inf"), None),
            (json!(true), None),
            (json!("25%"), None),
            (json!("x"), None),
        ] {
            assert_eq!(quantity(&text), number, "{text}");
        }
    }
}
