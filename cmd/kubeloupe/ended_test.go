//go:build unix

package main

import (
	"archive/tar"
	"bytes"
	"errors"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestEndedWhileUnpacking ends the command while it unpacks a large archive that comes slowly: it ends, and leaves no temporary file. Also when it
// is killed.
func TestEndedWhileUnpacking(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	const line = "I1122 08:38:19.533699   30016 kubelet.go:2760] \"SyncLoop ADD\" source=\"file\" pods=[\"shop/a\"]\n"
	for _, sig := range []syscall.Signal{syscall.SIGTERM, syscall.SIGINT, syscall.SIGKILL} {
		t.Run(sig.String(), func(t *testing.T) {
			t.Parallel()
			tmp := t.TempDir()
			cmd := exec.Command(self)
			cmd.Args = []string{"kubeloupe", "why", "--all", "--from", "-"}
			cmd.Env = append(os.Environ(), "TMPDIR="+tmp)
			var errs bytes.Buffer
			cmd.Stderr = &errs
			in, err := cmd.StdinPipe()
			if err != nil {
				t.Fatal(err)
			}
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			ended := make(chan error, 1)
			w := tar.NewWriter(in)
			if err := w.WriteHeader(&tar.Header{Name: "var/log/kubelet.log", Mode: 0o600, Size: 1 << 30}); err != nil {
				t.Fatal(err)
			}
			// Far more than pipes and buffers hold: it is unpacking.
			if _, err := io.Copy(w, strings.NewReader(strings.Repeat(line, 100_000))); err != nil {
				t.Fatal(err)
			}
			if err := cmd.Process.Signal(sig); err != nil {
				t.Fatal(err)
			}
			go func() { ended <- cmd.Wait() }()
			select {
			case err = <-ended:
			case <-time.After(time.Minute):
				_ = cmd.Process.Kill() // so that Wait ends
				t.Fatal("it does not end")
			}
			if exit, ok := errors.AsType[*exec.ExitError](err); sig != syscall.SIGKILL && (!ok || exit.ExitCode() != exitError) {
				t.Errorf("it ended with %v: %s", err, &errs)
			}
			if left, err := os.ReadDir(tmp); err != nil || len(left) > 0 {
				t.Errorf("temporary files are left: %v, %v", left, err)
			}
		})
	}
}
