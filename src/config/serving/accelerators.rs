//! Settings of pods that follow from their network and TPU generation.

use super::words;

/// A network for transfers between the devices of pods.
#[derive(Debug, PartialEq, Eq)]
pub struct Rdma {
    /// Name in bundles.toml.
    pub name: &'static str,
    /// Resource of its device plugin.
    pub resource: &'static str,
    /// Environment variables of the engine.
    pub env: &'static [(&'static str, &'static str)],
}

// Sources of the networks: the device plugins of NVIDIA's network operator and of AWS, and the
// documentation of NCCL (index 3 is RoCE v2) and libfabric.
static IB: Rdma = Rdma { name: "ib", resource: "rdma/ib", env: &[] };
static ROCE: Rdma =
    Rdma { name: "roce", resource: "rdma/roce_gdr", env: &[("NCCL_IB_GID_INDEX", "3")] };
static EFA: Rdma = Rdma {
    name: "efa",
    resource: "vpc.amazonaws.com/efa",
    env: &[("FI_PROVIDER", "efa"), ("FI_EFA_USE_DEVICE_RDMA", "1")],
};

/// Linux capabilities for all networks: registered memory must stay in RAM.
pub const RDMA_CAPABILITIES: &[&str] = &["IPC_LOCK"];

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

// Source of the TPU generations: GKE's documentation of TPU node pools.
static V5E: Tpu = Tpu {
    name: "v5e",
    accelerator: "tpu-v5-lite-podslice",
    devices_per_unit: 1,
    topologies: &[(1, "1x1"), (4, "2x2"), (8, "2x4")],
};
static V6E: Tpu = Tpu { name: "v6e", accelerator: "tpu-v6e-slice", ..V5E };
static V7: Tpu =
    Tpu { name: "v7", accelerator: "tpu7x", devices_per_unit: 2, topologies: &[(4, "2x2x1")] };

words! {
    /// The name of a network for transfers.
    RdmaName: &'static Rdma = "ib" => &IB, "roce" => &ROCE, "efa" => &EFA;
    /// The name of a TPU generation.
    TpuName: &'static Tpu = "v5e" => &V5E, "v6e" => &V6E, "v7" => &V7;
}
