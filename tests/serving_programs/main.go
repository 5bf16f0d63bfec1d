// Command serving_programs has the stand-ins of tests/serving_e2e, and the kubelet of
// tests/operators_at_work:
//
//	serving_programs kubelet FOLDER              runs the pods of a cluster as processes
//	serving_programs ask ADDRESS MODEL COUNT     sends requests as a Gateway does: ext_proc, then HTTP
//	vllm | sglang | ray ARGUMENTS                stand in for vLLM, SGLang and Ray (links with these names)
//
// Controllers, endpoint pickers and routing proxies are the real programs, built from their modules.
package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

var errUsage = errors.New("usage: serving_programs kubelet FOLDER | ask ADDRESS MODEL COUNT | vllm, sglang or ray ARGUMENTS")

func main() {
	if err := run(os.Args); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(arguments []string) error {
	switch filepath.Base(arguments[0]) {
	case "vllm":
		return vllm(arguments[1:])
	case "sglang":
		return sglang(arguments[1:])
	case "ray":
		if len(arguments) == 3 && arguments[1] == "head" {
			return rayHead(arguments[2])
		}
		return ray(arguments[1:])
	}
	switch {
	case len(arguments) == 3 && arguments[1] == "kubelet":
		return runKubelet(arguments[2])
	case len(arguments) == 5 && arguments[1] == "ask":
		return ask(arguments[2], arguments[3], arguments[4])
	default:
		return errUsage
	}
}
