//! The tables are whole, and judge known lines as the programs do.

use super::spans::Release;
use super::verdict::{Kind, Verdict};
use super::*;
use crate::view::flags::Flags;
use serde_json::json;

fn words(line: &str) -> Vec<String> {
    // Words with a single quote around JSON keep their spaces.
    let mut words = Vec::new();
    for (index, part) in line.split('\'').enumerate() {
        if index % 2 == 1 {
            match words.last_mut() {
                Some(last) if line[..line.find(part).unwrap_or(0)].ends_with("='") => {
                    let last: &mut String = last;
                    last.push_str(part);
                }
                _ => words.push(part.to_owned()),
            }
        } else {
            words.extend(part.split_whitespace().map(str::to_owned));
        }
    }
    words
}

fn engine_line(table: &ProgramTable, image: &str, line: &str) -> Vec<Verdict> {
    let release = table.release(image);
    argparse::judge(table, release, &words(line), false)
}

fn related(table: &'static ProgramTable, image: &str, line: &str) -> Vec<Verdict> {
    let release = table.release(image);
    let flags = Flags::of_engine(&words(line), Some(argparse::Names::of(table, image)));
    relations::judge(table, release, &flags, &Json::Null)
}

/// Of a flag with several values the last occurrence counts, as in argparse.
#[test]
fn the_last_occurrence_has_all_values() {
    for (line, values) in [
        ("serve m --served-model-name a b", &["a", "b"][..]),
        ("serve m --served-model-name a b --port 1 --served-model-name c", &["c"]),
        ("serve m --served-model-name a --served-model-name b c", &["b", "c"]),
    ] {
        assert_eq!(Flags::of_engine(&words(line), None).all("served-model-name"), values, "{line}");
    }
}

fn vllm(tag: &str, line: &str) -> Vec<Verdict> {
    engine_line(&VLLM, &format!("vllm/vllm-openai:{tag}"), line)
}

fn sglang(tag: &str, line: &str) -> Vec<Verdict> {
    engine_line(&SGLANG, &format!("lmsysorg/sglang:{tag}"), line)
}

fn sidecar(image: &str, line: &str) -> Vec<Verdict> {
    go_line(&SIDECAR, image, line)
}

fn go_line(program: &ProgramTable, image: &str, line: &str) -> Vec<Verdict> {
    let release = program.release(image);
    go_flags::judge(program, release, &words(line))
}

fn config(tag: &str, extra: Json) -> Vec<Verdict> {
    let is_new = matches!(tag, "v0.9.0" | "v0.10.0");
    let image = if is_new {
        format!("ghcr.io/llm-d/llm-d-router-endpoint-picker:{tag}")
    } else {
        format!("ghcr.io/llm-d/llm-d-inference-scheduler:{tag}")
    };
    let group = if is_new { "llm-d.ai" } else { "inference.networking.x-k8s.io" };
    let mut config =
        json!({"apiVersion": format!("{group}/v1alpha1"), "kind": "EndpointPickerConfig"});
    if let (Json::Object(config), Json::Object(extra)) = (&mut config, extra) {
        config.extend(extra);
    }
    let release = LLM_D.program.release(&image);
    super::picker::judge(&LLM_D, release, &config, false)
}

/// Asserts one verdict of a kind, whose message and hint have these texts.
#[track_caller]
fn one(verdicts: &[Verdict], kind: Kind, message: &str, hint: &str) {
    let [verdict] = verdicts else { panic!("{verdicts:#?}") };
    assert_eq!(verdict.kind, kind, "{verdict:?}");
    assert!(verdict.message.contains(message), "{verdict:?}");
    assert!(verdict.hint.contains(hint), "{verdict:?}");
}

#[track_caller]
fn none(verdicts: &[Verdict]) {
    assert!(verdicts.is_empty(), "{verdicts:#?}");
}

