// Compares pairs of CustomResourceDefinitions with crdify, for a program that judges them itself.
//
// Standard input is a sequence of JSON documents, `{"old": CRD, "new": CRD}`. For each one, standard
// output has a JSON list of what crdify calls incompatible by default.
package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"io"
	"log"
	"os"
	"sort"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/crdify/pkg/config"
	"sigs.k8s.io/crdify/pkg/runner"
	"sigs.k8s.io/crdify/pkg/validations"
)

type pair struct {
	Old *apiextensionsv1.CustomResourceDefinition `json:"old"`
	New *apiextensionsv1.CustomResourceDefinition `json:"new"`
}

// incompatibility is one error: of the CRD, of a field of a version, or between two served versions.
type incompatibility struct {
	Versions   string `json:"versions"`
	Field      string `json:"field"`
	Validation string `json:"validation"`
	Error      string `json:"error"`
}

func main() {
	run, err := runner.New(&config.Config{}, runner.DefaultRegistry())
	if err != nil {
		log.Fatal(err)
	}
	input := json.NewDecoder(bufio.NewReader(os.Stdin))
	output := bufio.NewWriter(os.Stdout)
	defer output.Flush()
	encoder := json.NewEncoder(output)
	for {
		var crds pair
		if err := input.Decode(&crds); errors.Is(err, io.EOF) {
			return
		} else if err != nil {
			log.Fatal(err)
		}
		if err := encoder.Encode(incompatibilities(run.Run(crds.Old, crds.New))); err != nil {
			log.Fatal(err)
		}
	}
}

func incompatibilities(results *runner.Results) []incompatibility {
	all := []incompatibility{}
	add := func(versions, field string, results []validations.ComparisonResult) {
		for _, result := range results {
			for _, err := range result.Errors {
				all = append(all, incompatibility{versions, field, result.Name, err})
			}
		}
	}
	add("", "", results.CRDValidation)
	for _, byVersions := range []map[string]map[string][]validations.ComparisonResult{
		results.SameVersionValidation, results.ServedVersionValidation,
	} {
		for versions, fields := range byVersions {
			for field, results := range fields {
				add(versions, field, results)
			}
		}
	}
	sort.Slice(all, func(a, b int) bool {
		one, other := all[a], all[b]
		if one.Versions != other.Versions {
			return one.Versions < other.Versions
		}
		if one.Field != other.Field {
			return one.Field < other.Field
		}
		return one.Validation+one.Error < other.Validation+other.Error
	})
	return all
}
