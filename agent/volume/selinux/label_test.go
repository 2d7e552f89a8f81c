package selinux_test

import (
	"errors"
	"fmt"
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"

	"github.com/kubeloupe/kubeloupe/agent/volume/selinux"
)

// translate is a policy as Fedora's: the type and the role of a process are not those of its files.
func translate(o *v1.SELinuxOptions) (string, error) {
	if o.User == "nobody_u" {
		return "", errors.New("no such user")
	}
	user := o.User
	if user == "" {
		user = "system_u"
	}
	return user + ":object_r:container_file_t:" + o.Level, nil
}

func level(l string) *v1.SELinuxOptions { return &v1.SELinuxOptions{Level: l} }

func pvOf(modes ...v1.PersistentVolumeAccessMode) *v1.PersistentVolume {
	return &v1.PersistentVolume{Spec: v1.PersistentVolumeSpec{AccessModes: modes}}
}

const (
	labelA = "system_u:object_r:container_file_t:s0:c1,c2"
	labelB = "system_u:object_r:container_file_t:s0:c3,c4"
)

func TestFor(t *testing.T) {
	a, b := level("s0:c1,c2"), level("s0:c3,c4")
	once, many := v1.ReadWriteOncePod, v1.ReadWriteMany
	list := func(o ...*v1.SELinuxOptions) []*v1.SELinuxOptions { return o }
	multiple := fmt.Sprintf("multiple SELinux labels found: %s,%s", labelA, labelB)
	unknown := `failed to construct SELinux label from context "&SELinuxOptions{User:nobody_u,Role:,Type:,Level:s0,}": no such user`
	for _, tc := range []struct {
		name string
		r    selinux.Request
		want string // mount, needs, enforced, mode
		err  string
		// ignored is the error that a pod with this access mode may have.
		ignored string
	}{
		{name: "ReadWriteOncePod", r: selinux.Request{PV: pvOf(once), Driver: true, Options: list(a)}, want: labelA + " " + labelA + " true RWOP"},
		{name: "the same twice", r: selinux.Request{PV: pvOf(once), Driver: true, Options: list(a, a.DeepCopy())}, want: labelA + " " + labelA + " true RWOP"},
		{name: "all access modes", r: selinux.Request{PV: pvOf(many), Driver: true, Options: list(a), AllModes: true}, want: labelA + " " + labelA + " true RWX"},
		{name: "another access mode", r: selinux.Request{PV: pvOf(many), Driver: true, Options: list(a)}, want: "- " + labelA + " false RWX"},
		{name: "two access modes", r: selinux.Request{PV: pvOf(once, v1.ReadWriteOnce), Driver: true, Options: list(a)}, want: "- " + labelA + " false RWO"},
		{name: "recursive", r: selinux.Request{PV: pvOf(once), Driver: true, Options: list(a), Recursive: true}, want: "- - true RWOP"},
		{name: "the driver cannot", r: selinux.Request{PV: pvOf(once), Options: list(a)}, want: "- - true RWOP"},
		{name: "no options", r: selinux.Request{PV: pvOf(once), Driver: true}, want: "- - true RWOP"},
		{name: "no level", r: selinux.Request{PV: pvOf(once), Driver: true, Options: list(&v1.SELinuxOptions{Type: "spc_t"})}, want: "- - true RWOP"},
		{name: "inline", r: selinux.Request{Driver: true, Options: list(a), AllModes: true}, want: "- " + labelA + " false inline"},
		{name: "read-only", r: selinux.Request{PV: pvOf(v1.ReadOnlyMany), AllModes: true}, want: "- - true ROX"},
		{name: "two labels", r: selinux.Request{PV: pvOf(once), Driver: true, Options: list(b, a)}, err: multiple},
		{name: "two labels, whatever the driver", r: selinux.Request{PV: pvOf(many), Options: list(a, b), AllModes: true, Recursive: true}, err: multiple},
		{name: "one label and none", r: selinux.Request{PV: pvOf(once), Options: list(a, level(""))}, err: "multiple SELinux labels found: ," + labelA},
		{name: "two labels, another access mode", r: selinux.Request{PV: pvOf(many), Driver: true, Options: list(a, b)}, want: "- - false RWX", ignored: multiple},
		{name: "two labels, inline", r: selinux.Request{Options: list(a, b), AllModes: true}, want: "- - false inline", ignored: multiple},
		{name: "unknown", r: selinux.Request{PV: pvOf(once), Options: list(&v1.SELinuxOptions{User: "nobody_u", Level: "s0"})}, err: unknown},
		{name: "unknown, another access mode", r: selinux.Request{PV: pvOf(many), Options: list(&v1.SELinuxOptions{User: "nobody_u", Level: "s0"})}, want: "- - false RWX", ignored: unknown},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got, err := selinux.For(tc.r, translate)
			if fmt.Sprint(err) != cmpOr(tc.err) || fmt.Sprint(got.Ignored) != cmpOr(tc.ignored) {
				t.Fatalf("error %v, ignored %v, want %s, %s", err, got.Ignored, cmpOr(tc.err), cmpOr(tc.ignored))
			}
			text := fmt.Sprintf("%s %s %t %s", dash(got.Mount), dash(got.Needs), got.Enforced, got.Mode)
			if err == nil && text != tc.want {
				t.Errorf("got %s, want %s", text, tc.want)
			}
		})
	}
}