#[test]
fn relations_of_flags() {
    let vllm = |tag: &str, line: &str| related(&VLLM, &format!("vllm/vllm-openai:{tag}"), line);
    let sglang = |tag: &str, line: &str| related(&SGLANG, &format!("lmsysorg/sglang:{tag}"), line);
    let range = "is 90, more than 1";
    one(&vllm("v0.23.0", "--gpu-memory-utilization=90"), Kind::Refused, range, "use at most 1");
    for (version, line, message) in [
        (
            "v0.23.0",
            "--enable-lora --max-cpu-loras=1 --max-loras 2",
            "is 1, less than `--max-loras` 2 (with `--enable-lora`)",
        ),
        ("v0.23.0", "--port 80000", "is 80000, more than 65535"),
        ("v0.23.0", "--cpu-offload-gb=-1", "is -1, less than 0"),
        ("v0.23.0", "--gpu-memory-utilization=0", "is 0, not more than 0"),
        ("v0.23.0", "-dp 2 --data-parallel-rank 2", "is 2, not less than"),
        ("v0.23.0", "-tp 2 -dcp=4", "is 2, not divisible by"),
        (
            "v0.23.0",
            "-sc={\"method\":\"eagle\",\"num_speculative_tokens\":1}",
            "`--speculative-config` requires \"model\"",
        ),
        (
            "v0.28.0",
            "--enable-chunked-prefill=false --max-num-batched-tokens=1024 --max-model-len=4096",
            "less than `--max-model-len` 4096 with `enable-chunked-prefill: false`",
        ),
        (
            "v0.23.0",
            "-sc={\"num_speculative_tokens\":1}",
            "`--speculative-config` requires \"model\"",
        ),
        ("v0.23.0", "-sc={\"method\":\"mtp\"}", "requires \"num_speculative_tokens\""),
        (
            "v0.23.0",
            "-sc={\"method\":\"mtp\",\"model\":null}",
            "requires \"num_speculative_tokens\"",
        ),
        (
            "v0.23.0",
            "--headless --api-server-count 1",
            "`--api-server-count` are mutually exclusive",
        ),
        (
            "v0.11.0",
            "--headless --api-server-count 2",
            "`--api-server-count` are mutually exclusive",
        ),
        (
            "latest",
            "--headless --api-server-count 2",
            "`--api-server-count` are mutually exclusive",
        ),
    ] {
        one(&vllm(version, line), Kind::Refused, message, "");
    }
    one(&vllm("v0.23.0", "--nnodes 0"), Kind::Refused, "is 0, less than 1", "use at least 1");
    let line = "-sc={\"method\":\"mtp\"}";
    one(
        &vllm("v0.23.0", line),
        Kind::Refused,
        "",
        "add \"num_speculative_tokens\" to `--speculative-config`",
    );
    // Of an unknown release, only what all releases refuse is an error.
    let message = "of vLLM; in 0.16.0 and later, `--headless` and `--api-server-count` are mutually exclusive";
    one(
        &vllm("latest", "--headless --api-server-count 1"),
        Kind::Depends,
        message,
        "check the version",
    );
    let line = "-sc={\"method\":\"eagle\",\"model\":\"a/b\"}";
    one(&vllm("v0.23.0", line), Kind::Refused, "\"num_speculative_tokens\" with a model", "");
    assert!(!vllm("v0.23.0", line)[0].is_certain);
    let chunks = "--chunked-prefill-size 1000 --page-size 64";
    one(&sglang("v0.5.9", chunks), Kind::Refused, "is 1000, not divisible by", "");
    none(&sglang("v0.5.23", chunks));
    for flag in ["attention-backend", "decode-attention-backend", "prefill-attention-backend"] {
        none(&sglang("v0.5.9", &format!("{chunks} --{flag}=flashmla")));
    }
    none(&sglang("v0.5.9", "--nnodes=$(NODES)"));
    let attention = "--tp-size 2 --dp-size 3 --enable-dp-attention";
    one(&sglang("v0.5.22", attention), Kind::Refused, "is 2, not divisible by", "");
    for flag in ["attn-dp-size", "attention-data-parallel-size"] {
        none(&sglang("v0.5.22", &format!("{attention} --{flag} 2")));
    }

    for (version, line) in [
        ("v0.23.0", "--max-loras 4 --max-cpu-loras=4 --cpu-offload-gb=0"),
        ("v0.23.0", "--max-loras=4"),
        ("v0.23.0", "--max-loras=4 --max-cpu-loras=2"),
        ("v0.23.0", "--enable-lora --max-loras=4 --max-cpu-loras=0"),
        // Before 0.28 vLLM reads no flag from `enable-chunked-prefill: false` in a file.
        ("v0.23.0", "--enable-chunked-prefill=false --max-num-batched-tokens=1 --max-model-len=4"),
        ("v0.11.0", "--headless --api-server-count 1"),
        ("v0.23.0", "--headless --api-server-count $(COUNT)"),
        ("v0.23.0", "--headless --data-parallel-external-lb --nnodes 4 --node-rank 1"),
        ("v0.23.0", "--headless --data-parallel-rank 1"),
        ("v0.23.0", "--max-model-len -1 --gpu-memory-utilization .9 --max-num-batched-tokens 8k"),
        ("v0.15.1", "-tp 2 -dcp=4"),
        ("v0.23.0", "--headless --api-server-count 0"),
        ("v0.10.2", "--speculative-config={\"num_speculative_tokens\":1}"),
        ("v0.23.0", "-sc={\"method\":\"qwen3_next_mtp\",\"num_speculative_tokens\":1}"),
        ("v0.23.0", "-sc={\"method\":\"suffix\"}"),
        ("v0.23.0", "-sc={\"method\":\"${METHOD}\",\"num_speculative_tokens\":1}"),
        ("v0.23.0", "-sc={\"method\":\"eagle\",\"num_speculative_tokens\":1} --spec-model=a/b"),
        ("v0.26.0", "-sc={\"method\":\"eagle\",\"num-speculative-tokens\":1,\"model\":\"a/b\"}"),
    ] {
        none(&vllm(version, line));
    }
}

