//! Compares the texts that two schemas allow: patterns and lengths are automata, which are followed
//! together until the old ones accept a text that the new one refuses.

use crate::overlay;
use regex_automata::dfa::{Automaton, StartKind, dense};
use regex_automata::nfa::thompson;
use regex_automata::util::primitives::StateID;
use regex_automata::{Input, MatchKind};
use serde_json::Value as Json;
use std::collections::{HashMap, HashSet};
use std::sync::{LazyLock, Mutex, PoisonError};

type Dfa = dense::DFA<Vec<u32>>;

/// Memory of one automaton, in bytes; a larger one is not followed.
const LARGEST: usize = 1 << 21;
/// Number of combinations of states that are looked at.
const MOST_STATES: usize = 20_000;
/// The longest length that is made an automaton.
const LONGEST: u64 = 512;

/// The fate of texts that an old schema allows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Texts {
    /// The new schema allows all of them.
    StayAllowed,
    /// It refuses this one.
    Refused(String),
    /// The automata are too large, or a pattern is none.
    Unknown,
}

/// Compares the patterns and lengths of two schemas.
pub(super) fn compare(old: &Json, new: &Json) -> Texts {
    // An upgrade may bring the same pattern to hundreds of fields, and automata take time.
    static COMPARED: LazyLock<Mutex<HashMap<[Vec<String>; 2], Texts>>> =
        LazyLock::new(Mutex::default);
    let (Some(old), Some(new)) = (patterns(old), patterns(new)) else { return Texts::Unknown };
    let compared = || COMPARED.lock().unwrap_or_else(PoisonError::into_inner);
    let pair = [old, new];
    let known = compared().get(&pair).cloned();
    // Other threads go on meanwhile.
    known.unwrap_or_else(|| {
        let texts = follow(&pair[0], &pair[1]);
        compared().insert(pair, texts.clone());
        texts
    })
}

/// Returns the patterns that match the texts of a schema, all of them; `None` if a text may be too long.
fn patterns(schema: &Json) -> Option<Vec<String>> {
    let length = |key: &str| schema.get(key).and_then(Json::as_u64);
    let least = length("minLength").unwrap_or(0);
    let most = length("maxLength").filter(|most| *most <= LONGEST);
    // A longer text may be allowed then, so that a shorter bound is no automaton.
    if length("maxLength") != most || least > LONGEST {
        return None;
    }
    let most = most.map_or(String::new(), |most| most.to_string());
    let mut patterns = vec![format!("^(?s:.){{{least},{most}}}$")];
    patterns.extend(schema.get("pattern").and_then(Json::as_str).map(overlay::pattern));
    Some(patterns)
}

/// Follows the automata of both sides.
fn follow(old: &[String], new: &[String]) -> Texts {
    let [Some(old), Some(new)] = [old, new].map(|patterns| {
        patterns.iter().map(|pattern| automaton(pattern)).collect::<Option<Vec<Dfa>>>()
    }) else {
        return Texts::Unknown;
    };
    let mut all = Texts::StayAllowed;
    for condition in &new {
        match escape(&old, condition) {
            Texts::StayAllowed => {}
            found @ Texts::Refused(_) => return found,
            Texts::Unknown => all = Texts::Unknown,
        }
    }
    all
}

fn automaton(pattern: &str) -> Option<Dfa> {
    let config = dense::Config::new()
        .match_kind(MatchKind::All)
        .start_kind(StartKind::Unanchored)
        .accelerate(false)
        .dfa_size_limit(Some(LARGEST))
        .determinize_size_limit(Some(LARGEST));
    // Expanding a count of repetitions takes longer than all else, and ends here if it is too large.
    let expansion = thompson::Config::new().nfa_size_limit(Some(LARGEST));
    dense::Builder::new().configure(config).thompson(expansion).build(pattern).ok()
}

/// The state of an automaton; `None` after a match, because patterns match anywhere in a text.
type State = Option<StateID>;

/// States, with the index of those before and the byte between them.
type Entry = (Vec<State>, Option<(usize, u8)>);

fn next(automaton: &Dfa, state: State, byte: u8) -> State {
    let next = automaton.next_state(state?, byte);
    (!automaton.is_match_state(next)).then_some(next)
}

fn accepts(automaton: &Dfa, state: State) -> bool {
    state.is_none_or(|state| automaton.is_match_state(automaton.next_eoi_state(state)))
}

