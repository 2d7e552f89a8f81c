package agent_test

import (
	"context"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/kubeloupe/kubeloupe/agent"
	"github.com/kubeloupe/kubeloupe/agent/cri/sim"
	"github.com/kubeloupe/kubeloupe/trace"
)

// guaranteed returns a pod that requests that many CPUs, and is of class Guaranteed.
func guaranteed(name, cpu string) *v1.Pod {
	p := podOf(name)
	amounts := v1.ResourceList{v1.ResourceCPU: resource.MustParse(cpu), v1.ResourceMemory: resource.MustParse("16Mi")}
	p.Spec.Containers[0].Resources = v1.ResourceRequirements{Requests: amounts, Limits: amounts}
	return p
}

// cpusOf returns the CPUs and the CPU quota of the pod's container in the runtime.
func (h *host) cpusOf(p *v1.Pod) (cpus string, quota int64) {
	h.t.Helper()
	all, err := h.srv.ListContainers(context.Background(), &runtimeapi.ListContainersRequest{
		Filter: &runtimeapi.ContainerFilter{LabelSelector: map[string]string{"io.kubernetes.pod.uid": string(p.UID)}},
	})
	if err != nil || len(all.GetContainers()) != 1 {
		h.t.Fatalf("%d containers of %s, %v", len(all.GetContainers()), p.Name, err)
	}
	st, err := h.srv.ContainerStatus(context.Background(), &runtimeapi.ContainerStatusRequest{ContainerId: all.GetContainers()[0].GetId()})
	if err != nil {
		h.t.Fatal(err)
	}
	r := st.GetStatus().GetResources().GetLinux()
	return r.GetCpusetCpus(), r.GetCpuQuota()
}

// untilCPUs waits until the pod's container has those CPUs: the runtime was asked for it.
func (n *node) untilCPUs(h *host, p *v1.Pod, want string) {
	n.t.Helper()
	n.until("update of "+p.Name, func(r *trace.Record) bool {
		c, ok := r.Event.(*trace.CRICall)
		if !ok || r.Edge != trace.EdgeEnd || c.Method != "UpdateContainerResources" {
			return false
		}
		cpus, _ := h.cpusOf(p)
		return cpus == want
	})
}

// static are the flags of the static CPU manager, which reserves CPU 0. The period is long: what changes must change at once.
func static(h *host, more ...string) agent.Config {
	return h.config(append([]string{"--cpu-manager-policy", "static", "--reserved-cpus", "0", "--cpu-manager-reconcile-period", "1h"}, more...)...)
}

func refusal(code string, p *v1.Pod) func(*trace.Record) bool {
	return func(r *trace.Record) bool {
		d, ok := r.Event.(*trace.Decision)
		return ok && d.By == trace.ByAdmission && d.Verdict == trace.VerdictReject && d.Code == code && r.Pod.UID == string(p.UID)
	}
}

// A Guaranteed pod gets a CPU for itself, all others leave it, and get it back. The next agent knows it.
func TestOwnCPUs(t *testing.T) {
	if runtime.NumCPU() < 2 {
		t.Skip("needs 2 CPUs")
	}
	h := newHost(t, map[string]sim.Latency{})
	n := run(t, static(h))
	shared, own, second := podOf("shared"), guaranteed("own", "1"), guaranteed("second", "1000")
	n.source.Set(shared)
	n.until("start", milestone("started", shared))
	all, _ := h.cpusOf(shared)
	n.source.Set(shared, own)
	n.until("start", milestone("started", own))
	cpu, quota := h.cpusOf(own)
	if cpu == "" || cpu == "0" || strings.ContainsAny(cpu, ",-") || quota != -1 {
		t.Errorf("CPUs %q, quota %d, want one that is not reserved, without a quota", cpu, quota)
	}
	rest := ""
	n.until("allocation", func(r *trace.Record) bool {
		e, ok := r.Event.(*trace.Allocation)
		if ok && e.Outcome == trace.AllocationGranted && e.Manager == trace.ManagerCPU {
			rest = e.Pool
		}
		return ok
	})
	n.untilCPUs(h, shared, rest)
	n.source.Set(shared, own, second)
	n.until("refusal", refusal("UnexpectedAdmissionError", second))
	n.end()

	n = run(t, static(h))
	n.source.Set(shared, own)
	n.until("adoption", func(r *trace.Record) bool {
		e, ok := r.Event.(*trace.Allocation)
		return ok && e.Outcome == trace.AllocationKept && e.CPUs == cpu
	})
	n.until("start", milestone("started", own))
	n.source.Set(shared)
	n.until("end", milestone("gone", own))
	n.untilCPUs(h, shared, all)
	n.end()
}

