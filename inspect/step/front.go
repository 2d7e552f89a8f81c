package step

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"

	"github.com/kubeloupe/kubeloupe/trace"
	"github.com/kubeloupe/kubeloupe/trace/human"
)

// Stepper is a session as its client sees it, local or over a socket.
type Stepper interface {
	Stops() <-chan Stop
	Do(ctx context.Context, line string) (string, error)
}

// Front is the client's end of a session: commands and output go through it, and into a transcript if there is one. Stops arrive
// only while its Run runs.
type Front struct {
	inner Stepper
	stops chan Stop

	mu   sync.Mutex
	file *os.File
}

// NewFront returns a front for a session.
func NewFront(inner Stepper) *Front { return &Front{inner: inner, stops: make(chan Stop, 1)} }

// Stops delivers the stops; it is closed when the session's channel is.
func (f *Front) Stops() <-chan Stop { return f.stops }

// Run forwards stops until ctx ends or there are no more, and then closes the transcript. A stop that was not received is replaced
// by a newer one.
func (f *Front) Run(ctx context.Context) {
	defer f.end()
	for {
		select {
		case s, ok := <-f.inner.Stops():
			if !ok {
				close(f.stops)
				return
			}
			f.write("\n" + s.Text() + "\n")
			select {
			case <-f.stops:
			default:
			}
			f.stops <- s // there is room: only this goroutine sends
		case <-ctx.Done():
			return
		}
	}
}

// Do executes a command line.
func (f *Front) Do(ctx context.Context, line string) (string, error) {
	command, rest := Split(line)
	if command == "transcript" {
		return f.Transcript(rest)
	}
	f.write("> " + line + "\n")
	out, err := f.inner.Do(ctx, line)
	f.Heard(out, err)
	return out, err
}

// Heard writes output to the transcript.
func (f *Front) Heard(out string, err error) {
	switch {
	case err != nil:
		f.write(err.Error() + "\n")
	case out != "":
		f.write(out + "\n")
	}
}

// Transcript appends all further commands and output to a file that only its owner can read.
func (f *Front) Transcript(path string) (string, error) {
	if path == "" {
		return "", errors.New("transcript: want a file to append to")
	}
	file, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return "", fmt.Errorf("transcript: %w", err)
	}
	if err := file.Chmod(0o600); err != nil { // for an existing file
		_ = file.Close()
		return "", fmt.Errorf("transcript: %w", err)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.file != nil {
		_ = f.file.Close()
	}
	f.file = file
	return "what is typed and said goes to " + path, nil
}

func (f *Front) write(s string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.file == nil {
		return
	}
	if _, err := f.file.WriteString(human.Visible(s)); err != nil { // full disk: stepping is more important than its transcript
		_ = f.file.Close()
		f.file = nil
	}
}

func (f *Front) end() {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.file != nil {
		_ = f.file.Close()
		f.file = nil
	}
}

// ParsePod parses NAMESPACE/NAME.
func ParsePod(s string) (trace.Pod, error) {
	ns, name, _ := strings.Cut(s, "/")
	if ns == "" || name == "" || strings.Contains(name, "/") {
		return trace.Pod{}, fmt.Errorf("pod %q: want NAMESPACE/NAME", s)
	}
	return trace.Pod{Namespace: ns, Name: name}, nil
}
