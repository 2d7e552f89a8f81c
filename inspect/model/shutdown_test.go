package model

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kubeloupe/kubeloupe/trace"
)

// A shutdown is what its last step says; without the announcement, it began with the first step that was seen.
func TestShutdown(t *testing.T) {
	step := func(state trace.ShutdownState, group int, overran ...string) *trace.Shutdown {
		return &trace.Shutdown{State: state, Group: group, Groups: 2, Overran: overran}
	}
	type told struct {
		edge  trace.Edge
		event trace.Event
	}
	begin, end, point := trace.EdgeBegin, trace.EdgeEnd, trace.EdgePoint
	announced := told{point, step(trace.ShutdownAnnounced, 0)}
	group := []told{{begin, step(trace.ShutdownGroup, 1)}, {end, step(trace.ShutdownGroup, 1, "ns/a")}}
	at := func(s int64) time.Time { return time.Unix(s, 0) }
	for _, c := range []struct {
		name string
		in   []told
		want Shutdown
	}{
		{"none", []told{{point, step(trace.ShutdownHeld, 0)}, {point, step(trace.ShutdownLast, 0)}}, Shutdown{}},
		{"announced", []told{announced}, Shutdown{Since: at(1), Seq: 1, Groups: 2}},
		{"a group", []told{announced, group[0]}, Shutdown{Since: at(1), Seq: 1, Group: 1, Groups: 2}},
		{"a group ended", []told{announced, group[0], group[1]}, Shutdown{Since: at(1), Seq: 1, Group: 1, Groups: 2, Overran: 1}},
		{"the announcement was missed", group, Shutdown{Since: at(1), Seq: 1, Group: 1, Groups: 2, Overran: 1}},
		{
			"released",
			[]told{announced, group[0], group[1], {point, step(trace.ShutdownReleased, 0, "ns/a", "ns/b")}},
			Shutdown{Since: at(1), Seq: 1, Group: 1, Groups: 2, Released: true, Overran: 2},
		},
		{"canceled", []told{announced, group[0], {point, step(trace.ShutdownCanceled, 0)}}, Shutdown{}},
		{"another agent", []told{announced, {point, &trace.Agent{State: trace.AgentStarting}}}, Shutdown{}},
	} {
		m := New(Options{})
		for i, r := range c.in {
			m.Apply(&trace.Record{Seq: uint64(i + 1), Time: at(int64(i + 1)).UnixNano(), Edge: r.edge, Span: trace.SpanID(i + 1), Event: r.event})
		}
		if d := cmp.Diff(c.want, m.Node().Shutdown); d != "" {
			t.Errorf("%s (-want +got):\n%s", c.name, d)
		}
		lines := m.Lines()
		if last := lines[len(lines)-1]; last.Kind == "shutdown" && (!strings.HasPrefix(last.Text, "shutdown: ") || (last.Level == trace.LevelWarn) == (c.name == "none")) {
			t.Errorf("%s: %+v", c.name, last)
		}
	}
}