// With the feature gate, a pod with pod-level resources gets CPUs for all of its containers. One that shares them keeps a quota. The next
// agent knows it.
func TestPodLevelCPUs(t *testing.T) {
	if runtime.NumCPU() < 2 {
		t.Skip("needs 2 CPUs")
	}
	h := newHost(t, map[string]sim.Latency{})
	cfg := func() agent.Config {
		return static(h, "--topology-manager-policy", "best-effort", "--topology-manager-scope", "pod", "--feature-gates", "PodLevelResourceManagers=true")
	}
	p, full := podOf("level"), podOf("full")
	p.Spec.Resources = guaranteed("x", "1").Spec.Containers[0].Resources.DeepCopy()
	full.Spec.Resources = p.Spec.Resources
	full.Spec.Containers = append(full.Spec.Containers, *full.Spec.Containers[0].DeepCopy())
	full.Spec.Containers[0].Resources, full.Spec.Containers[1].Name = *p.Spec.Resources, "second"
	n := run(t, cfg())
	n.source.Set(full)
	n.until("refusal", refusal("EmptyPodSharedPoolError", full))
	n.source.Set(p)
	n.until("start", milestone("started", p))
	cpu, quota := h.cpusOf(p)
	if cpu == "" || cpu == "0" || strings.ContainsAny(cpu, ",-") || quota == -1 {
		t.Errorf("CPUs %q, quota %d, want one that is not reserved, with a quota", cpu, quota)
	}
	n.end()

	n = run(t, cfg())
	n.source.Set(p)
	n.until("adoption", func(r *trace.Record) bool {
		e, ok := r.Event.(*trace.Allocation)
		return ok && e.Outcome == trace.AllocationKept && e.Source == trace.SourcePod && e.Container == "" && e.CPUs == cpu
	})
	n.until("start", milestone("started", p))
	n.source.Set()
	n.until("release", func(r *trace.Record) bool {
		e, ok := r.Event.(*trace.Allocation)
		return ok && e.Outcome == trace.AllocationReleased && e.Source == trace.SourcePod && e.CPUs == cpu
	})
	n.end()
}

// The policies of the topology manager reject pods that no NUMA node has enough CPUs for.
func TestTopology(t *testing.T) {
	h := newHost(t, map[string]sim.Latency{})
	n := run(t, static(h, "--topology-manager-policy", "single-numa-node", "--topology-manager-scope", "pod"))
	n.until("description", func(r *trace.Record) bool {
		e, ok := r.Event.(*trace.ResourcesDescribed)
		if !ok {
			return false
		}
		if e.CPUPolicy != "static" || e.MemoryPolicy != "None" || e.TopologyPolicy != "single-numa-node" || e.Scope != "pod" || e.Reserved != "0" ||
			!strings.HasPrefix(e.Pool, "0") || e.Assumed || len(e.Nodes) == 0 || !strings.HasPrefix(e.Nodes[0].CPUs, "0") || len(e.Memory) == 0 {
			t.Errorf("%+v", e)
		}
		return true
	})
	p := guaranteed("large", "1000")
	n.source.Set(p)
	n.until("refusal", refusal("TopologyAffinityError", p))
	n.until("hints", func(r *trace.Record) bool {
		e, ok := r.Event.(*trace.Allocation)
		return ok && e.Code == "TopologyAffinityError" && e.Policy == "single-numa-node" && e.Scope == "pod" && len(e.Hints) == 1 && e.Hints[0].Resource == "cpu"
	})
	n.end()
}

// A state file of another policy is an error, which says what to do.
func TestPolicyChanged(t *testing.T) {
	h := newHost(t, map[string]sim.Latency{})
	n := run(t, h.config())
	n.end()
	changed := prepare(t, static(h))
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	err := changed.Run(ctx)
	path := filepath.Join(h.dir, "root", "cpu_manager_state")
	if err == nil || !strings.Contains(err.Error(), `configured policy "static" differs from state checkpoint policy "none"`) || !strings.Contains(err.Error(), path) {
		t.Errorf("%v", err)
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	n = run(t, static(h))
	n.end()
	if _, err := os.Stat(path); err != nil {
		t.Error(err)
	}
}
