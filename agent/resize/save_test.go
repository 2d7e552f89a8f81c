package resize

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubeloupe/kubeloupe/trace"
	"github.com/kubeloupe/kubeloupe/trace/tracetest"
)

func roomy(*v1.Pod, []*v1.Pod) Verdict { return Verdict{Fits: true} }

// agentIn returns the manager of an agent that has just started.
func agentIn(t *testing.T, dir string, bus *trace.Bus) *Manager {
	t.Helper()
	m, err := New(Config{Dir: dir, Admit: roomy, Bus: bus})
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// A pod whose spec changes while no agent runs keeps what it has until the next agent has decided about the resize, and its containers get it.
func TestResizedWhileNoAgentRuns(t *testing.T) {
	dir := t.TempDir()
	ctx, stop := context.WithCancel(t.Context())
	m := agentIn(t, dir, nil)
	m.Add(podWith("1", 1))
	stop()
	if err := m.Run(ctx); err != nil {
		t.Fatal(err)
	}
	for _, file := range []string{allocatedFile, actuatedFile} { // upstream's kubelet needs both
		if all, err := load(filepath.Join(dir, file)); err != nil || len(all) != 1 {
			t.Errorf("%s has %v, %v", file, all, err)
		}
	}
	m = agentIn(t, dir, nil)
	if got := cpu(m.Add(podWith("2", 2))); got != "1" {
		t.Errorf("before the decision it is allocated %s, want 1", got)
	}
	if now, _ := m.Update(t.Context(), podWith("2", 2), nil, trace.ResizeForAdded); cpu(now) != "2" {
		t.Errorf("after the decision it is allocated %s, want 2", cpu(now))
	}
	if given, known := m.Actuated("u", "c"); !known || given.Requests.Cpu().String() != "1" {
		t.Errorf("its container has %v, want 1: nobody has changed it", given.Requests)
	}
	m = agentIn(t, dir, nil) // it crashes before the container has its resources
	m.Add(podWith("2", 2))
	if given, _ := m.Actuated("u", "c"); given.Requests.Cpu().String() != "1" || len(m.Conditions("u")) != 1 {
		t.Errorf("the next agent believes that the container has %v", given.Requests)
	}
}

// Pods that are added together are saved together, a second later. A failure is reported, and the next save has the pod.
func TestSave(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rec, dir := tracetest.New(t), filepath.Join(t.TempDir(), "root")
		m := agentIn(t, dir, rec.Bus())
		ctx, stop := context.WithCancel(t.Context())
		done := make(chan error)
		go func() { done <- m.Run(ctx) }()
		add := func(n int) {
			p := podWith("1", 1)
			p.UID = types.UID(fmt.Sprint(n))
			m.Add(p)
			m.Add(p) // again: nothing is new
		}
		saved := func() int {
			all, err := load(filepath.Join(dir, allocatedFile))
			if err != nil {
				t.Error(err)
			}
			return len(all)
		}
		add(0)
		time.Sleep(2 * saveDelay)
		if logs := tracetest.Events[trace.Log](rec); len(logs) != 1 || logs[0].Level != trace.LevelWarn {
			t.Errorf("without a directory: reported %+v", logs)
		}
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := m.saveAdded(); err != nil || saved() != 1 {
			t.Errorf("%d pods are saved after the failure, want 1; %v", saved(), err)
		}
		for i := range 5 {
			add(i + 1)
			time.Sleep(saveDelay / 6)
			if n := saved(); n != 1 {
				t.Errorf("%d pods are saved at once", n)
			}
		}
		time.Sleep(saveDelay)
		if n := saved(); n != 6 {
			t.Errorf("%d pods are saved, want 6", n)
		}
		add(7)
		synctest.Wait()
		stop()
		if err := <-done; err != nil || saved() != 7 {
			t.Errorf("%d pods are saved at the end, want 7; %v", saved(), err)
		}
		m.Keep(func(uid types.UID) bool { return uid == "3" })
		if err := m.store(); err != nil || saved() != 1 {
			t.Errorf("%d pods are kept, want 1; %v", saved(), err)
		}
	})
}

