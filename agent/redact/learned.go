package redact

import (
	"slices"
	"strings"
)

// learned are the values from a source at one time that are searched for.
type learned struct {
	values []string // sorted, each once
	full   bool     // there were more than can be searched; none is kept
}

func learn(values []string) learned {
	out := make([]string, 0, min(len(values), maxPatterns))
	bytes := 0
	for _, v := range values {
		if len(v) < MinText {
			continue
		}
		v = used(v)
		if bytes += len(v); bytes > maxBytes || len(out) == maxPatterns {
			return learned{full: true}
		}
		out = append(out, v)
	}
	slices.Sort(out)
	return learned{values: slices.Compact(out)}
}

func (l learned) equal(to learned) bool {
	return l.full == to.full && slices.Equal(l.values, to.values)
}

// used returns the part of a value that spellings uses: up to 4 KiB of it, and its further long lines.
func used(value string) string {
	if len(value) <= maxValue {
		return value
	}
	text := strings.TrimSpace(value)
	var b strings.Builder
	b.WriteString(head(value[:strings.Index(value, text)]))
	n := 0
	for line := range strings.Lines(text) {
		long := len(strings.TrimSpace(line)) >= minInside
		if long {
			n++
		}
		if b.Len() < maxValue || long {
			b.WriteString(head(line))
		}
		if len(line) > maxValue {
			b.WriteByte('\n')
		}
		if n == maxLines || b.Len() > maxBytes {
			break
		}
	}
	return b.String()
}
