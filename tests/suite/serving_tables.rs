//! `src/serving/releases/update.py` adds a release to a table from small sources.

use serde_json::{Value as Json, json};
use std::path::Path;
use std::process::Command;

/// Writes files below a folder.
fn write(root: &Path, files: &[(&str, &str)]) {
    for (name, text) in files {
        let path = root.join(name);
        std::fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
        std::fs::write(path, text).expect("a file");
    }
}

/// Runs the program on a table and sources; returns the new table and the printed changes.
fn update(table: &str, version: &str, before: &Json, sources: &[(&str, &str)]) -> (Json, String) {
    let folder = tempfile::tempdir().expect("a folder");
    let data = folder.path().join("data");
    let file = if table == "lws" { "kinds.json".to_owned() } else { format!("{table}.json") };
    write(&data, &[(&file, &before.to_string())]);
    let tree = folder.path().join("sources");
    write(&tree, sources);

    let program = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/serving/releases/update.py");
    let run = Command::new("python3")
        .arg(program)
        .args([table, version])
        .arg(&tree)
        .arg("--data")
        .arg(&data)
        .output()
        .expect("python3 runs");
    let shown = String::from_utf8_lossy(&run.stdout).into_owned();
    assert!(run.status.success(), "{shown}{}", String::from_utf8_lossy(&run.stderr));

    let text = std::fs::read_to_string(data.join(file)).expect("the table");
    (serde_json::from_str(&text).expect("JSON"), shown)
}

