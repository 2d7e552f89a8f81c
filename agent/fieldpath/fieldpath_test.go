package fieldpath_test

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubeloupe/kubeloupe/agent/fieldpath"
)

func testPod() *v1.Pod {
	return &v1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Name: "web", Namespace: "shop", UID: "u-1",
			Labels:      map[string]string{"b": "2", "a": `one "1"`},
			Annotations: map[string]string{"Team.io/Name": "x"},
		},
		Spec: v1.PodSpec{
			NodeName: "n1", ServiceAccountName: "sa",
			Containers: []v1.Container{{
				Name: "app",
				Resources: v1.ResourceRequirements{
					Requests: list("cpu", "250m", "memory", "64Mi", "hugepages-2Mi", "4Mi"),
					Limits:   list("cpu", "1500m", "hugepages-2Mi", "4Mi"),
				},
			}, {Name: "bare"}},
			InitContainers: []v1.Container{{Name: "init"}},
		},
	}
}

func list(kv ...string) v1.ResourceList {
	out := v1.ResourceList{}
	for i := 0; i < len(kv); i += 2 {
		out[v1.ResourceName(kv[i])] = resource.MustParse(kv[i+1])
	}
	return out
}

func TestFieldValue(t *testing.T) {
	full := fieldpath.Inputs{PodIPs: []string{"10.0.0.1", "fd00::1"}, HostIPs: []string{"192.168.0.2", "fd01::2"}}
	for _, tc := range []struct {
		path, want string
		in         fieldpath.Inputs
		bad        bool
	}{
		{path: "metadata.name", want: "web"},
		{path: "metadata.namespace", want: "shop"},
		{path: "metadata.uid", want: "u-1"},
		{path: "metadata.labels", want: "a=\"one \\\"1\\\"\"\nb=\"2\""},
		{path: "metadata.annotations", want: `Team.io/Name="x"`},
		{path: "metadata.labels['b']", want: "2"},
		{path: "metadata.labels['missing']", want: ""},
		{path: "metadata.annotations['Team.io/Name']", want: "x"},
		{path: "metadata.labels['no good']", bad: true},
		{path: "metadata.labels['']", bad: true},
		{path: "metadata.name['x']", bad: true},
		{path: "['x']", bad: true},
		{path: "spec.nodeName", want: "n1"},
		{path: "spec.host", want: "n1"},
		{path: "spec.serviceAccountName", want: "sa"},
		{path: "status.podIP", want: ""},
		{path: "status.podIP", in: full, want: "10.0.0.1"},
		{path: "status.podIPs", in: full, want: "10.0.0.1,fd00::1"},
		{path: "status.hostIP", in: full, want: "192.168.0.2"},
		{path: "status.hostIPs", in: full, want: "192.168.0.2,fd01::2"},
		{path: "status.hostIP", bad: true},
		{path: "spec.containers", bad: true},
		{path: "", bad: true},
	} {
		got, err := fieldpath.FieldValue(testPod(), tc.path, tc.in)
		check(t, tc.path, got, err, tc.want, tc.bad)
	}
}

func TestResourceValue(t *testing.T) {
	alloc := list("cpu", "8", "memory", "16Gi", "ephemeral-storage", "10Gi", "hugepages-2Mi", "1Gi")
	podLevel := testPod()
	podLevel.Spec.Resources = &v1.ResourceRequirements{Limits: list("cpu", "3", "memory", "1Gi")}
	for _, tc := range []struct {
		name, resource, container, divisor, want string
		pod                                      *v1.Pod
		noSelf, bad                              bool
	}{
		{name: "cpu rounds up", resource: "limits.cpu", want: "2"},
		{name: "cpu in millis", resource: "limits.cpu", divisor: "1m", want: "1500"},
		{name: "request", resource: "requests.memory", divisor: "1Mi", want: "64"},
		{name: "request unset", resource: "requests.ephemeral-storage", want: "0"},
		{name: "limit from node", resource: "limits.memory", divisor: "1Gi", want: "16"},
		{name: "limit from pod level", resource: "limits.memory", divisor: "1Mi", pod: podLevel, want: "1024"},
		{name: "own limit before pod level", resource: "limits.cpu", divisor: "1m", pod: podLevel, want: "1500"},
		{name: "named", resource: "limits.cpu", container: "bare", want: "8"},
		{name: "named init", resource: "limits.cpu", container: "init", want: "8"},
		{name: "huge pages", resource: "limits.hugepages-2Mi", divisor: "1Mi", want: "4"},
		{name: "huge pages never from node", resource: "limits.hugepages-2Mi", container: "bare", want: "0"},
		{name: "unknown container", resource: "limits.cpu", container: "nope", bad: true},
		{name: "no container", resource: "limits.cpu", noSelf: true, bad: true},
		{name: "unknown kind", resource: "limit.cpu", bad: true},
		{name: "unknown resource", resource: "limits.gpu", bad: true},
	} {
		pod := tc.pod
		if pod == nil {
			pod = testPod()
		}
		sel := &v1.ResourceFieldSelector{Resource: tc.resource, ContainerName: tc.container}
		if tc.divisor != "" {
			sel.Divisor = resource.MustParse(tc.divisor)
		}
		self := &pod.Spec.Containers[0]
		if tc.noSelf {
			self = nil
		}
		got, err := fieldpath.ResourceValue(pod, self, sel, alloc)
		check(t, tc.name, got, err, tc.want, tc.bad)
	}
}

func check(t *testing.T, name, got string, err error, want string, bad bool) {
	t.Helper()
	var unsupported *fieldpath.UnsupportedError
	if bad != errors.As(err, &unsupported) || (!bad && err != nil) {
		t.Errorf("%s: error %v, want an UnsupportedError: %v", name, err, bad)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", name, diff)
	}
}
