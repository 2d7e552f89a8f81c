package lookup

import (
	"fmt"
	"iter"
	"slices"
	"strings"

	"github.com/kubeloupe/kubeloupe/trace"
	"github.com/kubeloupe/kubeloupe/trace/human"
)

// DefaultNamespace is the namespace of a NAME without one, as in kubectl.
const DefaultNamespace = "default"

// maxNear limits how many pods an error lists.
const maxNear = 5

// Pod returns namespace and name of the pod that ref names: NAMESPACE/NAME, or NAME. A NAME is the pod of the default
// namespace or, if that has none, of the only namespace that has one. The error is a *NotFoundError if there is no such
// pod.
func Pod(ref string, pods iter.Seq[trace.Pod]) (trace.Pod, error) {
	namespace, name, full := strings.Cut(ref, "/")
	if !full {
		namespace, name = "", ref
	}
	if name == "" || full && namespace == "" || strings.Contains(name, "/") {
		return trace.Pod{}, fmt.Errorf("pod %q: must be NAMESPACE/NAME or NAME", ref)
	}
	var found []string // namespaces
	for p := range pods {
		if p.Name == name && (!full || p.Namespace == namespace) && !slices.Contains(found, p.Namespace) {
			found = append(found, p.Namespace)
		}
	}
	switch {
	case len(found) == 0:
		return trace.Pod{}, missing(ref, name, pods)
	case len(found) == 1:
		return trace.Pod{Namespace: found[0], Name: name}, nil
	case slices.Contains(found, DefaultNamespace):
		return trace.Pod{Namespace: DefaultNamespace, Name: name}, nil
	}
	slices.Sort(found)
	return trace.Pod{}, fmt.Errorf("pod %q exists in the namespaces %s: use NAMESPACE/NAME", ref, strings.Join(found, ", "))
}

// missing returns the error with the most similar names; with all, if they are few.
func missing(ref, name string, pods iter.Seq[trace.Pod]) error {
	e := &NotFoundError{What: "pod", Name: ref}
	all := map[string]bool{}
	for p := range pods {
		ref := p.String()
		if ref == "" || all[ref] {
			continue
		}
		all[ref] = true
		if len(e.Near) < maxNear && similar(name, p.Name) {
			e.Near = append(e.Near, ref)
		}
		if len(all) <= maxNear {
			e.Known = append(e.Known, ref)
		}
	}
	e.Others = len(all)
	if len(e.Near) > 0 || len(all) > maxNear {
		e.Known = nil
	}
	slices.Sort(e.Near)
	slices.Sort(e.Known)
	return e
}

func similar(wrong, name string) bool {
	return strings.Contains(name, wrong) || strings.Contains(wrong, name) || human.Distance(wrong, name) <= max(1, len(wrong)/3)
}