#[test]
fn flags_of_annotated_configurations() {
    let before = json!({
        "versions": ["1.0.0", "1.1.0"],
        "flags": {
            "gone": {"..": {"type": "int"}},
            "mode": {"..": {"type": "str", "choices": ["fast", "slow"]}},
            "port": {"..": {"type": "int"}},
        },
        "env": {"VLLM_OLD": [".."]},
        "env_types": {"VLLM_NEW": {"..": {"type": "float"}}},
        "fields": {"Inner.gone": {"..": {"type": "int"}}},
        "kv_connectors": {"NixlConnector": [".."]},
        "--backend": {"FAST": [".."]},
        "metrics": {"gone": {"..": "gauge"}},
        "VLLM_NEW": {"a": ["1.1.0.."], "b": ["1.1.0.."]},
        "VLLM_OLD": {"a": [".."]},
        "--quantization": {"awq": [".."], "gguf": [".."]},
        "--tool-call-parser": {"hermes": [".."], "gone": [".."]},
    });
    let sources = [
        (
            "vllm/config/model.py",
            "from typing import Literal\n\
             from vllm.registry import BackendEnum\n\
             if TYPE_CHECKING:\n    \
             from vllm.model_executor.layers.quantization import QuantizationMethods\n\
             else:\n    QuantizationMethods = str\n\
             Mode = Literal[\"slow\", \"fast\", \"auto\"]\n\
             @config\n\
             class Part:\n    on: bool = False\n    names: list[str] = ()\n    \
             @field_validator(\"*\", mode=\"before\")\n    \
             def split(cls, value):\n        return value.split(\",\")\n\
             @config\n\
             class Inner:\n    size: int = 1\n    mode: Mode | None = None\n    part: Part = None\n    \
             backend: BackendEnum = None\n    _own: int = 1\n    \
             def read(value):\n        return BackendEnum[value.upper()]\n\
             \x20   level: Mode = \"slow\"\n    @field_validator(\"level\", mode=\"before\")\n    \
             def fold(cls, value):\n        return value.lower().replace(\"-\", \"_\")\n\
             @config\n\
             class ModelConfig:\n    mode: Mode = \"auto\"\n    max_model_len: int | None = None\n    \
             sizes: list[int] | None = None\n    eager: bool = False\n    inner: Inner | None = None\n    \
             quantization: QuantizationMethods | str | None = None\n    backend: BackendEnum | None = None\n    \
             modes: Mode = \"slow\"\n",
        ),
        (
            "vllm/v1/metrics/loggers.py",
            "a = self._counter_cls(name=\"vllm:tokens_total\", labels=[])\n\
             b = Histogram(\"vllm:iteration_total\")\nNAME = \"vllm:other\"\nPART = \"vllm:part_\"\n",
        ),
        ("vllm/v1/metrics/reader.py", "NAME = \"vllm:tokens_total\"\n"),
        (
            "vllm/registry.py",
            "from enum import Enum\nclass BackendEnum(Enum):\n    FAST = 1\n    SLOW = 2\n    _hidden = 3\n",
        ),
        (
            "vllm/tool_parsers/__init__.py",
            "_TOOL_PARSERS_TO_REGISTER = {\"hermes\": (\"a\", \"A\"), \"kimi\": (\"b\", \"B\")}\n",
        ),
        (
            "vllm/model_executor/layers/quantization/__init__.py",
            "from typing import Literal\nQuantizationMethods = Literal[\"awq\", \"mxfp4\"]\n",
        ),
        (
            "vllm/engine/arg_utils.py",
            "from vllm.config.model import ModelConfig\n\
             class EngineArgs:\n    @staticmethod\n    def add_cli_args(parser):\n        \
             kwargs = get_kwargs(ModelConfig)\n        \
             parser.add_argument(\"--mode\", \"-m\", **kwargs[\"mode\"])\n        \
             parser.add_argument(\"--max-model-len\", **kwargs[\"max_model_len\"])\n        \
             parser.add_argument(\"--sizes\", **{**kwargs[\"sizes\"], \"default\": None})\n        \
             parser.add_argument(\"--eager\", **kwargs[\"eager\"], deprecated=True)\n        \
             parser.add_argument(\"--inner\", **kwargs[\"inner\"])\n        \
             parser.add_argument(\"--quantization\", **kwargs[\"quantization\"])\n        \
             parser.add_argument(\"--backend\", **kwargs[\"backend\"])\n        \
             kwargs[\"modes\"][\"choices\"].remove(\"slow\")\n        \
             of_modes = kwargs[\"modes\"]\n        \
             parser.add_argument(\"--modes\", **of_modes)\n",
        ),
        (
            "vllm/entrypoints/cli_args.py",
            "from dataclasses import dataclass\n\
             @dataclass\nclass FrontendArgs:\n    port: int = 8000\n    hosts: list[str] = ()\n    \
             def _customize_cli_kwargs(cls, kwargs):\n        \
             kwargs[\"hosts\"][\"action\"] = \"append\"\n",
        ),
        (
            "vllm/envs.py",
            "x = {\n    \"VLLM_NEW\": env_with_choices(\n        \"VLLM_NEW\", \"a\", [\"a\", \"c\"]),\n    \
             \"VLLM_ANY\": env_with_choices(\n        \"VLLM_ANY\", \"a\", [\"A\"], case_sensitive=False),\n    \
             \"VLLM_ON\": lambda: bool(int(os.getenv(\n            \"VLLM_ON\", \"0\"))),\n}\n",
        ),
    ];
    let (table, shown) = update("vllm", "1.2.0", &before, &sources);

    assert_eq!(table["versions"], json!(["1.0.0", "1.1.0", "1.2.0"]));
    let flags = &table["flags"];
    assert_eq!(flags["gone"], json!({"..1.1.0": {"type": "int"}}));
    assert_eq!(flags["port"], json!({"..": {"type": "int"}}));
    assert_eq!(
        flags["mode"]["1.2.0.."],
        json!({"type": "str", "choices": ["auto", "fast", "slow"], "alias": ["-m"]})
    );
    assert_eq!(flags["max-model-len"], json!({"1.2.0..": {"type": "hint"}}));
    assert_eq!(flags["sizes"], json!({"1.2.0..": {"type": "int", "nargs": "+", "none": true}}));
    assert_eq!(flags["eager"], json!({"1.2.0..": {"type": "bool", "deprecated": true}}));
    assert_eq!(
        flags["inner"],
        json!({"1.2.0..": {"type": "json", "none": true, "class": "Inner"}})
    );
    assert_eq!(flags["hosts"]["1.2.0.."]["nargs"], "append");
    assert_eq!(
        table["env"],
        json!({"VLLM_ANY": ["1.2.0.."], "VLLM_NEW": ["1.2.0.."], "VLLM_OLD": ["..1.1.0"], "VLLM_ON": ["1.2.0.."]})
    );
    let types = json!({"VLLM_NEW": {"..1.1.0": {"type": "float"}}, "VLLM_ON": {"1.2.0..": {"type": "int"}}});
    assert_eq!(table["env_types"], types);
    // A variable that is read in any case, and one without choices.
    assert_eq!(table["fold VLLM_ANY"], json!({"a": ["1.2.0.."]}));
    assert_eq!(table["VLLM_OLD"], json!({"a": ["..1.1.0"]}));
    assert_eq!(flags["modes"], json!({"1.2.0..": {"type": "str", "choices": ["auto", "fast"]}}));
    let methods = json!({"awq": [".."], "gguf": ["..1.1.0"], "mxfp4": ["1.2.0.."]});
    assert_eq!(table["--quantization"], methods);
    assert_eq!(table["--backend"], json!({"FAST": [".."], "SLOW": ["1.2.0.."]}));
    assert_eq!(
        table["VLLM_NEW"],
        json!({"a": ["1.1.0.."], "b": ["1.1.0..1.1.0"], "c": ["1.2.0.."]})
    );
    let parsers = json!({"gone": ["..1.1.0"], "hermes": [".."], "kimi": ["1.2.0.."]});
    assert_eq!(table["--tool-call-parser"], parsers);
    let metrics = json!({
        "gone": {"..1.1.0": "gauge"},
        "iteration_total": {"1.2.0..": "histogram"},
        "other": {"1.2.0..": ""},
        "tokens": {"1.2.0..": "counter"},
    });
    assert_eq!(table["metrics"], metrics);
    let fields = json!({
        "Inner.backend": {"1.2.0..": {"type": "member", "choices": ["FAST", "SLOW"]}},
        "Inner.gone": {"..1.1.0": {"type": "int"}},
        "Inner.level": {"1.2.0..": {"type": "fold", "choices": ["slow", "fast", "auto"]}},
        "Inner.mode": {"1.2.0..": {"type": "choice|null", "choices": ["slow", "fast", "auto"]}},
        "Inner.part": {"1.2.0..": {"type": "Part"}},
        "Inner.size": {"1.2.0..": {"type": "int"}},
        "Part.names": {"1.2.0..": {"type": "list|str"}},
        "Part.on": {"1.2.0..": {"type": "bool"}},
    });
    assert_eq!(table["fields"], fields);
    assert!(
        shown.contains("flags: - gone") && shown.contains("kv_connectors: carried over"),
        "{shown}"
    );
}

