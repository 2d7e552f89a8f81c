package host

import (
	"strings"
	"testing"

	"github.com/spf13/pflag"

	"github.com/kubeloupe/kubeloupe/agent/config"
)

func TestRefuse(t *testing.T) {
	const swap = "Filename\tType\tSize\tUsed\tPriority\n/dev/vdb partition 1024 0 -2\n"
	yes, no := new(true), new(false)
	for _, c := range []struct {
		name  string
		edit  func(*config.Config)
		swaps string
		v1    bool
		want  string
	}{
		{"swap", func(*config.Config) {}, swap, false, "failSwapOn: swap is on (/dev/vdb); turn it off, or set failSwapOn: false"},
		{"swap is allowed", func(c *config.Config) { c.Kubelet.FailSwapOn = no; c.Cgroups.LimitedSwap = true }, swap, false, ""},
		{"no swap", func(*config.Config) {}, "Filename\tType\n", false, ""},
		{"no swap in the kernel", func(*config.Config) {}, "", true, ""},
		{"v1", func(c *config.Config) { c.Kubelet.FailCgroupV1 = yes }, "", true, "failCgroupV1: this host has cgroup v1"},
		{"LimitedSwap on v1", func(c *config.Config) { c.Cgroups.LimitedSwap = true }, "", true, "memorySwap.swapBehavior: LimitedSwap needs cgroup v2"},
		{"oom.group on v1", func(c *config.Config) { c.Kubelet.SingleProcessOOMKill = no }, "", true, "singleProcessOOMKill: false needs cgroup v2"},
		{"one process on v1", func(c *config.Config) { c.Kubelet.SingleProcessOOMKill = yes }, "", true, ""},
		{"oom.group on v2", func(c *config.Config) { c.Kubelet.SingleProcessOOMKill = no }, "", false, ""},
	} {
		fs := pflag.NewFlagSet("", pflag.ContinueOnError)
		flags := config.AddFlags(fs)
		k, err := config.Load(flags)
		if err != nil {
			t.Fatal(err)
		}
		c.edit(k)
		if err := refuse(k, c.swaps, c.v1); (c.want == "") != (err == nil) || err != nil && !strings.HasPrefix(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", c.name, err, c.want)
		}
	}
}
