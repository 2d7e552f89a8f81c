package session

import (
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kubeloupe/kubeloupe/inspect/evidence"
	"github.com/kubeloupe/kubeloupe/inspect/store"
)

// TestReachesWithin: the result with blocks is equal to a check of each run.
func TestReachesWithin(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	for range 100 {
		var runs []*store.PodRun
		for range rng.IntN(5 * reachBlock) {
			from := rng.Int64N(1000)
			runs = append(runs, &store.PodRun{Times: evidence.Times{From: from, Last: from + rng.Int64N(10)}})
		}
		all := reachesOf(runs)
		at := reach{from: rng.Int64N(1000)}
		at.to = at.from + rng.Int64N(100)
		var want, got []int
		for i, l := range runs {
			if l.Times.From <= at.to && l.Times.Last >= at.from {
				want = append(want, i)
			}
		}
		for i := range all.within(at.from, at.to) {
			got = append(got, i)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("of %d runs, %+v (-want +got):\n%s", len(runs), at, diff)
		}
	}
}