#[test]
fn flags_of_annotated_arguments() {
    let before = json!({"versions": ["0.1"], "flags": {"tp": {"..": {"type": "int"}}}, "env": {}});
    let sources = [
        (
            "sglang/srt/arg_groups/fields/parallel.py",
            "class Parallel:\n    tp: A[int, Arg(help=\"x\", aliases=[\"--tensor\"])] = 1\n    \
             fast: A[bool, \"help\"] = False\n    hidden: A[bool, Arg(no_cli=True)] = False\n",
        ),
        ("sglang/srt/server_args.py", "class ServerArgs:\n    pass\n"),
        ("sglang/srt/environ.py", "class Envs:\n    SGLANG_LEVEL = EnvInt(1)\n"),
    ];
    let (table, _) = update("sglang", "0.2", &before, &sources);
    assert_eq!(
        table["flags"]["tp"],
        json!({"..0.1": {"type": "int"}, "0.2..": {"type": "int", "alias": ["--tensor"]}})
    );
    assert_eq!(table["flags"]["fast"], json!({"0.2..": {"type": "flag"}}));
    assert_eq!(table["flags"].get("hidden"), None);
    assert_eq!(table["env"], json!({"SGLANG_LEVEL": ["0.2.."]}));
}

#[test]
fn flags_of_go_programs() {
    let before = json!({"versions": ["0.9.0"], "flags": {"connector": {"..": {"type": "str"}}}});
    let go = "package proxy\nconst (\n\tkvConnector = \"kv-connector\"\n\tconnector = \"connector\"\n)\n\
              func (o *Options) AddFlags(fs *pflag.FlagSet) {\n\
              \tfs.StringVar(&o.KV, kvConnector, o.KV, \"x\")\n\
              \tfs.StringVar(&o.Old, connector, \"\", \"x\")\n\
              \t_ = fs.MarkDeprecated(connector, \"use the other\")\n\
              \tfs.BoolVar(&o.Secure, \"secure-proxy\", true, \"x\")\n\
              \tfs.IntVarP(&o.V, \"v\", \"v\", 2, \"x\")\n}\n";
    let (table, _) = update("sidecar", "0.10.0", &before, &[("pkg/sidecar/options.go", go)]);
    let flags = &table["flags"];
    assert_eq!(flags["connector"]["0.10.0.."], json!({"type": "str", "deprecated": true}));
    assert_eq!(flags["kv-connector"], json!({"0.10.0..": {"type": "str"}}));
    assert_eq!(flags["secure-proxy"], json!({"0.10.0..": {"type": "bool"}}));
    assert_eq!(flags["v"], json!({"0.10.0..": {"type": "int", "short": "v"}}));
}

