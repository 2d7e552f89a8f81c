package numa

import (
	"fmt"
	"math/bits"
	"strconv"
	"strings"
)

// maxCaches is more than the caches of any CPU.
const maxCaches = 16

// uncore returns the number of a CPU's first cache above level 2 that the node's other CPUs do not all share. threads are the CPUs of
// its node.
//
// Upstream: cadvisor, lib/utils/sysinfo/sysinfo.go, addCacheInfo.
func (s sys) uncore(cpu, threads int) (id int, ok bool) {
	for i := range maxCaches {
		dir := fmt.Sprintf("cpu/cpu%d/cache/index%d/", cpu, i)
		level, err := s.number(dir + "level")
		if err != nil {
			return 0, false // there are no more
		}
		if level <= 2 {
			continue
		}
		id, err := s.number(dir + "id")
		if err != nil {
			return 0, false // as on some virtual machines
		}
		shared, err := s.text(dir + "shared_cpu_map")
		if n := countMap(shared); err == nil && n > 0 && n != threads {
			return id, true
		}
	}
	return 0, false
}

// countMap counts the bits of the kernel's format of masks, such as ff,00000001; 0 if it is none.
func countMap(text string) int {
	n := 0
	for word := range strings.SplitSeq(text, ",") {
		v, err := strconv.ParseUint(word, 16, 64)
		if err != nil {
			return 0
		}
		n += bits.OnesCount64(v)
	}
	return n
}
