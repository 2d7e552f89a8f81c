package causes_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/kubeloupe/kubeloupe/inspect/cause"
	"github.com/kubeloupe/kubeloupe/inspect/why"
)

// watched is kubeloupe attach beside the kubelet of a scenario.
type watched struct{ program, socket string }

// watch starts it, with credentials for the kubelet's API. It ends with the test.
func (u *upstream) watch() *watched {
	u.t.Helper()
	w := &watched{u.outside.program, filepath.Join(u.t.TempDir(), "s.sock")}
	cmd := exec.Command(w.program, "attach", "--no-tui", "--pid", strconv.Itoa(u.outside.agent.PID()), "--control-socket", w.socket, "--kubelet-kubeconfig", u.Kubeconfig)
	cmd.Stderr = u.t.Output()
	if err := cmd.Start(); err != nil {
		u.t.Fatal(err)
	}
	u.t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		_ = cmd.Wait()
	})
	eventually(u.t, "attach", func() (bool, error) {
		_, err := os.Stat(w.socket)
		return err == nil, err
	})
	return w
}

// why is what is said of a pod by now.
func (w *watched) why(t *testing.T, pod string) (r why.Report, err error) {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), w.program, "why", "-o", "json", "--socket", w.socket, "--", "default/"+pod).Output()
	if err != nil {
		return r, err
	}
	return r, json.Unmarshal(out, &r)
}

// finding is what a rule says of a pod; nil where it is silent.
func (w *watched) finding(t *testing.T, pod, id string) (*cause.Finding, error) {
	t.Helper()
	r, err := w.why(t, pod)
	if i := slices.IndexFunc(r.Findings, func(f cause.Finding) bool { return f.ID == id }); i >= 0 {
		return &r.Findings[i], err
	}
	return nil, err
}

// cgroupsAreSlow: writing the weight of the QoS class of pods without requests takes a while, which the kubelet does before it creates the cgroup
// of a pod. The kernel's own file is behind a pipe then. Only the kubelet's metrics show it.
func cgroupsAreSlow(u *upstream) {
	files, err := filepath.Glob(filepath.Join("/sys/fs/cgroup/*", u.CgroupRoot, "kubepods", "besteffort", "cpu.shares"))
	if err != nil {
		u.t.Fatal(err)
	}
	if len(files) != 1 {
		u.t.Skipf("the kubelet opens no file of cgroup v2 through a mount; of cgroup v1 there is %q", files)
	}
	w := u.watch()
	u.set(podOf("before"))
	u.reached("before", "started")
	answer := behindPipe(u.t, files[0])
	u.set(podOf("before"), podOf("web"))
	u.reached("web", "seen")
	time.Sleep(3 * time.Second) // the condition is that it takes time
	answer()
	u.reached("web", "started")
	u.set(podOf("before"), podOf("web"), podOf("near"))
	u.reached("near", "started")
	var f *cause.Finding
	eventually(u.t, "KL13 of web", func() (bool, error) { // after the next answer of the kubelet
		f, err = w.finding(u.t, "web", "KL13")
		return f != nil, err
	})
	u.t.Logf("%s (%s): %+v", f.Sentence, f.Confidence, f.Evidence)
	if f.Confidence != cause.Likely || f.Cost < time.Second {
		u.t.Errorf("%+v", f)
	}
	for _, pod := range []string{"before", "near"} {
		if f, err := w.finding(u.t, pod, "KL13"); f != nil || err != nil {
			u.t.Errorf("KL13 of %s: %+v (%v)", pod, f, err)
		}
	}
}

// behindPipe puts a pipe over a file of a cgroup: who writes to it waits until answer is called. The writer then reads what it wrote, as from the
// kernel, and the pipe goes: the kubelet also reads the file for its metrics, and would wait for the next writer.
func behindPipe(t *testing.T, file string) (answer func()) {
	t.Helper()
	pipe := filepath.Join(t.TempDir(), "pipe")
	if err := unix.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := unix.Mount(pipe, file, "", unix.MS_BIND, ""); err != nil {
		t.Skipf("a mount over a cgroup's file is not possible here: %v", err)
	}
	remove := sync.OnceFunc(func() {
		if err := unix.Unmount(file, unix.MNT_DETACH); err != nil {
			t.Error(err)
		}
		for range 100 { // who still waits for the other end no longer does
			if both, err := os.OpenFile(pipe, os.O_RDWR|unix.O_NONBLOCK, 0); err == nil {
				_ = both.Close()
			}
			time.Sleep(5 * time.Millisecond)
		}
	})
	t.Cleanup(remove)
	return func() {
		t.Helper()
		text, err := os.ReadFile(pipe)
		if err == nil {
			err = os.WriteFile(pipe, text, 0)
		}
		if err != nil {
			t.Error(err)
		}
		remove()
	}
}