#[test]
fn choices_that_functions_return_and_classes_that_are_rebuilt() {
    let before = json!({"versions": ["0.1"], "flags": {}, "env": {}});
    let sources = [
        (
            "sglang/srt/server_args.py",
            "def _parser_names():\n    from sglang.srt.names import NAMES\n    return list(NAMES)\n\
             class ServerArgs:\n    @staticmethod\n    def add_cli_args(parser):\n\
             \x20       names = _parser_names()\n\
             \x20       parser.add_argument(\"--tool-parser\", type=str, choices=[\"auto\"] + names)\n\
             \x20       parser.add_argument(\"--old\", action=DeprecatedStoreTrueAction, new_flag=\"--new\")\n\
             ServerArgs = rebuilt(ServerArgs)\n",
        ),
        ("sglang/srt/names.py", "NAMES = (\"one\", \"two\")\n"),
    ];
    let (table, _) = update("sglang", "0.2", &before, &sources);
    assert_eq!(
        table["flags"],
        json!({
            "old": {"0.2..": {"type": "flag", "deprecated": true, "use": "--new"}},
            "tool-parser": {"0.2..": {"type": "str", "choices": ["auto", "one", "two"]}},
        })
    );
}

#[test]
fn plugins_of_a_picker() {
    let before = json!({
        "versions": ["0.10.0"],
        "flags": {"zap-encoder": {"..": {"type": "str"}}},
        "plugins": {
            "gone": {"..": {"parameters": {}}},
            "queue-scorer": {"..": {"ignored": true}},
            "label-filter": {"..": {"parameters": {"matchLabels": {"type": "map[str]"}}}},
        },
    });
    let runner = "package main\n\
        import (\n\
        \t\"example.com/router/pkg/plugin\"\n\
        \tscorers \"example.com/router/pkg/scorer\"\n)\n\
        func register() {\n\
        \tplugin.Register(scorers.QueueType, plugin.StabilityBeta, scorers.QueueFactory)\n\
        \tplugin.Register(scorers.LabelType, plugin.StabilityBeta, scorers.LabelFactory)\n\
        \tplugin.RegisterDeprecated(scorers.OldType, plugin.StabilityBeta, scorers.CacheFactory, // since\n\
        \t\t\"v0.10.0\", \"v0.12.0\", scorers.CacheType)\n\
        \tplugin.Register(scorers.CacheType, plugin.StabilityAlpha, scorers.CacheFactory)\n}\n";
    let scorer = "package scorer\n\
        const (\n\tQueueType = \"queue-scorer\"\n\tCacheType = \"cache-scorer\"\n\tOldType = \"old\"\n)\n\
        const LabelType = \"label-filter\"\n\
        // Sizes of the cache.\n\
        type sizes struct {\n\
        \tBlocks int `json:\"blocks\"`\n\
        \tHidden string `json:\"-\"`\n}\n\
        type parameters struct {\n\
        \tsizes `json:\",inline\"`\n\
        \tTTL metav1.Duration `json:\"ttl,omitempty\"` // a duration\n\
        \tWeights map[string]float64 `json:\"weights\"`\n\
        \tNested []*sizes `json:\"nested\"`\n}\n\
        func QueueFactory(name string, _ *json.Decoder, h plugin.Handle) (plugin.Plugin, error) {\n\
        \treturn nil, nil\n}\n\
        func CacheFactory(name string, raw *json.Decoder, h plugin.Handle) (plugin.Plugin, error) {\n\
        \treturn decode(h, raw)\n}\n\
        func decode(h plugin.Handle, raw *json.Decoder) (plugin.Plugin, error) {\n\
        \tp := parameters{TTL: defaultTTL}\n\
        \tif err := raw.Decode(&p); err != nil {\n\t\treturn nil, err\n\t}\n\treturn nil, nil\n}\n\
        func LabelFactory(name string, raw *json.Decoder, h plugin.Handle) (plugin.Plugin, error) {\n\
        \tp := metav1.LabelSelector{}\n\treturn nil, raw.Decode(&p)\n}\n";
    let options = "package server\nfunc (o *Options) AddFlags(fs *pflag.FlagSet) {\n\
        \tfs.IntSliceVar(&o.Ports, \"ports\", nil, \"x\")\n\to.ZapOptions.BindFlags(set)\n}\n";
    let sources = [
        ("go.mod", "module example.com/router\n"),
        ("cmd/epp/runner.go", runner),
        ("pkg/scorer/scorer.go", scorer),
        ("pkg/epp/server/options.go", options),
    ];
    let (table, shown) = update("picker-llm-d", "0.11.0", &before, &sources);

    let parameters = json!({
        "blocks": {"type": "int"},
        "ttl": {"type": "duration"},
        "weights": {"type": "map[float]"},
        "nested": {"type": "[object]", "fields": {"blocks": {"type": "int"}}},
    });
    let plugins = &table["plugins"];
    assert_eq!(
        plugins["cache-scorer"],
        json!({"0.11.0..": {"alpha": true, "parameters": parameters}})
    );
    assert_eq!(
        plugins["old"],
        json!({"0.11.0..": {
            "deprecated": true, "removal": "0.12.0", "use": "cache-scorer", "parameters": parameters,
        }})
    );
    // What is the same has one range, what is gone ends, and what cannot be read is kept and named.
    assert_eq!(plugins["queue-scorer"], before["plugins"]["queue-scorer"]);
    assert_eq!(plugins["label-filter"], before["plugins"]["label-filter"]);
    assert_eq!(plugins["gone"], json!({"..0.10.0": {"parameters": {}}}));
    assert!(shown.contains("plugins: label-filter carried over in part, not read"), "{shown}");
    assert_eq!(table["flags"]["zap-encoder"], json!({"..": {"type": "str"}}));
    assert_eq!(table["flags"]["ports"], json!({"0.11.0..": {"type": "list"}}));
}

