package lab

import (
	"os"
	"os/exec"
	"syscall"
	"testing"
	"time"
)

// firstEnds is a program whose first thread ends before the others.
const firstEnds = "LAB_FIRST_THREAD_ENDS"

func init() { //nolint:gochecknoinits // the first thread runs nothing else than this
	if os.Getenv(firstEnds) != "" {
		go func() {
			time.Sleep(time.Minute)
			os.Exit(0)
		}()
		_, _, _ = syscall.Syscall(syscall.SYS_EXIT, 0, 0, 0)
	}
}

// A process has not ended before its last thread has: until then, others cannot listen where it does.
func TestFirstThreadEnds(t *testing.T) {
	cmd := exec.CommandContext(t.Context(), "/proc/self/exe", "-test.run=^$")
	cmd.Env = append(os.Environ(), firstEnds+"=1")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = cmd.Wait() }()
	var st stat
	if !poll(t.Context(), 30*time.Second, 5*time.Millisecond, func() bool {
		var err error
		st, err = readStat(cmd.Process.Pid)
		return err != nil || st.state == 'Z'
	}) || st.threads < 2 {
		t.Fatalf("the first thread has not ended, or all have: %+v", st)
	}
	p := process{PID: cmd.Process.Pid, Start: st.start, Boot: bootID()}
	if !p.alive() {
		t.Errorf("ended, with %+v", st)
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	if !poll(t.Context(), 30*time.Second, 5*time.Millisecond, func() bool { return !p.alive() }) {
		t.Error("still there after SIGKILL")
	}
}
