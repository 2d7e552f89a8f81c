package device

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	pluginapi "k8s.io/kubelet/pkg/apis/deviceplugin/v1beta1"

	"github.com/kubeloupe/kubeloupe/agent/topology"
)

func TestExtendedName(t *testing.T) {
	for name, want := range map[string]bool{
		"example.com/gpu": true, "nvidia.com/mig-1g.5gb": true, "cpu": false, "": false, "/": false, "example.com/": false, "a/b/c": false,
		"kubernetes.io/gpu": false, "x.kubernetes.io/gpu": false, "requests.example.com/gpu": false, "example.com/with space": false,
		"example.com/" + strings.Repeat("x", 64): false, strings.Repeat("x", 1<<20): false,
	} {
		if extendedName(name) != want {
			t.Errorf("%.40q: got %v, want %v", name, !want, want)
		}
	}
}

func TestReadList(t *testing.T) {
	many := make([]*pluginapi.Device, 0, maxDevices+10)
	for i := range maxDevices + 10 {
		many = append(many, &pluginapi.Device{ID: fmt.Sprint("g", i), Health: pluginapi.Healthy})
	}
	for _, tc := range []struct {
		name             string
		in               []*pluginapi.Device
		healthy, sick    int
		dropped, aligned int
	}{
		{name: "none"},
		{name: "usual", in: []*pluginapi.Device{on("a", 0), {ID: "b", Health: pluginapi.Unhealthy}}, healthy: 1, sick: 1, aligned: 1},
		{name: "twice: the last one counts", in: []*pluginapi.Device{{ID: "a", Health: pluginapi.Healthy}, {ID: "a", Health: pluginapi.Unhealthy}}, sick: 1, dropped: 1},
		{name: "without an ID", in: []*pluginapi.Device{{Health: pluginapi.Healthy}, nil}, dropped: 2},
		{name: "with an ID of 1 MB", in: healthy(strings.Repeat("x", 1<<20)), dropped: 1},
		{name: "another word for health", in: []*pluginapi.Device{{ID: "a", Health: "fine"}}, sick: 1},
		{name: "too many", in: many, healthy: maxDevices, dropped: 10},
		{name: "a node that does not exist", in: []*pluginapi.Device{on("a", -5)}, healthy: 1},
	} {
		got, dropped := read(tc.in)
		ok, sick := got.counts()
		if ok != tc.healthy || sick != tc.sick || dropped != tc.dropped || got.aligned() != (tc.aligned > 0) {
			t.Errorf("%s: %d healthy, %d not, %d dropped, aligned %v", tc.name, ok, sick, dropped, got.aligned())
		}
	}
}

func TestChoose(t *testing.T) {
	numa := list{"a0": {nodes: []int64{0}}, "a1": {nodes: []int64{1}}, "b1": {nodes: []int64{1}}, "n": {}}
	for _, tc := range []struct {
		name         string
		in           choice
		want, reused string
		err          string
	}{
		{name: "in order", in: choice{needed: 2, free: []string{"a", "b", "c"}}, want: "[a b]", reused: "[]"},
		{name: "reused first", in: choice{needed: 2, free: []string{"a", "b"}, reusable: []string{"x"}}, want: "[a x]", reused: "[x]"},
		{name: "only reused", in: choice{needed: 1, reusable: []string{"x", "y"}}, want: "[x]", reused: "[x]"},
		{
			name: "too few", in: choice{resource: gpu, needed: 3, free: []string{"a"}, reusable: []string{"x"}},
			err: "requested number of devices unavailable for example.com/gpu. Requested: 2, Available: 1",
		},
		{name: "of the NUMA node", in: choice{needed: 2, devices: numa, free: []string{"a0", "a1", "b1", "n"}, nodes: 2}, want: "[a1 b1]", reused: "[]"},
		{name: "then of others, then of none", in: choice{needed: 3, devices: numa, free: []string{"a0", "a1", "b1", "n"}, nodes: 2}, want: "[a0 a1 b1]", reused: "[]"},
		{name: "any NUMA node", in: choice{needed: 2, devices: numa, free: []string{"a0", "a1"}}, want: "[a0 a1]", reused: "[]"},
	} {
		got, reused, err := choose(tc.in)
		switch {
		case tc.err != "":
			if err == nil || err.Error() != tc.err {
				t.Errorf("%s: got %v", tc.name, err)
			}
		case err != nil || fmt.Sprint(got) != tc.want || fmt.Sprint(reused) != tc.reused:
			t.Errorf("%s: got %v, reused %v, %v; want %s and %s", tc.name, got, reused, err, tc.want, tc.reused)
		}
	}
}