/// A CRD with two versions.
const CRD: &str = "\
# Generated.
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
spec:
  group: example.com
  names:
    kind: WidgetServiceConfig
  versions:
  - name: v1alpha1
    schema:
      openAPIV3Schema:
        properties:
          spec:
            description: |-
              Fields such as
                size:
                  are described.
            properties:
              mode:
                enum:
                - Slow
                - Fast
                type: string
              size:
                default: 1
                type: integer
              parts:
                items:
                  properties:
                    color:
                      description: 'A color: one of
                        red:'
                      pattern: ^[a-z]+$
                      type: string
                  required:
                  - color
                  type: object
                type: array
            required:
            - size
            - parts
            type: object
    served: true
  - name: v1
    schema:
      openAPIV3Schema:
        properties:
          spec:
            properties:
              mode:
                enum:
                - Fast
                - \"True\"
                type: string
              labels:
                additionalProperties:
                  type: string
                type: object
              size:
                format: int32
                type: integer
              template:
                properties:
                  containers:
                    type: array
                  initContainers:
                    type: array
                type: object
            required:
            - size
            type: object
    served: false
";

/// All versions of a CRD count, and its presets; a value is refused if none of them accepts it.
#[test]
fn schemas_of_custom_resources() {
    let before = json!({"example.com/WidgetService": {"type": "object", "properties": {
        "size": {"type": "integer"}, "old": {"type": "string"},
    }}});
    let (table, shown) = update("schemas", "1.0.0", &before, &[("crds/widgets.yaml", CRD)]);
    let open = "x-kubernetes-preserve-unknown-fields";
    let schema = json!({"type": "object", "properties": {
        "labels": {"type": "object", "additionalProperties": {"type": "string"}},
        "mode": {"type": "string", "enum": ["Fast", "Slow", "True"]},
        "old": {"type": "string"},
        "parts": {"type": "array", "items": {
            "type": "object",
            "required": ["color"],
            "properties": {"color": {"type": "string", "pattern": "^[a-z]+$"}},
        }},
        "size": {"type": "integer"},
        "template": {"pod": true, open: true},
    }});
    assert_eq!(table, json!({"example.com/WidgetService": schema}));
    assert!(shown.starts_with("example.com/WidgetService: "), "{shown}");
}

#[test]
fn kinds_of_a_project() {
    let before = json!({"read": "2026-01-01", "versions": ["0.1.0", "0.2.0"], "kinds": {
        "example.com/v1alpha1 WidgetServiceConfig": [".."],
        "example.com/v1alpha1 Widget": [".."],
    }});
    let tables = json!({"lws": before, "kserve": {"versions": [], "kinds": {}}});
    let (tables, shown) = update("lws", "0.3.0", &tables, &[("widgets.yaml", CRD)]);
    assert_eq!(tables["lws"]["versions"], json!(["0.1.0", "0.2.0", "0.3.0"]));
    let kinds = json!({
        "example.com/v1alpha1 Widget": ["..0.2.0"],
        "example.com/v1alpha1 WidgetServiceConfig": [".."],
    });
    assert_eq!(tables["lws"]["kinds"], kinds);
    assert_ne!(tables["lws"]["read"], before["read"]);
    let lines = "\
kinds: - example.com/v1alpha1 Widget
";
    assert_eq!(shown, lines);
}
