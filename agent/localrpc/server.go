package localrpc

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/net/netutil"
	"golang.org/x/time/rate"
	"google.golang.org/grpc"

	"github.com/kubeloupe/kubeloupe/trace"
)

const (
	// maxConns limits the connections; one more waits until another one ends.
	maxConns = 64
	// maxStreams limits the concurrent requests of a connection, maxRequest the size of a request, and maxAnswer that of an answer, in
	// bytes.
	maxStreams = 16
	maxRequest = 64 << 10
	maxAnswer  = 16 << 20
	// ending is how long requests in progress may take when the server ends.
	ending = time.Second
)

// MaxPath is the length of the longest path of a socket, in bytes: the kernel's limit, and the room for an unfinished name.
const MaxPath = 107 - len(".new")

// Config is what a Server needs.
type Config struct {
	// Path is the socket's absolute path. Its directory is created if necessary.
	Path string
	// Name is the server's name in events.
	Name trace.ServerName
	// QPS and Burst limit the requests of all clients together, except streams: QPS per second, Burst at once.
	QPS, Burst int
	// Register adds the services.
	Register func(grpc.ServiceRegistrar)
	Bus      *trace.Bus
}

// Server serves one socket.
type Server struct{ cfg Config }

// New checks cfg.
func New(cfg Config) (*Server, error) {
	if !filepath.IsAbs(cfg.Path) || cfg.Register == nil || cfg.QPS <= 0 || cfg.Burst <= 0 {
		return nil, errors.New("localrpc: Config needs an absolute Path, QPS, Burst and Register")
	}
	return &Server{cfg: cfg}, nil
}

// Run serves until ctx ends, and returns nil then.
func (s *Server) Run(ctx context.Context) error {
	l, err := listen(ctx, s.cfg.Path)
	if err != nil {
		return fmt.Errorf("%s socket: %w", s.cfg.Name, err)
	}
	calls := &calls{cfg: s.cfg, limit: rate.NewLimiter(rate.Limit(s.cfg.QPS), s.cfg.Burst)}
	srv := grpc.NewServer(
		grpc.MaxRecvMsgSize(maxRequest), grpc.MaxSendMsgSize(maxAnswer), grpc.MaxConcurrentStreams(maxStreams), grpc.ConnectionTimeout(10*time.Second),
		grpc.UnaryInterceptor(calls.unary), grpc.StreamInterceptor(calls.stream),
	)
	s.cfg.Register(srv)
	stop := context.AfterFunc(ctx, func() {
		late := time.AfterFunc(ending, srv.Stop)
		srv.GracefulStop()
		late.Stop()
	})
	defer stop()
	if err := srv.Serve(netutil.LimitListener(l, maxConns)); err != nil && ctx.Err() == nil {
		return fmt.Errorf("%s socket: %w", s.cfg.Name, err)
	}
	return nil
}

// listen creates a socket that only root can use. It gets its name when it is complete, and replaces that of an agent that was killed.
//
// Upstream: cri-client/pkg/util, CreateListener.
func listen(ctx context.Context, path string) (net.Listener, error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o750); err != nil {
		return nil, err
	}
	next := path + ".new"
	for _, old := range []string{path, next} {
		if err := os.Remove(old); err != nil && !errors.Is(err, os.ErrNotExist) {
			return nil, err
		}
	}
	l, err := (&net.ListenConfig{}).Listen(ctx, "unix", next)
	if err != nil {
		return nil, err
	}
	if err := errors.Join(os.Chmod(next, 0o600), os.Rename(next, path)); err != nil {
		return nil, errors.Join(err, l.Close())
	}
	if u, ok := l.(*net.UnixListener); ok {
		u.SetUnlinkOnClose(false) // the name has changed
	}
	return &unlinking{l, path}, nil
}

// unlinking removes its socket when it is closed.
type unlinking struct {
	net.Listener
	path string
}

// Close implements net.Listener.
func (l *unlinking) Close() error {
	err := l.Listener.Close()
	if rm := os.Remove(l.path); !errors.Is(rm, os.ErrNotExist) {
		err = errors.Join(err, rm)
	}
	return err
}
