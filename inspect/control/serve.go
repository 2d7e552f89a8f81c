package control

import (
	"context"
	"encoding/json"
	"errors"
	"net"
	"sync/atomic"
	"time"

	"github.com/kubeloupe/kubeloupe/trace"
)

// client is one connection.
type client struct {
	*Server
	conn *net.UnixConn
	r    *lineReader
	w    *lineWriter
	peer peer

	since time.Time    // when it connected
	heard atomic.Int64 // when it last sent something, in nanoseconds since
}

// hears records that the client sent something.
func (c *client) hears() { c.heard.Store(int64(time.Since(c.since))) }

// silence returns how long the client has sent nothing, independent of the wall clock.
func (c *client) silence() time.Duration { return time.Since(c.since) - time.Duration(c.heard.Load()) }

// errGone says that the client has disconnected, so it gets no error.
var errGone = errors.New("the client is gone")

// handle reads and executes the request. The error is for the client.
func (c *client) handle(ctx context.Context) error {
	if err := c.conn.SetReadDeadline(time.Now().Add(requestTime)); err != nil {
		return nil //nolint:nilerr // the connection is over
	}
	line, err := c.r.next()
	c.hears()
	switch {
	case errors.Is(err, errTooLong):
		return err
	case err != nil: // it only wanted the hello, or is slow
		return nil
	}
	req, err := decodeRequest(line)
	if err != nil {
		return err
	}
	if err := c.conn.SetReadDeadline(time.Time{}); err != nil {
		return nil //nolint:nilerr // the connection is over
	}
	switch {
	case req.Events != nil:
		c.log(trace.LevelDebug, "a client reads events over the control socket", c.peer)
		err = c.events(ctx, *req.Events)
	case req.Query != nil:
		err = c.query(ctx, *req.Query)
	default:
		c.log(trace.LevelInfo, "pod "+req.Step.Pod+": a client steps it over the control socket", c.peer)
		err = c.step(ctx, *req.Step)
	}
	if err != nil && !errors.Is(err, errGone) && ctx.Err() != nil { // the agent's stop canceled it
		err = c.end(endStop)
	}
	if errors.Is(err, errGone) {
		return nil
	}
	return err
}

// query sends the query to the agent; the response is one line.
func (c *client) query(ctx context.Context, q QueryRequest) error {
	if c.cfg.Node == nil {
		return errors.New("this agent does not support queries")
	}
	ctx, cancel := context.WithTimeout(ctx, queryTime)
	defer cancel()
	value, err := c.cfg.Node.Query(ctx, q.What, q.Args)
	if err != nil {
		return err
	}
	text, err := json.Marshal(value)
	if err != nil {
		return err
	}
	if c.w.send(answer{Result: text}) != nil {
		return errGone
	}
	return nil
}

// watch returns a context that ends when the client disconnects, or sends anything but keep-alive messages.
func (c *client) watch(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(ctx)
	go func() {
		defer cancel()
		for {
			line, err := c.r.next()
			if err != nil {
				return
			}
			if cmd, err := decodeCommand(line); err != nil || cmd != (command{Alive: true}) {
				return
			}
			c.hears()
		}
	}()
	return ctx, cancel
}

// end tells the client that nothing follows.
func (c *client) end(why string) error {
	if c.w.send(answer{End: why}) != nil {
		return errGone
	}
	return nil
}
