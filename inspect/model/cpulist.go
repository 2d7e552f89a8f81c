package model

import (
	"maps"
	"slices"
	"strconv"
	"strings"
)

// maxCPU is more than the number of CPUs of any kernel.
const maxCPU = 1 << 14

// CPUList parses a list of CPUs or NUMA nodes in the kernel's format, such as 0-3,8: in ascending order, each once. What is not in that
// format is ignored: texts of others may be cut.
func CPUList(text string) []int {
	var out []int
	for part := range strings.SplitSeq(text, ",") {
		first, last, ranged := strings.Cut(strings.TrimSpace(part), "-")
		lo, err := strconv.ParseUint(first, 10, 32)
		hi := lo
		if err == nil && ranged {
			hi, err = strconv.ParseUint(last, 10, 32)
		}
		if err != nil || hi >= maxCPU || len(out) > maxCPU {
			continue
		}
		for id := lo; id <= hi; id++ {
			out = append(out, int(id))
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

func cpuSet(text string) map[int]bool {
	out := map[int]bool{}
	for _, id := range CPUList(text) {
		out[id] = true
	}
	return out
}

// FormatCPUs is the inverse of CPUList.
func FormatCPUs(of map[int]bool) string {
	var b strings.Builder
	ids := slices.Sorted(maps.Keys(of))
	for i := 0; i < len(ids); i++ {
		first := ids[i]
		for i+1 < len(ids) && ids[i+1] == ids[i]+1 {
			i++
		}
		if b.Len() > 0 {
			b.WriteByte(',')
		}
		b.WriteString(strconv.Itoa(first))
		if ids[i] > first {
			b.WriteString("-" + strconv.Itoa(ids[i]))
		}
	}
	return b.String()
}
