//! Objects and values ([`ir`]), diagnostics ([`diag`]), text escaped for terminals and reports
//! ([`escape`]), tables of facts ([`embedded`]), patterns for names of files ([`file_pattern`]), and the
//! opening of input files ([`regular_file`]): all stages share them.

#![forbid(unsafe_code)]
#![warn(missing_docs)]

pub mod diag;
pub mod embedded;
pub mod escape;
pub mod file_pattern;
pub mod ir;
pub mod regular_file;
