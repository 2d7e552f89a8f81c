package views

import (
	"cmp"
	"fmt"
	"strings"

	tea "charm.land/bubbletea/v2"

	"github.com/kubeloupe/kubeloupe/inspect/model"
	"github.com/kubeloupe/kubeloupe/trace"
	"github.com/kubeloupe/kubeloupe/trace/say"
	"github.com/kubeloupe/kubeloupe/tui/style"
	"github.com/kubeloupe/kubeloupe/tui/table"
)

// nothingOwn is said where no container has anything for itself: what the node would need. The first words must fit into 60 columns.
const nothingOwn = "nothing is exclusive; see cpuManagerPolicy, memoryManagerPolicy, device plugins"

func (p *Resources) newOwners() {
	p.owners = list[*model.Owner]{Look: p.Look, pod: func(o *model.Owner) trace.Pod { return o.Pod }}
	p.owners.tbl = table.New(table.Config[*model.Owner]{
		Theme: p.Theme, Columns: p.ownerColumns(), ID: func(o *model.Owner) string { return o.Pod.UID + ownerName(o) },
		Text:   func(o *model.Owner) string { return ownerName(o) + " " + p.deviceList(o) + " " + o.NUMANodes() },
		Fields: ofPod(func(o *model.Owner) trace.Pod { return o.Pod }),
		None:   p.noOwners,
	})
	p.owners.open = p.ownerDetails
}

// noOwners says why no container has anything for itself.
func (p *Resources) noOwners() string {
	switch r := p.res; {
	case p.foreign && r.At.IsZero():
		return "not known of this kubelet"
	case p.foreign:
		return "this kubelet lists no container with CPUs, memory or devices for itself"
	case p.Scene.Note != "":
		return "no container has anything for itself; " + p.Theme.Clean(p.Scene.Note)
	case !r.At.IsZero() && (r.CPUPolicy == "static" || r.MemoryPolicy == "Static") || len(r.Devices) > 0:
		return "no container has CPUs, memory or devices for itself now"
	case len(r.Claims) > 0:
		return "no container has CPUs, memory or devices of plugins for itself"
	}
	return nothingOwn
}

// ownerName is a container with its pod, or a pod.
func ownerName(o *model.Owner) string {
	name := cmp.Or(o.Pod.String(), o.Pod.UID)
	if o.Container == "" {
		return name
	}
	return name + "/" + o.Container
}

func (p *Resources) ownerColumns() []table.Column[*model.Owner] {
	name := text("container", 22, 3, 0, func(o *model.Owner) string { return p.Theme.Clean(ownerName(o)) })
	name.Whole = 34
	bytes := func(title string, width, drop int, pages bool) table.Column[*model.Owner] {
		return orNone(number(title, width, drop, func(o *model.Owner) int64 { return memoryOf(o, pages) }, style.Bytes))
	}
	devices := text("devices", 14, 2, 0, p.deviceList)
	devices.Compare = func(a, b *model.Owner) int { return cmp.Compare(b.DeviceCount(), a.DeviceCount()) }
	devices.Figure = func(o *model.Owner) float64 { return float64(o.DeviceCount()) }
	return []table.Column[*model.Owner]{
		name,
		text("numa", 4, 0, 1, func(o *model.Owner) string { return p.Theme.Clean(o.NUMANodes()) }),
		orNone(number("cpus", 4, 0, func(o *model.Owner) int64 { return int64(o.CPUCount()) }, count)),
		text("cpu list", 9, 1, 3, func(o *model.Owner) string {
			if o.CPUs == nil {
				return ""
			}
			return p.Theme.Clean(o.CPUs.CPUs)
		}),
		bytes("memory", 8, 0, false),
		bytes("hugepages", 9, 2, true),
		devices,
	}
}

// orNone writes zero as unknown is: the container has none of it.
func orNone[R any](c table.Column[R]) table.Column[R] {
	write := c.Cell
	c.Cell = func(r R) table.Cell {
		if c.Figure(r) == 0 {
			return table.Cell{Text: style.Unknown, Tone: style.Dim}
		}
		return write(r)
	}
	return c
}

// memoryOf is how much memory a container has for itself, or how many huge pages.
func memoryOf(o *model.Owner, pages bool) (sum int64) {
	if o.Memory == nil {
		return 0
	}
	for _, m := range o.Memory.Memory {
		if strings.HasPrefix(m.Resource, "hugepages-") == pages {
			sum += int64(m.Bytes)
		}
	}
	return sum
}

// deviceList is the container's devices in short: the last part of the resource's name says which.
func (p *Resources) deviceList(o *model.Owner) string {
	var out []string
	for i := range o.Devices {
		d := &o.Devices[i]
		out = append(out, fmt.Sprintf("%s %s", shortResource(d.Resource), say.IDs(d.IDs, d.Count)))
	}
	return p.Theme.Clean(strings.Join(out, ", "))
}

// shortResource is a resource without its domain.
func shortResource(name string) string { return name[strings.LastIndex(name, "/")+1:] }

// ownerDetails opens all that a container has for itself.
func (p *Resources) ownerDetails(o *model.Owner) tea.Cmd {
	f := facts{th: p.Theme}
	f.add("pod", cmp.Or(o.Pod.String(), o.Pod.UID), style.Plain)
	f.add("container", cmp.Or(o.Container, "all of the pod"), style.Plain)
	f.add("NUMA nodes", o.NUMANodes(), style.Plain)
	if p.foreign {
		f.add("choice", "not known: this kubelet does not say how it chose", style.Dim)
	}
	if a := o.CPUs; a != nil {
		f.head("CPUs")
		f.add(sinceOf(a.Outcome), p.Scene.Time(o.CPUsAt), style.Plain)
		f.add("CPUs", fmt.Sprintf("%d: %s", o.CPUCount(), a.CPUs), style.Plain)
		f.add("NUMA node", a.Nodes, style.Plain)
		f.add("decision", say.Allocation(a), allocationTone(a))
	}
	if a := o.Memory; a != nil {
		f.head("memory")
		f.add(sinceOf(a.Outcome), p.Scene.Time(o.MemoryAt), style.Plain)
		for _, m := range a.Memory {
			f.add("has", style.Bytes(int64(m.Bytes))+" of "+m.Resource+" from NUMA node "+m.Nodes, style.Plain)
		}
		f.add("decision", say.Allocation(a), allocationTone(a))
	}
	for i := range o.Devices {
		d := &o.Devices[i]
		f.head(p.Theme.Clean(d.Resource))
		f.add("devices", fmt.Sprintf("%d: %s", d.Count, say.IDs(d.IDs, d.Count)), style.Plain)
		f.add("NUMA node", d.Nodes, style.Plain)
		f.add("decision", say.DeviceAllocation(d), style.Plain)
	}
	name := p.Theme.Clean(ownerName(o))
	return send(Open{NewPager(p.Look, "container", name, f.lines).Of(name)})
}

// sinceOf names the time of an allocation: of one that was found, nobody knows when the container got it.
func sinceOf(o trace.AllocationOutcome) string {
	if o == trace.AllocationKept {
		return "found"
	}
	return "since"
}

// allocationTone marks what is not as near as it could be.
func allocationTone(a *trace.Allocation) style.Tone {
	return toneIf(a.Why == trace.AllocationPartly, style.Slow)
}
