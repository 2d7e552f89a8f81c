package main

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
)

// The scripts in place of systemd's programs start a unit with its words, restart it, end it and list it.
func TestStandIns(t *testing.T) {
	bin, log := t.TempDir(), filepath.Join(t.TempDir(), "log")
	if err := standIns(bin); err != nil {
		t.Fatal(err)
	}
	env := append(os.Environ(), "PATH="+bin+":"+os.Getenv("PATH"), "UNITS="+t.TempDir())
	do := func(words ...string) string {
		t.Helper()
		c := exec.CommandContext(context.WithoutCancel(t.Context()), filepath.Join(bin, words[0]), words[1:]...)
		c.Env = env
		out, err := c.CombinedOutput()
		if err != nil {
			t.Fatalf("%q: %v: %s", words, err, out)
		}
		return string(out)
	}
	const unit = "kubelet-20261128T000000"
	t.Cleanup(func() { do("systemctl", "stop", unit) })
	is := func(state string) {
		t.Helper()
		for range 600 {
			if strings.Contains(do("systemctl", "list-units", "*kubelet*"), "  "+unit+".service loaded active "+state) {
				break
			}
			time.Sleep(50 * time.Millisecond)
		}
		if all := do("systemctl", "list-units", "*kubelet*", "--state=running"); strings.Contains(all, unit) != (state == "running") {
			t.Errorf("running units: %q, want %s", all, state)
		}
	}
	// starts are the lines that the unit wrote when it started, with its process.
	starts := func(n int) []string {
		t.Helper()
		for range 600 {
			text, _ := os.ReadFile(log)
			if lines := strings.Split(strings.TrimSpace(string(text)), "\n"); len(lines) == n && lines[0] != "" {
				return lines
			}
			time.Sleep(50 * time.Millisecond)
		}
		t.Fatalf("the unit did not start %d times", n)
		return nil
	}
	do("systemd-run", "-p", "Delegate=true", "-p", "StandardError=append:"+log, "--unit="+unit+".service", "--slice=runtime.slice", "--remain-after-exit",
		"/bin/sh", "-c", `echo "$$$$ $$1" >&2; exec sleep 1000`, "sh", "two words, 100%% of them")
	first := starts(1)[0]
	if _, words, _ := strings.Cut(first, " "); words != "two words, 100% of them" {
		t.Errorf("started with %q", words)
	}
	is("running")
	do("systemctl", "reset-failed", unit)
	do("systemctl", "restart", unit)
	again := starts(2)
	if again[0] == again[1] {
		t.Errorf("it is the same process: %q", again)
	}
	pid, _, _ := strings.Cut(first, " ")
	if n, err := strconv.Atoi(pid); err != nil || processRuns(n) {
		t.Errorf("the first process, %q, runs", pid)
	}
	is("running")
	do("systemctl", "kill", unit)
	is("exited")
	do("systemctl", "restart", unit)
	starts(3)
	is("running")
	do("systemctl", "stop", unit)
	is("exited")
	c := exec.CommandContext(t.Context(), filepath.Join(bin, "systemctl"), "daemon-reload")
	if out, err := c.CombinedOutput(); err == nil || !strings.Contains(string(out), "daemon-reload is not in this stand-in") {
		t.Errorf("an unknown verb: %v: %s", err, out)
	}
}

// processRuns says whether a process runs: one that has ended may not have been reaped yet.
func processRuns(pid int) bool {
	text, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "status"))
	return err == nil && !strings.Contains(string(text), "State:\tZ")
}
