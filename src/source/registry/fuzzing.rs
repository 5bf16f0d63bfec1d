//! Entry points of fuzz/ to the parsers of challenges and credential files.

use super::challenge;
use super::credentials;

/// Returns the challenges in values of the WWW-Authenticate header, for comparison.
pub fn challenges(values: &[&str]) -> Vec<String> {
    challenge::parse(values.iter().copied()).iter().map(|offer| format!("{offer:?}")).collect()
}

/// Returns the debug format of the login that a credential file has for a repository. Helpers that
/// the file names are not run.
///
/// # Errors
/// The message of the error.
pub fn credentials(file: &[u8], host: &str, repository: &str) -> Result<Option<String>, String> {
    let login = credentials::of_file_without_helpers(file, host, repository)?;
    Ok(login.map(|login| format!("{login:?}")))
}
