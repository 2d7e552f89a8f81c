package views

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/kubeloupe/kubeloupe/inspect/model"
	"github.com/kubeloupe/kubeloupe/trace"
	"github.com/kubeloupe/kubeloupe/trace/say"
	"github.com/kubeloupe/kubeloupe/tui/style"
)

// Eviction shows how near the node is to running out of memory and disk, and what was decided because of it.
type Eviction struct {
	board
	now time.Time
}

// NewEviction returns the page.
func NewEviction(look Look) *Eviction { return &Eviction{board: board{Look: look}} }

// Name implements Page.
func (*Eviction) Name() string { return "Eviction" }

// aboutEviction says what the agent does about shortages.
const aboutEviction = "Below a threshold, the node gets a pressure condition and rejects pods. The agent then removes containers and images that no pod uses; " +
	"if that is not enough, it evicts one pod after another, in the order of the ranking."

// simulatedEviction says what the agent does with the simulated runtime.
const simulatedEviction = "Below a threshold, the node gets a pressure condition and rejects pods. With the simulated runtime, the agent evicts nothing: that would free nothing."

// foreignEviction says what is known of shortages that another kubelet handles.
const foreignEviction = "The kubelet evicts and rejects pods by its own thresholds, which are not known here. Its decisions are below, as far as its observers show them."

// Refresh implements Page.
func (p *Eviction) Refresh(f Frame) {
	p.now = f.Now
	about, none := aboutEviction, "nothing measured yet; the node is measured every 10 s"
	if f.Model.Node().Simulated {
		about = simulatedEviction
	}
	if f.Model.Node().SeenBy.Foreign() {
		about, none = foreignEviction, "not known of this kubelet"
	}
	out := []section{{title: "eviction", facts: []fact{{value: about, tone: style.Dim}, conditionsFact(f.Model)}}}
	for _, s := range f.Model.Pressure() {
		out = append(out, p.signal(&s, f.Model))
	}
	if len(out) == 1 {
		text := none
		if p.Scene.Note != "" {
			text = "nothing measured yet; " + p.Theme.Clean(p.Scene.Note)
		}
		out = append(out, section{title: "signals", facts: []fact{{value: text, tone: style.Dim}}})
	}
	if e := f.Model.Eviction(); !e.At.IsZero() {
		out = append(out, p.ranking(&e))
	}
	p.set(append(out, p.decisions(f.Model), p.images(f.Model)))
}

// signal is one resource: how full it is, what happens at which mark, and how far that is.
func (p *Eviction) signal(s *model.Pressure, m *model.Model) section {
	th := p.Theme
	out := section{title: th.Clean(string(s.Signal))}
	percent := s.Percent()
	if percent < 0 {
		out.add("used", say.Amount(s.Signal, s.Used)+" of an unknown capacity", style.Plain)
	} else {
		text := fmt.Sprintf("%s %3d%%  %s", th.Gauge(float64(s.Used), float64(s.Capacity), 10, limits(s)...), percent, usedOf(s))
		out.add("used", text, toneIf(percent >= 90, style.Slow))
	}
	if len(s.Thresholds) == 0 {
		out.add("rule", "", style.Plain)
	}
	for i := range s.Thresholds {
		used, ok := s.Thresholds[i].Used(s.Capacity)
		does, at := say.Threshold(s.Signal, &s.Thresholds[i])
		if !ok {
			out.add("rule", say.Thresholds(s.Signal, s.Thresholds[i:i+1]), style.Plain)
			continue
		}
		text, tone := say.Amount(s.Signal, used-s.Used)+" to go", style.Plain
		if used <= s.Used {
			text, tone = "passed by "+say.Amount(s.Signal, s.Used-used), style.Fail
		} else if used-s.Used < s.Capacity/20 {
			tone = style.Slow
		}
		out.add(does, at+", "+text, tone)
	}
	out.add("trend", p.trend(m.PressureHistory(string(s.Signal))), style.Plain)
	for _, d := range m.Shortages() {
		if d.Subject == string(s.Signal) {
			out.add("verdict", th.Clean(fmt.Sprintf("%s, since %s: %s", d.Verdict, style.Clock(d.At), d.Reason)), toneIf(d.Verdict == trace.VerdictShort, style.Fail))
		}
	}
	return out
}

// usedOf is what is used of how much, in the signal's unit.
func usedOf(s *model.Pressure) string {
	if s.Signal.Unit() == trace.UnitBytes {
		return ofBytes(s.Used, s.Capacity)
	}
	return style.Count(s.Used) + " of " + style.Count(s.Capacity) + " " + string(s.Signal.Unit())
}

