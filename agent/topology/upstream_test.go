package topology

import (
	"encoding/json"
	"os"
	"strings"
	"testing"
)

// TestAsUpstream merges random hints as upstream's policies (v1.37.1) did: a program called them and wrote testdata/upstream.json.
func TestAsUpstream(t *testing.T) {
	text, err := os.ReadFile("testdata/upstream.json")
	if err != nil {
		t.Fatal(err)
	}
	var cases []struct {
		Nodes                          int
		Closest                        bool
		Hints                          []string
		BestEffort, Restricted, Single string
	}
	if err := json.Unmarshal(text, &cases); err != nil || len(cases) < 100 {
		t.Fatalf("%d cases, %v", len(cases), err)
	}
	for i, c := range cases {
		var in []map[string][]Hint
		for _, h := range c.Hints {
			switch h {
			case "nil":
				in = append(in, nil)
			case "none":
				in = append(in, map[string][]Hint{"r": nil})
			default:
				in = append(in, map[string][]Hint{"r": hints(h)})
			}
		}
		for policy, want := range map[string]string{BestEffort: c.BestEffort, Restricted: c.Restricted, SingleNUMANode: c.Single} {
			cfg := Config{Policy: policy, Scope: ScopePod, Machine: machine(c.Nodes), Options: map[string]string{}}
			if c.Closest {
				cfg.Options[optionClosest] = "true"
			}
			best, ok := manager(t, cfg).decide(in)
			got := show(best)
			if !ok {
				got = "-" + got
			}
			if got != want {
				t.Errorf("%d: %d nodes, closest %t, %s of %s: %s, want %s", i, c.Nodes, c.Closest, policy, strings.Join(c.Hints, " | "), got, want)
			}
		}
	}
}