// Without a checkpoint, a status says what was allocated, if the spec has changed since it was written.
func TestFromStatus(t *testing.T) {
	amounts := func(cpu, memory string) v1.ResourceList {
		out := v1.ResourceList{}
		for name, q := range map[v1.ResourceName]string{v1.ResourceCPU: cpu, v1.ResourceMemory: memory} {
			if q != "" {
				out[name] = resource.MustParse(q)
			}
		}
		return out
	}
	for _, c := range []struct {
		name             string
		generation, seen int64
		status           v1.ContainerStatus
		cpu, memory      string // what is allocated: request and limit
	}{
		{"no status", 2, 1, v1.ContainerStatus{}, "2/4", "2Gi/4Gi"},
		{"as the spec was", 2, 1, v1.ContainerStatus{
			AllocatedResources: amounts("1", "1Gi"), Resources: &v1.ResourceRequirements{Limits: amounts("3", "3Gi")},
		}, "1/3", "1Gi/3Gi"},
		{"nothing has changed since", 2, 2, v1.ContainerStatus{
			AllocatedResources: amounts("1", "1Gi"), Resources: &v1.ResourceRequirements{Limits: amounts("3", "3Gi")},
		}, "2/4", "2Gi/4Gi"},
		{"of an agent that does not say when", 2, 0, v1.ContainerStatus{AllocatedResources: amounts("1", "1Gi")}, "2/4", "2Gi/4Gi"},
		{"amounts were added", 2, 1, v1.ContainerStatus{
			AllocatedResources: amounts("1", ""), Resources: &v1.ResourceRequirements{Limits: amounts("3", "")},
		}, "1/3", "0/0"},
		{"no requests", 2, 1, v1.ContainerStatus{Resources: &v1.ResourceRequirements{}}, "0/0", "0/0"},
	} {
		m := agentIn(t, t.TempDir(), nil)
		pod := podWith("2", c.generation)
		pod.Spec.Containers[0].Resources = v1.ResourceRequirements{Requests: amounts("2", "2Gi"), Limits: amounts("4", "4Gi")}
		c.status.Name, pod.Status.ObservedGeneration = "c", c.seen
		pod.Status.ContainerStatuses = []v1.ContainerStatus{c.status}
		r := m.Add(pod).Spec.Containers[0].Resources
		gotCPU, gotMemory := r.Requests.Cpu().String()+"/"+r.Limits.Cpu().String(), r.Requests.Memory().String()+"/"+r.Limits.Memory().String()
		if gotCPU != c.cpu || gotMemory != c.memory {
			t.Errorf("%s: allocated %s, %s; want %s, %s", c.name, gotCPU, gotMemory, c.cpu, c.memory)
		}
	}
}

// The resources of a pod in a status include its overhead, those of a container what it has from its pod.
func TestFromStatusOfPodLevelResources(t *testing.T) {
	list := func(cpu string) v1.ResourceList { return v1.ResourceList{v1.ResourceCPU: resource.MustParse(cpu)} }
	pod := podWith("1", 2)
	pod.Spec.Overhead, pod.Spec.Resources = list("250m"), &v1.ResourceRequirements{Requests: list("2"), Limits: list("4")}
	pod.Status = v1.PodStatus{
		ObservedGeneration: 1, AllocatedResources: list("1750m"), Resources: &v1.ResourceRequirements{Limits: list("3250m")},
		ContainerStatuses: []v1.ContainerStatus{{Name: "c", AllocatedResources: list("1"), Resources: &v1.ResourceRequirements{Limits: list("3")}}},
	}
	got := agentIn(t, t.TempDir(), nil).Add(pod).Spec
	if r := got.Resources; r.Requests.Cpu().String() != "1500m" || r.Limits.Cpu().String() != "3" {
		t.Errorf("the pod is allocated %+v", r)
	}
	if r := got.Containers[0].Resources; r.Requests.Cpu().String() != "1" || len(r.Limits) != 0 {
		t.Errorf("the container is allocated %+v", r)
	}
}

// Upstream's kubelet compares what a container was given with its limits, including those from its pod.
func TestActuatedCheckpointHasThePodsLimits(t *testing.T) {
	dir := t.TempDir()
	m, err := New(Config{Dir: dir, Admit: func(*v1.Pod, []*v1.Pod) Verdict { return Verdict{Fits: true} }})
	if err != nil {
		t.Fatal(err)
	}
	pod := podWith("1", 1)
	pod.Spec.Resources = &v1.ResourceRequirements{Limits: v1.ResourceList{v1.ResourceMemory: resource.MustParse("128Mi")}}
	m.Add(pod)
	if err := m.saveAdded(); err != nil {
		t.Fatal(err)
	}
	for file, want := range map[string]string{allocatedFile: "0", actuatedFile: "128Mi"} {
		pods, err := load(filepath.Join(dir, file))
		if err != nil {
			t.Fatal(err)
		}
		c := pods["u"].ContainerResources["c"]
		if got := c.Limits.Memory().String(); got != want {
			t.Errorf("%s: the container has %s, want %s", file, got, want)
		}
	}
	if m, err = New(Config{Dir: dir, Admit: func(*v1.Pod, []*v1.Pod) Verdict { return Verdict{Fits: true} }}); err != nil {
		t.Fatal(err)
	}
	if got := m.Add(pod); got != pod || len(m.Conditions("u")) != 0 {
		t.Errorf("the next agent has %v, %v", got.Spec, m.Conditions("u"))
	}
}
