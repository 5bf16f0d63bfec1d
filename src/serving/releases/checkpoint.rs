//! Facts in the configurations of published models.

use super::*;

/// Facts in the `config.json` of a model.
#[derive(Debug, Deserialize)]
pub(crate) struct Checkpoint {
    /// Attention heads.
    pub(crate) heads: u32,
    /// The longest text in tokens.
    pub(crate) positions: u32,
}

/// By their names on Hugging Face.
static CHECKPOINTS: LazyLock<BTreeMap<String, Checkpoint>> =
    LazyLock::new(|| embedded::json(include_str!("data/checkpoints.json")));

/// Endings of the names of quantized models, which differ in nothing else.
const QUANTIZED: [&str; 4] = ["-AWQ", "-FP8", "-GPTQ-Int4", "-GPTQ-Int8"];

/// Returns the facts of a model with this name; `None` if they are not known.
pub(crate) fn of(model: &str) -> Option<&'static Checkpoint> {
    let base = QUANTIZED.iter().find_map(|ending| model.strip_suffix(ending));
    CHECKPOINTS.get(base.unwrap_or(model))
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_table_is_read() {
        let heads = |model: &str| super::of(model).map(|checkpoint| checkpoint.heads);
        assert_eq!(heads("Qwen/Qwen2.5-7B-Instruct-AWQ"), Some(28));
        assert_eq!(heads("Qwen/Qwen2.5-7B-Instruct-ABC"), None);
    }
}
