//! Readings by Kubernetes' decoder, and comparison of two readings.

use serde_json::Value as Json;
use std::io::{BufReader, BufWriter, Read as _, Write as _};
use std::path::Path;
use std::process::{Command, Stdio};

/// The documents of a text, without empty ones, or why it is refused.
pub(crate) type Reading = Result<Vec<Json>, String>;

/// Reads all texts with one process.
///
/// # Panics
/// When the process cannot be run.
pub(crate) fn read_all(program: &Path, texts: &[&str]) -> Vec<Reading> {
    let mut child = Command::new(program)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("the program starts");
    let mut input = BufWriter::new(child.stdin.take().expect("a pipe"));
    let mut output = BufReader::new(child.stdout.take().expect("a pipe"));
    let readings = std::thread::scope(|scope| {
        scope.spawn(move || {
            for text in texts {
                let length = u32::try_from(text.len()).expect("less than 4 GiB");
                input.write_all(&length.to_le_bytes()).expect("it reads");
                input.write_all(text.as_bytes()).expect("it reads");
            }
            // Dropping the pipe ends the input.
        });
        texts
            .iter()
            .map(|text| {
                let mut head = [0; 5];
                output.read_exact(&mut head).unwrap_or_else(|error| panic!("{error}: {text:?}"));
                let length = u32::from_le_bytes([head[1], head[2], head[3], head[4]]);
                let mut content = vec![0; length as usize];
                output.read_exact(&mut content).expect("the answer");
                match head[0] {
                    1 => Ok(serde_json::from_slice(&content).expect("JSON")),
                    _ => Err(String::from_utf8_lossy(&content).into_owned()),
                }
            })
            .collect()
    });
    assert!(child.wait().expect("it ends").success());
    readings
}

/// A way in which the two readers differ on purpose.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Deviation {
    /// Part of our error, where we are stricter.
    ours: Option<&'static str>,
    /// Part of Go's error, where we are laxer.
    theirs: Option<&'static str>,
    /// Why it is so.
    pub(crate) reason: &'static str,
}

const fn stricter(ours: &'static str, reason: &'static str) -> Deviation {
    Deviation { ours: Some(ours), theirs: None, reason }
}

const fn laxer(theirs: &'static str, reason: &'static str) -> Deviation {
    Deviation { ours: None, theirs: Some(theirs), reason }
}

/// Everything in which they may differ.
pub(crate) const DEVIATIONS: &[Deviation] = &[
    stricter("found more after the end of the document", "Go drops the rest without a word"),
    stricter("directives such as", "Go drops them with the rest of a document"),
    stricter("the tag handle", "Go drops it with the rest of a document"),
    stricter("found the control character", "Go drops it with the rest of a document"),
    stricter("found no JSON object after a JSON object", "Go also reads YAML there"),
    stricter("byte order mark inside", "Go skips one character of each line after it"),
    // No key begins with a comma. Found after U+2029, which is a line break to Go: fuzzing.
    stricter("next key of the map, found `,`", "Go drops it with the rest of a document"),
    stricter("name of an anchor consists", "`&x:y a: 1` is the key `:y a` to Go"),
    stricter("a map key must be a string", "Go drops what follows `[]: x`"),
    stricter("does not match its tag `!!binary`", "Go replaces what is no UTF-8"),
    stricter("that JSON and Kubernetes do not support", "the key is overridden later"),
    stricter("nest more than 250 deep", "Go allows 10,000"),
    stricter("the file has more than", "a limit of ours"),
    stricter("anchors and aliases repeat more than", "a limit of ours"),
    stricter("an alias is inside the value", "the key is overridden later"),
    laxer("excessive aliasing", "Go's limit is a ratio, ours an amount"),
    laxer("as a !!timestamp", "a text is a text"),
    laxer("panic: ", "Go does not read it"),
];

/// The result of comparing two readings.
#[derive(Debug)]
pub(crate) enum Verdict {
    /// The same trees.
    Same,
    /// Both refuse the text.
    Refused,
    /// They differ, as intended.
    Intended(&'static Deviation),
    /// They differ.
    Different,
}

/// Compares our reading of a text with that of Kubernetes.
pub(crate) fn compare(ours: &Reading, theirs: &Reading) -> Verdict {
    match (ours, theirs) {
        (Ok(ours), Ok(theirs)) => {
            let same = ours.len() == theirs.len()
                && ours.iter().zip(theirs).all(|(ours, theirs)| is_same(ours, theirs));
            if same { Verdict::Same } else { Verdict::Different }
        }
        (Err(_), Err(_)) => Verdict::Refused,
        (ours, theirs) => {
            let said = |part: Option<&str>, reading: &Reading| {
                part.is_some_and(|part| reading.as_ref().is_err_and(|error| error.contains(part)))
            };
            DEVIATIONS
                .iter()
                .find(|known| said(known.ours, ours) || said(known.theirs, theirs))
                .map_or(Verdict::Different, Verdict::Intended)
        }
    }
}

/// Returns the text with another character in place of byte order marks inside of it, if it has any.
///
/// go-yaml looks for a mark at the beginning of its buffer instead of at its position (`is_bom`), and
/// while it finds one there, it skips the first characters of lines. So Go's reading of a text with a
/// mark depends on the number of bytes before the mark.
pub(crate) fn without_marks(text: &str) -> Option<String> {
    const MARK: char = '\u{feff}';
    let inside = text.strip_prefix(MARK).unwrap_or(text);
    // As long as a mark, and allowed in all places.
    inside.contains(MARK).then(|| inside.replace(MARK, "\u{fffc}"))
}

/// Returns true if two trees are the same to an API server, which takes numbers through int64 where they
/// fit, and float64 otherwise.
fn is_same(ours: &Json, theirs: &Json) -> bool {
    match (ours, theirs) {
        (Json::Object(ours), Json::Object(theirs)) => {
            ours.len() == theirs.len()
                && ours
                    .iter()
                    .all(|(key, value)| theirs.get(key).is_some_and(|other| is_same(value, other)))
        }
        (Json::Array(ours), Json::Array(theirs)) => {
            ours.len() == theirs.len() && ours.iter().zip(theirs).all(|(a, b)| is_same(a, b))
        }
        (Json::Number(ours), Json::Number(theirs)) => {
            ours == theirs || ours.as_f64() == theirs.as_f64()
        }
        _ => ours == theirs,
    }
}
