package main

import (
	"bufio"
	"fmt"
	"net"
	"strconv"
	"sync"
	"time"
)

const (
	joinInterval      = 500 * time.Millisecond
	defaultMasterPort = 29501
)

// group is the ranks of an engine that runs in several pods.
type group struct {
	// Ranks of the whole engine, the first of this process, and how many it has.
	size, start, local int
	// Where rank 0 listens.
	address string
	port    int
}

// parseGroup returns the group of a process; nil if it is alone.
func parseGroup(flags map[string]string) (*group, error) {
	numbers := map[string]int{}
	for name, fallback := range map[string]int{
		"nnodes": 1, "node-rank": 0, "master-port": defaultMasterPort,
		"data-parallel-size": 1, "data-parallel-size-local": 0, "data-parallel-start-rank": 0,
		"data-parallel-rpc-port": 29550,
	} {
		value, err := number(flags, name, fallback)
		if err != nil {
			return nil, err
		}
		numbers[name] = value
	}

	if numbers["nnodes"] > 1 {
		return &group{
			size: numbers["nnodes"], start: numbers["node-rank"], local: 1,
			address: flags["master-addr"], port: numbers["master-port"],
		}, nil
	}
	size, local := numbers["data-parallel-size"], numbers["data-parallel-size-local"]
	if _, found := flags["data-parallel-size-local"]; found && local < size {
		return &group{
			size: size, start: numbers["data-parallel-start-rank"], local: local,
			address: flags["data-parallel-address"], port: numbers["data-parallel-rpc-port"],
		}, nil
	}
	return nil, nil
}

// join returns when all ranks of the group are there, each once. As vLLM, it waits until then.
func (g *group) join() error {
	if g.start == 0 {
		return g.coordinate()
	}
	address := net.JoinHostPort(g.address, strconv.Itoa(g.port))
	for ; ; time.Sleep(joinInterval) {
		connection, err := net.DialTimeout("tcp", address, joinInterval)
		if err != nil {
			continue
		}
		fmt.Fprintf(connection, "%d %d\n", g.start, g.local)
		// The answer comes when the group is complete.
		if _, err := bufio.NewReader(connection).ReadString('\n'); err == nil {
			return nil
		}
		connection.Close()
	}
}

// coordinate accepts the other processes. It stays open: a process that is restarted joins again.
func (g *group) coordinate() error {
	listener, err := net.Listen("tcp", ":"+strconv.Itoa(g.port))
	if err != nil {
		return err
	}
	var mutex sync.Mutex
	complete := make(chan struct{})
	ranks := map[int]bool{}
	add := func(start, local int) {
		mutex.Lock()
		defer mutex.Unlock()
		before := len(ranks)
		for rank := start; rank < start+local && rank < g.size; rank++ {
			ranks[rank] = true
		}
		if before < g.size && len(ranks) == g.size {
			close(complete)
		}
	}
	add(g.start, g.local)

	go func() {
		for {
			connection, err := listener.Accept()
			if err != nil {
				return
			}
			go func() {
				var start, local int
				if _, err := fmt.Fscanf(connection, "%d %d\n", &start, &local); err != nil {
					connection.Close()
					return
				}
				add(start, local)
				<-complete
				fmt.Fprintln(connection, "complete")
			}()
		}
	}()
	<-complete
	return nil
}

// waitForever blocks: without goroutines, the runtime takes `select {}` for a deadlock.
func waitForever() {
	for {
		time.Sleep(time.Hour)
	}
}
