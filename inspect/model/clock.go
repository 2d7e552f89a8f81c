package model

import "github.com/kubeloupe/kubeloupe/trace"

// clockStepped corrects the starts and terminations that are in progress, so that none includes the step.
func (m *Model) clockStepped(e *trace.ClockStepped) {
	if e.Jump <= 0 {
		return
	}
	for _, p := range m.pods {
		if !p.Terminating.IsZero() && p.Gone.IsZero() {
			p.Terminating = p.Terminating.Add(e.Jump)
		}
		if p.recording && p.Start.Ready.IsZero() && !p.Start.Seen.IsZero() {
			p.Start.Seen = p.Start.Seen.Add(e.Jump)
		}
	}
}
