package objcache

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"

	"github.com/kubeloupe/kubeloupe/agent/kubeapi"
	"github.com/kubeloupe/kubeloupe/agent/kubeapi/fakeapi"
	"github.com/kubeloupe/kubeloupe/trace"
	"github.com/kubeloupe/kubeloupe/trace/tracetest"
)

// api is an API server with one ConfigMap, a/conf. It may be slow, refuse, or be unavailable.
type api struct {
	mu      sync.Mutex
	conf    *v1.ConfigMap
	latency time.Duration
	err     error
	gets    int
	watches []*watch.RaceFreeFakeWatcher
}

func conf(version int, value string) *v1.ConfigMap {
	return &v1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: "conf", UID: "1", ResourceVersion: fmt.Sprint(version), ManagedFields: []metav1.ManagedFieldsEntry{{}}},
		Data:       map[string]string{"key": value},
	}
}

// slow delays each GET of a ConfigMap: the fake client itself cannot, because it has one lock for all.
type slow struct {
	kubeapi.Interface
	s *api
}

func (c slow) CoreV1() kubeapi.CoreV1 { return slowCore{c.Interface.CoreV1(), c.s} }

type slowCore struct {
	kubeapi.CoreV1
	s *api
}

func (c slowCore) ConfigMaps(namespace string) kubeapi.ConfigMaps {
	return slowMaps{c.CoreV1.ConfigMaps(namespace), c.s}
}

type slowMaps struct {
	kubeapi.ConfigMaps
	s *api
}

func (c slowMaps) Get(ctx context.Context, name string, o metav1.GetOptions) (*v1.ConfigMap, error) {
	c.s.mu.Lock()
	latency := c.s.latency
	c.s.mu.Unlock()
	time.Sleep(latency)
	return c.ConfigMaps.Get(ctx, name, o)
}

func (s *api) client() kubeapi.Interface {
	c := fake.NewClientset()
	c.PrependReactor("get", "configmaps", func(clienttesting.Action) (bool, runtime.Object, error) {
		s.mu.Lock()
		s.gets++
		obj, err := s.conf.DeepCopy(), s.err
		s.mu.Unlock()
		switch {
		case err != nil:
			return true, nil, err
		case obj == nil:
			return true, nil, apierrors.NewNotFound(schema.GroupResource{Resource: "configmaps"}, "conf")
		}
		return true, obj, nil
	})
	c.PrependWatchReactor("configmaps", func(a clienttesting.Action) (bool, watch.Interface, error) {
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.err != nil {
			return true, nil, s.err
		}
		if f := a.(clienttesting.WatchAction).GetWatchRestrictions().Fields.String(); f != "metadata.name=conf" {
			return true, nil, errors.New("a node may not watch " + f)
		}
		w := watch.NewRaceFreeFake()
		if s.conf != nil {
			w.Add(s.conf.DeepCopy())
		}
		w.Action(watch.Bookmark, bookmark("1000"))
		s.watches = append(s.watches, w)
		return true, w, nil
	})
	return slow{fakeapi.Of(c), s}
}

func bookmark(version string) *v1.ConfigMap {
	return &v1.ConfigMap{ObjectMeta: metav1.ObjectMeta{ResourceVersion: version, Annotations: map[string]string{metav1.InitialEventsAnnotationKey: "true"}}}
}

func (s *api) set(obj *v1.ConfigMap) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.conf = obj
}

func (s *api) counts() (gets, watches, open int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, w := range s.watches {
		if !w.IsStopped() {
			open++
		}
	}
	return s.gets, len(s.watches), open
}

// bed is a running cache with an api.
type bed struct {
	*Objects
	*api
	t   *testing.T
	rec *tracetest.Recorder

	told []string
}

func bench(t *testing.T, strategy Strategy, do func(b *bed)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		b := &bed{api: &api{conf: conf(1, "one")}, t: t, rec: tracetest.New(t)}
		var mu sync.Mutex
		var err error
		b.Objects, err = New(Config{Client: b.client(), Bus: b.rec.Bus(), Strategy: strategy, Changed: func(uid types.UID, volumes ...string) {
			mu.Lock()
			defer mu.Unlock()
			b.told = append(b.told, string(uid)+" "+strings.Join(volumes, ","))
		}})
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- b.Run(ctx) }()
		do(b)
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
		if _, _, open := b.counts(); open != 0 {
			t.Errorf("%d watches are left", open)
		}
	})
}

