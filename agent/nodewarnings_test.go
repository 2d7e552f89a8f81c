package agent

import (
	"slices"
	"testing"

	"github.com/kubeloupe/kubeloupe/agent/criconfig"
)

func TestNodeWarnings(t *testing.T) {
	old, long := criconfig.Warning{Reason: "CgroupV1", Message: cgroupV1}, criconfig.Warning{Reason: "CheckLimitsForResolvConf", Message: "too long"}
	swap := criconfig.Warning{Reason: "PossibleMemoryBackedVolumesOnDisk", Message: swapped}
	for _, c := range []struct {
		v1, swaps  bool
		resolvConf string
		want       []criconfig.Warning
	}{
		{false, false, "", nil},
		{true, false, "", []criconfig.Warning{old}},
		{false, true, "", []criconfig.Warning{swap}},
		{false, false, "too long", []criconfig.Warning{long}},
		{true, true, "too long", []criconfig.Warning{old, swap, long}},
	} {
		if got := nodeWarnings(c.v1, c.swaps, c.resolvConf); !slices.Equal(got, c.want) {
			t.Errorf("cgroup v1 %t, swap %t, %q: %+v", c.v1, c.swaps, c.resolvConf, got)
		}
	}
}
