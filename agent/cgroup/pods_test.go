package cgroup_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubeloupe/kubeloupe/agent/cgroup"
	"github.com/kubeloupe/kubeloupe/agent/qos"
	"github.com/kubeloupe/kubeloupe/trace"
	"github.com/kubeloupe/kubeloupe/trace/tracetest"
)

// working are the pods with workers.
type working []*v1.Pod

func (w working) Unended() []*v1.Pod { return w }

// ending are pods that all terminate.
type ending struct{ working }

func (ending) Syncing() []*v1.Pod { return nil }

// A pod that terminates has its share until it has ended, whatever becomes of others.
func TestTerminatingPodsWeigh(t *testing.T) {
	m, mount := v2Tree(t, cgroup.Config{})
	do(t, m.EnsureTiers(t.Context()))
	last := podOf("b-1", quantities("cpu", "4"), nil)
	do(t, cgroup.NewPods(m, ending{working{last}}).DestroyPod(t.Context(), "b-2"))
	if d := cmp.Diff("kubepods/burstable/cpu.weight: 157", contents(t, mount, "kubepods/burstable/cpu.weight")); d != "" {
		t.Error(d)
	}
}

// The burstable cgroup has the weight of its running pods after each pod that is added or removed.
func TestPodsWeighTheTiers(t *testing.T) {
	m, mount := v2Tree(t, cgroup.Config{})
	do(t, m.EnsureTiers(t.Context()))
	weight := filepath.Join("kubepods", "burstable", "cpu.weight")
	before := contents(t, mount, weight)
	do(t, cgroup.NewPods(m, working{burstable("b-1"), burstable("b-2")}).EnsurePod(t.Context(), burstable("b-1")))
	with := contents(t, mount, weight)
	more := podOf("b-1", quantities("cpu", "4"), nil)
	do(t, cgroup.NewPods(m, working{more}).ResizePod(t.Context(), more, qos.PodResources(more, qos.WithoutClaims, true, time.Second)))
	if diff := cmp.Diff("kubepods/burstable/cpu.weight: 157\nkubepods/burstable/podb-1/cpu.weight: 157", contents(t, mount, weight, "kubepods/burstable/podb-1/cpu.weight")); diff != "" {
		t.Errorf("after a resize (-want +got):\n%s", diff)
	}
	do(t, cgroup.NewPods(m, working{}).DestroyPod(t.Context(), "b-1"))
	if after := contents(t, mount, weight); with == before || after != before {
		t.Errorf("weight %q, with two pods %q, without them %q", before, with, after)
	}
}

// asked are workers that ask whether another update could begin while they are listed.
type asked struct {
	pods  *cgroup.Pods
	calls int
	alone bool
}

func (a *asked) Unended() []*v1.Pod {
	a.calls, a.alone = a.calls+1, a.alone && a.pods.Weighing()
	return nil
}

// No update begins between the reading of the pods and the setting of the limits: it would be overwritten by an older one.
func TestPodsAreWeighedInOrder(t *testing.T) {
	m, _ := v2Tree(t, cgroup.Config{})
	do(t, m.EnsureTiers(t.Context()))
	a := &asked{alone: true}
	a.pods = cgroup.NewPods(m, a)
	do(t, a.pods.EnsurePod(t.Context(), burstable("b-1")))
	do(t, a.pods.DestroyPod(t.Context(), "b-1"))
	if a.calls != 2 || !a.alone || a.pods.Weighing() {
		t.Errorf("%d updates, alone %t, want 2, one after the other", a.calls, a.alone)
	}
}

// The memory that a pod uses is that of its cgroup.
func TestMemoryUsage(t *testing.T) {
	m, mount := v2Tree(t, cgroup.Config{})
	do(t, m.EnsureTiers(t.Context()))
	pods, pod := cgroup.NewPods(m, working{}), burstable("b-1")
	if n, known := pods.MemoryUsage(pod); known {
		t.Errorf("%d bytes of a pod without a cgroup", n)
	}
	do(t, pods.EnsurePod(t.Context(), pod))
	do(t, os.WriteFile(filepath.Join(mount, "kubepods/burstable/podb-1/memory.current"), []byte("4096\n"), 0o600))
	if n, known := pods.MemoryUsage(pod); !known || n != 4096 {
		t.Errorf("%d, %t, want 4096", n, known)
	}
	if n, known := cgroup.NewPods(nil, working{}).MemoryUsage(pod); known {
		t.Errorf("%d bytes without cgroups", n)
	}
	for text, want := range map[string]int64{"8192\n": 8192, "max\n": 0} {
		do(t, os.WriteFile(filepath.Join(mount, "kubepods/burstable/podb-1/memory.max"), []byte(text), 0o600))
		if n, known := pods.MemoryLimit(pod); n != want || known != (want > 0) {
			t.Errorf("limit %q: %d, %t, want %d", text, n, known, want)
		}
	}
	if n, known := cgroup.NewPods(nil, working{}).MemoryLimit(pod); known {
		t.Errorf("a limit of %d bytes without cgroups", n)
	}
}

