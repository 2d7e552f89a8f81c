package control

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"syscall"
	"time"
)

// ErrNoAgent is wrapped by the error for a socket on which no agent listens.
var ErrNoAgent = errors.New("no agent is listening")

// ErrEnded is wrapped by the error of a stream or session that the agent ended, or whose connection broke.
var ErrEnded = errors.New("the agent has stopped")

// helloTime is the timeout for the agent's hello.
const helloTime = 5 * time.Second

// Client queries the agent at one socket. Each request has a separate connection. Safe for concurrent use.
type Client struct {
	path  string
	hello Hello
}

// Dial connects to path and reads the agent's hello.
func Dial(ctx context.Context, path string) (*Client, error) {
	c := &Client{path: path}
	l, err := c.connect(ctx)
	if err != nil {
		return nil, err
	}
	c.hello = l.hello
	return c, l.conn.Close()
}

// Hello returns the agent's description of itself at the time of Dial.
func (c *Client) Hello() Hello { return c.hello }

// line is a connection to the agent.
type line struct {
	path  string
	conn  *net.UnixConn
	r     *lineReader
	w     *lineWriter
	hello Hello
}

func (c *Client) connect(ctx context.Context) (*line, error) {
	var d net.Dialer
	conn, err := d.DialContext(ctx, "unix", c.path)
	if err != nil {
		return nil, dialError(c.path, err)
	}
	u, ok := conn.(*net.UnixConn)
	if !ok {
		return nil, fmt.Errorf("control socket %s: not a unix socket", c.path)
	}
	l := &line{path: c.path, conn: u, r: newLineReader(u, maxAnswer), w: newLineWriter(u, helloTime)}
	if err := l.greet(ctx); err != nil {
		u.Close() //nolint:errcheck // nothing was said
		return nil, err
	}
	return l, nil
}

// greet checks the peer's identity and protocol version.
func (l *line) greet(ctx context.Context) error {
	p, err := peerOf(l.conn)
	if err != nil {
		return fmt.Errorf("control socket %s: %w", l.path, err)
	}
	if !trusted(p) {
		return fmt.Errorf("control socket %s: uid %d is listening, but it must be root or uid %d: this may not be an agent", l.path, p.uid, os.Geteuid())
	}
	ctx, cancel := context.WithTimeout(ctx, helloTime)
	defer cancel()
	l.r.max = maxHello // the peer may be anybody
	defer func() { l.r.max = maxAnswer }()
	text, err := l.read(ctx)
	if err != nil {
		return fmt.Errorf("greet %w", err)
	}
	var both struct {
		Hello
		Err string `json:"error"`
	}
	bad := json.Unmarshal(text, &both)
	l.hello = both.Hello
	switch {
	case bad == nil && both.Err != "":
		return fmt.Errorf("agent at %s: %s", l.path, both.Err)
	case bad != nil || both.Control == 0:
		return fmt.Errorf("control socket %s: the process that is listening is not a kubeloupe agent", l.path)
	case both.Control != Version:
		return fmt.Errorf("agent at %s (process %d, version %s) uses version %d of the control protocol, but this program uses version %d: use the same version of kubeloupe",
			l.path, l.hello.PID, l.hello.Version, l.hello.Control, Version)
	}
	return nil
}

func dialError(path string, err error) error {
	switch {
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ECONNREFUSED):
		return fmt.Errorf("control socket %s: %w: start one with `kubeloupe run`, or use --socket for a running agent", path, ErrNoAgent)
	case errors.Is(err, fs.ErrPermission):
		return fmt.Errorf("control socket %s: permission denied: only root and the agent's own user may use it", path)
	}
	return fmt.Errorf("control socket %s: %w", path, err)
}

// read returns a line; ctx ends the wait for it. It is valid until the next call.
func (l *line) read(ctx context.Context) ([]byte, error) {
	done := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		defer close(done)
		l.conn.SetReadDeadline(time.Unix(1, 0)) //nolint:errcheck // the connection is over, then
	})
	text, err := l.r.next()
	if !stop() {
		<-done
		l.conn.SetReadDeadline(time.Time{}) //nolint:errcheck // likewise
	}
	switch {
	case err == nil:
		return text, nil
	case ctx.Err() != nil:
		return nil, ctx.Err()
	}
	return nil, fmt.Errorf("agent at %s: %w: %w", l.path, ErrEnded, err)
}

// answer reads a line as an answer.
func (l *line) answer(ctx context.Context) (answer, error) {
	text, err := l.read(ctx)
	if err != nil {
		return answer{}, err
	}
	return l.decode(text)
}

// decode decodes a line. If it ends the conversation, that is an error.
func (l *line) decode(text []byte) (answer, error) {
	var a answer
	if err := json.Unmarshal(text, &a); err != nil {
		return answer{}, fmt.Errorf("agent at %s: an invalid response: %w", l.path, err)
	}
	switch {
	case a.Err != "":
		return answer{}, fmt.Errorf("agent at %s: %s", l.path, a.Err)
	case a.End == endStop:
		return answer{}, fmt.Errorf("agent at %s: %w: it stops", l.path, ErrEnded)
	}
	return a, nil
}

// request opens a connection and sends a request.
func (c *Client) request(ctx context.Context, r request) (*line, error) {
	if err := r.check(); err != nil {
		return nil, err
	}
	l, err := c.connect(ctx)
	if err != nil {
		return nil, err
	}
	if err := l.w.send(r); err != nil {
		l.conn.Close() //nolint:errcheck // it broke already
		return nil, fmt.Errorf("agent at %s: %w: %w", c.path, ErrEnded, err)
	}
	return l, nil
}

// The maximum and minimum time between two keep-alive messages.
const (
	beatMost  = 5 * time.Second
	beatLeast = 10 * time.Millisecond
)

// beat sends keep-alive messages until done closes or the connection breaks.
func (l *line) beat(done <-chan struct{}, send func(any) error) {
	every := beatMost
	if l.hello.Silence > 0 {
		every = max(min(time.Duration(min(l.hello.Silence, 1<<20))*time.Millisecond/6, beatMost), beatLeast)
	}
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			if send(command{Alive: true}) != nil {
				return
			}
		case <-done:
			return
		}
	}
}

// Query requests data that is not in the records: config, images, cgroup, node, logs.
func (c *Client) Query(ctx context.Context, what string, args map[string]string) (json.RawMessage, error) {
	l, err := c.request(ctx, request{Query: &QueryRequest{What: what, Args: args}})
	if err != nil {
		return nil, err
	}
	defer l.conn.Close() //nolint:errcheck // all was read
	a, err := l.answer(ctx)
	if err != nil {
		return nil, err
	}
	return a.Result, nil
}
