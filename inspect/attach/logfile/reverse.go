package logfile

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/kubeloupe/kubeloupe/inspect/attach/klog"
)

// maxReversed bounds a log that has its newest lines first, as journalctl -r writes it: it is read whole, and
// takes up to three times as much while it is turned round.
const maxReversed = 64 << 20

// isReversed reports whether a log that begins with head has its newest lines first: each of three entries or more is no younger than the
// one before, and all are not of one moment.
func isReversed(head []byte, in indent) bool {
	clock := klog.Clock{}
	var first, last klog.Entry
	n := 0
	for line := range bytes.Lines(head[:min(len(head), buffer)]) {
		s, own := in.strip(string(bytes.TrimRight(line, "\r\n")))
		if !own || klog.HeaderAt(s.text) != 0 {
			continue
		}
		e, ok := klog.ParseText(s.text, &clock)
		if !ok {
			continue
		}
		if n++; n == 1 {
			first = e
		} else if e.Time.After(last.Time) {
			return false
		}
		last = e
	}
	return n >= 3 && last.Time.Before(first.Time)
}

// forward is a log with its lines the other way round.
func forward(b *bufio.Reader) (*bufio.Reader, error) {
	all, err := io.ReadAll(io.LimitReader(b, maxReversed+1))
	if err != nil {
		return nil, fmt.Errorf("read the log: %w", err)
	}
	if len(all) > maxReversed {
		return nil, errors.New("the log has its newest lines first, and is too long to be turned round: write it without journalctl -r")
	}
	lines := bytes.Split(bytes.TrimRight(all, "\n"), []byte("\n"))
	slices.Reverse(lines)
	return bufio.NewReaderSize(bytes.NewReader(bytes.Join(lines, []byte("\n"))), buffer), nil
}
