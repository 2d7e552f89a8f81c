package eviction

import (
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"
)

// judge is the state of thresholds between rounds. It has no clock.
type judge struct {
	since  []time.Time // by threshold: since when there has been less; zero for enough
	acting []bool      // by threshold: there has been less for its grace period, and not been enough since
	// seen is when each condition was last true by a threshold.
	seen map[v1.NodeConditionType]time.Time
}

// newJudge returns a judge of a number of thresholds.
func newJudge(n int) *judge {
	return &judge{since: make([]time.Time, n), acting: make([]bool, n), seen: map[v1.NodeConditionType]time.Time{}}
}

// judge takes observations, and returns the indices of the thresholds for which to act. A threshold for which was acted stays one until
// its minimum reclaim is there, too. What was not observed counts as enough.
//
// Upstream: pkg/kubelet/eviction/eviction_manager.go, synchronize.
func (j *judge) judge(all []Threshold, seen observations, now time.Time) (act []int) {
	for i := range all {
		t := &all[i]
		if !seen.below(t, false) && (!j.acting[i] || !seen.below(t, true)) {
			j.since[i], j.acting[i] = time.Time{}, false
			continue
		}
		if j.since[i].IsZero() {
			j.since[i] = now
		}
		j.seen[conditionOf(t.Signal)] = now
		if j.acting[i] = now.Sub(j.since[i]) >= t.Grace; j.acting[i] {
			act = append(act, i)
		}
	}
	return act
}

// conditions returns the conditions that are true: for the transition period after they were last true by a threshold, so that they do
// not flap.
func (j *judge) conditions(transition time.Duration, now time.Time) []v1.NodeConditionType {
	var out []v1.NodeConditionType
	for c, at := range j.seen {
		if at.Equal(now) || now.Sub(at) < transition {
			out = append(out, c)
		}
	}
	slices.Sort(out)
	return out
}
