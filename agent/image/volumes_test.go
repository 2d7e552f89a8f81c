package image

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/testing/protocmp"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/kubeloupe/kubeloupe/trace/tracetest"
)

// The mount of an image volume has the pod's annotations and, with the feature gate, the runtime handler of the pod.
func TestReferenceOfVolume(t *testing.T) {
	n := newNode(app)
	n.has(app)
	v := Volumes{Images: newPuller(t, Config{Service: n, Bus: tracetest.New(t).Bus(), QPS: 5, Burst: 10})}
	pod := &v1.Pod{ObjectMeta: metav1.ObjectMeta{UID: "u", Annotations: map[string]string{"a": "b"}}}
	want := &runtimeapi.ImageSpec{Image: "sha256:1", UserSpecifiedImage: app, Annotations: map[string]string{"a": "b"}}
	for _, handler := range []string{"", "kata"} {
		if handler != "" {
			v.Handler = func(context.Context, *v1.Pod) (string, error) { return handler, nil }
		}
		want.RuntimeHandler = handler
		got, err := v.Ensure(t.Context(), pod, &v1.ImageVolumeSource{Reference: app, PullPolicy: v1.PullIfNotPresent})
		if diff := cmp.Diff(want, got, protocmp.Transform()); err != nil || diff != "" {
			t.Errorf("handler %q: error %v, (-want +got):\n%s", handler, err, diff)
		}
	}
	unknown := errors.New("there is no such class")
	v.Handler = func(context.Context, *v1.Pod) (string, error) { return "", unknown }
	if _, err := v.Ensure(t.Context(), pod, &v1.ImageVolumeSource{Reference: app}); !errors.Is(err, unknown) {
		t.Errorf("error %v", err)
	}
}

// With the feature gate, the runtime gets the handler with the names of images.
func TestByHandler(t *testing.T) {
	n := newNode(app)
	p := newPuller(t, Config{Service: n, Bus: tracetest.New(t).Bus(), QPS: 5, Burst: 10})
	pod := &v1.Pod{ObjectMeta: metav1.ObjectMeta{UID: "u"}}
	synctest.Test(t, func(t *testing.T) {
		kata := ByHandler{p, func(context.Context, *v1.Pod) (string, error) { return "kata", nil }}
		if _, err := kata.Ensure(t.Context(), Request{PodUID: "u", Pod: pod, Container: "c", Image: app}); err != nil {
			t.Error(err)
		}
	})
	if len(n.handlers) != 1 || n.handlers[0] != "kata" {
		t.Errorf("pulled for the handlers %q", n.handlers)
	}
	unknown := errors.New("there is no such class")
	none := ByHandler{p, func(context.Context, *v1.Pod) (string, error) { return "", unknown }}
	if _, err := none.Ensure(t.Context(), Request{PodUID: "u", Pod: pod, Container: "c", Image: app}); !errors.Is(err, unknown) {
		t.Errorf("error %v", err)
	}
}
