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
	put    func(trace.Record)
}

// stage is how far a pod has come.
type stage struct{ started, ready, ending bool }

// NewFold returns a fold of what an observer shows, which tells late by this much at most. put takes the records.
func NewFold(by trace.Observer, late time.Duration, put func(trace.Record)) *Fold {
	return &Fold{by: by, late: late, known: map[string]stage{}, put: put}
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

// Apply takes in a pod's object as it was at a time.
func (f *Fold) Apply(pod *v1.Pod, now time.Time) {
	id := string(pod.UID)
	r := trace.Record{Time: now.UnixNano(), Observer: f.by, Precision: trace.PrecisionOf(f.late), Trace: crilist.TraceOf(id), Pod: Name(pod)}
	was, known := f.known[id]
	is := stage{started: was.started || HasStarted(pod), ready: IsReady(pod), ending: pod.DeletionTimestamp != nil}
	if known || len(f.known) < maxPods {
		f.known[id] = is
	}
	tell := func(precision time.Duration, e trace.Event) {
		s := r
		s.Span, s.Precision, s.Event = trace.NewSpanID(), trace.PrecisionOf(precision), e
		f.put(s)
	}
	if !known && !is.ending {
		f.seen(pod, &r, is.started)
	}
	if is.started && !was.started && f.synced {
		tell(f.late+relist, &trace.Milestone{Name: trace.MilestoneStarted})
	}
	if is.ready && !was.ready && f.synced {
		tell(f.late, &trace.Milestone{Name: trace.MilestoneReady})
	}
	if is.ending && !was.ending && known {
		tell(f.late, &trace.Milestone{Name: trace.MilestoneTerminating})
	}
	r.Span, r.Event = trace.NewSpanID(), Status(pod)
	f.put(r)
}

// seen tells that there is a pod. Of one that was there before, the kubelet's own note says since when.
func (f *Fold) seen(pod *v1.Pod, like *trace.Record, started bool) {
	r := *like
	if start := pod.Status.StartTime; !f.synced {
		if start == nil || started {
			return
		}
		r.Time, r.Precision = start.UnixNano(), trace.PrecisionOf(kubeevent.Precision)
	}
	r.Span, r.Event = trace.NewSpanID(), &trace.Milestone{Name: trace.MilestoneSeen, Source: source(pod), Spec: Spec(pod)}
	f.put(r)
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