/// Every entry of a table is read: a malformed one would be left out.
#[test]
fn tables_are_read_as_a_whole() {
    for (text, key) in [
        (include_str!("data/vllm.json"), "vllm"),
        (include_str!("data/sglang.json"), "sglang"),
        (include_str!("data/picker-llm-d.json"), "picker-llm-d"),
        (include_str!("data/picker-gie.json"), "picker-gie"),
        (include_str!("data/sidecar.json"), "sidecar"),
    ] {
        let json: Json = serde_json::from_str(text).expect(key);
        let releases = json["versions"].as_array().expect(key);
        assert!(releases.len() > 10, "{key}");
        let flags = json["flags"].as_object().expect(key);
        let ranges: usize = flags.values().map(|r| r.as_object().expect(key).len()).sum();
        let typed = |flags: &Named<Flag>| {
            let specs = flags.iter().flat_map(|(_, spans)| spans.all());
            specs.filter(|flag| !flag.kind.is_empty()).count()
        };
        let read = match key {
            "vllm" => typed(&VLLM.flags),
            "sglang" => typed(&SGLANG.flags),
            "picker-llm-d" => typed(&LLM_D.program.flags),
            "picker-gie" => typed(&GIE.program.flags),
            _ => typed(&SIDECAR.flags),
        };
        assert_eq!(read, ranges, "{key}");
        let relations = match key {
            "vllm" => &VLLM.relations,
            "sglang" => &SGLANG.relations,
            "picker-llm-d" => &LLM_D.program.relations,
            "picker-gie" => &GIE.program.relations,
            _ => &SIDECAR.relations,
        };
        for (name, written) in json["relations"].as_object().expect(key) {
            let read = relations.find(name).map_or(0, |spans| spans.all().count());
            assert_eq!(read, written.as_object().expect(name).len(), "{key}: {name}");
            let words: Vec<&str> = name.split(' ').collect();
            let known =
                ["needs", "excludes", "at-least", "at-most", "above", "below", "divisible-by"];
            assert!(words.len() > 2 && known.contains(&words[1]), "{key}: {name}");
            let flag = words[0].split('.').next().expect("a flag");
            // SGLang's flags are found by their long names.
            let is_flag = flags.contains_key(flag) || key == "sglang";
            assert!(is_flag || flag.starts_with("VLLM_"), "{key}: {name}");
            // Flags are found by their full names.
            let conditions = written.as_object().expect(name).values();
            let conditions = conditions.flat_map(|facts| {
                let maps = ["only", "unless", "usual"].map(|part| facts[part].as_object());
                maps.into_iter().flatten().flat_map(|map| map.keys().map(String::as_str))
            });
            for one in words.iter().copied().chain(conditions) {
                assert_eq!(full_name(one), None, "{key}: {name}");
            }
        }
        let plugins = json["plugins"].as_object().map_or(0, serde_json::Map::len);
        let read = match key {
            "picker-llm-d" => LLM_D.plugins.names(None).len(),
            "picker-gie" => GIE.plugins.names(None).len(),
            _ => 0,
        };
        assert_eq!(read, plugins, "{key}");
    }
    for (name, spans) in VLLM.metrics.iter() {
        let kinds = ["", "counter", "gauge", "histogram"];
        assert!(spans.all().all(|kind| kinds.contains(&kind.as_str())), "{name}");
    }
    assert!(VLLM.metrics.names(None).len() > 100);
    assert!(replacement("sidecar", "connector").is_some());
    assert!(image::is_of("vllm/vllm-openai:v0.23.0", "vllm"));
}

/// Each name in replacements.json and images.json is one of a table.
#[test]
fn replacements_are_of_known_flags() {
    for (key, names) in REPLACEMENTS.iter() {
        for (name, instead) in names {
            let has = |flag: &str| match key.as_str() {
                "vllm" => VLLM.flags.find(flag).is_some(),
                // Names of vLLM's flags are replaced, too.
                "sglang" => SGLANG.flags.find(flag).or(VLLM.flags.find(flag)).is_some(),
                "picker-llm-d" => LLM_D.program.flags.find(flag).is_some(),
                "picker-gie" => GIE.program.flags.find(flag).is_some(),
                // Fields of the former API.
                "InferencePool" => flag.starts_with(".spec."),
                _ => SIDECAR.flags.find(flag).is_some(),
            };
            assert!(has(name), "{key}: {name}");
            if let Some(flag) = instead.strip_prefix("--") {
                let end = flag.find(|c: char| !c.is_ascii_alphanumeric() && c != '-');
                assert!(has(&flag[..end.unwrap_or(flag.len())]), "{key}: {instead}");
            }
        }
    }
}

// One test per example of the facts that the tables were derived from.

#[test]
fn a_flag_of_a_later_release() {
    let found = vllm("v0.21.0", "--data-parallel-multi-port-external-lb");
    one(
        &found,
        Kind::Refused,
        "vLLM 0.21.0 has no flag `--data-parallel-multi-port-external-lb`: it was added in 0.22.0",
        "0.22.0 or later",
    );
    none(&vllm("v0.22.0", "--data-parallel-multi-port-external-lb"));
}

#[test]
fn a_flag_of_earlier_releases() {
    let found = vllm("v0.18.0", "--swap-space 4");
    one(&found, Kind::Refused, "0.17.1 was the last release with it", "remove it");
    none(&vllm("v0.17.1", "--swap-space 4"));
    let found = vllm("v0.17.0", "--disable-log-requests");
    one(&found, Kind::Refused, "0.16.0 was the last release with it", "--enable-log-requests");
}

