//! Settings of pods that follow from their network and TPU generation.

/// Names of [`RDMA`].
pub const RDMA_NAMES: &[&str] = &["ib", "roce", "efa"];

/// A network for transfers between the devices of pods.
#[derive(Debug, PartialEq, Eq)]
pub struct Rdma {
    /// Name in bundles.toml.
    pub name: &'static str,
    /// Resource of its device plugin.
    pub resource: &'static str,
    /// Environment variables of the engine.
    pub env: &'static [(&'static str, &'static str)],
    /// Linux capabilities: registered memory must stay in RAM.
    pub capabilities: &'static [&'static str],
}

/// The networks. Sources: the device plugins of NVIDIA's network operator and of AWS, and the
/// documentation of NCCL (index 3 is RoCE v2) and libfabric.
pub static RDMA: [Rdma; 3] = [
    Rdma { name: "ib", resource: "rdma/ib", env: &[], capabilities: &["IPC_LOCK"] },
    Rdma {
        name: "roce",
        resource: "rdma/roce_gdr",
        env: &[("NCCL_IB_GID_INDEX", "3")],
        capabilities: &["IPC_LOCK"],
    },
    Rdma {
        name: "efa",
        resource: "vpc.amazonaws.com/efa",
        env: &[("FI_PROVIDER", "efa"), ("FI_EFA_USE_DEVICE_RDMA", "1")],
        capabilities: &["IPC_LOCK"],
    },
];

/// Names of [`TPUS`].
pub const TPU_NAMES: &[&str] = &["v5e", "v6e", "v7"];

/// A TPU generation in GKE.
#[derive(Debug, PartialEq, Eq)]
pub struct Tpu {
    /// Name in bundles.toml.
    pub name: &'static str,
    /// Value of the node label `cloud.google.com/gke-tpu-accelerator`.
    pub accelerator: &'static str,
    /// Devices of a chip.
    pub devices_per_unit: u32,
    /// Topologies of one node by number of chips: `cloud.google.com/gke-tpu-topology`.
    pub topologies: &'static [(u32, &'static str)],
}

/// The TPU generations. Source: GKE's documentation of TPU node pools.
pub static TPUS: [Tpu; 3] = [
    Tpu {
        name: "v5e",
        accelerator: "tpu-v5-lite-podslice",
        devices_per_unit: 1,
        topologies: &[(1, "1x1"), (4, "2x2"), (8, "2x4")],
    },
    Tpu {
        name: "v6e",
        accelerator: "tpu-v6e-slice",
        devices_per_unit: 1,
        topologies: &[(1, "1x1"), (4, "2x2"), (8, "2x4")],
    },
    Tpu { name: "v7", accelerator: "tpu7x", devices_per_unit: 2, topologies: &[(4, "2x2x1")] },
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_those_of_the_tables() {
        assert_eq!(RDMA.iter().map(|rdma| rdma.name).collect::<Vec<_>>(), RDMA_NAMES);
        assert_eq!(TPUS.iter().map(|tpu| tpu.name).collect::<Vec<_>>(), TPU_NAMES);
    }
}