func TestPrefer(t *testing.T) {
	numa := list{"a0": {nodes: []int64{0}}, "b0": {nodes: []int64{0}}, "a1": {nodes: []int64{1}}, "b1": {nodes: []int64{1}}}
	for _, tc := range []struct {
		name                string
		in                  choice
		reused, own, answer []string
		ask                 string
		want                string
	}{
		{name: "no choice", in: choice{needed: 2}, own: []string{"a", "b"}},
		{
			name: "another one", in: choice{needed: 1, free: []string{"b", "c"}}, own: []string{"a"}, answer: []string{"c"},
			ask: "[a b c] of which [], 1", want: "[c]",
		},
		{
			name: "more than needed", in: choice{needed: 1, free: []string{"b", "c"}}, own: []string{"a"}, answer: []string{"c", "b"},
			ask: "[a b c] of which [], 1", want: "[c]",
		},
		{
			name: "no answer", in: choice{needed: 2, free: []string{"b"}}, own: []string{"a", "c"},
			ask: "[a b c] of which [], 2", want: "[a c]",
		},
		{
			name: "lies", in: choice{needed: 2, free: []string{"b"}}, own: []string{"a", "c"}, answer: []string{"zz", "", "b", "b"},
			ask: "[a b c] of which [], 2", want: "[a b]",
		},
		{
			name: "with reused ones", in: choice{needed: 2, free: []string{"b"}}, reused: []string{"x"}, own: []string{"a"}, answer: []string{"b", "x"},
			ask: "[a b x] of which [x], 2", want: "[b x]",
		},
		{
			name: "among those of the NUMA node", in: choice{needed: 1, devices: numa, free: []string{"a1", "b0", "b1"}, nodes: 1}, own: []string{"a0"},
			answer: []string{"b1", "b0"}, ask: "[a0 b0] of which [], 1", want: "[b0]",
		},
		{
			name: "all of the NUMA node, and one more", in: choice{needed: 3, devices: numa, free: []string{"b1"}, nodes: 1}, own: []string{"a0", "a1", "b0"},
			answer: []string{"b1"}, ask: "[a0 a1 b0 b1] of which [a0 b0], 3", want: "[a0 b0 b1]",
		},
	} {
		q, choice := tc.in.ask(tc.reused, tc.own)
		if !choice {
			if tc.ask != "" {
				t.Errorf("%s: asks nothing", tc.name)
			}
			continue
		}
		if got := fmt.Sprintf("%v of which %v, %d", q.available, q.must, q.size); got != tc.ask {
			t.Errorf("%s: asks %s, want %s", tc.name, got, tc.ask)
		}
		if got := fmt.Sprint(tc.in.prefer(q, tc.answer, tc.own)); got != tc.want {
			t.Errorf("%s: got %s, want %s", tc.name, got, tc.want)
		}
	}
}

// Which device each container of a pod gets: init containers pass theirs on, sidecars keep theirs.
func TestReuse(t *testing.T) {
	always := v1.ContainerRestartPolicyAlways
	for _, tc := range []struct {
		name string
		pod  *v1.Pod
		want string // by container
		err  bool
	}{
		{name: "an init container and an app", pod: podOf("p", []v1.Container{asks("i", 2)}, asks("a", 1)), want: "i[g0 g1] a[g0]"},
		{name: "the app needs more", pod: podOf("p", []v1.Container{asks("i", 1)}, asks("a", 2)), want: "i[g0] a[g0 g1]"},
		{name: "two apps", pod: podOf("p", []v1.Container{asks("i", 2)}, asks("a", 1), asks("b", 2)), want: "i[g0 g1] a[g0] b[g1 g2]"},
		{name: "two init containers", pod: podOf("p", []v1.Container{asks("i", 1), asks("j", 3)}, asks("a", 1)), want: "i[g0] j[g0 g1 g2] a[g0]"},
		{name: "a sidecar", pod: podOf("p", []v1.Container{asks("s", 1, always)}, asks("a", 2)), want: "s[g0] a[g1 g2]"},
		{name: "a sidecar after an init container", pod: podOf("p", []v1.Container{asks("i", 1), asks("s", 1, always)}, asks("a", 1)), want: "i[g0] s[g0] a[g1]"},
		{name: "an init container after a sidecar", pod: podOf("p", []v1.Container{asks("s", 1, always), asks("i", 1)}, asks("a", 2)), want: "s[g0] i[g1] a[g1 g2]"},
		{name: "too many with a sidecar", pod: podOf("p", []v1.Container{asks("s", 2, always)}, asks("a", 2)), err: true},
		{name: "none", pod: podOf("p", nil, asks("a", 0)), want: ""},
	} {
		n := newNode(t, "/nowhere")
		n.resources[gpu] = &resourceState{devices: list{"g0": {healthy: true}, "g1": {healthy: true}, "g2": {healthy: true}}, listed: true}
		err := n.Reserve(t.Context(), tc.pod)
		got := ""
		for _, c := range containers(tc.pod) {
			if ids := n.has("p", c.Name); ids != nil {
				got += fmt.Sprintf("%s%v ", c.Name, ids)
			}
		}
		if (err != nil) != tc.err || strings.TrimSpace(got) != tc.want {
			t.Errorf("%s: got %s, %v; want %s", tc.name, got, err, tc.want)
		}
	}
}

