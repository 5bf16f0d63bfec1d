package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"sort"
	"strings"
	"time"

	core "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	corev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

const (
	// The bridge to which pods are connected, and its addresses: that of the nodes, and the first of
	// the range of Services, which is the API server's. The test creates it.
	bridge         = "pods"
	nodeAddress    = "10.77.0.1"
	serviceAddress = "10.0.0.1"

	pollInterval  = 200 * time.Millisecond
	heartbeatTime = 10 * time.Second
)

// settings is FOLDER/kubelet.json.
type settings struct {
	// The API server, as HOST:PORT.
	APIServer  string `json:"apiServer"`
	Kubeconfig string `json:"kubeconfig"`
	// Programs of images; the first match counts.
	Programs []program `json:"programs"`
	Nodes    []node    `json:"nodes"`
}

// program replaces images whose reference matches.
type program struct {
	Image string `json:"image"`
	// ENTRYPOINT of the image.
	Entrypoint []string `json:"entrypoint"`
	// ENV of the image.
	Env map[string]string `json:"env"`
	// A folder that precedes others in PATH.
	Path string `json:"path"`
	// Static programs of this machine by their path in the image. The root of its containers has nothing
	// else; without any, it has the folders of this machine.
	Files map[string]string `json:"files"`
}

type node struct {
	Name     string            `json:"name"`
	Labels   map[string]string `json:"labels"`
	Capacity map[string]string `json:"capacity"`
}

// kubelet schedules and runs all pods of a cluster, each in a network namespace with its own address.
// It polls: a few dozen pods do not need watches.
type kubelet struct {
	settings
	folder string
	api    corev1.CoreV1Interface
	pods   map[types.UID]*pod
	// Number of pods so far, for addresses.
	started int
}

// runKubelet runs pods until the API server or this process ends.
func runKubelet(folder string) error {
	text, err := os.ReadFile(filepath.Join(folder, "kubelet.json"))
	if err != nil {
		return err
	}
	k := &kubelet{folder: folder, pods: map[types.UID]*pod{}}
	if err := json.Unmarshal(text, &k.settings); err != nil {
		return fmt.Errorf("kubelet.json: %w", err)
	}
	config, err := clientcmd.BuildConfigFromFlags("", k.Kubeconfig)
	if err != nil {
		return err
	}
	config.QPS, config.Burst = 200, 400
	config.ContentConfig = rest.ContentConfig{ContentType: "application/vnd.kubernetes.protobuf"}
	if k.api, err = corev1.NewForConfig(config); err != nil {
		return err
	}

	listener, err := net.Listen("tcp", serviceAddress+":443")
	if err != nil {
		return err
	}
	go forward(listener, k.APIServer)

	ctx := context.Background()
	var heartbeat time.Time
	for ; ; time.Sleep(pollInterval) {
		if time.Since(heartbeat) > heartbeatTime {
			if err := k.reportNodes(ctx); err != nil {
				log.Printf("nodes: %v", err)
				continue
			}
			heartbeat = time.Now()
		}
		if err := k.sync(ctx); err != nil {
			log.Print(err)
		}
	}
}

// ip runs iproute2.
func ip(arguments ...string) error {
	output, err := exec.Command("ip", arguments...).CombinedOutput()
	if err != nil {
		return fmt.Errorf("ip %s: %w: %s", strings.Join(arguments, " "), err, output)
	}
	return nil
}

// forward connects clients of the Service `kubernetes` to the API server.
func forward(listener net.Listener, server string) {
	for {
		client, err := listener.Accept()
		if err != nil {
			return
		}
		go func() {
			defer client.Close()
			upstream, err := net.Dial("tcp", server)
			if err != nil {
				return
			}
			defer upstream.Close()
			go func() {
				_, _ = io.Copy(upstream, client)
				_ = upstream.(*net.TCPConn).CloseWrite()
			}()
			_, _ = io.Copy(client, upstream)
		}()
	}
}

// reportNodes creates the nodes, and tells the node controller that they are alive.
func (k *kubelet) reportNodes(ctx context.Context) error {
	for _, node := range k.Nodes {
		current, err := k.api.Nodes().Get(ctx, node.Name, meta.GetOptions{})
		if err != nil {
			labels := map[string]string{"kubernetes.io/hostname": node.Name, "kubernetes.io/os": "linux"}
			for key, value := range node.Labels {
				labels[key] = value
			}
			object := &core.Node{ObjectMeta: meta.ObjectMeta{Name: node.Name, Labels: labels}}
			if current, err = k.api.Nodes().Create(ctx, object, meta.CreateOptions{}); err != nil {
				return err
			}
		}

		now := meta.Now()
		capacity := core.ResourceList{}
		for name, quantity := range node.Capacity {
			capacity[core.ResourceName(name)] = resource.MustParse(quantity)
		}
		current.Status.Capacity, current.Status.Allocatable = capacity, capacity
		current.Status.Addresses = []core.NodeAddress{{Type: core.NodeInternalIP, Address: nodeAddress}}
		current.Status.Conditions = []core.NodeCondition{{
			Type: core.NodeReady, Status: core.ConditionTrue, Reason: "KubeletReady",
			LastHeartbeatTime: now, LastTransitionTime: now,
		}}
		if _, err := k.api.Nodes().UpdateStatus(ctx, current, meta.UpdateOptions{}); err != nil {
			return err
		}
	}
	return nil
}

