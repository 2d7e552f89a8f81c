package control

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/kubeloupe/kubeloupe/trace"
)

// step lets the client step a pod until it disconnects. Then the gate opens.
func (c *client) step(ctx context.Context, req StepRequest) error {
	if c.cfg.Steppers == nil {
		return errors.New("this agent does not support stepping")
	}
	stopping := ctx
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	session, err := c.cfg.Steppers.Attach(ctx, req)
	if err != nil {
		return err
	}
	defer session.Close()
	if c.w.send(answer{Attached: true}) != nil {
		return errGone
	}
	c.w = newLineWriter(c.conn, min(c.cfg.Timeout, c.cfg.Silence)) // a client that stops reading holds its pod no longer than a silent one
	t := talk{commands: make(chan command, waiting), replies: make(chan reply), bad: make(chan error, 1)}
	go func() {
		defer cancel()
		err := c.read(ctx, &t)
		if errors.Is(err, errSilent) {
			c.log(trace.LevelWarn, "pod "+req.Pod+" continues: the client that steps it "+err.Error(), c.peer)
			c.conn.SetWriteDeadline(time.Unix(1, 0)) //nolint:errcheck // what is being written is given up: the client may have stopped reading, too
		}
		t.bad <- err
	}()
	go t.do(ctx, session)
	for {
		var a answer
		select {
		case stop, ok := <-session.Stops():
			if !ok {
				return c.end(endDone)
			}
			a.Stop = &stop
		case r := <-t.replies:
			a.Reply = &r
		case err := <-t.bad:
			if errors.Is(err, errSilent) {
				return fmt.Errorf("the pod continues: the client %w", err)
			}
			return err
		case <-stopping.Done():
			return c.end(endStop)
		}
		if c.w.send(a) != nil {
			return errGone
		}
	}
}

// waiting is how many commands of a client may wait for the current one.
const waiting = 16

// talk is a running session.
type talk struct {
	commands chan command
	replies  chan reply
	bad      chan error // why reading ended
}

// errSilent ends the session of a client that hangs, or was stopped: otherwise nobody could release the pod.
var errSilent = errors.New("has not responded for too long")

// read reads the client's lines; each must arrive completely within Silence. It waits for a command only if too many
// are waiting already, so that it notices the client's end at once.
func (c *client) read(ctx context.Context, t *talk) error {
	for {
		if err := c.conn.SetReadDeadline(time.Now().Add(c.cfg.Silence)); err != nil {
			return errGone
		}
		line, err := c.r.next()
		switch {
		case errors.Is(err, errTooLong):
			return err
		case errors.Is(err, os.ErrDeadlineExceeded):
			return fmt.Errorf("%w (%v)", errSilent, c.cfg.Silence)
		case err != nil:
			return errGone
		}
		c.hears()
		cmd, err := decodeCommand(line)
		if err != nil {
			return err
		}
		if cmd == (command{Alive: true}) {
			continue
		}
		select {
		case t.commands <- cmd:
		case <-ctx.Done():
			return errGone
		}
	}
}

// do executes commands one by one.
func (t *talk) do(ctx context.Context, session Session) {
	for {
		select {
		case cmd := <-t.commands:
			r := reply{ID: cmd.ID}
			var err error
			if r.Text, err = session.Do(ctx, cmd.Line); err != nil {
				r.Err = err.Error()
			}
			select {
			case t.replies <- r:
			case <-ctx.Done():
				return
			}
		case <-ctx.Done():
			return
		}
	}
}
