package causes_test

import (
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kubeloupe/kubeloupe/inspect/backlog"
	"github.com/kubeloupe/kubeloupe/inspect/recording"
	"github.com/kubeloupe/kubeloupe/inspect/session"
	"github.com/kubeloupe/kubeloupe/inspect/why"
	"github.com/kubeloupe/kubeloupe/trace"
)

// liveIsRecorded compares what why says of a running agent, to who attaches now, with what it says of the recording. Each is told as an
// agent does: by lines of JSON, and by a file. It may be called in a bubble of synctest: it has no sockets, and waits for nothing.
func liveIsRecorded(t *testing.T, bus *trace.Bus) {
	t.Helper()
	upTo := bus.Seq()
	if diff := cmp.Diff(explained(t, fromRecording(t, bus, upTo)), explained(t, fromBacklog(t, bus, upTo))); diff != "" {
		t.Errorf("why says another thing of the running agent than of its recording (-recording +agent):\n%s", diff)
	}
}

// fromBacklog folds what a backlog of all up to a record tells.
func fromBacklog(t *testing.T, bus *trace.Bus, upTo uint64) *session.Session {
	t.Helper()
	k := backlog.New(backlog.Options{})
	cursor := bus.Subscribe(trace.FromOldest)
	defer cursor.Close()
	ended, end := context.WithCancel(context.Background())
	end()
	for {
		recs, lost, err := cursor.Next(ended, make([]trace.Record, 0, 64))
		if err != nil {
			break
		}
		for i := range recs {
			if recs[i].Seq <= upTo {
				k.Apply(recs[i:i+1], lost)
			}
			lost = 0
		}
	}
	b, err := k.Backlog(context.Background(), 0)
	if err != nil {
		t.Fatal(err)
	}
	s := session.New(session.Options{})
	for r, lost := range b.All() {
		line, err := r.MarshalJSON()
		if err != nil {
			t.Fatal(err)
		}
		var told trace.Record
		if err := told.ParseJSON(line); err != nil {
			t.Fatal(err)
		}
		s.Lost(lost)
		s.Apply(&told)
	}
	return s
}

// fromRecording folds a recording up to a record.
func fromRecording(t *testing.T, bus *trace.Bus, upTo uint64) *session.Session {
	t.Helper()
	file := filepath.Join(t.TempDir(), "session.klr")
	record(t, bus.Subscribe(trace.FromOldest), file)
	in, err := recording.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	s := session.New(session.Options{})
	for item, err := range in.All() {
		if err != nil {
			t.Fatal(err)
		}
		if item.Rec.Seq > upTo {
			break
		}
		s.Lost(item.Lost)
		s.Apply(&item.Rec)
	}
	return s
}

// explained is what why -o json says of each run, as lines.
func explained(t *testing.T, s *session.Session) (out []string) {
	t.Helper()
	for run, c := range s.Cases(s.Last()) {
		text, err := json.MarshalIndent(why.Explain(c), "", " ")
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.SplitSeq(string(text), "\n") {
			out = append(out, fmt.Sprint(run.Ref(), " ", line))
		}
	}
	return out
}
