package why_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kubeloupe/kubeloupe/inspect/why"
)

// TestAll: reports have the order of the cases and equal those of Explain; the caller may stop early.
func TestAll(t *testing.T) {
	s := busy(50)
	var want, got []string
	for l, c := range s.Cases(time.Time{}) {
		want = append(want, l.Ref()+" "+why.Brief(why.Explain(c)))
	}
	for l, r := range why.All(s.Cases(time.Time{})) {
		got = append(got, l.Ref()+" "+why.Brief(r))
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-one by one +all):\n%s", diff)
	}
	n := 0
	for range why.All(s.Cases(time.Time{})) {
		if n++; n == 3 {
			break
		}
	}
	if n != 3 {
		t.Errorf("%d reports, want 3", n)
	}
}

// BenchmarkWhyTogether is BenchmarkWhyAll with All, as the command uses it.
func BenchmarkWhyTogether(b *testing.B) {
	s := busy(10_000)
	for b.Loop() {
		for _, r := range why.All(s.Cases(time.Time{})) {
			why.Brief(r)
		}
	}
}
