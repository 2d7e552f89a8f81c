package usage

import (
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"time"

	"github.com/kubeloupe/kubeloupe/trace"
)

// source is the source of the figures. Our own CPU time comes from getrusage, which counts in microseconds;
// /proc/self/stat has ticks.
type source struct {
	root       string
	self       string // the agent's directory in /proc
	cpu        func() time.Duration
	rss        func() int64 // without /proc
	goroutines func() int
}

// other returns a source for another process. The kernel reports its CPU time in ticks.
func other(root string, pid int) source {
	s := source{root: root, self: strconv.Itoa(pid), rss: func() int64 { return 0 }, goroutines: func() int { return 0 }}
	s.cpu = func() time.Duration { return parseOwnStat(s.file("proc/" + s.self + "/stat")) }
	return s
}

// read reads all figures. If a file is missing or invalid, its figures are omitted.
func (s source) read() counters {
	c := counters{at: time.Now(), cpu: s.cpu(), goroutines: s.goroutines(), delay: s.delays(), stalls: map[trace.Resource]stall{}}
	if pages, ok := parseStatm(s.file("proc/" + s.self + "/statm")); ok {
		c.rss = pages * int64(os.Getpagesize())
	} else {
		c.rss = s.rss()
	}
	if c.busy, c.cpus = parseStat(s.file("proc/stat")); c.cpus == 0 {
		c.cpus = runtime.NumCPU()
	}
	for _, resource := range resources() {
		if p, ok := parsePressure(s.file("proc/pressure/" + string(resource))); ok {
			c.stalls[resource] = p
		}
	}
	c.memory = parseMemory(s.file("proc/meminfo"), s.file("proc/vmstat"))
	return c
}

// delays returns each thread's run delay: /proc/self/schedstat has only the first thread's, and a Go program runs in
// others.
func (s source) delays() map[string]time.Duration {
	dir := filepath.Join(s.root, "proc", s.self, "task")
	tasks, err := os.ReadDir(dir)
	if err != nil {
		return nil
	}
	out := make(map[string]time.Duration, len(tasks))
	for _, t := range tasks {
		raw, _ := os.ReadFile(filepath.Join(dir, t.Name(), "schedstat")) // a thread may have ended
		if d, ok := parseSchedstat(raw); ok {
			out[t.Name()] = d
		}
	}
	return out
}

// file returns nil for a file that is missing, or that the kernel refuses, for example PSI that was disabled at boot.
func (s source) file(name string) []byte {
	raw, err := os.ReadFile(filepath.Join(s.root, name))
	if err != nil {
		return nil
	}
	return raw
}