#[test]
fn a_deprecated_flag() {
    let found = vllm("v0.10.1", "--disable-log-requests");
    one(&found, Kind::Deprecated, "deprecated in vLLM 0.10.1", "--enable-log-requests");
    none(&vllm("v0.10.0", "--disable-log-requests"));
}

#[test]
fn a_connector_of_earlier_releases() {
    let line = "--kv-transfer-config '{\"kv_connector\":\"P2pNcclConnector\",\"kv_role\":\"kv_producer\"}'";
    one(&vllm("v0.24.0", line), Kind::Refused, "`P2pNcclConnector`: 0.23.0 was the last", "");
    none(&vllm("v0.23.0", line));
    let own = line.replace("\"kv_role\"", "\"kv_connector_module_path\":\"a.b\",\"kv_role\"");
    none(&vllm("v0.24.0", &own));
    let multi = "--kv-transfer-config '{\"kv_connector\":\"MultiConnector\",\"kv_role\":\"kv_both\",\"kv_connector_extra_config\":{\"connectors\":[{\"kv_connector\":\"NixlConector\"}]}}'";
    one(&vllm("v0.24.0", multi), Kind::Refused, "`NixlConector`", "did you mean `NixlConnector`?");
}

#[test]
fn text_in_braces_is_json() {
    let found = vllm("v0.23.0", "--hf-overrides={\"rope_scaling\":}");
    one(&found, Kind::Refused, "does not accept", "valid JSON");
    none(&vllm("v0.23.0", "--hf-overrides=own.overrides"));
}

#[test]
fn values_that_the_engine_looks_up() {
    for (tag, line, message, hint) in [
        (
            "v0.23.0",
            "--load-format=safetensor",
            "`--load-format` value `safetensor`",
            "`safetensors`?",
        ),
        ("v0.25.0", "--load-format gguf", "`gguf`: 0.24.0 was the last release with it", ""),
        ("v0.29.0", "--load-format ipc_cache", "`ipc_cache`: it was added in 0.30.0", ""),
        ("v0.23.0", "--attention-backend=flashinfr", "value `flashinfr`", "`FLASHINFER`?"),
        ("v0.23.0", "--mm-encoder-attn-backend=FLASH_ATN", "value `FLASH_ATN`", "`FLASH_ATTN`?"),
        ("v0.23.0", "--tokenizer-mode=mistrall", "value `mistrall`", "`mistral`?"),
        ("v0.33.0", "--kv-cache-dtype=fp8_e4m4", "value `fp8_e4m4`", "`fp8_e4m3`?"),
        ("v0.23.0", "--distributed-executor-backend=rays", "value `rays`", "`ray`?"),
        ("v0.23.0", "--quantization=int4-awq", "value `int4-awq`", ""),
    ] {
        let found = vllm(tag, line);
        one(&found, Kind::Refused, message, hint);
        // Plugins may register these names, but no typing errors.
        let is_open = line.contains("load-format") || line.contains("quantization");
        assert_eq!(found[0].is_certain, !is_open || hint.contains('?'), "{line}");
    }
    for line in [
        "--load-format=Runai_Streamer",
        "--load-format=auto",
        "--attention-backend=flash_attn",
        "--quantization=FP8",
        "--distributed-executor-backend=example.executors.Own",
    ] {
        none(&vllm("v0.23.0", line));
    }
    // A plugin may register it.
    let found = vllm("v0.23.0", "--load-format=of_our_own");
    one(&found, Kind::Refused, "`of_our_own`", "remove it");
    assert!(!found[0].is_certain);
}

#[test]
fn fields_of_classes_in_json_values() {
    for (line, message, hint) in [
        (
            "--speculative-config '{\"method\":\"ngram\",\"num_speculative_tokens\":5,\"prompt_lookup_mx\":3}'",
            "no `--speculative-config` field `prompt_lookup_mx`",
            "prompt_lookup_max",
        ),
        (
            "--speculative-config '{\"method\":\"ngrams\",\"num_speculative_tokens\":5}'",
            "does not accept `ngrams` for `method`",
            "`ngram`?",
        ),
        (
            "--compilation-config '{\"pass_config\":{\"fuse_norm_quants\":true}}'",
            "no `--compilation-config` field `fuse_norm_quants`",
            "`fuse_norm_quant`?",
        ),
        (
            "--compilation-config '{\"cudagraph_mode\":\"FULL_PIECEWISE\"}'",
            "does not accept `FULL_PIECEWISE` for `cudagraph_mode`",
            "`FULL_AND_PIECEWISE`?",
        ),
        (
            "--attention-config.backend=FLASHINFR",
            "does not accept `FLASHINFR` for `backend`",
            "`FLASHINFER`?",
        ),
    ] {
        one(&vllm("v0.23.0", line), Kind::Refused, message, hint);
    }
    for line in [
        "--speculative-config '{\"method\":\"eagle3\",\"model\":\"a/b\",\"num_speculative_tokens\":3}'",
        "--compilation-config '{\"cudagraph_mode\":\"full_decode_only\",\"mode\":3}'",
        "--compilation-config '{\"pass_config\":{\"fuse_norm_quant\":true}}'",
        "--attention-config '{\"backend\":\"auto\"}'",
        "--kernel-config '{\"moe_backend\":\"FlashInfer-Cutlass\",\"ir_op_priority\":{\"rms_norm\":\"vllm_c,native\"}}'",
        "--kv-transfer-config '{\"kv_connector\":\"NixlConnector\",\"kv_role\":\"kv_both\",\"kv_connector_extra_config\":{\"any\":1}}'",
    ] {
        none(&vllm("v0.23.0", line));
    }
}

