package agent_test

import (
	"context"
	"fmt"
	"runtime"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/kubeloupe/kubeloupe/agent"
	"github.com/kubeloupe/kubeloupe/agent/cri/sim"
	"github.com/kubeloupe/kubeloupe/agent/podsource"
	"github.com/kubeloupe/kubeloupe/trace"
)

// perPod is how much the live heap may grow for each pod that came and went, in bytes. UIDs of pods that are gone,
// which are removed at housekeeping, and the content of the ring account for 60 to 150 of it. A pod's object needs some
// 5 KiB, a worker 1 KiB.
const perPod = 384

// 2,000 pods come and go: each collection of the agent returns to its size. The simulated runtime is in the same
// process, so this applies to it too.
func TestChurnLeavesNothing(t *testing.T) {
	const batch = 50
	rounds := 40
	if testing.Short() {
		rounds = 10
	}
	h := newHost(t, map[string]sim.Latency{})
	bus := trace.NewBus(1 << 13)
	source := podsource.NewMemory("memory", bus)
	cfg := h.config("--max-pods", fmt.Sprint(batch))
	cfg.Bus, cfg.Sources = bus, []podsource.Source{source}
	a, err := agent.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- a.Run(ctx) }()
	cursor := bus.Subscribe(trace.FromOldest)
	defer cursor.Close()
	said := map[string]int{}
	until := func(name string, want int) {
		t.Helper()
		limit, cancel := context.WithTimeout(ctx, patience)
		defer cancel()
		for said[name] < want {
			recs, lost, err := cursor.Next(limit, make([]trace.Record, 0, 256))
			if err != nil || lost > 0 {
				t.Fatalf("%d pods are %s, want %d (%v, %d records lost)", said[name], name, want, err, lost)
			}
			for i := range recs {
				if m, ok := recs[i].Event.(*trace.Milestone); ok {
					said[string(m.Name)]++
				}
			}
		}
	}
	churn := func(round int) {
		t.Helper()
		pods := make([]*v1.Pod, 0, batch)
		for i := range batch {
			pods = append(pods, churned(round, i))
		}
		clear(said)
		source.Set(pods...)
		until("started", batch*3/5) // pods that exit or have no image do not reach it
		source.Set()
		until("gone", batch)
	}
	for round := range 6 {
		churn(round)
	}
	before := liveHeap()
	for round := range rounds {
		churn(round + 6)
	}
	after := liveHeap()
	grown := (float64(after) - float64(before)) / float64(rounds*batch)
	t.Logf("live heap %d KiB, after %d pods more %d KiB: %.0f bytes a pod", before>>10, rounds*batch, after>>10, grown)
	if grown > perPod {
		t.Errorf("the live heap grows by %.0f bytes for each pod that came and went, want %d at most", grown, perPod)
	}
	cancel()
	if err := <-done; err != nil {
		t.Error(err)
	}
}

// liveHeap returns the heap after a full collection.
func liveHeap() uint64 {
	var m runtime.MemStats
	for range 3 { // pools and finalizers need more than one
		runtime.GC()
		time.Sleep(50 * time.Millisecond) //nolint:forbidigo // finalizers
	}
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// churned returns one of five kinds of pod.
func churned(round, i int) *v1.Pod {
	p := podOf(fmt.Sprintf("churn-%d-%d", round, i))
	p.UID = types.UID(fmt.Sprintf("uid-%d-%d", round, i))
	c := &p.Spec.Containers[0]
	switch i % 5 {
	case 1:
		c.Command = []string{"sh", "-c", "exit 3"}
	case 2:
		p.Spec.Volumes = []v1.Volume{{Name: "data", VolumeSource: v1.VolumeSource{EmptyDir: &v1.EmptyDirVolumeSource{}}}}
		c.VolumeMounts = []v1.VolumeMount{{Name: "data", MountPath: "/data"}}
		c.Env = []v1.EnvVar{{Name: "NODE", ValueFrom: &v1.EnvVarSource{FieldRef: &v1.ObjectFieldSelector{FieldPath: "spec.nodeName"}}}}
	case 3:
		c.ReadinessProbe = &v1.Probe{ProbeHandler: v1.ProbeHandler{TCPSocket: &v1.TCPSocketAction{Host: "127.0.0.1", Port: intstr.FromInt32(1)}}, PeriodSeconds: 1, TimeoutSeconds: 1, FailureThreshold: 3, SuccessThreshold: 1}
	case 4:
		c.Image = fmt.Sprintf("nowhere.example/missing-%d-%d:1", round, i)
	}
	return p
}
