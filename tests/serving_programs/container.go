package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	core "k8s.io/api/core/v1"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
)

const (
	// Replaces periodSeconds, so that tests do not wait for it.
	probeInterval = 500 * time.Millisecond
	// Failed liveness probes in a row after which a container is restarted.
	livenessFailures = 6
	restartDelay     = time.Second
	systemPath       = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
)

// container is a container that runs as a process.
type container struct {
	pod     *pod
	spec    core.Container
	command []string
	env     []string
	mounts  []mount
	// True if the image has its own files, and the container nothing else of this machine.
	fromScratch bool

	mutex     sync.Mutex
	process   *os.Process
	done      chan struct{}
	startTime meta.Time
	started   bool
	ready     bool
	restarts  int32
	ending    bool
}

// newContainer resolves the command, environment and volumes of a container.
func newContainer(p *pod, spec core.Container) (*container, error) {
	program := p.kubelet.program(spec.Image)
	if program == nil {
		return nil, fmt.Errorf("no program for the image %s", spec.Image)
	}
	env := map[string]string{
		"PATH":                    program.Path + ":" + systemPath,
		"HOSTNAME":                p.hostname(),
		"KUBERNETES_SERVICE_HOST": serviceAddress,
		"KUBERNETES_SERVICE_PORT": "443",
	}
	for name, value := range program.Env {
		env[name] = value
	}
	for _, source := range spec.EnvFrom {
		if err := p.addAll(env, source); err != nil {
			return nil, err
		}
	}
	for _, variable := range spec.Env {
		value, found, err := p.value(variable, spec)
		if err != nil {
			return nil, err
		}
		if found {
			env[variable.Name] = expand(value, env)
		}
	}

	command := spec.Command
	if len(command) == 0 {
		command = program.Entrypoint
	}
	c := &container{pod: p, spec: spec, fromScratch: len(program.Files) > 0}
	for _, argument := range append(append([]string{}, command...), spec.Args...) {
		c.command = append(c.command, expand(argument, env))
	}
	if len(c.command) == 0 {
		return nil, fmt.Errorf("no command, and %s has no ENTRYPOINT here", spec.Image)
	}
	// For the stand-ins of engines.
	env["STAND_IN_POD"] = p.object.Name
	env["STAND_IN_LOG"] = filepath.Join(p.folder, "requests.jsonl")
	if quantity, found := spec.Resources.Limits["nvidia.com/gpu"]; found {
		env["STAND_IN_GPUS"] = quantity.String()
	}
	for name, value := range env {
		c.env = append(c.env, name+"="+value)
	}
	var err error
	c.mounts, err = p.mounts(spec, program)
	return c, err
}

var reference = regexp.MustCompile(`\$\$|\$\(([A-Za-z_.-][A-Za-z0-9_.-]*)\)`)

// expand replaces $(NAME) as the kubelet does: unknown names stay, and $$ is a dollar sign.
func expand(text string, env map[string]string) string {
	return reference.ReplaceAllStringFunc(text, func(found string) string {
		if found == "$$" {
			return "$"
		}
		if value, known := env[found[2:len(found)-1]]; known {
			return value
		}
		return found
	})
}

// addAll adds all keys of a ConfigMap or Secret.
func (p *pod) addAll(env map[string]string, source core.EnvFromSource) error {
	if source.ConfigMapRef != nil {
		object, err := p.configMap(source.ConfigMapRef.Name)
		if err != nil {
			return err
		}
		for key, value := range object.Data {
			env[source.Prefix+key] = value
		}
	}
	if source.SecretRef != nil {
		object, err := p.secret(source.SecretRef.Name)
		if err != nil {
			return err
		}
		for key, value := range object.Data {
			env[source.Prefix+key] = string(value)
		}
	}
	return nil
}

// value returns the value of a variable; false if it is optional and absent.
func (p *pod) value(variable core.EnvVar, spec core.Container) (string, bool, error) {
	from := variable.ValueFrom
	switch {
	case from == nil:
		return variable.Value, true, nil
	case from.FieldRef != nil:
		value, err := p.field(from.FieldRef.FieldPath)
		return value, true, err
	case from.SecretKeyRef != nil:
		ref := from.SecretKeyRef
		object, err := p.secret(ref.Name)
		if err == nil && object.Data[ref.Key] == nil {
			err = fmt.Errorf("couldn't find key %s in Secret %s", ref.Key, ref.Name)
		}
		if err != nil {
			if isTrue(ref.Optional) {
				return "", false, nil
			}
			return "", false, err
		}
		return string(object.Data[ref.Key]), true, nil
	case from.ConfigMapKeyRef != nil:
		ref := from.ConfigMapKeyRef
		object, err := p.configMap(ref.Name)
		if err == nil {
			if value, found := object.Data[ref.Key]; found {
				return value, true, nil
			}
			err = fmt.Errorf("couldn't find key %s in ConfigMap %s", ref.Key, ref.Name)
		}
		if isTrue(ref.Optional) {
			return "", false, nil
		}
		return "", false, err
	case from.ResourceFieldRef != nil:
		name := strings.TrimPrefix(strings.TrimPrefix(from.ResourceFieldRef.Resource, "limits."), "requests.")
		quantity := spec.Resources.Limits[core.ResourceName(name)]
		return strconv.FormatInt(quantity.Value(), 10), true, nil
	}
	return "", false, fmt.Errorf("unknown source of variable %s", variable.Name)
}

