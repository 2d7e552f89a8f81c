package control

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"strconv"
	"sync"
	"time"

	"github.com/kubeloupe/kubeloupe/inspect/backlog"
	"github.com/kubeloupe/kubeloupe/inspect/step"
	"github.com/kubeloupe/kubeloupe/trace"
)

// Backlog has the records that a late client needs; backlog.Store implements it.
type Backlog interface {
	// Backlog returns them when they include the record with the number seq.
	Backlog(ctx context.Context, seq uint64) (backlog.Part, error)
}

// Node answers queries for data that is not in the records.
type Node interface {
	Query(ctx context.Context, what string, args map[string]string) (any, error)
}

// Steppers begins step sessions.
type Steppers interface {
	Attach(ctx context.Context, req StepRequest) (Session, error)
}

// Session is a stepped pod. Stops may be closed when no more will come.
type Session interface {
	Stops() <-chan step.Stop
	Do(ctx context.Context, line string) (string, error)
	// Close opens the gate. It is called once, when the client has disconnected.
	Close()
}

// Config is the configuration of a server. Path and Bus are required; a request for a nil part gets an error.
type Config struct {
	Path      string
	Bus       *trace.Bus
	Backlog   Backlog
	Node      Node
	Steppers  Steppers
	Version   string // kubeloupe's version
	NodeName  string
	Simulated bool
	// MaxConns is the maximum number of clients; 32. A new one replaces one that has sent nothing for Silence, if there is one.
	MaxConns int
	// Silence is the time without a message from a step client after which the gate opens; 30 s. Clients send messages six times as
	// often.
	Silence time.Duration
	// Timeout is how long a write to a client that does not read may take before it is cut off; 2 minutes.
	Timeout time.Duration
	// Leave is how long clients may take to read what they still get when the agent stops; 1 s.
	Leave time.Duration
}

// The timeouts of a client's request, and of an agent's response.
const (
	requestTime = 10 * time.Second
	queryTime   = time.Minute
	backlogTime = 10 * time.Second
)

// Server serves one control socket.
type Server struct {
	cfg      Config
	listener *listener

	mu      sync.Mutex
	clients map[*client]bool
	refused time.Time // when a refusal was last logged
}

// New returns a server for cfg.
func New(cfg Config) *Server {
	if cfg.MaxConns <= 0 {
		cfg.MaxConns = 32
	}
	if cfg.Timeout <= 0 {
		cfg.Timeout = 2 * time.Minute
	}
	if cfg.Silence <= 0 {
		cfg.Silence = 30 * time.Second
	}
	if cfg.Leave <= 0 {
		cfg.Leave = time.Second
	}
	return &Server{cfg: cfg, clients: map[*client]bool{}}
}

// Listen creates the socket. Connections are served when Run is called.
func (s *Server) Listen() error {
	l, err := listen(s.cfg.Path)
	if err != nil {
		return fmt.Errorf("control socket: %w", err)
	}
	s.listener = l
	return nil
}

// Run serves until ctx is done, notifies the clients, and removes the socket. It listens first if Listen was not called. If it
// cannot listen, it reports this once and retries; it also listens again when the socket's file is removed or replaced. The error
// means that the path is not valid for a socket.
func (s *Server) Run(ctx context.Context) error {
	var wg sync.WaitGroup
	defer wg.Wait()
	for l := s.listener; ; l = nil {
		if l == nil {
			var err error
			if l, err = s.await(ctx); l == nil {
				return err
			}
		}
		if err := s.serveAt(ctx, l, &wg); err != nil || ctx.Err() != nil {
			return err
		}
		s.log(trace.LevelWarn, "the control socket "+s.cfg.Path+" was removed or replaced: creating it again", peer{})
	}
}

// The pauses before listening is retried, the first and the maximum.
const (
	retryFirst = 100 * time.Millisecond
	retryMost  = 15 * time.Second
)

// await listens as soon as possible; nil if ctx is done before.
func (s *Server) await(ctx context.Context) (*listener, error) {
	told := false
	for wait := retryFirst; ; wait = min(2*wait, retryMost) {
		l, err := listen(s.cfg.Path)
		if err != nil {
			err = fmt.Errorf("control socket: %w", err)
		}
		switch {
		case err == nil && told:
			s.log(trace.LevelInfo, "listening on the control socket "+s.cfg.Path, peer{})
			return l, nil
		case err == nil, errors.Is(err, errTooLongPath):
			return l, err
		case !told:
			told = true
			s.log(trace.LevelWarn, "the control socket is not available yet, retrying: "+err.Error(), peer{})
		}
		select {
		case <-time.After(wait):
		case <-ctx.Done():
			return nil, nil
		}
	}
}

// serveAt serves until ctx is done, or the socket's file is no longer at its path.
func (s *Server) serveAt(ctx context.Context, l *listener, wg *sync.WaitGroup) error {
	here, leave := context.WithCancel(ctx)
	defer leave()
	moved, stop := l.moved()
	gone := make(chan struct{})
	go func() {
		defer close(gone)
		select {
		case <-moved:
			leave()
		case <-here.Done():
		}
		stop()
		l.close() //nolint:errcheck // it is returned below
	}()
	err := s.accept(here, ctx, l, wg)
	leave()
	<-gone
	return errors.Join(err, l.close())
}

