package podsource

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	corev1 "k8s.io/client-go/kubernetes/typed/core/v1"

	"github.com/kubeloupe/kubeloupe/agent/kubeapi"
	"github.com/kubeloupe/kubeloupe/agent/podspec"
	"github.com/kubeloupe/kubeloupe/trace"
	"github.com/kubeloupe/kubeloupe/trace/tracetest"
)

// fakeAPI answers lists and watches from a script, and records the requests.
type fakeAPI struct {
	corev1.PodInterface
	mu     sync.Mutex
	asked  []string
	list   func() (*v1.PodList, error)
	errs   []error // errors of the next watches; nil opens one
	stream *watch.FakeWatcher
}

func (f *fakeAPI) Pods(string) kubeapi.Pods { return f }

func (f *fakeAPI) List(_ context.Context, o metav1.ListOptions) (*v1.PodList, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.asked = append(f.asked, fmt.Sprintf("list %s rv=%s", o.FieldSelector, o.ResourceVersion))
	return f.list()
}

func (f *fakeAPI) Watch(_ context.Context, o metav1.ListOptions) (watch.Interface, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.asked = append(f.asked, fmt.Sprintf("watch %s rv=%s", o.FieldSelector, o.ResourceVersion))
	if len(f.errs) > 0 {
		err := f.errs[0]
		if f.errs = f.errs[1:]; err != nil {
			return nil, err
		}
	}
	f.stream = watch.NewFake()
	return f.stream, nil
}

func (f *fakeAPI) took() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	asked := f.asked
	f.asked = nil
	return asked
}

func (f *fakeAPI) change(edit func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	edit()
}

func at(rv string) func(*v1.Pod) { return func(p *v1.Pod) { p.ResourceVersion = rv } }

func mirrorOf(hash string) func(*v1.Pod) {
	return func(p *v1.Pod) { p.Annotations = map[string]string{podspec.AnnotationMirror: hash} }
}

func podList(rv string, pods ...*v1.Pod) func() (*v1.PodList, error) {
	return func() (*v1.PodList, error) {
		l := &v1.PodList{ListMeta: metav1.ListMeta{ResourceVersion: rv}}
		for _, p := range pods {
			l.Items = append(l.Items, *p.DeepCopy())
		}
		return l, nil
	}
}

// sets records what the source delivers.
type sets struct {
	mu  sync.Mutex
	got []string
}

func versions(pods []*v1.Pod) string {
	var out []string
	for _, p := range pods {
		out = append(out, p.Name+"@"+p.ResourceVersion)
	}
	return strings.Join(out, " ")
}

func (s *sets) set(got Set) { s.got = append(s.got, "pods: "+versions(got.Pods)) }

func (s *sets) Set(_ context.Context, pods []*v1.Pod) {
	s.got = append(s.got, "mirrors: "+versions(pods))
}

func (s *sets) took() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	got := s.got
	s.got = nil
	return got
}

// follow runs f in a bubble with a running source.
func follow(t *testing.T, api *fakeAPI, f func(s *sets, rec *tracetest.Recorder)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		rec, s := tracetest.New(t), &sets{}
		a, err := NewAPI(APIConfig{Client: api, Node: "n1", Mirrors: s, Bus: rec.Bus()})
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- a.Run(ctx, s.set) }()
		synctest.Wait()
		f(s, rec)
		cancel()
		if err := <-done; err != nil {
			t.Errorf("Run: %v", err)
		}
	})
}

func expect(t *testing.T, what string, got []string, want ...string) {
	t.Helper()
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("%s (-want +got):\n%s", what, d)
	}
}

func TestAPI(t *testing.T) {
	api := &fakeAPI{list: podList("5", aPod("a", "1", at("3")), aPod("m", "2", at("4"), mirrorOf("h")))}
	follow(t, api, func(s *sets, _ *tracetest.Recorder) {
		expect(t, "asked", api.took(), "list spec.nodeName=n1 rv=0", "watch spec.nodeName=n1 rv=5")
		expect(t, "first", s.took(), "mirrors: m@4", "pods: a@3")
		api.stream.Add(aPod("b", "3", at("6")))
		api.stream.Modify(aPod("a", "1", at("7")))
		api.stream.Modify(aPod("m", "2", at("8"), mirrorOf("h")))
		api.stream.Action(watch.Bookmark, aPod("", "", at("9")))
		api.stream.Delete(aPod("b", "3", at("10")))
		api.stream.Delete(aPod("m", "2", at("11"), mirrorOf("h")))
		synctest.Wait()
		expect(t, "changes", s.took(), "pods: a@3 b@6", "pods: a@7 b@6", "mirrors: m@8", "pods: a@7", "mirrors: ")
		api.stream.Stop() // a watch that ends after a while is reopened from the same version
		synctest.Wait()
		expect(t, "asked after the watch ended", api.took(), "watch spec.nodeName=n1 rv=11")
		expect(t, "sets after the watch ended", s.took())
	})
}