var keyed = regexp.MustCompile(`^metadata\.(labels|annotations)\['(.*)'\]$`)

// field returns a field of the pod for the downward API.
func (p *pod) field(path string) (string, error) {
	if found := keyed.FindStringSubmatch(path); found != nil {
		if found[1] == "labels" {
			return p.object.Labels[found[2]], nil
		}
		return p.object.Annotations[found[2]], nil
	}
	fields := map[string]string{
		"metadata.name":           p.object.Name,
		"metadata.namespace":      p.object.Namespace,
		"metadata.uid":            string(p.object.UID),
		"spec.nodeName":           p.object.Spec.NodeName,
		"spec.serviceAccountName": p.object.Spec.ServiceAccountName,
		"status.podIP":            p.address,
		"status.podIPs":           p.address,
		"status.hostIP":           nodeAddress,
	}
	value, known := fields[path]
	if !known {
		return "", fmt.Errorf("unknown field %s", path)
	}
	return value, nil
}

// run keeps the container running until the pod ends.
func (c *container) run() {
	for {
		done, err := c.start()
		if err != nil {
			c.log("cannot start: " + err.Error())
		} else {
			c.probe(done)
		}

		c.mutex.Lock()
		c.started, c.ready, c.process = false, false, nil
		if c.ending {
			c.mutex.Unlock()
			return
		}
		c.restarts++
		c.mutex.Unlock()
		time.Sleep(restartDelay)
	}
}

// start starts the process, in a private root with its volumes.
func (c *container) start() (chan struct{}, error) {
	output, err := os.OpenFile(c.logFile(), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return nil, err
	}
	defer output.Close()
	pid := strconv.Itoa(c.pod.sandbox.Process.Pid)
	root := filepath.Join(c.pod.folder, "root-"+c.spec.Name)
	script := mountScript(root, c.fromScratch, c.mounts)
	arguments := []string{"-t", pid, "-n", "unshare", "-m", "-u", "sh", "-c", script, c.pod.hostname()}
	process := exec.Command("nsenter", append(arguments, c.command...)...)
	process.Env, process.Dir = c.env, "/"
	process.Stdout, process.Stderr = output, output
	process.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}

	c.mutex.Lock()
	defer c.mutex.Unlock()
	if c.ending {
		return nil, fmt.Errorf("the pod ends")
	}
	if err := process.Start(); err != nil {
		return nil, err
	}
	c.process, c.startTime = process.Process, now()
	done := make(chan struct{})
	c.done = done
	go func() {
		_ = process.Wait()
		// Processes in the background end with their container.
		_ = syscall.Kill(-process.Process.Pid, syscall.SIGKILL)
		close(done)
	}()
	return done, nil
}

// probe runs the probes until the process ends.
func (c *container) probe(done chan struct{}) {
	failures := 0
	for {
		select {
		case <-done:
			return
		case <-time.After(probeInterval):
		}

		c.mutex.Lock()
		started := c.started
		c.mutex.Unlock()
		if !started {
			started = c.passes(c.spec.StartupProbe) == nil
		}
		ready := started && c.passes(c.spec.ReadinessProbe) == nil
		c.mutex.Lock()
		c.started, c.ready = started, ready
		c.mutex.Unlock()

		if !started {
			continue
		}
		// A liveness probe waits for its initial delay in clusters, which is much longer.
		if err := c.passes(c.spec.LivenessProbe); err == nil {
			failures = 0
		} else if failures++; failures >= livenessFailures && time.Since(c.startTime.Time) > 30*time.Second {
			c.log("liveness probe failed: " + err.Error())
			c.kill(syscall.SIGKILL)
		}
	}
}

// stop ends the process: SIGTERM first.
func (c *container) stop() {
	c.mutex.Lock()
	c.ending = true
	done := c.done
	c.mutex.Unlock()
	if done == nil {
		return
	}
	c.kill(syscall.SIGTERM)
	select {
	case <-done:
	case <-time.After(gracePeriod):
		c.kill(syscall.SIGKILL)
		<-done
	}
}

func (c *container) kill(signal syscall.Signal) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	if c.process != nil {
		_ = syscall.Kill(-c.process.Pid, signal)
	}
}

func (c *container) logFile() string {
	return filepath.Join(c.pod.folder, c.spec.Name+".log")
}

func (c *container) log(text string) {
	file, err := os.OpenFile(c.logFile(), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err == nil {
		fmt.Fprintln(file, text)
		file.Close()
	}
}

// status returns the container's part of the pod's status.
func (c *container) status() core.ContainerStatus {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	started := c.started
	status := core.ContainerStatus{
		Name: c.spec.Name, Image: c.spec.Image, ImageID: c.spec.Image, ContainerID: "process://" + c.spec.Name,
		Ready: c.ready, Started: &started, RestartCount: c.restarts,
	}
	if c.process == nil {
		status.State.Waiting = &core.ContainerStateWaiting{Reason: "CrashLoopBackOff"}
	} else {
		status.State.Running = &core.ContainerStateRunning{StartedAt: c.startTime}
	}
	return status
}
