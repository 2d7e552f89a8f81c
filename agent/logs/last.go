package logs

import (
	"bytes"
	"context"

	"github.com/kubeloupe/kubeloupe/agent/guestfile"
)

// Last returns the last lines of the log at path, at most n, each cut to width bytes. Stdout and stderr are in the order of the log.
func Last(ctx context.Context, files *guestfile.Files, path string, n, width int) ([]string, error) {
	tail := int64(n)
	log, err := Open(ctx, files, path, Options{Tail: &tail})
	if err != nil {
		return nil, err
	}
	defer func() { _ = log.Close() }() // opened only for reading
	k := &keeper{most: n, width: width}
	if err := log.Copy(ctx, nil, nil, k, k); err != nil {
		return nil, err
	}
	return k.all(), nil
}

// keeper keeps the last lines that are written to it.
type keeper struct {
	most, width int
	lines       []string
	line        []byte // the last one, which has no end yet
	begun       bool
}

// Write implements io.Writer.
func (k *keeper) Write(p []byte) (int, error) {
	for rest := p; len(rest) > 0; {
		part, after, ended := bytes.Cut(rest, []byte{'\n'})
		k.line = append(k.line, part[:min(len(part), k.width-len(k.line))]...)
		if k.begun, rest = !ended, after; ended {
			k.add()
		}
	}
	return len(p), nil
}

func (k *keeper) add() {
	if len(k.lines) == k.most {
		k.lines = append(k.lines[:0], k.lines[1:]...)
	}
	k.lines, k.line = append(k.lines, string(k.line)), k.line[:0]
}

// all returns the lines, also the one without an end.
func (k *keeper) all() []string {
	if k.begun {
		k.add()
	}
	return k.lines
}
