package snapshot

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// processes lists the pod's processes by number.
func (t *Taker) processes(pids map[int]string) []string {
	var out []string
	for _, pid := range slices.Sorted(maps.Keys(pids)) {
		comm, err := os.ReadFile(filepath.Join(t.cfg.ProcMount, strconv.Itoa(pid), "comm"))
		if err != nil {
			continue // it has just exited
		}
		line := fmt.Sprintf("process %d %s", pid, strings.TrimSpace(string(comm)))
		if in := pids[pid]; in != "" {
			line += " in " + in
		}
		out = append(out, line)
	}
	if len(out) > maxEntries {
		out = append(out[:maxEntries], more("processes"))
	}
	return out
}
