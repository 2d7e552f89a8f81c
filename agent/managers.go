package agent

import (
	"context"
	"errors"
	"fmt"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubeloupe/kubeloupe/agent/admission"
	"github.com/kubeloupe/kubeloupe/agent/cpus"
	"github.com/kubeloupe/kubeloupe/agent/memory"
	"github.com/kubeloupe/kubeloupe/agent/numa"
	"github.com/kubeloupe/kubeloupe/agent/topology"
)

// managers give containers CPUs, memory and devices for themselves.
type managers struct {
	p        *parts
	cpus     *cpus.Manager
	memory   *memory.Manager
	topology *topology.Manager
}

// gatePodLevel is the feature gate of pod-level resources in the managers. It needs PodLevelResources.
const gatePodLevel = "PodLevelResourceManagers"

// newManagers creates the managers of CPUs and memory, which read their state files, and that of topology, which asks them and the manager
// of devices, in upstream's order.
//
// Upstream: pkg/kubelet/cm/container_manager_linux.go, NewContainerManager.
func (p *parts) newManagers() (err error) {
	k, m := p.cfg.Kubelet, p.host.managers
	kc := k.Kubelet
	machine, podLevel := p.host.arrangement, k.Gates.Enabled(gatePodLevel)
	reserved, err := numa.ParseList(kc.ReservedSystemCPUs)
	if err != nil {
		return fmt.Errorf("reservedSystemCPUs: %w", err)
	}
	kept := p.host.resources.Kept()
	m.cpus, err = cpus.New(cpus.Config{
		Policy: kc.CPUManagerPolicy, Options: kc.CPUManagerPolicyOptions, TopologyPolicy: kc.TopologyManagerPolicy, Machine: machine,
		AlphaOptions: k.Gates.Enabled("CPUManagerPolicyAlphaOptions"), BetaOptions: k.Gates.Enabled("CPUManagerPolicyBetaOptions"),
		PodLevel: podLevel, Resize: k.Gates.Enabled(gateResizeCPUs), Reserved: reserved, ReservedNumber: int((kept.Cpu().MilliValue() + 999) / 1000), Dir: k.Node.RootDir,
		Period: kc.CPUManagerReconcilePeriod.Duration, Pods: m, Seen: p.pleg.Cache(), Runtime: p.client.Runtime, Bus: p.cfg.Bus,
	})
	if err != nil {
		return err
	}
	m.memory, err = memory.New(memory.Config{
		Policy: kc.MemoryManagerPolicy, Machine: machine, Reserved: kc.ReservedMemory, Kept: kept, PodLevel: podLevel, Resize: k.Gates.Enabled(gateResizeMemory),
		Dir: k.Node.RootDir, Pods: m, Bus: p.cfg.Bus,
	})
	if err != nil {
		return err
	}
	m.topology, err = topology.New(topology.Config{
		Policy: kc.TopologyManagerPolicy, Scope: kc.TopologyManagerScope, Options: kc.TopologyManagerPolicyOptions, Machine: machine, PodLevel: podLevel,
		Providers: []topology.Provider{
			{Name: "device", HintProvider: p.pods.devices.Provider()}, {Name: "cpu", HintProvider: m.cpus}, {Name: "memory", HintProvider: m.memory},
		},
		Bus: p.cfg.Bus,
	})
	if err == nil {
		m.tell(machine)
	}
	return err
}

// readArrangement reads how the machine's CPUs and memory are arranged. With the policies none, nobody needs it.
func (p *parts) readArrangement() (numa.Machine, error) {
	kc := p.cfg.Kubelet.Kubelet
	m, err := numa.Read("/")
	none := kc.CPUManagerPolicy == cpus.None && kc.MemoryManagerPolicy == memory.None && kc.TopologyManagerPolicy == topology.None
	switch {
	case err == nil:
		return m, nil
	case p.cfg.Simulated || none:
		return numa.Flat(int(p.host.machine.CPUs), uint64(max(0, p.host.machine.Memory))), nil
	}
	return m, fmt.Errorf("read the arrangement of CPUs and memory: %w", err)
}

// Reserve implements pods.Resources.
func (m *managers) Reserve(ctx context.Context, pod *v1.Pod) admission.Verdict {
	err := m.topology.Admit(ctx, pod)
	if r, ok := errors.AsType[*topology.Refusal](err); ok {
		return admission.Verdict{Reason: r.Code, Message: r.Message}
	}
	return admission.Verdict{OK: true}
}

// Release implements pods.Resources.
func (m *managers) Release(pod types.UID) {
	m.cpus.Release(pod)
	m.memory.Release(pod)
}

// Active implements cpus.Pods and memory.Pods: the pods with workers that have not terminated, and those that will have one.
func (m *managers) Active() []*v1.Pod {
	w := &m.p.pods
	var out []*v1.Pod
	known := map[types.UID]bool{}
	for uid, pod := range w.registry.Pods() {
		if w.registry.Running(uid) {
			out, known[uid] = append(out, pod), true
		}
	}
	for _, pod := range w.store.Counted(w.registry.State) {
		if !known[pod.UID] {
			out = append(out, pod)
		}
	}
	return out
}

// Complete implements cpus.Pods and memory.Pods.
func (m *managers) Complete() bool { return m.p.pods.manager != nil && m.p.pods.manager.SourcesReady() }

// Of implements podruntime.Pinning.
func (m *managers) Of(pod types.UID, container string) (list, memoryNodes string, own bool) {
	list, own = m.cpus.CPUs(pod, container)
	return list, m.memory.Nodes(pod, container), own
}

// Own implements podruntime.Pinning.
func (m *managers) Own(pod types.UID) bool { return m.cpus != nil && m.cpus.Own(pod) }

// Created implements podruntime.Pinning.
func (m *managers) Created(pod *v1.Pod, container, id, list string) {
	m.cpus.Created(pod.UID, container, id, list)
	m.memory.Created(pod, container)
}

// Started implements podruntime.Pinning.
func (m *managers) Started(pod types.UID, container, id string) { m.cpus.Started(pod, container, id) }
