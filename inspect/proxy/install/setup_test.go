package install

import (
	"flag"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "write the goldens anew")

var containerd = Setup{
	Program: "/usr/local/bin/kubeloupe", Runtime: "/run/containerd/containerd.sock",
	Listen: "/run/kubeloupe/cri.sock", Endpoint: "/run/kubeloupe/containerd.sock", Kubelet: "kubelet.service",
}

var crio = Setup{
	Program: "/usr/local/bin/kubeloupe", Runtime: "/var/run/crio/crio.sock",
	Listen: "/run/kubeloupe/cri.sock", Endpoint: "/run/kubeloupe/run/crio/crio.sock", Kubelet: "kubelet.service",
}

func TestFiles(t *testing.T) {
	for name, got := range map[string]string{
		"containerd.service": containerd.UnitFile(), "containerd.tmpfiles": containerd.TmpfilesFile(),
		"crio.service": crio.UnitFile(), "crio.tmpfiles": crio.TmpfilesFile(),
	} {
		file := filepath.Join("testdata", name)
		if *update {
			if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(string(want), got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

func TestEndpoint(t *testing.T) {
	for runtime, want := range map[string]string{
		containerd.Runtime: containerd.Endpoint, crio.Runtime: crio.Endpoint, "/run/k3s/containerd/containerd.sock": containerd.Endpoint,
	} {
		if got := Endpoint("/run/kubeloupe", runtime); got != want {
			t.Errorf("%s: %s, want %s", runtime, got, want)
		}
	}
}

func TestCheck(t *testing.T) {
	if err := containerd.Check(); err != nil {
		t.Error(err)
	}
	for _, bad := range []string{"", "relative", "/with space", "/a\nExecStart=/b", "/%h"} {
		s := containerd
		s.Runtime = bad
		if s.Check() == nil {
			t.Errorf("%q is taken", bad)
		}
	}
}

// The endpoint alone is changed, and back.
func TestPoint(t *testing.T) {
	const from, to = "/run/containerd/containerd.sock", "/run/kubeloupe/containerd.sock"
	for _, c := range []struct{ name, text, want, err string }{
		{"configuration", "a: 1\ncontainerRuntimeEndpoint: unix:///run/containerd/containerd.sock\nb: 2\n", "a: 1\ncontainerRuntimeEndpoint: unix:///run/kubeloupe/containerd.sock\nb: 2\n", ""},
		{"quoted", "containerRuntimeEndpoint: \"unix:///run/containerd/containerd.sock\" # x\n", "containerRuntimeEndpoint: \"unix:///run/kubeloupe/containerd.sock\" # x\n", ""},
		{"a path alone", "containerRuntimeEndpoint: /run/containerd/containerd.sock", "containerRuntimeEndpoint: /run/kubeloupe/containerd.sock", ""},
		{"flags of kubeadm", "KUBELET_KUBEADM_ARGS=\"--container-runtime-endpoint=unix:///run/containerd/containerd.sock --v=2\"\n", "KUBELET_KUBEADM_ARGS=\"--container-runtime-endpoint=unix:///run/kubeloupe/containerd.sock --v=2\"\n", ""},
		{"none", "a: 1\n", "", "it has no containerRuntimeEndpoint and no --container-runtime-endpoint"},
		{"a comment", "# containerRuntimeEndpoint: unix:///run/containerd/containerd.sock\n", "", "it has no containerRuntimeEndpoint and no --container-runtime-endpoint"},
		{"another", "containerRuntimeEndpoint: unix:///run/crio/crio.sock\n", "", "its container runtime endpoint is unix:///run/crio/crio.sock, not unix:///run/containerd/containerd.sock"},
		{"longer", "containerRuntimeEndpoint: unix:///run/containerd/containerd.sock2\n", "", "its container runtime endpoint is unix:///run/containerd/containerd.sock2, not unix:///run/containerd/containerd.sock"},
		{"two", "containerRuntimeEndpoint: /a\ncontainerRuntimeEndpoint: /b\n", "", "it has 2 container runtime endpoints"},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := Point(c.text, from, to)
			if got != c.want || c.err != "" && (err == nil || err.Error() != c.err) || c.err == "" && err != nil {
				t.Fatalf("%q, %v; want %q, %s", got, err, c.want, c.err)
			}
			if err != nil {
				return
			}
			if Points(got) != to || Points(c.text) != from {
				t.Errorf("it points to %s, did to %s", Points(got), Points(c.text))
			}
		})
	}
}

func TestParse(t *testing.T) {
	for _, want := range []Setup{containerd, crio} {
		if got, err := Parse(want.UnitFile()); got != want || err != nil {
			t.Errorf("%+v, %v", got, err)
		}
	}
	if _, err := Parse("[Service]\nExecStart=/bin/true\n"); err == nil {
		t.Error("another unit is taken")
	}
}
