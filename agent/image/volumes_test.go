package image

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/testing/protocmp"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/kubeloupe/kubeloupe/trace/tracetest"
)

// The mount of an image volume has the pod's annotations.
func TestReferenceOfVolume(t *testing.T) {
	n := newNode(app)
	n.has(app)
	v := Volumes{Images: newPuller(t, Config{Service: n, Bus: tracetest.New(t).Bus(), QPS: 5, Burst: 10})}
	pod := &v1.Pod{ObjectMeta: metav1.ObjectMeta{UID: "u", Annotations: map[string]string{"a": "b"}}}
	want := &runtimeapi.ImageSpec{Image: "sha256:1", UserSpecifiedImage: app, Annotations: map[string]string{"a": "b"}}
	got, err := v.Ensure(t.Context(), pod, &v1.ImageVolumeSource{Reference: app, PullPolicy: v1.PullIfNotPresent})
	if diff := cmp.Diff(want, got, protocmp.Transform()); err != nil || diff != "" {
		t.Errorf("error %v, (-want +got):\n%s", err, diff)
	}
}
