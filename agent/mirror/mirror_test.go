package mirror

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	corev1 "k8s.io/client-go/kubernetes/typed/core/v1"

	"github.com/kubeloupe/kubeloupe/agent/kubeapi"
	"github.com/kubeloupe/kubeloupe/agent/podspec"
	"github.com/kubeloupe/kubeloupe/trace"
	"github.com/kubeloupe/kubeloupe/trace/tracetest"
)

// fakeAPI has mirror pods. It delivers them to the manager on request.
type fakeAPI struct {
	corev1.PodInterface
	mu    sync.Mutex
	pods  map[string]*v1.Pod
	calls []string
	fail  error
	n     int
}

func (f *fakeAPI) Pods(string) kubeapi.Pods { return f }

func (f *fakeAPI) Get(_ context.Context, name string, _ metav1.GetOptions) (*v1.Pod, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.calls = append(f.calls, "get "+name)
	return f.pods[name].DeepCopy(), nil
}

func (f *fakeAPI) Create(_ context.Context, p *v1.Pod, _ metav1.CreateOptions) (*v1.Pod, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	o := p.OwnerReferences[0]
	f.calls = append(f.calls, fmt.Sprintf("create %s %s by %s %s %s", p.Name, p.Annotations[podspec.AnnotationMirror], o.Kind, o.Name, o.UID))
	if f.fail != nil {
		return nil, f.fail
	}
	if f.pods[p.Name] != nil {
		return nil, apierrors.NewAlreadyExists(v1.Resource("pods"), p.Name)
	}
	f.n++
	p = p.DeepCopy()
	p.UID = types.UID(fmt.Sprint("m", f.n))
	f.pods[p.Name] = p
	return p.DeepCopy(), nil
}

func (f *fakeAPI) Delete(_ context.Context, name string, o metav1.DeleteOptions) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.calls = append(f.calls, fmt.Sprintf("delete %s %s grace=%d", name, *o.Preconditions.UID, *o.GracePeriodSeconds))
	switch p := f.pods[name]; {
	case p == nil:
		return apierrors.NewNotFound(v1.Resource("pods"), name)
	case p.UID != *o.Preconditions.UID:
		return apierrors.NewConflict(v1.Resource("pods"), name, errors.New("uid"))
	}
	delete(f.pods, name)
	return nil
}

func (f *fakeAPI) list() []*v1.Pod {
	var out []*v1.Pod
	for _, p := range f.pods {
		out = append(out, p)
	}
	return out
}

func static(name, hash string) *v1.Pod {
	return &v1.Pod{ObjectMeta: metav1.ObjectMeta{
		Namespace: "default", Name: name, UID: types.UID(hash),
		Annotations: map[string]string{podspec.AnnotationHash: hash, podspec.AnnotationSource: podspec.SourceFile},
	}}
}

// hungAPI does not respond about some pods.
type hungAPI struct{ *fakeAPI }

func (f hungAPI) Pods(string) kubeapi.Pods { return f }

func (f hungAPI) Create(ctx context.Context, p *v1.Pod, o metav1.CreateOptions) (*v1.Pod, error) {
	if p.Name[0] == 'h' {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	return f.fakeAPI.Create(ctx, p, o)
}

// Mirrors that cannot be created delay the others for a bounded time.
func TestHungWrites(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		api := &fakeAPI{pods: map[string]*v1.Pod{}}
		m, err := New(Config{Client: hungAPI{api}, Node: "n1", NodeUID: func() types.UID { return "nu" }})
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- m.Run(ctx) }()
		m.Set(ctx, nil)
		for i := range 6 {
			m.Add(static(fmt.Sprint("hung", i), fmt.Sprint("h", i)))
		}
		m.Add(static("web", "w"))
		time.Sleep(3 * stepLimit)
		synctest.Wait()
		if m.Mirror("w") == nil {
			t.Error("a mirror is missing that could have been made")
		}
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
}

