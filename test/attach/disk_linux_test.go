package attach

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// TestFullDisk has the disk of a recording become full: attach says so and continues, the recording can be read up to there, and continues when
// there is space again.
func TestFullDisk(t *testing.T) {
	b := setup(t)
	dir := t.TempDir()
	if err := unix.Mount("tmpfs", dir, "tmpfs", 0, "size=8m"); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := unix.Unmount(dir, unix.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	file, ballast := filepath.Join(dir, "out.klr"), filepath.Join(dir, "ballast")
	a := b.attach(t, "--record", file) // the last --record counts
	b.create(t, "recorded")
	b.seen(t, a.socket, "recorded")
	eventually(t, "the recording of the pod", func() string { return b.recorded(t, file, "recorded") })
	f, err := os.Create(ballast)
	if err != nil {
		t.Fatal(err)
	}
	for buf := make([]byte, 4096); err == nil; { // until the disk is full
		_, err = f.Write(buf)
	}
	f.Close()
	b.create(t, "unrecorded")
	b.seen(t, a.socket, "unrecorded")
	a.tells(t, "recording", "no space left")
	if missing := b.recorded(t, file, "recorded"); missing != "" {
		t.Errorf("the recording on the full disk: %s", missing)
	}
	if err := os.Remove(ballast); err != nil {
		t.Fatal(err)
	}
	b.create(t, "again")
	b.seen(t, a.socket, "again")
	eventually(t, "the recording of a pod after it", func() string { return b.recorded(t, file, "again") })
	a.Process.Signal(syscall.SIGTERM) // ends tells
	a.ends(t, 0)
	if missing := b.recorded(t, file, "again"); missing != "" {
		t.Errorf("the recording: %s", missing)
	}
	b.nothingLeft(t, a)
}

// recorded returns what is wrong with the start of a pod in a recording, "" if nothing.
func (b *bench) recorded(t *testing.T, file, pod string) string {
	t.Helper()
	out, err := b.try(t, "trace", "default/"+pod, "--from", file)
	if err != nil || !strings.Contains(out, "start    web") {
		return out
	}
	return ""
}
