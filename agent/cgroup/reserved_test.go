package cgroup_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"
	v1 "k8s.io/api/core/v1"

	"github.com/kubeloupe/kubeloupe/agent/cgroup"
)

func TestEnsureReserved(t *testing.T) {
	m, mount := v2Tree(t, cgroup.Config{Reserved: []cgroup.Reserved{{Field: "systemReservedCgroup", Name: "/sys/tem", Limits: cgroup.Limits{MilliCPU: 500, Memory: 1 << 28}}}})
	wantError := func(text string) {
		t.Helper()
		if err := m.EnsureReserved(t.Context()); err == nil || !strings.Contains(err.Error(), text) {
			t.Errorf("error %v, want %q", err, text)
		}
	}
	wantError(`systemReservedCgroup "/sys/tem": there is no cgroup ` + mount + "/sys/tem: create it before the agent starts")
	dir := filepath.Join(mount, "sys/tem")
	do(t, os.MkdirAll(dir, 0o700))
	for file, text := range map[string]string{"cgroup.controllers": "cpu memory pids\n", "cpu.weight": "100\n", "memory.max": "max\n"} {
		do(t, os.WriteFile(filepath.Join(dir, file), []byte(text), 0o600))
	}
	wantError("lacks the cpuset controller: add +cpuset to cgroup.subtree_control of its parent")
	do(t, os.WriteFile(filepath.Join(dir, "cgroup.controllers"), []byte("cpuset cpu memory hugetlb pids\n"), 0o600))
	do(t, m.EnsureReserved(t.Context()))
	if diff := cmp.Diff("sys/tem/cpu.weight: 20\nsys/tem/memory.max: 268435456", contents(t, mount, "sys/tem/cpu.weight", "sys/tem/memory.max")); diff != "" {
		t.Errorf("files (-want +got):\n%s", diff)
	}
	if _, err := os.Stat(filepath.Join(dir, "cgroup.subtree_control")); err == nil {
		t.Error("controllers were delegated in a cgroup of the system, which may hold processes")
	}
}

func TestReservedNames(t *testing.T) {
	for name, want := range map[string]string{
		"/system.slice": "/system.slice", "runtime.slice": "/runtime.slice", "/a.slice/a-b_c.slice": "/a.slice/a-b_c.slice", "system": "/system.slice",
	} {
		m, _ := v2Tree(t, cgroup.Config{Driver: cgroup.Systemd, Reserved: []cgroup.Reserved{{Field: "kubeReservedCgroup", Name: name}}})
		if err := m.EnsureReserved(t.Context()); err == nil || !strings.Contains(err.Error(), "update cgroup "+want+":") {
			t.Errorf("%s: %v, want %s", name, err, want)
		}
	}
}

// The kernel of v1 refuses a limit below the use: then the use is the limit.
func TestQOSReservedBelowTheUse(t *testing.T) {
	m, mount := v2Tree(t, cgroup.Config{Allocatable: 1 << 30, QOSReserved: new(int64(100))})
	do(t, m.EnsureTiers(t.Context()))
	do(t, os.WriteFile(filepath.Join(mount, "kubepods/burstable/memory.current"), []byte("1073000000\n"), 0o600))
	m.Refuse(func(file, value string) error {
		if strings.HasSuffix(file, "burstable/memory.max") && value == "536870912" {
			return unix.EBUSY
		}
		return nil
	})
	r := quantities("cpu", "1", "memory", "512Mi")
	do(t, m.UpdateTiers(t.Context(), []*v1.Pod{podOf("g", r, r)}))
	want := "kubepods/burstable/memory.max: 1073000000\nkubepods/besteffort/memory.max: 536870912"
	if diff := cmp.Diff(want, contents(t, mount, "kubepods/burstable/memory.max", "kubepods/besteffort/memory.max")); diff != "" {
		t.Errorf("files (-want +got):\n%s", diff)
	}
	do(t, os.WriteFile(filepath.Join(mount, "kubepods/burstable/memory.current"), []byte("5\n"), 0o600))
	if err := m.EnsureTiers(t.Context()); !errors.Is(err, unix.EBUSY) {
		t.Errorf("refused although the use is less: %v", err)
	}
}

