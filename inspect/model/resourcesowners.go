package model

import (
	"cmp"
	"maps"
	"slices"

	"github.com/kubeloupe/kubeloupe/trace"
)

// keyOf identifies a pod. Records of a pod's end may have its UID only.
func keyOf(pod trace.Pod) string { return cmp.Or(pod.UID, pod.String()) }

// owner is an Owner with the number of the last record about it.
type owner struct {
	Owner
	seq uint64
}

// owner returns the container of a record, which may be new.
func (s *resources) owner(r *trace.Record, container string) *owner {
	key := keyOf(r.Pod)
	o := s.owners[key][container]
	if o == nil {
		if s.count >= maxOwners {
			s.dropOldest()
		}
		if s.owners[key] == nil {
			s.owners[key] = map[string]*owner{}
		}
		o = &owner{Owner: Owner{Pod: r.Pod, Container: container}}
		s.owners[key][container] = o
		s.count++
	}
	o.seq = r.Seq
	if r.Pod.Name != "" {
		o.Pod = r.Pod
	}
	return o
}

// dropOldest removes a quarter of the containers: those that no record was about for the longest time.
func (s *resources) dropOldest() {
	all := make([]*owner, 0, s.count)
	for _, of := range s.owners {
		all = slices.AppendSeq(all, maps.Values(of))
	}
	slices.SortFunc(all, func(a, b *owner) int { return cmp.Compare(a.seq, b.seq) })
	for _, o := range all[:len(all)/4] {
		s.remove(o.Pod, o.Container)
		s.omitted++
	}
}

func (s *resources) remove(pod trace.Pod, container string) {
	key := keyOf(pod)
	delete(s.owners[key], container)
	s.count--
	if len(s.owners[key]) == 0 {
		delete(s.owners, key)
	}
}

// tidy removes a container that has nothing left.
func (s *resources) tidy(pod trace.Pod, container string) {
	if o := s.owners[keyOf(pod)][container]; o != nil && o.CPUs == nil && o.Memory == nil && len(o.Devices) == 0 {
		s.remove(pod, container)
	}
}

// forget changes what all containers of a pod have.
func (s *resources) forget(pod trace.Pod, change func(*Owner)) {
	for container, o := range s.owners[keyOf(pod)] {
		change(&o.Owner)
		s.tidy(pod, container)
	}
}
