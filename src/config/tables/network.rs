//! `[network]`: timeouts and retries.

use super::*;
use crate::forms::Seconds;
use std::time::Duration;

table! {
    /// Timeouts and retries for registries.
    #[derive(PartialEq, Eq)]
    pub struct Network at "[network]" {
        /// Number of retries after a temporary failure: a broken connection, or a response 429 or
        /// 5xx. Default: 4.
        retries: Integer<0, 20> = Network::default().retries;
        /// Timeout in seconds for a stalled or slow connection. Default: 30.
        timeout: Seconds<1, 3600> = Network::default().timeout;
        /// Maximum number of parallel downloads and other requests per registry. Default: 4.
        downloads: Integer<1, 64> = Network::default().downloads;
    }
}

impl Default for Network {
    fn default() -> Self {
        Network { retries: 4, timeout: Duration::from_secs(30), downloads: 4 }
    }
}
