package logs

import (
	"bytes"
	"time"
)

// line is one line of a log, or a part of it.
type line struct {
	at     time.Time
	stderr bool
	// text ends with a newline, unless the line continues in the next entry.
	text []byte
	// partial says that the line continues in the next entry; none that the entry is omitted.
	partial, none bool
}

// format is the format of a log's entries. The first entry that is understood determines it.
//
// Upstream: cri-client/pkg/logs, getParseFunc.
type format struct {
	known func(entry []byte) (line, error)
}

// parse decodes an entry. The error for one of no format is the CRI's.
func (f *format) parse(entry []byte) (line, error) {
	if f.known != nil {
		return f.known(entry)
	}
	l, err := parseCRI(entry)
	if err == nil {
		f.known = parseCRI
		return l, nil
	}
	if l, bad := parseDocker(entry); bad == nil {
		f.known = parseDocker
		return l, nil
	}
	return line{}, err
}

func isStderr(stream string) (bool, error) {
	if stream != "stdout" && stream != "stderr" {
		return false, errStream
	}
	return stream == "stderr", nil
}

// Lines returns the lines of consecutive entries of a log, of both streams. Entries that are not understood are omitted. The last line
// may have no end.
func Lines(entries []byte) []string {
	var f format
	var lines []string
	var text []byte
	for entry := range bytes.Lines(entries) {
		l, err := f.parse(entry)
		if err != nil {
			continue
		}
		if text = append(text, l.text...); bytes.HasSuffix(text, []byte{'\n'}) {
			lines, text = append(lines, string(text)), text[:0]
		}
	}
	if len(text) > 0 {
		lines = append(lines, string(text))
	}
	return lines
}