#[test]
fn dashes_in_fields_of_later_releases() {
    let line = "--speculative-config '{\"method\":\"ngram\",\"num-speculative-tokens\":3}'";
    one(&vllm("v0.25.1", line), Kind::Refused, "field `num-speculative-tokens`", "");
    none(&vllm("v0.26.0", line));
}

#[test]
fn a_type_that_changed() {
    one(
        &vllm("v0.8.3", "--max-model-len 32k"),
        Kind::Refused,
        "does not accept `32k`",
        "an integer",
    );
    none(&vllm("v0.8.4", "--max-model-len 32k"));
}

#[test]
fn a_variable_of_earlier_releases() {
    let release = VLLM.releases.find("0.15.0");
    let found = variables::judge(&VLLM, release, &[("VLLM_ATTENTION_BACKEND", ""), ("HOME", "")]);
    one(&found, Kind::Ignored, "0.14.1 was the last release with it", "--attention-backend");
    none(&variables::judge(&VLLM, VLLM.releases.find("0.14.1"), &[("VLLM_ATTENTION_BACKEND", "")]));
    let found = variables::judge(
        &VLLM,
        release,
        &[("VLLM_LOGING_LEVEL", ""), ("VLLM_OWN_SETTING_OF_A_SCRIPT", "")],
    );
    one(&found, Kind::Ignored, "VLLM_LOGING_LEVEL", "VLLM_LOGGING_LEVEL");
}

#[test]
fn values_of_a_variable() {
    let name = "VLLM_WORKER_MULTIPROC_METHOD";
    let of = |version: &str, value: &str| {
        variables::judge(&VLLM, VLLM.releases.find(version), &[(name, value)])
    };
    let message = "vLLM 0.23.0 has no `VLLM_WORKER_MULTIPROC_METHOD` value `thread`";
    one(&of("0.23.0", "thread"), Kind::Refused, message, "");
    for (version, value) in
        [("0.23.0", "spawn"), ("0.23.0", "$(METHOD)"), ("0.8.0", "thread"), ("latest", "thread")]
    {
        none(&of(version, value));
    }
    one(&of("0.23.0", "Spawn"), Kind::Refused, "value `Spawn`", "");

    // Read in any case.
    let of = |value: &str| {
        let name = "VLLM_MM_HASHER_ALGORITHM";
        variables::judge(&VLLM, VLLM.releases.find("0.23.0"), &[(name, value)])
    };
    none(&of("SHA256"));
    let message = "has no `VLLM_MM_HASHER_ALGORITHM` value `SHA1`";
    one(&of("SHA1"), Kind::Refused, message, "");
}

#[test]
fn flags_of_the_sidecar() {
    let old = "ghcr.io/llm-d/llm-d-routing-sidecar";
    let new = "ghcr.io/llm-d/llm-d-router-disagg-sidecar:v0.10.0";
    let found = sidecar(&format!("{old}:v0.4.0"), "--kv-connector=nixlv2");
    one(&found, Kind::Refused, "it was added in 0.7.0", "write `--connector`");
    let found = sidecar(new, "--connector=nixlv2");
    one(&found, Kind::Refused, "0.9.0 was the last release with it", "write `--kv-connector`");
    let found = sidecar(&format!("{old}:v0.8.0"), "--connector=nixlv2");
    one(&found, Kind::Deprecated, "`--connector` is deprecated", "write `--kv-connector`");
    let found = sidecar(&format!("{old}:v0.6.0"), "--connector=lmcache");
    one(
        &found,
        Kind::Refused,
        "`lmcache`: 0.5.1 was the last",
        "`nixlv2`, `sglang`, `shared-storage`",
    );
    none(&sidecar(&format!("{old}:v0.5.0"), "--connector=lmcache"));
    none(&sidecar(
        new,
        "--port=8000 --model-server-port=8200 --secure-proxy=false --enable-tls=prefiller,decoder",
    ));
    one(
        &sidecar(new, "--enable-tls=prefill"),
        Kind::Refused,
        "`prefill`",
        "did you mean `prefiller`?",
    );
}

#[test]
fn integers_of_go() {
    let new = "ghcr.io/llm-d/llm-d-router-disagg-sidecar:v0.10.0";
    for value in ["8", "0x1F40", "0X1f_40", "0b11", "0o17", "017", "0_17", "1_000", "0", "+5"] {
        none(&sidecar(new, &format!("--data-parallel-size={value}")));
    }
    for value in ["8k", "0x", "08", "1__0", "_1", "1_", "0b2", "--5", "", "1.0"] {
        let found = sidecar(new, &format!("--data-parallel-size={value}"));
        one(&found, Kind::Refused, &format!("`{value}` for `--data-parallel-size`"), "an integer");
    }
}

