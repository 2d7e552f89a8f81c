package merge

import (
	"slices"

	"github.com/kubeloupe/kubeloupe/trace"
)

// maxPods bounds the pods that are known.
const maxPods = 1 << 14

// identity is what a pod is called in what comes out: the way it was called first.
type identity struct {
	pod trace.Pod
	// uid is the pod's, also where it was known only later.
	uid   string
	trace trace.TraceID
	// kubelet says that a kubelet told of it.
	kubelet bool
	// seen says that somebody told that the pod is there, objects that the API's objects told it, in this life.
	seen, objects bool
	started       startedAt
	// sighting tells that the pod is there, in this life, until its start is told; ran is when the runtime had started its containers, 0 if that is not known.
	sighting *item
	ran      int64
	// lastStart is the end of the last start of a container.
	lastStart trace.Record
}

// startedAt is when a pod's start was moved to, because another observer knew better.
type startedAt struct {
	from, to int64
	by       trace.Record
	item     *item // the start, as the kubelet tells of it
	ready    *item
}

// pods are the identities of pods, by UID and by name. Of a pod of which one observer knows the UID and another one the name only, it is the
// latest of the name.
type pods struct {
	byUID, byName map[string]*identity
	order         []*identity
}

func newPods() pods {
	return pods{byUID: map[string]*identity{}, byName: map[string]*identity{}}
}

// of returns the identity of a pod, made where it is new.
func (ps *pods) of(p trace.Pod, t trace.TraceID) *identity {
	if id := ps.byUID[p.UID]; id != nil && p.UID != "" && id.mayBe(p) {
		return id
	}
	name := p.String()
	if id := ps.byName[name]; id != nil && (p.UID == "" || id.pod.UID == "" || id.pod.UID == p.UID) {
		if p.UID != "" && ps.byUID[p.UID] == nil {
			if id.uid != "" {
				delete(ps.byUID, id.uid)
			}
			ps.byUID[p.UID], id.uid = id, p.UID
		}
		return id
	}
	id := &identity{pod: p, uid: p.UID, trace: t}
	ps.byName[name] = id
	if p.UID != "" && ps.byUID[p.UID] == nil {
		ps.byUID[p.UID] = id
	}
	if ps.order = append(ps.order, id); len(ps.order) > maxPods {
		ps.forget(ps.order[0])
		ps.order = ps.order[1:]
	}
	return id
}

// noNamespace stands for the namespace of a pod of which the kubelet's log does not tell it, nor always the name.
const noNamespace = "_"

// mayBe reports whether a pod with the UID is this one. Whoever creates pods may write an annotation from which the UID of a mirror is taken,
// but cannot choose the name of another pod.
func (id *identity) mayBe(p trace.Pod) bool {
	return id.pod.Namespace == noNamespace || p.Namespace == noNamespace || id.pod.Namespace == p.Namespace && id.pod.Name == p.Name
}

func (ps *pods) forget(id *identity) {
	if name := id.pod.String(); ps.byName[name] == id {
		delete(ps.byName, name)
	}
	if ps.byUID[id.uid] == id {
		delete(ps.byUID, id.uid)
	}
}

// take gives a record's pod its one identity.
func (ps *pods) take(r *trace.Record) {
	if r.Pod.Name == "" {
		return
	}
	id := ps.of(r.Pod, r.Trace)
	r.Pod = id.pod
	if !id.trace.IsZero() {
		r.Trace = id.trace
	}
	id.kubelet = id.kubelet || ofKubelet(r.Observer)
}

// ofKubelet reports whether an observer saw what the kubelet itself did.
func ofKubelet(o trace.Observer) bool {
	return slices.Contains([]trace.Observer{trace.ObserverKubeletLog, trace.ObserverKubeletSpan, trace.ObserverKubeletAPI, trace.ObserverAgent}, o)
}
