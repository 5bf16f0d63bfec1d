//! Devices, and the models that run on them.

use super::*;

/// Facts about devices and models, by words in names of images, nodes and models. The first one that fits counts.
#[derive(Debug, Default, Deserialize)]
pub(crate) struct Hardware {
    /// The resource of the devices that upstream's images are built for, by repository.
    pub(crate) builds: Vec<(String, String)>,
    /// The resource of builds for other devices, by words in tags; empty if it has several.
    pub(crate) other_builds: Vec<(String, String)>,
    /// Words in labels of nodes whose GPUs have a compute capability below 8.0, which bfloat16 needs.
    pub(crate) without_bfloat16: Vec<String>,
    /// GKE's names of accelerators in labels of nodes (GKE docs, about GPUs).
    pub(crate) gke: Vec<String>,
    /// Gigabytes of memory of devices, by words in labels of their nodes. Others have it in the label.
    pub(crate) memory: Vec<(String, u32)>,
    /// Billions of parameters of models without a number in their names, whose weights have 8 bits.
    pub(crate) sizes: Vec<(String, f64)>,
    /// Marks of quantized weights in names of models and values of `--quantization`, with the bits of a
    /// parameter.
    pub(crate) bits: Vec<(Vec<String>, f64)>,
}

/// The facts of data/hardware.json.
pub(crate) static HARDWARE: LazyLock<Hardware> =
    LazyLock::new(|| embedded::json(include_str!("data/hardware.json")));

#[cfg(test)]
mod tests {
    #[test]
    fn the_table_is_read() {
        assert!(!super::HARDWARE.bits.is_empty());
    }
}