#[test]
fn feature_gates() {
    let gate = |gate: &str| json!({"featureGates": [gate]});
    let found = config("v0.10.0", gate("dataLayer"));
    one(&found, Kind::Refused, "0.9.0 was the last release with it", "");
    none(&config("v0.9.0", gate("dataLayer")));
    none(&config("v0.10.0", gate("haPopulateNonLeaderDatastore=false")));
    let found = config("v0.9.0", gate("haPopulateNonLeaderDatastore=false"));
    one(&found, Kind::Refused, "does not accept a value", "");
    one(
        &config("v0.10.0", gate("flowControll")),
        Kind::Refused,
        "`flowControll`",
        "`flowControl`?",
    );
}

#[test]
fn one_dash() {
    let image = "registry.k8s.io/gateway-api-inference-extension/epp";
    let found = go_line(&GIE.program, &format!("{image}:v1.3.0"), "-pool-name chat");
    one(&found, Kind::Refused, "`-pool-name` with one dash", "write `--pool-name`");
    none(&go_line(&GIE.program, &format!("{image}:v1.2.1"), "-pool-name chat -v 4"));
    none(&go_line(&GIE.program, &format!("{image}:v1.3.0"), "--pool-name chat -v=4 -v 4"));
}

#[test]
fn parameters_of_plugins() {
    let plugin =
        json!({"plugins": [{"type": "prefix-cache-scorer", "parameters": {"blockSize": 64}}]});
    let found = config("v0.9.0", plugin.clone());
    one(&found, Kind::Refused, "no `prefix-cache-scorer` parameter `blockSize`", "");
    assert_eq!(found[0].path, ".plugins[0].parameters.blockSize");
    one(&config("v0.8.0", plugin), Kind::Ignored, "has no parameters", "remove `parameters`");
}

#[test]
fn kinds_of_releases() {
    let pool = json!({"apiVersion": "inference.networking.x-k8s.io/v1alpha2", "kind": "InferencePool", "spec": {"selector": {"app": "chat"}, "targetPortNumber": 8000, "extensionRef": {"name": "chat-epp"}}});
    let found = kinds::judge(&pool, &|_| Some("1.5.0".to_owned()));
    one(
        &found,
        Kind::Refused,
        "1.4.0 was the last release with it",
        "inference.networking.k8s.io/v1",
    );
    none(&kinds::judge(&pool, &|_| Some("1.4.0".to_owned())));
    none(&kinds::judge(&pool, &|_| None));
    let unknown = json!({"apiVersion": "inference.networking.k8s.io/v2", "kind": "InferencePool"});
    one(
        &kinds::judge(&unknown, &|_| None),
        Kind::Refused,
        "no release",
        "inference.networking.k8s.io/v1",
    );
    let of_kubernetes = |api_version: &str, kind: &str| {
        kinds::judge(&json!({"apiVersion": api_version, "kind": kind}), &|_| None)
    };
    for (api_version, kind, last, instead) in [
        (
            "autoscaling/v2beta2",
            "HorizontalPodAutoscaler",
            "1.25 was",
            "`apiVersion: autoscaling/v2`",
        ),
        ("policy/v1beta1", "PodDisruptionBudget", "1.24 was", "`apiVersion: policy/v1`"),
        ("extensions/v1beta1", "Ingress", "1.21 was", "`apiVersion: networking.k8s.io/v1`"),
        ("apps/v2", "Deployment", "has the kind `apps/v2 Deployment`", "`apiVersion: apps/v1`"),
    ] {
        one(&of_kubernetes(api_version, kind), Kind::Refused, last, instead);
    }
    for (api_version, kind) in [
        ("autoscaling/v1", "HorizontalPodAutoscaler"),
        ("autoscaling/v2", "HorizontalPodAutoscaler"),
        ("apps/v1", "Deployment"),
        ("networking.k8s.io/v1", "Ingress"),
        ("networking.istio.io/v1", "Gateway"),
        ("apps/v1", "Other"),
    ] {
        none(&of_kubernetes(api_version, kind));
    }
}

// Notations of command lines.

#[test]
fn typing_errors_have_suggestions() {
    for tag in ["v0.23.0", "latest", "nightly"] {
        let found = vllm(tag, "--max-modle-len=4096");
        one(&found, Kind::Refused, "`--max-modle-len`", "did you mean `--max-model-len`?");
        assert!(found[0].is_certain, "{tag}");
    }
}

#[test]
fn values_are_held_against_ranges_types_and_choices() {
    one(&vllm("v0.23.0", "--gpu-memory-utilization=high"), Kind::Refused, "`high`", "a number");
    one(&vllm("v0.23.0", "--tensor-parallel-size two"), Kind::Refused, "`two`", "an integer");
    one(
        &vllm("v0.23.0", "--kv-transfer-config {kv_connector:NixlConnector}"),
        Kind::Refused,
        "does not accept",
        "valid JSON",
    );
    one(&vllm("v0.23.0", "--dtype=bf16"), Kind::Refused, "`bf16`", "`bfloat16`");
    none(&vllm("v0.23.0", "--max-model-len -1 --seed=-5 --dtype auto --gpu-memory-utilization .9"));
    one(&vllm("v0.23.0", "--max-model-len"), Kind::Refused, "has no value", "--max-model-len=");
    one(&vllm("v0.23.0", "--max-model-len --trust-remote-code"), Kind::Refused, "has no value", "");
}

