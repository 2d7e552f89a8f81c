package selfstats

import (
	"os"
	"path/filepath"
	"runtime"
	"time"

	"github.com/kubeloupe/kubeloupe/trace"
)

// source is where figures come from. Own processor time comes from getrusage, which counts in microseconds; /proc/self/stat has ticks.
type source struct {
	root string
	cpu  func() time.Duration
	rss  func() int64 // where there is no /proc
}

// read takes all figures. A file that is missing or cannot be understood leaves its figures out.
func (s source) read() counters {
	c := counters{at: time.Now(), cpu: s.cpu(), goroutines: runtime.NumGoroutine(), delay: s.delays(), stalls: map[trace.Resource]stall{}}
	if pages, ok := parseStatm(s.file("proc/self/statm")); ok {
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
	return c
}

// delays reads each thread's run delay: /proc/self/schedstat is the first thread's alone, and a Go program works in others.
func (s source) delays() map[string]time.Duration {
	dir := filepath.Join(s.root, "proc/self/task")
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

// file returns nothing for a file that is missing, or that the kernel refuses, as PSI that was turned off at boot.
func (s source) file(name string) []byte {
	raw, err := os.ReadFile(filepath.Join(s.root, name))
	if err != nil {
		return nil
	}
	return raw
}
