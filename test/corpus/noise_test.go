package corpus_test

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kubeloupe/kubeloupe/inspect/session"
	"github.com/kubeloupe/kubeloupe/inspect/why"
	"github.com/kubeloupe/kubeloupe/trace"
)

// TestNoise: what is found does not depend on sentences. Each text that only people are to read is replaced by noise in all recordings;
// the causes, their costs, the phases, the critical path and what is waited for stay the same.
func TestNoise(t *testing.T) {
	files, err := filepath.Glob("testdata/*/*.klr")
	if err != nil || len(files) == 0 {
		t.Fatalf("%d recordings, %v", len(files), err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".klr"), func(t *testing.T) {
			t.Parallel()
			recs := read(t, file)
			for part := 1; part <= parts; part++ {
				items := recs[:len(recs)*part/parts]
				noisy := make([]item, len(items))
				for i := range items {
					noisy[i] = item{rec: noise(items[i].rec), lost: items[i].lost}
				}
				if diff := cmp.Diff(facts(items), facts(noisy)); diff != "" {
					t.Errorf("%d/%d: facts depend on sentences (-as it was +with noise):\n%s", part, parts, diff)
				}
			}
		})
	}
}

// noise returns a record whose texts for people say nothing.
func noise(r trace.Record) trace.Record {
	switch e := r.Event.(type) {
	case *trace.Wait:
		own := *e
		blur(&own.Note)
		blur(&own.Cause)
		r.Event = &own
	case *trace.Log:
		own := *e
		blur(&own.Message)
		r.Event = &own
	case *trace.NodeEvent:
		own := *e
		blur(&own.Message)
		r.Event = &own
	case *trace.CRICall:
		own := *e
		blur(&own.Err)
		r.Event = &own
	case *trace.Action:
		own := *e
		blur(&own.Err)
		r.Event = &own
	case *trace.Plan:
		own := *e
		blur(&own.Why)
		r.Event = &own
	case *trace.Sync:
		own := *e
		blur(&own.Err)
		r.Event = &own
	case *trace.PodStatus:
		own := *e
		blur(&own.Message)
		r.Event = &own
	}
	return r
}

func blur(s *string) {
	if *s != "" {
		*s = "noise noise"
	}
}

// facts is what why finds, without words.
func facts(items []item) (out []string) {
	s := session.New(session.Options{})
	for i := range items {
		s.Lost(items[i].lost)
		s.Apply(&items[i].rec)
	}
	for l, c := range s.Cases(s.Last()) {
		r := why.Explain(c)
		add := func(format string, args ...any) { out = append(out, l.Pod.String()+" "+fmt.Sprintf(format, args...)) }
		add("stage %v phase %v start %v ready %v length %v floor %v unexplained %v", r.Stage, r.Phase, r.Start, r.Ready, r.Length, r.Floor, r.Unexplained)
		for _, f := range r.Findings {
			add("cause %s %v cost %v current %v, %d records", f.ID, f.Confidence, f.Cost, f.Current, len(f.Evidence))
		}
		for _, w := range r.Waiting {
			add("waits %s %+v since %v at %v", w.For, w.Target, w.Since.UnixNano(), w.At.UnixNano())
		}
		for _, p := range r.Phases {
			add("phase %s %v %v %v", p.Name, p.Start, p.Dur, p.OnPath)
		}
		for _, p := range r.Path {
			add("path %v %s %v %v", p.Kind, p.Label, p.Start, p.Dur)
		}
		for _, w := range r.Waits {
			add("waited %s %d %v %v", w.For, w.Count, w.Total, w.OnPath)
		}
	}
	return out
}
