package logs

import (
	"bytes"
	"errors"
	"time"
)

// line is one line of a log in the CRI's format:
//
//	2016-10-06T00:17:09.669794202Z stdout P text
type line struct {
	at     time.Time
	stderr bool
	// text ends with a newline, unless the line continues in the next entry.
	text []byte
	// partial says that the line continues in the next entry; none that the entry is omitted.
	partial, none bool
}

var (
	errTime   = errors.New("no RFC 3339 time at its start")
	errStream = errors.New("its stream is neither stdout nor stderr")
	errTag    = errors.New("no P or F after the stream")
)

// parse decodes an entry, whose text it does not copy.
//
// Upstream: cri-client/pkg/logs, parseCRILog.
func parse(entry []byte) (line, error) {
	stamp, rest, _ := bytes.Cut(entry, []byte{' '})
	at, err := time.Parse(time.RFC3339Nano, string(stamp))
	if err != nil {
		return line{}, errTime
	}
	stream, rest, _ := bytes.Cut(rest, []byte{' '})
	l := line{at: at}
	switch string(stream) {
	case "stdout":
	case "stderr":
		l.stderr = true
	default:
		return line{}, errStream
	}
	tags, text, ok := bytes.Cut(rest, []byte{' '})
	if !ok {
		return line{}, errTag
	}
	// There may be more tags in the future, separated by colons.
	if first, _, _ := bytes.Cut(tags, []byte{':'}); string(first) == "P" {
		l.partial = true
		text = bytes.TrimSuffix(text, []byte{'\n'})
	}
	l.text = text
	return l, nil
}
