//! Diagnostics as json.
