//! The codes of the lints, for `inspect`, which lists them apart from other problems.

use crate::diag::Code;

/// Codes of what is reported here.
pub const CODES: [Code; 10] = [
    Code::AccountMissing,
    Code::ApiRefuses,
    Code::AuthReaderMissing,
    Code::ControlCharacter,
    Code::ForeignKind,
    Code::InvalidReference,
    Code::OpenshiftOnly,
    Code::RunAsUserMissing,
    Code::SelectorMatchesNothing,
    Code::ImageNotPinned,
];
