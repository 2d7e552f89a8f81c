package report

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/kubeloupe/kubeloupe/inspect/model"
)

// findPod returns the pod that is requested, one that is gone if no other has that name.
func findPod(m *model.Model, args Args) (model.Pod, error) {
	if args.Pod == "" {
		return model.Pod{}, errors.New("which pod? Say NAMESPACE/NAME")
	}
	var names []string
	for _, pods := range [][]model.Pod{m.Pods(), m.GonePods()} {
		var found []model.Pod
		for _, p := range pods {
			names = append(names, p.Key.String())
			if args.wants(p.Key.String()) {
				found = append(found, p)
			}
		}
		last := len(found) - 1
		if last > 0 && found[last].Key.Namespace != found[0].Key.Namespace {
			return model.Pod{}, fmt.Errorf("there are several pods %s: say NAMESPACE/NAME, as %s", args.Pod, found[last].Key)
		}
		if last >= 0 {
			return found[last], nil
		}
	}
	return model.Pod{}, fmt.Errorf("no pod %s%s", args.Pod, near(names, args.Pod))
}

// checkPod refuses a pod that nobody knows, and one that the subject is not about. What is live, the agent judges.
func checkPod(m *model.Model, s Subject, args Args) error {
	switch {
	case args.Pod == "" || s.Live && s.OfPods:
		return nil
	case !s.OfPods:
		return fmt.Errorf("the subject is about the node: remove the argument %q", args.Pod)
	}
	var names []string
	for _, pods := range [][]model.Pod{m.Pods(), m.GonePods()} {
		for _, p := range pods {
			if names = append(names, p.Key.String()); args.wants(p.Key.String()) {
				return nil
			}
		}
	}
	return fmt.Errorf("no pod %s%s", args.Pod, near(names, args.Pod))
}

// near names what a person may have meant.
func near(names []string, want string) string {
	_, short, ok := strings.Cut(want, "/")
	if !ok {
		short = want
	}
	var like []string
	for _, n := range names {
		if strings.Contains(n, short) && !slices.Contains(like, n) && len(like) < 5 {
			like = append(like, n)
		}
	}
	switch {
	case len(like) > 0:
		return ": there is " + strings.Join(like, ", ")
	case len(names) == 0:
		return ": no pods are known"
	}
	return fmt.Sprintf(" among the %d pods that are known", len(names))
}
