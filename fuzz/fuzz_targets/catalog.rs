#![no_main]
//! The target `catalog`: see src/targets/catalog.rs.

libfuzzer_sys::fuzz_target!(|data: &[u8]| bundle2chart_fuzz::targets::catalog::run(data));
