//! Diagnostics as human.
