package e2e

import (
	"fmt"
	"os"
	"strconv"
	"strings"
)

// attacked measures the agent's memory from now on. Call what it returns after the attack: the peak may be half as much again as it is now.
func (a *agent) attacked() (bounded func(attack string)) {
	t := a.node.t
	t.Helper()
	before := a.memory("VmRSS")
	if err := os.WriteFile(fmt.Sprintf("/proc/%d/clear_refs", a.cmd.Process.Pid), []byte("5"), 0); err != nil { // 5: forget the peak
		t.Fatal(err)
	}
	return func(attack string) {
		t.Helper()
		peak := a.memory("VmHWM")
		t.Logf("%s: %d MiB before, at most %d MiB", attack, before>>20, peak>>20)
		if peak > before*3/2 {
			t.Errorf("%s: %d MiB before, %d MiB at most: want at most half as much again", attack, before>>20, peak>>20)
		}
	}
}

// memory reads one line of the agent's /proc/PID/status, in bytes: VmRSS is what it has, VmHWM the most that it had.
func (a *agent) memory(name string) int64 {
	t := a.node.t
	t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", a.cmd.Process.Pid))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		if f := strings.Fields(line); len(f) == 3 && f[0] == name+":" {
			kib, err := strconv.ParseInt(f[1], 10, 64)
			if err != nil {
				t.Fatal(err)
			}
			return kib << 10
		}
	}
	t.Fatalf("no %s of process %d", name, a.cmd.Process.Pid)
	return 0
}
