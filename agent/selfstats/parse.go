package selfstats

import (
	"bytes"
	"strconv"
	"time"
)

// tick is the unit of /proc/stat: USER_HZ is 100 on all architectures that Go knows.
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

// parseSchedstat returns how long a thread was runnable and did not run: the second figure, in nanoseconds.
func parseSchedstat(raw []byte) (time.Duration, bool) {
	fields := bytes.Fields(raw)
	if len(fields) < 3 {
		return 0, false
	}
	n, ok := number(fields[1])
	return time.Duration(n), ok
}

// parseStat returns how long all processors together were not idle, and how many there are. Waiting for a disk is idle. Time that
// a hypervisor took is not.
func parseStat(raw []byte) (busy time.Duration, cpus int) {
	for line := range bytes.Lines(raw) {
		name, rest, _ := bytes.Cut(line, []byte(" "))
		switch {
		case !bytes.HasPrefix(name, []byte("cpu")):
			return busy, cpus // the processors come first; what follows is long
		case len(name) == len("cpu"):
			busy = busyTicks(bytes.Fields(rest))
		default:
			cpus++
		}
	}
	return busy, cpus
}

// busyTicks adds user, nice, system, irq, softirq and steal; idle (3) and iowait (4) are left out, and guests (8, 9), which user and
// nice have in them already. After some 300 years of a processor the sum wraps round; differences of two sums stay right.
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

// parsePressure reads the totals of a file of /proc/pressure, which are in microseconds. Not each has a line "full".
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

// number reads a count. Negative ones are no counts, and none is so large that nanoseconds could not hold it.
func number(b []byte) (int64, bool) {
	n, err := strconv.ParseInt(string(b), 10, 64)
	if err != nil || n < 0 || n >= 1<<53 {
		return 0, false
	}
	return n, true
}
