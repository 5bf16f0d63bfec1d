package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"strconv"
	"sync/atomic"
	"time"
)

const (
	rayPort = 6379
	// First lines of connections to the head: a node that stays, or a question for their number.
	rayJoin  = "join"
	rayCount = "count"
)

// ray stands in for `ray start`: a head that counts its nodes.
func ray(arguments []string) error {
	if len(arguments) == 0 || arguments[0] != "start" {
		return fmt.Errorf("ray: unknown command %q", arguments)
	}
	flags := parseFlags(arguments[1:])
	if _, found := flags["head"]; found {
		return startRayHead(flags)
	}
	if _, found := flags["block"]; !found {
		return errors.New("ray start --address without --block ends, and its container with it")
	}
	connection, err := net.Dial("tcp", flags["address"])
	if err != nil {
		return err
	}
	fmt.Fprintln(connection, rayJoin)
	_, _ = io.Copy(io.Discard, connection)
	return errors.New("the head of Ray has ended")
}

// startRayHead starts the head in the background, and returns when it listens.
func startRayHead(flags map[string]string) error {
	port, err := number(flags, "port", rayPort)
	if err != nil {
		return err
	}
	head := exec.Command(os.Args[0], "head", strconv.Itoa(port))
	head.Stdout, head.Stderr = os.Stdout, os.Stderr
	if err := head.Start(); err != nil {
		return err
	}
	for begun := time.Now(); time.Since(begun) < 10*time.Second; time.Sleep(50 * time.Millisecond) {
		connection, err := net.Dial("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
		if err == nil {
			connection.Close()
			return nil
		}
	}
	return errors.New("the head of Ray does not listen")
}

// rayHead counts the nodes that are connected, with itself.
func rayHead(port string) error {
	listener, err := net.Listen("tcp", ":"+port)
	if err != nil {
		return err
	}
	var nodes atomic.Int32
	nodes.Store(1)
	for {
		connection, err := listener.Accept()
		if err != nil {
			return err
		}
		go func() {
			defer connection.Close()
			line, _ := bufio.NewReader(connection).ReadString('\n')
			switch line {
			case rayCount + "\n":
				fmt.Fprintln(connection, nodes.Load())
			case rayJoin + "\n":
				nodes.Add(1)
				_, _ = io.Copy(io.Discard, connection)
				nodes.Add(-1)
			}
		}()
	}
}

// rayNodes returns the number of nodes of the Ray that runs in this pod.
func rayNodes() (int, error) {
	connection, err := net.Dial("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(rayPort)))
	if err != nil {
		return 0, err
	}
	defer connection.Close()
	fmt.Fprintln(connection, rayCount)
	var nodes int
	_, err = fmt.Fscanln(connection, &nodes)
	return nodes, err
}
