package follow

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"

	"github.com/kubeloupe/kubeloupe/inspect/attach/logfile"
)

const (
	// restart is how long to wait until journalctl is started again.
	restart = time.Second
	// block is how much of its output is passed on at a time.
	block = 32 << 10
	// maxCursor bounds a journal's mark.
	maxCursor = 1 << 10
)

// Journal reads the entries of a unit in the export format, through journalctl. Use [OpenJournal].
type Journal struct {
	ctx    context.Context
	unit   string
	since  time.Time
	notice Notice
	blocks chan piece
	rest   []byte
	// Cursor is the mark of the last entry that was read, from which journalctl goes on when it has ended. It is called by Read, and required.
	Cursor func() string
}

// piece is some output of journalctl, or a question for the mark of the last entry in what came before.
type piece struct {
	text []byte
	mark chan<- string
}

// program is how journalctl is started: from the PATH, else that of the node, where this process is in a container.
func program() (name, root string, err error) {
	if name, err = exec.LookPath("journalctl"); err == nil {
		return name, "", nil
	}
	const node = "/proc/1/root"
	for _, name := range []string{"/usr/bin/journalctl", "/bin/journalctl"} {
		if _, err := os.Stat(node + name); err == nil {
			return name, node, nil
		}
	}
	return "", "", errors.New("the log is in the journal, and there is no journalctl to read it")
}

// OpenJournal begins to read the journal of a unit, from since on, until ctx ends. notice receives sentences on what happens.
func OpenJournal(ctx context.Context, unit string, since time.Time, notice Notice) (*Journal, error) {
	if _, _, err := program(); err != nil {
		return nil, err
	}
	j := &Journal{ctx: ctx, unit: unit, since: since, notice: notice, blocks: make(chan piece, 4)}
	go j.run()
	return j, nil
}

// run starts journalctl until ctx ends. It owns blocks.
func (j *Journal) run() {
	defer close(j.blocks)
	for cursor := ""; ; {
		began := time.Now()
		err := j.once(cursor)
		if j.ctx.Err() != nil {
			return
		}
		j.say(fmt.Sprintf("journalctl has ended (%v): starting it again", err))
		mark := make(chan string, 1)
		if !j.pass(piece{text: []byte("\n" + logfile.Torn + "=1\n\n")}) || !j.pass(piece{mark: mark}) {
			return
		}
		wait := restart
		if time.Since(began) > time.Minute {
			wait = 0
		}
		select {
		case <-j.ctx.Done():
			return
		case <-time.After(wait):
		}
		select {
		case <-j.ctx.Done():
			return
		case cursor = <-mark:
		}
	}
}

// pass passes something on to Read; false when ctx has ended.
func (j *Journal) pass(p piece) bool {
	select {
	case j.blocks <- p:
		return true
	case <-j.ctx.Done():
		return false
	}
}

// args are journalctl's. The cursor was read from the journal: it is one argument, whatever is in it.
func (j *Journal) args(cursor string) []string {
	args := []string{"--follow", "--output=export", "--no-pager", "--quiet", "--unit=" + j.unit}
	if cursor != "" && len(cursor) <= maxCursor && !strings.ContainsAny(cursor, "\x00\n") {
		return append(args, "--no-tail", "--after-cursor="+cursor)
	}
	return append(args, "--no-tail", fmt.Sprintf("--since=@%d", j.since.Unix()))
}

// once runs journalctl until it ends.
func (j *Journal) once(cursor string) error {
	name, root, err := program()
	if err != nil {
		return err
	}
	c := exec.CommandContext(j.ctx, name, j.args(cursor)...)
	c.Env = []string{"PATH=/usr/bin:/bin:/usr/sbin:/sbin", "LC_ALL=C.UTF-8", "SYSTEMD_COLORS=0"}
	if root != "" {
		c.SysProcAttr, c.Dir = &syscall.SysProcAttr{Chroot: root}, "/"
	}
	var errs head
	c.Stderr = &errs
	out, err := c.StdoutPipe()
	if err != nil {
		return err
	}
	if err := c.Start(); err != nil {
		return err
	}
	for {
		b := make([]byte, block)
		n, err := out.Read(b)
		if n > 0 {
			j.pass(piece{text: b[:n]})
		}
		if err != nil {
			break
		}
	}
	if err := c.Wait(); err != nil {
		return fmt.Errorf("%w: %s", err, bytes.TrimSpace(errs.b))
	}
	return errors.New("it said nothing of why")
}

// head keeps the beginning of what is written.
type head struct{ b []byte }

// Write implements io.Writer.
func (h *head) Write(p []byte) (int, error) {
	h.b = append(h.b, p[:min(len(p), 512-len(h.b))]...)
	return len(p), nil
}

// Read implements io.Reader. It returns logfile.ErrIdle when nothing came for a moment, and io.EOF when ctx has ended.
func (j *Journal) Read(p []byte) (int, error) {
	wait := time.After(patience)
	for len(j.rest) == 0 {
		select {
		case b, ok := <-j.blocks:
			if !ok {
				return 0, io.EOF
			}
			j.rest = b.text
			if b.mark != nil {
				b.mark <- j.Cursor()
			}
		case <-wait:
			return 0, logfile.ErrIdle
		}
	}
	n := copy(p, j.rest)
	j.rest = j.rest[n:]
	return n, nil
}

func (j *Journal) say(text string) {
	if j.notice != nil {
		j.notice(false, "the journal of "+j.unit+": "+text)
	}
}