func TestMirror(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rec := tracetest.New(t)
		api := &fakeAPI{pods: map[string]*v1.Pod{}}
		var changed []string
		node := types.UID("")
		m, err := New(Config{
			Client: api, Node: "n1", NodeUID: func() types.UID { return node }, Bus: rec.Bus(),
			Changed: func(_ context.Context, uid types.UID, p *v1.Pod) {
				changed = append(changed, fmt.Sprintf("%s=%s", uid, p.UID))
			},
		})
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- m.Run(ctx) }()
		step := func(what string, do func(), want ...string) {
			t.Helper()
			do()
			synctest.Wait()
			api.mu.Lock()
			defer api.mu.Unlock()
			got := slices.Concat(api.calls, changed)
			api.calls, changed = nil, nil
			if d := cmp.Diff(want, got, cmp.Transformer("nil", func(s []string) []string { return append([]string{}, s...) })); d != "" {
				t.Errorf("%s (-want +got):\n%s", what, d)
			}
		}
		show := func() { m.Set(ctx, api.list()) }

		step("not listed", func() { m.Add(static("a", "h1")) })
		step("listed, node not registered", show)
		step("registered", func() { node = "nu"; m.Wake() }, "create a h1 by Node n1 nu", "h1=m1")
		step("the watch is behind", func() { m.Set(ctx, nil) })
		step("the watch shows it", show, "h1=m1")
		if got := []any{m.Mirror("h1").UID, m.Static("m1"), m.Static("x")}; !cmp.Equal(got, []any{types.UID("m1"), types.UID("h1"), types.UID("x")}) {
			t.Errorf("translated to %v", got)
		}
		step("another version waits for the first to be gone", func() { m.Add(static("a", "h2")) })
		old := api.list()
		step("and takes its place then", func() { m.Remove("h1") }, "delete a m1 grace=0", "create a h2 by Node n1 nu", "h2=m2")
		step("the watch shows the one before", func() { m.Set(ctx, old) })
		step("then this one", show, "h2=m2")
		step("deleted by somebody", func() { clear(api.pods); time.Sleep(2 * lag); show() }, "create a h2 by Node n1 nu", "h2=m3")
		step("being deleted", func() {
			p := api.pods["a"].DeepCopy()
			p.DeletionTimestamp = &metav1.Time{Time: time.Now()}
			api.pods["a"] = p
			show()
		}, "delete a m3 grace=0", "create a h2 by Node n1 nu", "h2=m3", "h2=m4")
		step("no orphan before all sources have reported", func() {
			show()
			m.Remove("h2")
		}, "h2=m4")
		step("an orphan", m.Complete, "delete a m4 grace=0")
		step("API gone", func() { api.fail = errors.New("refused"); m.Add(static("b", "h3")) }, "create b h3 by Node n1 nu")
		time.Sleep(10 * time.Minute)
		synctest.Wait()
		api.mu.Lock()
		if n := len(api.calls); n < 20 || n > 50 {
			t.Errorf("%d tries in 10 minutes, want one in 15 to 30 s", n)
		}
		api.fail, api.calls = nil, nil
		api.mu.Unlock()
		step("API back", func() { time.Sleep(time.Minute) }, "create b h3 by Node n1 nu", "h3=m5")
		cancel()
		if err := <-done; err != nil {
			t.Errorf("Run: %v", err)
		}
		ops := map[trace.PatchOp]int{}
		for _, e := range tracetest.Events[trace.StatusPatch](rec) {
			ops[e.Op]++
		}
		if len(ops) != 2 || ops[trace.CreateMirror] == 0 || ops[trace.DeleteMirror] == 0 {
			t.Errorf("published %v", ops)
		}
		if waits := tracetest.Events[trace.Wait](rec); len(waits) == 0 || waits[0].Target.Kind != trace.TargetMirrorPods {
			t.Errorf("%d waits, want some on mirror pods", len(waits))
		}
	})
}

func TestNew(t *testing.T) {
	if _, err := New(Config{Node: "n"}); err == nil {
		t.Error("a manager without client was made")
	}
}
