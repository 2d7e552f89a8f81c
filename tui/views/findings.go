package views

import (
	"slices"
	"time"

	"github.com/kubeloupe/kubeloupe/inspect/cause"
	"github.com/kubeloupe/kubeloupe/inspect/session"
	"github.com/kubeloupe/kubeloupe/inspect/store"
	"github.com/kubeloupe/kubeloupe/inspect/why"
	"github.com/kubeloupe/kubeloupe/trace"
)

const (
	// againAfter is how long findings about a pod that still changes stay as they are.
	againAfter = time.Second
	// settledAfter is how long after it was ready nothing new comes to light on a start: the runtime's spans have arrived.
	settledAfter = 15 * time.Second
	// casesAtOnce is how many cases are looked at per frame for lists, where the rest can wait.
	casesAtOnce = 8
	// maxAnswers bounds how many pods' findings are remembered.
	maxAnswers = 1024
)

// findings are the causes that were found, of each life of a pod, and the records that they are found in. Looking for
// causes takes some milliseconds, so answers are kept.
type findings struct {
	session *session.Session
	answers map[*store.PodRun]answer
	shown   shown
	frame   time.Time // of the last frame for which lists asked
	asked   int       // cases looked at for lists in that frame
}

type answer struct {
	found []cause.Finding
	at    time.Time // when it was asked, by the frame's clock
	last  time.Time // of the life's records then
}

// shown is the report on the life that a page shows.
type shown struct {
	life   *store.PodRun
	report *why.Report
	answer
}

func newFindings(of *store.Store) findings {
	return findings{session: session.Of(of), answers: map[*store.PodRun]answer{}}
}

// life returns the life of a pod that was going on at a time, the latest for the zero time; nil when it is not kept.
func (f *findings) life(pod trace.Pod, at time.Time) *store.PodRun {
	l := f.session.Run(pod)
	for l != nil && !at.IsZero() && l.From().After(at) {
		l = l.Before
	}
	return l
}

// of returns what was found about a life at now, at most a second old.
func (f *findings) of(l *store.PodRun, now time.Time) []cause.Finding {
	a, known := f.answers[l]
	if known && a.fresh(l, now) {
		return a.found
	}
	return f.note(l, cause.Find(f.session.Case(l, now)), now).found
}

// note remembers what was found.
func (f *findings) note(l *store.PodRun, found []cause.Finding, now time.Time) answer {
	if len(f.answers) >= maxAnswers {
		clear(f.answers)
	}
	a := answer{found: found, at: now, last: l.Last()}
	f.answers[l] = a
	return a
}

// report returns the report on a life at now, at most a second old.
func (f *findings) report(l *store.PodRun, now time.Time) *why.Report {
	if s := &f.shown; s.life != l || !s.fresh(l, now) || len(s.report.Waiting) > 0 && now.Sub(s.at) >= againAfter {
		r := why.Explain(f.session.Case(l, now))
		f.shown = shown{l, r, f.note(l, r.Findings, now)}
	}
	return f.shown.report
}

// fresh reports whether an answer holds at now.
func (a answer) fresh(l *store.PodRun, now time.Time) bool {
	age := now.Sub(a.at)
	return age >= 0 && (age < againAfter || a.last.Equal(l.Last()) && settled(a.found))
}

// settled says that findings change only with new records of the pod: none continues.
func settled(found []cause.Finding) bool {
	return !slices.ContainsFunc(found, func(f cause.Finding) bool { return f.Current })
}

// Report is the answer to why for a pod's latest life; nil where its records are not kept.
func (h *History) Report(pod trace.Pod, now time.Time) *why.Report {
	l := h.causes.life(pod, time.Time{})
	if l == nil {
		return nil
	}
	return h.causes.report(l, now)
}

// Top is the most expensive cause of a finished start, nil if there is none or if it is not computed yet: in each frame, only some
// starts are computed. ready is when the pod was ready, zero if it was not.
func (h *History) Top(pod trace.Pod, started, ready, now time.Time) *cause.Finding {
	f := &h.causes
	l := f.life(pod, started)
	if l == nil {
		return nil
	}
	a, known := f.answers[l]
	final := known && !ready.IsZero() && a.at.Sub(ready) > settledAfter
	if !final && (!known || now.Sub(a.at) >= againAfter) {
		if !f.frame.Equal(now) {
			f.frame, f.asked = now, 0
		}
		if f.asked < casesAtOnce {
			f.asked++
			a.found = f.of(l, now)
		}
	}
	i := slices.IndexFunc(a.found, func(c cause.Finding) bool {
		return c.Cost > 0 && c.End == 0 && (ready.IsZero() || !c.Current) // what continues now was not in a start that is finished
	})
	if i < 0 {
		return nil
	}
	return &a.found[i]
}
