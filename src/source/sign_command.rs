//! Programs of the user that sign: a command for a key management service, and gpg for Helm's
//! provenance files.

use super::failure;
use super::process::{Finished, Program};
use crate::diag::{Code, Fatal};
use std::io;
use std::time::Duration;

/// Time that signing may take; some programs ask the user for a PIN.
const SIGNING_TIME: Duration = Duration::from_secs(300);
/// Bytes that a program may print.
const OUTPUT_BYTES: u64 = 16 << 20;
/// Characters of a program's errors in a message.
const ERROR_TEXT: usize = 300;

/// Runs the user's shell command with `message` on stdin; returns what it prints.
///
/// # Errors
/// If the command fails or times out.
pub fn sign_with(command: &str, message: &[u8]) -> Result<Vec<u8>, Fatal> {
    let program =
        Program::find("sh", None).map(|shell| shell.arguments(&["-c"]).operands(&[command]));
    let hint = "run the command in a shell with any text on stdin";
    run(program, message, "the command of `--sign-command`", hint)
}

/// Returns `text` clear-signed by the OpenPGP key `key`, with gpg.
///
/// # Errors
/// If gpg is missing or fails.
pub fn clear_sign(key: &str, text: &str) -> Result<Vec<u8>, Fatal> {
    let program = Program::find("gpg", None).map(|gpg| {
        // The hash of Helm's own signatures (pkg/provenance).
        gpg.arguments(&["--batch", "--yes", "--digest-algo=SHA512", "--clear-sign"])
            .option("--local-user", key)
    });
    let hint = "install gpg, and pass a key of `gpg --list-secret-keys`";
    run(program, text.as_bytes(), "gpg", hint)
}

fn run(
    program: io::Result<Program>,
    input: &[u8],
    name: &str,
    hint: &str,
) -> Result<Vec<u8>, Fatal> {
    let failed =
        |why: String| failure(Code::SigningFailed, format!("cannot sign with {name}: {why}"), hint);
    let program = program.map_err(|error| failed(error.to_string()))?;
    // It is the user's own program, which finds keys by any variable.
    let program = program.limits(SIGNING_TIME, OUTPUT_BYTES).all_variables().input(input);
    let Finished { status, output, errors } =
        program.run().map_err(|error| failed(error.to_string()))?;
    if status.success() {
        return Ok(output);
    }
    let errors = String::from_utf8_lossy(&errors);
    let errors: String = errors.trim().chars().take(ERROR_TEXT).collect();
    Err(failed(format!("{status}: {}", errors.escape_debug())))
}
