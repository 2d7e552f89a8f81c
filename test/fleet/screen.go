package main

import (
	"context"
	"fmt"
	"io"
	"os/exec"
	"strings"
	"sync"
	"time"

	"github.com/charmbracelet/x/ansi"
	"github.com/creack/pty"
)

// rows and columns are the size of the terminal of the UI: a line about the export fits.
const rows, columns = 40, 200

// screen is what the UI of a node draws.
type screen struct {
	mu   sync.Mutex
	text []byte
}

// Write implements io.Writer.
func (s *screen) Write(b []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.text = append(s.text, b...)
	return len(b), nil
}

// since returns what was drawn after the first n bytes, without colors, and how many bytes there are.
func (s *screen) since(n int) (string, int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return ansi.Strip(string(s.text[n:])), len(s.text)
}

// seen opens the UI of a node at its log, filtered by the first word, and waits until one screen has all the words. It has the screen drawn again, by
// sizes that change: only what is different is sent otherwise.
func seen(ctx context.Context, bin string, n node, words ...string) (err error) {
	cmd := exec.CommandContext(ctx, bin, "tui", "--socket", n.socket(), "--view", "log")
	cmd.Env = append(cmd.Environ(), "TERM=xterm-256color", "LANG=C.UTF-8")
	tty, err := pty.StartWithSize(cmd, &pty.Winsize{Rows: rows, Cols: columns})
	if err != nil {
		return fmt.Errorf("start the UI of %s: %w", n.name(), err)
	}
	var s screen
	var read sync.WaitGroup
	read.Go(func() { _, _ = io.Copy(&s, tty) }) // it ends with an error when the UI ends
	defer func() {
		_ = cmd.Process.Kill() // it has no more to say
		_ = cmd.Wait()
		_ = tty.Close()
		read.Wait()
	}()
	var drawn string
	looked, last := 0, 0
	err = until(ctx, fmt.Sprintf("words %q on the screen of %s", words, n.name()), func() (bool, error) {
		looked++
		if err := pty.Setsize(tty, &pty.Winsize{Rows: uint16(rows - looked%2), Cols: columns}); err != nil {
			return false, err
		}
		if looked == 2 { // it has drawn once
			if _, err := fmt.Fprintf(tty, "/%q\r", words[0]); err != nil {
				return false, err
			}
		}
		time.Sleep(time.Second)
		drawn, last = s.since(last)
		for _, w := range words {
			if !strings.Contains(drawn, w) {
				return false, nil
			}
		}
		return true, nil
	})
	if err != nil {
		return fmt.Errorf("%w:\n%s", err, drawn)
	}
	return nil
}
