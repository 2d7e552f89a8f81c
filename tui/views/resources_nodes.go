package views

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	tea "charm.land/bubbletea/v2"

	"github.com/kubeloupe/kubeloupe/inspect/model"
	"github.com/kubeloupe/kubeloupe/trace"
	"github.com/kubeloupe/kubeloupe/trace/fit"
	"github.com/kubeloupe/kubeloupe/trace/say"
	"github.com/kubeloupe/kubeloupe/tui/style"
	"github.com/kubeloupe/kubeloupe/tui/table"
)

const (
	// leastBar is the least width of a bar, mostBar the largest: a cell for each CPU of most nodes.
	leastBar, mostBar = 8, 64
	// wideBar is the width that a bar has before the list of exclusive CPUs is shown.
	wideBar = 24
	// ownCPUsWidth is the width of the list of exclusive CPUs, and ownCPUsMore how much more it gets before the bar is wider.
	ownCPUsWidth, ownCPUsMore = 14, 12
)

// The widths of a table of NUMA nodes with the least bar: with all columns, without the list of exclusive CPUs, without the total, and
// without the reserved amount.
const (
	allNodeColumns = noCPUList + ownCPUsWidth + 1
	noCPUList      = noTotal + 9
	noTotal        = noReserved + 9
	noReserved     = 4 + 13 + leastBar + 9 + 8 + 5
)

// barWidth is the width of the bars in a table of w columns.
func barWidth(w int) int {
	rest := w - noReserved
	switch {
	case w >= allNodeColumns+wideBar-leastBar:
		rest = w - allNodeColumns
		rest -= min(rest/2, ownCPUsMore)
	case w >= noCPUList:
		rest = w - noCPUList
	case w >= noTotal:
		rest = w - noTotal
	}
	return min(leastBar+max(rest, 0), mostBar)
}

// nodeRow is one resource of a NUMA node: its CPUs, memory or huge pages.
type nodeRow struct {
	node     int
	resource string
	cpus     []model.CPU // of CPUs
	memory   model.NUMAMemory
}

func nodeRows(r *model.Resources) (out []nodeRow) {
	for i := range r.NUMA {
		n := &r.NUMA[i]
		if len(n.CPUs) > 0 {
			out = append(out, nodeRow{node: n.ID, resource: "cpu", cpus: n.CPUs})
		}
		for _, m := range n.Memory {
			out = append(out, nodeRow{node: n.ID, resource: m.Resource, memory: m})
		}
	}
	return out
}

// figures are how much of the resource is reserved, allocated to containers, and free; in CPUs or bytes. known is false if there are no
// figures because no manager gives it away.
func (r *nodeRow) figures() (reserved, own, free int64, known bool) {
	if r.resource != "cpu" {
		return int64(r.memory.Reserved), int64(r.memory.Own), int64(r.memory.Free), r.memory.Managed
	}
	for _, c := range r.cpus {
		switch c.Use {
		case model.CPUReserved:
			reserved++
		case model.CPUExclusive:
			own++
		case model.CPUShared:
			free++
		}
	}
	return reserved, own, free, true
}

// amount writes a figure of the resource.
func (r *nodeRow) amount(n int64) string {
	if r.resource == "cpu" {
		return style.Count(n)
	}
	return style.Bytes(n)
}

func (p *Resources) newNodes() {
	p.nodes = list[*nodeRow]{Look: p.Look}
	p.nodes.tbl = newTable(p.Look, table.Config[*nodeRow]{
		Columns: p.nodeColumns(),
		ID:      func(r *nodeRow) string { return strconv.Itoa(r.node) + r.resource },
		Text:    func(r *nodeRow) string { return strconv.Itoa(r.node) + " " + r.resource + " " + p.ownCPUs(r) },
		Empty:   "these records do not say how CPUs and memory are arranged",
	})
	p.nodes.open = p.nodeDetails
}