#[test]
fn flags_without_a_value() {
    none(&vllm(
        "v0.23.0",
        "a/b --enable-prefix-caching --no-enable-chunked-prefill --trust-remote-code",
    ));
    one(
        &vllm("v0.23.0", "--enable-prefix-caching=true"),
        Kind::Refused,
        "takes no value",
        "write `--enable-prefix-caching`",
    );
    one(&vllm("v0.23.0", "--trust-remote-code True --port 1"), Kind::Refused, "takes no value", "");
}

#[test]
fn underscores_and_fields() {
    none(&vllm("v0.23.0", "--max_model_len=4096 --tensor_parallel_size 2"));
    one(
        &sglang("v0.5.13", "--model-path a/b --context_length 4096"),
        Kind::Refused,
        "`--context_length`",
        "--context-length",
    );
    none(&vllm(
        "v0.23.0",
        "--kv-transfer-config.kv_role=kv_both --kv_transfer_config.kv_connector NixlConnector",
    ));
    one(
        &vllm("v0.23.0", "--kv-transfer-config.kv_roll=kv_both"),
        Kind::Refused,
        "`kv_roll`",
        "`kv_role`?",
    );
    one(
        &vllm("v0.23.0", "--kv-transfer-config.kv_role=both"),
        Kind::Refused,
        "`both`",
        "`kv_both`?",
    );
    none(&vllm("v0.23.0", "-cc.mode 3 -cc.mode=3"));
    none(&vllm("v0.23.0", "-O3 -O 3 -O.mode=3 --hf-overrides.rope_scaling.factor 2"));
}

#[test]
fn unknown_fields_of_json() {
    let line = "--kv-transfer-config '{\"kv_connector\":\"NixlConnector\",\"kv_rol\":\"kv_both\"}'";
    one(
        &vllm("v0.23.0", line),
        Kind::Refused,
        "no `--kv-transfer-config` field `kv_rol`",
        "`kv_role`?",
    );
    let line = "--kv-transfer-config='{\"kv_connector\":\"NixlConnector\",\"kv_role\":\"kv_both\",\"kv_port\":[1]}'";
    one(&vllm("v0.23.0", line), Kind::Refused, "`kv_port`", "int");
}

#[test]
fn unique_prefixes_of_long_flags() {
    one(
        &vllm("v0.23.0", "--gpu-mem 0.9"),
        Kind::Fragile,
        "abbreviation of `--gpu-memory-utilization`",
        "",
    );
    one(&vllm("v0.23.0", "--max-num 9"), Kind::Refused, "abbreviates several flags", "");
}

#[test]
fn short_and_other_names() {
    none(&vllm("v0.23.0", "-tp 8 -dp 2 -dpl=1"));
    for tag in ["v0.5.13", "v0.5.14"] {
        none(&sglang(tag, "--model-path a/b --tp-size 8 --tensor-parallel-size 8 --host 0.0.0.0"));
    }
}

#[test]
fn several_values() {
    none(&vllm("v0.23.0", "--served-model-name a b c --lora-modules x=/a y=/b --port 1"));
    one(
        &vllm("v0.23.0", "--cudagraph-capture-sizes 1 2 four"),
        Kind::Refused,
        "`four`",
        "an integer",
    );
}

#[test]
fn one_argument_with_two_words() {
    let found = argparse::judge(
        &VLLM,
        VLLM.releases.find("0.23.0"),
        &["--max-model-len 4096".to_owned()],
        false,
    );
    one(&found, Kind::Refused, "is one argument", "--max-model-len=4096");
}

#[test]
fn unknown_words_are_not_judged() {
    let open = crate::view::shell::UNKNOWN;
    let all = [
        format!("--max-model-len={open}"),
        format!("{open}"),
        "--port=$(PORT)".to_owned(),
        format!("--{open}=1"),
    ];
    none(&argparse::judge(&VLLM, VLLM.releases.find("0.23.0"), &all, false));
}

#[test]
fn parsers_are_registered_names() {
    none(&vllm("v0.23.0", "--tool-call-parser hermes --reasoning-parser deepseek_r1"));
    one(&vllm("v0.23.0", "--tool-call-parser hermess"), Kind::Refused, "`hermess`", "`hermes`?");
    none(&vllm("v0.23.0", "--tool-parser-plugin /a.py --tool-call-parser own"));
}

#[test]
fn unknown_releases_note_what_some_have() {
    none(&vllm("latest", "--port 8000 --tensor-parallel-size 8"));
    let found = vllm("latest", "--data-parallel-multi-port-external-lb --no-enable-prefix-caching");
    one(
        &found,
        Kind::Depends,
        "only 0.22.0 and later have `--data-parallel-multi-port-external-lb`",
        "",
    );
    let found = vllm("nightly", "--swap-space 4 --data-parallel-multi-port-external-lb");
    one(
        &found,
        Kind::Ignored,
        "no release of vLLM has all of `--swap-space`, `--data-parallel-multi-port-external-lb`",
        "",
    );
}

#[test]
fn later_releases_are_judged_by_the_newest_with_less_certainty() {
    let found = vllm("v99.0.0", "--swap-space 4");
    one(&found, Kind::Refused, "0.17.1 was the last", "");
    assert!(!found[0].is_certain);
    let found = vllm("v99.0.0", "--quantum-tunnels");
    assert!(!found[0].is_certain, "{found:?}");
    assert!(vllm("v99.0.0", "--max-modle-len=1")[0].is_certain);
}

