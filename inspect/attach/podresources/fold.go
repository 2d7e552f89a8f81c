package podresources

import (
	"cmp"
	"time"

	api "k8s.io/kubelet/pkg/apis/podresources/v1"

	"github.com/kubeloupe/kubeloupe/inspect/attach/discover"
	"github.com/kubeloupe/kubeloupe/trace"
	"github.com/kubeloupe/kubeloupe/trace/sorting"
)

// Limits on what is kept of an answer.
const (
	maxPods       = 1 << 12
	maxContainers = 1 << 14 // of all pods
	maxResources  = 64      // of a container: resources of devices, amounts of memory
	maxListed     = 1 << 10 // resources of devices of the node, amounts of memory
	maxClaims     = 1 << 12
	maxName       = 253 // bytes of a name: Kubernetes permits no more
	maxID         = 128 // bytes of a device's ID
	maxError      = 512
	maxCPU        = 1 << 14 // the numbers of CPUs and NUMA nodes are below
)

// before is the precision of what was there when the kubelet was asked for the first time.
const before = time.Hour

// Machine is what is known of the node by other ways.
type Machine struct {
	Policies discover.Policies
	// NUMA are the NUMA nodes; none if that is not known.
	NUMA []discover.NUMANode
}

// Answer is what a kubelet said.
type Answer struct {
	List *api.ListPodResourcesResponse
	// Allocatable is what the node can give; nil: as before.
	Allocatable *api.AllocatableResourcesResponse
	// At is when it answered, Last when it was asked the last time; zero: this is the first answer.
	At, Last time.Time
	// Again are the pods, as NAMESPACE/NAME, of which is told what they have, even if nothing has changed.
	Again map[string]bool
}

// Fold compares what a kubelet says with what it said before. Use [NewFold].
type Fold struct {
	machine machine
	held    map[holder]*held
	claims  map[claimKey]*trace.ClaimDescribed
	free    map[nodeResource]uint64
}

// NewFold returns a fold that has seen nothing.
func NewFold(m Machine) *Fold {
	return &Fold{machine: newMachine(m), held: map[holder]*held{}, claims: map[claimKey]*trace.ClaimDescribed{}}
}

// Apply takes an answer in and returns the records of what has changed: what the node can give, then what is free again, then what containers
// have. Records of pods have no UID, which this API does not know.
func (f *Fold) Apply(a Answer) (out []trace.Record) {
	now := read(a.List, f.machine.nodes)
	precision := before
	if !a.Last.IsZero() {
		precision = a.At.Sub(a.Last)
	}
	put := func(pod trace.Pod, e trace.Event) { out = append(out, record(a.At, precision, pod, e)) }

	f.machine.apply(a.Allocatable)
	free := f.machine.free(now)
	if d := f.machine.described(free); d != nil {
		put(trace.Pod{}, d)
		f.free = free
	}
	for _, e := range f.machine.plugins() {
		put(trace.Pod{}, e)
	}
	var memory []*trace.Allocation
	change := func(pod trace.Pod, all []trace.Event) {
		for _, e := range all {
			put(pod, e)
			if m, ok := e.(*trace.Allocation); ok && m.Manager == trace.ManagerMemory {
				memory = append(memory, m)
			}
		}
	}
	for _, k := range sortedHolders(f.held) {
		change(k.trace(), released(k.container, f.held[k], now.held[k]))
	}
	outcome := trace.AllocationGranted
	if a.Last.IsZero() {
		outcome = trace.AllocationKept
	}
	for _, k := range sortedHolders(now.held) {
		was := f.held[k]
		if a.Again[k.trace().String()] {
			was = nil
		}
		change(k.trace(), granted(k.container, was, now.held[k], outcome))
	}
	if changed := changedFree(f.free, free); len(memory) > 0 {
		memory[len(memory)-1].Free = changed
	}
	for _, e := range f.claimed(now.claims, a) {
		put(trace.Pod{}, e)
	}
	f.held, f.claims, f.free = now.held, now.claims, free
	return out
}

// record is what is known at a time.
func record(at time.Time, precision time.Duration, pod trace.Pod, e trace.Event) trace.Record {
	return trace.Record{Time: at.UnixNano(), Observer: trace.ObserverKubeletAPI, Precision: trace.PrecisionOf(precision), Span: trace.NewSpanID(), Pod: pod, Event: e}
}

// holder is a container, or a pod with what it has for all of its containers: then container is empty.
type holder struct{ namespace, pod, container string }

func (k holder) trace() trace.Pod { return trace.Pod{Namespace: k.namespace, Name: k.pod} }

func sortedHolders(of map[holder]*held) []holder {
	return sorting.Keys(of, func(a, b *holder) int {
		return cmp.Or(cmp.Compare(a.namespace, b.namespace), cmp.Compare(a.pod, b.pod), cmp.Compare(a.container, b.container))
	})
}
