//! Objects one by one out of a file of any size.

use super::objects::{Head, in_words, read};
use crate::ir::Release;
use crate::limits::{Limits, in_bytes};
use memchr::{memchr_iter, memmem};
use std::io::{self, BufRead, BufReader, Read};

/// An error in a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    pub(super) message: String,
    /// 1-based.
    pub(super) line: usize,
    /// True if the file exceeds a limit.
    pub limit: bool,
}

/// Calls `visit` with each object of a file: its identifying fields, and its JSON text. YAML
/// documents are only parsed if they contain the name of the package.
///
/// The inner error is an error of the content, the outer one an I/O error.
pub(super) fn objects(
    content: &mut dyn Read,
    package: &str,
    limits: &Limits,
    visit: &mut dyn FnMut(Head, &[u8]),
) -> io::Result<Result<(), Fault>> {
    let limit = usize::try_from(limits.catalog_object_bytes).unwrap_or(usize::MAX);
    let mut objects = Objects { limit, lines: 0, visit };
    let mut reader = BufReader::with_capacity(64 << 10, content);
    // As Kubernetes' reader decides: the first character makes it JSON.
    loop {
        let start = reader.fill_buf()?;
        let Some(first) = start.first() else { return Ok(Ok(())) };
        match first {
            // Editors on Windows write a byte order mark.
            0xef if start.starts_with(b"\xef\xbb\xbf") => reader.consume(3),
            b' ' | b'\t' | b'\r' => reader.consume(1),
            b'\n' => {
                objects.lines += 1;
                reader.consume(1);
            }
            b'{' => return objects.json(&mut reader),
            _ => return objects.yaml(&mut reader, package),
        }
    }
}

/// Size of the window for reading a JSON file, in bytes.
const WINDOW: usize = 4 << 20;

/// The visit of the objects of a file.
struct Objects<'v> {
    /// Bytes of an object.
    limit: usize,
    /// Lines that were read.
    lines: usize,
    visit: &'v mut dyn FnMut(Head, &[u8]),
}

impl Objects<'_> {
    /// Visits concatenated JSON objects. All whole objects in the window are parsed before it is moved;
    /// it grows for an object that is larger.
    fn json(&mut self, reader: &mut dyn Read) -> io::Result<Result<(), Fault>> {
        let limit = self.limit;
        let mut window: Vec<u8> = Vec::new();
        let mut size = WINDOW.min(limit);
        loop {
            let wanted = size - window.len();
            window.reserve_exact(wanted);
            let at_end = reader.take(wanted as u64).read_to_end(&mut window)? < wanted;
            let mut done = 0;
            let mut stream = serde_json::Deserializer::from_slice(&window).into_iter::<Head>();
            while let Some(next) = stream.next() {
                match next {
                    Ok(head) => {
                        let end = stream.byte_offset();
                        (self.visit)(head, &window[done..end]);
                        done = end;
                    }
                    // The object continues after the window.
                    Err(error) if error.is_eof() && !at_end => break,
                    Err(error) => {
                        let why = in_words(&error);
                        let message = match error.is_eof() {
                            true => format!("unexpected end of file ({why})"),
                            false => why,
                        };
                        // The line is relative to the window.
                        let line = self.lines + error.line().max(1);
                        return Ok(Err(Fault { message, line, limit: false }));
                    }
                }
            }
            if at_end {
                return Ok(Ok(()));
            }

            self.lines += memchr_iter(b'\n', &window[..done]).count();
            if done > 0 {
                window.drain(..done);
                size = WINDOW.min(limit).max(window.len() * 2).min(limit);
            } else if size >= limit {
                return Ok(Err(self.too_large()));
            } else {
                size = size.saturating_mul(2).min(limit);
            }
        }
    }

    fn too_large(&self) -> Fault {
        let message = format!("an object has more than {}", in_bytes(self.limit as u64));
        Fault { message, line: self.lines + 1, limit: true }
    }

    /// Reads YAML documents, which are separated by lines that start with `---`, even inside a scalar
    /// (YAML 1.2, section 9.1.2).
    fn yaml(&mut self, reader: &mut dyn BufRead, package: &str) -> io::Result<Result<(), Fault>> {
        let mut text: Vec<u8> = Vec::new();
        let finder = memmem::Finder::new(package);
        let mut line = 0;
        loop {
            let start = text.len();
            let rest = (self.limit + 1).saturating_sub(start) as u64;
            let read = reader.take(rest).read_until(b'\n', &mut text)?;
            if text.len() > self.limit {
                return Ok(Err(self.too_large()));
            }

            let is_mark = match &text[start..] {
                [b'-', b'-', b'-', rest @ ..] => {
                    rest.first().is_none_or(|next| matches!(next, b' ' | b'\t' | b'\r' | b'\n'))
                }
                _ => false,
            };
            if (read == 0 || is_mark) && start > 0 {
                if let Err(fault) = self.document(&text[..start], &finder) {
                    return Ok(Err(fault));
                }
                text.drain(..start);
                self.lines += line;
                line = 0;
            }
            if read == 0 {
                return Ok(Ok(()));
            }
            line += 1;
        }
    }

    fn document(&mut self, text: &[u8], package: &memmem::Finder<'_>) -> Result<(), Fault> {
        let lines = self.lines;
        let fault =
            |line: usize, message: String, limit| Fault { message, line: lines + line, limit };
        // Parsing YAML is slow, and nearly all documents are about other packages.
        if package.find(text).is_none() {
            if let Some(name) = other_package(text) {
                (self.visit)(Head::package(name), b"");
            }
            return Ok(());
        }

        let text = std::str::from_utf8(text)
            .map_err(|_| fault(1, "a document is not UTF-8 text".to_owned(), false))?;
        let parsed = crate::yaml::read(text).map_err(|problem| {
            fault(problem.line, problem.message, problem.cause == crate::yaml::Cause::Limit)
        })?;
        let release = Release::LITERAL;
        for value in parsed.documents.into_iter().map(|document| document.value) {
            let json = release.value(&value).to_string();
            let head: Head = read(json.as_bytes()).map_err(|why| fault(1, why, false))?;
            (self.visit)(head, json.as_bytes());
        }
        Ok(())
    }
}

