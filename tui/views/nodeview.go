package views

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/kubeloupe/kubeloupe/inspect/model"
	"github.com/kubeloupe/kubeloupe/trace"
	"github.com/kubeloupe/kubeloupe/trace/fit"
	"github.com/kubeloupe/kubeloupe/trace/say"
	"github.com/kubeloupe/kubeloupe/tui/style"
)

// Node shows the node as the agent has it: its object in the API, the API server, the runtime, the machine.
type Node struct {
	board
	now time.Time
}

// The shares of the time from which on the processors are busy, and tasks stall for long.
const (
	busyLimit  = 0.9
	stallLimit = 0.2
)

// NewNode returns the page.
func NewNode(look Look) *Node { return &Node{board: board{Look: look}} }

// Name implements Page.
func (*Node) Name() string { return "Node" }

// Refresh implements Page.
func (p *Node) Refresh(f Frame) {
	p.now = f.Now
	n := f.Model.Node()
	if n.Records == 0 {
		p.set([]section{{title: "node", facts: []fact{{value: cmp.Or(p.Scene.Note, "waiting for the first event"), tone: style.Dim}}}})
		return
	}
	all := []section{p.agent(&n), p.what(&n), p.object(f.Model), p.server(f.Model), p.runtime(&n, f.Model), p.machine(&n, f.Model)}
	if !n.SeenBy.Foreign() { // another kubelet has no slots
		all = append(all, p.slots(f.Model))
	}
	p.set(append(all, p.certificates(f.Model)))
}

// ownOr is what is true of the agent; of another kubelet, silence says nothing.
func ownOr(m *model.Model, text string) string {
	if m.Node().SeenBy.Foreign() {
		return "these records do not say"
	}
	return text
}

// ago writes how long ago something was, "" for what was not.
func (p *Node) ago(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return style.Age(max(p.now.Sub(t), 0)) + " ago"
}

func (p *Node) agent(n *model.Node) section {
	th, s, program := p.Theme, section{title: "agent"}, "kubeloupe"
	if n.SeenBy.Foreign() {
		s.title, program = "kubelet", "version"
	}
	s.add("node", th.Clean(n.Name), style.Strong)
	tone := style.Plain
	if n.State == trace.AgentDegraded || n.State == trace.AgentStopping || n.State == trace.AgentStopped {
		tone = style.Slow
	}
	s.add("state", th.Clean(strings.TrimSuffix(string(n.State)+": "+n.Reason, ": ")), tone)
	s.may("shutdown", p.shutdown(&n.Shutdown), style.Fail)
	version := th.Clean(n.Version)
	if n.PID != 0 {
		version = strings.TrimPrefix(fmt.Sprintf("%s, process %d", version, n.PID), ", ")
	}
	s.add(program, version, style.Plain)
	up := ""
	if !n.Since.IsZero() {
		up = style.Age(max(p.now.Sub(n.Since), 0)) + ", since " + style.Clock(n.Since)
	}
	s.add("up", up, style.Plain)
	s.add("loop", p.ago(n.LastLoop), style.Plain)
	s.add("events", fmt.Sprintf("%s seen, the last #%s", style.Count(n.Records), style.Count(n.LastSeq)), style.Plain)
	if n.Lost > 0 {
		s.add("lost", style.Count(n.Lost)+" events that this screen dropped, "+p.ago(n.LostAt), style.Slow)
	}
	return s
}

// shutdown says how far a graceful shutdown is, "" if there is none.
func (p *Node) shutdown(sh *model.Shutdown) string {
	if sh.Since.IsZero() {
		return ""
	}
	text := "the machine is about to shut down, announced " + p.ago(sh.Since)
	switch {
	case sh.Released:
		text = "the machine shuts down, announced " + p.ago(sh.Since)
	case sh.Group > 0:
		text += fmt.Sprintf("; the pods of group %d of %d terminate", sh.Group, sh.Groups)
	}
	if sh.Overran > 0 {
		text += fmt.Sprintf("; %d had not terminated in time", sh.Overran)
	}
	return text
}

func (p *Node) runtime(n *model.Node, m *model.Model) section {
	th, s := p.Theme, section{title: "container runtime"}
	name := strings.TrimSpace(n.Runtime + " " + n.RuntimeVersion)
	if n.Simulated {
		name = strings.TrimSpace(name + " (simulated: no real container runs)")
	}
	s.add("runtime", th.Clean(name), style.Plain)
	s.add("endpoint", th.Clean(n.Endpoint), style.Plain)
	mode := string(n.PLEGMode)
	if n.PLEGReason != "" {
		mode += ": " + n.PLEGReason
	}
	s.add("PLEG", th.Clean(mode), toneIf(n.PLEGMode == trace.PLEGRelists, style.Slow))
	s.add("relist", p.ago(n.LastRelist), style.Plain)
	p.handlers(&s, &n.Handlers)
	open := m.InFlight()
	text := "none"
	if len(open) > 0 {
		text = fmt.Sprintf("%d, the oldest %s for %s", len(open), th.Clean(open[0].Method), style.Age(open[0].Age(p.now)))
	}
	s.add("calls open", text, style.Plain)
	calls, failed := 0, 0
	for _, c := range m.Methods(p.now) {
		calls, failed = calls+c.Count, failed+c.Errors
	}
	s.add("last minute", fmt.Sprintf("%s calls, %s failed", style.Count(calls), style.Count(failed)), toneIf(failed > 0, style.Slow))
	return s
}

