package views

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/kubeloupe/kubeloupe/inspect/model"
	"github.com/kubeloupe/kubeloupe/trace/say"
	"github.com/kubeloupe/kubeloupe/tui/style"
	"github.com/kubeloupe/kubeloupe/tui/table"
)

// shownHolders is how many containers of a resource are listed.
const shownHolders = 1000

func (p *Resources) newDevices() {
	p.devices = list[*model.DeviceResource]{Look: p.Look}
	p.devices.tbl = newTable(p.Look, table.Config[*model.DeviceResource]{
		Columns: p.deviceColumns(),
		ID:      func(d *model.DeviceResource) string { return d.Name },
		Text: func(d *model.DeviceResource) string {
			return d.Name + " " + string(d.Plugin) + " " + p.holders(d) + " " + d.Err
		},
		Failed: func(d *model.DeviceResource) bool { return pluginTone(d) == style.Fail || d.Unhealthy > 0 },
		Empty:  "no device plugin has registered",
	})
	p.devices.open = p.deviceDetails
}

func (p *Resources) deviceColumns() []table.Column[*model.DeviceResource] {
	listed := func(c table.Column[*model.DeviceResource]) table.Column[*model.DeviceResource] {
		write := c.Cell
		c.Cell = func(d *model.DeviceResource) table.Cell {
			if !d.Listed {
				return table.Cell{Text: style.Unknown, Tone: style.Dim}
			}
			return write(d)
		}
		return c
	}
	who := text("allocated to", 14, 3, 1, p.holders)
	who.Compare = nil
	name := text("device resource", 17, 2, 0, func(d *model.DeviceResource) string { return p.Theme.Clean(d.Name) })
	name.Whole = 30
	return []table.Column[*model.DeviceResource]{
		name,
		toned(text("plugin", 9, 0, 0, func(d *model.DeviceResource) string { return string(d.Plugin) }), pluginTone),
		clock(p.Look, "since", 4, func(d *model.DeviceResource) time.Time { return d.Since }),
		listed(number("healthy", 7, 0, func(d *model.DeviceResource) int64 { return int64(d.Healthy) }, count)),
		unhealthyKnown(listed(oddity("unhealthy", 9, 0, style.Fail, func(d *model.DeviceResource) int64 { return int64(d.Unhealthy) }))),
		orNone(number("allocated", 9, 0, func(d *model.DeviceResource) int64 { return int64(d.Given) }, count)),
		listed(number("free", 4, 2, func(d *model.DeviceResource) int64 { return int64(d.Free()) }, count)),
		who,
	}
}

// unhealthyKnown writes that the number is not known where only the healthy devices are listed.
func unhealthyKnown(c table.Column[*model.DeviceResource]) table.Column[*model.DeviceResource] {
	write := c.Cell
	c.Cell = func(d *model.DeviceResource) table.Cell {
		if d.HealthyOnly {
			return table.Cell{Text: style.Unknown, Tone: style.Dim}
		}
		return write(d)
	}
	return c
}

func pluginTone(d *model.DeviceResource) style.Tone {
	switch d.Plugin {
	case model.PluginGone, model.PluginRefused:
		return style.Fail
	case model.PluginRemoved:
		return style.Slow
	case model.PluginUnknown:
		return style.Dim
	case model.PluginConnected:
	}
	return style.Plain
}

// most of a line that any screen shows, in bytes.
const mostWho = 400

// holders names the containers that have devices of a resource, as many as a line has.
func (p *Resources) holders(d *model.DeviceResource) string {
	var b strings.Builder
	for i, at := range d.Holders {
		if b.Len() > mostWho {
			fmt.Fprintf(&b, " and %d more", len(d.Holders)-i)
			break
		}
		if i > 0 {
			b.WriteString(", ")
		}
		o := p.res.Owners[at]
		b.WriteString(ownerName(o))
		for j := range o.Devices {
			if h := &o.Devices[j]; h.Resource == d.Name {
				b.WriteString(" " + say.IDs(h.IDs, h.Count))
			}
		}
	}
	return p.Theme.Clean(b.String())
}

// since adds to a state when it began, if that is known.
func (p *Resources) since(state string, at time.Time) string {
	if at.IsZero() {
		return state
	}
	return state + " since " + p.Scene.Time(at)
}

// deviceDetails opens all that is known of a resource.
func (p *Resources) deviceDetails(d *model.DeviceResource) tea.Cmd {
	f := facts{th: p.Theme}
	f.add("plugin", p.since(string(d.Plugin), d.Since), pluginTone(d))
	f.add("error", d.Err, style.Fail)
	for _, s := range d.Sockets {
		f.add("socket", s, style.Plain)
	}
	if d.Listed {
		f.add("healthy", style.Count(d.Healthy), style.Plain)
		if d.HealthyOnly {
			f.add("unhealthy", "not known: this kubelet lists the healthy devices only", style.Dim)
		} else {
			f.add("unhealthy", style.Count(d.Unhealthy), toneIf(d.Unhealthy > 0, style.Fail))
		}
		f.add("free", style.Count(d.Free()), style.Plain)
	}
	if d.Dropped > 0 {
		f.add("ignored", style.Count(d.Dropped)+" entries of the plugin's list: without an ID, with one that is too long or not unique, or too many", style.Slow)
	}
	var wants []string
	if d.PreStart {
		wants = append(wants, "to be called before a container starts")
	}
	if d.Prefers {
		wants = append(wants, "to choose the devices")
	}
	f.add("wants", strings.Join(wants, ", "), style.Plain)
	f.add("allocated", style.Count(d.Given), style.Plain)
	var ids []string
	lines := []Text{}
	for _, at := range d.Holders {
		o := p.res.Owners[at]
		for j := range o.Devices {
			if h := &o.Devices[j]; h.Resource == d.Name {
				ids = append(ids, h.IDs...)
				if text := ownerName(o) + ": " + say.IDs(h.IDs, h.Count); h.Nodes != "" {
					lines = append(lines, Text{Line: p.Theme.Clean(text + ", NUMA node " + h.Nodes)})
				} else {
					lines = append(lines, Text{Line: p.Theme.Clean(text)})
				}
			}
		}
	}
	f.add("which", say.IDs(ids, cmp.Or(d.Given, len(ids))), style.Plain)
	if len(lines) > 0 {
		f.head("containers that have them: " + style.Count(len(lines)))
		f.lines = append(f.lines, lines[:min(len(lines), shownHolders)]...)
	}
	if more := len(lines) - shownHolders; more > 0 {
		f.lines = append(f.lines, Text{Line: fmt.Sprintf("and %s more", style.Count(more)), Tone: style.Dim})
	}
	name := p.Theme.Clean(d.Name)
	return send(Open{NewPager(p.Look, "device", name, f.lines).Of(shortResource(name))})
}
