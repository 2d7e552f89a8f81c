package mirror

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"
	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubeloupe/kubeloupe/agent/backoff"
	"github.com/kubeloupe/kubeloupe/agent/podspec"
	"github.com/kubeloupe/kubeloupe/trace"
)

// The back-off after a failure doubles from the first to the last value.
const (
	firstRetry = 250 * time.Millisecond
	lastRetry  = 30 * time.Second
)

// step is one action: delete or create a mirror.
type step struct {
	remove *v1.Pod
	create *v1.Pod // the static pod
}

// Run creates and deletes mirrors until ctx ends, and then returns nil.
func (m *Manager) Run(ctx context.Context) error {
	pauses := backoff.Spread(firstRetry, lastRetry)
	for tries := 0; ; {
		var retry <-chan time.Time
		var end func()
		if err := m.pass(ctx); err != nil && ctx.Err() == nil {
			delay := pauses.Step()
			tries++
			retry = time.After(delay)
			end = m.wait(delay, tries, err)
		} else {
			tries, pauses = 0, backoff.Spread(firstRetry, lastRetry)
		}
		done := false
		select {
		case <-ctx.Done():
			done = true
		case <-m.wake:
		case <-retry:
		}
		if end != nil {
			end()
		}
		if done {
			return nil
		}
	}
}

func (m *Manager) wait(delay time.Duration, tries int, err error) func() {
	w := trace.Wait{
		For: trace.WaitBackoff, Target: trace.Target{Kind: trace.TargetMirrorPods}, Tries: tries, Cause: err.Error(), Until: time.Now().Add(delay).UnixNano(),
	}
	span := trace.Begin(m.cfg.Bus, trace.Span{}, w)
	return func() { trace.End(m.cfg.Bus, span, w) }
}

// plan returns the actions to do now.
func (m *Manager) plan() []step {
	m.mu.Lock()
	defer m.mu.Unlock()
	if !m.listed {
		return nil // the existing mirrors are not known yet
	}
	var steps []step
	for _, name := range slices.Sorted(maps.Keys(m.statics)) {
		static, mirror := m.holder(name), m.mirrors[name]
		switch {
		case mirror == nil:
			steps = append(steps, step{create: static})
		case mirror.DeletionTimestamp != nil, !shows(mirror, static):
			steps = append(steps, step{remove: mirror, create: static})
		}
	}
	if !m.complete {
		return steps
	}
	for _, name := range slices.Sorted(maps.Keys(m.mirrors)) {
		if m.holder(name) == nil {
			steps = append(steps, step{remove: m.mirrors[name]})
		}
	}
	return steps
}

// atOnce is how many mirrors are handled concurrently, stepLimit the timeout for each: a namespace in which writes hang
// (because of a webhook) delays other mirrors for at most this long.
const (
	atOnce    = 4
	stepLimit = 15 * time.Second
)

// pass runs the plan. It records created and deleted mirrors at once; the watch delivers them later.
func (m *Manager) pass(ctx context.Context) error {
	steps := m.plan()
	errs := make([]error, len(steps))
	var group errgroup.Group
	group.SetLimit(atOnce)
	for i, s := range steps {
		group.Go(func() error {
			errs[i] = m.step(ctx, s)
			return nil
		})
	}
	_ = group.Wait() // none returns an error
	return errors.Join(errs...)
}

func (m *Manager) step(ctx context.Context, s step) error {
	ctx, cancel := context.WithTimeout(ctx, stepLimit)
	defer cancel()
	if s.remove != nil {
		if err := m.delete(ctx, s.remove); err != nil {
			return err
		}
	}
	if s.create != nil && m.cfg.NodeUID() != "" {
		return m.create(ctx, s.create)
	}
	return nil
}

