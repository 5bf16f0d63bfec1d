// Command olm_renderer renders registry+v1 bundles with OLM v1's own renderer.
//
// Every line of standard input is a request, and every line of standard output its answer:
//
//	{"folder": "…", "namespace": "op-ns", "watch": ["a"], "certificates": "cert-manager"}
//	{"objects": […]} or {"error": "…"}
//
// A request without "watch" leaves the namespaces to the install modes of the bundle.
package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/operator-framework/operator-controller/internal/operator-controller/rukpak/bundle/source"
	"github.com/operator-framework/operator-controller/internal/operator-controller/rukpak/render"
	"github.com/operator-framework/operator-controller/internal/operator-controller/rukpak/render/certproviders"
	"github.com/operator-framework/operator-controller/internal/operator-controller/rukpak/render/registryv1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

type request struct {
	Folder       string   `json:"folder"`
	Namespace    string   `json:"namespace"`
	Watch        []string `json:"watch"`
	Certificates string   `json:"certificates"`
}

type answer struct {
	Objects []client.Object `json:"objects,omitempty"`
	Error   string          `json:"error,omitempty"`
}

var providers = map[string]render.CertificateProvider{
	"none":         nil,
	"cert-manager": certproviders.CertManagerCertificateProvider{},
	"service-ca":   certproviders.OpenshiftServiceCaCertificateProvider{},
}

func renderBundle(r request) (objects []client.Object, err error) {
	// A broken bundle may crash the renderer; the other requests still need their answers.
	defer func() {
		if reason := recover(); reason != nil {
			err = fmt.Errorf("panic: %v", reason)
		}
	}()

	provider, known := providers[r.Certificates]
	if !known {
		return nil, fmt.Errorf("unknown certificate provider %q", r.Certificates)
	}
	var options []render.Option
	if provider != nil {
		options = append(options, render.WithCertificateProvider(provider))
	}
	if r.Watch != nil {
		options = append(options, render.WithTargetNamespaces(r.Watch...))
	}

	bundle, err := source.FromFS(os.DirFS(r.Folder)).GetBundle()
	if err != nil {
		return nil, fmt.Errorf("cannot load the bundle: %w", err)
	}
	return registryv1.Renderer.Render(bundle, r.Namespace, options...)
}

func serve(in io.Reader, out io.Writer) error {
	requests, answers := json.NewDecoder(in), json.NewEncoder(out)
	for {
		var r request
		switch err := requests.Decode(&r); {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		}

		var a answer
		objects, err := renderBundle(r)
		if err != nil {
			a.Error = err.Error()
		} else {
			a.Objects = objects
		}
		if err := answers.Encode(a); err != nil {
			return err
		}
	}
}

func main() {
	// No buffer: the caller waits for each answer before the next request.
	if err := serve(os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