// sync starts, updates and ends pods, as the API server has them now.
func (k *kubelet) sync(ctx context.Context) error {
	list, err := k.api.Pods("").List(ctx, meta.ListOptions{ResourceVersion: "0"})
	if err != nil {
		return err
	}
	found := map[types.UID]bool{}
	for index := range list.Items {
		object := &list.Items[index]
		found[object.UID] = true
		running := k.pods[object.UID]
		switch {
		case object.DeletionTimestamp != nil:
			if running == nil || running.end() {
				zero := int64(0)
				options := meta.DeleteOptions{GracePeriodSeconds: &zero}
				_ = k.api.Pods(object.Namespace).Delete(ctx, object.Name, options)
			}
		case object.Spec.NodeName == "":
			k.schedule(ctx, object, list.Items)
		case running == nil:
			k.started++
			address := fmt.Sprintf("10.77.%d.%d", 1+k.started/250, 2+k.started%250)
			k.pods[object.UID] = newPod(k, object, address)
		default:
			k.report(ctx, running, object)
		}
	}

	for uid, running := range k.pods {
		if !found[uid] && running.end() {
			delete(k.pods, uid)
		}
	}
	return k.writeHosts(ctx, list.Items)
}

// report writes the status of a pod where it changed.
func (k *kubelet) report(ctx context.Context, running *pod, object *core.Pod) {
	status := running.status(object.Status)
	if status == nil {
		return
	}
	object.Status = *status
	if _, err := k.api.Pods(object.Namespace).UpdateStatus(ctx, object, meta.UpdateOptions{}); err != nil {
		log.Printf("status of %s/%s: %v", object.Namespace, object.Name, err)
	}
}

// schedule binds a pod to the first node that its nodeSelector allows and that has enough of each
// extended resource, such as GPUs. CPU and memory are not counted.
func (k *kubelet) schedule(ctx context.Context, object *core.Pod, all []core.Pod) {
	wanted := extendedResources(object)
nodes:
	for _, node := range k.Nodes {
		for key, value := range object.Spec.NodeSelector {
			if node.Labels[key] != value {
				continue nodes
			}
		}
		for name, quantity := range wanted {
			capacity, found := node.Capacity[name]
			if !found {
				continue nodes
			}
			free := resource.MustParse(capacity)
			for index := range all {
				if all[index].Spec.NodeName == node.Name {
					free.Sub(extendedResources(&all[index])[name])
				}
			}
			if free.Cmp(quantity) < 0 {
				continue nodes
			}
		}

		binding := &core.Binding{
			ObjectMeta: meta.ObjectMeta{Name: object.Name, UID: object.UID},
			Target:     core.ObjectReference{Kind: "Node", Name: node.Name},
		}
		if err := k.api.Pods(object.Namespace).Bind(ctx, binding, meta.CreateOptions{}); err != nil {
			log.Printf("%s/%s: %v", object.Namespace, object.Name, err)
		}
		// Its resources count for the next pod in this round.
		object.Spec.NodeName = node.Name
		return
	}
}

func extendedResources(object *core.Pod) map[string]resource.Quantity {
	sum := map[string]resource.Quantity{}
	for _, container := range object.Spec.Containers {
		for name, quantity := range container.Resources.Requests {
			if strings.Contains(string(name), "/") {
				total := sum[string(name)]
				total.Add(quantity)
				sum[string(name)] = total
			}
		}
	}
	return sum
}

// writeHosts writes the names that cluster DNS would have to /etc/hosts of each pod: those of pods
// behind headless Services, which need a ready pod or publishNotReadyAddresses.
func (k *kubelet) writeHosts(ctx context.Context, pods []core.Pod) error {
	services, err := k.api.Services("").List(ctx, meta.ListOptions{ResourceVersion: "0"})
	if err != nil {
		return err
	}
	lines := []string{"127.0.0.1 localhost"}
	for _, service := range services.Items {
		if service.Spec.ClusterIP != core.ClusterIPNone || len(service.Spec.Selector) == 0 {
			continue
		}
		for _, pod := range pods {
			named := pod.Spec.Hostname != "" && pod.Spec.Subdomain == service.Name && pod.Status.PodIP != ""
			published := service.Spec.PublishNotReadyAddresses || isReady(&pod)
			if pod.Namespace != service.Namespace || !named || !published || !hasLabels(&pod, service.Spec.Selector) {
				continue
			}
			name := pod.Spec.Hostname + "." + service.Name + "." + service.Namespace
			lines = append(lines, fmt.Sprintf("%s %s %s.svc %s.svc.cluster.local", pod.Status.PodIP, name, name, name))
		}
	}

	sort.Strings(lines)
	text := strings.Join(lines, "\n") + "\n"
	for _, pod := range k.pods {
		// In place: it is mounted in running containers.
		if pod.hosts != text && os.WriteFile(filepath.Join(pod.folder, "hosts"), []byte(text), 0o644) == nil {
			pod.hosts = text
		}
	}
	return nil
}

func isReady(object *core.Pod) bool {
	for _, condition := range object.Status.Conditions {
		if condition.Type == core.PodReady {
			return condition.Status == core.ConditionTrue
		}
	}
	return false
}

func hasLabels(object *core.Pod, labels map[string]string) bool {
	for key, value := range labels {
		if object.Labels[key] != value {
			return false
		}
	}
	return true
}

// program returns what is run for an image; nil if its containers are not run.
func (k *kubelet) program(image string) *program {
	for index := range k.Programs {
		if regexp.MustCompile(k.Programs[index].Image).MatchString(image) {
			return &k.Programs[index]
		}
	}
	return nil
}
