package model

import (
	"cmp"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/kubeloupe/kubeloupe/inspect/internal/tape"
	"github.com/kubeloupe/kubeloupe/trace"
)

// A start that a person held with step is in no list and no figure of starts.
func TestSteppedStart(t *testing.T) {
	for held, want := range map[bool]int{true: 0, false: 1} {
		const ms = time.Millisecond
		web := trace.Pod{Namespace: "shop", Name: "web", UID: "1"}
		tp := tape.New()
		tp.Point(0, web, 0, &trace.Milestone{Name: trace.MilestoneSeen, Source: trace.SourceFile})
		start := tp.Begin(0, web, 0, &trace.Action{ID: "start web", Verb: trace.VerbStart, Container: "web"})
		if held {
			gate := tp.Begin(0, web, start, &trace.Wait{For: trace.WaitGate})
			tp.End(500*ms, gate, nil)
		}
		tp.End(600*ms, start, nil)
		tp.Point(600*ms, web, 0, &trace.Milestone{Name: trace.MilestoneStarted, Since: 600 * ms})
		m := New(Options{})
		for _, r := range tp.Records() {
			m.Apply(&r)
		}
		if got := m.StartStats().Count; got != want || len(m.Slowest(5)) != want || len(m.Starts()) != want {
			t.Errorf("held %t: %d starts, want %d", held, got, want)
		}
	}
}

// TestSlowest: of equal starts the older ones come first, as if all were sorted.
func TestSlowest(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for range 200 {
		m := New(Options{Starts: 1 + rng.IntN(50)})
		for i := range rng.IntN(80) {
			m.starts.Push(&Start{ToStarted: time.Duration(rng.IntN(10)), ToReady: time.Duration(i), Segments: []Segment{{Dur: time.Duration(i)}}})
		}
		n := rng.IntN(12)
		want := m.Starts()
		slices.SortStableFunc(want, func(a, b Start) int { return cmp.Compare(b.ToStarted, a.ToStarted) })
		want = want[:min(n, len(want))]
		if diff := gocmp.Diff(want, m.Slowest(n)); diff != "" {
			t.Fatalf("the %d slowest (-want +got):\n%s", n, diff)
		}
	}
}
