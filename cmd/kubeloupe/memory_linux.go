package main

import (
	"bufio"
	"fmt"
	"os"
	"runtime/debug"
	"strings"

	"golang.org/x/sys/unix"
)

// trimMemory gives back what only the start needed: heap, and pages of the executable. Those of the latter that
// are needed again come from the page cache, one by one rather than sixteen at a time. What fails is left as it is.
func trimMemory() {
	debug.FreeOSMemory()
	exe, err := os.Readlink("/proc/self/exe")
	if err != nil {
		return
	}
	maps, err := os.Open("/proc/self/maps")
	if err != nil {
		return
	}
	defer func() { _ = maps.Close() }()
	lines := bufio.NewScanner(maps)
	for lines.Scan() {
		var begin, end uintptr
		var perm string
		line := lines.Text()
		if !strings.HasSuffix(line, exe) {
			continue
		}
		if _, err := fmt.Sscanf(line, "%x-%x %s", &begin, &end, &perm); err != nil || strings.Contains(perm, "w") {
			continue // what may be written to is ours alone, and would be lost
		}
		for _, advice := range []uintptr{unix.MADV_RANDOM, unix.MADV_DONTNEED} {
			_, _, _ = unix.Syscall(unix.SYS_MADVISE, begin, end-begin, advice)
		}
	}
}
