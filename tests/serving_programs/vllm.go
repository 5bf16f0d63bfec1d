package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// Flags of vLLM that have no value.
var switches = []string{
	"data-parallel-external-lb", "data-parallel-hybrid-lb", "data-parallel-multi-port-external-lb",
	"enable-expert-parallel", "enable-lora", "headless", "trust-remote-code",
}

// engine stands in for a vLLM server: it has no model, but the ports, endpoints and metrics of one.
type engine struct {
	models []string
	rank   int
	port   int
	mutex  *sync.Mutex
}

// served is a request that an engine answered, as a line of STAND_IN_LOG.
type served struct {
	Pod      string          `json:"pod"`
	Port     int             `json:"port"`
	Path     string          `json:"path"`
	Model    string          `json:"model"`
	Transfer json.RawMessage `json:"kv_transfer_params,omitempty"`
}

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
	group, err := parseGroup(flags)
	if err != nil {
		return err
	}
	if group != nil {
		if err := group.join(); err != nil {
			return err
		}
	}
	if _, headless := flags["headless"]; headless {
		select {}
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
		e := &engine{models: models, rank: rank, port: first + rank, mutex: mutex}
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

// parseFlags returns the flags by name, with dashes; the last value counts, or all of a list.
func parseFlags(arguments []string) map[string]string {
	flags := map[string]string{}
	name := ""
	for _, argument := range arguments {
		rest, isFlag := strings.CutPrefix(argument, "--")
		if !isFlag {
			if name != "" {
				flags[name] = strings.TrimSpace(flags[name] + " " + argument)
			}
			continue
		}
		value, found := "", false
		name, value, found = strings.Cut(rest, "=")
		name = strings.ReplaceAll(name, "_", "-")
		flags[name] = value
		if found || slices.Contains(switches, name) {
			name = ""
		}
	}
	return flags
}

func number(flags map[string]string, name string, fallback int) (int, error) {
	text, found := flags[name]
	if !found {
		return fallback, nil
	}
	value, err := strconv.Atoi(text)
	if err != nil {
		return 0, fmt.Errorf("--%s: %w", name, err)
	}
	return value, nil
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

func listen(host string, port int, handler http.Handler) error {
	return http.ListenAndServe(net.JoinHostPort(host, strconv.Itoa(port)), handler)
}

// supervisor returns the server of --data-parallel-supervisor-port, which has health endpoints only.
func supervisor() http.Handler {
	mux := http.NewServeMux()
	for _, path := range []string{"/health", "/livez", "/readyz"} {
		mux.HandleFunc("GET "+path, func(http.ResponseWriter, *http.Request) {})
	}
	return mux
}

func (e *engine) handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /health", func(http.ResponseWriter, *http.Request) {})
	mux.HandleFunc("GET /v1/models", e.listModels)
	mux.HandleFunc("GET /metrics", e.metrics)
	mux.HandleFunc("POST /v1/completions", e.complete)
	mux.HandleFunc("POST /v1/chat/completions", e.complete)
	return mux
}

func (e *engine) listModels(w http.ResponseWriter, _ *http.Request) {
	var data []map[string]any
	for _, model := range e.models {
		data = append(data, map[string]any{"id": model, "object": "model", "max_model_len": 4096})
	}
	reply(w, http.StatusOK, map[string]any{"object": "list", "data": data})
}

func (e *engine) metrics(w http.ResponseWriter, _ *http.Request) {
	labels := fmt.Sprintf("{engine=\"%d\",model_name=%q}", e.rank, e.models[0])
	w.Header().Set("content-type", "text/plain; version=0.0.4")
	for _, metric := range []string{"num_requests_waiting", "num_requests_running", "kv_cache_usage_perc"} {
		fmt.Fprintf(w, "# TYPE vllm:%s gauge\nvllm:%s%s 0\n", metric, metric, labels)
	}
	fmt.Fprintf(w, "# TYPE vllm:cache_config_info gauge\n")
	fmt.Fprintf(w, "vllm:cache_config_info{block_size=\"16\",num_gpu_blocks=\"1000\",engine=\"%d\"} 1\n", e.rank)
}

// complete answers one token, and records the request before it does. Prompts that another pod decodes
// are answered with the place of their KV cache, as NIXL connectors do.
func (e *engine) complete(w http.ResponseWriter, r *http.Request) {
	text, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	var request struct {
		Model    string          `json:"model"`
		Transfer json.RawMessage `json:"kv_transfer_params"`
	}
	if err := json.Unmarshal(text, &request); err != nil {
		reply(w, http.StatusBadRequest, map[string]any{"error": err.Error()})
		return
	}
	if !slices.Contains(e.models, request.Model) {
		message := fmt.Sprintf("The model `%s` does not exist.", request.Model)
		reply(w, http.StatusNotFound, map[string]any{"error": map[string]any{"message": message, "code": 404}})
		return
	}

	pod := os.Getenv("STAND_IN_POD")
	e.record(served{Pod: pod, Port: e.port, Path: r.URL.Path, Model: request.Model, Transfer: request.Transfer})
	answer := map[string]any{
		"id": "1", "object": "text_completion", "model": request.Model, "served_by": pod,
		"choices": []any{map[string]any{
			"index": 0, "text": "x", "finish_reason": "stop",
			"message": map[string]any{"role": "assistant", "content": "x"},
		}},
		"usage": map[string]any{"prompt_tokens": 3, "completion_tokens": 1, "total_tokens": 4},
	}
	var transfer struct {
		RemoteDecode bool `json:"do_remote_decode"`
	}
	if json.Unmarshal(request.Transfer, &transfer) == nil && transfer.RemoteDecode {
		port, _ := strconv.Atoi(os.Getenv("VLLM_NIXL_SIDE_CHANNEL_PORT"))
		answer["kv_transfer_params"] = map[string]any{
			"do_remote_prefill": true, "do_remote_decode": false, "remote_block_ids": []int{1},
			"remote_engine_id": pod, "remote_host": os.Getenv("VLLM_NIXL_SIDE_CHANNEL_HOST"),
			"remote_port": port + e.rank, "remote_request_id": "1", "tp_size": 1,
		}
	}
	reply(w, http.StatusOK, answer)
}

func (e *engine) record(request served) {
	e.mutex.Lock()
	defer e.mutex.Unlock()
	file, err := os.OpenFile(os.Getenv("STAND_IN_LOG"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return
	}
	defer file.Close()
	_ = json.NewEncoder(file).Encode(request)
}

func reply(w http.ResponseWriter, status int, body any) {
	w.Header().Set("content-type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(body)
}
