//! Patterns for names of files, and for other texts.

/// Returns true if a name fits a pattern, in which `*` matches any bytes and `?` any one.
pub fn fits(pattern: &str, name: &str) -> bool {
    matches(pattern, name, Some(b'?'))
}

/// Returns true if a text fits a pattern, in which `*` matches any bytes.
pub fn fits_stars(pattern: &str, text: &str) -> bool {
    matches(pattern, text, None)
}

/// Returns for each number of the first names, from 0 on, if they fit a pattern, both in segments.
/// `**` fits any segments, other ones are compared by `fits`.
pub fn fitting<P: AsRef<str>, N: AsRef<str>>(
    pattern: &[P],
    names: &[N],
    fits: fn(&str, &str) -> bool,
) -> Vec<bool> {
    let mut reached = vec![false; names.len() + 1];
    reached[0] = true;
    // The work is bounded by the product of their lengths, which recursion is not.
    for part in pattern.iter().map(AsRef::as_ref) {
        let mut next = vec![false; names.len() + 1];
        if part == "**" {
            let first = reached.iter().position(|reached| *reached).unwrap_or(next.len());
            next[first..].fill(true);
        } else {
            for (index, name) in names.iter().enumerate() {
                next[index + 1] = reached[index] && fits(part, name.as_ref());
            }
        }
        reached = next;
    }
    reached
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
