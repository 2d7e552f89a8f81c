package views

import (
	"cmp"
	"strings"
	"time"

	"charm.land/bubbles/v2/key"

	"github.com/kubeloupe/kubeloupe/inspect/model"
	"github.com/kubeloupe/kubeloupe/inspect/query"
	"github.com/kubeloupe/kubeloupe/trace"
	"github.com/kubeloupe/kubeloupe/trace/fit"
	"github.com/kubeloupe/kubeloupe/trace/say"
	"github.com/kubeloupe/kubeloupe/tui/keys"
	"github.com/kubeloupe/kubeloupe/tui/style"
)

// Resources shows which CPUs, memory and devices of the machine containers have for themselves: the NUMA nodes, the refused pods, the
// resources of device plugins, the ResourceClaims, and the containers. All are tables that are always in sight; one of them has the cursor.
type Resources struct {
	Look
	acts
	next    key.Binding
	w, h    int
	bar     int // columns of the bars of NUMA nodes
	filter  *query.Filter
	res     *model.Resources
	foreign bool // another kubelet's
	now     time.Time

	nodes   list[*nodeRow]
	refused list[*model.Refusal]
	devices list[*model.DeviceResource]
	claims  list[*model.Claim]
	owners  list[*model.Owner]
	rows    struct {
		nodes   held[nodeRow]
		refused held[model.Refusal]
		devices held[model.DeviceResource]
	}
	panes []pane
	notes []string // below the claims: errors that the table cuts
	at    int      // the pane with the cursor
	moved bool     // the user has chosen it
}

// pane is one of the tables.
type pane struct {
	stacked
	title string
	most  int // rows before the other panes get theirs
	from  int // the line where it is drawn, and how many lines it has; 0: it is not drawn
	lines int
}

// stacked is a list among others.
type stacked interface {
	part
	blur(bool)
	ends() (first, last bool)
	home()
	end()
	subject() trace.Pod
}

func (l *list[R]) blur(b bool)              { l.tbl.Blur(b) }
func (l *list[R]) ends() (first, last bool) { return l.tbl.Ends() }
func (l *list[R]) home()                    { l.tbl.Home() }
func (l *list[R]) end()                     { l.tbl.End() }

// subject is the pod of the selected row; zero if it is about none.
func (l *list[R]) subject() (pod trace.Pod) {
	if row, ok := l.tbl.Selected(); ok && l.pod != nil {
		return l.pod(row)
	}
	return pod
}

// The panes, in the order in which they are drawn.
const (
	paneNodes = iota
	paneRefused
	paneDevices
	paneClaims
	paneOwners
)

// NewResources returns the page.
func NewResources(look Look) *Resources {
	p := &Resources{Look: look, acts: newActs(look), next: keys.Of("next table", "m"), res: &model.Resources{}}
	p.newNodes()
	p.newRefused()
	p.newDevices()
	p.newClaims()
	p.newOwners()
	p.panes = []pane{
		paneNodes:   {stacked: &p.nodes, title: "NUMA nodes", most: 6},
		paneRefused: {stacked: &p.refused, title: "refused pods", most: 3},
		paneDevices: {stacked: &p.devices, title: "devices", most: 4},
		paneClaims:  {stacked: &p.claims, title: "claims", most: 4},
		paneOwners:  {stacked: &p.owners, title: "containers", most: 4},
	}
	return p
}

// Name implements Page.
func (*Resources) Name() string { return "Resources" }

// Refresh implements Page.
func (p *Resources) Refresh(f Frame) {
	p.now, p.foreign = f.Now, f.Model.Node().SeenBy.Foreign()
	if res := f.Model.Resources(); res != p.res {
		p.res = res
		p.nodes.tbl.SetRows(p.rows.nodes.set(nodeRows(res)))
		p.refused.tbl.SetRows(p.rows.refused.set(res.Refused))
		p.devices.tbl.SetRows(p.rows.devices.set(res.Devices))
		p.claims.tbl.SetRows(res.Claims)
		p.owners.tbl.SetRows(res.Owners)
	}
	p.lay()
}

