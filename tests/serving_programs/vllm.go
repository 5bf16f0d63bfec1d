package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync"
)

// vllm listens where `vllm serve` with these arguments listens, once all ranks of its group are there.
// Headless workers have no ports.
func vllm(arguments []string) error {
	if len(arguments) > 1 && arguments[0] == "launch" && arguments[1] == "render" {
		return render(parseFlags(arguments[2:]))
	}
	if len(arguments) == 0 || arguments[0] != "serve" {
		return fmt.Errorf("vllm: unknown command %q", arguments)
	}
	flags := parseFlags(arguments[1:])
	if err := checkExperts(flags); err != nil {
		return err
	}
	group, err := parseGroup(flags)
	if err != nil {
		return err
	}
	wanted, err := vllmDevices(flags)
	if err != nil {
		return err
	}
	if err := checkDevices(wanted); err != nil {
		return err
	}
	if group != nil {
		if err := group.join(); err != nil {
			return err
		}
	}
	if _, headless := flags["headless"]; headless {
		waitForever()
	}

	first, err := number(flags, "port", 8000)
	if err != nil {
		return err
	}
	models := append(strings.Fields(flags["served-model-name"]), adapters(flags)...)
	ranks := 1
	if _, found := flags["data-parallel-multi-port-external-lb"]; found {
		if ranks, err = number(flags, "data-parallel-size-local", 1); err != nil {
			return err
		}
	}

	failed := make(chan error)
	mutex := &sync.Mutex{}
	for rank := range ranks {
		e := &engine{models: models, rank: rank, port: first + rank, mutex: mutex, metrics: vllmMetrics}
		go func() { failed <- listen(flags["host"], e.port, e.handler()) }()
	}
	if _, found := flags["data-parallel-supervisor-port"]; found {
		port, err := number(flags, "data-parallel-supervisor-port", 0)
		if err != nil {
			return err
		}
		go func() { failed <- listen(flags["host"], port, supervisor()) }()
	}
	return <-failed
}

// render stands in for `vllm launch render`, which tokenizes prompts for pickers: here a word is a token.
func render(flags map[string]string) error {
	port, err := number(flags, "port", 8000)
	if err != nil {
		return err
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /health", func(http.ResponseWriter, *http.Request) {})
	mux.HandleFunc("POST /v1/completions/render", func(w http.ResponseWriter, r *http.Request) {
		var request struct{ Prompt string }
		if err := json.NewDecoder(r.Body).Decode(&request); err != nil {
			reply(w, http.StatusBadRequest, map[string]any{"error": err.Error()})
			return
		}
		tokens := []int{}
		for index := range strings.Fields(request.Prompt) {
			tokens = append(tokens, index)
		}
		reply(w, http.StatusOK, []any{map[string]any{"token_ids": tokens}})
	})
	return listen(flags["host"], port, mux)
}

// vllmDevices returns the number of GPUs of one process.
func vllmDevices(flags map[string]string) (int, error) {
	sizes := map[string]int{}
	for _, name := range []string{"tensor-parallel-size", "pipeline-parallel-size", "data-parallel-size", "nnodes"} {
		value, err := number(flags, name, 1)
		if err != nil {
			return 0, err
		}
		sizes[name] = value
	}
	ranks, err := number(flags, "data-parallel-size-local", sizes["data-parallel-size"])
	if err != nil {
		return 0, err
	}
	nodes := sizes["nnodes"]
	if flags["distributed-executor-backend"] == "ray" {
		if nodes, err = rayNodes(); err != nil {
			return 0, err
		}
	}
	return ranks * sizes["tensor-parallel-size"] * sizes["pipeline-parallel-size"] / nodes, nil
}

// allToAll are the names of --all2all-backend in vLLM 0.33 that charts have, and true for those that send
// while the GPU computes.
var allToAll = map[string]bool{
	"allgather_reducescatter": false, "deepep_high_throughput": true, "deepep_low_latency": true, "nixl_ep": true,
}

// checkExperts returns an error for flags of expert parallelism that vLLM refuses: argparse, ParallelConfig
// and VllmConfig.
func checkExperts(flags map[string]string) error {
	overlaps, known := allToAll[flags["all2all-backend"]]
	if _, found := flags["all2all-backend"]; found && !known {
		return fmt.Errorf("argument --all2all-backend: invalid choice: %q", flags["all2all-backend"])
	}
	if _, found := flags["enable-dbo"]; found && !overlaps {
		return fmt.Errorf("microbatching does not support the all2all backend %q", flags["all2all-backend"])
	}
	_, balances := flags["enable-eplb"]
	if _, parallel := flags["enable-expert-parallel"]; balances && !parallel {
		return fmt.Errorf("enable_expert_parallel must be True to use EPLB")
	}
	return nil
}

// adapters returns the names of --lora-modules: NAME=PATH, or JSON objects.
func adapters(flags map[string]string) []string {
	var names []string
	for _, module := range strings.Fields(flags["lora-modules"]) {
		var object struct{ Name string }
		if json.Unmarshal([]byte(module), &object) == nil && object.Name != "" {
			names = append(names, object.Name)
		} else if name, _, found := strings.Cut(module, "="); found {
			names = append(names, name)
		}
	}
	return names
}

// supervisor returns the server of --data-parallel-supervisor-port, which has health endpoints only.
func supervisor() http.Handler {
	mux := http.NewServeMux()
	for _, path := range []string{"/health", "/livez", "/readyz"} {
		mux.HandleFunc("GET "+path, func(http.ResponseWriter, *http.Request) {})
	}
	return mux
}