// ranking is the last round of evictions: what it saw and did, and each pod with its figures, the first to go first.
func (p *Eviction) ranking(e *model.Eviction) section {
	th := p.Theme
	s := section{title: "last round, " + style.Clock(e.At)}
	s.facts = append(s.facts, fact{value: th.Clean(say.Eviction(&e.Eviction)), tone: toneIf(e.Outcome == trace.EvictionEvicted || e.Outcome == trace.EvictionNone, style.Fail)})
	for i := range e.Ranked {
		r := &e.Ranked[i]
		tone := style.Plain
		switch {
		case r.Pod == e.Evicted:
			tone = style.Fail
		case r.Spared:
			tone = style.Dim
		}
		s.facts = append(s.facts, fact{value: th.Clean(fmt.Sprintf("%d. %s: %s", i+1, r.Pod, say.Ranked(e.Signal, r))), tone: tone})
	}
	if e.Clipped > 0 {
		s.facts = append(s.facts, fact{value: fmt.Sprintf("and %d more", e.Clipped), tone: style.Dim})
	}
	return s
}

// trend draws the last figures, and says by how much they changed.
func (p *Eviction) trend(h []model.Pressure) string {
	if len(h) < 2 {
		return ""
	}
	const most = 30
	h = h[max(len(h)-most, 0):]
	first, last := &h[0], &h[len(h)-1]
	var used []float64
	for i := range h {
		used = append(used, float64(h[i].Used))
	}
	change := last.Used - first.Used
	text := "no change"
	switch {
	case change > 0:
		text = "+" + say.Amount(last.Signal, change)
	case change < 0:
		text = "-" + say.Amount(last.Signal, -change)
	}
	return p.Theme.Spark(used, float64(last.Capacity)/50) + "  " + text + " in " + style.Dur(last.At.Sub(first.At).Round(time.Second))
}

// conditionsFact is what the node's object says of shortages.
func conditionsFact(m *model.Model) fact {
	known, tone := m.NodeConditions(), style.Plain
	var out []string
	for _, name := range []string{"MemoryPressure", "DiskPressure", "PIDPressure"} {
		status := style.Unknown
		for _, c := range known {
			if c.Type == name {
				status = c.Status
			}
		}
		if status == "True" {
			tone = style.Slow
		}
		out = append(out, name+" "+status)
	}
	return fact{value: strings.Join(out, "   "), tone: tone}
}

// shownPasses and shownVerdicts are how many are listed.
const (
	shownPasses   = 3
	shownVerdicts = 12
)

// images are the last passes of image garbage collection, which a full disk causes.
func (p *Eviction) images(m *model.Model) section {
	s := section{title: "image GC"}
	for _, pass := range slices.Backward(m.Passes()) {
		if pass.What != trace.GCImages || len(s.facts) >= shownPasses {
			continue
		}
		text := fmt.Sprintf("%s, %d seen, %d removed, %s freed", pass.Cause, pass.Considered, pass.Removed, style.Bytes(pass.Freed))
		if pass.Usage > 0 {
			text += fmt.Sprintf(", at %d%%", pass.Usage)
		}
		if pass.Err != "" {
			text += ": " + pass.Err
		}
		s.add(style.Clock(pass.Begin), p.Theme.Clean(text), toneIf(pass.Err != "", style.Fail))
	}
	if len(s.facts) == 0 {
		s.add("", "no pass seen yet; one every five minutes", style.Dim)
	}
	return s
}

// decisions are the last verdicts that have to do with what is short, the newest first.
func (p *Eviction) decisions(m *model.Model) section {
	th, s := p.Theme, section{title: "decisions"}
	for _, d := range slices.Backward(m.Decisions()) {
		if !aboutShortage(&d) || len(s.facts) >= shownVerdicts {
			continue
		}
		text := string(d.By) + " " + string(d.Verdict) + " " + d.Subject + ": " + d.Reason
		s.add(style.Clock(d.At), th.Clean(text), toneIf(d.Verdict == trace.VerdictShort || d.Verdict == trace.VerdictReject || d.Verdict == trace.VerdictEnd, style.Slow))
	}
	if len(s.facts) == 0 {
		s.add("", "no pod was rejected or evicted, and no signal has passed its threshold", style.Dim)
	}
	return s
}

func aboutShortage(d *model.Decision) bool {
	return d.By == trace.ByPressure || d.By == trace.ByPreemption || d.By == trace.ByEviction || d.By == trace.ByAdmission && d.Verdict == trace.VerdictReject
}
