//go:build unix

package nodelock

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/kubeloupe/kubeloupe/agent/redact"
)

// FileName is the name of the lock file in each agent's root directory.
const FileName = "kubeloupe.lock"

// retry is the time between two attempts of Wait: flock(2) cannot be canceled while it blocks.
const retry = 250 * time.Millisecond

// A HeldError says that another process holds the lock.
type HeldError struct {
	// Path is the lock file.
	Path string
	// Holder is the holder that the file names, such as "pid 12 (kubeloupe run)"; empty if it names none, for example
	// if an upstream kubelet holds the lock.
	Holder string
}

// Error names the holder and a solution.
func (e *HeldError) Error() string {
	who := "another process, which left no name"
	if e.Holder != "" {
		who = e.Holder
	}
	return fmt.Sprintf("lock %s is held by %s; stop it, or use another root directory", e.Path, who)
}

// A Lock is held until Release or the end of the process.
type Lock struct{ file *os.File }

// Acquire takes the lock and writes the holder's PID and command into the file. It creates the file and its directory
// if they are missing. If another process holds the lock, the error is a [*HeldError].
func Acquire(path string) (*Lock, error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o750); err != nil {
		return nil, fmt.Errorf("lock %s: %w", path, err)
	}
	file, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("lock %s: %w", path, err)
	}
	if err := flock(file); err != nil {
		holder := read(file)
		_ = file.Close()
		if errors.Is(err, unix.EWOULDBLOCK) {
			return nil, &HeldError{Path: path, Holder: holder}
		}
		return nil, fmt.Errorf("lock %s: %w", path, err)
	}
	if err := write(file, self()); err != nil {
		_ = file.Close()
		return nil, fmt.Errorf("lock %s: %w", path, err)
	}
	return &Lock{file}, nil
}

// Wait is Acquire, but waits until the lock is free or ctx ends. If ctx ends, the error wraps both ctx's error and the
// [*HeldError]. If the lock is held, waiting is called once, unless it is nil.
//
// Upstream: pkg/util/flock/flock_unix.go, Acquire, which blocks.
func Wait(ctx context.Context, path string, waiting func(*HeldError)) (*Lock, error) {
	for {
		lock, err := Acquire(path)
		held, ok := errors.AsType[*HeldError](err)
		if !ok {
			return lock, err
		}
		if waiting != nil {
			waiting(held)
			waiting = nil
		}
		select {
		case <-ctx.Done():
			return nil, fmt.Errorf("%w: %w", ctx.Err(), err)
		case <-time.After(retry):
		}
	}
}

// Release releases the lock. The file remains, without a name in it.
func (l *Lock) Release() error {
	return errors.Join(write(l.file, ""), l.file.Close())
}

func flock(file *os.File) error {
	for {
		err := unix.Flock(int(file.Fd()), unix.LOCK_EX|unix.LOCK_NB)
		if !errors.Is(err, unix.EINTR) {
			return err
		}
	}
}

// self describes this process, on one line.
func self() string {
	command := strings.Join(strings.Fields(strings.Join(redact.Args(os.Args), " ")), " ")
	if len(command) > 200 {
		command = command[:200] + "..."
	}
	return fmt.Sprintf("pid %d (%s)\n", os.Getpid(), command)
}

// write replaces the file's content.
func write(file *os.File, text string) error {
	if err := file.Truncate(0); err != nil {
		return err
	}
	_, err := file.WriteAt([]byte(text), 0)
	return err
}

// read returns the first line of the file, without control characters, because it may be shown on a terminal.
func read(file *os.File) string {
	text, err := io.ReadAll(io.NewSectionReader(file, 0, 512))
	if err != nil {
		return ""
	}
	line, _, _ := bytes.Cut(text, []byte("\n"))
	return strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f || (r >= 0x80 && r < 0xa0) || r == '\uFFFD' {
			return -1
		}
		return r
	}, string(line))
}
