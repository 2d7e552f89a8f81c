package attach

import (
	"fmt"
	"testing"

	"github.com/kubeloupe/kubeloupe/trace"
)

// TestOutOfMemory has the kernel kill a process of a container that stays, beside one that is killed by its own container: the counts of the
// cgroups show it, with containerd's events or without.
func TestOutOfMemory(t *testing.T) {
	b := setup(t)
	a := b.attach(t)
	const spec = "  containers:\n  - name: web\n    image: IMAGE\n    command: [sh, -c, \"while :; do %s; sleep 2; done\"]\n    resources: {limits: {memory: 20Mi}}\n"
	b.apply(t, "near", fmt.Sprintf(spec, "timeout -s KILL 1 sleep 9"))
	b.apply(t, "eater", fmt.Sprintf(spec, "tail /dev/zero"))
	kills := func(by func(*trace.Record) bool) int {
		return len(a.told(t, func(r *trace.Record) bool {
			e, ok := r.Event.(*trace.OOMKill)
			if ok && r.Pod.Name == "near" || ok && r.Pod.Name == "eater" && e.Name != "web" {
				t.Errorf("%s %s: %+v", r.Pod, r.Observer, e)
			}
			return ok && r.Pod.Name == "eater" && by(r)
		}))
	}
	eventually(t, "the kernel's counts tell of kills", func() string {
		if kills(func(r *trace.Record) bool {
			return r.Also.With(r.Observer) != r.Also.With(r.Observer).Without(trace.ObserverKernel)
		}) < 2 {
			return "not yet"
		}
		return ""
	})
}
