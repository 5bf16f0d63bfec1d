#![no_main]
//! The target `tar`: see src/targets/tar.rs.

libfuzzer_sys::fuzz_target!(|data: &[u8]| bundle2chart_fuzz::targets::tar::run(data));
