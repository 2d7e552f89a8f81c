package why_test

import (
	"strings"
	"testing"
	"time"

	"github.com/kubeloupe/kubeloupe/inspect/model"
	"github.com/kubeloupe/kubeloupe/inspect/nodecause"
	"github.com/kubeloupe/kubeloupe/inspect/session"
	"github.com/kubeloupe/kubeloupe/inspect/why"
	"github.com/kubeloupe/kubeloupe/trace"
)

// A node that starts or joins its cluster is not Ready although nothing is wrong; and a long name does not touch its figure.
func TestNodeText(t *testing.T) {
	ready := &trace.Agent{State: trace.AgentReady, Node: "n1"}
	awaited := &trace.Certificate{Use: trace.UseClient, None: "none yet: it must be approved", Awaited: true}
	inodes := &trace.Pressure{Signal: trace.SignalContainerFSInodes, Used: 10, Capacity: 1000}
	for name, c := range map[string]struct {
		after  time.Duration
		events []trace.Event
		want   []string
	}{
		"it starts": {time.Second, []trace.Event{&trace.Agent{State: trace.AgentStarting, Node: "n1"}}, []string{"node n1 is not Ready\n", "Why      the agent is starting.\n"}},
		"it joins": {time.Second, []trace.Event{ready, awaited}, []string{
			"node n1 is not Ready\n", "Why      the agent waits for its first client certificate.\n",
			"client cert  awaited for 1.00s: none yet: it must be approved\n",
		}},
		"nobody approves": {time.Minute, []trace.Event{ready, awaited}, []string{"node n1 is not Ready\n", "Why      the agent has had no client certificate for 1m00s: none yet", "KN04 certificate (certain): 1m00s, ongoing"}},
		"it needs none":   {time.Minute, []trace.Event{ready, &trace.Certificate{Use: trace.UseClient, None: "standalone"}}, []string{"node n1 is Ready\n", "Why      nothing is wrong with it", "No named cause was found."}},
		"a long name":     {time.Second, []trace.Event{ready, inodes}, []string{"\n  containerfs.inodesFree 990", "\n  pods                   0, of them 0 ready\n"}},
	} {
		t.Run(name, func(t *testing.T) {
			began := time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)
			s, m := session.New(session.Options{}), model.New(model.Options{})
			for i, e := range c.events {
				r := trace.Record{Seq: uint64(i + 1), Span: trace.SpanID(i + 1), Time: began.UnixNano(), Event: e}
				s.Apply(&r)
				m.Apply(&r)
			}
			now := began.Add(c.after)
			var out strings.Builder
			if err := why.NodeText(&out, why.Node(&nodecause.Input{Model: m, Case: s.NodeCase(began, now), Now: now}), why.TextOptions{Width: 160}); err != nil {
				t.Fatal(err)
			}
			for _, w := range c.want {
				if !strings.Contains(out.String(), w) {
					t.Errorf("%q is missing:\n%s", w, out.String())
				}
			}
		})
	}
}
