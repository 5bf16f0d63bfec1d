#![no_main]
//! The target `compile`: see src/targets/compile.rs.

libfuzzer_sys::fuzz_target!(|data: &[u8]| bundle2chart_fuzz::targets::compile::run(data));
