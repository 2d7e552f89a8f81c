package causes_test

import (
	"os/exec"
	goruntime "runtime"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/kubeloupe/kubeloupe/agent/cri/sim"
	"github.com/kubeloupe/kubeloupe/trace"
)

// burn keeps all processors busy, with as many programs again that wait for one, until the test ends.
func burn(t *testing.T) {
	t.Helper()
	for range 2 * goruntime.NumCPU() {
		cmd := exec.Command("sh", "-c", "while :; do :; done")
		if err := cmd.Start(); err != nil {
			t.Skipf("no shell to burn with: %v", err)
		}
		t.Cleanup(func() {
			_ = cmd.Process.Kill()
			_ = cmd.Wait()
		})
	}
}

// TestBusyNode starts a pod while all processors are busy. It is not parallel: the others are not to be slowed down.
func TestBusyNode(t *testing.T) {
	rt := runtime()
	rt.Latency["RunPodSandbox"] = sim.Latency{Fixed: 1500 * time.Millisecond}
	n := run(t, rt, nil, nil)
	burn(t)
	p := podOf("web")
	p.Spec.Containers[0].StartupProbe = &v1.Probe{
		ProbeHandler:  v1.ProbeHandler{Exec: &v1.ExecAction{Command: []string{"sleep", "5"}}},
		PeriodSeconds: 1, TimeoutSeconds: 1, SuccessThreshold: 1, FailureThreshold: 1,
	}
	n.source.Set(p)
	n.reached("web", "started")
	n.until("the startup probe's verdict", func(r *trace.Record) bool {
		a, ok := r.Event.(*trace.ProbeAttempt)
		return ok && a.State == trace.ProbeDenies
	})
	seen := len(n.recs)
	n.source.Set(p, podOf("next")) // with each pod that comes the agent takes figures at once
	n.until("figures of that time", func(r *trace.Record) bool {
		_, ok := r.Event.(*trace.Usage)
		return ok && r.Time > n.recs[seen-1].Time
	})
	if !n.busy() {
		t.Skip("the kernel's figures do not show that its processors are busy: here they are not the machine's")
	}
	n.speaks("web", "KL23", "tasks of the node stalled for a processor")
	n.speaks("web", "KL20", "the startup probe of app ran into its timeout")
}

// busy reports whether the processors were, by figures of about a second.
func (n *node) busy() bool {
	for _, r := range n.recs {
		u, ok := r.Event.(*trace.Usage)
		if ok && u.Interval > 900*time.Millisecond && time.Duration(float64(u.Busy)/0.95) >= u.Interval*time.Duration(u.CPUs) {
			return true
		}
	}
	return false
}
