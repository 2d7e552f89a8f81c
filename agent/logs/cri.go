package logs

import (
	"bytes"
	"errors"
	"time"
)

var (
	errTime   = errors.New("no RFC 3339 time at its start")
	errStream = errors.New("its stream is neither stdout nor stderr")
	errTag    = errors.New("no P or F after the stream")
)

// parseCRI decodes an entry in the CRI's format, whose text it does not copy:
//
//	2016-10-06T00:17:09.669794202Z stdout P text
//
// Upstream: cri-client/pkg/logs, parseCRILog.
func parseCRI(entry []byte) (line, error) {
	stamp, rest, _ := bytes.Cut(entry, []byte{' '})
	at, err := time.Parse(time.RFC3339Nano, string(stamp))
	if err != nil {
		return line{}, errTime
	}
	stream, rest, _ := bytes.Cut(rest, []byte{' '})
	l := line{at: at}
	if l.stderr, err = isStderr(string(stream)); err != nil {
		return line{}, err
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
