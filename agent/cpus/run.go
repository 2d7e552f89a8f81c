package cpus

import (
	"context"
	"fmt"
	"time"

	"golang.org/x/sync/errgroup"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/kubeloupe/kubeloupe/agent/podstate"
	"github.com/kubeloupe/kubeloupe/trace"
)

// updates is how many containers are changed at the same time, updateLimit how long a change may take: the next changes wait for it.
const (
	updates     = 4
	updateLimit = 10 * time.Second
)

// Run keeps the CPUs of containers up to date until ctx ends. With the policy none there is nothing to do.
func (m *Manager) Run(ctx context.Context) error {
	if m.static == nil {
		return nil
	}
	m.begin()
	tick := time.NewTicker(m.cfg.Period)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-m.kick:
		case <-tick.C:
		}
		m.reconcile(ctx)
	}
}

// begin tells what containers have at the start.
func (m *Manager) begin() {
	m.mu.Lock()
	defer m.mu.Unlock()
	e := trace.Allocation{Outcome: trace.AllocationStarted, WholeCores: m.static.options.fullCores}
	m.use(&e)
	m.tell(trace.Span{}, e)
}

// update is a container that must get other CPUs.
type update struct {
	id, name, cpus string
	pod            *v1.Pod
}

// reconcile gives all containers that run their CPUs.
//
// Upstream: pkg/kubelet/cm/cpumanager/cpu_manager.go, reconcileState.
func (m *Manager) reconcile(ctx context.Context) {
	var group errgroup.Group
	group.SetLimit(updates)
	for _, u := range m.plan() {
		group.Go(func() error {
			call, cancel := context.WithTimeout(ctx, updateLimit)
			defer cancel()
			_, err := m.cfg.Runtime.UpdateContainerResources(call, &runtimeapi.UpdateContainerResourcesRequest{
				ContainerId: u.id, Linux: &runtimeapi.LinuxContainerResources{CpusetCpus: u.cpus},
			})
			if err == nil {
				m.record(u.id, u.cpus)
			} else if ctx.Err() == nil && m.runs(u) {
				m.warn(fmt.Sprintf("container %s of pod %s/%s cannot get the CPUs %s: %v", u.name, u.pod.Namespace, u.pod.Name, u.cpus, err))
			}
			return nil
		})
	}
	_ = group.Wait() // they return no errors
}

// plan frees what is stale, and returns which containers must get other CPUs.
func (m *Manager) plan() []update {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.trial != nil {
		return nil // End calls again
	}
	m.tidy()
	var out []update
	seen, active := map[string]bool{}, map[types.UID]bool{}
	add := func(pod *v1.Pod, name, id string) {
		set, _ := m.of(pod.UID, name)
		if want := set.String(); want != "" && m.set[id] != want {
			out = append(out, update{id: id, name: name, cpus: want, pod: pod})
		}
	}
	for _, pod := range m.cfg.Pods.Active() {
		active[pod.UID] = true
		state := m.cfg.Seen.Get(pod.UID)
		for _, name := range names(pod) {
			if c := state.Newest(name); c != nil {
				seen[c.ID] = true
				if c.State == podstate.Running {
					add(pod, name, c.ID)
				}
			}
		}
		for id, y := range m.young {
			switch c := state.Container(id); {
			case y.pod != pod.UID:
			case c != nil && c.State != podstate.Created:
				delete(m.young, id)
			case y.started:
				add(pod, y.name, id)
			}
		}
	}
	for id, y := range m.young {
		if !active[y.pod] {
			delete(m.young, id)
		}
	}
	for id := range m.set {
		if _, young := m.young[id]; !young && !seen[id] {
			delete(m.set, id)
		}
	}
	return out
}

// names returns the pod's containers. Ephemeral ones share CPUs as all others; upstream never changes theirs.
func names(pod *v1.Pod) []string {
	var out []string
	for _, list := range [][]v1.Container{pod.Spec.InitContainers, pod.Spec.Containers} {
		for i := range list {
			out = append(out, list[i].Name)
		}
	}
	for i := range pod.Spec.EphemeralContainers {
		out = append(out, pod.Spec.EphemeralContainers[i].Name)
	}
	return out
}

// runs reports whether the container is still there: one that has ended meanwhile cannot be changed.
func (m *Manager) runs(u update) bool {
	c := m.cfg.Seen.Get(u.pod.UID).Container(u.id)
	return c != nil && c.State == podstate.Running
}

func (m *Manager) record(id, cpus string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.set[id] = cpus
}

// young is a container of which the agent knows more than what was seen of the runtime.
type young struct {
	pod     types.UID
	name    string
	started bool
}

// Created records that a container was created with those CPUs.
func (m *Manager) Created(pod types.UID, container, id, cpus string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.static == nil {
		return
	}
	for old, y := range m.young {
		if y.pod == pod && y.name == container {
			delete(m.young, old)
		}
	}
	m.set[id], m.young[id] = cpus, young{pod: pod, name: container}
}

// Started records that a container runs. If its CPUs have changed since they were chosen for its creation, Run changes them at once: the
// runtime changes only those of containers that run.
func (m *Manager) Started(pod types.UID, container, id string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.static == nil {
		return
	}
	m.young[id] = young{pod: pod, name: container, started: true}
	if set, _ := m.of(pod, container); set.String() != m.set[id] {
		m.changed()
	}
}
