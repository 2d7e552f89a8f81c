package cgroup_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kubeloupe/kubeloupe/agent/cgroup"
)

func TestTiers(t *testing.T) {
	for name, c := range map[string]struct {
		cfg  cgroup.Config
		want []string
	}{
		"cgroupfs": {cgroup.Config{}, []string{"/kubepods", "/kubepods/burstable", "/kubepods/besteffort"}},
		"a root":   {cgroup.Config{Root: "/node"}, []string{"/node/kubepods", "/node/kubepods/burstable", "/node/kubepods/besteffort"}},
		"systemd":  {cgroup.Config{Driver: cgroup.Systemd}, []string{"/kubepods.slice", "/kubepods.slice/kubepods-burstable.slice", "/kubepods.slice/kubepods-besteffort.slice"}},
	} {
		m, _ := v2Tree(t, c.cfg)
		if diff := cmp.Diff(c.want, m.Tiers()); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
	if got := (*cgroup.Manager)(nil).Tiers(); got != nil {
		t.Errorf("without cgroups: %v", got)
	}
}
