package control

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/kubeloupe/kubeloupe/trace"
)

// step lets the client step a pod until it goes away. Then the gate opens.
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
	c.w = newLineWriter(c.conn, min(c.cfg.Timeout, c.cfg.Silence)) // a client that stopped reading holds its pod no longer than one that is silent
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

// waiting is how many commands of a client may wait for the one that is being done.
const waiting = 16

// talk is what continues in a session.
type talk struct {
	commands chan command
	replies  chan reply
	bad      chan error // how reading ended
}

// errSilent ends a session whose client hangs, or was stopped: nobody could let the pod continue.
var errSilent = errors.New("has not responded for too long")

// read takes the client's lines, each of which has Silence to arrive, whole. It never waits for a command to be done but when too many do already, so that
// the end of the client is noticed at once.
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

// do carries out commands one by one.
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
