package criconfig_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/kubeloupe/kubeloupe/agent/criconfig"
)

// The figures come from k8s.io/kubernetes v1.37.1, pkg/kubelet/container.HashContainer.
func TestHashEqualsUpstream(t *testing.T) {
	for _, tc := range []struct {
		name, image string
		want        uint64
	}{
		{"nginx", "nginx:1.27", 0x91edee8f},
		{"", "", 0xedd67cc4},
		{"test_container", "foo/image:v1", 0x8e45cbd0},
		{"sidecar", "registry.example.com:5000/team/app@sha256:" + strings.Repeat("0123456789abcdef", 4), 0x2ac00c3a},
		{"app", "a<b>&c", 0x89bb441},
		{"app", "img\u2028é", 0xb14e6f48},
	} {
		c := &v1.Container{Name: tc.name, Image: tc.image, Args: []string{"not", "hashed"}}
		if got := criconfig.Hash(c); got != tc.want {
			t.Errorf("Hash(%q, %q) = %#x, want %#x", tc.name, tc.image, got, tc.want)
		}
	}
}

func TestParseReadsBackWhatWasWritten(t *testing.T) {
	pod := examplePod()
	pod.DeletionGracePeriodSeconds = new(int64(5))
	c := &pod.Spec.Containers[0]
	c.Lifecycle = &v1.Lifecycle{PreStop: &v1.LifecycleHandler{HTTPGet: &v1.HTTPGetAction{Path: "/bye", Port: intstr.FromInt32(80)}}}
	cfg, err := criconfig.Container(pod, c, criconfig.Node{}, criconfig.ContainerInput{RestartCount: 3})
	if err != nil {
		t.Fatal(err)
	}
	want := criconfig.ContainerMeta{
		Name: "app", PodNamespace: "shop", PodName: "web", PodUID: "uid-1",
		Hash: criconfig.Hash(c), RestartCount: 3,
		TerminationMessagePath: "/dev/termination-log", TerminationMessagePolicy: v1.TerminationMessageReadFile,
		DeletionGracePeriod: new(int64(5)), TerminationGracePeriod: new(int64(30)),
		PreStop: c.Lifecycle.PreStop, Ports: c.Ports,
	}
	if diff := cmp.Diff(want, criconfig.ParseContainer(cfg.Labels, cfg.Annotations)); diff != "" {
		t.Errorf("container (-want +got):\n%s", diff)
	}

	box, err := criconfig.Sandbox(pod, criconfig.Node{}, criconfig.SandboxInput{})
	if err != nil {
		t.Fatal(err)
	}
	ref := criconfig.PodRef{Namespace: "shop", Name: "web", UID: "uid-1", Labels: pod.Labels, Annotations: pod.Annotations}
	if diff := cmp.Diff(ref, criconfig.ParseSandbox(box.Labels, box.Annotations)); diff != "" {
		t.Errorf("sandbox (-want +got):\n%s", diff)
	}
}

func TestParseIsTolerant(t *testing.T) {
	got := criconfig.ParseContainer(map[string]string{"foreign": "1"}, map[string]string{
		"io.kubernetes.container.hash":              "not hex",
		"io.kubernetes.container.restartCount":      "many",
		"io.kubernetes.container.ports":             "[{",
		"io.kubernetes.container.preStopHandler":    "[]",
		"io.kubernetes.pod.terminationGracePeriod":  "soon",
		"io.kubernetes.container.somethingUnheard":  "x",
		"io.kubernetes.pod.deletionGracePeriod":     "",
		"io.kubernetes.container.terminationMessag": "",
	})
	if diff := cmp.Diff(criconfig.ContainerMeta{}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(criconfig.PodRef{Labels: map[string]string{}}, criconfig.ParseSandbox(nil, nil)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestPaths(t *testing.T) {
	for _, tc := range []struct{ got, want string }{
		{criconfig.PodLogDir("", "ns", "web", "u"), "/var/log/pods/ns_web_u"},
		{criconfig.PodLogDir("/logs/", "ns", "web", "u"), "/logs/ns_web_u"},
		{criconfig.LogPath("app", 2), "app/2.log"},
		{criconfig.LegacyLogName("ns", "web", "app", "abc123"), "web_ns_app-abc123.log"},
		{criconfig.LegacyLogName("ns", strings.Repeat("p", 300), "app", "id"), strings.Repeat("p", 251) + ".log"},
	} {
		if tc.got != tc.want {
			t.Errorf("got %q, want %q", tc.got, tc.want)
		}
	}
}
