package device

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"

	"github.com/kubeloupe/kubeloupe/trace"
	"github.com/kubeloupe/kubeloupe/trace/tracetest"
)

// plugged returns a plugin that has registered, with these devices.
func plugged(t *testing.T, dir string, devices ...string) *fakePlugin {
	t.Helper()
	f := &fakePlugin{}
	f.serve(t, dir, "a.sock")
	f.lists <- healthy(devices...)
	if err := register(t, dir, gpu, "a.sock"); err != nil {
		t.Fatal(err)
	}
	return f
}

// restarted returns a node whose agent ended while p1 had g1; its plugin has not registered since.
func restarted(t *testing.T) (*node, *v1.Pod) {
	t.Helper()
	dir := shortDir(t)
	n := newNode(t, dir).run(t)
	f := plugged(t, dir, "g0", "g1", "g2")
	n.await(t, gpu, 3, 3)
	pod := podOf("p1", nil, asks("c", 1))
	n.start(t, pod)
	n.stop()
	f.srv.Stop()
	return newNode(t, dir).run(t), pod
}

// The agent was killed while pods started: they wait for the plugin. One keeps what it has, the other gets what is free.
func TestLatePlugin(t *testing.T) {
	n, had := restarted(t)
	next := podOf("p2", nil, asks("c", 1))
	answers := map[string]chan error{}
	for _, p := range []*v1.Pod{had, next} {
		if err := n.Reserve(t.Context(), p); err != nil {
			t.Fatalf("%s is not admitted: %v", p.Name, err)
		}
		done := make(chan error, 1)
		answers[p.Name] = done
		if got := n.offered(p.UID); got != "" {
			t.Errorf("%s: %s devices before the plugin has listed them", p.Name, got)
		}
		go func() { done <- n.Allocate(t.Context(), p) }()
	}
	if got := n.offered("other"); got != "0" {
		t.Errorf("a pod that does not wait: %s devices", got)
	}
	n.until(t, "waits", func() bool { return len(tracetest.Events[trace.Wait](n.rec)) >= 2 })
	plugged(t, n.dir, "g0", "g1", "g2")
	for name, done := range answers {
		select {
		case err := <-done:
			if err != nil {
				t.Errorf("%s: %v", name, err)
			}
		case <-time.After(30 * time.Second):
			t.Fatalf("%s still waits", name)
		}
	}
	if d := cmp.Diff([]string{"g0"}, n.has("p1", "c")); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff([]string{"g1"}, n.has("p2", "c")); d != "" {
		t.Error(d)
	}
	if err := n.Allocate(t.Context(), had); err != nil { // it waits no more
		t.Error(err)
	}
}

// With a policy that rejects pods, only a pod that has its devices waits: the NUMA nodes of those of another one are not known.
func TestLatePluginWithStrictPolicy(t *testing.T) {
	n, had := restarted(t)
	n.Manager.cfg.Strict, n.Manager.cfg.NUMANodes = true, []int{0, 1}
	if err := n.Reserve(t.Context(), podOf("p2", nil, asks("c", 1))); err == nil || err.Error() != "no healthy devices present; cannot allocate unhealthy devices "+gpu {
		t.Errorf("a pod without devices: %v", err)
	}
	if err := n.Reserve(t.Context(), had); err != nil {
		t.Errorf("a pod with devices: %v", err)
	}
}

// On one NUMA node, any devices conform to such a policy.
func TestLatePluginOnOneNode(t *testing.T) {
	n, _ := restarted(t)
	n.Manager.cfg.Strict, n.Manager.cfg.NUMANodes = true, []int{0}
	if err := n.Reserve(t.Context(), podOf("p2", nil, asks("c", 1))); err != nil {
		t.Errorf("a pod without devices: %v", err)
	}
}

// The plugin comes back without the device: the pod does not start with it.
func TestLatePluginLostDevice(t *testing.T) {
	n, had := restarted(t)
	if err := n.Reserve(t.Context(), had); err != nil {
		t.Fatal(err)
	}
	plugged(t, n.dir, "g1", "g2")
	if err := n.Allocate(t.Context(), had); err == nil || !strings.Contains(err.Error(), "previously allocated devices are no longer healthy") {
		t.Errorf("got %v", err)
	}
}

// After a restart of the machine, the runtime still has what ran before: such a pod is rejected, as upstream rejects it.
func TestLatePluginAfterReboot(t *testing.T) {
	n, had := restarted(t)
	n.exists["p1"] = true
	if err := n.Reserve(t.Context(), had); err == nil || !strings.Contains(err.Error(), "no healthy devices present") {
		t.Errorf("got %v", err)
	}
}

// A pod's end ends its wait, and a plugin that does not come ends it with upstream's error.
func TestLatePluginStaysAway(t *testing.T) {
	n, had := restarted(t)
	if err := n.Reserve(t.Context(), had); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := n.Allocate(ctx, had); err == nil {
		t.Error("no error after the pod's end")
	}
	n.stop()
	synctest.Test(t, func(t *testing.T) {
		m := newNode(t, n.dir)
		if err := m.Restore(t.Context()); err != nil {
			t.Fatal(err)
		}
		if err := m.Reserve(t.Context(), had); err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		if err := m.Allocate(t.Context(), had); err == nil || !strings.Contains(err.Error(), "no healthy devices present; cannot allocate unhealthy devices "+gpu) {
			t.Errorf("got %v", err)
		}
		if took := time.Since(began); took != lateLimit {
			t.Errorf("it waited %s, want %s", took, lateLimit)
		}
		m.disconnectAll() // its timer
	})
}
