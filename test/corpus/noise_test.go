package corpus_test

import (
	"fmt"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kubeloupe/kubeloupe/inspect/session"
	"github.com/kubeloupe/kubeloupe/inspect/why"
	"github.com/kubeloupe/kubeloupe/trace"
)

// TestNoise: what is found does not depend on sentences. Each text that only people are to read is replaced by noise in all recordings, but for those of decides;
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

// noise returns a record whose texts for people say nothing: those with the tag scrub:"text", but for what names something.
func noise(r trace.Record) trace.Record {
	own := reflect.New(reflect.TypeOf(r.Event).Elem())
	own.Elem().Set(reflect.ValueOf(r.Event).Elem())
	for i, v := range own.Elem().Fields() {
		if i.Tag.Get("scrub") == "text" && v.Kind() == reflect.String && v.String() != "" && !decides[own.Elem().Type().Name()+"."+i.Name] {
			v.SetString("noise noise")
		}
	}
	r.Event, _ = reflect.TypeAssert[trace.Event](own)
	return r
}

// decides are fields with texts on which something decides: names of others' things, and sentences that have to become facts.
var decides = map[string]bool{
	"RuntimeSpan.Name": true, "Decision.Subject": true, // names
	"Action.Reason":       true, // KL14: why a sandbox is made anew
	"ProbeAttempt.Output": true, // KL20: whether a probe ran into its timeout
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
