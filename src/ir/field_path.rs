//! Places in an object: JSON paths in which list items are named by what identifies them.

use std::fmt;

/// One step from a value to a part of it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Step {
    /// The entry of a map.
    Key(String),
    /// The item of a list that has these values in its merge key.
    Item(Vec<(String, String)>),
    /// The item at this 0-based index of a list without a merge key.
    Index(usize),
    /// The order of the items of a list that is compared by these fields.
    Order(&'static [&'static str]),
}

/// A path from the root of an object.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Path(pub Vec<Step>);

impl Path {
    /// The path one step further.
    pub fn with(&self, step: Step) -> Path {
        let mut steps = self.0.clone();
        steps.push(step);
        Path(steps)
    }

    /// The steps.
    pub fn steps(&self) -> &[Step] {
        &self.0
    }

    /// The map keys of the path, without its list items.
    pub fn keys(&self) -> Vec<&str> {
        self.0
            .iter()
            .filter_map(|step| match step {
                Step::Key(key) => Some(key.as_str()),
                _ => None,
            })
            .collect()
    }

    /// The last map key.
    pub fn last_key(&self) -> Option<&str> {
        self.keys().last().copied()
    }

    /// Whether `other` is here or below.
    pub fn holds(&self, other: &Path) -> bool {
        other.0.starts_with(&self.0)
    }
}

impl Step {
    /// How the step is called in a pattern: the key, or what is between the brackets.
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
    /// `.spec.containers[manager].env["A B"]`
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for step in &self.0 {
            match step {
                Step::Key(key) => {
                    let plain = |b: u8| b.is_ascii_alphanumeric() || b == b'_' || b == b'-';
                    if !key.is_empty() && key.bytes().all(plain) {
                        write!(f, ".{key}")?;
                    } else {
                        write!(f, "[{key:?}]")?;
                    }
                }
                Step::Index(index) => write!(f, "[{index}]")?,
                Step::Order(_) => write!(f, "[order]")?,
                Step::Item(_) => {
                    let label = step.label();
                    let plain = |c: char| c.is_alphanumeric() || "-_./:*@,= ".contains(c);
                    let number = label.bytes().all(|b| b.is_ascii_digit());
                    if label.chars().all(plain) && !number && label != "order" {
                        write!(f, "[{label}]")?;
                    } else {
                        write!(f, "[{label:?}]")?;
                    }
                }
            }
        }
        Ok(())
    }
}
