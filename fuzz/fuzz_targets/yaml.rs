#![no_main]
//! The target `yaml`: see src/targets/yaml.rs.

libfuzzer_sys::fuzz_target!(|data: &[u8]| bundle2chart_fuzz::targets::yaml::run(data));