// A cgroup of v1 cannot have CPUs that its parent lacks; a controller that the agent does not need may be refused.
func TestWhatTheKernelMayRefuse(t *testing.T) {
	mount := t.TempDir()
	for _, h := range []string{"cpu", "memory", "cpuset"} {
		do(t, os.MkdirAll(filepath.Join(mount, h), 0o700))
		do(t, os.WriteFile(filepath.Join(mount, h, "cgroup.procs"), nil, 0o600))
	}
	for _, f := range []string{"cpuset.cpus", "cpuset.mems"} {
		do(t, os.WriteFile(filepath.Join(mount, "cpuset", f), []byte("0\n"), 0o600))
	}
	m, err := cgroup.New(cgroup.Config{Mount: mount, CPUs: "0-1"})
	do(t, err)
	m.SetDirs(func(p string) error {
		if err := os.MkdirAll(p, 0o700); err != nil {
			return err
		}
		for _, f := range []string{"cpu.shares", "memory.limit_in_bytes", "cpuset.cpus", "cpuset.mems"} {
			if err := os.WriteFile(filepath.Join(p, f), nil, 0o600); err != nil {
				return err
			}
		}
		return nil
	}, os.RemoveAll)
	m.Refuse(func(file, _ string) error {
		if strings.HasSuffix(file, "cpuset.cpus") {
			return unix.EACCES
		}
		return nil
	})
	do(t, m.EnsureTiers(t.Context()))
	if diff := cmp.Diff("cpuset/kubepods/cpuset.cpus: 0\ncpu/kubepods/besteffort/cpu.shares: 2", contents(t, mount, "cpuset/kubepods/cpuset.cpus", "cpu/kubepods/besteffort/cpu.shares")); diff != "" {
		t.Errorf("files (-want +got):\n%s", diff)
	}
}

// If the kernel refuses all controllers at once, the agent needs only those that it uses.
func TestDelegatesWhatItCan(t *testing.T) {
	m, _ := v2Tree(t, cgroup.Config{})
	var written []string
	refused := "rdma"
	m.Refuse(func(file, value string) error {
		if !strings.HasSuffix(file, "kubepods/cgroup.subtree_control") {
			return nil
		}
		if strings.Contains(value, refused) {
			return unix.EINVAL
		}
		written = append(written, value)
		return nil
	})
	do(t, m.EnsureTiers(t.Context()))
	if diff := cmp.Diff([]string{"+cpuset", "+cpu", "+io", "+memory", "+hugetlb", "+pids", "+misc"}, written); diff != "" {
		t.Errorf("delegated (-want +got):\n%s", diff)
	}
	refused = "pids"
	if err := m.EnsureTiers(t.Context()); !errors.Is(err, unix.EINVAL) || !strings.Contains(err.Error(), "delegate +pids") {
		t.Errorf("error %v, want one that names pids", err)
	}
}

// The kernel of v1 refuses a limit of all pods below what they use: the others are set, pods can start, and it is tried again.
func TestLimitBelowTheUse(t *testing.T) {
	m, mount := v2Tree(t, cgroup.Config{Node: cgroup.Limits{MilliCPU: 1000, Memory: 1 << 30, Pids: 77}})
	var refusal error
	m.Refuse(func(file, _ string) error {
		if strings.HasSuffix(file, "kubepods/memory.max") {
			return refusal
		}
		return nil
	})
	refusal = unix.EACCES
	if err := m.EnsureTiers(t.Context()); !errors.Is(err, unix.EACCES) {
		t.Errorf("another error: %v", err)
	}
	refusal = unix.EBUSY
	do(t, m.EnsureTiers(t.Context()))
	do(t, m.EnsurePod(t.Context(), burstable("b-1")))
	want := "kubepods/memory.max: \nkubepods/pids.max: 77\nkubepods/cpu.weight: 39\nkubepods/burstable/podb-1/cpu.weight: 10"
	files := []string{"kubepods/memory.max", "kubepods/pids.max", "kubepods/cpu.weight", "kubepods/burstable/podb-1/cpu.weight"}
	if diff := cmp.Diff(want, contents(t, mount, files...)); diff != "" {
		t.Errorf("files (-want +got):\n%s", diff)
	}
	if err := m.RetryRefused(t.Context()); !errors.Is(err, unix.EBUSY) || !errors.Is(m.Refused(), unix.EBUSY) {
		t.Errorf("%v, refused %v", err, m.Refused())
	}
	used := filepath.Join(mount, "kubepods/memory.current")
	do(t, os.WriteFile(used, []byte("1073741824\n"), 0o600))
	refusal = errors.New("unable to set memory limit") // the library's, with the systemd driver
	if err := m.EnsureTiers(t.Context()); !errors.Is(err, refusal) {
		t.Errorf("the use is the limit: %v", err)
	}
	do(t, os.WriteFile(used, []byte("1073741825\n"), 0o600))
	do(t, m.EnsureTiers(t.Context()))
	if got := contents(t, mount, files...); got != want || !errors.Is(m.Refused(), refusal) {
		t.Errorf("the use is larger:\n%s\nrefused %v", got, m.Refused())
	}
	refusal = nil
	do(t, m.RetryRefused(t.Context()))
	if got := contents(t, mount, "kubepods/memory.max"); got != "kubepods/memory.max: 1073741824" || m.Refused() != nil {
		t.Errorf("%s, refused %v", got, m.Refused())
	}
}
