#![allow(clippy::expect_used, reason = "a test")]
