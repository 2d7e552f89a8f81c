package views

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/kubeloupe/kubeloupe/inspect/evidence"
	"github.com/kubeloupe/kubeloupe/inspect/model"
	"github.com/kubeloupe/kubeloupe/inspect/waterfall"
	"github.com/kubeloupe/kubeloupe/trace"
	"github.com/kubeloupe/kubeloupe/trace/sorting"
	"github.com/kubeloupe/kubeloupe/tui/style"
)

// waterfallStatus tells waits for the writing of statuses.
func waterfallStatus(w *model.Wait) bool {
	return waterfall.AboutStatus(&w.Wait)
}

// apart says that the agent has had nothing to do with an API server.
func apart(a *model.API) bool { return a.OK.IsZero() && a.Failed.IsZero() && a.Open == 0 }

// object is the node's object in the API.
func (p *Node) object(m *model.Model) section {
	th, n, a := p.Theme, m.NodeObject(), m.API()
	s := section{title: "node object in the API"}
	if n.Writes == 0 && n.Renewals == 0 && apart(&a) {
		s.add("", ownOr(m, "none: this agent has not contacted an API server"), style.Dim)
		return s
	}
	conditions(th, &s, m.NodeConditions(), p.ago)
	write := func(w model.NodeWrite) string {
		if w.At.IsZero() {
			return ""
		}
		return fmt.Sprintf("%s (%s) %s, took %s", w.Op, w.Cause, p.ago(w.At), style.Dur(w.Dur))
	}
	s.add("registered", th.Clean(write(n.Registered)), style.Plain)
	s.add("status", th.Clean(write(n.Good)), style.Plain)
	if n.Last.Err != "" {
		s.add("status fails", th.Clean(p.ago(n.Last.At)+": "+n.Last.Err), style.Fail)
	}
	s.add("writes", fmt.Sprintf("%s, %s failed", style.Count(n.Writes), style.Count(n.Errors)), toneIf(n.Errors > 0, style.Slow))
	lease := p.ago(n.Lease)
	if lease != "" {
		lease += fmt.Sprintf(", %s times", style.Count(n.Renewals))
	}
	s.add("lease", lease, style.Plain)
	s.may("lease fails", th.Clean(n.LeaseErr), style.Fail)
	return s
}

// conditions adds the node's conditions; the usual ones have a line each, known or not.
func conditions(th *style.Theme, s *section, known []model.Condition, ago func(time.Time) string) {
	for _, name := range evidence.NodeConditions() {
		i := slices.IndexFunc(known, func(c model.Condition) bool { return c.Type == name })
		if i < 0 {
			s.add(name, "", style.Dim)
			continue
		}
		c := known[i]
		well := (c.Status == "True") == (name == "Ready")
		text := c.Status + ", written " + ago(c.At)
		if !well && c.Reason != "" {
			text += ": " + c.Reason
		}
		s.add(name, th.Clean(text), toneIf(!well, style.Slow))
	}
}

// shownRequests is how many kinds of request are listed, nameRoom how wide their names: the columns fit into half of 120.
const (
	shownRequests = 6
	nameRoom      = 17
)

// server is how the agent and the API server get on.
func (p *Node) server(m *model.Model) section {
	th, a := p.Theme, m.API()
	s := section{title: "API server"}
	if apart(&a) {
		s.add("", ownOr(m, "this agent has not contacted an API server: it may be standalone"), style.Dim)
		return s
	}
	if a.Failing > 0 {
		s.add("health", fmt.Sprintf("failing %s× in a row, since %s", style.Count(a.Failing), p.ago(a.Since)), style.Fail)
	} else {
		s.add("health", "answers", style.Plain)
	}
	s.add("last answer", p.ago(a.OK), style.Plain)
	if a.Err != "" {
		s.add("last failure", th.Clean(p.ago(a.Failed)+", "+a.Call+": "+a.Err), toneIf(a.Failing > 0, style.Fail))
	}
	s.add("requests", fmt.Sprintf("%s, %s failed, %d open", style.Count(a.Calls), style.Count(a.Errors), a.Open), toneIf(a.Errors > 0, style.Slow))
	s.add("watches", fmt.Sprintf("%d open", a.Watches), style.Plain)
	for i := range a.Waits {
		s.add("waits", th.Clean(style.Age(p.now.Sub(a.Waits[i].Since))+"  "+a.Waits[i].Text()), style.Slow)
	}
	for _, t := range a.Waited {
		if t.For == trace.WaitTokens {
			s.add("throttled", fmt.Sprintf("%s times, %s in all", style.Count(t.Count), style.Dur(t.Dur)), style.Slow)
		}
	}
	requests := m.Requests(p.now)
	sorting.Stable(requests, func(x, y *model.Method) int { return cmp.Compare(y.Count, x.Count) })
	if len(requests) == 0 {
		s.add("last minute", "no request ended", style.Dim)
		return s
	}
	s.add("last minute", th.Left("", nameRoom)+th.Right("count", 5)+th.Right("p50", 7)+th.Right("p99", 7)+th.Right("err", 4), style.Dim)
	for _, r := range requests[:min(shownRequests, len(requests))] {
		text := th.Left(th.Clean(r.Name), nameRoom) + th.Right(style.Count(r.Count), 5) + th.Right(style.Known(r.P50), 7) +
			th.Right(style.Known(r.P99), 7) + th.Right(style.Count(r.Errors), 4)
		s.add(" ", text, toneIf(r.Errors > 0, style.Slow))
	}
	return s
}
