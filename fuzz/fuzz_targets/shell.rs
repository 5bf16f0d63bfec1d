#![no_main]
//! The target `shell`: see src/targets/shell.rs.

libfuzzer_sys::fuzz_target!(|data: &[u8]| bundle2chart_fuzz::targets::shell::run(data));
