package podcert

import (
	"errors"
	"time"
)

// State is the state of a podCertificate source, as the kubelet's metric has it.
type State string

// The states. Upstream: pkg/kubelet/podcertificate/podcertificatemanager.go, metricsState.
const (
	NotIssued State = "not_yet_issued"
	Denied    State = "denied"
	Failed    State = "failed"
	Fresh     State = "fresh"
	Overdue   State = "overdue_for_refresh"
	Expired   State = "expired"
)

// Count is a signer with a state of its certificates.
type Count struct {
	Signer string
	State  State
}

// Counts returns how many sources have each signer and state.
func (m *Manager) Counts() map[Count]int {
	m.mu.Lock()
	defer m.mu.Unlock()
	out, now := map[Count]int{}, time.Now()
	for _, c := range m.held {
		out[Count{c.signer, c.state(now)}]++
	}
	return out
}

// state is called with the Manager's mu.
func (c *credential) state(now time.Time) State {
	refused, _ := errors.AsType[*RefusedError](c.err)
	switch {
	case refused != nil && refused.Failed:
		return Failed
	case refused != nil:
		return Denied
	case c.chain == nil:
		return NotIssued
	case now.After(c.expires):
		return Expired
	case now.After(c.overdue):
		return Overdue
	}
	return Fresh
}
