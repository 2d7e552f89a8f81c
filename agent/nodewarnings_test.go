package agent

import (
	"slices"
	"testing"

	"github.com/kubeloupe/kubeloupe/agent/criconfig"
)

func TestNodeWarnings(t *testing.T) {
	old, long := criconfig.Warning{Reason: "CgroupV1", Message: cgroupV1}, criconfig.Warning{Reason: "CheckLimitsForResolvConf", Message: "too long"}
	for _, c := range []struct {
		v1         bool
		resolvConf string
		want       []criconfig.Warning
	}{
		{false, "", nil}, {true, "", []criconfig.Warning{old}}, {false, "too long", []criconfig.Warning{long}}, {true, "too long", []criconfig.Warning{old, long}},
	} {
		if got := nodeWarnings(c.v1, c.resolvConf); !slices.Equal(got, c.want) {
			t.Errorf("cgroup v1 %t, %q: %+v", c.v1, c.resolvConf, got)
		}
	}
}
