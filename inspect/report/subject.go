package report

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/kubeloupe/kubeloupe/inspect/lookup"
	"github.com/kubeloupe/kubeloupe/inspect/model"
	"github.com/kubeloupe/kubeloupe/trace"
)

// Subject is something that can be inspected.
type Subject struct {
	Name, About string
	// Short are further names: kubectl's, where kubectl has the resource.
	Short []string
	// Live says that the subject is not in the records: it needs a running agent, which is queried with this name.
	Live bool
	// OfPods says that it can be about one pod alone, Lists that it can be about the pods of one namespace.
	OfPods bool
	Lists  bool
	// Since says that it can be limited to what is newer than a time.
	Since bool
	// Watch says that its rows can be watched: each is about one thing, and changes with it.
	Watch bool

	make  func(*model.Model, Args) (*Table, error)
	named func(cell func(key string) Value) string // nil: its rows have no names
}

// Args select a part of a subject.
type Args struct {
	// Pod limits subjects about pods to this pod, which is named as in Subject.Find; the subject pod needs it.
	Pod string
	// Namespace limits lists to the pods of this namespace; "" is all.
	Namespace string
	// Selects limits lists to the pods for which it is true, those with these Labels; nil is all.
	Selects func(trace.Pod) bool
	Labels  string
	// Since limits the list of pods to those that were seen later; zero is all.
	Since time.Time
	// Now is the time of the report: of the last record when it is about a recording.
	Now time.Time
	// Live is the agent's answer.
	Live json.RawMessage
}

// Subjects returns what can be inspected.
func Subjects() []Subject {
	return []Subject{
		{Name: "pods", Short: []string{"po"}, About: "the pods of the node", OfPods: true, Lists: true, Since: true, Watch: true, make: makePods, named: byKeys("namespace", "name")},
		{Name: "pod", About: "one pod: worker, plan, waits, start, volumes, probes, status", OfPods: true, make: makePod, named: byKeys("namespace", "name")},
		{Name: "workers", Short: []string{"worker"}, About: "the pod workers: what each one does, since when, and what it waits for", OfPods: true, Lists: true, Watch: true, make: makeWorkers, named: byKeys("pod")},
		{Name: "loop", About: "the last iterations of syncLoop", make: makeLoop},
		{Name: "cri", About: "calls to the container runtime: durations by method in the last minute, and calls in flight", OfPods: true, Lists: true, make: makeCRI, named: byKeys("method")},
		{Name: "images", Short: []string{"image", "img"}, About: "the images on the node, and the pods that use them", Live: true, make: makeImages, named: imageName},
		{Name: "gc", About: "the last garbage collection runs and their decisions", make: makeGC},
		{Name: "volumes", Short: []string{"volume", "vol"}, About: "the pods' volumes", OfPods: true, Lists: true, Watch: true, make: makeVolumes, named: byKeys("pod", "volume")},
		{Name: "resources", Short: []string{"resource", "numa"}, About: "which CPUs, memory and devices containers have for themselves, by NUMA node, and the pods that were refused", OfPods: true, Lists: true, make: makeResources},
		{Name: "cgroup", Short: []string{"cgroups", "cg"}, About: "the cgroups of the node or of a pod, with limits and usage", Live: true, OfPods: true, make: makeCgroup, named: byKeys("path")},
		{Name: "node", Short: []string{"nodes", "no"}, About: "the agent, the runtime, the API server, and resource pressure", make: makeNode, named: byKeys("name")},
		{Name: "config", Short: []string{"configz"}, About: "the effective configuration", Live: true, make: makeConfig},
	}
}

// Lookup returns the subject with that name or short name. The error is a *lookup.NotFoundError.
func Lookup(name string) (Subject, error) {
	all := Subjects()
	var names []string
	for _, s := range all {
		if s.Name == name || slices.Contains(s.Short, name) {
			return s, nil
		}
		names = append(names, s.Name)
	}
	return Subject{}, lookup.Check("subject", name, names)
}

// Accepts returns an error if the subject cannot be written in the format.
func (s *Subject) Accepts(f Format) error {
	if f == Name && s.named == nil {
		return fmt.Errorf("name: what inspect %s shows has no names: must be table, wide, json, yaml or jsonpath=TEMPLATE", s.Name)
	}
	return nil
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
	if args.Namespace != "" && args.Pod == "" && !s.Lists {
		return nil, fmt.Errorf("inspect %s is not a list of pods: remove --namespace, or name a pod", s.Name)
	}
	if args.Selects != nil && !s.Lists {
		return nil, fmt.Errorf("inspect %s is not a list of pods: remove --selector", s.Name)
	}
	t, err := s.make(m, args)
	if err != nil {
		return nil, fmt.Errorf("inspect %s: %w", subject, err)
	}
	t.Key, t.named = s.Name, s.named
	if args.Selects != nil && t.None != "" {
		t.None = strings.TrimSuffix(t.None, ".") + " with labels " + args.Labels + "."
	}
	if args.Namespace != "" && t.None != "" {
		t.None = strings.TrimSuffix(t.None, ".") + " in namespace " + args.Namespace + "."
	}
	return t, nil
}

// wants reports whether a pod is requested.
func (a *Args) wants(p trace.Pod) bool {
	return (a.Pod == "" || p.String() == a.Pod) && (a.Namespace == "" || p.Namespace == a.Namespace) && (a.Selects == nil || a.Selects(p))
}

// live reads the agent's answer.
func live(args Args, to any) error {
	if err := json.Unmarshal(args.Live, to); err != nil {
		return fmt.Errorf("the agent's answer: %w", err)
	}
	return nil
}