// If no cgroups are created, a pod's cgroup is ready once it was requested, until the pod is gone.
func TestPodsWithoutCgroups(t *testing.T) {
	pods, pod := cgroup.NewPods(nil, working{}), bestEffort("e-1")
	if pods.Ready(pod) {
		t.Error("it is ready before it was asked for")
	}
	do(t, pods.EnsurePod(t.Context(), pod))
	if !pods.Ready(pod) || pods.Ready(bestEffort("e-2")) {
		t.Errorf("ready: %v, of another pod %v, want true and false", pods.Ready(pod), pods.Ready(bestEffort("e-2")))
	}
	do(t, pods.DestroyPod(t.Context(), pod.UID))
	if pods.Ready(pod) {
		t.Error("it is ready after it was removed")
	}
}

func TestClean(t *testing.T) {
	rec := tracetest.New(t)
	m, mount := v2Tree(t, cgroup.Config{Bus: rec.Bus()})
	do(t, m.EnsureTiers(t.Context()))
	do(t, m.EnsurePod(t.Context(), burstable("b-1")))
	do(t, m.EnsurePod(t.Context(), bestEffort("e-1")))
	removed, err := m.Clean(t.Context(), func(uid types.UID) bool { return uid == "e-1" })
	if diff := cmp.Diff([]string{"cgroup of pod b-1"}, removed); err != nil || diff != "" {
		t.Errorf("error %v, removed (-want +got)\n%s", err, diff)
	}
	if got, want := contents(t, mount, "kubepods/burstable/podb-1/cgroup.procs", "kubepods/besteffort/pode-1/cgroup.procs"),
		"kubepods/burstable/podb-1/cgroup.procs: absent\nkubepods/besteffort/pode-1/cgroup.procs: "; got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	var decided []string
	for _, r := range rec.Records() {
		if d, ok := r.Event.(*trace.Decision); ok {
			decided = append(decided, d.Subject)
		}
	}
	if diff := cmp.Diff([]string{"cgroup /kubepods/burstable/podb-1"}, decided); diff != "" {
		t.Errorf("decisions (-want +got)\n%s", diff)
	}
}

// The kernel of v1 refuses a limit of qosReserved below the use: it is set when the use is smaller, without another pod.
func TestRaisedLimitIsLowered(t *testing.T) {
	m, mount := v2Tree(t, cgroup.Config{Allocatable: 1 << 30, QOSReserved: new(int64(100))})
	do(t, m.EnsureTiers(t.Context()))
	use := func(bytes string) {
		t.Helper()
		do(t, os.WriteFile(filepath.Join(mount, "kubepods/burstable/memory.current"), []byte(bytes), 0o600))
	}
	var refuses atomic.Bool
	refuses.Store(true)
	m.Refuse(func(file, value string) error {
		if refuses.Load() && strings.HasSuffix(file, "burstable/memory.max") && value == "536870912" {
			return unix.EBUSY
		}
		return nil
	})
	synctest.Test(t, func(t *testing.T) {
		r := quantities("cpu", "1", "memory", "512Mi")
		pods := cgroup.NewPods(m, working{podOf("g", r, r)})
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		go pods.Run(ctx)
		want := func(when, limit string) {
			t.Helper()
			synctest.Wait()
			if got := contents(t, mount, "kubepods/burstable/memory.max"); got != "kubepods/burstable/memory.max: "+limit {
				t.Errorf("%s: %s, want %s", when, got, limit)
			}
		}
		use("1073000000")
		do(t, pods.EnsurePod(ctx, podOf("g", r, r)))
		want("refused", "1073000000")
		use("1072000000")
		time.Sleep(time.Minute)
		want("a minute later", "1072000000")
		refuses.Store(false)
		time.Sleep(time.Minute)
		want("the pods use less", "536870912")
		do(t, os.WriteFile(filepath.Join(mount, "kubepods/burstable/memory.max"), []byte("kept"), 0o600))
		time.Sleep(time.Hour)
		want("nothing is left to do", "kept")
	})
}
