package pressure

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"
)

// limited makes a cgroup whose processes may have 24 MiB, until the test ends.
func limited(t *testing.T) (procs string) {
	t.Helper()
	for _, h := range []struct{ root, file string }{{"/sys/fs/cgroup/memory", "memory.limit_in_bytes"}, {"/sys/fs/cgroup", "memory.max"}} {
		if _, err := os.Stat(filepath.Join(h.root, "cgroup.procs")); err != nil {
			continue
		}
		dir := filepath.Join(h.root, fmt.Sprintf("kubeloupe-pressure-%d", os.Getpid()))
		if err := os.Mkdir(dir, 0o755); err != nil {
			t.Skipf("no cgroup of one's own is possible: %v", err)
		}
		t.Cleanup(func() {
			err := os.Remove(dir)
			for range 100 { // processes leave it a little after they are gone
				if err == nil {
					return
				}
				time.Sleep(20 * time.Millisecond)
				err = os.Remove(dir)
			}
			t.Error(err)
		})
		if err := os.WriteFile(filepath.Join(dir, h.file), []byte("25165824"), 0o600); err != nil {
			t.Skipf("no limit of memory is possible: %v", err)
		}
		return filepath.Join(dir, "cgroup.procs")
	}
	t.Skip("no memory cgroups here")
	return ""
}

// Memory reads files again and again for whose pages there is no room in a cgroup of its own, until the test ends. It uses 24 MiB of memory, and
// 192 MiB of the disk.
func Memory(t *testing.T) {
	t.Helper()
	procs := limited(t)
	const program = `echo $$ > "$0"; dd if=/dev/zero of="$1" bs=1M count=48 conv=fdatasync 2>/dev/null; while :; do cat "$1" >/dev/null; done`
	dir := t.TempDir()
	for i := range 4 {
		cmd := exec.Command("sh", "-c", program, procs, filepath.Join(dir, fmt.Sprint(i)))
		cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
		if err := cmd.Start(); err != nil {
			t.Skipf("no shell: %v", err)
		}
		t.Cleanup(func() {
			_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
			_ = cmd.Wait()
		})
	}
}
