package step

import (
	"slices"
	"strings"
)

// Diff returns which lines were removed ("- "), added ("+ ") and which value changed ("~ name: old → new"), in the
// order of the lists. A line with a value is "name = value".
func Diff(old, now []string) []string {
	was := map[string]string{}
	for _, l := range old {
		if name, value, ok := strings.Cut(l, " = "); ok {
			was[name] = value
		}
	}
	changed := map[string]bool{}
	var came []string
	for _, l := range now {
		if slices.Contains(old, l) {
			continue
		}
		name, value, ok := strings.Cut(l, " = ")
		if before, had := was[name]; ok && had {
			changed[name] = true
			came = append(came, "~ "+name+": "+before+" → "+value)
			continue
		}
		came = append(came, "+ "+l)
	}
	var out []string
	for _, l := range old {
		if name, _, _ := strings.Cut(l, " = "); !changed[name] && !slices.Contains(now, l) {
			out = append(out, "- "+l)
		}
	}
	return append(out, came...)
}
