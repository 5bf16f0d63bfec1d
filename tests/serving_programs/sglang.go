package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"strconv"
	"strings"
	"sync"
	"time"
)

// How long a decode server waits for the KV cache of a prompt.
const transferTimeout = 10 * time.Second

var sglangMetrics = metricNames{
	prefix: "sglang", gauges: []string{"num_queue_reqs", "num_running_reqs", "token_usage"},
	blocks: "page_size=\"64\",num_pages=\"1000\"",
}

// sglang listens where `python3 -m sglang.launch_server` with these arguments listens, once all nodes
// are there. Nodes other than the first serve no requests.
func sglang(arguments []string) error {
	flags := parseFlags(arguments)
	numbers := map[string]int{}
	for name, fallback := range map[string]int{
		"port": 30000, "nnodes": 1, "node-rank": 0, "disaggregation-bootstrap-port": 8998,
		"tensor-parallel-size": 1, "pipeline-parallel-size": 1, "data-parallel-size": 1,
	} {
		value, err := number(flags, name, fallback)
		if err != nil {
			return err
		}
		numbers[name] = value
	}

	devices := numbers["tensor-parallel-size"] * numbers["pipeline-parallel-size"]
	// With attention data parallelism, ranks share the GPUs of tensor parallelism.
	if _, found := flags["enable-dp-attention"]; !found {
		devices *= numbers["data-parallel-size"]
	}
	if err := checkDevices(devices / numbers["nnodes"]); err != nil {
		return err
	}
	if numbers["nnodes"] > 1 {
		host, port, err := net.SplitHostPort(flags["dist-init-addr"])
		if err != nil {
			return err
		}
		g := &group{size: numbers["nnodes"], start: numbers["node-rank"], local: 1, address: host}
		if g.port, err = strconv.Atoi(port); err != nil {
			return err
		}
		if err := g.join(); err != nil {
			return err
		}
		if g.start > 0 {
			waitForever()
		}
	}

	e := &engine{
		models: strings.Fields(flags["served-model-name"]), port: numbers["port"], mutex: &sync.Mutex{},
	}
	if _, found := flags["enable-metrics"]; found {
		e.metrics = sglangMetrics
	}
	mode := flags["disaggregation-mode"]
	if mode == "prefill" || mode == "decode" {
		e.transfers = &transfers{isPrefill: mode == "prefill", rooms: map[int64]bool{}}
	}
	failed := make(chan error)
	if mode == "prefill" {
		go func() { failed <- e.transfers.serve(numbers["disaggregation-bootstrap-port"]) }()
	}
	host := flags["host"]
	if host == "" {
		host = "127.0.0.1"
	}
	go func() { failed <- listen(host, e.port, e.handler()) }()
	return <-failed
}

// transfers are KV caches in transfer, by the rooms that the routing proxy chooses: the prefill server
// has them, and the decode server asks its bootstrap port for them.
type transfers struct {
	isPrefill bool
	mutex     sync.Mutex
	rooms     map[int64]bool
}

// transfer processes a prompt, or waits until the prefill server in the request has done it. Returns
// the address of that server.
func (t *transfers) transfer(body []byte) (string, error) {
	var request struct {
		Host string `json:"bootstrap_host"`
		Port int    `json:"bootstrap_port"`
		Room *int64 `json:"bootstrap_room"`
	}
	if err := json.Unmarshal(body, &request); err != nil {
		return "", err
	}
	if request.Room == nil {
		return "", errors.New("disaggregated request without a bootstrap room")
	}
	address := net.JoinHostPort(request.Host, strconv.Itoa(request.Port))
	if t.isPrefill {
		t.mutex.Lock()
		defer t.mutex.Unlock()
		t.rooms[*request.Room] = true
		return address, nil
	}

	for begun := time.Now(); time.Since(begun) < transferTimeout; time.Sleep(50 * time.Millisecond) {
		connection, err := net.DialTimeout("tcp", address, time.Second)
		if err != nil {
			return "", err
		}
		fmt.Fprintln(connection, *request.Room)
		answer, err := bufio.NewReader(connection).ReadString('\n')
		connection.Close()
		if err == nil && answer == "true\n" {
			return address, nil
		}
	}
	return "", fmt.Errorf("no KV cache of room %d at %s", *request.Room, address)
}

// serve answers on the bootstrap port whether rooms are there.
func (t *transfers) serve(port int) error {
	listener, err := net.Listen("tcp", ":"+strconv.Itoa(port))
	if err != nil {
		return err
	}
	for {
		connection, err := listener.Accept()
		if err != nil {
			return err
		}
		go func() {
			defer connection.Close()
			var room int64
			if _, err := fmt.Fscanln(connection, &room); err != nil {
				return
			}
			t.mutex.Lock()
			defer t.mutex.Unlock()
			fmt.Fprintln(connection, t.rooms[room])
		}()
	}
}
