package model

import (
	"testing"
	"time"

	"github.com/kubeloupe/kubeloupe/trace"
)

// TestForeignAPI has a log, which has failures only, and the agent, which also has the successes, fail and then say nothing of it.
func TestForeignAPI(t *testing.T) {
	at := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	for _, c := range []struct {
		by     trace.Observer
		silent time.Duration
		want   int
	}{
		{trace.ObserverKubeletLog, 30 * time.Second, 1},
		{trace.ObserverKubeletLog, 2 * time.Minute, 0},
		{trace.ObserverAgent, 2 * time.Minute, 1},
	} {
		m := New(Options{})
		m.Apply(&trace.Record{Seq: 1, Time: at.UnixNano(), Observer: c.by, Event: &trace.APICall{Verb: "get", Resource: "nodes", Err: "connection refused"}})
		m.Apply(&trace.Record{Seq: 2, Time: at.Add(c.silent).UnixNano(), Observer: c.by, Event: &trace.Log{Message: "hello"}})
		if got := m.API().Failing; got != c.want {
			t.Errorf("%s, %v later: %d failures in a row, want %d", c.by, c.silent, got, c.want)
		}
	}
}