/// Finds the package name in an object of another package by its usual layout; only used for hints.
fn other_package(text: &[u8]) -> Option<String> {
    let is_package = |line: &[u8]| {
        line.strip_prefix(b"schema:").is_some_and(|value| value.trim_ascii() == b"olm.package")
    };
    // Bundles are large, and their schema is in their last line.
    let looked_at = if text.len() > 16 << 10 { 50 } else { usize::MAX };
    let mut lines = text.split(|byte| *byte == b'\n').take(looked_at);
    if !lines.any(is_package) {
        return None;
    }
    let name = text.split(|byte| *byte == b'\n').find_map(|line| line.strip_prefix(b"name:"))?;
    Some(std::str::from_utf8(name.trim_ascii()).ok()?.trim_matches(['"', '\'']).to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn heads(text: &str, limits: &Limits) -> (Vec<String>, Result<(), Fault>) {
        let mut names = Vec::new();
        let outcome = objects(&mut text.as_bytes(), "lamp", limits, &mut |head, _| {
            names.push(format!("{} {}", head.schema.unwrap_or_default(), head.name));
        });
        (names, outcome.unwrap())
    }

    #[test]
    fn json_objects_stand_one_after_the_other() {
        let one = r#"{"schema":"olm.package","name":"lamp","icon":{"x":[1,{"schema":"no"}]}}"#;
        let two = "\n{ \"name\": \"lamp.v1\",\r\n \"schema\": \"olm.bundle\" }";
        let (names, outcome) = heads(&format!("\u{feff} \n{one}{two}\n"), &Limits::default());
        assert_eq!(outcome, Ok(()));
        assert_eq!(names, ["olm.package lamp", "olm.bundle lamp.v1"]);
    }

    #[test]
    fn yaml_documents_are_divided_at_marks() {
        let text = "# a catalog\n---\nschema: olm.package\nname: lamp\nx: |\n  --- no mark\n\
                    --- # mark\nschema: olm.package\nname: other\n---\n---\n\
                    {\"schema\": \"olm.bundle\", \"name\": \"lamp.v1\"}\n";
        let (names, outcome) = heads(text, &Limits::default());
        assert_eq!(outcome, Ok(()));
        assert_eq!(names, ["olm.package lamp", "olm.package other", "olm.bundle lamp.v1"]);
    }

    #[test]
    fn faults_name_their_line() {
        let good = "{\"schema\": \"olm.package\",\n\"name\": \"a\"}\n";
        let (names, outcome) = heads(&format!("{good}{{\"schema\":\n\"x\", ]"), &Limits::default());
        assert_eq!(names.len(), 1);
        assert_eq!(outcome.unwrap_err().line, 4);
        let (_, outcome) = heads(&format!("{good}{{\"schema\": \"olm"), &Limits::default());
        assert!(outcome.unwrap_err().message.contains("unexpected end of file"));
        let (_, outcome) = heads("a: b\n---\nname: lamp\nb: c: d\n", &Limits::default());
        assert_eq!(outcome.unwrap_err().line, 4);
    }

    #[test]
    fn objects_have_a_limit() {
        let limits = Limits { catalog_object_bytes: 100, ..Limits::default() };
        let small = "{\"schema\": \"a\", \"name\": \"b\"}";
        let (names, outcome) = heads(&small.repeat(50), &limits);
        assert_eq!((names.len(), outcome), (50, Ok(())));
        let large = format!("{{\"schema\": \"{}\"}}", "a".repeat(100));
        let (_, outcome) = heads(&format!("{small}\n{large}"), &limits);
        let fault = outcome.unwrap_err();
        assert!(fault.limit, "{fault:?}");
        let (_, outcome) = heads(&format!("a: {}", "b".repeat(100)), &limits);
        assert!(outcome.unwrap_err().limit);
    }

    #[test]
    fn deep_objects_of_others_cost_nothing() {
        let deep =
            format!("{{\"schema\":\"x\",\"y\":{}1{}}}", "[".repeat(100_000), "]".repeat(100_000));
        let (names, outcome) = heads(&deep, &Limits::default());
        assert_eq!((names.len(), outcome), (1, Ok(())));
    }
}
