//! Entry point of fuzz/ to the parser of launch scripts.

use super::view::shell::{self, Budget};
use std::collections::BTreeMap;

/// Returns the commands of a script as words; `None` if it exceeds the budget of a container.
pub fn commands(
    script: &str,
    arguments: &[String],
    variables: &BTreeMap<String, String>,
) -> Option<Vec<Vec<String>>> {
    Some(shell::parse(script, arguments, variables, true, &Budget::new())?.commands)
}
