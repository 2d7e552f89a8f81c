package memory

import (
	v1 "k8s.io/api/core/v1"

	"github.com/kubeloupe/kubeloupe/agent/memory/state"
	"github.com/kubeloupe/kubeloupe/agent/numa"
	"github.com/kubeloupe/kubeloupe/agent/podspec"
)

// reuse remembers the memory of an init container: later containers of the pod get it. An app container or a sidecar uses it up.
//
// Upstream: pkg/kubelet/cm/memorymanager/policy_static.go, updatePodReusableMemory.
func (m *Manager) reuse(pod *v1.Pod, c *v1.Container, blocks []state.Block) {
	uid := string(pod.UID)
	for other := range m.reusable {
		if other != uid {
			delete(m.reusable, other)
		}
	}
	keeps := false
	for i := range pod.Spec.InitContainers {
		init := &pod.Spec.InitContainers[i]
		keeps = keeps || init.Name == c.Name && !podspec.RestartableInit(init)
	}
	for _, b := range blocks {
		set := numa.MaskOf(b.NUMAAffinity...)
		if keeps {
			if m.reusable[uid] == nil {
				m.reusable[uid] = map[numa.Mask]amounts{}
			}
			if m.reusable[uid][set] == nil {
				m.reusable[uid][set] = amounts{}
			}
			m.reusable[uid][set][b.Type] = max(m.reusable[uid][set][b.Type], b.Size)
			continue
		}
		if has := m.reusable[uid][set][b.Type]; has > 0 {
			m.reusable[uid][set][b.Type] = has - min(has, b.Size)
		}
	}
}

// shrink reduces the blocks of earlier init containers by what the container reuses of them, so that the sum of all blocks is what the pod
// has.
//
// Upstream: updateInitContainersMemoryBlocks.
func (m *Manager) shrink(pod *v1.Pod, c *v1.Container, blocks []state.Block) {
	of := m.content.Entries[string(pod.UID)]
	for _, b := range blocks {
		left := b.Size
		for i := range pod.Spec.InitContainers {
			init := &pod.Spec.InitContainers[i]
			if init.Name == c.Name {
				break
			}
			if podspec.RestartableInit(init) {
				continue
			}
			for j := range of[init.Name] {
				ib := &of[init.Name][j]
				if ib.Type == b.Type && sameNodes(ib.NUMAAffinity, b.NUMAAffinity) {
					n := min(left, ib.Size)
					ib.Size, left = ib.Size-n, left-n
				}
			}
		}
	}
}
