//! Patterns for names of files, and for other texts.

/// Returns true if a name fits a pattern, in which `*` matches any bytes and `?` any one.
pub fn fits(pattern: &str, name: &str) -> bool {
    matches(pattern, name, Some(b'?'))
}

/// Returns true if a text fits a pattern, in which `*` matches any bytes.
pub fn fits_stars(pattern: &str, text: &str) -> bool {
    matches(pattern, text, None)
}

fn matches(pattern: &str, name: &str, any_one: Option<u8>) -> bool {
    let (pattern, name) = (pattern.as_bytes(), name.as_bytes());
    // The position after the last `*` in the pattern, and how much of the name it matched so far.
    let (mut at, mut offset, mut star) = (0, 0, None);
    while offset < name.len() {
        match pattern.get(at) {
            Some(b'*') => {
                at += 1;
                star = Some((at, offset));
            }
            Some(wanted) if Some(*wanted) == any_one || Some(wanted) == name.get(offset) => {
                at += 1;
                offset += 1;
            }
            // Going back to the last `*` is enough, because those before it matched as little as
            // possible. With a way back to all of them, the time could grow exponentially.
            _ => match &mut star {
                Some((after, matched)) => {
                    *matched += 1;
                    (at, offset) = (*after, *matched);
                }
                None => return false,
            },
        }
    }
    pattern.iter().skip(at).all(|rest| *rest == b'*')
}
