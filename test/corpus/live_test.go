package corpus_test

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kubeloupe/kubeloupe/inspect/backlog"
	"github.com/kubeloupe/kubeloupe/inspect/session"
	"github.com/kubeloupe/kubeloupe/inspect/why"
	"github.com/kubeloupe/kubeloupe/trace"
)

// attaches is at how many points of a recording a reader attaches late; the last is its end.
const attaches = 6

// TestLiveIsRecorded: who attaches late to a running agent finds what a recording of all tells: at once, and when the rest has come.
func TestLiveIsRecorded(t *testing.T) {
	files, err := filepath.Glob("testdata/*/*.klr")
	if err != nil || len(files) == 0 {
		t.Fatalf("%d recordings, %v", len(files), err)
	}
	faults, err := filepath.Glob("../faultcorpus/testdata/*.klr") // and what happens after a pod was ready
	if err != nil || len(faults) < 100 {
		t.Fatalf("%d recordings of faults, %v", len(faults), err)
	}
	for _, file := range slices.Concat(files, faults) {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".klr"), func(t *testing.T) {
			t.Parallel()
			items := read(t, file)
			k, fed := backlog.New(backlog.Options{}), 0
			for part := 1; part <= attaches; part++ {
				n := len(items) * part / attaches
				for ; fed < n; fed++ {
					k.Apply(records(items[fed:fed+1]), items[fed].lost)
				}
				live := late(t, k)
				for ends := part; ends <= attaches; ends++ {
					to := len(items) * ends / attaches
					if ends > part {
						fold(live, items[len(items)*(ends-1)/attaches:to])
					}
					whole := session.New(session.Options{})
					fold(whole, items[:to])
					if own := slices.Contains(files, file); !own && ends > part && ends < attaches {
						continue // of so many, a part will do
					}
					own := slices.Contains(files, file) // of the others, two attempts of a probe more or less may be kept
					if diff := cmp.Diff(told(t, whole, own), told(t, live, own)); diff != "" {
						t.Fatalf("attached at %d/%d, asked at %d/%d (-recorded +live):\n%s", part, attaches, ends, attaches, diff)
					}
				}
			}
		})
	}
}

// late folds what a reader is told who attaches now.
func late(t *testing.T, k *backlog.Store) *session.Session {
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

func fold(s *session.Session, items []item) {
	for i := range items {
		s.Lost(items[i].lost)
		s.Apply(&items[i].rec)
	}
}

// told is what why says of each run, as lines, and from how many records.
func told(t *testing.T, s *session.Session, counts bool) (out []string) {
	t.Helper()
	for l, c := range s.Cases(s.Last()) {
		text, err := json.MarshalIndent(why.Explain(c), "", " ")
		if err != nil {
			t.Fatal(err)
		}
		if counts {
			out = append(out, fmt.Sprintf("%s: %d records, %d of others", l.Ref(), len(c.Records), len(c.Node)))
		}
		for line := range strings.SplitSeq(string(text), "\n") {
			out = append(out, l.Ref()+" "+line)
		}
	}
	return out
}

func records(items []item) (out []trace.Record) {
	for i := range items {
		out = append(out, items[i].rec)
	}
	return out
}
