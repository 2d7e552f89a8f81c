package podspec

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	apiresource "k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/component-helpers/resource"

	"github.com/kubeloupe/kubeloupe/trace"
)

func manifest() *v1.Pod {
	return &v1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "web"},
		Spec:       v1.PodSpec{Containers: []v1.Container{{Name: "c", Image: "busybox:1"}}},
	}
}

func static(t *testing.T, p *v1.Pod, path, node string) *v1.Pod {
	t.Helper()
	SetDefaults(p)
	if err := MakeStatic(p, path, node); err != nil {
		t.Fatal(err)
	}
	return p
}

func TestMakeStatic(t *testing.T) {
	p := static(t, manifest(), "/m/web.yaml", "Node1")
	if len(p.UID) != 32 {
		t.Errorf("UID = %q, want 32 hexadecimal digits", p.UID)
	}
	want := metav1.ObjectMeta{
		Name: "web-node1", Namespace: "default", UID: p.UID,
		Annotations: map[string]string{AnnotationHash: string(p.UID)},
	}
	if d := cmp.Diff(want, p.ObjectMeta); d != "" {
		t.Errorf("metadata (-want +got):\n%s", d)
	}
	if p.Spec.NodeName != "Node1" || p.Status.Phase != v1.PodPending {
		t.Errorf("node %q, phase %q", p.Spec.NodeName, p.Status.Phase)
	}
	wantTolerations := []v1.Toleration{{Operator: v1.TolerationOpExists, Effect: v1.TaintEffectNoExecute}}
	if d := cmp.Diff(wantTolerations, p.Spec.Tolerations); d != "" {
		t.Errorf("tolerations (-want +got):\n%s", d)
	}
	if d := cmp.Diff(trace.Pod{Namespace: "default", Name: "web-node1", UID: string(p.UID)}, Ref(p)); d != "" {
		t.Error(d)
	}
	if errs := Validate(static(t, manifest(), "/m/web.yaml", "node1")); len(errs) > 0 {
		t.Errorf("Validate = %v", errs)
	}
}

// A sum of the pod's resources does not change its spec.
func TestSumsChangeNothing(t *testing.T) {
	p := manifest()
	p.Spec.Overhead = v1.ResourceList{v1.ResourceMemory: apiresource.MustParse("0.5Gi")}
	p.Spec.Resources = &v1.ResourceRequirements{
		Requests: v1.ResourceList{v1.ResourceMemory: apiresource.MustParse("1.5Gi")}, Limits: v1.ResourceList{v1.ResourceMemory: apiresource.MustParse("2.5Gi")},
	}
	p = static(t, p, "/web.yaml", "n1")
	for range 2 {
		requests, limits := resource.PodRequests(p, resource.PodResourcesOptions{}), resource.PodLimits(p, resource.PodResourcesOptions{})
		if got := requests.Memory().String() + " " + limits.Memory().String(); got != "2Gi 3Gi" {
			t.Errorf("sums %s, want 2Gi 3Gi", got)
		}
	}
}

// A toleration for a limited time is replaced: with both, the mirror pod would be evicted after that.
func TestTolerations(t *testing.T) {
	all := v1.Toleration{Operator: v1.TolerationOpExists, Effect: v1.TaintEffectNoExecute}
	limited, other := all, all
	limited.TolerationSeconds, other.Key = new(int64(5)), "a"
	for _, given := range [][]v1.Toleration{{other}, {other, all}, {other, limited}} {
		p := manifest()
		p.Spec.Tolerations = slices.Clone(given)
		if d := cmp.Diff([]v1.Toleration{other, all}, static(t, p, "/m/web.yaml", "n").Spec.Tolerations); d != "" {
			t.Errorf("%v: %s", given, d)
		}
	}
}

func TestStaticUID(t *testing.T) {
	base := static(t, manifest(), "/m/web.yaml", "n").UID
	changed := manifest()
	changed.Spec.Containers[0].Image = "busybox:2"
	explicit := manifest()
	explicit.UID = "mine"
	cases := []struct {
		name string
		pod  *v1.Pod
		path string
		node string
		same bool
	}{
		{"same again", manifest(), "/m/web.yaml", "n", true},
		{"other content", changed, "/m/web.yaml", "n", false},
		{"other path", manifest(), "/m/web2.yaml", "n", false},
		{"other node", manifest(), "/m/web.yaml", "m", false},
	}
	for _, c := range cases {
		if got := static(t, c.pod, c.path, c.node).UID; (got == base) != c.same {
			t.Errorf("%s: UID %s, base %s, want same %t", c.name, got, base, c.same)
		}
	}
	if got := static(t, explicit, "/m/web.yaml", "n"); got.UID != "mine" || got.Annotations[AnnotationHash] != "mine" {
		t.Errorf("a UID in the manifest was not kept: %s", got.UID)
	}
}

func TestKinds(t *testing.T) {
	with := func(key, value string) *v1.Pod {
		p := manifest()
		p.Annotations = map[string]string{key: value}
		return p
	}
	high, low := int32(2_000_000_000), int32(1_999_999_999)
	priority := func(n *int32) *v1.Pod {
		p := manifest()
		p.Spec.Priority = n
		return p
	}
	cases := []struct {
		name                     string
		pod                      *v1.Pod
		static, mirror, critical bool
	}{
		{"unstamped", manifest(), false, false, false},
		{"file", with(AnnotationSource, SourceFile), true, false, true},
		{"step", with(AnnotationSource, "step"), true, false, true},
		{"api", with(AnnotationSource, SourceAPI), false, false, false},
		{"mirror", with(AnnotationMirror, "x"), false, true, true},
		{"system priority", priority(&high), false, false, true},
		{"user priority", priority(&low), false, false, false},
	}
	for _, c := range cases {
		if got := [3]bool{IsStatic(c.pod), IsMirror(c.pod), CriticalPod(c.pod)}; got != [3]bool{c.static, c.mirror, c.critical} {
			t.Errorf("%s: static, mirror, critical = %v", c.name, got)
		}
	}
}

func TestGracePeriod(t *testing.T) {
	cases := []struct {
		name                    string
		spec, deleted, override *int64
		want                    int64
	}{
		{"nothing set", nil, nil, nil, 30},
		{"deletion zero", new(int64(7)), new(int64(0)), nil, 1},
		{"spec", new(int64(7)), nil, nil, 7},
		{"spec zero", new(int64(0)), nil, nil, 1},
		{"deletion wins over spec", new(int64(7)), new(int64(60)), nil, 60},
		{"override shortens deletion", new(int64(7)), new(int64(60)), new(int64(5)), 5},
		{"override cannot lengthen deletion", new(int64(7)), new(int64(3)), new(int64(5)), 3},
		{"override without deletion", new(int64(7)), nil, new(int64(9)), 9},
		{"override zero", new(int64(7)), nil, new(int64(0)), 1},
	}
	for _, c := range cases {
		p := manifest()
		p.Spec.TerminationGracePeriodSeconds = c.spec
		p.DeletionGracePeriodSeconds = c.deleted
		if c.deleted != nil {
			p.DeletionTimestamp = &metav1.Time{Time: time.Unix(0, 0)}
		}
		if got := GracePeriod(p, c.override); got != c.want {
			t.Errorf("%s: got %d, want %d", c.name, got, c.want)
		}
		if c.override != nil {
			continue
		}
		want := c.want
		if strings.HasSuffix(c.name, "zero") {
			want = 0
		}
		if got := ContainerGracePeriod(p); got != want {
			t.Errorf("%s: %d for a container, want %d", c.name, got, want)
		}
	}
}
