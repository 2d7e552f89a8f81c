package criconfig_test

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/testing/protocmp"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubeloupe/kubeloupe/agent/criconfig"
)

func examplePod() *v1.Pod {
	return &v1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "shop", Name: "web", UID: "uid-1",
			Labels:      map[string]string{"app": "web"},
			Annotations: map[string]string{"note": "x"},
		},
		Spec: v1.PodSpec{
			TerminationGracePeriodSeconds: new(int64(30)),
			DNSPolicy:                     v1.DNSClusterFirst,
			Containers: []v1.Container{{
				Name: "app", Image: "nginx:1.27",
				Command:                  []string{"/bin/run", "$(MODE)"},
				Args:                     []string{"--to=$(TARGET)", "$$(MODE)", "$(UNKNOWN)"},
				WorkingDir:               "/srv",
				TerminationMessagePath:   "/dev/termination-log",
				TerminationMessagePolicy: v1.TerminationMessageReadFile,
				Ports:                    []v1.ContainerPort{{Name: "http", ContainerPort: 80, HostPort: 8080, Protocol: v1.ProtocolTCP}},
				Resources: v1.ResourceRequirements{
					Requests: quantities("cpu", "100m", "memory", "64Mi"),
					Limits:   quantities("cpu", "500m", "memory", "128Mi"),
				},
			}},
		},
	}
}

func quantities(kv ...string) v1.ResourceList {
	out := v1.ResourceList{}
	for i := 0; i < len(kv); i += 2 {
		out[v1.ResourceName(kv[i])] = resource.MustParse(kv[i+1])
	}
	return out
}

func diffProto(t *testing.T, name string, want, got any) {
	t.Helper()
	if diff := cmp.Diff(want, got, protocmp.Transform()); diff != "" {
		t.Errorf("%s (-want +got):\n%s", name, diff)
	}
}

// wantError checks that err has the package's type and names the field.
func wantError(t *testing.T, name string, err error, reason, field string) {
	t.Helper()
	var typed *criconfig.Error
	if !errors.As(err, &typed) {
		t.Errorf("%s: error %v, want an *Error", name, err)
		return
	}
	if typed.Reason != reason || typed.Field != field {
		t.Errorf("%s: %s at %s (%v), want %s at %s", name, typed.Reason, typed.Field, err, reason, field)
	}
}