func (p *Node) machine(n *model.Node, m *model.Model) section {
	who := "agent"
	if n.SeenBy.Foreign() {
		who = "kubelet"
	}
	s, u := section{title: "machine and " + who}, &n.Usage
	if u.At.IsZero() || u.Interval <= 0 {
		s.add("", "the "+who+"'s usage is not known yet", style.Dim)
		return s
	}
	part := func(d time.Duration) string { return fmt.Sprintf("%.1f%%", 100*d.Seconds()/u.Interval.Seconds()) }
	s.add("CPUs", strings.TrimPrefix(style.Count(u.CPUs), "0"), style.Plain)
	if u.CPUs > 0 && u.Busy > 0 {
		busy := u.Busy.Seconds() / u.Interval.Seconds() / float64(u.CPUs)
		s.add("busy", p.Theme.Gauge(busy, 1, 10, busyLimit)+fmt.Sprintf(" %.0f%% of all", 100*busy), toneIf(busy > busyLimit, style.Slow))
	} else {
		s.add("busy", "", style.Dim)
	}
	for _, r := range []trace.Resource{trace.ResourceCPU, trace.ResourceMemory, trace.ResourceIO} {
		i := slices.IndexFunc(u.Stalls, func(st trace.Stall) bool { return st.Resource == r })
		text, tone := "", style.Plain
		if i >= 0 {
			st := u.Stalls[i]
			text = p.Theme.Gauge(st.Some.Seconds(), u.Interval.Seconds(), 10, stallLimit*u.Interval.Seconds()) + " " + part(st.Some) + " some, " + part(st.Full) + " full"
			tone = toneIf(st.Some.Seconds() > stallLimit*u.Interval.Seconds(), style.Slow)
		}
		s.add("PSI "+string(r), text, tone)
		if i >= 0 && p.Scene.Panels {
			s.add("", fit.Spaces(boardLabel)+p.stalled(m, r), style.Dim)
		}
	}
	s.add(who+" CPU", part(u.CPU)+" of one", style.Plain)
	delay := ""
	if u.RunDelay > 0 {
		delay = part(u.RunDelay) + " of the time runnable without a CPU"
	}
	s.add("run delay", delay, toneIf(u.RunDelay > u.Interval/10, style.Slow))
	s.add(who+" memory", style.Bytes(u.RSS), style.Plain)
	s.add("goroutines", strings.TrimPrefix(style.Count(u.Goroutines), "0"), style.Plain)
	s.add("measured", p.ago(u.At)+", over "+style.Dur(u.Interval), style.Dim)
	return s
}

// stalled draws how much tasks stalled for a resource in the last minutes.
func (p *Node) stalled(m *model.Model, r trace.Resource) string {
	figures := slots()
	for u := range m.UsageHistory() {
		i := slices.IndexFunc(u.Stalls, func(st trace.Stall) bool { return st.Resource == r })
		if i >= 0 && u.Interval > 0 {
			figures.add(p.now, u.At, 0, u.Stalls[i].Some.Seconds()/u.Interval.Seconds())
		}
	}
	return p.Theme.Spark(figures, stallLimit) + " in " + style.Dur(buckets*bucket)
}

// slots tells who waits for a place among the calls to the runtime.
func (p *Node) slots(m *model.Model) section {
	s := section{title: "queue for the runtime"}
	var waiting int
	var oldest model.Wait
	var who trace.Pod
	for _, pod := range m.Pods() {
		for _, w := range pod.Waits {
			if w.For != trace.WaitQueue || waterfallStatus(&w) {
				continue
			}
			waiting++
			if oldest.Since.IsZero() || w.Since.Before(oldest.Since) {
				oldest, who = w, pod.Key
			}
		}
	}
	if waiting == 0 {
		s.add("", "no pod waits for one of the runtime's slots", style.Dim)
		return s
	}
	s.add("waiting", fmt.Sprintf("%d, the longest %s for %s", waiting, p.Theme.Clean(who.String()), style.Age(p.now.Sub(oldest.Since))), style.Slow)
	s.may("slots", p.Theme.Clean(oldest.Detail()), style.Plain)
	s.may("the longest is", p.Theme.Clean(say.Behind(oldest.Behind, p.now.Sub(oldest.Since))), style.Plain)
	return s
}

// certificates are the agent's own, with the last verdicts on them.
func (p *Node) certificates(m *model.Model) section {
	s := section{title: "certificates"}
	for _, c := range m.Certificates() {
		p.certificate(&s, &c)
	}
	last := map[string]model.Decision{}
	for _, d := range m.Decisions() {
		if d.By == trace.ByCerts {
			last[d.Subject] = d
		}
	}
	subjects := make([]string, 0, len(last))
	for name := range last {
		subjects = append(subjects, name)
	}
	slices.Sort(subjects)
	for _, name := range subjects {
		d := last[name]
		s.add("verdict", p.Theme.Clean(name+": "+string(d.Verdict)+" "+p.ago(d.At)+": "+d.Reason), style.Plain)
	}
	for _, w := range m.API().Waits {
		if w.For == trace.WaitApproval {
			s.add("waits", p.Theme.Clean(style.Age(p.now.Sub(w.Since))+"  "+w.Text()), style.Slow)
		}
	}
	if len(s.facts) == 0 {
		s.add("", say.Untold, style.Dim)
	}
	return s
}
