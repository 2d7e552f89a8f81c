package main

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// machineCPU is the CPU time that the machine has used: of all, and of each process that exists.
type machineCPU struct {
	at        time.Time
	all       time.Duration
	processes map[process]usedBy
}

// process identifies a process: IDs are used again.
type process struct{ pid, started string }

type usedBy struct {
	name string
	cpu  time.Duration
}

// readMachineCPU reads /proc.
func readMachineCPU() (machineCPU, error) {
	m := machineCPU{at: time.Now(), processes: map[process]usedBy{}}
	stat, err := os.ReadFile("/proc/stat")
	if err != nil {
		return m, err
	}
	// cpu user nice system idle iowait irq softirq steal; see proc_stat(5).
	line, _, _ := strings.Cut(string(stat), "\n")
	for _, i := range []int{1, 2, 3, 6, 7} {
		m.all += ticks(strings.Fields(line)[i])
	}
	files, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil {
		return m, err
	}
	for _, file := range files {
		b, err := os.ReadFile(file)
		open, end := bytes.IndexByte(b, '('), bytes.LastIndexByte(b, ')')
		if err != nil || open < 0 || end < open {
			continue // it has ended
		}
		f := strings.Fields(string(b[end+1:]))
		u := usedBy{name: string(b[open+1 : end])}
		if strings.HasPrefix(u.name, "kworker") { // its name says what it does now
			u.name = "kworker"
		}
		for _, t := range f[11:13] {
			u.cpu += ticks(t)
		}
		m.processes[process{pid: string(b[:open]), started: f[19]}] = u
	}
	return m, nil
}

func ticks(s string) time.Duration {
	n, _ := strconv.ParseInt(s, 10, 64)
	return time.Duration(n) * 10 * time.Millisecond
}

// told returns the CPU time since then: of all, of the processes that used most, and of those that have ended, such as runc.
func (m machineCPU) told(since machineCPU) string {
	used := map[string]time.Duration{}
	rest := m.all - since.all
	for p, u := range m.processes {
		if d := u.cpu - since.processes[p].cpu; d > 0 {
			used[u.name] += d
			rest -= d
		}
	}
	names := slices.SortedFunc(maps.Keys(used), func(a, b string) int { return cmp.Compare(used[b], used[a]) })
	s := fmt.Sprintf("%5d ms wall, %5d ms CPU:", m.at.Sub(since.at).Milliseconds(), (m.all - since.all).Milliseconds())
	for _, name := range names[:min(len(names), 9)] {
		s += fmt.Sprintf(" %s %d,", name, used[name].Milliseconds())
	}
	return s + fmt.Sprintf(" ended %d", rest.Milliseconds())
}

// usedCPU returns a function that prints what used the CPUs since usedCPU, if that is wanted.
func (c *clusterBench) usedCPU(what string) func() {
	if !c.o.cpu {
		return func() {}
	}
	before, err := readMachineCPU()
	return func() {
		after, late := readMachineCPU()
		if err = errors.Join(err, late); err != nil {
			fmt.Fprintf(os.Stderr, "%s: %v\n", what, err)
			return
		}
		fmt.Fprintf(os.Stderr, "%-40s %s\n", what, after.told(before))
	}
}
