#![no_main]
//! The target `diff`: see src/targets/diff.rs.

libfuzzer_sys::fuzz_target!(|data: &[u8]| bundle2chart_fuzz::targets::diff::run(data));
