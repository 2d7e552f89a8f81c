package tui

import "strings"

// noColor reports whether colours are not wanted: NO_COLOR is set to anything
// but the empty string (https://no-color.org).
func noColor(env []string) bool {
	for i := len(env) - 1; i >= 0; i-- {
		if v, ok := strings.CutPrefix(env[i], "NO_COLOR="); ok {
			return v != ""
		}
	}
	return false
}
