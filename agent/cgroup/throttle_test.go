package cgroup_test

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/kubeloupe/kubeloupe/agent/cgroup"
)

func TestThrottling(t *testing.T) {
	const (
		busy  = "usage_usec 9000\nnr_periods 40\nnr_throttled 30\nthrottled_usec 1500000\n"
		quiet = "usage_usec 9000\nnr_periods 40\nnr_throttled 1\nthrottled_usec 20\n"
		none  = "usage_usec 9000\nnr_periods 0\nnr_throttled 0\nthrottled_usec 0\n"
	)
	held := cgroup.Throttling{Periods: 40, Throttled: 30, Stopped: 1500 * time.Millisecond}
	var zero cgroup.Throttling
	for _, c := range []struct {
		name        string
		cgroup      string // the container's
		own, pod    string // cpu.stat
		id          string
		want, whole cgroup.Throttling
	}{
		{"the container's limit", "c1", busy, none, "c1", held, zero},
		{"as systemd has it", "cri-containerd-c1.scope", busy, none, "c1", held, zero},
		{"as CRI-O has it", "crio-c1", busy, none, "c1", held, zero},
		{"the pod's limit", "c1", none, busy, "c1", zero, held},
		{"both", "c1", busy, quiet, "c1", held, cgroup.Throttling{Periods: 40, Throttled: 1, Stopped: 20 * time.Microsecond}},
		{"as v1 has it", "c1", "nr_periods 40\nnr_throttled 30\nthrottled_time 1500000000\n", none, "c1", held, zero},
		{"no limit", "c1", none, none, "c1", zero, zero},
		{"another container's", "c1", busy, busy, "c2", zero, zero},
		{"a part of its name", "c11", busy, busy, "1", zero, zero},
		{"figures that are none", "c1", "nr_periods x\nnr_throttled -1\nthrottled_usec\n\n", none, "c1", zero, zero},
	} {
		t.Run(c.name, func(t *testing.T) {
			m, mount := v2Tree(t, cgroup.Config{CFSQuota: true})
			do(t, m.EnsureTiers(t.Context()))
			p := burstable("u")
			do(t, m.EnsurePod(t.Context(), p))
			top := filepath.Join(mount, "kubepods/burstable/podu")
			do(t, os.Mkdir(filepath.Join(top, c.cgroup), 0o700))
			do(t, os.WriteFile(filepath.Join(top, "cpu.stat"), []byte(c.pod), 0o600))
			do(t, os.WriteFile(filepath.Join(top, c.cgroup, "cpu.stat"), []byte(c.own), 0o600))
			if got, whole := m.Throttling(p, c.id); got != c.want || whole != c.whole {
				t.Errorf("%+v %+v, want %+v %+v", got, whole, c.want, c.whole)
			}
		})
	}
}

func TestThrottlingOfNothing(t *testing.T) {
	var none *cgroup.Manager
	m, _ := v2Tree(t, cgroup.Config{})
	for _, c := range []struct {
		name string
		m    *cgroup.Manager
		pod  *v1.Pod
		id   string
	}{
		{"no cgroups", none, burstable("u"), "c1"},
		{"no such pod", m, burstable("u"), "c1"},
		{"no id", m, burstable("u"), ""},
		{"a UID that is a path", m, burstable("../.."), "c1"},
	} {
		if got, whole := c.m.Throttling(c.pod, c.id); got != (cgroup.Throttling{}) || whole != got {
			t.Errorf("%s: %+v %+v", c.name, got, whole)
		}
	}
}
