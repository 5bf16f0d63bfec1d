// Reads texts as Kubernetes does, for a program that reads them otherwise.
//
// Standard input is a sequence of texts, each after its length (4 bytes, little endian). For each
// one, standard output has a byte, 1 when the text was read, the length of what follows, and that:
// a JSON list of the documents, or the error.
package main

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"os"

	kubejson "k8s.io/apimachinery/pkg/util/json"
	"k8s.io/apimachinery/pkg/util/yaml"
)

// documents decodes a text as kubectl, operator-controller and opm do: each document to JSON, and
// that as unstructured content, in which integers stay integers.
func documents(text []byte) (all []any, err error) {
	defer func() {
		if failure := recover(); failure != nil {
			err = fmt.Errorf("panic: %v", failure)
		}
	}()

	all = []any{}
	decoder := yaml.NewYAMLOrJSONDecoder(bytes.NewReader(text), 4096)
	for {
		var raw json.RawMessage
		if err := decoder.Decode(&raw); err == io.EOF {
			return all, nil
		} else if err != nil {
			return nil, err
		}

		var value any
		if len(raw) > 0 {
			if err := kubejson.Unmarshal(raw, &value); err != nil {
				return nil, err
			}
		}
		if value != nil {
			all = append(all, value)
		}
	}
}

func answer(text []byte) (byte, []byte) {
	all, err := documents(text)
	if err != nil {
		return 0, []byte(err.Error())
	}
	encoded, err := json.Marshal(all)
	if err != nil {
		return 0, []byte(err.Error())
	}
	return 1, encoded
}

func main() {
	in, out := bufio.NewReader(os.Stdin), bufio.NewWriter(os.Stdout)
	length := make([]byte, 4)
	for {
		// A caller that sends one text at a time waits for its answer.
		if in.Buffered() == 0 {
			if err := out.Flush(); err != nil {
				log.Fatal(err)
			}
		}
		if _, err := io.ReadFull(in, length); err == io.EOF {
			break
		} else if err != nil {
			log.Fatal(err)
		}
		text := make([]byte, binary.LittleEndian.Uint32(length))
		if _, err := io.ReadFull(in, text); err != nil {
			log.Fatal(err)
		}

		read, content := answer(text)
		out.WriteByte(read)
		binary.Write(out, binary.LittleEndian, uint32(len(content)))
		out.Write(content)
	}
	if err := out.Flush(); err != nil {
		log.Fatal(err)
	}
}
