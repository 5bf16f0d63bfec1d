//! Environment variables of engines.

use super::argparse::fault;
use super::*;
use crate::diag::suggest::is_typo;

/// Variables with the prefix of an engine that the launch scripts of KServe's presets read.
const OF_PRESETS: [&str; 2] = ["VLLM_ADDITIONAL_ARGS", "VLLM_API_SERVER_COUNT"];

/// Returns the prefixes of the environment variables of an engine.
fn prefixes(table: &ProgramTable) -> &'static [&'static str] {
    if table.key == "sglang" { &["SGLANG_", "SGL_"] } else { &["VLLM_"] }
}

/// Judges variables with a prefix of the engine, by their names and texts. The path of a verdict is the name.
pub(crate) fn judge(table: &ProgramTable, release: Release, all: &[(&str, &str)]) -> Vec<Verdict> {
    let mut judge = table.judge(release);
    let index = judge.index();
    let is_own =
        |(name, _): &&(&str, &str)| prefixes(table).iter().any(|prefix| name.starts_with(prefix));

    // Releases before the first with a list of variables are not known.
    let is_listed = !table.env.names(index).is_empty();
    for (name, value) in all.iter().filter(is_own).filter(|_| is_listed) {
        // vllm/envs.py, env_with_choices: other values are errors where the variable is read. Some are read
        // in any case: those in lower case are in the table.
        let exact = table.values.get(*name).map(|known| (known, (*value).to_owned()));
        let folded = || Some((table.values.get(&format!("fold {name}"))?, value.to_lowercase()));
        let is_given = !value.is_empty() && !is_placeholder(value);
        if let Some((known, read)) = exact.or_else(folded).filter(|_| is_given) {
            let names = known.names(index);
            // Of an image that names no release, only typing errors are certain.
            let is_wrong = index.is_some() || names.iter().any(|name| is_typo(&read, name));
            if !names.is_empty() && is_wrong && !known.has(&read, index) {
                judge.exists(known, &read, value, &format!("`{name}` value"), name);
            }
        }
        let typed = table.env_types.find(name).and_then(|spans| judge.current(spans));
        if let Some(hint) = typed.filter(|_| is_given).and_then(|spec| fault(spec, value)) {
            let message = format!("{} does not accept `{value}` for `{name}`", judge.title());
            judge.refuse(name, message, hint);
        }
        if table.env.has(name, index) || OF_PRESETS.contains(name) {
            continue;
        }
        let is_known = table.env.find(name).is_some();
        let is_typo = || table.env.names(index).iter().any(|known| is_typo(name, known));
        // Scripts and plugins have variables of their own, and SGLang reads others than its list.
        if is_known && table.key == "sglang" || !is_known && !is_typo() {
            continue;
        }

        // vLLM warns of an unknown variable with its prefix, and starts.
        if let Some(verdict) = judge.exists(&table.env, name, name, "environment variable", name) {
            verdict.kind = Kind::Ignored;
            let instead = flag_for(table, index, name);
            instead.into_iter().for_each(|instead| verdict.hint = instead);
        }
    }
    judge.verdicts()
}

/// Returns a hint to the flag that replaces a variable: it has the same name.
fn flag_for(table: &ProgramTable, index: Option<usize>, name: &str) -> Option<String> {
    let rest = prefixes(table).iter().find_map(|prefix| name.strip_prefix(prefix))?;
    let flag = rest.to_lowercase().replace('_', "-");
    table.flags.has(&flag, index).then(|| format!("use `--{flag}`"))
}
