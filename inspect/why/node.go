package why

import (
	"bufio"
	"cmp"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/kubeloupe/kubeloupe/inspect/cause"
	"github.com/kubeloupe/kubeloupe/inspect/model"
	"github.com/kubeloupe/kubeloupe/inspect/nodecause"
	"github.com/kubeloupe/kubeloupe/trace"
	"github.com/kubeloupe/kubeloupe/trace/human"
)

// NodeReport describes a node: how it is, why, and the figures that show it.
type NodeReport struct {
	Node  string          `json:"node,omitempty"`
	State nodecause.State `json:"state"`
	// Standalone says that the agent has no API server.
	Standalone bool `json:"standalone,omitempty"`
	// SeenBy says what the report is made from, where that is not an agent's own records.
	SeenBy []string `json:"seen_by,omitempty"`
	// Now is the time of the query, or of the last record.
	Now time.Time `json:"now"`
	// Cause is one sentence.
	Cause      string          `json:"cause"`
	Conditions []NodeCondition `json:"conditions,omitempty"`
	Figures    []Figure        `json:"figures"`
	Findings   []cause.Finding `json:"findings"`

	starts bool // the agent has not started yet
}

// NodeCondition is one of the node's conditions, as last written.
type NodeCondition struct {
	Type   string    `json:"type"`
	Status string    `json:"status"`
	Reason string    `json:"reason,omitempty"`
	At     time.Time `json:"at,omitzero"`
}

// Figure is one value that shows how a node is, for people.
type Figure struct {
	Name string `json:"name"`
	Text string `json:"text"`
}

// Node returns the report on a node.
func Node(in *nodecause.Input) *NodeReport {
	n := in.Model.Node()
	r := &NodeReport{
		Node: cmp.Or(n.Name, n.Described.Node), Standalone: n.Described.Standalone, Now: in.Now, Findings: nodecause.Find(in),
		Figures: figures(in, &n), starts: n.State == trace.AgentStarting,
	}
	if r.Findings == nil {
		r.Findings = []cause.Finding{} // an empty list in JSON too
	}
	r.State = nodecause.StateOf(in, r.Findings)
	for _, c := range in.Model.NodeConditions() {
		r.Conditions = append(r.Conditions, NodeCondition{c.Type, c.Status, c.Reason, c.At})
	}
	r.Cause = r.sentence()
	return r
}

// sentence is what leads, or that nothing is wrong.
func (r *NodeReport) sentence() string {
	switch {
	case len(r.Findings) > 0 && r.Findings[0].Current:
		return r.Findings[0].Sentence + "."
	case r.State == nodecause.Untold:
		return "no record shows how the node is: an agent publishes it, the log of a kubelet only says what fails."
	case r.State == nodecause.NotReady && r.starts:
		return "the agent is starting."
	case r.State == nodecause.NotReady:
		return "the agent waits for its first client certificate."
	case len(r.Findings) > 0:
		return "nothing is wrong with it now; in the last " + human.Duration(NodeWindow) + ": " + r.Findings[0].Sentence + "."
	case r.Standalone:
		return "nothing is wrong with it: the container runtime and the network are ready, and nothing is short."
	}
	return "nothing is wrong with it: the container runtime, the network, the API server, the lease and the certificates are in order, and nothing is short."
}

// NodeWindow is how far back a node's records explain how it is.
const NodeWindow = 10 * time.Minute

// Report is the report as conditions see it (--fail-on): of a node without a pod.
func (r *NodeReport) Report() *Report {
	return &Report{Pod: trace.Pod{Namespace: "_", Name: "node"}, Node: true, Stage: cause.Up, Now: r.Now, Findings: r.Findings, Cause: r.Cause}
}

// is says how the node is, in a few words.
func (r *NodeReport) is() string {
	ready := "Ready"
	if r.Standalone { // it has no such condition
		ready = "ready"
	}
	switch r.State {
	case nodecause.NotReady:
		return "is not " + ready
	case nodecause.Unknown:
		return "is Unknown to the control plane"
	case nodecause.Cut:
		return "is " + ready + ", without the API server"
	case nodecause.Pressed:
		return "is " + ready + ", and under pressure"
	case nodecause.Slow:
		return "is " + ready + ", and slow"
	case nodecause.Untold:
		return "is not described"
	case nodecause.Ready:
	}
	return "is " + ready
}

// Title is how the node is, on one line.
func (r *NodeReport) Title() string {
	return "node " + human.Line(cmp.Or(r.Node, "(unknown)")) + " " + r.is()
}

