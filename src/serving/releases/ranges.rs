//! Numeric limits of flags, which the tables do not contain.
//!
//! Source: the checks of the configuration classes of vLLM and of SGLang's `ServerArgs`; ports: TCP.

/// Limits of a number: the least and greatest value, and whether the least one is excluded.
struct Limits {
    least: f64,
    most: f64,
    is_least_excluded: bool,
    text: &'static str,
}

const PORT: Limits =
    Limits { least: 0.0, most: 65_535.0, is_least_excluded: false, text: "a port from 0 to 65535" };
const COUNT: Limits =
    Limits { least: 1.0, most: f64::MAX, is_least_excluded: false, text: "1 or more" };
const FRACTION: Limits = Limits {
    least: 0.0,
    most: 1.0,
    is_least_excluded: true,
    text: "a number greater than 0 and at most 1",
};

/// Flags with limits, by any of their names.
const LIMITED: &[(&[&str], &Limits)] = &[
    (&["gpu-memory-utilization", "device-memory-utilization", "mem-fraction-static"], &FRACTION),
    (
        &[
            "port",
            "data-parallel-rpc-port",
            "data-parallel-supervisor-port",
            "master-port",
            "nccl-port",
            "disaggregation-bootstrap-port",
        ],
        &PORT,
    ),
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
        &COUNT,
    ),
];

/// Returns the limits of a flag as text, if the number is outside of them.
pub(super) fn exceeded(flag: &str, value: f64) -> Option<&'static str> {
    let (_, limits) = LIMITED.iter().find(|(names, _)| names.contains(&flag))?;
    let is_low =
        if limits.is_least_excluded { value <= limits.least } else { value < limits.least };
    (is_low || value > limits.most).then_some(limits.text)
}