#[test]
fn go_flags_and_their_values() {
    let image = "ghcr.io/llm-d/llm-d-router-endpoint-picker:v0.10.0";
    let line = |line: &str| go_line(&LLM_D.program, image, line);
    none(&line(
        "/app/epp --pool-name chat --pool-namespace $(NAMESPACE) --zap-encoder json --tracing=false --v=4",
    ));
    one(
        &line("--pool-name chat --grpc-prot 9002"),
        Kind::Refused,
        "`--grpc-prot`",
        "`--grpc-port`?",
    );
    one(&line("--grpc-port=abc"), Kind::Refused, "`abc`", "an integer");
    one(
        &line("--secure-serving false --pool-name a"),
        Kind::Ignored,
        "has no effect",
        "--secure-serving=false",
    );
    one(&line("--tracing=maybe"), Kind::Refused, "`maybe`", "");
    one(&line("--kv-cache-usage-percentage-metric=a"), Kind::Refused, "does not start with", "");
    assert!(
        go_flags::nanoseconds("1h30m") == Some(5_400_000_000_000)
            && go_flags::nanoseconds("0.5s") == go_flags::nanoseconds("500ms")
            && go_flags::nanoseconds("99999999999999999999s").is_some()
            && ["5", ".s", "1.2.3s", ""].iter().all(|text| go_flags::nanoseconds(text).is_none())
    );
}

#[test]
fn plugins_of_releases() {
    let plugin = |kind: &str| json!({"plugins": [{"type": kind}]});
    none(&config("v0.10.0", plugin("queue-scorer")));
    one(
        &config("v0.10.0", plugin("disagg-headers-handler")),
        Kind::Deprecated,
        "removed in 0.11.0",
        "disagg-profile-handler",
    );
    one(
        &config("v0.9.0", plugin("by-label")),
        Kind::Deprecated,
        "deprecated",
        "label-selector-filter",
    );
    one(
        &config("v0.10.0", plugin("queue-scorrer")),
        Kind::Refused,
        "`queue-scorrer`",
        "`queue-scorer`?",
    );
    let found = config("v0.10.0", plugin("acme-router"));
    one(&found, Kind::Refused, "`acme-router`", "custom image");
    assert!(!found[0].is_certain);
    one(
        &config("v0.10.0", plugin("session-affinity-filter")),
        Kind::Refused,
        "experimental",
        "--allow-experimental-plugins",
    );
    one(&config("v0.10.0", json!({"dataLayr": {}})), Kind::Refused, "`dataLayr`", "`dataLayer`?");
    one(
        &config(
            "v0.10.0",
            json!({"schedulingProfiles": [{"name": "a", "plugins": [{"plugin": "x"}]}]}),
        ),
        Kind::Refused,
        "`plugin`",
        "`pluginRef`?",
    );
    let old = json!({"apiVersion": "inference.networking.x-k8s.io/v1alpha1"});
    one(&config("v0.10.0", old), Kind::Deprecated, "deprecated", "llm-d.ai/v1alpha1");
}

/// A moving tag is likely the newest release, which may have deprecated a setting.
#[test]
fn deprecations_of_the_newest_release() {
    let config =
        json!({"apiVersion": "llm-d.ai/v1alpha1", "plugins": [{"type": "disagg-headers-handler"}]});
    let found = super::picker::judge(&LLM_D, Release::Unknown, &config, false);
    assert!(found.iter().any(|v| v.kind == Kind::Deprecated && v.message.contains("0.11.0")));
    let found = sidecar("llm-d-router-disagg-sidecar:main", "--vllm-port=8200");
    one(&found, Kind::Deprecated, "0.10.0", "--model-server-port");
}

#[test]
fn unknown_release_of_a_picker() {
    let json = json!({"apiVersion": "llm-d.ai/v1alpha1", "featureGates": ["dataLayer"], "plugins": [{"type": "queue-scorer"}]});
    let found = super::picker::judge(&LLM_D, Release::Unknown, &json, false);
    assert!(found.iter().all(|verdict| verdict.kind == Kind::Depends), "{found:#?}");
}

#[test]
fn parameters_of_an_unknown_release_of_a_picker() {
    let found = |name: &str, kind: Kind| {
        let plugin = json!({"type": "no-hit-lru-scorer", "parameters": {name: 1}});
        let mut found = config("main", json!({"plugins": [plugin]}));
        found.retain(|verdict| verdict.kind == kind);
        found
    };
    none(&found("lruSize", Kind::Refused));
    let typo = found("lruSiz", Kind::Refused);
    one(&typo, Kind::Refused, "parameter `lruSiz`", "`lruSize`?");
    assert!(typo[0].is_certain);
    let other = found("colour", Kind::Refused);
    one(&other, Kind::Refused, "parameter `colour`", "");
    assert!(!other[0].is_certain);

    // Parameters of some releases are only noted.
    let name = "prefixMatchInfoProducerName";
    one(&found(name, Kind::Depends), Kind::Depends, "only 0.9.0 and later have", "");
}
