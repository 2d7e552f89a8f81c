package pods

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strings"
	"sync"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubeloupe/kubeloupe/agent/podruntime"
	"github.com/kubeloupe/kubeloupe/agent/podspec"
	"github.com/kubeloupe/kubeloupe/agent/podstate"
	"github.com/kubeloupe/kubeloupe/agent/worker"
	"github.com/kubeloupe/kubeloupe/trace"
	"github.com/kubeloupe/kubeloupe/trace/say"
	"github.com/kubeloupe/kubeloupe/trace/tracetest"
)

// fakeWorkers records requests. A test sets the states of its pods.
type fakeWorkers struct {
	states map[types.UID]worker.State
	calls  []string
}

func (f *fakeWorkers) Ask(uid types.UID, a worker.Ask) {
	s := fmt.Sprintf("%s: %s", uid, a.Cause.Text)
	if a.End {
		s += " end"
	}
	if a.Grace != nil {
		s += fmt.Sprintf(" grace=%d", *a.Grace)
	}
	if a.Remove {
		s += " remove"
	}
	if a.Reason != "" {
		s += ", " + a.Reason
	}
	f.calls = append(f.calls, s)
	if f.states[uid] == "" {
		f.states[uid] = worker.Syncing
	}
	if a.End {
		f.states[uid] = worker.Terminating
	}
}

func (f *fakeWorkers) Wake(uid types.UID, c worker.Cause) bool {
	known := f.State(uid) != worker.None
	f.calls = append(f.calls, fmt.Sprintf("%s: wake %s retry=%t known=%t", uid, c.Text, c.Retry, known))
	return known
}

func (f *fakeWorkers) State(uid types.UID) worker.State {
	if s := f.states[uid]; s != "" {
		return s
	}
	return worker.None
}

func (f *fakeWorkers) Pods() map[types.UID]*v1.Pod { return nil }

// took returns the calls since the last call of took.
func (f *fakeWorkers) took() []string {
	calls := f.calls
	f.calls = nil
	return calls
}

// fakeSeen is the runtime's state.
type fakeSeen map[types.UID]*podstate.Pod

func (f fakeSeen) Get(uid types.UID) *podstate.Pod  { return f[uid] }
func (f fakeSeen) All() map[types.UID]*podstate.Pod { return maps.Clone(f) }
func (f fakeSeen) run(name, uid string, states ...string) {
	f[types.UID(uid)] = seenPod(name, uid, states...)
}
func (f fakeSeen) forget(uid string) { delete(f, types.UID(uid)) }

// seenPod has a ready sandbox and a container for each state; without states, neither.
func seenPod(name, uid string, states ...string) *podstate.Pod {
	p := &podstate.Pod{UID: types.UID(uid), Name: name, Namespace: "default", At: time.Now()}
	for i, s := range states {
		c := podstate.Container{ID: fmt.Sprint(uid, "-", i), Name: fmt.Sprint("c", i), Image: "app:1", State: podstate.Exited}
		if s == "running" {
			c.State = podstate.Running
			p.Sandboxes = []podstate.Sandbox{{ID: uid + "-sandbox", Ready: true}}
		}
		p.Containers = append(p.Containers, c)
	}
	return p
}

// fakeRuntime calls its functions.
type fakeRuntime struct {
	mu    sync.Mutex
	sync  func(ctx context.Context, pod *v1.Pod) (podruntime.Outcome, error)
	kill  func(ctx context.Context, pod *v1.Pod) error
	clean func(ctx context.Context, pod *v1.Pod, remove bool) error
	why   map[string]podruntime.Reason
	calls []string
}

func (f *fakeRuntime) note(format string, args ...any) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.calls = append(f.calls, fmt.Sprintf(format, args...))
}

func (f *fakeRuntime) took() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	calls := f.calls
	f.calls = nil
	return calls
}

func (f *fakeRuntime) Sync(ctx context.Context, pod *v1.Pod, _ uint64, _ func(context.Context)) (podruntime.Outcome, error) {
	f.note("sync %s", pod.Name)
	if f.sync == nil {
		return podruntime.Outcome{Running: true, Acted: true}, nil
	}
	return f.sync(ctx, pod)
}

