package report

import (
	"cmp"
	"strings"

	"github.com/kubeloupe/kubeloupe/inspect/model"
	"github.com/kubeloupe/kubeloupe/trace"
	"github.com/kubeloupe/kubeloupe/trace/human"
	"github.com/kubeloupe/kubeloupe/trace/say"
)

func makeResources(m *model.Model, args Args) (*Table, error) {
	r := m.Resources()
	t := &Table{Title: "Policies"}
	if r.At.IsZero() {
		t.fact("Policies", "", Value{text: say.Untold})
	} else {
		t.fact("CPU manager", "cpu_policy", str(r.CPUPolicy))
		t.fact("CPU options", "cpu_options", str(r.Options))
		t.fact("Memory manager", "memory_policy", str(r.MemoryPolicy))
		t.fact("Topology manager", "topology_policy", str(r.TopologyPolicy))
		t.fact("Scope", "topology_scope", str(r.Scope))
		t.fact("Reserved CPUs", "reserved_cpus", str(r.Reserved))
	}
	t.fact("Shared CPUs", "shared_cpus", str(r.Pool))
	if r.Assumed {
		t.fact("One NUMA node is assumed", "assumed", yes(true))
	}
	if args.Pod == "" {
		t.section(numaOf(r))
	}
	t.section(ownersOf(r, args))
	if args.Pod == "" {
		t.section(devicesOf(r, args))
	}
	t.section(claimsOf(r, args))
	t.section(refusedOf(r, args))
	return t, nil
}

// numaOf has a row for each resource of each NUMA node: CPUs, memory, huge pages. Amounts are CPUs or bytes.
func numaOf(r *model.Resources) *Table {
	t := &Table{Key: "numa", Title: "NUMA nodes", Columns: []Column{
		{Name: "NUMA", Key: "numa_node", Right: true},
		{Name: "RESOURCE", Key: "resource"},
		{Name: "RESERVED", Key: "reserved", Right: true, Drop: 1},
		{Name: "ALLOCATED", Key: "allocated", Right: true},
		{Name: "FREE", Key: "free", Right: true},
		{Name: "TOTAL", Key: "total", Right: true, Drop: 2},
		{Name: "EXCLUSIVE CPUS", Key: "exclusive_cpus", Long: true},
	}}
	for i := range r.NUMA {
		n := &r.NUMA[i]
		id := count(n.ID)
		if n.ID == model.Anywhere {
			id = Value{}
		}
		if len(n.CPUs) > 0 {
			uses, own := map[model.CPUUse]int{}, map[int]bool{}
			for _, c := range n.CPUs {
				if uses[c.Use]++; c.Use == model.CPUExclusive {
					own[c.ID] = true
				}
			}
			reserved := Value{}
			if r.ReservedKnown() {
				reserved = count(uses[model.CPUReserved])
			}
			t.add(id, str("cpu"), reserved, count(uses[model.CPUExclusive]), count(uses[model.CPUShared]), count(len(n.CPUs)), str(model.FormatCPUs(own)))
		}
		for _, m := range n.Memory {
			switch {
			case m.Managed && !m.TotalKnown():
				t.add(id, str(m.Resource), Value{}, size(int64(m.Own)), size(int64(m.Free)), Value{}, Value{})
			case m.Managed:
				t.add(id, str(m.Resource), size(int64(m.Reserved)), size(int64(m.Own)), size(int64(m.Free)), size(int64(m.Total)), Value{})
			default:
				t.add(id, str(m.Resource), Value{}, Value{}, Value{}, size(int64(m.Total)), Value{})
			}
		}
	}
	return t
}

// ownersOf has a row for each container that has something for itself.
func ownersOf(r *model.Resources, args Args) *Table {
	t := &Table{Key: "containers", Title: "Containers", None: "No container has CPUs, memory or devices for itself.", Columns: []Column{
		{Name: "POD", Key: "pod", Ends: true},
		{Name: "CONTAINER", Key: "container"},
		{Name: "NUMA", Key: "numa_nodes"},
		{Name: "CPUS", Key: "cpu_count", Right: true},
		{Name: "CPU LIST", Key: "cpus", Long: true},
		{Name: "MEMORY", Key: "memory_bytes", Right: true},
		{Name: "HUGEPAGES", Key: "hugepages_bytes", Right: true, Drop: 1},
		{Name: "DEVICES", Key: "devices", Long: true},
	}}
	for _, o := range r.Owners {
		if !args.wants(o.Pod) {
			continue
		}
		var memory, pages int64
		cpus, n := Value{}, Value{}
		if o.CPUs != nil {
			cpus, n = str(o.CPUs.CPUs), count(o.CPUCount())
		}
		if o.Memory != nil {
			for _, m := range o.Memory.Memory {
				if strings.HasPrefix(m.Resource, "hugepages-") {
					pages += int64(m.Bytes)
				} else {
					memory += int64(m.Bytes)
				}
			}
		}
		t.add(str(cmp.Or(o.Pod.String(), o.Pod.UID)), str(o.Container), str(o.NUMANodes()), n, cpus, orNone(memory), orNone(pages), devices(o))
	}
	return t
}

