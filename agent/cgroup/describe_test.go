package cgroup_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/kubeloupe/kubeloupe/agent/cgroup"
)

func TestDescribe(t *testing.T) {
	m, mount := v2Tree(t, cgroup.Config{Root: "/mine", CFSQuota: true})
	ctx := t.Context()
	do(t, m.EnsureTiers(ctx))
	do(t, m.EnsurePod(ctx, guaranteed("g-1")))
	container := filepath.Join(mount, "mine/kubepods/podg-1/c1")
	do(t, os.Mkdir(container, 0o700))
	do(t, os.WriteFile(filepath.Join(container, "memory.events"), []byte("low 0\nhigh 3\n"), 0o600))
	do(t, os.WriteFile(filepath.Join(container, "cgroup.procs"), []byte("11\n12\n"), 0o600))

	pod, err := m.Describe("g-1")
	do(t, err)
	if len(pod) != 2 || pod[0].Path != "/mine/kubepods/podg-1" || pod[0].Files["memory.max"] != "67108864" ||
		pod[1].Path != "/mine/kubepods/podg-1/c1" || pod[1].Files["memory.events"] != "low 0, high 3" || pod[1].Processes != 2 {
		t.Errorf("pod: %+v", pod)
	}
	tiers, err := m.Describe("")
	do(t, err)
	if len(tiers) != 3 {
		t.Errorf("tiers: %+v", tiers)
	}
	if none, err := m.Describe("unknown"); err != nil || len(none) != 0 {
		t.Errorf("unknown pod: %+v, %v", none, err)
	}
	if _, err := m.Describe("../.."); err == nil {
		t.Error("a path passes for a UID")
	}
}
