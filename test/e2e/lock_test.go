package e2e

import (
	"errors"
	"fmt"
	"os/exec"
	"strings"
	"testing"
)

// TestLock starts a second agent on the root directory of another.
func TestLock(t *testing.T) {
	n := newNode(t)
	a := n.start()
	var exit *exec.ExitError
	_, err := n.command().Output()
	if !errors.As(err, &exit) || exit.ExitCode() != 2 {
		t.Fatalf("the second agent: %v", err)
	}
	if said, want := string(exit.Stderr), fmt.Sprintf("is held by pid %d (", a.cmd.Process.Pid); !strings.Contains(said, want) || !strings.Contains(said, n.root) {
		t.Errorf("the second agent says %q, not %q", said, want)
	}
	a.kill()
	n.start() // what was killed holds no lock
}
