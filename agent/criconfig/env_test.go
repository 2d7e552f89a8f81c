package criconfig_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kubeloupe/kubeloupe/agent/criconfig"
	"github.com/kubeloupe/kubeloupe/agent/fieldpath"
)

// objects holds one ConfigMap and one Secret, each named "have"; "broken" cannot be fetched.
type objects struct{}

var errFetch = errors.New("connection refused")

func (objects) ConfigMap(_ context.Context, namespace, name string) (*v1.ConfigMap, error) {
	if err := lookup("configmaps", namespace, name); err != nil {
		return nil, err
	}
	return &v1.ConfigMap{Data: map[string]string{"B": "cm-b", "A": "cm-a"}}, nil
}

func (objects) Secret(_ context.Context, namespace, name string) (*v1.Secret, error) {
	if err := lookup("secrets", namespace, name); err != nil {
		return nil, err
	}
	return &v1.Secret{Data: map[string][]byte{"B": []byte("secret-b")}}, nil
}

func lookup(kind, namespace, name string) error {
	switch {
	case name == "broken":
		return errFetch
	case namespace != "shop" || name != "have":
		return apierrors.NewNotFound(schema.GroupResource{Resource: kind}, name)
	}
	return nil
}

func named(name string) v1.LocalObjectReference { return v1.LocalObjectReference{Name: name} }

func fromConfigMap(name, key string, optional *bool) v1.EnvVar {
	return v1.EnvVar{Name: "X", ValueFrom: &v1.EnvVarSource{ConfigMapKeyRef: &v1.ConfigMapKeySelector{
		LocalObjectReference: named(name), Key: key, Optional: optional,
	}}}
}

func fromSecret(name, key string, optional *bool) v1.EnvVar {
	return v1.EnvVar{Name: "X", ValueFrom: &v1.EnvVarSource{SecretKeyRef: &v1.SecretKeySelector{
		LocalObjectReference: named(name), Key: key, Optional: optional,
	}}}
}

func fromField(path, version string) v1.EnvVar {
	return v1.EnvVar{Name: "X", ValueFrom: &v1.EnvVarSource{FieldRef: &v1.ObjectFieldSelector{FieldPath: path, APIVersion: version}}}
}

func fromFile(key string, optional *bool) v1.EnvVar {
	return v1.EnvVar{Name: "X", ValueFrom: &v1.EnvVarSource{FileKeyRef: &v1.FileKeySelector{
		VolumeName: "vol", Path: "env", Key: key, Optional: optional,
	}}}
}

