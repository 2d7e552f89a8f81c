package status

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubeloupe/kubeloupe/trace"
)

// result is the result of work on a pod.
type result uint8

const (
	// written: the API has what it should have.
	written result = iota
	// refused: the API server rejected the write.
	refused
	// unreachable: there is no response, or one that requests a later retry.
	unreachable
	// over: the API no longer has this pod.
	over
)

// job is the input of a write when it began.
type job struct {
	uid          types.UID // the agent's
	namespace    string
	name         string
	pod          *v1.Pod
	api          *object
	want         v1.PodStatus
	version      uint64
	since        time.Time
	attempt      int
	static, gone bool
	futile       string
}

// work writes a pod's status, and then deletes the pod if possible. Upstream: pkg/kubelet/status/status_manager.go,
// syncPod.
func (m *Manager) work(ctx context.Context, e *entry) {
	m.mu.Lock()
	j := job{
		uid: e.pod.UID, namespace: e.pod.Namespace, name: e.pod.Name, pod: e.pod, api: e.api, want: e.want,
		version: e.version, since: e.since, attempt: e.tries + 1, static: e.static, gone: e.gone, futile: e.futile,
	}
	e.taken = e.version
	ctx = trace.ContextWith(ctx, e.span)
	m.mu.Unlock()
	if j.api == nil {
		m.done(e, over)
		return
	}
	r := m.write(ctx, e, &j)
	if r == written && m.remove(e) {
		r = m.delete(ctx, e, &j)
	}
	if r == over {
		m.lose(e, &j)
	}
	m.done(e, r)
}

// write patches the differences, if there are any.
func (m *Manager) write(ctx context.Context, e *entry, j *job) result {
	if j.version == 0 {
		return written
	}
	running := !j.gone && m.cfg.Running != nil && m.cfg.Running(j.uid)
	merged, held := merge(j.pod, &j.api.status, &j.want, running, time.Now())
	patch, err := patchOf(j.api, merged)
	if err != nil || patch == "" || patch == j.futile {
		m.wrote(e, j, j.api, held, j.futile)
		return written // it can never be encoded as JSON
	}
	changed, more := changes(&j.api.status, merged)
	event := trace.StatusPatch{
		Op: trace.PatchStatus, Version: j.version, Changed: changed, Clipped: more, Patch: cut(patch), Bytes: len(patch),
		Age: time.Since(j.since), Mirror: j.static,
	}
	if j.attempt > 1 {
		event.Attempt = j.attempt
	}
	span := trace.Begin(m.cfg.Bus, trace.FromContext(ctx), event)
	p, err := m.cfg.Client.Pods(j.namespace).Patch(trace.ContextWith(ctx, span), j.name, types.StrategicMergePatchType,
		[]byte(patch), metav1.PatchOptions{}, "status")
	event.Age = time.Since(j.since)
	if err != nil {
		event.Err, event.Class = err.Error(), classify(err)
	}
	trace.End(m.cfg.Bus, span, event)
	if err != nil {
		return judge(err)
	}
	now := objectOf(p)
	futile := ""
	if now.version != "" && now.version == j.api.version {
		futile = patch // the API server does not know the fields of the patch
	}
	m.wrote(e, j, now, held, futile)
	return written
}

// wrote records the API's new object.
func (m *Manager) wrote(e *entry, j *job, o *object, held bool, futile string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if o != j.api {
		e.wrote = time.Now()
	}
	e.learn(o)
	if e.api == nil || e.api.uid != o.uid {
		return // the answer is late: the mirror pod was replaced meanwhile, and the next one does not have the status
	}
	e.sent, e.held = max(e.sent, j.version), held
	if e.version == j.version {
		e.futile = futile
	}
}

// remove reports whether to delete the pod now.
func (m *Manager) remove(e *entry) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return e.removable() && e.sent == e.version
}

// delete deletes the API's object of a pod that is terminating there and gone here.
func (m *Manager) delete(ctx context.Context, e *entry, j *job) result {
	event := trace.StatusPatch{Op: trace.PatchDelete, Version: j.version, Age: time.Since(j.since)}
	span := trace.Begin(m.cfg.Bus, trace.FromContext(ctx), event)
	err := m.cfg.Client.Pods(j.namespace).Delete(trace.ContextWith(ctx, span), j.name, metav1.DeleteOptions{
		GracePeriodSeconds: new(int64(0)), Preconditions: metav1.NewUIDPreconditions(string(j.api.uid)),
	})
	event.Age = time.Since(j.since)
	if err != nil {
		event.Err, event.Class = err.Error(), classify(err)
	}
	trace.End(m.cfg.Bus, span, event)
	switch {
	case apierrors.IsConflict(err):
		return over // another pod has the name
	case err != nil:
		return judge(err)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	e.deleted = true
	return written
}

// lose removes a pod that the API no longer has. The status of a static pod is written to its next mirror pod: at once if there is one.
func (m *Manager) lose(e *entry, j *job) {
	m.mu.Lock()
	defer m.mu.Unlock()
	switch {
	case !e.static:
		if m.entries[j.uid] == e {
			m.forget(j.uid)
		}
	case e.api != nil && e.api.uid == j.api.uid:
		e.api, e.sent = nil, 0
		if next := m.mirror(j.uid); next != nil && next.uid != j.api.uid {
			e.learn(next)
		}
		fallthrough
	default:
		e.again = e.again || e.api != nil
	}
}

// judge returns the result of an error.
func judge(err error) result {
	status := apierrors.APIStatus(nil)
	switch {
	case apierrors.IsNotFound(err), another(err):
		return over
	case !errors.As(err, &status), status.Status().Code == http.StatusTooManyRequests, status.Status().Code >= http.StatusInternalServerError:
		return unreachable
	}
	return refused
}

// another reports whether the API server refuses because another pod has the name now: its error says that the UID is
// immutable, or that the precondition failed.
func another(err error) bool {
	status := apierrors.APIStatus(nil)
	if !errors.As(err, &status) {
		return false
	}
	if details := status.Status().Details; apierrors.IsInvalid(err) && details != nil {
		return slices.ContainsFunc(details.Causes, func(c metav1.StatusCause) bool { return c.Field == "metadata.uid" })
	}
	return apierrors.IsConflict(err) && trace.Classify(err.Error()) == trace.FailReplaced
}

// classify returns the class of a failed write.
func classify(err error) trace.FailureClass {
	if apierrors.IsNotFound(err) {
		return trace.FailGone
	}
	return trace.ClassifyError(err)
}
