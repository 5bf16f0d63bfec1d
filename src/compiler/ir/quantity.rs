//! Quantities of the Kubernetes API, such as `128Mi` and `100m`.

use serde_json::Value as Json;

/// Parses a quantity; `None` if it is invalid.
pub fn quantity(value: &Json) -> Option<f64> {
    let text = match value {
        Json::String(text) => text.clone(),
        Json::Number(number) => number.to_string(),
        _ => return None,
    };
    let end = text
        .find(|c: char| c.is_ascii_alphabetic() && !is_exponent(&text, c))
        .unwrap_or(text.len());
    let (number, unit) = text.split_at(end);
    let number: f64 = number.parse().ok()?;
    let factor = match unit {
        "" => 1.0,
        // A quotient is rounded once, so that `1100m` is the same number as `1.1`.
        "n" => return Some(number / 1e9),
        "u" => return Some(number / 1e6),
        "m" => return Some(number / 1e3),
        "k" => 1e3,
        "M" => 1e6,
        "G" => 1e9,
        "T" => 1e12,
        "P" => 1e15,
        "E" => 1e18,
        "Ki" => 1024.0,
        "Mi" => 1024.0 * 1024.0,
        "Gi" => 1024.0 * 1024.0 * 1024.0,
        "Ti" => 1024.0 * 1024.0 * 1024.0 * 1024.0,
        "Pi" => 1024.0 * 1024.0 * 1024.0 * 1024.0 * 1024.0,
        "Ei" => 1024.0 * 1024.0 * 1024.0 * 1024.0 * 1024.0 * 1024.0,
        _ => return None,
    };
    Some(number * factor)
}

/// Returns true for the `e` of `1e3`, and false for the unit of `1E`.
fn is_exponent(text: &str, c: char) -> bool {
    c.eq_ignore_ascii_case(&'e') && !text.ends_with(['E', 'i'])
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
            (json!("25%"), None),
            (json!("x"), None),
        ] {
            assert_eq!(quantity(&text), number, "{text}");
        }
    }
}
