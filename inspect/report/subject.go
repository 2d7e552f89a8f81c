package report

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/kubeloupe/kubeloupe/inspect/lookup"
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
	// Pod limits subjects about pods to this pod, which is named as in Subject.Find; the subject pod needs it.
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

// Lookup returns the subject with that name. The error is a *lookup.NotFoundError.
func Lookup(name string) (Subject, error) {
	all := Subjects()
	var names []string
	for _, s := range all {
		if s.Name == name {
			return s, nil
		}
		names = append(names, s.Name)
	}
	return Subject{}, lookup.Check("subject", name, names)
}

// Make returns the table of a subject.
func Make(subject string, m *model.Model, args Args) (*Table, error) {
	s, err := Lookup(subject)
	if err != nil {
		return nil, err
	}
	if s.Live && len(args.Live) == 0 {
		return nil, fmt.Errorf("inspect %s: it is not in the records and needs a running agent", subject)
	}
	if args.Pod, err = s.Find(m, args.Pod); err != nil {
		return nil, err
	}
	t, err := s.make(m, args)
	if err != nil {
		return nil, fmt.Errorf("inspect %s: %w", subject, err)
	}
	t.Key = subject
	return t, nil
}

// wants reports whether a pod, NAMESPACE/NAME, is requested.
func (a *Args) wants(name string) bool { return a.Pod == "" || name == a.Pod }

// live reads the agent's answer.
func live(args Args, to any) error {
	if err := json.Unmarshal(args.Live, to); err != nil {
		return fmt.Errorf("the agent's answer: %w", err)
	}
	return nil
}
