package main

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/kubeloupe/kubeloupe/test/lab"
)

// parseGates reads feature gates, as NAME=true,NAME=false.
func parseGates(text string) (map[string]bool, error) {
	gates := map[string]bool{}
	for part := range strings.SplitSeq(text, ",") {
		if part == "" {
			continue
		}
		name, value, _ := strings.Cut(part, "=")
		on, err := strconv.ParseBool(value)
		if name == "" || err != nil {
			return nil, fmt.Errorf("feature gate %q: want NAME=true or NAME=false", part)
		}
		gates[name] = on
	}
	return gates, nil
}

// flagOf writes gates as the flag --feature-gates has them, in the order of their names.
func flagOf(gates map[string]bool) string {
	var out []string
	for _, name := range slices.Sorted(maps.Keys(gates)) {
		out = append(out, fmt.Sprintf("%s=%t", name, gates[name]))
	}
	return strings.Join(out, ",")
}

// gated returns the agent's configuration file with the gates; "" for the cluster's own file if there are none.
func gated(c *lab.Cluster, gates map[string]bool) (string, error) {
	if len(gates) == 0 {
		return "", nil
	}
	return c.WriteKubeletConfig("gates", func(config map[string]any) {
		all, _ := config["featureGates"].(map[string]any)
		if all == nil {
			all = map[string]any{}
		}
		for name, on := range gates {
			all[name] = on
		}
		config["featureGates"] = all
	})
}
