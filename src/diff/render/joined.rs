//! Joins findings of one rule that differ in the name of one field only:
//! `env[A and B].value: 1 → 2` is one line for two findings.

use crate::diag::listed;
use crate::group::Group;
use std::collections::{HashMap, HashSet};

/// One line of a report, for one or more findings of the same rule.
#[derive(Clone, Debug)]
pub(super) struct Line<'s> {
    /// The reason, with the fields of all findings.
    pub(super) reason: String,
    /// The numbers of the findings.
    pub(super) numbers: Vec<usize>,
    /// The findings as one, for their places and their extent.
    pub(super) group: Group<'s>,
}

/// A reason without one of its fields: the words before and after it.
type Frame<'w> = (&'w [&'w str], &'w [&'w str]);

/// Returns the lines for findings of one rule, in the order of the first finding of each. `most` is
/// the number of fields that a line names; it counts the others.
pub(super) fn joined<'s>(alike: &[&Group<'s>], most: usize) -> Vec<Line<'s>> {
    let words: Vec<Vec<&str>> =
        alike.iter().map(|group| group.reason.split_whitespace().collect()).collect();
    let mut sharing: HashMap<Frame<'_>, Vec<usize>> = HashMap::new();
    for (index, words) in words.iter().enumerate() {
        for frame in frames(words) {
            let sharers = sharing.entry(frame).or_default();
            if sharers.last() != Some(&index) {
                sharers.push(index);
            }
        }
    }

    let mut taken = HashSet::new();
    let mut lines = Vec::new();
    for (index, (group, own)) in alike.iter().zip(&words).enumerate() {
        if taken.contains(&index) {
            continue;
        }
        // Of several fields in a reason, the one in which most findings differ.
        let shared = frames(own).max_by_key(|frame| sharing.get(frame).map(Vec::len));
        // Each list of sharers is used once: afterwards all of them are in a line.
        let sharers = shared.and_then(|frame| sharing.get_mut(&frame)).map(std::mem::take);
        let mut members = sharers.unwrap_or_default();
        members.retain(|member| taken.insert(*member));
        if taken.insert(index) {
            members.push(index);
        }

        let reason = match shared {
            Some(frame) if members.len() > 1 => {
                let (before, after) = frame;
                let of = |member: &usize| words.get(*member)?.get(before.len())?.strip_suffix(':');
                let fields: Vec<&str> = members.iter().filter_map(of).collect();
                let start = before.iter().map(|word| format!("{word} ")).collect::<String>();
                format!("{start}{}: {}", enumerated(&fields, most), after.join(" "))
            }
            _ => group.reason.to_owned(),
        };
        let mut group = Group::clone(group);
        for member in &members[1..] {
            group.places.extend(alike[*member].places.iter().cloned());
        }
        let numbers = members.iter().map(|member| alike[*member].number).collect();
        lines.push(Line { reason, numbers, group });
    }
    lines
}

/// Returns fields as a list; entries of the same list share its name: `env[A and B].value`.
fn enumerated(fields: &[&str], most: usize) -> String {
    let shared = fields.first().and_then(|first| {
        let (start, end) = (first.find('[')? + 1, first.find(']')?);
        let (before, after) = (first.get(..start)?, first.get(end..)?);
        let entry = |field: &&'_ str| {
            let entry = field.strip_prefix(before)?.strip_suffix(after)?;
            (!entry.contains(['[', ']'])).then(|| entry.to_owned())
        };
        let entries: Vec<String> = fields.iter().map(entry).collect::<Option<_>>()?;
        Some(format!("{before}{}{after}", listed(&entries, most)))
    });
    shared.unwrap_or_else(|| listed(fields, most))
}

/// Returns the frames of a reason: one for each word with a colon at its end.
fn frames<'w>(words: &'w [&'w str]) -> impl Iterator<Item = Frame<'w>> {
    let is_field = |(_, word): &(usize, &&str)| word.len() > 1 && word.ends_with(':');
    let fields = words.iter().enumerate().filter(is_field);
    fields.filter_map(move |(at, _)| Some((words.get(..at)?, words.get(at + 1..)?)))
}

#[cfg(test)]
mod tests {
    use super::joined;
    use crate::group::{Group, groups};
    use crate::{Options, Side, compare};
    use serde_json::json;

    /// Returns the lines for reasons of one rule.
    fn lines(reasons: &[&str], most: usize) -> Vec<(String, Vec<usize>)> {
        let map = |value: &str| {
            Side::new(
                "a",
                [json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"},
                    "data": {"a": value}})],
                "ns",
                None,
            )
        };
        let set = compare(map("1"), map("2"), &Options::default());
        let rule = groups(&set)[0].rule;
        let group = |(number, reason)| Group {
            rule,
            reason,
            places: Vec::new(),
            number,
            is_important: false,
        };
        let groups: Vec<Group<'_>> = reasons.iter().copied().enumerate().map(group).collect();
        let lines = joined(&groups.iter().collect::<Vec<_>>(), most);
        lines.into_iter().map(|line| (line.reason, line.numbers)).collect()
    }

    #[test]
    fn reasons_that_differ_in_one_field_are_one_line() {
        let reasons = [
            "container m: env[A].value: 1 → 2",
            "container m: env[C].value: 1 → 3",
            "container m: env[B].value: 1 → 2",
            "container n: env[C].value: 1 → 3",
        ];
        assert_eq!(
            lines(&reasons, 9),
            [
                ("container m: env[A and B].value: 1 → 2".to_owned(), vec![0, 2]),
                ("container m and n: env[C].value: 1 → 3".to_owned(), vec![1, 3]),
            ]
        );
        let lists = ["a[x].b[y]: 1", "a[z].b[y]: 1", "a[z].b: 1"];
        assert_eq!(lines(&lists[..2], 9)[0].0, "a[x and z].b[y]: 1");
        assert_eq!(lines(&lists, 9)[0].0, "a[x].b[y], a[z].b[y] and a[z].b: 1");
        let removed = ["a: removed", "b: removed", "c: removed"];
        assert_eq!(lines(&removed, 2), [("a, b and 1 more: removed".to_owned(), vec![0, 1, 2])]);
    }

    #[test]
    fn values_and_other_sentences_are_not_joined() {
        let reasons =
            ["a: only `x` allowed now", "a: only `y` allowed now", "no field", "no field 2"];
        let lines = lines(&reasons, 9);
        assert_eq!(lines.iter().map(|(reason, _)| reason.as_str()).collect::<Vec<_>>(), reasons);
    }
}
