package main

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"net/http"
	"strconv"
	"time"

	core "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	health "google.golang.org/grpc/health/grpc_health_v1"
)

const probeTimeout = 5 * time.Second

var probeClient = &http.Client{
	Timeout: probeTimeout,
	// The kubelet does not verify certificates either.
	Transport: &http.Transport{DisableKeepAlives: true, TLSClientConfig: &tls.Config{InsecureSkipVerify: true}},
}

// passes runs a probe against the pod's address; nil if there is none or it succeeds.
func (c *container) passes(probe *core.Probe) error {
	switch {
	case probe == nil:
		return nil
	case probe.HTTPGet != nil:
		return c.passesHTTP(probe.HTTPGet)
	case probe.GRPC != nil:
		return c.passesGRPC(probe.GRPC)
	case probe.TCPSocket != nil:
		port, err := c.port(probe.TCPSocket.Port)
		if err != nil {
			return err
		}
		connection, err := net.DialTimeout("tcp", c.address(port), probeTimeout)
		if err == nil {
			connection.Close()
		}
		return err
	}
	return fmt.Errorf("unknown kind of probe")
}

func (c *container) passesHTTP(get *core.HTTPGetAction) error {
	port, err := c.port(get.Port)
	if err != nil {
		return err
	}
	scheme := "http"
	if get.Scheme == core.URISchemeHTTPS {
		scheme = "https"
	}
	answer, err := probeClient.Get(scheme + "://" + c.address(port) + get.Path)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	if answer.StatusCode < 200 || answer.StatusCode >= 400 {
		return fmt.Errorf("%s on port %d: HTTP %d", get.Path, port, answer.StatusCode)
	}
	return nil
}

func (c *container) passesGRPC(action *core.GRPCAction) error {
	address := c.address(int(action.Port))
	connection, err := grpc.NewClient(address, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		return err
	}
	defer connection.Close()
	ctx, cancel := context.WithTimeout(context.Background(), probeTimeout)
	defer cancel()
	request := &health.HealthCheckRequest{}
	if action.Service != nil {
		request.Service = *action.Service
	}
	answer, err := health.NewHealthClient(connection).Check(ctx, request)
	if err != nil {
		return err
	}
	if answer.Status != health.HealthCheckResponse_SERVING {
		return fmt.Errorf("gRPC on port %d: %s", action.Port, answer.Status)
	}
	return nil
}

// port returns a port by its number or the name that the container gives it.
func (c *container) port(wanted intstr.IntOrString) (int, error) {
	if wanted.Type == intstr.Int {
		return wanted.IntValue(), nil
	}
	for _, port := range c.spec.Ports {
		if port.Name == wanted.StrVal {
			return int(port.ContainerPort), nil
		}
	}
	return 0, fmt.Errorf("no port named %s", wanted.StrVal)
}

func (c *container) address(port int) string {
	return net.JoinHostPort(c.pod.address, strconv.Itoa(port))
}
