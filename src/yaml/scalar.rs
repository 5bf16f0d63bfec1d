//! Resolves unquoted YAML scalars as Kubernetes does.
//!
//! Kubernetes reads manifests with sigs.k8s.io/yaml, that is go-yaml v2 (YAML 1.1 with Go's number
//! syntax) followed by a conversion to JSON. The rules here are those of go-yaml v2 `resolve.go`
//! and `strconv`, and of sigs.k8s.io/yaml for map keys.

use crate::ir::{Number, Value};
use std::borrow::Cow;

/// Resolves an unquoted scalar without a tag; `None` if it is a string. JSON supports numbers that are
/// not finite as keys only.
pub(super) fn resolve(text: &str) -> Option<Value> {
    let number = match text {
        "" | "~" | "null" | "Null" | "NULL" => return Some(Value::Null),
        "y" | "Y" | "yes" | "Yes" | "YES" | "true" | "True" | "TRUE" | "on" | "On" | "ON" => {
            return Some(Value::Bool(true));
        }
        "n" | "N" | "no" | "No" | "NO" | "false" | "False" | "FALSE" | "off" | "Off" | "OFF" => {
            return Some(Value::Bool(false));
        }
        ".nan" | ".NaN" | ".NAN" => Some(Number::Float(f64::NAN)),
        ".inf" | ".Inf" | ".INF" | "+.inf" | "+.Inf" | "+.INF" => {
            Some(Number::Float(f64::INFINITY))
        }
        "-.inf" | "-.Inf" | "-.INF" => Some(Number::Float(f64::NEG_INFINITY)),
        _ => match text.as_bytes().first() {
            Some(b'.') => point_float(text),
            Some(b'0'..=b'9' | b'+' | b'-') => number(text),
            _ => None,
        },
    };
    number.map(Value::Number)
}

fn number(text: &str) -> Option<Number> {
    // Timestamps are strings, and no number has their shape after underscores are gone.
    let plain =
        if text.contains('_') { Cow::Owned(text.replace('_', "")) } else { Cow::Borrowed(text) };
    let (negative, digits) = match plain.as_bytes().first() {
        Some(b'-') => (true, &plain[1..]),
        Some(b'+') => (false, &plain[1..]),
        _ => (false, &*plain),
    };
    let prefix = digits.as_bytes().first_chunk::<2>().map(|[a, b]| [*a, b.to_ascii_lowercase()]);
    let (radix, body) = match prefix.as_ref() {
        Some(b"0x") => (16, &digits[2..]),
        Some(b"0o") => (8, &digits[2..]),
        Some(b"0b") => (2, &digits[2..]),
        // `08` is no octal number and becomes the float that go-yaml tries next, as 8.
        Some([b'0', _]) => (8, &digits[1..]),
        _ => (10, digits),
    };
    // from_str_radix accepts a sign, which Go does only after `0b`.
    if body.bytes().all(|byte| byte.is_ascii_alphanumeric())
        && let Ok(magnitude) = u64::from_str_radix(body, radix)
    {
        match i64::try_from(magnitude) {
            Ok(value) if !negative => return Some(Number::Int(value)),
            // With a sign, Go tries only the signed type.
            Err(_) if digits.len() == plain.len() => return Some(Number::Uint(magnitude)),
            _ => {}
        }
        if let Some(value) = 0i64.checked_sub_unsigned(magnitude).filter(|_| negative) {
            return Some(Number::Int(value));
        }
    }
    parse_float(&plain).or_else(|| {
        // strconv accepts no sign after a prefix, but resolve.go parses the rest of `0b` once more.
        i64::from_str_radix(plain.strip_prefix("0b")?, 2).ok().map(Number::Int)
    })
}

/// Parses a float that starts with a point, where Go allows underscores only between digits.
fn point_float(text: &str) -> Option<Number> {
    let bytes = text.as_bytes();
    let is_digit = |index: usize| bytes.get(index).is_some_and(u8::is_ascii_digit);
    let well_placed =
        text.match_indices('_').all(|(index, _)| is_digit(index - 1) && is_digit(index + 1));
    if well_placed { parse_float(&text.replace('_', "")) } else { None }
}

/// Returns the number that `count` hexadecimal digits at an offset spell.
pub(super) fn hexadecimal(text: &str, offset: usize, count: usize) -> Option<u32> {
    let digits = text.get(offset..offset + count)?;
    // `from_str_radix` accepts a sign.
    let are_digits = digits.bytes().all(|byte| byte.is_ascii_hexdigit());
    u32::from_str_radix(digits, 16).ok().filter(|_| are_digits)
}

/// Parses `[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?`.
fn parse_float(text: &str) -> Option<Number> {
    // Rust also reads the names of what is not finite.
    text.parse::<f64>().ok().filter(|value| value.is_finite()).map(Number::Float)
}

/// Converts a value as JSON does: a float without a fraction becomes an integer.
pub(super) fn through_json(value: Value) -> Value {
    const EXACT: f64 = 9_007_199_254_740_992.0; // 2^53: above it not every integer is a float.
    match value {
        #[expect(clippy::cast_possible_truncation, reason = "exact below 2^53")]
        Value::Number(Number::Float(float)) if float.fract() == 0.0 && float.abs() <= EXACT => {
            Value::Number(Number::Int(float as i64))
        }
        _ => value,
    }
}

