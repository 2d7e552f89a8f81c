package config

import (
	"maps"
	"slices"
	"strings"
)

// labelsFlag are labels as the kubelet takes them: KEY=VALUE or KEY, separated by commas. Spaces around keys and values do not count, and what
// is given later overrides.
//
// Upstream: component-base/cli/flag/configuration_map.go.
type labelsFlag struct{ to *map[string]string }

// Set adds labels.
func (f labelsFlag) Set(s string) error {
	if *f.to == nil {
		*f.to = map[string]string{}
	}
	for item := range strings.SplitSeq(s, ",") {
		if item == "" {
			continue
		}
		k, v, _ := strings.Cut(item, "=")
		(*f.to)[strings.TrimSpace(k)] = strings.TrimSpace(v)
	}
	return nil
}

// String returns the labels in the flag's syntax, sorted.
func (f labelsFlag) String() string {
	if f.to == nil {
		return ""
	}
	var out []string
	for _, k := range slices.Sorted(maps.Keys(*f.to)) {
		out = append(out, k+"="+(*f.to)[k])
	}
	return strings.Join(out, ",")
}

// Type returns the word for the value in the help.
func (labelsFlag) Type() string { return "stringToString" }
