package kernel

import (
	"bytes"

	"github.com/moby/sys/mountinfo"
)

// parseMounts parses a /proc/PID/mountinfo.
func parseMounts(text []byte, filter mountinfo.FilterFunc) ([]*mountinfo.Info, error) {
	return mountinfo.GetMountsFromReader(bytes.NewReader(text), filter)
}
