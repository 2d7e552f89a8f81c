package model

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/kubeloupe/kubeloupe/trace"
)

// keyOf identifies a pod. Records of a pod's end may have its UID only.
func keyOf(pod trace.Pod) string { return cmp.Or(pod.UID, pod.String()) }

// owner is an Owner with the number of the last record about it. An Owner that was handed out does not change: edit makes a new one.
type owner struct {
	*Owner
	seq  uint64
	gone bool
}

// edit returns the container, to be changed.
func (o *owner) edit() *Owner {
	c := *o.Owner
	c.Devices = slices.Clone(c.Devices)
	o.Owner = &c
	return o.Owner
}

// owner returns the container of a record, which may be new, to be changed.
func (s *resources) owner(r *trace.Record, container string) *Owner {
	key := keyOf(r.Pod)
	o := s.owners[key][container]
	if o == nil {
		if s.count >= maxOwners {
			s.dropOldest()
		}
		if s.owners[key] == nil {
			s.owners[key] = map[string]*owner{}
		}
		o = &owner{Owner: &Owner{Pod: r.Pod, Container: container}}
		s.owners[key][container] = o
		s.order, s.sorted = append(s.order, o), false
		s.count++
	}
	o.seq = r.Seq
	is := o.edit()
	if r.Pod.Name != "" && is.Pod != r.Pod {
		is.Pod, s.sorted = r.Pod, false
	}
	return is
}

// inOrder returns the containers by the names of their pods and their own.
func (s *resources) inOrder() []*Owner {
	if !s.sorted {
		s.order = slices.DeleteFunc(s.order, func(o *owner) bool { return o.gone })
		slices.SortFunc(s.order, func(a, b *owner) int {
			return cmp.Or(strings.Compare(a.Pod.Namespace, b.Pod.Namespace), strings.Compare(a.Pod.Name, b.Pod.Name),
				strings.Compare(a.Pod.UID, b.Pod.UID), strings.Compare(a.Container, b.Container))
		})
		s.sorted = true
	}
	out := make([]*Owner, len(s.order))
	for i, o := range s.order {
		out[i] = o.Owner
	}
	return out
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
	if o := s.owners[key][container]; o != nil {
		o.gone, s.sorted = true, false
		s.count--
	}
	delete(s.owners[key], container)
	if len(s.order) > 2*maxOwners { // nobody asks
		s.order = slices.DeleteFunc(s.order, func(o *owner) bool { return o.gone })
	}
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
		change(o.edit())
		s.tidy(pod, container)
	}
}
