//! Numeric limits of flags, which the tables do not contain.
//!
//! Source: the checks of the configuration classes of vLLM and of SGLang's `ServerArgs`; ports: TCP.

/// Flags with limits, by any of their names: a test for numbers outside of them, and the others as text.
type Limited = (&'static [&'static str], fn(f64) -> bool, &'static str);

const LIMITED: &[Limited] = &[
    (
        &["gpu-memory-utilization", "device-memory-utilization", "mem-fraction-static"],
        |share| share <= 0.0 || share > 1.0,
        "a number greater than 0 and at most 1",
    ),
    (
        &[
            "port",
            "data-parallel-rpc-port",
            "data-parallel-supervisor-port",
            "master-port",
            "nccl-port",
            "disaggregation-bootstrap-port",
        ],
        |port| !(0.0..=65_535.0).contains(&port),
        "a port from 0 to 65535",
    ),
    // vLLM fits the length to its memory with -1.
    (&["max-model-len"], |length| length < 1.0 && length != -1.0, "1 or more, or -1"),
    (
        &[
            "tensor-parallel-size",
            "tp-size",
            "pipeline-parallel-size",
            "pp-size",
            "data-parallel-size",
            "dp-size",
            "expert-parallel-size",
            "ep-size",
            "max-num-seqs",
            "max-num-batched-tokens",
            "nnodes",
        ],
        |count| count < 1.0,
        "1 or more",
    ),
];

/// Returns the limits of a flag as text, if the number is outside of them.
pub(super) fn exceeded(flag: &str, value: f64) -> Option<&'static str> {
    let (_, is_outside, text) = LIMITED.iter().find(|(names, ..)| names.contains(&flag))?;
    is_outside(value).then_some(*text)
}
