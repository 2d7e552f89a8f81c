package eviction

import (
	"fmt"
	"slices"

	v1 "k8s.io/api/core/v1"

	"github.com/kubeloupe/kubeloupe/trace"
	"github.com/kubeloupe/kubeloupe/trace/say"
)

// setConditions takes the conditions that are true.
func (m *Manager) setConditions(now []v1.NodeConditionType) {
	m.mu.Lock()
	changed := !slices.Equal(m.conditions, now)
	m.conditions = now
	m.mu.Unlock()
	if changed && m.cfg.Changed != nil {
		m.cfg.Changed()
	}
}

// tellFigures publishes the figures of memory and disks, and of each other signal with a threshold.
func (m *Manager) tellFigures(seen observations) {
	for _, s := range signals() {
		got, ok := seen[s]
		if !ok {
			continue
		}
		e := trace.Pressure{Signal: s, Used: max(0, got.capacity-got.available), Capacity: got.capacity, Thresholds: slices.Clone(m.cfg.Marks[s])}
		for i := range m.thresholds {
			if m.thresholds[i].Signal == s {
				e.Thresholds = append(e.Thresholds, m.thresholds[i].trace())
			}
		}
		basic := s == trace.SignalMemory || s == trace.SignalNodeFS || s == trace.SignalImageFS
		if basic || len(e.Thresholds) > 0 && !repeats(s) {
			trace.Point(m.cfg.Bus, trace.Span{}, e)
		}
	}
}

// repeats reports whether a signal has the figures and thresholds of another one: a container file system is always that of the images or of
// the agent.
func repeats(s trace.Signal) bool {
	return s == trace.SignalContainerFS || s == trace.SignalContainerFSInodes
}

// tellVerdicts publishes of which signals there is too little now, and of which there is enough again.
func (m *Manager) tellVerdicts(seen observations) {
	for _, s := range signals() {
		of, short := m.verdictOn(s)
		was, told := m.told[s]
		if of < 0 || repeats(s) || told && was == (said{of, short}) || !told && !short {
			continue
		}
		m.told[s] = said{of, short}
		trace.Point(m.cfg.Bus, trace.Span{}, verdict(&m.thresholds[of], seen[s], short))
	}
}

// verdictOn returns the threshold that a verdict on a signal names, by index, -1 if it has none: the first that there is too little for,
// which is the hard one if possible; if there is enough, the last.
func (m *Manager) verdictOn(s trace.Signal) (of int, short bool) {
	of = -1
	for i := range m.thresholds {
		if m.thresholds[i].Signal != s {
			continue
		}
		if of = i; !m.judge.since[i].IsZero() {
			return i, true
		}
	}
	return of, false
}

func verdict(t *Threshold, got observation, short bool) trace.Decision {
	th := t.trace()
	_, at := say.Threshold(t.Signal, &th)
	d := trace.Decision{
		By: trace.ByPressure, Subject: string(t.Signal), Verdict: trace.VerdictEnough, Reason: "there is more than " + at,
		Limit: t.Free.of(got.capacity), Signal: t.Signal, Inputs: []trace.KV{{K: "available", V: fmt.Sprint(got.available)}},
	}
	if short {
		d.Verdict, d.Reason = trace.VerdictShort, "there is less than "+at
	}
	return d
}
