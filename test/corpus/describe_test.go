package corpus_test

import (
	"encoding/json"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/kubeloupe/kubeloupe/inspect/cause"
	"github.com/kubeloupe/kubeloupe/inspect/session"
	"github.com/kubeloupe/kubeloupe/inspect/why"
	"github.com/kubeloupe/kubeloupe/trace"
)

// TestReasons looks in why's JSON for each reason that the last status and the Events of a pod that is not well give: kubectl describe
// shows them. The reasons are read from the records of the file itself. TestDescribe (test/cluster) compares with an API server.
func TestReasons(t *testing.T) {
	var files []string
	for _, pattern := range []string{"testdata/*/*.klr", "../faultcorpus/testdata/*.klr"} {
		found, err := filepath.Glob(pattern)
		if err != nil || len(found) == 0 {
			t.Fatalf("%s: %d recordings, %v", pattern, len(found), err)
		}
		files = append(files, found...)
	}
	pods, reasons := 0, 0
	for _, file := range files {
		recs := read(t, file)
		s := session.New(session.Options{})
		for i := range recs {
			s.Apply(&recs[i].rec)
		}
		for _, c := range s.Cases(s.Last()) {
			r := why.Explain(c)
			if r.Stage == cause.Up || r.Stage == cause.Over && r.Phase != string(trace.PodFailed) {
				continue
			}
			out, err := json.Marshal(r)
			if err != nil {
				t.Fatal(err)
			}
			pods++
			for _, reason := range described(recs, r.Pod) {
				reasons++
				if !strings.Contains(string(out), `"reason":"`+reason+`"`) {
					t.Errorf("%s: %s: the records give the reason %s, and why does not", filepath.Base(file), r.Pod, reason)
				}
			}
		}
	}
	t.Logf("%d reasons of %d pods that are not well", reasons, pods)
	if reasons < 100 {
		t.Errorf("%d reasons of %d pods were compared, want at least 100: is the corpus read?", reasons, pods)
	}
}

// described are the reasons that the pod's last status and all its warnings give.
func described(recs []item, pod trace.Pod) (out []string) {
	var last *trace.PodStatus
	add := func(reason string) {
		if reason != "" && !slices.Contains(out, reason) {
			out = append(out, reason)
		}
	}
	for i := range recs {
		if recs[i].rec.Pod.UID != pod.UID || recs[i].rec.Pod.Name != pod.Name {
			continue
		}
		switch e := recs[i].rec.Event.(type) {
		case *trace.PodStatus:
			if len(e.Containers) > 0 || last == nil {
				last = e
			}
		case *trace.NodeEvent:
			if e.Type == trace.EventWarning {
				add(e.Reason)
			}
		}
	}
	if last == nil {
		return out
	}
	add(last.Reason)
	for i := range last.Containers {
		c := &last.Containers[i]
		add(c.Reason)
		if c.Last != nil {
			add(c.Last.Reason)
		}
	}
	return out
}
