//! Diagnostics as github.
