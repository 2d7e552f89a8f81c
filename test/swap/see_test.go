package main

import (
	"maps"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestFlatten(t *testing.T) {
	f := facts{}
	err := f.flatten("pod a ", map[string]any{
		"status": map[string]any{
			"phase":      "Running",
			"conditions": []any{map[string]any{"type": "Ready", "status": "True"}},
			"ips":        []any{"1.2.3.4"},
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	want := facts{
		"pod a .status.phase":                    "Running",
		"pod a .status.conditions[Ready].type":   "Ready",
		"pod a .status.conditions[Ready].status": "True",
		"pod a .status.ips[0]":                   "1.2.3.4",
	}
	if diff := cmp.Diff(want, f); diff != "" {
		t.Error(diff)
	}
}

func TestCompare(t *testing.T) {
	before := facts{
		"pod a .status.phase": "Running", "pod a .metadata.generation": "1",
		"pod b .status.phase": "Failed", "pod b .status.podIP": "1.2.3.4",
		"container a/main 1": "CONTAINER_RUNNING", "container b/main 2": "CONTAINER_EXITED",
		"mount /pods/a": "is",
	}
	for _, c := range []struct {
		name, key, now string
		want           int
	}{
		{"nothing", "", "", 0},
		{"a phase", "pod a .status.phase", "Pending", 1},
		{"a detail", "pod a .metadata.generation", "2", 0},
		{"a container ended", "container a/main 1", "CONTAINER_EXITED", 1},
		{"a container collected", "container b/main 2", "", 0},
		{"a container more", "container a/main 3", "CONTAINER_RUNNING", 1},
		{"a mount less", "mount /pods/a", "", 1},
		{"the address of a pod that ended", "pod b .status.podIP", "", 0},
	} {
		after := maps.Clone(before)
		if after[c.key] = c.now; c.now == "" {
			delete(after, c.key)
		}
		var s swap
		s.compare(before, after)
		if s.failures != c.want {
			t.Errorf("%s: %d failures, want %d", c.name, s.failures, c.want)
		}
	}
}
