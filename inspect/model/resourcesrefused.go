package model

import (
	"slices"
	"strings"

	"github.com/kubeloupe/kubeloupe/trace"
)

// aboutResources reports whether a pod was rejected because of the node's resources.
func aboutResources(code string) bool {
	return slices.Contains([]string{"TopologyAffinityError", "UnexpectedAdmissionError", "SMTAlignmentError", "EmptyPodSharedPoolError"}, code) || strings.HasPrefix(code, "OutOf")
}

// refusal returns the refusal of a pod, or nil.
func (s *resources) refusal(pod trace.Pod) *Refusal {
	i := slices.IndexFunc(s.refused, func(f Refusal) bool { return keyOf(f.Pod) == keyOf(pod) })
	if i < 0 {
		return nil
	}
	return &s.refused[i]
}

// refuse adds to the refusal of a pod: several records may be about the same one, of which later ones know less.
func (s *resources) refuse(r *trace.Record, f Refusal) {
	old := s.refusal(r.Pod)
	if old == nil {
		if len(s.refused) >= maxRefusals {
			s.refused = slices.Delete(s.refused, 0, 1)
		}
		f.At, f.Seq, f.Pod = r.At(), r.Seq, r.Pod
		s.refused = append(s.refused, f)
		return
	}
	set := func(to *string, v string) {
		if *to == "" {
			*to = v
		}
	}
	set(&old.Container, f.Container)
	set(&old.Code, f.Code)
	set(&old.Message, f.Message)
	set(&old.Policy, f.Policy)
	set(&old.Scope, f.Scope)
	set(&old.Affinity, f.Affinity)
	if old.Hints == nil {
		old.Hints = f.Hints
	}
	if old.Resource == "" {
		old.Resource, old.Count = f.Resource, f.Count
	}
}