func (f *fakeRuntime) Kill(ctx context.Context, pod *v1.Pod, grace *int64, why string, _ uint64) error {
	f.note("kill %s grace=%d, %s", pod.Name, podspec.GracePeriod(pod, grace), why)
	if f.kill == nil {
		return nil
	}
	return f.kill(ctx, pod)
}

func (f *fakeRuntime) Clean(ctx context.Context, pod *v1.Pod, remove bool, _ uint64) error {
	f.note("clean %s remove=%t", pod.Name, remove)
	if f.clean == nil {
		return nil
	}
	return f.clean(ctx, pod, remove)
}

func (f *fakeRuntime) Reasons(types.UID) map[string]podruntime.Reason { return f.why }
func (f *fakeRuntime) Forget(uid types.UID)                           { f.note("forget %s", uid) }

// fakeNetwork is why the network is not ready; empty if it is.
type fakeNetwork struct {
	mu  sync.Mutex
	why string
}

func (f *fakeNetwork) Ready() (ok bool, why string) { return true, "" }

func (f *fakeNetwork) NetworkReady() (ok bool, why string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.why == "", f.why
}

func (f *fakeNetwork) NetworkError() error {
	if ok, why := f.NetworkReady(); !ok {
		return errors.New("container runtime network not ready: " + why)
	}
	return nil
}

func (f *fakeNetwork) set(why string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.why = why
}

// podOf returns a pod of the file source, changed by edits.
func podOf(name, uid string, edits ...func(*v1.Pod)) *v1.Pod {
	p := &v1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Name: name, Namespace: "default", UID: types.UID(uid), Annotations: map[string]string{podspec.AnnotationSource: podspec.SourceFile},
		},
		Spec: v1.PodSpec{RestartPolicy: v1.RestartPolicyAlways, Containers: []v1.Container{{Name: "app", Image: "app:1"}}},
	}
	for _, e := range edits {
		e(p)
	}
	return p
}

func hostPort(port int32) func(*v1.Pod) {
	return func(p *v1.Pod) { p.Spec.Containers[0].Ports = []v1.ContainerPort{{HostPort: port}} }
}

// milestones returns "name pod" with the other fields, in order.
func milestones(rec *tracetest.Recorder) []string {
	var out []string
	for _, r := range rec.OfKind("pod.milestone") {
		m, _ := r.Event.(*trace.Milestone)
		s := string(m.Name) + " " + r.Pod.Name
		if m.Since != 0 {
			s += " " + m.Since.String()
		}
		if m.Adopted {
			s += " adopted"
		}
		out = append(out, s)
	}
	return out
}

// decisions returns "by pod: verdict, reason".
func decisions(rec *tracetest.Recorder) []string {
	var out []string
	for _, d := range tracetest.Events[trace.Decision](rec) {
		out = append(out, fmt.Sprintf("%s %s: %s, %s", d.By, d.Subject, d.Verdict, d.Reason))
	}
	return out
}

// openWaits returns the waits that have begun and not ended. It fails the test if one ends twice.
func openWaits(t *testing.T, rec *tracetest.Recorder) []string {
	t.Helper()
	open := map[trace.SpanID]string{}
	var order []trace.SpanID
	for _, r := range rec.OfKind("pod.wait") {
		w, _ := r.Event.(*trace.Wait)
		switch r.Edge {
		case trace.EdgeBegin:
			open[r.Span] = strings.TrimSpace(fmt.Sprintf("%s: %s %s", w.For, say.On(w), say.Detail(w, r.Start())))
			order = append(order, r.Span)
		case trace.EdgeEnd:
			if open[r.Span] == "" {
				t.Errorf("the wait for %s ends and is not open", say.On(w))
			}
			delete(open, r.Span)
		case trace.EdgePoint:
			t.Errorf("the wait for %s is a point", say.On(w))
		}
	}
	var out []string
	for _, id := range order {
		if open[id] != "" {
			out = append(out, open[id])
		}
	}
	return out
}