// want checks the current a/conf: a value, or part of an error.
func (b *bed) want(what string) {
	b.t.Helper()
	got, err := b.ConfigMap(b.t.Context(), "a", "conf")
	switch {
	case err != nil && !strings.Contains(err.Error(), what):
		b.t.Errorf("error %v, want %s", err, what)
	case err == nil && got.Data["key"] != what:
		b.t.Errorf("got %v, want %s", got.Data, what)
	case err == nil && got.ManagedFields != nil:
		b.t.Error("managed fields are kept")
	}
}

func shows(uid, volume string) *v1.Pod {
	p := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: uid, UID: types.UID(uid)}}
	p.Spec.Volumes = []v1.Volume{{Name: volume, VolumeSource: v1.VolumeSource{ConfigMap: &v1.ConfigMapVolumeSource{LocalObjectReference: v1.LocalObjectReference{Name: "conf"}}}}}
	return p
}

func reads(uid string) *v1.Pod {
	p := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: uid, UID: types.UID(uid)}}
	p.Spec.Containers = []v1.Container{{Name: "c", EnvFrom: []v1.EnvFromSource{{ConfigMapRef: &v1.ConfigMapEnvSource{LocalObjectReference: v1.LocalObjectReference{Name: "conf"}}}}}}
	return p
}

func TestWatched(t *testing.T) {
	bench(t, Watch, func(b *bed) {
		b.want("no pod on this node refers to it")
		b.latency = 5 * time.Millisecond
		b.Register(shows("p", "vol"))
		synctest.Wait()
		b.Register(shows("q", "other")) // the running fetch may be too old for it
		b.want("one")                   // waits for the fetch that Register started
		synctest.Wait()
		if gets, watches, _ := b.counts(); gets != 2 || watches != 1 {
			t.Errorf("%d gets and %d watches", gets, watches)
		}
		waits := tracetest.Events[trace.Wait](b.rec)
		if !slices.ContainsFunc(waits, func(w trace.Wait) bool {
			return w.For == trace.WaitObject && w.Target == trace.Target{Kind: trace.TargetConfigMap, Namespace: "a", Name: "conf"} && w.Cause == ""
		}) {
			t.Errorf("waits: %v", waits)
		}
		w := b.watches[0]
		w.Modify(conf(1, "one"))
		w.Modify(conf(3, "three"))
		w.Modify(conf(2, "two")) // from a cache that lags
		synctest.Wait()
		b.want("three")
		slices.Sort(b.told)
		if want := []string{"p vol", "q other"}; !slices.Equal(b.told, want) {
			t.Errorf("told %v, want %v", b.told, want)
		}
		// A synced watch is as good as a fetch for hours.
		time.Sleep(5 * time.Hour)
		b.Register(shows("r", "vol"))
		b.want("three")
		if gets, _, _ := b.counts(); gets != 2 {
			t.Errorf("%d gets", gets)
		}
		b.told = nil
		b.set(nil)
		w.Delete(conf(4, "three"))
		synctest.Wait()
		b.want(`configmap "conf" not found`)
		if len(b.told) != 3 {
			t.Errorf("told %v of the end", b.told)
		}
		for _, uid := range []string{"p", "q"} {
			b.Unregister(shows(uid, ""))
		}
		if _, _, open := b.counts(); open != 1 {
			t.Errorf("%d watches while a pod is left", open)
		}
		b.Unregister(shows("r", ""))
		synctest.Wait()
		if _, _, open := b.counts(); open != 0 || len(b.items)+len(b.pods) != 0 {
			t.Errorf("%d watches and %d items are left", open, len(b.items))
		}
	})
}

func TestCreatedLater(t *testing.T) {
	bench(t, Watch, func(b *bed) {
		b.set(nil)
		b.Register(shows("p", "vol"))
		_, err := b.ConfigMap(b.t.Context(), "a", "conf")
		if !apierrors.IsNotFound(err) || err.Error() != `configmap "conf" not found` {
			t.Errorf("error %v", err)
		}
		synctest.Wait()
		b.watches[0].Add(conf(7, "late"))
		synctest.Wait()
		b.want("late")
		if !slices.Equal(b.told, []string{"p vol"}) {
			t.Errorf("told %v", b.told)
		}
	})
}

