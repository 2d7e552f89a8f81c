package plugins

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kubeloupe/kubeloupe/trace"
)

func TestDescribe(t *testing.T) {
	for _, c := range []struct {
		environ string
		want    Exec
		ok      bool
	}{
		{"PATH=/bin|HOME=/", Exec{}, false},
		{"", Exec{}, false},
		{"CNI_COMMAND=VERSION", Exec{Command: "VERSION"}, true},
		{
			"A=b|CNI_COMMAND=ADD|CNI_CONTAINERID=abc|CNI_IFNAME=eth0|CNI_ARGS=IgnoreUnknown=1;K8S_POD_NAMESPACE=shop;K8S_POD_NAME=web;K8S_POD_UID=1;=;x",
			Exec{Command: "ADD", IfName: "eth0", Sandbox: "abc", Pod: trace.Pod{Namespace: "shop", Name: "web", UID: "1"}},
			true,
		},
	} {
		got, ok := describe([]byte(strings.ReplaceAll(c.environ, "|", "\x00")))
		if diff := cmp.Diff(c.want, got); diff != "" || ok != c.ok {
			t.Errorf("%q: %v (-want +got):\n%s", c.environ, ok, diff)
		}
	}
}

func TestConfig(t *testing.T) {
	for _, dirs := range [][]string{nil, {"relative"}} {
		if _, err := New(Config{Dirs: dirs}); err == nil {
			t.Errorf("%q is taken", dirs)
		}
	}
}
