#![no_main]
//! The target `layers`: see src/targets/layers.rs.

libfuzzer_sys::fuzz_target!(|data: &[u8]| bundle2chart_fuzz::targets::layers::run(data));
