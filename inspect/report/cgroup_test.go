package report

import (
	"encoding/json"
	"testing"
)

// TestShares: cgroup v1 has shares where v2 has a weight.
func TestShares(t *testing.T) {
	for text, want := range map[string]string{
		`[{"path":"/kubepods","files":{"cpu.shares":"2"}}]`:  "SHARES",
		`[{"path":"/kubepods","files":{"cpu.weight":"79"}}]`: "WEIGHT",
		`[]`: "WEIGHT",
	} {
		table, err := makeCgroup(nil, Args{Live: json.RawMessage(text)})
		if err != nil {
			t.Fatal(err)
		}
		if got := table.Columns[weightColumn].Name; got != want {
			t.Errorf("%s: column %s, want %s", text, got, want)
		}
	}
}