func TestEnv(t *testing.T) {
	yes := new(true)
	file := func(volume, path string) ([]byte, error) {
		return []byte("# " + volume + "/" + path + "\nX='from file'\n"), nil
	}
	for _, tc := range []struct {
		name string
		from []v1.EnvFromSource
		env  []v1.EnvVar
		in   criconfig.EnvInput
		want string // NAME=value, separated by ", "
		fail string // the invalid field
		text string // in the error
	}{
		{
			name: "order, later wins, references", env: []v1.EnvVar{
				{Name: "A", Value: "1"},
				{Name: "B", Value: "$(A)-$(SVC)-$(LATER)-$$(A)"},
				{Name: "LATER", Value: "x"},
				{Name: "A", Value: "$(A)2"},
				{Name: "EMPTY"},
			}, in: criconfig.EnvInput{Services: []criconfig.Var{{Name: "SVC", Value: "s"}, {Name: "A", Value: "hidden"}}},
			want: "A=12, B=1-s-$(LATER)-$(A), LATER=x, EMPTY=, SVC=s",
		},
		{
			name: "envFrom first, prefixed and sorted", from: []v1.EnvFromSource{
				{ConfigMapRef: &v1.ConfigMapEnvSource{LocalObjectReference: named("have")}},
				{Prefix: "P_", SecretRef: &v1.SecretEnvSource{LocalObjectReference: named("have")}},
				{ConfigMapRef: &v1.ConfigMapEnvSource{LocalObjectReference: named("none"), Optional: yes}},
				{SecretRef: &v1.SecretEnvSource{LocalObjectReference: named("none"), Optional: yes}},
			}, env: []v1.EnvVar{{Name: "A", Value: "own"}, {Name: "C", Value: "$(P_B)"}}, in: criconfig.EnvInput{Objects: objects{}},
			want: "A=own, B=cm-b, P_B=secret-b, C=secret-b",
		},
		{name: "keys", env: []v1.EnvVar{fromConfigMap("have", "A", nil), fromSecret("have", "B", nil)}, in: criconfig.EnvInput{Objects: objects{}}, want: "X=secret-b"},
		{name: "optional and missing", env: []v1.EnvVar{
			fromConfigMap("none", "A", yes), fromConfigMap("have", "none", yes), fromSecret("none", "A", yes), fromSecret("have", "none", yes),
		}, in: criconfig.EnvInput{Objects: objects{}}, want: ""},
		{name: "fields", env: []v1.EnvVar{fromField("status.podIP", "v1")}, in: criconfig.EnvInput{Fields: fieldpath.Inputs{PodIPs: []string{"10.0.0.1"}}}, want: "X=10.0.0.1"},
		{name: "resources", env: []v1.EnvVar{{Name: "X", ValueFrom: &v1.EnvVarSource{ResourceFieldRef: &v1.ResourceFieldSelector{Resource: "limits.memory"}}}}, want: "X=134217728"},
		{name: "file", env: []v1.EnvVar{fromFile("X", nil)}, in: criconfig.EnvInput{File: file}, want: "X=from file"},
		{name: "file, optional key", env: []v1.EnvVar{fromFile("NO", yes)}, in: criconfig.EnvInput{File: file}, want: ""},

		{name: "config map missing", env: []v1.EnvVar{fromConfigMap("none", "A", nil)}, in: criconfig.EnvInput{Objects: objects{}}, fail: "env[X]", text: `configmaps "none" not found`},
		{name: "secret key missing", env: []v1.EnvVar{fromSecret("have", "Z", nil)}, in: criconfig.EnvInput{Objects: objects{}}, fail: "env[X]", text: "couldn't find key Z in Secret shop/have"},
		{name: "optional does not hide other errors", env: []v1.EnvVar{fromSecret("broken", "Z", yes)}, in: criconfig.EnvInput{Objects: objects{}}, fail: "env[X]", text: "connection refused"},
		{name: "envFrom missing", from: []v1.EnvFromSource{{SecretRef: &v1.SecretEnvSource{LocalObjectReference: named("none")}}}, in: criconfig.EnvInput{Objects: objects{}}, fail: "envFrom[0]", text: `secrets "none" not found`},
		{name: "no API server", env: []v1.EnvVar{fromConfigMap("have", "A", yes)}, fail: "env[X]", text: "couldn't get ConfigMap shop/have"},
		{name: "bad field", env: []v1.EnvVar{fromField("spec.nope", "")}, fail: "env[X]", text: "spec.nope"},
		{name: "bad field version", env: []v1.EnvVar{fromField("metadata.name", "v2")}, fail: "env[X]", text: "want v1"},
		{name: "file key missing", env: []v1.EnvVar{fromFile("NO", nil)}, in: criconfig.EnvInput{File: file}, fail: "env[X]", text: "couldn't find key NO"},
		{name: "file not mounted", env: []v1.EnvVar{fromFile("X", nil)}, fail: "env[X]", text: `volume "vol"`},
	} {
		pod := examplePod()
		c := &pod.Spec.Containers[0]
		c.EnvFrom, c.Env = tc.from, tc.env
		vars, err := criconfig.Env(t.Context(), pod, c, tc.in)
		if tc.fail != "" {
			wantError(t, tc.name, err, criconfig.ReasonContainerConfig, tc.fail)
			if err != nil && !strings.Contains(err.Error(), tc.text) {
				t.Errorf("%s: %v, want %q in it", tc.name, err, tc.text)
			}
			continue
		}
		var got []string
		for _, v := range vars {
			got = append(got, v.Name+"="+v.Value)
		}
		if diff := cmp.Diff(tc.want, strings.Join(got, ", ")); diff != "" || err != nil {
			t.Errorf("%s: %v (-want +got):\n%s", tc.name, err, diff)
		}
	}
}

