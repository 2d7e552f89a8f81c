package report

import (
	"errors"
	"fmt"
	"iter"
	"slices"

	"github.com/kubeloupe/kubeloupe/inspect/lookup"
	"github.com/kubeloupe/kubeloupe/inspect/model"
	"github.com/kubeloupe/kubeloupe/trace"
)

// ErrNoPod is returned if a subject needs a pod and none is named.
var ErrNoPod = errors.New("a pod is missing: must be NAMESPACE/NAME")

// Find returns namespace and name of the pod that ref names, as in [lookup.Pod]; of a pod that is gone, if no other has
// that name. It is "" if ref is.
func (s *Subject) Find(m *model.Model, ref string) (string, error) {
	switch {
	case ref == "":
		return "", nil
	case !s.OfPods:
		return "", fmt.Errorf("inspect %s is about the node: remove the argument %q", s.Name, ref)
	}
	found, err := lookup.Pod(ref, keys(m.Pods()))
	if errors.As(err, new(*lookup.NotFoundError)) {
		found, err = lookup.Pod(ref, keys(m.Pods(), m.GonePods()))
	}
	if err != nil {
		return "", err
	}
	return found.String(), nil
}

func keys(all ...[]model.Pod) iter.Seq[trace.Pod] {
	return func(yield func(trace.Pod) bool) {
		for _, pods := range all {
			for i := range pods {
				if !yield(pods[i].Key) {
					return
				}
			}
		}
	}
}

// findPod returns the pod that is requested: the latest of that name, one that is gone if no other has it.
func findPod(m *model.Model, args Args) (model.Pod, error) {
	for _, pods := range [][]model.Pod{m.Pods(), m.GonePods()} {
		for _, p := range slices.Backward(pods) {
			if p.Key.String() == args.Pod {
				return p, nil
			}
		}
	}
	return model.Pod{}, ErrNoPod
}
