package main

import (
	"bytes"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/kubeloupe/kubeloupe/inspect/recording"
	"github.com/kubeloupe/kubeloupe/trace"
)

// twoAgents records two agents, of which the second found web and crash running, and crash not ready; it alone knows late.
func twoAgents(t *testing.T) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "two.klr")
	at := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	for agent := range 2 {
		w, err := recording.Create(file, recording.Options{})
		if err != nil {
			t.Fatal(err)
		}
		var recs []trace.Record
		say := func(pod string, e trace.Event) {
			at = at.Add(250 * time.Millisecond)
			recs = append(recs, trace.Record{
				Seq: uint64(len(recs) + 1), Time: at.UnixNano(), Pod: trace.Pod{Namespace: "shop", Name: pod, UID: pod}, Event: e,
			})
		}
		pods := []string{"web", "crash", "late"}[:2+agent]
		for _, pod := range pods {
			for i, name := range []string{"seen", "started", "ready"} {
				say(pod, &trace.Milestone{Name: trace.MilestoneName(name), Source: trace.SourceFile, Adopted: agent > 0, Since: time.Duration(i) * 250 * time.Millisecond})
			}
			ready := 1
			if agent > 0 && pod == "crash" {
				ready = 0
			}
			say(pod, &trace.PodStatus{Phase: trace.PodRunning, Ready: ready, Total: 1})
		}
		for i := range recs { // none is from before the recorder began
			recs[i].Time += time.Now().UnixNano() - at.Add(-time.Hour).UnixNano()
		}
		if err := w.Write(recs, 0); err != nil {
			t.Fatal(err)
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
	}
	return file
}

// TestFoundRunning: the start of a pod that a later agent found running is shown, and that is said.
func TestFoundRunning(t *testing.T) {
	file := twoAgents(t)
	for _, c := range []struct {
		args     string
		code     int
		out, err string
	}{
		{"trace shop/web", 0, "shop/web", "kubeloupe: shop/web#2 was adopted by a later agent; this is its start, shop/web#1\n"},
		{"trace shop/web#1", 0, "shop/web", ""},
		{"trace shop/web#2", 2, "", "kubeloupe: shop/web#2: the pod was found running: its start was not seen; an earlier agent observed it: use shop/web#1\n"},
		{"trace shop/late", 2, "", "kubeloupe: shop/late: the pod was found running: its start was not seen; kubeloupe why shows its current state, and an earlier recording may contain the start\n"},
		{"trace --diff shop/web#1 shop/crash", 0, "Both took as long", "kubeloupe: shop/crash#2 was adopted by a later agent; this is its start, shop/crash#1\n"},
		{"why shop/web", 0, "started in 250ms", "kubeloupe: shop/web#2 was adopted by a later agent and runs; this is its start, shop/web#1\n"},
		{"why shop/web#2", 0, "was found running", "kubeloupe: shop/web#2 was adopted by a later agent; for its start, use kubeloupe why shop/web#1\n"},
		{"why shop/web#1", 0, "started in 250ms", ""},
		{"why shop/crash", 0, "was ready and no longer is", "kubeloupe: shop/crash#2 was adopted by a later agent; for its start, use kubeloupe why shop/crash#1\n"},
		{"why shop/late", 0, "was found running", ""},
	} {
		var out, errs bytes.Buffer
		code := execute(append(strings.Fields(c.args), "--from", file), strings.NewReader(""), &out, &errs)
		if code != c.code || !strings.Contains(out.String(), c.out) || c.out == "" && out.Len() > 0 || errs.String() != c.err {
			t.Errorf("%s: exit code %d, want %d\n%s\nerror %q\nwant  %q", c.args, code, c.code, &out, &errs, c.err)
		}
	}
}
