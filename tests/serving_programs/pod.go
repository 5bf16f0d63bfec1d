package main

import (
	"context"
	"fmt"
	"log"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync"
	"syscall"
	"time"

	core "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Time between SIGTERM and SIGKILL. terminationGracePeriodSeconds is ignored: nothing is drained.
const gracePeriod = 3 * time.Second

// pod is a pod whose containers run as processes in one network namespace.
type pod struct {
	kubelet *kubelet
	object  *core.Pod
	address string
	folder  string
	// What /etc/hosts of the containers is.
	hosts string

	// Holds the network namespace.
	sandbox *exec.Cmd

	mutex      sync.Mutex
	containers []*container
	startTime  meta.Time
	// Why containers cannot be created, as in a pod's status.
	waiting string
	ending  bool
	ended   bool
}

// newPod starts a pod in the background.
func newPod(k *kubelet, object *core.Pod, address string) *pod {
	p := &pod{
		kubelet: k, object: object, address: address, startTime: now(),
		folder: filepath.Join(k.folder, "pods", object.Namespace, object.Name, string(object.UID)),
	}
	go p.run()
	return p
}

// run creates the network namespace and the containers, and repeats what fails until the pod ends.
func (p *pod) run() {
	for {
		err := p.create()
		p.mutex.Lock()
		p.waiting = ""
		if err != nil {
			p.waiting = err.Error()
		}
		finished := err == nil || p.ending
		p.mutex.Unlock()
		if finished {
			return
		}
		log.Printf("%s/%s: %v", p.object.Namespace, p.object.Name, err)
		time.Sleep(time.Second)
	}
}

func (p *pod) create() error {
	if err := os.MkdirAll(p.folder, 0o755); err != nil {
		return err
	}
	if err := p.makeNetwork(); err != nil {
		return err
	}

	// Sidecars start first, in their order. Other init containers are not run.
	var specs []core.Container
	for _, spec := range p.object.Spec.InitContainers {
		if spec.RestartPolicy != nil && *spec.RestartPolicy == core.ContainerRestartPolicyAlways {
			specs = append(specs, spec)
		}
	}
	var containers []*container
	for _, spec := range append(specs, p.object.Spec.Containers...) {
		c, err := newContainer(p, spec)
		if err != nil {
			return fmt.Errorf("container %s: %w", spec.Name, err)
		}
		containers = append(containers, c)
	}

	p.mutex.Lock()
	defer p.mutex.Unlock()
	if p.ending {
		return nil
	}
	p.containers = containers
	for _, c := range containers {
		go c.run()
	}
	go p.refreshVolumes()
	return nil
}

// makeNetwork creates the network namespace and connects it to the bridge.
func (p *pod) makeNetwork() error {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	if p.sandbox != nil || p.ending {
		return nil
	}
	sandbox := exec.Command("sleep", "infinity")
	sandbox.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNET, Setpgid: true}
	if err := sandbox.Start(); err != nil {
		return err
	}
	p.sandbox = sandbox

	pid := strconv.Itoa(sandbox.Process.Pid)
	link := "pod" + pid
	if err := ip("link", "add", link, "type", "veth", "peer", "name", "eth0", "netns", pid); err != nil {
		return err
	}
	if err := ip("link", "set", link, "master", bridge, "up"); err != nil {
		return err
	}
	script := fmt.Sprintf("ip link set lo up && ip addr add %s/16 dev eth0 && ip link set eth0 up && "+
		"ip route add default via %s", p.address, nodeAddress)
	output, err := exec.Command("nsenter", "-t", pid, "-n", "sh", "-c", script).CombinedOutput()
	if err != nil {
		return fmt.Errorf("network of the pod: %w: %s", err, output)
	}
	return nil
}

// end starts to end the pod, and reports whether that is done.
func (p *pod) end() bool {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	if !p.ending {
		p.ending = true
		go p.stop()
	}
	return p.ended
}

func (p *pod) stop() {
	p.mutex.Lock()
	containers := p.containers
	p.mutex.Unlock()

	var group sync.WaitGroup
	for _, c := range containers {
		group.Go(c.stop)
	}
	group.Wait()

	p.mutex.Lock()
	defer p.mutex.Unlock()
	if p.sandbox != nil {
		_ = p.sandbox.Process.Kill()
		_ = p.sandbox.Wait()
	}
	p.ended = true
}

// status returns the status of the pod, or nil if the API server has it already.
func (p *pod) status(current core.PodStatus) *core.PodStatus {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	status := *current.DeepCopy()
	status.PodIP, status.PodIPs = p.address, []core.PodIP{{IP: p.address}}
	status.HostIP, status.HostIPs = nodeAddress, []core.HostIP{{IP: nodeAddress}}
	status.StartTime = &p.startTime
	status.Phase = core.PodPending
	status.ContainerStatuses, status.InitContainerStatuses = nil, nil

	all := len(p.containers) > 0
	for _, c := range p.containers {
		state := c.status()
		all = all && state.Ready
		if c.spec.RestartPolicy != nil {
			status.InitContainerStatuses = append(status.InitContainerStatuses, state)
		} else {
			status.ContainerStatuses = append(status.ContainerStatuses, state)
		}
	}
	if len(p.containers) > 0 {
		status.Phase = core.PodRunning
	} else if p.waiting != "" {
		for _, spec := range p.object.Spec.Containers {
			waiting := &core.ContainerStateWaiting{Reason: "CreateContainerConfigError", Message: p.waiting}
			state := core.ContainerStatus{Name: spec.Name, Image: spec.Image}
			state.State.Waiting = waiting
			status.ContainerStatuses = append(status.ContainerStatuses, state)
		}
	}

	setCondition(&status, core.PodInitialized, len(p.containers) > 0)
	setCondition(&status, core.ContainersReady, all)
	setCondition(&status, core.PodReady, all)
	if equality.Semantic.DeepEqual(status, current) {
		return nil
	}
	return &status
}

func setCondition(status *core.PodStatus, kind core.PodConditionType, value bool) {
	wanted := core.ConditionFalse
	if value {
		wanted = core.ConditionTrue
	}
	for index := range status.Conditions {
		condition := &status.Conditions[index]
		if condition.Type != kind {
			continue
		}
		if condition.Status != wanted {
			condition.Status, condition.LastTransitionTime = wanted, now()
		}
		return
	}
	condition := core.PodCondition{Type: kind, Status: wanted, LastTransitionTime: now()}
	status.Conditions = append(status.Conditions, condition)
}

// now returns the time as the API server stores it, in seconds.
func now() meta.Time {
	return meta.NewTime(time.Now().Truncate(time.Second))
}

// hostname returns the name that processes of the pod see.
func (p *pod) hostname() string {
	if p.object.Spec.Hostname != "" {
		return p.object.Spec.Hostname
	}
	return p.object.Name
}

// isTrue returns the value of an optional field.
func isTrue(value *bool) bool {
	return value != nil && *value
}

// secret and configMap read what containers refer to.
func (p *pod) secret(name string) (*core.Secret, error) {
	return p.kubelet.api.Secrets(p.object.Namespace).Get(context.Background(), name, meta.GetOptions{})
}

func (p *pod) configMap(name string) (*core.ConfigMap, error) {
	return p.kubelet.api.ConfigMaps(p.object.Namespace).Get(context.Background(), name, meta.GetOptions{})
}
