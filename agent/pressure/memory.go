package pressure

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"strconv"

	"github.com/kubeloupe/kubeloupe/trace"
)

// Meminfo is the file with Linux' figures of memory.
const Meminfo = "/proc/meminfo"

// Memory watches the node's memory by a file as Meminfo. Used is what could not be
// given to a new program: the total less MemAvailable.
func Memory(path string, marks []trace.Threshold) Signal {
	return Signal{Name: trace.SignalMemory, Thresholds: marks, Measure: func(context.Context) (Usage, error) {
		raw, err := os.ReadFile(path)
		if err != nil {
			return Usage{}, err
		}
		u, err := parseMeminfo(raw)
		if err != nil {
			return Usage{}, fmt.Errorf("%s: %w", path, err)
		}
		return u, nil
	}}
}

func parseMeminfo(raw []byte) (Usage, error) {
	total, err := meminfoField(raw, "MemTotal")
	if err != nil {
		return Usage{}, err
	}
	available, err := meminfoField(raw, "MemAvailable")
	if err != nil {
		return Usage{}, err
	}
	return Usage{Used: max(0, total-available), Capacity: total}, nil
}

// meminfoField reads one line, as "MemTotal:  16384 kB", in bytes.
func meminfoField(raw []byte, name string) (int64, error) {
	for line := range bytes.Lines(raw) {
		rest, ok := bytes.CutPrefix(line, []byte(name+":"))
		if !ok {
			continue
		}
		fields := bytes.Fields(rest)
		if len(fields) != 2 || string(fields[1]) != "kB" {
			return 0, fmt.Errorf("cannot read line %q", bytes.TrimSpace(line))
		}
		n, err := strconv.ParseInt(string(fields[0]), 10, 64)
		if err != nil {
			return 0, fmt.Errorf("line %q: %w", bytes.TrimSpace(line), err)
		}
		return n << 10, nil
	}
	return 0, fmt.Errorf("no line %s", name)
}
