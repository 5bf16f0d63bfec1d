// Command control_plane holds the programs of a Kubernetes control plane, so that one build makes
// all of them:
//
//	control_plane etcd|kube-apiserver|kube-controller-manager|kubectl ARGUMENTS
//
// To raise the version, write the new one to every k8s.io line of go.mod, and run `go mod tidy`.
package main

import (
	"fmt"
	"os"

	"go.etcd.io/etcd/server/v3/etcdmain"
	"k8s.io/component-base/cli"
	kubectl "k8s.io/kubectl/pkg/cmd"
	"k8s.io/kubectl/pkg/cmd/util"
	apiserver "k8s.io/kubernetes/cmd/kube-apiserver/app"
	controllers "k8s.io/kubernetes/cmd/kube-controller-manager/app"

	// Metrics of client-go and of builds, which controllers count on.
	_ "k8s.io/component-base/metrics/prometheus/clientgo"
	_ "k8s.io/component-base/metrics/prometheus/version"
)

func main() {
	if len(os.Args) < 2 {
		fmt.Fprintln(os.Stderr, "usage: control_plane PROGRAM ARGUMENTS")
		os.Exit(2)
	}
	// Each program reads its own arguments, and its name, from os.Args.
	os.Args = os.Args[1:]

	switch program := os.Args[0]; program {
	case "etcd":
		etcdmain.Main(os.Args)
	case "kube-apiserver":
		os.Exit(cli.Run(apiserver.NewAPIServerCommand()))
	case "kube-controller-manager":
		os.Exit(cli.Run(controllers.NewControllerManagerCommand()))
	case "kubectl":
		// CheckErr prints an error as kubectl does, and exits.
		util.CheckErr(cli.RunNoErrOutput(kubectl.NewDefaultKubectlCommand()))
	default:
		fmt.Fprintf(os.Stderr, "%s is none of etcd, kube-apiserver, kube-controller-manager, kubectl\n", program)
		os.Exit(2)
	}
}
