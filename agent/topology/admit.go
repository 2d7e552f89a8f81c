package topology

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/kubeloupe/kubeloupe/trace"
)

// Refusal is the reason why a pod is rejected.
type Refusal struct {
	// Code is the reason in the pod's status, Message its message. They are upstream's.
	Code, Message string
}

func (r *Refusal) Error() string { return r.Code + ": " + r.Message }

// The reasons of refusals.
const (
	CodeAffinity   = "TopologyAffinityError"
	CodeUnexpected = "UnexpectedAdmissionError"
	CodeEmptyPool  = "EmptyPodSharedPoolError"
)

// Admit gives all containers of the pod what they request, or returns why not, as a *Refusal. After a refusal, the caller must release
// what some containers got.
//
// Upstream: pkg/kubelet/cm/topologymanager/scope_*.go, pkg/kubelet/cm/admission/errors.go.
func (m *Manager) Admit(ctx context.Context, pod *v1.Pod) error {
	e := m.event()
	began := time.Now()
	err := m.admit(ctx, pod, &e)
	e.Took = time.Since(began)
	trace.Point(m.bus, trace.FromContext(ctx), e)
	return err
}

// admit fills e.
func (m *Manager) admit(ctx context.Context, pod *v1.Pod, e *trace.Allocation) error {
	var best Hint
	if m.policy != None && m.scope == ScopePod {
		hints := make([]map[string][]Hint, len(m.providers))
		for i, p := range m.providers {
			hints[i] = p.PodHints(pod)
		}
		admit := false
		if best, admit = m.decide(hints); !admit {
			return m.refuse(e, pod, "", hints, best)
		}
		if m.level(pod) {
			if err := m.allocatePod(ctx, pod, best, e); err != nil {
				return err
			}
			m.admitted(e, best)
			return nil
		}
	}
	for _, c := range allOf(pod) {
		if m.policy != None && m.scope == ScopeContainer {
			hints := make([]map[string][]Hint, len(m.providers))
			for i, p := range m.providers {
				hints[i] = p.Hints(pod, c)
			}
			admit := false
			if best, admit = m.decide(hints); !admit {
				return m.refuse(e, pod, c.Name, hints, best)
			}
		}
		for _, p := range m.providers {
			if err := p.Allocate(ctx, pod, c, best); err != nil {
				return m.failed(e, p, c.Name, best, err)
			}
		}
		if m.policy == SingleNUMANode && m.scope == ScopeContainer {
			e.Aligned++
		}
	}
	m.admitted(e, best)
	return nil
}

// admitted fills e for a pod that is admitted.
func (m *Manager) admitted(e *trace.Allocation, best Hint) {
	if m.policy == SingleNUMANode && m.scope == ScopePod {
		e.Aligned = 1
	}
	if m.scope == ScopePod {
		e.Affinity, e.Preferred = best.Nodes.String(), best.Preferred
	}
	e.Outcome = trace.AllocationAdmitted
}

func allOf(pod *v1.Pod) []*v1.Container {
	var out []*v1.Container
	for _, list := range [][]v1.Container{pod.Spec.InitContainers, pod.Spec.Containers} {
		for i := range list {
			out = append(out, &list[i])
		}
	}
	return out
}

// refuse rejects a pod that the policy does not admit.
func (m *Manager) refuse(e *trace.Allocation, pod *v1.Pod, container string, hints []map[string][]Hint, best Hint) error {
	r := &Refusal{Code: CodeAffinity, Message: m.affinityMessage(pod)}
	refused(e, container, best, r)
	for i, p := range m.providers {
		of := told(p.Name, hints[i])
		m.check(p, pod, of)
		e.Hints = append(e.Hints, of...)
	}
	return r
}

// failed rejects a pod that a provider could not give its resources.
func (m *Manager) failed(e *trace.Allocation, p Provider, container string, best Hint, err error) error {
	r := &Refusal{Code: CodeUnexpected, Message: fmt.Sprintf("Allocate failed due to %v, which is unexpected", err)}
	var reasoned interface{ Reason() string }
	if errors.As(err, &reasoned) {
		r.Code, r.Message = reasoned.Reason(), err.Error()
	}
	refused(e, container, best, r)
	if m.podLevel && e.Source == "" {
		e.Source = trace.SourceNode
	}
	e.Hints = []trace.ResourceHints{{Provider: p.Name}}
	if _, ok := errors.AsType[*WholeCoresError](err); ok {
		e.WholeCores = true
	}
	return r
}

// WholeCoresError is the error of a provider that gives only whole cores.
type WholeCoresError struct{ Err error }

func (e *WholeCoresError) Error() string { return e.Err.Error() }

// Unwrap returns the provider's error.
func (e *WholeCoresError) Unwrap() error { return e.Err }

func refused(e *trace.Allocation, container string, best Hint, r *Refusal) {
	e.Outcome, e.Container, e.Code, e.Err = trace.AllocationRefused, container, r.Code, r.Message
	e.Affinity, e.Preferred = best.Nodes.String(), best.Preferred
}

func (m *Manager) event() trace.Allocation {
	e := trace.Allocation{Manager: trace.ManagerTopology, Policy: m.policy}
	if m.policy != None {
		e.Scope = m.scope
	}
	return e
}

// told returns a provider's hints as published.
func told(provider string, hints map[string][]Hint) []trace.ResourceHints {
	var out []trace.ResourceHints
	for _, resource := range slices.Sorted(maps.Keys(hints)) {
		r := trace.ResourceHints{Provider: provider, Resource: resource, Any: hints[resource] == nil}
		var preferred, possible []string
		for _, h := range hints[resource] {
			switch {
			case h.Nodes == 0:
				r.Any = true
			case h.Preferred:
				preferred = append(preferred, h.Nodes.String())
			default:
				possible = append(possible, h.Nodes.String())
			}
		}
		r.Preferred, r.Possible = strings.Join(preferred, " "), strings.Join(possible, " ")
		out = append(out, r)
	}
	return out
}
