package cgroup_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/kubeloupe/kubeloupe/agent/cgroup"
)

// The processes of the root cgroup are moved, but not kernel threads, process 1, and those of other PID namespaces. What has ended is no error.
func TestMoveSystem(t *testing.T) {
	m, mount := v2Tree(t, cgroup.Config{})
	do(t, m.MakePlace("/system/rest"))
	self := os.Getpid()
	const kernel = 4194305 // more than any process can have, so without an executable, as a kernel thread
	do(t, os.WriteFile(filepath.Join(mount, "cgroup.procs"), fmt.Appendf(nil, "0\n1\n%d\n%d\n%d\n", kernel, self, os.Getppid()), 0o600))
	var moved []string
	m.Refuse(func(file, value string) error {
		if filepath.Base(file) == "cgroup.procs" {
			moved = append(moved, strings.TrimPrefix(filepath.Dir(file), mount)+" "+value)
		}
		return nil
	})
	do(t, m.MoveSystem("/system/rest"))
	do(t, m.MoveSelf("/system/rest"))
	want := fmt.Sprintf("/system/rest %d,/system/rest %d,/system/rest %d", self, os.Getppid(), self)
	if got := strings.Join(moved, ","); got != want {
		t.Errorf("moved %s, want %s", got, want)
	}
	// The parent gives controllers to its children; one with processes cannot.
	if got := contents(t, mount, "system/rest/cgroup.subtree_control"); got != "system/rest/cgroup.subtree_control: " {
		t.Error(got)
	}
	m.Refuse(func(string, string) error { return syscall.ESRCH })
	do(t, m.MoveSystem("/system/rest"))
	m.Refuse(func(string, string) error { return syscall.EBUSY })
	if err := m.MoveSelf("/system/rest"); !errors.Is(err, syscall.EBUSY) || !strings.Contains(err.Error(), "/system/rest") {
		t.Errorf("error %v", err)
	}
	if err := m.MoveSystem("/system/rest"); !errors.Is(err, syscall.EBUSY) || !strings.Contains(err.Error(), "2 moves of processes failed") || strings.Count(err.Error(), "move process") != 1 {
		t.Errorf("error %v", err)
	}
	var none *cgroup.Manager
	do(t, errors.Join(none.MakePlace("a"), none.MoveSelf("a"), none.MoveSystem("a")))
}

// Dots do not lead out of the root cgroup.
func TestMoveStaysBelowRoot(t *testing.T) {
	m, mount := v2Tree(t, cgroup.Config{})
	do(t, m.MakePlace("../../rest"))
	var file string
	m.Refuse(func(f, _ string) error { file = f; return syscall.ESRCH })
	do(t, m.MoveSelf("../../rest"))
	if want := filepath.Join(mount, "rest/cgroup.procs"); file != want {
		t.Errorf("%s was written, want %s", file, want)
	}
}
