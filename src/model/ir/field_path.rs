//! Paths in objects, in which list items are identified by their merge keys.

pub use super::path::Step;
use super::path_of;
use std::fmt;

/// A path from the root of an object.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Path(pub Vec<Step>);

impl Path {
    /// Returns the path extended by one step.
    pub fn with(&self, step: Step) -> Path {
        let mut steps = self.0.clone();
        steps.push(step);
        Path(steps)
    }

    /// Returns the steps.
    pub fn steps(&self) -> &[Step] {
        &self.0
    }

    /// Returns the map keys of the path, without list items.
    pub fn keys(&self) -> Vec<&str> {
        self.0
            .iter()
            .filter_map(|step| match step {
                Step::Key(key) => Some(key.as_str()),
                _ => None,
            })
            .collect()
    }

    /// Returns the last map key.
    pub fn last_key(&self) -> Option<&str> {
        self.keys().last().copied()
    }
}

impl Step {
    /// Returns the step as patterns match it: the key, or the text between the brackets.
    pub fn label(&self) -> String {
        match self {
            Step::Key(key) => key.clone(),
            Step::Item(fields) => match fields.as_slice() {
                [(_, value)] => value.clone(),
                _ => fields
                    .iter()
                    .filter(|(_, value)| !value.is_empty())
                    .map(|(key, value)| format!("{key}={value}"))
                    .collect::<Vec<_>>()
                    .join(" "),
            },
            Step::Index(index) => index.to_string(),
            Step::Order(_) => "order".to_owned(),
        }
    }
}

impl fmt::Display for Path {
    /// Writes the path as `.spec.containers[manager].env["A B"]`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&path_of(&self.0))
    }
}
