package e2e

import (
	"strings"
	"testing"

	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/kubeloupe/kubeloupe/trace"
)

// pass waits for the end of a garbage collection pass.
func (a *agent) pass(what string) trace.GC {
	a.node.t.Helper()
	r := a.wait(what+" garbage collection", func(r *trace.Record) bool {
		g, ok := r.Event.(*trace.GC)
		return ok && string(g.What) == what && r.Edge == trace.EdgeEnd
	})
	return *r.Event.(*trace.GC)
}

// TestContainerGC lets a pod crash several times: one dead container is kept, the
// others are removed, and there is a decision on each.
func TestContainerGC(t *testing.T) {
	n := newNode(t)
	n.config = "featureGates: {KubeletCrashLoopBackOffMax: true}\ncrashLoopBackOff: {maxContainerRestartPeriod: 1s}\n"
	a := n.start()
	n.put("crash.yaml", ending("crash", "Always", "1"))
	a.status("crash", "three restarts", func(s trace.PodStatus) bool { return s.Restarts >= 3 })
	a.stop()
	dead := 0
	for _, c := range n.containers("crash") {
		if c.State == runtimeapi.ContainerState_CONTAINER_EXITED {
			dead++
		}
	}
	if dead < 3 {
		t.Fatalf("%d dead containers, want 3 or more", dead)
	}
	a = n.start("--maximum-dead-containers-per-container", "1")
	defer a.stop() // killed while it starts a container again, it leaves a task that containerd 2.4.2 neither stops nor deletes
	if got := a.pass("container"); got.Removed < dead-1 {
		t.Errorf("%d of %d removed with %d dead containers", got.Removed, got.Considered, dead)
	}
	verdicts := map[string]int{}
	for _, r := range a.find(func(r *trace.Record) bool {
		d, ok := r.Event.(*trace.Decision)
		return ok && strings.HasPrefix(string(d.By), "gc.container")
	}) {
		d := r.Event.(*trace.Decision)
		verdicts[string(d.Verdict)]++
		if d.Reason == "" || d.Subject == "" {
			t.Errorf("decision without subject or reason: %+v", d)
		}
	}
	if verdicts["remove"] < dead-1 || verdicts["keep"] == 0 {
		t.Errorf("verdicts %v with %d dead containers", verdicts, dead)
	}
}

// TestImageGC sets the threshold so low that every unused image goes.
func TestImageGC(t *testing.T) {
	n := newNode(t)
	a := n.start()
	n.put("sleeper.yaml", sleeper("sleeper", "$BUSYBOX", "IfNotPresent"))
	n.put("large.yaml", sleeper("large", "$60M", "IfNotPresent"))
	a.ready("sleeper", "large")
	n.drop("large.yaml")
	a.gone("large")
	a.stop()
	a = n.start("--image-gc-high-threshold", "1", "--image-gc-low-threshold", "0", "--minimum-image-ttl-duration", "0s")
	if got := a.pass("image"); got.Removed == 0 || got.Freed < 60<<20 || got.Usage == 0 {
		t.Errorf("image pass: %+v", got)
	}
	verdicts := map[string]trace.Decision{}
	for _, r := range a.find(func(r *trace.Record) bool {
		d, ok := r.Event.(*trace.Decision)
		return ok && strings.HasPrefix(string(d.By), "gc.image")
	}) {
		d := *r.Event.(*trace.Decision)
		for _, name := range []string{"busybox", "60m", "pause"} {
			if strings.Contains(d.Subject, "/"+name+":") {
				verdicts[name] = d
			}
		}
	}
	for name, want := range map[string]string{"60m": "remove", "busybox": "keep", "pause": "keep"} {
		if got := verdicts[name]; string(got.Verdict) != want || got.Reason == "" || got.Bytes == 0 {
			t.Errorf("verdict on %s: %+v, want %s", name, got, want)
		}
	}
}
