package usage

import (
	"bytes"
	"strconv"
	"time"

	"github.com/kubeloupe/kubeloupe/trace"
)

// tick is the unit of /proc/stat: USER_HZ is 100 on all architectures that Go supports.
const tick = 10 * time.Millisecond

// parseStatm returns the resident pages, the second figure of /proc/self/statm.
func parseStatm(raw []byte) (pages int64, ok bool) {
	fields := bytes.Fields(raw)
	if len(fields) < 2 {
		return 0, false
	}
	n, ok := number(fields[1])
	return n, ok
}

// parseSchedstat returns how long a thread was runnable but did not run: the second figure, in nanoseconds.
func parseSchedstat(raw []byte) (time.Duration, bool) {
	fields := bytes.Fields(raw)
	if len(fields) < 3 {
		return 0, false
	}
	n, ok := number(fields[1])
	return time.Duration(n), ok
}

// parseStat returns how long all CPUs together were not idle, and how many there are. Waiting for a disk counts as
// idle. Time that a hypervisor took does not.
func parseStat(raw []byte) (busy time.Duration, cpus int) {
	for line := range bytes.Lines(raw) {
		name, rest, _ := bytes.Cut(line, []byte(" "))
		switch {
		case !bytes.HasPrefix(name, []byte("cpu")):
			return busy, cpus // the CPUs come first; the rest is long
		case len(name) == len("cpu"):
			busy = busyTicks(bytes.Fields(rest))
		default:
			cpus++
		}
	}
	return busy, cpus
}

// busyTicks adds user, nice, system, irq, softirq and steal. It omits idle (3) and iowait (4), and guests (8, 9), which
// user and nice include. After some 300 years of CPU time the sum wraps around; differences of two sums stay correct.
func busyTicks(fields [][]byte) time.Duration {
	var sum int64
	for i, f := range fields {
		if i == 3 || i == 4 {
			continue
		}
		if i > 7 {
			break
		}
		n, ok := number(f)
		if !ok {
			return 0
		}
		sum += n
	}
	return time.Duration(sum) * tick
}

// parseOwnStat returns the CPU time of a process from /proc/PID/stat. Its name, in parentheses, may contain anything.
func parseOwnStat(raw []byte) time.Duration {
	fields := bytes.Fields(raw[bytes.LastIndexByte(raw, ')')+1:])
	if len(fields) < 13 {
		return 0
	}
	user, ok := number(fields[11])
	system, ok2 := number(fields[12])
	if !ok || !ok2 {
		return 0
	}
	return time.Duration(user+system) * tick
}

// parsePressure returns the totals of a file of /proc/pressure, which are in microseconds. Not every file has a line
// "full".
func parsePressure(raw []byte) (p stall, ok bool) {
	for line := range bytes.Lines(raw) {
		kind, rest, _ := bytes.Cut(bytes.TrimSpace(line), []byte(" "))
		_, total, found := bytes.Cut(rest, []byte("total="))
		if !found {
			continue
		}
		n, good := number(total)
		if !good {
			return stall{}, false
		}
		switch d := time.Duration(n) * time.Microsecond; string(kind) {
		case "some":
			p.some, ok = d, true
		case "full":
			p.full = d
		}
	}
	return p, ok
}

// parseMemory returns the node's memory and the reclaims since the machine booted, from /proc/meminfo and /proc/vmstat;
// nil if one of the figures is missing. Kernels since 4.8 count reclaims by zone.
func parseMemory(info, stat []byte) *trace.Memory {
	m, reclaims := &trace.Memory{Total: -1, Available: -1}, false
	for line := range bytes.Lines(info) {
		f := bytes.Fields(line)
		if len(f) < 2 {
			continue
		}
		n, ok := number(f[1])
		switch {
		case !ok:
		case string(f[0]) == "MemTotal:":
			m.Total = n << 10
		case string(f[0]) == "MemAvailable:":
			m.Available = n << 10
		}
	}
	for line := range bytes.Lines(stat) {
		f := bytes.Fields(line)
		if len(f) < 2 || !bytes.HasPrefix(f[0], []byte("allocstall")) {
			continue
		}
		if n, ok := number(f[1]); ok {
			m.Reclaims, reclaims = m.Reclaims+n, true
		}
	}
	if m.Total <= 0 || m.Available < 0 || !reclaims {
		return nil
	}
	return m
}

// number parses a count. It rejects negative numbers and those too large for nanoseconds.
func number(b []byte) (int64, bool) {
	n, err := strconv.ParseInt(string(b), 10, 64)
	if err != nil || n < 0 || n >= 1<<53 {
		return 0, false
	}
	return n, true
}
