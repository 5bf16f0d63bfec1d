#![no_main]
//! The target `config`: see src/targets/config.rs.

libfuzzer_sys::fuzz_target!(|data: &[u8]| bundle2chart_fuzz::targets::config::run(data));
