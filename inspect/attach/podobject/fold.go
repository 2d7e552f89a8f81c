package podobject

import (
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/kubeloupe/kubeloupe/inspect/attach/crilist"
	"github.com/kubeloupe/kubeloupe/inspect/attach/kubeevent"
	"github.com/kubeloupe/kubeloupe/trace"
)

const (
	// maxPods bounds the pods that are known.
	maxPods = 1 << 13
	// relist is how late upstream's kubelet may know itself that a container runs.
	relist = time.Second
)

// Fold makes records of the changes of pods' objects. Use [NewFold].
type Fold struct {
	by     trace.Observer
	late   time.Duration
	known  map[string]stage // by UID
	synced bool             // what comes is a change
}

// stage is how far a pod has come.
type stage struct{ started, ready, ending bool }

// NewFold returns a fold of what an observer shows, late by this much at most.
func NewFold(by trace.Observer, late time.Duration) *Fold {
	return &Fold{by: by, late: late, known: map[string]stage{}}
}

// Synced says that all pods that are there have been told: what follows are changes.
func (f *Fold) Synced() { f.synced = true }

// Knows reports whether a pod was told.
func (f *Fold) Knows(uid string) bool {
	_, ok := f.known[uid]
	return ok
}

// Gone takes in that a pod's object is gone.
func (f *Fold) Gone(pod *v1.Pod) { delete(f.known, string(pod.UID)) }

// Apply takes in a pod's object as it was at a time, and returns the records of what changed.
func (f *Fold) Apply(pod *v1.Pod, now time.Time) (out []trace.Record) {
	id := string(pod.UID)
	r := trace.Record{Time: now.UnixNano(), Observer: f.by, Precision: trace.PrecisionOf(f.late), Trace: crilist.TraceOf(id), Pod: Name(pod)}
	was, known := f.known[id]
	is := stage{started: was.started || HasStarted(pod), ready: IsReady(pod), ending: pod.DeletionTimestamp != nil}
	if known || len(f.known) < maxPods {
		f.known[id] = is
	}
	add := func(precision time.Duration, e trace.Event) {
		r.Span, r.Precision, r.Event = trace.NewSpanID(), trace.PrecisionOf(precision), e
		out = append(out, r)
	}
	if !known && !is.ending {
		if seen, ok := f.seen(pod, r, is.started); ok {
			out = append(out, seen)
		}
	}
	if is.started && !was.started && f.synced {
		add(f.late+relist, &trace.Milestone{Name: trace.MilestoneStarted})
	}
	if is.ready && !was.ready && f.synced {
		add(f.late, &trace.Milestone{Name: trace.MilestoneReady})
	}
	if is.ending && !was.ending && known {
		add(f.late, &trace.Milestone{Name: trace.MilestoneTerminating})
	}
	add(f.late, Status(pod))
	return out
}

// seen is the record that there is a pod. Of one that was there before, the kubelet's own note says since when; there is none of one that has
// started then.
func (f *Fold) seen(pod *v1.Pod, r trace.Record, started bool) (trace.Record, bool) {
	if start := pod.Status.StartTime; !f.synced {
		if start == nil || started {
			return r, false
		}
		r.Time, r.Precision = start.UnixNano(), trace.PrecisionOf(kubeevent.Precision)
	}
	r.Span, r.Event = trace.NewSpanID(), &trace.Milestone{Name: trace.MilestoneSeen, Source: source(pod), Spec: Spec(pod), Labels: trace.LabelsOf(pod.Labels)}
	return r, true
}

// sourceKey is where the kubelet notes the source of a pod. Upstream: pkg/kubelet/types/pod_update.go.
const sourceKey = "kubernetes.io/config.source"

func source(pod *v1.Pod) trace.SourceName {
	switch pod.Annotations[sourceKey] {
	case "file":
		return trace.SourceFile
	case "http":
		return trace.SourceHTTP
	}
	return trace.SourceAPI
}

// Only forgets the pods that are not among these, by their UIDs.
func (f *Fold) Only(there map[string]bool) {
	for id := range f.known {
		if !there[id] {
			delete(f.known, id)
		}
	}
}
