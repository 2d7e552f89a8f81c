package volume

import (
	"slices"
	"testing"

	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/kubeloupe/kubeloupe/agent/criconfig"
)

func TestImagesOfVolumes(t *testing.T) {
	m := &Manager{states: map[key]*state{
		{uid: "u", name: "dir"}:   {mounted: true, result: criconfig.Volume{HostPath: "/dir"}},
		{uid: "u", name: "tools"}: {mounted: true, result: criconfig.Volume{Image: &runtimeapi.ImageSpec{Image: "sha256:1"}}},
		{uid: "u", name: "new"}:   {busy: true},
	}}
	if got := m.Images(); !slices.Equal(got, []string{"sha256:1"}) {
		t.Errorf("images %q", got)
	}
}