func (p *Resources) nodeColumns() []table.Column[*nodeRow] {
	known := func(r *nodeRow) bool {
		_, _, _, known := r.figures()
		return known
	}
	figure := func(title string, width, drop int, known func(*nodeRow) bool, of func(reserved, own, free int64) int64) table.Column[*nodeRow] {
		c := number(title, width, drop, func(r *nodeRow) int64 {
			reserved, own, free, _ := r.figures()
			return of(reserved, own, free)
		}, nil)
		c.Cell = func(r *nodeRow) table.Cell {
			reserved, own, free, _ := r.figures()
			if n := of(reserved, own, free); known(r) {
				return table.Cell{Text: r.amount(n), Tone: toneIf(n == 0, style.Dim)}
			}
			return table.Cell{Text: style.Unknown, Tone: style.Dim}
		}
		return c
	}
	use := table.Column[*nodeRow]{Title: "use", Width: leastBar, Whole: wideBar, Flex: 1, Cell: p.use}
	own := text("exclusive cpus", ownCPUsWidth, 1, 3, p.ownCPUs)
	own.Compare = nil
	return []table.Column[*nodeRow]{
		{
			Title: "numa", Width: 4, Cell: func(r *nodeRow) table.Cell { return table.Cell{Text: numaName(r.node)} },
			Compare: func(a, b *nodeRow) int { return cmp.Compare(a.node, b.node) }, Figure: func(r *nodeRow) float64 { return float64(r.node) },
		},
		text("resource", 13, 0, 0, func(r *nodeRow) string { return p.Theme.Clean(r.resource) }),
		use,
		figure("reserved", 8, 1, func(r *nodeRow) bool { return known(r) && p.reservedKnown(r) }, func(reserved, _, _ int64) int64 { return reserved }),
		figure("allocated", 9, 0, known, func(_, own, _ int64) int64 { return own }),
		figure("free", 8, 0, known, func(_, _, free int64) int64 { return free }),
		{
			Title: "total", Width: 8, Right: true, Drop: 2, Cell: func(r *nodeRow) table.Cell {
				if r.resource != "cpu" && !r.memory.TotalKnown() {
					return table.Cell{Text: style.Unknown, Tone: style.Dim}
				}
				return table.Cell{Text: r.amount(r.total())}
			},
			Figure: func(r *nodeRow) float64 { return float64(r.total()) },
		},
		own,
	}
}

// reservedKnown reports whether it is known how much of the resource is reserved.
func (p *Resources) reservedKnown(r *nodeRow) bool {
	if r.resource == "cpu" {
		return p.res.ReservedKnown()
	}
	return r.memory.TotalKnown()
}

// numaName is the number of a NUMA node.
func numaName(id int) string {
	if id == model.Anywhere {
		return style.Unknown
	}
	return strconv.Itoa(id)
}

func (r *nodeRow) total() int64 {
	if r.resource == "cpu" {
		return int64(len(r.cpus))
	}
	return int64(r.memory.Total)
}

// ownCPUs are the CPUs that containers have for themselves.
func (p *Resources) ownCPUs(r *nodeRow) string {
	own := map[int]bool{}
	for _, c := range r.cpus {
		if c.Use == model.CPUExclusive {
			own[c.ID] = true
		}
	}
	return model.FormatCPUs(own)
}

// use draws who uses a resource: of CPUs a cell for each, if there is room.
func (p *Resources) use(r *nodeRow) table.Cell {
	if r.resource == "cpu" {
		return cellOf(p.cpuBar(r.cpus))
	}
	return cellOf(p.memoryBar(r))
}

// cellOf joins cells of the same tone.
func cellOf(cells []table.Cell) (out table.Cell) {
	for _, c := range cells {
		out.Text += c.Text
		if n := len(out.Parts); n > 0 && out.Parts[n-1].Tone == c.Tone {
			out.Parts[n-1].Text += c.Text
			continue
		}
		out.Parts = append(out.Parts, c)
	}
	return out
}

