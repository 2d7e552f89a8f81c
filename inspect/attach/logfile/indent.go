package logfile

import (
	"bytes"
	"strings"
)

// indent is how a log's lines are indented, as where somebody quotes a log or it is a column of a table. It tells entries from what looks
// like one within a value of several lines: a container may have written that, as the output of its probe. klog writes a tab before each
// line of such a value, so a line of one has more tabs before the header than any entry. This holds also where the value's begin or end is
// missing.
type indent struct {
	tabs   int    // before the headers of entries
	before string // what was before the last entry's header, where that is only tabs and spaces
}

// indentOf is the indentation of the entries of a log that begins with head.
func indentOf(head []byte) indent {
	least, off := -1, false
	for line := range bytes.Lines(head[:min(len(head), buffer)]) {
		line := uncolored(string(bytes.TrimRight(line, "\r\n")))
		if ours, ok := sectionOf(line); ok {
			off = !ours
		}
		if off {
			continue
		}
		if s, own := strip(line); own && !s.runtime && isEntry(s.text) && (least < 0 || s.tabs < least) {
			least = s.tabs
		}
	}
	return indent{tabs: max(least, 0)}
}

// strip is [strip] of a line that may be one of a value.
func (in *indent) strip(line string) (s stripped, own bool) {
	s, own = strip(line)
	switch {
	case s.tabs > in.tabs:
		return stripped{text: strings.TrimPrefix(line, in.before)}, true
	case own && isEntry(s.text):
		in.tabs, in.before = s.tabs, strings.TrimSuffix(line, s.text)
		if strings.Trim(in.before, " \t") != "" {
			in.before = ""
		}
	case s.text == line:
		s.text = strings.TrimPrefix(line, in.before)
	}
	return s, own
}

// tabsBefore is how many tabs a line has before the text that is its end.
func tabsBefore(line, text string) int { return strings.Count(line[:len(line)-len(text)], "\t") }
