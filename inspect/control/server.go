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

	"github.com/kubeloupe/kubeloupe/inspect/keeper"
	"github.com/kubeloupe/kubeloupe/inspect/step"
	"github.com/kubeloupe/kubeloupe/trace"
)

// Keeper knows what a client that attaches late needs; keeper.Keeper is one.
type Keeper interface {
	// Backlog returns it once the record with the number seq is among it.
	Backlog(ctx context.Context, seq uint64) (keeper.Backlog, error)
}

// Node answers what records do not tell.
type Node interface {
	Query(ctx context.Context, what string, args map[string]string) (any, error)
}

// Steppers begins sessions in which a person steps a pod.
type Steppers interface {
	Attach(ctx context.Context, req StepRequest) (Session, error)
}

// Session is a pod being stepped. Stops may be closed when nothing more can come.
type Session interface {
	Stops() <-chan step.Stop
	Do(ctx context.Context, line string) (string, error)
	// Close opens the gate. It is called once, when the client is gone.
	Close()
}

// Config says what is served. Path and Bus are required; who asks for what is nil is told that it is not there.
type Config struct {
	Path      string
	Bus       *trace.Bus
	Keeper    Keeper
	Node      Node
	Steppers  Steppers
	Version   string // kubeloupe's
	NodeName  string
	Simulated bool
	// MaxConns is how many clients are served at once; 32.
	MaxConns int
	// Patience is how long a write to a client that does not read may take before it is cut off; 2 minutes.
	Patience time.Duration
}

// How long a client has for its request, an agent for an answer, and clients to leave when the agent stops.
const (
	requestTime = 10 * time.Second
	queryTime   = time.Minute
	backlogTime = 10 * time.Second
	leaveTime   = time.Second
)

// Server serves one control socket.
type Server struct {
	cfg      Config
	listener *listener
	places   chan struct{}

	mu      sync.Mutex
	refused time.Time // when a refusal was told last
}

// New returns a server for cfg.
func New(cfg Config) *Server {
	if cfg.MaxConns <= 0 {
		cfg.MaxConns = 32
	}
	if cfg.Patience <= 0 {
		cfg.Patience = 2 * time.Minute
	}
	return &Server{cfg: cfg, places: make(chan struct{}, cfg.MaxConns)}
}

// Listen makes the socket. Who connects is served once Run is called.
func (s *Server) Listen() error {
	l, err := listen(s.cfg.Path)
	if err != nil {
		return err
	}
	s.listener = l
	return nil
}

// Run serves until ctx is done, tells the clients, and removes the socket. It listens first if Listen was not called.
func (s *Server) Run(ctx context.Context) error {
	if s.listener == nil {
		if err := s.Listen(); err != nil {
			return err
		}
	}
	stop := context.AfterFunc(ctx, func() { s.listener.Close() }) //nolint:errcheck // it is closed again below
	defer stop()
	var wg sync.WaitGroup
	err := s.accept(ctx, &wg)
	wg.Wait()
	return errors.Join(err, s.listener.close())
}

// accept serves each connection in a goroutine of its own until ctx is done.
func (s *Server) accept(ctx context.Context, wg *sync.WaitGroup) error {
	for {
		conn, err := s.listener.AcceptUnix()
		switch {
		case ctx.Err() != nil:
			if err == nil {
				conn.Close() //nolint:errcheck // nothing was said
			}
			return nil
		case errors.Is(err, net.ErrClosed):
			return fmt.Errorf("control socket: %w", err)
		case err != nil: // out of file descriptors: others may go
			s.log("warn", "the control socket cannot accept: "+err.Error(), peer{})
			select {
			case <-time.After(time.Second):
			case <-ctx.Done():
			}
			continue
		}
		select {
		case s.places <- struct{}{}:
			wg.Go(func() {
				defer func() { <-s.places }()
				s.serve(ctx, conn)
			})
		default:
			s.turnAway(conn, fmt.Sprintf("too many clients: %d are served already", s.cfg.MaxConns))
		}
	}
}

// turnAway tells a client why it is not served. It does not wait: the line fits what the kernel holds for a peer
// that does not read.
func (s *Server) turnAway(conn *net.UnixConn, why string) {
	newLineWriter(conn, time.Second).send(answer{Err: why}) //nolint:errcheck // it is gone, then
	conn.Close()                                            //nolint:errcheck // likewise
}

// serve greets a client and does what it asks.
func (s *Server) serve(ctx context.Context, conn *net.UnixConn) {
	defer conn.Close() //nolint:errcheck // all was written
	p, err := peerOf(conn)
	if err != nil || !trusted(p) {
		s.refuse(conn, p, err)
		return
	}
	// When the agent stops, whatever still waits for the client has a moment.
	stop := context.AfterFunc(ctx, func() {
		time.AfterFunc(leaveTime, func() { conn.Close() }) //nolint:errcheck // it is closed again above
	})
	defer stop()
	w := newLineWriter(conn, s.cfg.Patience)
	hello := Hello{Control: Version, Version: s.cfg.Version, PID: os.Getpid(), Node: s.cfg.NodeName, Simulated: s.cfg.Simulated}
	if w.send(hello) != nil {
		return
	}
	c := &client{Server: s, conn: conn, r: newLineReader(conn, maxRequest), w: w, peer: p}
	if err := c.handle(ctx); err != nil {
		w.send(answer{Err: err.Error()}) //nolint:errcheck // it is gone, then
	}
}

// refuse tells a peer that is neither root nor the server's own user, and the log, once a second at most.
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
		s.log("warn", "the control socket refused a client: "+why, p)
	}
}

func (s *Server) log(level, message string, p peer) {
	var attrs []trace.KV
	if p.pid != 0 {
		attrs = []trace.KV{{K: "uid", V: strconv.Itoa(p.uid)}, {K: "pid", V: strconv.Itoa(p.pid)}}
	}
	trace.Point(s.cfg.Bus, trace.Span{}, trace.Log{Level: level, Message: message, Attrs: attrs})
}

// Path returns where the socket is.
func (s *Server) Path() string { return s.cfg.Path }
