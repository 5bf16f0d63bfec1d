//! Reads `[network]`.

use super::reader::{Fields, Reader};
use crate::Network;
use crate::keys::NETWORK;
use std::time::Duration;

pub(super) fn read(reader: &mut Reader<'_>, root: &Fields<'_>) -> Network {
    let usual = Network::default();
    let Some((table, header)) = root.table("network") else { return usual };
    let fields = reader.fields(&NETWORK, header, table);
    let seconds = |number: u32| Duration::from_secs(u64::from(number));
    Network {
        retries: fields.integer("retries").unwrap_or(usual.retries),
        timeout: fields.integer("timeout").map_or(usual.timeout, seconds),
        downloads: fields.integer("downloads").map_or(usual.downloads, |n| n as usize),
    }
}
