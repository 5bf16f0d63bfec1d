#![no_main]
//! The target `auth`: see src/targets/auth.rs.

libfuzzer_sys::fuzz_target!(|data: &[u8]| bundle2chart_fuzz::targets::auth::run(data));