// SetSize implements Page.
func (p *Resources) SetSize(w, h int) {
	p.w, p.h = w, h
	p.lay()
	p.bar = barWidth(w - p.sides())
}

// SetFilter implements Page.
func (p *Resources) SetFilter(q *query.Filter) {
	p.filter = q
	for i := range p.panes {
		p.panes[i].SetFilter(q)
	}
	p.lay()
}

// Fields implements Fielder: those of all tables.
func (p *Resources) Fields() (out query.Fields) {
	at := map[string]int{}
	for i := range p.panes {
		for _, f := range p.panes[i].Fields().All {
			if k, has := at[f.Name]; has {
				out.All[k].Kind |= f.Kind
				continue
			}
			at[f.Name] = len(out.All)
			out.All = append(out.All, f)
		}
	}
	return out
}

// Counts returns how many rows are shown and how many there are.
func (p *Resources) Counts() (shown, all int) {
	for i := range p.panes {
		s, a := p.panes[i].Counts()
		shown, all = shown+s, all+a
	}
	return shown, all
}

// Panels implements Paneled: each table has one.
func (p *Resources) Panels() {}

// Copy implements Copier.
func (p *Resources) Copy() (text, what string) { return p.panes[p.at].Copy() }

// ChosenPod implements Chooser.
func (p *Resources) ChosenPod() trace.Pod {
	if p.at == paneOwners {
		return p.owners.ChosenPod()
	}
	return p.panes[p.at].subject()
}

// ChoosePod implements Chooser.
func (p *Resources) ChoosePod(pod trace.Pod) bool {
	for _, c := range []struct {
		at  int
		has func(trace.Pod) bool
	}{{paneRefused, p.refused.ChoosePod}, {paneOwners, p.owners.ChoosePod}, {paneClaims, p.claims.ChoosePod}} {
		if c.has(pod) {
			p.focus(c.at)
			return true
		}
	}
	return false
}

// Keys implements Page.
func (p *Resources) Keys() []key.Binding {
	return append(append(p.panes[p.at].Keys(), p.next), p.acts.keys()...)
}

// Hints are the keys of this page worth a reminder.
func (*Resources) Hints() string { return "m next table  w why" }

// head is the line above the tables: the policies, and what the bars consist of.
func (p *Resources) head() string {
	th := p.Theme
	legend := []span{
		{text: th.Glyphs.Set, tone: style.Dim},
		{text: " reserved ", tone: style.Dim},
		{text: th.Glyphs.Full, tone: style.Strong},
		{text: " exclusive ", tone: style.Dim},
		{text: th.Glyphs.Empty, tone: style.Dim},
		{text: " free", tone: style.Dim},
	}
	n := 0
	for _, s := range legend {
		n += fit.Width(s.text)
	}
	text := p.policies()
	room := p.w - n - 4
	if room < 20 {
		return paintRow(th, []span{{text: text, tone: style.Dim}}, p.w, false)
	}
	return paintRow(th, append([]span{{text: th.Left(text, room) + "  ", tone: style.Dim}}, legend...), p.w, false)
}

// policies says by which rules containers get something for themselves.
func (p *Resources) policies() string {
	r := p.res
	switch {
	case r.At.IsZero() && p.foreign:
		return "what this kubelet gave to containers is not known"
	case r.At.IsZero():
		return "policies: " + say.Untold
	}
	policy := func(what, is string) string { return what + " " + cmp.Or(is, "policy not known") }
	out := []string{policy("CPU", r.CPUPolicy), policy("memory", r.MemoryPolicy)}
	topology := policy("topology", r.TopologyPolicy)
	if r.Scope != "" {
		topology += " by " + r.Scope
	}
	if r.Assumed {
		topology += ", one NUMA node is assumed"
	}
	if out = append(out, topology); r.Options != "" {
		out = append(out, strings.ReplaceAll(r.Options, ",", ", "))
	}
	return p.Theme.Clean(strings.Join(out, ", "))
}
