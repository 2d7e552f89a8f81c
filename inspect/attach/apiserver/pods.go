package apiserver

import (
	"context"
	"errors"
	"fmt"
	"time"

	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/kubeloupe/kubeloupe/inspect/attach/podobject"
	"github.com/kubeloupe/kubeloupe/trace"
)

// watchTime is how long the API server lets a watch run; then it begins again where it ended.
const watchTime = 8 * time.Minute

// Pods passes on records of the node's pods until ctx ends or they cannot be read, which is an error.
func (a *API) Pods(ctx context.Context, put func(trace.Record)) error {
	selector := fields.OneTermEqualSelector("spec.nodeName", a.node).String()
	listing, cancel := context.WithTimeout(ctx, deadline)
	defer cancel()
	list, err := a.client.pods.List(listing, metav1.ListOptions{FieldSelector: selector, ResourceVersion: "0"}) // as the kubelet does: from the cache
	if err != nil {
		return explain("pods of the node", err)
	}
	now := time.Now()
	there := map[string]bool{}
	for i := range list.Items {
		there[podobject.UID(&list.Items[i])] = true
		putAll(a.pod(&list.Items[i], now), put)
	}
	a.mu.Lock()
	a.pods.Only(there)
	a.pods.Synced()
	a.mu.Unlock()
	return follow(ctx, list.ResourceVersion, func(ctx context.Context, version string) (watch.Interface, error) {
		return a.client.pods.Watch(ctx, options(selector, version))
	}, "pods of the node", func(kind watch.EventType, pod *v1.Pod) {
		if kind == watch.Deleted {
			a.gone(pod)
			return
		}
		putAll(a.pod(pod, time.Now()), put)
	})
}

// pod takes in a pod. It returns the records of it and of the Events that waited for it.
func (a *API) pod(pod *v1.Pod, now time.Time) []trace.Record {
	a.mu.Lock()
	defer a.mu.Unlock()
	return append(a.pods.Apply(pod, now), a.wait.take(podobject.UID(pod))...)
}

// gone takes in that a pod's object is gone.
func (a *API) gone(pod *v1.Pod) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.pods.Gone(pod)
}

// putAll passes records on. It may block: not under the lock.
func putAll(recs []trace.Record, put func(trace.Record)) {
	for i := range recs {
		put(recs[i])
	}
}

func options(selector, version string) metav1.ListOptions {
	return metav1.ListOptions{FieldSelector: selector, ResourceVersion: version, AllowWatchBookmarks: true, TimeoutSeconds: new(int64(watchTime / time.Second))}
}

// object is what is watched.
type object interface {
	metav1.Object
	*v1.Pod | *v1.Event
}

// follow watches from a version on until ctx ends or it cannot.
func follow[T object](ctx context.Context, version string, begin func(context.Context, string) (watch.Interface, error), what string, take func(watch.EventType, T)) error {
	for {
		w, err := begin(ctx, version)
		if err != nil {
			return explain(what, err)
		}
		began := time.Now()
		last, err := drain(ctx, w, take)
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case err != nil:
			return explain(what, err)
		case last == "" && time.Since(began) < time.Second:
			return errors.New("the API server ended the watch at once")
		case last != "":
			version = last
		}
	}
}

// drain reads a watch until it ends. It returns the version up to which it was read.
func drain[T object](ctx context.Context, w watch.Interface, take func(watch.EventType, T)) (version string, err error) {
	defer w.Stop()
	for {
		var e watch.Event
		var ok bool
		select {
		case <-ctx.Done():
			return version, nil
		case e, ok = <-w.ResultChan():
		}
		if !ok {
			return version, nil
		}
		if e.Type == watch.Error {
			return version, apierrors.FromObject(e.Object)
		}
		o, ok := e.Object.(T)
		if !ok {
			return version, fmt.Errorf("it answered with %T", e.Object)
		}
		version = o.GetResourceVersion()
		if e.Type != watch.Bookmark {
			take(e.Type, o)
		}
	}
}