/// Returns the JSON key for a map key; `None` for unsupported keys, which in sigs.k8s.io/yaml
/// include integers beyond 63 bits.
pub(super) fn key(value: Value) -> Option<String> {
    match value {
        Value::Text(text) => Some(text),
        Value::Bool(value) => Some(value.to_string()),
        Value::Number(Number::Int(value)) => Some(value.to_string()),
        Value::Number(Number::Float(value)) => Some(float_key(value)),
        _ => None,
    }
}

/// Go's `strconv.FormatFloat(value, 'g', -1, 32)`, which sigs.k8s.io/yaml uses for keys.
#[expect(clippy::cast_possible_truncation, reason = "Go rounds here, too")]
pub(super) fn float_key(value: f64) -> String {
    let value = value as f32;
    let scientific = format!("{value:e}");
    match scientific.split_once('e').map(|(m, exponent)| (m, exponent.parse::<i32>())) {
        // The limits of `%e` in strconv/ftoa.go for the shortest form, whatever the number of
        // digits.
        Some((mantissa, Ok(exponent))) if !(-4..6).contains(&exponent) => {
            format!("{mantissa}e{exponent:+03}")
        }
        _ if value.is_nan() => ".nan".to_owned(),
        _ if value.is_infinite() => scientific.replace("inf", ".inf"),
        _ => value.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn number_of(text: &str) -> Option<Number> {
        match resolve(text) {
            Some(value) => match through_json(value) {
                Value::Number(number) => Some(number),
                _ => None,
            },
            None => None,
        }
    }

    #[test]
    fn numbers_as_go_reads_them() {
        for (text, expected) in [
            ("0644", Number::Int(420)),
            ("0o644", Number::Int(420)),
            ("0O17", Number::Int(15)),
            ("0x1F", Number::Int(31)),
            ("-0x1F", Number::Int(-31)),
            ("0b101", Number::Int(5)),
            ("1_000", Number::Int(1000)),
            ("0_7", Number::Int(7)),
            ("08", Number::Int(8)),
            ("+5", Number::Int(5)),
            ("-9223372036854775808", Number::Int(i64::MIN)),
            ("9223372036854775808", Number::Uint(1 << 63)),
            ("18446744073709551615", Number::Uint(u64::MAX)),
            ("18446744073709551616", Number::Float(18_446_744_073_709_551_616.0)),
            ("1e3", Number::Int(1000)),
            ("1.0", Number::Int(1)),
            ("4.294967295e+09", Number::Int(4_294_967_295)),
            (".5", Number::Float(0.5)),
            ("0.1", Number::Float(0.1)),
            ("-1.5e-3", Number::Float(-0.0015)),
            ("0", Number::Int(0)),
            ("-0", Number::Int(0)),
            ("+18446744073709551615", Number::Float(18_446_744_073_709_551_615.0)),
            ("0b-101", Number::Int(-5)),
            (".8_7", Number::Float(0.87)),
        ] {
            assert_eq!(number_of(text), Some(expected), "{text}");
        }
    }

    #[test]
    fn strings_that_look_like_numbers() {
        for text in [
            "1e400",
            "0x",
            "0o8",
            "1.2.3",
            "12:30",
            "2020-01-01",
            "2020-01-01T00:00:00Z",
            "-",
            "+",
            "1e",
            "e1",
            "0x-1",
            "0x+1",
            "0o+7",
            "+infinity",
            "--1",
            "+-1",
            ".",
            "..5",
            ".5x",
            "1__",
            "infinity",
            "-inf",
            "nan",
            "0xg",
            "1.5.",
            "5m",
            ".8_",
            "._8",
            "0b",
        ] {
            let expected = if text == "1__" { Some(Number::Int(1)) } else { None };
            assert_eq!(number_of(text), expected, "{text}");
        }
    }

    #[test]
    fn booleans_and_nulls() {
        for text in ["y", "Y", "yes", "on", "ON", "true", "True"] {
            assert_eq!(resolve(text), Some(Value::Bool(true)), "{text}");
        }
        for text in ["n", "N", "no", "off", "OFF", "false"] {
            assert_eq!(resolve(text), Some(Value::Bool(false)), "{text}");
        }
        for text in ["", "~", "null", "NULL"] {
            assert_eq!(resolve(text), Some(Value::Null), "{text}");
        }
        for text in ["tRUE", "oN", "nULL", "yEs", "None"] {
            assert_eq!(resolve(text), None, "{text}");
        }
        assert_eq!(resolve("+.Inf"), Some(Value::Number(Number::Float(f64::INFINITY))));
    }

    #[test]
    fn keys_as_go_spells_them() {
        for (text, expected) in [
            ("0644", "420"),
            ("1.50", "1.5"),
            ("1.0", "1"),
            ("-.0", "-0"),
            ("1e5", "100000"),
            ("1e6", "1e+06"),
            ("0.0001", "0.0001"),
            ("1e-5", "1e-05"),
            ("-1.25e22", "-1.25e+22"),
            ("1e300", ".inf"),
            (".NaN", ".nan"),
            ("+.Inf", ".inf"),
            ("-.INF", "-.inf"),
            ("-1e300", "-.inf"),
            ("0.1234567891", "0.12345679"),
            ("on", "true"),
            ("2020-01-01", "2020-01-01"),
        ] {
            let value = resolve(text).unwrap_or(Value::text(text));
            assert_eq!(key(value).as_deref(), Some(expected), "{text}");
        }
        assert_eq!(key(Value::Null), None);
    }
}
