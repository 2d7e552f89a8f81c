package model

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/kubeloupe/kubeloupe/trace"
	"github.com/kubeloupe/kubeloupe/trace/sorting"
)

// build computes the result.
func (s *resources) build() *Resources {
	out := &Resources{At: s.at, ResourcesDescribed: s.is, Refused: slices.Clone(s.refused), Omitted: s.omitted, OmittedClaims: s.claims.omitted}
	out.Pool = s.pool
	slices.Reverse(out.Refused)
	out.Owners = s.inOrder()
	out.Claims = s.claims.inOrder()
	out.Devices = s.buildDevices(out.Owners)
	s.buildNodes(out)
	return out
}

// buildDevices returns the resources, with who has devices of them.
func (s *resources) buildDevices(owners []*Owner) []DeviceResource {
	all := map[string]*DeviceResource{}
	for name, d := range s.plugins {
		all[name] = new(*d)
	}
	for i := range owners {
		for _, has := range owners[i].Devices {
			d := all[has.Resource]
			if d == nil {
				d = &DeviceResource{Name: has.Resource, Plugin: PluginUnknown}
				all[has.Resource] = d
			}
			d.Given += max(has.Count, 0)
			d.Holders = append(d.Holders, i)
		}
	}
	var out []DeviceResource
	for _, d := range all {
		if d.Plugin != PluginRemoved || d.Given > 0 {
			out = append(out, *d)
		}
	}
	sorting.Stable(out, func(a, b *DeviceResource) int { return strings.Compare(a.Name, b.Name) })
	return out
}

// buildNodes adds the NUMA nodes, with who uses their CPUs and how much of their memory is left.
func (s *resources) buildNodes(out *Resources) {
	use := s.uses(out.Owners)
	of := func(id int) CPU {
		if c, known := use[id]; known {
			return c
		}
		return CPU{ID: id, Use: CPUShared, Owner: -1}
	}
	if s.at.IsZero() {
		n := NUMANode{ID: Anywhere}
		for id := range use {
			n.CPUs = append(n.CPUs, of(id))
		}
		if sorting.Stable(n.CPUs, func(a, b *CPU) int { return cmp.Compare(a.ID, b.ID) }); len(n.CPUs) > 0 {
			out.NUMA = []NUMANode{n}
		}
		return
	}
	pool := cpuSet(s.pool)
	for _, d := range s.is.Nodes {
		n := NUMANode{ID: d.ID, Memory: s.memoryOf(d.ID)}
		for _, id := range CPUList(d.CPUs) {
			c := of(id)
			if c.Use == CPUShared && s.pool != "" && !pool[id] { // of a container that an earlier agent knew
				c.Use = CPUExclusive
			}
			n.CPUs = append(n.CPUs, c)
		}
		out.NUMA = append(out.NUMA, n)
	}
}

// uses returns the CPUs that are mentioned anywhere, with what they are used for.
func (s *resources) uses(owners []*Owner) map[int]CPU {
	use := map[int]CPU{}
	for _, id := range CPUList(s.pool) {
		use[id] = CPU{id, CPUShared, -1}
	}
	for _, id := range CPUList(s.is.Reserved) {
		use[id] = CPU{id, CPUReserved, -1}
	}
	for i := range owners {
		if a := owners[i].CPUs; a != nil {
			for _, id := range CPUList(a.CPUs) {
				use[id] = CPU{id, CPUExclusive, i}
			}
		}
	}
	return use
}

// memoryOf returns the amounts of a NUMA node.
func (s *resources) memoryOf(node int) (out []NUMAMemory) {
	pages := uint64(0)
	for _, m := range s.is.Memory {
		if m.Node == node && m.Resource != "memory" {
			pages += m.Total
		}
	}
	for _, m := range s.is.Memory {
		if m.Node != node {
			continue
		}
		n := NUMAMemory{Resource: m.Resource, Total: m.Total, Managed: !strings.EqualFold(s.is.MemoryPolicy, "none")}
		if m.Resource == "memory" {
			n.Pages = min(pages, m.Total)
		}
		if n.Managed {
			n.Free = m.Free
			if now, known := s.free[nodeResource{strconv.Itoa(node), m.Resource}]; known {
				n.Free = now
			}
			n.Free = min(n.Free, m.Allocatable)
			n.Own = m.Allocatable - n.Free
			n.Reserved = m.Total - n.Pages - min(m.Allocatable, m.Total-n.Pages)
		}
		out = append(out, n)
	}
	return out
}

// NUMANodes returns the NUMA nodes of all that a container has, such as 0,1; "" if unknown.
func (o *Owner) NUMANodes() string {
	nodes := map[int]bool{}
	add := func(list string) {
		for _, id := range CPUList(list) {
			nodes[id] = true
		}
	}
	for _, a := range []*trace.Allocation{o.CPUs, o.Memory} {
		if a != nil {
			add(a.Nodes)
		}
	}
	for i := range o.Devices {
		add(o.Devices[i].Nodes)
	}
	return FormatCPUs(nodes)
}

// Has reports whether an owner, by its index, has the CPU. A pod also has those of its containers.
func (r *Resources) Has(owner int, c CPU) bool {
	if owner < 0 || c.Owner < 0 {
		return false
	}
	o := r.Owners[owner]
	return c.Owner == owner || o.Container == "" && keyOf(r.Owners[c.Owner].Pod) == keyOf(o.Pod)
}

// CPUCount returns how many CPUs a container has for itself.
func (o *Owner) CPUCount() int {
	if o.CPUs == nil {
		return 0
	}
	return len(CPUList(o.CPUs.CPUs))
}

// Bytes returns how much memory a container has for itself, huge pages included.
func (o *Owner) Bytes() (sum uint64) {
	if o.Memory != nil {
		for _, m := range o.Memory.Memory {
			sum += m.Bytes
		}
	}
	return sum
}

// DeviceCount returns how many devices a container has.
func (o *Owner) DeviceCount() (sum int) {
	for i := range o.Devices {
		sum += max(o.Devices[i].Count, 0)
	}
	return sum
}
