package status

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/strategicpatch"
	"k8s.io/apimachinery/pkg/util/validation/field"
	corev1 "k8s.io/client-go/kubernetes/typed/core/v1"

	"github.com/kubeloupe/kubeloupe/agent/kubeapi"
	"github.com/kubeloupe/kubeloupe/trace/tracetest"
)

// fakeAPI has pods by name and applies patches as the API server does.
type fakeAPI struct {
	corev1.PodInterface
	mu    sync.Mutex
	pods  map[string]*v1.Pod
	calls []string
	when  []time.Time // of calls
	fail  func() error
	takes time.Duration // per call
	busy  int
	most  int // concurrent calls
	deaf  bool
	// version is that of the latest write, of any pod.
	version int
	// hang, if set, returns a channel that holds the call until it closes; nil holds nothing.
	hang func(what string) <-chan struct{}
}

func (f *fakeAPI) Pods(string) kubeapi.Pods { return f }

// call records a call and takes its time.
func (f *fakeAPI) call(what string) error {
	f.mu.Lock()
	f.calls, f.when = append(f.calls, what), append(f.when, time.Now())
	f.busy++
	f.most = max(f.most, f.busy)
	takes, hang := f.takes, f.hang
	f.mu.Unlock()
	time.Sleep(takes)
	if hang != nil {
		if ch := hang(what); ch != nil {
			<-ch
		}
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.busy--
	if f.fail != nil {
		return f.fail()
	}
	return nil
}

func (f *fakeAPI) find(name string, uid types.UID) (*v1.Pod, error) {
	p := f.pods[name]
	switch {
	case p == nil:
		return nil, apierrors.NewNotFound(v1.Resource("pods"), name)
	case p.UID != uid: // the API server's answer to such a patch
		return nil, apierrors.NewInvalid(v1.SchemeGroupVersion.WithKind("Pod").GroupKind(), name,
			field.ErrorList{field.Invalid(field.NewPath("metadata", "uid"), uid, "field is immutable")})
	}
	return p, nil
}

func (f *fakeAPI) Patch(_ context.Context, name string, kind types.PatchType, data []byte, _ metav1.PatchOptions, sub ...string) (*v1.Pod, error) {
	if kind != types.StrategicMergePatchType || len(sub) != 1 || sub[0] != "status" {
		return nil, errors.New("not a patch of a status")
	}
	if err := f.call("patch " + name); err != nil {
		return nil, err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	var meta v1.Pod
	if err := json.Unmarshal(data, &meta); err != nil {
		return nil, err
	}
	p, err := f.find(name, meta.UID)
	if err != nil || f.deaf {
		return p, err
	}
	before, _ := json.Marshal(p)
	after, err := strategicpatch.StrategicMergePatch(before, data, v1.Pod{})
	if err != nil {
		return nil, err
	}
	next := &v1.Pod{}
	if err := json.Unmarshal(after, next); err != nil {
		return nil, err
	}
	return f.store(next), nil
}

// store stores p as the next version.
func (f *fakeAPI) store(p *v1.Pod) *v1.Pod {
	f.version++
	p = p.DeepCopy()
	p.ResourceVersion = strconv.Itoa(f.version)
	f.pods[p.Name] = p
	return p
}

func (f *fakeAPI) Delete(_ context.Context, name string, o metav1.DeleteOptions) error {
	if err := f.call(fmt.Sprintf("delete %s grace=%d", name, *o.GracePeriodSeconds)); err != nil {
		return err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if _, err := f.find(name, *o.Preconditions.UID); err != nil {
		return err
	}
	delete(f.pods, name)
	return nil
}

// behave changes the fake's behavior.
func (f *fakeAPI) behave(edit func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	edit()
}

func (f *fakeAPI) took() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	calls := f.calls
	f.calls, f.when = nil, nil
	return calls
}

// bench is a running manager with a fake API server.
type bench struct {
	*Manager
	t   *testing.T
	api *fakeAPI
	rec *tracetest.Recorder
}

func running(t *testing.T, change func(*Config), f func(b *bench)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		b := &bench{t: t, api: &fakeAPI{pods: map[string]*v1.Pod{}}, rec: tracetest.New(t)}
		c := Config{Client: b.api, Bus: b.rec.Bus()}
		if change != nil {
			change(&c)
		}
		m, err := New(c)
		if err != nil {
			t.Fatal(err)
		}
		b.Manager = m
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- m.Run(ctx) }()
		f(b)
		cancel()
		if err := <-done; err != nil {
			t.Errorf("Run: %v", err)
		}
	})
}

// pod creates a pod in the fake API.
func (b *bench) pod(name string, edits ...func(*v1.Pod)) *v1.Pod {
	p := &v1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name, UID: types.UID("u-" + name), Generation: 1},
		Spec:       v1.PodSpec{RestartPolicy: v1.RestartPolicyAlways, Containers: []v1.Container{{Name: "app"}}},
		Status: v1.PodStatus{Phase: v1.PodPending, Conditions: []v1.PodCondition{
			{Type: v1.PodScheduled, Status: v1.ConditionTrue}, {Type: "example.com/gate", Status: v1.ConditionTrue},
		}},
	}
	for _, e := range edits {
		e(p)
	}
	b.api.mu.Lock()
	defer b.api.mu.Unlock()
	return b.api.store(p)
}

// now returns the API's current object.
func (b *bench) now(name string) *v1.Pod {
	b.api.mu.Lock()
	defer b.api.mu.Unlock()
	return b.api.pods[name]
}

// change is a write by another component.
func (b *bench) change(name string, edit func(*v1.Pod)) *v1.Pod {
	b.api.mu.Lock()
	defer b.api.mu.Unlock()
	p := b.api.pods[name].DeepCopy()
	edit(p)
	return b.api.store(p)
}

// calls returns the API calls since the last time, when everything is idle.
func (b *bench) calls() []string {
	synctest.Wait()
	return b.api.took()
}

func status(phase v1.PodPhase, ready v1.ConditionStatus, state v1.ContainerState) v1.PodStatus {
	return v1.PodStatus{
		Phase:             phase,
		Conditions:        []v1.PodCondition{{Type: v1.PodReady, Status: ready}, {Type: v1.PodScheduled, Status: v1.ConditionTrue}},
		ContainerStatuses: []v1.ContainerStatus{{Name: "app", State: state, Ready: ready == v1.ConditionTrue}},
	}
}

func run() v1.PodStatus {
	return status(v1.PodRunning, v1.ConditionTrue, v1.ContainerState{Running: &v1.ContainerStateRunning{StartedAt: metav1.Now()}})
}

func start() v1.PodStatus {
	return status(v1.PodPending, v1.ConditionFalse, v1.ContainerState{Waiting: &v1.ContainerStateWaiting{Reason: "ContainerCreating"}})
}

func ended(code int32) v1.PodStatus {
	phase := v1.PodSucceeded
	if code != 0 {
		phase = v1.PodFailed
	}
	return status(phase, v1.ConditionFalse, v1.ContainerState{Terminated: &v1.ContainerStateTerminated{ExitCode: code, FinishedAt: metav1.Now()}})
}
