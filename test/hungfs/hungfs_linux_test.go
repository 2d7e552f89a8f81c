package hungfs

import (
	"os"
	"os/exec"
	"testing"
	"time"
)

// TestHang: it answers, then it does not, and whoever waits can be killed.
func TestHang(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("mounting needs root")
	}
	dir := t.TempDir()
	f, err := Mount(dir)
	if err != nil {
		t.Fatal(err)
	}
	closed := false
	defer func() {
		if !closed {
			_ = f.Close()
		}
	}()
	if out, err := exec.Command("/bin/ls", dir).CombinedOutput(); err != nil || len(out) != 0 {
		t.Fatalf("%v: %s", err, out)
	}
	f.SlowChanges(300 * time.Millisecond)
	if from := time.Now(); os.Chown(dir, -1, 7) != nil || time.Since(from) < 300*time.Millisecond {
		t.Errorf("a change of an owner took %v", time.Since(from))
	}
	f.Hang()
	if err := exec.CommandContext(t.Context(), "/usr/bin/timeout", "-s", "KILL", "0.2", "/bin/ls", dir).Run(); err == nil {
		t.Fatal("it answers")
	}
	waits := exec.CommandContext(t.Context(), "/bin/ls", dir)
	if err := waits.Start(); err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() { done <- waits.Wait() }()
	select {
	case err := <-done:
		t.Fatalf("it answers: %v", err)
	case <-time.After(500 * time.Millisecond):
	}
	closed = true
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	select {
	case <-done:
	case <-time.After(time.Minute):
		t.Fatal("who waits is held after the end")
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) != 0 {
		t.Errorf("%v, %v", left, err)
	}
}