// NodeText writes the report in plain text, without escape codes.
func NodeText(out io.Writer, r *NodeReport, opt TextOptions) error {
	b := bufio.NewWriter(out)
	p := newPage(b, opt)
	p.wrapped("", r.Title())
	p.line("")
	p.wrapped("Why      ", r.Cause)
	p.line("As of    %s", p.day(r.Now))
	if len(r.Conditions) > 0 {
		p.head(fmt.Sprintf("%-16s %-8s %-28s %s", "CONDITION", "STATUS", "REASON", "WRITTEN"))
		for _, c := range r.Conditions {
			p.line("%-16s %-8s %-28s %s ago", c.Type, c.Status, cmp.Or(human.Line(c.Reason), "-"), human.Duration(r.Now.Sub(c.At)))
		}
	}
	p.head("FIGURES")
	width := 12
	for _, f := range r.Figures {
		width = max(width, len(f.Name))
	}
	for _, f := range r.Figures {
		p.wrapped(fmt.Sprintf("  %-*s ", width, f.Name), f.Text)
	}
	if len(r.Findings) == 0 {
		p.line("\nNo named cause was found.")
	} else {
		p.head("CAUSES")
	}
	for i := range r.Findings {
		f := &r.Findings[i]
		p.finding(f, lasts(f))
	}
	p.again(r.Title(), r.Cause)
	return b.Flush()
}

// NodeShort writes three lines: how the node is, why, and what to do.
func NodeShort(out io.Writer, r *NodeReport) error {
	var lead *cause.Finding
	if len(r.Findings) > 0 && r.Findings[0].Current {
		lead = &r.Findings[0]
	}
	return three(out, r.Title(), r.Cause, lead, nil, r.Now)
}

// lasts says for how long a finding has been so, or was.
func lasts(f *cause.Finding) string {
	var said []string
	if f.Cost > 0 {
		said = append(said, human.Duration(f.Cost))
	}
	if f.Current {
		return strings.Join(append(said, "ongoing"), ", ")
	}
	return strings.Join(append(said, "over"), ", ")
}

// figures are what shows how a node is: well, too.
func figures(in *nodecause.Input, n *model.Node) (out []Figure) {
	add := func(name, text string) {
		if text != "" {
			out = append(out, Figure{name, text})
		}
	}
	ago := func(t time.Time) string { return human.Duration(max(in.Now.Sub(t), 0)) + " ago" }
	if n.State != "" {
		add("Agent", strings.TrimSpace(fmt.Sprintf("%s for %s, version %s", n.State, human.Duration(in.Now.Sub(n.StateAt)), cmp.Or(n.Version, "unknown"))))
	}
	add("Runtime", strings.TrimSpace(n.Runtime+" "+n.RuntimeVersion))
	if !n.LastRelist.IsZero() {
		add("PLEG", "last relist "+ago(n.LastRelist))
	}
	if !n.LastLoop.IsZero() {
		add("syncLoop", "last iteration ended "+ago(n.LastLoop)+slowest(in.Model.Loops()))
	}
	if a := in.Model.API(); !a.OK.IsZero() {
		add("API server", fmt.Sprintf("last answer %s, %d requests failed of %d", ago(a.OK), a.Errors, a.Calls))
	}
	if o := in.Model.NodeObject(); !o.Lease.IsZero() {
		add("Lease", "renewed "+ago(o.Lease))
	}
	certs := in.Model.Certificates()
	for i := range certs {
		switch c := &certs[i]; {
		case c.Awaited:
			why, _ := nodecause.Awaits(in.Model, c)
			add(string(c.Use)+" cert", "awaited for "+human.Duration(max(in.Now.Sub(c.At), 0))+": "+human.Line(why))
		case c.None == "":
			text := "valid for " + human.Duration(c.NotAfter.Sub(in.Now))
			if !c.Renew.IsZero() {
				text += ", renewed in " + human.Duration(c.Renew.Sub(in.Now))
			}
			add(string(c.Use)+" cert", text)
		}
	}
	usage := in.Model.Pressure()
	for i := range usage {
		text := nodecause.Room(&usage[i])
		if t := nodecause.Threshold(&usage[i]); t != "" {
			text += "; " + t
		}
		add(string(usage[i].Signal), text)
	}
	if u := &n.Usage; u.Interval > 0 {
		add("stalled", stalls(u))
	}
	c := in.Model.Counts()
	add("pods", fmt.Sprintf("%d, of them %d ready", c.Total, c.Ready))
	return out
}

// slowest says how long the slowest of the kept iterations took.
func slowest(loops []model.Loop) string {
	var most time.Duration
	for i := range loops {
		most = max(most, loops[i].Dur)
	}
	if most == 0 {
		return ""
	}
	return fmt.Sprintf(", the slowest of the last %d took %s", len(loops), human.Duration(most))
}

// stalls says how long tasks stalled in the last interval, for each resource.
func stalls(u *model.Usage) string {
	var said []string
	for _, s := range u.Stalls {
		said = append(said, fmt.Sprintf("%s %s", s.Resource, human.Percent(100*float64(s.Some)/float64(u.Interval))))
	}
	if len(said) == 0 {
		return ""
	}
	return strings.Join(said, ", ") + " of the last " + human.Duration(u.Interval)
}
