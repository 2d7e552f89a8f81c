package cause_test

import (
	"strings"
	"testing"
	"time"

	"github.com/kubeloupe/kubeloupe/inspect/cause"
	"github.com/kubeloupe/kubeloupe/inspect/internal/tape"
	"github.com/kubeloupe/kubeloupe/trace"
)

// nodeRecord is a span of the node: its begin and, unless it is open, its end.
func nodeRecord(span trace.SpanID, from, to time.Duration, e trace.Event) (out []trace.Record) {
	at := func(d time.Duration) int64 { return tape.Epoch.Add(d).UnixNano() }
	out = append(out, trace.Record{Seq: uint64(2 * span), Span: span, Time: at(from), Edge: trace.EdgeBegin, Event: e})
	if to >= from {
		out = append(out, trace.Record{Seq: uint64(2*span + 1), Span: span, Time: at(to), Edge: trace.EdgeEnd, Dur: to - from, Event: e})
	}
	return out
}

func TestFindNode(t *testing.T) {
	const open = -1
	runtime := &trace.Wait{For: trace.WaitRuntime, Target: trace.Target{Kind: trace.TargetRuntime}, Cause: "PLEG is not healthy"}
	network := &trace.Wait{For: trace.WaitRuntime, Target: trace.Target{Kind: trace.TargetNetwork}, Cause: "cni plugin not initialized", Class: trace.FailNetwork}
	late := &trace.CRICall{Method: "ListContainers", Code: "DeadlineExceeded", Err: "context deadline exceeded", Class: trace.FailDeadline}
	away := &trace.CRICall{Method: "Status", Code: "Unavailable", Err: "connection refused", Class: trace.FailUnreachable}
	for name, c := range map[string]struct {
		node []trace.Record
		now  time.Duration
		want string // "id: beginning of the sentence", "" for nothing
	}{
		"nothing":                          {nil, time.Minute, ""},
		"not ready, and still so":          {nodeRecord(1, 0, open, runtime), 5 * sec, "KL15: the container runtime did not answer or report in time for 5.00s so far"},
		"not ready for long":               {nodeRecord(1, 0, 9*sec, runtime), time.Minute, "KL15: the container runtime did not answer or report in time for 9.00s"},
		"not: not ready for a moment":      {nodeRecord(1, 0, sec, runtime), time.Minute, ""},
		"a deadline":                       {nodeRecord(1, sec, sec, late), time.Minute, "KL15: the container runtime did not answer or report in time: ListContainers ended with DeadlineExceeded"},
		"not: away for a moment":           {nodeRecord(1, sec, sec, away), time.Minute, ""},
		"away, again and again":            {append(nodeRecord(1, sec, sec, away), nodeRecord(2, 6*sec, 6*sec, away)...), time.Minute, "KL15: the container runtime did not answer or report in time for 5.00s"},
		"no network for long":              {nodeRecord(1, 0, open, network), time.Minute, "KL07: the runtime has no pod network"},
		"not: no network, as a node joins": {nodeRecord(1, 0, open, network), 20 * sec, ""},
		"not: no network, and then one":    {nodeRecord(1, 0, 50*sec, network), time.Minute, ""},
		"it evicts": {
			[]trace.Record{{Seq: 1, Span: 1, Time: tape.Epoch.UnixNano(), Event: &trace.Decision{By: trace.ByEviction, Subject: "memory", Verdict: trace.VerdictShort}}},
			time.Minute,
			"KL22: the node was short of memory, and the kubelet had to evict pods or to refuse them (it did once)",
		},
	} {
		t.Run(name, func(t *testing.T) {
			got, node := "", make([]*trace.Record, len(c.node))
			for i := range c.node {
				node[i] = &c.node[i]
			}
			for _, f := range cause.FindNode(&cause.Case{Node: node, Now: tape.Epoch.Add(c.now)}) {
				got += f.ID + ": " + f.Sentence
				if f.Remedy == "" || f.RuledOutBy == "" || len(f.Evidence) == 0 {
					t.Errorf("%+v lacks something", f)
				}
			}
			if !strings.HasPrefix(got, c.want) || c.want == "" && got != "" {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}
