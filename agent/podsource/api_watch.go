package podsource

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/url"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/kubeloupe/kubeloupe/agent/podspec"
	"github.com/kubeloupe/kubeloupe/trace"
)

// A watch is reopened after one to two times this, so that a silently broken connection is noticed. Upstream: client-go
// tools/cache, minWatchTimeout.
const watchTimeout = 5 * time.Minute

// shortWatch is the minimum duration of a watch without events, to count as successful.
const shortWatch = time.Second

// follow lists if necessary, then watches until the watch ends. It returns nil if the watch can continue at once.
func (a *API) follow(ctx context.Context, set func(Set)) error {
	if a.version == "" {
		if err := a.list(ctx, set); err != nil {
			return fmt.Errorf("list pods of node %s: %w", a.cfg.Node, bare(err))
		}
	}
	if err := a.watch(ctx, set); err != nil {
		return fmt.Errorf("watch pods of node %s: %w", a.cfg.Node, bare(err))
	}
	return nil
}

// bare removes the URL from an error: it differs for each watch and adds no information.
func bare(err error) error {
	if e, ok := errors.AsType[*url.Error](err); ok {
		return e.Err
	}
	return err
}

func (a *API) options() metav1.ListOptions {
	return metav1.ListOptions{FieldSelector: fields.OneTermEqualSelector("spec.nodeName", a.cfg.Node).String()}
}

// list replaces all pods. The first list may come from the API server's cache. One after an expired watch comes from
// its storage, so that it is not older than the current pods.
func (a *API) list(ctx context.Context, set func(Set)) error {
	event := trace.Source{Source: SourceAPI, Op: trace.OpSet, Cause: trace.SourceStart}
	options := a.options()
	options.ResourceVersion = "0"
	if a.listed {
		event.Cause, options.ResourceVersion = trace.SourceExpired, ""
	}
	span := trace.Begin(a.cfg.Bus, trace.Span{}, event)
	defer func() { trace.End(a.cfg.Bus, span, event) }()
	list, err := a.cfg.Client.Pods(metav1.NamespaceAll).List(trace.ContextWith(ctx, span), options)
	if err != nil {
		return err
	}
	a.well()
	a.pods, a.mirrors = nil, nil
	for i := range list.Items {
		if p := &list.Items[i]; podspec.IsMirror(p) {
			a.mirrors = append(a.mirrors, slim(p))
		} else {
			a.pods = append(a.pods, slim(p))
		}
	}
	slices.SortFunc(a.pods, func(x, y *v1.Pod) int {
		return cmp.Or(x.CreationTimestamp.Compare(y.CreationTimestamp.Time), cmp.Compare(x.Namespace, y.Namespace), cmp.Compare(x.Name, y.Name))
	})
	a.version, a.listed = list.ResourceVersion, true
	event.Pods = len(a.pods)
	a.deliver(ctx, set, span, true, true)
	return nil
}

// watch follows changes until the API server ends the watch.
func (a *API) watch(ctx context.Context, set func(Set)) error {
	options := a.options()
	options.ResourceVersion, options.AllowWatchBookmarks = a.version, true
	options.TimeoutSeconds = new(int64((watchTimeout + rand.N(watchTimeout)) / time.Second))
	began := time.Now()
	w, err := a.cfg.Client.Pods(metav1.NamespaceAll).Watch(ctx, options)
	if err != nil {
		return a.expired(err)
	}
	defer w.Stop()
	for told := false; ; told = true {
		select {
		case <-ctx.Done():
			return nil
		case e, ok := <-w.ResultChan():
			switch {
			case !ok && !told && time.Since(began) < shortWatch:
				return errors.New("the API server ended the watch immediately")
			case !ok:
				return nil
			case e.Type == watch.Error:
				return a.expired(apierrors.FromObject(e.Object))
			}
			a.well()
			a.expiries = 0
			if err := a.take(ctx, e, set); err != nil {
				return err
			}
		}
	}
}

// expired handles an error that requires a new list. That is not a failure.
func (a *API) expired(err error) error {
	if apierrors.IsResourceExpired(err) || apierrors.IsGone(err) {
		a.version = ""
		trace.Point(a.cfg.Bus, trace.Span{}, trace.Log{
			Level: "info", Message: fmt.Sprintf("the watch of pods cannot resume, pods are listed again: %v", err),
		})
		// The API server responds, so an earlier failure is no reason to wait. Only one that repeatedly cannot continue
		// from its own list is.
		a.tries = a.expiries
		if a.expiries++; a.expiries == 1 {
			return nil
		}
	}
	return err
}

// take applies one event.
func (a *API) take(ctx context.Context, e watch.Event, set func(Set)) error {
	p, ok := e.Object.(*v1.Pod)
	if !ok {
		return fmt.Errorf("the API server sent a %T", e.Object)
	}
	a.version = p.ResourceVersion
	if e.Type == watch.Bookmark {
		return nil
	}
	was := len(a.pods) + len(a.mirrors)
	pods, mirrors := drop(&a.pods, p, e.Type), drop(&a.mirrors, p, e.Type)
	if e.Type != watch.Deleted {
		if slim(p); podspec.IsMirror(p) {
			put(&a.mirrors, p)
			mirrors = true
		} else {
			put(&a.pods, p)
			pods = true
		}
	}
	if was == 0 && !pods && !mirrors {
		return nil // the deletion of an unknown pod
	}
	event := trace.Source{Source: SourceAPI, Op: trace.OpSet, Pods: len(a.pods), Cause: trace.SourceWatch}
	span := trace.Begin(a.cfg.Bus, trace.Span{}, event)
	trace.End(a.cfg.Bus, span, event)
	a.deliver(ctx, set, span, pods, mirrors)
	return nil
}

// drop removes the pod from the list if it was deleted, or if it became or stopped being a mirror pod. It reports
// whether the pod was in the list.
func drop(list *[]*v1.Pod, p *v1.Pod, kind watch.EventType) bool {
	i := slices.IndexFunc(*list, func(q *v1.Pod) bool { return q.Name == p.Name && q.Namespace == p.Namespace })
	if i < 0 || (kind != watch.Deleted && podspec.IsMirror(p) == podspec.IsMirror((*list)[i])) {
		return false
	}
	*list = slices.Delete(*list, i, i+1)
	return true
}

// put replaces the pod in the list, or adds it.
func put(list *[]*v1.Pod, p *v1.Pod) {
	i := slices.IndexFunc(*list, func(q *v1.Pod) bool { return q.Name == p.Name && q.Namespace == p.Namespace })
	if i < 0 {
		*list = append(*list, p)
		return
	}
	(*list)[i] = p
}

// slim removes the managed fields, which the agent does not read: often half of a pod's size.
func slim(p *v1.Pod) *v1.Pod {
	p.ManagedFields = nil
	return p
}