// cpuBar draws CPUs in ascending order; several in one cell if there are more than cells.
func (p *Resources) cpuBar(cpus []model.CPU) (out []table.Cell) {
	mine := p.selectedOwner()
	each := max((len(cpus)+p.bar-1)/p.bar, 1)
	for group := range slices.Chunk(cpus, each) {
		out = append(out, p.cpuCell(group, mine))
	}
	return out
}

// cpuCell draws CPUs as the use that most of them have.
func (p *Resources) cpuCell(group []model.CPU, mine int) table.Cell {
	var reserved, own int
	selected := false
	for _, c := range group {
		switch c.Use {
		case model.CPUReserved:
			reserved++
		case model.CPUExclusive:
			own++
			selected = selected || p.res.Has(mine, c)
		case model.CPUShared:
		}
	}
	g := &p.Theme.Glyphs
	switch free := len(group) - reserved - own; {
	case selected:
		return table.Cell{Text: p.chosen(), Tone: style.Accent}
	case own > 0 && own >= reserved && own >= free:
		return table.Cell{Text: g.Full, Tone: style.Strong}
	case reserved > 0 && reserved >= free:
		return table.Cell{Text: g.Set, Tone: style.Dim}
	}
	return table.Cell{Text: g.Empty, Tone: style.Dim}
}

// memoryBar draws what is reserved, what containers have, and what is free of a NUMA node's memory.
func (p *Resources) memoryBar(r *nodeRow) []table.Cell {
	reserved, own, free, known := r.figures()
	sum := reserved + own + free
	switch {
	case !known:
		return []table.Cell{{Text: p.notManaged(), Tone: style.Dim}}
	case sum <= 0:
		return []table.Cell{{Text: "none", Tone: style.Dim}}
	}
	of := func(n int64) int {
		if n <= 0 {
			return 0
		}
		return max(int(float64(n)/float64(sum)*float64(p.bar)+0.5), 1)
	}
	g := &p.Theme.Glyphs
	set, full := of(reserved), of(own)
	full = min(full, p.bar-min(set, p.bar))
	mine := min(of(p.selectedBytes(r.node, r.resource)), full)
	return []table.Cell{
		{Text: strings.Repeat(g.Set, set), Tone: style.Dim},
		{Text: strings.Repeat(p.chosen(), mine), Tone: style.Accent},
		{Text: strings.Repeat(g.Full, full-mine), Tone: style.Strong},
		{Text: strings.Repeat(g.Empty, max(p.bar-set-full, 0)), Tone: style.Dim},
	}
}

// notManaged says that containers cannot have memory for themselves, as long as the column of bars has room.
func (p *Resources) notManaged() string {
	policy := p.Theme.Clean(cmp.Or(p.res.MemoryPolicy, "not known"))
	for _, text := range []string{"not managed: memoryManagerPolicy is " + policy, "memory manager: " + policy, "policy " + policy} {
		if fit.Width(text) <= p.bar {
			return text
		}
	}
	return policy
}

// chosen is the glyph for what the selected container has.
func (p *Resources) chosen() string {
	if p.Theme.Colored() {
		return p.Theme.Glyphs.Full
	}
	return p.Theme.Glyphs.Chosen
}

// selectedOwner is the index of the container under the cursor; -1 if that is elsewhere.
func (p *Resources) selectedOwner() int {
	o, ok := p.owners.tbl.Selected()
	if p.at != paneOwners || !ok {
		return -1
	}
	return slices.IndexFunc(p.res.Owners, func(other *model.Owner) bool { return other == o })
}

// selectedBytes is how much of a NUMA node's memory the container under the cursor has, if it has it from that node alone.
func (p *Resources) selectedBytes(node int, resource string) int64 {
	o, ok := p.owners.tbl.Selected()
	if p.at != paneOwners || !ok || o.Memory == nil {
		return 0
	}
	for _, m := range o.Memory.Memory {
		if m.Resource == resource && m.Nodes == strconv.Itoa(node) {
			return int64(m.Bytes)
		}
	}
	return 0
}

