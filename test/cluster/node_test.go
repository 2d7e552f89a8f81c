package cluster

import (
	"cmp"
	"context"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/kubeloupe/kubeloupe/test/lab"
	"github.com/kubeloupe/kubeloupe/trace"
	"github.com/kubeloupe/kubeloupe/trace/jsonl"
)

// agent is a running kubeloupe whose records are in its log.
type agent struct {
	*lab.Agent
	bench *bench
	t     *testing.T
	from  int64 // where its log begins
}

// node returns the agent that runs, or starts one.
func (b *bench) node(t *testing.T) *agent {
	t.Helper()
	if a := b.Agent(); a != nil {
		return &agent{Agent: a, bench: b, t: t}
	}
	a := b.start(t, lab.AgentConfig{})
	a.ready()
	return a
}

// start begins an agent and does not wait for its node.
func (b *bench) start(t *testing.T, cfg lab.AgentConfig) *agent {
	t.Helper()
	cfg.Program = cmp.Or(cfg.Program, b.binary)
	cfg.Args = append([]string{"-o", "json"}, cfg.Args...)
	state := cfg.State
	if state == "" {
		state = "default"
	}
	var from int64
	if info, err := os.Stat(b.nodePath(state, "kubeloupe.log")); err == nil {
		from = info.Size()
	}
	a, err := b.StartAgent(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	return &agent{Agent: a, bench: b, t: t, from: from}
}

func (b *bench) nodePath(elem ...string) string {
	return strings.Join(append([]string{b.Dir, "cluster", "node"}, elem...), "/")
}

func (a *agent) ready() {
	a.t.Helper()
	if err := a.WaitReady(a.t.Context()); err != nil {
		a.t.Fatal(err)
	}
}

func (a *agent) stop() {
	a.t.Helper()
	if err := a.Stop(context.WithoutCancel(a.t.Context())); err != nil {
		a.t.Fatal(err)
	}
}

// kill ends the agent by SIGKILL.
func (a *agent) kill() {
	a.t.Helper()
	p, err := os.FindProcess(a.PID())
	if err != nil {
		a.t.Fatal(err)
	}
	_ = p.Kill()
	eventually(a.t, "the agent's end", func() string {
		if a.Alive() {
			return "it is alive"
		}
		return ""
	})
}

// said is what the agent wrote since it was started.
func (a *agent) said() string {
	a.t.Helper()
	data, err := os.ReadFile(a.LogFile)
	if err != nil {
		a.t.Fatal(err)
	}
	return string(data[min(int(a.from), len(data)):])
}

// find returns the agent's records that match.
func (a *agent) find(match func(*trace.Record) bool) []trace.Record {
	a.t.Helper()
	var found []trace.Record
	for r, err := range jsonl.Read(strings.NewReader(a.said())) {
		if err == nil && match(&r) { // a last line that is cut, or an error for people, is no record
			found = append(found, r)
		}
	}
	return found
}

// record waits for a record that matches.
func (a *agent) record(what string, match func(*trace.Record) bool) trace.Record {
	a.t.Helper()
	var found []trace.Record
	eventually(a.t, what, func() string {
		if found = a.find(match); len(found) > 0 {
			return ""
		}
		return "no such record"
	})
	return found[0]
}

// eventually polls until probe says nothing, and fails with what it said last.
func eventually(t *testing.T, what string, probe func() string) {
	t.Helper()
	within(t, deadline, what, probe)
}

func within(t *testing.T, limit time.Duration, what string, probe func() string) {
	t.Helper()
	end := time.Now().Add(limit)
	for {
		asked := time.Now()
		said := probe()
		if said == "" {
			return
		}
		if time.Now().After(end) || t.Context().Err() != nil {
			t.Fatalf("waiting %s for %s: %s", limit, what, said)
		}
		time.Sleep(max(100*time.Millisecond, 3*time.Since(asked))) // to ask takes processor time, from what is waited for
	}
}
