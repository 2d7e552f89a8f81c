package backlog_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kubeloupe/kubeloupe/inspect/backlog"
	"github.com/kubeloupe/kubeloupe/inspect/session"
	"github.com/kubeloupe/kubeloupe/inspect/why"
)

// FuzzLiveIsRecorded: who attaches late to a node that does anything finds in each pod what a recording of all tells.
func FuzzLiveIsRecorded(f *testing.F) {
	for seed := range uint64(4) {
		f.Add(seed, uint16(800), uint8(100))
	}
	f.Fuzz(func(t *testing.T, seed uint64, records uint16, piece uint8) {
		recs := play(seed, int(records%maxPlayed))
		k, whole := backlog.New(backlog.Options{}), session.New(session.Options{})
		for size := max(int(piece), len(recs)/maxPieces+1); len(recs) > 0; {
			some := recs[:min(size, len(recs))]
			recs = recs[len(some):]
			k.Apply(some, 0)
			for i := range some {
				whole.Apply(&some[i])
			}
			if diff := cmp.Diff(explained(t, whole), explained(t, attached(t, k))); diff != "" {
				t.Fatalf("after record %d (-recorded +live):\n%s", some[len(some)-1].Seq, diff)
			}
		}
	})
}

// attached folds what a reader is told who attaches now.
func attached(t *testing.T, k *backlog.Store) *session.Session {
	t.Helper()
	b, err := k.Backlog(t.Context(), 0)
	if err != nil {
		t.Fatal(err)
	}
	s := session.New(session.Options{})
	for r, lost := range b.All() {
		s.Lost(lost)
		s.Apply(&r)
	}
	return s
}

// explained is what why says of each run, as lines.
func explained(t *testing.T, s *session.Session) (out []string) {
	t.Helper()
	for l, c := range s.Cases(s.Last()) {
		text, err := json.MarshalIndent(why.Explain(c), "", " ")
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.SplitSeq(string(text), "\n") {
			out = append(out, l.Ref()+" "+line)
		}
	}
	return out
}
