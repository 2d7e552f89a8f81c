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
type stage struct {
	started, ready, ending bool
	since                  time.Time // when it was told first
}

// NewFold returns a fold of what an observer shows, late by this much at most.
func NewFold(by trace.Observer, late time.Duration) *Fold {
	return &Fold{by: by, late: late, known: map[string]stage{}}
}

// Synced says that all pods that are there have been told: what follows are changes.
func (f *Fold) Synced() { f.synced = true }

// Late says how late what follows is told at most.
func (f *Fold) Late(d time.Duration) { f.late = d }

// Knows reports whether a pod was told.
func (f *Fold) Knows(uid string) bool {
	_, ok := f.known[uid]
	return ok
}

// Gone takes in that a pod's object is gone. A static pod stays when its mirror is deleted, and the kubelet makes another mirror.
func (f *Fold) Gone(pod *v1.Pod) {
	if id := UID(pod); !isMirror(pod) || !f.known[id].started {
		delete(f.known, id)
	}
}

// Apply takes in a pod's object as it was at a time, and returns the records of what changed.
func (f *Fold) Apply(pod *v1.Pod, now time.Time) (out []trace.Record) {
	id := UID(pod)
	r := trace.Record{Time: now.UnixNano(), Observer: f.by, Precision: trace.PrecisionOf(f.late), Trace: crilist.TraceOf(id), Pod: Name(pod)}
	was, known := f.known[id]
	if known && isMirror(pod) && pod.Status.StartTime == nil {
		return nil // it was made anew, and does not have the pod's status yet
	}
	is := stage{started: was.started || HasStarted(pod), ready: IsReady(pod), ending: pod.DeletionTimestamp != nil && !isMirror(pod), since: was.since}
	if !known {
		is.since = now
	}
	if known || len(f.known) < maxPods {
		f.known[id] = is
	}
	add := func(precision time.Duration, e trace.Event) {
		r.Span, r.Precision, r.Event = trace.NewSpanID(), trace.PrecisionOf(precision), e
		out = append(out, r)
	}
	changes := f.synced && (known || !f.before(pod, now))
	if !known && !is.ending && (changes || pod.Status.StartTime != nil && !is.started) {
		out = append(out, f.seen(pod, r, changes))
	}
	change := func(noted time.Time, precision time.Duration, name trace.MilestoneName) {
		late := !noted.IsZero() && now.Sub(noted) > f.late+kubeevent.Precision // there was no telling for some time
		if late && is.since.Sub(noted) > f.late+kubeevent.Precision {
			return // it was so before: a kubelet that starts has no status of the pod at first
		}
		at := r.Time
		if late {
			r.Time, precision = noted.UnixNano(), kubeevent.Precision
		}
		add(precision, &trace.Milestone{Name: name})
		r.Time = at
	}
	if is.started && !was.started && changes {
		change(startedAt(pod), f.late+relist, trace.MilestoneStarted)
	}
	if is.ready && !was.ready && changes {
		change(readyAt(pod), f.late, trace.MilestoneReady)
	}
	if is.ending && !was.ending && known {
		add(f.late, &trace.Milestone{Name: trace.MilestoneTerminating})
	}
	add(f.late, Status(pod))
	return out
}

// before reports whether a pod was there before it could be told: there was no telling for some time, or the kubelet was started again.
func (f *Fold) before(pod *v1.Pod, now time.Time) bool {
	start := pod.Status.StartTime
	return start != nil && now.Sub(start.Time) > f.late+kubeevent.Precision
}

// seen is the record that there is a pod. The kubelet's own note says since when, if it is more exact than what is told or if it is of a pod
// that was there before.
func (f *Fold) seen(pod *v1.Pod, r trace.Record, fresh bool) trace.Record {
	r.Precision = trace.PrecisionOf(f.late)
	if start := pod.Status.StartTime; start != nil && (!fresh || f.late > kubeevent.Precision) {
		r.Time, r.Precision = min(r.Time, start.UnixNano()), trace.PrecisionOf(kubeevent.Precision)
	}
	r.Span, r.Event = trace.NewSpanID(), &trace.Milestone{Name: trace.MilestoneSeen, Source: Source(pod.Annotations[sourceKey]), Spec: Spec(pod), Labels: trace.LabelsOf(pod.Labels)}
	return r
}

// sourceKey is where the kubelet notes the source of a pod. Upstream: pkg/kubelet/types/pod_update.go.
const sourceKey = "kubernetes.io/config.source"

// Source is the source of a pod by what the kubelet noted.
func Source(noted string) trace.SourceName {
	switch noted {
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
