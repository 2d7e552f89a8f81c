package bundle_test

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/kubeloupe/kubeloupe/inspect/cause"
	"github.com/kubeloupe/kubeloupe/inspect/session"
	"github.com/kubeloupe/kubeloupe/trace"
)

// TestCRIO reads CRI-O's log at its levels info and debug, alone and with the kubelet's: each call has a begin and an end, each pod its UID, and the
// causes are found that both logs tell.
func TestCRIO(t *testing.T) {
	for name, c := range map[string]struct {
		files []string
		// open are the calls whose end may not be in the log: at info, CRI-O does not log that a pull failed, or that a container was removed
		// already. causes has one of each pod.
		open   string
		causes map[string]string
	}{
		"info":  {[]string{"crio-v2.crio.log.gz"}, "PullImage RemoveContainer", nil},
		"debug": {[]string{"crio-debug.crio.log.gz"}, "", nil},
		"info, kubelet's log": {
			[]string{"crio-v2.log.gz", "crio-v2.crio.log.gz"},
			"PullImage RemoveContainer",
			map[string]string{"no-image": "KL05", "no-network": "KL07", "no-secret": "KL11", "stubborn": "KL17", "fresh": ""},
		},
	} {
		t.Run(name, func(t *testing.T) {
			var paths []string
			for _, f := range c.files {
				paths = append(paths, filepath.Join(data, f))
			}
			src := open(t, paths...)
			recs, _ := all(t, src)
			s := session.New(session.Options{})
			begun := map[trace.SpanID]string{}
			for i := range recs {
				r := &recs[i]
				s.Apply(r)
				if call, ok := r.Event.(*trace.CRICall); ok && r.Observer == trace.ObserverRuntimeLog {
					if r.Edge == trace.EdgeBegin {
						begun[r.Span] = call.Method
					} else {
						delete(begun, r.Span)
					}
				}
				if r.Observer == trace.ObserverRuntimeLog && r.Pod.Name != "" && r.Pod.UID == "" {
					t.Errorf("%s of %s has no UID", r.Event.Kind(), r.Pod)
				}
			}
			for _, method := range begun {
				if !strings.Contains(c.open, method) {
					t.Errorf("a %s does not end", method)
				}
			}
			if m := src.Told().Merged; m.Disagreed > 0 {
				t.Errorf("the logs disagree %d times, by %v about %s", m.Disagreed, m.Most, m.What)
			}
			found := map[string][]string{}
			for _, l := range s.Runs() {
				for _, f := range cause.Find(s.Case(l, s.Last())) {
					found[l.Pod.Name] = append(found[l.Pod.Name], f.ID)
				}
			}
			for pod, id := range c.causes {
				if got := found[pod]; id != strings.Join(got, " ") && !slices.Contains(got, id) {
					t.Errorf("%s has the causes %v, want %s", pod, got, id)
				}
			}
		})
	}
}
