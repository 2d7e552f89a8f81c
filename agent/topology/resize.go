package topology

import (
	"context"
	"slices"

	v1 "k8s.io/api/core/v1"
)

// Resizer is a HintProvider that can change what the containers of a running pod have.
type Resizer interface {
	HintProvider
	// Try begins a resize of a pod, which is as it is now: until End, Allocate changes what its containers have. One resize is tried at a
	// time. An error of Allocate that has a method Later() bool says whether the container can have it if others have less.
	Try(allocated *v1.Pod)
	// End keeps what has been changed since Try, or undoes it.
	End(keep bool)
}

// ResizeError is the reason why a pod cannot be resized.
type ResizeError struct {
	// Container is the container that cannot have what it requests; empty for the whole pod.
	Container string
	// Later says that it can if other pods have less, or end. Otherwise, upstream treats the resize as infeasible (KEP-5554).
	Later bool
	// Err is the provider's error, or a *Refusal if the policy does not admit the NUMA nodes.
	Err error
}

// Error implements error.
func (e *ResizeError) Error() string {
	if r, ok := e.Err.(*Refusal); ok { //nolint:errorlint // only this package sets it
		return r.Message
	}
	if e.Container != "" {
		return "container " + e.Container + ": " + e.Err.Error()
	}
	return e.Err.Error()
}

// Unwrap returns the cause.
func (e *ResizeError) Unwrap() error { return e.Err }

// Resize gives all containers of a running pod what they request for themselves now, as the policy requires. allocated is the pod as it is.
// If that is possible, the caller must call end: it keeps the new allocation, or undoes it. The error is a *ResizeError; then nothing has
// changed. Pods with pod-level resources cannot be resized.
//
// Upstream: KEP-5554. In v1.37.1, the managers ignore resizes.
func (m *Manager) Resize(ctx context.Context, pod, allocated *v1.Pod) (end func(keep bool), err error) {
	end = func(keep bool) {
		for _, p := range m.providers {
			if r, ok := p.HintProvider.(Resizer); ok {
				r.End(keep)
			}
		}
	}
	for _, p := range m.providers {
		if r, ok := p.HintProvider.(Resizer); ok {
			r.Try(allocated)
		}
	}
	if err := m.resize(ctx, pod, allocated); err != nil {
		end(false)
		return nil, err
	}
	return end, nil
}

func (m *Manager) resize(ctx context.Context, pod, allocated *v1.Pod) error {
	var best Hint
	if m.policy != None && m.scope == ScopePod {
		var ok bool
		if best, ok = m.decide(m.hints(func(p Provider) map[string][]Hint { return p.PodHints(pod) })); !ok {
			return &ResizeError{Err: &Refusal{Code: CodeAffinity, Message: m.affinityMessage(pod)}}
		}
	}
	for _, c := range smallerFirst(pod, allocated) {
		if m.policy != None && m.scope == ScopeContainer {
			var ok bool
			if best, ok = m.decide(m.hints(func(p Provider) map[string][]Hint { return p.Hints(pod, c) })); !ok {
				return &ResizeError{Container: c.Name, Err: &Refusal{Code: CodeAffinity, Message: m.affinityMessage(pod)}}
			}
		}
		for _, p := range m.providers {
			r, ok := p.HintProvider.(Resizer)
			if !ok {
				continue // its resource does not change
			}
			if err := r.Allocate(ctx, pod, c, best); err != nil {
				later, ok := err.(interface{ Later() bool })
				return &ResizeError{Container: c.Name, Later: ok && later.Later(), Err: err}
			}
		}
	}
	return nil
}

// hints asks all providers.
func (m *Manager) hints(of func(Provider) map[string][]Hint) []map[string][]Hint {
	out := make([]map[string][]Hint, len(m.providers))
	for i, p := range m.providers {
		out[i] = of(p)
	}
	return out
}

// smallerFirst returns the containers, first those that request no more than they have: the others can get what these give up.
func smallerFirst(pod, allocated *v1.Pod) []*v1.Container {
	has := map[string]v1.ResourceList{}
	for _, c := range allOf(allocated) {
		has[c.Name] = c.Resources.Requests
	}
	grows := func(c *v1.Container) int {
		for name, q := range c.Resources.Requests {
			if was := has[c.Name][name]; q.Cmp(was) > 0 {
				return 1
			}
		}
		return 0
	}
	out := allOf(pod)
	slices.SortStableFunc(out, func(a, b *v1.Container) int { return grows(a) - grows(b) })
	return out
}
