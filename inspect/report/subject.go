package report

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/kubeloupe/kubeloupe/inspect/model"
)

// Subject is something that can be inspected.
type Subject struct {
	Name, About string
	// Live says that the subject is not in the records: it needs a running agent, which is queried with this name.
	Live bool
	// OfPods says that it can be about one pod alone.
	OfPods bool

	make func(*model.Model, Args) (*Table, error)
}

// Args select a part of a subject.
type Args struct {
	// Pod, NAMESPACE/NAME or NAME, limits subjects about pods to this pod; the subject pod needs it.
	Pod string
	// Now is the time of the report: of the last record when it is about a recording.
	Now time.Time
	// Live is the agent's answer.
	Live json.RawMessage
}

// Subjects returns what can be inspected.
func Subjects() []Subject {
	return []Subject{
		{Name: "pods", About: "the pods of the node", OfPods: true, make: makePods},
		{Name: "pod", About: "one pod: worker, plan, waits, start, volumes, probes, status", OfPods: true, make: makePod},
		{Name: "workers", About: "the pod workers: what each one does, since when, and what it waits for", OfPods: true, make: makeWorkers},
		{Name: "loop", About: "the last iterations of syncLoop", make: makeLoop},
		{Name: "cri", About: "calls to the container runtime: durations by method in the last minute, and calls in flight", OfPods: true, make: makeCRI},
		{Name: "images", About: "the images on the node, and the pods that use them", Live: true, make: makeImages},
		{Name: "gc", About: "the last garbage collection runs and their decisions", make: makeGC},
		{Name: "volumes", About: "the pods' volumes", OfPods: true, make: makeVolumes},
		{Name: "cgroup", About: "the cgroups of the node or of a pod, with limits and usage", Live: true, OfPods: true, make: makeCgroup},
		{Name: "node", About: "the agent, the runtime, the API server, and resource pressure", make: makeNode},
		{Name: "config", About: "the effective configuration", Live: true, make: makeConfig},
	}
}

// Make returns the table of a subject.
func Make(subject string, m *model.Model, args Args) (*Table, error) {
	all := Subjects()
	i := slices.IndexFunc(all, func(s Subject) bool { return s.Name == subject })
	if i < 0 {
		var names []string
		for _, s := range all {
			names = append(names, s.Name)
		}
		return nil, fmt.Errorf("unknown subject %q: want one of %s", subject, strings.Join(names, ", "))
	}
	if all[i].Live && len(args.Live) == 0 {
		return nil, fmt.Errorf("inspect %s: records do not tell it: it needs a running agent", subject)
	}
	if err := checkPod(m, all[i], args); err != nil {
		return nil, fmt.Errorf("inspect %s: %w", subject, err)
	}
	t, err := all[i].make(m, args)
	if err != nil {
		return nil, fmt.Errorf("inspect %s: %w", subject, err)
	}
	t.Key = subject
	return t, nil
}

// wants reports whether a pod is requested.
func (a *Args) wants(name string) bool {
	return a.Pod == "" || name == a.Pod || !strings.Contains(a.Pod, "/") && strings.HasSuffix(name, "/"+a.Pod)
}

// live reads the agent's answer.
func live(args Args, to any) error {
	if err := json.Unmarshal(args.Live, to); err != nil {
		return fmt.Errorf("the agent's answer: %w", err)
	}
	return nil
}
