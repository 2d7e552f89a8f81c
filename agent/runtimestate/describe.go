package runtimestate

import (
	"cmp"
	"fmt"
	"slices"

	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/kubeloupe/kubeloupe/trace"
	"github.com/kubeloupe/kubeloupe/trace/sorting"
)

// description returns the runtime's features as an event. Handlers are sorted, because runtimes list them in any order.
func description(handlers []*runtimeapi.RuntimeHandler, features *runtimeapi.RuntimeFeatures) trace.RuntimeDescribed {
	var d trace.RuntimeDescribed
	for _, h := range handlers {
		d.Handlers = append(d.Handlers, trace.RuntimeHandler{
			Name:                    h.GetName(),
			RecursiveReadOnlyMounts: h.GetFeatures().GetRecursiveReadOnlyMounts(),
			UserNamespaces:          h.GetFeatures().GetUserNamespaces(),
		})
	}
	sorting.Stable(d.Handlers, func(a, b *trace.RuntimeHandler) int { return cmp.Compare(a.Name, b.Name) })
	if features != nil {
		d.Features = &trace.RuntimeFeatures{
			SupplementalGroupsPolicy:  features.GetSupplementalGroupsPolicy(),
			UserNamespacesHostNetwork: features.GetUserNamespacesHostNetwork(),
		}
	}
	return d
}

// tell publishes a description, if it has changed.
func (s *State) tell(d trace.RuntimeDescribed) {
	if s.told != nil {
		if d.Changed = differences(s.told, &d); len(d.Changed) == 0 {
			return
		}
	}
	s.told = &d
	trace.Point(s.bus, trace.Span{}, d)
}

// differences returns in words how a description differs from the earlier one.
func differences(was, is *trace.RuntimeDescribed) (out []string) {
	find := func(list []trace.RuntimeHandler, name string) (trace.RuntimeHandler, bool) {
		i := slices.IndexFunc(list, func(h trace.RuntimeHandler) bool { return h.Name == name })
		if i < 0 {
			return trace.RuntimeHandler{}, false
		}
		return list[i], true
	}
	for _, h := range is.Handlers {
		before, known := find(was.Handlers, h.Name)
		what := "handler " + cmp.Or(h.Name, "(default)")
		if !known {
			out = append(out, what)
			continue
		}
		out = append(out, turned(what+": recursive read-only mounts", before.RecursiveReadOnlyMounts, h.RecursiveReadOnlyMounts)...)
		out = append(out, turned(what+": user namespaces", before.UserNamespaces, h.UserNamespaces)...)
	}
	for _, h := range was.Handlers {
		if _, still := find(is.Handlers, h.Name); !still {
			out = append(out, "handler "+cmp.Or(h.Name, "(default)")+" gone")
		}
	}
	if (was.Features == nil) != (is.Features == nil) {
		out = append(out, fmt.Sprintf("features reported: %t", is.Features != nil))
	}
	before, now := cmp.Or(was.Features, &trace.RuntimeFeatures{}), cmp.Or(is.Features, &trace.RuntimeFeatures{})
	out = append(out, turned("supplemental groups policy", before.SupplementalGroupsPolicy, now.SupplementalGroupsPolicy)...)
	return append(out, turned("user namespaces on the host's network", before.UserNamespacesHostNetwork, now.UserNamespacesHostNetwork)...)
}

// turned returns one sentence, or nothing.
func turned(what string, was, is bool) []string {
	if was == is {
		return nil
	}
	return []string{fmt.Sprintf("%s %t → %t", what, was, is)}
}
