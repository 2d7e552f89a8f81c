package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// held is a write to a full terminal that waits: which thread's, with its arguments, what that thread has written in
// all, and what the terminal holds.
type held struct {
	write   string
	written string
	waiting int
}

// heldBy is what is held of the process; no write is "". It reads what the kernel tells in /proc/pid/task/tid: in
// syscall number, arguments, stack and instruction pointer, in io the bytes written (wchar).
func (t *terminal) heldBy(pid int) (h held, err error) {
	tasks, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*", pid))
	if err != nil {
		return h, err
	}
	for _, task := range tasks {
		call, err := os.ReadFile(filepath.Join(task, "syscall"))
		if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ESRCH) {
			continue // the thread has ended
		}
		if err != nil {
			return h, err
		}
		f := strings.Fields(string(call))
		if len(f) < 3 || f[0] != strconv.Itoa(syscall.SYS_WRITE) {
			continue
		}
		fd, err := strconv.ParseInt(f[1], 0, 64)
		if err != nil {
			return h, fmt.Errorf("%s/syscall: %w", task, err)
		}
		if to, err := os.Readlink(fmt.Sprintf("/proc/%d/fd/%d", pid, fd)); err != nil || to != t.tty.Name() {
			continue
		}
		io, err := os.ReadFile(filepath.Join(task, "io"))
		if err != nil {
			return h, err
		}
		_, io, _ = bytes.Cut(io, []byte("wchar: "))
		io, _, _ = bytes.Cut(io, []byte("\n"))
		h.write, h.written = task+": "+strings.TrimSpace(string(call)), string(io)
	}
	h.waiting, err = t.waiting()
	return h, err
}

// stick fills the terminal and has the process, which draws on it, wait for it. The kernel moves bytes on by itself for
// a moment, so this waits until they stay.
func (t *terminal) stick(ctx context.Context, pid int) (held, error) {
	if err := t.fill(); err != nil {
		return held{}, err
	}
	var last held
	for i := range 400 {
		if i%20 == 0 {
			if err := t.resize(); err != nil {
				return held{}, err
			}
		}
		h, err := t.heldBy(pid)
		if err != nil {
			return held{}, err
		}
		if h == last && h.write != "" && h.waiting > 0 {
			return h, nil
		}
		last = h
		if err := pause(ctx, 50*time.Millisecond); err != nil {
			return held{}, err
		}
	}
	return held{}, fmt.Errorf("process %d does not wait for its terminal, which takes nothing", pid)
}

// still reports by an error that what was held has moved since.
func (t *terminal) still(pid int, h held) error {
	full, err := t.full(1)
	if err != nil {
		return err
	}
	now, err := t.heldBy(pid)
	if err == nil && (!full || now != h) {
		err = fmt.Errorf("the terminal of process %d was not stuck all the time: full %v, held was %+v, is %+v", pid, full, h, now)
	}
	return err
}
