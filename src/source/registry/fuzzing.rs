//! Entry points of fuzz/ to the parsers of challenges and credential files.

use super::credentials::{AuthFile, find_in};
use super::token;
use crate::access::Environment;
use std::path::Path;

/// Returns the challenges in values of the WWW-Authenticate header, for comparison.
pub fn challenges(values: &[&str]) -> Vec<String> {
    token::challenges(values.iter().copied()).iter().map(|offer| format!("{offer:?}")).collect()
}

/// Returns the debug format of the login that a credential file has for a repository. Helpers that
/// the file names are not run.
///
/// # Errors
/// The message of the error.
pub fn credentials(file: &[u8], host: &str, repository: &str) -> Result<Option<String>, String> {
    let mut file: AuthFile = serde_json::from_slice(file).map_err(|_| "invalid JSON".to_owned())?;
    (file.helpers, file.store) = Default::default();
    let path = Path::new("auth.json");
    let found = find_in(&file, path, host, repository, &Environment::default());
    let found = found.map_err(|failure| format!("{failure:?}"))?;
    Ok(found.map(|credentials| format!("{:?}", credentials.login)))
}
