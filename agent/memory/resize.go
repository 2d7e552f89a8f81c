package memory

import (
	"fmt"
	"maps"
	"slices"

	v1 "k8s.io/api/core/v1"

	"github.com/kubeloupe/kubeloupe/agent/memory/state"
	"github.com/kubeloupe/kubeloupe/agent/numa"
	"github.com/kubeloupe/kubeloupe/agent/podspec"
	"github.com/kubeloupe/kubeloupe/trace"
)

// RoomError says that a running container cannot get more memory: it stays on its NUMA nodes, and these do not have enough.
type RoomError struct {
	Resource v1.ResourceName
	// Nodes are the NUMA nodes of the container's memory, such as 0,1. More is how many bytes it requests in addition, Free how many they
	// have free, and Most how many of them containers could have at all.
	Nodes            string
	More, Free, Most uint64
	// Requested is how many bytes the container requests in total.
	Requested uint64
}

// Error implements error.
func (e *RoomError) Error() string {
	return fmt.Sprintf("[memorymanager] NUMA nodes %s of its memory do not have %d more bytes of %s: %d are free", e.Nodes, e.More, e.Resource, e.Free)
}

// Later reports whether they can have enough if other containers have less. The topology manager asks for it.
func (e *RoomError) Later() bool { return e.Requested <= e.Most }

// trial is a resize of a pod that is being tried.
type trial struct {
	allocated *v1.Pod
	was       map[string][]state.Block // what its containers had
	// told are the events of the resize: they are published if it is kept.
	told []func()
}

// Try implements topology.Resizer.
func (m *Manager) Try(allocated *v1.Pod) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.trial = &trial{allocated: allocated, was: map[string][]state.Block{}}
	for name, blocks := range m.content.Entries[string(allocated.UID)] {
		m.trial.was[name] = slices.Clone(blocks)
	}
}

// End implements topology.Resizer.
func (m *Manager) End(keep bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	t := m.trial
	if m.trial = nil; t == nil {
		return
	}
	if keep {
		for _, tell := range t.told {
			tell()
		}
		if len(t.told) > 0 {
			m.save()
		}
		return
	}
	for name, was := range t.was {
		for i, b := range m.content.Entries[string(t.allocated.UID)][name] {
			if i < len(was) {
				m.setSize(string(t.allocated.UID), name, i, b.Size, was[i].Size)
			}
		}
	}
}

// change is how the size of a block changes, in bytes.
type change struct{ from, to uint64 }

// changes returns how the container's blocks change if it gets what is wanted, by index; none without the feature gate. Blocks of an init
// container can be smaller than its request, because later containers have a part of it, so the difference of the requests counts.
//
// Outside of a resize, blocks of another size than the request are from an agent that was killed between the checkpoints of a resize.
func (m *Manager) changes(pod *v1.Pod, c *v1.Container, want amounts) map[int]change {
	if !m.cfg.Resize || m.level(pod) || m.trial != nil && m.trial.allocated.UID != pod.UID {
		return nil
	}
	var was amounts
	if m.trial != nil {
		for o := range podspec.Each(m.trial.allocated) {
			if o.Name == c.Name {
				was, _ = requested(o.Resources.Requests) // it was valid at admission
			}
		}
	}
	out := map[int]change{}
	for i, b := range m.content.Entries[string(pod.UID)][c.Name] {
		before, is := was[b.Type], want[b.Type]
		if m.trial == nil {
			if before = b.Size; !long(pod, c) {
				continue
			}
		}
		to := b.Size + is - min(is, before) - min(b.Size, before-min(is, before))
		if to != b.Size {
			out[i] = change{b.Size, to}
		}
	}
	return out
}

// long reports whether the container runs beside the pod's containers.
func long(pod *v1.Pod, c *v1.Container) bool {
	for o, long := range podspec.Each(pod) {
		if o.Name == c.Name {
			return long
		}
	}
	return false
}

// room returns why the NUMA nodes of the container's blocks do not have enough for the changes.
func (m *Manager) room(uid, container string, all map[int]change, want amounts) error {
	for _, i := range slices.Sorted(maps.Keys(all)) {
		b, c := m.content.Entries[uid][container][i], all[i]
		if c.to <= c.from {
			continue
		}
		e := &RoomError{Resource: b.Type, Nodes: numa.Join(b.NUMAAffinity), More: c.to - c.from, Requested: want[b.Type]}
		for _, id := range b.NUMAAffinity {
			if t := table(m.content.MachineState, id, b.Type); t != nil {
				e.Free, e.Most = e.Free+t.Free, e.Most+t.Allocatable
			}
		}
		if e.More > e.Free {
			return e
		}
	}
	return nil
}

// resize gives a container that has memory as much as it requests now, on the same NUMA nodes. What is not possible outside of a resize is
// left as it is.
func (m *Manager) resize(pod *v1.Pod, c *v1.Container, want amounts) (changed bool, err error) {
	uid := string(pod.UID)
	all := m.changes(pod, c, want)
	if err := m.room(uid, c.Name, all, want); err != nil {
		if m.trial != nil {
			return false, err
		}
		return false, nil
	}
	for i, c2 := range all {
		m.setSize(uid, c.Name, i, c2.from, c2.to)
	}
	return len(all) > 0, nil
}

// setSize changes the size of a block, and what its NUMA nodes have left.
func (m *Manager) setSize(uid, container string, block int, from, to uint64) {
	b := &m.content.Entries[uid][container][block]
	b.Size = to
	more, less := to-min(from, to), from-min(from, to)
	for _, id := range b.NUMAAffinity {
		t := table(m.content.MachineState, id, b.Type)
		if t == nil {
			continue
		}
		n := min(t.Free, more)
		t.Free, t.Reserved, more = t.Free-n, t.Reserved+n, more-n
		n = min(t.Reserved, less)
		t.Free, t.Reserved, less = t.Free+n, t.Reserved-n, less-n
	}
}

// later publishes what a container has after a resize: when the resize that is tried is kept, or at once.
func (m *Manager) later(span trace.Span, e trace.Allocation, blocks []state.Block) {
	tell := func() {
		e.Free = m.left(blocks)
		m.tell(span, e)
	}
	if m.trial == nil {
		tell()
		return
	}
	m.trial.told = append(m.trial.told, tell)
}
