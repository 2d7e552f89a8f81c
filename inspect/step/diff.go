package step

import "slices"

// Diff says which lines went ("- ") and which came ("+ "), in the order of the lists.
func Diff(old, now []string) []string {
	var out []string
	for _, l := range old {
		if !slices.Contains(now, l) {
			out = append(out, "- "+l)
		}
	}
	for _, l := range now {
		if !slices.Contains(old, l) {
			out = append(out, "+ "+l)
		}
	}
	return out
}