// Upstream's words for what a pod cannot have.
func TestReserveErrors(t *testing.T) {
	changed := podOf("p", nil, asks("c", 2))
	n := newNode(t, "/nowhere")
	n.holds.put("p", "c", gpu, &hold{ids: []string{"g0"}})
	check := func(pod *v1.Pod, want string) {
		t.Helper()
		if err := n.Reserve(t.Context(), pod); err == nil || err.Error() != want {
			t.Errorf("got %v, want %s", err, want)
		}
		if n.holds.any(gpu) {
			t.Error("a pod that cannot have all has something")
		}
	}
	check(changed, `pod "p" container "c" changed request for resource "example.com/gpu" from 1 to 2`)
	n.resources[gpu] = &resourceState{devices: list{"g0": {}, "g1": {healthy: true}}, listed: true}
	n.holds.put("p", "c", gpu, &hold{ids: []string{"g0"}})
	check(podOf("p", nil, asks("c", 1)), "previously allocated devices are no longer healthy; cannot allocate unhealthy devices example.com/gpu")
	fromDRA := podOf("p", nil, asks("c", 5))
	fromDRA.Status.ExtendedResourceClaimStatus = &v1.PodExtendedResourceClaimStatus{RequestMappings: []v1.ContainerExtendedResourceRequest{{ContainerName: "c", ResourceName: gpu}}}
	if err := n.Reserve(t.Context(), fromDRA); err != nil {
		t.Errorf("a resource of a DRA driver: %v", err)
	}
	huge := podOf("p", nil, v1.Container{Name: "c", Resources: v1.ResourceRequirements{Limits: v1.ResourceList{gpu: resource.MustParse("9e18")}}})
	check(huge, "requested number of devices unavailable for example.com/gpu. Requested: 9000000000000000000, Available: 1")
}

func TestGiven(t *testing.T) {
	a := &pluginapi.ContainerAllocateResponse{
		Envs: map[string]string{"X": "a", "Y": "a"}, Annotations: map[string]string{"k": "a"},
		Devices:    []*pluginapi.DeviceSpec{{ContainerPath: "/dev/x", HostPath: "/dev/a", Permissions: "rw"}},
		Mounts:     []*pluginapi.Mount{{ContainerPath: "/m", HostPath: "/a", ReadOnly: true}},
		CdiDevices: []*pluginapi.CDIDevice{{Name: "v/c=1"}, {Name: "v/c=1"}},
	}
	b := &pluginapi.ContainerAllocateResponse{
		Envs: map[string]string{"X": "b", "Z": "b"}, Annotations: map[string]string{"k": "b", "l": "b"},
		Devices:    []*pluginapi.DeviceSpec{{ContainerPath: "/dev/x", HostPath: "/dev/b"}, {ContainerPath: "/dev/y", HostPath: "/dev/b"}},
		Mounts:     []*pluginapi.Mount{{ContainerPath: "/m", HostPath: "/b"}},
		CdiDevices: []*pluginapi.CDIDevice{{Name: "v/c=1"}, {Name: "v/c=2"}},
	}
	got := given(map[string]*hold{"b/b": {answer: b}, "a/a": {answer: a}, "c/c": {}})
	out := ""
	for _, v := range got.Env {
		out += v.Name + "=" + v.Value + " "
	}
	for _, d := range got.Devices {
		out += d.HostPath + ":" + d.ContainerPath + ":" + d.Permissions + " "
	}
	for _, m := range got.Mounts {
		out += fmt.Sprint(m.HostPath, ":", m.ContainerPath, ":", m.Readonly, " ")
	}
	for _, c := range got.CDIDevices {
		out += c.Name + " "
	}
	if want := "X=a Y=a Z=b /dev/a:/dev/x:rw /dev/b:/dev/y: /a:/m:true v/c=1 v/c=2 "; out != want {
		t.Errorf("got  %s\nwant %s", out, want)
	}
	if d := cmp.Diff(map[string]string{"k": "a", "l": "b"}, got.Annotations); d != "" {
		t.Error(d)
	}
}

