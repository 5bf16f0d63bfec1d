package main

import (
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
)

// Flags of vLLM that have no value.
var switches = []string{
	"data-parallel-external-lb", "data-parallel-hybrid-lb", "data-parallel-multi-port-external-lb",
	"enable-dbo", "enable-eplb", "enable-expert-parallel", "enable-lora", "headless", "trust-remote-code",
}

// parseFlags returns the flags by name, with dashes; the last value counts, or all of a list.
func parseFlags(arguments []string) map[string]string {
	flags := map[string]string{}
	name := ""
	for _, argument := range arguments {
		rest, isFlag := strings.CutPrefix(argument, "--")
		if !isFlag {
			if name != "" {
				flags[name] = strings.TrimSpace(flags[name] + " " + argument)
			}
			continue
		}
		value, found := "", false
		name, value, found = strings.Cut(rest, "=")
		name = strings.ReplaceAll(name, "_", "-")
		flags[name] = value
		if found || slices.Contains(switches, name) {
			name = ""
		}
	}
	return flags
}

func number(flags map[string]string, name string, fallback int) (int, error) {
	text, found := flags[name]
	if !found {
		return fallback, nil
	}
	value, err := strconv.Atoi(text)
	if err != nil {
		return 0, fmt.Errorf("--%s: %w", name, err)
	}
	return value, nil
}

// checkDevices returns an error if the processes of a container need more GPUs than it requests, or
// leave some of them idle.
func checkDevices(wanted int) error {
	text := os.Getenv("STAND_IN_GPUS")
	if text == "" {
		return nil
	}
	found, err := strconv.Atoi(text)
	if err == nil && found != wanted {
		err = fmt.Errorf("the arguments need %d GPUs, and the container has %d", wanted, found)
	}
	return err
}
