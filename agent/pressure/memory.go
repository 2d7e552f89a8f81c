package pressure

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"strconv"

	"github.com/kubeloupe/kubeloupe/trace"
)

// Meminfo is the file with Linux's memory figures.
const Meminfo = "/proc/meminfo"

// Memory measures the node's memory from a file in the format of Meminfo. Used is the memory that is not available to a
// new program: the total minus MemAvailable.
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

// meminfoField parses one line, for example "MemTotal: 16384 kB", and returns bytes.
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