func TestHints(t *testing.T) {
	at := func(nodes ...int64) device { return device{healthy: true, nodes: nodes} }
	for _, tc := range []struct {
		name           string
		devices        list
		free, reusable []string
		needed         int
		want           string // nodes as a mask, * if preferred
	}{
		{name: "one node has enough", devices: list{"a": at(0), "b": at(1), "c": at(1)}, free: []string{"a", "b", "c"}, needed: 2, want: "10* 11"},
		{name: "both are needed", devices: list{"a": at(0), "b": at(1)}, free: []string{"a", "b"}, needed: 2, want: "11*"},
		{name: "a smaller set would do if more were free", devices: list{"a": at(0), "b": at(1), "c": at(1)}, free: []string{"a", "b"}, needed: 2, want: "11"},
		{name: "a device of two nodes", devices: list{"a": at(0, 1)}, free: []string{"a"}, needed: 1, want: "1* 10* 11"},
		{name: "too few", devices: list{"a": at(0)}, free: []string{"a"}, needed: 2, want: ""},
		{name: "reusable ones must be in it", devices: list{"a": at(0), "b": at(1)}, free: []string{"b"}, reusable: []string{"a"}, needed: 1, want: "1* 11"},
		{name: "a node that the machine does not have", devices: list{"a": at(0), "z": at(9)}, free: []string{"a", "z"}, needed: 1, want: "1*"},
	} {
		n := newNode(t, "/nowhere")
		got := ""
		for _, h := range n.hints(tc.devices, tc.free, tc.reusable, tc.needed) {
			got += fmt.Sprintf("%b", h.Nodes)
			if h.Preferred {
				got += "*"
			}
			got += " "
		}
		if strings.TrimSpace(got) != tc.want {
			t.Errorf("%s: got %s, want %s", tc.name, got, tc.want)
		}
	}
}

// The devices of a container come from the NUMA nodes that were chosen for it, and hints are those of what it has then.
func TestHintsOfPods(t *testing.T) {
	n := newNode(t, "/nowhere")
	n.resources[gpu] = &resourceState{devices: list{"g0": {healthy: true, nodes: []int64{0}}, "g1": {healthy: true, nodes: []int64{1}}}, listed: true}
	pod := podOf("p", nil, asks("a", 1), asks("b", 1))
	if h := n.Hints(pod, &pod.Spec.Containers[0])[gpu]; len(h) != 3 || !h[0].Preferred {
		t.Errorf("%v", h)
	}
	if h := n.PodHints(pod)[gpu]; len(h) != 1 || h[0].Nodes != 3 {
		t.Errorf("%v", h)
	}
	claimed := pod.DeepCopy() // a DRA driver gives it the device of b, or both
	claimed.Status.ExtendedResourceClaimStatus = &v1.PodExtendedResourceClaimStatus{RequestMappings: []v1.ContainerExtendedResourceRequest{{ContainerName: "b", ResourceName: gpu}}}
	if h := n.PodHints(claimed)[gpu]; len(h) != 3 || !h[0].Preferred {
		t.Errorf("with a claim for b: %v", h)
	}
	claimed.Status.ExtendedResourceClaimStatus.RequestMappings = append(claimed.Status.ExtendedResourceClaimStatus.RequestMappings,
		v1.ContainerExtendedResourceRequest{ContainerName: "a", ResourceName: gpu})
	if h := n.PodHints(claimed); len(h) != 0 || len(claimed.Spec.Containers[0].Resources.Limits) != 1 {
		t.Errorf("with claims for both: %v", h)
	}
	if err := reserve(t.Context(), n.Manager, pod, topology.Hint{Nodes: 2}); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff([]string{"g1"}, n.has("p", "a")); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff([]string{"g0"}, n.has("p", "b")); d != "" {
		t.Error(d)
	}
	if h := n.Hints(pod, &pod.Spec.Containers[0])[gpu]; len(h) != 2 || h[0].Nodes != 2 {
		t.Errorf("those of what it has: %v", h)
	}
	n.resources[gpu].devices = list{"g0": {healthy: true}}
	if h, asked := n.Hints(pod, &pod.Spec.Containers[0])[gpu]; h != nil || !asked {
		t.Errorf("a plugin that does not care: %v", h)
	}
}