// delete deletes a mirror without a grace period. Upstream: pkg/kubelet/pod/mirror_client.go, DeleteMirrorPod.
func (m *Manager) delete(ctx context.Context, p *v1.Pod) error {
	err := m.traced(ctx, trace.DeleteMirror, p, func(ctx context.Context) error {
		err := m.cfg.Client.Pods(p.Namespace).Delete(ctx, p.Name, metav1.DeleteOptions{
			GracePeriodSeconds: new(int64(0)), Preconditions: metav1.NewUIDPreconditions(string(p.UID)),
		})
		if apierrors.IsNotFound(err) || apierrors.IsConflict(err) {
			return nil // already deleted, or another pod has its name
		}
		return err
	})
	if err != nil {
		return fmt.Errorf("delete mirror pod %s/%s: %w", p.Namespace, p.Name, err)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if name := podspec.FullName(p); m.mirrors[name] == p {
		delete(m.mirrors, name)
		delete(m.made, name)
		m.ended[p.UID] = true
	}
	return nil
}

// create creates the mirror of a static pod. Its owner is the node, as the API server requires. Upstream:
// pkg/kubelet/pod/mirror_client.go, CreateMirrorPod.
func (m *Manager) create(ctx context.Context, static *v1.Pod) error {
	p := static.DeepCopy()
	p.UID = "" // the API server sets it; the hash identifies the static pod
	if p.Annotations == nil {
		p.Annotations = map[string]string{}
	}
	p.Annotations[podspec.AnnotationMirror] = static.Annotations[podspec.AnnotationHash]
	p.OwnerReferences = []metav1.OwnerReference{{
		APIVersion: "v1", Kind: "Node", Name: m.cfg.Node, UID: m.cfg.NodeUID(), Controller: new(true),
	}}
	var mirror *v1.Pod
	err := m.traced(ctx, trace.CreateMirror, static, func(ctx context.Context) error {
		var err error
		mirror, err = m.cfg.Client.Pods(p.Namespace).Create(ctx, p, metav1.CreateOptions{})
		return err
	})
	if apierrors.IsAlreadyExists(err) {
		// It was created a moment ago, or another pod has the name: the watch delivers a mirror, or the next attempt
		// finds out.
		var e error
		mirror, e = m.cfg.Client.Pods(p.Namespace).Get(ctx, p.Name, metav1.GetOptions{})
		switch {
		case e == nil && !podspec.IsMirror(mirror):
			return fmt.Errorf("create mirror pod %s/%s: another pod has the name", p.Namespace, p.Name)
		case e == nil:
			err = nil
		}
	}
	if err != nil {
		return fmt.Errorf("create mirror pod %s/%s: %w", p.Namespace, p.Name, err)
	}
	m.keep(ctx, static, mirror)
	return nil
}

// keep records a mirror before the watch delivers it, so that its status follows at once.
func (m *Manager) keep(ctx context.Context, static, mirror *v1.Pod) {
	name := podspec.FullName(static)
	m.mu.Lock()
	known := m.mirrors[name] != nil
	if !known {
		m.mirrors[name], m.made[name] = mirror, made{mirror, time.Now()}
	}
	m.mu.Unlock()
	if !known && shows(mirror, static) && m.cfg.Changed != nil {
		m.cfg.Changed(ctx, static.UID, mirror)
	}
	if !shows(mirror, static) {
		m.Wake()
	}
}

func (m *Manager) traced(ctx context.Context, op trace.PatchOp, p *v1.Pod, f func(context.Context) error) error {
	event := trace.StatusPatch{Op: op, Mirror: true, Changed: []trace.Change{{
		What: trace.ChangeField, Name: "hash", To: cmp.Or(p.Annotations[podspec.AnnotationMirror], p.Annotations[podspec.AnnotationHash]),
	}}}
	span := trace.Begin(m.cfg.Bus, trace.ForPod(trace.FromContext(ctx), podspec.Ref(p)), event)
	err := f(trace.ContextWith(ctx, span))
	if err != nil {
		event.Err, event.Class = err.Error(), trace.ClassifyError(err)
		if apierrors.IsNotFound(err) {
			event.Class = trace.FailGone
		}
	}
	trace.End(m.cfg.Bus, span, event)
	return err
}
