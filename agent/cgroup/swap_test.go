package cgroup_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/kubeloupe/kubeloupe/agent/cgroup"
)

func TestCountsSwap(t *testing.T) {
	for _, c := range []struct {
		name        string
		files       map[string]string
		v2, counted bool
	}{
		{"v1", map[string]string{"memory/memory.memsw.limit_in_bytes": "1"}, false, true},
		{"v1 without swapaccount=1", map[string]string{"memory/memory.limit_in_bytes": "1"}, false, false},
		{"v2", map[string]string{"cgroup.controllers": "memory", "a/b/memory.swap.max": "max", "proc/self/cgroup": "0::/a/b\n"}, true, true},
		{"v2, the agent runs in the root", map[string]string{"cgroup.controllers": "memory", "a/memory.swap.max": "max", "proc/self/cgroup": "0::/\n"}, true, true},
		{"v2 without swap", map[string]string{"cgroup.controllers": "memory", "a/memory.max": "max", "proc/self/cgroup": "0::/a\n"}, true, false},
		{"v2, no /proc", map[string]string{"cgroup.controllers": "memory"}, true, false},
	} {
		mount := t.TempDir()
		for name, text := range c.files {
			do(t, os.MkdirAll(filepath.Join(mount, filepath.Dir(name)), 0o700))
			do(t, os.WriteFile(filepath.Join(mount, name), []byte(text), 0o600))
		}
		if v2, counted := cgroup.Unified(mount), cgroup.CountsSwap(mount, mount); v2 != c.v2 || counted != c.counted {
			t.Errorf("%s: v2 %v, counted %v", c.name, v2, counted)
		}
	}
}

func TestLimitsCPU(t *testing.T) {
	v1 := []string{"cpu,cpuacct/cgroup.procs", "memory/cgroup.procs", "cpu,cpuacct/cpu.cfs_period_us"}
	for name, c := range map[string]struct {
		files []string
		want  bool
	}{
		"v1":                 {append(v1, "cpu,cpuacct/cpu.cfs_quota_us"), true},
		"v1 without a quota": {v1, false},
		"v1 without either":  {v1[:2], false},
		"v2":                 {[]string{"cgroup.controllers"}, true},
		"not known":          {nil, true},
	} {
		mount := t.TempDir()
		for _, f := range c.files {
			do(t, os.MkdirAll(filepath.Join(mount, filepath.Dir(f)), 0o700))
			do(t, os.WriteFile(filepath.Join(mount, f), nil, 0o600))
		}
		if got := cgroup.LimitsCPU(mount); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}
