//! Kubernetes' rules for names.

/// Returns the reason why `text` is not a DNS-1123 label of at most `limit` characters; `None` if
/// it is one (RFC 1123, section 2.1, as applied by Kubernetes).
pub fn label_fault(text: &str, limit: usize) -> Option<String> {
    let allowed = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    if text.is_empty() {
        return Some("is empty".to_owned());
    }
    if let Some(character) = text.chars().find(|&c| !allowed(c)) {
        return Some(format!("contains {character:?}"));
    }
    if text.starts_with('-') || text.ends_with('-') {
        return Some("begins or ends with a dash".to_owned());
    }
    (text.len() > limit).then(|| format!("has {} characters", text.len()))
}

/// Returns true if the text is a DNS label of at most 63 characters.
pub fn is_label(text: &str) -> bool {
    label_fault(text, 63).is_none()
}

/// Returns true if the text is valid as a label value, or as a label key after the slash.
pub fn is_label_value(text: &str) -> bool {
    let plain = |b: u8| b.is_ascii_alphanumeric() || b"-_.".contains(&b);
    let ends = |c: char| c.is_ascii_alphanumeric();
    text.is_empty()
        || text.len() <= 63
            && text.bytes().all(plain)
            && text.starts_with(ends)
            && text.ends_with(ends)
}

/// Returns true for keys of labels and annotations: like a label's value, with an optional DNS
/// subdomain and slash before it. Kubernetes reads keys of annotations in lower case.
pub fn is_label_key(key: &str) -> bool {
    let (is_domain, name) = match key.split_once('/') {
        Some((prefix, name)) => (dns_subdomain(prefix).is_ok(), name),
        None => (true, key),
    };
    is_domain && !name.is_empty() && is_label_value(name)
}

/// Checks an RFC 1123 subdomain, the form of most object names.
///
/// # Errors
/// The reason why it is none.
pub fn dns_subdomain(name: &str) -> Result<(), &'static str> {
    if name.is_empty() {
        return Err("it is empty");
    }
    // `DNS1123SubdomainMaxLength` in apimachinery.
    if name.len() > 253 {
        return Err("it has more than 253 characters");
    }
    // The length of a single label does not count here, as in Kubernetes.
    if name.split('.').all(|label| label_fault(label, name.len()).is_none()) {
        Ok(())
    } else {
        Err(
            "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' \
             or '.', and must start and end with an alphanumeric character",
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_of_labels() {
        for (key, good) in [
            ("app", true),
            ("a.b/C_d", true),
            ("", false),
            ("x/", false),
            ("/x", false),
            ("X_/y", false),
            ("a/b/c", false),
        ] {
            assert_eq!(is_label_key(key), good, "{key}");
        }
    }

    #[test]
    fn values_of_labels() {
        let long = "a".repeat(64);
        for (value, good) in
            [("", true), ("a.b_C-1", true), ("-a", false), ("a b", false), (long.as_str(), false)]
        {
            assert_eq!(is_label_value(value), good, "{value}");
        }
    }
}
