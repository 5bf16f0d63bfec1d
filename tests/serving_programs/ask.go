package main

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strconv"
	"strings"
	"time"

	config "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	extproc "github.com/envoyproxy/go-control-plane/envoy/service/ext_proc/v3"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
)

const (
	askTimeout        = 20 * time.Second
	completions       = "/v1/completions"
	destinationHeader = "x-gateway-destination-endpoint"
)

// answered is what became of one request, as a line of output.
type answered struct {
	// The first of the endpoints that the picker chose, and the prefiller that it chose.
	Destination string `json:"destination,omitempty"`
	Prefiller   string `json:"prefiller,omitempty"`
	// Status of the destination's answer, or of the picker's refusal; the pod that answered.
	Status   int    `json:"status,omitempty"`
	ServedBy string `json:"served_by,omitempty"`
	// Why there is no answer.
	Error string `json:"error,omitempty"`
}

// ask sends COUNT requests through the picker at ADDRESS to the pods that it chooses, and prints one
// JSON object for each.
func ask(address, model, count string) error {
	number, err := strconv.Atoi(count)
	if err != nil {
		return err
	}
	// The picker's certificate is self-signed, and Gateways do not verify it.
	secure := credentials.NewTLS(&tls.Config{InsecureSkipVerify: true, NextProtos: []string{"h2"}})
	connection, err := grpc.NewClient(address, grpc.WithTransportCredentials(secure))
	if err != nil {
		return err
	}
	defer connection.Close()

	out := json.NewEncoder(os.Stdout)
	for index := range number {
		result, err := askOnce(extproc.NewExternalProcessorClient(connection), model, index)
		if err != nil {
			result.Error = err.Error()
		}
		if err := out.Encode(result); err != nil {
			return err
		}
	}
	return nil
}

func askOnce(client extproc.ExternalProcessorClient, model string, index int) (answered, error) {
	var result answered
	ctx, cancel := context.WithTimeout(context.Background(), askTimeout)
	defer cancel()
	// Prompts differ, so that prefix caches do not lead all requests to one pod.
	prompt := fmt.Sprintf("%d %s", index, strings.Repeat(string(rune('a'+index%26)), 400))
	body, err := json.Marshal(map[string]any{"model": model, "prompt": prompt, "max_tokens": 8})
	if err != nil {
		return result, err
	}
	stream, err := client.Process(ctx)
	if err != nil {
		return result, err
	}
	if err := send(stream, body); err != nil {
		return result, err
	}

	headers, rewritten, refusal, err := receive(stream)
	if err != nil {
		return result, err
	}
	if refusal != 0 {
		result.Status = refusal
		return result, nil
	}
	if len(rewritten) > 0 {
		body = rewritten
	}
	result.Destination, _, _ = strings.Cut(headers[destinationHeader], ",")
	result.Prefiller = headers["x-prefiller-host-port"]
	return result, deliver(ctx, &result, headers, body)
}

// send sends the request's headers and body to the picker.
func send(stream extproc.ExternalProcessor_ProcessClient, body []byte) error {
	headers := &config.HeaderMap{}
	for _, header := range [][2]string{
		{":method", "POST"}, {":path", completions}, {":authority", "models.example.com"},
		{"content-type", "application/json"}, {"content-length", strconv.Itoa(len(body))},
	} {
		value := &config.HeaderValue{Key: header[0], RawValue: []byte(header[1])}
		headers.Headers = append(headers.Headers, value)
	}
	for _, request := range []*extproc.ProcessingRequest{
		{Request: &extproc.ProcessingRequest_RequestHeaders{
			RequestHeaders: &extproc.HttpHeaders{Headers: headers},
		}},
		{Request: &extproc.ProcessingRequest_RequestBody{
			RequestBody: &extproc.HttpBody{Body: body, EndOfStream: true},
		}},
	} {
		if err := stream.Send(request); err != nil {
			return err
		}
	}
	return nil
}

// receive returns the headers that the picker sets and the body that it rewrites, or the status of its
// refusal.
func receive(stream extproc.ExternalProcessor_ProcessClient) (map[string]string, []byte, int, error) {
	headers, body := map[string]string{}, []byte(nil)
	for {
		response, err := stream.Recv()
		if err != nil {
			return nil, nil, 0, err
		}
		if refused := response.GetImmediateResponse(); refused != nil {
			return nil, nil, int(refused.GetStatus().GetCode()), nil
		}
		common := response.GetRequestHeaders().GetResponse()
		if response.GetRequestBody() != nil {
			common = response.GetRequestBody().GetResponse()
		}
		for _, option := range common.GetHeaderMutation().GetSetHeaders() {
			header := option.GetHeader()
			value := string(header.GetRawValue())
			if value == "" {
				value = header.GetValue()
			}
			headers[strings.ToLower(header.GetKey())] = value
		}

		mutation := common.GetBodyMutation()
		body = append(body, mutation.GetBody()...)
		body = append(body, mutation.GetStreamedResponse().GetBody()...)
		isLast := mutation.GetStreamedResponse() == nil || mutation.GetStreamedResponse().GetEndOfStream()
		if response.GetRequestBody() == nil || !isLast {
			continue
		}
		if headers[destinationHeader] == "" {
			return nil, nil, 0, errors.New("the picker chose no endpoint")
		}
		return headers, body, 0, nil
	}
}

// deliver sends the request to the destination, with the headers of the picker.
func deliver(ctx context.Context, result *answered, headers map[string]string, body []byte) error {
	url := "http://" + result.Destination + completions
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, url, bytes.NewReader(body))
	if err != nil {
		return err
	}
	request.Header.Set("content-type", "application/json")
	for name, value := range headers {
		if strings.HasPrefix(name, "x-") {
			request.Header.Set(name, value)
		}
	}
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	result.Status = answer.StatusCode
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		return err
	}
	var completion struct {
		ServedBy string `json:"served_by"`
	}
	if err := json.Unmarshal(text, &completion); err != nil {
		return fmt.Errorf("HTTP %d: %s", answer.StatusCode, text)
	}
	result.ServedBy = completion.ServedBy
	return nil
}
