//! The places of values in a text, and the texts of its scalars. Only for a few files, because
//! [`crate::read()`] does not keep the places of millions of values.

use super::{Event, Events, Mark};
use crate::ir::Step;
use std::borrow::Cow;

/// A document of a text.
#[derive(Debug)]
pub struct Document<'t> {
    /// 1-based number, counting empty documents too.
    pub number: usize,
    /// False if an error ends it.
    pub is_whole: bool,
    /// Its content.
    pub root: Node<'t>,
}

/// A value, and the key that it has in a map.
#[derive(Debug)]
pub struct Node<'t> {
    key: Option<Cow<'t, str>>,
    /// The place of the key, or that of the value without one.
    start: Mark,
    text: Option<Cow<'t, str>>,
    children: Vec<Node<'t>>,
}

impl Node<'_> {
    /// Returns the text of a scalar, as written.
    pub fn text(&self) -> Option<&str> {
        self.text.as_deref()
    }

    /// Returns the item of a list, or the entry of a map.
    pub fn child(&self, step: &Step) -> Option<&Self> {
        match step {
            Step::Index(index) => self.children.get(*index).filter(|child| child.key.is_none()),
            // Of two equal keys the last counts.
            Step::Key(key) => {
                self.children.iter().rfind(|child| child.key.as_deref() == Some(key.as_str()))
            }
            Step::Item(_) | Step::Order(_) => None,
        }
    }

    /// Returns the place of the last of `steps` that exists: a key, or a list item.
    pub fn find(&self, steps: &[Step]) -> Mark {
        let mut found = self;
        for step in steps {
            let Some(child) = found.child(step) else { break };
            found = child;
        }
        found.start
    }
}

/// A list or map that is open; in a map, the key whose value comes next.
struct Open<'t> {
    node: Node<'t>,
    is_map: bool,
    key: Option<(Cow<'t, str>, Mark)>,
}

/// Returns the documents of a text, as far as it can be read.
pub fn outline(text: &str) -> Vec<Document<'_>> {
    let mut documents = Vec::new();
    let mut is_whole = true;
    let mut open: Vec<Open<'_>> = Vec::new();
    let mut events = Events::new(text);
    loop {
        let leaf = |text, start| Node { key: None, start, text, children: Vec::new() };
        let mut node = match events.next() {
            Some(Ok((
                begun @ (Event::SequenceStart { .. } | Event::MappingStart { .. }),
                start,
            ))) => {
                let is_map = matches!(begun, Event::MappingStart { .. });
                open.push(Open { node: leaf(None, start), is_map, key: None });
                continue;
            }
            Some(Ok((Event::Scalar { text, .. }, start))) => leaf(Some(text), start),
            // The content is at the anchor; a path into it ends at the alias, where it is used.
            Some(Ok((Event::Alias(..), start))) => leaf(None, start),
            // The reader of the file reports an error; what comes before it still has a place.
            end => {
                is_whole &= matches!(end, Some(Ok(_)));
                let Some(closed) = open.pop() else { break };
                closed.node
            }
        };
        match open.last_mut() {
            None => documents.push(Document { number: events.document(), is_whole, root: node }),
            Some(Open { is_map: true, key: key @ None, .. }) => {
                *key = Some((node.text.unwrap_or_default(), node.start));
            }
            Some(parent) => {
                if let Some((key, start)) = parent.key.take() {
                    (node.key, node.start) = (Some(key), start);
                }
                parent.node.children.push(node);
            }
        }
    }
    documents
}

#[cfg(test)]
mod tests;
