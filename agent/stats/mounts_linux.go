package stats

import (
	"strings"

	"github.com/moby/sys/mountinfo"
)

// blockMounts returns the mounted block devices of the kernel's list, each once. What cannot be parsed ends it.
func blockMounts(list string) (out []blockMount) {
	seen := map[string]bool{}
	_, _ = mountinfo.GetMountsFromReader(strings.NewReader(list), func(m *mountinfo.Info) (skip, stop bool) {
		if strings.HasPrefix(m.Source, "/dev/") && m.FSType != "devtmpfs" && !seen[m.Source] {
			seen[m.Source] = true
			out = append(out, blockMount{m.Source, m.Mountpoint})
		}
		full := len(out) == maxFileSystems
		return !full, full // one that is skipped does not stop
	})
	return out
}
