package model

import (
	"cmp"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
)

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