func TestWatchLost(t *testing.T) {
	bench(t, Watch, func(b *bed) {
		b.Register(shows("p", "vol"))
		synctest.Wait()
		b.api.mu.Lock()
		b.err = errors.New("connection refused")
		b.api.mu.Unlock()
		b.watches[0].Stop()
		time.Sleep(time.Minute)
		b.want("one") // the last known value
		b.api.mu.Lock()
		b.err = nil
		b.conf = nil // deleted while there was no watch
		b.api.mu.Unlock()
		time.Sleep(2 * lastRewatch)
		b.want(`configmap "conf" not found`)
		if !slices.Equal(b.told, []string{"p vol"}) {
			t.Errorf("told %v", b.told)
		}
	})
}

func TestAgainOnceUnwatched(t *testing.T) {
	bench(t, Watch, func(b *bed) {
		b.Register(reads("p"))
		b.want("one")
		b.want("one")
		b.set(conf(2, "two"))
		if gets, watches, _ := b.counts(); gets != 1 || watches != 0 {
			t.Errorf("%d gets and %d watches", gets, watches)
		}
		time.Sleep(2 * shared)
		b.want("two")
		b.set(conf(3, "three"))
		b.Register(reads("q")) // the object must be as new as the reference
		b.want("three")
		b.Register(shows("q", "vol")) // its spec changed: now a volume
		synctest.Wait()
		if _, watches, _ := b.counts(); watches != 1 {
			t.Errorf("%d watches", watches)
		}
	})
}

func TestImmutable(t *testing.T) {
	bench(t, Watch, func(b *bed) {
		b.Register(shows("p", "vol"))
		synctest.Wait()
		fixed := conf(2, "fixed")
		fixed.Immutable = new(true)
		b.set(fixed)
		b.watches[0].Modify(fixed.DeepCopy())
		synctest.Wait()
		if _, _, open := b.counts(); open != 0 {
			t.Errorf("%d watches of what cannot change", open)
		}
		time.Sleep(time.Hour)
		b.want("fixed")
		if gets, watches, _ := b.counts(); gets != 1 || watches != 1 {
			t.Errorf("%d gets and %d watches", gets, watches)
		}
		b.Register(shows("q", "vol")) // it may be another object of that name
		b.want("fixed")
		synctest.Wait()
		if gets, watches, _ := b.counts(); gets != 2 || watches != 1 {
			t.Errorf("%d gets and %d watches", gets, watches)
		}
	})
}

// The API server sees the pod a little later than the node does.
func TestRefusedAtFirst(t *testing.T) {
	bench(t, Watch, func(b *bed) {
		b.err = apierrors.NewForbidden(schema.GroupResource{Resource: "configmaps"}, "conf", errors.New("no relationship found"))
		b.Register(shows("p", "vol"))
		time.AfterFunc(50*time.Millisecond, func() {
			b.api.mu.Lock()
			defer b.api.mu.Unlock()
			b.err = nil
		})
		b.want("one")
		b.api.mu.Lock()
		b.err = apierrors.NewForbidden(schema.GroupResource{Resource: "configmaps"}, "conf", errors.New("no relationship found"))
		b.api.mu.Unlock()
		b.Unregister(shows("p", ""))
		b.Register(shows("q", "vol"))
		b.want("no relationship found")
	})
}

func TestStrategies(t *testing.T) {
	for strategy, after := range map[Strategy]time.Duration{Get: shared, Cache: cached} {
		bench(t, strategy, func(b *bed) {
			b.Register(shows("p", "vol"))
			b.want("one")
			b.set(conf(2, "two"))
			time.Sleep(after / 2)
			b.want("one")
			time.Sleep(after)
			b.want("two")
			if _, watches, _ := b.counts(); watches != 0 || b.RefreshAfter() == 0 {
				t.Errorf("%s: %d watches, refresh after %v", strategy, watches, b.RefreshAfter())
			}
		})
	}
}

func TestGivesUpWithTheCaller(t *testing.T) {
	bench(t, Watch, func(b *bed) {
		b.latency = time.Minute
		b.Register(shows("p", "vol"))
		ctx, cancel := context.WithTimeout(b.t.Context(), time.Second)
		defer cancel()
		if _, err := b.ConfigMap(ctx, "a", "conf"); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("error %v", err)
		}
		time.Sleep(2 * time.Minute)
	})
}