// orNone is a size; 0 is none.
func orNone(n int64) Value {
	if n == 0 {
		return Value{}
	}
	return size(n)
}

// devices are a container's devices: in text with ranges, in JSON with the first IDs.
func devices(o *model.Owner) Value {
	if len(o.Devices) == 0 {
		return Value{}
	}
	var texts []string
	var data []any
	for i := range o.Devices {
		d := &o.Devices[i]
		texts = append(texts, d.Resource+" "+say.IDs(d.IDs, d.Count))
		one := map[string]any{"resource": d.Resource, "count": d.Count}
		if len(d.IDs) > 0 {
			one["ids"] = d.IDs
		}
		if d.Nodes != "" {
			one["numa_nodes"] = d.Nodes
		}
		data = append(data, one)
	}
	return Value{human.Line(strings.Join(texts, ", ")), data}
}

// devicesOf has a row for each resource of device plugins.
func devicesOf(r *model.Resources, args Args) *Table {
	t := &Table{Key: "devices", Title: "Devices", Columns: []Column{
		{Name: "RESOURCE", Key: "resource", Ends: true},
		{Name: "PLUGIN", Key: "plugin"},
		{Name: "SINCE", Key: "since", Right: true, Drop: 2},
		{Name: "HEALTHY", Key: "healthy", Right: true},
		{Name: "UNHEALTHY", Key: "unhealthy", Right: true},
		{Name: "ALLOCATED", Key: "allocated", Right: true},
		{Name: "FREE", Key: "free", Right: true, Drop: 1},
		{Name: "ERROR", Key: "error", Long: true, Below: true},
	}}
	for i := range r.Devices {
		d := &r.Devices[i]
		healthy, unhealthy, free := Value{}, Value{}, Value{}
		if d.Listed {
			if healthy, free = count(d.Healthy), count(d.Free()); !d.HealthyOnly {
				unhealthy = count(d.Unhealthy)
			}
		}
		t.add(str(d.Name), str(d.Plugin), ago(d.Since, args.Now), healthy, unhealthy, count(d.Given), free, text(d.Err))
	}
	return t
}

// refusedOf has a row for each of the last pods that did not get what they requested.
func refusedOf(r *model.Resources, args Args) *Table {
	t := &Table{Key: "refused", Title: "Refused pods", Columns: []Column{
		{Name: "POD", Key: "pod", Ends: true},
		{Key: "container"},
		{Name: "AGO", Key: "time", Right: true},
		{Name: "REASON", Key: "reason"},
		{Key: "message"},
		{Key: "policy"},
		{Key: "scope"},
		{Key: "hints"},
		{Name: "WHY", Long: true, Below: true},
	}}
	for i := range r.Refused {
		f := &r.Refused[i]
		if !args.wants(f.Pod) {
			continue
		}
		why, list := f.Message, hints(f.Hints)
		if list.text != "" {
			why = list.text
		}
		t.add(str(cmp.Or(f.Pod.String(), f.Pod.UID)), str(f.Container), ago(f.At, args.Now), str(f.Code), text(f.Message), str(f.Policy), str(f.Scope), list, text(why))
	}
	return t
}

// hints are what each manager could give.
func hints(of []trace.ResourceHints) Value {
	var texts []string
	var data []any
	for i := range of {
		h := &of[i]
		if h.Resource != "" {
			texts = append(texts, say.Hints(h))
		}
		one := map[string]any{"provider": h.Provider}
		for key, value := range map[string]string{"resource": h.Resource, "preferred": h.Preferred, "possible": h.Possible} {
			if value != "" {
				one[key] = value
			}
		}
		if h.Any {
			one["any"] = true
		}
		data = append(data, one)
	}
	if len(data) == 0 {
		return Value{}
	}
	return Value{human.Line(strings.Join(texts, "; ")), data}
}
