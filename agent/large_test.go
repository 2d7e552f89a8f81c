package agent_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubeloupe/kubeloupe/agent/cri/sim"
	"github.com/kubeloupe/kubeloupe/trace"
)

// BenchmarkStartBesideLargePods starts a plain pod, alternately alone and together with three pods with almost the
// largest possible environment (7 MiB in 70,000 variables). It reports the plain pod's median start in milliseconds for
// both, and the ratio. The simulated runtime is in the same process, so both include its share.
func BenchmarkStartBesideLargePods(b *testing.B) {
	h := newHost(b, map[string]sim.Latency{})
	n := run(b, h.config())
	var alone, beside []time.Duration
	for i := 0; b.Loop(); i++ {
		alone = append(alone, n.startPlain(fmt.Sprint("alone-", i)))
		large := make([]*v1.Pod, 0, 3)
		for j := range 3 {
			large = append(large, largePod(fmt.Sprintf("large-%d-%d", i, j)))
		}
		beside = append(beside, n.startPlain(fmt.Sprint("beside-", i), large...))
	}
	ms := func(all []time.Duration) float64 {
		slices.Sort(all)
		return float64(all[len(all)/2].Microseconds()) / 1000
	}
	b.ReportMetric(ms(alone), "ms-alone")
	b.ReportMetric(ms(beside), "ms-beside")
	b.ReportMetric(ms(beside)/ms(alone), "ratio")
	n.end()
}

// startPlain starts a pod together with others, removes them all, and returns how long the first took.
func (n *node) startPlain(name string, others ...*v1.Pod) (took time.Duration) {
	n.t.Helper()
	n.source.Set(append(others, podOf(name))...)
	n.until(name, func(r *trace.Record) bool {
		m, ok := r.Event.(*trace.Milestone)
		if !ok || m.Name != trace.MilestoneStarted || r.Pod.Name != name {
			return false
		}
		took = m.Since
		return true
	})
	for _, p := range others {
		n.until(p.Name, milestone("started", p))
	}
	n.source.Set()
	n.untilAll("gone", 1+len(others), milestone("gone", nil))
	n.recs = n.recs[:0]
	return took
}

func largePod(name string) *v1.Pod {
	p := podOf(name)
	p.UID = types.UID("uid-" + name)
	env := make([]v1.EnvVar, 70_000)
	for i := range env {
		env[i] = v1.EnvVar{Name: fmt.Sprintf("VARIABLE_%06d", i), Value: strings.Repeat("x", 80)}
	}
	p.Spec.Containers[0].Env = env
	return p
}
