package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/kubeloupe/kubeloupe/test/lab"
)

// result is one run of the tests.
type result struct {
	Agent   lab.AgentKind
	Begin   time.Time
	Seconds float64
	// Full says that it ran all tests, and not others by --focus.
	Full        bool
	Focus, Skip string
	// Gates are the feature gates that were set, as the flag --feature-gates has them.
	Gates string `json:",omitempty"`
	// Proxied says that the agent was behind the proxy.
	Proxied bool `json:",omitempty"`
	Tests   []outcome
}

// name is unique among the results, and sorts by time for one agent.
func (r result) name() string {
	return string(r.Agent) + "-" + r.Begin.UTC().Format("20060102-150405")
}

func (r result) count(states ...string) int {
	n := 0
	for _, t := range r.Tests {
		if slices.Contains(states, t.State) {
			n++
		}
	}
	return n
}

func (r result) summary() string {
	agent := string(r.Agent)
	if r.Proxied {
		agent += " behind the proxy"
	}
	return fmt.Sprintf("%s: %d passed, %d failed, %d skipped in %s (%s)", agent,
		r.count(passed), len(r.Tests)-r.count(passed, skipped), r.count(skipped),
		time.Duration(r.Seconds*float64(time.Second)).Round(time.Second), r.Begin.Format(time.DateTime))
}

// results keeps what was run: one directory for each, with result.json,
// ginkgo's own report and the output.
type results struct{ dir string }

func (s results) add(r result) error {
	data, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return err
	}
	dir := filepath.Join(s.dir, r.name())
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, "result.json"), data, 0o644)
}

// newest returns the last full run of an agent, or nil.
func (s results) newest(agent lab.AgentKind) (*result, error) {
	files, err := filepath.Glob(filepath.Join(s.dir, string(agent)+"-*", "result.json"))
	if err != nil {
		return nil, err
	}
	slices.Sort(files)
	for _, file := range slices.Backward(files) {
		data, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		var r result
		if err := json.Unmarshal(data, &r); err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		if r.Full {
			return &r, nil
		}
	}
	return nil, nil
}
