//! JSON paths, as people read them.

/// Appends `.key`, or `["key"]` where the key has other characters, to a JSON path.
pub fn push_key(path: &mut String, key: &str) {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-';
    if !key.is_empty() && key.bytes().all(plain) {
        path.push('.');
        path.push_str(key);
    } else {
        path.push_str(&format!("[{key:?}]"));
    }
}
