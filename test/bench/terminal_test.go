package main

import (
	"os/exec"
	"syscall"
	"testing"
	"time"
)

// A terminal that was read while it should have been stuck is found out, though all looks as before: yes writes the same
// bytes from the same place again and again.
func TestStuckTerminalIsToldFromOneThatWasRead(t *testing.T) {
	x, err := openTerminal()
	if err != nil {
		t.Skipf("no pseudo-terminal here: %v", err)
	}
	cmd := exec.Command("yes")
	onTerminal(cmd, x.tty)
	c, err := startClient(t.Context(), cmd)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = c.stop(syscall.SIGKILL) // that is how it ends
		if err := x.close(); err != nil {
			t.Error(err)
		}
	})
	stick := func() held {
		h, err := x.stick(t.Context(), c.pid())
		if err != nil {
			t.Fatal(err)
		}
		return h
	}
	first := stick()
	if err := x.still(c.pid(), first); err != nil {
		t.Errorf("nobody read it: %v", err)
	}
	before, _ := x.seen("")
	if err := x.drain(); err != nil {
		t.Fatal(err)
	}
	// More than the terminal and the reader's buffer hold, so that yes has written.
	for n := before; n < before+1<<20; n, _ = x.seen("") {
		if err := c.alive(); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Millisecond)
	}
	if err := x.still(c.pid(), first); err == nil {
		t.Error("a terminal that is read counts as stuck")
	}
	second := stick()
	if err := x.still(c.pid(), first); err == nil {
		t.Errorf("a terminal that was read meanwhile counts as stuck: %+v, %+v", first, second)
	}
	if err := x.still(c.pid(), second); err != nil {
		t.Errorf("stuck again: %v", err)
	}
	if err := rest(t.Context(), c.pid()); err != nil {
		t.Errorf("who waits for a terminal is at rest: %v", err)
	}
}
