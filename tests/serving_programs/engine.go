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
	"sync"
)

// engine is a model server without a model, but with the ports, endpoints and metrics of one.
type engine struct {
	models []string
	rank   int
	port   int
	mutex  *sync.Mutex
	// Names of metrics.
	metrics metricNames
	// KV caches that SGLang transfers; nil for vLLM.
	transfers *transfers
}

// metricNames are the metrics that the picker reads.
type metricNames struct {
	prefix string
	gauges []string
	blocks string
}

var vllmMetrics = metricNames{
	prefix: "vllm", gauges: []string{"num_requests_waiting", "num_requests_running", "kv_cache_usage_perc"},
	blocks: "block_size=\"16\",num_gpu_blocks=\"1000\"",
}

// served is a request that an engine answered, as a line of STAND_IN_LOG.
type served struct {
	Pod      string          `json:"pod"`
	Port     int             `json:"port"`
	Path     string          `json:"path"`
	Model    string          `json:"model"`
	Transfer json.RawMessage `json:"kv_transfer_params,omitempty"`
	// Where SGLang's prefill server has the KV cache.
	Bootstrap string `json:"bootstrap,omitempty"`
}

func listen(host string, port int, handler http.Handler) error {
	return http.ListenAndServe(net.JoinHostPort(host, strconv.Itoa(port)), handler)
}

func (e *engine) handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /health", func(http.ResponseWriter, *http.Request) {})
	mux.HandleFunc("GET /v1/models", e.listModels)
	if e.metrics.prefix != "" {
		mux.HandleFunc("GET /metrics", e.reportMetrics)
	}
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

func (e *engine) reportMetrics(w http.ResponseWriter, _ *http.Request) {
	names := e.metrics
	labels := fmt.Sprintf("{engine=\"%d\",model_name=%q}", e.rank, e.models[0])
	w.Header().Set("content-type", "text/plain; version=0.0.4")
	for _, gauge := range names.gauges {
		fmt.Fprintf(w, "# TYPE %[1]s:%[2]s gauge\n%[1]s:%[2]s%[3]s 0\n", names.prefix, gauge, labels)
	}
	fmt.Fprintf(w, "# TYPE %s:cache_config_info gauge\n", names.prefix)
	fmt.Fprintf(w, "%s:cache_config_info{%s,engine=\"%d\"} 1\n", names.prefix, names.blocks, e.rank)
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

	where := ""
	if e.transfers != nil {
		if where, err = e.transfers.transfer(text); err != nil {
			reply(w, http.StatusBadRequest, map[string]any{"error": err.Error()})
			return
		}
	}
	pod := os.Getenv("STAND_IN_POD")
	e.record(served{Bootstrap: where, Pod: pod, Port: e.port, Path: r.URL.Path, Model: request.Model, Transfer: request.Transfer})
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