func TestEnvFile(t *testing.T) {
	for _, tc := range []struct {
		name, text, want string
		bad              bool
	}{
		{name: "plain", text: "A='1'\nX='2'\n", want: "2"},
		{name: "comments and blanks", text: "# c\n\n  \t# d\n  X='v' # why\n", want: "v"},
		{name: "literal, with hash", text: `X='$A "b" # \n'`, want: `$A "b" # \n`},
		{name: "over lines", text: "Y='1\nX=2'\nX='a\nb'\n", want: "a\nb"},
		{name: "carriage returns", text: "X='a'\r\n", want: "a"},
		{name: "space after =", text: "X= 'v'\n", want: ""},
		{name: "first wins", text: "X='1'\nX='2'\n", want: "1"},
		{name: "not there", text: "Y='1'\n", want: ""},
		{name: "space before =", text: "X ='v'\n", bad: true},
		{name: "no =", text: "X\n", bad: true},
		{name: "no name", text: "='v'\n", bad: true},
		{name: "no quotes", text: "X=v\n", bad: true},
		{name: "nothing", text: "X=\n", bad: true},
		{name: "never closed", text: "X='v\n", bad: true},
		{name: "text after the quote", text: "X='v'w\n", bad: true},
	} {
		pod := examplePod()
		c := &pod.Spec.Containers[0]
		c.Env = []v1.EnvVar{fromFile("X", new(true))}
		vars, err := criconfig.Env(t.Context(), pod, c, criconfig.EnvInput{
			File: func(string, string) ([]byte, error) { return []byte(tc.text), nil },
		})
		got := ""
		if len(vars) > 0 {
			got = vars[0].Value
		}
		if (err != nil) != tc.bad || got != tc.want {
			t.Errorf("%s: %q, %v", tc.name, got, err)
		}
	}
}

func TestServiceEnv(t *testing.T) {
	service := func(namespace, name, ip string, ports ...v1.ServicePort) *v1.Service {
		return &v1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}, Spec: v1.ServiceSpec{ClusterIP: ip, Ports: ports}}
	}
	services := []*v1.Service{
		service("shop", "my-db", "10.0.0.7", v1.ServicePort{Port: 5432, Protocol: v1.ProtocolTCP}, v1.ServicePort{Name: "m-x", Port: 9, Protocol: v1.ProtocolUDP}),
		service("default", "kubernetes", "10.0.0.1", v1.ServicePort{Name: "https", Port: 443}),
		service("shop", "headless", "None", v1.ServicePort{Port: 1}),
		service("other", "far", "10.0.0.9", v1.ServicePort{Port: 1}),
		service("shop", "portless", "fd00::1"),
	}
	pod := examplePod()
	kubernetes := []criconfig.Var{
		{Name: "KUBERNETES_SERVICE_HOST", Value: "10.0.0.1"},
		{Name: "KUBERNETES_SERVICE_PORT", Value: "443"},
		{Name: "KUBERNETES_SERVICE_PORT_HTTPS", Value: "443"},
		{Name: "KUBERNETES_PORT", Value: "tcp://10.0.0.1:443"},
		{Name: "KUBERNETES_PORT_443_TCP", Value: "tcp://10.0.0.1:443"},
		{Name: "KUBERNETES_PORT_443_TCP_PROTO", Value: "tcp"},
		{Name: "KUBERNETES_PORT_443_TCP_PORT", Value: "443"},
		{Name: "KUBERNETES_PORT_443_TCP_ADDR", Value: "10.0.0.1"},
	}
	want := append(slices.Clip(kubernetes), []criconfig.Var{
		{Name: "MY_DB_SERVICE_HOST", Value: "10.0.0.7"},
		{Name: "MY_DB_SERVICE_PORT", Value: "5432"},
		{Name: "MY_DB_SERVICE_PORT_M_X", Value: "9"},
		{Name: "MY_DB_PORT", Value: "tcp://10.0.0.7:5432"},
		{Name: "MY_DB_PORT_5432_TCP", Value: "tcp://10.0.0.7:5432"},
		{Name: "MY_DB_PORT_5432_TCP_PROTO", Value: "tcp"},
		{Name: "MY_DB_PORT_5432_TCP_PORT", Value: "5432"},
		{Name: "MY_DB_PORT_5432_TCP_ADDR", Value: "10.0.0.7"},
		{Name: "MY_DB_PORT_9_UDP", Value: "udp://10.0.0.7:9"},
		{Name: "MY_DB_PORT_9_UDP_PROTO", Value: "udp"},
		{Name: "MY_DB_PORT_9_UDP_PORT", Value: "9"},
		{Name: "MY_DB_PORT_9_UDP_ADDR", Value: "10.0.0.7"},
		{Name: "PORTLESS_SERVICE_HOST", Value: "fd00::1"},
	}...)
	if diff := cmp.Diff(want, criconfig.ServiceEnv(pod, services)); diff != "" {
		t.Errorf("with links (-want +got):\n%s", diff)
	}
	pod.Spec.EnableServiceLinks = new(false)
	if diff := cmp.Diff(kubernetes, criconfig.ServiceEnv(pod, services)); diff != "" {
		t.Errorf("without links (-want +got):\n%s", diff)
	}
}
