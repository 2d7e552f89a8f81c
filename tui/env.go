package tui

import (
	"slices"
	"strings"
)

// noColor reports whether colors are not wanted: NO_COLOR is set to anything
// but the empty string (https://no-color.org).
func noColor(env []string) bool {
	for _, kv := range slices.Backward(env) {
		if v, ok := strings.CutPrefix(kv, "NO_COLOR="); ok {
			return v != ""
		}
	}
	return false
}
