package kubeletlog_test

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kubeloupe/kubeloupe/trace"
)

// TestEvicted reads how pods are terminated to make room, by the words of each version and verbosity. Kubelets before 1.36 do not write
// that nothing is left of a pod, below V4.
func TestEvicted(t *testing.T) {
	const (
		ran    = `00:01.0 I "SyncLoop (PLEG): event for pod" pod="shop/web" event={"ID":"u1","Type":"ContainerStarted","Data":"aaaaaaaaaaaa"}`
		kill   = `00:05.1 I "Killing container with a grace period" pod="shop/web" podUID="u1" containerName="web" containerID="containerd://aaaaaaaaaaaa" gracePeriod=2`
		died   = `00:07.0 I "SyncLoop (PLEG): event for pod" pod="shop/web" event={"ID":"u1","Type":"ContainerDied","Data":"aaaaaaaaaaaa"}`
		later  = `00:30.0 I "another line"`
		freed  = `00:06.0 I "Pod evicted successfully" pod="shop/web"`
		evict  = `00:06.0 I "Eviction manager: pod is evicted successfully" pod="shop/web"`
		broken = `00:06.5 E Operation for "{volumeName:v podName:u1 nodeName:}" failed. No retries permitted until 2026-11-22 08:00:07 +0000 UTC m=+7 (durationBeforeRetry 500ms). Error: UnmountVolume.TearDown failed for volume "v" (UniqueName: "v") pod "u1" (UID: "u1") : target is busy`
	)
	const preempted = "end by preemption: resources are needed for a pod of higher priority"
	for name, c := range map[string]struct {
		log  string
		want []string
	}{
		"preempted, V2 since 1.34": {
			lines(ran, `00:05.0 I "Preempting pod to free up resources" pod="shop/web" podUID="u1" insufficientResources="[(res: cpu, q: 1000), ]" requestingPod="shop/dns"`, kill, freed, died, later),
			[]string{"5s " + preempted + ": [(res: cpu, q: 1000), ]", "5s terminating", "7s gone"},
		},
		"preempted, V3 until 1.33": {
			lines(ran, `00:05.0 I "Preempting pod to free up resources" pod="shop/web" podUID="u1" insufficientResources=[{},{}]`, kill, freed, died, later),
			[]string{"5s " + preempted, "5s terminating", "7s gone"},
		},
		"preempted, V2 until 1.33": {lines(ran, kill, freed, died, later), []string{"6s " + preempted, "6s terminating", "7s gone"}},
		"preempted, V0":            {lines(freed, later), []string{"6s " + preempted, "6s terminating", "6s gone"}},
		"the log ends at once":     {lines(freed), []string{"6s " + preempted, "6s terminating"}},
		"evicted, V2":              {lines(ran, kill, evict, died, later), []string{"6s end by eviction: the node was short of a resource", "6s terminating", "7s gone"}},
		"evicted, V3":              {lines(ran, `00:05.0 I "Evicting pod" pod="shop/web" podUID="u1" message="The node was low on resource: memory. "`, kill, evict, died, later), []string{"5s end by eviction: The node was low on resource: memory", "5s terminating", "7s gone"}},
		"the node shuts down, V1": {
			lines(ran, `00:05.0 I "Shutdown manager killing pod with gracePeriod" pod="shop/web" gracePeriod=20`, kill, `00:06.8 I "Shutdown manager finished killing pod" pod="shop/web"`, later),
			[]string{"5s end by shutdown: the node is shutting down [grace=20s]", "5s terminating", "6s gone"},
		},
		"its volume cannot go":         {lines(ran, evict, broken, died, later), []string{"6s end by eviction: the node was short of a resource", "6s terminating"}},
		"the object stays":             {lines(ran, `00:04.0 I "SyncLoop DELETE" source="api" pods=["shop/web"]`, died, later), []string{"4s terminating"}},
		"a static pod is removed":      {lines(ran, `00:04.0 I "SyncLoop REMOVE" source="file" pods=["shop/web"]`, kill, died, later), []string{"4s terminating", "7s gone"}},
		"it does not terminate":        {lines(ran, `00:04.0 I "SyncLoop REMOVE" source="file" pods=["shop/web"]`, kill, later), []string{"4s terminating"}},
		"the log begins after a start": {lines(`00:04.0 I "SyncLoop REMOVE" source="file" pods=["shop/web"]`, died, later), []string{"4s terminating"}},
		"another container runs": {
			lines(ran, `00:02.0 I "SyncLoop (PLEG): event for pod" pod="shop/web" event={"ID":"u1","Type":"ContainerStarted","Data":"bbbbbbbbbbbb"}`, `00:04.0 I "SyncLoop REMOVE" source="file" pods=["shop/web"]`, died, later),
			[]string{"4s terminating"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			recs, _, _ := all(t, c.log)
			var got []string
			for i := range recs {
				at := fmt.Sprintf("%ds ", recs[i].At().Second())
				switch e := recs[i].Event.(type) {
				case *trace.Decision:
					s := at + string(e.Verdict) + " by " + string(e.By) + ": " + e.Reason
					for _, in := range e.Inputs {
						s += " [" + in.K + "=" + in.V + "]"
					}
					got = append(got, s)
				case *trace.Milestone:
					got = append(got, at+string(e.Name))
				}
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}
