package merge_test

import (
	"testing"
	"time"

	"github.com/kubeloupe/kubeloupe/trace"
)

// TestFound: a pod whose containers the runtime had started before the kubelet saw it was another kubelet's: it was found running.
func TestFound(t *testing.T) {
	milestone := func(at time.Duration, id trace.SpanID, name trace.MilestoneName) told {
		return told{at: at, id: id, pod: web, precision: time.Microsecond, event: &trace.Milestone{Name: name}}
	}
	early, late := milestone(time.Second, 11, trace.MilestoneStarted), milestone(9*time.Second, 12, trace.MilestoneStarted)
	line := told{at: 500 * time.Millisecond, id: 13, pod: web, event: &trace.Log{}}
	for _, c := range []struct {
		name             string
		kubelet, runtime []told
		want             []bool // whether each sighting is of a pod that was found running
	}{
		{"started before it was seen", []told{milestone(5*time.Second, 1, trace.MilestoneSeen)}, []told{early}, []bool{true}},
		{"the runtime tells later", []told{milestone(5*time.Second, 1, trace.MilestoneSeen)}, []told{line, early}, []bool{true}},
		{"seen before it started", []told{milestone(5*time.Second, 1, trace.MilestoneSeen)}, []told{late}, []bool{false}},
		{"seen in the moment of its start", []told{milestone(time.Second+time.Millisecond, 1, trace.MilestoneSeen)}, []told{early}, []bool{false}},
		{"another life", []told{
			milestone(500*time.Millisecond, 1, trace.MilestoneSeen), milestone(3*time.Second, 2, trace.MilestoneGone), milestone(5*time.Second, 3, trace.MilestoneSeen),
		}, []told{early}, []bool{false, false}},
	} {
		t.Run(c.name, func(t *testing.T) {
			var k, r []trace.Record
			for _, o := range c.kubelet {
				k = append(k, o.record(trace.ObserverKubeletLog))
			}
			for _, o := range c.runtime {
				r = append(r, o.record(trace.ObserverRuntimeLog))
			}
			for order, inputs := range [][][]trace.Record{{k, r}, {r, k}} {
				recs, _ := merged(inputs...)
				n := 0
				for i := range recs {
					if e, ok := recs[i].Event.(*trace.Milestone); ok && e.Name == trace.MilestoneSeen {
						if n >= len(c.want) || e.Adopted != c.want[n] {
							t.Errorf("order %d: sighting %d is of a pod that was found running: %v, want %v", order, n, e.Adopted, c.want)
						}
						n++
					}
				}
				if n != len(c.want) {
					t.Errorf("order %d: %d sightings, want %d", order, n, len(c.want))
				}
			}
		})
	}
}