// As upstream, a pod whose containers have several labels of a volume that has none in its access mode counts once, as that: its label is not
// compared with those of other pods. One whose label is not known is.
func TestIgnoredIsCompared(t *testing.T) {
	a, b, other := level("s0:c1,c2"), level("s0:c3,c4"), selinux.Use{Label: selinux.Label{Needs: labelA, Driver: true}, Wanted: true}
	for _, tc := range []struct {
		name    string
		options []*v1.SELinuxOptions
		want    selinux.Verdict
	}{
		{"several", []*v1.SELinuxOptions{a, b}, selinux.May},
		{"unknown", []*v1.SELinuxOptions{{User: "nobody_u", Level: "s0"}}, selinux.Differs},
		{"another", []*v1.SELinuxOptions{b}, selinux.Differs},
		{"the same", []*v1.SELinuxOptions{a}, selinux.May},
	} {
		label, err := selinux.For(selinux.Request{PV: pvOf(v1.ReadWriteMany), Driver: true, Options: tc.options}, translate)
		if err != nil {
			t.Fatal(err)
		}
		if got, _ := selinux.Share(selinux.Use{Label: label, Wanted: true, Turn: 1}, []selinux.Use{other}); got != tc.want {
			t.Errorf("%s: verdict %d, want %d", tc.name, got, tc.want)
		}
	}
}

func cmpOr(want string) string {
	if want == "" {
		return "<nil>"
	}
	return want
}

func dash(s string) string {
	if s == "" {
		return "-"
	}
	return s
}

func TestMetricOf(t *testing.T) {
	multiple, translation := error(&selinux.MultipleError{}), error(&selinux.TranslationError{Err: errors.New("x")})
	for _, tc := range []struct {
		err     error
		ignored bool
		want    selinux.Metric
	}{
		{multiple, false, "volume_manager_selinux_pod_context_mismatch_errors_total"},
		{multiple, true, "volume_manager_selinux_pod_context_mismatch_warnings_total"},
		{translation, false, "volume_manager_selinux_container_errors_total"},
		{translation, true, "volume_manager_selinux_container_warnings_total"},
	} {
		if got := selinux.MetricOf(tc.err, tc.ignored); got != tc.want {
			t.Errorf("%v, ignored %t: got %s, want %s", tc.err, tc.ignored, got, tc.want)
		}
	}
}

// A container's options replace the pod's; a container without both does not count.
func TestOptionsOf(t *testing.T) {
	container := func(o *v1.SELinuxOptions, mounts ...string) v1.Container {
		c := v1.Container{}
		if o != nil {
			c.SecurityContext = &v1.SecurityContext{SELinuxOptions: o}
		}
		for _, m := range mounts {
			c.VolumeMounts = append(c.VolumeMounts, v1.VolumeMount{Name: m})
		}
		return c
	}
	debug := v1.EphemeralContainer{EphemeralContainerCommon: v1.EphemeralContainerCommon(container(level("s0:c9"), "logs"))}
	pod := &v1.Pod{Spec: v1.PodSpec{
		InitContainers:      []v1.Container{container(level("s0:c1"), "data")},
		Containers:          []v1.Container{container(nil, "data", "logs"), container(&v1.SELinuxOptions{Type: "spc_t"}, "data")},
		EphemeralContainers: []v1.EphemeralContainer{debug},
	}}
	texts := func() map[string]string {
		out := map[string]string{}
		for name, list := range selinux.OptionsOf(pod) {
			for _, o := range list {
				out[name] += fmt.Sprintf("%s|%s ", o.Type, o.Level)
			}
		}
		return out
	}
	if diff := cmp.Diff(map[string]string{"data": "|s0:c1 spc_t| ", "logs": "|s0:c9 "}, texts()); diff != "" {
		t.Errorf("without options of the pod (-want +got):\n%s", diff)
	}
	pod.Spec.SecurityContext = &v1.PodSecurityContext{SELinuxOptions: &v1.SELinuxOptions{Type: "t", Level: "s0:c2"}}
	if diff := cmp.Diff(map[string]string{"data": "|s0:c1 t|s0:c2 spc_t| ", "logs": "t|s0:c2 |s0:c9 "}, texts()); diff != "" {
		t.Errorf("with options of the pod (-want +got):\n%s", diff)
	}
	if selinux.Recursive(pod) {
		t.Error("recursive without a policy")
	}
	pod.Spec.SecurityContext.SELinuxChangePolicy = new(v1.SELinuxChangePolicyRecursive)
	if !selinux.Recursive(pod) {
		t.Error("not recursive")
	}
}

// Where the kernel has no SELinux, no volume has a label.
func TestOfNode(t *testing.T) {
	of := selinux.OfNode()
	if _, err := os.Stat("/sys/fs/selinux/enforce"); err != nil {
		if of != nil {
			t.Error("labels without SELinux")
		}
		return
	}
	if of == nil {
		t.Skip("selinuxfs is mounted read-only: SELinux counts as disabled")
	}
	if got, err := of(&v1.SELinuxOptions{Level: "s0:c1,c2"}); err != nil || got == "" {
		t.Errorf("label %q, %v", got, err)
	}
}
