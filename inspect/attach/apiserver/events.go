package apiserver

import (
	"cmp"
	"context"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/util/resourceversion"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/kubeloupe/kubeloupe/inspect/attach/kubeevent"
	"github.com/kubeloupe/kubeloupe/trace"
)

const (
	// page is how many Events are listed at a time, pages how often: those of a whole cluster are in one list.
	page, pages = 500, 20
	// maxWaiting bounds the Events that wait for their pod to be the node's, maxWait how long they do.
	maxWaiting = 1 << 10
	maxWait    = 10 * time.Minute
)

// Events passes on records of the Events about the node's pods until ctx ends or they cannot be read, which is an error. Nobody can ask for
// those of one node: all about pods are read, and those of other nodes dropped. Events about pods that have no node yet wait for it.
func (a *API) Events(ctx context.Context, put func(trace.Record)) error {
	selector := fields.OneTermEqualSelector("involvedObject.kind", "Pod").String()
	o := metav1.ListOptions{FieldSelector: selector, Limit: page}
	version := ""
	since := time.Now().Add(-a.back)
	for range pages {
		listing, cancel := context.WithTimeout(ctx, deadline)
		list, err := a.client.events.List(listing, o)
		cancel()
		if err != nil {
			return explain("events", err)
		}
		version = list.ResourceVersion
		before := a.told
		if isLater(before, version) { // the cluster was restored from a backup
			before = ""
		}
		for i := range list.Items {
			if before != "" && !isLater(list.Items[i].ResourceVersion, before) {
				continue // it was passed on before the watch broke
			}
			if e := read(&list.Items[i]); !e.At().Before(since) {
				a.event(&list.Items[i], e.Told(trace.NewSpanID), put)
			}
		}
		if o.Continue = list.Continue; o.Continue == "" {
			break
		}
	}
	a.told = version
	return follow(ctx, version, func(ctx context.Context, version string) (watch.Interface, error) {
		return a.client.events.Watch(ctx, options(selector, version))
	}, "events", func(kind watch.EventType, in *v1.Event) {
		a.told = in.ResourceVersion
		if kind == watch.Deleted {
			return
		}
		e := read(in)
		at, precision := seenAt(e.At(), time.Now())
		a.event(in, e.Records(at, precision, trace.NewSpanID), put)
	})
}

// isLater reports whether one version is later than another; false if they cannot be compared.
func isLater(a, b string) bool {
	n, err := resourceversion.CompareResourceVersion(a, b)
	return err == nil && n > 0
}

// seenAt is when an Event was that came at a time: whoever wrote it down wrote the second, on a clock that may be another one.
func seenAt(last, now time.Time) (at time.Time, precision time.Duration) {
	switch d := now.Sub(last); {
	case d < 0:
		return now, kubeevent.Precision
	case d <= kubeevent.Precision:
		return now, d
	}
	return last, kubeevent.Precision
}

// read is what matters of an Event.
func read(in *v1.Event) *kubeevent.Event {
	e := &kubeevent.Event{
		Kind: in.InvolvedObject.Kind, Namespace: in.InvolvedObject.Namespace, Name: in.InvolvedObject.Name, UID: string(in.InvolvedObject.UID),
		Field: in.InvolvedObject.FieldPath, Warning: in.Type == v1.EventTypeWarning, Reason: in.Reason, Message: in.Message,
		First: in.FirstTimestamp.Time, Last: in.LastTimestamp.Time, Other: []time.Time{in.EventTime.Time, in.FirstTimestamp.Time, in.CreationTimestamp.Time},
	}
	if in.Series != nil {
		e.Last = in.Series.LastObservedTime.Time
		e.First = in.EventTime.Time
	}
	return e
}

// event takes in an Event: one of this node, of another one, or of a pod that has none yet.
func (a *API) event(in *v1.Event, recs []trace.Record, put func(trace.Record)) {
	host := cmp.Or(in.Source.Host, in.ReportingInstance)
	a.mu.Lock()
	ours := host == a.node || a.pods.Knows(string(in.InvolvedObject.UID))
	if !ours && in.Source.Host == "" {
		a.wait.add(string(in.InvolvedObject.UID), recs, time.Now())
	}
	a.mu.Unlock()
	if ours {
		putAll(recs, put)
	}
}

// waiting are Events about pods that are not known to be the node's.
type waiting struct {
	of  map[string][]trace.Record // by UID
	all []waits
}

type waits struct {
	uid  string
	till time.Time
}

func (w *waiting) add(uid string, recs []trace.Record, now time.Time) {
	if uid == "" || len(recs) == 0 {
		return
	}
	for len(w.all) > 0 && (len(w.all) >= maxWaiting || w.all[0].till.Before(now)) {
		if first := w.of[w.all[0].uid]; len(first) > 1 {
			w.of[w.all[0].uid] = first[1:]
		} else {
			delete(w.of, w.all[0].uid)
		}
		w.all = w.all[1:]
	}
	if w.of == nil {
		w.of = map[string][]trace.Record{}
	}
	w.of[uid] = append(w.of[uid], recs[0])
	w.all = append(w.all, waits{uid, now.Add(maxWait)})
}

// take are those that waited for a pod.
func (w *waiting) take(uid string) []trace.Record {
	recs := w.of[uid]
	delete(w.of, uid)
	return recs
}
