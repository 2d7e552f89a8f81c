package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/kubeloupe/kubeloupe/trace"
)

// TestStartBesideLargeEnvironments starts a plain pod again and again, by turns alone and together with two whose environments are almost
// as large as they may be: 7 MiB in 70,000 variables. No kernel runs a program with so much, so that they are created, started, end at once
// and are started again. It asserts that the plain pods start and that the runtime works for one of the large containers at a time, and tells how
// long the plain ones took either way, and how much of that the runtime's calls.
func TestStartBesideLargeEnvironments(t *testing.T) {
	const rounds = 5
	n := newNode(t)
	a := n.start()
	var env strings.Builder
	for i := range 70_000 {
		fmt.Fprintf(&env, `%s{"name":"VARIABLE_%06d","value":"%s"}`, ","[:min(i, 1)], i, strings.Repeat("x", 80))
	}
	manifest := func(name, env string) string {
		return `{"apiVersion":"v1","kind":"Pod","metadata":{"name":"` + name + `"},"spec":{"terminationGracePeriodSeconds":0,` +
			`"containers":[{"name":"main","image":"$BUSYBOX","command":["sleep","3600"],"env":[` + env + `]}]}}`
	}
	remove := func(name string) {
		if err := os.Remove(filepath.Join(n.manifests, name+".yaml")); err != nil {
			t.Fatal(err)
		}
	}
	tried := func(name string) {
		a.wait("a start of "+name, func(r *trace.Record) bool {
			e, ok := r.Event.(*trace.Action)
			return ok && r.Edge == trace.EdgeEnd && e.Verb == trace.VerbStart && strings.HasPrefix(r.Pod.Name, name)
		})
	}
	var alone, beside, calls, callsBeside []time.Duration
	for i := range rounds {
		plain := fmt.Sprint("alone-", i)
		n.put(plain+".yaml", manifest(plain, ""))
		alone = append(alone, a.milestone(plain, "started").Since)
		calls = append(calls, took(a.starting(plain)))
		remove(plain)
		a.gone(plain)

		large := []string{fmt.Sprint("large-a-", i), fmt.Sprint("large-b-", i)}
		for _, name := range large {
			n.put(name+".yaml", manifest(name, env.String()))
		}
		for _, name := range large { // they have been read: what follows competes with their starts
			a.milestone(name, "seen")
		}
		plain = fmt.Sprint("beside-", i)
		n.put(plain+".yaml", manifest(plain, ""))
		beside = append(beside, a.milestone(plain, "started").Since)
		callsBeside = append(callsBeside, took(a.starting(plain)))
		for _, name := range large {
			tried(name)
		}
		a.oneAtATime(large[0], large[1])
		for _, name := range large {
			remove(name)
		}
		remove(plain)
		a.gone(append(large, plain)...)
	}
	figures := func(all []time.Duration) string {
		all = slices.Sorted(slices.Values(all))
		return fmt.Sprintf("median %v, %v to %v", all[len(all)/2], all[0], all[len(all)-1])
	}
	ratios := make([]float64, 0, rounds)
	for i := range rounds {
		ratios = append(ratios, float64(beside[i])/float64(alone[i]))
	}
	slices.Sort(ratios)
	t.Logf("alone: %s, of which the runtime's calls %s; beside two pods with 7 MiB each: %s, calls %s; ratio: median %.2f, %.2f to %.2f; peak RSS %d MiB",
		figures(alone), figures(calls), figures(beside), figures(callsBeside), ratios[rounds/2], ratios[0], ratios[rounds-1], a.memory("VmHWM")>>20)
}

// starting are the ends of the runtime's calls that have been made for a pod's start until now.
func (a *agent) starting(pod string, methods ...string) []trace.Record {
	if len(methods) == 0 {
		methods = []string{"RunPodSandbox", "CreateContainer", "StartContainer"}
	}
	return a.find(func(r *trace.Record) bool {
		e, ok := r.Event.(*trace.CRICall)
		return ok && r.Edge == trace.EdgeEnd && r.Pod.Name == a.node.pod(pod) && slices.Contains(methods, e.Method)
	})
}

// method is what a call to the runtime is, and how it ended.
func method(r *trace.Record) string {
	e, ok := r.Event.(*trace.CRICall)
	if !ok {
		return ""
	}
	return fmt.Sprintf("%s of %s (%v, %q)", e.Method, e.Container, r.Dur, e.Err)
}

func took(recs []trace.Record) (sum time.Duration) {
	for i := range recs {
		sum += recs[i].Dur
	}
	return sum
}

// oneAtATime sees that no container of one pod was made or started while one of another pod was, but for those that overstayed.
func (a *agent) oneAtATime(pod, other string) {
	a.node.t.Helper()
	overstays := a.find(func(r *trace.Record) bool {
		e, ok := r.Event.(*trace.Decision)
		return ok && e.Verdict == trace.VerdictOverstays && (r.Pod.Name == a.node.pod(pod) || r.Pod.Name == a.node.pod(other))
	})
	if len(overstays) > 0 { // the machine is busy
		return
	}
	for _, r := range a.starting(pod, "CreateContainer", "StartContainer") {
		for _, o := range a.starting(other, "CreateContainer", "StartContainer") {
			if r.Start() < o.Time && o.Start() < r.Time {
				a.node.t.Errorf("the runtime works for %s and %s at once: %s from %s and %s from %s", pod, other, method(&r), r.At().Add(-r.Dur), method(&o), o.At().Add(-o.Dur))
			}
		}
	}
}
