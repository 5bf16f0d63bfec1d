//! Diagnostics as sarif.