/// Searches the shortest text that all conditions accept, and one refuses. The empty text is given only if
/// there is no other: as an example, it would hide that more is refused.
fn escape(old: &[Dfa], new: &Dfa) -> Texts {
    let all: Vec<&Dfa> = old.iter().chain([new]).collect();
    let start = all.iter().map(|automaton| automaton.start_state_forward(&Input::new("")).ok());
    let Some(start) = start.collect::<Option<Vec<_>>>() else { return Texts::Unknown };
    let start: Vec<State> = start.into_iter().map(Some).collect();
    let bytes = representatives(&all);

    let mut seen = HashSet::from([start.clone()]);
    let mut queue: Vec<Entry> = vec![(start, None)];
    let mut at = 0;
    let mut otherwise = Texts::StayAllowed;
    while let Some((states, ..)) = queue.get(at) {
        let states = states.clone();
        let accepted = |(automaton, state): (&&Dfa, &State)| accepts(automaton, *state);
        let mut each = all.iter().zip(&states).map(accepted);
        if each.by_ref().take(old.len()).all(|accepted| accepted) && each.next() == Some(false) {
            let found = Texts::Refused(text(&queue, at));
            if at > 0 {
                return found;
            }
            otherwise = found;
        }

        for byte in &bytes {
            let reached: Vec<State> = all
                .iter()
                .zip(&states)
                .map(|(automaton, state)| next(automaton, *state, *byte))
                .collect();
            let is_dead = all.iter().zip(&reached).take(old.len()).any(|(automaton, state)| {
                state.is_some_and(|state| automaton.is_dead_state(state))
            });
            // Nothing follows that only the new condition refuses.
            let is_allowed = reached.last() == Some(&None);
            if !is_dead && !is_allowed && seen.insert(reached.clone()) {
                queue.push((reached, Some((at, *byte))));
            }
        }
        if queue.len() > MOST_STATES {
            return if otherwise == Texts::StayAllowed { Texts::Unknown } else { otherwise };
        }
        at += 1;
    }
    otherwise
}

/// Returns one byte for each set of bytes that no automaton tells apart, letters first.
fn representatives(all: &[&Dfa]) -> Vec<u8> {
    let mut seen = HashSet::new();
    let order = (b'a'..=b'z').chain(b'0'..=b'9').chain(b'!'..=b'~').chain(0..=u8::MAX);
    let classes = |byte: &u8| {
        all.iter().map(|automaton| automaton.byte_classes().get(*byte)).collect::<Vec<u8>>()
    };
    order.filter(|byte| seen.insert(classes(byte))).collect()
}

/// Returns the text that leads to an entry of the queue.
fn text(queue: &[Entry], mut at: usize) -> String {
    let mut bytes = Vec::new();
    while let Some((_, Some((before, byte)))) = queue.get(at) {
        bytes.push(*byte);
        at = *before;
    }
    bytes.reverse();
    // Automata read bytes, so that the shortest text may end within a character.
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn texts_are_compared() {
        let pattern = |pattern: &str| json!({ "pattern": pattern });
        let label = "^[a-z0-9]([-a-z0-9]*[a-z0-9])?$";
        let name = "^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$";
        let stay = || Texts::StayAllowed;
        let refused = |text: &str| Texts::Refused(text.to_owned());
        for (old, new, expected) in [
            (pattern(label), pattern(name), stay()),
            (pattern(name), pattern(label), refused("a.a")),
            (pattern("^[a-z]+$"), pattern("^[a-z0-9]+$"), stay()),
            (pattern("^[a-z0-9]+$"), pattern("^[a-z]+$"), refused("0")),
            (pattern("^(a|b)$"), pattern("^[ab]$"), stay()),
            (pattern("^a"), pattern("a"), stay()),
            (pattern("a"), pattern("^a"), refused("ba")),
            (json!({}), pattern("^.*$"), refused("\n")),
            (json!({}), pattern(""), stay()),
            (json!({"minLength": 1}), pattern("(?s)^.+$"), stay()),
            (json!({}), pattern("(?s)^.+$"), refused("")),
            (json!({}), pattern(label), refused("!")),
            (pattern("^[a-z]{1,3}$"), json!({"minLength": 1, "maxLength": 3}), stay()),
            (pattern("^[a-z]{1,4}$"), json!({"maxLength": 3}), refused("aaaa")),
            (pattern("^ä$"), json!({"maxLength": 1}), stay()),
            (pattern("^[\\x00a]$"), pattern("^a$"), refused("\0")),
            (json!({"minLength": 512}), pattern(""), stay()),
            (json!({"minLength": 513}), pattern(""), Texts::Unknown),
            (pattern("^a$"), json!({"maxLength": 512}), stay()),
            (pattern("^a$"), json!({"maxLength": 513}), Texts::Unknown),
            (pattern("("), pattern("a"), Texts::Unknown),
            (pattern("^.{9000}$"), pattern("^(.|a)*$"), Texts::Unknown),
        ] {
            assert_eq!(compare(&old, &new), expected, "{old} {new}");
        }
    }
}
