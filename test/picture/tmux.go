package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// terminal is a tmux server with one window.
type terminal struct {
	dir     string
	columns int
}

// start runs a program in a terminal of its own. What it says at the end goes with the terminal.
func start(ctx context.Context, program string, args ...string) (*terminal, error) {
	return startSized(ctx, columns, rows, program, args...)
}

// startSized is start for a terminal of some columns and rows.
func startSized(ctx context.Context, columns, rows int, program string, args ...string) (*terminal, error) {
	if _, err := exec.LookPath("tmux"); err != nil {
		return nil, errors.New("needs tmux: it is the terminal")
	}
	dir, err := os.MkdirTemp("", "kubeloupe-picture-")
	if err != nil {
		return nil, err
	}
	t := &terminal{dir: dir, columns: columns}
	command := append([]string{"-f", os.DevNull, "new-session", "-d", "-x", strconv.Itoa(columns), "-y", strconv.Itoa(rows), program}, args...)
	_, err = t.tmux(ctx, append(command, ";", "set", "-g", "status", "off", ";", "set", "-g", "default-terminal", "tmux-256color")...)
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	return t, nil
}

func (t *terminal) tmux(ctx context.Context, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, "tmux", append([]string{"-S", filepath.Join(t.dir, "tmux")}, args...)...)
	cmd.Env = append(os.Environ(), "LC_ALL=C.UTF-8")
	out, err := cmd.CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("tmux %s: %w: %s", args[0], err, strings.TrimSpace(string(out)))
	}
	return string(out), nil
}

func (t *terminal) press(ctx context.Context, key string) error {
	_, err := t.tmux(ctx, "send-keys", key)
	if err == nil {
		time.Sleep(300 * time.Millisecond) // the UI draws at most ten times a second
	}
	return err
}

// capture returns the screen with its colors.
func (t *terminal) capture(ctx context.Context) (string, error) {
	return t.tmux(ctx, "capture-pane", "-p", "-e")
}

var escape = regexp.MustCompile("\x1b\\[[0-9;:]*m")

// resize gives the terminal a number of rows.
func (t *terminal) resize(ctx context.Context, rows int) error {
	_, err := t.tmux(ctx, "resize-window", "-x", strconv.Itoa(t.columns), "-y", strconv.Itoa(rows))
	return err
}

// patience is how long something may take to appear.
const patience = 90 * time.Second

// await waits until all of the texts are on screen, and none that is given as !text, and returns it, without colors.
func (t *terminal) await(ctx context.Context, texts ...string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	for {
		screen, err := t.capture(ctx)
		if err != nil {
			return "", fmt.Errorf("waiting for %q: the program has ended: %w", texts, err)
		}
		screen = escape.ReplaceAllString(screen, "")
		missing := ""
		for _, s := range texts {
			if text, not := strings.CutPrefix(s, "!"); strings.Contains(screen, text) == not {
				missing = s
			}
		}
		if missing == "" {
			return screen, nil
		}
		select {
		case <-ctx.Done():
			return "", fmt.Errorf("no %q on screen: %w\n%s", missing, ctx.Err(), screen)
		case <-time.After(200 * time.Millisecond):
		}
	}
}

// settle waits until the screen stays as it is for a second.
func (t *terminal) settle(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	for before, same := "", 0; same < 3; {
		screen, err := t.capture(ctx)
		if err != nil {
			return err
		}
		if same++; screen != before {
			before, same = screen, 0
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("the screen does not settle: %w", ctx.Err())
		case <-time.After(400 * time.Millisecond):
		}
	}
	return nil
}

// close waits for the program to clean up, and ends tmux. One that was not asked to
// quit is told to by the lost terminal.
func (t *terminal) close() error {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	for {
		if _, err := t.tmux(ctx, "list-panes"); err != nil {
			return os.RemoveAll(t.dir) // the window's program has ended, and tmux with it
		}
		select {
		case <-ctx.Done():
			_, err := t.tmux(context.WithoutCancel(ctx), "kill-server")
			return errors.Join(errors.New("the program did not end"), err, os.RemoveAll(t.dir))
		case <-time.After(200 * time.Millisecond):
		}
	}
}
