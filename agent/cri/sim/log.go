package sim

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"

	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
)

// criLog writes a container's output in the CRI's log format. A nil or unnamed log discards it.
type criLog struct {
	mu   sync.Mutex
	path string
	file *os.File
	rest map[runtimeapi.LogStreamType][]byte // output that has no newline yet
}

// openLog opens the log at path and creates its parent directories; an empty path discards.
func openLog(path string) (*criLog, error) {
	l := &criLog{path: path, rest: map[runtimeapi.LogStreamType][]byte{}}
	if path == "" {
		return l, nil
	}
	return l, l.Reopen()
}

// Reopen continues in a new file at the same path, after the old one was renamed.
func (l *criLog) Reopen() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.path == "" {
		return nil
	}
	if err := os.MkdirAll(filepath.Dir(l.path), 0o755); err != nil {
		return err
	}
	f, err := os.OpenFile(l.path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o640)
	if err != nil {
		return err
	}
	old := l.file
	l.file = f
	if old != nil {
		return old.Close()
	}
	return nil
}

func (l *criLog) write(stream runtimeapi.LogStreamType, b []byte) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.file == nil {
		return nil
	}
	rest := append(l.rest[stream], b...)
	for {
		line, after, ok := bytes.Cut(rest, []byte{'\n'})
		if !ok {
			l.rest[stream] = rest
			return nil
		}
		if err := l.line(stream, runtimeapi.LogTagFull, line); err != nil {
			return err
		}
		rest = after
	}
}

func (l *criLog) line(stream runtimeapi.LogStreamType, tag runtimeapi.LogTag, line []byte) error {
	_, err := fmt.Fprintf(l.file, "%s %s %s %s\n", time.Now().Format(time.RFC3339Nano), stream, tag, line)
	return err
}

// Close writes the last line without a newline as a partial line, and closes the file. Later output is discarded.
func (l *criLog) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.file == nil {
		return nil
	}
	for _, stream := range []runtimeapi.LogStreamType{runtimeapi.Stdout, runtimeapi.Stderr} {
		if rest := l.rest[stream]; len(rest) > 0 {
			if err := l.line(stream, runtimeapi.LogTagPartial, rest); err != nil {
				return err
			}
		}
	}
	f := l.file
	l.file = nil
	return f.Close()
}

// logStream is the standard output or standard error of a container's first process.
type logStream struct {
	log  *criLog
	name runtimeapi.LogStreamType
}

func (w logStream) Write(b []byte) (int, error) {
	if err := w.log.write(w.name, b); err != nil {
		return 0, err
	}
	return len(b), nil
}
