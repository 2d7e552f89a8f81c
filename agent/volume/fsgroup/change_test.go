package fsgroup

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"

	v1 "k8s.io/api/core/v1"
)

func TestChangePolicy(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs root")
	}
	dir := t.TempDir()
	deep := filepath.Join(dir, "a", "b")
	outside := filepath.Join(t.TempDir(), "outside")
	for _, err := range []error{
		os.MkdirAll(deep, 0o755), os.WriteFile(deep+"/file", nil, 0o600),
		os.WriteFile(outside, nil, 0o600), os.Symlink(outside, dir+"/link"),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	gid := func(path string) uint32 {
		info, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		return info.Sys().(*syscall.Stat_t).Gid
	}
	pod := func(group int64, policy v1.PodFSGroupChangePolicy) *v1.Pod {
		return &v1.Pod{Spec: v1.PodSpec{SecurityContext: &v1.PodSecurityContext{FSGroup: &group, FSGroupChangePolicy: &policy}}}
	}
	apply := func(p *v1.Pod) {
		t.Helper()
		if err := (Change{Dir: dir, Pod: p}).Apply(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	apply(pod(4321, v1.FSGroupChangeAlways))
	if gid(deep+"/file") != 4321 || gid(dir) != 4321 || gid(outside) == 4321 {
		t.Errorf("groups %d %d, outside %d", gid(deep+"/file"), gid(dir), gid(outside))
	}
	// The root is right: what is in it is not looked at.
	if err := os.Chown(deep+"/file", 0, 0); err != nil {
		t.Fatal(err)
	}
	apply(pod(4321, v1.FSGroupChangeOnRootMismatch))
	if gid(deep+"/file") != 0 {
		t.Error("OnRootMismatch changed files below a root that is right")
	}
	apply(pod(1234, v1.FSGroupChangeOnRootMismatch))
	if gid(deep+"/file") != 1234 || gid(dir) != 1234 {
		t.Errorf("groups %d %d", gid(deep+"/file"), gid(dir))
	}
}
