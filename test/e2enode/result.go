package main

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/kubeloupe/kubeloupe/test/ginkgoreport"
	"github.com/kubeloupe/kubeloupe/test/lab"
)

// resultFile is what a run leaves in its directory, beside the reports and logs.
const resultFile = "result.json"

// result is one run of the tests.
type result struct {
	Agent       lab.AgentKind
	Begin       time.Time
	Seconds     float64
	Focus, Skip string
	Tests       []ginkgoreport.Test
}

// name is unique among the results, and sorts by time for one agent.
func (r result) name() string {
	return string(r.Agent) + "-" + r.Begin.UTC().Format("20060102-150405")
}

func (r result) write(dir string) error {
	data, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, resultFile), data, 0o644)
}

// outcomes are the tests of all of an agent's runs by their names. Of a test that ran more than once, the last run counts.
type outcomes map[string]ginkgoreport.Test

// read returns the outcomes of an agent that are kept in out.
func read(out string, agent lab.AgentKind) (outcomes, error) {
	found, err := filepath.Glob(filepath.Join(out, string(agent)+"-*", resultFile))
	if err != nil {
		return nil, err
	}
	slices.Sort(found)
	all := outcomes{}
	for _, file := range found {
		data, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		var r result
		if err := json.Unmarshal(data, &r); err != nil {
			return nil, err
		}
		for _, t := range r.Tests {
			all[t.Name] = t
		}
	}
	return all, nil
}

func (o outcomes) count(state string) int {
	n := 0
	for _, t := range o {
		if t.State == state {
			n++
		}
	}
	return n
}

// sha256File is a file's hash, in hexadecimal.
func sha256File(path string) (_ string, err error) {
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	h := sha256.New()
	_, err = io.Copy(h, f)
	return hex.EncodeToString(h.Sum(nil)), err
}
