package runtimeclass

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	v1 "k8s.io/api/core/v1"
	nodev1 "k8s.io/api/node/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/fake"
)

func TestHandler(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		api := fake.NewClientset(&nodev1.RuntimeClass{ObjectMeta: metav1.ObjectMeta{Name: "kata"}, Handler: "kata-qemu"}).NodeV1().RuntimeClasses()
		c := New(api, nil)
		pod := func(class string) *v1.Pod { return &v1.Pod{Spec: v1.PodSpec{RuntimeClassName: &class}} }
		if h, err := c.Handler(t.Context(), &v1.Pod{}); h != "" || err != nil {
			t.Errorf("no class: %q, %v", h, err)
		}
		if h, err := c.Handler(t.Context(), pod("kata")); h != "kata-qemu" || err != nil {
			t.Errorf("got %q, %v", h, err)
		}
		if last, other := c.Last(pod("kata")), c.Last(pod("other"))+c.Last(&v1.Pod{}); last != "kata-qemu" || other != "" {
			t.Errorf("the last one is %q, of classes that were not looked up %q", last, other)
		}
		if err := api.Delete(t.Context(), "kata", metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(keep + time.Second)
		if _, err := c.Handler(t.Context(), pod("kata")); err == nil || !strings.Contains(err.Error(), `"kata" not found`) {
			t.Errorf("a class that is gone: %v", err)
		}
		if last := c.Last(pod("kata")); last != "kata-qemu" {
			t.Errorf("the last one is %q", last)
		}
		if _, err := New(nil, nil).Handler(t.Context(), pod("kata")); err == nil {
			t.Error("without an API server: no error")
		}
	})
}

// answers is an API server whose next answer the test sets.
type answers struct {
	class *nodev1.RuntimeClass
	err   error
	hangs bool
}

func (a *answers) Get(ctx context.Context, _ string, _ metav1.GetOptions) (*nodev1.RuntimeClass, error) {
	if a.hangs {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	return a.class, a.err
}

// While the API server does not answer, a class that is known keeps its handler: containers of running pods start again.
func TestNoAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		kata := &nodev1.RuntimeClass{Handler: "kata-qemu"}
		api := &answers{err: errors.New("connection refused")}
		c, name := New(api, nil), "kata"
		pod := &v1.Pod{Spec: v1.PodSpec{RuntimeClassName: &name}}
		step := func(now answers, want string) {
			t.Helper()
			*api = now
			time.Sleep(keep + time.Second)
			began := time.Now()
			got, err := c.Handler(t.Context(), pod)
			if got != want || (err == nil) != (want != "") {
				t.Errorf("got %q, %v; want %q", got, err, want)
			}
			if took := time.Since(began); took > patience {
				t.Errorf("it took %s", took)
			}
		}
		refused, gone := answers{err: errors.New("connection refused")}, answers{err: apierrors.NewNotFound(nodev1.Resource("runtimeclasses"), name)}
		step(refused, "")
		step(answers{class: kata}, "kata-qemu")
		step(refused, "kata-qemu")
		step(answers{hangs: true}, "kata-qemu")
		step(gone, "")
		step(refused, "") // the class was deleted: its handler may be another one by now
		step(answers{class: kata}, "kata-qemu")
	})
}