func TestAPIExpired(t *testing.T) {
	api := &fakeAPI{list: podList("5", aPod("a", "1"))}
	follow(t, api, func(s *sets, rec *tracetest.Recorder) {
		api.took()
		s.took()
		api.list = podList("90", aPod("b", "2"))
		api.stream.Error(&apierrors.NewResourceExpired("too old").ErrStatus)
		synctest.Wait()
		expect(t, "asked", api.took(), "list spec.nodeName=n1 rv=", "watch spec.nodeName=n1 rv=90")
		expect(t, "sets", s.took(), "mirrors: ", "pods: b@")
		if n := len(rec.OfKind("source.error")); n != 0 {
			t.Errorf("%d source errors, want none", n)
		}
	})
}

// After an outage, if the API server cannot continue, the source lists at once; if that repeats, it backs off.
func TestAPIExpiredAfterOutage(t *testing.T) {
	api := &fakeAPI{list: podList("5", aPod("a", "1"))}
	follow(t, api, func(s *sets, rec *tracetest.Recorder) {
		refused, expired := errors.New("connection refused"), apierrors.NewResourceExpired("too old")
		for _, test := range []struct {
			errs  []error
			waits int
		}{
			{[]error{refused, refused, refused, expired, nil}, 3},
			{[]error{refused, expired, expired, expired, nil}, 3},
		} {
			before := len(rec.OfKind("pod.wait"))
			api.change(func() { api.errs = test.errs })
			api.stream.Modify(aPod("a", "1", at("6")))
			api.stream.Stop()
			time.Sleep(time.Minute)
			synctest.Wait()
			if n := (len(rec.OfKind("pod.wait")) - before) / 2; n != test.waits {
				t.Errorf("%d pauses after %v, want %d", n, test.errs, test.waits)
			}
		}
	})
}

func TestAPIUnreachable(t *testing.T) {
	refused := errors.New("connection refused")
	api := &fakeAPI{list: func() (*v1.PodList, error) { return nil, refused }}
	follow(t, api, func(s *sets, rec *tracetest.Recorder) {
		time.Sleep(10 * time.Minute)
		if n := len(api.took()); n < 40 || n > 120 {
			t.Errorf("%d requests in 10 minutes without an answer, want one in 7.5 to 15 s", n)
		}
		expect(t, "sets before the first list", s.took())
		api.change(func() { api.list = podList("5", aPod("a", "1")) })
		time.Sleep(time.Minute)
		synctest.Wait()
		expect(t, "sets", s.took(), "mirrors: ", "pods: a@")

		api.change(func() {
			api.errs = []error{&url.Error{Op: "Get", URL: "?timeout=5", Err: refused}, &url.Error{Op: "Get", URL: "?timeout=6", Err: refused}, apierrors.NewTooManyRequests("busy", 1), nil}
		})
		api.took()
		api.stream.Stop()
		time.Sleep(time.Minute)
		synctest.Wait()
		expect(t, "asked", api.took(), "watch spec.nodeName=n1 rv=5", "watch spec.nodeName=n1 rv=5", "watch spec.nodeName=n1 rv=5", "watch spec.nodeName=n1 rv=5")
		expect(t, "sets: nothing goes because nobody answers", s.took())
		api.stream.Modify(aPod("a", "1", at("6")))
		synctest.Wait()
		var errs []string
		for _, e := range tracetest.Events[trace.SourceError](rec) {
			errs = append(errs, fmt.Sprintf("%s kept=%t", e.Message, e.Kept))
		}
		expect(t, "errors", errs,
			"list pods of node n1: connection refused kept=false", " kept=false",
			"watch pods of node n1: connection refused kept=true", "watch pods of node n1: busy kept=true", " kept=false")
		open := 0
		for _, r := range rec.OfKind("pod.wait") {
			switch r.Edge {
			case trace.EdgeBegin:
				open++
			case trace.EdgeEnd:
				open--
			case trace.EdgePoint:
			}
			if !r.Pod.IsZero() {
				t.Error("the back-off is of the node, not of a pod")
			}
		}
		if open != 0 {
			t.Errorf("%d back-offs have not ended", open)
		}
	})
}

func TestNewAPI(t *testing.T) {
	for _, c := range []APIConfig{{Node: "n"}, {Client: &fakeAPI{}}} {
		if _, err := NewAPI(c); err == nil {
			t.Errorf("NewAPI(%+v) worked", c)
		}
	}
}

// The source sends nothing before After is closed.
func TestAPIAfter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		api, after, s := &fakeAPI{list: podList("5")}, make(chan struct{}), &sets{}
		a, err := NewAPI(APIConfig{Client: api, Node: "n1", After: after})
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		go func() { _ = a.Run(ctx, s.set) }()
		time.Sleep(time.Hour) //nolint:forbidigo // the bubble's
		expect(t, "before", api.took())
		close(after)
		synctest.Wait()
		expect(t, "after", api.took(), "list spec.nodeName=n1 rv=0", "watch spec.nodeName=n1 rv=5")
		cancel()
	})
}
