package merge_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/kubeloupe/kubeloupe/trace"
)

// TestSeenOnce: a pod is there once in a life, also where its object was shown much sooner than the kubelet or the runtime knew of it. What the
// object tells of it beside its time is not lost where both tell it at about one time.
func TestSeenOnce(t *testing.T) {
	spec := &trace.PodSpec{Grace: 30}
	seen := func(at time.Duration, precision time.Duration, s *trace.PodSpec) []told {
		return []told{{at: at, id: 1, pod: web, precision: precision, event: &trace.Milestone{Name: trace.MilestoneSeen, Spec: s}}}
	}
	records := func(by trace.Observer, all []told) (out []trace.Record) {
		for _, o := range all {
			out = append(out, o.record(by))
		}
		return out
	}
	for _, c := range []struct {
		name          string
		object, other []trace.Record
		want          string
	}{
		{
			"the object first, then the kubelet", records(trace.ObserverAPIServer, seen(time.Second, time.Second, spec)),
			records(trace.ObserverKubeletLog, seen(9*time.Second, time.Microsecond, nil)), "1s api-server 30",
		},
		{
			"the object first, then the runtime", records(trace.ObserverAPIServer, seen(time.Second, time.Second, spec)),
			records(trace.ObserverRuntimeLog, seen(2*time.Second, time.Microsecond, nil)), "1s api-server 30",
		},
		{
			"both at about one time", records(trace.ObserverKubeletAPI, seen(1050*time.Millisecond, 5*time.Millisecond, spec)),
			records(trace.ObserverKubeletLog, seen(time.Second, time.Microsecond, nil)), "1s kubelet-log 30",
		},
		{
			"the object to a second, the kubelet's log later", records(trace.ObserverKubeletAPI, seen(time.Second, time.Second, spec)),
			append(records(trace.ObserverKubeletLog, []told{{at: 1700 * time.Millisecond, id: 2, pod: web, event: &trace.Log{}}}),
				records(trace.ObserverKubeletLog, seen(1900*time.Millisecond, time.Microsecond, nil))...), "1.9s kubelet-log 30",
		},
		{
			"two lives", records(trace.ObserverKubeletAPI, append(seen(time.Second, time.Millisecond, spec),
				told{at: 2 * time.Second, id: 2, pod: web, precision: time.Millisecond, event: &trace.Milestone{Name: trace.MilestoneGone}})),
			records(trace.ObserverKubeletLog, seen(9*time.Second, time.Microsecond, nil)), "1s kubelet-api 30, 9s kubelet-log 0",
		},
	} {
		recs, _ := mergedWithin(500*time.Millisecond, c.object, c.other)
		var got []string
		for i := range recs {
			if e, ok := recs[i].Event.(*trace.Milestone); ok && e.Name == trace.MilestoneSeen {
				grace := int64(0)
				if e.Spec != nil {
					grace = e.Spec.Grace
				}
				got = append(got, fmt.Sprintf("%v %v %d", time.Duration(recs[i].Time)-time.Hour, recs[i].Observer, grace))
			}
		}
		if s := strings.Join(got, ", "); s != c.want {
			t.Errorf("%s: got %q, want %q", c.name, s, c.want)
		}
	}
}
