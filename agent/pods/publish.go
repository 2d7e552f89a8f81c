package pods

import (
	"context"
	"reflect"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubeloupe/kubeloupe/agent/podruntime"
	"github.com/kubeloupe/kubeloupe/agent/podspec"
	"github.com/kubeloupe/kubeloupe/agent/podstate"
	"github.com/kubeloupe/kubeloupe/agent/podstatus"
	"github.com/kubeloupe/kubeloupe/trace"
)

// StatusInput is the input of a status, in addition to the state of the runtime.
type StatusInput struct {
	Pod *v1.Pod
	// Previous is the last status.
	Previous v1.PodStatus
	Reasons  map[string]podruntime.Reason
	// Failed, if set, makes the pod Failed; Disruption, if set, says that it is not to blame.
	Failed     *podstatus.Reason
	Disruption string
	// LastWords returns a container's termination message, without reading a file; if nil, the runtime's message is
	// used.
	LastWords func(c *podstate.Container) string
}

// StatusFunc computes a pod's status.
type StatusFunc func(in StatusInput) (v1.PodStatus, trace.PodStatus)

// PublishStatus computes the status of a pod again, for example after a probe result.
func (s *Syncer) PublishStatus(ctx context.Context, uid types.UID) {
	var pod *v1.Pod
	s.cfg.Store.with(uid, func(e *entry) { pod = e.pod })
	if pod != nil {
		s.publishStatus(ctx, pod)
	}
}

// publishStatus computes the pod's status again, publishes it if views would show a change, and passes it on. It
// returns the newest version of the pod.
func (s *Syncer) publishStatus(ctx context.Context, pod *v1.Pod) *v1.Pod {
	reasons := s.cfg.Runtime.Reasons(pod.UID)
	ctx = trace.ContextWith(ctx, trace.ForPod(trace.FromContext(ctx), podspec.Ref(pod)))
	w := words{read: s.cfg.LastWords, have: map[string]string{}}
	pod = s.makeStatus(ctx, pod, reasons, &w)
	for w.fetch(ctx) {
		pod = s.makeStatus(ctx, pod, reasons, &w)
	}
	if s.isReady(pod.UID) {
		s.reached(ctx, pod, trace.MilestoneReady, false)
	}
	return pod
}

// makeStatus computes the status, unless it needs termination messages that were not read yet.
func (s *Syncer) makeStatus(ctx context.Context, pod *v1.Pod, reasons map[string]podruntime.Reason, w *words) *v1.Pod {
	s.cfg.Store.with(pod.UID, func(e *entry) {
		pod = e.pod
		status, said := s.cfg.Status(StatusInput{Pod: pod, Previous: e.status, Reasons: reasons, Failed: e.failed, Disruption: e.disruption, LastWords: w.lookUp()})
		if len(w.missing) > 0 {
			return
		}
		if len(s.cfg.Store.changed) > 0 && (!e.own || !reflect.DeepEqual(e.status, status)) {
			s.cfg.Store.tell(pod.UID)
		}
		e.status, e.own = status, true
		if !same(said, e.said) {
			e.said = said
			trace.Point(s.cfg.Bus, trace.FromContext(ctx), said)
		}
		if s.cfg.Statuses != nil {
			s.cfg.Statuses.Set(ctx, pod, *e.status.DeepCopy()) // with mu held, so that statuses keep their order
		}
	})
	return pod
}

// words are the termination messages of containers. They are read without a lock, because containers write the files.
type words struct {
	read    func(context.Context, *podstate.Container) string
	have    map[string]string // by container ID
	missing []*podstate.Container
}

func (w *words) lookUp() func(*podstate.Container) string {
	if w.read == nil {
		return nil
	}
	return func(c *podstate.Container) string {
		text, ok := w.have[c.ID]
		if !ok {
			w.missing = append(w.missing, c)
		}
		return text
	}
}

// fetch reads the missing messages and reports whether there were any.
func (w *words) fetch(ctx context.Context) bool {
	missing := w.missing
	w.missing = nil
	for _, c := range missing {
		w.have[c.ID] = w.read(ctx, c)
	}
	return len(missing) > 0
}

func (s *Syncer) isReady(uid types.UID) (ready bool) {
	s.cfg.Store.with(uid, func(e *entry) {
		for _, c := range e.status.Conditions {
			if c.Type == v1.PodReady && c.Status == v1.ConditionTrue {
				ready = true
			}
		}
	})
	return ready
}