// accept serves each connection in a separate goroutine, until ctx is done; it accepts until here is done.
func (s *Server) accept(here, ctx context.Context, l *listener, wg *sync.WaitGroup) error {
	for {
		conn, err := l.AcceptUnix()
		switch {
		case here.Err() != nil:
			if err == nil {
				conn.Close() //nolint:errcheck // nothing was said
			}
			return nil
		case errors.Is(err, net.ErrClosed):
			return fmt.Errorf("control socket: %w", err)
		case err != nil: // out of file descriptors: others may be closed
			s.log(trace.LevelWarn, "the control socket cannot accept connections: "+err.Error(), peer{})
			select {
			case <-time.After(time.Second):
			case <-here.Done():
			}
			continue
		}
		p, err := peerOf(conn)
		if err != nil || !trusted(p) { // it takes no slot
			s.refuse(conn, p, err)
			continue
		}
		c := &client{Server: s, conn: conn, r: newLineReader(conn, maxRequest), w: newLineWriter(conn, s.cfg.Timeout), peer: p, since: time.Now()}
		if !s.place(c) {
			s.turnAway(conn, fmt.Sprintf("too many clients: %d are served already", s.cfg.MaxConns))
			continue
		}
		wg.Go(func() {
			defer s.leave(c)
			s.serve(ctx, c)
		})
	}
}

// place gives a client a slot, if necessary that of a disconnected client, or of the one that has been silent for
// longest, if that is too long.
func (s *Server) place(c *client) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.clients) >= s.cfg.MaxConns {
		out := s.gone()
		if out == nil {
			out = s.silent()
		}
		if out == nil {
			return false
		}
		delete(s.clients, out)
		out.conn.Close() //nolint:errcheck // whatever it was doing ends with it
	}
	s.clients[c] = true
	return true
}

// gone returns a client that has closed its end, which its goroutine has not noticed yet.
func (s *Server) gone() *client {
	for c := range s.clients {
		if hungUp(c.conn) {
			return c
		}
	}
	return nil
}

// silent returns the client that has been silent for longest, if that is too long.
func (s *Server) silent() *client {
	var out *client
	longest := s.cfg.Silence
	for c := range s.clients {
		if d := c.silence(); d >= longest {
			out, longest = c, d
		}
	}
	return out
}

func (s *Server) leave(c *client) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.clients, c)
}

// turnAway tells a client why it is not served. It does not block: the line fits in the kernel's buffer.
func (s *Server) turnAway(conn *net.UnixConn, why string) {
	newLineWriter(conn, time.Second).send(answer{Err: why}) //nolint:errcheck // it is gone, then
	conn.Close()                                            //nolint:errcheck // likewise
}

// serve sends the hello to a client and executes its request.
func (s *Server) serve(ctx context.Context, c *client) {
	defer c.conn.Close() //nolint:errcheck // all was written
	// When the agent stops, everything that still waits for the client has a short time.
	stop := context.AfterFunc(ctx, func() {
		time.AfterFunc(s.cfg.Leave, func() { c.conn.Close() }) //nolint:errcheck // it is closed again above
	})
	defer stop()
	hello := Hello{
		Control: Version, Version: s.cfg.Version, PID: os.Getpid(), Node: s.cfg.NodeName, Simulated: s.cfg.Simulated, Silence: s.cfg.Silence.Milliseconds(),
	}
	if c.w.send(hello) != nil {
		return
	}
	if err := c.handle(ctx); err != nil {
		c.w.send(answer{Err: err.Error()}) //nolint:errcheck // it is gone, then
	}
}

// refuse tells a peer that is neither root nor the server's user, and logs it, at most once per second.
func (s *Server) refuse(conn *net.UnixConn, p peer, err error) {
	why := fmt.Sprintf("uid %d may not use this socket: only root and uid %d may", p.uid, os.Geteuid())
	if err != nil {
		why = err.Error()
	}
	s.turnAway(conn, why)
	s.mu.Lock()
	told := time.Since(s.refused) < time.Second
	if !told {
		s.refused = time.Now()
	}
	s.mu.Unlock()
	if !told {
		s.log(trace.LevelWarn, "the control socket refused a client: "+why, p)
	}
}

func (s *Server) log(level trace.LogLevel, message string, p peer) {
	var attrs []trace.KV
	if p.pid != 0 {
		attrs = []trace.KV{{K: "uid", V: strconv.Itoa(p.uid)}, {K: "pid", V: strconv.Itoa(p.pid)}}
	}
	trace.Point(s.cfg.Bus, trace.Span{}, trace.Log{Level: level, Message: message, Attrs: attrs})
}

// Path returns the socket's path.
func (s *Server) Path() string { return s.cfg.Path }