// nodeDetails opens all that is known of a NUMA node.
func (p *Resources) nodeDetails(r *nodeRow) tea.Cmd {
	f := facts{th: p.Theme}
	i := slices.IndexFunc(p.res.NUMA, func(n model.NUMANode) bool { return n.ID == r.node })
	if i < 0 {
		return nil
	}
	n := &p.res.NUMA[i]
	f.add("CPUs", listOf(n.CPUs, func(model.CPU) bool { return true }), style.Plain)
	if p.res.ReservedKnown() {
		f.add("reserved", listOf(n.CPUs, func(c model.CPU) bool { return c.Use == model.CPUReserved }), style.Plain)
	} else {
		f.add("reserved", "not known", style.Dim)
	}
	f.add("shared", listOf(n.CPUs, func(c model.CPU) bool { return c.Use == model.CPUShared }), style.Plain)
	f.add("exclusive", listOf(n.CPUs, func(c model.CPU) bool { return c.Use == model.CPUExclusive }), style.Plain)
	if list := listOf(n.CPUs, func(c model.CPU) bool { return c.Use == model.CPUExclusive && c.Owner < 0 }); list != "" {
		f.add("not known", list+" (exclusive; no record says which container has them)", style.Slow)
	}
	for _, m := range n.Memory {
		row := nodeRow{node: n.ID, resource: m.Resource, memory: m}
		reserved, own, free, known := row.figures()
		text := m.Resource + " " + style.Bytes(int64(m.Total))
		switch {
		case known && !m.TotalKnown():
			text = fmt.Sprintf("%s: allocated %s, free %s; how much is reserved is not known", m.Resource, style.Bytes(own), style.Bytes(free))
		case known:
			text += fmt.Sprintf(": reserved %s, allocated %s, free %s", style.Bytes(reserved), style.Bytes(own), style.Bytes(free))
		}
		if m.Pages > 0 {
			text += fmt.Sprintf(", huge pages %s", style.Bytes(int64(m.Pages)))
		}
		f.add("memory", text, style.Plain)
	}
	f.head("containers with something of it")
	none := true
	for j := range p.res.Owners {
		if text := p.ofNode(n, j); text != "" {
			f.lines, none = append(f.lines, Text{Line: p.Theme.Clean(text), Indent: 2}), false
		}
	}
	if none {
		f.lines = append(f.lines, Text{Line: "none", Tone: style.Dim})
	}
	name := "NUMA node " + numaName(n.ID)
	return send(Open{NewPager(p.Look, "node", name, f.lines).Of(name)})
}

// ofNode says what a container has of a NUMA node; "" if nothing.
func (p *Resources) ofNode(n *model.NUMANode, owner int) string {
	o, node := p.res.Owners[owner], strconv.Itoa(n.ID)
	var has []string
	if cpus := listOf(n.CPUs, func(c model.CPU) bool { return p.res.Has(owner, c) }); cpus != "" {
		has = append(has, "CPUs "+cpus)
	}
	within := func(nodes string) bool { return slices.Contains(model.CPUList(nodes), n.ID) }
	if o.Memory != nil {
		for _, m := range o.Memory.Memory {
			if text := style.Bytes(int64(m.Bytes)) + " of " + m.Resource; within(m.Nodes) {
				if m.Nodes != node {
					text += " with NUMA nodes " + m.Nodes
				}
				has = append(has, text)
			}
		}
	}
	for i := range o.Devices {
		if d := &o.Devices[i]; within(d.Nodes) {
			has = append(has, deviceText(d))
		}
	}
	if len(has) == 0 {
		return ""
	}
	return ownerName(o) + ": " + strings.Join(has, ", ")
}

func listOf(cpus []model.CPU, is func(model.CPU) bool) string {
	out := map[int]bool{}
	for _, c := range cpus {
		if is(c) {
			out[c.ID] = true
		}
	}
	return model.FormatCPUs(out)
}

// deviceText is a container's devices of one resource.
func deviceText(d *trace.DeviceAllocation) string {
	return fmt.Sprintf("%d %s: %s", d.Count, d.Resource, say.IDs(d.IDs, d.Count))
}
