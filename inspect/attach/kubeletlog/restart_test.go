package kubeletlog_test

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kubeloupe/kubeloupe/trace"
)

// TestRestart restarts a kubelet: it adds its pods once more, and a pod that it had before has one life.
func TestRestart(t *testing.T) {
	const (
		restart = `00:10.0 I "Starting kubelet main sync loop"`
		add     = `00:11.0 I "SyncLoop ADD" source="api" pods=["shop/web"]`
		removed = `00:20.0 I "SyncLoop REMOVE" source="api" pods=["shop/web"]`
		first   = `00:01.0 I "SyncLoop ADD" source="api" pods=["shop/web"]`
		started = `00:02.0 I "SyncLoop (PLEG): event for pod" pod="shop/web" event={"ID":"u1","Type":"ContainerStarted","Data":"aaaaaaaaaaaa"}`
		deleted = `00:05.0 I "SyncLoop DELETE" source="api" pods=["shop/web"]`
		killing = `00:12.0 I "Killing container with a grace period" pod="shop/web" podUID="u1" containerName="web" containerID="containerd://aaaaaaaaaaaa" gracePeriod=2`
		another = `00:12.0 I "SyncLoop (PLEG): event for pod" pod="shop/web" event={"ID":"u2","Type":"ContainerStarted","Data":"bbbbbbbbbbbb"}`
		ready   = `00:02.0 I "SyncLoop (probe)" probe="readiness" status="ready" pod="shop/web"`
	)
	log, _ := recorded(t, "restart.log.gz")
	for name, c := range map[string]struct {
		log  string
		want map[string][]string
	}{
		"recorded in make attach-vm": {log, map[string][]string{
			"after-journald": {"seen", "started", "ready", "terminating", "gone"}, "steady": {"seen", "started", "ready"},
		}},
		"terminating":                   {lines(first, started, deleted, restart, add, killing, removed), map[string][]string{"web": {"seen", "started", "terminating", "gone"}}},
		"another pod of the name":       {lines(first, started, deleted, restart, add, another), map[string][]string{"web": {"seen", "started", "terminating", "gone", "seen"}}},
		"added again when it was gone":  {lines(first, started, deleted, removed, `00:21.0 I "SyncLoop ADD" source="api" pods=["shop/web"]`), map[string][]string{"web": {"seen", "started", "terminating", "gone", "seen"}}},
		"running, added before the log": {lines(ready, restart, add), map[string][]string{"web": {"ready"}}},
		"no milestone before":           {lines(started, restart, add), map[string][]string{"web": {"seen"}}},
	} {
		t.Run(name, func(t *testing.T) {
			got := map[string][]string{}
			recs, _, _ := all(t, c.log)
			for _, r := range recs {
				if m, ok := r.Event.(*trace.Milestone); ok {
					got[r.Pod.Name] = append(got[r.Pod.Name], fmt.Sprint(m.Name))
				}
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("milestones (-want +got):\n%s", diff)
			}
		})
	}
}
